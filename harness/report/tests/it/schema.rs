//! The documentation of the stream, held to the code: every event and field that can be written is in `docs/EVENTS.md`, and
//! nothing else is.

use std::collections::{BTreeMap, BTreeSet};

use cerith_report::event::{
    Against, Bytes, Camp, Compiled, CompiledKernel, Contents, Difference, Differs, Element, EngineOutcome,
    Exhibit, Expectation, Internal, Judging, Kind, KnownBug, Launch, Left, LeftOut, Mark, OutcomeKind,
    Position, Problem, Rule, Scratch, Seal, Severity, Stage, Start, State, Stoppage, Storage, Summary, Sweep,
    Tally, Text, Undefined, Variants, Verdict, VerdictKind, View,
};
use cerith_report::{Digest, Event, FORMAT, Html, Human, Junit, Remarks, SWEEPS, read};
use cerith_verdict::stage;
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;

const PAGE: &str = include_str!("../../../../docs/EVENTS.md");

fn some() -> String {
    "some".to_owned()
}

fn one<T>(value: T) -> IndexMap<String, T> {
    IndexMap::from([(some(), value)])
}

// Every field is named and holds something, so that a field that comes does not compile until it is here and in the page.
fn start() -> Start {
    Start {
        format: 1,
        cerith: some(),
        engines: vec![some()],
        by_default: true,
        left_out: vec![leftout()],
        recorded: vec![some()],
        axes: vec![some()],
        cases: 1,
        total: 1,
        checks: Some(some()),
        masked: Some(some()),
        schedules: 1,
        corpus: some(),
        corpus_hash: some(),
        allow_unavailable: true,
        baseline: some(),
        last_failed: true,
        partial: true,
        filters: vec![some()],
        shard: Some(some()),
    }
}

fn leftout() -> LeftOut {
    LeftOut {
        engine: some(),
        why: some(),
    }
}

fn position() -> Position {
    Position {
        file: some(),
        line: 1,
        column: 1,
        text: some(),
    }
}

fn problem() -> Problem {
    Problem {
        severity: Severity::Error,
        code: some(),
        message: some(),
        position: Some(position()),
        help: Some(some()),
        rendered: some(),
    }
}

fn internal() -> Internal {
    Internal {
        case: Some(some()),
        engine: Some(some()),
        message: some(),
    }
}

fn verdict() -> Verdict {
    Verdict {
        case: some(),
        about: some(),
        engines: vec![some()],
        verdict: VerdictKind::Differ,
        blame: vec![some()],
        expected: true,
        seconds: one(1.5),
        judging: judging(),
        unconfirmed: true,
        suspected: Some(some()),
        notes: vec![some()],
        stages: vec![stage()],
        vacuous: true,
        reason: Some(some()),
        warning: Some(Box::new(outcome())),
        outcomes: one(outcome()),
        differences: vec![difference()],
        unexpected: vec![some()],
        silent: vec![some()],
        stopped: vec![some()],
        stoppage: Some(stoppage()),
        expectations: vec![expectation()],
        without_answer: vec![some()],
        rules: vec![rule()],
        bytes: bytes(),
        left_out: vec![undefined()],
        position: Some(position()),
        against: Some(Box::new(against())),
        sweep: Some(Box::new(sweep())),
        compiled: one(compiled()),
        exhibit: Some(Box::new(exhibit())),
    }
}

fn stage() -> Stage {
    Stage {
        engines: vec![some()],
        first: stage::Stage::Ttir,
        last: stage::Stage::Ttgir,
        passes: vec![some()],
    }
}

fn judging() -> Judging {
    Judging {
        reading: 1.5,
        comparing: 1.5,
        intervals: 1.5,
        explaining: 1.5,
        showing: 1.5,
    }
}

fn against() -> Against {
    Against {
        same: vec![some()],
        new: vec![some()],
        mended: vec![some()],
    }
}

fn sweep() -> Sweep {
    Sweep {
        engine: some(),
        odd: vec![some()],
        camps: vec![camp()],
        axes: one(some()),
        same: one(some()),
        not_applicable: one(some()),
    }
}

fn camp() -> Camp {
    Camp {
        variants: vec![some()],
        reference: Some(true),
    }
}

fn outcome() -> EngineOutcome {
    EngineOutcome {
        outcome: OutcomeKind::Trapped,
        error: some(),
        message: some(),
        position: Some(position()),
        detail: Some(some()),
        launch: Some(1),
        printed: vec![some()],
    }
}

