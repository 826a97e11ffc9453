//! Known bugs explain every difference of a recording, a program of bf16 kernels (`recordings/bf16_prog.py`) under the interpreter
//! of Triton 3.6.0 and torch 2.11.0, and of what a GPU left of kernels that ten versions compiled.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

use cerith_report::event::Event;
use cerith_tile::releases::latest_patches;
use cerith_tile::rules::Version;

/// Runs cases whose differences must all be explained: the number of cases, the number that differ, and the output.
#[track_caller]
fn assert_explained<'a>(cases: impl Iterator<Item = &'a OsStr>, engines: &[&str]) -> (usize, usize, Output) {
    let reports = tempfile::TempDir::new().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_cerith"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .args(["run", "--offline"])
        .args(cases)
        .args(engines.iter().flat_map(|engine| ["--engine", engine]))
        .args(["--format", "jsonl", "--out"])
        .arg(reports.path())
        .output()
        .expect("cerith runs");
    let (mut count, mut differing) = (0, 0);
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let event: Event = serde_json::from_str(line).expect("an event");
        let Event::Verdict(verdict) = event else { continue };
        count += 1;
        differing += usize::from(!verdict.differences.is_empty());
        for difference in &verdict.differences {
            let case = &verdict.case;
            assert!(!difference.explained.is_empty(), "{case}: {difference:?}");
        }
    }
    (count, differing, output)
}

#[test]
fn every_difference_of_a_recorded_program_is_explained() {
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/bf16");
    let recording = std::iter::once(recording.as_os_str());
    let (cases, differing, _) = assert_explained(recording, &["reference", "recorded"]);
    // The other 50 come out right.
    assert_eq!((cases, differing), (224, 174));
}

/// The cases of every known bug of compilers, with recorded GPU results of the kernels of ten versions.
#[test]
fn what_compilers_of_every_version_left_is_explained() {
    const CASES: [&str; 12] = [
        "atomic/extrema_of_zero",
        "contraction/sum_to_dot",
        "control_flow/pipelined_store",
        "descriptor/atomic",
        "descriptor/rank_1",
        "descriptor/store_edge",
        "dot/scaled_e8m0_ends",
        "dot/wraps",
        "dtype/cast_from_float",
        "math/divide_every",
        "pointer/unsigned_offset",
        "reduction/histogram_outside",
    ];
    for version in latest_patches(Version::new(3, 0, 0)) {
        let (_, differing, output) = assert_explained(
            CASES.iter().map(OsStr::new),
            &["reference", &format!("cuda@{version}")],
        );
        assert!(output.status.success(), "{version}: {output:?}");
        assert!(differing >= 4, "{version}: {differing} differ");
    }
}
