//! Makes an event of a verdict: the only place where the types of engines and verdicts become the public stream.

mod compiled;
mod exhibit;

use std::time::Duration;

use cerith_case::{Case, Expectation, Variant, VerdictKind};
use cerith_engine::{Complaint, EngineId, ExecutedInstructions, Outcome};
use cerith_tile::diagnostic::{Diagnostic, Severity};
use cerith_tile::quirk::signature::BugSignature;
use cerith_tile::quirk::{Quirk, Quirks};
use cerith_tile::source::{Sources, Span};
use cerith_verdict::{
    Bytes, Comparison, EngineRun, Kind, LeftOut, Met, Panel, Samples, Standing, SweepTrial, Trial, Verdict,
    Witness, Zone,
};
use indexmap::IndexMap;

use crate::event;
use crate::event::{OutcomeKind, State};

pub use compiled::to_compiled;
pub use exhibit::{of_sweep, of_trial, render_value};

/// The place of a span, with its line.
pub fn locate_span(sources: &Sources, span: Span) -> Option<event::Position> {
    let file = sources.get(span.source)?;
    let (line, _) = file.line_column(span.start);
    let place = file.place(span.start);
    Some(event::Position {
        file: place.file.to_owned(),
        line: place.line,
        column: place.column,
        text: file.line(line).to_owned(),
    })
}

/// A problem's event.
pub fn to_problem(diagnostic: &Diagnostic, sources: &Sources) -> event::Problem {
    event::Problem {
        severity: match diagnostic.severity {
            Severity::Error => event::Severity::Error,
            Severity::Warning => event::Severity::Warning,
        },
        code: diagnostic.code.to_owned(),
        message: diagnostic.message.clone(),
        position: diagnostic.span().and_then(|span| locate_span(sources, span)),
        help: diagnostic.help.clone(),
        rendered: diagnostic.render(sources, false),
    }
}

/// The outcome of an engine, with the kernel's line.
pub fn to_outcome(outcome: &Outcome) -> event::EngineOutcome {
    let word = outcome.kind();
    let printed = outcome
        .finished()
        .map_or_else(Vec::new, |finished| finished.printed.clone());
    let Some(Complaint {
        kind,
        message,
        position,
        detail,
        launch,
        storages,
        misspelling,
        raised: _,
        frame: _,
        lines: _,
        is_by_pass: _,
        is_compiled: _,
    }) = outcome.complaint()
    else {
        return event::EngineOutcome {
            outcome: word,
            printed,
            ..event::EngineOutcome::default()
        };
    };
    event::EngineOutcome {
        outcome: word,
        error: kind.clone(),
        message: message.clone(),
        position: position.as_ref().map(|position| event::Position {
            file: position.file.clone(),
            line: position.line,
            column: position.column,
            text: position.text.clone(),
        }),
        detail: detail.clone(),
        launch: *launch,
        storages: storages.clone(),
        misspelling: misspelling.as_ref().map(|one| event::Misspelling {
            name: one.name.clone(),
            near: one.near.clone(),
        }),
        printed,
    }
}