fn difference() -> Difference {
    Difference {
        baseline: some(),
        engine: some(),
        kind: Kind::Memory,
        elements: 1,
        first: vec![element()],
        explained: vec![some()],
    }
}

fn element() -> Element {
    Element {
        storage: some(),
        byte: 1,
        guard: some(),
        dtype: some(),
        index: Some(1),
        tensor: some(),
        at: vec![1],
        values: [some(), some()],
        bits: [some(), some()],
        unwritten: true,
        accepted: Some([some(), some()]),
    }
}

fn bytes() -> Bytes {
    Bytes {
        compared: 1,
        accepted: 1,
        undecided: 1,
        undefined: 1,
    }
}

fn undefined() -> Undefined {
    Undefined {
        storage: some(),
        bytes: 1,
        of: 1,
        whole: vec![some()],
    }
}

fn expectation() -> Expectation {
    Expectation {
        engines: vec![some()],
        versions: some(),
        axes: vec![some()],
        verdict: Some(VerdictKind::Differ),
        outcome: Some(OutcomeKind::Trapped),
        why: some(),
        link: Some(some()),
        state: State::Met,
        position: Some(position()),
    }
}

fn stoppage() -> Stoppage {
    Stoppage {
        outcome: OutcomeKind::Rejected,
        versions: some(),
    }
}

fn rule() -> Rule {
    Rule {
        rule: some(),
        since: some(),
        about: some(),
    }
}

fn summary() -> Summary {
    Summary {
        cases: 1,
        agree: 1,
        differ: 1,
        nondeterministic: 1,
        undefined: 1,
        inconclusive: 1,
        unexpected: 1,
        silent: 1,
        alone: 1,
        by_default: true,
        stale: 1,
        vacuous: 1,
        unconfirmed: 1,
        known: one(1),
        unexplained: 1,
        stale_recordings: 1,
        reference_blamed: 1,
        bytes: bytes(),
        left_out: 1,
        left_out_whole: 1,
        in_baseline: 1,
        mended: 1,
        not_run: 1,
        problems: 1,
        internal: 1,
        unwritten: 1,
        seconds: 1.5,
        judging: judging(),
        variants: Some(variants()),
        engines: one(tally()),
        interrupted: true,
        exit: 1,
        seal: Some(seal()),
    }
}

fn seal() -> Seal {
    Seal {
        lines: 1,
        hash: some(),
    }
}

fn variants() -> Variants {
    Variants {
        tried: 1,
        same: 1,
        not_applicable: one(1),
    }
}

fn tally() -> Tally {
    Tally {
        outcomes: one(1),
        blamed: 1,
        seconds: 1.5,
    }
}

fn exhibit() -> Exhibit {
    Exhibit {
        about: some(),
        file: some(),
        line: 1,
        origin: Some(some()),
        launches: vec![launch()],
        storages: vec![storage()],
        views: vec![view()],
        uses: vec![some()],
        marks: vec![mark()],
        differs: vec![differs()],
        memory: vec![contents()],
        memory_left_out: 1,
        texts: vec![text()],
        known: vec![knownbug()],
    }
}

fn launch() -> Launch {
    Launch {
        kernel: some(),
        file: some(),
        line: 1,
        grid: vec![1],
        args: one(some()),
        options: one(some()),
        host: Some(some()),
    }
}

fn storage() -> Storage {
    Storage {
        name: some(),
        bytes: 1,
        dtype: some(),
        shape: vec![1],
        fill: some(),
    }
}

fn view() -> View {
    View {
        name: some(),
        storage: some(),
        dtype: some(),
        shape: vec![1],
        strides: vec![1],
        offset: 1,
    }
}

fn mark() -> Mark {
    Mark {
        file: some(),
        line: 1,
        bugs: vec![some()],
        writes: vec![some()],
    }
}

fn differs() -> Differs {
    Differs {
        baseline: some(),
        engine: some(),
        storage: some(),
        spans: vec![[1, 1]],
        more: true,
    }
}

fn contents() -> Contents {
    Contents {
        storage: some(),
        from: 1,
        of: 1,
        undefined: vec![[1, 1]],
        unwritten: vec![[1, 1]],
        left: vec![left()],
    }
}

fn left() -> Left {
    Left {
        engines: vec![some()],
        bytes: some(),
    }
}

fn text() -> Text {
    Text {
        file: some(),
        text: some(),
    }
}

fn knownbug() -> KnownBug {
    KnownBug {
        name: some(),
        family: some(),
        from: some(),
        to: Some(some()),
        about: some(),
        origin: some(),
    }
}

fn compiled() -> Compiled {
    Compiled {
        file: some(),
        target: some(),
        seconds: 1.5,
        kernels: vec![compiledkernel()],
    }
}

