//! `cerith coverage`: what it prints of an installed Triton's names.

use std::path::Path;
use std::process::{Command, Output};

use cerith_needs::{NEWEST, Tests, named};
use serde_json::Value;

fn run_coverage(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cerith"))
        .arg("coverage")
        .args(args)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env("CI", "1")
        .output()
        .expect("cerith starts")
}

fn names_of_a_triton_that_is_not_there() {
    let done = run_coverage(&["--triton", "3.0.99"]);
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("`cerith toolchain add 3.0.99`"), "{said}");
}

fn the_newest_triton_has_no_hole() {
    let done = run_coverage(&["--format", "json", "tl.", "tensor"]);
    let said = String::from_utf8_lossy(&done.stderr);
    let table: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let names = table["names"].as_array().expect("names");
    let of = |name: &str| {
        names
            .iter()
            .find(|row| row["name"] == name)
            .unwrap_or_else(|| panic!("{name} is not listed: {said}"))
    };
    let answer = |name: &str, dtype: &str| {
        let answers = of(name)["answers"].as_array().expect("answers");
        let found = answers.iter().find(|answer| answer["dtype"] == dtype);
        found.map(|answer| answer["support"].clone()).unwrap_or_default()
    };
    assert_eq!(answer("tl.exp", "f32"), "supported");
    assert_eq!(answer("tl.exp", "i32"), "rejected");
    assert_eq!(answer("tl.inline_asm_elementwise", "i32"), "supported");
    assert!(of("tensor.__add__")["cases"].as_u64() > Some(100), "{said}");
    let holes: Vec<&str> = names
        .iter()
        .filter(|row| {
            let mut answers = row["answers"].as_array().into_iter().flatten();
            answers.any(|answer| answer["support"] == "missing")
        })
        .filter_map(|row| row["name"].as_str())
        .collect();
    assert_eq!(holes, Vec::<&str>::new());
    assert_eq!(done.status.code(), Some(0), "{said}");
}

pub fn tests() -> Tests {
    Tests::new()
        .without_needs(&named![names_of_a_triton_that_is_not_there])
        .with_toolchain(NEWEST, &named![the_newest_triton_has_no_hole])
}
