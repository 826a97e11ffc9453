//! Kernels in files of libraries, which import what is not there, and whose imports no engine is to blame for.
//!
//! These need Triton 3.9.0.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use cerith_needs::{NEWEST, Tests, named};
use tempfile::TempDir;

/// A library's file: of all that it imports only Triton is there.
const LIBRARY: &str = "\
\"\"\"Kernels of a library.\"\"\"

from __future__ import annotations

import torch
import triton
import triton.language as tl
from einops import rearrange

from .neighbour import something

DEVICE = triton.runtime.driver.active.get_active_torch_device()
SIZE = tl.constexpr(4)
LIMIT = tl.constexpr(int(torch.finfo(torch.float32).max))


@triton.jit
def shifted(x):
    return x + SIZE


@triton.jit
def add(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    out = shifted(tl.load(x + i, mask=i < n))
    tl.store(x + i, out, mask=i < n)


@triton.jit
def limited(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) + LIMIT, mask=i < n)


@triton.jit
def neighbourly(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, something(tl.load(x + i, mask=i < n)), mask=i < n)


@triton.jit
def mistaken(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) + nothing, mask=i < n)


def run(x: torch.Tensor) -> torch.Tensor:
    add[(1,)](x, 4, BLOCK=16)
    return something(rearrange(x, \"a -> a\"))


def test_run():
    assert run(torch.ones(4)) is not None


torch.manual_seed(0)
x = torch.zeros(4, device=DEVICE)
if __name__ == \"__main__\":
    out = run(x)
    test_run()
";

/// A case of a kernel of the library.
fn build_case(kernel: &str) -> String {
    format!(
        "about: Numbers are added.\nkernel: library.py:{kernel}\n\
         storages: {{ x: {{ dtype: f32, shape: [10], fill: arange }} }}\n\
         launches: [{{ grid: [1], args: {{ x: x, n: 10, BLOCK: 16 }} }}]\n"
    )
}

fn create_corpus(kernel: &str) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let area = folder.path().join("cases/area");
    fs::create_dir_all(&area).expect("a folder");
    fs::write(area.join("library.py"), LIBRARY).expect("a file");
    fs::write(area.join("a.yaml"), build_case(kernel)).expect("a file");
    folder
}

fn run_cerith(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cerith"))
        .args(args)
        .arg("--offline")
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env("CI", "1")
        .output()
        .expect("cerith starts")
}

/// The exit code and the output of a run of one kernel.
fn run(kernel: &str) -> (Option<i32>, String) {
    let folder = create_corpus(kernel);
    let output = run_cerith(
        folder.path(),
        &["run", "--engine", "reference", "--engine", "interpret@3.9.0"],
    );
    read_output(&output)
}

fn read_output(output: &Output) -> (Option<i32>, String) {
    let text = [&*output.stdout, &*output.stderr]
        .map(String::from_utf8_lossy)
        .concat();
    (output.status.code(), text)
}

#[track_caller]
fn check(kernel: &str, code: i32, parts: &[&str]) {
    let (exit, text) = run(kernel);
    assert_eq!(exit, Some(code), "{text}");
    for part in parts {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    // Whatever the outcome is, no engine is blamed.
    assert!(!text.contains("is wrong"), "{text}");
}

fn a_librarys_file_works_as_it_is() {
    check("add", 0, &["1 case: 1 agree", "as expected"]);
}

fn a_librarys_file_is_compiled_as_it_is() {
    let folder = create_corpus("add");
    let output = run_cerith(
        folder.path(),
        &["bundle", "--engine", "cuda@3.9.0", "-o", "x.cerith"],
    );
    let (exit, text) = read_output(&output);
    assert_eq!(exit, Some(0), "{text}");
    assert!(
        text.contains("1 case, 1 compiled") || text.contains("1 cases, 1 compiled"),
        "{text}"
    );
}

fn what_a_kernel_needs_and_nobody_has_is_unavailable_with_the_mend() {
    check(
        "limited",
        1,
        &[
            "reference unsupported: the reference does not know `LIMIT`",
            "interpret@3.9.0 unavailable: module-not-found: cases/area/library.py imports `torch` for what the kernel uses",
            "an engine with torch has it (`interpret@V+torch`, `jit@V`)",
            "at cases/area/library.py:5\n",
            "0 agree",
        ],
    );
    check(
        "neighbourly",
        1,
        &[
            "reference unsupported: the reference does not know `something`: it comes from the module `neighbour`",
            "interpret@3.9.0 unavailable: module-not-found: cases/area/library.py imports a neighbour by a relative import",
            "let `cerith record` make cases of the kernel",
            "at cases/area/library.py:10\n",
            "0 agree",
        ],
    );
}

fn a_file_that_cannot_be_loaded_is_told_whoever_asked() {
    let folder = create_corpus("limited");
    // The kernel's global is a number to the reference, and a module's to everybody else.
    let text = LIBRARY.replace("int(torch.finfo(torch.float32).max)", "3 if True else torch.inf");
    fs::write(folder.path().join("cases/area/library.py"), text).expect("a file");
    let (exit, text) = read_output(&run_cerith(folder.path(), &["run"]));
    assert_eq!(exit, Some(1), "{text}");
    for part in [
        "SILENT area/a  interpret@3.9.0, ptx@3.9.0 have no outcome",
        "module-not-found: cases/area/library.py imports `torch`",
        "NOT as expected: 1 with an engine without an outcome",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
}

fn lines_keep_their_numbers() {
    let at = "at cases/area/library.py:44\n";
    check(
        "mistaken",
        1,
        &[
            "interpret@3.9.0 trapped: NameError: name 'nothing' is not defined",
            at,
            "44 |     tl.store",
        ],
    );
}

pub fn tests() -> Tests {
    Tests::new().with_toolchain(
        NEWEST,
        &named![
            a_librarys_file_works_as_it_is,
            a_librarys_file_is_compiled_as_it_is,
            what_a_kernel_needs_and_nobody_has_is_unavailable_with_the_mend,
            a_file_that_cannot_be_loaded_is_told_whoever_asked,
            lines_keep_their_numbers
        ],
    )
}
