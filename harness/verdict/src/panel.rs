//! A panel of engines, which runs a case through all of them: outcomes, verdict, and whether the case file expects it.
//!
//! The reference runs once for each set of language rules of the other engines; rules that make no difference to the case share a
//! bench. Cerith's own failures are noted separately and never become a verdict.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cerith_case::Case;
use cerith_engine::{
    Complaint, Engine, EngineId, Failure, Families, Outcome, Reference, Remembered, catch_panic,
    find_families, infer_rules, list_triton_code,
};
use cerith_tile::quirk::Quirks;
use cerith_tile::quirk::signature::ADDRESSES;
use cerith_tile::rules::{Rule, Rules, Version};

use crate::conforming::ByReference;
use crate::demands::{self, Demands, did_not_finish};
use crate::expectation::{Assessment, Testimony, assess, is_foreseen, is_offender, is_undefined};
use crate::explained;
use crate::given_contents;
use crate::language::{Stoppage, find_deciding_rules, find_stoppage};
use crate::left_out::{LeftOut, merge_left_out};
use crate::trial::{Bench, Facts, judge};
use crate::verdict::{Kind, Verdict};
use crate::witness::{EngineFacts, Undefined, Witness};

/// The engines of a run, each in the column in which it was added.
#[derive(Clone, Default)]
pub struct Panel {
    reference: Option<Arc<Reference>>,
    other_engines: Vec<Arc<dyn Engine>>,
    order: Vec<EngineId>,
    /// The version of the reference's language, if no other engine runs.
    language: Option<Version>,
    /// A run's demands besides agreement.
    pub demands: Demands,
}

impl fmt::Debug for Panel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Panel").field(&self.order).finish()
    }
}

impl Panel {
    /// These engines, the reference first.
    pub fn new(reference: Option<Arc<Reference>>, others: Vec<Arc<dyn Engine>>) -> Self {
        let mut panel = Self::default();
        if let Some(reference) = reference {
            panel.add_reference(reference);
        }
        for engine in others {
            panel.add(engine);
        }
        panel
    }

    /// Sets the version of the reference's language, if it runs alone.
    #[must_use]
    pub fn with_language(&self, version: Version) -> Self {
        Self {
            language: Some(version),
            ..self.clone()
        }
    }

    /// Adds the reference, and replaces an earlier one.
    pub fn add_reference(&mut self, reference: Arc<Reference>) {
        if self.reference.replace(reference).is_none() {
            self.order.push(EngineId::Reference);
        }
    }

    /// Adds an engine. Returns whether it is new: two ids may name one engine (`cuda@3.9.0:sm_90` on a GPU of that kind is
    /// `cuda@3.9.0`).
    pub fn add(&mut self, engine: Arc<dyn Engine>) -> bool {
        let is_new = !self.has(engine.id());
        if is_new {
            self.order.push(engine.id().clone());
            self.other_engines.push(engine);
        }
        is_new
    }

    /// Asks these of the others no more.
    pub fn remove(&mut self, ids: &[EngineId]) {
        self.other_engines.retain(|engine| !ids.contains(engine.id()));
        self.order
            .retain(|id| *id == EngineId::Reference || !ids.contains(id));
    }

    /// The reference, if it takes part.
    pub const fn reference(&self) -> Option<&Arc<Reference>> {
        self.reference.as_ref()
    }

    /// All other engines.
    pub fn other_engines(&self) -> &[Arc<dyn Engine>] {
        &self.other_engines
    }

    /// All of them, in the order of columns.
    pub fn order(&self) -> &[EngineId] {
        &self.order
    }

    /// Whether this engine has a column.
    pub fn has(&self, id: &EngineId) -> bool {
        self.order.contains(id)
    }

    /// Stops running launches; later cases are [`Stopped`].
    pub fn stop(&self) {
        if let Some(reference) = &self.reference {
            reference.stop();
        }
        for engine in &self.other_engines {
            engine.stop();
        }
    }
}

