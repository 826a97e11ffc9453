//! Findings: kept with a script and a report, asked of every version, promoted to cases of the corpus with a row in the table. Some need
//! Triton 3.9.0; the script is run with the Pythons with torch that `CERITH_TEST_TORCH` names.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command_output::CommandOutput;
use cerith_needs::{NEWEST, Need, Tests, find_toolchain, named, pythons_with_torch};
use tempfile::TempDir;

const KERNEL: &str = "import triton
import triton.language as tl


@triton.jit
def squares(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, v * v)
";

/// A case with bf16, which Triton's interpreter computes incorrectly in every version.
const CASE: &str = "about: Squares of some numbers.
kernel: k.py:squares
storages:
  x: { dtype: bf16, shape: [4], fill: [-3, 1, 2, 0.5] }
  out: { dtype: bf16, shape: [4], fill: zeros }
launches:
  - { grid: [1], args: { x: x, out: out, N: 4 } }
";

fn run_cerith<S: AsRef<OsStr>>(folder: &Path, args: &[S]) -> CommandOutput {
    let output = Command::new(env!("CARGO_BIN_EXE_cerith"))
        .current_dir(folder)
        .args(args)
        .output()
        .expect("cerith runs");
    CommandOutput::from_output(&output)
}

/// A folder with a case, and the finding that is kept of it.
fn keep_finding() -> (TempDir, PathBuf) {
    let folder = TempDir::new().expect("a folder");
    let mine = folder.path().join("mine");
    fs::create_dir_all(&mine).expect("a folder");
    fs::create_dir_all(folder.path().join("cases")).expect("a folder");
    fs::write(mine.join("k.py"), KERNEL).expect("it is written");
    fs::write(mine.join("k.yaml"), CASE).expect("it is written");
    let engine = ["--offline", "--engine", "interpret@3.9.0", "--out", "findings"];
    let keep = |more: &[&str]| {
        run_cerith(
            folder.path(),
            &[&["fuzz", "keep", "mine"], &engine[..], more].concat(),
        )
    };
    keep(&[]).assert_ends(0, &["nothing new was found"], &[]);
    keep(&["--known"]).assert_ends(1, &["findings/interpret-3.9.0-memory-mul-bf16"], &[]);
    let finding = folder.path().join("findings/interpret-3.9.0-memory-mul-bf16");
    (folder, finding)
}

fn read_text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn a_finding_says_what_is_expected_and_what_there_is() {
    let toolchain = find_toolchain(NEWEST);
    let (_folder, finding) = keep_finding();
    let report = read_text(&finding.join("report.md"));
    for part in [
        "## Describe the bug",
        "## Environment details",
        "out[0] = 9.0",
        "triton-semantics",
        "- Triton: 3.9.0",
        "v * v",
    ] {
        assert!(report.contains(part), "no {part:?} in\n{report}");
    }
    let script = finding.join("repro.py");
    assert!(
        !read_text(&script).contains("cerith_"),
        "it needs nothing of Cerith's"
    );
    let parsed = Command::new(toolchain.python())
        .args(["-c", "import ast, sys; ast.parse(open(sys.argv[1]).read())"])
        .arg(&script)
        .status();
    assert!(parsed.expect("Python runs").success());
}

fn the_script_shows_the_bug_with_torch() {
    let (_folder, finding) = keep_finding();
    for python in pythons_with_torch() {
        let output = Command::new(python).arg(finding.join("repro.py")).output();
        let done = CommandOutput::from_output(&output.expect("Python runs"));
        done.assert_ends(1, &["interpreted: WRONG", "out[0]: ", "expected 9.0"], &[]);
    }
}

