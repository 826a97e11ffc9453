//! Limits of one request to a worker. See `worker` for enforcing it.

use std::time::Duration;

/// Limits of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time for the whole request. The start of a worker is not counted.
    pub time: Duration,
    /// Bytes of address space beyond what an idle worker has.
    pub memory: u64,
}

impl Limits {
    /// A case in Triton's interpreter: 20 seconds and 2 GiB.
    pub const INTERPRETER: Self = Self {
        time: Duration::from_secs(20),
        memory: 2 << 30,
    };

    /// A case in Triton's launcher: 30 seconds, for which a kernel that never ends keeps a GPU busy.
    pub const LAUNCHER: Self = Self {
        time: Duration::from_secs(30),
        ..Self::INTERPRETER
    };

    /// A compilation: 60 seconds and 8 GiB.
    pub const COMPILER: Self = Self {
        time: Duration::from_mins(1),
        memory: 8 << 30,
    };

    /// A call under `torch.compile`: 120 seconds, launches included, and 16 GiB, because torch reserves much that it does not touch.
    pub const INDUCTOR: Self = Self {
        time: Duration::from_mins(2),
        memory: 16 << 30,
    };

    /// A program: 60 seconds and 4 GiB, besides those of torch.
    pub const PROGRAM: Self = Self {
        time: Duration::from_mins(1),
        memory: 4 << 30,
    };

    /// The trial of a new toolchain: 60 seconds, because its first import is slow.
    pub(crate) const PROBE: Self = Self {
        time: Duration::from_mins(1),
        ..Self::INTERPRETER
    };

    /// Bytes of memory that a worker with a GPU may touch beyond those of a request: CUDA reserves more of the address space than any
    /// limit on that would leave it, and keeps libraries of some gigabytes.
    pub(crate) const MAX_GPU_MEMORY: u64 = 16 << 30;
}

impl Default for Limits {
    /// Those of the interpreter.
    fn default() -> Self {
        Self::INTERPRETER
    }
}
