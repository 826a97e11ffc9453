//! The arithmetic against what an H200 gave for more operations than `h200.rs` has, and for an older compiler's:
//! `snapshots/tile/h200-more-3.9.0.txt` and `h200-3.0.0.txt`. `h200.py` beside this file makes the kernels.

use std::collections::HashMap;

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Rounding, TernaryOp, UnaryOp};
use cerith_tile::numeric::{self, Computed, Range};

const OPERANDS: &str = include_str!("../../../../snapshots/tile/h200-3.9.0.txt");
const GOLDEN: &str = include_str!("../../../../snapshots/tile/h200-more-3.9.0.txt");
const OLD: &str = include_str!("../../../../snapshots/tile/h200-3.0.0.txt");

fn parse_bits(words: &[&str]) -> Vec<u64> {
    words
        .iter()
        .map(|word| u64::from_str_radix(word, 16).expect("bits in base 16"))
        .collect()
}

fn read_operands() -> HashMap<(&'static str, &'static str), Vec<u64>> {
    let mut operands = HashMap::new();
    for line in OPERANDS.lines() {
        let words: Vec<&'static str> = line.split(' ').collect();
        if let ["operands", dtype, name, ref rest @ ..] = words[..] {
            operands.insert((dtype, name), parse_bits(rest));
        }
    }
    operands
}

/// Some results, any of which will do: `None` stands for all.
type Allowed = Option<Vec<u64>>;

fn allow_exact(computed: Computed) -> Allowed {
    computed.bits().map(|bits| vec![bits])
}

/// Numbers from the one to the other, as a dtype rounds them.
fn is_in_range(range: Range, to: DType, got: u64) -> bool {
    let rounded = |value: f64| numeric::decode(to, numeric::encode(to, value, Rounding::NearestEven));
    let value = numeric::decode(to, got);
    if value.is_nan() {
        return range.nan;
    }
    rounded(range.low) <= value && value <= rounded(range.high)
}

/// A quotient or remainder of narrow floats, which is computed in `f32`.
fn is_wide_result(op: BinaryOp, from: DType, to: DType, x: &[u64], got: u64) -> bool {
    let as_single = |x: u64| {
        numeric::cast(from, DType::F32, Rounding::NearestEven, x)
            .bits()
            .unwrap_or(0)
    };
    let (narrow, x, y) = match from {
        DType::F16 | DType::BF16 => (true, as_single(x[0]), as_single(x[1])),
        _ => (false, x[0], x[1]),
    };
    let dtype = if narrow { DType::F32 } else { from };
    is_in_range(numeric::binary_range(op, dtype, x, y), to, got)
}

/// A product and a sum, rounded once or twice.
fn product_and_sum(dtype: DType, x: &[u64]) -> Allowed {
    let once = numeric::apply_ternary(TernaryOp::Fma, dtype, x[0], x[1], x[2]).bits()?;
    let product = numeric::apply_binary(BinaryOp::Mul, dtype, x[0], x[1]).bits()?;
    let twice = numeric::apply_binary(BinaryOp::Add, dtype, product, x[2]).bits()?;
    Some(vec![once, twice])
}

/// A sum in memory: `atom.add.f32` takes subnormal numbers for zeros and gives zeros for them (PTX ISA, `atom`).
fn sum_in_memory(dtype: DType, x: &[u64]) -> Allowed {
    let flushed = |x: u64| {
        let value = numeric::decode(dtype, x);
        if value.abs() < f64::from(f32::MIN_POSITIVE) {
            numeric::encode(dtype, 0f64.copysign(value), Rounding::NearestEven)
        } else {
            x
        }
    };
    let sum = |x: u64, y: u64| numeric::apply_binary(BinaryOp::Add, dtype, x, y).bits();
    if dtype == DType::F32 {
        Some(vec![flushed(sum(flushed(x[0]), flushed(x[1]))?)])
    } else {
        Some(vec![sum(x[0], x[1])?])
    }
}

/// Extrema of floats in memory: by their bits, as integers, by the sign of the operand.
fn extremum_in_memory(larger: bool, dtype: DType, x: &[u64]) -> Allowed {
    let (signed, unsigned) = if dtype == DType::F32 {
        (DType::I32, DType::U32)
    } else {
        (DType::I64, DType::U64)
    };
    let negative = x[1] >> (dtype.bits() - 1) == 1;
    let (op, integer) = match (larger, negative) {
        (true, false) => (BinaryOp::Max, signed),
        (true, true) => (BinaryOp::Min, unsigned),
        (false, false) => (BinaryOp::Min, signed),
        (false, true) => (BinaryOp::Max, unsigned),
    };
    allow_exact(numeric::apply_binary(op, integer, x[0], x[1]))
}