/// A compiler needs no GPU to fail, and then neither does the script.
fn the_script_shows_a_failing_compiler_without_a_gpu() {
    let folder = TempDir::new().expect("a folder");
    fs::create_dir_all(folder.path().join("mine")).expect("a folder");
    let load = "tl.load(x + i, cache_modifier=\".cg\", eviction_policy=\"evict_last\")";
    let kernel = KERNEL.replace("tl.load(x + i)", load);
    fs::write(folder.path().join("mine/k.py"), kernel).expect("it is written");
    let case = CASE.replace("bf16", "f32");
    fs::write(folder.path().join("mine/k.yaml"), case).expect("it is written");
    let keep = [
        "fuzz",
        "keep",
        "mine",
        "--engine",
        "ptx@3.9.0",
        "--out",
        "findings",
    ];
    run_cerith(folder.path(), &keep).assert_ends(1, &["findings/"], &[]);
    let mut findings = fs::read_dir(folder.path().join("findings")).expect("findings");
    let finding = findings.next().expect("a finding").expect("an entry").path();
    for python in pythons_with_torch() {
        let mut command = Command::new(python);
        command
            .arg(finding.join("repro.py"))
            .env("CUDA_VISIBLE_DEVICES", "");
        let done = CommandOutput::from_output(&command.output().expect("Python runs"));
        done.assert_ends(
            1,
            &["interpreted: as expected", "compiled: WRONG", "'.evict_last'"],
            &[],
        );
    }
}

fn a_promoted_finding_is_a_case_that_is_as_expected() {
    let (folder, finding) = keep_finding();
    let finding = finding.to_str().expect("text");
    let promote = |more: &[&str]| run_cerith(folder.path(), &[&["fuzz", "promote", finding], more].concat());
    promote(&["--as", "squares"]).assert_ends(2, &[], &["names no case"]);
    let named = ["--as", "dtype/squares", "--why", "bits are multiplied"];
    promote(&named).assert_ends(0, &["cases/dtype/squares.yaml", "reports/findings.md"], &[]);
    promote(&named).assert_ends(2, &[], &["already exists"]);
    let case = read_text(&folder.path().join("cases/dtype/squares.yaml"));
    for part in [
        "found: { by: fuzz, upstream: new, state: unreported }",
        "kernel: squares.py:squares",
        "why: \"bits are multiplied\"",
    ] {
        assert!(case.contains(part), "no {part:?} in\n{case}");
    }
    // After `fuzz range`, the report has the range.
    assert!(
        read_text(&folder.path().join(finding).join("report.md"))
            .contains("| interpret@3.9.0 | yes | differ |")
    );
    let run = [
        "run",
        "--offline",
        "--engine",
        "reference",
        "--engine",
        "interpret@3.9.0",
    ];
    run_cerith(folder.path(), &run).assert_ends(0, &["as expected"], &[]);
    let table = folder.path().join("reports/findings.md");
    assert!(read_text(&table).contains("[`dtype/squares`](../cases/dtype/squares.yaml)"));
    run_cerith(folder.path(), &["fuzz", "trophies", "--check"]).assert_ends(0, &[], &[]);
    fs::write(&table, "nothing was found").expect("it is written");
    run_cerith(folder.path(), &["fuzz", "trophies", "--check"]).assert_ends(
        1,
        &[],
        &["is not up to date with the case files"],
    );
    run_cerith(folder.path(), &["fuzz", "trophies"]).assert_ends(0, &["findings.md"], &[]);
    run_cerith(folder.path(), &["fuzz", "trophies", "--check"]).assert_ends(0, &[], &[]);
}

fn what_is_no_finding_is_refused() {
    let folder = TempDir::new().expect("a folder");
    for command in ["range", "promote"] {
        run_cerith(folder.path(), &["fuzz", command, "there"]).assert_ends(
            2,
            &[],
            &["failed to read there/finding.json", "help"],
        );
    }
    fs::write(folder.path().join("finding.json"), "{}").expect("it is written");
    run_cerith(folder.path(), &["fuzz", "range", "."]).assert_ends(
        2,
        &[],
        &["is not a finding of this version of Cerith"],
    );
}

fn the_table_is_what_the_cases_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    run_cerith(&root, &["fuzz", "trophies", "--check"]).assert_ends(0, &[], &[]);
}

pub fn tests() -> Tests {
    Tests::new()
        .without_needs(&named![
            what_is_no_finding_is_refused,
            the_table_is_what_the_cases_say
        ])
        .with_toolchain(
            NEWEST,
            &named![
                a_finding_says_what_is_expected_and_what_there_is,
                a_promoted_finding_is_a_case_that_is_as_expected
            ],
        )
        .with_needs(
            &[Need::Toolchain(NEWEST), Need::PythonWithTorch],
            &named![
                the_script_shows_the_bug_with_torch,
                the_script_shows_a_failing_compiler_without_a_gpu
            ],
        )
}
