//! Differences that known bugs explain: the reference is asked again with the quirks that the engine has, and if it then leaves
//! the engine's bytes, those quirks made the difference. Errors leave no bytes, and are known by their messages. Most sets of
//! quirks are wrong, which one program of a launch shows (`sample`). Left out: the models (`cerith-quirk`).

mod sample;

use cerith_case::Case;
use cerith_engine::{EngineId, Finished, Followed, Outcome, Reference, guarded};
use cerith_interp::Accepted;
use cerith_memory::{ByteState, Memory, StorageId};
use cerith_tile::quirk::told::{self, Said, Told};
use cerith_tile::quirk::{Family, Quirk, Quirks};
use cerith_tile::rules::{Rules, Version};

use self::sample::{Asked, Sample};
use crate::difference::{Comparison, Tolerance, compare};

/// The first compute capability with an instruction that narrows to 8-bit floats.
const NARROWS_TO_FP8: u32 = 89;

/// What an implementation that follows quirks may leave.
struct ByQuirks<'a>(&'a Followed<'a>);

impl Tolerance for ByQuirks<'_> {
    fn accepted(&self, storage: StorageId, byte: usize) -> (usize, Accepted) {
        self.0.accepted(storage, byte)
    }
}

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
        line: complaint.position.as_ref().map(|position| position.text.as_str()),
        uses,
    };
    if own.is_some() {
        told::raised(family, version, words, matches!(outcome, Outcome::Crashed(_)))
    } else {
        told::runs(family, version, words)
    }
}

/// The known bug by which a compiler leaves bytes that no model gives.
pub(crate) fn told_by_form(case: &Case, reference: &Reference, engine: &EngineId) -> Option<&'static Told> {
    let (family, version) = (family(engine)?, engine.version()?);
    let has = |form| guarded(|| reference.has_form(case, Rules::of(version), form));
    told::leaves(family, version, |form| matches!(has(form), Ok(Ok(true))))
}

/// The fewest quirks that explain what an engine left, where any do. `known` is the memory that says which bytes have no
/// defined value.
pub(crate) fn explain(
    case: &Case,
    reference: &Reference,
    engine: &EngineId,
    left: &Finished,
    known: &Memory,
) -> Option<Quirks> {
    let version = engine.version()?;
    let quirks = quirks_of(engine, version)?;
    let rules = Rules::of(version);
    let touching = guarded(|| reference.touching(case, rules, quirks)).ok()?;
    let answer = |quirks: Quirks| {
        let answer = guarded(|| reproduces(case, reference, rules.following(quirks), left, known));
        answer.unwrap_or(Reproduced::No)
    };
    let explains = |quirks: Quirks| answer(quirks) == Reproduced::Yes;
    if touching.is_empty() {
        return None;
    }
    let asked = Asked {
        case,
        reference,
        rules,
        touching,
    };
    let sample = guarded(|| Sample::take(&asked, left, known)).unwrap_or_default();
    let allowed = |quirks: Quirks| {
        sample.as_ref().map_or(Reproduced::Yes, |sample| {
            guarded(|| sample.allows(&asked, quirks, left)).unwrap_or(Reproduced::Yes)
        })
    };
    let may_explain = |quirks: Quirks| allowed(quirks) == Reproduced::Yes;
    let tried = |quirks: Quirks| match allowed(quirks) {
        Reproduced::Yes => answer(quirks),
        no => no,
    };
    // All at once, as the engine has them; else each by itself, all but one, should one be mended there, and any two.
    match tried(touching) {
        Reproduced::Yes => return Some(fewer(touching, sample.is_some(), &may_explain, &explains)),
        // Rounding leaves open what these bugs give together, and fewer of them would prove nothing.
        Reproduced::Open => return None,
        Reproduced::No => {}
    }
    let alone = touching.iter().map(|quirk| Quirks::NONE.with(quirk));
    let but_one = touching.iter().map(|quirk| touching.without(quirk));
    let pairs = touching.iter().flat_map(|one| {
        let others = touching.iter().filter(move |&other| other > one);
        others.map(move |other| Quirks::NONE.with(one).with(other))
    });
    let mut sets = alone.chain(but_one).chain(pairs);
    let enough = sets.find(|&quirks| !quirks.is_empty() && tried(quirks) == Reproduced::Yes)?;
    Some(fewer(enough, sample.is_some(), &may_explain, &explains))
}

/// Those of a set that are needed. What one program does without, if there is a sample, is tried on the whole launch once.
fn fewer(
    enough: Quirks,
    sampled: bool,
    may_explain: &dyn Fn(Quirks) -> bool,
    explains: &dyn Fn(Quirks) -> bool,
) -> Quirks {
    if sampled {
        let fewest = fewest(enough, may_explain);
        if fewest == enough || explains(fewest) {
            return fewest;
        }
    }
    fewest(enough, explains)
}

/// Whether the reference leaves an engine's bytes where it follows quirks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reproduced {
    Yes,
    No,
    /// Nothing contradicts, but bounds of rounding are too wide to tell.
    Open,
}

impl Reproduced {
    fn of(comparison: &Comparison) -> Self {
        match (comparison.same(), comparison.bytes.undecided) {
            (false, _) => Self::No,
            (true, 0) => Self::Yes,
            (true, _) => Self::Open,
        }
    }
}

/// Those of a set that are needed.
fn fewest(enough: Quirks, explains: &dyn Fn(Quirks) -> bool) -> Quirks {
    enough.iter().fold(enough, |needed, quirk| {
        let fewer = needed.without(quirk);
        if !fewer.is_empty() && explains(fewer) {
            fewer
        } else {
            needed
        }
    })
}

/// Whether the reference leaves the same where it follows quirks.
fn reproduces(
    case: &Case,
    reference: &Reference,
    rules: Rules,
    left: &Finished,
    known: &Memory,
) -> Reproduced {
    let Ok(Some(followed)) = reference.following(case, rules, None) else {
        return Reproduced::No;
    };
    let defined = defined(&followed.memory, known);
    let comparison = compare(
        &followed.memory,
        &left.memory,
        Some(&defined),
        &ByQuirks(&followed),
    );
    Reproduced::of(&comparison)
}

/// A memory that says which bytes are compared: those that were written, and that the reference does not leave undefined.
fn defined(followed: &Memory, known: &Memory) -> Memory {
    let mut defined = followed.clone();
    for id in defined.ids() {
        let known = known.states(id);
        let (_, states) = defined.parts_mut(id);
        for (nth, state) in states.iter_mut().enumerate() {
            *state = match (known.get(nth), *state) {
                (Some(ByteState::Poison), _) => ByteState::Poison,
                (_, ByteState::Uninit) => ByteState::Uninit,
                _ => ByteState::Init,
            };
        }
    }
    defined
}
