//! Bulk copies: agents that a thread starts, that move bytes later, and that complete bytes of an `mbarrier` or belong to
//! a group of the thread.
//!
//! Races are found when a copy starts: its accesses are recorded as those of an agent whose time passes when it
//! completes. So they do not depend on the time at which it moves the bytes.

use smallvec::SmallVec;

use crate::agent::{Agent, End, Flight};
use crate::lanes::lanes_of;
use crate::machine::{Machine, Stop, Target};
use crate::mbarrier::{Misuse, Progress};
use crate::op::bulk::{AsyncStore, BulkCopy, Completion, Reduction, TensorCopy, TensorDirection};
use crate::op::{Access, Address, Slot};
use crate::outcome::{FindingKind, Thread, TrapKind};
use crate::race::{Accessor, Actor, Content};
use crate::tensor::copy::{Piece, Side, Transfer, expand_tensor};
use crate::tensor::map::TENSOR_MAP_BYTES;
use crate::warp::{BulkGroups, Warp};

/// Bytes that are copied in the time of a step.
const BYTES_PER_STEP: u64 = 64;

impl Machine<'_> {
    /// Starts something in each lane. Its failure is a trap of the lane.
    fn start_each(
        &mut self,
        warp: &mut Warp,
        lanes: u32,
        start: impl Fn(&mut Self, &mut Warp, usize) -> Result<(), TrapKind>,
    ) -> Result<(), Stop> {
        for lane in lanes_of(lanes) {
            start(self, warp, lane).map_err(|kind| self.trap(warp, lane, kind))?;
        }
        Ok(())
    }

    /// Starts a copy of each lane through a tensor map.
    pub(crate) fn start_tensor_copy(
        &mut self,
        warp: &mut Warp,
        copy: &TensorCopy,
        lanes: u32,
    ) -> Result<(), Stop> {
        self.start_each(warp, lanes, |machine, warp, lane| {
            machine.try_tensor_copy(warp, copy, lane)
        })
    }

    fn try_tensor_copy(&mut self, warp: &mut Warp, copy: &TensorCopy, lane: usize) -> Result<(), TrapKind> {
        let map = self.read_tensor_map(warp, &copy.map, lane)?;
        let coordinates: SmallVec<[i32; 5]> = copy
            .coordinates
            .iter()
            .map(|&slot| warp.registers[slot as usize][lane] as i32)
            .collect();
        let inputs = copy.coordinates.iter().chain([&copy.map.base, &copy.shared.base]);
        self.look_at_registers(warp, inputs, lane);
        let (rank, shared) = self.locate_shared(warp, &copy.shared, lane, 1, 16)?;
        let transfer = expand_tensor(copy, &map, &coordinates, shared as u32).map_err(TrapKind::TensorMap)?;
        let loads = copy.direction == TensorDirection::Load;
        self.start_flight(
            warp,
            lane,
            (transfer, loads),
            (rank, copy.multicast),
            copy.completion,
        )
    }

    /// Starts a copy of each lane.
    pub(crate) fn start_bulk_copy(
        &mut self,
        warp: &mut Warp,
        copy: &BulkCopy,
        lanes: u32,
    ) -> Result<(), Stop> {
        self.start_each(warp, lanes, |machine, warp, lane| {
            machine.try_bulk_copy(warp, copy, lane)
        })
    }

    fn try_bulk_copy(&mut self, warp: &mut Warp, copy: &BulkCopy, lane: usize) -> Result<(), TrapKind> {
        let bytes = warp.registers[copy.bytes as usize][lane] as u32;
        self.look_at_registers(warp, [&copy.bytes, &copy.to.base, &copy.from.base], lane);
        let value = |address: &Address| {
            warp.registers[address.base as usize][lane].wrapping_add_signed(address.offset)
        };
        let loads = !matches!(copy.to.place, crate::op::StateSpace::Global);
        let (shared, global) = if loads {
            (&copy.to, value(&copy.from))
        } else {
            (&copy.from, value(&copy.to))
        };
        let (rank, offset) = self.locate_shared(warp, shared, lane, bytes as usize, 16)?;
        if !global.is_multiple_of(16) || !bytes.is_multiple_of(16) {
            return Err(TrapKind::Misaligned {
                address: global,
                align: 16,
            });
        }
        let transfer = Transfer {
            pieces: vec![Piece {
                shared: offset as u32,
                side: Side::Global(global),
                len: bytes,
            }],
            bytes,
            element: copy.reduction.map_or(1, |reduction| reduction.ty.bytes()),
            update: copy.reduction.and_then(Reduction::find_update),
        };
        self.start_flight(
            warp,
            lane,
            (transfer, loads),
            (rank, copy.multicast),
            copy.completion,
        )
    }

    /// Records registers of a lane that are not initialised.
    fn look_at_registers<'s>(&mut self, warp: &Warp, slots: impl IntoIterator<Item = &'s Slot>, lane: usize) {
        let is_known = |slot: &Slot| warp.defined[*slot as usize] >> lane & 1 == 1;
        if !slots.into_iter().all(is_known) {
            self.record_suspect(warp, lane);
        }
    }

    fn read_tensor_map(
        &mut self,
        warp: &Warp,
        address: &Address,
        lane: usize,
    ) -> Result<[u8; TENSOR_MAP_BYTES], TrapKind> {
        let target = self.locate(warp, address, lane, TENSOR_MAP_BYTES)?;
        self.check_map(warp, lane, target);
        self.peek(target, TENSOR_MAP_BYTES)
            .try_into()
            .map_err(|_| TrapKind::ReadOnly {
                memory: "a memory that cannot hold a tensor map",
            })
    }

    /// Records the accesses of a copy, and lets it fly.
    fn start_flight(
        &mut self,
        warp: &mut Warp,
        lane: usize,
        (transfer, loads): (Transfer, bool),
        (rank, multicast): (u16, Option<Slot>),
        completion: Completion,
    ) -> Result<(), TrapKind> {
        let ranks: SmallVec<[u16; 2]> = match multicast {
            Some(mask) => {
                let mask = warp.registers[mask as usize][lane] as u32 & 0xffff;
                lanes_of(mask).map(|rank| rank as u16).collect()
            }
            None => SmallVec::from_slice(&[rank]),
        };
        if let Some(&rank) = ranks.iter().find(|&&rank| u32::from(rank) >= self.blocks()) {
            return Err(TrapKind::NoBlock { rank: rank.into() });
        }
        self.charge(u64::from(transfer.bytes) / BYTES_PER_STEP);
        for &rank in &ranks {
            let agent = self.create_agent(warp, lane, completion, rank)?;
            self.record_transfer(warp, lane, (&transfer, loads), rank, &agent)?;
        }
        let end = match completion {
            Completion::Mbarrier(address) => {
                let (_, offset) = self.locate_shared(warp, &address, lane, 8, 8)?;
                let offset = offset as u32;
                let phase = ranks
                    .first()
                    .and_then(|&rank| self.object(rank, offset))
                    .map_or(0, |object| object.phase);
                End::Phase { offset, phase }
            }
            Completion::Group => self.create_agent(warp, lane, completion, rank)?.end,
        };
        let flight = Flight {
            transfer,
            loads,
            ranks,
            end,
            data: SmallVec::new(),
            step: warp.group.step,
            thread: self.thread(warp, lane),
        };
        self.launch_flight(flight)
    }

    /// Lets a copy fly, or completes it at once.
    fn launch_flight(&mut self, flight: Flight) -> Result<(), TrapKind> {
        if self.scheduler.completes_at_once() {
            self.complete_flight(&flight)
        } else {
            self.flights.push(flight);
            Ok(())
        }
    }

    /// `st.async`, `red.async`: stores of each lane to the shared memory of a block.
    pub(crate) fn start_stores(
        &mut self,
        warp: &mut Warp,
        store: &AsyncStore,
        lanes: u32,
    ) -> Result<(), Stop> {
        self.start_each(warp, lanes, |machine, warp, lane| {
            machine.try_store(warp, store, lane)
        })
    }

    fn try_store(&mut self, warp: &mut Warp, store: &AsyncStore, lane: usize) -> Result<(), TrapKind> {
        let Access {
            address,
            bytes: each,
            count,
            registers,
            ..
        } = &store.access;
        let registers = registers.get(..usize::from(*count)).unwrap_or_default();
        self.look_at_registers(warp, registers.iter().chain([&address.base]), lane);
        let mut data: SmallVec<[u8; 16]> = SmallVec::new();
        for &register in registers {
            let value = warp.registers[register as usize][lane].to_le_bytes();
            data.extend(value.into_iter().take((*each).into()));
        }
        let len = data.len();
        let (rank, at) = self.locate_shared(warp, address, lane, len, len.max(1) as u64)?;
        let agent = self.create_agent(warp, lane, Completion::Mbarrier(store.mbarrier), rank)?;
        let by = Accessor::from_agent(warp, Actor::Store, agent.shared.0, agent.shared.1);
        let mut met = None;
        if let Some(shared) = self.shared_of(rank) {
            shared.record_write(at, len, Content::Known, &by, &mut met);
        }
        self.note(warp, lane, met);
        self.record_remote(warp, lane, rank);
        let piece = Piece {
            shared: at as u32,
            side: Side::Fill(0),
            len: len as u32,
        };
        self.launch_flight(Flight {
            transfer: Transfer {
                pieces: vec![piece],
                bytes: len as u32,
                element: (*each).into(),
                update: store.reduction.and_then(Reduction::find_update),
            },
            loads: true,
            ranks: SmallVec::from_slice(&[rank]),
            end: agent.end,
            data,
            step: warp.group.step,
            thread: self.thread(warp, lane),
        })
    }

    /// Chooses the components of a copy's accesses.
    fn create_agent(
        &mut self,
        warp: &mut Warp,
        lane: usize,
        completion: Completion,
        rank: u16,
    ) -> Result<Agent, TrapKind> {
        match completion {
            Completion::Mbarrier(address) => {
                let (_, offset) = self.locate_shared(warp, &address, lane, 8, 8)?;
                let offset = offset as u32;
                let Some(object) = self.object(rank, offset) else {
                    return Err(TrapKind::NoMbarrier { offset });
                };
                let (component, phase) = (object.component, object.phase);
                Ok(Agent {
                    end: End::Phase { offset, phase },
                    shared: (component, phase.wrapping_add(1)),
                    global: (component, phase.wrapping_add(1)),
                })
            }
            Completion::Group => {
                let groups = self.bulk_groups(warp, lane);
                Ok(Agent {
                    end: End::Group {
                        component: groups.writes,
                        group: groups.open,
                    },
                    shared: (groups.reads, groups.open),
                    global: (groups.writes, groups.open),
                })
            }
        }
    }

    fn bulk_groups(&mut self, warp: &mut Warp, lane: usize) -> BulkGroups {
        let step = warp.group.step;
        if let Some((_, groups)) = warp.bulk.iter_mut().find(|(of, _)| usize::from(*of) == lane) {
            (groups.last, groups.last_step) = (groups.open, step);
            return *groups;
        }
        let groups = BulkGroups {
            open: 1,
            reads: self.components.allocate(),
            writes: self.components.allocate(),
            last: 1,
            last_step: step,
        };
        warp.bulk.push((lane as u8, groups));
        groups
    }

    /// Checks the bounds of a copy, and records its accesses.
    fn record_transfer(
        &mut self,
        warp: &Warp,
        lane: usize,
        (transfer, loads): (&Transfer, bool),
        rank: u16,
        agent: &Agent,
    ) -> Result<(), TrapKind> {
        let on_shared = Accessor::from_agent(warp, Actor::Copy, agent.shared.0, agent.shared.1);
        let on_global = Accessor {
            fenced: &warp.knowledge.fenced_global,
            ..Accessor::from_agent(warp, Actor::Copy, agent.global.0, agent.global.1)
        };
        let (mut met, mut known) = (None, true);
        for piece in &transfer.pieces {
            let len = piece.len as usize;
            self.in_shared(piece.shared.into(), len)?;
            let at = piece.shared as usize;
            if let Some(shared) = self.shared_of(rank) {
                if loads {
                    shared.record_write(at, len, Content::Known, &on_shared, &mut met);
                } else {
                    known &= shared.record_read(at, len, &on_shared, &mut met);
                }
            }
            let Side::Global(address) = piece.side else {
                continue;
            };
            if let Target::Arena(at) = self.resolve_global(address, len)?
                && let Some(global) = &mut self.global
            {
                let met = if loads {
                    global.read(at, len, &on_global)
                } else {
                    global.write(at, &[], &vec![0; len], &on_global)
                };
                self.record_race(warp, lane, met);
            }
        }
        if let End::Phase { offset, .. } = agent.end
            && let Some(shared) = self.shared_of(rank)
        {
            let by = Accessor {
                actor: Actor::Atomic,
                ..on_shared
            };
            shared.record_read(offset as usize, 8, &by, &mut met);
        }
        self.note(warp, lane, met);
        if !known {
            self.record_suspect(warp, lane);
        }
        self.record_remote(warp, lane, rank);
        Ok(())
    }

    /// `cp.async.bulk.commit_group`.
    pub(crate) fn commit_bulk(warp: &mut Warp, lanes: u32) {
        for (lane, groups) in &mut warp.bulk {
            if lanes >> *lane & 1 == 1 {
                groups.open = groups.open.saturating_add(1);
            }
        }
    }

    /// `cp.async.bulk.wait_group`.
    pub(crate) fn wait_bulk(
        &mut self,
        warp: &mut Warp,
        left: u32,
        reads: bool,
        lanes: u32,
    ) -> Result<(), Stop> {
        let waited: SmallVec<[BulkGroups; 4]> = warp
            .bulk
            .iter()
            .filter(|(lane, _)| lanes >> *lane & 1 == 1)
            .map(|&(_, groups)| groups)
            .collect();
        for groups in waited {
            let last = (groups.open - 1).saturating_sub(left);
            let is_waited = |flight: &Flight| matches!(flight.end, End::Group { component, group } if component == groups.writes && group <= last);
            while let Some(at) = self.flights.iter().position(is_waited) {
                self.complete_next(at)?;
            }
            warp.knowledge.ordered.advance_to(groups.reads, last);
            if !reads {
                warp.knowledge.ordered.advance_to(groups.writes, last);
            }
        }
        warp.epoch = self.new_epoch();
        Ok(())
    }

    /// Completes one of the copies in flight. Returns false if there is none.
    pub(crate) fn complete_next(&mut self, nth: usize) -> Result<bool, Stop> {
        if nth >= self.flights.len() {
            return Ok(false);
        }
        let flight = self.flights.remove(nth);
        self.complete_flight(&flight)
            .map_err(|kind| self.trap_at(kind, flight.step, flight.thread))?;
        Ok(true)
    }

    /// Reports the copies that may still read shared memory when a warp that started them exits.
    pub(crate) fn check_exit(&mut self, warp: &Warp) {
        for &(lane, groups) in &warp.bulk {
            if !warp.knowledge.ordered.knows(groups.reads, groups.last) {
                let thread = self.thread(warp, lane.into());
                self.report(FindingKind::ExitInFlight, groups.last_step, None, thread, None);
            }
        }
    }

    /// Moves the bytes of all copies in flight. Nothing waits for them any more.
    pub(crate) fn finish_flights(&mut self) -> Result<(), Stop> {
        for flight in std::mem::take(&mut self.flights) {
            if matches!(flight.end, End::Phase { .. }) {
                self.report(FindingKind::ExitInFlight, flight.step, None, flight.thread, None);
            }
            self.move_bytes(&flight)
                .map_err(|kind| self.trap_at(kind, flight.step, flight.thread))?;
        }
        Ok(())
    }

    /// Moves the bytes of a copy, and completes them at its `mbarrier`.
    fn complete_flight(&mut self, flight: &Flight) -> Result<(), TrapKind> {
        self.move_bytes(flight)?;
        let End::Phase { offset, .. } = flight.end else {
            return Ok(());
        };
        for &rank in &flight.ranks {
            let Some(object) = self.object(rank, offset) else {
                return Err(TrapKind::NoMbarrier { offset });
            };
            let progress = object.count_bytes(-i64::from(flight.transfer.bytes));
            self.note_progress(progress, (rank, offset), flight.step, flight.thread)?;
        }
        Ok(())
    }

    fn move_bytes(&mut self, flight: &Flight) -> Result<(), TrapKind> {
        let mut buffer = Vec::new();
        for piece in &flight.transfer.pieces {
            let (at, len) = (piece.shared as usize, piece.len as usize);
            buffer.clear();
            if !flight.data.is_empty() {
                for &rank in &flight.ranks {
                    let mut new = flight.data.to_vec();
                    let Some(shared) = self.shared_of(rank) else {
                        continue;
                    };
                    let old = shared.bytes().get(at..at + len).unwrap_or_default();
                    combine(&mut new, old, &flight.transfer);
                    shared.put(at, &new);
                }
                continue;
            }
            if flight.loads {
                match piece.side {
                    Side::Global(address) => {
                        let target = self.resolve_global(address, len)?;
                        buffer.extend_from_slice(self.peek(target, len));
                    }
                    Side::Fill(element) => {
                        let bytes = element.to_le_bytes();
                        let element = bytes.get(..flight.transfer.element as usize);
                        buffer.extend(element.unwrap_or(&bytes).iter().copied().cycle().take(len));
                    }
                }
                for &rank in &flight.ranks {
                    if let Some(shared) = self.shared_of(rank) {
                        shared.put(at, &buffer);
                    }
                }
                continue;
            }
            let Side::Global(address) = piece.side else {
                continue;
            };
            for &rank in &flight.ranks {
                if let Some(shared) = self.shared_of(rank) {
                    buffer.extend_from_slice(shared.bytes().get(at..at + len).unwrap_or_default());
                }
            }
            let target = self.resolve_global(address, len)?;
            combine(&mut buffer, self.peek(target, len), &flight.transfer);
            self.poke(target, &buffer)?;
        }
        Ok(())
    }

    /// Reports what the progress of an `mbarrier` shows.
    pub(crate) fn note_progress(
        &mut self,
        progress: Result<Progress, Misuse>,
        (rank, offset): (u16, u32),
        step: u32,
        thread: Thread,
    ) -> Result<(), TrapKind> {
        let progress = progress.map_err(|misuse| TrapKind::BadMbarrier {
            offset,
            reason: match misuse {
                Misuse::Count(_) => "it expects a number of arrivals that is not between 1 and 1048575",
                Misuse::Arrivals => "more arrivals than the phase expects",
                Misuse::Bytes => "its transaction count leaves the range of 20 bits",
            },
        })?;
        if !progress.completed {
            return Ok(());
        }
        let byte = Some(u64::from(offset));
        if let Some(wait) = progress.overrun {
            self.report(FindingKind::PhaseOverrun, step, Some(wait.step), thread, byte);
        }
        let completed = self.object(rank, offset).map_or(0, |object| object.phase);
        let late = self
            .flights
            .iter()
            .find(|flight| flight.is_late(rank, offset, completed));
        if let Some(other) = late.map(|flight| flight.step) {
            self.report(FindingKind::PhaseTooEarly, step, Some(other), thread, byte);
        }
        Ok(())
    }
}

/// Combines new elements with the old ones, if the transfer reduces.
fn combine(new: &mut [u8], old: &[u8], transfer: &Transfer) {
    let Some(update) = transfer.update else { return };
    let each = (transfer.element as usize).clamp(1, 8);
    for (new, old) in new.chunks_mut(each).zip(old.chunks(each)) {
        let value = update(read_element(old), read_element(new)).to_le_bytes();
        for (new, value) in new.iter_mut().zip(value) {
            *new = value;
        }
    }
}

/// An element of at most 8 bytes, extended with zeros.
fn read_element(bytes: &[u8]) -> u64 {
    let mut all = [0; 8];
    for (to, from) in all.iter_mut().zip(bytes) {
        *to = *from;
    }
    u64::from_le_bytes(all)
}
