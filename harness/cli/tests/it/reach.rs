//! `cerith check` finds kernels and launchers wherever a library has them: in classes, notebooks, standard input and other files.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::command_output::CommandOutput;
use tempfile::TempDir;

const HEAD: &str = "import triton\nimport triton.language as tl\n\n\n";

/// Copies with a mask that has `{}` as its comparison.
const COPY: &str = "\
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=offs < n), mask=offs {} n)
";

/// The text of a copy kernel with a decorator and the comparison of its stores.
fn copy(decorator: &str, comparison: &str) -> String {
    format!("{decorator}\n{}", COPY.replace("{}", comparison))
}

fn indent(text: &str) -> String {
    text.lines()
        .fold(String::new(), |all, line| all + "    " + line + "\n")
}

/// Checks a file, or a folder, of these files. The output contains some texts, and lacks others.
fn check(files: &[(&str, &str)], name: &str, code: i32, contains: &[&str], lacks: &[&str]) {
    let folder = TempDir::new().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        fs::write(path, text).expect("written");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_cerith"))
        .args(["check", name, "--engine", "reference"])
        .current_dir(folder.path())
        .output()
        .expect("it starts");
    let (out, err) = if code == 2 {
        (&[][..], contains)
    } else {
        (contains, &[][..])
    };
    let output = CommandOutput::from_output(&output).assert_ends(code, out, err);
    for text in lacks {
        assert!(!output.out.contains(text), "{text:?} in\n{}", output.out);
    }
}

#[test]
fn kernels_of_classes_are_checked() {
    for (comparison, code, shown) in [
        ("<=", 1, "error[out-of-bounds]: store"),
        ("<", 0, "nothing found"),
    ] {
        let kernel = indent(&copy("@staticmethod\n@triton.jit", comparison));
        let text = format!("{HEAD}class Copy:\n{kernel}");
        check(
            &[("k.py", &text)],
            "k.py",
            code,
            &["k.py:Copy.copy  ", shown],
            &[],
        );
    }
    // A method of an aggregate is called by kernels, with an instance.
    let method = "class Pair:\n    @triton.jit\n    def first(self):\n        return self.a\n";
    let text = format!("{HEAD}{method}\n\n{}", copy("@triton.jit", "<"));
    check(&[("k.py", &text)], "k.py", 0, &["k.py:copy  "], &["Pair"]);
}

#[test]
fn other_names_of_jit_are_known() {
    for head in [
        "from triton import jit as j\nimport triton.language as tl\n\n\n@j\n",
        "import triton as t\nimport triton.language as tl\n\n\n@t.jit\n",
        "import triton\nimport triton.language as tl\n\nkernel = triton.jit\n\n\n@kernel\n",
    ] {
        for (comparison, code) in [("<=", 1), ("<", 0)] {
            let text = format!("{head}{}", COPY.replace("{}", comparison));
            check(&[("k.py", &text)], "k.py", code, &["k.py:copy  "], &[]);
        }
    }
}

#[test]
fn heuristics_are_evaluated() {
    let kernel = |mask: &str| {
        format!(
            "{HEAD}@triton.heuristics({{\"ROWS\": lambda args: 1 if args[\"cols\"] < 64 else 2}})\n@triton.jit\n\
             def copy(x, out, rows, cols, stride, ROWS: tl.constexpr, BLOCK: tl.constexpr):\n    \
             r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)\n    c = tl.arange(0, BLOCK)\n    \
             p = r[:, None] * stride + c[None, :]\n    inside = (r[:, None] < rows) & (c[None, :] < cols)\n    \
             tl.store(out + p, tl.load(x + p, mask=inside), mask={mask})\n"
        )
    };
    let wrong = kernel("c[None, :] < cols");
    check(
        &[("k.py", &wrong)],
        "k.py",
        1,
        &["error[out-of-bounds]: store", "cols=64"],
        &[],
    );
    check(&[("k.py", &kernel("inside"))], "k.py", 0, &["nothing found"], &[]);
}

/// A notebook with cells of these kinds and texts.
fn write_notebook(cells: &[(&str, &str)]) -> String {
    let cells = cells.iter().map(|(kind, source)| {
        serde_json::json!({ "cell_type": kind, "source": source.split_inclusive('\n').collect::<Vec<_>>() })
    });
    serde_json::json!({ "cells": cells.collect::<Vec<_>>() }).to_string()
}

