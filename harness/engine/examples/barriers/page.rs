//! The page `reports/barriers.md`. See `trace` for its figures.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::edit::Kind;
use crate::{CheckResult, EditReport, KernelEdits, Race};

const KINDS: [(Kind, &str); 3] = [
    (Kind::Barrier, "`bar.sync` removed"),
    (Kind::Wait, "`cp.async.wait_group N` removed"),
    (Kind::Loosened, "`cp.async.wait_group N` changed to N + 1"),
];

const HEAD: &str = "\
The example removes a kernel's barriers and waits from its PTX, one at a time, and `ptx@V` runs the rest. It should report every race
that this creates, and nothing if the barrier or wait was not needed.

A trace decides whether there is a race, without the checks of `cerith-ptx`. The whole kernel runs once and prints a line for each access
of shared and of the device's memory, each barrier, and each group of copies. The trace shows the accesses of one byte by two
warps, one of them a write, that have no barrier between them once the line is removed. It also shows the accesses of copied bytes that come
before the copy has finished. Two writes of one value are not a race, nor are two atomics. A changed kernel without a report also runs with its last warp first, if
it finishes in that order. The results cover the launches of the case: another launch may need a barrier that these launches do not need.

";

fn is_told(tried: &EditReport) -> bool {
    matches!(tried.result, CheckResult::Told(_))
}

/// Whether the bytes changed without a report.
fn differs(tried: &EditReport) -> bool {
    matches!(tried.result, CheckResult::Differs | CheckResult::DiffersReversed)
}

/// Whether `ptx@V` should have reported it: a race in shared memory, or changed bytes.
fn is_wanted(tried: &EditReport) -> bool {
    tried.race == Race::Shared || differs(tried)
}

/// The reason why a change does not cause a race.
fn explain_race(looked: &KernelEdits, tried: &EditReport) -> &'static str {
    let barrier = tried.edit.kind == Kind::Barrier;
    match tried.race {
        Race::Shared => "a race in shared memory",
        Race::Global => "a race in the device's memory",
        Race::Lanes => "only lanes of one warp, which run in lockstep, share the bytes that it protects",
        Race::No if tried.passed.times == 0 => "these launches never reach it",
        Race::No if barrier && looked.warps == 1 => "the kernel has one warp",
        Race::No if barrier && tried.passed.busy == 0 => {
            "no access of shared memory is between it and another barrier, the beginning or the end"
        }
        Race::No if barrier => {
            "no byte is accessed by one warp before it and by another after it, one of them writing"
        }
        Race::No if tried.passed.busy == 0 => "no copy is on its way",
        Race::No => "a later wait comes before every access of the copied bytes",
    }
}

fn format_percent(part: usize, of: usize) -> String {
    if of == 0 {
        return "–".to_owned();
    }
    format!("{:.1} %", part as f64 * 100.0 / of as f64)
}

/// A line of a kernel, with one space between words.
fn format_line(looked: &KernelEdits, at: usize) -> String {
    let text = looked.ptx.lines().nth(at).unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().collect();
    format!("`{}` in line {}", words.join(" ").trim_end_matches(';'), at + 1)
}

/// Writes a table of changes.
fn write_rows(page: &mut String, all: &[(&KernelEdits, &EditReport)]) {
    if all.is_empty() {
        page.push_str("None.\n\n");
        return;
    }
    page.push_str("| case | change | result | trace |\n|---|---|---|---|\n");
    for (looked, tried) in all {
        let change = match tried.edit.kind {
            Kind::Loosened => ", one group more",
            _ => "",
        };
        let other;
        let seen = match &tried.result {
            CheckResult::Told(kind) => kind.as_str(),
            CheckResult::Differs => "no report; changed bytes",
            CheckResult::DiffersReversed => "no report; changed bytes in the other order",
            CheckResult::Same => "no report; the same bytes in both orders",
            CheckResult::Alone(kind) => {
                other = format!("no report; the same bytes in one order, `{kind}` in the other");
                &other
            }
        };
        let example = tried.example.map_or(String::new(), |example| {
            format!(
                ": {}, {}",
                format_line(looked, example.lines[0]),
                format_line(looked, example.lines[1])
            )
        });
        let _ = writeln!(
            page,
            "| `{}` | {}{change} | {seen} | {}{example} |",
            looked.case,
            format_line(looked, tried.edit.line),
            explain_race(looked, tried)
        );
    }
    page.push('\n');
}

