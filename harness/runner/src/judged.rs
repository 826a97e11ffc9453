//! Runs all selected cases through some engines, for commands that use the verdicts (`cerith bump`, `cerith matrix`). See `run`
//! for comparing them with expectations.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use cerith_case::{Case, Entry, Shard};
use cerith_engine::{EngineId, Failure, Reference, catch_panic};
use cerith_report::event::{Compiled, Event, Internal, Severity, Start, Verdict};
use cerith_report::{FORMAT, describe};
use cerith_tile::DType;
use cerith_tile::rules::Rules;
use cerith_verdict::Panel;

use crate::corpus::Selected;
use crate::engines::set_up;
use crate::host::Host;
use crate::judge::{CaseResult, Judge};
use crate::output::Output;
use crate::pipeline;

/// A verdict, with the language features that the case's kernels use.
pub struct Judged {
    place: usize,
    /// The verdict.
    pub verdict: Verdict,
    /// The operations that the kernels execute and what of the language they use, each with the dtype that it is used on.
    pub uses: Arc<[String]>,
}

/// Runs the engines over the cases; if `compiling`, those that compile ahead of time also say what they made. Answers with the verdicts
/// in the order of the corpus, and the number of errors in the input.
pub fn judge_all(
    selected: &Selected,
    wanted: &[EngineId],
    offline: bool,
    jobs: usize,
    compiling: bool,
    output: &mut Output<'_>,
    host: Host<'_>,
) -> (Vec<Judged>, u64) {
    let total = selected.entries(Shard::ALL).count() as u64;
    let reference = Reference::default().with_threads(pipeline::count_threads(jobs, total));
    let setup = set_up(reference, wanted, offline, jobs, selected, host);
    let mut problems = setup.problems();
    problems.extend(selected.problems());
    problems.extend(selected.unmatched());
    let panel = Arc::new(setup.panel);
    host.stop_on_interrupt(&panel);
    output.emit_event(&Event::Start(Start {
        format: FORMAT,
        partial: selected.is_partial(),
        cerith: env!("CARGO_PKG_VERSION").to_owned(),
        engines: panel.order().iter().map(ToString::to_string).collect(),
        recorded: setup.recorded,
        cases: total,
        corpus: selected.named_folder(),
        corpus_hash: selected.corpus.hash().to_owned(),
        ..Start::default()
    }));
    for problem in setup.warnings.into_iter().chain(problems.iter().cloned()) {
        output.console.note(&problem.rendered);
        output.emit_event(&Event::Problem(problem));
    }
    let errors = problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .count() as u64;
    if errors > 0 {
        return (Vec::new(), errors);
    }
    output.console.begin(total);
    let judged = Mutex::new(Vec::with_capacity(usize::try_from(total).unwrap_or_default()));
    let sources = selected.corpus.sources();
    let judge = Judge {
        panel: &panel,
        sources,
        blaming: None,
        oracle: None,
    };
    output.follow(
        (selected.entries(Shard::ALL).enumerate(), total),
        jobs,
        host,
        sources,
        |(place, entry)| judge_entry(&judge, &entry, place, compiling, &judged),
    );
    output.console.end();
    let mut judged = judged.into_inner().unwrap_or_else(PoisonError::into_inner);
    judged.sort_by_key(|one| one.place);
    (judged, 0)
}

/// The operations that these operations imply: operations on a class of dtypes, and the operations that Triton converts some
/// into.
fn find_implied(used: &[String]) -> BTreeSet<String> {
    /// Operations of the reference that Triton's Python implements with `xor`.
    const MADE_OF: [(&str, &str); 3] = [
        ("not", "xor"),
        ("tensor.__invert__", "xor"),
        ("tl.standard.flip", "xor"),
    ];
    let mut more = BTreeSet::new();
    for one in used {
        let (name, dtype) = one.rsplit_once(' ').unwrap_or((one, ""));
        if let Ok(dtype) = dtype.parse::<DType>() {
            let class = if dtype.is_float() { "floats" } else { "integers" };
            more.insert(format!("{name} {class}"));
        }
        let made = MADE_OF.iter().filter(|(made, _)| *made == name);
        more.extend(made.map(|(_, of)| (*of).to_owned()));
    }
    more
}

/// The compiled code of a case, by engine.
type ByEngine = Vec<(String, Compiled)>;

/// Compiles a case with each engine that compiles ahead of time, and reports failures; `None` if the run was stopped.
fn compile_case(case: &Case, panel: &Panel) -> Option<(ByEngine, Vec<Event>)> {
    let (mut compiled, mut failed) = (Vec::new(), Vec::new());
    for engine in panel.other_engines() {
        let id = engine.id().to_string();
        let message = match catch_panic(|| engine.collect_stats(case)) {
            Ok(Ok(None)) => continue,
            Ok(Ok(Some(made))) => {
                compiled.push((id, describe::to_compiled(case, &made)));
                continue;
            }
            Ok(Err(Failure::Stopped)) => return None,
            Ok(Err(failure)) => format!("failed to {failure}"),
            Err(panic) => panic,
        };
        failed.push(Event::Internal(Internal {
            case: Some(case.id.clone()),
            engine: Some(id),
            message,
        }));
    }
    Some((compiled, failed))
}

fn judge_entry(
    judge: &Judge<'_>,
    entry: &Entry,
    place: usize,
    compiling: bool,
    judged: &Mutex<Vec<Judged>>,
) -> Option<CaseResult> {
    let panel = judge.panel;
    judge.judge_entry_with(entry, |case, events| {
        if compiling {
            let (compiled, failed) = compile_case(case, panel)?;
            for event in &mut *events {
                if let Event::Verdict(verdict) = event {
                    verdict.compiled.extend(compiled.iter().cloned());
                }
            }
            events.extend(failed);
        }
        let uses: Arc<[String]> = list_uses(case, panel).unwrap_or_default().into();
        for event in events {
            if let Event::Verdict(verdict) = event {
                // The exhibit is in the stream, and would be much to hold of all cases.
                let verdict = Verdict {
                    exhibit: None,
                    ..(**verdict).clone()
                };
                judged
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(Judged {
                        place,
                        verdict,
                        uses: Arc::clone(&uses),
                    });
            }
        }
        Some(())
    })
}

/// The operations that a case executes and what of the language it uses, by the rules of the newest engine.
fn list_uses(case: &Case, panel: &Panel) -> Option<Vec<String>> {
    let newest = panel
        .other_engines()
        .iter()
        .filter_map(|engine| engine.id().version())
        .max();
    let rules = newest.map_or_else(Rules::default, Rules::from_version);
    let reference = panel.reference()?;
    let mut used = catch_panic(|| reference.list_executed(case, rules)).ok()?.ok()?;
    used.extend(catch_panic(|| reference.list_uses(case, rules)).ok()?.ok()?);
    let implied = find_implied(&used);
    used.extend(implied);
    Some(used.into_iter().collect())
}
