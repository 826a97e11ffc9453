//! A run's demands on a case besides agreement: an engine that was requested by name has an outcome, a record is of the current
//! case, launches finish, and no result is undecided as a whole.
//!
//! Agreement alone would pass a case that no engine answered, and one that every engine rejects. See [`crate::trial`] for
//! blame, and [`crate::expectation`] for expectations.

use cerith_case::{Case, Ending, Expectation, OutcomeKind, VerdictKind};
use cerith_engine::{
    DAMAGED_RECORDING, EngineId, MODULE_NOT_FOUND, NO_WORKER, Outcome, STALE_RECORDING, Trap,
};
use cerith_memory::{ByteState, Memory, StorageId};

use crate::difference::Spans;
use crate::expectation::{Assessment, Testimony, has_happened};
use crate::verdict::{Standing, Verdict};

/// The engines that must have an outcome in every case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demands {
    /// Engines that the user named.
    pub named_engines: Vec<EngineId>,
    /// Whether the named engines may lack an outcome.
    pub silence_allowed: bool,
}

impl Demands {
    /// Whether this engine must not be silent in this way. Failures of Cerith are reported as errors of their own.
    fn is_forbidden(&self, id: &EngineId, outcome: &Outcome) -> bool {
        let Outcome::Unavailable(complaint) = outcome else {
            return false;
        };
        match complaint.kind.as_str() {
            "internal-error" => false,
            // These need a fix, whether the engine was named or runs by default.
            STALE_RECORDING | DAMAGED_RECORDING | MODULE_NOT_FOUND | NO_WORKER => !self.silence_allowed,
            _ => !self.silence_allowed && self.named_engines.contains(id),
        }
    }
}

/// Notes engines that give no answer, and engines whose launches did not finish, where neither the run nor the case file foresees
/// that.
pub(crate) fn hold(
    assessment: &mut Assessment,
    demands: &Demands,
    case: &Case,
    verdict: &Verdict,
    witnesses: &[Testimony<'_>],
) {
    let expectations = &case.expectations;
    let silent = witnesses.iter().filter(|testimony| {
        demands.is_forbidden(testimony.witness.id, testimony.witness.outcome)
            && !is_foreseen(testimony, Standing::Silent, expectations)
    });
    assessment.silent = silent.map(|testimony| testimony.witness.id.clone()).collect();
    for stopped in find_stopped(case, verdict, witnesses) {
        if !assessment.stopped.contains(stopped) {
            assessment.stopped.push(stopped.clone());
        }
        if !assessment.unexpected.contains(stopped) {
            assessment.unexpected.push(stopped.clone());
        }
    }
    for open in find_undecided(case, verdict, witnesses) {
        assessment.expected = false;
        if !assessment.unexpected.contains(open) {
            assessment.unexpected.push(open.clone());
        }
    }
    assessment.expected &= assessment.silent.is_empty() && assessment.stopped.is_empty();
}

/// Engines with a storage whose results are completely undecided, unless the case expects that. Nothing was compared there.
fn find_undecided<'a>(
    case: &'a Case,
    verdict: &'a Verdict,
    witnesses: &'a [Testimony<'a>],
) -> impl Iterator<Item = &'a EngineId> {
    let before = case.memory();
    let references = witnesses
        .iter()
        .filter(|testimony| testimony.witness.id == &EngineId::Reference);
    let left: Vec<&Memory> = references
        .filter_map(|testimony| Some(&testimony.witness.outcome.finished()?.memory))
        .collect();
    let whole = move |spans: &Spans| {
        let storages = spans.iter().map(|(id, _)| *id);
        storages.into_iter().any(|id| {
            left.iter().all(|after| {
                let results = result_bytes(&before, after, id);
                let open = |byte: &usize| {
                    spans
                        .iter()
                        .any(|(known, span)| *known == id && span.contains(byte))
                };
                !results.is_empty() && results.iter().all(open)
            })
        })
    };
    let foreseen = |engine: &EngineId| {
        let mut testimonies = witnesses
            .iter()
            .filter(|testimony| testimony.witness.id == engine);
        testimonies.any(|testimony| {
            case.expectations.iter().any(|one| {
                one.verdict == Some(VerdictKind::Inconclusive)
                    && testimony.is_meant(one, &case.expectations)
                    && has_happened(one, Standing::Silent, testimony, None)
            })
        })
    };
    verdict
        .undecided
        .iter()
        .filter(move |(engine, spans)| whole(spans) && !foreseen(engine))
        .map(|(engine, _)| engine)
}

/// The bytes of a storage that the reference changed, and that have a value.
fn result_bytes(before: &Memory, after: &Memory, id: StorageId) -> Vec<usize> {
    let parts = before.pair_parts(after, id);
    let changed = parts.flat_map(|(old, new)| {
        let changed = |&byte: &usize| {
            new.states.get(byte) == Some(&ByteState::Init) && old.bytes.get(byte) != new.bytes.get(byte)
        };
        let bytes = (0..new.bytes.len()).filter(changed);
        bytes.map(|byte| new.offset + byte).collect::<Vec<_>>()
    });
    changed.collect()
}

/// Engines whose launches did not finish, although none is to blame for that and no expectation covers it. Engines that
/// agree with the reference did as it did.
fn find_stopped<'a>(
    case: &'a Case,
    verdict: &'a Verdict,
    witnesses: &'a [Testimony<'a>],
) -> impl Iterator<Item = &'a EngineId> {
    let expectations = &case.expectations;
    let led = witnesses
        .iter()
        .any(|testimony| testimony.witness.id == &EngineId::Reference && testimony.witness.outcome.speaks());
    // The case file of a recorded run that raised has its exception.
    let raised = case
        .recorded
        .as_ref()
        .is_some_and(|recorded| matches!(recorded.ending, Ending::Raised { .. }));
    witnesses
        .iter()
        .filter(move |testimony| {
            let standing = testimony.find_standing(verdict);
            let blameless = matches!(standing, Standing::Agrees | Standing::Silent);
            let counts = !led || testimony.witness.id == &EngineId::Reference;
            blameless
                && counts
                && did_not_finish(testimony.witness.outcome)
                && !(raised && standing == Standing::Agrees)
                && !is_foreseen(testimony, standing, expectations)
                && !is_foreseen_of_all(testimony, expectations)
        })
        .map(|testimony| testimony.witness.id)
}

/// Whether a program was stopped, in a way that is an answer.
pub(crate) const fn did_not_finish(outcome: &Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Rejected(_) | Outcome::Trapped(Trap::Raised | Trap::Assert, _) | Outcome::Crashed(_)
    )
}

/// Whether an expectation names the outcome that an engine had.
fn is_foreseen(testimony: &Testimony<'_>, standing: Standing, expectations: &[Expectation]) -> bool {
    expectations.iter().any(|one| {
        one.outcome.is_some()
            && testimony.is_meant(one, expectations)
            && has_happened(one, standing, testimony, None)
    })
}

/// Whether an expectation says that the reference stops under an engine's rules. Then every engine has to stop.
fn is_foreseen_of_all(testimony: &Testimony<'_>, expectations: &[Expectation]) -> bool {
    let reference = EngineId::Reference.to_string();
    expectations.iter().any(|one| {
        matches!(one.outcome, Some(OutcomeKind::Rejected | OutcomeKind::Trapped))
            && one.axes.is_empty()
            && testimony.witness.id != &EngineId::Reference
            && one.applies_among(expectations, &reference, testimony.rules)
    })
}
