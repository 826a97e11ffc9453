//! Operations on mbarrier objects.

use super::address::{Address, Slot};
use super::fence::{Order, Scope};

/// The phase that a wait names.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    /// The state that an arrival returned.
    State(Slot),
    /// The parity of the phase.
    Parity(Slot),
}

/// `mbarrier.arrive`, `mbarrier.arrive_drop`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) address: Address,
    /// The state before the arrival.
    pub(crate) state: Option<Slot>,
    /// Number of arrivals; 1 if absent.
    pub(crate) count: Option<Slot>,
    /// Bytes that `.expect_tx` adds to the phase first.
    pub(crate) expected: Option<Slot>,
    /// Whether later phases expect one arrival less.
    pub(crate) drops: bool,
    /// `.noComplete`: the arrival must not complete the phase.
    pub(crate) must_not_complete: bool,
    pub(crate) order: Order,
    pub(crate) scope: Scope,
}

/// `mbarrier.test_wait`, `mbarrier.try_wait`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PhaseTest {
    /// The predicate that becomes whether the phase is complete.
    pub(crate) to: Slot,
    pub(crate) address: Address,
    pub(crate) phase: Phase,
    /// `try_wait`, which may suspend the thread.
    pub(crate) may_block: bool,
    pub(crate) order: Order,
}

/// An operation on an mbarrier object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mbarrier {
    Init {
        address: Address,
        count: Slot,
    },
    Invalidate {
        address: Address,
    },
    Arrive(Arrival),
    /// `mbarrier.expect_tx`
    Expect {
        address: Address,
        bytes: Slot,
    },
    /// `mbarrier.complete_tx`
    Complete {
        address: Address,
        bytes: Slot,
    },
    Test(PhaseTest),
    /// `mbarrier.pending_count`: the arrivals that a state still expects.
    PendingCount {
        to: Slot,
        state: Slot,
    },
    /// `cp.async.mbarrier.arrive`: arrives when the thread's earlier `cp.async` have completed.
    ArriveAfterCopies {
        address: Address,
        /// `.noinc`: the arrival is one of those that the phase expects already.
        counted: bool,
    },
}
