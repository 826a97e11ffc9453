//! Compares the documentation of the stream with the code: every event and field that can be written is in
//! `docs/events.md`, and nothing else is.

use std::collections::{BTreeMap, BTreeSet};

use cerith_engine::CompilerStage;
use cerith_report::event::{
    Against, Bytes, Camp, Compiled, CompiledKernel, Contents, Difference, Differs, Element, EngineOutcome,
    Exhibit, Expectation, Instructions, Internal, Judging, Kind, KnownBug, Launch, Left, LeftOut, LikeResult,
    LikeVerdict, Mark, Misspelling, OutcomeKind, Position, Problem, Rule, Scratch, Seal, Severity, Stage,
    Start, State, Stoppage, Storage, Summary, Sweep, Tally, Text, Undefined, Variants, Verdict, VerdictKind,
    View,
};
use cerith_report::{Digest, Event, FORMAT, Html, Human, Junit, Remarks, SWEEPS, read};
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;

const PAGE: &str = include_str!("../../../../docs/events.md");

fn build_string() -> String {
    "some".to_owned()
}

fn build_map<T>(value: T) -> IndexMap<String, T> {
    IndexMap::from([(build_string(), value)])
}

// Every field is named and holds something, so that a field that comes does not compile until it is here and in the page.
fn build_start() -> Start {
    Start {
        format: 1,
        cerith: build_string(),
        engines: vec![build_string()],
        by_default: true,
        left_out: vec![build_left_out()],
        recorded: vec![build_string()],
        axes: vec![build_string()],
        cases: 1,
        total: 1,
        checks: Some(build_string()),
        masked: Some(build_string()),
        schedules: 1,
        corpus: build_string(),
        corpus_hash: build_string(),
        allow_unavailable: true,
        baseline: build_string(),
        last_failed: true,
        partial: true,
        filters: vec![build_string()],
        shard: Some(build_string()),
    }
}

fn build_left_out() -> LeftOut {
    LeftOut {
        engine: build_string(),
        why: build_string(),
    }
}

fn build_position() -> Position {
    Position {
        file: build_string(),
        line: 1,
        column: 1,
        text: build_string(),
    }
}

fn build_problem() -> Problem {
    Problem {
        severity: Severity::Error,
        code: build_string(),
        message: build_string(),
        position: Some(build_position()),
        help: Some(build_string()),
        rendered: build_string(),
    }
}

fn build_internal() -> Internal {
    Internal {
        case: Some(build_string()),
        engine: Some(build_string()),
        message: build_string(),
    }
}

fn build_verdict() -> Verdict {
    Verdict {
        case: build_string(),
        about: build_string(),
        engines: vec![build_string()],
        verdict: VerdictKind::Differ,
        blame: vec![build_string()],
        expected: true,
        seconds: build_map(1.5),
        judging: build_judging(),
        unconfirmed: true,
        suspected: Some(build_string()),
        notes: vec![build_string()],
        stages: vec![build_stage()],
        vacuous: true,
        reason: Some(build_string()),
        warning: Some(Box::new(build_outcome())),
        outcomes: build_map(build_outcome()),
        differences: vec![build_difference()],
        unexpected: vec![build_string()],
        silent: vec![build_string()],
        stopped: vec![build_string()],
        stoppage: Some(build_stoppage()),
        expectations: vec![build_expectation()],
        without_answer: vec![build_string()],
        rules: vec![build_rule()],
        bytes: build_bytes(),
        left_out: vec![build_undefined()],
        position: Some(build_position()),
        like: Some(Box::new(build_like())),
        against: Some(Box::new(build_against())),
        sweep: Some(Box::new(build_sweep())),
        compiled: build_map(build_compiled()),
        instructions: build_map(build_instructions()),
        exhibit: Some(Box::new(build_exhibit())),
    }
}

fn build_stage() -> Stage {
    Stage {
        engines: vec![build_string()],
        first: CompilerStage::Ttir,
        last: CompilerStage::Ttgir,
        passes: vec![build_string()],
    }
}

fn build_judging() -> Judging {
    Judging {
        reading: 1.5,
        comparing: 1.5,
        intervals: 1.5,
        explaining: 1.5,
        showing: 1.5,
    }
}

fn build_against() -> Against {
    Against {
        same: vec![build_string()],
        new: vec![build_string()],
        mended: vec![build_string()],
    }
}

