//! Differences that known bugs explain: the reference is asked again with the quirks that the engine has, and if it then leaves
//! the engine's bytes, those quirks made the difference. Errors leave no bytes, and are known by their messages. Left out: the
//! models (`cerith-quirk`).

mod lanes;
mod runs;
mod sample;
mod search;

use cerith_case::Case;
use cerith_engine::{EngineId, Finished, Frame, Outcome, Reference, guarded};
use cerith_interp::Numerics;
use cerith_memory::Memory;
use cerith_tile::quirk::told::{self, Said, Told};
use cerith_tile::quirk::{Family, Quirk, Quirks};
use cerith_tile::rules::{Rules, Version};

use self::lanes::explain_by_lanes;
use self::runs::Runs;
use self::search::{Asked, Found, Search};
use crate::difference::Comparison;

/// The first compute capability with an instruction that narrows to 8-bit floats.
const NARROWS_TO_FP8: u32 = 89;

/// The family whose known bugs an engine has, if it is known.
const fn family(engine: &EngineId) -> Option<Family> {
    match engine {
        EngineId::Interpret { .. } => Some(Family::Interpreter),
        EngineId::Cuda { .. } | EngineId::Ptx { .. } | EngineId::Jit { .. } | EngineId::Ttir { .. } => {
            Some(Family::Compiler)
        }
        EngineId::Reference | EngineId::Inductor { .. } | EngineId::Recorded => None,
    }
}

/// Whether an engine that lacks a bug left the same in each element that differs: then the bug isn't the reason. `has_bug` says whether a
/// version has it.
pub(crate) fn is_left_without_bug<'a>(
    engine: &EngineId,
    left: &Finished,
    differing: &Comparison,
    has_bug: impl Fn(Version) -> bool,
    others: impl IntoIterator<Item = (&'a EngineId, &'a Finished)>,
) -> bool {
    let own = family(engine);
    let mut others = others.into_iter().filter(|(other, _)| {
        let lacks_bug = other.version().is_some_and(|version| !has_bug(version));
        own.is_some() && family(other) == own && lacks_bug
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
    family(engine).is_some_and(|family| !Quirks::of(family, version).among(quirks).is_empty())
}

/// The quirks that an engine may have.
fn quirks_of(engine: &EngineId, version: Version) -> Option<Quirks> {
    let quirks = Quirks::of(family(engine)?, version);
    Some(match engine {
        // What is on the host already is not copied there.
        EngineId::Interpret { host: true, .. } => quirks.without(Quirk::ArgumentsAreCopiedApart),
        EngineId::Ptx { .. } => quirks,
        EngineId::Cuda {
            target: Some(target), ..
        } if target.0 < NARROWS_TO_FP8 => quirks,
        _ => quirks.without(Quirk::NarrowingToFp8e5Wraps),
    })
}

/// The known bug that makes two outcomes differ, known by an engine's complaint, or by its finishing where the other complains.
/// `uses` is what the case's kernels use of the language.
pub(crate) fn told(
    engine: &EngineId,
    outcome: &Outcome,
    other: &Outcome,
    uses: &[String],
) -> Option<&'static Told> {
    let (family, version) = (family(engine)?, engine.version()?);
    let own = outcome.complaint().filter(|_| outcome.finished().is_none());
    let complaint = own.or_else(|| other.complaint())?;
    let words = Said {
        kind: &complaint.kind,
        message: &complaint.message,
        detail: complaint.detail.as_deref(),
        by_host: complaint.frame == Some(Frame::Host),
        line: complaint.position.as_ref().map(|position| position.text.as_str()),
        uses,
    };
    if own.is_some() {
        told::raised(family, version, words, matches!(outcome, Outcome::Crashed(_)))
    } else {
        told::runs(family, version, words)
    }
}

/// The known bugs that explain what an engine left, `differing` from `known`: quirks, or else a bug that exchanges lanes.
pub(crate) fn explain(
    case: &Case,
    reference: &Reference,
    engine: &EngineId,
    (left, known): (&Finished, &Memory),
    differing: Option<&Comparison>,
) -> (Quirks, Option<&'static Told>) {
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
    let quirks = quirks_of(engine, version)?;
    let rules = Rules::of(version);
    let asked = Asked {
        case,
        reference,
        rules,
        numerics: match family(engine)? {
            Family::Interpreter => Numerics::Numpy,
            Family::Compiler | Family::Language => Numerics::Own,
        },
        left,
        runs: Runs::default(),
    };
    let asked_of = |rules| guarded(|| reference.asked_of(case, rules, quirks)).unwrap_or_default();
    let first = asked_of(rules);
    if first.is_empty() {
        return None;
    }
    // All at once, as the engine has them.
    let mut search = Search::of(&asked, first, known);
    let mut found = search.all();
    if !matches!(found, Found::Set(_)) {
        // One may touch only what another makes: a sum in a sort, a constant that an argument becomes.
        let more = asked_of(rules.following(first));
        if !more.is_empty() {
            search = Search::of(&asked, first.union(more), known);
            found = search.all();
        }
    }
    match found {
        Found::Set(quirks) => Some(quirks),
        Found::Open => None,
        Found::None => {
            let touching = |rules| guarded(|| reference.touching(case, rules, quirks)).unwrap_or_default();
            let first = touching(rules);
            search.some(first.union(touching(rules.following(first))))
        }
    }
}
