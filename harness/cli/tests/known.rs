//! Known bugs explain a recording: a program of bf16 kernels (`recordings/bf16_prog.py`) under the interpreter of Triton 3.6.0,
//! recorded with torch 2.11.0.

use std::path::Path;
use std::process::Command;

use conch_report::event::Event;

#[test]
fn every_difference_of_a_recorded_program_is_explained() {
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/bf16");
    let reports = tempfile::TempDir::new().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_conch"))
        .arg("run")
        .arg(&recording)
        .args([
            "--engine",
            "reference",
            "--engine",
            "recorded",
            "--format",
            "jsonl",
            "--out",
        ])
        .arg(reports.path())
        .output()
        .expect("conch runs");
    let stream = String::from_utf8(output.stdout).expect("text");
    let (mut cases, mut differing) = (0, 0);
    for line in stream.lines() {
        let event: Event = serde_json::from_str(line).expect("an event");
        let Event::Verdict(verdict) = event else { continue };
        cases += 1;
        differing += usize::from(!verdict.differences.is_empty());
        for difference in &verdict.differences {
            assert!(
                !difference.explained.is_empty(),
                "{}: {difference:?}",
                verdict.case
            );
        }
    }
    // The other 50 come out right.
    assert_eq!((cases, differing), (224, 174));
}
