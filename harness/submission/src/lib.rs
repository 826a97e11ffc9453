//! `cerith judge`: whether submissions compute the function of a task. A task and each submission have a contained process of their own,
//! forked from a worker that has neither (`bench`). The launches of a submission are executed here, on inputs that this process gave, and
//! its results are compared with the task's.
//!
//! A submission's process is untrusted. It is accepted only for launches that were executed here, whose contents come from the call's
//! inputs (`provenance`), and which do not depend on the data otherwise (`launch_plan`). Its own words only name a verdict.

mod bench;
mod calls;
mod error;
mod evidence;
mod gather;
mod judgement;
mod launch_plan;
mod message;
mod provenance;
pub mod service;
mod structure;
mod task;
mod trial;
mod variation;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cerith_tile::DType;
use cerith_toolchain::ToolchainId;

pub use self::judgement::{Finding, Judgement, Verdict};

use self::bench::{Bench, Judge, SourceFile, Terms, make_seed, start_programs};
use self::error::JudgeError;
use cerith_runner::exit::Exit;
use cerith_runner::host::Host;

/// The longest file of a task or a submission.
pub const MAX_FILE: u64 = 1 << 20;

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

/// Judges submissions and prints their judgements in order.
pub fn judge(options: &JudgeOptions, host: Host<'_>) -> Exit {
    match judge_all(options, host, &|judgement| {
        print_judgement(options, host, judgement);
    }) {
        Ok(accepted) => Exit::unexpected_if(!accepted),
        Err(error) => {
            host.console.note(&error.to_string());
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
/// The task or a file cannot be read.
fn judge_all(
    options: &JudgeOptions,
    host: Host<'_>,
    report: &(dyn Fn(&Judgement) + Sync),
) -> Result<bool, JudgeError> {
    let file = read_file(&options.task)?;
    let kernels = options.kernels.iter().map(|kernel| read_file(kernel));
    let kernels = kernels.collect::<Result<Vec<_>, _>>()?;
    let programs = start_programs(options.toolchain.as_ref())?;
    // Each program reads its own file only.
    let all = kernels.iter().chain([&file]);
    let programs = all.fold(programs, |programs, file| {
        let root = file.path.parent().unwrap_or(Path::new("/"));
        programs.with_readable_files(root, std::slice::from_ref(&file.path))
    });
    let bench = Bench::new(programs);
    let seed = options.seed.unwrap_or_else(make_seed);
    let terms = Terms {
        accumulate: options.accumulate,
        no_tf32: options.no_tf32,
    };
    let task = bench.read_task(&file, seed, terms, host)?;
    let judge = Judge {
        bench: &bench,
        task: &task,
        name: file.name.clone(),
        seed,
        host,
        progress: &|_, _| {},
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
                    let Some(kernel) = kernels.get(at) else {
                        return;
                    };
                    if host.is_stopped() {
                        return;
                    }
                    let judgement = judge.judge_submission(kernel);
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

fn read_file(path: &Path) -> Result<SourceFile, JudgeError> {
    let failed = |error| JudgeError::Read {
        path: path.to_owned(),
        error,
    };
    let real = path.canonicalize().map_err(failed)?;
    Ok(SourceFile {
        name: path.display().to_string(),
        text: cerith_files::read_text(&real, MAX_FILE).map_err(failed)?,
        path: real,
    })
}
