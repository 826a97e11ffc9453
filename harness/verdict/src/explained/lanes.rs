//! Bugs by which a compiler exchanges the wrong lanes. Their models have an alternative for each layout of lanes that a compiler may
//! choose, and copies of a result that lanes hold. An alternative explains a difference only if each element is one of its copies.

use cerith_accept::Accepted;
use cerith_case::Case;
use cerith_engine::{EngineId, Finished, Following, Reference, catch_panic};
use cerith_interp::Numerics;
use cerith_memory::{ByteState, Memory, StorageId};
use cerith_tile::quirk::signature::{self, BugSignature, Form};
use cerith_tile::rules::Rules;

use super::search::build_compare_mask;
use crate::difference::{Comparison, Tolerance, compare};

/// The known bug whose model leaves what the engine left, where that is `differing` from what the reference left.
pub(crate) fn explain_by_lanes(
    case: &Case,
    reference: &Reference,
    engine: &EngineId,
    differing: &Comparison,
    (left, known): (&Finished, &Memory),
) -> Option<&'static BugSignature> {
    let (family, version) = (engine.bug_family()?, engine.version()?);
    let rules = Rules::from_version(version);
    signature::find_bytes_bug(family, version, |form| {
        let explains = catch_panic(|| {
            is_reached(case, reference, rules, form, differing)
                && is_left_by_alternative(case, reference, rules, form, (left, known))
        });
        explains.unwrap_or_default()
    })
}

fn is_left_by_alternative(
    case: &Case,
    reference: &Reference,
    rules: Rules,
    form: Form,
    (left, known): (&Finished, &Memory),
) -> bool {
    let alternatives = reference.list_alternatives(case, rules, form).unwrap_or_default();
    alternatives.iter().any(|alternative| {
        let copies = reference.following_alternative(case, rules, form, alternative);
        copies.is_ok_and(|copies| leave(copies, left, known))
    })
}

/// Whether data may flow from the form's operations to every element that differs.
fn is_reached(case: &Case, reference: &Reference, rules: Rules, form: Form, differing: &Comparison) -> bool {
    let Ok(Some(dependents)) = reference.find_dependents(case, rules, form) else {
        // An address, a mask or a condition depends on them.
        return true;
    };
    differing.spans.iter().all(|(id, span)| {
        let states = dependents.states(*id).get(span.clone()).unwrap_or_default();
        states.contains(&ByteState::Poison)
    })
}

/// Whether an engine left each element in one of the copies.
fn leave(copies: Vec<Following<'_>>, left: &Finished, known: &Memory) -> bool {
    let mut differing: Option<Comparison> = None;
    for copy in copies {
        let Ok(Some(followed)) = copy.execute(None, Numerics::Own) else {
            return false;
        };
        let defined = build_compare_mask(&followed.memory, known);
        let comparison = compare(&followed.memory, &left.memory, Some(&defined), &ByCopy(&followed));
        let is_listed = comparison.mismatched.is_none() && comparison.guards == 0 && !comparison.more_spans;
        if !is_listed || comparison.bytes.undecided > 0 {
            return false;
        }
        if comparison.differing == 0 {
            return true;
        }
        differing = Some(match differing {
            Some(before) => intersect_spans(&before, comparison),
            None => comparison,
        });
        if differing
            .as_ref()
            .is_some_and(|differing| differing.spans.is_empty())
        {
            return true;
        }
    }
    false
}

/// The second comparison, with the spans that differ in both.
fn intersect_spans(before: &Comparison, mut now: Comparison) -> Comparison {
    let spans = now.spans.iter().flat_map(|(id, span)| {
        let same = before.spans.iter().filter(move |(other, _)| other == id);
        same.filter_map(move |(_, other)| {
            let both = span.start.max(other.start)..span.end.min(other.end);
            (!both.is_empty()).then_some((*id, both))
        })
    });
    now.spans = spans.collect();
    now
}

struct ByCopy<'a>(&'a cerith_engine::Followed<'a>);

impl Tolerance for ByCopy<'_> {
    fn find_accepted(&self, storage: StorageId, byte: usize) -> (usize, Accepted) {
        self.0.find_accepted(storage, byte)
    }
}
