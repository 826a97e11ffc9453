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
