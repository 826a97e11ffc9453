//! The settings of a launch.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::schedule::Schedule;

/// The address of the scratch memory of a launch.
pub const SCRATCH_WINDOW: u64 = 0x0500_0000_0000;

/// The dimensions and arguments of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// Blocks along each axis.
    pub grid: [u32; 3],
    /// Threads of a block along each axis.
    pub threads: [u32; 3],
    /// Blocks of a cluster along each axis: 1 without clusters. The grid must be a multiple.
    pub cluster: [u32; 3],
    /// Bytes of dynamic shared memory, in addition to the module's variables.
    pub shared: u32,
    /// The parameters' bytes, in the layout of [`crate::Kernel::parameters`].
    pub parameters: &'a [u8],
    /// Bytes of scratch memory, which begin at [`SCRATCH_WINDOW`].
    pub scratch: u64,
}

/// Limits of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Config<'w> {
    /// Maximum number of instructions, counted per warp.
    pub fuel: u64,
    /// Maximum bytes of registers and of blocks' memory.
    pub memory_limit: u64,
    /// Maximum bytes of printed text.
    pub print_limit: usize,
    /// Ends the launch once it is set.
    pub stop: Option<&'w AtomicBool>,
    /// The time when the launch runs out of time, and its time limit.
    pub deadline: Option<(Instant, Duration)>,
    /// The order of warps, and the ends of copies.
    pub schedule: Schedule,
    /// Maximum threads of this machine that execute blocks at once. The result does not depend on it.
    pub threads: u32,
    /// Instructions of warps for which more than one thread is worth its start. With 0, threads run every launch that they can.
    pub share_work: u64,
}

impl Default for Config<'_> {
    fn default() -> Self {
        Self {
            fuel: 1 << 28,
            memory_limit: 1 << 30,
            print_limit: 16 << 20,
            stop: None,
            deadline: None,
            schedule: Schedule::default(),
            threads: 1,
            share_work: 1 << 15,
        }
    }
}
