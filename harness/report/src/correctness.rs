//! The correctness of one engine in a verdict's event: right, wrong and in what way, without an answer, or silent. See
//! [`crate::bump`] for its correctness in a different version.

use cerith_tile::quirk::{Quirk, signature};

use crate::event::{Difference, Element, EngineOutcome, Kind, OutcomeKind, Verdict, VerdictKind};
use crate::safe;

/// How an engine does in a case, by the language rules of its own version.
#[derive(Clone, Debug, PartialEq)]
pub enum Correctness {
    /// It did what the language says.
    Right {
        /// The word of its outcome: `finished`, `rejected`, `trapped`.
        outcome: OutcomeKind,
    },
    /// It did something else.
    Wrong(Wrong),
    /// The program has no defined answer.
    Undefined,
    /// It has no outcome, or its outcome cannot be judged.
    Silent {
        /// The word of its outcome, or of the verdict.
        outcome: String,
        /// Why.
        reason: String,
    },
}

/// In what way an engine is wrong.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wrong {
    /// In what way it differs.
    pub kind: Kind,
    /// Its outcome.
    pub outcome: OutcomeKind,
    /// The known bugs that explain it, by name.
    pub known_bugs: Vec<String>,
    /// The text of the error, without parts that belong to one case; empty if both sides finished.
    pub message: String,
    /// The kernel's line that the words are about.
    pub line: String,
    /// How many elements differ.
    pub elements: u64,
    /// The first of them.
    first: Vec<Element>,
}

impl Wrong {
    /// Whether the first elements that differ are the same, with the same values.
    pub fn has_elements_of(&self, other: &Self) -> bool {
        self.first == other.first
    }
}

impl Correctness {
    /// The correctness of an engine in a verdict, or `None` if it did not run.
    pub fn from_verdict(verdict: &Verdict, engine: &str) -> Option<Self> {
        if !verdict.engines.iter().any(|id| id == engine) {
            return None;
        }
        let outcome = verdict.outcomes.get(engine);
        let end = outcome.map_or(OutcomeKind::Finished, |outcome| outcome.outcome);
        if matches!(
            end,
            OutcomeKind::Unavailable | OutcomeKind::Unsupported | OutcomeKind::Exhausted
        ) {
            return Some(Self::Silent {
                outcome: end.to_string(),
                reason: outcome.map_or_else(String::new, |outcome| {
                    let first = outcome.message.lines().next().unwrap_or_default();
                    safe::escape_line(first).into_owned()
                }),
            });
        }
        let differences = || verdict.differences.iter().filter(|one| one.engine == engine);
        let difference = differences()
            .find(|one| one.baseline == "reference")
            .or_else(|| differences().next());
        let blamed = verdict.blame.iter().any(|id| id == engine);
        if verdict.verdict == VerdictKind::Undefined || verdict.without_answer.iter().any(|id| id == engine) {
            return Some(Self::Undefined);
        }
        Some(match difference {
            Some(difference) if blamed => Self::Wrong(build_wrong(verdict, engine, difference)),
            _ if verdict.verdict == VerdictKind::Inconclusive => Self::Silent {
                outcome: "inconclusive".to_owned(),
                reason: verdict.reason.clone().unwrap_or_default(),
            },
            Some(difference) => Self::Wrong(build_wrong(verdict, engine, difference)),
            None => Self::Right { outcome: end },
        })
    }
}

fn build_wrong(verdict: &Verdict, engine: &str, difference: &Difference) -> Wrong {
    let outcome = |engine: &str| verdict.outcomes.get(engine);
    let speaks = |outcome: Option<&EngineOutcome>| outcome.is_some_and(|one| !one.message.is_empty());
    // An engine that runs a program which the language rejects is not rated; the reference has the reason.
    let spoken = [engine, &difference.baseline]
        .into_iter()
        .map(outcome)
        .find(|outcome| speaks(*outcome))
        .flatten();
    let mut known = difference.explained.clone();
    known.sort();
    Wrong {
        kind: difference.kind,
        outcome: outcome(engine).map_or(OutcomeKind::Finished, |one| one.outcome),
        known_bugs: known,
        message: spoken.map_or_else(String::new, |one| {
            let error = if one.error.is_empty() {
                String::new()
            } else {
                format!("{}: ", one.error)
            };
            format!("{error}{}", normalize_message(&one.message))
        }),
        line: spoken
            .and_then(|one| one.position.as_ref())
            .map_or_else(String::new, |position| position.text.trim().to_owned()),
        elements: difference.elements,
        first: difference.first.clone(),
    }
}