/// The outcome of one engine, under one set of rules.
#[derive(Clone, Debug)]
pub struct EngineRun {
    /// Who.
    pub id: EngineId,
    /// Whose code the outcome comes from: the engine's own, or that of the engine whose record it is.
    pub origin: EngineId,
    /// The rules of the language that it ran.
    pub rules: Rules,
    /// The code that the outcome came from.
    pub families: Families,
    /// Its outcome.
    pub outcome: Outcome,
    /// For a record: whether it agreed with the reference when it was accepted, if that is known.
    pub remembered: Option<Remembered>,
    /// How long it took.
    pub seconds: f64,
}

/// Cerith failed to run an engine: a bug of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The engine.
    pub engine: EngineId,
    /// The failure.
    pub message: String,
}

/// All results of one case.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The reference's outcomes, one per set of rules that makes a difference to the case.
    pub references: Vec<EngineRun>,
    /// The other engines' outcomes.
    pub other_records: Vec<EngineRun>,
    /// The verdict.
    pub verdict: Verdict,
    /// The verdict compared with the expectations.
    pub assessment: Assessment,
    /// Language rules that make a difference to the case.
    pub rules: Vec<Rule>,
    /// The line at which launches stop in the reference, unless the case file expects that.
    pub stoppage: Option<Stoppage>,
    /// Bytes that were not compared because their value is undefined in the reference.
    pub left_out: Vec<LeftOut>,
    /// Engines that Cerith failed to run.
    pub failed: Vec<Failed>,
    /// How long judging took.
    pub spent: Spent,
}

/// The time of a trial that was spent outside of engines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Comparing outcomes, bit by bit.
    pub comparing: Duration,
    /// Running the reference again, as NumPy computes and with intervals.
    pub intervals: Duration,
    /// Looking for known bugs that explain a difference.
    pub explaining: Duration,
}

/// A case was not judged because the run was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// Runs a case through every engine and judges it. An engine that would be blamed for a cached result, or whose toolchain turns
/// out to be damaged, runs it again first.
pub fn try_case(case: &Case, panel: &Panel) -> Result<Trial, Stopped> {
    let trial = try_once(case, panel)?;
    if trial.assessment.expected || trial.verdict.blame.is_empty() {
        return Ok(trial);
    }
    let mut is_confirmed = true;
    for engine in panel.other_engines.iter().filter(|engine| engine.runs_case(case)) {
        // All of them, so that each drops what it kept.
        is_confirmed &= match engine.confirm(case) {
            Ok(confirmed) => confirmed,
            Err(Failure::Stopped) => return Err(Stopped),
            Err(Failure::Internal { .. }) => true,
        };
    }
    if is_confirmed {
        Ok(trial)
    } else {
        try_once(case, panel)
    }
}

