//! `cuda@V`: Triton's compiler, with its machine code executed on a GPU. Without a GPU, the engine returns a GPU's recorded
//! outcome; without a record, it has an outcome only if the compiler rejects the case.
//!
//! [`Compiler`] compiles a case into a [`Job`], on any machine with the toolchain. An [`Executor`] runs the job in a child
//! process that has the GPU. Jobs and their results also travel in [`bundle`]s, and outcomes are kept on the
//! [`record::RecordStore`]. [`sweep`] makes jobs of the variants of a case.
//!
//! See `cerith-cli` for the choice between the GPU and the record, and `cerith-verdict` for who is right.
#![warn(missing_docs)]

mod batch;
pub mod bundle;
pub mod child;
mod driver;
mod executor;
mod limits;
pub mod record;
mod standby;
pub mod sweep;
mod wire;

use std::sync::Arc;

pub use executor::{Executor, Options, Unavailable};
pub use standby::Standby;
pub use wire::GpuHeader;

use cerith_case::Case;
use cerith_memory::Memory;
use cerith_tile::rules::Rules;
use cerith_toolchain::ToolchainId;
use cerith_toolchain::compiled::Target;

use self::record::{Missing, RecordStore, Release, StoreError};
use cerith_engine::compile::{Compiler, Compiling, list_capabilities};
use cerith_engine::job::{Job, Ran};
use cerith_engine::stats::CompileStats;
use cerith_engine::{
    ASSERT_FAILED, Capabilities, Complaint, DAMAGED_RECORDING, Engine, EngineId, Failure, Finished,
    NO_RECORDING, OTHER_CODE, Outcome, Preparation, Prepared, Remembered, STALE_RECORDING, Trap,
    reject_sparse,
};

/// `cuda@V`.
#[derive(Debug)]
pub struct Cuda {
    id: EngineId,
    capabilities: Capabilities,
    source: Source,
}

/// The source of outcomes.
#[derive(Debug)]
enum Source {
    /// From a GPU.
    Live {
        compiler: Box<Compiler>,
        executor: Arc<Executor>,
    },
    /// From a store.
    Recorded(OnRecord),
}

/// A compiler without a GPU.
#[derive(Debug)]
struct OnRecord {
    /// The compiler's release; `None` for a build, because only releases have records.
    release: Option<Release>,
    store: Arc<RecordStore>,
    /// The GPU that executed.
    gpu: Target,
    /// Compiles cases without a record, if its toolchain is installed.
    compiler: Option<Box<Compiler>>,
}

impl Cuda {
    /// A compiler with recorded outcomes, for a machine without a GPU. If a compiler is given, it compiles cases without a
    /// record: a rejection is an outcome, and machine code that another compiler has a record of has that outcome. Any other case
    /// is unavailable. A build has no records of its own.
    pub fn from_records(
        toolchain: &ToolchainId,
        target: Option<Target>,
        gpu: Target,
        store: Arc<RecordStore>,
        compiler: Option<Compiler>,
    ) -> Self {
        let release = Release::new(toolchain.triton(), target, gpu);
        Self {
            id: EngineId::Cuda {
                toolchain: toolchain.clone(),
                target: release.target,
            },
            capabilities: list_capabilities(release.triton, false),
            source: Source::Recorded(OnRecord {
                release: toolchain.build().is_none().then_some(release),
                store,
                gpu,
                compiler: compiler.map(Box::new),
            }),
        }
    }

    /// The compiler of a version, and GPUs that execute what it makes.
    pub fn from_executor(compiler: Compiler, executor: Arc<Executor>) -> Self {
        let toolchain = compiler.toolchain().compiler();
        Self {
            capabilities: list_capabilities(toolchain.triton(), true),
            id: EngineId::Cuda {
                toolchain,
                target: (compiler.target() != compiler.gpu()).then(|| compiler.target()),
            },
            source: Source::Live {
                compiler: Box::new(compiler),
                executor,
            },
        }
    }
}

