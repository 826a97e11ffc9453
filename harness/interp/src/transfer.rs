//! Loads and stores. A run of lanes that is contiguous is checked and copied as one, so that a block by rule costs no
//! more than a `memcpy` and its checks. Left out: which runs there are ([`crate::plan`]).

use conch_memory::{ByteState, Memory};
use conch_tile::DType;
use conch_tile::ir::{Elem, LocId};

use crate::checks::init::{self, Known};
use crate::checks::{Access, Home, Site, alignment, bounds, conflict, race};
use crate::config::Checks;
use crate::machine::Machine;
use crate::outcome::Stop;
use crate::plan::Run;
use crate::program::{Slot, Step};
use crate::value::{Buf, Layout, Poison, Repr, Value, fill, materialise, read};

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
        let low = if reach < 0 {
            run.address.checked_add_signed(reach)?
        } else {
            run.address
        };
        let len = usize::try_from(reach.unsigned_abs())
            .ok()?
            .checked_add(self.size)?;
        let aligned = run.address.is_multiple_of(size) && run.stride.unsigned_abs().is_multiple_of(size);
        let index = bounds::locate(memory, self.home, low, len).filter(|_| aligned)?;
        Some(index + (run.address - low) as usize)
    }

    /// The arena index of one lane's element, checked.
    fn element(&self, memory: &Memory, lane: usize, address: u64) -> Result<usize, Stop> {
        let Some(index) = bounds::locate(memory, self.home, address, self.size) else {
            return Err(bounds::trap(
                self.site,
                memory,
                self.home,
                self.access,
                lane,
                address,
                self.size,
            ));
        };
        if !address.is_multiple_of(self.size as u64) {
            return Err(alignment::trap(
                self.site,
                memory,
                self.home,
                self.access,
                lane,
                address,
                self.size,
            ));
        }
        Ok(index)
    }
}