fn try_once(case: &Case, panel: &Panel) -> Result<Trial, Stopped> {
    let mut failed = Vec::new();
    let mut others = Vec::with_capacity(panel.other_engines.len());
    for engine in panel.other_engines.iter().filter(|engine| engine.runs_case(case)) {
        let rules = engine
            .origin(case)
            .version()
            .map_or_else(Rules::default, Rules::from_version);
        others.push(record(engine.as_ref(), case, rules, &mut failed)?);
    }
    let (references, benches) = seat_engines(panel, case, &others, &mut failed)?;
    settle(&mut others, &references, &benches);
    let shared = came_out_of(case, panel.reference.as_deref(), &mut others);
    let acceptances = build_tolerances(panel.reference.as_deref(), case, (&references, &others), &benches);
    let explained = explained_failures(case, panel.reference.as_deref(), (&references, &others, &benches));
    let mut seated: Vec<Bench<'_>> = benches
        .iter()
        .zip(&acceptances)
        .map(|(seats, tolerance)| Bench {
            reference: seats
                .reference
                .and_then(|at| references.get(at))
                .map(EngineRun::witness),
            other_witnesses: seats
                .other_indices
                .iter()
                .filter_map(|&at| others.get(at))
                .map(EngineRun::witness)
                .collect(),
            tolerance,
            engine_facts: EngineFacts {
                undefined: seats
                    .reference
                    .and_then(|at| references.get(at))
                    .map_or_else(Undefined::default, |record| {
                        check_undefined(record, panel.reference.as_deref(), case)
                    }),
                explained: explained.clone(),
                ..collect_engine_facts(
                    seats.other_indices.iter().filter_map(|&at| others.get(at)),
                    case,
                    &shared,
                )
            },
        })
        .collect();
    let began = Instant::now();
    let facts = Facts {
        has_launches: !case.is_import_only(),
    };
    let mut verdict = judge(&seated, facts);
    let mut spent = Spent {
        comparing: began.elapsed(),
        ..Spent::default()
    };
    let began = Instant::now();
    let asked = (&references[..], &others[..], &benches[..]);
    explain(case, panel, asked, &mut verdict);
    if is_overruled(&verdict) {
        // Engines whose bytes known bugs explain are not witnesses against the reference.
        let differences = verdict.differences.iter();
        let known: Vec<EngineId> = differences
            .filter(|one| !one.explained.is_empty())
            .map(|one| one.engine.clone())
            .collect();
        if !known.is_empty() {
            for bench in &mut seated {
                bench.engine_facts.explained.extend(known.iter().cloned());
            }
            verdict = judge(&seated, facts);
            explain(case, panel, asked, &mut verdict);
        }
    }
    spent.explaining = began.elapsed();
    let outcomes = references
        .iter()
        .chain(&others)
        .map(|record| (&record.id, &record.outcome));
    given_contents::hold(case, &mut verdict, &outcomes);
    spent.intervals = acceptances.iter().map(|tolerance| tolerance.spent.get()).sum();
    spent.comparing = spent.comparing.saturating_sub(spent.intervals);
    // The interruption may have spoiled its last outcome.
    if panel.reference.as_ref().is_some_and(|one| one.is_stopped()) {
        return Err(Stopped);
    }
    for tolerance in &acceptances {
        if let Some(error) = tolerance.failure() {
            failed.push(Failed {
                engine: EngineId::Reference,
                message: error.to_string(),
            });
        }
    }
    let witnesses: Vec<Testimony<'_>> = references
        .iter()
        .chain(&others)
        .map(EngineRun::testimony)
        .collect();
    let mut assessment = assess(&verdict, &witnesses, &case.expectations);
    demands::hold(&mut assessment, &panel.demands, case, &verdict, &witnesses);
    let rules = match &panel.reference {
        Some(reference) if references.len() > 1 => find_deciding_rules(reference, case, &references),
        _ => Vec::new(),
    };
    let stopped = references
        .iter()
        .find(|record| assessment.stopped.contains(&record.id) && did_not_finish(&record.outcome));
    let stoppage = panel
        .reference
        .as_deref()
        .zip(stopped)
        .map(|(reference, record)| find_stoppage(reference, case, record));
    let finished = references.iter().filter_map(|record| record.outcome.finished());
    let left_out = merge_left_out(finished.map(|finished| &finished.memory));
    Ok(Trial {
        references,
        other_records: others,
        verdict,
        assessment,
        rules,
        stoppage,
        left_out,
        failed,
        spent,
    })
}

/// Whether engines that agree with each other overrule the reference.
fn is_overruled(verdict: &Verdict) -> bool {
    verdict.suspected.is_none() && verdict.blame.contains(&EngineId::Reference)
}

/// The engines whose failure a known bug explains.
fn explained_failures(
    case: &Case,
    reference: Option<&Reference>,
    (references, others, benches): (&[EngineRun], &[EngineRun], &[Seats]),
) -> Vec<EngineId> {
    let Some(reference) = reference else {
        return Vec::new();
    };
    let mut explained = Vec::new();
    for (at, record) in others.iter().enumerate() {
        if !record.outcome.speaks() || record.outcome.finished().is_some() {
            continue;
        }
        let seats = benches.iter().find(|seats| seats.other_indices.contains(&at));
        let judge = seats
            .and_then(|seats| seats.reference)
            .and_then(|at| references.get(at));
        let Some(judge) = judge else { continue };
        let uses = uses_of(case, reference, record.rules);
        if explained::find_known_bug(&record.origin, &record.outcome, &judge.outcome, &uses).is_some() {
            explained.push(record.id.clone());
        }
    }
    explained
}

