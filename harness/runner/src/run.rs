//! `cerith run`: runs cases, and writes events and reports.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use cerith_case::Shard;
use cerith_engine::{Reference, catch_panic};
use cerith_report::FORMAT;
use cerith_report::event::{Event, Internal, Problem, Start};
use cerith_verdict::{Demands, Panel};

use crate::corpus::{CorpusError, ReportFolder, Selected};
use crate::engines::{Setup, set_up};
use crate::exit::Exit;
use crate::gate::{self, GateError, GateOptions, PassCriteria};
use crate::host::Host;
use crate::judge::Judge;
use crate::options::{EngineChoice, ReportOptions, Selection};
use crate::oracle::{CaseOracle, NoToolchain, find_toolchain};
use crate::output::Output;
use crate::pipeline;
use crate::stages::{Blaming, Means};
use cerith_interp::Checks;

/// Options of a run.
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The selected cases.
    pub selection: Selection,
    /// The selected engines.
    pub engines: EngineChoice,
    /// The number of cases to run at once.
    pub jobs: Option<u16>,
    /// Run one part of N: `2/8` is every eighth case beginning with the second.
    pub shard: Option<Shard>,
    /// The checks of the reference.
    pub checks: Checks,
    /// Whether a lane that a load masks off without `other` holds zero, and not an undefined value.
    pub masked_zero: bool,
    /// Warn about accesses that stay inside a storage but outside the tensor that was passed: a slice's neighbour, or the padding
    /// after a row.
    pub views: bool,
    /// How many more times each case is launched in other orders: by the reference with its programs reversed and permuted, by `ptx`
    /// in other schedules. They are the same in every run.
    pub schedules: u32,
    /// If a compiled engine (`cuda`, `ptx`) is to blame, find the wrong stage and pass of its compiler.
    pub stages: bool,
    /// Compare cases with their reference functions (`like:`), in a contained Python of this toolchain; empty: of one with torch.
    pub oracle: Option<String>,
    /// Allow engines without an outcome.
    pub allow_unavailable: bool,
    /// The conditions under which the run fails or ends early.
    pub gate: GateOptions,
    /// Output format, and the folder of reports.
    pub reports: ReportOptions,
}

/// The reason why a run cannot begin.
#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    #[error(transparent)]
    Gate(#[from] GateError),
    #[error("error: {0}")]
    Oracle(#[from] NoToolchain),
    #[error("error: failed to make a temporary folder: {0}")]
    Folder(#[from] std::io::Error),
    #[error(
        "error: `--schedules` needs `--checks full`: `--checks fast` does not see what another order changes\n  = help: leave \
         `--checks` out"
    )]
    Schedules,
}

/// Runs, and returns the exit code.
pub fn run(options: &RunOptions, host: Host<'_>) -> Exit {
    let began = Instant::now();
    let console = host.console;
    let asked = match RunPlan::read(options) {
        Ok(asked) => asked,
        Err(error) => {
            console.note(&error.to_string());
            return Exit::Wrong;
        }
    };
    let shard = options.shard.unwrap_or_default();
    let total = asked.selected.entries(shard).count() as u64;
    if let Some(problems) = asked.before.as_ref().filter(|_| total == 0) {
        // Keep the results of the previous run.
        for problem in problems {
            console.note(&problem.rendered);
        }
        console.note(&format!(
            "nothing was run: every selected case was as expected in the run before ({})\n  = help: run all: leave \
             `--last-failed` out",
            asked.into.display()
        ));
        return Exit::Nothing;
    }
    let jobs = pipeline::count_jobs(options.jobs);
    let oracle = match open_oracle(options, &asked.selected, jobs) {
        Ok(oracle) => oracle,
        Err(error) => {
            console.note(&error.to_string());
            return Exit::Wrong;
        }
    };
    let partial = options.shard.is_some() || asked.selected.is_partial();
    let mut output = match Output::new(&options.reports, &asked.folder, partial, console) {
        Ok(output) => output,
        Err(blocked) => {
            host.console.note(&format!("error: {blocked}"));
            return Exit::Wrong;
        }
    };
    let mut setup = set_up_engines(options, &asked.selected, jobs, total, host);
    let strays = catch_panic(|| cerith_verdict::run_canaries(&mut setup.panel)).unwrap_or_default();
    let panel = emit_start(
        options,
        &mut output,
        setup,
        asked.criteria,
        asked.before,
        &asked.selected,
    );
    host.stop_on_interrupt(&panel);
    output.console.begin(total);
    for (engine, why) in strays {
        output.emit_event(&Event::Internal(Internal {
            case: None,
            engine: Some(engine.to_string()),
            message: format!("it is wrong about cases with known results, so it is left out: {why}"),
        }));
    }
    if !panel.order().is_empty() && is_trusted(&mut output) {
        let selected = &asked.selected;
        let sources = selected.corpus.sources();
        let reference = panel.reference().filter(|_| options.stages);
        let blaming = reference.map(|reference| {
            Blaming::new(Means {
                reference,
                offline: options.engines.offline,
                jobs,
                corpus: selected.readable(),
                host,
            })
        });
        let judge = Judge {
            panel: &panel,
            sources,
            blaming: blaming.as_ref(),
            oracle: oracle.as_ref(),
        };
        let stop = || oracle.iter().for_each(CaseOracle::stop);
        host.run_stoppable(None, stop, || {
            output.follow((selected.entries(shard), total), jobs, host, sources, |entry| {
                judge.judge_entry(&entry)
            });
        });
    }
    output.console.end();
    output.finish(began, host.is_stopped())
}