fn build_sweep() -> Sweep {
    Sweep {
        engine: build_string(),
        odd: vec![build_string()],
        camps: vec![build_camp()],
        axes: build_map(build_string()),
        same: build_map(build_string()),
        not_applicable: build_map(build_string()),
    }
}

fn build_camp() -> Camp {
    Camp {
        variants: vec![build_string()],
        reference: Some(true),
    }
}

fn build_outcome() -> EngineOutcome {
    EngineOutcome {
        outcome: OutcomeKind::Trapped,
        error: build_string(),
        message: build_string(),
        position: Some(build_position()),
        detail: Some(build_string()),
        launch: Some(1),
        storages: vec![build_string()],
        misspelling: Some(build_misspelling()),
        printed: vec![build_string()],
    }
}

fn build_misspelling() -> Misspelling {
    Misspelling {
        name: build_string(),
        near: Some(build_string()),
    }
}

fn build_difference() -> Difference {
    Difference {
        baseline: build_string(),
        engine: build_string(),
        kind: Kind::Memory,
        elements: 1,
        first: vec![build_element()],
        explained: vec![build_string()],
    }
}

fn build_element() -> Element {
    Element {
        storage: build_string(),
        byte: 1,
        guard: build_string(),
        dtype: build_string(),
        index: Some(1),
        tensor: build_string(),
        at: vec![1],
        values: [build_string(), build_string()],
        bits: [build_string(), build_string()],
        unwritten: true,
        accepted: Some([build_string(), build_string()]),
    }
}

fn build_bytes() -> Bytes {
    Bytes {
        compared: 1,
        accepted: 1,
        undecided: 1,
        undefined: 1,
    }
}

fn build_undefined() -> Undefined {
    Undefined {
        storage: build_string(),
        bytes: 1,
        of: 1,
        whole: vec![build_string()],
    }
}

fn build_expectation() -> Expectation {
    Expectation {
        engines: vec![build_string()],
        versions: build_string(),
        axes: vec![build_string()],
        verdict: Some(VerdictKind::Differ),
        outcome: Some(OutcomeKind::Trapped),
        why: build_string(),
        link: Some(build_string()),
        state: State::Met,
        position: Some(build_position()),
    }
}

fn build_like() -> LikeResult {
    LikeResult {
        function: build_string(),
        verdict: LikeVerdict::Agree,
        text: build_string(),
    }
}

fn build_stoppage() -> Stoppage {
    Stoppage {
        outcome: OutcomeKind::Rejected,
        versions: build_string(),
    }
}

fn build_rule() -> Rule {
    Rule {
        rule: build_string(),
        since: build_string(),
        about: build_string(),
    }
}

fn build_summary() -> Summary {
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
        unlike: 1,
        unconfirmed: 1,
        known: build_map(1),
        unexplained: 1,
        stale_recordings: 1,
        reference_blamed: 1,
        bytes: build_bytes(),
        left_out: 1,
        left_out_whole: 1,
        in_baseline: 1,
        mended: 1,
        not_run: 1,
        problems: 1,
        internal: 1,
        unwritten: 1,
        seconds: 1.5,
        judging: build_judging(),
        variants: Some(build_variants()),
        engines: build_map(build_tally()),
        interrupted: true,
        exit: 1,
        seal: Some(build_seal()),
    }
}

fn build_seal() -> Seal {
    Seal {
        lines: 1,
        hash: build_string(),
    }
}

fn build_variants() -> Variants {
    Variants {
        tried: 1,
        same: 1,
        not_applicable: build_map(1),
    }
}

fn build_tally() -> Tally {
    Tally {
        outcomes: build_map(1),
        blamed: 1,
        seconds: 1.5,
        instructions: build_instructions(),
    }
}

fn build_instructions() -> Instructions {
    let names = || BTreeSet::from([build_string()]);
    Instructions {
        exact: names(),
        bounded: names(),
        modelled: names(),
    }
}

fn build_exhibit() -> Exhibit {
    Exhibit {
        about: build_string(),
        file: build_string(),
        line: 1,
        origin: Some(build_string()),
        launches: vec![build_launch()],
        storages: vec![build_storage()],
        views: vec![build_view()],
        uses: vec![build_string()],
        marks: vec![build_mark()],
        differs: vec![build_differs()],
        memory: vec![build_contents()],
        memory_left_out: 1,
        texts: vec![build_text()],
        known: vec![build_known_bug()],
    }
}