/// The language features that a case uses.
pub(crate) fn uses_of(case: &Case, reference: &Reference, rules: Rules) -> Vec<String> {
    let uses = catch_panic(|| reference.list_uses(case, rules));
    let mut uses = uses.ok().and_then(Result::ok).unwrap_or_default();
    let memory = case.memory();
    if memory.ids().any(|id| !memory.pointers(id).is_empty()) || case.passes_addresses() {
        uses.push(ADDRESSES.to_owned());
    }
    uses
}

/// Decides for each engine whether the uninitialised bytes that it left need a value by the reference of its bench.
fn settle(others: &mut [EngineRun], references: &[EngineRun], benches: &[Seats]) {
    for (at, record) in others.iter_mut().enumerate() {
        let judge = benches
            .iter()
            .find(|seats| seats.other_indices.contains(&at))
            .and_then(|seats| references.get(seats.reference?));
        let known = judge.and_then(|judge| judge.outcome.finished());
        record.outcome.settle(known.map(|finished| &finished.memory));
    }
}

/// The values that each bench's reference leaves open.
fn build_tolerances<'a>(
    reference: Option<&'a Reference>,
    case: &'a Case,
    (references, others): (&'a [EngineRun], &[EngineRun]),
    benches: &[Seats],
) -> Vec<ByReference<'a>> {
    let tolerances = benches.iter().map(|seats| {
        let record = seats.reference.and_then(|at| references.get(at));
        let asked = reference
            .filter(|_| record.is_some())
            .map(|reference| (reference, seats.rules.clone()));
        let others_here = seats.other_indices.iter().filter_map(|&at| others.get(at));
        ByReference::new(asked, case, record.map(|record| &record.outcome)).with_others(others_here)
    });
    tolerances.collect()
}

/// Notes the known bugs that explain why an engine differs from another on its bench.
fn explain(
    case: &Case,
    panel: &Panel,
    (references, others, benches): (&[EngineRun], &[EngineRun], &[Seats]),
    verdict: &mut Verdict,
) {
    let Some(reference) = panel.reference.as_deref() else {
        return;
    };
    for difference in &mut verdict.differences {
        let found = others
            .iter()
            .enumerate()
            .find(|(_, record)| record.id == difference.engine);
        let Some((at, record)) = found else {
            continue;
        };
        let seats = benches.iter().find(|seats| seats.other_indices.contains(&at));
        let judge = seats
            .and_then(|seats| seats.reference)
            .and_then(|at| references.get(at));
        let of_reference = difference.baseline == EngineId::Reference;
        match difference.kind {
            Kind::Memory | Kind::Guard if of_reference => {
                let known = judge.and_then(|judge| judge.outcome.finished());
                let (Some(left), Some(known)) = (record.outcome.finished(), known) else {
                    continue;
                };
                let sides = (left, &known.memory);
                let differing = difference.comparison.as_ref();
                let (quirks, told) = explained::explain(case, reference, &record.origin, sides, differing);
                (difference.explained, difference.known_bug) = (quirks, told);
                let has_bug = |version| {
                    told.is_some_and(|told| told.is_in(version))
                        || explained::has_any(&record.origin, quirks, version)
                };
                let finished = others
                    .iter()
                    .filter_map(|other| Some((&other.origin, other.outcome.finished()?)));
                if let Some(differing) = &difference.comparison
                    && explained::is_left_without_bug(&record.origin, left, differing, has_bug, finished)
                {
                    difference.explained = Quirks::NONE;
                    difference.known_bug = None;
                }
            }
            Kind::Acceptance | Kind::Trap | Kind::Crash => {
                let baseline = if of_reference {
                    judge
                } else {
                    others.iter().find(|other| other.id == difference.baseline)
                };
                let Some(baseline) = baseline else {
                    continue;
                };
                let uses = uses_of(case, reference, record.rules);
                let told = |one: &EngineRun, outcome: &Outcome, other: &Outcome| {
                    explained::find_known_bug(&one.origin, outcome, other, &uses)
                };
                // A bench may have been given the words of other rules, under which the reference says no as well.
                let by_own_rules =
                    (of_reference && baseline.rules != record.rules && record.outcome.finished().is_some())
                        .then(|| catch_panic(|| reference.run(case, record.rules)));
                let by_own_rules = by_own_rules.and_then(Result::ok).and_then(Result::ok);
                let said = by_own_rules
                    .as_ref()
                    .map_or(&baseline.outcome, |run| &run.outcome);
                difference.known_bug =
                    told(record, &record.outcome, said).or_else(|| told(baseline, said, &record.outcome));
            }
            Kind::Memory | Kind::Guard | Kind::Nondeterminism | Kind::Padding | Kind::Time | Kind::Given => {}
        }
    }
}

