//! Jobs for a GPU and their results, as plain data that travels to a child process and in bundles.
//!
//! See `compile` for turning a case into a job, `cerith-cuda` for executing it, and `cerith-verdict` for judging the result.

use std::time::Duration;

use cerith_toolchain::compiled::{Compiled, Kernel, Param};

/// The name of a cubin by its content: BLAKE3, in hexadecimal.
pub fn digest(kernel: &Kernel) -> String {
    blake3::hash(&kernel.cubin).to_hex().to_string()
}

/// A case, ready for a GPU: memory in the case's layout, and the compiled launches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The arena of the case's memory: every storage between guard zones (`cerith_memory::Memory::arena`). Addresses in
    /// it are [`cerith_memory::ORIGIN`] plus the byte of the arena.
    pub arena: Vec<u8>,
    /// First byte in the arena, and bytes, of every storage.
    pub storages: Vec<(usize, usize)>,
    /// Bytes of the arena (multiples of 8) that hold an address of the arena before the first launch: moved to where
    /// the arena is on the GPU.
    pub addresses: Vec<usize>,
    /// Storages that may hold addresses afterwards: aligned words of them that point into the GPU's copy of the arena
    /// are moved back.
    pub may_hold_addresses: Vec<usize>,
    /// The compiled launches.
    pub compiled: Compiled,
}

/// An invalid number in a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadJob {
    /// A storage is not inside the arena.
    #[error("a storage of {len} bytes at {start} in an arena of {arena}")]
    Storage {
        /// The first byte.
        start: usize,
        /// Its bytes.
        len: usize,
        /// The arena's bytes.
        arena: usize,
    },
    /// An address is not inside the arena, or not aligned.
    #[error("an address at byte {0} of the arena")]
    Address(usize),
    /// There are fewer storages.
    #[error("there is no storage {0}")]
    NoStorage(usize),
    /// There are fewer kernels.
    #[error("there is no kernel {0}")]
    NoKernel(usize),
    /// No parameter has this many bytes.
    #[error("a parameter of {0} bytes")]
    Param(usize),
}

impl Job {
    /// Whether the numbers in a job hold, so that a mistake in making it, or in its file, is not taken for a
    /// kernel's.
    pub fn check(&self) -> Result<(), BadJob> {
        let inside =
            |start: usize, len: usize| start.checked_add(len).is_some_and(|end| end <= self.arena.len());
        if let Some(&(start, len)) = self.storages.iter().find(|&&(start, len)| !inside(start, len)) {
            return Err(BadJob::Storage {
                start,
                len,
                arena: self.arena.len(),
            });
        }
        if let Some(&at) = self.addresses.iter().find(|&&at| at % 8 != 0 || !inside(at, 8)) {
            return Err(BadJob::Address(at));
        }
        let storage = |&index: &usize| {
            if index < self.storages.len() {
                Ok(())
            } else {
                Err(BadJob::NoStorage(index))
            }
        };
        self.may_hold_addresses.iter().try_for_each(storage)?;
        for invocation in &self.compiled.invocations {
            if invocation.kernel >= self.compiled.kernels.len() {
                return Err(BadJob::NoKernel(invocation.kernel));
            }
            for param in &invocation.params {
                match param {
                    Param::Address { storage: index, .. } => storage(index)?,
                    Param::TensorMap(map) => storage(&map.storage)?,
                    Param::Bytes(bytes) if [1, 2, 4, 8].contains(&bytes.len()) => {}
                    Param::Bytes(bytes) => {
                        return Err(BadJob::Param(bytes.len()));
                    }
                }
            }
        }
        Ok(())
    }
}

/// The result of executing a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ran {
    /// Every launch ended.
    Finished {
        /// The arena afterwards, addresses moved back.
        arena: Vec<u8>,
        /// The arena of the first repetition with a different result, if any.
        different_arena: Option<Vec<u8>>,
        /// The number of times that the job ran, each time from its first memory.
        repetitions: u32,
    },
    /// A launch faulted; the context is lost, and the process with it.
    Faulted {
        /// CUDA's name: `CUDA_ERROR_ILLEGAL_ADDRESS`. `WROTE_OUTSIDE` is ours: no access that CUDA refuses, but memory
        /// outside of the arena has changed.
        name: String,
        /// CUDA's sentence for it.
        message: String,
    },
    /// No end within the time given to a job; the process was killed.
    TimedOut {
        /// That time.
        limit: Duration,
    },
    /// The process crashed by itself.
    Died {
        /// How, in words: `signal 11`.
        ending: String,
    },
    /// This GPU or driver cannot do it: a cubin for another architecture, more shared memory than there is.
    Refused {
        /// CUDA's name or ours.
        name: String,
        /// A sentence.
        message: String,
    },
}