impl Machine<'_> {
    pub(crate) fn load(&mut self, mask: bool, other: bool, volatile: bool, step: &Step) -> Result<(), Stop> {
        let (pointer, out) = (step.ins[0], step.outs[0]);
        let layout = self.layout(out);
        let size = layout.size;
        let mask_slot = if mask { step.ins.get(1).copied() } else { None };
        let other_slot = if other {
            step.ins.get(1 + usize::from(mask)).copied()
        } else {
            None
        };
        let (runs, _) = self.plan(pointer, mask_slot, step.loc, size)?;
        let covered: usize = runs.iter().map(|run| run.count).sum();
        let mut buf = self.state.pool.take(layout.lanes * size)?;
        let mut marks = None;
        if covered < layout.lanes {
            marks = self.masked_off(&mut buf, &layout, other_slot, &runs)?;
        }
        let home = self.home(pointer).cloned();
        let reach = Reach {
            site: self.site_of(pointer, step.loc),
            home: home.as_deref(),
            access: Access::Load,
            size,
        };
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
                let (Some(bytes), Some(states)) =
                    (bytes.get(index..index + len), states.get(index..index + len))
                else {
                    return Err(Stop::malformed("an address"));
                };
                match init::known(states) {
                    Known::All => {}
                    Known::SomePoison => poisoned.extend(poison_lanes(states, run.lane, size)),
                    Known::SomeUninit => {
                        return Err(uninitialised(reach, self.memory, states, run.lane, index));
                    }
                }
                if let Some(to) = buf.get_mut(run.lane * size..run.lane * size + len) {
                    to.copy_from_slice(bytes);
                }
                if self.racing
                    && let Err(conflict) = self.state.shadow.load(index, len, volatile)
                {
                    let lane = run.lane + (conflict.index - index) / size;
                    return Err(race::trap(
                        reach.site,
                        self.memory,
                        Access::Load,
                        lane,
                        conflict,
                        self.grid,
                    ));
                }
                continue;
            }
            self.load_strided(reach, run, buf, volatile, &mut poisoned)?;
        }
        Ok(poisoned)
    }

    /// Copies the elements of a rising run out of memory; false where some of them are not defined.
    fn read_strided(&self, run: &Run, index: usize, size: usize, buf: &mut Buf) -> bool {
        let step = run.stride as usize / size;
        let end = index + (run.count - 1) * run.stride as usize + size;
        let (bytes, states) = self.memory.arena();
        let (Some(bytes), Some(states), Some(to)) = (
            bytes.get(index..end),
            states.get(index..end),
            buf.get_mut(run.lane * size..(run.lane + run.count) * size),
        ) else {
            return false;
        };
        match size {
            1 => gather_elements::<1>(bytes, states, step, to),
            2 => gather_elements::<2>(bytes, states, step, to),
            4 => gather_elements::<4>(bytes, states, step, to),
            _ => gather_elements::<8>(bytes, states, step, to),
        }
    }

    /// Tells the shadow of a rising run that was read. Always true.
    fn watch_strided(
        &mut self,
        reach: &Reach<'_>,
        run: &Run,
        index: usize,
        volatile: bool,
    ) -> Result<bool, Stop> {
        if !self.racing {
            return Ok(true);
        }
        let stride = run.stride as usize;
        let shadow = &mut self.state.shadow;
        if let Err(conflict) = shadow.load_elements(index, reach.size, stride, run.count, volatile) {
            let lane = run.lane + (conflict.index - index) / stride;
            return Err(race::trap(
                reach.site,
                self.memory,
                Access::Load,
                lane,
                conflict,
                self.grid,
            ));
        }
        Ok(true)
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
        let whole = match span {
            Some(index) if count > 1 && run.stride > 0 => {
                self.read_strided(run, index, size, buf) && self.watch_strided(reach, run, index, volatile)?
            }
            _ => false,
        };
        for nth in 0..if whole { 0 } else { count } {
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
            to.copy_from_slice(bytes);
            match init::known(states) {
                Known::All => {}
                Known::SomePoison => poisoned.push(lane),
                Known::SomeUninit => return Err(uninitialised(reach, self.memory, states, lane, index)),
            }
            if self.racing
                && let Err(conflict) = self.state.shadow.load(index, size, volatile)
            {
                return Err(race::trap(
                    reach.site,
                    self.memory,
                    Access::Load,
                    lane,
                    conflict,
                    self.grid,
                ));
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
        let reach = Reach {
            site: self.site_of(pointer, step.loc),
            home: home.as_deref(),
            access: Access::Store,
            size,
        };
        self.store_runs(&reach, &runs, value, uniform.as_deref())?;
        if let Some(buf) = uniform {
            self.state.pool.give(buf);
        }
        self.state.runs = runs;
        Ok(())
    }

    fn store_runs(
        &mut self,
        reach: &Reach<'_>,
        runs: &[Run],
        slot: Slot,
        uniform: Option<&[u8]>,
    ) -> Result<(), Stop> {
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
            let span = if pieces == 1 {
                None
            } else {
                reach.span(self.memory, run)
            };
            if let (Some(index), Some(source), Poison::None) = (span, source.or(uniform), &value.poison)
                && run.stride > 0
            {
                let first = if uniform.is_some() { 0 } else { run.lane * size };
                let new = source
                    .get(first..first + run.count * size)
                    .ok_or(Stop::malformed("a store"))?;
                let stride = run.stride as usize;
                if self.racing
                    && let Err(conflict) =
                        self.state
                            .shadow
                            .store_elements(index, size, stride, self.memory.arena().0, new)
                {
                    let lane = run.lane + (conflict.index - index) / stride;
                    return Err(race::trap(
                        reach.site,
                        self.memory,
                        Access::Store,
                        lane,
                        conflict,
                        self.grid,
                    ));
                }
                let end = index + (run.count - 1) * run.stride as usize + size;
                let (bytes, states) = self.memory.arena_mut();
                let (Some(to), Some(states)) = (bytes.get_mut(index..end), states.get_mut(index..end)) else {
                    return Err(Stop::malformed("an address"));
                };
                let step = run.stride as usize / size;
                match size {
                    1 => scatter_elements::<1>(new, to, states, step),
                    2 => scatter_elements::<2>(new, to, states, step),
                    4 => scatter_elements::<4>(new, to, states, step),
                    _ => scatter_elements::<8>(new, to, states, step),
                }
                self.stats.bytes_stored += new.len() as u64;
                continue;
            }
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
                        return Err(race::trap(
                            reach.site,
                            self.memory,
                            Access::Store,
                            lane,
                            conflict,
                            self.grid,
                        ));
                    }
                }
                let (bytes, states) = self.memory.arena_mut();
                let (Some(bytes), Some(states)) = (
                    bytes.get_mut(index..index + len),
                    states.get_mut(index..index + len),
                ) else {
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
                        for (states, _) in states.chunks_mut(size).zip(marks).filter(|(_, mark)| **mark != 0)
                        {
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
            writes.extend((0..run.count).map(|nth| conflict::Write {
                index: run.address(nth) as usize,
                lane: run.lane + nth,
            }));
        }
        let data = self.value(value);
        let same = |a: usize, b: usize| {
            let equal = match data.repr {
                Repr::Uniform(_) => true,
                _ => data
                    .lanes()
                    .is_some_and(|lanes| read(lanes, a, size) == read(lanes, b, size)),
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
        let reach = Reach {
            site,
            home: self.home(pointer).map(AsRef::as_ref),
            access: Access::Atomic,
            size,
        };
        let index = reach.element(self.memory, lane, address)?;
        let (bytes, states) = self.memory.arena();
        let (Some(bytes), Some(states)) = (bytes.get(index..index + size), states.get(index..index + size))
        else {
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
            return Err(race::trap(
                site,
                self.memory,
                Access::Atomic,
                lane,
                conflict,
                self.grid,
            ));
        }
        if let Some(update) = change(old) {
            let (bytes, states) = self.memory.arena_mut();
            if let (Some(bytes), Some(states)) = (
                bytes.get_mut(index..index + size),
                states.get_mut(index..index + size),
            ) {
                crate::value::write(bytes, 0, size, update.bits);
                let poison = update.poison || (known == Known::SomePoison && !update.replaces);
                states.fill(if poison {
                    ByteState::Poison
                } else {
                    ByteState::Init
                });
                self.stats.bytes_poisoned += if poison { size as u64 } else { 0 };
            }
            self.stats.bytes_stored += size as u64;
        }
        Ok((known == Known::All).then_some(old))
    }
}

/// Every `step`-th element of `from`; whether all of them are defined.
fn gather_elements<const N: usize>(from: &[u8], states: &[ByteState], step: usize, to: &mut [u8]) -> bool {
    let (from, states) = (
        from.as_chunks::<N>().0.iter().step_by(step),
        states.as_chunks::<N>().0.iter().step_by(step),
    );
    let mut flaws = 0;
    for ((to, from), states) in to.as_chunks_mut::<N>().0.iter_mut().zip(from).zip(states) {
        *to = *from;
        flaws |= states
            .iter()
            .fold(0, |any, &state| any | (state as u8 ^ ByteState::Init as u8));
    }
    flaws == 0
}

/// Puts elements at every `step`-th place, all of them defined.
fn scatter_elements<const N: usize>(from: &[u8], to: &mut [u8], states: &mut [ByteState], step: usize) {
    let to = to.as_chunks_mut::<N>().0.iter_mut().step_by(step);
    let states = states.as_chunks_mut::<N>().0.iter_mut().step_by(step);
    for ((from, to), states) in from.as_chunks::<N>().0.iter().zip(to).zip(states) {
        *to = *from;
        *states = [ByteState::Init; N];
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

fn poison_lanes(states: &[ByteState], first: usize, size: usize) -> impl Iterator<Item = usize> + '_ {
    states
        .chunks(size)
        .enumerate()
        .filter(|(_, states)| states.contains(&ByteState::Poison))
        .map(move |(nth, _)| first + nth)
}

#[cold]
fn uninitialised(
    reach: &Reach<'_>,
    memory: &Memory,
    states: &[ByteState],
    first: usize,
    index: usize,
) -> Stop {
    let size = reach.size;
    let nth = states
        .chunks(size)
        .position(|states| states.contains(&ByteState::Uninit))
        .unwrap_or(0);
    init::trap(
        reach.site,
        memory,
        reach.access,
        first + nth,
        index + nth * size,
        size,
    )
}
