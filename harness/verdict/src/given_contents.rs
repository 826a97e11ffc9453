//! Compares the reference with the contents that the case file gives ([`Case::given`]).
//!
//! All engines get a case's tensors, layouts and arguments from the same code of ours. If that code is wrong, they may all agree.
//! The contents in a case file come from elsewhere, so a reference with other contents is wrong, no matter which engines agree
//! with it.

use cerith_case::{Case, VerdictKind};
use cerith_engine::{EngineId, Finished, Outcome, Trap};
use cerith_memory::{ByteState, Memory};
use cerith_tile::quirk::Quirks;

use crate::difference::{BitForBit, Comparison, compare};
use crate::verdict::{Difference, Kind, Standing, Verdict};

/// Blames the reference if its final contents are not the given ones. `outcomes` are those of all engines, including the
/// reference under every set of rules.
pub(crate) fn hold<'a>(
    case: &Case,
    verdict: &mut Verdict,
    outcomes: &(impl Iterator<Item = (&'a EngineId, &'a Outcome)> + Clone),
) {
    if case.expected_contents.is_empty() {
        return;
    }
    let mut references = outcomes.clone().filter(|(id, _)| **id == EngineId::Reference);
    let Some(comparison) = references.find_map(|(_, outcome)| compare_given(case, outcome)) else {
        return;
    };
    verdict.kind = VerdictKind::Differ;
    verdict.blame = vec![EngineId::Reference];
    verdict.unconfirmed = false;
    verdict.vacuous = false;
    verdict.reason = None;
    verdict.suspected = None;
    verdict.differences = vec![Difference {
        baseline: EngineId::Reference,
        engine: EngineId::Reference,
        kind: Kind::Given,
        comparison: Some(comparison),
        explained: Quirks::NONE,
        known_bug: None,
    }];
    for (id, standing) in &mut verdict.standings {
        let right = outcomes.clone().any(|(other, outcome)| {
            other == id && compare_given(case, outcome).is_none() && outcome.speaks()
        });
        *standing = match id {
            EngineId::Reference => Standing::Differs,
            _ if right => Standing::Agrees,
            _ => Standing::Silent,
        };
    }
}

/// The difference of an outcome from the given contents, if any. An outcome without an answer, or a rejection, does not
/// differ.
pub(crate) fn compare_given(case: &Case, outcome: &Outcome) -> Option<Comparison> {
    match outcome {
        Outcome::Finished(finished) => of_memory(case, finished),
        Outcome::Trapped(Trap::Undefined, complaint) => Some(Comparison {
            mismatched: Some(format!(
                "the case file gives an answer, and there is none: {}",
                complaint.message
            )),
            ..Comparison::default()
        }),
        _ => None,
    }
}

fn of_memory(case: &Case, finished: &Finished) -> Option<Comparison> {
    let mut given: Memory = finished.memory.clone();
    let mut undefined = None;
    for one in &case.expected_contents {
        // A case file gives nothing of a sparse storage.
        let (bytes, states) = given.parts_mut(one.storage);
        let said = one.content.bytes().iter().zip(one.content.states());
        for (at, ((byte, state), (&value, &known))) in bytes.iter_mut().zip(states).zip(said).enumerate() {
            if known != ByteState::Init {
                continue;
            }
            *byte = value;
            if *state == ByteState::Poison {
                undefined.get_or_insert_with(|| {
                    format!("byte {at} of `{}` has no defined value", one.content.name())
                });
            }
        }
    }
    let mut comparison = compare(&given, &finished.memory, None, &BitForBit);
    comparison.mismatched = comparison.mismatched.or(undefined);
    (!comparison.is_same()).then_some(comparison)
}
