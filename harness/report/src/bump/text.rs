//! Changes as text: for a terminal, for a pull request, for the annotations of a workflow. See [`super::cause`] for the
//! groups.

use std::fmt::Write as _;

use super::change::Change;
use super::figure::{Measure, Shift};
use super::group::{Cause, Changes, Group};
use crate::correctness::find_known_bug;
use crate::event::{NO_RECORDING, OTHER_CODE, STALE_RECORDING};
use crate::human::quote_for_shell;
use crate::safe;
use crate::style::{Palette, Tone};

/// How many cases of a group are named.
const MAX_NAMED: usize = 3;

/// The most characters of a page of Markdown: what a comment on a pull request may have is 65,536.
const PAGE: usize = 60_000;

/// The changes, for a terminal: the groups of these changes, all cases of each with `verbose`.
pub fn render_human(changes: &Changes, only: &[Change], palette: Palette, verbose: bool) -> String {
    let mut text = String::new();
    let head = format!("{} → {}", changes.old, changes.new);
    let _ = writeln!(
        text,
        "{}: {} cases",
        palette.paint(Tone::Strong, &head),
        changes.cases
    );
    for change in Change::ALL.into_iter().filter(|change| change.is_news()) {
        let count = changes.count(change);
        if count == 0 || !is_shown(change, only) {
            continue;
        }
        let groups: Vec<&Group> = filter_groups(changes, change).collect();
        let _ = writeln!(
            text,
            "\n{}: {count} {} by {} {}  {}",
            palette.paint(choose_tone(change), change.name()),
            pluralize(count, "case"),
            groups.len(),
            pluralize(groups.len() as u64, "cause"),
            palette.paint(Tone::Dim, change.description()),
        );
        for group in groups {
            let _ = writeln!(text, "{:>7}  {}", group.cases.len(), describe_cause(&group.cause));
            if let Some(about) = explain_cause(&group.cause) {
                let _ = writeln!(text, "         {}", palette.paint(Tone::Dim, &about));
            }
            let cases = render_cases(group, verbose);
            let _ = writeln!(text, "         {}", palette.paint(Tone::Name, &cases));
        }
    }
    let _ = writeln!(text, "\n{}", describe_counts(changes));
    for line in describe_measures(changes) {
        let _ = writeln!(text, "{line}");
    }
    for (why, count) in &changes.silent {
        let _ = writeln!(
            text,
            "{} {count} {}: {why}",
            palette.paint(Tone::Warn, "not compared:"),
            pluralize(*count, "case"),
        );
    }
    if lacks_records(changes) {
        text.push_str("  = help: `cerith bundle`, `cerith exec` on a machine with a GPU, and `cerith accept` make records\n");
    }
    for (who, alone) in [&changes.old, &changes.new].into_iter().zip(&changes.alone) {
        if let Some(first) = alone.first() {
            let _ = writeln!(
                text,
                "{} {} {} only {who} ran: {}{}",
                palette.paint(Tone::Warn, "left out:"),
                alone.len(),
                pluralize(alone.len() as u64, "case"),
                safe::escape_line(first),
                if alone.len() > 1 { ", …" } else { "" }
            );
        }
    }
    if let Some(group) = changes.groups.iter().find(|group| is_shown(group.change, only)) {
        let corpus = match changes.corpus.as_str() {
            "" => String::new(),
            corpus => format!(" --cases {}", quote_for_shell(corpus)),
        };
        let _ = writeln!(
            text,
            "next: cerith explain {}{corpus} --engine {} --engine {}",
            quote_for_shell(&safe::escape_line(&group.smallest)),
            quote_for_shell(&changes.old),
            quote_for_shell(&changes.new)
        );
    }
    text
}

