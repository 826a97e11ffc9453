//! The first run of a new user: for anything missing or mistyped, the message names the next command to type.

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
    mask = offsets < n
    tl.store(x + offsets, tl.load(x + offsets, mask=mask) + 1, mask=mask)
";

/// Runs `cerith` in a folder with a kernel and nothing else, without toolchains and without Python.
#[track_caller]
fn check(words: &[&str], code: i32, said: &[&str]) {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("softmax.py"), KERNEL).expect("a kernel");
    fs::write(folder.path().join("plain.py"), "x = 1\n").expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_cerith"))
        .args(words)
        .current_dir(folder.path())
        .env("CERITH_HOME", folder.path().join("home"))
        .env("PATH", folder.path())
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
fn nothing_typed_lists_the_commands_and_an_example() {
    check(&[], 2, &["Usage: cerith", "cerith check softmax.py"]);
    check(&["rnu"], 2, &["unrecognized subcommand 'rnu'", "--help"]);
    check(
        &["check"],
        2,
        &[
            "there is nothing to check",
            "cerith check softmax.py",
            "cerith.toml",
        ],
    );
}

#[test]
fn without_python_the_reference_goes_on_and_says_how_to_get_one() {
    check(
        &["check", "softmax.py"],
        0,
        &[
            "left out interpret@",
            "install Python 3.",
            "`cerith toolchain adopt PYTHON`",
            "nothing found",
        ],
    );
    check(
        &["toolchain", "add", "3.9.0"],
        2,
        &["install Python 3.", "`cerith toolchain adopt PYTHON`"],
    );
    check(&["toolchain", "list"], 0, &["`cerith toolchain add 3.9.0`"]);
    check(&["toolchain", "newest"], 2, &["install Python's pip"]);
    check(
        &["toolchain", "adopt", "python3"],
        2,
        &["name a Python by its path"],
    );
}

#[test]
fn offline_names_what_installs() {
    check(
        &["check", "softmax.py", "--offline"],
        0,
        &["`cerith toolchain add 3.", "nothing found"],
    );
    check(
        &["fuzz", "--offline", "--count", "1"],
        3,
        &["`cerith toolchain add 3.", "`--engine reference`"],
    );
}

#[test]
fn in_the_wrong_folder_there_are_three_ways_on() {
    let three = [
        "there is no corpus here",
        "`cerith check FILE.py`",
        "`cerith record -- python script.py`",
        "`cerith run DIR`",
    ];
    for command in ["run", "list", "matrix", "coverage"] {
        check(&[command], 2, &three);
    }
    check(&["explain", "alias"], 2, &three);
    check(&["expect", "--list"], 2, &three);
}

#[test]
fn a_mistyped_file_is_guessed() {
    check(&["check", "sotfmax.py"], 2, &["did you mean `softmax.py`?"]);
    check(&["check", "attention.py"], 2, &["`cerith check softmax.py`"]);
    check(
        &["import", "sotfmax.py:add_one"],
        2,
        &["did you mean `softmax.py`?"],
    );
    check(
        &["import", "attention.py:k"],
        2,
        &["`cerith import softmax.py:softmax_kernel`"],
    );
    check(&["import", "plain.py"], 2, &["there is no kernel in plain.py"]);
    check(
        &["import", "softmax"],
        2,
        &["a Python file with one kernel, or a case file"],
    );
    check(&["run", "sotfmax.py"], 2, &["did you mean `softmax.py`?"]);
    check(
        &["report", "events.jsonl"],
        2,
        &["`cerith report reports/run/events.jsonl`"],
    );
    check(
        &["bump", "3.8.0", "3.9.0", "--against", "nothing.jsonl"],
        2,
        &["there is no corpus here"],
    );
}

#[test]
fn a_kernel_that_is_not_there_names_the_command_that_takes_all() {
    check(
        &["check", "softmax.py:add_on"],
        2,
        &["`cerith check softmax.py` checks them all"],
    );
    check(
        &["check", "plain.py"],
        2,
        &["a kernel is a function with `@triton.jit`"],
    );
}

#[test]
fn a_program_that_does_not_start_is_written_as_a_shell_finds_it() {
    check(
        &["record", "--", "nopython", "x.py"],
        2,
        &["`cerith record -- python train.py`"],
    );
    check(&["record"], 2, &["<COMMAND>", "--help"]);
}

#[test]
fn an_engine_that_there_is_not_is_guessed() {
    check(
        &["check", "softmax.py", "--engine", "refrence"],
        2,
        &["did you mean `reference`?"],
    );
    check(
        &["check", "softmax.py", "--engin", "reference"],
        2,
        &["a similar argument exists: '--engine'"],
    );
}
