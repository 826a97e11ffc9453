//! Next steps at the end of a run: the commands that show more. It does not run them.

use std::fmt::Write as _;

use super::{Human, KnownDetail};
use crate::event::{Start, State, Summary, Verdict};
use crate::style::Tone;

/// The cases and engines that the next commands are about.
#[derive(Clone, Debug, Default)]
pub(super) struct Next {
    /// Arguments that every command needs for the same result: the corpus, the engines.
    like: String,
    /// The corpus alone.
    corpus: String,
    /// Whether `cerith expect` can write expectations: the run is not a sweep, and its comparison skipped nothing.
    can_expect: bool,
    /// The first case that is not as expected.
    first: Option<String>,
    /// The first case in which the reference is to blame: our own bug comes before any other.
    ours: Option<String>,
    /// The location of the first expectation that no longer happens.
    stale: Option<String>,
}

impl Next {
    /// A stream begins.
    pub(super) fn start(&mut self, start: &Start) {
        self.can_expect = start.axes.is_empty() && start.checks.is_none() && start.masked.is_none();
        self.corpus = match start.corpus.as_str() {
            "" => String::new(),
            corpus => format!(" --cases {}", quote_for_shell(corpus)),
        };
        let mut like = self.corpus.clone();
        if !start.by_default {
            for engine in &start.engines {
                let _ = write!(like, " --engine {}", quote_for_shell(engine));
            }
        }
        if let Some(masked) = &start.masked {
            let _ = write!(like, " --masked {}", quote_for_shell(masked));
        }
        self.like = like;
    }

    /// A case is not as expected.
    pub(super) fn add_failure(&mut self, verdict: &Verdict) {
        let case = || verdict.case.clone();
        self.first.get_or_insert_with(case);
        if verdict.blame.iter().any(|id| id == "reference") {
            self.ours.get_or_insert_with(case);
        }
        let stale = verdict.expectations.iter().find(|one| one.state == State::Stale);
        if let Some(at) = stale.and_then(|one| one.position.as_ref()) {
            self.stale
                .get_or_insert_with(|| format!("{}:{}", at.file, at.line));
        }
    }
}

impl Human {
    /// The next steps. Empty if nothing was judged: the text above explains the fix.
    pub(super) fn next(&self, summary: &Summary) -> String {
        let mut text = String::new();
        if summary.cases == 0 {
            return text;
        }
        let next = &self.next;
        let mut line = |command: String, what: &str| {
            let _ = writeln!(text, "{} {what}: {command}", self.paint(Tone::Dim, "next:"));
        };
        let explain = |case: &str| {
            self.paint(
                Tone::Name,
                &format!("cerith explain {}{}", quote_for_shell(case), next.like),
            )
        };
        if let Some(case) = next.ours.as_ref().or(next.first.as_ref()) {
            let what = if next.ours.is_some() {
                "the first case in which the reference is wrong"
            } else {
                "the first unexpected case"
            };
            line(explain(case), what);
        } else if let Some(case) = self.known_example(summary) {
            line(explain(case), "a known difference");
        }
        let expect = |flag: &str| {
            let kept = self.reports_folder.as_ref().filter(|_| next.can_expect)?;
            let out = match kept.as_str() {
                "" => String::new(),
                folder => format!(" --out {}", quote_for_shell(folder)),
            };
            Some(self.paint(Tone::Name, &format!("cerith expect{flag}{}{out}", next.corpus)))
        };
        if summary.unexpected > 0
            && let Some(command) = expect("")
        {
            line(command, "review the differences and write expectations");
        }
        if let Some(at) = &next.stale {
            line(at.clone(), "remove the expectation if the bug is fixed");
            if let Some(command) = expect(" --prune") {
                line(command, "or remove all that no longer happen");
            }
        }
        text
    }
}

impl Human {
    /// A case to look at where all is well.
    fn known_example(&self, summary: &Summary) -> Option<&str> {
        let wanted = summary.exit == 0 && self.known_detail != KnownDetail::None;
        self.causes.example().filter(|_| wanted)
    }
}

/// Quotes a text so that a shell reads it as one word, and Cerith as a path or an id, not as an option.
pub fn quote_for_shell(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=,@%+".contains(c);
    if text.starts_with('-') {
        quote_for_shell(&format!("./{text}"))
    } else if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quote_for_shell;

    #[test]
    fn a_word_stays_one() {
        for (text, quoted) in [
            ("layout/split:dtype=f16,n=3", "layout/split:dtype=f16,n=3"),
            ("interpret@3.9.0+host", "interpret@3.9.0+host"),
            ("a b", "'a b'"),
            ("a'b", r"'a'\''b'"),
            ("x:shape=[4, 4]", "'x:shape=[4, 4]'"),
            ("$(reboot)", "'$(reboot)'"),
            ("-v", "./-v"),
            ("-a b", "'./-a b'"),
            ("", "''"),
        ] {
            assert_eq!(quote_for_shell(text), quoted);
        }
    }
}
