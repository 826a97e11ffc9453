//! The page `reports/barriers.md`. Left out: how its figures come about.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::edit::Kind;
use crate::{CheckResult, EditReport, KernelEdits, Race};

const KINDS: [(Kind, &str); 3] = [
    (Kind::Barrier, "`bar.sync` taken out"),
    (Kind::Wait, "`cp.async.wait_group N` taken out"),
    (Kind::Loosened, "`cp.async.wait_group N` made N + 1"),
];

const HEAD: &str = "\
A kernel's barriers and waits are taken out of its PTX in turn, and `ptx@V` runs what is left. It should tell of every race that this
makes. It says nothing where the barrier or wait was not needed.

Who is right is decided without the checks of `cerith-ptx`. The whole kernel runs once with a line printed for each access of
shared and of the device's memory, each barrier, and each group of copies. From that it is known which accesses of a byte by two
warps, one of them a write, have no barrier between them once a line is gone; and which accesses come before a copy has landed. Two
writes of one value are no race, nor are two atomics. What `ptx@V` says nothing of also runs with its last warp first, as far as
it comes to its end so. All this is about the launches of the case: another launch may need what these do not.

";

fn is_told(tried: &EditReport) -> bool {
    matches!(tried.result, CheckResult::Told(_))
}

/// Whether the bytes were ever others while nothing was told.
fn differs(tried: &EditReport) -> bool {
    matches!(tried.result, CheckResult::Differs | CheckResult::DiffersReversed)
}

/// Whether something should have been told: a race in shared memory, or other bytes.
fn is_wanted(tried: &EditReport) -> bool {
    tried.race == Race::Shared || differs(tried)
}

/// Why a change makes no race.
fn explain_race(looked: &KernelEdits, tried: &EditReport) -> &'static str {
    let barrier = tried.edit.kind == Kind::Barrier;
    match tried.race {
        Race::Shared => "a race in shared memory",
        Race::Global => "a race in the device's memory",
        Race::Lanes => "only lanes of one warp, which go in step, share what it parts",
        Race::No if tried.passed.times == 0 => "these launches do not come to it",
        Race::No if barrier && looked.warps == 1 => "the kernel has one warp",
        Race::No if barrier && tried.passed.busy == 0 => {
            "no access of shared memory is between it and another barrier, the beginning or the end"
        }
        Race::No if barrier => {
            "no byte is accessed by one warp before it and by another behind it, one of them writing"
        }
        Race::No if tried.passed.busy == 0 => "no copy is on its way",
        Race::No => "a later wait comes before every access of what is copied",
    }
}

fn format_percent(part: usize, of: usize) -> String {
    if of == 0 {
        return "–".to_owned();
    }
    format!("{:.1} %", part as f64 * 100.0 / of as f64)
}

/// The line of a kernel, in one word's distance.
fn format_line(looked: &KernelEdits, at: usize) -> String {
    let text = looked.ptx.lines().nth(at).unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().collect();
    format!("`{}` in line {}", words.join(" ").trim_end_matches(';'), at + 1)
}

/// Changes, one a row.
fn write_rows(page: &mut String, all: &[(&KernelEdits, &EditReport)]) {
    if all.is_empty() {
        page.push_str("None.\n\n");
        return;
    }
    page.push_str("| case | change | seen | what the trace says |\n|---|---|---|---|\n");
    for (looked, tried) in all {
        let change = match tried.edit.kind {
            Kind::Loosened => ", one group more",
            _ => "",
        };
        let other;
        let seen = match &tried.result {
            CheckResult::Told(kind) => kind.as_str(),
            CheckResult::Differs => "nothing; other bytes",
            CheckResult::DiffersReversed => "nothing; other bytes in the other order",
            CheckResult::Same => "nothing; the same bytes in both orders",
            CheckResult::Alone(kind) => {
                other = format!("nothing; the same bytes in one order, `{kind}` in the other");
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

/// The page of some kernels, and of cases that something was told of as they are.
pub fn render_page(version: &str, looked: &[KernelEdits], told: &[String]) -> String {
    let all: Vec<(&KernelEdits, &EditReport)> = looked
        .iter()
        .flat_map(|looked| looked.edits.iter().map(move |tried| (looked, tried)))
        .collect();
    let that = |is: &dyn Fn(&EditReport) -> bool| -> Vec<(&KernelEdits, &EditReport)> {
        all.iter().copied().filter(|(_, tried)| is(tried)).collect()
    };
    let mut page = "# Barriers and waits, taken out\n\n".to_owned();
    let _ = writeln!(
        page,
        "`cargo run --release -p cerith-engine --example barriers {version} {}` makes this page. Do not edit it.\n",
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
        "Triton {version}, `sm_80`, {} kernels of the corpus, each of another case file. As they are, `ptx@{version}` tells of \
         {untouched}, and accesses of shared memory meet in the traces of {met}.\n",
        looked.len()
    );
    page.push_str(
        "| change | made | races in shared memory | told | | races in the device's memory: told | silent \
         | only lanes of a warp: told | silent | no race: told | silent |\n\
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
    let _ = writeln!(page, "\nTold as: {}.\n", codes.join(", "));
    let counted = that(&|tried| is_wanted(tried) || tried.race == Race::Global);
    let noticed = counted.iter().filter(|(_, tried)| is_told(tried)).count();
    let _ = writeln!(
        page,
        "Races of both memories together: {noticed} of {} told, {}. Bytes were ever others, and nothing told: {}.\n",
        counted.len(),
        format_percent(noticed, counted.len()),
        that(&differs).len()
    );
    page.push_str("## Missed: races in shared memory, or other bytes, that nothing was told of\n\n");
    write_rows(&mut page, &that(&|tried| is_wanted(tried) && !is_told(tried)));
    page.push_str(
        "## Silent: races in the device's memory\n\n`cerith-ptx` does not watch who accesses the device's memory between which \
         barriers. A kernel says where it needs one (`tl.debug_barrier`); the compiler puts none there by itself.\n\n",
    );
    let device = |tried: &EditReport| !is_wanted(tried) && !is_told(tried) && tried.race == Race::Global;
    write_rows(&mut page, &that(&device));
    page.push_str("## Told, and no race by the trace\n\n");
    write_rows(&mut page, &that(&|tried| !is_wanted(tried) && is_told(tried)));
    page.push_str("## Silent, and no race\n\n");
    let silent = that(&|tried| !is_wanted(tried) && !is_told(tried) && !device(tried));
    let mut reasons: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for (looked, tried) in &silent {
        let [all, both] = reasons.entry(explain_race(looked, tried)).or_default();
        *all += 1;
        *both += usize::from(tried.result == CheckResult::Same);
    }
    page.push_str("| why | changes | run in both orders, the same bytes |\n|---|--:|--:|\n");
    for (reason, [all, both]) in reasons {
        let _ = writeln!(page, "| {reason} | {all} | {both} |");
    }
    page.push('\n');
    write_rows(&mut page, &silent);
    page.push_str("## The kernels\n\n");
    page.push_str(
        "| case | kernel | warps | steps in the trace | changes | told |\n|---|---|--:|--:|--:|--:|\n",
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
