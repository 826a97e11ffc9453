//! The HTML page needs no other file, has every event of the stream, and never contains text of a case as markup.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cerith_report::event::{Exhibit, KnownBug, Start, Text, Verdict, VerdictKind};
use cerith_report::{Event, Html, Summary, read};
use serde_json::{Value, json};

const STREAMS: [&str; 2] = [include_str!("../stream.jsonl"), include_str!("../sweep.jsonl")];

fn render_page(events: &[Event]) -> String {
    let mut page = Html::default();
    let mut summary = Summary::default();
    for event in events {
        page.add_event(event);
        summary.count(event);
    }
    summary.exit = summary.exit_code();
    page.add_event(&Event::Summary(summary));
    page.finish().expect("a page")
}

fn read_events(text: &str) -> Vec<Event> {
    let mut events = Vec::new();
    read(text.as_bytes(), |event| events.push(event)).expect("a stream");
    events
}

/// The unpacked contents of an element.
fn unpack_element(page: &str, id: &str) -> Option<Value> {
    let (_, rest) = page.split_once(&format!("<script type=\"text/plain\" id=\"{id}\">"))?;
    let packed = STANDARD.decode(rest.split('<').next()?).expect("base64");
    let mut text = String::new();
    flate2::read::DeflateDecoder::new(&packed[..])
        .read_to_string(&mut text)
        .expect("deflate");
    Some(serde_json::from_str(&text).expect("JSON"))
}

fn unpack_blocks(page: &str) -> Vec<Value> {
    let mut all = Vec::new();
    while let Some(block) = unpack_element(page, &format!("block-{}", all.len())) {
        all.push(block);
    }
    all.into_iter()
        .flat_map(|block| block.as_array().expect("events").clone())
        .collect()
}

#[test]
fn it_has_every_event_and_needs_nothing_else() {
    for stream in STREAMS {
        let events = read_events(stream);
        let page = render_page(&events);
        for outside in [
            "src=", "http://", "https://", "@import", "url(", "<link", "fetch(",
        ] {
            assert!(!page.contains(outside), "{outside}");
        }
        let verdicts: Vec<Value> = events
            .iter()
            .filter_map(|event| match event {
                Event::Verdict(verdict) | Event::Sweep(verdict) => {
                    Some(serde_json::to_value(verdict).expect("JSON"))
                }
                _ => None,
            })
            .collect();
        assert_eq!(unpack_blocks(&page), verdicts);
        let index = unpack_element(&page, "index").expect("an index");
        let about = unpack_element(&page, "about").expect("what it is of");
        assert_eq!(about["summary"]["cases"], json!(verdicts.len()));
        for column in [
            "cases", "flags", "about", "file", "dtype", "used", "cause", "cells", "blame",
        ] {
            assert_eq!(
                index[column].as_array().expect(column).len(),
                verdicts.len(),
                "{column}"
            );
        }
    }
}

/// The engines of a case, each with its letter.
fn find_cells(index: &Value, case: &str) -> String {
    let row = index["cases"]
        .as_array()
        .expect("cases")
        .iter()
        .position(|id| id == case)
        .expect(case);
    let cells = index["cells"][row].as_u64().expect("a place") as usize;
    index["cell_sets"][cells].as_str().expect("letters").to_owned()
}

#[test]
fn the_index_says_what_each_engine_did_and_why() {
    let page = render_page(&read_events(STREAMS[0]));
    let index = unpack_element(&page, "index").expect("an index");
    assert_eq!(find_cells(&index, "alias/disjoint"), "==-");
    // A known bug explains it.
    assert_eq!(find_cells(&index, "alias/same_twice:dtype=f32"), "=x=");
    // Nothing does.
    assert_eq!(
        find_cells(&index, "layout/split:dtype=f16").chars().nth(1),
        Some('X')
    );
    let causes = index["causes"].as_array().expect("causes");
    let bug = json!({"sort": "bug", "name": "arguments-copied-apart"});
    assert!(causes.contains(&bug), "{causes:?}");
    assert!(
        causes.iter().any(|cause| cause["sort"] == "message"),
        "{causes:?}"
    );
}

#[test]
fn the_dtypes_of_a_case_without_an_exhibit_are_those_of_its_name() {
    let page = render_page(&read_events(STREAMS[0]));
    let index = unpack_element(&page, "index").expect("an index");
    assert_eq!(index["dtypes"], json!(["f32", "f16"]));
}

#[test]
fn no_word_of_a_case_is_markup() {
    let hostile = "</script><script>alert(1)</script><img onerror=x>\u{202e}\u{1b}[2J\0&<!--";
    let exhibit = Exhibit {
        about: hostile.to_owned(),
        file: hostile.to_owned(),
        uses: vec![hostile.to_owned()],
        texts: vec![Text {
            file: hostile.to_owned(),
            text: hostile.to_owned(),
        }],
        known: vec![KnownBug {
            name: hostile.to_owned(),
            about: hostile.to_owned(),
            ..KnownBug::default()
        }],
        ..Exhibit::default()
    };
    let verdict = Verdict {
        case: hostile.to_owned(),
        engines: vec![hostile.to_owned()],
        verdict: VerdictKind::Undefined,
        reason: Some(hostile.to_owned()),
        exhibit: Some(Box::new(exhibit)),
        ..Verdict::default()
    };
    let problem = format!(
        r#"{{"event":"problem","severity":"error","code":"c","message":"m","rendered":{}}}"#,
        json!(hostile)
    );
    let start = Start {
        engines: vec![hostile.to_owned()],
        filters: vec![hostile.to_owned()],
        ..Start::default()
    };
    let mut all = vec![Event::Start(start), Event::Verdict(Box::new(verdict))];
    all.extend(read_events(&problem));
    let page = render_page(&all);
    for raw in [
        "alert(1)</script>",
        "<img",
        "\u{202e}",
        "\u{1b}",
        "\0",
        "onerror=x>",
    ] {
        assert!(!page.contains(raw), "{raw}");
    }
    assert!(
        page.contains("&lt;script&gt;alert(1)"),
        "problems are visible without scripts"
    );
    let index = unpack_element(&page, "index").expect("an index");
    assert_eq!(index["cases"], json!([hostile]));
    assert_eq!(unpack_blocks(&page)[0]["case"], json!(hostile));
}

#[test]
fn texts_and_known_bugs_are_there_once() {
    let verdict = |case: &str, text: &str| {
        Event::Verdict(Box::new(Verdict {
            case: case.to_owned(),
            exhibit: Some(Box::new(Exhibit {
                texts: vec![Text {
                    file: "k.py".to_owned(),
                    text: text.to_owned(),
                }],
                uses: vec!["tl.load f32".to_owned()],
                ..Exhibit::default()
            })),
            ..Verdict::default()
        }))
    };
    let index = |page: &str| unpack_element(page, "index").expect("an index");
    let two = render_page(&[verdict("a/one", "x = 1"), verdict("b/one", "x = 2")]);
    assert_eq!(
        index(&two)["ambiguous"],
        json!(["k.py"]),
        "two streams, and a file of each"
    );
    let page = render_page(&[verdict("a/one", "x = 1"), verdict("a/two", "x = 1")]);
    let index = index(&page);
    assert_eq!(index["ambiguous"], json!([]));
    assert_eq!(index["texts"], json!([{"file": "k.py", "text": "x = 1"}]));
    assert_eq!(index["uses"], json!(["tl.load f32"]));
    assert!(
        unpack_blocks(&page)
            .iter()
            .all(|event| event["exhibit"].get("texts").is_none())
    );
}
