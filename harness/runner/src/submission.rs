//! `cerith judge`: whether submissions compute the function of a task. A task and each submission have a contained process of their own; the
//! launches of a submission are executed here, on inputs that this process gave, and its results are compared with the task's.
//!
//! A submission's process is untrusted. It is accepted only for launches that were executed here, whose contents come from the call's
//! inputs (`provenance`), and which do not depend on the data otherwise (`plan`). Its own words only name a verdict.

mod calls;
mod evidence;
mod judgement;
mod message;
mod plan;
mod provenance;
mod task;
mod trial;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cerith_engine::catch_panic;
use cerith_oracle::Contract;
use cerith_recording::recorder::{PACKAGE, program_files};
use cerith_tile::DType;
use cerith_toolchain::request::Module;
use cerith_toolchain::{Limits, ProgramRequest, Programs, Toolchain, ToolchainId, WorkerFailure};
use serde_json::json;

pub use self::judgement::{Finding, Judgement, Verdict};

use self::calls::{Judging, Summary};
use self::judgement::Failure;
use self::task::{Task, read_task};
use crate::exit::Exit;
use crate::host::Host;
use crate::oracle::find_toolchain;

/// How long the reference may execute a launch after the time is over.
const GRACE: Duration = Duration::from_secs(5);

/// The time for a submission, and its memory.
const LIMITS: Limits = Limits {
    time: Duration::from_secs(50),
    ..Limits::PROGRAM
};

/// The longest file of a task or a submission.
const MAX_FILE: u64 = 1 << 20;

/// A task with its submissions.
#[derive(Clone, Debug)]
pub struct JudgeOptions {
    /// The task's file.
    pub task: PathBuf,
    /// The submissions' files.
    pub kernels: Vec<PathBuf>,
    /// The seed of the data. Without it, a fresh one.
    pub seed: Option<u64>,
    /// How many submissions are judged at once.
    pub jobs: Option<u16>,
    /// The toolchain. Without it, the newest one with torch, or else the newest.
    pub toolchain: Option<ToolchainId>,
    /// The dtype of sums, in place of the task's.
    pub accumulate: Option<DType>,
    /// Whether dots of `f32` may not round to TF32.
    pub no_tf32: bool,
    /// Print lines of JSON.
    pub json: bool,
}

/// The package with the programs.
fn program_package() -> (&'static str, Vec<(&'static str, &'static str)>) {
    (PACKAGE, program_files())
}

/// Judges submissions and prints their judgements in order.
pub fn judge(options: &JudgeOptions, host: Host<'_>) -> Exit {
    match judge_all(options, host, &|judgement| {
        print_judgement(options, host, judgement);
    }) {
        Ok(accepted) => Exit::unexpected_if(!accepted),
        Err(message) => {
            host.console.note(&message);
            Exit::Wrong
        }
    }
}

fn print_judgement(options: &JudgeOptions, host: Host<'_>, judgement: &Judgement) {
    if options.json {
        let line = serde_json::to_string(judgement).unwrap_or_default();
        host.console.print(&format!("{line}\n"));
    } else {
        host.console.print(&judgement.write_text());
    }
}

