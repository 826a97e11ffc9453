//! Resources that a launch leaves for the next one: buffers and tables. `machine` uses them while programs run.
//!
//! The states that wait are global. A launch is a call of [`Program::launch`](crate::Program::launch) with nothing else to
//! hand in: a program is launched from several threads at once, and threads come and go, so a pool of a caller's or a thread's
//! own would be created again for most launches. Waiting states have no content, so no launch sees another's. At most `IDLE`
//! states wait, and the pool of each keeps at most `KEEP` bytes.

use std::sync::Mutex;

use crate::checks::conflicting_lanes;
use crate::checks::race::Shadow;
use crate::checks::unordered::Cells;
use crate::run::Run;
use crate::value::{Pool, Value};

/// Pools larger than this are emptied after a launch.
const KEEP: usize = 16 << 20;

/// As many states wait for the next launch as there may be threads.
const IDLE: usize = 64;

static STATES: Mutex<Vec<State>> = Mutex::new(Vec::new());

/// Buffers and tables that a launch of any program leaves to the next, without content.
#[derive(Debug, Default)]
pub struct State {
    /// The content of each slot.
    pub slots: Vec<Value>,
    /// Buffers for lanes.
    pub pool: Pool,
    pub(crate) shadow: Shadow,
    /// The accesses of the running program to each byte since its last barrier.
    pub(crate) cells: Cells,
    /// Bytes of the access under way.
    pub runs: Vec<Run>,
    pub(crate) writes: Vec<conflicting_lanes::Write>,
    /// For each slot that is a pointer to elements which follow each other and may be accessed: where they begin in the
    /// arena, for the program that runs.
    pub straight: Vec<Option<usize>>,
    /// For each slot, whether it is a pointer to storages in which no two programs share a byte.
    pub(crate) disjoint: Vec<bool>,
    /// For each slot, whether it is a pointer to bytes that are defined whatever the launch does.
    pub defined: Vec<bool>,
}

impl State {
    /// One that a launch left, or a fresh one.
    pub fn take() -> Self {
        STATES
            .lock()
            .ok()
            .and_then(|mut states| states.pop())
            .unwrap_or_default()
    }

    /// Gives the buffers of all values back.
    pub fn empty(&mut self) {
        for slot in 0..self.slots.len() {
            let old = std::mem::take(&mut self.slots[slot]);
            self.pool.recycle(old);
        }
    }

    /// Leaves it for the next launch.
    pub fn give(mut self) {
        self.pool.shrink(KEEP);
        self.shadow.shrink();
        self.cells.shrink();
        if let Ok(mut states) = STATES.lock()
            && states.len() < IDLE
        {
            states.push(self);
        }
    }
}
