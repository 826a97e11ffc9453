//! Stores. A run of contiguous lanes is checked and copied as a whole. See [`crate::plan`] for the runs.

use cerith_memory::ByteState;
use cerith_tile::ir::LocId;

use crate::checks::init::{self, InitState};
use crate::checks::unordered::{self, Crossed, Values};
use crate::checks::{Access, conflicting_lanes};
use crate::config::Checks;
use crate::machine::Machine;
use crate::outcome::Stop;
use crate::program::{Slot, Step};
use crate::reach::Reach;
use crate::run::Run;
use crate::value::{Layout, MAX_STORABLE, Mark, POISON, Poison, Repr, fill, read};

impl Machine<'_> {
    pub(crate) fn store(&mut self, mask: bool, step: &Step) -> Result<(), Stop> {
        let (pointer, value) = (step.ins[0], step.ins[1]);
        let layout = self.layout(value);
        let size = layout.size;
        self.begin_access(pointer);
        let mask_slot = if mask { step.ins.get(2).copied() } else { None };
        if !self.footprint.is_tracked(step.access)
            && let Some(index) = self.locate_straight(pointer, mask_slot)
            && self.store_straight(index, &layout, step)?
        {
            return Ok(());
        }
        let (runs, spread) = self.plan(pointer, mask_slot, step.loc, size)?;
        let runs = self.skip_out_of_bounds((pointer, step.loc), Access::Store, mask_slot, runs, size);
        if self.config.checks == Checks::Full && !spread.is_disjoint(&runs, size) {
            self.check_conflicts(&runs, value, step.loc, size)?;
        }
        let worst = self.value(value).poison.worst();
        if worst > MAX_STORABLE {
            self.check_divisions(&runs, step, mask_slot)?;
        } else if worst > POISON {
            self.remark_masked_loads(&runs, value, step);
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
        if let Some(crossed) = self.find_crossed(&runs, step, size) {
            return Err(self.trap_unordered(step, crossed));
        }
        if let Some(crossed) = self.footprint.take_hazard() {
            self.remark_hazard(step, crossed);
        }
        let home = self.home(pointer).cloned();
        let reach = Reach {
            site: self.site_of(pointer, step.loc),
            home: home.as_deref(),
            access: Access::Store,
            size,
            watched: self.is_watched(pointer),
            unaligned: self.config.unaligned,
        };
        self.store_runs(&reach, &runs, value, uniform.as_deref())
            .map_err(|stop| self.with_mask(stop, mask_slot))?;
        if let Some(buf) = uniform {
            self.state.pool.give(buf);
        }
        #[cfg(feature = "planted-faults")]
        crate::fault::stored(self.program.origins[pointer as usize], &runs, size);
        self.footprint.note_access(&runs, size, Access::Store, step.loc);
        self.look_at_view((pointer, step.loc), Access::Store, &runs, size);
        self.state.runs = runs;
        Ok(())
    }

    /// The program's own accesses that conflict with a store.
    fn find_crossed(&mut self, runs: &[Run], step: &Step, size: usize) -> Option<Crossed> {
        if !self.footprint.is_tracked(step.access) {
            return None;
        }
        let value = &self.state.slots[step.ins[1] as usize];
        let values = Values {
            lanes: value.lanes().filter(|_| !matches!(value.repr, Repr::Uniform(_))),
            all: match value.repr {
                Repr::Uniform(bits) => bits,
                _ => 0,
            },
            marks: &|lane| value.poison.mark(lane),
        };
        let text = unordered::Function {
            function: &self.program.function,
            memory: self.memory,
        };
        let cells = &mut self.state.cells;
        self.footprint
            .check_store(cells, &text, runs, size, step.access, values)
    }

    /// Stores elements that follow each other and may be accessed; false, and nothing done, where not all values are
    /// defined.
    #[inline]
    fn store_straight(&mut self, index: usize, layout: &Layout, step: &Step) -> Result<bool, Stop> {
        let len = layout.lanes * layout.size;
        let (pointer, slot) = (step.ins[0], step.ins[1]);
        self.write_out(slot)?;
        let watched = self.is_watched(pointer);
        let value = &self.state.slots[slot as usize];
        let (bytes, states) = self.memory.arena_mut();
        let (Some(to), Some(states)) = (
            bytes.get_mut(index..index + len),
            states.get_mut(index..index + len),
        ) else {
            return Ok(false);
        };
        if !value.poison.is_none() {
            return Ok(false);
        }
        match (value.repr, value.lanes().and_then(|lanes| lanes.get(..len))) {
            (Repr::Uniform(bits), _) if !watched => fill(to, layout.size, bits),
            (Repr::Uniform(_), _) | (_, None) => return Ok(false),
            (_, Some(new)) => {
                if watched && let Err(conflict) = self.state.shadow.store(index, to, new) {
                    let lane = (conflict.index - index) / layout.size;
                    return Err(self.trap_race(
                        self.site_of(pointer, step.loc),
                        Access::Store,
                        lane,
                        conflict,
                    ));
                }
                to.copy_from_slice(new);
            }
        }
        // Most often they are, and reading takes half the memory's time that writing does.
        if init::classify_bytes(states) != InitState::All {
            states.fill(ByteState::Init);
        }
        self.stats.bytes_stored += len as u64;
        Ok(true)
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
            let pieces = if run.is_contiguous(size) { 1 } else { run.count };
            let lanes = run.count / pieces;
            let len = lanes * size;
            let span = if pieces == 1 {
                None
            } else {
                reach.locate_span(self.memory, run)
            };
            if let (Some(index), Some(source), Poison::None) = (span, source.or(uniform), &value.poison)
                && run.stride > 0
            {
                let first = if uniform.is_some() { 0 } else { run.lane * size };
                let new = source
                    .get(first..first + run.count * size)
                    .ok_or(Stop::malformed("a store"))?;
                let stride = run.stride as usize;
                if reach.watched
                    && let Err(conflict) =
                        self.state
                            .shadow
                            .store_elements(index, size, stride, self.memory.arena().0, new)
                {
                    let lane = run.lane + (conflict.index - index) / stride;
                    return Err(self.trap_race(reach.site, reach.access, lane, conflict));
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
                    None => reach.locate_element(self.memory, lane, run.address(piece))?,
                };
                let new = match (source, uniform) {
                    (Some(source), _) => source.get(lane * size..lane * size + len),
                    (None, Some(uniform)) => uniform.get(..len),
                    (None, None) => single.get(..len),
                };
                let new = new.ok_or(Stop::malformed("a store"))?;
                if reach.watched {
                    let old = self.memory.arena().0.get(index..index + len).unwrap_or(&[]);
                    if let Err(conflict) = self.state.shadow.store(index, old, new) {
                        let lane = lane + (conflict.index - index) / size;
                        return Err(self.trap_race(reach.site, reach.access, lane, conflict));
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
                    Poison::All(_) => {
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

    /// Finds lanes that store the value of a division without a result.
    #[cold]
    fn check_divisions(&mut self, runs: &[Run], step: &Step, mask: Option<Slot>) -> Result<(), Stop> {
        let (pointer, value) = (step.ins[0], step.ins[1]);
        let lanes = || runs.iter().flat_map(|run| run.lane..run.lane + run.count);
        if let Some(lane) = lanes().find(|&lane| self.value(value).poison.mark(lane) > MAX_STORABLE) {
            let mark = self.value(value).poison.mark(lane);
            return Err(self.trap_undefined(
                self.site_of(pointer, step.loc),
                Some(lane),
                mark,
                "what is stored",
            ));
        }
        if let Some(mask) = mask {
            let mut marks: Vec<Mark> = (0..self.layout(value).lanes)
                .map(|lane| self.value(value).poison.mark(lane))
                .filter(|&mark| mark > MAX_STORABLE)
                .collect();
            marks.sort_unstable();
            marks.dedup();
            for mark in marks {
                self.kept_out(mark, mask);
            }
        }
        Ok(())
    }

    /// Looks for lanes that write the same bytes differently.
    fn check_conflicts(&mut self, runs: &[Run], value: Slot, loc: LocId, size: usize) -> Result<(), Stop> {
        self.write_out(value)?;
        let mut writes = std::mem::take(&mut self.state.writes);
        writes.clear();
        for run in runs {
            writes.extend((0..run.count).map(|nth| conflicting_lanes::Write {
                address: run.address(nth),
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
            equal && !data.poison.is_poison(a) && !data.poison.is_poison(b)
        };
        let found = conflicting_lanes::find(&mut writes, size, same);
        self.state.writes = writes;
        match found {
            Some((a, b)) => Err(conflicting_lanes::trap(self.site(loc), self.memory, a, b)),
            None => Ok(()),
        }
    }
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
