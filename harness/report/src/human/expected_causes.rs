//! Differences that are as expected, grouped by cause and printed at the end. Verdicts have the reason why a cause is known.
//! Unexpected differences are printed as they come.

use std::cmp::Reverse;
use std::fmt::Write as _;

use indexmap::IndexMap;

use super::{Human, pluralize};
use crate::correctness;
use crate::event::{Verdict, VerdictKind};
use crate::style::Tone;

/// How much to print about differences that are as expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KnownDetail {
    /// Nothing but their number.
    None,
    /// The causes of most of them, with counts.
    #[default]
    Groups,
    /// Every cause, with its cases by name.
    All,
}

/// How many lines the groups take.
const LINES: usize = 5;

/// The width that a line of a group is cut to.
const WIDTH: usize = 80;

/// The heading of cases that no model and no message of a known bug explains.
const UNNAMED: &str = "no known bug";

/// The cases by cause.
#[derive(Clone, Debug, Default)]
pub(super) struct Causes {
    causes: IndexMap<String, Vec<String>>,
}

impl Causes {
    /// Takes in a verdict that is as expected.
    pub(super) fn count(&mut self, verdict: &Verdict) {
        if !matches!(
            verdict.verdict,
            VerdictKind::Differ | VerdictKind::Nondeterministic
        ) {
            return;
        }
        let mut names: Vec<&str> = verdict
            .differences
            .iter()
            .flat_map(|difference| &difference.explained)
            .map(String::as_str)
            .collect();
        names.sort_unstable();
        names.dedup();
        let cause = if names.is_empty() {
            UNNAMED.to_owned()
        } else {
            names.join(" + ")
        };
        self.causes.entry(cause).or_default().push(verdict.case.clone());
    }

    /// A case of the most frequent cause.
    pub(super) fn example(&self) -> Option<&str> {
        let (_, cases) = self.sorted().into_iter().next()?;
        cases.first().map(String::as_str)
    }

    /// Those with most cases first; what no bug explains comes last.
    fn sorted(&self) -> Vec<(&str, &[String])> {
        let mut causes: Vec<(&str, &[String])> = self
            .causes
            .iter()
            .map(|(cause, cases)| (cause.as_str(), cases.as_slice()))
            .collect();
        causes.sort_by_key(|&(cause, cases)| (cause == UNNAMED, Reverse(cases.len()), cause));
        causes
    }
}

impl Human {
    /// The expected differences, in the requested detail.
    pub(super) fn known_causes(&self) -> String {
        let causes = self.causes.sorted();
        let mut text = String::new();
        let total = causes.iter().map(|(_, cases)| cases.len()).sum::<usize>();
        if total == 0 || self.known_detail == KnownDetail::None {
            return text;
        }
        let all = self.known_detail == KnownDetail::All;
        let hint = if all {
            ""
        } else {
            "; `--known all` names the cases"
        };
        let _ = writeln!(
            text,
            "{} {total} {} as expected, by cause{hint}",
            self.paint(Tone::Dim, "known"),
            if total == 1 {
                "case differs"
            } else {
                "cases differ"
            },
        );
        let shown = if all || causes.len() <= LINES {
            causes.len()
        } else {
            LINES - 1
        };
        let (first, rest) = causes.split_at(shown);
        let width = first
            .iter()
            .map(|(cause, _)| cause.chars().count())
            .max()
            .unwrap_or(0);
        for (cause, cases) in first {
            let _ = writeln!(text, "{}", render_cause(cause, cases.len(), width));
            if all {
                for case in *cases {
                    let _ = writeln!(text, "          {}", self.paint(Tone::Name, case));
                }
            }
        }
        if !rest.is_empty() {
            let cases: usize = rest.iter().map(|(_, cases)| cases.len()).sum();
            let more = rest.len() as u64;
            let _ = writeln!(text, "  {cases:>6}  {more} other {}", pluralize(more, "cause"));
        }
        text
    }
}

/// A cause with its count, and what goes wrong as far as the line has room.
fn render_cause(cause: &str, count: usize, width: usize) -> String {
    let head = format!("  {count:>6}  {cause:width$}");
    let about = if cause == UNNAMED {
        "explains them; their files say why"
    } else {
        correctness::find_known_bug(cause).map_or("", |(about, _)| about)
    };
    let about = about.lines().next().unwrap_or_default();
    let room = WIDTH.saturating_sub(head.chars().count() + 2);
    let text = if about.chars().count() <= room {
        format!("{head}  {about}")
    } else if room >= 20 {
        let cut: String = about.chars().take(room - 1).collect();
        format!("{head}  {}…", cut.trim_end())
    } else {
        head
    };
    text.trim_end().to_owned()
}
