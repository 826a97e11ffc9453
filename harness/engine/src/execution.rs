//! How an engine that executes PTX on this machine ran a case, beside the result.

use cerith_ptx::ExecutedInstructions;

/// Facts about a run of `ptx@V`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Execution {
    /// If results differ: the name of the schedule of [`crate::Finished::memory`], and that of [`crate::Finished::unsteady`].
    pub schedules: Option<[String; 2]>,
    /// The instructions that the launches executed, by fidelity.
    pub instructions: ExecutedInstructions,
}
