//! Vector clocks: which accesses of other agents happened before everything that an agent does from now on.
//!
//! An agent is a warp, or something that accesses memory beside the warps: the copies that an `mbarrier` waits for, the
//! groups of copies of a thread, the groups of products of a warp. Each has a component, and a time that advances
//! whenever others may synchronise with it.

use std::rc::Rc;

/// The number of an agent in clocks. The warps of a cluster come first.
pub(crate) type Component = u16;

/// Maximum number of components. Further agents share the last one, so that their order is unknown.
const MAX_COMPONENTS: usize = u16::MAX as usize - 1;

/// For each component, the latest time that is known to have passed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    times: Vec<u32>,
}

impl Clock {
    /// Creates the clock of a warp before its first access.
    pub(crate) fn of_warp(component: Component) -> Self {
        let mut clock = Self::default();
        clock.advance_to(component, 1);
        clock
    }

    /// The time of a component, 0 if nothing is known about it.
    #[inline]
    pub(crate) fn time(&self, component: Component) -> u32 {
        self.times.get(usize::from(component)).copied().unwrap_or(0)
    }

    /// Whether an event of a component happened before.
    #[inline]
    pub(crate) fn knows(&self, component: Component, time: u32) -> bool {
        self.time(component) >= time
    }

    /// Learns that a component has reached a time.
    pub(crate) fn advance_to(&mut self, component: Component, time: u32) {
        let at = usize::from(component);
        if self.times.len() <= at {
            self.times.resize(at + 1, 0);
        }
        if let Some(known) = self.times.get_mut(at) {
            *known = time.max(*known);
        }
    }

    /// Learns everything that another clock knows.
    pub(crate) fn join(&mut self, other: &Self) {
        if self.times.len() < other.times.len() {
            self.times.resize(other.times.len(), 0);
        }
        for (known, &time) in self.times.iter_mut().zip(&other.times) {
            *known = time.max(*known);
        }
    }
}

/// The knowledge of a warp.
#[derive(Clone, Debug, Default)]
pub(crate) struct Knowledge {
    /// Events that happened before.
    pub(crate) ordered: Clock,
    /// Events that happened before, with a proxy fence for shared memory between them and now: the async proxy sees their
    /// writes.
    pub(crate) fenced: Clock,
    /// Events with a proxy fence for global memory between them and now.
    pub(crate) fenced_global: Clock,
    /// Events with `fence.proxy.tensormap` between them and now.
    pub(crate) mapped: Clock,
}

impl Knowledge {
    pub(crate) fn join(&mut self, other: &Self) {
        self.ordered.join(&other.ordered);
        self.fenced.join(&other.fenced);
        self.fenced_global.join(&other.fenced_global);
        self.mapped.join(&other.mapped);
    }
}

/// Knowledge that several waiters share.
pub(crate) type SharedKnowledge = Rc<Knowledge>;

/// Assigns components to agents other than warps.
#[derive(Debug, Default)]
pub(crate) struct Components {
    next: usize,
}

impl Components {
    /// Starts with the components of the warps.
    pub(crate) fn new(warps: usize) -> Self {
        Self { next: warps }
    }

    /// Returns an unused component; the last one once there are too many.
    pub(crate) fn allocate(&mut self) -> Component {
        let component = self.next.min(MAX_COMPONENTS);
        self.next = component + 1;
        component as Component
    }
}
