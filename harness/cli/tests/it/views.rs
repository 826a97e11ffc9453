//! `cerith run --views` and `cerith check`: warnings about accesses inside a storage and outside the tensor, unless they are a
//! normal use of a view.

use std::fs;
use std::process::Command;

use crate::command_output::CommandOutput;
use tempfile::TempDir;

const KERNELS: &str = "\
import triton
import triton.language as tl


@triton.jit
def copy(src, src_stride, dst, dst_stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(src + row * src_stride + at, mask=at < n, other=0)
    tl.store(dst + row * dst_stride + at, x, mask=at < n)


@triton.jit
def pairs(x, rest, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(rest + at - 1, mask=at < n, other=0), mask=at < n)


@triton.jit
def count(cells, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.atomic_add(cells + at, 1.0, mask=at < n)


@triton.jit
def rows(x_ptr, out_ptr, x_row_stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * x_row_stride + cols, mask=mask, other=0.0)
    tl.store(out_ptr + row * n_cols + cols, x, mask=mask)
";

fn place(case: &str) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("k.py"), KERNELS).expect("written");
    fs::write(folder.path().join("c.yaml"), case).expect("written");
    folder
}

fn run_cerith(folder: &TempDir, words: &[&str], code: i32) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_cerith"))
        .args(words)
        .args(["--engine", "reference"])
        .current_dir(folder.path())
        .output()
        .expect("it starts");
    let done = CommandOutput::from_output(&output);
    assert_eq!(done.code, Some(code), "{}{}", done.out, done.err);
    done.out
}

/// Checks the warnings if a kernel is launched with these arguments, as one program for each row of four.
#[track_caller]
fn check(kernel: &str, args: &str, expected: &[&str]) {
    let case = format!(
        "about: A launch.\nkernel: k.py:{kernel}\nstorages:\n  qkv: {{ dtype: f32, shape: [4, 192], fill: arange }}\n  \
         x: {{ dtype: f32, shape: [4, 64], fill: arange }}\n  out: {{ dtype: f32, shape: [4, 64], fill: zeros }}\n  \
         buf: {{ dtype: f32, shape: [32], fill: zeros }}\ntensors:\n  q: 'qkv[:, 0:64]'\n  k: 'qkv[:, 64:128]'\n  \
         low: 'buf[0:8]'\n  rest: 'buf[1:]'\n  padded: 'x[:, 0:48]'\nlaunches:\n  - grid: [4]\n    args: {{ {args}, BLOCK: 64 }}\n"
    );
    let folder = place(&case);
    let shown = run_cerith(&folder, &["run", ".", "--out", "out", "--views"], 0);
    let warned: Vec<&str> = shown
        .lines()
        .filter_map(|line| line.trim().strip_prefix("reference finished: outside-tensor: "))
        .collect();
    assert_eq!(warned, expected, "{shown}");
    let verdict = "as expected\n";
    assert!(shown.contains(verdict), "{shown}");
    let unasked = run_cerith(&folder, &["run", ".", "--out", "out"], 0);
    assert!(!unasked.contains("outside-tensor"), "{unasked}");
}

#[test]
fn a_wrong_stride_leaves_a_split_tensor() {
    check(
        "copy",
        "src: q, src_stride: 64, dst: out, dst_stride: 64, n: 64",
        &["load of 4 bytes inside of storage `qkv` and outside of tensor `q`, where `q[0, 64]` would be"],
    );
    // The neighbour is an argument too, and still not the tensor that was meant.
    check(
        "pairs",
        "x: q, rest: k, out: out, n: 16",
        &["load of 4 bytes inside of storage `qkv` and outside of tensor `k`, 1 element before `k[0, 0]`"],
    );
    check(
        "copy",
        "src: q, src_stride: 192, dst: out, dst_stride: 64, n: 64",
        &[],
    );
}

#[test]
fn a_mask_that_is_too_wide_reaches_padding_and_neighbours() {
    check(
        "copy",
        "src: padded, src_stride: 64, dst: out, dst_stride: 64, n: 48",
        &[],
    );
    check(
        "copy",
        "src: padded, src_stride: 64, dst: out, dst_stride: 64, n: 49",
        &[
            "load of 4 bytes inside of storage `x` and outside of tensor `padded`, where `padded[0, 48]` would be",
        ],
    );
    check("count", "cells: low, n: 8", &[]);
    check(
        "count",
        "cells: low, n: 9",
        &["atomic of 4 bytes inside of storage `buf` and outside of tensor `low`, where `low[8]` would be"],
    );
}

#[test]
fn a_view_may_be_where_a_kernel_begins() {
    // A row, and the stride to the next one.
    check(
        "copy",
        "src: 'x[0]', src_stride: 64, dst: out, dst_stride: 64, n: 64",
        &[],
    );
    // Tensors that share elements may be reached through each other.
    check("pairs", "x: buf, rest: rest, out: out, n: 16", &[]);
}

#[test]
fn what_is_tried_without_a_case_file_is_watched() {
    let folder = place("");
    fs::remove_file(folder.path().join("c.yaml")).expect("removed");
    let shown = run_cerith(&folder, &["check", "k.py:rows"], 0);
    assert!(shown.contains("nothing found"), "{shown}");
    assert!(!shown.contains("warning"), "{shown}");
    let wrong = KERNELS.replace(
        "x_row_stride + cols, mask=mask",
        "x_row_stride + cols, mask=cols <= n_cols",
    );
    fs::write(folder.path().join("k.py"), wrong).expect("written");
    let shown = run_cerith(&folder, &["check", "k.py:rows"], 1);
    assert!(shown.contains("1 thing found, 1 warning"), "{shown}");
    let warning = "warning[outside-tensor]: load of 4 bytes inside of storage `x_ptr` and outside of tensor";
    assert!(shown.contains(warning), "{shown}");
    assert!(
        shown.contains("in 1 of 12 launches: x_ptr with padded rows"),
        "{shown}"
    );
}
