//! `cerith reduce`: makes a case as small as possible while its difference stays. See `cerith_gen::reduce` for the candidates.

mod candidate_tester;
mod fault;
mod invariant;

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cerith_case::{Case, Shard};
use cerith_engine::{EngineId, Reference, catch_panic};
use cerith_gen::reduce::{Candidate, Reduced, Size};
use cerith_verdict::{Panel, Trial, try_case};

use cerith_runner::corpus::Selected;
use cerith_runner::engines::set_up;
use cerith_runner::exit::Exit;
use cerith_runner::pipeline;

use self::candidate_tester::{CandidateTester, Tally};
pub use self::fault::reduce_fault;
use self::invariant::Invariant;
use cerith_runner::host::{Console, Host};
use cerith_runner::options::EngineChoice;

/// Options of a reduction.
#[derive(Clone, Debug)]
pub struct ReduceOptions {
    /// The case's id.
    pub case: Vec<String>,
    /// The folder of case files.
    pub cases: Option<PathBuf>,
    /// The engines to compare.
    pub engines: EngineChoice,
    /// The time limit in seconds.
    pub time: Duration,
    /// The number of candidates to try at once.
    pub jobs: Option<u16>,
    /// The output folder, for the smaller case.
    pub out: Option<PathBuf>,
}

/// The name of a kernel's file.
const KERNEL: &str = "kernel.py";

/// The name of a case's file.
const CASE: &str = "case.yaml";

/// The limits of a reduction.
#[derive(Clone, Copy)]
pub struct Bounds<'a> {
    /// The time limit.
    pub time: Duration,
    /// The number of candidates that are tried at once.
    pub jobs: usize,
    /// Set by the caller to stop the reduction.
    pub host: Host<'a>,
    /// A function that smaller kernels must still call, if it is known to cause the difference.
    pub keeps: Option<&'a str>,
}

/// A reduced case.
pub struct Smaller {
    /// The smallest case with the original difference.
    pub reduced: Reduced,
    /// The size of the original case.
    pub before: Size,
    /// The properties of the difference that were preserved, a line for each engine.
    pub preserved: Vec<String>,
    /// Statistics of the search.
    pub tally: Tally,
    /// The duration of the reduction.
    pub took: Duration,
}

/// The reason why there is no smaller case.
#[derive(Debug, thiserror::Error)]
pub enum Unreduced {
    /// No engine differs.
    #[error(
        "nothing differs: the verdict is {0}\n  = help: `--engine ID` selects the engines; `cerith explain` shows the outcome of each"
    )]
    NoDifference(String),
    /// The outcome of the engine that differs is recorded, and the engine cannot run a smaller case here.
    #[error(
        "the outcome of {0} comes from its record, and a smaller case has no record\n  = help: reduce it on \
         a machine where {0} runs"
    )]
    OnRecord(String),
    /// The reference reports nothing.
    #[error(
        "the reference reports nothing for it\n  = help: `cerith reduce` with `--engine ID` reduces a difference between engines"
    )]
    NoFault,
    /// There is no kernel to make smaller.
    #[error(
        "the case launches nothing, or kernels of several files\n  = help: reduce a case that launches kernels of one file"
    )]
    NoKernel,
    /// The plain form of the case does not differ as the case does.
    #[error(
        "the difference disappears if the case has values instead of expressions\n  = help: this \
         is a bug in Cerith, or the engine does not produce the same result twice"
    )]
    Unsteady,
    /// Cerith failed.
    #[error("{0}")]
    Failed(String),
    /// It was stopped before anything was found.
    #[error("stopped")]
    Stopped,
}