#[test]
fn notebooks_are_checked_by_cells() {
    for (comparison, code, shown) in [("<=", 1, "--> k.ipynb:cell 3:5:5"), ("<", 0, "nothing found")] {
        let text = write_notebook(&[
            ("markdown", "# Copies\n"),
            (
                "code",
                "%load_ext autoreload\nimport triton\nimport triton.language as tl",
            ),
            ("code", &format!("# A copy.\n{}", copy("@triton.jit", comparison))),
            ("code", "!nvidia-smi\n"),
        ]);
        check(
            &[("k.ipynb", &text)],
            "k.ipynb",
            code,
            &["k.ipynb:copy  ", shown],
            &["k.ipynb:8"],
        );
        check(&[("d/k.ipynb", &text)], "d", code, &["d/k.ipynb:copy  "], &[]);
    }
    check(
        &[("k.ipynb", "[]")],
        "k.ipynb",
        2,
        &["it is not a notebook: JSON with a list of `cells`"],
        &[],
    );
}

#[test]
fn standard_input_is_checked() {
    for (name, comparison, code, shown) in [
        ("-", "<=", 1, "--> <stdin>:8:5"),
        ("-", "<", 0, "nothing found"),
        ("-:copy", "<", 0, "<stdin>:copy  "),
        ("-:other", "<", 2, "no kernel `other` in <stdin>"),
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cerith"))
            .args(["check", "--engine", "reference", "--", name])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let text = format!("{HEAD}{}", copy("@triton.jit", comparison));
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(text.as_bytes()).expect("written");
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        let shown = [shown];
        let (out, err) = if code == 2 {
            (&[][..], &shown[..])
        } else {
            (&shown[..], &[][..])
        };
        CommandOutput::from_output(&output).assert_ends(code, out, err);
    }
}

#[test]
fn packages_need_no_init_file() {
    let helper = format!("{HEAD}@triton.jit\ndef inside(offs, n):\n    return offs {{}} n\n");
    for import in [
        "from lib.ops.masks import inside",
        "from ..ops.masks import inside",
    ] {
        for (comparison, code, shown) in [("<=", 1, "error[out-of-bounds]"), ("<", 0, "nothing found")] {
            let kernel = copy("@triton.jit", "<").replace("mask=offs < n)\n", "mask=inside(offs, n))\n");
            check(
                &[
                    ("lib/rows/k.py", &format!("{import}\n{HEAD}{kernel}")),
                    ("lib/ops/masks.py", &helper.replace("{}", comparison)),
                ],
                "lib/rows/k.py",
                code,
                &["lib/rows/k.py:copy  ", shown],
                &[],
            );
        }
    }
}

