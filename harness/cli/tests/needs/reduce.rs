//! `cerith reduce`: reduced cases keep their difference, and error messages. Some tests need Triton 3.9.0.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command_output::CommandOutput;
use cerith_needs::{NEWEST, Tests, named};
use tempfile::TempDir;

const ENGINES: [&str; 5] = [
    "--offline",
    "--engine",
    "reference",
    "--engine",
    "interpret@3.9.0",
];

fn run_cerith(args: &[&str]) -> CommandOutput {
    let output = Command::new(env!("CARGO_BIN_EXE_cerith"))
        .args(args)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .expect("cerith runs");
    CommandOutput::from_output(&output)
}

fn reduce(case: &str, out: &Path, args: &[&str]) -> CommandOutput {
    let out = out.to_str().expect("a plain path");
    run_cerith(&[&["reduce", case, "--out", out], args].concat())
}

fn a_difference_stays_explained_by_the_same_bug() {
    let check = |case: &str, bug: &str, most: usize| {
        let folder = TempDir::new().expect("a folder");
        let done = reduce(case, folder.path(), &ENGINES);
        assert_eq!(done.code, Some(0), "{}", done.err);
        assert!(done.out.contains(bug), "{}", done.out);
        let kernel = fs::read_to_string(folder.path().join("kernel.py")).expect("a kernel");
        let body = kernel.lines().filter(|line| line.starts_with("    ")).count();
        assert!((1..=most).contains(&body), "{kernel}");
        // The output is a corpus in which the same bug explains the difference.
        let out = folder.path().to_str().expect("a plain path");
        let again = run_cerith(&[&["explain", "case", "--cases", out], &ENGINES[..]].concat());
        assert!(
            again.out.contains(&format!("explained by {bug}")),
            "{}",
            again.out
        );
    };
    check("dtype/bf16_multiply_rounding", "bf16-is-bits", 3);
    check(
        "scalar/loop_divide_literal:dtype=i64",
        "loop-indices-are-python",
        3,
    );
    check("control_flow/bound_in_loop:n=3", "names-outlive-loops", 4);
}

fn a_search_that_runs_out_of_time_keeps_what_it_has() {
    let folder = TempDir::new().expect("a folder");
    let args = [&ENGINES[..], &["--time", "0.2"]].concat();
    let done = reduce(
        "reduction/every_dtype:dtype=bf16,op=argmax,axis=0",
        folder.path(),
        &args,
    );
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.out.contains("out of time"), "{}", done.out);
    assert!(folder.path().join("case.yaml").exists());
}

fn what_cannot_be_reduced_is_said() {
    let folder = TempDir::new().expect("a folder");
    let reference = ["--engine", "reference"];
    let check = |case: &str, args: &[&str], code: i32, words: &str| {
        let done = reduce(case, folder.path(), args);
        assert_eq!(done.code, Some(code), "{}", done.err);
        assert!(done.err.contains(words), "{}", done.err);
        assert!(!folder.path().join("case.yaml").exists());
    };
    check("layout/split_colums:dtype=f16", &reference, 2, "no case matches");
    check(
        "layout/split_columns:dtype=f16,block=4x4",
        &reference,
        2,
        "nothing differs",
    );
    check(
        "layout/split_columns",
        &reference,
        2,
        "selects more than one case",
    );
    let missing = ["--offline", "--engine", "interpret@2.9.9"];
    let done = reduce(
        "layout/split_columns:dtype=f16,block=4x4",
        folder.path(),
        &missing,
    );
    assert!(matches!(done.code, Some(2 | 3)), "{:?} {}", done.code, done.err);
    assert!(done.err.contains("2.9.9"), "{}", done.err);
}

fn a_folder_that_cannot_be_written_loses_nothing() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("file");
    fs::write(&file, "mine").expect("written");
    let done = reduce("dtype/bf16_nan", &file.join("out"), &ENGINES);
    assert_eq!(done.code, Some(2), "{}", done.err);
    // The kernel is printed instead.
    assert!(done.err.contains("@triton.jit"), "{}", done.err);
}

pub fn tests() -> Tests {
    Tests::new()
        .without_needs(&named![what_cannot_be_reduced_is_said])
        .with_toolchain(
            NEWEST,
            &named![
                a_difference_stays_explained_by_the_same_bug,
                a_search_that_runs_out_of_time_keeps_what_it_has,
                a_folder_that_cannot_be_written_loses_nothing
            ],
        )
}