/// Whether a result is one that the reference gives or admits.
fn fits(kind: &str, op: &str, from: DType, to: DType, x: &[u64], got: u64) -> bool {
    let integer = match from.bits() {
        64 => DType::U64,
        32 => DType::U32,
        _ => from,
    };
    let allowed = match (kind, op) {
        ("cast", _) => allow_exact(numeric::cast(from, to, Rounding::NearestEven, x[0])),
        ("unary", "sqrt_rn") => allow_exact(numeric::apply_unary(UnaryOp::SqrtRn, from, x[0])),
        ("unary", "neg") => allow_exact(numeric::apply_binary(BinaryOp::Sub, from, 0, x[0])),
        ("binary", "rem") => return is_wide_result(BinaryOp::Rem, from, to, x, got),
        ("binary", "div" | "fdiv") => return is_wide_result(BinaryOp::Div, from, to, x, got),
        ("binary", "fdiv_rn" | "div_rn") => return is_wide_result(BinaryOp::DivRn, from, to, x, got),
        ("binary", "fdiv_approx") => {
            // PTX ISA, `div`: past 2^126 `div.approx` gives zero, or NaN of an infinity.
            let divisor = numeric::decode(from, x[1]).abs();
            return divisor > 2f64.powi(126) || is_wide_result(BinaryOp::Div, from, to, x, got);
        }
        ("ternary", "mul_add") => product_and_sum(from, x),
        ("atomic", "add") if from.is_float() => sum_in_memory(from, x),
        ("atomic", "min" | "max") if from.is_float() => extremum_in_memory(op == "max", from, x),
        ("atomic", "add") => allow_exact(numeric::apply_binary(BinaryOp::Add, from, x[0], x[1])),
        ("atomic", "min") => allow_exact(numeric::apply_binary(BinaryOp::Min, from, x[0], x[1])),
        ("atomic", "max") => allow_exact(numeric::apply_binary(BinaryOp::Max, from, x[0], x[1])),
        ("atomic", "and") => allow_exact(numeric::apply_binary(BinaryOp::And, integer, x[0], x[1])),
        ("atomic", "or") => allow_exact(numeric::apply_binary(BinaryOp::Or, integer, x[0], x[1])),
        ("atomic", "xor") => allow_exact(numeric::apply_binary(BinaryOp::Xor, integer, x[0], x[1])),
        ("atomic", "xchg") => Some(vec![x[1]]),
        _ => panic!("{kind} {op}"),
    };
    allowed.is_none_or(|allowed| {
        allowed.contains(&got)
            || numeric::is_nan(to, got) && allowed.iter().any(|&bits| numeric::is_nan(to, bits))
    })
}

/// The results that do not fit, by operation, and how many kernels and lanes there were.
fn check(table: &str, skipped: &[(&str, &str)]) -> (usize, usize, Vec<String>) {
    let operands = read_operands();
    let (mut kernels, mut lanes, mut wrong) = (0, 0, Vec::new());
    for line in table.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let ["result", kind, op, from_name, to_name, ref rest @ ..] = words[..] else {
            continue;
        };
        if skipped.contains(&(kind, op)) {
            continue;
        }
        let (from, to): (DType, DType) = (
            from_name.parse().expect("a dtype"),
            to_name.parse().expect("a dtype"),
        );
        let names: &[&str] = match kind {
            "unary" | "cast" => &["one"],
            "ternary" => &["a", "b", "c"],
            _ => &["a", "b"],
        };
        kernels += 1;
        for (lane, got) in parse_bits(rest).into_iter().enumerate() {
            let x: Vec<u64> = names
                .iter()
                .map(|&name| match operands.get(&(from_name, name)) {
                    Some(column) if column.len() == rest.len() => column[lane],
                    // Every byte, for dtypes that the older table does not have.
                    _ => lane as u64,
                })
                .collect();
            lanes += 1;
            if !fits(kind, op, from, to, &x, got) {
                wrong.push(format!("{kind} {op} {from} {x:x?}: on the H200 {to} {got:#x}"));
            }
        }
    }
    (kernels, lanes, wrong)
}

#[test]
fn an_h200_agrees_on_more() {
    let (kernels, lanes, wrong) = check(GOLDEN, &[]);
    assert_eq!((kernels, lanes), (68, 7_616));
    assert!(
        wrong.is_empty(),
        "{} of {lanes}\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// 3.0.0 compiles these differently from 3.9.0: `-x` was `0 - x`, and `fdiv` did not round. The old remainder, `x -
/// floor(x / y) * y`, is in the frontend, and has cases. `fp8e4b8`, which no CUDA GPU supports, was compiled as
/// `fp8e4nv`.
#[test]
fn an_h200_agrees_on_what_was_otherwise_in_3_0() {
    let (kernels, lanes, wrong) = check(OLD, &[("binary", "rem"), ("binary", "fdiv_rn"), ("cast", "rtne")]);
    assert_eq!((kernels, lanes), (5, 562));
    assert!(
        wrong.is_empty(),
        "{} of {lanes}\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
