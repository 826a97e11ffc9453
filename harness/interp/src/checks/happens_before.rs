//! The order between the programs of a launch that atomics establish, by Triton's rules.
//!
//! A program consists of many threads. One fixed thread loads, stores and updates scalars; the lanes of a block are
//! distributed over all threads. An atomic is executed by the thread that holds its lane, and orders only that thread:
//!
//! - An atomic that *releases* publishes the earlier accesses of its own thread, and those of all threads before the last
//!   `tl.debug_barrier()`.
//! - An atomic that *acquires* receives everything published at its address, by any atomic, for its own thread. All threads
//!   receive it after the next barrier, or at once if it is a scalar whose result the program uses, because every thread
//!   waits for that result.
//! - `tl.atomic_cas` of a scalar is a barrier on both sides.
//!
//! This follows from the PTX of Triton 3.0 to 3.9: all of them have `bar.sync` on both sides of a scalar `atom.cas`, and
//! after a scalar atomic whose result is used; only 3.9 has it around other atomics that release or acquire.
//!
//! Limit: a volatile load may see an older value than another one did.

use std::collections::HashMap;

use cerith_tile::ir::MemoryOrder;
use smallvec::SmallVec;

/// The effect of an atomic on the order between programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Release {
    /// Whether it is a scalar's.
    pub scalar: bool,
    /// Its memory order.
    pub order: Option<MemoryOrder>,
    /// Whether it wrote; a comparison that failed did not, and hands nothing on.
    pub wrote: bool,
    /// Whether the program uses its result.
    pub used: bool,
}

impl Release {
    fn acquires(self) -> bool {
        self.order.is_some_and(MemoryOrder::acquires)
    }

    fn releases(self) -> bool {
        self.wrote && self.order.is_some_and(MemoryOrder::releases)
    }
}

impl Release {
    /// A poll, and what volatile loads read where that is acquired.
    pub(crate) const POLL: Self = Self {
        scalar: true,
        order: Some(MemoryOrder::Acquire),
        wrote: false,
        used: true,
    };
}

/// The published events: a prefix of the log of each address, by the address's number.
type VectorClock = SmallVec<[(usize, usize); 4]>;

/// The events released at one address, in order.
#[derive(Debug, Default)]
struct Log {
    /// The number of releases.
    events: usize,
    /// Numbers of parts of programs, rising, and at which event.
    parts: Vec<(u32, usize)>,
    /// Events that it acquired from other addresses, and when.
    inherited: Vec<((usize, usize), usize)>,
}

/// The order of the programs of a launch, up to the one that runs.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    followed: bool,
    places: HashMap<usize, usize>,
    logs: Vec<Log>,
    /// The vector clocks of all threads, of the scalars' thread, and of all threads after the next barrier.
    clock: VectorClock,
    scalar_clock: VectorClock,
    pending_clock: VectorClock,
    /// Parts of the program before its last barrier, and those of scalars before their last release.
    settled: Vec<u32>,
    scalar_settled: Vec<u32>,
    /// The parts under way: of blocks and of scalars.
    block: Option<u32>,
    scalar: Option<u32>,
    /// Whether the access under way is a scalar's.
    scalar_access: bool,
}

fn learn(known: &mut VectorClock, (place, length): (usize, usize)) {
    match known.binary_search_by_key(&place, |&(other, _)| other) {
        Ok(at) => {
            if let Some((_, known)) = known.get_mut(at) {
                *known = length.max(*known);
            }
        }
        Err(at) => known.insert(at, (place, length)),
    }
}

impl Orders {
    pub(crate) const fn follow(&mut self) {
        self.followed = true;
    }

    #[inline]
    pub(crate) const fn followed(&self) -> bool {
        self.followed
    }

    /// A program begins.
    pub(crate) fn enter(&mut self) {
        if !self.followed {
            return;
        }
        for known in [&mut self.clock, &mut self.scalar_clock, &mut self.pending_clock] {
            known.clear();
        }
        self.settled.clear();
        self.scalar_settled.clear();
        (self.block, self.scalar) = (None, None);
    }

    /// The number of the part that an access belongs to, if it has one.
    #[inline]
    pub(crate) const fn begin_access(&mut self, scalar: bool) -> Option<u32> {
        self.scalar_access = scalar;
        if scalar { self.scalar } else { self.block }
    }

    /// Gives that part its number.
    pub(crate) const fn set_number(&mut self, scalar: bool, number: u32) {
        let to = if scalar { &mut self.scalar } else { &mut self.block };
        *to = Some(number);
    }

    /// All threads wait for each other.
    pub(crate) fn barrier(&mut self) {
        if !self.followed {
            return;
        }
        self.settled.extend(self.block.take());
        self.settled.extend(self.scalar.take());
        self.settled.append(&mut self.scalar_settled);
        for from in [&self.scalar_clock, &self.pending_clock] {
            for &one in from {
                learn(&mut self.clock, one);
            }
        }
        self.scalar_clock.clone_from(&self.clock);
        self.pending_clock.clear();
    }

    pub(crate) fn synchronise(&mut self, index: usize, atomic: Release) {
        if !self.followed {
            return;
        }
        let fresh = self.logs.len();
        let place = *self.places.entry(index).or_insert(fresh);
        if place == fresh {
            self.logs.push(Log::default());
        }
        let events = self.logs.get(place).map_or(0, |log| log.events);
        if atomic.acquires() && events > 0 {
            let all = (place, events);
            if atomic.scalar {
                learn(&mut self.scalar_clock, all);
                if atomic.used {
                    learn(&mut self.clock, all);
                }
            } else {
                learn(&mut self.pending_clock, all);
            }
        }
        if !atomic.releases() {
            return;
        }
        if atomic.scalar {
            self.scalar_settled.extend(self.scalar.take());
        }
        let known = if atomic.scalar {
            &self.scalar_clock
        } else {
            &self.clock
        };
        let Some(log) = self.logs.get_mut(place) else {
            return;
        };
        let last = log.parts.last().map(|&(part, _)| part);
        let scalars = self.scalar_settled.iter().filter(|_| atomic.scalar);
        let mut parts: SmallVec<[u32; 8]> = self.settled.iter().chain(scalars).copied().collect();
        parts.retain(|part| last.is_none_or(|last| *part > last));
        parts.sort_unstable();
        for &one in known {
            let news = one.0 != place && !log.inherited.iter().rev().take(4).any(|(other, _)| *other == one);
            if news {
                log.inherited.push((one, events));
            }
        }
        log.parts.extend(parts.into_iter().map(|part| (part, events)));
        log.events += 1;
    }

    /// Whether the access under way comes after a part of another program.
    pub(crate) fn is_after(&self, part: u32) -> bool {
        let known = if self.scalar_access {
            &self.scalar_clock
        } else {
            &self.clock
        };
        if known.is_empty() {
            return false;
        }
        let mut open = known.to_vec();
        let mut seen: HashMap<usize, usize> = HashMap::new();
        while let Some((place, events)) = open.pop() {
            let before = seen.entry(place).or_insert(0);
            if *before >= events {
                continue;
            }
            *before = events;
            let Some(log) = self.logs.get(place) else { continue };
            if let Ok(at) = log.parts.binary_search_by_key(&part, |&(part, _)| part)
                && log.parts.get(at).is_some_and(|&(_, event)| event < events)
            {
                return true;
            }
            let others = log.inherited.iter().filter(|&&(_, event)| event < events);
            open.extend(others.map(|&(other, _)| other));
        }
        false
    }
}