impl Engine for Cuda {
    fn id(&self) -> &EngineId {
        &self.id
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn recall_agreement(&self, case: &Case) -> Option<Remembered> {
        match &self.source {
            Source::Live { .. } => None,
            Source::Recorded(on) => on.store.recall_agreement(on.release?, on.gpu, case),
        }
    }

    fn prepare(&self, case: &Case, _rules: Rules) -> Result<Preparation, Failure> {
        if let Some(complaint) = reject_sparse(case) {
            return Ok(Preparation::Ended(Outcome::Unsupported(complaint)));
        }
        match &self.source {
            Source::Live { compiler, executor } => Ok(match compiler.compile_job(case)? {
                Compiling::Ended(outcome) => Preparation::Ended(outcome),
                Compiling::Ready(job) => Preparation::Ready(Box::new(Ready {
                    executor: Arc::clone(executor),
                    job: *job,
                })),
            }),
            Source::Recorded(on) => on.find_outcome(&self.id, case).map(Preparation::Ended),
        }
    }

    fn collect_stats(&self, case: &Case) -> Result<Option<CompileStats>, Failure> {
        match &self.source {
            Source::Live { compiler, .. } => compiler.collect_stats(case),
            Source::Recorded(on) => match &on.compiler {
                Some(compiler) => compiler.collect_stats(case),
                None => Ok(None),
            },
        }
    }

    fn confirm(&self, case: &Case) -> Result<bool, Failure> {
        match &self.source {
            Source::Live { compiler, .. } => compiler.confirm(case),
            Source::Recorded(on) => match &on.compiler {
                Some(compiler) => compiler.confirm(case),
                None => Ok(true),
            },
        }
    }

    fn stop(&self) {
        match &self.source {
            Source::Live { compiler, executor } => {
                compiler.stop();
                executor.stop();
            }
            Source::Recorded(on) => {
                if let Some(compiler) = &on.compiler {
                    compiler.stop();
                }
            }
        }
    }
}

impl OnRecord {
    /// Returns the recorded outcome. Without one, compiles the case, and returns an outcome if the compiler rejects the case,
    /// nothing is launched, or the same machine code has a record.
    fn find_outcome(&self, id: &EngineId, case: &Case) -> Result<Outcome, Failure> {
        let damaged = |error: StoreError| {
            let mend = "bring the file back from version control, or write it again with `cerith accept`";
            let complaint = Complaint::new(DAMAGED_RECORDING, format!("failed to {error}; {mend}"));
            Ok(Outcome::Unavailable(Box::new(complaint)))
        };
        let found = self.release.map_or(Ok(Err(Missing::Absent)), |release| {
            self.store.find(release, self.gpu, case)
        });
        let found = match found {
            Ok(found) => found,
            Err(error) => return damaged(error),
        };
        let (mut kind, why) = match found {
            Ok((outcome, _)) => return Ok(outcome),
            Err(Missing::Absent) => (
                NO_RECORDING,
                format!("no recorded outcome of {id} for `{}`", case.id),
            ),
            Err(Missing::Stale(why)) => (STALE_RECORDING, why),
        };
        let compiled = match &self.compiler {
            None => {
                let why = id.toolchain().map(|id| match id.build() {
                    Some(name) => {
                        format!(
                            "Triton {id} is not registered: `cerith toolchain adopt --name {name} PYTHON`"
                        )
                    }
                    None => format!("Triton {id} is not installed: `cerith toolchain add {id}`"),
                });
                format!("it was not compiled either, because {}", why.unwrap_or_default())
            }
            Some(compiler) => match compiler.compile_job(case)? {
                Compiling::Ended(outcome) => return Ok(outcome),
                Compiling::Ready(job) if job.compiled.invocations.is_empty() => {
                    // Nothing is launched, which takes no GPU.
                    return build_outcome(
                        case,
                        &Ran::Finished {
                            arena: job.arena,
                            different_arena: None,
                            repetitions: 1,
                        },
                    );
                }
                Compiling::Ready(job) => {
                    let kernels = &job.compiled.kernels;
                    let same = self.store.find_made(self.gpu, case, kernels);
                    match same {
                        Ok(Some(outcome)) => return Ok(outcome),
                        Ok(None) => {}
                        Err(error) => return damaged(error),
                    }
                    if kind == NO_RECORDING && self.store.has_executed(self.gpu, case) {
                        kind = OTHER_CODE;
                    }
                    "it compiles to machine code without a record, and there is no GPU to execute it: `cerith bundle` and \
                     `cerith exec` take it to a machine that has one"
                        .to_owned()
                }
            },
        };
        Ok(Outcome::Unavailable(Box::new(Complaint {
            is_compiled: self.compiler.is_some(),
            ..Complaint::new(kind, format!("{why}; {compiled}"))
        })))
    }
}

/// A compiled case, and who executes it.
struct Ready {
    executor: Arc<Executor>,
    job: Job,
}

impl Prepared for Ready {
    fn launch(&self, case: &Case) -> Result<Outcome, Failure> {
        let job = Job {
            arena: case.memory().arena().0.to_vec(),
            ..self.job.clone()
        };
        let ran = self.executor.execute(Arc::new(job))?;
        build_outcome(case, &ran)
    }
}

/// The outcome of executing a case's job.
///
/// # Errors
/// The arena is not the case's.
pub fn build_outcome(case: &Case, ran: &Ran) -> Result<Outcome, Failure> {
    let complaint = |name: &str, message: &str| Box::new(Complaint::new(name, message));
    Ok(match ran {
        Ran::Finished {
            arena,
            different_arena: other,
            ..
        } => Outcome::Finished(Box::new(Finished {
            memory: laid_out(case, arena)?,
            tracked: None,
            unsteady: other
                .as_ref()
                .map(|arena| laid_out(case, arena).map(Box::new))
                .transpose()?,
            printed: Vec::new(),
            remark: None,
            execution: None,
        })),
        Ran::Faulted { name, message } if name == ASSERT_FAILED => {
            Outcome::Trapped(Trap::Assert, complaint(name, message))
        }
        Ran::Faulted { name, message } => Outcome::Trapped(Trap::Raised, complaint(name, message)),
        Ran::TimedOut { limit } => Outcome::Exhausted(complaint(
            "time",
            &format!("no end within {} s", limit.as_secs_f64()),
        )),
        Ran::Died { ending: how } => Outcome::Crashed(complaint("crash", how)),
        Ran::Refused { name, message } => Outcome::Unsupported(complaint(name, message)),
    })
}

fn laid_out(case: &Case, arena: &[u8]) -> Result<Memory, Failure> {
    let mut memory = case.memory();
    let (to, _) = memory.arena_mut();
    if to.len() != arena.len() {
        return Err(Failure::internal(
            "read what a GPU left",
            format!("{} bytes instead of {}", arena.len(), to.len()),
        ));
    }
    to.copy_from_slice(arena);
    Ok(memory)
}