/// The changes, as a page for a pull request. If the page is too long, the least bad ones are only counted.
pub fn render_markdown(changes: &Changes, only: &[Change]) -> String {
    let mut page = format!(
        "# `{}` → `{}`\n\n{}\n",
        changes.old,
        changes.new,
        describe_counts(changes)
    );
    for line in describe_measures(changes) {
        let _ = writeln!(page, "\n{}", capitalize(&line));
    }
    for (why, count) in &changes.silent {
        let _ = writeln!(
            page,
            "\nNot compared: {count} {} by {}.",
            pluralize(*count, "case"),
            safe::escape_cell(why)
        );
    }
    let mut left_out = 0;
    for change in Change::ALL.into_iter().filter(|change| change.is_news()) {
        let count = changes.count(change);
        if count == 0 || !is_shown(change, only) {
            continue;
        }
        let head = format!(
            "\n## {} ({count})\n\n{}.\n\n| cases | cause | smallest |\n|--:|---|---|\n",
            change.name(),
            capitalize(change.description())
        );
        let mut table = String::new();
        for group in filter_groups(changes, change) {
            let words = explain_cause(&group.cause)
                .map_or_else(String::new, |about| format!("<br>{}", safe::escape_cell(&about)));
            let row = format!(
                "| {} | {}{words} | {} |\n",
                group.cases.len(),
                safe::escape_cell(&describe_cause(&group.cause)),
                safe::escape_code(&group.smallest)
            );
            if page.len() + head.len() + table.len() + row.len() > PAGE {
                left_out += 1;
            } else {
                table.push_str(&row);
            }
        }
        if !table.is_empty() {
            page.push_str(&head);
            page.push_str(&table);
        }
    }
    for (who, alone) in [&changes.old, &changes.new].into_iter().zip(&changes.alone) {
        if !alone.is_empty() {
            let _ = writeln!(page, "\n{} cases were only run with `{who}`.", alone.len());
        }
    }
    if left_out > 0 {
        let _ = writeln!(
            page,
            "\n{left_out} more groups do not fit on this page; `--format jsonl` has all."
        );
    }
    page
}

/// The regressions, as annotations of a workflow on GitHub.
pub fn render_github(changes: &Changes, only: &[Change]) -> String {
    let mut text = String::new();
    for group in changes.groups.iter().filter(|group| is_shown(group.change, only)) {
        let level = match group.change {
            Change::Broke | Change::NewlyRejected => "error",
            Change::Changed | Change::NewlyUndefined => "warning",
            _ => "notice",
        };
        let _ = writeln!(
            text,
            "::{level} title={}::{}",
            safe::escape_property(&format!(
                "{} → {}: {} {}",
                changes.old,
                changes.new,
                group.cases.len(),
                group.change.name()
            )),
            safe::escape_data(&format!(
                "{}; smallest: {}",
                describe_cause(&group.cause),
                group.smallest
            ))
        );
    }
    text
}

fn filter_groups(changes: &Changes, change: Change) -> impl Iterator<Item = &Group> {
    changes.groups.iter().filter(move |group| group.change == change)
}

fn is_shown(change: Change, only: &[Change]) -> bool {
    only.is_empty() || only.contains(&change)
}

const fn choose_tone(change: Change) -> Tone {
    match change {
        Change::Broke | Change::NewlyRejected => Tone::Bad,
        Change::Changed | Change::NewlyUndefined | Change::RuleChanged | Change::SignatureChanged => {
            Tone::Warn
        }
        Change::SizeChanged | Change::TimeChanged => Tone::Strong,
        _ => Tone::Good,
    }
}

/// The name of a cause.
pub(super) fn describe_cause(cause: &Cause) -> String {
    match cause {
        Cause::Known(names) => names.join(" + "),
        Cause::Instead { old, new } => format!("{} instead of {}", new.join(" + "), old.join(" + ")),
        Cause::Rules(rules) if rules.len() > 1 => {
            format!("one of {} rules that came in between", rules.len())
        }
        Cause::Rules(rules) => rules.join(", "),
        Cause::Operation { names, elsewhere } => {
            let shown: Vec<String> = names
                .iter()
                .take(MAX_NAMED)
                .map(|name| format!("`{}`", safe::escape_line(name)))
                .collect();
            let more = match names.len() - shown.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let others = match elsewhere {
                0 => "no case that is right does".to_owned(),
                1 => "one that is right does too".to_owned(),
                many => format!("{many} that are right do too"),
            };
            format!("each executes {}{more}; {others}", shown.join(", "))
        }
        Cause::Launch { way, most: None } => safe::escape_line(way).into_owned(),
        Cause::Launch {
            way,
            most: Some([old, new]),
        } => {
            format!("{}; most: {new} instead of {old} bytes", safe::escape_line(way))
        }
        Cause::Measured { of, area, kernels } => {
            let shown: Vec<String> = kernels.iter().take(MAX_NAMED).map(|one| shift(of, one)).collect();
            let more = match kernels.len() - shown.len() {
                0 => String::new(),
                more => format!("; {more} more"),
            };
            format!("{}: {}{more}", safe::escape_line(area), shown.join("; "))
        }
        Cause::Said(said) => format!("says: {}", safe::escape_line(said)),
        Cause::Unknown { kind } if kind.is_empty() => "by no known cause".to_owned(),
        Cause::Unknown { kind } => format!("by no known cause ({kind})"),
    }
}