/// Makes a case smaller while the properties of its differences stay the same: engine, kind, explanation and message.
pub fn reduce_case(case: &Case, panel: &Panel, bounds: Bounds<'_>) -> Result<Smaller, Unreduced> {
    let began = Instant::now();
    let trial = match catch_panic(|| try_case(case, panel)) {
        Ok(Ok(trial)) => trial,
        Ok(Err(_)) => return Err(Unreduced::Stopped),
        Err(panic) => return Err(Unreduced::Failed(panic)),
    };
    if let Some(failed) = trial.failed.first() {
        return Err(Unreduced::Failed(format!(
            "{}: {}",
            failed.engine, failed.message
        )));
    }
    let mut invariants = Invariant::from_trial(&trial);
    if invariants.is_empty() {
        return Err(Unreduced::NoDifference(describe_verdict(&trial)));
    }
    // Records have no outcome for a smaller case.
    let on_record = |invariant: &Invariant| {
        invariant.engine == EngineId::Recorded
            || trial
                .other_records
                .iter()
                .any(|one| one.id == invariant.engine && one.remembered.is_some())
    };
    if let Some(invariant) = invariants.iter().find(|invariant| on_record(invariant)) {
        let engine = invariant.engine.to_string();
        invariants.retain(|invariant| !on_record(invariant));
        if invariants.is_empty() {
            return Err(Unreduced::OnRecord(engine));
        }
    }
    let start = Candidate::from_case(case).ok_or(Unreduced::NoKernel)?;
    // The other engines do not affect the reduction, so they are not run.
    let asked = Panel::new(
        panel.reference().cloned(),
        panel
            .other_engines()
            .iter()
            .filter(|engine| {
                invariants
                    .iter()
                    .any(|invariant| invariant.engine == *engine.id())
            })
            .cloned()
            .collect(),
    );
    let start_calls = bounds.keeps.filter(|name| start.has_call(name));
    let bounds = Bounds {
        keeps: start_calls,
        ..bounds
    };
    let mut oracle = CandidateTester::new(case, &trial, &asked, &invariants, bounds);
    match oracle.holds(&start) {
        Ok(true) => {}
        Ok(false) => return Err(Unreduced::Unsteady),
        Err(_) => return Err(Unreduced::Stopped),
    }
    let before = start.size();
    let reduced = cerith_gen::reduce::reduce(start, &mut oracle);
    Ok(Smaller {
        before,
        preserved: invariants.iter().map(Invariant::describe).collect(),
        tally: oracle.tally(),
        took: began.elapsed(),
        reduced,
    })
}

/// Describes the end of a trial without differences.
fn describe_verdict(trial: &Trial) -> String {
    let word = trial.verdict.kind.to_string();
    match &trial.verdict.reason {
        Some(reason) => format!("{word}: {reason}"),
        None => word,
    }
}

impl Smaller {
    /// Writes the case to a folder.
    pub fn keep(&self, folder: &Path) -> io::Result<()> {
        cerith_files::create_folders(folder)?;
        let candidate = &self.reduced.candidate;
        let yaml = candidate
            .case_file()
            .ok_or_else(|| io::Error::other("the case cannot be written as a case file"))?;
        cerith_files::write(folder.join(KERNEL), candidate.kernel())?;
        for (path, text) in candidate.imported_files() {
            let path = folder.join(path);
            if let Some(parent) = path.parent() {
                cerith_files::create_folders(parent)?;
            }
            cerith_files::write(path, text)?;
        }
        cerith_files::write(folder.join(CASE), yaml)
    }

    /// Renders the result for the terminal.
    pub fn render(&self) -> String {
        let after = self.reduced.candidate.size();
        let row = |what: &str, before: usize, after: usize| format!("  {what:<16}{before:>8} {after:>8}\n");
        let tally = self.tally;
        let seconds = tally.filter.as_secs_f64().max(1e-9);
        let share = if tally.filtered == 0 {
            0.0
        } else {
            100.0 * (tally.filtered - tally.passed) as f64 / tally.filtered as f64
        };
        let mut text = String::new();
        for line in &self.preserved {
            let _ = writeln!(text, "kept {line}");
        }
        let _ = writeln!(text, "  {:<16}{:>8} {:>8}", "", "before", "after");
        text.push_str(&row("kernel lines", self.before.lines, after.lines));
        text.push_str(&row("arguments", self.before.arguments, after.arguments));
        text.push_str(&row("elements", self.before.elements, after.elements));
        text.push_str(&row("programs", self.before.programs, after.programs));
        let _ = writeln!(
            text,
            "{} steps in {:.1} s{}: {} candidates; the reference rejected {share:.0}% of them, at {:.0} a second and \
             core; {} went to engines, {:.1} s",
            self.reduced.steps,
            self.took.as_secs_f64(),
            if self.reduced.complete {
                ""
            } else {
                ", out of time"
            },
            tally.filtered,
            tally.filtered as f64 / seconds,
            tally.passed,
            tally.engines.as_secs_f64(),
        );
        text
    }
}