fn build_launch() -> Launch {
    Launch {
        kernel: build_string(),
        file: build_string(),
        line: 1,
        grid: vec![1],
        args: build_map(build_string()),
        options: build_map(build_string()),
        host: Some(build_string()),
    }
}

fn build_storage() -> Storage {
    Storage {
        name: build_string(),
        bytes: 1,
        dtype: build_string(),
        shape: vec![1],
        fill: build_string(),
    }
}

fn build_view() -> View {
    View {
        name: build_string(),
        storage: build_string(),
        dtype: build_string(),
        shape: vec![1],
        strides: vec![1],
        offset: 1,
    }
}

fn build_mark() -> Mark {
    Mark {
        file: build_string(),
        line: 1,
        bugs: vec![build_string()],
        writes: vec![build_string()],
    }
}

fn build_differs() -> Differs {
    Differs {
        baseline: build_string(),
        engine: build_string(),
        storage: build_string(),
        spans: vec![[1, 1]],
        more: true,
    }
}

fn build_contents() -> Contents {
    Contents {
        storage: build_string(),
        from: 1,
        of: 1,
        undefined: vec![[1, 1]],
        unwritten: vec![[1, 1]],
        left: vec![build_left()],
    }
}

fn build_left() -> Left {
    Left {
        engines: vec![build_string()],
        bytes: build_string(),
    }
}

fn build_text() -> Text {
    Text {
        file: build_string(),
        text: build_string(),
    }
}

fn build_known_bug() -> KnownBug {
    KnownBug {
        name: build_string(),
        family: build_string(),
        from: build_string(),
        to: Some(build_string()),
        about: build_string(),
        origin: build_string(),
    }
}

fn build_compiled() -> Compiled {
    Compiled {
        file: build_string(),
        target: build_string(),
        seconds: 1.5,
        kernels: vec![build_compiled_kernel()],
    }
}

fn build_compiled_kernel() -> CompiledKernel {
    CompiledKernel {
        name: build_string(),
        launches: 1,
        params: vec![build_string()],
        num_warps: 1,
        num_ctas: 1,
        cluster: vec![1],
        shared: 1,
        global_scratch: Some(build_scratch()),
        profile_scratch: Some(build_scratch()),
        cooperative: true,
        pdl: true,
        cubin: 1,
        code: 1,
        registers: 1,
        stack: 1,
    }
}

fn build_scratch() -> Scratch {
    Scratch { size: 1, align: 1 }
}

/// A type's fields: those that are always written, and all.
fn collect_fields<T: Serialize>(empty: Option<&T>, full: &T) -> (BTreeSet<String>, BTreeSet<String>) {
    let keys = |value: &T| match serde_json::to_value(value).expect("JSON") {
        Value::Object(fields) => fields.keys().cloned().collect::<BTreeSet<_>>(),
        other => panic!("no object: {other}"),
    };
    let all = keys(full);
    (empty.map_or_else(|| all.clone(), keys), all)
}

