//! Streams that lack a line, or have one too many: every reader notices.

use std::io::Cursor;

use cerith_report::event::{Start, Verdict, VerdictKind};
use cerith_report::{Baseline, Event, FORMAT, Joined, Merge, StreamEnd, Summary, Writer, read};

fn build_verdict(case: &str, differs: bool) -> Event {
    let kind = if differs {
        VerdictKind::Differ
    } else {
        VerdictKind::Agree
    };
    Event::Verdict(Box::new(Verdict {
        case: case.to_owned(),
        engines: vec!["reference".to_owned(), "interpret@3.9.0".to_owned()],
        verdict: kind,
        expected: !differs,
        unexpected: if differs {
            vec!["interpret@3.9.0".to_owned()]
        } else {
            Vec::new()
        },
        ..Verdict::default()
    }))
}

/// The lines of a run over `a`, `b` and `c`, of which `b` differs.
fn build_lines() -> Vec<String> {
    lines_of(FORMAT, &["a", "b", "c"], |case| case == "b")
}

fn lines_of(format: u32, cases: &[&str], differs: impl Fn(&str) -> bool) -> Vec<String> {
    let mut writer = Writer::new(Vec::new());
    let mut summary = Summary::default();
    let start = Event::Start(Start {
        format,
        cerith: "0.1.0".to_owned(),
        engines: vec!["reference".to_owned(), "interpret@3.9.0".to_owned()],
        cases: cases.len() as u64,
        ..Start::default()
    });
    for event in std::iter::once(start).chain(cases.iter().map(|case| build_verdict(case, differs(case)))) {
        summary.count(&event);
        writer.write_event(&event).expect("written");
    }
    summary.exit = summary.exit_code();
    writer.write_event(&Event::Summary(summary)).expect("written");
    let text = String::from_utf8(writer.take()).expect("text");
    text.lines().map(|line| format!("{line}\n")).collect()
}

fn end(stream: &str) -> StreamEnd {
    read(stream.as_bytes(), |_| {}).expect("a stream")
}

/// Checks that every reader reports the problems of a stream.
#[track_caller]
fn is_noticed(stream: &str, expected: &str) {
    let found = end(stream);
    assert!(
        found.gaps.iter().any(|gap| gap.contains(expected)),
        "no {expected:?} in {found:?}"
    );
    let mut joined = Joined::default();
    joined.begin("s");
    let end = read(stream.as_bytes(), |event| drop(joined.add_event(event))).expect("a stream");
    joined.end(&end);
    let ended = joined.finish();
    assert_eq!(ended.summary.exit, 2, "{:?}", ended.faults);
    assert!(ended.cut);
    let error = Baseline::read(stream.as_bytes()).expect_err("not whole");
    assert!(error.to_string().contains("is not whole"), "{error}");
    let merge =
        Merge::open([("s".to_owned(), Ok(Cursor::new(stream.as_bytes().to_vec())))]).expect("a start");
    let mut writer = Writer::new(Vec::new());
    let merged = merge
        .run(|event, line| match line {
            Some(line) => writer.copy(line),
            None => writer.write_event(event),
        })
        .expect("merged");
    assert_eq!(merged.summary.exit, 2, "{:?}", merged.faults);
    // The output then reports a failure, and is complete itself.
    let again = read(writer.take().as_slice(), |_| {}).expect("a stream");
    assert_eq!(again.fault(), None);
}

#[test]
fn a_whole_stream_is_whole() {
    assert_eq!(end(&build_lines().concat()).fault(), None);
    // Empty lines, and a missing last line break, change nothing.
    assert_eq!(end(&build_lines().join("\n")).fault(), None);
    assert_eq!(end(build_lines().concat().trim_end()).fault(), None);
    // Several runs in one stream are checked one by one.
    let two = build_lines().concat() + &build_lines().concat();
    assert_eq!(end(&two).fault(), None);
    assert_eq!(end(&two).runs, 2);
}

#[test]
fn a_line_that_is_lost_is_noticed() {
    let lines = build_lines();
    for lost in 1..4 {
        let mut cut = lines.clone();
        cut.remove(lost);
        is_noticed(&cut.concat(), "its summary counts 3 cases, and 2 in its lines");
        is_noticed(&cut.concat(), "its start announces 3 cases, and 2 were judged");
        is_noticed(
            &cut.concat(),
            "its summary was written after 4 lines, and 3 are there",
        );
    }
}

#[test]
fn lines_that_are_doubled_moved_or_changed_are_noticed() {
    let lines = build_lines();
    let mut doubled = lines.clone();
    doubled.insert(2, lines[1].clone());
    is_noticed(&doubled.concat(), "it has more than one verdict of a");
    let mut replaced = lines.clone();
    replaced[2] = lines[1].clone();
    is_noticed(&replaced.concat(), "it has more than one verdict of a");
    let mut moved = lines.clone();
    moved.swap(1, 2);
    is_noticed(&moved.concat(), "or are in another order");
    let mut changed = lines.clone();
    changed[1] = changed[1].replace("\"agree\"", "\"undefined\"");
    is_noticed(
        &changed.concat(),
        "its summary counts 2 agree, and 1 in its lines",
    );
    let mut renamed = lines;
    renamed[1] = renamed[1].replace("\"a\"", "\"z\"");
    is_noticed(&renamed.concat(), "its lines are not those that its run wrote");
}

#[test]
fn a_summary_of_another_run_is_noticed() {
    let (mut lines, other) = (
        build_lines(),
        lines_of(FORMAT, &["a", "x", "c"], |case| case == "x"),
    );
    lines[4].clone_from(&other[4]);
    is_noticed(&lines.concat(), "its lines are not those that its run wrote");
    let smaller = lines_of(FORMAT, &["a"], |_| false);
    lines[4].clone_from(&smaller[2]);
    is_noticed(&lines.concat(), "its summary counts 1 cases, and 3 in its lines");
}

#[test]
fn a_summary_without_a_seal_is_one_of_an_older_format() {
    let unsealed = |format| {
        let mut lines = lines_of(format, &["a", "b"], |case| case == "b");
        let at = lines[3].find(",\"seal\"").expect("a seal");
        lines[3].truncate(at);
        lines[3].push_str("}\n");
        lines
    };
    is_noticed(&unsealed(FORMAT).concat(), "its summary has no seal");
    let old = unsealed(3);
    assert_eq!(end(&old.concat()).fault(), None);
    is_noticed(
        &[&old[0], &old[1], &old[3]].map(String::as_str).concat(),
        "its summary counts 2 cases",
    );
    is_noticed(
        &[&old[0], &old[1], &old[1], &old[3]].map(String::as_str).concat(),
        "it has more than one verdict of a",
    );
}

#[test]
fn what_a_workflow_would_take_for_a_command_is_no_part_of_a_line() {
    let mut writer = Writer::new(Vec::new());
    writer
        .write_event(&build_verdict("##[error]x \u{202e}\u{7f}", false))
        .expect("written");
    let line = String::from_utf8(writer.take()).expect("text");
    assert!(line.contains("#\\u0023[error]x \\u202e\\u007f"), "{line}");
    read(line.as_bytes(), |event| {
        let Event::Verdict(verdict) = event else {
            panic!("another event")
        };
        assert_eq!(verdict.case, "##[error]x \u{202e}\u{7f}");
    })
    .expect("a stream");
}
