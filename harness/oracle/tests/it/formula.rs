//! The bounds of small kernels.

use std::fmt::Write as _;

use cerith_accept::{AcceptanceMap, Accepted};
use cerith_case::{Corpus, Input};
use cerith_engine::{FormulaMemory, FormulaRun, Reference};
use cerith_memory::StorageId;
use cerith_oracle::Contract;
use cerith_tile::DType;
use cerith_tile::numeric::decode;
use cerith_tile::rules::Rules;

/// The combine function that `torch.compile` writes for a variance.
const WELFORD: &str = "\
import triton
import triton.language as tl


@triton.jit
def combine(mean_1, m2_1, weight_1, mean_2, m2_2, weight_2):
    delta = mean_2 - mean_1
    weight = weight_1 + weight_2
    ratio = tl.where(weight == 0.0, 0.0, weight_2 / weight)
    return mean_1 + delta * ratio, m2_1 + m2_2 + delta * delta * weight_1 * ratio, weight
";

/// The bounds of `out[0]` after a kernel's line, which has `x`, a block of 4 elements of these values and this dtype.
fn bound(line: &str, dtype: &str, values: &str, contract: Contract) -> String {
    bound_with(line, dtype, values, contract, AcceptanceMap::default())
}

fn bound_with(line: &str, dtype: &str, values: &str, contract: Contract, ranges: AcceptanceMap) -> String {
    let kernel = format!(
        "{WELFORD}\n\n@triton.jit\ndef kernel(x_ptr, out):\n    x = tl.load(x_ptr + tl.arange(0, 4))\n    {line}\n"
    );
    let file = format!(
        "about: One line.\nkernel: kernel.py:kernel\nstorages:\n  x: {{ dtype: {dtype}, shape: [4], fill: {values} }}\n  \
         out: {{ dtype: f32, shape: [4], fill: zeros }}\nlaunches:\n  - grid: [1]\n    args: {{ x_ptr: x, out: out }}\n"
    );
    let corpus = Corpus::load([
        Input::from_text("line.yaml", file.as_str()),
        Input::from_text("kernel.py", kernel.as_str()),
    ]);
    let case = corpus
        .entries()
        .next()
        .expect("a case")
        .resolve()
        .expect("it resolves");
    let start = FormulaMemory {
        memory: case.memory(),
        ranges,
    };
    let run = Reference::default().run_formulas(&case, Rules::default(), contract, start);
    let FormulaRun::Finished(formula) = run.expect("no failure") else {
        return "unbounded".to_owned();
    };
    let out = StorageId(1);
    match formula.ranges.accepted_at(out, 0).1 {
        Accepted::Exact => {
            let bytes = formula.memory.bytes(out);
            let bits = bytes
                .iter()
                .take(4)
                .rev()
                .fold(0, |bits, byte| bits << 8 | u64::from(*byte));
            format!("{:?}", decode(DType::F32, bits) as f32)
        }
        Accepted::Within { low, high, nan, .. } => {
            let nan = if nan { " or NaN" } else { "" };
            format!("{:?} to {:?}{nan}", low as f32, high as f32)
        }
        Accepted::Unknown => "anything".to_owned(),
    }
}

