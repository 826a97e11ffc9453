//! The JSON schema for editors: every case file of the corpus is good by it, and mistakes are not.

use std::fs;
use std::path::{Path, PathBuf};

use cerith_case::format::{TEXT, json_schema};
use cerith_case::{Corpus, Input};
use jsonschema::Validator;
use serde_json::Value;

fn build_validator() -> Validator {
    jsonschema::draft7::new(&json_schema()).expect("a schema")
}

/// A text with the digits of long integers cut off, which this test's YAML reader does not read.
fn short_integers(text: &str) -> String {
    let mut digits = 0;
    let kept = text.chars().filter(|c| {
        digits = if c.is_ascii_digit() { digits + 1 } else { 0 };
        digits < 19
    });
    kept.collect()
}

/// Validates a file against the schema; one line for each error.
fn find_faults(schema: &Validator, text: &str) -> Vec<String> {
    let yaml: serde_yaml::Value = serde_yaml::from_str(&short_integers(text)).expect("YAML");
    let json: Value = serde_json::to_value(yaml).expect("a mapping");
    let faults = schema.iter_errors(&json);
    faults
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect()
}

fn case_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            case_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            found.push(path);
        }
    }
}

fn locate_corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases")
}

#[test]
fn every_case_file_of_the_corpus_is_good() {
    let schema = build_validator();
    let mut files = Vec::new();
    case_files(&locate_corpus(), &mut files);
    assert!(files.len() > 300, "{} files", files.len());
    for file in files {
        let text = fs::read_to_string(&file).expect("a case file");
        assert_eq!(find_faults(&schema, &text), [""; 0], "{}", file.display());
    }
}

/// Case files that Cerith writes are good too: recordings, findings and reduced cases are printed this way.
#[test]
fn every_printed_case_is_good() {
    let schema = build_validator();
    let corpus = Corpus::read(&locate_corpus()).expect("the corpus");
    let mut last = String::new();
    for entry in corpus.entries() {
        if entry.file().id == last {
            continue;
        }
        last.clone_from(&entry.file().id);
        let text = entry.resolve().expect("a case").to_case_file().expect("a text");
        assert_eq!(find_faults(&schema, &text), [""; 0], "{}\n{text}", entry.id);
    }
}

/// The example that the specification begins with is a case file, and its cases can be made.
#[test]
fn the_example_of_the_specification_is_good() {
    let (_, rest) = TEXT.split_once("```yaml\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    assert_eq!(find_faults(&build_validator(), example), [""; 0]);
    let kernel = "import triton\n@triton.jit\ndef add_one_kernel(ptr, stride_0, stride_1, BLOCK): pass\n";
    let corpus = Corpus::load([
        Input::from_text("layout/split.yaml", example),
        Input::from_text("layout/add_one.py", kernel),
    ]);
    assert_eq!(corpus.problems(), []);
    let ids: Vec<_> = corpus.entries().map(|entry| entry.id).collect();
    assert_eq!(ids.get(1).map(String::as_str), Some("layout/split:dtype=f16"));
    assert!(corpus.entries().all(|entry| entry.resolve().is_ok()));
}

const GOOD: &str = "\
about: One is added.
kernel: k.py:add_one
matrix:
  dtype: [f32, i32]
storages:
  x: { dtype: \"{dtype}\", shape: [10], fill: arange }
launches:
  - grid: [1]
    args: { x: x, n: 10, BLOCK: 16 }
    options: { num_warps: 4 }
expect:
  - { engine: interpret, versions: \"<3.3\", verdict: differ, why: it is so }
";

/// A good file with one thing replaced is refused, and the first fault begins so.
fn check_refused(from: &str, to: &str, fault: &str) {
    let text = GOOD.replacen(from, to, 1);
    assert_ne!(text, GOOD, "{from} is not there");
    let faults = find_faults(&build_validator(), &text);
    let first = faults.first().unwrap_or_else(|| panic!("`{to}` is not refused"));
    assert!(first.contains(fault), "{first}");
}

#[test]
fn mistakes_are_refused() {
    assert_eq!(find_faults(&build_validator(), GOOD), [""; 0]);
    check_refused("about: One is added.\n", "", "\"about\" is a required property");
    check_refused("about", "abuot", "'abuot' was unexpected");
    check_refused("kernel: k.py:add_one\n", "", "not valid under any");
    check_refused("kernel: k.py:add_one", "kernel: add_one", "/kernel:");
    check_refused("dtype: [f32, i32]", "dtype: f32", "/matrix/dtype:");
    check_refused("\"{dtype}\"", "f23", "/storages/x/dtype:");
    check_refused(
        "shape: [10], ",
        "",
        "/storages/x: \"shape\" is a required property",
    );
    check_refused("fill: arange", "fill: arrange", "/storages/x/fill:");
    check_refused("fill: arange", "fill: { arrange: 3 }", "/storages/x/fill:");
    check_refused(
        "fill: arange",
        "fill: { random: { seeed: 3 } }",
        "/storages/x/fill:",
    );
    check_refused("  x: {", "  1x: {", "/storages:");
    check_refused(
        "- grid: [1]\n    args",
        "- args",
        "/launches/0: \"grid\" is a required property",
    );
    check_refused("x: x,", "x: { descriptor: x },", "/launches/0/args");
    check_refused("num_warps", "num_wraps", "/launches/0/options");
    check_refused("engine: interpret", "engine: interpreter", "/expect/0/engine:");
    check_refused("verdict: differ", "verdict: differs", "/expect/0/verdict:");
    check_refused(", why: it is so", "", "/expect/0:");
    check_refused("verdict: differ", "quirk: bf16-is-bit", "/expect/0/quirk:");
    check_refused("about", "timeout: 601\nabout", "/timeout:");
}

/// Options that no Triton version has are an error of the file, unless the launch is unchecked.
#[test]
fn an_unchecked_launch_has_any_options() {
    let text = GOOD.replace(
        "options: { num_warps: 4 }",
        "options: { num_wraps: 4 }\n    unchecked: true",
    );
    assert_eq!(find_faults(&build_validator(), &text), [""; 0]);
}
