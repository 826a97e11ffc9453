//! Loads and stores. An access is planned as runs of lanes whose addresses rise evenly; a run that is contiguous is
//! checked and copied as one, so that a block by rule costs no more than a `memcpy` and its checks.

use conch_memory::{ByteState, Memory};
use conch_tile::DType;
use conch_tile::ir::{Elem, LocId};

use crate::affine::{Affine, BoxMask, Extents, RANK, rows};
use crate::checks::init::{self, Known};
use crate::checks::{Access, Home, Site, alignment, bounds, conflict, poison, race};
use crate::config::Checks;
use crate::machine::Machine;
use crate::outcome::Stop;
use crate::program::{Slot, Step};
use crate::value::{Buf, Layout, Poison, Repr, Value, fill, materialise, read};

/// Lanes `lane..lane + count` at addresses `address + i * stride`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub lane: usize,
    pub count: usize,
    pub address: u64,
    pub stride: i64,
}

impl Run {
    fn address(&self, nth: usize) -> u64 {
        self.address.wrapping_add((nth as i64).wrapping_mul(self.stride) as u64)
    }

    fn contiguous(&self, size: usize) -> bool {
        self.count == 1 || self.stride == size as i64
    }
}

/// How the lanes of an access are spread over memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spread {
    /// Evenly: strides in bytes, and the box of active lanes.
    Even([i64; RANK], Extents, Extents),
    /// By addresses of their own.
    Unknown,
}

impl Spread {
    /// Whether no two lanes share bytes. False when that is not certain.
    pub(crate) fn apart(&self, runs: &[Run], size: usize) -> bool {
        if let [run] = runs
            && (run.count == 1 || run.stride.unsigned_abs() >= size as u64)
        {
            return true;
        }
        if let Self::Even(strides, lo, hi) = self {
            let spans = lo.iter().zip(hi).map(|(lo, hi)| hi - lo);
            return !conflict::may_overlap(strides.iter().copied().zip(spans), size);
        }
        // Runs that come one behind the other cannot meet.
        let mut end = 0u128;
        runs.iter().all(|run| {
            let start = u128::from(run.address);
            let apart = start >= end && (run.count == 1 || run.stride >= size as i64);
            end = start + (run.count as u128 - 1) * u128::from(run.stride.unsigned_abs()) + size as u128;
            apart
        })
    }
}

/// What an access goes through, borrowed apart so that memory and shadow can be changed meanwhile.
struct Reach<'m> {
    site: Site<'m>,
    home: Option<&'m Home>,
    access: Access,
    size: usize,
}

impl Reach<'_> {
    /// The arena index of a contiguous run, checked; a refusal names the first lane that is wrong.
    fn locate(&self, memory: &Memory, run: &Run) -> Result<usize, Stop> {
        let size = self.size;
        let whole = bounds::locate(memory, self.home, run.address, run.count * size);
        if let Some(index) = whole
            && run.address.is_multiple_of(size as u64)
        {
            return Ok(index);
        }
        for nth in 0..run.count {
            self.element(memory, run.lane + nth, run.address(nth))?;
        }
        whole.ok_or(Stop::malformed("an access across storages"))
    }

    /// The arena index of a run's first element, if all of its elements may be accessed: they are aligned, and the
    /// bytes from the lowest to the highest are inside of one storage.
    fn span(&self, memory: &Memory, run: &Run) -> Option<usize> {
        let size = self.size as u64;
        let reach = (run.count as i64 - 1).checked_mul(run.stride)?;
        let low = if reach < 0 { run.address.checked_add_signed(reach)? } else { run.address };
        let len = usize::try_from(reach.unsigned_abs()).ok()?.checked_add(self.size)?;
        let aligned = run.address.is_multiple_of(size) && run.stride.unsigned_abs().is_multiple_of(size);
        let index = bounds::locate(memory, self.home, low, len).filter(|_| aligned)?;
        Some(index + (run.address - low) as usize)
    }

    /// The arena index of one lane's element, checked.
    fn element(&self, memory: &Memory, lane: usize, address: u64) -> Result<usize, Stop> {
        let Some(index) = bounds::locate(memory, self.home, address, self.size) else {
            return Err(bounds::trap(self.site, memory, self.home, self.access, lane, address, self.size));
        };
        if !address.is_multiple_of(self.size as u64) {
            return Err(alignment::trap(self.site, memory, self.home, self.access, lane, address, self.size));
        }
        Ok(index)
    }
}

