//! Recordings on the command line: a folder as the first filter, and the engine `recorded`. The recording is written by hand:
//! aliases, views of another dtype, an address in memory, a launch that raised, and a launch without a record.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const KERNEL: &str = "\
import triton
import triton.language as tl


@triton.jit
def scale(x, bits, table, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.load(x + at * 2) * 2)
    tl.store(bits, 0x3F800000)
    there = tl.load(table).to(tl.pointer_type(tl.float32))
    tl.store(there, 5.0)


@triton.jit
def refuse(x):
    tl.static_assert(False, 'no')
";

const SCALE: &str = "\
about: Launch 1 of scale.
kernel: k.py:scale
storages:
  x: { dtype: f32, shape: [8], fill: { bytes: data.zip/x } }
  table: { dtype: i64, shape: [1], fill: { bytes: data.zip/table, addresses: { 0: \"out.data_ptr() + 16\" } } }
  out: { dtype: f32, shape: [5], fill: { bytes: data.zip/zeros } }
tensors:
  even: x.as_strided([4], [2], 0)
  last: x.view(torch.int32).as_strided([1], [1], 7)
launches:
  - { grid: [1], args: { x: even, bits: last, table: table, out: out, N: 4 } }
recorded:
  engine: interpret@3.6.0+host
  after: { x: data.zip/x-after, out: data.zip/out-after }
";

const REFUSE: &str = "\
about: Launch 2, of refuse.
kernel: k.py:refuse
storages:
  x: { dtype: f32, shape: [8], fill: { bytes: data.zip/x } }
launches:
  - { grid: [1], args: { x: x } }
recorded:
  engine: interpret@3.6.0+host
  raised: { kind: triton.compiler.errors.CompileTimeAssertionFailure, message: no }
";

fn encode_floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A folder with a recording `rec`, whose run left `after` in `out`.
fn create_recording(after: &[f32; 5]) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let rec = folder.path().join("rec/scale");
    fs::create_dir_all(&rec).expect("folders");
    let write = |name: &str, text: &str| fs::write(rec.join(name), text).expect("a file");
    write("k.py", KERNEL);
    write("0001.yaml", SCALE);
    write("0002.yaml", REFUSE);
    let unkept = SCALE.replace("  after: { x: data.zip/x-after, out: data.zip/out-after }\n", "");
    write("0003.yaml", &unkept);
    write("../recording.json", "{}");
    let mut zip = ZipWriter::new(File::create(rec.join("data.zip")).expect("a file"));
    let x = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
    let mut x_after = x;
    x_after[7] = 1.0;
    for (name, content) in [
        ("x", encode_floats(&x)),
        ("table", 0x7f00_1234_u64.to_le_bytes().to_vec()),
        ("zeros", encode_floats(&[0.0; 5])),
        ("x-after", encode_floats(&x_after)),
        ("out-after", encode_floats(after)),
    ] {
        zip.start_file(name, SimpleFileOptions::default())
            .expect("a new entry");
        zip.write_all(&content).expect("a file");
    }
    zip.finish().expect("a file");
    folder
}

const RIGHT: [f32; 5] = [0.0, 4.0, 8.0, 12.0, 5.0];

fn run_cerith(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cerith"))
        .args(args)
        .current_dir(folder)
        .env("CERITH_HOME", folder.join("home"))
        .env("CI", "1")
        .output()
        .expect("cerith starts")
}

/// Checks a command's exit code, and words in its output.
fn check(folder: &Path, args: &[&str], code: i32, words: &[&str]) {
    let done = run_cerith(folder, args);
    let shown = format!(
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    assert_eq!(done.status.code(), Some(code), "{args:?}\n{shown}");
    for words in words {
        assert!(shown.contains(words), "{args:?}: {words}\n{shown}");
    }
}

const ENGINES: [&str; 5] = ["--engine", "reference", "--engine", "recorded", "--offline"];

#[test]
fn a_recording_is_a_corpus_and_what_is_on_record_an_engine() {
    let folder = create_recording(&RIGHT);
    let here = folder.path();
    let run = |args: &[&str], code, words: &[&str]| check(here, &[args, &ENGINES[..]].concat(), code, words);
    run(
        &["run", "rec", "scale/0001", "scale/0002"],
        0,
        &["reports: cerith-reports/rec/run"],
    );
    let ignored = fs::read_to_string(here.join("cerith-reports/.gitignore"));
    assert_eq!(ignored.expect("a file"), "*\n");
    let events = fs::read_to_string(here.join("cerith-reports/rec/run/events.jsonl")).expect("a stream");
    assert_eq!(events.matches(r#""verdict":"agree""#).count(), 2, "{events}");
    assert!(!here.join("reports").exists() && !here.join("rec/reports").exists());
    run(
        &["run", "rec", "scale/0003", "--format", "jsonl"],
        1,
        &[
            r#""verdict":"inconclusive""#,
            "the results of the run were not kept",
        ],
    );
    // As `--cases`, it is a corpus like any other.
    run(
        &["run", "--cases", "rec", "scale/0001"],
        0,
        &["reports: reports/run"],
    );
    run(
        &["explain", "rec", "scale/0001"],
        0,
        &[
            "recorded, of interpret@3.6.0+host: finished",
            "holds the address of out + 16",
        ],
    );
    check(here, &["list", "rec"], 0, &["scale/0001", "3 cases"]);
    check(
        here,
        &[
            "compare",
            "reference",
            "recorded",
            "rec",
            "scale/0001",
            "scale/0002",
        ],
        1,
        &["2 cases, 1 the same (1 finished), 1 differ"],
    );
    let default = run_cerith(
        here,
        &["run", "rec", "scale/0001", "--offline", "--format", "jsonl"],
    );
    let shown = String::from_utf8_lossy(&default.stdout);
    assert!(shown.contains(r#""engines":["reference","recorded"]"#), "{shown}");
}

#[test]
fn an_expectation_may_speak_of_what_is_on_record() {
    let folder = create_recording(&[0.0, 4.0, 8.0, 12.0, 6.0]);
    let expect = "expect:\n  - { engine: recorded, versions: \"3.6\", verdict: differ, why: a bug }\n";
    fs::write(
        folder.path().join("rec/scale/0001.yaml"),
        format!("{SCALE}{expect}"),
    )
    .expect("a file");
    let args = [&["run", "rec", "scale/0001"], &ENGINES[..]].concat();
    check(folder.path(), &args, 0, &[]);
}

#[test]
fn a_filter_that_is_an_area_is_no_corpus() {
    let folder = create_recording(&RIGHT);
    let here = folder.path();
    // A corpus of the nearest `cases` goes before a folder of the same name.
    fs::create_dir_all(here.join("cases/rec")).expect("folders");
    fs::write(here.join("cases/rec/k.py"), KERNEL).expect("a file");
    let plain = "about: x\nkernel: k.py:refuse\nlaunches: [{ grid: [1], args: [1] }]\n";
    fs::write(here.join("cases/rec/one.yaml"), plain).expect("a file");
    check(here, &["list", "rec"], 0, &["rec/one", "1 case;"]);
    check(here, &["list", "cases/rec"], 0, &["rec/one", "1 case;"]);
    check(here, &["list", "./rec/scale"], 0, &["0001", "3 cases"]);
}

#[test]
fn what_is_no_corpus_is_said_with_a_mend() {
    let folder = create_recording(&RIGHT);
    let here = folder.path();
    fs::create_dir(here.join("empty")).expect("a folder");
    check(
        here,
        &["run", "empty"],
        2,
        &["there is no case file in empty", "cerith record --out DIR"],
    );
    // A case file is its own corpus.
    check(here, &["list", "rec/scale/0001.yaml"], 0, &["0001", "1 case;"]);
    check(
        here,
        &["run", "nowhere"],
        2,
        &["there is no corpus here", "cerith run DIR"],
    );
}