/// Notes what each outcome came out of. What of Triton's own code the case goes through, in any of the versions.
fn came_out_of(case: &Case, reference: Option<&Reference>, others: &mut [EngineRun]) -> Vec<String> {
    let mut by_rules: Vec<(Rules, Vec<String>)> = Vec::new();
    for record in others.iter_mut().filter(|record| record.outcome.speaks()) {
        let at = by_rules.iter().position(|(rules, _)| *rules == record.rules);
        let at = at.unwrap_or_else(|| {
            let found = catch_panic(|| list_triton_code(case, reference, record.rules)).unwrap_or_default();
            by_rules.push((record.rules, found));
            by_rules.len() - 1
        });
        let through = by_rules
            .get(at)
            .map_or(&[][..], |(_, through)| through.as_slice());
        record.families = find_families(&record.origin, &record.outcome, through);
    }
    let mut all: Vec<String> = by_rules.into_iter().flat_map(|(_, through)| through).collect();
    all.sort();
    all.dedup();
    all
}

/// The facts about a bench's engines before the trial.
fn collect_engine_facts<'r>(
    records: impl Iterator<Item = &'r EngineRun>,
    case: &Case,
    through: &[String],
) -> EngineFacts {
    let mut known = EngineFacts {
        through: through.to_vec(),
        ..EngineFacts::default()
    };
    for record in records {
        let testimony = record.testimony();
        if is_foreseen(&testimony, &case.expectations) {
            known.foreseen.push(record.id.clone());
        }
        if is_offender(&testimony, &case.expectations) {
            known.offenders.push(record.id.clone());
        }
        known.on_record |= record.remembered.is_some();
        match record.remembered.filter(|_| record.outcome.speaks()) {
            Some(Remembered::Agreed) => known.agreed.push(record.id.clone()),
            Some(Remembered::Undecided) => known.undecided.push(record.id.clone()),
            Some(Remembered::Differed) | None => {}
        }
    }
    known
}

/// The expectation of the case file about the reference's answer. It does not apply to a reference with settings other
/// than the file's.
fn check_undefined(record: &EngineRun, reference: Option<&Reference>, case: &Case) -> Undefined {
    let testimony = record.testimony();
    if reference.is_some_and(Reference::is_usual) {
        is_undefined(&testimony, &case.expectations)
    } else {
        Undefined::Anything
    }
}

impl EngineRun {
    fn witness(&self) -> Witness<'_> {
        Witness {
            id: &self.id,
            origin: &self.origin,
            families: self.families,
            outcome: &self.outcome,
        }
    }

    fn testimony(&self) -> Testimony<'_> {
        Testimony {
            witness: self.witness(),
            rules: self.rules.version,
        }
    }
}

/// Who sits on one bench, by position.
struct Seats {
    reference: Option<usize>,
    /// The rules that are spoken there: the bits of the reference are the same under all of them, what it leaves open
    /// may not be.
    rules: Vec<Rules>,
    other_indices: Vec<usize>,
}

