//! The results of conforming implementations, as the reference computes them: what engines may leave beside its own bits.

use std::cell::{Cell, OnceCell};
use std::time::{Duration, Instant};

use cerith_accept::{Accepted, StoredElement};
use cerith_case::Case;
use cerith_engine::{Conforming, EngineId, Failure, Outcome, Reference, catch_panic};
use cerith_memory::{ByteState, Memory, StorageId};
use cerith_tile::rules::Rules;

use crate::difference::Tolerance;
use crate::interval::{self, OutsideInterval};
use crate::panel::EngineRun;

/// Cerith's own failure in the reference.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum ReferenceError {
    /// It panicked, with the message of the panic.
    #[error("{0}")]
    Panic(String),
    /// It failed.
    #[error("failed to {0}")]
    Failure(#[from] Failure),
    /// It does not accept its own bytes.
    #[error(transparent)]
    Outside(Box<OutsideInterval>),
}

/// Rules, and the reference's outcome under them once it ran.
type RulesAnswer<T> = (Rules, OnceCell<Result<T, ReferenceError>>);

/// The results of conforming implementations, computed by the reference when bits differ for the first time. If several
/// sets of rules produce the same bits, a result that any of them allows is allowed.
pub(crate) struct ByReference<'a> {
    reference: Option<&'a Reference>,
    case: &'a Case,
    /// The reference's own outcome.
    reference_outcome: Option<&'a Outcome>,
    answers: Vec<RulesAnswer<Conforming>>,
    /// The rules under which the reference computes like NumPy, and the outcome, if there is one.
    as_numpy: Option<RulesAnswer<Option<Memory>>>,
    /// Whether the case multiplies matrices. NumPy leaves the order of the sums to a library, and that order is not known.
    multiplies: OnceCell<bool>,
    /// How long it took to answer.
    pub(crate) spent: Cell<Duration>,
}

impl<'a> ByReference<'a> {
    pub(crate) fn new(
        asked: Option<(&'a Reference, Vec<Rules>)>,
        case: &'a Case,
        own: Option<&'a Outcome>,
    ) -> Self {
        let (reference, rules) = asked.unzip();
        Self {
            reference,
            case,
            reference_outcome: own,
            as_numpy: None,
            multiplies: OnceCell::new(),
            answers: rules
                .into_iter()
                .flatten()
                .map(|rules| (rules, OnceCell::new()))
                .collect(),
            spent: Cell::default(),
        }
    }

    /// Adds rules for engines that may be Triton's interpreter.
    pub(crate) fn with_others<'r>(mut self, mut others: impl Iterator<Item = &'r EngineRun>) -> Self {
        let rules = self.answers.first().map(|(rules, _)| *rules);
        let interpreted = |record: &EngineRun| {
            let is_interpreter = matches!(record.origin, EngineId::Interpret { .. });
            is_interpreter && record.outcome.finished().is_some()
        };
        if self.reference_outcome.and_then(Outcome::finished).is_some() && others.any(interpreted) {
            self.as_numpy = rules.map(|rules| (rules, OnceCell::new()));
        }
        self
    }

    /// Cerith's own failure in the reference, if there was one.
    pub(crate) fn failure(&self) -> Option<&ReferenceError> {
        let mut given = self.answers.iter().filter_map(|(_, answer)| answer.get());
        let bounds = given.find_map(|answer| answer.as_ref().err());
        let as_numpy = self.as_numpy.as_ref().and_then(|(_, answer)| answer.get());
        bounds.or_else(|| as_numpy?.as_ref().err())
    }

    fn answers(&self) -> impl Iterator<Item = &Result<Conforming, ReferenceError>> {
        let asked = self
            .reference
            .map(|reference| self.answers.iter().map(move |asked| (reference, asked)));
        asked.into_iter().flatten().map(|(reference, (rules, answer))| {
            answer.get_or_init(|| {
                let began = Instant::now();
                let answer = self.ask(reference, *rules);
                self.spent.set(self.spent.get() + began.elapsed());
                answer
            })
        })
    }

    fn ask(&self, reference: &Reference, rules: Rules) -> Result<Conforming, ReferenceError> {
        let conforming = run_guarded(|| reference.find_conforming(self.case, rules))?;
        let own = self.reference_outcome.and_then(Outcome::finished);
        if let (Some(own), Conforming::Known(map)) = (own, &conforming) {
            interval::holds(&own.memory, map).map_err(|error| ReferenceError::Outside(Box::new(error)))?;
        }
        Ok(conforming)
    }
}

impl Tolerance for ByReference<'_> {
    fn find_accepted(&self, storage: StorageId, byte: usize) -> (usize, Accepted) {
        let under = self.answers().map(|answer| match answer {
            // Cerith's own failures blame no engine.
            Err(_) | Ok(Conforming::Anything(_)) => (byte, Accepted::Unknown),
            Ok(Conforming::Known(map)) => map.accepted_at(storage, byte),
        });
        under
            .reduce(interval::merge_accepted)
            .unwrap_or((byte, Accepted::Exact))
    }

    fn can_leave(&self, storage: StorageId, first: usize, bytes: &[u8]) -> bool {
        let Some((reference, (rules, memory))) = self.reference.zip(self.as_numpy.as_ref()) else {
            return false;
        };
        let memory = memory.get_or_init(|| {
            let began = Instant::now();
            let memory = run_guarded(|| reference.as_numpy(self.case, *rules));
            self.spent.set(self.spent.get() + began.elapsed());
            memory
        });
        let Ok(Some(memory)) = memory else {
            return false;
        };
        // Bytes that are undefined with NumPy's values prove nothing.
        let range = first..first + bytes.len();
        memory
            .read(storage, range)
            .is_some_and(|part| *part.bytes == *bytes && !part.states.contains(&ByteState::Poison))
    }

    fn one_value(&self) -> Vec<Vec<StoredElement>> {
        // If no bounds were needed, all bytes come from one computation.
        let known = self.answers.iter().map(|(_, answer)| answer.get());
        let mut maps = known.map(|answer| match answer {
            Some(Ok(Conforming::Known(map))) => Some(map),
            _ => None,
        });
        match maps.next() {
            Some(Some(map)) if maps.all(|map| map.is_some()) => map.one_value(),
            _ => Vec::new(),
        }
    }

    fn begins_with_bounds(&self) -> bool {
        *self.multiplies.get_or_init(|| {
            let asked = self.reference.zip(self.as_numpy.as_ref());
            asked.is_some_and(|(reference, (rules, _))| {
                let multiplies = run_guarded(|| reference.has_float_dot(self.case, *rules));
                multiplies.unwrap_or_default()
            })
        })
    }

    fn unknown_reason(&self) -> Option<String> {
        self.answers().find_map(|answer| match answer {
            Ok(Conforming::Anything(why)) => Some(why.clone()),
            Err(_) => Some("Cerith failed to say what a conforming implementation may give".to_owned()),
            Ok(Conforming::Known(_)) => None,
        })
    }
}

/// The reference's outcome, or Cerith's own failure.
fn run_guarded<T>(ask: impl FnOnce() -> Result<T, Failure>) -> Result<T, ReferenceError> {
    Ok(catch_panic(ask).map_err(ReferenceError::Panic)??)
}