fn compiledkernel() -> CompiledKernel {
    CompiledKernel {
        name: some(),
        launches: 1,
        params: vec![some()],
        num_warps: 1,
        num_ctas: 1,
        cluster: vec![1],
        shared: 1,
        global_scratch: Some(scratch()),
        profile_scratch: Some(scratch()),
        cooperative: true,
        pdl: true,
        cubin: 1,
        code: 1,
        registers: 1,
        stack: 1,
    }
}

fn scratch() -> Scratch {
    Scratch { size: 1, align: 1 }
}

/// A type's fields: those that are always written, and all.
fn written<T: Serialize>(empty: Option<&T>, full: &T) -> (BTreeSet<String>, BTreeSet<String>) {
    let keys = |value: &T| match serde_json::to_value(value).expect("JSON") {
        Value::Object(fields) => fields.keys().cloned().collect::<BTreeSet<_>>(),
        other => panic!("no object: {other}"),
    };
    let all = keys(full);
    (empty.map_or_else(|| all.clone(), keys), all)
}

/// The same as the page has it, by type.
fn documented() -> BTreeMap<&'static str, (BTreeSet<String>, BTreeSet<String>)> {
    let mut types: BTreeMap<&str, (BTreeSet<String>, BTreeSet<String>)> = BTreeMap::new();
    let mut name = "";
    for line in PAGE.lines() {
        if let Some(heading) = line.strip_prefix("### ") {
            name = heading;
            types.entry(name).or_default();
        } else if let Some(row) = line.strip_prefix("| `").filter(|_| !name.is_empty()) {
            let cells: Vec<&str> = row.split(" | ").collect();
            let field = cells[0].trim_end_matches('`').to_owned();
            let fields = types.entry(name).or_default();
            if cells[2].trim() == "always" {
                fields.0.insert(field.clone());
            }
            assert!(
                !cells[3].trim_matches(['|', ' ']).is_empty(),
                "{name}.{field} has no words"
            );
            assert!(fields.1.insert(field.clone()), "{name}.{field} is there twice");
        }
    }
    types
}

#[test]
fn every_field_is_documented_and_every_documented_field_is_written() {
    let code = BTreeMap::from([
        ("Start", written(Some(&Start::default()), &start())),
        ("LeftOut", written(None, &leftout())),
        (
            "Position",
            written(
                Some(&Position {
                    column: 0,
                    text: String::new(),
                    ..position()
                }),
                &position(),
            ),
        ),
        (
            "Problem",
            written(
                Some(&Problem {
                    position: None,
                    help: None,
                    ..problem()
                }),
                &problem(),
            ),
        ),
        (
            "Internal",
            written(
                Some(&Internal {
                    case: None,
                    engine: None,
                    ..internal()
                }),
                &internal(),
            ),
        ),
        ("Verdict", written(Some(&Verdict::default()), &verdict())),
        ("Against", written(Some(&Against::default()), &against())),
        ("Sweep", written(Some(&Sweep::default()), &sweep())),
        ("Camp", written(Some(&Camp::default()), &camp())),
        (
            "EngineOutcome",
            written(Some(&EngineOutcome::default()), &outcome()),
        ),
        ("Difference", written(Some(&Difference::default()), &difference())),
        ("Element", written(Some(&Element::default()), &element())),
        ("Bytes", written(Some(&Bytes::default()), &bytes())),
        ("Undefined", written(Some(&Undefined::default()), &undefined())),
        (
            "Expectation",
            written(Some(&Expectation::default()), &expectation()),
        ),
        (
            "Stage",
            written(
                Some(&Stage {
                    passes: Vec::new(),
                    ..stage()
                }),
                &stage(),
            ),
        ),
        ("Rule", written(Some(&Rule::default()), &rule())),
        (
            "Stoppage",
            written(
                Some(&Stoppage {
                    versions: String::new(),
                    ..stoppage()
                }),
                &stoppage(),
            ),
        ),
        ("Summary", written(Some(&Summary::default()), &summary())),
        ("Seal", written(Some(&Seal::default()), &seal())),
        ("Variants", written(Some(&Variants::default()), &variants())),
        ("Judging", written(Some(&Judging::default()), &judging())),
        ("Tally", written(Some(&Tally::default()), &tally())),
        ("Exhibit", written(Some(&Exhibit::default()), &exhibit())),
        ("Launch", written(Some(&Launch::default()), &launch())),
        ("Storage", written(Some(&Storage::default()), &storage())),
        ("View", written(Some(&View::default()), &view())),
        ("Mark", written(Some(&Mark::default()), &mark())),
        ("Differs", written(Some(&Differs::default()), &differs())),
        ("Contents", written(Some(&Contents::default()), &contents())),
        ("Left", written(Some(&Left::default()), &left())),
        ("Text", written(Some(&Text::default()), &text())),
        ("KnownBug", written(Some(&KnownBug::default()), &knownbug())),
        ("Compiled", written(Some(&Compiled::default()), &compiled())),
        (
            "CompiledKernel",
            written(Some(&CompiledKernel::default()), &compiledkernel()),
        ),
        ("Scratch", written(Some(&Scratch::default()), &scratch())),
    ]);
    let page = documented();
    let names = |types: &BTreeMap<&'static str, _>| types.keys().copied().collect::<Vec<_>>();
    assert_eq!(
        names(&code),
        names(&page),
        "types of the code and of docs/EVENTS.md"
    );
    for (name, (always, all)) in &code {
        let (page_always, page_all) = &page[name];
        assert_eq!(
            all, page_all,
            "fields of {name} in the code and in docs/EVENTS.md"
        );
        assert_eq!(always, page_always, "fields of {name} that are always written");
    }
}

