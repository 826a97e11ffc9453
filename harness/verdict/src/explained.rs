//! Explains differences by known bugs: the reference runs again with the engine's quirks, and if it then produces the engine's
//! bytes, those quirks explain the difference. Errors have no bytes, and are recognised by their messages. See `cerith-quirk`
//! for the models.

mod lanes;
mod runs;
mod sample;
mod search;

use cerith_case::Case;
use cerith_engine::{EngineId, Finished, Frame, Outcome, Reference, catch_panic};
use cerith_interp::Numerics;
use cerith_memory::Memory;
use cerith_tile::quirk::signature::{self, BugSignature, FailureReport};
use cerith_tile::quirk::{Family, Quirks};
use cerith_tile::rules::{Rules, Version};

use self::lanes::explain_by_lanes;
use self::runs::Runs;
use self::search::{ExplainQuery, Search, SearchResult};
use crate::difference::Comparison;

/// Whether an engine that lacks a bug left the same in each element that differs: then the bug isn't the reason. `has_bug` says whether a
/// version has it.
pub(crate) fn is_left_without_bug<'a>(
    engine: &EngineId,
    left: &Finished,
    differing: &Comparison,
    has_bug: impl Fn(Version) -> bool,
    others: impl IntoIterator<Item = (&'a EngineId, &'a Finished)>,
) -> bool {
    let own = engine.bug_family();
    let mut others = others.into_iter().filter(|(other, _)| {
        let lacks_bug = other.version().is_some_and(|version| !has_bug(version));
        own.is_some() && other.bug_family() == own && lacks_bug
    });
    !differing.spans.is_empty()
        && others.any(|(_, other)| {
            differing.spans.iter().all(|(id, span)| {
                let bytes = |memory: &Memory| memory.bytes(*id).get(span.clone()).map(<[u8]>::to_vec);
                bytes(&left.memory) == bytes(&other.memory)
            })
        })
}

/// Whether a version has one of these bugs of an engine's family.
pub(crate) fn has_any(engine: &EngineId, quirks: Quirks, version: Version) -> bool {
    engine
        .bug_family()
        .is_some_and(|family| !Quirks::from_version(family, version).intersect(quirks).is_empty())
}

/// The known bug that makes two outcomes differ, known by an engine's complaint, or by its finishing where the other complains.
/// `uses` is what the case's kernels use of the language.
pub(crate) fn find_known_bug(
    engine: &EngineId,
    outcome: &Outcome,
    other: &Outcome,
    uses: &[String],
) -> Option<&'static BugSignature> {
    let (family, version) = (engine.bug_family()?, engine.version()?);
    let own = outcome.complaint().filter(|_| outcome.finished().is_none());
    let complaint = own.or_else(|| other.complaint())?;
    let words = FailureReport {
        kind: &complaint.kind,
        message: &complaint.message,
        detail: complaint.detail.as_deref(),
        by_host: complaint.frame == Some(Frame::Host),
        line: complaint.position.as_ref().map(|position| position.text.as_str()),
        uses,
    };
    if own.is_some() {
        signature::find_raised_bug(family, version, words, matches!(outcome, Outcome::Crashed(_)))
    } else {
        signature::find_run_bug(family, version, words)
    }
}

/// The known bugs that explain what an engine left, `differing` from `known`: quirks, or else a bug that exchanges lanes.
pub(crate) fn explain(
    case: &Case,
    reference: &Reference,
    engine: &EngineId,
    (left, known): (&Finished, &Memory),
    differing: Option<&Comparison>,
) -> (Quirks, Option<&'static BugSignature>) {
    let quirks = explain_by_quirks(case, reference, engine, left, known).unwrap_or_default();
    let by_lanes = |differing| explain_by_lanes(case, reference, engine, differing, (left, known));
    let told = differing.filter(|_| quirks.is_empty()).and_then(by_lanes);
    (quirks, told)
}

/// The quirks that explain what an engine left, each of them needed, where any do. `known` is the memory that says which bytes have no
/// defined value.
fn explain_by_quirks(
    case: &Case,
    reference: &Reference,
    engine: &EngineId,
    left: &Finished,
    known: &Memory,
) -> Option<Quirks> {
    let version = engine.version()?;
    let quirks = engine.possible_quirks(version)?;
    let rules = Rules::from_version(version);
    let asked = ExplainQuery {
        case,
        reference,
        rules,
        numerics: match engine.bug_family()? {
            Family::Interpreter => Numerics::Numpy,
            Family::Compiler | Family::Language => Numerics::Own,
        },
        left,
        runs: Runs::default(),
    };
    let find_relevant_quirks =
        |rules| catch_panic(|| reference.find_relevant_quirks(case, rules, quirks)).unwrap_or_default();
    let first = find_relevant_quirks(rules);
    if first.is_empty() {
        return None;
    }
    // All at once, as in the engine.
    let mut search = Search::new(&asked, first, known);
    let mut found = search.try_all();
    if !matches!(found, SearchResult::Set(_)) {
        // One may touch only what another makes: a sum in a sort, a constant that an argument becomes.
        let more = find_relevant_quirks(rules.with_quirks(first));
        if !more.is_empty() {
            search = Search::new(&asked, first.union(more), known);
            found = search.try_all();
        }
    }
    match found {
        SearchResult::Set(quirks) => Some(quirks),
        SearchResult::Open => None,
        SearchResult::None => {
            let touching =
                |rules| catch_panic(|| reference.find_touching(case, rules, quirks)).unwrap_or_default();
            let first = touching(rules);
            search.try_subsets(first.union(touching(rules.with_quirks(first))))
        }
    }
}
