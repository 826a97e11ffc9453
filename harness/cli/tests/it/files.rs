//! A file selects its contents: a case file its kernel, a Python file its only kernel, and either a corpus.

use std::fs;
use std::process::Command;

use crate::command_output::CommandOutput;
use tempfile::TempDir;

const KERNEL: &str = "\
import triton
import triton.language as tl


@triton.jit
def add_one(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets <= n
    tl.store(x + offsets, tl.load(x + offsets, mask=mask) + 1, mask=mask)
";

const ZERO_KERNEL: &str = "

@triton.jit
def zero(x):
    tl.store(x, 0.0)
";

const CASE: &str = "\
about: One more than a storage holds.
kernel: k.py:add_one
storages:
  x: { dtype: f32, shape: [10], fill: arange }
launches:
  - grid: [1]
    args: { x: x, n: 10, BLOCK: 16 }
";

/// A folder with a kernel's file, `more` in it, and a case file beside it.
fn place(more: &str) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("k.py"), format!("{KERNEL}{more}")).expect("a kernel");
    fs::write(folder.path().join("one.yaml"), CASE).expect("a case");
    folder
}

#[track_caller]
fn check(folder: &TempDir, words: &[&str], code: i32, said: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_cerith"))
        .args(words)
        .current_dir(folder.path())
        .env("CI", "1")
        .output()
        .expect("cerith starts");
    let done = CommandOutput::from_output(&output);
    let shown = format!("{}{}", done.out, done.err);
    assert_eq!(done.code, Some(code), "{shown}");
    for part in said {
        assert!(shown.contains(part), "no {part:?} in\n{shown}");
    }
}

#[test]
fn a_case_file_stands_for_the_kernel_that_it_launches() {
    let folder = place(ZERO_KERNEL);
    let found = ["k.py:add_one", "error[out-of-bounds]: load", "k.py:9:"];
    check(
        &folder,
        &["check", "one.yaml", "--engine", "reference"],
        1,
        &found,
    );
    let made = ["made.yaml", "just past the end of storage `x`", "k.py:9"];
    check(&folder, &["import", "one.yaml", "-o", "made.yaml"], 0, &made);
    let text = fs::read_to_string(folder.path().join("made.yaml")).expect("it is written");
    assert!(text.contains("kernel: k.py:add_one"), "{text}");
}

#[test]
fn a_python_file_stands_for_its_only_kernel() {
    check(&place(""), &["import", "k.py"], 0, &["add_one.yaml"]);
    let names = ["k.py has 2 kernels", "`k.py:add_one`, `k.py:zero`"];
    check(&place(ZERO_KERNEL), &["import", "k.py"], 2, &names);
}

#[test]
fn either_is_a_corpus() {
    let folder = place("");
    for file in ["one.yaml", "k.py"] {
        let asked = |words: &[&'static str]| [words, &[file, "--engine", "reference"]].concat();
        check(&folder, &["list", file], 0, &["one"]);
        check(&folder, &asked(&["run"]), 1, &["UNDEFINED one"]);
        check(&folder, &asked(&["explain"]), 0, &["out-of-bounds"]);
        let nothing = "nothing differs: the verdict is undefined";
        check(&folder, &asked(&["reduce"]), 2, &[nothing]);
        check(&folder, &asked(&["fuzz", "keep"]), 0, &["nothing new"]);
    }
}

#[test]
fn a_case_file_that_is_wrong_is_said_to_be() {
    let folder = place("");
    let wrong = CASE.replace("k.py", "nowhere.py");
    fs::write(folder.path().join("bad.yaml"), wrong).expect("a case");
    for command in ["check", "import"] {
        let said = ["nowhere.py", "bad.yaml:2:"];
        check(&folder, &[command, "bad.yaml"], 2, &said);
    }
    // The other file is as it was.
    let kept = ["check", "one.yaml", "--engine", "reference"];
    check(&folder, &kept, 1, &["k.py:add_one"]);
}
