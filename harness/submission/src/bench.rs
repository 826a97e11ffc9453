//! Judges submissions of a task, with workers that are kept from one to the next. See `calls` for the judging.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use cerith_engine::catch_panic;
use cerith_oracle::Contract;
use cerith_recording::recorder::{PACKAGE, program_files};
use cerith_tile::DType;
use cerith_toolchain::request::Module;
use cerith_toolchain::{Limits, ProgramRequest, Programs, ToolchainId, WorkerFailure};
use serde_json::json;

use crate::calls::Judging;
use crate::error::JudgeError;
use crate::judgement::{Failure, Judgement, Summary, Verdict};
use crate::task::{Task, read_task};
use cerith_runner::host::Host;
use cerith_runner::oracle::find_toolchain;

/// How long the reference may execute a launch after the time is over.
const GRACE: Duration = Duration::from_secs(5);

/// The time for a submission, and its memory.
const LIMITS: Limits = Limits {
    time: Duration::from_secs(50),
    ..Limits::PROGRAM
};

/// A file of a task or a submission.
#[derive(Clone, Debug)]
pub(super) struct SourceFile {
    /// Its name for the user.
    pub name: String,
    /// Its real path.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

impl SourceFile {
    fn to_module(&self) -> Module {
        Module {
            path: self.path.clone(),
            text: self.text.as_str().into(),
        }
    }
}

/// Changes of a task's contract.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Terms {
    /// The dtype of sums.
    pub accumulate: Option<DType>,
    /// Whether dots of `f32` may not round to TF32.
    pub no_tf32: bool,
}

/// Programs of a toolchain, by default the newest one with torch. No process is started yet.
///
/// # Errors
/// There is no such toolchain, or no folder for programs.
pub(super) fn start_programs(toolchain: Option<&ToolchainId>) -> Result<Programs, JudgeError> {
    let name = toolchain.map(ToString::to_string).unwrap_or_default();
    let toolchain = find_toolchain(&name)?;
    Programs::new(toolchain, 1, (PACKAGE, &program_files())).map_err(JudgeError::TemporaryFolder)
}

/// A fresh seed.
pub(super) fn make_seed() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(Instant::now()) & u64::from(u32::MAX)
}

/// Workers that have imported the packages. Each forks a process for a task or a submission.
pub(super) struct Bench {
    template: Programs,
    /// Idle programs.
    spare: Mutex<Vec<Programs>>,
}

impl Bench {
    pub fn new(programs: Programs) -> Self {
        Self {
            template: programs,
            spare: Mutex::default(),
        }
    }

    /// Does work with programs that no other thread uses.
    fn with_programs<T>(&self, work: impl FnOnce(&Programs) -> T) -> T {
        let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let known = spare().pop();
        let programs = known.unwrap_or_else(|| self.template.with_own_workers());
        let result = work(&programs);
        if !programs.is_stopped() {
            spare().push(programs);
        }
        result
    }

    /// Makes the trials of a task.
    ///
    /// # Errors
    /// The task cannot be judged.
    pub fn read_task(
        &self,
        file: &SourceFile,
        seed: u64,
        terms: Terms,
        host: Host<'_>,
    ) -> Result<Task, JudgeError> {
        let contract = |own: Contract| Contract {
            accumulate: terms.accumulate.unwrap_or(own.accumulate),
            tf32: own.tf32 && !terms.no_tf32,
            ..own
        };
        self.with_programs(|programs| {
            host.run_stoppable(
                None,
                || programs.stop(),
                || read_task(&file.name, file.to_module(), programs, seed, &contract),
            )
        })
    }
}

/// Judges submissions of one task.
pub(super) struct Judge<'a> {
    pub bench: &'a Bench,
    pub task: &'a Task,
    /// The task's name for the user.
    pub name: String,
    pub seed: u64,
    pub host: Host<'a>,
    /// Hears how many calls of a submission are done, and how many there are.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

impl Judge<'_> {
    /// Judges a submission.
    pub fn judge_submission(&self, kernel: &SourceFile) -> Judgement {
        let began = Instant::now();
        let judged = catch_panic(|| self.run(kernel)).unwrap_or_else(|panic| {
            Failure::new(Verdict::NotJudged, format!("internal error: {panic}")).into()
        });
        let Summary {
            failure,
            trials,
            launches,
        } = judged;
        let short = kernel.path.file_name().unwrap_or_default().to_string_lossy();
        let whole = kernel.path.display().to_string();
        Judgement {
            task: self.name.clone(),
            kernel: kernel.name.clone(),
            verdict: failure
                .as_ref()
                .map_or(Verdict::Accepted, |failure| failure.verdict),
            seed: self.seed,
            findings: failure
                .into_iter()
                .map(|failure| failure.into_finding(&short, &whole))
                .collect(),
            trials,
            launches,
            seconds: (began.elapsed().as_secs_f64() * 100.0).round() / 100.0,
        }
    }

    fn run(&self, kernel: &SourceFile) -> Summary {
        // Its own folder has neither the task nor other submissions.
        let folder = match tempfile::Builder::new().prefix("cerith-").tempdir() {
            Ok(folder) => folder,
            Err(error) => {
                let text = format!("failed to make a temporary folder: {error}");
                return Failure::new(Verdict::NotJudged, text).into();
            }
        };
        let request = ProgramRequest {
            module: kernel.to_module(),
            program: "submission".to_owned(),
            arguments: json!({}),
            readable: Some(vec![kernel.path.clone()]),
        };
        let trials = &self.task.trials;
        let mut judging = Judging::new(self.task, folder.path());
        let ended = self.bench.with_programs(|programs| {
            self.host.run_stoppable(
                Some(LIMITS.time + GRACE),
                || programs.stop(),
                || {
                    programs.run(&request, LIMITS, &mut |question| {
                        let reply = judging.answer(&question);
                        (self.progress)(judging.count_compared(), trials.len());
                        reply
                    })
                },
            )
        });
        let ending = match ended {
            Ok(ending) => ending.result.err().map(|raised| {
                let raised = raised.root();
                let text = format!("it raises {}: {}", raised.kind, raised.message);
                Failure::new(Verdict::Crashed, text)
            }),
            Err(failure) => Some(describe_failure(&failure)),
        };
        judging.finish(ending)
    }
}

/// The verdict of a process that did not finish.
fn describe_failure(failure: &WorkerFailure) -> Failure {
    let verdict = match failure {
        WorkerFailure::Crashed { .. } | WorkerFailure::OutOfMemory { .. } | WorkerFailure::Excess { .. } => {
            Verdict::Crashed
        }
        WorkerFailure::TimedOut { .. } => Verdict::Timeout,
        WorkerFailure::Garbled { .. } => Verdict::Tampering,
        WorkerFailure::Start { .. } | WorkerFailure::Protocol(_) | WorkerFailure::Stopped => {
            Verdict::NotJudged
        }
    };
    Failure::new(verdict, failure.to_string())
}
