use std::io::{Cursor, Write as _};

use cerith_case::{Corpus, Input};
use cerith_memory::{Memory, StorageId};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;
use crate::Trap;

const CASE: &str = "\
about: x
kernel: k.py:kernel
storages:
  x: { dtype: f32, shape: [2], fill: { bytes: data.zip/x } }
  table: { dtype: i64, shape: [2], fill: { bytes: data.zip/table, addresses: { 0: x, 1: \"x.data_ptr() + 4\" } } }
launches: [{ grid: [1], args: { x: x, table: table } }]
";

const KERNEL: &str = "import triton\n\n\n@triton.jit\ndef kernel(x, table):\n    pass\n";

fn build_case(record: &str) -> Case {
    let words = |words: [u64; 2]| words.map(u64::to_le_bytes).concat();
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in [
        ("x", vec![1; 8]),
        ("after", vec![2; 8]),
        ("table", words([0x1000, 0x1004])),
        ("moved", words([0x1000, 7])),
    ] {
        zip.start_file(name, SimpleFileOptions::default())
            .expect("a new entry");
        zip.write_all(&bytes).expect("memory");
    }
    let archive = zip.finish().expect("memory").into_inner();
    let input = |path: &str, content: &[u8]| Input {
        path: path.to_owned(),
        name: path.to_owned(),
        content: Ok(content.to_vec()),
    };
    let corpus = Corpus::load([
        input("k/0001.yaml", format!("{CASE}{record}").as_bytes()),
        input("k/k.py", KERNEL.as_bytes()),
        input("k/data.zip", &archive),
    ]);
    assert_eq!(corpus.problems(), []);
    corpus
        .entries()
        .next()
        .expect("a case")
        .resolve()
        .expect("a good case")
}

fn run_record(record: &str) -> Outcome {
    let run = Recorded::default().run(&build_case(record), Rules::default());
    run.expect("no bug").outcome
}

fn read_words(memory: &Memory) -> Vec<u64> {
    let words = memory.bytes(StorageId(1)).chunks_exact(8);
    words
        .map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")))
        .collect()
}

#[test]
fn what_a_run_left_is_put_over_what_was_there() {
    let outcome = run_record(
        "recorded: { engine: interpret@3.6.0+host, after: { x: data.zip/after, table: data.zip/moved } }\n",
    );
    let memory = &outcome.finished().expect("finished").memory;
    assert_eq!(memory.bytes(StorageId(0)), [2; 8]);
    // The first address is where it was; in place of the second there is a number.
    assert_eq!(read_words(memory), [memory.address(StorageId(0)), 7]);
    let before = build_case("").memory();
    for id in memory.ids() {
        assert_eq!(memory.guards(id), before.guards(id));
    }
}

#[test]
fn an_address_that_was_written_down_is_that_of_its_tensor() {
    let outcome = run_record(
        "recorded: { engine: interpret@3.6.0+host, after: { table: { bytes: data.zip/moved, addresses: { 1: \
         table.data_ptr() } } } }\n",
    );
    let memory = &outcome.finished().expect("finished").memory;
    assert_eq!(
        read_words(memory),
        [memory.address(StorageId(0)), memory.address(StorageId(1))]
    );
}

#[test]
fn what_changed_nothing_left_what_was_there() {
    let record = "recorded: { engine: interpret@3.6.0+host, after: {} }\n";
    let outcome = run_record(record);
    assert_eq!(
        outcome.finished().expect("finished").memory,
        build_case(record).memory()
    );
}

#[test]
fn what_was_raised_is_what_the_engine_would_have_made_of_it() {
    let check = |raised: &str, kind: &str, trap: Option<Trap>| {
        let outcome = run_record(&format!(
            "recorded: {{ engine: interpret@3.6.0+host, raised: {raised} }}\n"
        ));
        let complaint = outcome.complaint().expect("a complaint").clone();
        assert_eq!(
            (complaint.kind.as_str(), complaint.message.as_str()),
            (kind, "no"),
            "{raised}"
        );
        // Errors that stop a GPU are reported after the last launch.
        let launch = (kind != "CUDA_ERROR_ASSERT").then_some(0);
        assert_eq!(complaint.launch, launch, "{raised}");
        match trap {
            Some(trap) => assert!(
                matches!(outcome, Outcome::Trapped(is, _) if is == trap),
                "{raised}"
            ),
            None => assert!(matches!(outcome, Outcome::Rejected(_)), "{raised}"),
        }
    };
    check(
        "{ kind: ValueError, message: no }",
        "ValueError",
        Some(Trap::Raised),
    );
    check(
        "{ kind: ValueError, message: no, compiling: true }",
        "ValueError",
        None,
    );
    let compiler = "triton.compiler.errors.CompilationError";
    check(&format!("{{ kind: {compiler}, message: no }}"), compiler, None);
    check(
        "{ kind: CUDA_ERROR_ASSERT, message: no }",
        "CUDA_ERROR_ASSERT",
        Some(Trap::Assert),
    );
}

#[test]
fn what_is_not_on_record_is_unavailable() {
    let check = |record: &str, words: &str| match run_record(record) {
        Outcome::Unavailable(complaint) => assert_eq!(complaint.message, words),
        other => panic!("{other:?}"),
    };
    check("", "there is no recorded outcome");
    check(
        "recorded: { engine: interpret@3.6.0+host }\n",
        "there is no recorded outcome: the results of the run were not kept",
    );
    check(
        "recorded: { engine: jit@2.3.1, after: {} }\n",
        "the recorded outcome is of `jit@2.3.1`, an unknown engine",
    );
}

#[test]
fn a_record_is_of_the_engine_that_made_it() {
    let origin = |record: &str| Recorded::default().origin(&build_case(record)).to_string();
    assert_eq!(origin(""), "recorded");
    assert_eq!(
        origin("recorded: { engine: jit@3.6.0, after: {} }\n"),
        "jit@3.6.0"
    );
}