#[test]
fn every_event_and_format_is_documented() {
    let events = [
        Event::Start(start()),
        Event::Problem(problem()),
        Event::Verdict(Box::new(verdict())),
        Event::Sweep(Box::new(verdict())),
        Event::Internal(internal()),
        Event::Summary(summary()),
    ];
    let mut tags = BTreeSet::new();
    for event in &events {
        let name = event.name();
        let value = serde_json::to_value(event).expect("JSON");
        assert_eq!(value["event"], name);
        tags.insert(format!("| `{name}` |"));
        let read: Event = serde_json::from_value(value).expect("an event");
        assert_eq!(&read, event, "what is written is read");
    }
    assert_eq!(tags.len(), Event::NAMES.len());
    let mut lines = tags
        .into_iter()
        .chain([FORMAT, SWEEPS].map(|format| format!("| {format} |")));
    let missing = lines.find(|row| !PAGE.lines().any(|line| line.starts_with(row)));
    assert_eq!(missing, None, "a row of docs/EVENTS.md");
}

/// Streams of every version that was ever written are read, and every printer has something to say of them.
#[test]
fn streams_of_every_version_are_read() {
    let streams = [
        (1, include_str!("../stream.jsonl")),
        (2, include_str!("../sweep.jsonl")),
        (3, include_str!("../format-3.jsonl")),
        (4, include_str!("../format-4.jsonl")),
    ];
    for (format, stream) in streams {
        let (mut human, mut html) = (Human::default(), Html::default());
        let (mut junit, mut digest, mut remarks) = (Junit::default(), Digest::default(), Remarks::default());
        let (mut text, mut cases, mut starts) = (String::new(), 0, Vec::new());
        let end = read(stream.as_bytes(), |event| {
            text.push_str(&human.event(&event));
            html.event(&event);
            junit.event(&event);
            digest.event(&event);
            remarks.event(&event);
            match &event {
                Event::Start(start) => starts.push(start.format),
                Event::Verdict(verdict) | Event::Sweep(verdict) => {
                    cases += 1;
                    assert!(!verdict.case.is_empty() && !verdict.engines.is_empty());
                }
                _ => {}
            }
        });
        let end = end.expect("a stream");
        assert!(
            !end.cut && !end.stray && end.gaps.is_empty(),
            "format {format}: {end:?}"
        );
        assert_eq!(starts, [format]);
        assert!(cases > 1, "format {format}");
        assert!(text.contains("case"), "{text}");
        assert!(html.finish().expect("a page").contains("<!doctype html>"));
        assert!(junit.finish().expect("XML").contains("<testsuites"));
        assert_eq!(
            digest.finish().areas.values().map(|area| area.cases).sum::<u64>(),
            cases
        );
        assert!(remarks.sarif().expect("SARIF").contains("\"runs\""));
    }
    // What came to a format later is a field that holds nothing in streams from before.
    assert!(
        !include_str!("../stream.jsonl").contains("\"bytes\":"),
        "format 1 knew no bytes"
    );
    let newer = format!(
        r#"{{"event":"start","format":{},"cerith":"9.0.0","engines":[],"cases":0}}"#,
        SWEEPS + 1
    );
    let refused = read(format!("{newer}\n").as_bytes(), |_| {}).expect_err("a newer stream");
    assert!(refused.to_string().contains("use a newer cerith"), "{refused}");
}