/// A launcher whose output has `{}` elements.
const LAUNCHER: &str = "\
def run(x):
    out = torch.empty({}, dtype=x.dtype, device=x.device)
    copy[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out
";

#[test]
fn launchers_of_other_files_are_evaluated() {
    let kernel = format!("{HEAD}{}", copy("@triton.jit", "<"));
    for (elements, code, shown) in [
        ("x.numel()", 0, "launched as `api.py:run` launches it"),
        ("x.numel() - 1", 1, "error[out-of-bounds]: store"),
    ] {
        let launcher = LAUNCHER.replace("{}", elements);
        for import in ["from kernels import copy", "from .kernels import copy"] {
            check(
                &[
                    ("kernels.py", &kernel),
                    (
                        "api.py",
                        &format!("import torch\nimport triton\n{import}\n\n\n{launcher}"),
                    ),
                ],
                "kernels.py",
                code,
                &[shown],
                &[],
            );
        }
    }
}

#[test]
fn functions_of_other_files_are_evaluated() {
    let settings = "import triton\n\n\ndef settings(n):\n    return triton.next_power_of_2(n) {}\n";
    for (less, code, shown) in [
        ("", 0, "launched as `run` launches it"),
        ("// 2", 1, "are never written"),
    ] {
        let launcher = "def run(x):\n    out = torch.empty_like(x)\n    copy[(1,)](x, out, x.numel(), BLOCK=settings(x.numel()))\n    return out\n";
        let text = format!(
            "import torch\nfrom .utils import settings\n{HEAD}{}\n\n{launcher}",
            copy("@triton.jit", "<")
        );
        check(
            &[("k.py", &text), ("utils.py", &settings.replace("{}", less))],
            "k.py",
            code,
            &[shown],
            &[],
        );
    }
}

#[test]
fn launchers_with_inputs_that_have_to_be_contiguous_have_a_precondition() {
    let kernel = "@triton.jit\ndef twice(x, out, cols, BLOCK: tl.constexpr):\n    offs = tl.arange(0, BLOCK)\n    \
                  at = tl.program_id(0) * cols + offs\n    \
                  tl.store(out + at, tl.load(x + at, mask=offs < cols) * 2, mask=offs < cols)\n";
    let launcher = |decorator: &str| {
        format!(
            "import torch\n{HEAD}{kernel}\n\n{decorator}def run(x):\n    rows, cols = x.shape\n    \
             out = torch.empty(rows, cols, dtype=x.dtype, device=x.device)\n    \
             twice[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))\n    return out\n"
        )
    };
    check(
        &[("k.py", &launcher(""))],
        "k.py",
        1,
        &["1 thing found", "= precondition: unless `x` is contiguous"],
        &["  = not judged: 1 of"],
    );
    check(
        &[("k.py", &launcher("@ensure_contiguous\n"))],
        "k.py",
        0,
        &["nothing found"],
        &["precondition"],
    );
}

#[test]
fn launches_with_assumed_inputs_are_used_if_the_kernel_finishes() {
    // Only the launcher's caller knows `amount`, which decides the number of passes.
    let kernel = "@triton.jit\ndef add(x, out, cols, amount, BLOCK: tl.constexpr):\n    offs = tl.arange(0, BLOCK)\n    \
                  at = tl.program_id(0) * cols + offs\n    \
                  value = tl.load(x + at, mask=offs < cols)\n    for _ in range(amount):\n        value += 1\n    \
                  tl.store(out + at, value, mask=offs {} cols)\n";
    let launcher = "def run(x, amount):\n    x = x.contiguous()\n    out = torch.empty_like(x)\n    \
                    add[(x.shape[0],)](x, out, x.shape[1], amount, BLOCK=triton.next_power_of_2(x.shape[1]))\n    return out\n";
    for (comparison, code, shown) in [
        (
            "<",
            0,
            "launched as `run` launches it, with assumed values of `amount`",
        ),
        ("<=", 1, "error[race]: store"),
    ] {
        let text = format!(
            "import torch\n{HEAD}{}\n\n{launcher}",
            kernel.replace("{}", comparison)
        );
        check(&[("k.py", &text)], "k.py", code, &["k.py:add  ", shown], &[]);
    }
}

/// The newest version rejects block pointers, so its message says nothing about the argument that an older one rejects.
#[test]
fn arguments_are_sought_in_the_language_that_accepts_the_kernel() {
    let kernel = format!(
        "{HEAD}@triton.jit\ndef copy(x_ptr, o_ptr, M, N, stride_m, stride_n, W: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):\n    \
         p = tl.make_block_ptr(x_ptr, (M, N), (stride_m, stride_n), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0))\n    \
         q = tl.make_block_ptr(o_ptr, (M, N), (stride_m, stride_n), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0))\n    \
         tl.static_assert(W == 4)\n    \
         tl.store(q, tl.load(p, boundary_check=(0, 1)), boundary_check=(0, 1))\n"
    );
    check(
        &[("k.py", &kernel)],
        "k.py",
        0,
        &["nothing found", "`W` is 4", "newer versions reject the kernel"],
        &[],
    );
}

#[test]
fn a_mask_with_the_wrong_size_does_not_decide_the_sizes_of_an_input() {
    let kernel = "@triton.jit\ndef outer(x, y, out, M, N, B: tl.constexpr):\n    rows = tl.program_id(0) * B + tl.arange(0, B)\n    \
                  columns = tl.program_id(1) * B + tl.arange(0, B)\n    \
                  a = tl.load(x + rows, mask=rows < {}, other=0)\n    b = tl.load(y + columns, mask=columns < N, other=0)\n    \
                  at = rows[:, None] * N + columns[None, :]\n    \
                  tl.store(out + at, a[:, None] * b[None, :], mask=(rows[:, None] < M) & (columns[None, :] < N))\n";
    let launcher = "def run(x, y):\n    x, y = x.contiguous(), y.contiguous()\n    M, N = x.shape[0], y.shape[0]\n    \
                    out = torch.empty((M, N), dtype=x.dtype, device=x.device)\n    \
                    outer[(triton.cdiv(M, 16), triton.cdiv(N, 16))](x, y, out, M, N, B=16)\n    return out\n";
    for (size, code, shown) in [
        ("M", 0, "nothing found"),
        (
            "N",
            1,
            "error[out-of-bounds]: load of 4 bytes just past the end of storage `x`",
        ),
    ] {
        let text = format!("import torch\n{HEAD}{}\n\n{launcher}", kernel.replace("{}", size));
        let host = "launched as `run` launches it";
        check(
            &[("k.py", &text)],
            "k.py",
            code,
            &["k.py:outer  ", shown, host],
            &["not judged: "],
        );
    }
}
