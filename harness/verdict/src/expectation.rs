//! Compares a verdict with the expectations of its case: expected, unexpected, or an expectation that no longer happens.
//!
//! Without an expectation every engine is expected to agree. A difference is expected if every engine that differs has an
//! expectation of it. An undefined program is expected only if an expectation says so, because a case without a fair trial tests
//! nothing. For the same reason an engine that does not support a case, or runs out of time or memory on it, needs an
//! expectation. An engine that is missing needs none, nor does one that compiles for a named GPU that lacks what the case needs.
//! An inconclusive trial breaks nothing here; a result that is undecided as a whole does (`demands`).
//!
//! `cerith-case` reads expectations.

use cerith_case::{Expectation, OutcomeKind, VerdictKind};
use cerith_engine::{EngineId, FindingCode, Outcome, Trap};
use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::rules::Version;

use crate::verdict::{Standing, Verdict};
use crate::witness::{Undefined, Witness};

/// Whether one expectation happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Met {
    /// It happened.
    Yes,
    /// An engine that it covers ran, and it did not happen.
    Stale,
    /// No engine that it covers has an outcome.
    NotTried,
}

/// A verdict compared with its case's expectations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    /// Whether all is as expected: nothing unexpected and nothing stale.
    pub expected: bool,
    /// The engines that did something unexpected.
    pub unexpected: Vec<EngineId>,
    /// Engines that had to answer and did not ([`crate::Demands`]).
    pub silent: Vec<EngineId>,
    /// The engines in `unexpected` whose launches did not finish, although none is to blame for that.
    pub stopped: Vec<EngineId>,
    /// Whether each expectation happened, in the case's order.
    pub expectations: Vec<Met>,
}

impl Assessment {
    /// Whether an expectation no longer happens.
    pub fn has_stale(&self) -> bool {
        self.expectations.contains(&Met::Stale)
    }
}

/// An engine's outcome, and the version of its language.
#[derive(Clone, Copy, Debug)]
pub struct Testimony<'a> {
    /// Who and what.
    pub witness: Witness<'a>,
    /// The version whose language it ran; an engine of a version runs its own.
    pub rules: Version,
}

impl Testimony<'_> {
    /// How it stands. The reference may have answered for several versions: if it calls a program undefined, it stands as
    /// undefined, unless it is suspected for just that.
    pub(crate) fn find_standing(&self, verdict: &Verdict) -> Standing {
        let standing = verdict.find_standing(self.witness.id).unwrap_or(Standing::Silent);
        let undefined = matches!(self.witness.outcome, Outcome::Trapped(Trap::Undefined, _));
        match (self.witness.id, standing) {
            (EngineId::Reference, Standing::Differs) => Standing::Differs,
            (EngineId::Reference, _) if undefined => Standing::Undefined,
            (EngineId::Reference, Standing::Undefined) => Standing::Agrees,
            _ => standing,
        }
    }

    pub(crate) fn is_meant(&self, expectation: &Expectation, all: &[Expectation]) -> bool {
        // One with an axis is of sweeps.
        expectation.axes.is_empty()
            && expectation.applies_among(all, &self.witness.id.to_string(), self.rules)
    }
}