/// The fields in the page, by type.
fn parse_documented_fields() -> BTreeMap<&'static str, (BTreeSet<String>, BTreeSet<String>)> {
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
        ("Start", collect_fields(Some(&Start::default()), &build_start())),
        ("LeftOut", collect_fields(None, &build_left_out())),
        (
            "Position",
            collect_fields(
                Some(&Position {
                    column: 0,
                    text: String::new(),
                    ..build_position()
                }),
                &build_position(),
            ),
        ),
        (
            "Problem",
            collect_fields(
                Some(&Problem {
                    position: None,
                    help: None,
                    ..build_problem()
                }),
                &build_problem(),
            ),
        ),
        (
            "Internal",
            collect_fields(
                Some(&Internal {
                    case: None,
                    engine: None,
                    ..build_internal()
                }),
                &build_internal(),
            ),
        ),
        (
            "Verdict",
            collect_fields(Some(&Verdict::default()), &build_verdict()),
        ),
        (
            "Against",
            collect_fields(Some(&Against::default()), &build_against()),
        ),
        ("Sweep", collect_fields(Some(&Sweep::default()), &build_sweep())),
        ("Camp", collect_fields(Some(&Camp::default()), &build_camp())),
        (
            "EngineOutcome",
            collect_fields(Some(&EngineOutcome::default()), &build_outcome()),
        ),
        (
            "Misspelling",
            collect_fields(Some(&Misspelling::default()), &build_misspelling()),
        ),
        (
            "Difference",
            collect_fields(Some(&Difference::default()), &build_difference()),
        ),
        (
            "Element",
            collect_fields(Some(&Element::default()), &build_element()),
        ),
        ("Bytes", collect_fields(Some(&Bytes::default()), &build_bytes())),
        (
            "Undefined",
            collect_fields(Some(&Undefined::default()), &build_undefined()),
        ),
        (
            "Expectation",
            collect_fields(Some(&Expectation::default()), &build_expectation()),
        ),
        (
            "Stage",
            collect_fields(
                Some(&Stage {
                    passes: Vec::new(),
                    ..build_stage()
                }),
                &build_stage(),
            ),
        ),
        ("LikeResult", collect_fields(Some(&build_like()), &build_like())),
        ("Rule", collect_fields(Some(&Rule::default()), &build_rule())),
        (
            "Stoppage",
            collect_fields(
                Some(&Stoppage {
                    versions: String::new(),
                    ..build_stoppage()
                }),
                &build_stoppage(),
            ),
        ),
        (
            "Summary",
            collect_fields(Some(&Summary::default()), &build_summary()),
        ),
        ("Seal", collect_fields(Some(&Seal::default()), &build_seal())),
        (
            "Variants",
            collect_fields(Some(&Variants::default()), &build_variants()),
        ),
        (
            "Judging",
            collect_fields(Some(&Judging::default()), &build_judging()),
        ),
        ("Tally", collect_fields(Some(&Tally::default()), &build_tally())),
        (
            "Instructions",
            collect_fields(Some(&Instructions::default()), &build_instructions()),
        ),
        (
            "Exhibit",
            collect_fields(Some(&Exhibit::default()), &build_exhibit()),
        ),
        (
            "Launch",
            collect_fields(Some(&Launch::default()), &build_launch()),
        ),
        (
            "Storage",
            collect_fields(Some(&Storage::default()), &build_storage()),
        ),
        ("View", collect_fields(Some(&View::default()), &build_view())),
        ("Mark", collect_fields(Some(&Mark::default()), &build_mark())),
        (
            "Differs",
            collect_fields(Some(&Differs::default()), &build_differs()),
        ),
        (
            "Contents",
            collect_fields(Some(&Contents::default()), &build_contents()),
        ),
        ("Left", collect_fields(Some(&Left::default()), &build_left())),
        ("Text", collect_fields(Some(&Text::default()), &build_text())),
        (
            "KnownBug",
            collect_fields(Some(&KnownBug::default()), &build_known_bug()),
        ),
        (
            "Compiled",
            collect_fields(Some(&Compiled::default()), &build_compiled()),
        ),
        (
            "CompiledKernel",
            collect_fields(Some(&CompiledKernel::default()), &build_compiled_kernel()),
        ),
        (
            "Scratch",
            collect_fields(Some(&Scratch::default()), &build_scratch()),
        ),
    ]);
    let page = parse_documented_fields();
    let names = |types: &BTreeMap<&'static str, _>| types.keys().copied().collect::<Vec<_>>();
    assert_eq!(
        names(&code),
        names(&page),
        "types of the code and of docs/events.md"
    );
    for (name, (always, all)) in &code {
        let (page_always, page_all) = &page[name];
        assert_eq!(
            all, page_all,
            "fields of {name} in the code and in docs/events.md"
        );
        assert_eq!(always, page_always, "fields of {name} that are always written");
    }
}

#[test]
fn every_event_and_format_is_documented() {
    let events = [
        Event::Start(build_start()),
        Event::Problem(build_problem()),
        Event::Verdict(Box::new(build_verdict())),
        Event::Sweep(Box::new(build_verdict())),
        Event::Internal(build_internal()),
        Event::Summary(build_summary()),
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
    assert_eq!(missing, None, "a row of docs/events.md");
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
            text.push_str(&human.render_event(&event));
            html.add_event(&event);
            junit.add_event(&event);
            digest.add_event(&event);
            remarks.add_event(&event);
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
    // A field that was added to a format later is empty in older streams.
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
