//! Why an engine differs in a case, in a few words that many cases share: the known bug that explains it, or the error's
//! words without numbers and names. See [`super::index`] for counting them.

use serde::Serialize;

use crate::event::{Difference, EngineOutcome, OutcomeKind, Verdict, VerdictKind};

/// The number of characters of a message by which cases are grouped. The case has the whole message.
const MAX_LENGTH: usize = 160;

/// A cause.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub(super) struct Cause {
    /// `bug`, `message`, `bytes`, `undefined`, `inconclusive`, `silent` or `sweep`.
    pub(super) sort: &'static str,
    /// The bug's name, or the message.
    pub(super) name: String,
}

impl Cause {
    fn new(sort: &'static str, name: impl Into<String>) -> Self {
        Self {
            sort,
            name: name.into(),
        }
    }

    /// The causes of a difference.
    pub(super) fn of_difference(verdict: &Verdict, difference: &Difference) -> Vec<Self> {
        if !difference.explained.is_empty() {
            return difference
                .explained
                .iter()
                .map(|name| Self::new("bug", name))
                .collect();
        }
        let said = [&difference.engine, &difference.baseline]
            .into_iter()
            .filter_map(|engine| verdict.outcomes.get(engine))
            .find(|outcome| !outcome.message.is_empty() || !outcome.error.is_empty());
        let cause = match said {
            Some(outcome) => Self::new("message", describe_outcome(outcome)),
            None => Self::new("bytes", format!("{}, explained by no known bug", difference.kind)),
        };
        vec![cause]
    }

    /// The cause of an outcome that is not a difference, if it has one.
    pub(super) fn of_outcome(verdict: &Verdict, outcome: &EngineOutcome) -> Option<Self> {
        match outcome.outcome {
            OutcomeKind::Unavailable | OutcomeKind::Unsupported | OutcomeKind::Exhausted => {
                Some(Self::new("silent", describe_outcome(outcome)))
            }
            _ if verdict.verdict == VerdictKind::Undefined => {
                Some(Self::new("undefined", describe_outcome(outcome)))
            }
            _ => None,
        }
    }

    /// The cause of a verdict in which no engine has one.
    pub(super) fn of_verdict(verdict: &Verdict) -> Option<Self> {
        let reason = verdict
            .reason
            .as_deref()
            .map_or_else(String::new, normalize_message);
        match verdict.verdict {
            VerdictKind::Undefined => Some(Self::new("undefined", reason)),
            VerdictKind::Inconclusive => Some(Self::new("inconclusive", reason)),
            _ => None,
        }
    }
}

fn describe_outcome(outcome: &EngineOutcome) -> String {
    let message = normalize_message(&outcome.message);
    match (outcome.error.is_empty(), message.is_empty()) {
        (true, true) => outcome.outcome.to_string(),
        (true, false) => format!("{}: {message}", outcome.outcome),
        (false, true) => outcome.error.clone(),
        (false, false) => format!("{}: {message}", outcome.error),
    }
}

/// The first line of a message with its numbers, addresses and quoted words left out, so that what many cases say is one thing.
pub(crate) fn normalize_message(message: &str) -> String {
    let line = message
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("")
        .trim();
    let mut plain = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    let mut word = false;
    while let Some(c) = chars.next() {
        if c == '`' || (c == '\'' && !word) {
            for inner in chars.by_ref() {
                if inner == c {
                    break;
                }
            }
            plain.push('…');
            word = false;
        } else if c.is_ascii_digit() && !word {
            while chars
                .peek()
                .is_some_and(|next| next.is_ascii_alphanumeric() || *next == '.')
            {
                chars.next();
            }
            plain.push('#');
        } else {
            word = c.is_alphanumeric() || c == '_';
            plain.push(c);
        }
    }
    if plain.chars().count() > MAX_LENGTH {
        plain = plain.chars().take(MAX_LENGTH).chain(['…']).collect();
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::normalize_message;

    #[test]
    fn what_many_cases_say_is_one_thing() {
        for (message, same) in [
            ("at 14:20: cannot cast", "at #:#: cannot cast"),
            ("`x` has no value\nmore", "… has no value"),
            ("'float' object isn't there", "… object isn't there"),
            ("block of f32 at 0x7f00", "block of f32 at #"),
            ("unclosed `name", "unclosed …"),
            ("", ""),
        ] {
            assert_eq!(normalize_message(message), same);
        }
        assert_eq!(normalize_message(&"é".repeat(500)).chars().count(), 161);
    }
}
