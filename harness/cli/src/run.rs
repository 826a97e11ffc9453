//! `cerith run`: runs cases, and writes events and reports.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use cerith_case::{Entry, Shard};
use cerith_engine::{Reference, catch_panic};
use cerith_report::FORMAT;
use cerith_report::event::{Event, Internal, Problem, Start};
use cerith_tile::source::Sources;
use cerith_verdict::{Demands, Panel};

use crate::args::{Checks, Masked, RunArgs};
use crate::corpus::{ReportFolder, Selected};
use crate::engines::{Setup, set_up};
use crate::exit::Exit;
use crate::gate::{self, PassCriteria};
use crate::judge;
use crate::output::{CaseResult, Output};
use crate::pipeline;
use crate::stages::{Blaming, Means};
use crate::terminal::Terminal;

/// Runs, and answers with the exit code.
pub fn run(args: &RunArgs, stop: &'static AtomicBool) -> Exit {
    let began = Instant::now();
    let terminal = Terminal::new();
    let asked = match RunPlan::read(args) {
        Ok(asked) => asked,
        Err(message) => {
            terminal.note(&message);
            return Exit::Wrong;
        }
    };
    let shard = args.shard.unwrap_or_default();
    let total = asked.selected.entries(shard).count() as u64;
    if let Some(problems) = asked.before.as_ref().filter(|_| total == 0) {
        // What is known of the run before stays.
        for problem in problems {
            terminal.note(&problem.rendered);
        }
        terminal.note(&format!(
            "nothing was run: every selected case was as expected in the run before ({})\n  = help: run all: leave \
             `--last-failed` out",
            asked.into.display()
        ));
        return Exit::Nothing;
    }
    let partial = args.shard.is_some() || asked.selected.is_partial();
    let mut output = match Output::new(&args.reports, &asked.folder, partial, terminal) {
        Ok(output) => output,
        Err(blocked) => {
            Terminal::new().note(&format!("error: {blocked}"));
            return Exit::Wrong;
        }
    };
    let jobs = pipeline::count_jobs(args.jobs);
    let mut setup = set_up_engines(args, &asked.selected, jobs, total, stop);
    let strays = catch_panic(|| cerith_verdict::run_canaries(&mut setup.panel)).unwrap_or_default();
    let panel = begin(
        args,
        &mut output,
        setup,
        asked.criteria,
        asked.before,
        &asked.selected,
    );
    crate::interrupt::on_interrupt(&panel);
    output.terminal.begin(total);
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
        let reference = panel.reference().filter(|_| args.stages);
        let blaming = reference.map(|reference| {
            Blaming::new(Means {
                reference,
                offline: args.engines.offline,
                jobs,
                corpus: selected.readable(),
                stop,
            })
        });
        output.follow((selected.entries(shard), total), jobs, stop, sources, |entry| {
            judge_entry(entry, &panel, sources, blaming.as_ref())
        });
    }
    output.terminal.end();
    output.finish(began, stop.load(Ordering::Relaxed))
}

/// What is asked for, as far as files say it: which cases, where reports go, and what is known of runs before.
struct RunPlan {
    selected: Selected,
    /// Where reports go if nobody names another folder.
    folder: ReportFolder,
    /// Where they go.
    into: PathBuf,
    criteria: PassCriteria,
    /// With `--last-failed`: the problems of the run before.
    before: Option<Vec<Problem>>,
}

impl RunPlan {
    fn read(args: &RunArgs) -> Result<Self, String> {
        if args.schedules > 0 && args.checks == Checks::Fast {
            return Err(
                "error: `--schedules` needs `--checks full`: `--checks fast` does not see what another order \
                 changes\n  = help: leave `--checks` out"
                    .to_owned(),
            );
        }
        let mut selected = Selected::open(args.selection.cases.as_deref(), &args.selection.filters)?;
        let folder = selected.report_folder("run");
        let into = args.reports.out.clone().unwrap_or_else(|| folder.path.clone());
        let held = PassCriteria::read(&args.gate, &into)?;
        let mut before = None;
        if args.gate.last_failed {
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

/// The engines, with what they must do. Without a case there is none.
fn set_up_engines(
    args: &RunArgs,
    selected: &Selected,
    jobs: usize,
    total: u64,
    stop: &'static AtomicBool,
) -> Setup {
    let engines = &args.engines;
    let mut setup = if total == 0 {
        Setup::without_engines()
    } else {
        let reference = Reference::default()
            .with_checks(args.checks.into())
            .with_masked_zero(args.masked == Masked::Zero)
            .with_views(args.views)
            .with_schedules(args.schedules)
            .with_threads(pipeline::count_threads(jobs, total));
        set_up(reference, &engines.engines, engines.offline, jobs, selected, stop)
    };
    setup.panel.demands = Demands {
        named_engines: engines.engines.clone(),
        silence_allowed: args.allow_unavailable,
    };
    setup
}

/// Writes the first events: the start, and every problem that is known before a case is run.
fn begin(
    args: &RunArgs,
    output: &mut Output,
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
    if args.allow_unavailable {
        problems.clear();
        left_out.extend(failed);
    }
    let order: Vec<String> = panel.order().iter().map(ToString::to_string).collect();
    let baseline = held.begin(&order);
    let gone = args.gate.baseline.as_ref().and_then(|_| {
        let ids: Vec<String> = selected.corpus.entries().map(|entry| entry.id).collect();
        held.warn_missing(ids.iter().map(String::as_str))
    });
    output.criteria = held;
    let cases = selected.entries(args.shard.unwrap_or_default()).count() as u64;
    output.emit_event(&Event::Start(Start {
        left_out,
        recorded,
        corpus: selected.named_folder(),
        corpus_hash: selected.corpus.hash().to_owned(),
        total: selected.entries(Shard::ALL).count() as u64,
        baseline,
        last_failed: args.gate.last_failed,
        partial: selected.is_partial(),
        ..start(args, panel.order(), cases)
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
fn is_trusted(output: &mut Output) -> bool {
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

fn judge_entry(
    entry: Entry,
    panel: &Panel,
    sources: &Sources,
    blaming: Option<&Blaming<'_>>,
) -> Option<CaseResult> {
    let began = Instant::now();
    match catch_panic(|| entry.resolve()) {
        Ok(Ok(case)) => judge::judge_case(&case, began.elapsed(), panel, sources, blaming)
            .ok()
            .map(CaseResult::Events),
        Ok(Err(problems)) => Some(CaseResult::Wrong(entry.id, problems)),
        Err(message) => {
            let internal = Internal {
                case: Some(entry.id),
                engine: None,
                message,
            };
            Some(CaseResult::Events(vec![Event::Internal(internal)]))
        }
    }
}

fn start(args: &RunArgs, engines: &[cerith_engine::EngineId], cases: u64) -> Start {
    Start {
        format: FORMAT,
        cerith: env!("CARGO_PKG_VERSION").to_owned(),
        engines: engines.iter().map(ToString::to_string).collect(),
        by_default: args.engines.engines.is_empty(),
        left_out: Vec::new(),
        recorded: Vec::new(),
        axes: Vec::new(),
        cases,
        checks: (args.checks == Checks::Fast).then(|| "fast".to_owned()),
        masked: (args.masked == Masked::Zero).then(|| "zero".to_owned()),
        schedules: args.schedules,
        corpus: String::new(),
        corpus_hash: String::new(),
        total: 0,
        allow_unavailable: args.allow_unavailable,
        baseline: String::new(),
        last_failed: false,
        partial: false,
        filters: args.selection.filters.clone(),
        shard: args.shard.map(|shard| shard.to_string()),
    }
}
