//! Loads. A run of contiguous lanes is checked and copied as a whole, so that a block by rule costs no more than a `memcpy`
//! and its checks. See [`crate::plan`] for the runs.

use cerith_memory::{ByteState, Memory};
use cerith_tile::DType;
use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::ir::Elem;

use crate::checks::Access;
use crate::checks::init::{self, InitState};
use crate::machine::Machine;
use crate::outcome::Stop;
use crate::program::{Slot, Step};
use crate::reach::Reach;
use crate::run::Run;
use crate::value::{Buf, Layout, Poison, Repr, Value, fill, materialise};

impl Machine<'_> {
    pub(crate) fn load(&mut self, mask: bool, other: bool, volatile: bool, step: &Step) -> Result<(), Stop> {
        let (pointer, out) = (step.ins[0], step.outs[0]);
        let layout = self.layout(out);
        let size = layout.size;
        self.begin_access(pointer);
        let mask_slot = if mask { step.ins.get(1).copied() } else { None };
        if !self.footprint.is_tracked(step.access)
            && let Some(index) = self.locate_straight(pointer, mask_slot)
            && self.load_straight(index, &layout, volatile, step)?
        {
            return Ok(());
        }
        let other_slot = if other {
            step.ins.get(1 + usize::from(mask)).copied()
        } else {
            None
        };
        let (runs, _) = self.plan(pointer, mask_slot, step.loc, size)?;
        let runs = self.skip_out_of_bounds((pointer, step.loc), Access::Load, mask_slot, runs, size);
        let covered: usize = runs.iter().map(|run| run.count).sum();
        let mut buf = self.state.pool.take(layout.lanes * size)?;
        let mut marks = None;
        if covered < layout.lanes {
            marks = self.masked_off(&mut buf, &layout, (out, other_slot), &runs)?;
        }
        let home = self.home(pointer).cloned();
        let reach = Reach {
            site: self.site_of(pointer, step.loc),
            home: home.as_deref(),
            access: Access::Load,
            size,
            watched: self.is_watched(pointer),
            unaligned: self.config.unaligned,
        };
        let poisoned = self
            .load_runs(&reach, &runs, &mut buf, volatile)
            .map_err(|stop| self.with_mask(stop, mask_slot))?;
        #[cfg(feature = "planted-faults")]
        crate::fault::load(
            self.program.origins[pointer as usize],
            self.memory,
            &runs,
            size,
            &mut buf,
        );
        self.footprint.note_access(&runs, size, Access::Load, step.loc);
        let cells = &mut self.state.cells;
        if let Some(crossed) = self
            .footprint
            .check_load(cells, self.memory, &runs, size, step.access)
        {
            return Err(self.trap_unordered(step, crossed));
        }
        self.look_at_view((pointer, step.loc), Access::Load, &runs, size);
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

    /// Loads elements that follow each other and may be accessed; false, and nothing done, where not all are defined.
    #[inline]
    fn load_straight(
        &mut self,
        index: usize,
        layout: &Layout,
        volatile: bool,
        step: &Step,
    ) -> Result<bool, Stop> {
        let len = layout.lanes * layout.size;
        let (bytes, states) = self.memory.arena();
        let (Some(bytes), Some(states)) = (bytes.get(index..index + len), states.get(index..index + len))
        else {
            return Ok(false);
        };
        let defined = self.state.defined.get(step.ins[0] as usize) == Some(&true);
        if layout.elem == Elem::Num(DType::I1) || !defined && init::classify_bytes(states) != InitState::All {
            return Ok(false);
        }
        let mut buf = self.state.pool.take(len)?;
        buf.copy_from_slice(bytes);
        if self.is_watched(step.ins[0])
            && let Err(conflict) = self.state.shadow.load(index, len, volatile)
        {
            let lane = (conflict.index - index) / layout.size;
            return Err(self.trap_race(self.site_of(step.ins[0], step.loc), Access::Load, lane, conflict));
        }
        self.set_lanes(step.outs[0], Value::dense(buf));
        Ok(true)
    }

    /// Fills the masked-off lanes: with `other`, or with poison.
    fn masked_off(
        &mut self,
        buf: &mut Buf,
        layout: &Layout,
        (out, other): (Slot, Option<Slot>),
        runs: &[Run],
    ) -> Result<Option<Buf>, Stop> {
        let Some(other) = other else {
            buf.fill(0);
            if self.config.masked_zero || is_planted(Fault::MaskedLanesDefined) {
                return Ok(None);
            }
            let mut marks = self.state.pool.take(layout.lanes)?;
            marks.fill(self.program.mark_of_load(out));
            for run in runs {
                if let Some(lanes) = marks.get_mut(run.lane..run.lane + run.count) {
                    lanes.fill(0);
                }
            }
            return Ok(Some(marks));
        };
        let value = &self.state.slots[other as usize];
        match (value.lanes(), value.repr) {
            (_, Repr::Uniform(bits)) => fill(
                buf,
                layout.size,
                if is_planted(Fault::OtherIsZero) { 0 } else { bits },
            ),
            (Some(lanes), _) => buf.copy_from_slice(lanes),
            (None, repr) => materialise(&repr, layout, buf),
        }
        let marks = match &value.poison {
            Poison::None => return Ok(None),
            Poison::All(mark) => {
                let mut marks = self.state.pool.take(layout.lanes)?;
                marks.fill(*mark);
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

    /// Reads the runs. Returns the lanes that hold poison.
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
            if run.is_contiguous(size) {
                let index = reach.locate(self.memory, run)?;
                let len = run.count * size;
                let (bytes, states) = self.memory.arena();
                let (Some(bytes), Some(states)) =
                    (bytes.get(index..index + len), states.get(index..index + len))
                else {
                    return Err(Stop::malformed("an address"));
                };
                match init::classify_bytes(states) {
                    InitState::All => {}
                    InitState::SomePoison => poisoned.extend(poison_lanes(states, run.lane, size)),
                    InitState::SomeUninit => {
                        return Err(trap_uninitialised(reach, self.memory, states, run.lane, index));
                    }
                }
                if let Some(to) = buf.get_mut(run.lane * size..run.lane * size + len) {
                    to.copy_from_slice(bytes);
                }
                if reach.watched
                    && let Err(conflict) = self.state.shadow.load(index, len, volatile)
                {
                    let lane = run.lane + (conflict.index - index) / size;
                    return Err(self.trap_race(reach.site, reach.access, lane, conflict));
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
        if !reach.watched {
            return Ok(true);
        }
        let stride = run.stride as usize;
        let shadow = &mut self.state.shadow;
        if let Err(conflict) = shadow.load_elements(index, reach.size, stride, run.count, volatile) {
            let lane = run.lane + (conflict.index - index) / stride;
            return Err(self.trap_race(reach.site, reach.access, lane, conflict));
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
        let span = reach.locate_span(self.memory, &Run { count, ..*run });
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
                None => reach.locate_element(self.memory, lane, run.address(nth))?,
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
            match init::classify_bytes(states) {
                InitState::All => {}
                InitState::SomePoison => poisoned.push(lane),
                InitState::SomeUninit => {
                    return Err(trap_uninitialised(reach, self.memory, states, lane, index));
                }
            }
            if reach.watched
                && let Err(conflict) = self.state.shadow.load(index, size, volatile)
            {
                return Err(self.trap_race(reach.site, reach.access, lane, conflict));
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

fn poison_lanes(states: &[ByteState], first: usize, size: usize) -> impl Iterator<Item = usize> + '_ {
    states
        .chunks(size)
        .enumerate()
        .filter(|(_, states)| states.contains(&ByteState::Poison))
        .map(move |(nth, _)| first + nth)
}

#[cold]
fn trap_uninitialised(
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
