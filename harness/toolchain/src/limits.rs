//! The limits of one request. See `worker` for enforcing them.

use std::time::Duration;

/// The limits of one request.
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
        Self {
            time: Duration::from_secs(10),
            memory: 2 << 30,
        }
    }
}
