//! A digest as Markdown, for pull requests and release notes.

use std::fmt::Write as _;

use crate::digest::Digest;
use crate::event::{Event, Verdict};
use crate::human::Human;

/// The page.
pub fn markdown(digest: &Digest) -> String {
    let mut page = String::new();
    let summary = &digest.summary;
    let _ = writeln!(page, "# Conch: {}\n", digest.gate());
    let engines: Vec<String> = digest.start.engines.iter().map(|id| format!("`{id}`")).collect();
    let _ = writeln!(
        page,
        "{} cases through {}: {} agree, {} differ, {} nondeterministic, {} undefined, {} inconclusive; {} unexpected, {} with an \
         engine that says nothing, {} with an expectation that no longer happens, {} vacuous. {:.2} s.\n",
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
        let _ = writeln!(page, "On record, no GPU: {}\n", digest.start.recorded.join(", "));
    }
    if summary.stale_recordings > 0 {
        let _ = writeln!(
            page,
            "Outcomes on record that were not used, because the kernel or the layout has changed since: {}.\n",
            summary.stale_recordings
        );
    }
    for left_out in digest.left_out() {
        let _ = writeln!(page, "Left out: `{}`: {}\n", left_out.engine, left_out.why);
    }
    page.push_str("| area | cases | agree | differ | nondeterministic | undefined | inconclusive | not let through |\n|---|--:|--:|--:|--:|--:|--:|--:|\n");
    for (name, area) in &digest.areas {
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            cell(name),
            area.cases,
            area.agree,
            area.differ,
            area.nondeterministic,
            area.undefined,
            area.inconclusive,
            area.failed
        );
    }
    page.push_str("\n| engine | outcomes | wrong in | seconds |\n|---|---|--:|--:|\n");
    for (id, tally) in &summary.engines {
        let outcomes: Vec<String> = tally
            .outcomes
            .iter()
            .map(|(word, count)| format!("{count} {word}"))
            .collect();
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {:.3} |",
            cell(id),
            outcomes.join(", "),
            tally.blamed,
            tally.seconds
        );
    }
    if !summary.known.is_empty() {
        page.push_str("\n| known bug | differences that it explains |\n|---|--:|\n");
        for (name, count) in summary.known_by_count() {
            let _ = writeln!(page, "| `{}` | {count} |", cell(name));
        }
        if summary.unexplained > 0 {
            let _ = writeln!(page, "| none | {} |", summary.unexplained);
        }
    }
    for problem in &digest.problems {
        let _ = writeln!(page, "\n```\n{}\n```", problem.rendered.trim_end());
    }
    for internal in &digest.internal {
        let place = internal.case.as_deref().unwrap_or("the run");
        let _ = writeln!(
            page,
            "\nInternal error in `{place}`:\n\n```\n{}\n```",
            internal.message.trim_end()
        );
    }
    let failed: u64 = digest.areas.values().map(|area| area.failed).sum();
    verdicts(&mut page, "Not as expected", &digest.failures, failed);
    if !digest.differences.is_empty() {
        page.push_str("\n## Differences that were expected\n\n| case | wrong | why |\n|---|---|---|\n");
        for verdict in &digest.differences {
            let why = verdict
                .expectations
                .iter()
                .find(|one| one.state == "met")
                .map_or("", |one| one.why.as_str());
            let _ = writeln!(
                page,
                "| `{}` | {} | {} |",
                cell(&verdict.case),
                cell(&verdict.blame.join(", ")),
                cell(why)
            );
        }
    }
    page
}

fn verdicts(page: &mut String, title: &str, verdicts: &[Verdict], all: u64) {
    if verdicts.is_empty() {
        return;
    }
    let _ = writeln!(page, "\n## {title}\n");
    for verdict in verdicts {
        let text = Human::default().event(&Event::Verdict(Box::new(verdict.clone())));
        let fence = "`".repeat(longest_run(&text).max(2) + 1);
        let _ = writeln!(page, "{fence}\n{}\n{fence}\n", text.trim_end());
    }
    let rest = all.saturating_sub(verdicts.len() as u64);
    if rest > 0 {
        let _ = writeln!(page, "… and {rest} more.");
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}
