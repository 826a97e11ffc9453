//! A digest as Markdown, for pull requests and release notes: numbers first, then the worst. It fits GitHub's limit for a
//! comment or a summary, and says what it leaves out. See [`crate::safe`] for safe characters.

use std::fmt::Write as _;

use crate::digest::Digest;
use crate::event::{Event, State, Verdict};
use crate::human::Human;
use crate::safe;

/// The limit of a comment on GitHub, in characters. We count bytes, which are never fewer.
pub const LONGEST: usize = 65_535;

/// Bytes that are reserved for the closing lines, which count the omitted cases.
const CLOSING: usize = 2_000;

/// The maximum length of one problem, error or verdict, in bytes.
const MAX_BLOCK: usize = 6_000;

/// A page of bounded length.
struct Page(String);

impl Page {
    /// Adds text that belongs together, if it fits.
    fn add(&mut self, text: &str) -> bool {
        let fits = self.0.len() + text.len() <= LONGEST - CLOSING;
        if fits {
            self.0.push_str(text);
        }
        fits
    }

    /// Adds a heading (or a table's head) and what is below it, as much as fits, and says how much does not, of `all`.
    fn list(&mut self, head: &str, all: u64, lines: impl IntoIterator<Item = String>) {
        if all == 0 || !self.add(head) {
            self.add_remainder(all);
            return;
        }
        let mut shown = 0;
        for line in lines {
            if !self.add(&line) {
                break;
            }
            shown += 1;
        }
        self.add_remainder(all.saturating_sub(shown));
    }

    fn add_remainder(&mut self, rest: u64) {
        // There is room for this: it is kept.
        if rest > 0 && self.0.len() < LONGEST - 200 {
            let _ = write!(
                self.0,
                "\n… and {rest} more, which the stream and the other reports have.\n"
            );
        }
    }
}

/// The page.
pub fn render_markdown(digest: &Digest) -> String {
    let mut page = Page(String::new());
    page.add(&render_head(digest));
    add_numbers(&mut page, digest);
    add_problems(&mut page, digest);
    let failed: u64 = digest.areas.values().map(|area| area.failed).sum();
    page.list(
        "\n## Not as expected\n\n",
        failed,
        digest.failures.iter().map(|verdict| {
            let text = Human::default().render_event(&Event::Verdict(Box::new(verdict.clone())));
            format!("{}\n", fence_text(&text))
        }),
    );
    page.list(
        "\n## Not as expected, as in the baseline\n\n| case | what |\n|---|---|\n",
        digest.summary.in_baseline,
        digest.in_baseline.iter().map(|verdict| {
            let against = verdict.against.as_deref();
            let what = against.map_or_else(String::new, |against| against.same.join("; "));
            format!(
                "| {} | {} |\n",
                safe::escape_code(&verdict.case),
                safe::escape_cell(&what)
            )
        }),
    );
    page.list(
        "\n## Differences that were expected\n\n| case | wrong | why |\n|---|---|---|\n",
        digest.expected_differences,
        digest.differences.iter().map(expected_difference),
    );
    safe::escape_page(page.0)
}

fn render_head(digest: &Digest) -> String {
    let mut page = String::new();
    let summary = &digest.summary;
    let _ = writeln!(page, "# Cerith: {}\n", digest.gate());
    let engines: Vec<String> = digest
        .start
        .engines
        .iter()
        .map(|id| safe::escape_code(id))
        .collect();
    let _ = writeln!(
        page,
        "{} cases through {}: {} agree, {} differ, {} nondeterministic, {} undefined, {} inconclusive; {} unexpected, {} with an \
         engine without an outcome, {} with an expectation that no longer happens, {} vacuous. {:.2} s.\n",
        summary.cases,
        engines.join(", "),
        summary.agree,
        summary.differ,
        summary.nondeterministic,
        summary.undefined,
        summary.inconclusive,
        summary.unexpected,
        summary.silent,
        summary.stale,
        summary.vacuous,
        summary.seconds,
    );
    if !digest.start.recorded.is_empty() {
        let recorded: Vec<String> = digest
            .start
            .recorded
            .iter()
            .map(|id| safe::escape_code(id))
            .collect();
        let _ = writeln!(page, "Recorded, no GPU: {}\n", recorded.join(", "));
    }
    if summary.stale_recordings > 0 {
        let _ = writeln!(
            page,
            "Recorded outcomes that were not used, because the kernel or the layout has changed since: {}.\n",
            summary.stale_recordings
        );
    }
    for left_out in digest.left_out() {
        let (engine, why) = (
            safe::escape_code(&left_out.engine),
            safe::escape_cell(&left_out.why),
        );
        let _ = writeln!(page, "Left out: {engine}: {why}\n");
    }
    page
}

