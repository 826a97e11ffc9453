//! Two cases that must store the same: a generated kernel and its twin. One engine is enough to compare them. If that is the
//! reference, a difference is a bug of ours.
//!
//! See `cerith-gen` for making twins.

use cerith_case::Case;
use cerith_engine::{Engine, Failure, Outcome};
use cerith_memory::{ByteState, Memory, StorageId};
use cerith_tile::rules::Rules;

/// The result of two cases that must store the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Twins {
    /// They store the same.
    Same,
    /// There is nothing to compare: the first of them does not finish.
    Silent(String),
    /// They do not store the same, with the difference in words.
    Differ(String),
}

/// Runs both on an engine and compares the storages that both have, by their names.
///
/// # Errors
/// The engine's own failure.
pub fn compare_twins(engine: &dyn Engine, case: &Case, twin: &Case, rules: Rules) -> Result<Twins, Failure> {
    let one = engine.run(case, rules)?.outcome;
    let Outcome::Finished(one) = &one else {
        return Ok(Twins::Silent(describe_outcome(&one)));
    };
    if one.tracked.is_some_and(|tracked| tracked.order_dependent) {
        return Ok(Twins::Silent(
            "programs in another order may store something else".to_owned(),
        ));
    }
    Ok(match engine.run(twin, rules)?.outcome {
        Outcome::Finished(other) => {
            find_difference(case, &one.memory, &other.memory).map_or(Twins::Same, Twins::Differ)
        }
        // Unknown results, and those that take too long, are not an answer.
        outcome @ (Outcome::Unsupported(_) | Outcome::Exhausted(_)) => {
            Twins::Silent(describe_outcome(&outcome))
        }
        outcome => Twins::Differ(format!(
            "the twin does not finish: {}",
            describe_outcome(&outcome)
        )),
    })
}

fn describe_outcome(outcome: &Outcome) -> String {
    outcome.complaint().map_or_else(
        || "without words".to_owned(),
        |complaint| format!("{}: {}", complaint.kind, complaint.message),
    )
}

/// The first byte in which two memories differ, in the storages that both have. Addresses are not compared, because the two have
/// different storages.
fn find_difference(case: &Case, one: &Memory, other: &Memory) -> Option<String> {
    let named = |name: &str| other.ids().find(|&id| other.name(id) == name);
    let has_addresses = |id| {
        case.storages
            .get(id)
            .is_some_and(|storage| !storage.pointers().is_empty())
    };
    one.ids().filter(|&id| !has_addresses(id)).find_map(|id| {
        let name = one.name(id);
        let twin = named(name)?;
        let at = (0..one.size(id)).find(|&at| {
            let (one, other) = (read_byte(one, id, at), read_byte(other, twin, at));
            // Whether a value depends on an order is found out by trying some, so that one of the two may not know.
            let unknown = [one, other]
                .iter()
                .flatten()
                .any(|(state, _)| *state == ByteState::Poison);
            one != other && !unknown
        })?;
        let shown = |memory: &Memory, id: StorageId| match read_byte(memory, id, at) {
            Some((state, value)) => format!("{value:#04x} ({state:?})"),
            None => "nothing".to_owned(),
        };
        Some(format!(
            "byte {at} of {name} is {} and {}",
            shown(one, id),
            shown(other, twin)
        ))
    })
}

/// A byte with its state; one that has no defined value has none.
fn read_byte(memory: &Memory, id: StorageId, at: usize) -> Option<(ByteState, u8)> {
    let part = memory.read(id, at..at.checked_add(1)?)?;
    let (state, value) = (*part.states.first()?, *part.bytes.first()?);
    Some((state, if state == ByteState::Init { value } else { 0 }))
}