impl Machine<'_> {
    /// The runs of the active lanes of an access, and how they are spread. The runs are the machine's scratch: give
    /// them back.
    pub(crate) fn plan(
        &mut self,
        pointer: Slot,
        mask: Option<Slot>,
        loc: LocId,
        size: usize,
    ) -> Result<(Vec<Run>, Spread), Stop> {
        let layout = self.layout(pointer);
        let mut runs = std::mem::take(&mut self.state.runs);
        runs.clear();
        let everything = Repr::Uniform(1);
        let active = match mask {
            None => everything,
            Some(mask) => {
                let value = self.value(mask);
                if !value.poison.is_none()
                    && let Some(lane) = (0..layout.lanes).find(|&lane| value.poison.at(lane))
                {
                    return Err(poison::trap(self.site_of(pointer, loc), Some(lane), "the mask of a memory access"));
                }
                value.repr
            }
        };
        let mut spread = Spread::Unknown;
        if matches!(active, Repr::Uniform(all) if all & 1 == 0) {
            return Ok((runs, spread));
        }
        let by_rule = match (self.value(pointer).repr, active) {
            (_, Repr::Dense) => None,
            (Repr::Uniform(address), _) => Some(Affine::constant(address as i64)),
            (Repr::Affine(affine), _) => Some(affine),
            _ => None,
        };
        if let Some(affine) = by_rule {
            let (lo, hi) = match active {
                Repr::Mask(BoxMask { lo, hi }) => (lo, hi),
                _ => ([0; RANK], layout.extents),
            };
            by_rows(&mut runs, affine, layout.extents, lo, hi);
            spread = Spread::Even(affine.strides, lo, hi);
        } else {
            self.write_out(pointer)?;
            if let Some(mask) = mask {
                self.write_out(mask)?;
            }
            let addresses = self.value(pointer);
            let uniform = match addresses.repr {
                Repr::Uniform(bits) => Some(bits),
                _ => None,
            };
            let addresses = addresses.lanes().unwrap_or(&[]).as_chunks::<8>().0;
            let active = mask.and_then(|mask| self.value(mask).lanes());
            for lane in 0..layout.lanes {
                if active.is_some_and(|active| active.get(lane) == Some(&0)) {
                    continue;
                }
                let address = uniform
                    .or_else(|| addresses.get(lane).map(|bytes| u64::from_le_bytes(*bytes)))
                    .unwrap_or(0);
                match runs.last_mut() {
                    Some(run)
                        if run.lane + run.count == lane
                            && run.address.wrapping_add((run.count * size) as u64) == address =>
                    {
                        run.count += 1;
                    }
                    _ => runs.push(Run { lane, count: 1, address, stride: size as i64 }),
                }
            }
        }
        let addresses = self.value(pointer);
        if !addresses.poison.is_none()
            && let Some(lane) = runs
                .iter()
                .flat_map(|run| run.lane..run.lane + run.count)
                .find(|&lane| addresses.poison.at(lane))
        {
            return Err(poison::trap(self.site_of(pointer, loc), Some(lane), "the pointer of a memory access"));
        }
        Ok((runs, spread))
    }

    pub(crate) fn load(&mut self, mask: bool, other: bool, volatile: bool, step: &Step) -> Result<(), Stop> {
        let (pointer, out) = (step.ins[0], step.outs[0]);
        let layout = self.layout(out);
        let size = layout.size;
        let mask_slot = if mask { step.ins.get(1).copied() } else { None };
        let other_slot = if other { step.ins.get(1 + usize::from(mask)).copied() } else { None };
        let (runs, _) = self.plan(pointer, mask_slot, step.loc, size)?;
        let covered: usize = runs.iter().map(|run| run.count).sum();
        let mut buf = self.state.pool.take(layout.lanes * size)?;
        let mut marks = None;
        if covered < layout.lanes {
            marks = self.masked_off(&mut buf, &layout, other_slot, &runs)?;
        }
        let home = self.home(pointer).cloned();
        let reach = Reach { site: self.site_of(pointer, step.loc), home: home.as_deref(), access: Access::Load, size };
        let poisoned = self.load_runs(&reach, &runs, &mut buf, volatile)?;
        self.state.runs = runs;
        for lane in poisoned {
            if marks.is_none() {
                marks = Some(self.state.pool.zeros(layout.lanes)?);
            }
            if let Some(to) = marks.as_mut().and_then(|marks| marks.get_mut(lane)) {
                *to = 1;
            }
        }
        if layout.elem == Elem::Num(DType::I1) {
            for byte in buf.iter_mut() {
                *byte = u8::from(*byte != 0);
            }
        }
        let poison = marks.map_or(Poison::None, Poison::Lanes);
        self.set_lanes(out, Value::dense(buf).with_poison(poison));
        Ok(())
    }

    /// Gives the masked-off lanes what they hold: `other`, or nothing defined.
    fn masked_off(
        &mut self,
        buf: &mut Buf,
        layout: &Layout,
        other: Option<Slot>,
        runs: &[Run],
    ) -> Result<Option<Buf>, Stop> {
        let Some(other) = other else {
            buf.fill(0);
            let mut marks = self.state.pool.take(layout.lanes)?;
            marks.fill(1);
            for run in runs {
                if let Some(lanes) = marks.get_mut(run.lane..run.lane + run.count) {
                    lanes.fill(0);
                }
            }
            return Ok(Some(marks));
        };
        let value = &self.state.slots[other as usize];
        match (value.lanes(), value.repr) {
            (_, Repr::Uniform(bits)) => fill(buf, layout.size, bits),
            (Some(lanes), _) => buf.copy_from_slice(lanes),
            (None, repr) => materialise(&repr, layout, buf),
        }
        let marks = match &value.poison {
            Poison::None => return Ok(None),
            Poison::All => {
                let mut marks = self.state.pool.take(layout.lanes)?;
                marks.fill(1);
                marks
            }
            Poison::Lanes(lanes) => self.state.pool.copy(lanes)?,
        };
        let mut marks = marks;
        for run in runs {
            if let Some(lanes) = marks.get_mut(run.lane..run.lane + run.count) {
                lanes.fill(0);
            }
        }
        Ok(Some(marks))
    }

    /// Reads the runs; gives back the lanes that hold poison.
    fn load_runs(
        &mut self,
        reach: &Reach<'_>,
        runs: &[Run],
        buf: &mut Buf,
        volatile: bool,
    ) -> Result<Vec<usize>, Stop> {
        let size = reach.size;
        let mut poisoned = Vec::new();
        for run in runs {
            if run.contiguous(size) {
                let index = reach.locate(self.memory, run)?;
                let len = run.count * size;
                let (bytes, states) = self.memory.arena();
                let (Some(bytes), Some(states)) = (bytes.get(index..index + len), states.get(index..index + len))
                else {
                    return Err(Stop::malformed("an address"));
                };
                match init::known(states) {
                    Known::All => {}
                    Known::SomePoison => poisoned.extend(poison_lanes(states, run.lane, size)),
                    Known::SomeUninit => return Err(uninitialised(reach, self.memory, states, run.lane, index)),
                }
                if let Some(to) = buf.get_mut(run.lane * size..run.lane * size + len) {
                    to.copy_from_slice(bytes);
                }
                if self.racing
                    && let Err(conflict) = self.state.shadow.load(index, len, volatile)
                {
                    let lane = run.lane + (conflict.index - index) / size;
                    return Err(race::trap(reach.site, self.memory, Access::Load, lane, conflict, self.grid));
                }
                continue;
            }
            self.load_strided(reach, run, buf, volatile, &mut poisoned)?;
        }
        Ok(poisoned)
    }

    /// Reads a run whose elements do not follow each other.
    fn load_strided(
        &mut self,
        reach: &Reach<'_>,
        run: &Run,
        buf: &mut Buf,
        volatile: bool,
        poisoned: &mut Vec<usize>,
    ) -> Result<(), Stop> {
        let size = reach.size;
        // With no stride, all lanes read one element.
        let count = if run.stride == 0 { 1 } else { run.count };
        let span = reach.span(self.memory, &Run { count, ..*run });
        for nth in 0..count {
            let lane = run.lane + nth;
            let index = match span {
                Some(start) => start.wrapping_add_signed(nth as isize * run.stride as isize),
                None => reach.element(self.memory, lane, run.address(nth))?,
            };
            let (bytes, states) = self.memory.arena();
            let (Some(bytes), Some(states), Some(to)) = (
                bytes.get(index..index + size),
                states.get(index..index + size),
                buf.get_mut(lane * size..(lane + 1) * size),
            ) else {
                return Err(Stop::malformed("an address"));
            };
            match (bytes, to) {
                // The usual size, as one move instead of a call.
                (&[a, b, c, d], [e, f, g, h]) => (*e, *f, *g, *h) = (a, b, c, d),
                (bytes, to) => to.copy_from_slice(bytes),
            }
            match init::known(states) {
                Known::All => {}
                Known::SomePoison => poisoned.push(lane),
                Known::SomeUninit => return Err(uninitialised(reach, self.memory, states, lane, index)),
            }
            if self.racing
                && let Err(conflict) = self.state.shadow.load(index, size, volatile)
            {
                return Err(race::trap(reach.site, self.memory, Access::Load, lane, conflict, self.grid));
            }
        }
        if count < run.count {
            for lane in run.lane + 1..run.lane + run.count {
                buf.copy_within(run.lane * size..(run.lane + 1) * size, lane * size);
            }
            if poisoned.last() == Some(&run.lane) {
                poisoned.extend(run.lane + 1..run.lane + run.count);
            }
        }
        Ok(())
    }

    pub(crate) fn store(&mut self, mask: bool, step: &Step) -> Result<(), Stop> {
        let (pointer, value) = (step.ins[0], step.ins[1]);
        let layout = self.layout(value);
        let size = layout.size;
        let mask_slot = if mask { step.ins.get(2).copied() } else { None };
        let (runs, spread) = self.plan(pointer, mask_slot, step.loc, size)?;
        if self.config.checks == Checks::Full && !spread.apart(&runs, size) {
            self.conflicts(&runs, value, step.loc, size)?;
        }
        self.write_out(value)?;
        let uniform = match self.value(value).repr {
            Repr::Uniform(bits) if layout.lanes > 1 => {
                let most = runs.iter().map(|run| run.count).max().unwrap_or(0);
                let mut buf = self.state.pool.take(most * size)?;
                fill(&mut buf, size, bits);
                Some(buf)
            }
            _ => None,
        };
        let home = self.home(pointer).cloned();
        let reach = Reach { site: self.site_of(pointer, step.loc), home: home.as_deref(), access: Access::Store, size };
        self.store_runs(&reach, &runs, value, uniform.as_deref())?;
        if let Some(buf) = uniform {
            self.state.pool.give(buf);
        }
        self.state.runs = runs;
        Ok(())
    }

    fn store_runs(&mut self, reach: &Reach<'_>, runs: &[Run], slot: Slot, uniform: Option<&[u8]>) -> Result<(), Stop> {
        let size = reach.size;
        let value = &self.state.slots[slot as usize];
        let single = match value.repr {
            Repr::Uniform(bits) => bits.to_le_bytes(),
            _ => [0; 8],
        };
        let source = value.lanes().filter(|_| !matches!(value.repr, Repr::Uniform(_)));
        for run in runs {
            let pieces = if run.contiguous(size) { 1 } else { run.count };
            let lanes = run.count / pieces;
            let len = lanes * size;
            let span = if pieces == 1 { None } else { reach.span(self.memory, run) };
            for piece in 0..pieces {
                let lane = run.lane + piece;
                let index = match span {
                    Some(start) => start.wrapping_add_signed(piece as isize * run.stride as isize),
                    None if pieces == 1 => reach.locate(self.memory, run)?,
                    None => reach.element(self.memory, lane, run.address(piece))?,
                };
                let new = match (source, uniform) {
                    (Some(source), _) => source.get(lane * size..lane * size + len),
                    (None, Some(uniform)) => uniform.get(..len),
                    (None, None) => single.get(..len),
                };
                let new = new.ok_or(Stop::malformed("a store"))?;
                if self.racing {
                    let old = self.memory.arena().0.get(index..index + len).unwrap_or(&[]);
                    if let Err(conflict) = self.state.shadow.store(index, old, new) {
                        let lane = lane + (conflict.index - index) / size;
                        return Err(race::trap(reach.site, self.memory, Access::Store, lane, conflict, self.grid));
                    }
                }
                let (bytes, states) = self.memory.arena_mut();
                let (Some(bytes), Some(states)) =
                    (bytes.get_mut(index..index + len), states.get_mut(index..index + len))
                else {
                    return Err(Stop::malformed("an address"));
                };
                bytes.copy_from_slice(new);
                states.fill(ByteState::Init);
                self.stats.bytes_stored += len as u64;
                match &value.poison {
                    Poison::None => {}
                    Poison::All => {
                        states.fill(ByteState::Poison);
                        self.stats.bytes_poisoned += len as u64;
                    }
                    Poison::Lanes(marks) => {
                        let marks = marks.get(lane..lane + lanes).unwrap_or(&[]);
                        for (states, _) in states.chunks_mut(size).zip(marks).filter(|(_, mark)| **mark != 0) {
                            states.fill(ByteState::Poison);
                            self.stats.bytes_poisoned += size as u64;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Looks for lanes that write the same bytes differently.
    fn conflicts(&mut self, runs: &[Run], value: Slot, loc: LocId, size: usize) -> Result<(), Stop> {
        self.write_out(value)?;
        let mut writes = std::mem::take(&mut self.state.writes);
        writes.clear();
        for run in runs {
            writes.extend(
                (0..run.count).map(|nth| conflict::Write { index: run.address(nth) as usize, lane: run.lane + nth }),
            );
        }
        let data = self.value(value);
        let same = |a: usize, b: usize| {
            let equal = match data.repr {
                Repr::Uniform(_) => true,
                _ => data.lanes().is_some_and(|lanes| read(lanes, a, size) == read(lanes, b, size)),
            };
            equal && !data.poison.at(a) && !data.poison.at(b)
        };
        let found = conflict::find(&mut writes, size, same);
        self.state.writes = writes;
        match found {
            Some((mut a, mut b)) => {
                for write in [&mut a, &mut b] {
                    write.index = write.index.wrapping_sub(conch_memory::ORIGIN as usize);
                }
                Err(conflict::trap(self.site(loc), self.memory, a, b))
            }
            None => Ok(()),
        }
    }

    /// Reads, changes and writes one lane's element in memory: what an atomic does. Gives what was there, unless that
    /// was poison.
    pub(crate) fn update(
        &mut self,
        pointer: Slot,
        loc: LocId,
        (lane, address, size): (usize, u64, usize),
        change: impl FnOnce(u64) -> Option<Update>,
    ) -> Result<Option<u64>, Stop> {
        let site = self.site_of(pointer, loc);
        let reach = Reach { site, home: self.home(pointer).map(AsRef::as_ref), access: Access::Atomic, size };
        let index = reach.element(self.memory, lane, address)?;
        let (bytes, states) = self.memory.arena();
        let (Some(bytes), Some(states)) = (bytes.get(index..index + size), states.get(index..index + size)) else {
            return Err(Stop::malformed("an address"));
        };
        let known = init::known(states);
        if known == Known::SomeUninit {
            return Err(init::trap(site, self.memory, Access::Atomic, lane, index, size));
        }
        let old = read(bytes, 0, size);
        if self.racing
            && let Err(conflict) = self.state.shadow.atomic(index, size)
        {
            return Err(race::trap(site, self.memory, Access::Atomic, lane, conflict, self.grid));
        }
        if let Some(update) = change(old) {
            let (bytes, states) = self.memory.arena_mut();
            if let (Some(bytes), Some(states)) =
                (bytes.get_mut(index..index + size), states.get_mut(index..index + size))
            {
                crate::value::write(bytes, 0, size, update.bits);
                let poison = update.poison || (known == Known::SomePoison && !update.replaces);
                states.fill(if poison { ByteState::Poison } else { ByteState::Init });
                self.stats.bytes_poisoned += if poison { size as u64 } else { 0 };
            }
            self.stats.bytes_stored += size as u64;
        }
        Ok((known == Known::All).then_some(old))
    }
}

/// What an atomic puts in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Update {
    pub bits: u64,
    /// Whether the bits are not defined.
    pub poison: bool,
    /// Whether they do not depend on what was there.
    pub replaces: bool,
}

/// Plans the lanes of a box, merging dimensions that follow each other evenly.
fn by_rows(runs: &mut Vec<Run>, affine: Affine, extents: Extents, lo: Extents, hi: Extents) {
    let (mut extents, mut lo, mut hi, mut strides) = (extents, lo, hi, affine.strides);
    for d in (0..RANK - 1).rev() {
        let inner = RANK - 1;
        let whole = lo[inner] == 0 && hi[inner] == extents[inner];
        let alone = extents[d] == 1;
        if !alone && !(whole && strides[d] == strides[inner].wrapping_mul(i64::from(extents[inner]))) {
            // A single column moves like the dimension it is in.
            if extents[inner] == 1 {
                strides[inner] = strides[d];
            } else {
                break;
            }
        }
        if !alone {
            let width = extents[inner];
            lo[inner] = lo[d] * width;
            hi[inner] = hi[d] * width;
            extents[inner] *= extents[d];
        }
        (extents[d], lo[d], hi[d], strides[d]) = (1, 0, 1, 0);
        // What is left moves inward, so that the next dimension is next to the merged one.
    }
    let count = (hi[RANK - 1] - lo[RANK - 1]) as usize;
    let _: Result<(), ()> = rows(&extents, &lo, &hi, |lane, index| {
        let address = strides
            .iter()
            .zip(index)
            .fold(affine.base, |sum, (&stride, i)| sum.wrapping_add(stride.wrapping_mul(i64::from(i))));
        runs.push(Run { lane, count, address: address as u64, stride: strides[RANK - 1] });
        Ok(())
    });
}

fn poison_lanes(states: &[ByteState], first: usize, size: usize) -> impl Iterator<Item = usize> + '_ {
    states
        .chunks(size)
        .enumerate()
        .filter(|(_, states)| states.contains(&ByteState::Poison))
        .map(move |(nth, _)| first + nth)
}

#[cold]
fn uninitialised(reach: &Reach<'_>, memory: &Memory, states: &[ByteState], first: usize, index: usize) -> Stop {
    let size = reach.size;
    let nth = states.chunks(size).position(|states| states.contains(&ByteState::Uninit)).unwrap_or(0);
    init::trap(reach.site, memory, reach.access, first + nth, index + nth * size, size)
}
