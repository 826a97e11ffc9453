//! Launchers that `cerith check --oracle` compares with reference functions, in a contained Python.
//!
//! These need Triton 3.9.0.

use std::fs;
use std::process::Command;

use cerith_needs::{NEWEST, Need, Tests, named};
use tempfile::TempDir;

use super::command_output::CommandOutput;

/// Row sums by a kernel whose launcher needs no torch.
const SUMS: &str = "\
import numpy as np
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, out_ptr, stride, step, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + at * step, mask=at < cols, other=0.0)
    tl.store(out_ptr + row, tl.sum(x.to(tl.float32), axis=0))


def row_sums(x):
    rows, cols = x.shape
    out = np.empty((rows,), dtype=np.float32)
    sum_kernel[(rows,)](x, out, x.stride(0), x.stride(1), cols, BLOCK=triton.next_power_of_2(cols))
    return out


def dense_sums(x):
    rows, cols = x.shape
    out = np.empty((rows,), dtype=np.float32)
    sum_kernel[(rows,)](x, out, x.stride(0), 1, cols, BLOCK=triton.next_power_of_2(cols))
    return out


def row_means(x):
    return row_sums(x)


def leave(x):
    import os

    row_sums(x)
    os._exit(3)


def look(x):
    open('/etc/hostname').read()
    return row_sums(x)
";

/// The names of a case, and the text that the comparison of a launcher prints.
struct Case {
    launcher: &'static str,
    like: &'static str,
    code: i32,
    expected: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case {
        launcher: "row_sums",
        like: "ref.py:row_sums",
        code: 0,
        expected: &["row_sums agrees with ref.row_sums: ", " calls"],
    },
    Case {
        launcher: "dense_sums",
        like: "ref.py:row_sums",
        code: 1,
        expected: &["dense_sums does not compute row_sums", "arguments: transposed x"],
    },
    Case {
        launcher: "row_means",
        like: "ref.py:row_means",
        code: 1,
        expected: &[
            "row_means does not compute ref.row_means",
            "launch 1 of sum_kernel",
            "def test_row_means():",
        ],
    },
    Case {
        launcher: "row_sums",
        like: "ref.py:nothing",
        code: 1,
        expected: &["LookupError", "has no function `nothing`"],
    },
    Case {
        launcher: "row_sums",
        like: "numpy.sum",
        code: 1,
        expected: &["row_sums does not compute numpy.sum"],
    },
    Case {
        launcher: "leave",
        like: "ref.py:row_sums",
        code: 1,
        expected: &["leave was not compared with ref.py:row_sums", "exit code 3"],
    },
];

const REFERENCE: &str =
    "def row_sums(x):\n    return x.sum(axis=1)\n\n\ndef row_means(x):\n    return x.mean(axis=1)\n";

fn check(folder: &TempDir, arguments: &[&str]) -> CommandOutput {
    let output = Command::new(env!("CARGO_BIN_EXE_cerith"))
        .current_dir(folder.path())
        .args(["check", "sums.py", "--engine", "reference"])
        .args(arguments)
        .output()
        .expect("cerith starts");
    CommandOutput::from_output(&output)
}

fn place() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("sums.py"), SUMS).expect("written");
    fs::write(folder.path().join("ref.py"), REFERENCE).expect("written");
    folder
}

fn launchers_are_compared() {
    let folder = place();
    let oracle = format!("--oracle={NEWEST}");
    for case in CASES {
        let named = ["--launcher", case.launcher, "--like", case.like, &oracle];
        check(&folder, &named).assert_ends(case.code, case.expected, &[]);
    }
    // The arguments that the user gives, and no others.
    let given = [
        "--launcher",
        "row_sums",
        "--like",
        "ref.py:row_sums",
        &oracle,
        "--arg",
        "x=float16[3,5]",
    ];
    check(&folder, &given).assert_ends(0, &["1 call,"], &[]);
    let missing = ["--launcher", "row_sum", "--like", "ref.py:row_sums", &oracle];
    check(&folder, &missing).assert_ends(2, &[], &["there is no function `row_sum` at the top of the file"]);
    let absent = ["--launcher", "row_sums", "--like", "other.py:row_sums", &oracle];
    check(&folder, &absent).assert_ends(2, &[], &["there is no file", "other.py"]);
}

fn a_program_reads_no_other_files() {
    let folder = place();
    let oracle = format!("--oracle={NEWEST}");
    let named = [
        "--launcher",
        "look",
        "--like",
        "ref.py:row_sums",
        &oracle,
        "--arg",
        "x=float32[3,5]",
    ];
    check(&folder, &named).assert_ends(1, &["PermissionError"], &[]);
}

/// A case with a reference function.
fn build_case(like: &str) -> String {
    format!(
        "about: Row sums.\nkernel: ../sums.py:sum_kernel\n\
         storages: {{ x: {{ dtype: f32, shape: [3, 4], fill: arange }}, out: {{ dtype: f32, shape: [3], fill: zeros }} }}\n\
         launches: [{{ grid: [3], args: {{ x_ptr: x, out_ptr: out, stride: 4, step: 1, cols: 4, BLOCK: 4 }} }}]\n\
         like: {like}\n"
    )
}

fn cases_are_compared_with_their_reference_functions() {
    let oracle = format!("--oracle={NEWEST}");
    let named = "def named(x_ptr, cols):\n    return {\"out\": x_ptr.sum(axis=1) * (cols // 4)}\n";
    for (like, code, expected) in [
        ("../ref.py:row_sums", 0, &["as expected"][..]),
        ("../ref.py:named", 0, &["as expected"]),
        (
            "numpy.sum",
            1,
            &[
                "LIKE    area/a  it does not compute numpy.sum",
                "1 unlike the reference function",
            ],
        ),
        (
            "../ref.py:row_means",
            1,
            &[
                "LIKE    area/a  it does not compute ../ref.py:row_means",
                "at [0]: 6.0, expected 1.5",
            ],
        ),
    ] {
        let folder = place();
        fs::write(folder.path().join("ref.py"), format!("{REFERENCE}\n\n{named}")).expect("written");
        fs::create_dir(folder.path().join("area")).expect("a folder");
        fs::write(folder.path().join("area/a.yaml"), build_case(like)).expect("written");
        let run = |arguments: &[&str]| {
            let output = Command::new(env!("CARGO_BIN_EXE_cerith"))
                .current_dir(folder.path())
                .args(["run", "--cases", ".", "--engine", "reference"])
                .args(arguments)
                .output()
                .expect("cerith starts");
            CommandOutput::from_output(&output)
        };
        run(&[&oracle]).assert_ends(code, expected, &[]);
        let unasked = format!("LIKE    area/a  not compared with its reference function {like}");
        run(&[]).assert_ends(0, &[&unasked, "as expected"], &[]);
    }
}

pub fn tests() -> Tests {
    Tests::new()
        .with_toolchain(
            NEWEST,
            &named![
                launchers_are_compared,
                cases_are_compared_with_their_reference_functions
            ],
        )
        .with_needs(
            &[Need::Toolchain(NEWEST), Need::Containment],
            &named![a_program_reads_no_other_files],
        )
}
