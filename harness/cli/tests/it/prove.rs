//! `cerith prove`: what it proves, what it assumes, and how it ends.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

use crate::command_output::CommandOutput;

const KERNELS: &str = r"import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x + 1, mask=i < n)


def add(x):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out
";

fn prove(text: &str, args: &[&str]) -> CommandOutput {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("add.py"), text).expect("written");
    let output = Command::new(env!("CARGO_BIN_EXE_cerith"))
        .arg("prove")
        .args(args)
        .current_dir(folder.path())
        .output()
        .expect("it starts");
    CommandOutput::from_output(&output)
}

#[test]
fn a_kernel_is_proved_with_its_assumptions() {
    let output = prove(KERNELS, &["add.py", "-v"]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    insta::assert_snapshot!(output.out);
    assert!(output.out.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn a_mask_that_is_too_wide_is_not_proved() {
    let output = prove(&KERNELS.replacen("mask=i < n", "mask=i <= n", 1), &["add.py"]);
    assert_eq!(output.code, Some(1), "{}", output.err);
    insta::assert_snapshot!(output.out);
    let output = prove(
        &KERNELS.replacen("mask=i < n", "mask=i <= n", 1),
        &["add.py", "--format", "jsonl"],
    );
    insta::assert_snapshot!("jsonl", output.out);
}

#[test]
fn wrong_names_are_errors() {
    let output = prove(KERNELS, &["ad.py"]);
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("did you mean `add.py`?"), "{}", output.err);
    let output = prove(KERNELS, &["add.py:sub"]);
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("no kernel `sub`"), "{}", output.err);
}
