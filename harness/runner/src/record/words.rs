//! The final messages of `cerith record`: what was recorded, what was running when a process crashed, and why there is nothing.

use std::env;
use std::path::Path;
use std::process::ExitStatus;

use cerith_case::Corpus;
use cerith_engine::Reference;
use cerith_recording::{Collected, Unfinished, collect};

use crate::preflight::{self, Judged};
use crate::record::RecordOptions;

/// How many reasons for left-out launches are printed; all are in the manifest.
const REASONS_TOLD: usize = 8;

/// How many launches without an end are judged and printed.
const UNFINISHED_TOLD: usize = 8;

/// The last words. `status` is how the program ended, if it was run.
pub fn describe_recording(
    options: &RecordOptions,
    collected: &Collected,
    status: Option<ExitStatus>,
) -> String {
    let out = &options.out;
    let mut lines = Vec::new();
    if collected.cases > 0 {
        lines.push(format!(
            "recorded {}: {} of {} in {} ({} of arguments in {})",
            format_count(collected.launches, "launch", "launches"),
            format_count(collected.cases, "case", "cases"),
            format_count(collected.kernels, "kernel", "kernels"),
            out.display(),
            format_size(collected.bytes),
            format_size(collected.packed)
        ));
    } else {
        lines.extend(explain_empty(options, collected));
    }
    lines.extend(describe_omitted(collected, out));
    if options.preflight {
        lines.push(format!(
            "  {} of {} judged before they ran",
            collected.judged, collected.launches
        ));
    }
    if collected.without_data > 0 {
        lines.push(format!(
            "  {} without their bytes: seeded values take their place",
            format_count(collected.without_data, "storage", "storages")
        ));
    }
    lines.extend(collected.notes.iter().map(|note| format!("  note: {note}")));
    lines.extend(describe_unfinished(collected, out, status));
    if collected.cases > 0 {
        lines.push(format!("  run them: cerith run {}", out.display()));
    }
    lines.join("\n")
}

/// Describes launches that did not become cases, with the reasons.
fn describe_omitted(collected: &Collected, out: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let left: u64 = collected.skipped.iter().map(|one| one.count).sum();
    let mut others = Vec::new();
    for (count, what) in [
        (collected.repeated, "like one that is kept"),
        (collected.filtered, "of kernels not asked for"),
        (left, "left out"),
    ] {
        if count > 0 {
            others.push(format!("{count} {what}"));
        }
    }
    if !others.is_empty() {
        lines.push(format!("  {}", others.join(", ")));
    }
    // Without a recording there is no manifest that has the rest.
    let told = if collected.cases == 0 {
        usize::MAX
    } else {
        REASONS_TOLD
    };
    for one in collected.skipped.iter().take(told) {
        lines.push(format!("  left out {} of {}: {}", one.count, one.kernel, one.why));
    }
    if collected.skipped.len() > told {
        lines.push(format!(
            "  and for {} more reasons: {}",
            collected.skipped.len() - told,
            out.join(collect::MANIFEST).display()
        ));
    }
    lines
}

/// The reason why nothing was recorded, and what to do.
fn explain_empty(options: &RecordOptions, collected: &Collected) -> Vec<String> {
    let program = options.command.first().map(|word| word.to_string_lossy());
    let program = program.as_deref().unwrap_or("python");
    let launches = format_count(collected.launches, "launch", "launches");
    let (what, help) = if collected.filtered > 0 && collected.filtered == collected.launches {
        (
            format!(
                "{launches}, none of a kernel that `--filter` asks for; launched: {}",
                collected.filtered_kernels.join(", ")
            ),
            "leave `--filter` out, or name one of these".to_owned(),
        )
    } else if collected.launches > 0 {
        (
            format!("{launches}, and none could become a case, for these reasons"),
            "`cerith record --help` says what a recording can hold".to_owned(),
        )
    } else if collected.pythons == 0 && options.collect.is_none() {
        (
            "no Python began with the recorder in it".to_owned(),
            "Python must not be started with -I, -E or -S, nor without PYTHONPATH: \
             `cerith record -- python train.py`"
                .to_owned(),
        )
    } else if collected.imported.is_empty() {
        (
            format!(
                "{} ran, and none imported triton",
                format_count(collected.pythons, "Python", "Pythons")
            ),
            format!("see which Python has Triton 3.0 or later: `{program} -c 'import triton'`"),
        )
    } else {
        let help = if env::var_os("TRITON_INTERPRET").is_none_or(|value| value != "1") {
            "without a GPU, have kernels interpreted: `TRITON_INTERPRET=1 cerith record -- …`"
        } else {
            "name a program, or tests, that launch a kernel: `cerith record -- python -m pytest tests`"
        };
        (
            format!(
                "triton {} was imported, and no kernel was launched",
                collected.imported.join(" and ")
            ),
            help.to_owned(),
        )
    };
    vec![format!("recorded nothing: {what}"), format!("  = help: {help}")]
}

/// The launches that were running when their process died, and those that were held back, with what the reference says.
fn describe_unfinished(collected: &Collected, out: &Path, status: Option<ExitStatus>) -> Vec<String> {
    let mut lines = Vec::new();
    if collected.running.is_empty() && collected.refused.is_empty() {
        if collected.cases > 0 && status.and_then(find_signal).is_some_and(is_fault) {
            lines.push(
                "  the program died between launches: one of them may have damaged its memory\n  = help: have each judged \
                 before it runs: `cerith record --preflight -- …`"
                    .to_owned(),
            );
        }
        return lines;
    }
    let corpus = Corpus::read(out).ok();
    let reference = Reference::default();
    let died = status
        .and_then(find_signal)
        .map_or_else(String::new, |signal| format!(" ({})", name_signal(signal)));
    let running = collected
        .running
        .iter()
        .map(|one| (one, format!("was running when the program died{died}")));
    let refused = collected
        .refused
        .iter()
        .map(|one| (one, "did not run".to_owned()));
    for (one, what) in running.chain(refused).take(UNFINISHED_TOLD) {
        lines.push(format!("  {} {what}", one.case));
        let said = corpus
            .as_ref()
            .map_or_else(String::new, |corpus| describe_verdict(corpus, &reference, one));
        lines.extend(said.lines().map(|line| format!("    {line}")));
    }
    lines
}

/// Describes the reference's judgement of a launch.
fn describe_verdict(corpus: &Corpus, reference: &Reference, one: &Unfinished) -> String {
    let entry = corpus.entries().find(|entry| entry.id == one.case);
    let Some(case) = entry.and_then(|entry| entry.resolve().ok()) else {
        return "it is not a case".to_owned();
    };
    match preflight::judge_case(reference, &case) {
        Judged::Undefined(complaint) => {
            preflight::describe_undefined(&preflight::find_kernel_name(&case), &complaint)
        }
        Judged::Defined => "the reference finds nothing wrong with it".to_owned(),
        Judged::Silent(why) => format!("the reference has no outcome: {why}"),
    }
}

/// The signal that ended a program, or a program of a shell's.
fn find_signal(status: ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    let by_shell = status.code().filter(|code| (129..=159).contains(code));
    status.signal().or(by_shell.map(|code| code - 128))
}

/// Whether a signal is one of a broken memory.
const fn is_fault(signal: i32) -> bool {
    matches!(signal, 4..=8 | 11)
}

/// The name of a signal, as Linux numbers them.
fn name_signal(signal: i32) -> String {
    match signal {
        2 => "SIGINT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        other => return format!("signal {other}"),
    }
    .to_owned()
}

fn format_count(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A number of bytes for people.
fn format_size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}
