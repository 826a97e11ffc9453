//! Inputs that a launcher leaves open, chosen in another way if the kernel fails with the usual ones.

use cerith_launcher::{InputChoice, read_launches_with};

/// A kernel of attention's shapes: `v` may have other heads than `q`, and `bias` is always read.
const HEADS: &str = "\
import torch
import triton
import triton.language as tl


@triton.jit
def scores(q, v, bias, out, T, H, HV, D, HAS_BIAS: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr):
    batch, head = tl.program_id(1) // H, tl.program_id(1) % H
    rows = tl.program_id(0) * BT + tl.arange(0, BT)
    columns = tl.arange(0, BD)
    mask = (rows[:, None] < T) & (columns[None, :] < D)
    at = ((batch * T + rows[:, None]) * H + head) * D + columns[None, :]
    at_v = ((batch * T + rows[:, None]) * HV + head % HV) * D + columns[None, :]
    value = tl.load(q + at, mask=mask, other=0.0) + tl.load(v + at_v, mask=mask, other=0.0)
    value += tl.load(bias + columns, mask=columns < D, other=0.0)[None, :]
    tl.store(out + at, value, mask=mask)


def attend(q, v, bias=None):
    B, T, H, D = q.shape
    HV = v.shape[2]
    out = torch.empty_like(q)
    BD = triton.next_power_of_2(D)
    scores[(triton.cdiv(T, 16), B * H)](q, v, bias, out, T, H, HV, D, bias is not None, 16, BD)
    return out
";

/// The plain launch has these lines.
#[track_caller]
fn check(choice: InputChoice, wanted: &[&str]) {
    let launches = read_launches_with(HEADS, "k.py", "scores", 0, choice);
    let plain = launches.first().expect("a launch");
    assert_eq!(plain.unknown, Vec::<String>::new());
    for line in wanted {
        assert!(plain.text.contains(line), "{line}\n{}", plain.text);
    }
}

#[test]
fn inputs_are_chosen_by_what_a_kernel_fails_with() {
    let usual = InputChoice::default();
    check(
        usual,
        &[
            "q: { dtype: f32, shape: [2, 25, 5, 49]",
            "v: { dtype: f32, shape: [2, 25, 7, 49]",
            "bias: null",
        ],
    );
    let uniform = InputChoice {
        is_uniform: true,
        ..usual
    };
    check(
        uniform,
        &[
            "q: { dtype: f32, shape: [2, 25, 5, 49]",
            "v: { dtype: f32, shape: [2, 25, 5, 49]",
        ],
    );
    let small = InputChoice {
        is_small: true,
        ..uniform
    };
    check(small, &["q: { dtype: f32, shape: [2, 18, 2, 19]", "grid: [2, 4]"]);
    let half = InputChoice {
        is_half: true,
        ..usual
    };
    check(half, &["q: { dtype: f16, shape", "v: { dtype: f16, shape"]);
    let complete = InputChoice {
        is_complete: true,
        ..usual
    };
    check(complete, &["bias: { dtype: f32, shape: [49]", "HAS_BIAS: true"]);
}

/// The name of an input says that it is like another one, and `target` alone says that it has indices of classes.
const TWINS: &str = "\
import torch
import triton
import triton.language as tl


@triton.jit
def multiply(x, target_x, out, stride, D, BD: tl.constexpr):
    at = tl.program_id(0) * stride + tl.arange(0, BD)
    mask = tl.arange(0, BD) < D
    tl.store(out + at, tl.load(x + at, mask=mask) * tl.load(target_x + at, mask=mask), mask=mask)


def launch(x, target_x):
    T, D = x.shape
    out = torch.empty_like(x)
    multiply[(T,)](x, target_x, out, x.stride(0), D, BD=triton.next_power_of_2(D))
    return out
";

#[test]
fn inputs_whose_names_belong_together_are_alike() {
    let choice = InputChoice {
        is_uniform: true,
        ..InputChoice::default()
    };
    let launches = read_launches_with(TWINS, "k.py", "multiply", 0, choice);
    let plain = launches.first().expect("a launch");
    let find = |name: &str| {
        let line = plain
            .text
            .lines()
            .find(|line| line.trim_start().starts_with(name));
        let (_, form) = line.and_then(|line| line.split_once(": {")).expect("a storage");
        form.split(", fill").next().expect("a shape").to_owned()
    };
    assert_eq!(find("target_x: {"), find("x: {"), "{}", plain.text);
}

#[test]
fn a_test_says_how_large_a_block_is() {
    let text = HEADS
        .replace(
            "def attend(q, v, bias=None):",
            "def attend(q, v, block_size, bias=None):",
        )
        .replace(
            "scores[(triton.cdiv(T, 16), B * H)]",
            "scores[(triton.cdiv(T, block_size), B * H)]",
        )
        .replace("bias is not None, 16, BD)", "bias is not None, block_size, BD)");
    let tested = format!(
        "{text}\n\ndef test_attend():\n    block_size = 8\n    q = torch.randn(1, 64, 2, 16)\n    attend(q, q, block_size)\n"
    );
    for (text, block) in [(text.as_str(), "BT: 16"), (&tested, "BT: 8")] {
        let launches = read_launches_with(text, "k.py", "scores", 0, InputChoice::default());
        let plain = launches.first().expect("a launch");
        assert!(plain.text.contains(block), "{block}\n{}", plain.text);
    }
}
