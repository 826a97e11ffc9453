//! Integers of 32 bits that wrap in large tensors: `cerith check` and `cerith prove` show launches, and the fixed kernels have none.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::command_output::CommandOutput;

fn read_kernels() -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "check", "overflow.py"]
        .iter()
        .collect();
    fs::read_to_string(path).expect("a kernel file")
}

fn run(text: &str, args: &[&str]) -> (CommandOutput, TempDir) {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("overflow.py"), text).expect("written");
    let output = Command::new(env!("CARGO_BIN_EXE_cerith"))
        .args(args)
        .current_dir(folder.path())
        .output()
        .expect("it starts");
    (CommandOutput::from_output(&output), folder)
}

fn check(args: &[&str]) -> CommandOutput {
    let args = [&["check", "--engine", "reference"], args].concat();
    run(&read_kernels(), &args).0
}

#[test]
fn each_overflow_is_found_and_each_fixed_kernel_has_none() {
    let output = check(&["overflow.py", "--format", "jsonl"]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let mut found = String::new();
    for line in output.out.lines() {
        let kernel: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let warnings = kernel["warnings"].as_array().cloned().unwrap_or_default();
        let texts: Vec<String> = warnings
            .iter()
            .map(|one| {
                assert_eq!(one["code"], "overflow", "{one}");
                let text = one["text"].as_str().unwrap_or_default();
                format!(
                    "  {}\n    {}\n",
                    text.lines().next().unwrap_or_default(),
                    one["launch"].as_str().unwrap_or_default()
                )
            })
            .collect();
        let name = kernel["kernel"].as_str().unwrap_or_default();
        write!(found, "{name}: {}\n{}", kernel["proved"], texts.concat()).expect("a String");
    }
    insta::assert_snapshot!(found);
}

#[test]
fn the_launch_and_the_line_are_shown() {
    insta::assert_snapshot!(check(&["overflow.py:padded_rows"]).out);
    let output = check(&["overflow.py:padded_rows", "--format", "github"]);
    assert!(
        output.out.starts_with("::warning file=overflow.py,line="),
        "{}",
        output.out
    );
}

#[test]
fn a_comment_hides_an_overflow() {
    let text = read_kernels().replace(
        "    rows = x + row * stride + cols\n",
        "    # cerith: ignore[overflow] at most 2^30 elements\n    rows = x + row * stride + cols\n",
    );
    let args = ["check", "--engine", "reference", "overflow.py:padded_rows"];
    let (output, _) = run(&text, &args);
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(
        !output.out.contains("warning[overflow]: `row * stride`"),
        "{}",
        output.out
    );
    assert!(output.err.contains("hidden: 1 by comments"), "{}", output.err);
}

#[test]
fn a_small_grid_is_kept_as_a_case_that_fails() {
    let args = [
        "check",
        "--engine",
        "reference",
        "overflow.py:column_sums",
        "--keep",
        "kept",
    ];
    let (_, folder) = run(&read_kernels(), &args);
    let kept = fs::read_dir(folder.path().join("kept")).expect("a folder");
    let names = kept.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"));
    let names: Vec<String> = names.filter(|name| name.contains("-overflow-")).collect();
    let [name] = names.as_slice() else {
        panic!("{names:?}");
    };
    let output = Command::new(env!("CARGO_BIN_EXE_cerith"))
        .args(["run", &format!("kept/{name}"), "--engine", "reference"])
        .current_dir(folder.path())
        .output()
        .expect("it starts");
    let output = CommandOutput::from_output(&output);
    assert!(
        output
            .out
            .contains("out-of-bounds: load of 4 bytes that starts 8589934592 bytes before storage `x`"),
        "{}",
        output.out
    );
}

#[test]
fn prove_refutes_what_check_reports() {
    let (output, _) = run(&read_kernels(), &["prove", "overflow.py:padded_rows"]);
    assert_eq!(output.code, Some(1), "{}", output.err);
    insta::assert_snapshot!(output.out);
    let (output, _) = run(
        &read_kernels(),
        &["prove", "overflow.py:flat", "--format", "jsonl"],
    );
    assert_eq!(output.code, Some(0), "{}", output.err);
    insta::assert_snapshot!("prove_jsonl", output.out);
}
