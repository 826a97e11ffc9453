//! What a caller decides about a launch. Left out: the launch itself ([`crate::launch`]).

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Where the scratch memory of a launch begins.
pub const SCRATCH_WINDOW: u64 = 0x0500_0000_0000;

/// What a launch is of.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// Blocks along each axis.
    pub grid: [u32; 3],
    /// Threads of a block along each axis.
    pub threads: [u32; 3],
    /// Bytes of shared memory besides what the module declares.
    pub shared: u32,
    /// The parameters, where [`crate::Kernel::parameters`] says.
    pub parameters: &'a [u8],
    /// Bytes of scratch memory, which begin at [`SCRATCH_WINDOW`].
    pub scratch: u64,
}

/// Limits of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Config<'w> {
    /// The most instructions of warps.
    pub fuel: u64,
    /// The most bytes of registers and of blocks' memory.
    pub memory_limit: u64,
    /// The most bytes of printed text.
    pub print_limit: usize,
    /// Ends the launch once it is set.
    pub stop: Option<&'w AtomicBool>,
    /// When the launch is out of time, and how much it was given.
    pub deadline: Option<(Instant, Duration)>,
}

impl Default for Config<'_> {
    fn default() -> Self {
        Self {
            fuel: 1 << 28,
            memory_limit: 1 << 30,
            print_limit: 16 << 20,
            stop: None,
            deadline: None,
        }
    }
}