/// Renders the page of some kernels, and of cases with a report for the unchanged kernel.
pub fn render_page(version: &str, looked: &[KernelEdits], told: &[String]) -> String {
    let all: Vec<(&KernelEdits, &EditReport)> = looked
        .iter()
        .flat_map(|looked| looked.edits.iter().map(move |tried| (looked, tried)))
        .collect();
    let that = |is: &dyn Fn(&EditReport) -> bool| -> Vec<(&KernelEdits, &EditReport)> {
        all.iter().copied().filter(|(_, tried)| is(tried)).collect()
    };
    let mut page = "# Removed barriers and waits\n\n".to_owned();
    let _ = writeln!(
        page,
        "`cargo run --release -p cerith-engine --example barriers {version} {}` writes this page; do not edit it.\n",
        looked.len()
    );
    page.push_str(HEAD);
    let met = looked.iter().filter(|looked| !looked.meetings.is_empty()).count();
    let untouched = if told.is_empty() {
        "none of them".to_owned()
    } else {
        told.join(", ")
    };
    let _ = writeln!(
        page,
        "Triton {version}, `sm_80`, {} kernels of the corpus, each of another case file. `ptx@{version}` reports \
         {untouched} without a change. The traces of {met} unchanged kernels have a race in shared memory.\n",
        looked.len()
    );
    page.push_str(
        "| change | made | races in shared memory | reported | share | races in the device's memory: reported | not reported \
         | only lanes of a warp: reported | not reported | no race: reported | not reported |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    let mut row = |name: &str, kind: Option<Kind>| {
        let count = |is: &dyn Fn(&EditReport) -> bool| {
            that(&|tried| kind.is_none_or(|kind| kind == tried.edit.kind) && is(tried)).len()
        };
        let races = count(&is_wanted);
        let told = count(&|tried| is_wanted(tried) && is_told(tried));
        let of = |race: Race, told: bool| {
            count(&|tried| !is_wanted(tried) && tried.race == race && is_told(tried) == told)
        };
        let _ = writeln!(
            page,
            "| {name} | {} | {races} | {told} | {} | {} | {} | {} | {} | {} | {} |",
            count(&|_| true),
            format_percent(told, races),
            of(Race::Global, true),
            of(Race::Global, false),
            of(Race::Lanes, true),
            of(Race::Lanes, false),
            of(Race::No, true),
            of(Race::No, false)
        );
    };
    for (kind, name) in KINDS {
        row(name, Some(kind));
    }
    row("all", None);
    let mut codes: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, tried) in &all {
        if let CheckResult::Told(kind) = &tried.result {
            *codes.entry(kind).or_default() += 1;
        }
    }
    let codes: Vec<String> = codes
        .iter()
        .map(|(code, count)| format!("`{code}` {count}"))
        .collect();
    let _ = writeln!(page, "\nReported as: {}.\n", codes.join(", "));
    let counted = that(&|tried| is_wanted(tried) || tried.race == Race::Global);
    let noticed = counted.iter().filter(|(_, tried)| is_told(tried)).count();
    let _ = writeln!(
        page,
        "Races of both memories together: {noticed} of {} reported, {}. Changed bytes without a report: {}.\n",
        counted.len(),
        format_percent(noticed, counted.len()),
        that(&differs).len()
    );
    page.push_str("## Missed: races in shared memory or changed bytes without a report\n\n");
    write_rows(&mut page, &that(&|tried| is_wanted(tried) && !is_told(tried)));
    page.push_str(
        "## Not reported: races in the device's memory\n\n`cerith-ptx` does not track accesses of the device's memory between \
         barriers. A kernel must request such a barrier (`tl.debug_barrier`); the compiler inserts none by itself.\n\n",
    );
    let device = |tried: &EditReport| !is_wanted(tried) && !is_told(tried) && tried.race == Race::Global;
    write_rows(&mut page, &that(&device));
    page.push_str("## Reported, but not a race in the trace\n\n");
    write_rows(&mut page, &that(&|tried| !is_wanted(tried) && is_told(tried)));
    page.push_str("## Not reported, and not a race\n\n");
    let silent = that(&|tried| !is_wanted(tried) && !is_told(tried) && !device(tried));
    let mut reasons: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for (looked, tried) in &silent {
        let [all, both] = reasons.entry(explain_race(looked, tried)).or_default();
        *all += 1;
        *both += usize::from(tried.result == CheckResult::Same);
    }
    page.push_str("| reason | changes | run in both orders, the same bytes |\n|---|--:|--:|\n");
    for (reason, [all, both]) in reasons {
        let _ = writeln!(page, "| {reason} | {all} | {both} |");
    }
    page.push('\n');
    write_rows(&mut page, &silent);
    page.push_str("## The kernels\n\n");
    page.push_str(
        "| case | kernel | warps | steps in the trace | changes | reported |\n|---|---|--:|--:|--:|--:|\n",
    );
    for looked in looked {
        let told = looked.edits.iter().filter(|tried| is_told(tried)).count();
        let _ = writeln!(
            page,
            "| `{}` | `{}` | {} | {} | {} | {told} |",
            looked.case,
            looked.name,
            looked.warps,
            looked.steps,
            looked.edits.len()
        );
    }
    page
}
