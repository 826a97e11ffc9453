//! Why a worker could not answer. Such a failure spoils one outcome; the pool starts another worker and goes on.

use std::time::Duration;

use crate::response::Location;
use crate::wire::BadRequest;

/// A request that got no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkerFailure {
    /// The process crashed: a signal, or an unrequested exit.
    #[error("the worker died ({exit})")]
    Crashed {
        /// How it ended.
        exit: Exit,
        /// The end of its stderr, where Python's fault handler writes.
        stderr: String,
        /// The innermost line of the kernel's file that the fault handler named.
        location: Option<Location>,
    },
    /// It did not answer in time and was killed.
    #[error("the worker did not answer within {limit:?}")]
    TimedOut {
        /// The limit.
        limit: Duration,
        /// The end of its stderr, where Python's fault handler writes.
        stderr: String,
        /// The line of the kernel's file it was at.
        location: Option<Location>,
    },
    /// It needed more memory than its limit.
    #[error("the worker needed more than {limit} bytes of memory")]
    OutOfMemory {
        /// The limit in bytes.
        limit: u64,
        /// The end of its stderr, or Python's message.
        stderr: String,
    },
    /// It exceeded a limit without a variant of its own, and was killed.
    #[error("the worker had more than {limit}")]
    Excess {
        /// The limit: `64 processes`.
        limit: String,
        /// The end of its stderr.
        stderr: String,
    },
    /// The bytes from its pipe are not an answer: the kernel wrote there, or pretended to be the worker.
    #[error("the worker's answer is none: {problem}")]
    Garbled {
        /// The problem.
        problem: String,
        /// The end of its stderr.
        stderr: String,
    },
    /// The toolchain's worker does not start: the toolchain is broken or gone.
    #[error("start a worker of {toolchain}: {reason}")]
    Start {
        /// The toolchain.
        toolchain: String,
        /// The problem, with the end of stderr.
        reason: String,
    },
    /// The two sides do not understand each other: a bug of ours.
    #[error("talk to the worker: {0}")]
    Protocol(String),
    /// The pool was told to stop ([`crate::Pool::stop`]) while the request ran or waited.
    #[error("finish the request: stopped")]
    Stopped,
}

impl From<BadRequest> for WorkerFailure {
    fn from(why: BadRequest) -> Self {
        Self::Protocol(why.to_string())
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exit {
    /// `exit(code)`.
    Code(i32),
    /// A signal, by its number (11 is a segmentation fault).
    Signal(i32),
}

impl Exit {
    /// Whether another process may have ended it: by SIGKILL, as a system without memory does, or by SIGTERM.
    pub(crate) fn may_be_from_outside(self) -> bool {
        matches!(self, Self::Signal(9 | 15))
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(number) => match signal_name(number) {
                Some(name) => write!(f, "signal {number}, {name}"),
                None => write!(f, "signal {number}"),
            },
        }
    }
}

/// The names of the signals that faults raise, the same on every Linux and BSD.
fn signal_name(number: i32) -> Option<&'static str> {
    Some(match number {
        4 => "illegal instruction",
        6 => "aborted",
        7 | 10 => "bus error",
        8 => "arithmetic fault",
        9 => "killed",
        11 => "segmentation fault",
        15 => "terminated",
        _ => return None,
    })
}
