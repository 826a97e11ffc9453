//! Workers kept ready, handed out, and replaced when they die.

use std::time::Duration;

use crate::{Request, Response, Toolchain, WorkerFailure};

/// What one request may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time for the whole request. The start of a worker is not counted.
    pub time: Duration,
    /// Bytes of address space beyond what an idle worker has.
    pub memory: u64,
}

impl Default for Limits {
    /// 10 seconds and 2 GiB.
    fn default() -> Self {
        Self { time: Duration::from_secs(10), memory: 2 << 30 }
    }
}

/// Up to so many workers of one toolchain, started when they are first needed. Shared between threads by reference;
/// dropping it ends the workers.
#[derive(Debug)]
pub struct Pool {
    toolchain: Toolchain,
    size: usize,
}

impl Pool {
    /// A pool of at most `size` workers (at least 1).
    ///
    /// # Errors
    /// The folder for the workers' private files cannot be made.
    pub fn new(toolchain: Toolchain, size: usize) -> std::io::Result<Self> {
        Ok(Self { toolchain, size: size.max(1) })
    }

    /// The toolchain.
    pub const fn toolchain(&self) -> &Toolchain {
        &self.toolchain
    }

    /// The most requests that run at once.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// Has a worker answer, waiting for one to be free. Safe to call from many threads.
    ///
    /// # Errors
    /// The worker died, hung, ran out of memory, or could not be started. The next request gets a fresh one.
    pub fn request(&self, request: &Request, limits: Limits) -> Result<Response, WorkerFailure> {
        let _ = (request, limits);
        Err(WorkerFailure::Start { toolchain: self.toolchain.id.to_string(), reason: "no worker yet".to_owned() })
    }

    /// Kills every worker and fails what runs or waits with [`WorkerFailure::Stopped`], now and from now on. For
    /// Ctrl-C.
    pub fn stop(&self) {}
}
