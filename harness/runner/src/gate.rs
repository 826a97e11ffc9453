//! Decides whether a run passes, in addition to its cases' expectations: a baseline, the failures of the previous run, and the
//! number of failures that ends it. See `run` for running cases, and `cerith_report::baseline` for the format of a baseline.

use std::collections::HashSet;
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

use cerith_report::event::{Event, Problem, Severity, Start, Verdict};
use cerith_report::{Baseline, BaselineError, ReadError, read, safe};

use crate::exit::Exit;
use crate::host::Console;
use crate::output::{PARTIAL, STREAM};
use crate::part::{Part, PartError};

/// The conditions under which a run fails or ends early.
#[derive(Clone, Debug)]
pub struct GateOptions {
    /// Let the failures in this baseline pass: a file that `cerith report baseline` wrote, or the stream of a run.
    pub baseline: Option<PathBuf>,
    /// Run only the cases that were not as expected in the last run into the same folder (--out).
    pub last_failed: bool,
    /// After how many failures the run ends.
    pub max_failures: Option<u64>,
}

/// Options for writing a baseline.
#[derive(Clone, Debug)]
pub struct BaselineOptions {
    /// The stream of a run.
    pub stream: PathBuf,
    /// Remove fixed failures from this baseline, and add nothing.
    pub prune: Option<PathBuf>,
    /// The path of the baseline.
    pub output: Option<PathBuf>,
}

/// The reason why a baseline, or the run before, cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The run would overwrite its baseline.
    #[error(
        "error: the baseline {stream} is the stream that this run writes, so it would be overwritten\n  = help: keep what it says \
         (`cerith report baseline {stream} -o baseline.jsonl`), or name another folder: `--out DIR`",
        stream = .0.display()
    )]
    OwnStream(PathBuf),
    /// The baseline cannot be opened.
    #[error("error: {}: {error}\n{BASELINE_HELP}", path.display())]
    OpenBaseline {
        /// Its file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The baseline cannot be read.
    #[error("error: {}: failed to {}\n{BASELINE_HELP}", path.display(), safe::escape_line(&error.to_string()))]
    ReadBaseline {
        /// Its file.
        path: PathBuf,
        /// The cause.
        error: BaselineError,
    },
    /// The stream of the run cannot be opened.
    #[error("error: {}: {error}", path.display())]
    OpenStream {
        /// Its file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The stream of the run cannot be read.
    #[error(
        "error: {}: failed to {error}\n  = help: name the stream of a run, which has every case that was judged",
        path.display()
    )]
    ReadStream {
        /// Its file.
        path: PathBuf,
        /// The cause.
        error: ReadError,
    },
    /// The stream of the run is not whole.
    #[error("error: {} {fault}\n  = help: name the whole stream of a run", path.display())]
    PartialStream {
        /// Its file.
        path: PathBuf,
        /// The error in it.
        fault: String,
    },
    /// There is no run before this one.
    #[error("error: there is no run before this one in {}: {error}\n{BEFORE_HELP}", folder.display())]
    NoRun {
        /// The folder of reports.
        folder: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The run before cannot be read.
    #[error("error: {}: failed to {error}\n{BEFORE_HELP}", path.display())]
    ReadRun {
        /// Its stream.
        path: PathBuf,
        /// The cause.
        error: ReadError,
    },
    /// The stream has no run.
    #[error("error: {} holds no run\n{BEFORE_HELP}", .0.display())]
    Empty(PathBuf),
    /// The run before is not whole.
    #[error("error: {} {fault}\n{BEFORE_HELP}", path.display())]
    PartialRun {
        /// Its stream.
        path: PathBuf,
        /// The error in it.
        fault: String,
    },
}

/// Help if a baseline cannot be read.
const BASELINE_HELP: &str =
    "  = help: name a file that `cerith report baseline STREAM -o FILE` wrote, or the whole stream of a run";

/// Help if the run before cannot be read.
const BEFORE_HELP: &str =
    "  = help: run once without `--last-failed`, or name the folder of that run's reports: `--out DIR`";

/// The maximum number of cases that a message names.
const MAX_NAMED_CASES: usize = 8;

/// The criteria by which a run passes.
#[derive(Debug, Default)]
pub struct PassCriteria {
    /// After how many failures it ends.
    pub enough: Option<u64>,
    baseline: Option<(String, Baseline)>,
    engines: Vec<String>,
    mended: Vec<String>,
}

/// The failures of the previous run, and messages about it.
#[derive(Debug, Default)]
pub struct PreviousRun {
    /// The cases that were not as expected.
    pub failed: HashSet<String>,
    /// Messages about that run.
    pub problems: Vec<Problem>,
}