#[test]
fn each_operation_has_its_error() {
    let default = Contract::default();
    let half = Contract {
        accumulate: DType::F16,
        ..default
    };
    let no_tf32 = Contract {
        tf32: false,
        ..default
    };
    let dot = "tl.store(out, tl.sum(tl.dot(tl.broadcast_to(x[:, None, None], (4, 4, 16)).reshape((16, 16)), tl.full((16, 16), 0.1, \
               tl.float32))))";
    let wide = default.with_data([DType::F32, DType::I32]);
    let scratch = "tl.store(x_ptr + tl.arange(0, 4), x / 3)\n    tl.store(out + tl.arange(0, 4), tl.load(x_ptr + tl.arange(0, 4)))";
    let rows = [
        (
            "exact sum",
            "tl.store(out, tl.sum(x))",
            "f32",
            "[1, 2, 3, -5]",
            default,
        ),
        (
            "sum",
            "tl.store(out, tl.sum(x))",
            "f32",
            "[0.1, 0.2, 0.3, 0.4]",
            default,
        ),
        (
            "a short constant",
            "tl.store(out + tl.arange(0, 4), x + 0.5)",
            "f32",
            "[1, 2, 3, 4]",
            default,
        ),
        (
            "a long constant",
            "tl.store(out + tl.arange(0, 4), x + 0.1)",
            "f32",
            "[1, 2, 3, 4]",
            default,
        ),
        (
            "f16 by a contract of f32",
            "tl.store(out + tl.arange(0, 4), x * x)",
            "f16",
            "[0.1, 2, 3, 4]",
            default,
        ),
        (
            "f16 by its own",
            "tl.store(out + tl.arange(0, 4), x * x)",
            "f16",
            "[0.1, 2, 3, 4]",
            half,
        ),
        (
            "a cast below the data",
            "tl.store(out + tl.arange(0, 4), x.to(tl.bfloat16).to(tl.float32))",
            "f32",
            "[0.1, 2, 3, 4]",
            default,
        ),
        (
            "a cast to the data's dtype",
            "tl.store(out + tl.arange(0, 4), (x.to(tl.float32) / 3).to(tl.float16))",
            "f16",
            "[0.1, 2, 3, 4]",
            default,
        ),
        (
            "memory of the data's dtype",
            scratch,
            "f16",
            "[0.3, 2, 3, 4]",
            default,
        ),
        ("memory below the data", scratch, "f16", "[0.3, 2, 3, 4]", wide),
        (
            "exact memory below the data",
            scratch,
            "f16",
            "[3, 6, 9, 12]",
            wide,
        ),
        (
            "overflow",
            "tl.store(out + tl.arange(0, 4), 1 / (1 + tl.exp(x)))",
            "f32",
            "[100, 2, 3, 4]",
            default,
        ),
        (
            "overflow on both sides",
            "tl.store(out, tl.max(tl.exp(x) / tl.sum(tl.exp(x))))",
            "f32",
            "[100, 2, 3, 4]",
            default,
        ),
        (
            "a root",
            "tl.store(out + tl.arange(0, 4), tl.sqrt(x))",
            "f32",
            "[2, 4, 9, 16]",
            default,
        ),
        (
            "an exact root",
            "tl.store(out + tl.arange(0, 4), tl.sqrt_rn(x))",
            "f32",
            "[4, 4, 9, 16]",
            default,
        ),
        (
            "extrema",
            "tl.store(out, tl.max(x) - tl.min(x))",
            "f32",
            "[1, 2, 3, 4]",
            default,
        ),
        ("tf32", dot, "f32", "[0.1, 0.2, 0.3, 0.4]", default),
        ("no tf32", dot, "f32", "[0.1, 0.2, 0.3, 0.4]", no_tf32),
    ];
    let mut text = String::new();
    for (name, line, dtype, values, contract) in rows {
        let _ = writeln!(text, "{name}: {}", bound(line, dtype, values, contract));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn decisions_that_are_unknown_may_have_no_bounds() {
    let rows = [
        ("a side", "tl.where(error > 0, x * 1.01, x)"),
        ("sides that touch", "tl.where(x + error > x, x + error, x)"),
        ("equal sides", "tl.where(error > 0, x, x)"),
        ("a known side", "tl.where(x > 0, x * 1.01, x)"),
        ("a number rounded down", "tl.floor(x + error * 1e-3)"),
        ("a number without a decision", "tl.floor(x + 0.5 + error * 1e-3)"),
        ("an integer", "(x + error * 1e-3).to(tl.int32).to(tl.float32)"),
    ];
    let mut text = String::new();
    let mut add = |name: &str, line: &str| {
        let [covered, separate] = [AcceptanceMap::default(), AcceptanceMap::with_separate_sides()]
            .map(|ranges| bound_with(line, "f32", "[1, 2, 3, 4]", Contract::default(), ranges));
        let _ = writeln!(text, "{name}: {covered}; {separate}");
    };
    let error = "error = (x / 3 + 1e6) - 1e6 - x / 3";
    for (name, value) in rows {
        add(
            name,
            &format!("{error}\n    tl.store(out + tl.arange(0, 4), {value})"),
        );
    }
    let places = "out + tl.arange(0, 4)";
    add(
        "a store",
        &format!("{error}\n    tl.store({places}, x)\n    tl.store({places}, x * 1.01, mask=error > 0)"),
    );
    add(
        "a branch",
        &format!(
            "{error}\n    tl.store({places}, x)\n    if tl.max(error) > 0:\n        tl.store({places}, x * 1.01)"
        ),
    );
    insta::assert_snapshot!(text);
}

#[test]
fn masked_lanes_of_a_variance_have_no_weight() {
    let line = "inside = tl.arange(0, 4) < 3\n    \
                mean, m2, weight = tl.reduce((tl.where(inside, x, 0.0), tl.zeros_like(x), inside.to(tl.float32)), 0, combine)\n    \
                tl.store(out, m2 / weight)";
    insta::assert_snapshot!(bound(line, "f32", "[0.1, 0.2, 0.6, 9]", Contract::default()));
}