/// A kernel's figure in two versions.
fn shift(of: &str, shift: &Shift) -> String {
    let head = format!("×{:.2} {}", shift.ratio(), safe::escape_line(&shift.kernel));
    if of == "time" {
        let [old, new] = [shift.old, shift.new].map(|microseconds| microseconds as f64 / 1e3);
        return format!("{head} ({old:.0} → {new:.0} ms)");
    }
    let mut text = format!("{head} ({} → {} bytes", shift.old, shift.new);
    for (name, [old, new]) in [("registers", shift.registers), ("stack", shift.stack)] {
        if old != new {
            let _ = write!(text, ", {name} {old} → {new}");
        }
    }
    text.push(')');
    text
}

/// The figures of all kernels, a line each, with the bounds of noise.
fn describe_measures(changes: &Changes) -> Vec<String> {
    let noise = changes.noise;
    let line = |measure: &Measure| {
        let (what, least) = match measure.of {
            "time" => ("compile time", format!("{} ms", noise.seconds * 1e3)),
            _ => ("machine code", format!("{} bytes", noise.bytes)),
        };
        let few = match measure.few {
            0 => String::new(),
            few => format!("; {few} were compiled too rarely to compare"),
        };
        format!(
            "{what}: {} of {} kernels changed by more than {:.0}% and {least}{few}; the median over all is ×{:.2}",
            measure.changed,
            measure.kernels,
            noise.share * 100.0,
            measure.ratio
        )
    };
    changes.measures.iter().map(line).collect()
}

/// Whether cases were not compared because they have no valid record.
fn lacks_records(changes: &Changes) -> bool {
    let kinds = [STALE_RECORDING, NO_RECORDING, OTHER_CODE];
    let mut reasons = changes.silent.keys();
    reasons.any(|why| kinds.iter().any(|kind| why.ends_with(kind)))
}

/// The description of a known cause.
fn explain_cause(cause: &Cause) -> Option<String> {
    match cause {
        Cause::Known(names) => match &names[..] {
            [name] => find_known_bug(name).map(|(about, _)| about.to_owned()),
            _ => None,
        },
        Cause::Rules(rules) => match &rules[..] {
            [rule] => cerith_tile::rules::Rule::ALL
                .iter()
                .find(|known| format!("{known:?}") == *rule)
                .map(|rule| rule.summary().trim().to_owned()),
            _ => None,
        },
        _ => None,
    }
}

fn render_cases(group: &Group, all: bool) -> String {
    if all {
        let cases: Vec<String> = group
            .cases
            .iter()
            .map(|case| safe::escape_line(case).into_owned())
            .collect();
        return cases.join("\n         ");
    }
    let others = group.cases.iter().filter(|case| **case != group.smallest);
    let mut cases: Vec<String> = std::iter::once(&group.smallest)
        .chain(others)
        .take(MAX_NAMED)
        .map(|case| safe::escape_line(case).into_owned())
        .collect();
    if group.cases.len() > cases.len() {
        cases.push(format!("{} more", group.cases.len() - cases.len()));
    }
    cases.join(", ")
}

/// All cases in numbers.
fn describe_counts(changes: &Changes) -> String {
    let mut counts: Vec<String> = Change::ALL
        .into_iter()
        .filter(|change| changes.count(*change) > 0)
        .map(|change| format!("{} {}", changes.count(change), change.name()))
        .collect();
    if counts.is_empty() {
        counts.push("nothing was compared".to_owned());
    }
    counts.join(", ")
}

fn pluralize(count: u64, word: &str) -> String {
    if count == 1 {
        word.to_owned()
    } else {
        format!("{word}s")
    }
}

fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
