//! `cerith explain` of floats: the accepted values where an engine has other bits, on recorded GPU results.

use std::path::Path;
use std::process::Command;

#[track_caller]
fn check(case: &str, parts: &[&str]) {
    let done = Command::new(env!("CARGO_BIN_EXE_cerith"))
        .args([
            "explain",
            case,
            "--engine",
            "reference",
            "--engine",
            "cuda@3.9.0",
            "--offline",
        ])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env("CI", "1")
        .output()
        .expect("cerith starts");
    let shown = String::from_utf8_lossy(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{shown}");
    for part in parts {
        assert!(shown.contains(part), "no {part:?} in {shown}");
    }
}

#[test]
fn other_bits_have_their_interval_and_the_operation_that_widened_it() {
    check(
        "math/transcendental:f=rsqrt",
        &[
            "cuda@3.9.0: out[1]: 1.4142134 here, 1.4142135 by the reference",
            "conforming implementations give 1.4142133 to 1.4142139: it is accepted",
            "the operation that widens it most is `rsqrt`, by 4.2e-7 of its magnitude, in launch 1, at cases/math/functions.py:26:13",
            "r = tl.rsqrt(v)",
        ],
    );
    check(
        "dot/allow_tf32:allow=true",
        &["the operation that widens it most is `dot`"],
    );
}
