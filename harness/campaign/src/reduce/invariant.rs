//! The properties of a difference that must stay the same while its case is reduced: the engine, the kind, the known bugs that
//! explain it, and the message of an error. See `candidate_tester` for testing candidates.

use cerith_engine::{Complaint, EngineId, Outcome};
use cerith_tile::quirk::Quirks;
use cerith_tile::quirk::signature::BugSignature;
use cerith_verdict::{Difference, EngineRun, Kind, Trial};

/// The properties of one engine's difference that must stay the same.
#[derive(Clone, Debug)]
pub struct Invariant {
    /// The engine that differs.
    pub engine: EngineId,
    kind: Kind,
    cause: Cause,
    appearance: Appearance,
}

/// The known cause of a difference.
#[derive(Clone, Copy, Debug)]
enum Cause {
    /// No known bug: the difference is new.
    News,
    /// These bugs explain it.
    Explained(Quirks),
    /// This known bug explains it, by its signature.
    Told(&'static BugSignature),
}

/// How a difference looks, without the parts that may change in a smaller case.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Appearance {
    /// The message of an exception or a rejection, and the file that raised it.
    Words(String, Option<String>),
    /// Elements: whether they are floats, and which side has a NaN.
    Elements { float: bool, nan: [bool; 2] },
    /// Nothing that can be compared.
    Nothing,
}

impl Invariant {
    /// The invariants of all engines that differ, one for each engine. If an engine has several differences, a new one is preferred.
    pub fn from_trial(trial: &Trial) -> Vec<Self> {
        let mut invariants: Vec<Self> = Vec::new();
        for difference in &trial.verdict.differences {
            let invariant = Self {
                engine: difference.engine.clone(),
                kind: difference.kind,
                cause: Cause::from_difference(difference),
                appearance: Appearance::from_difference(difference, trial),
            };
            match invariants
                .iter_mut()
                .find(|other| other.engine == invariant.engine)
            {
                Some(other) if matches!((other.cause, invariant.cause), (Cause::News, _)) => {}
                Some(other) if matches!(invariant.cause, Cause::News) => *other = invariant,
                Some(_) => {}
                None => invariants.push(invariant),
            }
        }
        invariants
    }

    /// Whether it is still there.
    pub fn is_in(&self, trial: &Trial) -> bool {
        trial.failed.is_empty()
            && trial.verdict.differences.iter().any(|one| {
                one.engine == self.engine
                    && one.kind == self.kind
                    && self.cause.is_cause_of(one)
                    && self
                        .appearance
                        .is_similar(&Appearance::from_difference(one, trial), self.cause)
            })
    }

    /// Describes the properties that are kept.
    pub fn describe(&self) -> String {
        let known = match self.cause {
            Cause::News => "that no known bug explains".to_owned(),
            Cause::Explained(quirks) => {
                let names: Vec<String> = quirks.iter().map(|quirk| quirk.to_string()).collect();
                format!("that {} explains", names.join(" and "))
            }
            Cause::Told(told) => format!("explained by {}", told.name),
        };
        let words = match &self.appearance {
            Appearance::Words(words, _) if !words.is_empty() => format!(": {words}"),
            _ => String::new(),
        };
        format!("{}: {} {known}{words}", self.engine, self.kind.name())
    }
}

impl Cause {
    fn from_difference(difference: &Difference) -> Self {
        match difference.known_bug {
            Some(told) => Self::Told(told),
            None if difference.explained.is_empty() => Self::News,
            None => Self::Explained(difference.explained),
        }
    }

    /// Whether a smaller difference is known by the same: of several bugs, any may go.
    fn is_cause_of(self, difference: &Difference) -> bool {
        match (self, Self::from_difference(difference)) {
            (Self::News, Self::News) => true,
            (Self::Explained(before), Self::Explained(now)) => {
                now.iter().all(|quirk| before.iter().any(|other| other == quirk))
            }
            (Self::Told(before), Self::Told(now)) => before.name == now.name,
            _ => false,
        }
    }
}

impl Appearance {
    fn from_difference(difference: &Difference, trial: &Trial) -> Self {
        if let Some(comparison) = &difference.comparison {
            let Some(first) = comparison.first.first() else {
                return Self::Nothing;
            };
            return Self::Elements {
                float: first.dtype.is_some_and(cerith_tile::DType::is_float),
                nan: [0, 1].map(|side| {
                    let bits = first.bits.get(side).copied().unwrap_or(0);
                    first
                        .dtype
                        .is_some_and(|dtype| cerith_tile::numeric::is_nan(dtype, bits))
                }),
            };
        }
        let of_engine = trial.other_records.iter().find(|one| one.id == difference.engine);
        let of_baseline = trial
            .other_records
            .iter()
            .chain(&trial.references)
            .find(|one| one.id == difference.baseline);
        let said =
            |record: Option<&EngineRun>| record.and_then(|record| find_complaint(&record.outcome).cloned());
        said(of_engine)
            .or_else(|| said(of_baseline))
            .map_or(Self::Nothing, |said| {
                Self::Words(
                    format!("{} {}", said.kind, normalise_complaint(&said)),
                    said.raised,
                )
            })
    }

    /// Whether it looks the same. A difference that a known bug explains may look different.
    fn is_similar(&self, now: &Self, known: Cause) -> bool {
        match (self, now) {
            (Self::Elements { .. }, Self::Elements { .. }) if !matches!(known, Cause::News) => true,
            _ => self == now,
        }
    }
}

/// The reason why the launches of an outcome did not finish.
fn find_complaint(outcome: &Outcome) -> Option<&Complaint> {
    outcome.complaint().filter(|_| outcome.finished().is_none())
}

/// The message of a complaint without the parts that depend on the case: names in quotes, numbers, shapes, dtypes.
pub fn normalise_complaint(complaint: &Complaint) -> String {
    let line = complaint.message.lines().next().unwrap_or_default();
    let mut kept: Vec<&str> = Vec::new();
    for (nth, part) in line.split(['\'', '`', '"']).enumerate() {
        if nth % 2 == 1 {
            continue;
        }
        let plain = part
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .filter(|word| word.len() > 1 && !word.contains(|c: char| c.is_ascii_digit() || c == '_'));
        kept.extend(plain);
    }
    kept.truncate(16);
    kept.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_that_another_kernel_has_too() {
        let said = |message: &str| normalise_complaint(&Complaint::new("TypeError", message));
        assert_eq!(
            said("cannot cast v19 of int32 to 'fp16' with (4, 8) elements"),
            "cannot cast of to with elements"
        );
        assert_eq!(said("a\nb"), "");
    }
}