/// Opens what calls reference functions, if that is requested.
fn open_oracle(
    options: &RunOptions,
    selected: &Selected,
    jobs: usize,
) -> Result<Option<CaseOracle>, RunError> {
    let Some(name) = &options.oracle else {
        return Ok(None);
    };
    let toolchain = find_toolchain(name)?;
    Ok(Some(CaseOracle::new(toolchain, jobs, selected.readable())?))
}

/// The cases to run, the folder of reports, and the results of previous runs, as far as files determine them.
struct RunPlan {
    selected: Selected,
    /// The default folder of reports.
    folder: ReportFolder,
    /// The folder of this run's reports.
    into: PathBuf,
    criteria: PassCriteria,
    /// With `--last-failed`: the problems of the run before.
    before: Option<Vec<Problem>>,
}

impl RunPlan {
    fn read(options: &RunOptions) -> Result<Self, RunError> {
        if options.schedules > 0 && options.checks == Checks::Fast {
            return Err(RunError::Schedules);
        }
        let mut selected = Selected::open(options.selection.cases.as_deref(), &options.selection.filters)?;
        let folder = selected.report_folder("run");
        let into = options.reports.out.clone().unwrap_or_else(|| folder.path.clone());
        let held = PassCriteria::read(&options.gate, &into)?;
        let mut before = None;
        if options.gate.last_failed {
            let run = gate::read_previous_runs(&into)?;
            selected.keep_only(run.failed);
            before = Some(run.problems);
        }
        Ok(Self {
            selected,
            folder,
            into,
            criteria: held,
            before,
        })
    }
}

/// Creates the engines. Without cases, it creates none.
fn set_up_engines(
    options: &RunOptions,
    selected: &Selected,
    jobs: usize,
    total: u64,
    host: Host<'_>,
) -> Setup {
    let engines = &options.engines;
    let mut setup = if total == 0 {
        Setup::without_engines()
    } else {
        let reference = Reference::default()
            .with_checks(options.checks)
            .with_masked_zero(options.masked_zero)
            .with_views(options.views)
            .with_schedules(options.schedules)
            .with_threads(pipeline::count_threads(jobs, total));
        set_up(reference, &engines.engines, engines.offline, jobs, selected, host)
    };
    setup.panel.demands = Demands {
        named_engines: engines.engines.clone(),
        silence_allowed: options.allow_unavailable,
    };
    setup
}

/// Writes the first events: the start, and every problem that is known before a case is run.
fn emit_start(
    options: &RunOptions,
    output: &mut Output<'_>,
    setup: Setup,
    mut held: PassCriteria,
    before: Option<Vec<Problem>>,
    selected: &Selected,
) -> Arc<Panel> {
    let mut problems = setup.problems();
    let Setup {
        panel,
        mut left_out,
        recorded,
        failed,
        warnings,
    } = setup;
    if options.allow_unavailable {
        problems.clear();
        left_out.extend(failed);
    }
    let order: Vec<String> = panel.order().iter().map(ToString::to_string).collect();
    let baseline = held.begin(&order);
    let gone = options.gate.baseline.as_ref().and_then(|_| {
        let ids: Vec<String> = selected.corpus.entries().map(|entry| entry.id).collect();
        held.warn_missing(ids.iter().map(String::as_str))
    });
    output.criteria = held;
    let cases = selected.entries(options.shard.unwrap_or_default()).count() as u64;
    output.emit_event(&Event::Start(Start {
        left_out,
        recorded,
        corpus: selected.named_folder(),
        corpus_hash: selected.corpus.hash().to_owned(),
        total: selected.entries(Shard::ALL).count() as u64,
        baseline,
        last_failed: options.gate.last_failed,
        partial: selected.is_partial(),
        ..build_start(options, panel.order(), cases)
    }));
    let problems = warnings.into_iter().chain(problems).chain(selected.problems());
    for problem in problems
        .chain(before.into_iter().flatten())
        .chain(gone)
        .chain(selected.unmatched())
    {
        output.emit_event(&Event::Problem(problem));
    }
    Arc::new(panel)
}

/// Whether the judge is right about trials with known verdicts. If not, no verdict of it is worth anything.
fn is_trusted(output: &mut Output<'_>) -> bool {
    let mistrials = catch_panic(cerith_verdict::run_selfcheck).unwrap_or_else(|panic| vec![panic]);
    let trusted = mistrials.is_empty();
    for mistrial in mistrials {
        output.emit_event(&Event::Internal(Internal {
            case: None,
            engine: None,
            message: format!(
                "Cerith is wrong about a trial with a known verdict, so nothing is judged: {mistrial}"
            ),
        }));
    }
    trusted
}

fn build_start(options: &RunOptions, engines: &[cerith_engine::EngineId], cases: u64) -> Start {
    Start {
        format: FORMAT,
        cerith: env!("CARGO_PKG_VERSION").to_owned(),
        engines: engines.iter().map(ToString::to_string).collect(),
        by_default: options.engines.engines.is_empty(),
        left_out: Vec::new(),
        recorded: Vec::new(),
        axes: Vec::new(),
        cases,
        checks: (options.checks == Checks::Fast).then(|| "fast".to_owned()),
        masked: (options.masked_zero).then(|| "zero".to_owned()),
        schedules: options.schedules,
        corpus: String::new(),
        corpus_hash: String::new(),
        total: 0,
        allow_unavailable: options.allow_unavailable,
        baseline: String::new(),
        last_failed: false,
        partial: false,
        filters: options.selection.filters.clone(),
        shard: options.shard.map(|shard| shard.to_string()),
    }
}
