//! The page of one case.

use cerith_report::event::Verdict;
use cerith_report::{PageCase, render_page};

/// A verdict of two engines that left other bytes.
const DIFFERING: &str = r#"{
    "case": "area/<b>bold</b>",
    "engines": ["reference", "interpret@3.9.0"],
    "verdict": "differ",
    "blame": ["interpret@3.9.0"],
    "expected": false,
    "outcomes": {"interpret@3.9.0": {"outcome": "finished", "printed": ["<i>"]}},
    "differences": [{
        "baseline": "reference", "engine": "interpret@3.9.0", "kind": "memory", "elements": 2,
        "first": [{"storage": "out", "byte": 4, "dtype": "f32", "index": 1, "tensor": "out", "at": [0, 1],
                   "values": ["1", "2"], "bits": ["0x3f800000", "0x40000000"]}]
    }],
    "exhibit": {
        "about": "About <script>alert(1)</script>.",
        "launches": [{"kernel": "k", "file": "k.py", "grid": [1], "args": {"x": "x", "text": "\"<u>\""}}],
        "storages": [{"name": "out", "bytes": 32, "dtype": "f32", "shape": [2, 4], "fill": "zeros"}],
        "differs": [{"baseline": "reference", "engine": "interpret@3.9.0", "storage": "out", "spans": [[4, 8], [28, 32]]}],
        "texts": [{"file": "k.py", "text": "if a < b: pass"}]
    }
}"#;

fn render_case(verdict: &str, ir: &[(&str, &str)]) -> String {
    let verdict: Verdict = serde_json::from_str(verdict).expect("a verdict");
    let ir = ir
        .iter()
        .map(|(heading, text)| ((*heading).to_owned(), (*text).to_owned()))
        .collect();
    render_page(&[PageCase { verdict, ir }]).expect("a page")
}

#[test]
fn a_page_has_the_verdict_pictures_and_tables() {
    let page = render_case(DIFFERING, &[("IR of launch 1", "func @k(%x: *f32)")]);
    let body = page.split("</style>").nth(1).expect("a body");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../../../snapshots/report");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("page", body));
}

#[test]
fn words_of_cases_are_no_markup_and_nothing_is_loaded() {
    let page = render_case(DIFFERING, &[]);
    for markup in ["<b>", "<script", "<i>", "<u>", "http", "src=", "a < b"] {
        assert!(!page.contains(markup), "{markup} in {page}");
    }
    assert!(page.contains("&lt;script&gt;"), "{page}");
}

#[test]
fn a_verdict_without_more_is_a_page() {
    let page = render_case(
        r#"{"case": "area/c", "engines": ["reference"], "verdict": "agree", "expected": true}"#,
        &[],
    );
    assert!(page.contains("<span class=\"word good\">agree</span>"), "{page}");
}
