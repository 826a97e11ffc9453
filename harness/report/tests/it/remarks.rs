//! Annotations of lines: each failure has one at its location, and text of a case is never a workflow command.

use cerith_report::event::{Position, Verdict, VerdictKind};
use cerith_report::{Event, Remarks, Summary, read};
use serde_json::{Value, json};

const STREAM: &str = include_str!("../stream.jsonl");

fn collect_remarks(events: &[Event]) -> Remarks {
    let mut remarks = Remarks::default();
    for event in events {
        remarks.add_event(event);
    }
    remarks
}

fn stream() -> Vec<Event> {
    let mut events = Vec::new();
    read(STREAM.as_bytes(), |event| events.push(event)).expect("a stream");
    events.push(Event::Summary(Summary::default()));
    events
}

#[test]
fn a_workflow_gets_a_line_for_each_failure_at_its_place() {
    let text = collect_remarks(&stream()).github();
    for line in [
        "::error file=cases/alias/bad.yaml,line=3,col=1,title=unknown-key::unknown key `tensor`",
        "::error file=cases/layout/split.yaml,line=1,col=8,title=layout/split%3Adtype=f16::interpret@3.2.0: left[1, 0] is 6.0, \
         and 7.0 by reference; 11 in all differ",
        // In the kernel, where an engine said so.
        "::error file=cases/layout/k.py,line=12,title=layout/trap::interpret@3.2.0: AttributeError: 'float' object has no \
         attribute 'shape' (cases/layout/k.py:12)",
    ] {
        assert!(text.lines().any(|one| one == line), "{line}\n{text}");
    }
    assert!(!text.contains("alias/same_twice"), "it was expected");
}

#[test]
fn no_word_of_a_case_is_a_command() {
    let hostile = "a\n::add-mask::x,b=c\r\u{1b}[2J";
    let verdict = |nth: u32| {
        Event::Verdict(Box::new(Verdict {
            case: format!("{hostile}{nth}"),
            verdict: VerdictKind::Differ,
            position: Some(Position {
                file: hostile.to_owned(),
                line: nth,
                column: 0,
                text: String::new(),
            }),
            ..Verdict::default()
        }))
    };
    let mut events: Vec<Event> = (0..60).map(verdict).collect();
    events.push(Event::Summary(Summary::default()));
    let text = collect_remarks(&events).github();
    assert_eq!(text.lines().count(), 51);
    for line in text.lines() {
        assert!(
            line.starts_with("::error file=a") || line == "::notice title=Cerith::10 more are in the stream",
            "{line}"
        );
        assert_eq!(line.matches("title=").count(), 1, "{line}");
        assert!(!line.contains(['\u{1b}', '\r']), "{line}");
    }
}

#[test]
fn code_scanning_gets_a_result_for_each_failure() {
    let log: Value = serde_json::from_str(&collect_remarks(&stream()).sarif().expect("SARIF")).expect("JSON");
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    assert_eq!(run["invocations"][0]["executionSuccessful"], true);
    let results = run["results"].as_array().expect("results");
    let rules: Vec<&Value> = run["tool"]["driver"]["rules"]
        .as_array()
        .expect("rules")
        .iter()
        .collect();
    for result in results {
        assert!(
            rules.iter().any(|rule| rule["id"] == result["ruleId"]),
            "{result}"
        );
    }
    let split = results
        .iter()
        .find(|result| result["partialFingerprints"]["case/v1"] == "layout/split:dtype=f16")
        .expect("a failure");
    assert_eq!(split["ruleId"], "verdict/differ");
    assert_eq!(
        split["locations"][0]["physicalLocation"],
        json!({"artifactLocation": {"uri": "cases/layout/split.yaml"}, "region": {"startLine": 1, "startColumn": 8}})
    );
}

#[test]
fn a_stream_without_its_end_is_an_error() {
    let mut cut = stream();
    cut.pop();
    let whole = collect_remarks(&stream()).github().lines().count();
    let text = collect_remarks(&cut).github();
    assert_eq!(text.lines().count(), whole + 1);
    assert!(text.contains("the stream ends without its summary"), "{text}");
    let log: Value = serde_json::from_str(&collect_remarks(&cut).sarif().expect("SARIF")).expect("JSON");
    assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], false);
}

/// A verdict about a case at a line of `k.py`.
fn at_line(case: &str, verdict: VerdictKind, line: u32) -> Event {
    Event::Verdict(Box::new(Verdict {
        case: case.to_owned(),
        verdict,
        position: Some(Position {
            file: "k.py".to_owned(),
            line,
            column: 0,
            text: String::new(),
        }),
        ..Verdict::default()
    }))
}

#[test]
fn a_line_of_a_kernel_gets_one_annotation_and_the_worst_come_first() {
    let mut events: Vec<Event> = (0..5)
        .map(|nth| at_line(&format!("a/inconclusive:{nth}"), VerdictKind::Inconclusive, 5))
        .collect();
    events.push(at_line("a/undefined:1", VerdictKind::Undefined, 7));
    events.push(at_line("a/wrong", VerdictKind::Differ, 9));
    events.extend((0..6).map(|nth| at_line(&format!("a/races:{nth}"), VerdictKind::Undefined, 8)));
    // An inconclusive case is not what the line's annotation is about.
    events.push(at_line("a/inconclusive:9", VerdictKind::Inconclusive, 9));
    events.push(Event::Summary(Summary::default()));
    let text = collect_remarks(&events).github();
    let shown: Vec<(&str, &str)> = text
        .lines()
        .map(|line| {
            let (properties, words) = line
                .strip_prefix("::error ")
                .expect("an error")
                .split_once("::")
                .expect("words");
            (
                properties,
                words.split_once("; also ").map_or("", |(_, also)| also),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("file=k.py,line=9,title=a/wrong", "a/inconclusive:9"),
            (
                "file=k.py,line=8,title=a/races%3A0",
                "a/races:1, a/races:2, a/races:3 and 2 more"
            ),
            ("file=k.py,line=7,title=a/undefined%3A1", ""),
            (
                "file=k.py,line=5,title=a/inconclusive%3A0",
                "a/inconclusive:1, a/inconclusive:2, a/inconclusive:3 and 1 more"
            ),
        ]
    );
}

#[test]
fn findings_without_a_case_file_are_annotated_too() {
    let mut remarks = Remarks::default();
    let at = Some(Position {
        file: "k.py".to_owned(),
        line: 3,
        column: 2,
        text: String::new(),
    });
    remarks.add_finding(
        "k.py:one",
        None,
        "check/outside-tensor",
        "1f",
        "it may leave the tensor",
        at.clone(),
    );
    remarks.add_finding(
        "k.py:two",
        Some(VerdictKind::Undefined),
        "check/out-of-bounds",
        "2e",
        "it leaves the storage",
        at,
    );
    remarks.end();
    assert_eq!(
        remarks.github(),
        "::error file=k.py,line=3,col=2,title=k.py%3Atwo::it leaves the storage; also k.py:one\n"
    );
}
