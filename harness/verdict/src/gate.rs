//! What a run demands of a case beside agreement: that an engine which was asked for by name says something, and that a
//! record which is there is one of the case as it is.
//!
//! Agreement alone would let a case through of which nobody spoke. Left out: who is right (see [`crate::trial`]) and what
//! was expected (see [`crate::expectation`]).

use conch_engine::{EngineId, Outcome, STALE_RECORDING};

use crate::expectation::{Assessment, Testimony, is_foreseen_outcome};

/// Whose silence fails a case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demands {
    /// Engines that were asked for by name.
    pub named: Vec<EngineId>,
    /// Whether silence fails nothing.
    pub silence_allowed: bool,
}

impl Demands {
    /// Whether this engine may not be silent in this way. What Conch failed at is told as its own error.
    fn forbids(&self, id: &EngineId, outcome: &Outcome) -> bool {
        let Outcome::Unavailable(complaint) = outcome else {
            return false;
        };
        match complaint.kind.as_str() {
            "internal-error" => false,
            STALE_RECORDING => !self.silence_allowed,
            _ => !self.silence_allowed && self.named.contains(id),
        }
    }
}

/// Notes what the case owes: an engine that says nothing, and neither the run nor the case's file foresees that.
pub(crate) fn hold(
    assessment: &mut Assessment,
    demands: &Demands,
    witnesses: &[Testimony<'_>],
    expectations: &[conch_case::Expectation],
) {
    let silent = witnesses.iter().filter(|testimony| {
        demands.forbids(testimony.witness.id, testimony.witness.outcome)
            && !is_foreseen_outcome(testimony, expectations)
    });
    assessment.silent = silent.map(|testimony| testimony.witness.id.clone()).collect();
    assessment.expected &= assessment.silent.is_empty();
}
