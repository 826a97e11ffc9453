//! The end of a run in numbers: what agreed, what explains the rest, who did what, and whether all is as expected.

use std::fmt::Write as _;

use cerith_tile::rules::Version;

use super::{Human, pluralize, shorten_names};
use crate::bytes::in_words;
use crate::event::{Summary, Variants};
use crate::style::Tone;

impl Human {
    pub(super) fn render_summary(&self, summary: &Summary) -> String {
        let mut text = render_verdict_counts(summary);
        if let Some(variants) = &summary.variants {
            text.push_str(&render_variants(variants));
        }
        if summary.bytes.any_looked_at() {
            let _ = writeln!(text, "  {}", in_words(summary.bytes));
        }
        if summary.left_out > 0 {
            let whole = match summary.left_out_whole {
                0 => String::new(),
                count => format!(", {count} of a whole tensor"),
            };
            let _ = writeln!(
                text,
                "{} {} {} left bytes without a defined value{whole}; -v says which",
                self.paint(Tone::Warn, "note:"),
                summary.left_out,
                pluralize(summary.left_out, "case"),
            );
        }
        text.push_str(&self.known_causes());
        text.push_str(&render_engines(summary));
        text.push_str(&render_instructions(summary));
        text.push_str(&render_judging(summary));
        for line in self.silence.lines() {
            let _ = writeln!(text, "{} {line}", self.paint(Tone::Bad, "silent:"));
        }
        self.write_doubts(summary, &mut text);
        let _ = writeln!(text, "{}", self.render_gate(summary));
        text.push_str(&self.next(summary));
        text
    }

    /// Reasons why the numbers are incomplete.
    fn write_doubts(&self, summary: &Summary, text: &mut String) {
        if summary.inconclusive > 0 && summary.agree + summary.differ == 0 && !summary.bytes.any_looked_at() {
            let _ = writeln!(
                text,
                "{} nothing was compared: no second engine has an outcome",
                self.paint(Tone::Warn, "note:")
            );
        }
        if summary.stale_recordings > 0 {
            let _ = writeln!(
                text,
                "{} {} recorded {} not used: the kernel or the layout has changed since; `cerith bundle` and a GPU make \
                 new ones",
                self.paint(Tone::Warn, "stale:"),
                summary.stale_recordings,
                pluralize(summary.stale_recordings, "outcome")
            );
        }
        if summary.reference_blamed > 0 {
            let _ = writeln!(
                text,
                "{} the reference is wrong in {}: {}",
                self.paint(Tone::Bad, "first of all:"),
                summary.reference_blamed,
                shorten_names(&self.reference_blamed)
            );
        }
        if summary.interrupted {
            let _ = writeln!(
                text,
                "{} interrupted; the cases that are missing were not judged",
                self.paint(Tone::Warn, "PARTIAL")
            );
        }
    }

    /// The last line: whether all is as expected, and if not, why.
    fn render_gate(&self, summary: &Summary) -> String {
        let mut reasons = Vec::new();
        for (count, words) in [
            (summary.unexpected, "unexpected"),
            (summary.silent, "with an engine without an outcome"),
            (summary.stale, "with an expectation that no longer happens"),
            (summary.vacuous, "vacuous"),
            (summary.unlike, "unlike the reference function"),
            (summary.internal, "with an internal error"),
        ] {
            if count > 0 {
                reasons.push(format!("{count} {words}"));
            }
        }
        if summary.compared_nothing() {
            reasons.push("nothing was compared".to_owned());
        }
        if summary.problems > 0 {
            reasons.push(format!(
                "{} {} in the input",
                summary.problems,
                pluralize(summary.problems, "error")
            ));
        }
        if summary.unwritten > 0 {
            reasons.push("the reports could not be written".to_owned());
        }
        match (summary.exit, reasons.is_empty()) {
            (0, _) if summary.in_baseline > 0 => format!(
                "{}, except {} {} as in the baseline",
                self.paint(Tone::Good, "as expected"),
                summary.in_baseline,
                pluralize(summary.in_baseline, "case")
            ),
            (0, _) => self.paint(Tone::Good, "as expected"),
            (3, _) if summary.has_no_second_engine() => format!(
                "{}: no second engine has an outcome, so nothing was compared\n  = help: `cerith toolchain add {}` installs \
                 one; `--engine reference` asks for the reference alone",
                self.paint(Tone::Bad, "nothing to compare with"),
                Version::NEWEST
            ),
            (3, _) => self.paint(Tone::Bad, "nothing was run"),
            (130, true) => self.paint(Tone::Warn, "as expected so far"),
            (_, _) => format!(
                "{}: {}",
                self.paint(Tone::Bad, "NOT as expected"),
                reasons.join(", ")
            ),
        }
    }
}