/// The event of a case that a panel ran.
pub fn to_verdict(case: &Case, trial: &Trial, panel: &Panel, sources: &Sources) -> event::Verdict {
    let mut witnesses: Vec<Witness<'_>> = Vec::with_capacity(panel.order().len());
    let mut seconds = Vec::with_capacity(panel.order().len());
    for id in panel.order() {
        let records: Vec<&EngineRun> = trial
            .references
            .iter()
            .chain(&trial.other_records)
            .filter(|record| record.id == *id)
            .collect();
        // Several versions' rules may each have an outcome of the reference; an unexpected one is shown.
        let stopped = trial.stoppage.as_ref().and_then(|stoppage| {
            let stops = |record: &&&EngineRun| {
                record.id == EngineId::Reference && record.outcome.kind() == stoppage.outcome
            };
            records.iter().find(stops)
        });
        if let Some(first) = stopped.or(records.first()) {
            witnesses.push(Witness {
                id: &first.id,
                origin: &first.origin,
                families: first.families,
                outcome: &first.outcome,
            });
            seconds.push(records.iter().map(|record| record.seconds).sum::<f64>());
        }
    }
    let Trial {
        verdict, assessment, ..
    } = trial;
    let outcomes: IndexMap<String, event::EngineOutcome> = witnesses
        .iter()
        .map(|witness| (witness.id.to_string(), to_outcome(witness.outcome)))
        .filter(|(_, outcome)| outcome.outcome != OutcomeKind::Finished || !outcome.printed.is_empty())
        .collect();
    let warning = trial
        .references
        .iter()
        .map(|record| &record.outcome)
        .filter(|one| one.finished().is_some() && one.complaint().is_some_and(Complaint::warns))
        .map(|one| Box::new(to_outcome(one)))
        .next();
    let quiet =
        assessment.expected && !verdict.vacuous && verdict.differences.is_empty() && outcomes.is_empty();
    event::Verdict {
        case: case.id.clone(),
        about: if quiet {
            String::new()
        } else {
            case.summary.clone()
        },
        engines: witnesses.iter().map(|witness| witness.id.to_string()).collect(),
        verdict: verdict.kind,
        blame: verdict.blame.iter().map(ToString::to_string).collect(),
        expected: assessment.expected,
        seconds: witnesses
            .iter()
            .zip(&seconds)
            .map(|(witness, &seconds)| (witness.id.to_string(), (seconds * 1e7).round() / 1e7))
            .collect(),
        judging: event::Judging {
            comparing: round_seconds(trial.spent.comparing),
            intervals: round_seconds(trial.spent.intervals),
            explaining: round_seconds(trial.spent.explaining),
            ..event::Judging::default()
        },
        unconfirmed: verdict.unconfirmed,
        suspected: verdict.suspected.clone(),
        notes: verdict.notes.clone(),
        stages: Vec::new(),
        vacuous: verdict.vacuous,
        reason: verdict.reason.clone(),
        warning,
        outcomes,
        differences: verdict
            .differences
            .iter()
            .map(|one| event::Difference {
                explained: known_bugs(one.explained, one.known_bug),
                ..to_difference(&one.baseline, &one.engine, one.kind, one.comparison.as_ref())
            })
            .collect(),
        unexpected: assessment.unexpected.iter().map(ToString::to_string).collect(),
        silent: assessment.silent.iter().map(ToString::to_string).collect(),
        stopped: assessment.stopped.iter().map(ToString::to_string).collect(),
        stoppage: trial.stoppage.as_ref().map(|stoppage| event::Stoppage {
            outcome: stoppage.outcome,
            versions: stoppage.versions.clone(),
        }),
        expectations: collect_expectations(case, &assessment.expectations, sources),
        without_answer: without_answer(verdict),
        rules: trial
            .rules
            .iter()
            .map(|rule| event::Rule {
                rule: format!("{rule:?}"),
                since: rule.since().to_string(),
                about: rule.summary().trim().to_owned(),
            })
            .collect(),
        bytes: to_byte_counts(verdict.bytes),
        left_out: left_out(&trial.left_out),
        position: if quiet { None } else { place(case, sources) },
        like: None,
        against: None,
        sweep: None,
        compiled: IndexMap::new(),
        instructions: collect_instructions(&witnesses),
        exhibit: None,
    }
}

