//! Warps, and the agents that they start, as accessors of memory.

use crate::clock::Component;
use crate::race::{Accessor, Actor};
use crate::warp::Warp;

impl<'w> Accessor<'w> {
    /// Describes a warp at its current instruction.
    #[inline]
    pub(crate) fn from_warp(warp: &'w Warp, atomic: bool) -> Self {
        Self {
            component: warp.component,
            time: warp.time,
            ordered: &warp.knowledge.ordered,
            fenced: &warp.knowledge.fenced,
            epoch: warp.epoch,
            step: warp.group.step,
            actor: if atomic { Actor::Atomic } else { Actor::Thread },
        }
    }

    /// Describes an agent that a warp starts at its current instruction.
    pub(crate) fn from_agent(warp: &'w Warp, actor: Actor, component: Component, time: u32) -> Self {
        Self {
            component,
            time,
            actor,
            ..Self::from_warp(warp, false)
        }
    }
}