/// How many cases there were, by verdict.
fn render_verdict_counts(summary: &Summary) -> String {
    let mut counts = vec![format!("{} agree", summary.agree)];
    for (count, word) in [
        (summary.differ, "differ"),
        (summary.nondeterministic, "nondeterministic"),
        (summary.undefined, "undefined"),
        (summary.inconclusive, "inconclusive"),
    ] {
        if count > 0 {
            counts.push(format!("{count} {word}"));
        }
    }
    format!(
        "\n{} {}: {}, in {:.2} s\n",
        summary.cases,
        pluralize(summary.cases, "case"),
        counts.join(", "),
        summary.seconds
    )
}

/// The outcomes of each engine.
fn render_engines(summary: &Summary) -> String {
    let mut text = String::new();
    let width = summary
        .engines
        .keys()
        .map(|id| id.chars().count())
        .max()
        .unwrap_or(0);
    for (id, tally) in &summary.engines {
        let did: Vec<String> = tally
            .outcomes
            .iter()
            .map(|(word, count)| format!("{count} {word}"))
            .collect();
        let blamed = if tally.blamed > 0 {
            format!(", wrong in {}", tally.blamed)
        } else {
            String::new()
        };
        // The variants of a sweep are not timed.
        let seconds = match summary.variants {
            Some(_) => String::new(),
            None => format!(", {:.3} s", tally.seconds),
        };
        let _ = writeln!(text, "  {id:width$}  {}{blamed}{seconds}", did.join(", "));
    }
    text
}

/// The kinds of instructions that were executed here, a line for each engine with some.
fn render_instructions(summary: &Summary) -> String {
    let mut text = String::new();
    for (id, tally) in &summary.engines {
        if !tally.instructions.is_empty() {
            let _ = writeln!(text, "  instructions of {id}: {}", tally.instructions);
        }
    }
    text
}

/// The time spent outside of engines; empty if there is almost none, or if the stream does not have it.
fn render_judging(summary: &Summary) -> String {
    let mut parts = summary.judging.parts();
    let total: f64 = parts.iter().map(|(_, seconds)| seconds).sum();
    if total < 0.05 {
        return String::new();
    }
    parts.sort_by(|one, other| other.1.total_cmp(&one.1));
    let parts: Vec<String> = parts
        .iter()
        .filter(|(_, seconds)| *seconds >= 0.0005)
        .map(|(what, seconds)| format!("{what} {seconds:.3}"))
        .collect();
    format!("  judging took {total:.3} s: {}\n", parts.join(", "))
}

/// The variants of a sweep in numbers.
fn render_variants(variants: &Variants) -> String {
    let left_out: u64 = variants.not_applicable.values().sum();
    let by_axis: Vec<String> = variants
        .not_applicable
        .iter()
        .map(|(axis, count)| format!("{axis} {count}"))
        .collect();
    format!(
        "{} {} judged, {} more the same machine code as another, {left_out} not applicable{}\n",
        variants.tried,
        pluralize(variants.tried, "variant"),
        variants.same,
        if by_axis.is_empty() {
            String::new()
        } else {
            format!(" ({})", by_axis.join(", "))
        }
    )
}
