//! Jobs and their results as bytes: frames of a JSON header and blobs, on the pipes to a child and, one after the other, in a
//! bundle. See `child` and `executor` for moving the bytes, and `bundle` for files.

use std::sync::Arc;
use std::time::Duration;

use cerith_toolchain::compiled::{Compiled, Invocation, Kernel, Metadata};
use cerith_toolchain::conversation::frame::FrameLimits;
use serde::{Deserialize, Serialize};

use cerith_engine::job::{BadJob, Job, Ran};

/// More than any frame has; a longer one means that something else writes to the pipe.
pub(super) const MAX_FRAME: FrameLimits = FrameLimits {
    header: 256 << 20,
    blobs: 1 << 40,
};

/// To a child: a batch. The blobs are the new kernels' cubins, then the jobs' arenas.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Batch {
    /// Drop every kernel that came before.
    pub forget: bool,
    /// Each job in memory of its own, waited for after every launch.
    pub is_isolated: bool,
    /// The number of times that each job runs.
    pub repetitions: u32,
    /// Kernels that the child has not received before, numbered after the kernels that it knows.
    pub kernels: Vec<KernelHeader>,
    /// The jobs to run.
    pub jobs: Vec<JobHeader>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct KernelHeader {
    /// Bytes of the cubin.
    pub cubin: usize,
    pub metadata: Metadata,
}

/// A job without its bytes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct JobHeader {
    /// Bytes of the arena.
    pub arena: usize,
    pub storages: Vec<(usize, usize)>,
    pub addresses: Vec<usize>,
    pub may_hold_addresses: Vec<usize>,
    /// Numbers of the kernels, in the order of `Compiled::kernels`.
    pub kernels: Vec<usize>,
    pub invocations: Vec<Invocation>,
}

impl JobHeader {
    /// The header of a job whose kernels have these numbers.
    pub(super) fn from_job(job: &Job, kernels: Vec<usize>) -> Self {
        Self {
            arena: job.arena.len(),
            storages: job.storages.clone(),
            addresses: job.addresses.clone(),
            may_hold_addresses: job.may_hold_addresses.clone(),
            kernels,
            invocations: job.compiled.invocations.clone(),
        }
    }

    /// The job again, or what is wrong with its numbers.
    pub(super) fn into_job(self, arena: Vec<u8>, kernels: &[Arc<Kernel>]) -> Result<Job, BadJob> {
        let kernels = self
            .kernels
            .iter()
            .map(|&number| kernels.get(number).cloned().ok_or(BadJob::NoKernel(number)))
            .collect::<Result<_, _>>()?;
        let job = Job {
            arena,
            storages: self.storages,
            addresses: self.addresses,
            may_hold_addresses: self.may_hold_addresses,
            compiled: Compiled {
                kernels,
                invocations: self.invocations,
            },
        };
        job.check()?;
        Ok(job)
    }
}

/// From a child.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    /// Its first words: the GPU it has.
    Hello(GpuHeader),
    /// Its first and last words: why it has none.
    Unavailable(String),
    /// A batch is done. The blobs are the arenas; the second arena of a job, if it has one, follows its first.
    Done {
        ran: Vec<RanHeader>,
        /// Whether a job wrote into another's memory, or between them: then no result of the batch is reliable.
        touched: bool,
    },
    /// Its last words: a launch of the batch faulted.
    Fault {
        name: String,
        message: String,
        /// The index of the batch's job at fault, if known.
        job: Option<usize>,
    },
}

/// A GPU and its driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuHeader {
    /// `NVIDIA H200`.
    pub name: String,
    /// The driver's version, `580.159.04`; empty if unknown.
    pub driver: String,
    /// CUDA version that the driver supports: 13000 is 13.0.
    pub cuda: u32,
    /// Compute capability: 90 is 9.0.
    pub capability: u32,
    /// GPUs that the process sees.
    pub count: usize,
}

/// [`Ran`] without its bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RanHeader {
    Finished {
        /// Bytes of the arena.
        arena: usize,
        /// Whether another arena of the same size follows it.
        other: bool,
        repetitions: u32,
    },
    Faulted {
        name: String,
        message: String,
    },
    TimedOut {
        milliseconds: u64,
    },
    Died {
        how: String,
    },
    Refused {
        name: String,
        message: String,
    },
}

impl RanHeader {
    /// The header, with the bytes appended to the blobs.
    pub(super) fn from_ran(ran: &Ran, blobs: &mut Vec<u8>) -> Self {
        match ran {
            Ran::Finished {
                arena,
                different_arena: other,
                repetitions,
            } => {
                blobs.extend_from_slice(arena);
                blobs.extend_from_slice(other.as_deref().unwrap_or_default());
                Self::Finished {
                    arena: arena.len(),
                    other: other.is_some(),
                    repetitions: *repetitions,
                }
            }
            Ran::Faulted { name, message } => Self::Faulted {
                name: name.clone(),
                message: message.clone(),
            },
            Ran::TimedOut { limit } => Self::TimedOut {
                milliseconds: limit.as_millis().try_into().unwrap_or(u64::MAX),
            },
            Ran::Died { ending: how } => Self::Died { how: how.clone() },
            Ran::Refused { name, message } => Self::Refused {
                name: name.clone(),
                message: message.clone(),
            },
        }
    }

    /// Converts the header, with the bytes from the front of the blobs; `None` if they are cut short.
    pub(super) fn into_ran(self, blobs: &mut &[u8]) -> Option<Ran> {
        Some(match self {
            Self::Finished {
                arena,
                other,
                repetitions,
            } => Ran::Finished {
                arena: take(blobs, arena)?.to_vec(),
                different_arena: if other {
                    Some(take(blobs, arena)?.to_vec())
                } else {
                    None
                },
                repetitions,
            },
            Self::Faulted { name, message } => Ran::Faulted { name, message },
            Self::TimedOut { milliseconds } => Ran::TimedOut {
                limit: Duration::from_millis(milliseconds),
            },
            Self::Died { how } => Ran::Died { ending: how },
            Self::Refused { name, message } => Ran::Refused { name, message },
        })
    }
}

/// Removes and returns the first `len` bytes; `None` if there are fewer.
pub(super) fn take<'a>(bytes: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (front, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    Some(front)
}
