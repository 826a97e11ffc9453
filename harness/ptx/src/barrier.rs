//! Barriers of a block (`bar`, `barrier`) and of a cluster (`barrier.cluster`): arrivals, and what the warps that a
//! barrier releases learn.

use std::rc::Rc;

use crate::clock::{Knowledge, SharedKnowledge};
use crate::deadlock::Arrived;

/// Number of barriers of a block.
pub(crate) const BARRIERS: usize = 16;

/// An arrival at a barrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// The number of the warp among those of the cluster.
    pub(crate) warp: u16,
    pub(crate) threads: u32,
    /// Whether it waits for the others.
    pub(crate) waits: bool,
}

/// A barrier between two completions.
#[derive(Debug, Default)]
struct Barrier {
    arrived: u32,
    /// Threads that must arrive; `None`: all of them.
    count: Option<u32>,
    joined: Knowledge,
    waiters: Vec<u16>,
}

/// The barriers of a block, or the barrier of a cluster.
#[derive(Debug)]
pub(crate) struct Barriers {
    all: Vec<Barrier>,
    /// The number of threads that can arrive, and how many of them have exited.
    threads: u32,
    exited: u32,
    /// Warps that a barrier has released, with the knowledge that it passed to them.
    released: Vec<(u16, SharedKnowledge)>,
}

impl Barriers {
    pub(crate) fn new(count: usize, threads: u32) -> Self {
        Self {
            all: (0..count).map(|_| Barrier::default()).collect(),
            threads,
            exited: 0,
            released: Vec::new(),
        }
    }

    /// Counts an arrival at a barrier, which must exist.
    pub(crate) fn arrive(&mut self, id: u32, count: Option<u32>, arrival: Arrival, knowledge: &Knowledge) {
        let Some(barrier) = self.all.get_mut(id as usize) else {
            return;
        };
        if count.is_some() {
            barrier.count = count;
        }
        barrier.arrived = barrier.arrived.saturating_add(arrival.threads);
        barrier.joined.join(knowledge);
        if arrival.waits {
            barrier.waiters.push(arrival.warp);
        }
        self.complete(id as usize);
    }

    /// Counts threads that exit. Barriers without a count don't wait for them.
    pub(crate) fn exit(&mut self, threads: u32) {
        self.exited = self.exited.saturating_add(threads);
        for id in 0..self.all.len() {
            self.complete(id);
        }
    }

    /// Releases the waiting warps if all threads have arrived.
    fn complete(&mut self, id: usize) {
        let Some(barrier) = self.all.get_mut(id) else {
            return;
        };
        let full = match barrier.count {
            Some(count) => barrier.arrived >= count,
            None => barrier.arrived.saturating_add(self.exited) >= self.threads,
        };
        if barrier.arrived == 0 || !full {
            return;
        }
        let barrier = std::mem::take(barrier);
        let joined = Rc::new(barrier.joined);
        let released = barrier.waiters.into_iter().map(|warp| (warp, Rc::clone(&joined)));
        self.released.extend(released);
    }

    /// Returns what a released warp learns; `None` if it waits on.
    pub(crate) fn take_release(&mut self, warp: u16) -> Option<SharedKnowledge> {
        let at = self.released.iter().position(|&(released, _)| released == warp)?;
        Some(self.released.swap_remove(at).1)
    }

    /// The state of a barrier, for messages.
    pub(crate) fn describe(&self, id: u32) -> Arrived {
        let barrier = self.all.get(id as usize);
        Arrived {
            threads: barrier.map_or(0, |barrier| barrier.arrived),
            expected: barrier
                .and_then(|barrier| barrier.count)
                .unwrap_or(self.threads.saturating_sub(self.exited)),
        }
    }
}

/// The barrier of a cluster, at which warps arrive first and wait later.
#[derive(Debug)]
pub(crate) struct ClusterBarrier {
    threads: u32,
    exited: u32,
    arrived: u32,
    /// The number of completions.
    phase: u32,
    joined: Knowledge,
    completed: SharedKnowledge,
}

impl ClusterBarrier {
    pub(crate) fn new(threads: u32) -> Self {
        Self {
            threads,
            exited: 0,
            arrived: 0,
            phase: 0,
            joined: Knowledge::default(),
            completed: Rc::default(),
        }
    }

    /// Counts arrivals, and returns the phase that the threads must wait for.
    pub(crate) fn arrive(&mut self, threads: u32, knowledge: &Knowledge) -> u32 {
        let phase = self.phase;
        self.arrived = self.arrived.saturating_add(threads);
        self.joined.join(knowledge);
        self.complete();
        phase
    }

    /// Counts threads that exit: they count as arrived.
    pub(crate) fn exit(&mut self, threads: u32) {
        self.exited = self.exited.saturating_add(threads);
        self.complete();
    }

    fn complete(&mut self) {
        if self.arrived == 0 || self.arrived.saturating_add(self.exited) < self.threads {
            return;
        }
        self.arrived = 0;
        self.phase = self.phase.wrapping_add(1);
        self.completed = Rc::new(std::mem::take(&mut self.joined));
    }

    /// Returns what a wait for a phase learns; `None` if it has not completed.
    pub(crate) fn wait(&self, phase: u32) -> Option<SharedKnowledge> {
        (self.phase != phase).then(|| Rc::clone(&self.completed))
    }

    /// The state of the barrier, for messages.
    pub(crate) fn describe(&self) -> Arrived {
        Arrived {
            threads: self.arrived,
            expected: self.threads.saturating_sub(self.exited),
        }
    }
}
