//! Bulk copies in flight, and the agents that they are. See `flight` for their lives.

use smallvec::SmallVec;

use crate::clock::Component;
use crate::outcome::Thread;
use crate::tensor::copy::Transfer;

/// The object that tracks the completion of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    /// The `mbarrier` at an offset, in each block that receives bytes, in its phase when the copy started.
    Phase { offset: u32, phase: u32 },
    /// A group of a thread, by the component of its writes.
    Group { component: Component, group: u32 },
}

/// A bulk copy that has not moved its bytes.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) transfer: Transfer,
    /// Whether it writes shared memory.
    pub(crate) loads: bool,
    /// The blocks whose shared memory it accesses.
    pub(crate) ranks: SmallVec<[u16; 2]>,
    pub(crate) end: End,
    /// The bytes that it writes, if it does not copy them (`st.async`).
    pub(crate) data: SmallVec<[u8; 16]>,
    pub(crate) step: u32,
    pub(crate) thread: Thread,
}

impl Flight {
    /// Whether the phase of an `mbarrier` should have waited for it.
    pub(crate) fn is_late(&self, rank: u16, at: u32, completed: u32) -> bool {
        let End::Phase { offset, phase } = self.end else {
            return false;
        };
        offset == at && phase < completed && self.ranks.contains(&rank)
    }
}

/// The agent of a copy.
pub(crate) struct Agent {
    pub(crate) end: End,
    /// The components and times of its accesses of shared and of global memory.
    pub(crate) shared: (Component, u32),
    pub(crate) global: (Component, u32),
}
