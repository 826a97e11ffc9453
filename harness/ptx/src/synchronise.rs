//! Executes what orders warps and agents: barriers, operations on `mbarrier` objects, fences.

use crate::barrier::{Arrival, BARRIERS};
use crate::lanes::{LANES, lanes_of};
use crate::machine::{Machine, Stop};
use crate::mbarrier::{Event, Misuse, Object};
use crate::op::fence::{FenceSpace, Order, Scope};
use crate::op::mbarrier::{Arrival as PhaseArrival, Phase, PhaseTest};
use crate::op::{Address, Fence, Mbarrier, Slot};
use crate::outcome::TrapKind;
use crate::race::{Accessor, Actor, Content};
use crate::warp::{Awaited, Waiting, Warp};

/// Whether an operation waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    No,
    Yes,
}

impl Order {
    const fn releases(self) -> bool {
        matches!(
            self,
            Self::Weak | Self::Release | Self::AcquireRelease | Self::Sequential
        )
    }

    const fn acquires(self) -> bool {
        matches!(
            self,
            Self::Weak | Self::Acquire | Self::AcquireRelease | Self::Sequential
        )
    }
}

impl Machine<'_> {
    /// `bar.sync`, `bar.arrive`, once all lanes have reached it.
    pub(crate) fn arrive_at_barrier(
        &mut self,
        warp: &mut Warp,
        (id, count): (u32, Option<u32>),
        waits: bool,
    ) -> Result<Wait, TrapKind> {
        let wrong = |count: u32| count == 0 || !count.is_multiple_of(32);
        if id as usize >= BARRIERS || count.is_some_and(wrong) || (!waits && count.is_none()) {
            return Err(TrapKind::BadBarrier);
        }
        let arrival = Arrival {
            warp: warp.component,
            threads: warp.threads,
            waits,
        };
        self.cta.barriers.arrive(id, count, arrival, &warp.knowledge);
        if waits {
            warp.waiting = Some(Waiting::Barrier {
                id,
                step: warp.group.step,
            });
            return Ok(Wait::Yes);
        }
        let epoch = self.new_epoch();
        warp.advance(epoch);
        Ok(Wait::No)
    }

    /// `barrier.cluster`.
    pub(crate) fn run_cluster_barrier(&mut self, warp: &mut Warp, waits: bool, order: Order) -> Wait {
        if !waits {
            self.arrive_at_cluster(warp, order.releases());
            return Wait::No;
        }
        warp.waiting = Some(Waiting::Cluster {
            step: warp.group.step,
        });
        Wait::Yes
    }

    /// Lets a warp continue if the barrier that it waits for has released it. Returns whether it runs.
    pub(crate) fn resume(&mut self, warp: &mut Warp) -> bool {
        let released = match warp.waiting {
            None => return true,
            Some(Waiting::Barrier { .. }) => self.cta.barriers.take_release(warp.component),
            Some(Waiting::Cluster { .. }) => self.cluster.wait(warp.cluster_phase),
            Some(Waiting::Meeting { .. }) => {
                if !self.has_met(warp) {
                    return false;
                }
                warp.waiting = None;
                warp.epoch = self.new_epoch();
                return true;
            }
        };
        let Some(knowledge) = released else { return false };
        warp.waiting = None;
        let epoch = self.new_epoch();
        warp.learn(&knowledge, epoch);
        true
    }

    /// `fence`, `membar`.
    pub(crate) fn fence(&mut self, warp: &mut Warp, fence: Fence) {
        let knowledge = &mut warp.knowledge;
        match fence {
            Fence::Async(space) => {
                if space != FenceSpace::Global {
                    knowledge.fenced.join(&knowledge.ordered);
                }
                if matches!(space, FenceSpace::Global | FenceSpace::All) {
                    knowledge.fenced_global.join(&knowledge.ordered);
                }
            }
            Fence::MapAcquire => knowledge.mapped.join(&knowledge.ordered),
            Fence::Thread => {
                knowledge.join(&warp.unacquired);
                warp.released.join(knowledge);
            }
            Fence::MbarrierInit => {
                if let Some((component, count)) = warp.inits {
                    warp.released.ordered.advance_to(component, count);
                }
            }
            Fence::Restricted | Fence::Alias | Fence::MapRelease => return,
        }
        let epoch = self.new_epoch();
        warp.advance(epoch);
    }

    /// An operation on `mbarrier` objects, lane by lane.
    pub(crate) fn run_mbarrier(&mut self, warp: &mut Warp, op: &Mbarrier, lanes: u32) -> Result<Wait, Stop> {
        match op {
            Mbarrier::Test(test) => return self.test_phase(warp, test, lanes),
            &Mbarrier::PendingCount { to, state } => {
                let values = warp.registers[state as usize].map(|state| state & 0xffff_ffff);
                let known = warp.defined[state as usize];
                warp.put(to, lanes, &values, known);
                return Ok(Wait::No);
            }
            Mbarrier::ArriveAfterCopies { .. } => self.wait_all(warp, lanes),
            _ => {}
        }
        let mut states = [0; LANES];
        for (lane, state) in states.iter_mut().enumerate() {
            if lanes >> lane & 1 == 1 {
                *state = self
                    .operate(warp, op, lane)
                    .map_err(|kind| self.trap(warp, lane, kind))?;
            }
        }
        if let Mbarrier::Arrive(PhaseArrival { state: Some(to), .. }) = op {
            warp.put(*to, lanes, &states, lanes);
        }
        if matches!(op, Mbarrier::Arrive(_) | Mbarrier::ArriveAfterCopies { .. }) {
            let epoch = self.new_epoch();
            warp.advance(epoch);
        }
        Ok(Wait::No)
    }

    /// An operation of one lane other than a test. Returns the state before it.
    fn operate(&mut self, warp: &mut Warp, op: &Mbarrier, lane: usize) -> Result<u64, TrapKind> {
        let value = |warp: &Warp, slot: Slot| warp.registers[slot as usize][lane] as u32;
        let (address, slots) = match op {
            Mbarrier::Init { address, count } => (address, Some(*count)),
            Mbarrier::Expect { address, bytes } | Mbarrier::Complete { address, bytes } => {
                (address, Some(*bytes))
            }
            Mbarrier::Arrive(arrival) => (&arrival.address, arrival.count.or(arrival.expected)),
            Mbarrier::Invalidate { address } | Mbarrier::ArriveAfterCopies { address, .. } => (address, None),
            Mbarrier::Test(_) | Mbarrier::PendingCount { .. } => return Ok(0),
        };
        let is_known = |slot: Slot| warp.defined[slot as usize] >> lane & 1 == 1;
        if !slots.into_iter().chain([address.base]).all(is_known) {
            self.record_suspect(warp, lane);
        }
        let (rank, at) = self.locate_shared(warp, address, lane, 8, 8)?;
        let offset = at as u32;
        let event = warp.event();
        match op {
            Mbarrier::Init { count, .. } => {
                self.record_init(warp, lane, (rank, at));
                if self.object(rank, offset).is_some() {
                    return Err(TrapKind::BadMbarrier {
                        offset,
                        reason: "it is initialised again without `mbarrier.inval`",
                    });
                }
                let component = self.components.allocate();
                let object = Object::new(value(warp, *count), component);
                let object = object.map_err(|misuse| describe(misuse, offset))?;
                if let Some(cta) = self.cta_of(rank) {
                    cta.objects.insert(offset, object);
                }
                return Ok(0);
            }
            Mbarrier::Invalidate { .. } => {
                self.record_object(warp, lane, (rank, at), true);
                let removed = self.cta_of(rank).and_then(|cta| cta.objects.remove(&offset));
                return removed.map(|_| 0).ok_or(TrapKind::NoMbarrier { offset });
            }
            _ => self.record_object(warp, lane, (rank, at), false),
        }
        let thread = self.thread(warp, lane);
        let Some(object) = self.object(rank, offset) else {
            return Err(TrapKind::NoMbarrier { offset });
        };
        let before = object.state();
        let progress = match op {
            Mbarrier::Arrive(arrival) => {
                if let Some(bytes) = arrival.expected {
                    object
                        .count_bytes(value(warp, bytes).into())
                        .map_err(|misuse| describe(misuse, offset))?;
                }
                // A release for the block does not cover a waiter of another one.
                let is_covered = rank == warp.rank || arrival.scope != Scope::Block;
                let published = match (arrival.order.releases(), is_covered) {
                    (true, true) => Some(&warp.knowledge),
                    (false, true) => Some(&warp.released),
                    (_, false) => None,
                };
                let count = arrival.count.map_or(1, |slot| value(warp, slot));
                let phase = object.phase;
                let progress = object.arrive(count, event, published, arrival.drops);
                if arrival.must_not_complete && object.phase != phase {
                    return Err(TrapKind::BadMbarrier {
                        offset,
                        reason: "an arrival with `.noComplete` completes the phase",
                    });
                }
                progress
            }
            Mbarrier::Expect { bytes, .. } => object.count_bytes(value(warp, *bytes).into()),
            Mbarrier::Complete { bytes, .. } => object.count_bytes(-i64::from(value(warp, *bytes))),
            Mbarrier::ArriveAfterCopies { counted, .. } => {
                if !counted {
                    object.expect_arrival();
                }
                object.arrive(1, event, Some(&warp.knowledge), false)
            }
            _ => return Ok(before),
        };
        self.note_progress(progress, (rank, offset), event.step, thread)?;
        Ok(before)
    }

    /// Records an initialisation as a write of its own agent, because `fence.mbarrier_init` publishes nothing else.
    fn record_init(&mut self, warp: &mut Warp, lane: usize, (rank, at): (u16, usize)) {
        let (component, count) = match warp.inits {
            Some((component, count)) => (component, count.saturating_add(1)),
            None => (self.components.allocate(), 1),
        };
        warp.inits = Some((component, count));
        let mut met = None;
        let by = Accessor::from_agent(warp, Actor::Object, component, count);
        if let Some(shared) = self.shared_of(rank) {
            shared.record_write(at, 8, Content::Known, &by, &mut met);
        }
        self.note(warp, lane, met);
        self.record_remote(warp, lane, rank);
        warp.knowledge.ordered.advance_to(component, count);
        warp.epoch = self.new_epoch();
    }

    /// Records an operation as an access to the object's bytes. Only `init` and `inval` race with the others.
    fn record_object(&mut self, warp: &Warp, lane: usize, (rank, at): (u16, usize), writes: bool) {
        let mut met = None;
        let by = Accessor {
            actor: if writes { Actor::Object } else { Actor::Atomic },
            ..Accessor::from_warp(warp, false)
        };
        if let Some(shared) = self.shared_of(rank) {
            if writes {
                shared.record_write(at, 8, Content::Known, &by, &mut met);
            } else {
                shared.record_read(at, 8, &by, &mut met);
            }
        }
        self.note(warp, lane, met);
        self.record_remote(warp, lane, rank);
    }

    /// `mbarrier.test_wait`, `mbarrier.try_wait`. Both wait until the phase completes or nothing else can run.
    fn test_phase(&mut self, warp: &mut Warp, test: &PhaseTest, lanes: u32) -> Result<Wait, Stop> {
        let mut complete = 0;
        let mut offsets: smallvec::SmallVec<[(u16, u32); 2]> = smallvec::SmallVec::new();
        let slot = match test.phase {
            Phase::State(slot) | Phase::Parity(slot) => slot,
        };
        let known = warp.defined[slot as usize] & warp.defined[test.address.base as usize];
        if lanes & !known != 0 {
            self.record_suspect(warp, (lanes & !known).trailing_zeros() as usize);
        }
        for lane in lanes_of(lanes) {
            let located = self.find_object(warp, &test.address, lane);
            let (rank, offset) = located.map_err(|kind| self.trap(warp, lane, kind))?;
            let phase = warp.registers[slot as usize][lane];
            let is_complete = self.object(rank, offset).is_some_and(|object| match test.phase {
                Phase::State(_) => object.has_left(phase),
                Phase::Parity(_) => object.has_completed(phase as u32),
            });
            complete |= u32::from(is_complete) << lane;
            if !offsets.contains(&(rank, offset)) {
                offsets.push((rank, offset));
            }
        }
        if complete != lanes && (test.may_block || !self.tests_fail) {
            let lane = (lanes & !complete).trailing_zeros() as usize & 31;
            let offset = self
                .find_object(warp, &test.address, lane)
                .map_or(0, |(_, offset)| offset);
            warp.awaited = Some(Awaited {
                offset,
                step: warp.group.step,
                may_fail: !test.may_block,
            });
            return Ok(Wait::Yes);
        }
        warp.awaited = None;
        let (component, count) = match warp.waits {
            Some((component, count)) => (component, count.saturating_add(1)),
            None => (self.components.allocate(), 1),
        };
        let event = Event {
            step: warp.group.step,
            warp: component,
            time: count,
        };
        for (rank, offset) in offsets {
            let first = lanes.trailing_zeros() as usize & 31;
            self.record_object(warp, first, (rank, offset as usize), false);
            self.finish_wait(warp, (rank, offset), event, complete == lanes, test.order);
        }
        warp.waits = Some((component, count));
        warp.knowledge.ordered.advance_to(component, count);
        warp.epoch = self.new_epoch();
        warp.put_flag(test.to, lanes, complete, lanes);
        Ok(Wait::No)
    }

    fn find_object(&mut self, warp: &Warp, address: &Address, lane: usize) -> Result<(u16, u32), TrapKind> {
        let (rank, at) = self.locate_shared(warp, address, lane, 8, 8)?;
        let offset = at as u32;
        if self.object(rank, offset).is_none() {
            return Err(TrapKind::NoMbarrier { offset });
        }
        Ok((rank, offset))
    }

    fn finish_wait(
        &mut self,
        warp: &mut Warp,
        (rank, offset): (u16, u32),
        event: Event,
        complete: bool,
        order: Order,
    ) {
        if !complete {
            return;
        }
        let Some(object) = self.object(rank, offset) else {
            return;
        };
        let knowledge = object.wait(event);
        let epoch = self.new_epoch();
        if order.acquires() {
            warp.learn(&knowledge, epoch);
        } else {
            warp.unacquired.join(&knowledge);
            warp.advance(epoch);
        }
    }
}

fn describe(misuse: Misuse, offset: u32) -> TrapKind {
    TrapKind::BadMbarrier {
        offset,
        reason: match misuse {
            Misuse::Count(_) => "it expects a number of arrivals that is not between 1 and 1048575",
            Misuse::Arrivals => "more arrivals than the phase expects",
            Misuse::Bytes => "its transaction count leaves the range of 20 bits",
        },
    }
}
