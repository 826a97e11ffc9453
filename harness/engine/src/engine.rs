//! The interface of every engine to the rest of Cerith.
//!
//! An engine works in two steps: [`Engine::prepare`] parses or compiles, [`Prepared::launch`] executes, as often as wanted. The
//! engine caches what it prepared by content.

use std::time::{Duration, Instant};

use cerith_case::Case;
use cerith_memory::Memory;
use cerith_tile::DType;
use cerith_tile::rules::Rules;
use cerith_toolchain::ToolchainId;

use crate::stats::CompileStats;
use crate::{EngineId, Finished, Outcome};

/// Something a case may ask of an engine, besides dtypes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Feature {
    /// Importing a module without launching anything.
    Import,
    /// Arguments whose strides are not those of a contiguous tensor.
    StridedArguments,
    /// Kernels that load an address from memory and load through it.
    PointersInMemory,
    /// Arithmetic on bf16, besides moving it about.
    Bf16Arithmetic,
    /// `tl.make_block_ptr` and `tl.advance`.
    BlockPointers,
    /// `tl.device_assert`.
    DeviceAssert,
    /// Knowing which bytes have a defined value, and stopping at undefined behaviour.
    Definedness,
    /// Judging by the language rules of any version.
    AnyRules,
}

/// The requirements of an engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// An installed toolchain.
    pub toolchain: Option<ToolchainId>,
    /// A GPU.
    pub gpu: bool,
}

/// An engine's capabilities, as data: a generator narrows itself to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Dtypes of tensors.
    pub dtypes: Vec<DType>,
    /// Other features.
    pub features: Vec<Feature>,
    /// Requirements for running it.
    pub needs: Needs,
}

impl Capabilities {
    /// Whether the engine has a feature.
    pub fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }

    /// Whether it takes tensors of a dtype.
    pub fn has_dtype(&self, dtype: DType) -> bool {
        self.dtypes.contains(&dtype)
    }
}

/// Cerith failed, not the program and not the engine under test. Fits after "failed to ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The run was stopped while the engine worked.
    #[error("finish: stopped")]
    Stopped,
    /// A bug of ours.
    #[error("{doing}: {reason}")]
    Internal {
        /// The operation that failed.
        doing: String,
        /// The reason of the failure.
        reason: String,
    },
}

impl Failure {
    /// A bug of ours.
    pub fn internal(doing: impl Into<String>, reason: impl std::fmt::Display) -> Self {
        Self::Internal {
            doing: doing.into(),
            reason: reason.to_string(),
        }
    }
}

/// The result of preparing.
pub enum Preparation {
    /// It can be launched.
    Ready(Box<dyn Prepared>),
    /// There is nothing to launch: the program was rejected, or the engine cannot do it.
    Ended(Outcome),
}

/// A case's kernels, ready to be launched over and over.
pub trait Prepared: Send + Sync {
    /// Makes the launches of `case`, which is the one prepared or differs from it only in what does not decide
    /// specialisation (the contents of storages, say), from its first memory.
    fn launch(&self, case: &Case) -> Result<Outcome, Failure>;
}

/// How a record compared with the reference when it was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Remembered {
    /// It agreed.
    Agreed,
    /// It did not differ, but agreement could not be decided.
    Undecided,
    /// It differed, or the program had no answer.
    Differed,
}

/// An engine. Shared between threads.
pub trait Engine: Send + Sync {
    /// Its name.
    fn id(&self) -> &EngineId;

    /// Its capabilities.
    fn capabilities(&self) -> &Capabilities;

    /// The engine whose code produced the outcome of a case, and whose language applies. It is the engine itself, except if the
    /// engine passes on another engine's outcome.
    fn origin(&self, _case: &Case) -> EngineId {
        self.id().clone()
    }

    /// How a case's record compared with the reference when it was accepted, if known. `None` for an engine without records.
    fn recall_agreement(&self, _case: &Case) -> Option<Remembered> {
        None
    }

    /// Whether it runs a case at all. A standby engine does not run a case for which the main engine has an outcome.
    fn runs_case(&self, _case: &Case) -> bool {
        true
    }

    /// Parses or compiles a case's kernels. `rules` select the language; an engine with a version of its own supports only the
    /// language of that version.
    fn prepare(&self, case: &Case, rules: Rules) -> Result<Preparation, Failure>;

    /// Statistics of a case's compilation, for an engine that compiles ahead of time. `None` if the case ended when it was
    /// compiled, or if there is no compiler: an engine may have records only.
    fn collect_stats(&self, _case: &Case) -> Result<Option<CompileStats>, Failure> {
        Ok(None)
    }

    /// Whether its outcome of a case may count against it. It may not if the outcome depends on something kept from an earlier
    /// run, which is dropped now, or if its toolchain is damaged. Then the case has to run again.
    ///
    /// # Errors
    /// Cerith failed.
    fn confirm(&self, _case: &Case) -> Result<bool, Failure> {
        Ok(true)
    }

    /// Whether two sets of rules may give two outcomes.
    fn rules_matter(&self) -> bool {
        false
    }

    /// Ends all running work, for Ctrl-C. Later calls fail with [`Failure::Stopped`].
    fn stop(&self) {}

    /// Prepares and launches.
    fn run(&self, case: &Case, rules: Rules) -> Result<Run, Failure> {
        let start = Instant::now();
        let prepared = match self.prepare(case, rules)? {
            Preparation::Ended(outcome) => {
                return Ok(Run {
                    outcome,
                    prepare: start.elapsed(),
                    launch: Duration::ZERO,
                });
            }
            Preparation::Ready(prepared) => prepared,
        };
        let prepare = start.elapsed();
        let outcome = prepared.launch(case)?;
        Ok(Run {
            outcome,
            prepare,
            launch: start.elapsed().saturating_sub(prepare),
        })
    }
}

/// An outcome with the time it took.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The outcome.
    pub outcome: Outcome,
    /// Time for parsing or compiling; next to nothing when it was cached.
    pub prepare: Duration,
    /// Time for the launches, transport included.
    pub launch: Duration,
}

impl Run {
    /// Both together.
    pub fn total(&self) -> Duration {
        self.prepare + self.launch
    }
}

/// The outcome of a case that launches nothing: its module is there and imports.
pub(crate) fn finish_import(memory: Memory) -> Outcome {
    Outcome::Finished(Box::new(Finished {
        memory,
        tracked: None,
        unsteady: None,
        execution: None,
        printed: Vec::new(),
        remark: None,
    }))
}