/// Judges all submissions. Returns whether all were accepted.
///
/// # Errors
/// The message for the user: the task or a file cannot be read.
fn judge_all(
    options: &JudgeOptions,
    host: Host<'_>,
    report: &(dyn Fn(&Judgement) + Sync),
) -> Result<bool, String> {
    let name = options
        .toolchain
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    let toolchain = find_toolchain(&name).map_err(|error| format!("error: {error}"))?;
    let seed = options.seed.unwrap_or_else(make_seed);
    let file = absolute(&options.task)?;
    let text = read_text(&file)?;
    let contract = |own: Contract| Contract {
        accumulate: options.accumulate.unwrap_or(own.accumulate),
        tf32: own.tf32 && !options.no_tf32,
    };
    let mut kernels = Vec::with_capacity(options.kernels.len());
    for kernel in &options.kernels {
        let file = absolute(kernel)?;
        kernels.push((kernel.display().to_string(), read_text(&file)?, file));
    }
    let task = read_task(&file, &text, &toolchain, seed, &contract)?;
    let judge = Judge {
        task: &task,
        name: options.task.display().to_string(),
        toolchain: &toolchain,
        seed,
        host,
    };
    let jobs = options.jobs.map_or_else(
        || std::thread::available_parallelism().map_or(1, usize::from),
        usize::from,
    );
    let printed: Mutex<(usize, Vec<Option<Judgement>>)> = Mutex::new((0, vec![None; kernels.len()]));
    let next = AtomicUsize::new(0);
    let accepted = Mutex::new(true);
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(kernels.len()).max(1) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((name, text, file)) = kernels.get(at) else {
                        return;
                    };
                    if host.is_stopped() {
                        return;
                    }
                    let judgement = judge.judge_submission(name, file, text);
                    if judgement.verdict != Verdict::Accepted
                        && let Ok(mut accepted) = accepted.lock()
                    {
                        *accepted = false;
                    }
                    if let Ok(mut printed) = printed.lock() {
                        let (first, waiting) = &mut *printed;
                        if let Some(place) = waiting.get_mut(at) {
                            *place = Some(judgement);
                        }
                        while let Some(judgement) = waiting.get_mut(*first).and_then(Option::take) {
                            report(&judgement);
                            *first += 1;
                        }
                    }
                }
            });
        }
    });
    Ok(accepted.into_inner().unwrap_or(false))
}

fn make_seed() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(Instant::now()) & u64::from(u32::MAX)
}

fn absolute(path: &Path) -> Result<PathBuf, String> {
    path.canonicalize()
        .map_err(|error| format!("error: failed to read {}: {error}", path.display()))
}

fn read_text(path: &Path) -> Result<String, String> {
    cerith_files::read_text(path, MAX_FILE)
        .map_err(|error| format!("error: failed to read {}: {error}", path.display()))
}

/// Judges submissions of one task.
struct Judge<'a> {
    task: &'a Task,
    name: String,
    toolchain: &'a Toolchain,
    seed: u64,
    host: Host<'a>,
}

impl Judge<'_> {
    fn judge_submission(&self, name: &str, file: &Path, text: &str) -> Judgement {
        let began = Instant::now();
        let judged = catch_panic(|| self.run(file, text)).unwrap_or_else(|panic| {
            Failure::new(Verdict::NotJudged, format!("internal error: {panic}")).into()
        });
        let Summary {
            failure,
            trials,
            launches,
        } = judged;
        let short = file.file_name().unwrap_or_default().to_string_lossy();
        let whole = file.display().to_string();
        Judgement {
            task: self.name.clone(),
            kernel: name.to_owned(),
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

    fn run(&self, file: &Path, text: &str) -> Summary {
        let unable = |error: std::io::Error| {
            let text = format!("failed to make a temporary folder: {error}");
            Summary::from(Failure::new(Verdict::NotJudged, text))
        };
        // Its own folder has neither the task nor other submissions.
        let folder = match tempfile::Builder::new().prefix("cerith-").tempdir() {
            Ok(folder) => folder,
            Err(error) => return unable(error),
        };
        let (package, files) = program_package();
        let programs = match Programs::new(self.toolchain.clone(), 1, (package, &files)) {
            Ok(programs) => {
                let root = file.parent().unwrap_or(Path::new("/"));
                programs.with_readable_files(root, &[file.to_owned()])
            }
            Err(error) => return unable(error),
        };
        let request = ProgramRequest {
            module: Module {
                path: file.to_owned(),
                text: text.into(),
            },
            program: "submission".to_owned(),
            arguments: json!({}),
        };
        let Task {
            interface,
            trials,
            contract,
        } = self.task;
        let mut judging = Judging::new(interface, trials, *contract, folder.path());
        let ended = self.host.run_stoppable(
            Some(LIMITS.time + GRACE),
            || programs.stop(),
            || programs.run(&request, LIMITS, &mut |question| judging.answer(&question)),
        );
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
