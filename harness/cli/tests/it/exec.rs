//! `cerith exec` on the command line of a machine without a GPU. See `harness/cuda/tests` for its tests on a GPU.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use cerith_cuda::bundle::{CaseEntry, Label, Note, Reader, Unexecuted, Writer};
use cerith_engine::job::Job;
use cerith_toolchain::compiled::{Compiled, Target};
use tempfile::TempDir;

fn label() -> Label {
    Label {
        case: "area/nothing".to_owned(),
        variant: None,
        engine: "cuda@3.9.0".parse().expect("an engine"),
        target: Target::HOPPER,
        source: String::new(),
        layout: String::new(),
        cubins: Vec::new(),
    }
}

/// A bundle of one case that launches nothing.
fn bundle() -> Vec<u8> {
    let mut writer = Writer::begin_cases(Vec::new()).expect("it is memory");
    let entry = CaseEntry {
        label: label(),
        job: Job {
            arena: vec![0; 1024],
            storages: Vec::new(),
            addresses: Vec::new(),
            may_hold_addresses: Vec::new(),
            compiled: Compiled {
                kernels: Vec::new(),
                invocations: Vec::new(),
            },
        },
    };
    writer.add_case(&entry).expect("it is memory");
    writer.finish().expect("it is memory")
}

fn exec(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cerith"))
        .arg("exec")
        .args(args)
        .current_dir(folder)
        // Also where there is a GPU.
        .env("CUDA_VISIBLE_DEVICES", "-1")
        .output()
        .expect("cerith starts")
}

#[track_caller]
fn check(content: Option<&[u8]>, exit: i32, wanted: &str) {
    let folder = TempDir::new().expect("a folder");
    if let Some(content) = content {
        fs::write(folder.path().join("cases.cerith"), content).expect("a file");
    }
    let output = exec(folder.path(), &["cases.cerith", "-o", "results.cerith"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(exit), "{stderr}");
    assert!(stderr.contains(wanted), "{stderr}");
    assert!(output.stdout.is_empty());
    let left = fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, usize::from(content.is_some()), "something was left behind");
}

#[test]
fn without_a_gpu_one_line_says_why_nothing_was_executed() {
    check(Some(&bundle()), 3, "nothing was executed: CUDA's driver");
    let empty = Writer::begin_cases(Vec::new()).and_then(Writer::finish);
    check(
        Some(&empty.expect("it is memory")),
        3,
        "nothing was executed: cases.cerith holds no cases",
    );
}

#[test]
fn a_bundle_of_which_nothing_is_left_to_execute_is_taken_without_a_gpu() {
    let mut writer = Writer::begin_cases(Vec::new()).expect("it is memory");
    let note = Note {
        label: label(),
        why: Unexecuted::NotApplicable("the target has no room for it".to_owned()),
    };
    writer.add_note(&note).expect("it is memory");
    let folder = TempDir::new().expect("a folder");
    let bundle = writer.finish().expect("it is memory");
    fs::write(folder.path().join("cases.cerith"), bundle).expect("a file");
    let output = exec(folder.path(), &["cases.cerith", "-o", "results.cerith"]);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(
        stdout.contains("nothing is left to execute: 0 decided when they were compiled, 1 variants"),
        "{stdout}"
    );
    let results = fs::read(folder.path().join("results.cerith")).expect("results");
    let mut reader = Reader::begin_results(results.as_slice()).expect("a good bundle");
    assert_eq!(reader.next_result().expect("a good bundle"), None);
    assert_eq!(reader.take_notes(), [note]);
}

#[test]
fn a_bundle_that_is_none_is_refused_with_its_name() {
    check(None, 2, "error: failed to read the bundle: No such file");
    check(Some(b"#!/bin/sh\n"), 2, "this is not a file that Cerith wrote");
    let mut bundle = bundle();
    check(
        Some(&bundle[..bundle.len() - 1]),
        2,
        "the file is cut short in section 2",
    );
    let middle = bundle.len() / 2;
    bundle[middle] ^= 1;
    check(
        Some(&bundle),
        2,
        "is damaged: its checksum does not match\n  --> cases.cerith",
    );
}

#[test]
fn numbers_are_checked_before_anything_is_read() {
    let folder = TempDir::new().expect("a folder");
    for (flag, value, wanted) in [
        ("--repeat", "0", "0 is not in 1..=10000"),
        ("--time-limit", "soon", "write a number of seconds"),
        ("--time-limit", "0", "write from 0.001 to 86400 seconds"),
    ] {
        let output = exec(
            folder.path(),
            &["cases.cerith", "-o", "results.cerith", flag, value],
        );
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(wanted), "{stderr}");
    }
}