fn add_problems(page: &mut Page, digest: &Digest) {
    let given = digest
        .problems
        .iter()
        .map(|problem| format!("\n{}", fence_text(&problem.rendered)));
    let told = digest.summary.problems.max(digest.problems.len() as u64);
    page.list("", told, given);
    let internal = digest.internal.iter().map(|internal| {
        let place = safe::escape_code(internal.case.as_deref().unwrap_or("the run"));
        format!(
            "\nInternal error in {place}:\n\n{}",
            fence_text(&internal.message)
        )
    });
    page.list("", digest.summary.internal, internal);
}

fn add_numbers(page: &mut Page, digest: &Digest) {
    let summary = &digest.summary;
    let areas = digest.areas.iter().map(|(name, area)| {
        format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
            safe::escape_cell(name),
            area.cases,
            area.agree,
            area.differ,
            area.nondeterministic,
            area.undefined,
            area.inconclusive,
            area.failed
        )
    });
    page.list(
        "| area | cases | agree | differ | nondeterministic | undefined | inconclusive | not let through |\n|---|--:|--:|--:|--:|--:|--:|--:|\n",
        digest.areas.len() as u64,
        areas,
    );
    let engines = summary.engines.iter().map(|(id, tally)| {
        let outcomes: Vec<String> = tally
            .outcomes
            .iter()
            .map(|(word, count)| format!("{count} {}", safe::escape_cell(word)))
            .collect();
        format!(
            "| {} | {} | {} | {:.3} |\n",
            safe::escape_code(id),
            outcomes.join(", "),
            tally.blamed,
            tally.seconds
        )
    });
    page.list(
        "\n| engine | outcomes | wrong in | seconds |\n|---|---|--:|--:|\n",
        summary.engines.len() as u64,
        engines,
    );
    let executed = summary
        .engines
        .iter()
        .filter(|(_, tally)| !tally.instructions.is_empty());
    let executed: Vec<String> = executed
        .map(|(id, tally)| {
            format!(
                "| {} | {} |\n",
                safe::escape_code(id),
                safe::escape_cell(&tally.instructions.to_string())
            )
        })
        .collect();
    if !executed.is_empty() {
        page.list(
            "\n| engine | executed instructions |\n|---|---|\n",
            executed.len() as u64,
            executed,
        );
    }
    let known = summary.known_by_count();
    let none = (summary.unexplained > 0 && !known.is_empty())
        .then(|| format!("| none | {} |\n", summary.unexplained));
    page.list(
        "\n| known bug | differences that it explains |\n|---|--:|\n",
        known.len() as u64,
        known
            .iter()
            .map(|(name, count)| format!("| {} | {count} |\n", safe::escape_code(name)))
            .chain(none),
    );
}

fn expected_difference(verdict: &Verdict) -> String {
    let why = verdict
        .expectations
        .iter()
        .find(|one| one.state == State::Met)
        .map_or("", |one| one.why.as_str());
    format!(
        "| {} | {} | {} |\n",
        safe::escape_code(&verdict.case),
        safe::escape_cell(&verdict.blame.join(", ")),
        safe::escape_cell(why)
    )
}

/// Text as it is, in a fence that nothing in it ends.
fn fence_text(text: &str) -> String {
    let text = safe::escape_lines(text.trim_end());
    let (text, rest) = match text.char_indices().find(|(at, _)| *at >= MAX_BLOCK) {
        Some((at, _)) => (&text[..at], text.len() - at),
        None => (&*text, 0),
    };
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    let more = if rest > 0 {
        format!("\n… and {rest} bytes more")
    } else {
        String::new()
    };
    format!("{fence}\n{text}{more}\n{fence}\n")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}
