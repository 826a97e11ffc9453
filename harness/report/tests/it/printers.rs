//! Every printer over one stream that has one event of each sort.

use cerith_report::event::VerdictKind;
use cerith_report::{
    Digest, Event, Html, Human, Junit, KnownDetail, Palette, ReadError, SWEEPS, Summary, Writer, read,
    render_markdown,
};

const STREAM: &str = include_str!("../stream.jsonl");

fn read_events(text: &str) -> Vec<Event> {
    let mut events = Vec::new();
    let end = read(text.as_bytes(), |event| events.push(event)).expect("a stream");
    assert!(!end.cut);
    events
}

const SWEEP: &str = include_str!("../sweep.jsonl");

/// The stream with the summary that belongs to it.
fn read_stream() -> Vec<Event> {
    read_with_summary(STREAM)
}

fn read_with_summary(stream: &str) -> Vec<Event> {
    let mut all = read_events(stream);
    let mut summary = Summary::default();
    for event in &all {
        summary.count(event);
    }
    summary.seconds = 2.5;
    summary.exit = summary.exit_code();
    all.push(Event::Summary(summary));
    all
}

/// Holds text against the accepted one in the folder of all snapshots.
fn accept(name: &str, text: &str) {
    insta::with_settings!({snapshot_path => "../../../../snapshots/report", prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!(name, text);
    });
}

#[test]
fn a_terminal_shows_what_needs_a_look() {
    let mut human = Human::default();
    accept(
        "human",
        &read_stream()
            .iter()
            .map(|event| human.render_event(event))
            .collect::<String>(),
    );
    let mut verbose = Human::default();
    verbose.verbose = true;
    accept(
        "human_verbose",
        &read_stream()
            .iter()
            .map(|event| verbose.render_event(event))
            .collect::<String>(),
    );
}

/// A case of a kernel whose third line writes what differs.
fn build_failure(case: &str, kernel: &str, dtype: &str, kind: &str) -> String {
    format!(
        r#"{{"event":"verdict","case":"{case}:dtype={dtype}","about":"It is wrong.","engines":["reference","interpret@3.2.0"],"verdict":"differ","blame":["interpret@3.2.0"],"expected":false,"differences":[{{"baseline":"reference","engine":"interpret@3.2.0","kind":"{kind}","elements":1}}],"unexpected":["interpret@3.2.0"],"exhibit":{{"file":"cases/{case}.yaml","launches":[{{"kernel":"{kernel}","file":"k.py","grid":[1]}}],"marks":[{{"file":"k.py","line":3,"writes":["x"]}}]}}}}"#
    )
}

/// Failures are printed in full once for each kernel, line and kind; the others are named under it.
#[test]
fn what_says_the_same_is_named_under_the_first() {
    let mut lines = vec![
        r#"{"event":"start","format":3,"cerith":"0.1.0","engines":["reference","interpret@3.2.0"],"cases":60}"#.to_owned(),
    ];
    for dtype in ["f16", "bf16", "f32"] {
        lines.push(build_failure("area/one", "add", dtype, "memory"));
    }
    lines.push(build_failure("area/two", "mul", "f16", "memory"));
    lines.push(build_failure("area/two", "mul", "f32", "guard"));
    // The first kernel again, of another case file.
    lines.push(build_failure("other/three", "add", "f64", "memory"));
    for dtype in 0..45 {
        lines.push(build_failure("other/four", "sub", &format!("i{dtype}"), "memory"));
    }
    let internal = |case: &str| {
        format!(
            r#"{{"event":"internal","case":"{case}","engine":"reference","message":"index out of bounds"}}"#
        )
    };
    lines.extend(["z/a", "z/b"].map(internal));
    let all = read_with_summary(&(lines.join("\n") + "\n"));
    let print = |verbose: bool| -> String {
        let mut human = Human::default();
        human.verbose = verbose;
        human.reports_folder = Some("my reports".to_owned());
        all.iter().map(|event| human.render_event(event)).collect()
    };
    let text = print(false);
    accept("human_repeats", &text);
    assert_eq!(text.matches("area/one:dtype=bf16").count(), 1, "{text}");
    assert!(!text.contains("other/four:dtype=i44"), "{text}");
    assert!(print(true).contains("other/four:dtype=i44"), "-v names all");
}

