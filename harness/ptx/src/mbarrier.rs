//! `mbarrier` objects: phases, pending arrivals, transaction counts. See [`crate::synchronise`] for the instructions.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::clock::{Component, Knowledge, SharedKnowledge};

/// Maximum arrivals of a phase.
const MAX_COUNT: u32 = (1 << 20) - 1;
/// Maximum transaction count, in either direction.
const MAX_BYTES: i64 = (1 << 20) - 1;
/// Maximum number of instructions that messages name.
const MAX_ARRIVALS: usize = 8;

/// An instruction of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) step: u32,
    /// The component of the warp.
    pub(crate) warp: Component,
    pub(crate) time: u32,
}

/// An `mbarrier` object.
#[derive(Debug)]
pub(crate) struct Object {
    /// Arrivals of the next phase.
    expected: u32,
    /// Arrivals that the current phase lacks.
    pub(crate) pending: u32,
    /// Bytes that the current phase lacks.
    pub(crate) bytes: i64,
    /// The number of the current phase.
    pub(crate) phase: u32,
    /// The knowledge that arrivals of the current phase have published.
    gathered: Knowledge,
    /// The knowledge that a wait for the last completed phase learns.
    completed: SharedKnowledge,
    /// The component of the copies that it counts. At time `n`, those of the first `n` phases have completed.
    pub(crate) component: Component,
    /// Waits for the last completed phase that have returned.
    waits: Vec<Event>,
    /// The instructions that arrived last, for messages.
    pub(crate) arrivals: Vec<Event>,
}

/// An operation that has no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misuse {
    /// The count is not between 1 and 2^20 - 1.
    Count(u32),
    /// More arrivals than the phase expects.
    Arrivals,
    /// The transaction count leaves its range.
    Bytes,
}

/// The effect of an operation on the phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Whether the phase completed.
    pub(crate) completed: bool,
    /// A wait for the phase before that need not have returned yet.
    pub(crate) overrun: Option<Event>,
}

impl Object {
    pub(crate) fn new(count: u32, component: Component) -> Result<Self, Misuse> {
        if count == 0 || count > MAX_COUNT {
            return Err(Misuse::Count(count));
        }
        Ok(Self {
            expected: count,
            pending: count,
            bytes: 0,
            phase: 0,
            gathered: Knowledge::default(),
            completed: Rc::default(),
            component,
            waits: Vec::new(),
            arrivals: Vec::new(),
        })
    }

    /// The state that `mbarrier.arrive` returns: the phase, and the arrivals that it lacks.
    pub(crate) fn state(&self) -> u64 {
        u64::from(self.phase) << 32 | u64::from(self.pending)
    }

    /// Arrives `count` times. Waits for the phase learn the `published` knowledge, if the arrival publishes any.
    pub(crate) fn arrive(
        &mut self,
        count: u32,
        event: Event,
        published: Option<&Knowledge>,
        drops: bool,
    ) -> Result<Progress, Misuse> {
        if count > self.pending {
            return Err(Misuse::Arrivals);
        }
        if drops {
            self.expected = self.expected.saturating_sub(count);
        }
        self.pending -= count;
        if let Some(knowledge) = published {
            self.gathered.join(knowledge);
        }
        let is_same = |other: &Event| (other.step, other.warp) == (event.step, event.warp);
        if self.arrivals.len() < MAX_ARRIVALS && !self.arrivals.iter().any(is_same) {
            self.arrivals.push(event);
        }
        Ok(self.complete())
    }

    /// Expects (positive) or completes (negative) bytes.
    pub(crate) fn count_bytes(&mut self, bytes: i64) -> Result<Progress, Misuse> {
        self.bytes += bytes;
        if self.bytes.abs() > MAX_BYTES {
            return Err(Misuse::Bytes);
        }
        Ok(if bytes < 0 {
            self.complete()
        } else {
            Progress::default()
        })
    }

    /// Adds an arrival that the current phase waits for.
    pub(crate) fn expect_arrival(&mut self) {
        self.pending = (self.pending + 1).min(MAX_COUNT);
    }

    fn complete(&mut self) -> Progress {
        if self.pending != 0 || self.bytes != 0 {
            return Progress::default();
        }
        let gathered = &self.gathered.ordered;
        let overrun = self
            .waits
            .iter()
            .find(|wait| !gathered.knows(wait.warp, wait.time))
            .copied();
        self.waits.clear();
        self.phase = self.phase.wrapping_add(1);
        self.pending = self.expected;
        self.gathered.ordered.advance_to(self.component, self.phase);
        self.completed = Rc::new(self.gathered.clone());
        Progress {
            completed: true,
            overrun,
        }
    }

    /// Whether the phase of this parity has completed.
    pub(crate) const fn has_completed(&self, parity: u32) -> bool {
        self.phase & 1 != parity & 1
    }

    /// Whether the phase of a state has completed.
    pub(crate) const fn has_left(&self, state: u64) -> bool {
        self.phase != (state >> 32) as u32
    }

    /// Records a wait for the last completed phase, and returns what it learns.
    pub(crate) fn wait(&mut self, event: Event) -> SharedKnowledge {
        if !self.waits.contains(&event) {
            self.waits.push(event);
        }
        Rc::clone(&self.completed)
    }
}

/// The `mbarrier` objects of a block, by their offsets in shared memory.
pub(crate) type Objects = FxHashMap<u32, Object>;
