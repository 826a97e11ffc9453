//! The state of a block of a cluster. See `cluster` for addresses in other blocks.

use crate::barrier::{BARRIERS, Barriers};
use crate::clock::Component;
use crate::mbarrier::Objects;
use crate::outcome::Thread;

/// An access to the shared memory of another block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RemoteAccess {
    pub(crate) component: Component,
    pub(crate) time: u32,
    pub(crate) step: u32,
    pub(crate) thread: Thread,
}

/// The state of a block besides its shared memory.
#[derive(Debug)]
pub(crate) struct Cta {
    pub(crate) block: [u32; 3],
    pub(crate) objects: Objects,
    pub(crate) barriers: Barriers,
    /// Warps that run.
    pub(crate) running: u32,
    /// Accesses of other blocks to its shared memory.
    pub(crate) remote: Vec<RemoteAccess>,
}

impl Cta {
    pub(crate) fn new(block: [u32; 3], threads: u32) -> Self {
        Self {
            block,
            objects: Objects::default(),
            barriers: Barriers::new(BARRIERS, threads),
            running: threads.div_ceil(32),
            remote: Vec::new(),
        }
    }
}