/// Expected differences are listed by cause, in the requested detail.
#[test]
fn what_is_known_is_told_by_cause() {
    let known = |case: &str, explained: &str| {
        format!(
            r#"{{"event":"verdict","case":"{case}","engines":["reference","interpret@3.2.0"],"verdict":"differ","blame":["interpret@3.2.0"],"expected":true,"differences":[{{"baseline":"reference","engine":"interpret@3.2.0","kind":"memory","elements":1,"explained":[{explained}]}}]}}"#
        )
    };
    let mut lines = vec![
        r#"{"event":"start","format":3,"cerith":"0.1.0","engines":["reference","interpret@3.2.0"],"by_default":true,"corpus":"my cases","cases":9}"#.to_owned(),
    ];
    for (case, explained) in [
        ("alias/a", r#""arguments-copied-apart""#),
        ("dtype/a", r#""bf16-is-bits""#),
        ("dtype/b", r#""bf16-is-bits""#),
        ("dtype/c", r#""bf16-is-bits","bf16-from-integer""#),
        ("dtype/d", r#""bf16-from-integer""#),
        ("dtype/e", r#""bf16-widens-short""#),
        ("dtype/f", r#""no-such-bug""#),
        ("scalar/a", ""),
        ("scalar/b", ""),
    ] {
        lines.push(known(case, explained));
    }
    let all = read_with_summary(&(lines.join("\n") + "\n"));
    let print = |known: KnownDetail| -> String {
        let mut human = Human::default();
        human.known_detail = known;
        all.iter().map(|event| human.render_event(event)).collect()
    };
    accept("human_known_groups", &print(KnownDetail::default()));
    accept("human_known_all", &print(KnownDetail::All));
    let none = print(KnownDetail::None);
    assert!(
        !none.contains("bf16-is-bits") && none.contains("9 differ"),
        "{none}"
    );
}

#[test]
fn colours_change_nothing_but_colours() {
    let mut plain = Human::default();
    let mut coloured = Human::new(Palette { colour: true });
    for event in read_stream() {
        let text = coloured.render_event(&event);
        let mut stripped = String::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find('\u{1b}') {
            stripped.push_str(&rest[..at]);
            rest = &rest[at + rest[at..].find('m').expect("an escape sequence ends")..][1..];
        }
        stripped.push_str(rest);
        assert_eq!(stripped, plain.render_event(&event));
    }
}

#[test]
fn junit_has_a_suite_per_area() {
    let mut junit = Junit::default();
    for event in read_stream() {
        junit.add_event(&event);
    }
    accept("junit", &junit.finish().expect("XML"));
}

fn digest(events: &[Event]) -> Digest {
    let mut digest = Digest::default();
    for event in events {
        digest.add_event(event);
    }
    digest.finish()
}

#[test]
fn markdown_has_numbers_first() {
    accept("markdown", &render_markdown(&digest(&read_stream())));
}

/// Every printer shows the events of a sweep, in which variants stand for engines.
#[test]
fn a_sweep_is_shown_with_its_odd_ones_out() {
    let all = read_with_summary(SWEEP);
    let mut human = Human::default();
    human.verbose = true;
    let text: String = all.iter().map(|event| human.render_event(event)).collect();
    accept("human_sweep", &text);
    accept("markdown_sweep", &render_markdown(&digest(&all)));
    let mut junit = Junit::default();
    for event in &all {
        junit.add_event(event);
    }
    let xml = junit.finish().expect("XML");
    assert_eq!(xml.matches("<failure").count(), 3, "{xml}");
    let Some(Event::Summary(summary)) = all.last() else {
        panic!("no summary")
    };
    assert_eq!(
        (summary.cases, summary.unexpected, summary.stale, summary.exit),
        (5, 2, 1, 1)
    );
}

#[test]
fn a_stream_without_its_end_is_still_a_report() {
    let cut = digest(&read_events(STREAM));
    assert!(cut.cut);
    assert_eq!((cut.summary.cases, cut.summary.exit), (11, 2));
    let mut page = Html::default();
    for event in &read_events(STREAM) {
        page.add_event(event);
    }
    let page = page.finish().expect("a page");
    assert!(page.contains("<p>The stream ends early"));
}

#[test]
fn junit_of_a_stream_without_its_end_has_an_error() {
    let xml = |all: &[Event]| {
        let mut junit = Junit::default();
        for event in all {
            junit.add_event(event);
        }
        junit.finish().expect("xml")
    };
    let all = read_stream();
    let (whole, cut) = (xml(&all), xml(&all[..all.len() - 1]));
    let errors = |xml: &str| xml.matches("<error").count();
    assert_eq!(errors(&cut), errors(&whole) + 1, "{cut}");
    assert!(cut.contains("the stream ends without its summary"), "{cut}");
}

#[test]
fn events_are_read_as_they_are_written() {
    for event in read_stream() {
        let mut line = Vec::new();
        Writer::new(&mut line)
            .write_event(&event)
            .expect("memory takes it");
        let mut read = read_events(std::str::from_utf8(&line).expect("text"));
        if let Some(Event::Summary(summary)) = read.first_mut() {
            assert!(summary.seal.take().is_some(), "the writer seals the stream");
        }
        assert_eq!(read, [event]);
    }
}

#[test]
fn a_broken_line_is_named_and_a_cut_one_is_not_an_error() {
    let mut seen = 0;
    let half = &STREAM[..STREAM.len() - 20];
    assert!(read(half.as_bytes(), |_| seen += 1).expect("whole lines").cut);
    assert_eq!(seen, STREAM.lines().count() - 1);
    // In the middle of a character, too.
    let internal = "{\"event\":\"internal\",\"message\":\"µ\"}\n";
    let cut = &internal.as_bytes()[..=internal.find('µ').expect("it is there")];
    assert!(read(cut, |_| ()).expect("no whole line is broken").cut);
    let broken = STREAM.replacen("\"event\":\"problem\"", "\"event\":\"trouble\"", 1);
    assert!(matches!(
        read(broken.as_bytes(), |_| ()),
        Err(ReadError::Line { line: 2, .. })
    ));
    let future = format!(
        "{{\"event\":\"start\",\"format\":{},\"cerith\":\"9\",\"engines\":[],\"cases\":0}}\n",
        SWEEPS + 1
    );
    assert!(matches!(
        read(future.as_bytes(), |_| ()),
        Err(ReadError::Format { .. })
    ));
    // An unknown field is not an error.
    let more = "{\"event\":\"start\",\"format\":1,\"cerith\":\"1\",\"engines\":[],\"cases\":0,\"weather\":\"fine\"}\n";
    assert!(read(more.as_bytes(), |_| ()).is_ok());
}

#[test]
fn exit_codes_follow_from_the_numbers() {
    let check = |change: fn(&mut Summary), expected: u8| {
        let mut summary = Summary {
            cases: 10,
            agree: 10,
            ..Summary::default()
        };
        change(&mut summary);
        assert_eq!(summary.exit_code(), expected, "{summary:?}");
    };
    check(|_| (), 0);
    check(|summary| summary.differ = 1, 0);
    check(|summary| summary.inconclusive = 1, 0);
    check(|summary| summary.unexpected = 1, 1);
    check(|summary| summary.stale = 1, 1);
    check(|summary| summary.vacuous = 1, 1);
    check(|summary| summary.internal = 1, 1);
    check(|summary| (summary.problems, summary.unexpected) = (1, 1), 2);
    check(|summary| summary.cases = 0, 3);
    check(|summary| (summary.cases, summary.problems) = (0, 1), 2);
    check(|summary| (summary.interrupted, summary.problems) = (true, 1), 130);
}

/// Some printer's text of a stream that has many failures, all of whose words are hostile.
fn build_hostile_stream(count: usize) -> Vec<Event> {
    let hostile = "a/\u{1b}[2J\u{202e}b|`<img>`\n::error::x\r";
    let mut all = read_events(&format!(
        "{{\"event\":\"start\",\"format\":3,\"cerith\":\"1\",\"engines\":[{0}],\"cases\":{count}}}\n{{\"event\":\"problem\",\"severity\":\"error\",\"code\":\"c\",\"message\":{0},\"rendered\":{0}}}\n{{\"event\":\"internal\",\"case\":{0},\"message\":{0}}}\n",
        serde_json::json!(hostile)
    ));
    for nth in 0..count {
        let verdict = cerith_report::event::Verdict {
            case: format!("{hostile}{nth}"),
            about: hostile.to_owned(),
            engines: vec![hostile.to_owned()],
            verdict: VerdictKind::Differ,
            blame: vec![hostile.to_owned()],
            unexpected: vec![hostile.to_owned()],
            notes: vec![hostile.to_owned()],
            reason: Some(hostile.to_owned()),
            expected: nth % 2 == 1,
            ..cerith_report::event::Verdict::default()
        };
        all.push(Event::Verdict(Box::new(verdict)));
    }
    let mut summary = Summary::default();
    for event in &all {
        summary.count(event);
    }
    summary.exit = summary.exit_code();
    all.push(Event::Summary(summary));
    all
}

#[test]
fn no_word_of_a_case_is_a_command_to_a_terminal_or_a_workflow() {
    let all = build_hostile_stream(3);
    let mut human = Human::default();
    human.verbose = true;
    let text: String = all.iter().map(|event| human.render_event(event)).collect();
    for (printer, text) in [("human", text), ("markdown", render_markdown(&digest(&all)))] {
        for unsafe_one in ['\u{1b}', '\u{202e}', '\r'] {
            assert!(!text.contains(unsafe_one), "{printer}: {text:?}");
        }
        let command = text.lines().find(|line| line.trim_start().starts_with("::"));
        assert_eq!(command, None, "{printer}");
    }
}

#[test]
fn markdown_of_many_failures_fits_a_comment_and_says_what_it_leaves_out() {
    let page = render_markdown(&digest(&build_hostile_stream(4000)));
    assert!(page.len() <= 65_535, "{}", page.len());
    assert!(page.len() > 60_000, "room is used: {}", page.len());
    let (_, failures) = page.split_once("## Not as expected").expect("failures");
    let shown = failures.matches("DIFFER").count();
    assert!(shown > 10, "{shown}");
    assert!(
        failures.contains(&format!("… and {} more", 2000 - shown)),
        "{shown}"
    );
    // Expected ones have no room left, and are counted.
    assert!(
        page.ends_with("… and 2000 more, which the stream and the other reports have.\n"),
        "{}",
        &page[page.len() - 300..]
    );
}

#[test]
fn the_message_of_a_failure_is_the_error() {
    let mut junit = Junit::default();
    for event in read_stream() {
        junit.add_event(&event);
    }
    let xml = junit.finish().expect("XML");
    let message = "interpret@3.2.0: left[1, 0] is 6.0, and 7.0 by reference; 11 in all differ";
    assert!(xml.contains(message), "{xml}");
    assert!(
        xml.contains("file=\"cases/layout/split.yaml\" line=\"1\""),
        "{xml}"
    );
}