/// The instructions that engines executed here.
fn collect_instructions(witnesses: &[Witness<'_>]) -> IndexMap<String, event::Instructions> {
    witnesses
        .iter()
        .filter_map(|witness| Some((witness.id.to_string(), to_instructions(witness.outcome)?)))
        .collect()
}

/// The instructions that an engine executed here; `None` if it executes none.
pub fn to_instructions(outcome: &Outcome) -> Option<event::Instructions> {
    let execution = outcome.finished()?.execution.as_ref()?;
    let ExecutedInstructions {
        exact,
        bounded,
        modelled,
    } = execution.instructions.clone();
    let instructions = event::Instructions {
        exact,
        bounded,
        modelled,
    };
    (!instructions.is_empty()).then_some(instructions)
}

/// The location of a case; for a launch of a user's program, where its kernel is.
fn place(case: &Case, sources: &Sources) -> Option<event::Position> {
    let kernel = case.launches.first().filter(|_| case.recorded.is_some());
    let of_kernel = kernel.and_then(|launch| {
        let module = &launch.kernel.module;
        let start = launch.kernel.function()?.span.start;
        let (line, _) = module.file.line_column(start);
        let place = module.file.place(start);
        (place.file != module.file.name).then(|| event::Position {
            file: place.file.to_owned(),
            line: place.line,
            column: place.column,
            text: module.file.line(line).to_owned(),
        })
    });
    of_kernel.or_else(|| locate_span(sources, case.span))
}

/// Seconds of an event, to a tenth of a microsecond.
pub fn round_seconds(spent: Duration) -> f64 {
    (spent.as_secs_f64() * 1e7).round() / 1e7
}

/// Who has no defined answer, where others have one.
fn without_answer(verdict: &Verdict) -> Vec<String> {
    if verdict.kind == VerdictKind::Undefined {
        return Vec::new();
    }
    let standings = verdict.standings.iter();
    standings
        .filter(|(_, standing)| *standing == Standing::Undefined)
        .map(|(id, _)| id.to_string())
        .collect()
}

fn to_byte_counts(bytes: Bytes) -> event::Bytes {
    let Bytes {
        compared,
        accepted,
        undecided,
        undefined,
    } = bytes;
    event::Bytes {
        compared,
        accepted,
        undecided,
        undefined,
    }
}

fn left_out(left_out: &[LeftOut]) -> Vec<event::Undefined> {
    left_out
        .iter()
        .map(|one| event::Undefined {
            storage: one.storage.clone(),
            bytes: one.bytes,
            of: one.written_bytes,
            whole: one.undefined_tensors.clone(),
        })
        .collect()
}

/// The names of known bugs that explain a difference.
fn known_bugs(quirks: Quirks, told: Option<&'static BugSignature>) -> Vec<String> {
    let models = quirks.iter().map(Quirk::name);
    models
        .chain(told.map(|told| told.name))
        .map(str::to_owned)
        .collect()
}

/// Two engines, or two variants, that differ.
fn to_difference(
    baseline: &dyn ToString,
    other: &dyn ToString,
    kind: Kind,
    comparison: Option<&Comparison>,
) -> event::Difference {
    event::Difference {
        baseline: baseline.to_string(),
        engine: other.to_string(),
        kind,
        elements: comparison.map_or(0, |comparison| comparison.differing),
        first: comparison.map_or_else(Vec::new, collect_elements),
        explained: Vec::new(),
    }
}

/// The results of the case's expectations that could be tested.
fn collect_expectations(case: &Case, met: &[Met], sources: &Sources) -> Vec<event::Expectation> {
    case.expectations
        .iter()
        .zip(met)
        .filter(|(_, met)| **met != Met::NotTried)
        .map(|(expectation, met)| to_expectation(expectation, *met, sources))
        .collect()
}

fn to_expectation(expectation: &Expectation, met: Met, sources: &Sources) -> event::Expectation {
    event::Expectation {
        engines: expectation.engines.iter().map(ToString::to_string).collect(),
        versions: expectation.versions.to_string(),
        axes: expectation.axes.iter().map(ToString::to_string).collect(),
        verdict: expectation.verdict,
        outcome: expectation.outcome,
        why: expectation.reason.clone(),
        link: expectation.link.clone(),
        state: if met == Met::Stale {
            State::Stale
        } else {
            State::Met
        },
        position: locate_span(sources, expectation.span),
    }
}

/// The event of a case's sweep.
pub fn to_sweep_verdict(
    case: &Case,
    engine: &EngineId,
    samples: &Samples,
    trial: &SweepTrial,
    sources: &Sources,
) -> event::Verdict {
    let SweepTrial {
        verdict, assessment, ..
    } = trial;
    let quiet = assessment.expected && verdict.differences.is_empty();
    let names = |variants: &[Variant]| variants.iter().map(ToString::to_string).collect::<Vec<_>>();
    let outcomes = samples
        .samples
        .iter()
        .map(|sample| (sample.variant.to_string(), to_outcome(&sample.outcome)))
        .filter(|(_, outcome)| outcome.outcome != OutcomeKind::Finished);
    let facts = event::Sweep {
        engine: engine.to_string(),
        odd: names(&verdict.odd),
        camps: verdict
            .camps
            .iter()
            .filter(|_| verdict.camps.len() > 1)
            .map(|camp| event::Camp {
                variants: names(&camp.variants),
                reference: camp.reference,
            })
            .collect(),
        axes: verdict
            .axes
            .iter()
            .map(|(axis, kind)| (axis.to_string(), kind.to_string()))
            .collect(),
        same: samples
            .duplicates
            .iter()
            .map(|(variant, other)| (variant.to_string(), other.to_string()))
            .collect(),
        not_applicable: samples
            .not_applicable
            .iter()
            .map(|(variant, why)| (variant.to_string(), why.clone()))
            .collect(),
    };
    event::Verdict {
        case: case.id.clone(),
        about: if quiet {
            String::new()
        } else {
            case.summary.clone()
        },
        engines: samples
            .samples
            .iter()
            .map(|sample| sample.variant.to_string())
            .collect(),
        verdict: verdict.kind,
        expected: assessment.expected,
        reason: verdict.reason.clone(),
        outcomes: outcomes.collect(),
        differences: verdict
            .differences
            .iter()
            .map(|one| event::Difference {
                explained: known_bugs(one.explained, one.known_bug),
                ..to_difference(&one.baseline, &one.variant, one.kind, one.comparison.as_ref())
            })
            .collect(),
        unexpected: assessment.unexpected.iter().map(ToString::to_string).collect(),
        expectations: collect_expectations(case, &assessment.expectations, sources),
        bytes: to_byte_counts(verdict.bytes),
        position: if quiet {
            None
        } else {
            locate_span(sources, case.span)
        },
        sweep: Some(Box::new(facts)),
        ..event::Verdict::default()
    }
}

fn collect_elements(comparison: &Comparison) -> Vec<event::Element> {
    comparison
        .first
        .iter()
        .map(|element| event::Element {
            storage: element.storage.clone(),
            byte: element.byte,
            guard: match element.zone {
                Zone::Inside => String::new(),
                Zone::Before => "before".to_owned(),
                Zone::Behind => "behind".to_owned(),
            },
            dtype: element.dtype.map_or_else(String::new, |dtype| dtype.to_string()),
            index: element.dtype.map(|dtype| element.byte / dtype.size()),
            tensor: element
                .tensor
                .as_ref()
                .map_or_else(String::new, |(name, _)| name.clone()),
            at: element
                .tensor
                .as_ref()
                .map_or_else(Vec::new, |(_, at)| at.to_vec()),
            values: element.values.clone(),
            bits: element
                .bits
                .map(|bits| format!("0x{bits:0width$x}", width = element.size * 2)),
            unwritten: element.unwritten,
            accepted: element
                .accepted
                .map(|range| range.map(|bound| format!("{bound:?}"))),
        })
        .collect()
}