/// Compares a verdict with expectations.
pub fn assess(verdict: &Verdict, witnesses: &[Testimony<'_>], expectations: &[Expectation]) -> Assessment {
    let mut unexpected = Vec::new();
    let mut undefined_foreseen =
        verdict.kind != VerdictKind::Undefined || is_planted(Fault::UndefinedIsExpected);
    for witness in witnesses {
        let standing = witness.find_standing(verdict);
        let mut foreseen = expectations.iter().filter(|expectation| {
            witness.is_meant(expectation, expectations)
                && has_happened(expectation, standing, witness, Some(verdict))
        });
        let Witness { id, outcome, .. } = witness.witness;
        match standing {
            Standing::Differs | Standing::Nondeterministic if foreseen.next().is_none() => {
                unexpected.push(id.clone());
            }
            Standing::Undefined => undefined_foreseen |= foreseen.next().is_some(),
            // A GPU that was named, and is not at hand, lacks what it lacks.
            Standing::Silent
                if matches!(id, EngineId::Cuda { target: Some(_), .. } | EngineId::Ptx { .. })
                    && matches!(outcome, Outcome::Unsupported(_)) => {}
            Standing::Silent
                if matches!(outcome, Outcome::Unsupported(_) | Outcome::Exhausted(_))
                    && foreseen.next().is_none() =>
            {
                unexpected.push(id.clone());
            }
            _ => {}
        }
    }
    if !undefined_foreseen {
        unexpected.extend(witnesses.iter().map(|witness| witness.witness.id.clone()).take(1));
    }
    unexpected.dedup();
    let expectations: Vec<Met> = expectations
        .iter()
        .map(|one| check_expectation(one, expectations, verdict, witnesses))
        .collect();
    let expected = unexpected.is_empty() && undefined_foreseen && !expectations.contains(&Met::Stale);
    Assessment {
        expected,
        unexpected,
        silent: Vec::new(),
        stopped: Vec::new(),
        expectations,
    }
}

/// Whether an expectation says that an engine differs in the way it does, if it differs.
pub(crate) fn is_foreseen(testimony: &Testimony<'_>, expectations: &[Expectation]) -> bool {
    expectations.iter().any(|one| {
        testimony.is_meant(one, expectations) && has_happened(one, Standing::Differs, testimony, None)
    })
}

/// Whether an expectation says that an engine differs here, in whatever way.
pub(crate) fn is_offender(testimony: &Testimony<'_>, expectations: &[Expectation]) -> bool {
    expectations.iter().any(|one| {
        matches!(
            one.verdict,
            Some(VerdictKind::Differ | VerdictKind::Nondeterministic)
        ) && testimony.is_meant(one, expectations)
    })
}

/// The expectations about a defined answer of this reference.
pub(crate) fn is_undefined(testimony: &Testimony<'_>, expectations: &[Expectation]) -> Undefined {
    let mut said = expectations
        .iter()
        .filter(|one| one.verdict == Some(VerdictKind::Undefined) && testimony.is_meant(one, expectations))
        .peekable();
    if said.peek().is_none() {
        Undefined::Unforeseen
    } else if said.any(|one| has_happened(one, Standing::Undefined, testimony, None)) {
        Undefined::Foreseen
    } else {
        Undefined::Otherwise
    }
}

/// Whether an engine's standing and outcome are what an expectation describes. Before there is a verdict, what explains it is
/// unknown.
pub(crate) fn has_happened(
    expectation: &Expectation,
    standing: Standing,
    testimony: &Testimony<'_>,
    verdict: Option<&Verdict>,
) -> bool {
    let witness = &testimony.witness;
    let word = match standing {
        Standing::Agrees => VerdictKind::Agree,
        Standing::Differs => VerdictKind::Differ,
        Standing::Nondeterministic => VerdictKind::Nondeterministic,
        Standing::Undefined => VerdictKind::Undefined,
        Standing::Silent => VerdictKind::Inconclusive,
    };
    let is_word = match expectation.verdict {
        Some(VerdictKind::Nondeterministic) if shows_race(witness) => standing == Standing::Differs,
        Some(wanted) => wanted == word,
        // A finished engine proves nothing about its bytes.
        None if expectation.outcome == Some(OutcomeKind::Finished) => {
            !verdict.is_some_and(|verdict| has_other_bytes(verdict, witness.id))
        }
        None => true,
    };
    is_word
        && expectation.outcome.map_or(
            // A crash is only expected if the expectation mentions it.
            !matches!(witness.outcome, Outcome::Crashed(_)),
            |wanted| wanted == witness.outcome.kind(),
        )
        && expectation.message.as_ref().is_none_or(|part| {
            has_message(witness.outcome, part)
                || shows_fault(witness, part)
                || is_planted(Fault::MessagesUnread)
        })
        && (expectation.quirks.is_empty()
            || verdict.is_none_or(|verdict| {
                let explained = verdict.collect_quirks(witness.id);
                !explained.is_empty() && explained.is_within(expectation.quirks)
            }))
}

/// Whether `ptx` traps where an expectation has the name that CUDA's driver gives a fault of the GPU. The executor reports the same
/// instruction under a name of its own. A race is not a fault.
fn shows_fault(witness: &Witness<'_>, part: &str) -> bool {
    matches!(witness.id, EngineId::Ptx { .. })
        && matches!(witness.outcome, Outcome::Trapped(Trap::Raised, _))
        && !shows_race(witness)
        && part.starts_with("CUDA_ERROR_")
}

/// Whether `ptx` reports a race, which makes the results of the same code on a GPU nondeterministic.
fn shows_race(witness: &Witness<'_>) -> bool {
    let Outcome::Trapped(Trap::Raised, complaint) = witness.outcome else {
        return false;
    };
    let mut races = FindingCode::ALL.iter().filter(|code| code.is_race());
    matches!(witness.id, EngineId::Ptx { .. }) && races.any(|code| code.name() == complaint.kind)
}

/// Whether an engine left bytes that differ from another engine's, or between its own runs.
fn has_other_bytes(verdict: &Verdict, id: &EngineId) -> bool {
    verdict.differences.iter().any(|difference| {
        difference.comparison.is_some() && [&difference.engine, &difference.baseline].contains(&id)
    })
}

fn check_expectation(
    expectation: &Expectation,
    all: &[Expectation],
    verdict: &Verdict,
    witnesses: &[Testimony<'_>],
) -> Met {
    let mut met = Met::NotTried;
    let meant = |witness: &&Testimony<'_>| witness.is_meant(expectation, all);
    for witness in witnesses.iter().filter(meant) {
        let standing = witness.find_standing(verdict);
        if has_happened(expectation, standing, witness, Some(verdict)) {
            if standing != Standing::Silent || expectation.outcome.is_some() || expectation.verdict.is_some()
            {
                met = if met == Met::Stale { Met::Stale } else { Met::Yes };
            }
        } else if standing != Standing::Silent
            && can_show(expectation, standing)
            && expectation.is_binding(&witness.witness.id.to_string())
        {
            return if is_planted(Fault::StaleUnreported) {
                Met::NotTried
            } else {
                Met::Stale
            };
        }
    }
    met
}

/// Whether a part of an expectation's message is in what an engine says, or in the name of it.
pub(crate) fn has_message(outcome: &Outcome, part: &str) -> bool {
    outcome
        .complaint()
        .is_some_and(|complaint| complaint.message.contains(part) || complaint.kind.contains(part))
}

/// Whether a trial with this standing could have shown what is expected. An undefined program shows nothing about a
/// difference between engines.
fn can_show(expectation: &Expectation, standing: Standing) -> bool {
    match standing {
        Standing::Undefined => expectation.verdict == Some(VerdictKind::Undefined),
        // An open result may be the reference's by chance.
        Standing::Agrees => expectation.verdict != Some(VerdictKind::Inconclusive),
        _ => true,
    }
}
