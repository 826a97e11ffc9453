//! Witnesses: which engine gave which outcome, from which code, and what it can confirm.
//!
//! Engines whose outcomes came from the same code are one witness. An engine that is expected to differ is not a witness for
//! the reference: if it agrees now, one of the two has changed. A record that agreed with the reference when it was accepted
//! cannot have changed, so the reference or the trial has. If a case is expected to have no answer, and has one now, the
//! reference is suspected first.
//!
//! Shared code is counted by bodies of code, and an outcome as a whole: `ptx@V` is the compiler's witness, though it rounds to
//! 16-bit floats and computes `exp2` and `log2` with the reference's arithmetic (docs/internals/ptx.md lists the results that
//! stay unconfirmed).
//!
//! See [`crate::trial`] for camps and blame.

use cerith_engine::{EngineId, Families, Outcome};

/// One engine and what it did.
#[derive(Clone, Copy, Debug)]
pub struct Witness<'a> {
    /// Who.
    pub id: &'a EngineId,
    /// The engine whose code did it, usually this one.
    pub origin: &'a EngineId,
    /// The code that the outcome came from.
    pub families: Families,
    /// Its outcome.
    pub outcome: &'a Outcome,
}

impl Witness<'_> {
    /// Whether it is evidence for or against the reference, because it came from other code.
    pub(crate) fn is_apart(&self) -> bool {
        self.families
            .is_independent_of(Families::from_engine(&EngineId::Reference))
    }
}

/// The facts about the engines of a bench before the trial.
#[derive(Clone, Debug, Default)]
pub struct EngineFacts {
    /// Engines that are expected to differ here in this way. A user has confirmed that, so they do not blame the reference.
    pub foreseen: Vec<EngineId>,
    /// Engines that are expected to differ here in any way: they do not confirm the reference.
    pub offenders: Vec<EngineId>,
    /// Engines whose outcome is a record that agreed with the reference when it was accepted.
    pub agreed: Vec<EngineId>,
    /// Engines whose outcome is a record that did not differ when it was accepted, but could not be fully decided.
    pub undecided: Vec<EngineId>,
    /// Whether the reference is expected to have an answer.
    pub undefined: Undefined,
    /// Whether there is a record of the case, even a stale one: the case's expectations held when it was accepted.
    pub on_record: bool,
    /// Engines whose outcome a known bug explains: they are not evidence against the reference, and do not stop for the same
    /// reason as other engines.
    pub explained: Vec<EngineId>,
    /// The parts of Triton's own code, shared by its interpreter and its compiler, that the case goes through.
    pub through: Vec<String>,
}

/// Whether the reference is expected to have an answer to a case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Undefined {
    /// The expectation does not apply to the reference's options.
    #[default]
    Anything,
    /// It has an answer: no expectation says otherwise.
    Unforeseen,
    /// It has no answer, with its current message or without a message.
    Foreseen,
    /// It has no answer, but with a message other than its current one.
    Otherwise,
}

/// How many witnesses in a camp share no code with each other. Those with the least code are counted first, because they exclude
/// the fewest others.
pub(crate) fn count_independent<'w>(camp: impl IntoIterator<Item = &'w Witness<'w>>) -> usize {
    let mut camp: Vec<Families> = camp.into_iter().map(|witness| witness.families).collect();
    camp.sort_by_key(|families| families.count());
    let mut counted: Vec<Families> = Vec::with_capacity(camp.len());
    for families in camp {
        if counted.iter().all(|&other| families.is_independent_of(other)) {
            counted.push(families);
        }
    }
    counted.len()
}

/// Engines' names in a sentence.
pub(crate) fn join_names<'w>(ids: impl IntoIterator<Item = &'w EngineId>) -> String {
    let names: Vec<String> = ids.into_iter().map(ToString::to_string).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}
