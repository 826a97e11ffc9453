//! Holding a verdict against what was written down: expected, unexpected, or an expectation that no longer happens.
//!
//! Without an expectation every engine is expected to agree. A difference is expected when every engine that differs
//! has an expectation that speaks of it; an undefined program is expected only when an expectation says so, because a
//! case without a fair trial tests nothing. For the same reason an engine that does not support a case, or runs out of
//! time or memory on it, needs one; an engine that is not there needs none. A trial that cannot be told breaks nothing.
//!
//! Left out: reading expectations (`conch-case`).

use conch_case::{Expectation, VerdictKind};
use conch_engine::{EngineId, Outcome};

use crate::trial::{Standing, Verdict, Witness};

/// What became of one expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Met {
    /// It happened.
    Yes,
    /// An engine that it speaks of ran, and it did not happen.
    Stale,
    /// No engine that it speaks of said anything.
    NotTried,
}

/// A verdict held against its case's expectations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    /// Whether all is as written down: nothing unexpected and nothing stale.
    pub expected: bool,
    /// The engines that did what nobody wrote down.
    pub unexpected: Vec<EngineId>,
    /// What became of each expectation, in the case's order.
    pub expectations: Vec<Met>,
}

impl Assessment {
    /// Whether an expectation no longer happens.
    pub fn has_stale(&self) -> bool {
        self.expectations.contains(&Met::Stale)
    }
}

/// Holds a verdict against expectations.
pub fn assess(verdict: &Verdict, witnesses: &[Witness<'_>], expectations: &[Expectation]) -> Assessment {
    let mut unexpected = Vec::new();
    let mut undefined_foreseen = verdict.kind != VerdictKind::Undefined;
    for witness in witnesses {
        let standing = verdict.standing(witness.id).unwrap_or(Standing::Silent);
        let id = witness.id.to_string();
        let mut foreseen = expectations
            .iter()
            .filter(|expectation| expectation.applies_to(&id) && happened(expectation, standing, witness));
        match standing {
            Standing::Differs if foreseen.next().is_none() => unexpected.push(witness.id.clone()),
            Standing::Undefined => undefined_foreseen |= foreseen.next().is_some(),
            Standing::Silent
                if matches!(witness.outcome, Outcome::Unsupported(_) | Outcome::Exhausted(_))
                    && foreseen.next().is_none() =>
            {
                unexpected.push(witness.id.clone());
            }
            _ => {}
        }
    }
    if !undefined_foreseen {
        unexpected.extend(witnesses.iter().map(|witness| witness.id.clone()).take(1));
    }
    let expectations: Vec<Met> = expectations
        .iter()
        .map(|one| met(one, verdict, witnesses))
        .collect();
    let expected = unexpected.is_empty() && undefined_foreseen && !expectations.contains(&Met::Stale);
    Assessment {
        expected,
        unexpected,
        expectations,
    }
}

/// Whether an engine's standing and outcome are what an expectation describes.
fn happened(expectation: &Expectation, standing: Standing, witness: &Witness<'_>) -> bool {
    let word = match standing {
        Standing::Agrees => VerdictKind::Agree,
        Standing::Differs => VerdictKind::Differ,
        Standing::Undefined => VerdictKind::Undefined,
        Standing::Silent => VerdictKind::Inconclusive,
    };
    expectation.verdict.is_none_or(|wanted| wanted == word)
        && expectation
            .outcome
            .is_none_or(|wanted| wanted == witness.outcome.kind())
        && expectation.message.as_ref().is_none_or(|part| {
            witness.outcome.complaint().is_some_and(|complaint| {
                complaint.message.contains(part.as_str()) || complaint.kind.contains(part.as_str())
            })
        })
}

fn met(expectation: &Expectation, verdict: &Verdict, witnesses: &[Witness<'_>]) -> Met {
    let mut met = Met::NotTried;
    for witness in witnesses
        .iter()
        .filter(|witness| expectation.applies_to(&witness.id.to_string()))
    {
        let standing = verdict.standing(witness.id).unwrap_or(Standing::Silent);
        if happened(expectation, standing, witness) {
            if standing != Standing::Silent || expectation.outcome.is_some() || expectation.verdict.is_some()
            {
                met = if met == Met::Stale { Met::Stale } else { Met::Yes };
            }
        } else if standing != Standing::Silent && tried(expectation, standing) {
            return Met::Stale;
        }
    }
    met
}

/// Whether a trial with this standing could have shown what is expected. An undefined program shows nothing about a
/// difference between engines.
fn tried(expectation: &Expectation, standing: Standing) -> bool {
    standing != Standing::Undefined || expectation.verdict == Some(VerdictKind::Undefined)
}