/// Runs the reference under every set of rules of the other engines, and seats each engine beside the reference of its
/// rules. Rules that make no difference to the case share a bench.
fn seat_engines(
    panel: &Panel,
    case: &Case,
    others: &[EngineRun],
    failed: &mut Vec<Failed>,
) -> Result<(Vec<EngineRun>, Vec<Seats>), Stopped> {
    let Some(reference) = panel.reference.as_deref() else {
        return Ok((
            Vec::new(),
            vec![Seats {
                reference: None,
                rules: Vec::new(),
                other_indices: (0..others.len()).collect(),
            }],
        ));
    };
    let mut references: Vec<EngineRun> = Vec::new();
    let mut benches: Vec<Seats> = Vec::new();
    let mut known: Vec<(Rules, usize)> = Vec::new();
    let spoken = others.iter().map(|record| record.rules);
    for (at, rules) in spoken.enumerate().map(|(at, rules)| (Some(at), rules)).chain(
        // Without other engines, the reference uses a recording's language, or the newest.
        others.is_empty().then(|| {
            let rules = panel
                .language
                .map_or_else(|| infer_rules(case), Rules::from_version);
            (None, rules)
        }),
    ) {
        let bench = known
            .iter()
            .find(|(other, _)| other.changed_rules(rules).next().is_none())
            .map(|&(_, bench)| bench);
        let bench = if let Some(bench) = bench {
            bench
        } else {
            let fresh = record(reference, case, rules, failed)?;
            let same = references
                .iter()
                .position(|old| is_equivalent(&old.outcome, &fresh.outcome));
            let bench = same.unwrap_or_else(|| {
                benches.push(Seats {
                    reference: Some(references.len()),
                    rules: Vec::new(),
                    other_indices: Vec::new(),
                });
                references.push(fresh);
                references.len() - 1
            });
            known.push((rules, bench));
            if let Some(seats) = benches.get_mut(bench) {
                seats.rules.push(rules);
            }
            bench
        };
        if let (Some(seats), Some(at)) = (benches.get_mut(bench), at) {
            seats.other_indices.push(at);
        }
    }
    for seats in &mut benches {
        let judge = seats.reference.and_then(|at| references.get(at));
        if judge.is_some_and(|judge| matches!(judge.outcome, Outcome::Rejected(_))) {
            seats
                .other_indices
                .retain(|&at| !others.get(at).is_some_and(leaves_rejection_to_others));
        }
    }
    Ok((references, benches))
}

/// Whether an engine took a program that a later stage of its compiler may reject.
const fn leaves_rejection_to_others(record: &EngineRun) -> bool {
    record.id.is_before_rejection()
        && matches!(
            record.outcome,
            Outcome::Finished(_)
                | Outcome::Trapped(cerith_engine::Trap::Undefined | cerith_engine::Trap::Assert, _)
                | Outcome::Exhausted(_)
        )
}

/// Whether two outcomes of the reference mean the same for a trial.
pub(crate) fn is_equivalent(left: &Outcome, right: &Outcome) -> bool {
    match (left, right) {
        (Outcome::Finished(left), Outcome::Finished(right)) => left.memory == right.memory,
        (Outcome::Trapped(left, _), Outcome::Trapped(right, _)) => left == right,
        _ => left.kind() == right.kind(),
    }
}

/// Runs a case in an engine. A failure or a panic of Cerith is noted separately, and the engine has no outcome.
fn record(
    engine: &dyn Engine,
    case: &Case,
    rules: Rules,
    failed: &mut Vec<Failed>,
) -> Result<EngineRun, Stopped> {
    let id = engine.id().clone();
    let origin = engine.origin(case);
    let message = match catch_panic(|| engine.run(case, rules)) {
        Ok(Ok(run)) => {
            let seconds = run.total().as_secs_f64();
            return Ok(EngineRun {
                id,
                families: Families::from_engine(&origin),
                origin,
                rules,
                outcome: run.outcome,
                remembered: engine.recall_agreement(case),
                seconds,
            });
        }
        Ok(Err(Failure::Stopped)) => return Err(Stopped),
        Ok(Err(failure)) => format!("failed to {failure}"),
        Err(panic) => panic,
    };
    failed.push(Failed {
        engine: id.clone(),
        message: message.clone(),
    });
    let outcome = Outcome::Unavailable(Box::new(Complaint::new("internal-error", message)));
    Ok(EngineRun {
        id,
        families: Families::from_engine(&origin),
        origin,
        rules,
        outcome,
        remembered: None,
        seconds: 0.0,
    })
}
