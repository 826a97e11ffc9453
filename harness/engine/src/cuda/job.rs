//! What a GPU is asked to do, and what came of it, in plain data: it travels to a child process and in bundles.
//!
//! Left out: how a case becomes a job (`super`), how a job is executed (`device`), what the answer is worth
//! (`conch-verdict`).

use std::time::Duration;

use conch_toolchain::compiled::Compiled;

/// A case, ready for a GPU: memory as the case's layout has it and the compiled launches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The arena of the case's memory: every storage between guard zones (`conch_memory::Memory::arena`). Addresses in
    /// it are [`conch_memory::ORIGIN`] plus the byte of the arena.
    pub arena: Vec<u8>,
    /// First byte in the arena, and bytes, of every storage.
    pub storages: Vec<(usize, usize)>,
    /// Bytes of the arena (multiples of 8) that hold an address of the arena before the first launch: moved to where
    /// the arena is on the GPU.
    pub addresses: Vec<usize>,
    /// Storages that may hold addresses afterwards: aligned words of them that point into the GPU's copy of the arena
    /// are moved back.
    pub may_hold_addresses: Vec<usize>,
    /// What is launched.
    pub compiled: Compiled,
}

/// What executing a job came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ran {
    /// Every launch ended.
    Finished {
        /// The arena afterwards, addresses moved back.
        arena: Vec<u8>,
        /// The arena of the first repetition that came out otherwise, if any did.
        other: Option<Vec<u8>>,
        /// How often the job was done, each time from its first memory.
        repetitions: u32,
    },
    /// A launch faulted; the context is lost, and the process with it.
    Faulted {
        /// CUDA's name: `CUDA_ERROR_ILLEGAL_ADDRESS`.
        name: String,
        /// CUDA's sentence for it.
        message: String,
    },
    /// No end within the time given to a job; the process was killed.
    TimedOut {
        /// That time.
        limit: Duration,
    },
    /// The process died by itself.
    Died {
        /// How, in words: `signal 11`.
        how: String,
    },
    /// This GPU or driver cannot do it: a cubin for another architecture, more shared memory than there is.
    Refused {
        /// CUDA's name or ours.
        name: String,
        /// A sentence.
        message: String,
    },
}