impl PassCriteria {
    /// Reads the files that the arguments name; `folder` is the folder of this run's reports. Fails with a message for the user,
    /// before any file of the previous run is removed.
    pub fn read(gate: &GateOptions, folder: &Path) -> Result<Self, GateError> {
        let baseline = match &gate.baseline {
            None => None,
            Some(path) => {
                let named = path.canonicalize().ok();
                let is_own = |own: PathBuf| own.canonicalize().is_ok_and(|own| Some(own) == named);
                if is_own(folder.join(STREAM)) || is_own(folder.join(PARTIAL).join(STREAM)) {
                    return Err(GateError::OwnStream(path.clone()));
                }
                Some((path.display().to_string(), read_baseline(path)?))
            }
        };
        Ok(Self {
            enough: gate.max_failures,
            baseline,
            ..Self::default()
        })
    }

    /// The baseline's name, and the engines of the run.
    pub fn begin(&mut self, engines: &[String]) -> String {
        self.engines = engines.to_vec();
        self.baseline
            .as_ref()
            .map_or_else(String::new, |(name, _)| name.clone())
    }

    /// Cases of the baseline that are not in the corpus.
    pub fn warn_missing<'a>(&self, corpus: impl Iterator<Item = &'a str>) -> Option<Problem> {
        let (name, baseline) = self.baseline.as_ref()?;
        let known: HashSet<&str> = corpus.collect();
        let gone: Vec<&str> = baseline.cases().filter(|case| !known.contains(case)).collect();
        (!gone.is_empty()).then(|| {
            Problem::new(
                Severity::Warning,
                "baseline",
                format!(
                    "{} {} of the baseline {name} {} not in the corpus: {}",
                    gone.len(),
                    pluralise_case(gone.len()),
                    conjugate_be(gone.len()),
                    join_names(&gone)
                ),
                "remove them from the file and correct the number in its first line, or write the baseline \
                 again: `cerith report baseline`",
            )
        })
    }

    /// Compares a verdict with the baseline.
    pub fn compare_event(&mut self, event: &mut Event) {
        let (Some((_, baseline)), Event::Verdict(verdict)) = (&self.baseline, event) else {
            return;
        };
        verdict.against = baseline.compare_verdict(verdict, &self.engines).map(Box::new);
        if verdict
            .against
            .as_ref()
            .is_some_and(|against| !against.mended.is_empty())
        {
            self.mended.push(verdict.case.clone());
        }
    }

    /// The message about fixed cases, after the last verdict; `stream` is the run's.
    pub fn warn_fixed(&self, stream: &Path) -> Option<Problem> {
        let (name, _) = self.baseline.as_ref()?;
        let count = self.mended.len();
        (count > 0).then(|| {
            Problem::new(
                Severity::Warning,
                "mended",
                format!(
                    "{count} {} of the baseline {name} {} fixed, at least in part: {}",
                    pluralise_case(count),
                    conjugate_be(count),
                    join_names(&self.mended)
                ),
                &format!(
                    "remove it from the baseline, so that it cannot come back unseen: `cerith report \
                     baseline {} --prune {name} -o {name}`",
                    stream.display()
                ),
            )
        })
    }

    /// The message that the run ended early.
    pub fn warn_stopped(&self, not_run: u64, total: u64) -> Option<Problem> {
        let enough = self.enough?;
        (not_run > 0).then(|| {
            let after = if enough == 1 {
                "the first case that is not as expected".to_owned()
            } else {
                format!("{enough} cases that are not as expected")
            };
            Problem::new(
                Severity::Warning,
                "stopped",
                format!("the run ended with {after}: {not_run} of {total} cases were not run"),
                "fix them, try them again (`--last-failed`), and then run all; without `--fail-fast` and \
                 `--max-failures` a run goes to its end",
            )
        })
    }
}

/// Reads the results of previous runs in a folder of reports: the last run of all cases, and the later run of some cases, whose
/// verdicts count. Fails with a message for the user.
pub fn read_previous_runs(folder: &Path) -> Result<PreviousRun, GateError> {
    let mut before = PreviousRun::default();
    let part = folder.join(PARTIAL).join(STREAM);
    let all = folder.join(STREAM);
    if all.exists() || !part.exists() {
        before.read(&all)?;
    }
    if part.exists() {
        before.read(&part)?;
    }
    Ok(before)
}

