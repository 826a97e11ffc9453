//! Witnesses: which engine gave which outcome, from which code, and what it can confirm.
//!
//! Engines whose outcomes came from the same code are one witness. An engine that is expected to differ is no witness for the
//! reference: if it agrees now, one of the two has changed. A record that agreed with the reference when it was accepted cannot
//! have changed, so the reference or the trial has. If a case is expected to have no answer, and has one now, the reference is
//! suspected first.
//!
//! What engines share is counted by bodies of code, and an outcome as a whole: `ptx@V` is the compiler's witness, though it rounds to
//! 16-bit floats and computes `exp2` and `log2` with the reference's arithmetic (docs/internals/ptx.md says what that leaves unconfirmed).
//!
//! Left out: camps and blame (see [`crate::trial`]).

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
    /// What it did.
    pub outcome: &'a Outcome,
}

impl Witness<'_> {
    /// Whether it can speak for or against the reference, because it came from other code.
    pub(crate) fn is_apart(&self) -> bool {
        self.families
            .is_independent_of(Families::from_engine(&EngineId::Reference))
    }
}

/// What is known about the engines of a bench before the trial.
#[derive(Clone, Debug, Default)]
pub struct EngineFacts {
    /// Engines that are expected to differ here in this way. Somebody has looked into it, so they do not convict the reference.
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
    /// Engines whose outcome a known bug explains: they do not speak against the reference, and what stops them is not what stops
    /// another engine.
    pub explained: Vec<EngineId>,
    /// The parts of Triton's own code, shared by its interpreter and its compiler, that the case goes through.
    pub through: Vec<String>,
}

/// Whether the reference is expected to have an answer to a case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Undefined {
    /// Nothing is expected of the reference with the options that it was asked with.
    #[default]
    Anything,
    /// That it has one: no expectation says otherwise.
    Unforeseen,
    /// That it has none, with the message that it gives now or without a message.
    Foreseen,
    /// That it has none, but with another message than now.
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
