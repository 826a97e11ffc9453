//! How large a batch of jobs is, and how long it and its child may take.

use std::time::Duration;

/// The maximum number of jobs in a batch.
pub(super) const MAX_BATCH: usize = 256;

/// Bytes of a batch's arenas, repetitions counted.
pub(super) const BATCH_BYTES: usize = 64 << 20;

/// Batches that a child has at once: one that it works on, one that it reads meanwhile.
pub(super) const IN_FLIGHT: usize = 2;

/// Time limit of a batch. After it, its jobs run one by one, each with the whole time of a job.
pub(super) const BATCH_LIMIT: Duration = Duration::from_secs(3);

/// Children that are started ahead once one was lost: where one kernel faults, others may, and opening a GPU takes longer
/// than most batches.
pub(super) const SPARES: usize = 2;

/// Time limit for a child to open its GPU.
pub(super) const START_LIMIT: Duration = Duration::from_mins(2);

/// Bytes of a child's stderr that are kept: what failed first.
pub(super) const STDERR_KEPT: usize = 4096;

/// Time for a child to exit by itself after its pipe is closed, so that its own exit status is known.
pub(super) const LAST_BREATH: Duration = Duration::from_secs(5);

/// Bytes of machine code that a child remembers.
pub(super) const KNOWN_BYTES: usize = 512 << 20;