impl PreviousRun {
    /// Adds a run to those that were before it.
    fn read(&mut self, path: &Path) -> Result<(), GateError> {
        let file = cerith_files::open(path).map_err(|error| GateError::NoRun {
            folder: path.parent().unwrap_or(path).to_owned(),
            error,
        })?;
        let mut start: Option<Start> = None;
        let mut judged = 0;
        let end = read(BufReader::new(file), |event| match event {
            Event::Start(one) => start = Some(one),
            Event::Verdict(verdict) => {
                judged += 1;
                if verdict.passes() {
                    self.failed.remove(&verdict.case);
                } else {
                    self.failed.insert(verdict.case);
                }
            }
            Event::Internal(internal) => self.failed.extend(internal.case),
            _ => {}
        })
        .map_err(|error| GateError::ReadRun {
            path: path.to_owned(),
            error,
        })?;
        let Some(start) = start else {
            return Err(GateError::Empty(path.to_owned()));
        };
        if !end.gaps.is_empty() || end.stray {
            return Err(GateError::PartialRun {
                path: path.to_owned(),
                fault: end.fault().unwrap_or_default(),
            });
        }
        if judged < start.cases {
            let why = if end.open || end.cut {
                "was killed"
            } else {
                "ended early"
            };
            self.problems.push(Problem::new(
                Severity::Warning,
                "last-failed",
                format!(
                    "the run before {why}: {} of its {} cases were not judged, so it is not known whether they \
                     are as expected",
                    start.cases - judged,
                    start.cases
                ),
                "run all of them once these are fixed",
            ));
        }
        Ok(())
    }
}

/// `cerith report baseline`: prints or writes one, and returns the exit code.
pub fn write_baseline(options: &BaselineOptions, console: &dyn Console) -> Exit {
    let made = match build_baseline(options) {
        Ok(made) => made,
        Err(error) => {
            console.note(&error.to_string());
            return Exit::Wrong;
        }
    };
    let text = made.text();
    let Some(path) = &options.output else {
        console.print(&text);
        return Exit::AsExpected;
    };
    if path
        .canonicalize()
        .is_ok_and(|out| options.stream.canonicalize().is_ok_and(|stream| stream == out))
    {
        console.note(&format!(
            "error: {0} is the stream of the run, and the baseline would replace it\n  = help: name another file: `-o \
             baseline.jsonl`",
            path.display()
        ));
        return Exit::Wrong;
    }
    let written = Part::create(path).and_then(|part| {
        part.file()
            .write_all(text.as_bytes())
            .map_err(PartError::write(path))?;
        part.keep()
    });
    if let Err(error) = written {
        console.note(&format!("error: failed to {error}"));
        return Exit::Wrong;
    }
    let count = made.cases().count();
    console.print(&format!(
        "{}: {count} {}\n",
        path.display(),
        pluralise_case(count)
    ));
    Exit::AsExpected
}

fn build_baseline(options: &BaselineOptions) -> Result<Baseline, GateError> {
    let now = read_baseline(&options.stream)?;
    let Some(old) = &options.prune else {
        return Ok(now);
    };
    let mut old = read_baseline(old)?;
    let mut verdicts: Vec<Verdict> = Vec::new();
    let file = cerith_files::open(&options.stream).map_err(|error| GateError::OpenStream {
        path: options.stream.clone(),
        error,
    })?;
    let read = read(BufReader::new(file), |event| {
        if let Event::Verdict(mut verdict) = event {
            verdict.exhibit = None;
            verdicts.push(*verdict);
        }
    });
    let end = read.map_err(|error| GateError::ReadStream {
        path: options.stream.clone(),
        error,
    })?;
    if let Some(fault) = end.fault() {
        return Err(GateError::PartialStream {
            path: options.stream.clone(),
            fault,
        });
    }
    old.prune(&verdicts, &now.engines);
    Ok(old)
}

/// Reads a baseline. Fails with a message for the user.
fn read_baseline(path: &Path) -> Result<Baseline, GateError> {
    let file = cerith_files::open(path).map_err(|error| GateError::OpenBaseline {
        path: path.to_owned(),
        error,
    })?;
    Baseline::read(BufReader::new(file)).map_err(|error| GateError::ReadBaseline {
        path: path.to_owned(),
        error,
    })
}

fn join_names<S: AsRef<str>>(names: &[S]) -> String {
    let mut shown: Vec<&str> = names.iter().take(MAX_NAMED_CASES).map(AsRef::as_ref).collect();
    let more = format!("{} more", names.len().saturating_sub(MAX_NAMED_CASES));
    if names.len() > MAX_NAMED_CASES {
        shown.push(&more);
    }
    shown.join(", ")
}

const fn pluralise_case(count: usize) -> &'static str {
    if count == 1 { "case" } else { "cases" }
}

const fn conjugate_be(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}
