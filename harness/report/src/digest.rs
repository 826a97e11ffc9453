//! The parts of a stream for a short report: the numbers of every area and engine, and the verdicts worth a look. Its size
//! is bounded for a stream of any length.

use indexmap::IndexMap;
use serde::Serialize;

use crate::event::{Event, Internal, LeftOut, Problem, Start, Summary, Verdict, VerdictKind};

/// The most verdicts of a kind that are kept in full; all are counted.
pub const MAX_KEPT_VERDICTS: usize = 500;

/// Numbers of one area.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Area {
    /// Cases.
    pub cases: u64,
    /// Agree.
    pub agree: u64,
    /// Differ.
    pub differ: u64,
    /// Nondeterministic.
    pub nondeterministic: u64,
    /// Undefined.
    pub undefined: u64,
    /// Inconclusive.
    pub inconclusive: u64,
    /// Not let through by the gate.
    pub failed: u64,
}

/// A stream in short.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Digest {
    /// How it began.
    pub start: Start,
    /// How it ended; counted here when the stream ends early.
    pub summary: Summary,
    /// Whether the stream ends early.
    pub cut: bool,
    /// Every area, in the order of the stream.
    pub areas: IndexMap<String, Area>,
    /// Verdicts that the gate does not let through.
    pub failures: Vec<Verdict>,
    /// Differences that were expected.
    pub differences: Vec<Verdict>,
    /// How many differences were expected, with those that are not kept.
    pub expected_differences: u64,
    /// Verdicts that are not as expected, and so in the baseline. The summary has how many.
    pub in_baseline: Vec<Verdict>,
    /// Undefined and inconclusive verdicts that break nothing.
    pub harmless: Vec<Verdict>,
    /// Bad input.
    pub problems: Vec<Problem>,
    /// Failures of Cerith.
    pub internal: Vec<Internal>,
    counted: Summary,
    ended: bool,
}

impl Digest {
    /// Takes in one event.
    pub fn add_event(&mut self, event: &Event) {
        self.counted.count(event);
        match event {
            Event::Start(start) => self.start = start.clone(),
            Event::Problem(problem) => keep(&mut self.problems, problem),
            Event::Internal(internal) => keep(&mut self.internal, internal),
            Event::Summary(summary) => {
                self.summary = summary.clone();
                self.ended = true;
            }
            Event::Verdict(verdict) | Event::Sweep(verdict) => {
                let area = self.areas.entry(verdict.area().to_owned()).or_default();
                area.cases += 1;
                let count = match verdict.verdict {
                    VerdictKind::Agree => &mut area.agree,
                    VerdictKind::Differ => &mut area.differ,
                    VerdictKind::Nondeterministic => &mut area.nondeterministic,
                    VerdictKind::Undefined => &mut area.undefined,
                    VerdictKind::Inconclusive => &mut area.inconclusive,
                };
                *count += 1;
                if !verdict.passes() {
                    area.failed += 1;
                    keep(&mut self.failures, &strip_exhibit(verdict));
                } else if verdict.is_in_baseline() {
                    keep(&mut self.in_baseline, &strip_exhibit(verdict));
                } else if matches!(
                    verdict.verdict,
                    VerdictKind::Differ | VerdictKind::Nondeterministic
                ) {
                    self.expected_differences += 1;
                    keep(&mut self.differences, &strip_exhibit(verdict));
                } else if verdict.verdict != VerdictKind::Agree {
                    keep(&mut self.harmless, &strip_exhibit(verdict));
                }
            }
        }
    }

    /// Ends the stream.
    #[must_use]
    pub fn finish(mut self) -> Self {
        if !self.ended {
            self.cut = true;
            self.summary = self.counted.clone();
            self.summary.exit = self.summary.exit_code();
        }
        // Our own bugs come first.
        self.failures
            .sort_by_key(|verdict| !verdict.blame.iter().any(|id| id == "reference"));
        self
    }

    /// Engines that would have run but cannot.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.start.left_out
    }

    /// The outcome of the gate in words.
    pub fn gate(&self) -> &'static str {
        describe_gate(self.cut, &self.summary)
    }
}

/// The outcome of the gate in words.
pub(crate) fn describe_gate(cut: bool, summary: &Summary) -> &'static str {
    match (cut, summary.exit) {
        (true, _) => "cut short",
        (_, 0) => "as expected",
        (_, 1) => "not as expected",
        (_, 2) => "errors in the input",
        (_, 3) if summary.has_no_second_engine() => "nothing to compare with",
        (_, 3) => "nothing was run",
        _ => "interrupted",
    }
}

/// A verdict as a page of numbers and words needs it: without its exhibit, which is large.
fn strip_exhibit(verdict: &Verdict) -> Verdict {
    Verdict {
        exhibit: None,
        ..verdict.clone()
    }
}

fn keep<T: Clone>(all: &mut Vec<T>, one: &T) {
    if all.len() < MAX_KEPT_VERDICTS {
        all.push(one.clone());
    }
}