/// Reduces a case of a corpus, and returns the exit code.
pub fn reduce(options: &ReduceOptions, host: Host<'_>) -> Exit {
    let console = host.console;
    let selected = match Selected::open(options.cases.as_deref(), &options.case) {
        Ok(selected) => selected,
        Err(error) => {
            console.note(&error.to_string());
            return Exit::Wrong;
        }
    };
    let case = match find_only_case(options, &selected, console) {
        Ok(case) => case,
        Err(exit) => return exit,
    };
    let jobs = pipeline::count_jobs(options.jobs);
    let panel = match open_panel(options, &selected, jobs, host, console) {
        Ok(panel) => Arc::new(panel),
        Err(exit) => return exit,
    };
    host.stop_on_interrupt(&panel);
    let bounds = Bounds {
        time: options.time,
        jobs,
        host,
        keeps: None,
    };
    let mut smaller = match reduce_case(&case, &panel, bounds) {
        Ok(smaller) => smaller,
        Err(Unreduced::Stopped) => return Exit::Interrupted,
        Err(why @ Unreduced::Failed(_)) => {
            console.note(&format!("internal error: {why}"));
            return Exit::Unexpected;
        }
        Err(why) => {
            console.note(&format!("error: {}: {why}", case.id));
            return Exit::Wrong;
        }
    };
    let origin = case
        .origin
        .clone()
        .or_else(|| Some(format!("reduced from {}", case.id)));
    smaller.reduced.candidate = smaller
        .reduced
        .candidate
        .with_description(case.summary.clone(), origin);
    let out = options
        .out
        .clone()
        .unwrap_or_else(|| default_folder(&selected, &case.id));
    if let Err(error) = smaller.keep(&out) {
        console.note(&format!(
            "error: {}: {error}\n  = help: `--out DIR` names another folder\n\n{}",
            out.display(),
            smaller.reduced.candidate.kernel()
        ));
        return Exit::Wrong;
    }
    if let Err(why) = smaller.reduced.candidate.read_back() {
        console.note(&format!(
            "internal error: the reduced case in {} cannot be read: {why}",
            out.display()
        ));
        return Exit::Unexpected;
    }
    console.print(&format!(
        "{}\n{}\n{}\nwritten to {}\n",
        case.id,
        smaller.render(),
        smaller.reduced.candidate.kernel().trim_end(),
        out.display()
    ));
    if host.is_stopped() {
        Exit::Interrupted
    } else {
        Exit::AsExpected
    }
}

/// Finds the one selected case; otherwise returns the exit code.
fn find_only_case(options: &ReduceOptions, selected: &Selected, console: &dyn Console) -> Result<Case, Exit> {
    let entries: Vec<_> = selected.entries(Shard::ALL).take(2).collect();
    let entry = match (entries.as_slice(), selected.unmatched()) {
        ([entry], unmatched) if unmatched.is_empty() => entry,
        ([_, _], _) => {
            console.note(&format!(
                "error: `{}` selects more than one case\n  = help: name one of them by its id: {}, {}, …",
                options.case.join(" "),
                entries.first().map_or("", |entry| entry.id.as_str()),
                entries.get(1).map_or("", |entry| entry.id.as_str()),
            ));
            return Err(Exit::Wrong);
        }
        (_, unmatched) => {
            for problem in selected.problems().into_iter().chain(unmatched) {
                console.note(&problem.rendered);
            }
            return Err(Exit::Wrong);
        }
    };
    entry.resolve().map_err(|problems| {
        let mut wrong = cerith_case::Problems::default();
        wrong.add(&entry.id, problems);
        for problem in wrong.finish() {
            let shown = cerith_report::describe::to_problem(&problem, selected.corpus.sources());
            console.note(&shown.rendered);
        }
        Exit::Wrong
    })
}

/// Opens the engines that run every candidate, or returns the exit code if one of them is missing.
fn open_panel(
    options: &ReduceOptions,
    selected: &Selected,
    jobs: usize,
    host: Host<'_>,
    console: &dyn Console,
) -> Result<Panel, Exit> {
    let mut wanted = options.engines.engines.clone();
    // The reference judges candidates, so it is always included.
    if !wanted.is_empty() && !wanted.contains(&EngineId::Reference) {
        wanted.insert(0, EngineId::Reference);
    }
    let setup = set_up(
        Reference::default(),
        &wanted,
        options.engines.offline,
        jobs,
        selected,
        host,
    );
    for silent in &setup.left_out {
        console.note(&format!("left out {}: {}", silent.engine, silent.why));
    }
    for problem in setup.warnings.iter().chain(&setup.problems()) {
        console.note(&problem.rendered);
    }
    if !setup.failed.is_empty() {
        return Err(Exit::Nothing);
    }
    Ok(setup.panel)
}

/// `reports/reduce/ID`, beside the corpus.
fn default_folder(selected: &Selected, id: &str) -> PathBuf {
    let name: String = id
        .chars()
        .map(|c| {
            let plain = c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '=');
            if plain { c } else { '-' }
        })
        .collect();
    selected.report_folder("reduce").path.join(name)
}
