//! Releases and acquires through memory (`atom.acq_rel`, `ld.acquire`, `st.release`), and fences of tensor maps.

use rustc_hash::FxHashMap;

use crate::clock::{Component, Knowledge};
use crate::machine::{Machine, Target};
use crate::op::{Order, Scope};
use crate::outcome::FindingKind;
use crate::warp::Warp;

/// A location that a warp released.
#[derive(Debug)]
struct Release {
    knowledge: Knowledge,
    /// The block of the warp, and the threads that the release covers.
    rank: u16,
    scope: Scope,
}

/// The change of a tensor map in global memory.
#[derive(Clone, Copy, Debug)]
struct MapChange {
    component: Component,
    time: u32,
    step: u32,
}

/// The knowledge that warps of a cluster published through memory.
#[derive(Debug, Default)]
pub(crate) struct Releases {
    locations: FxHashMap<Target, Release>,
    maps: FxHashMap<Target, MapChange>,
}

impl Releases {
    pub(crate) fn clear(&mut self) {
        self.locations.clear();
        self.maps.clear();
    }
}

impl Order {
    /// Whether the access synchronises with others.
    pub(crate) const fn is_ordered(self) -> bool {
        !matches!(self, Self::Weak | Self::Relaxed)
    }
}

impl Machine<'_> {
    /// Acquires at a location after a read, and releases at it by a write.
    #[cold]
    pub(crate) fn synchronise_access(
        &mut self,
        warp: &mut Warp,
        target: Target,
        (order, scope): (Order, Scope),
        (reads, writes): (bool, bool),
    ) {
        let target = match target {
            Target::Shared(at) => Target::Cluster(self.rank, at),
            other => other,
        };
        let acquires = reads && matches!(order, Order::Acquire | Order::AcquireRelease | Order::Sequential);
        let releases = writes && matches!(order, Order::Release | Order::AcquireRelease | Order::Sequential);
        let epoch = self.new_epoch();
        let released = self.releases.locations.get(&target);
        if let Some(release) = released.filter(|_| acquires) {
            let is_covered =
                release.rank == warp.rank || (release.scope != Scope::Block && scope != Scope::Block);
            if is_covered {
                warp.learn(&release.knowledge, epoch);
            }
        }
        if !releases {
            return;
        }
        let release = self.releases.locations.entry(target).or_insert_with(|| Release {
            knowledge: Knowledge::default(),
            rank: warp.rank,
            scope,
        });
        (release.rank, release.scope) = (warp.rank, scope);
        release.knowledge.join(&warp.knowledge);
        let epoch = self.new_epoch();
        warp.advance(epoch);
    }

    /// Records that a warp changed a tensor map.
    pub(crate) fn record_map(&mut self, warp: &Warp, target: Target) {
        let change = MapChange {
            component: warp.component,
            time: warp.time,
            step: warp.group.step,
        };
        self.releases.maps.insert(target, change);
    }

    /// Checks that a copy sees the last change of its tensor map.
    pub(crate) fn check_map(&mut self, warp: &Warp, lane: usize, target: Target) {
        let Some(&change) = self.releases.maps.get(&target) else {
            return;
        };
        if !warp.knowledge.mapped.knows(change.component, change.time) {
            let thread = self.thread(warp, lane);
            let kind = FindingKind::MapFence;
            self.report(kind, warp.group.step, Some(change.step), thread, None);
        }
    }
}