/// The first line of a message, without the numbers that belong to one case.
fn normalize_message(message: &str) -> String {
    const MAX_CHARS: usize = 160;
    let mut plain = String::new();
    let mut number = false;
    for c in message.lines().next().unwrap_or_default().chars() {
        let digit = c.is_ascii_digit();
        match (digit, number) {
            (true, true) => {}
            (true, false) => plain.push('N'),
            (false, _) if c.is_control() => plain.push(' '),
            (false, _) => plain.push(c),
        }
        number = digit;
    }
    if plain.chars().count() > MAX_CHARS {
        plain = plain.chars().take(MAX_CHARS - 1).chain(['…']).collect();
    }
    plain.trim().to_owned()
}

/// Looks up a known bug by the name that reports use: what goes wrong, and a link, if there is one.
pub fn find_known_bug(name: &str) -> Option<(&'static str, Option<&'static str>)> {
    if let Some(quirk) = Quirk::from_name(name) {
        return Some((quirk.summary().trim(), Some(quirk.origin())));
    }
    let told = signature::ALL.iter().find(|told| told.name == name)?;
    Some((told.summary.trim(), None))
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::*;

    fn build_verdict() -> Verdict {
        Verdict {
            case: "a/b".to_owned(),
            engines: vec!["reference".to_owned(), "interpret@3.8.0".to_owned()],
            verdict: VerdictKind::Differ,
            blame: vec!["interpret@3.8.0".to_owned()],
            differences: vec![Difference {
                baseline: "reference".to_owned(),
                engine: "interpret@3.8.0".to_owned(),
                kind: Kind::Trap,
                ..Difference::default()
            }],
            outcomes: IndexMap::from([(
                "interpret@3.8.0".to_owned(),
                EngineOutcome {
                    outcome: OutcomeKind::Trapped,
                    error: "ValueError".to_owned(),
                    message: "shape (16, 4) of v12\nand more".to_owned(),
                    ..EngineOutcome::default()
                },
            )]),
            ..Verdict::default()
        }
    }

    #[test]
    fn words_of_a_wrong_engine_lose_their_numbers() {
        let Some(Correctness::Wrong(wrong)) = Correctness::from_verdict(&build_verdict(), "interpret@3.8.0")
        else {
            panic!("it is wrong");
        };
        assert_eq!(wrong.message, "ValueError: shape (N, N) of vN");
        assert_eq!(wrong.outcome, OutcomeKind::Trapped);
    }

    #[test]
    fn who_is_not_blamed_and_does_not_differ_is_right() {
        let right = Correctness::Right {
            outcome: OutcomeKind::Finished,
        };
        assert_eq!(
            Correctness::from_verdict(&build_verdict(), "reference"),
            Some(right)
        );
        assert_eq!(Correctness::from_verdict(&build_verdict(), "cuda@3.8.0"), None);
    }

    #[test]
    fn what_has_no_answer_for_one_version_has_none_for_that_one_alone() {
        let undefined = Verdict {
            without_answer: vec!["interpret@3.8.0".to_owned()],
            ..build_verdict()
        };
        assert_eq!(
            Correctness::from_verdict(&undefined, "interpret@3.8.0"),
            Some(Correctness::Undefined)
        );
        assert_ne!(
            Correctness::from_verdict(&undefined, "reference"),
            Some(Correctness::Undefined)
        );
    }

    #[test]
    fn every_known_bug_has_words() {
        assert!(
            find_known_bug("bf16-is-bits")
                .is_some_and(|(about, origin)| !about.is_empty() && origin.is_some())
        );
        assert_eq!(find_known_bug("no-such-bug"), None);
    }
}
