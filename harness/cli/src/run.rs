//! `cerith run`: runs cases, and writes events and reports.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use cerith_case::{Entry, Shard};
use cerith_engine::{Reference, guarded};
use cerith_report::FORMAT;
use cerith_report::event::{Event, Internal, Start};
use cerith_tile::source::Sources;
use cerith_verdict::{Demands, Panel};

use crate::args::{Checks, Masked, RunArgs};
use crate::corpus::Selected;
use crate::engines::{Setup, set_up};
use crate::exit::Exit;
use crate::gate::{self, Held};
use crate::judge;
use crate::output::{Done, Output};
use crate::pipeline;
use crate::terminal::Terminal;

/// Runs, and answers with the exit code.
pub fn run(args: &RunArgs, stop: &'static AtomicBool) -> Exit {
    let began = Instant::now();
    let terminal = Terminal::new();
    if args.schedules > 0 && args.checks == Checks::Fast {
        terminal.note(
            "error: `--schedules` needs `--checks full`: `--checks fast` does not see what another order \
             changes\n  = help: leave `--checks` out",
        );
        return Exit::Wrong;
    }
    let jobs = pipeline::jobs(args.jobs);
    let mut selected = match Selected::open(args.selection.cases.as_deref(), &args.selection.filters) {
        Ok(selected) => selected,
        Err(message) => {
            terminal.note(&message);
            return Exit::Wrong;
        }
    };
    let folder = selected.report_folder("run");
    let into = args.reports.out.as_deref().unwrap_or(&folder.path);
    let mut held = match Held::read(&args.gate, into) {
        Ok(held) => held,
        Err(message) => {
            terminal.note(&message);
            return Exit::Wrong;
        }
    };
    let mut before = None;
    if args.gate.last_failed {
        match gate::before(into) {
            Ok(run) => {
                selected.keep_only(run.failed);
                before = Some(run.problems);
            }
            Err(message) => {
                terminal.note(&message);
                return Exit::Wrong;
            }
        }
    }
    let shard = args.shard.unwrap_or_default();
    let total = selected.entries(shard).count() as u64;
    if let Some(problems) = before.as_ref().filter(|_| total == 0) {
        // What is known of the run before stays.
        for problem in problems {
            terminal.note(&problem.rendered);
        }
        terminal.note(&format!(
            "nothing was run: every selected case was as expected in the run before ({})\n  = help: run all: leave \
             `--last-failed` out",
            into.display()
        ));
        return Exit::Nothing;
    }
    // Reports of a run before this one are gone before anything that may take its time.
    let mut output = match Output::new(&args.reports, &folder, terminal) {
        Ok(output) => output,
        Err(taken) => {
            Terminal::new().note(&format!("error: {taken}"));
            return Exit::Wrong;
        }
    };
    let whole = selected.entries(Shard::ALL).count() as u64;
    let engines = &args.engines;
    let setup = if total == 0 {
        Setup::nothing()
    } else {
        let reference = Reference::default()
            .with_checks(args.checks.into())
            .with_masked_zero(args.masked == Masked::Zero)
            .with_schedules(args.schedules)
            .with_threads(pipeline::threads(jobs, total));
        set_up(
            reference,
            &engines.engines,
            engines.offline,
            jobs,
            &selected,
            stop,
        )
    };
    let mut problems = setup.problems();
    let Setup {
        mut panel,
        mut left_out,
        recorded,
        failed,
        warnings,
    } = setup;
    if args.allow_unavailable {
        problems.clear();
        left_out.extend(failed);
    }
    panel.demands = Demands {
        named: engines.engines.clone(),
        silence_allowed: args.allow_unavailable,
    };
    let strays = guarded(|| cerith_verdict::canaries(&mut panel)).unwrap_or_default();
    let panel = Arc::new(panel);
    crate::interrupt::on_interrupt(&panel);
    let order: Vec<String> = panel.order().iter().map(ToString::to_string).collect();
    let baseline = held.begin(&order);
    let gone = args.gate.baseline.as_ref().and_then(|_| {
        let ids: Vec<String> = selected.corpus.entries().map(|entry| entry.id).collect();
        held.gone(ids.iter().map(String::as_str))
    });
    output.held = held;
    output.event(&Event::Start(Start {
        left_out,
        recorded,
        corpus: selected.named(),
        corpus_hash: selected.corpus.hash().to_owned(),
        total: whole,
        baseline,
        last_failed: args.gate.last_failed,
        ..start(args, panel.order(), total)
    }));
    for problem in warnings.into_iter().chain(problems).chain(selected.problems()) {
        output.event(&Event::Problem(problem));
    }
    for problem in before.into_iter().flatten().chain(gone) {
        output.event(&Event::Problem(problem));
    }
    for unmatched in selected.unmatched() {
        output.event(&Event::Problem(unmatched));
    }
    output.terminal.begin(total);
    let mistrials = if panel.order().is_empty() {
        Vec::new()
    } else {
        guarded(cerith_verdict::selfcheck).unwrap_or_else(|panic| vec![panic])
    };
    for (engine, why) in strays {
        output.event(&Event::Internal(Internal {
            case: None,
            engine: Some(engine.to_string()),
            message: format!("it is wrong about cases with known results, so it is left out: {why}"),
        }));
    }
    // Verdicts of a judge who errs where the end is known are worth nothing.
    let trusted = mistrials.is_empty();
    for mistrial in mistrials {
        output.event(&Event::Internal(Internal {
            case: None,
            engine: None,
            message: format!(
                "Cerith is wrong about a trial with a known verdict, so nothing is judged: {mistrial}"
            ),
        }));
    }
    if !panel.order().is_empty() && trusted {
        let sources = selected.corpus.sources();
        output.follow((selected.entries(shard), total), jobs, stop, sources, |entry| {
            work(entry, &panel, sources)
        });
    }
    output.terminal.end();
    output.finish(began, stop.load(Ordering::Relaxed))
}

fn work(entry: Entry, panel: &Panel, sources: &Sources) -> Option<Done> {
    match guarded(|| entry.resolve()) {
        Ok(Ok(case)) => judge::events(&case, panel, sources).ok().map(Done::Events),
        Ok(Err(problems)) => Some(Done::Wrong(entry.id, problems)),
        Err(message) => {
            let internal = Internal {
                case: Some(entry.id),
                engine: None,
                message,
            };
            Some(Done::Events(vec![Event::Internal(internal)]))
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
        filters: args.selection.filters.clone(),
        shard: args.shard.map(|shard| shard.to_string()),
    }
}
