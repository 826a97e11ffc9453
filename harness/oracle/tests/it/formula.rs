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

/// The bounds of `out[0]` after a kernel's line, which has `x`, a block of 4 elements of these values and this dtype.
fn bound(line: &str, dtype: &str, values: &str, contract: Contract) -> String {
    let kernel = format!(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(x_ptr, out):\n    x = tl.load(x_ptr + tl.arange(0, 4))\n    \
         {line}\n"
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
        ranges: AcceptanceMap::default(),
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
