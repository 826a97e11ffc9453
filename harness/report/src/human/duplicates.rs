//! Diagnostics that say the same: the same kernel, the same line, the same kind. The first is printed in full, and the
//! others are named under it, or at the end if something else came between. See [`super`] for the form of a diagnostic.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::Human;
use crate::event::{EngineOutcome, Internal, State, Verdict};
use crate::html::cause::normalize_message;
use crate::style::Tone;

/// The maximum number of names under one diagnostic; `-v` has all.
const MAX_NAMED: usize = 40;

/// The width that names are broken at.
const WIDTH: usize = 100;

/// The diagnostics printed so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Printed {
    by_key: HashMap<String, usize>,
    firsts: Vec<First>,
}

/// One of them, with the cases that would say the same and are not named yet.
#[derive(Clone, Debug)]
struct First {
    case: String,
    other_cases: Vec<String>,
}

impl Printed {
    /// Whether something like it was printed. Then the case is kept to be named.
    pub(super) fn note_repeat(&mut self, key: Option<&str>, case: &str) -> bool {
        let at = key.and_then(|key| self.by_key.get(key));
        let Some(first) = at.and_then(|&at| self.firsts.get_mut(at)) else {
            return false;
        };
        first.other_cases.push(case.to_owned());
        true
    }

    /// It is printed now.
    pub(super) fn begin(&mut self, key: Option<String>, case: &str) {
        if let Some(key) = key {
            self.by_key.insert(key, self.firsts.len());
        }
        self.firsts.push(First {
            case: case.to_owned(),
            other_cases: Vec::new(),
        });
    }
}

impl Human {
    /// The cases that say what the diagnostic printed last says, before another one is printed.
    pub(super) fn named_under(&mut self) -> String {
        let names = self
            .printed
            .firsts
            .last_mut()
            .map(|first| std::mem::take(&mut first.other_cases));
        self.render_names("the same in", &names.unwrap_or_default())
    }

    /// In the end, all that are not named yet.
    pub(super) fn named_last(&mut self) -> String {
        let mut text = self.named_under();
        for at in 0..self.printed.firsts.len() {
            let Some(first) = self.printed.firsts.get_mut(at) else {
                continue;
            };
            let (case, others) = (first.case.clone(), std::mem::take(&mut first.other_cases));
            if !others.is_empty() {
                let _ = writeln!(
                    text,
                    "{} {}",
                    self.paint(Tone::Bad, "ALSO AS"),
                    self.paint(Tone::Name, &case)
                );
                text.push_str(&self.render_names("the same in", &others));
            }
        }
        text
    }

    fn render_names(&self, words: &str, names: &[String]) -> String {
        if names.is_empty() {
            return String::new();
        }
        let count = names.len();
        let cases = if count == 1 { "case" } else { "cases" };
        let mut text = format!("  {words} {count} other {cases} (the same kernel, line and kind):\n");
        let shown = if self.verbose { count } else { count.min(MAX_NAMED) };
        let mut length = 0;
        for (at, name) in names.iter().take(shown).enumerate() {
            let comma = if at + 1 == count { "" } else { "," };
            let wide = name.chars().count() + 2;
            if length == 0 {
                text.push_str("    ");
            } else if length + wide > WIDTH {
                text.push_str("\n    ");
                length = 0;
            } else {
                text.push(' ');
            }
            length += wide;
            let _ = write!(text, "{}{comma}", self.paint(Tone::Name, name));
        }
        if shown < count {
            let _ = write!(text, "\n    … and {} more; -v names them all", count - shown);
        }
        text.push('\n');
        text
    }
}

/// The key of verdicts that show the same failure: kernels, lines and kind. `None` if the kernel is unknown.
pub(super) fn build_key(verdict: &Verdict) -> Option<String> {
    let mut key = build_kernel_key(verdict)?;
    for part in [verdict.verdict.name(), &verdict.blame.join(",")] {
        let _ = write!(key, "|{part}");
    }
    let _ = write!(
        key,
        "|{}|{}|{}",
        verdict.vacuous,
        verdict.unexpected.join(","),
        verdict.stopped.join(",")
    );
    for (engine, outcome) in &verdict.outcomes {
        let _ = write!(key, "|{engine} {}", build_outcome_key(outcome));
    }
    for difference in &verdict.differences {
        let _ = write!(
            key,
            "|{} {} {} {}",
            difference.baseline,
            difference.engine,
            difference.kind,
            difference.explained.join(",")
        );
    }
    let stale = verdict
        .expectations
        .iter()
        .filter(|one| one.state == State::Stale);
    for expectation in stale {
        let line = expectation.position.as_ref().map_or(0, |at| at.line);
        let _ = write!(key, "|stale {line} {}", expectation.why);
    }
    if let Some(sweep) = &verdict.sweep {
        let _ = write!(key, "|{} {}", sweep.engine, sweep.odd.join(","));
    }
    for note in verdict.notes.iter().chain(&verdict.suspected) {
        let _ = write!(key, "|{}", normalize_message(note));
    }
    Some(key)
}

/// The key of two equal failures of Cerith. A message has its location in our source at the end.
pub(super) fn internal_key(internal: &Internal) -> String {
    format!(
        "internal|{}|{}",
        internal.engine.as_deref().unwrap_or_default(),
        internal.message
    )
}

/// The kernels with the lines that belong to differences. Streams without exhibits only have the case's file.
fn build_kernel_key(verdict: &Verdict) -> Option<String> {
    let Some(exhibit) = &verdict.exhibit else {
        let at = verdict.position.as_ref()?;
        return Some(at.file.clone());
    };
    let mut kernel = match exhibit.launches.as_slice() {
        [] => exhibit.file.clone(),
        _ => String::new(),
    };
    for launch in &exhibit.launches {
        let _ = write!(kernel, "|{}:{}", launch.file, launch.kernel);
    }
    for mark in exhibit.marks.iter().filter(|mark| !mark.writes.is_empty()) {
        let _ = write!(kernel, "|{}:{}", mark.file, mark.line);
    }
    Some(kernel)
}

fn build_outcome_key(outcome: &EngineOutcome) -> String {
    let at = outcome
        .position
        .as_ref()
        .map_or_else(String::new, |at| format!("{}:{}", at.file, at.line));
    format!(
        "{} {} {} {at}",
        outcome.outcome,
        outcome.error,
        normalize_message(&outcome.message)
    )
}
