//! Meetings of the warps of a group at their products.
//!
//! On an H200, `wgmma.mma_async` returns in a warp only after the other warps of its group have issued it, and a wait for it
//! covers the parts of all of them. The PTX ISA leaves that open. A race that the meeting excludes is not reported, because no
//! schedule shows it. A meeting does not order the warps' own accesses of memory.

use rustc_hash::FxHashMap;

use crate::clock::{Clock, Component};
use crate::deadlock::Arrived;
use crate::machine::Machine;
use crate::warp::{Waiting, Warp};

/// Warps of a group.
const GROUP: u32 = 4;

/// The products of a group of warps.
#[derive(Debug, Default)]
struct Meeting {
    /// Arrivals of all warps at all products.
    arrived: u32,
    /// The waits for phases that the warps have finished.
    waits: Clock,
    /// The components of the warps' products.
    components: Vec<Component>,
}

/// The meetings of a cluster's groups, by the rank of the block and the number of the group.
#[derive(Debug, Default)]
pub(crate) struct Meetings {
    all: FxHashMap<(u16, u32), Meeting>,
}

impl Meetings {
    pub(crate) fn clear(&mut self) {
        self.all.clear();
    }

    fn find(&mut self, warp: &Warp) -> &mut Meeting {
        self.all.entry((warp.rank, warp.number / GROUP)).or_default()
    }
}

impl Machine<'_> {
    /// Number of warps in the group of a warp.
    fn group_size(&self, warp: &Warp) -> u32 {
        let warps = self.launch.threads.iter().product::<u32>().div_ceil(32);
        (warps - warp.number / GROUP * GROUP).min(GROUP)
    }

    /// Arrives at a product, whose agent has a component, and waits for the other warps of the group.
    pub(crate) fn meet(&mut self, warp: &mut Warp, component: Component) {
        let meeting = self.meetings.find(warp);
        meeting.arrived = meeting.arrived.saturating_add(1);
        if !meeting.components.contains(&component) {
            meeting.components.push(component);
        }
        if let Some((component, count)) = warp.waits {
            meeting.waits.advance_to(component, count);
        }
        warp.met = warp.met.saturating_add(1);
        warp.waiting = Some(Waiting::Meeting {
            step: warp.group.step,
        });
    }

    /// Whether all warps of the group have arrived at a warp's product. If so, the warp also learns of their waits for phases.
    pub(crate) fn has_met(&mut self, warp: &mut Warp) -> bool {
        let size = self.group_size(warp);
        let meeting = self.meetings.find(warp);
        if meeting.arrived < warp.met.saturating_mul(size) {
            return false;
        }
        warp.knowledge.ordered.join(&meeting.waits);
        true
    }

    /// Makes the products of all warps of a group known to be complete, up to a group of products.
    pub(crate) fn complete_meetings(&mut self, warp: &mut Warp, last: u32) {
        for &component in &self.meetings.find(warp).components {
            warp.knowledge.ordered.advance_to(component, last);
        }
    }

    /// The arrivals at a warp's product, for messages.
    pub(crate) fn describe_meeting(&mut self, warp: &Warp) -> Arrived {
        let size = self.group_size(warp);
        let before = warp.met.saturating_sub(1).saturating_mul(size);
        Arrived {
            threads: self.meetings.find(warp).arrived.saturating_sub(before) * 32,
            expected: size * 32,
        }
    }
}
