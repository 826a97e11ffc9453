//! Products that a compiler may contract with a sum to one `fma`, so that the product isn't rounded.
//!
//! Triton passes `FPOpFusion::Fast` to LLVM if `enable_fp_fusion` is set, as it is by default. Then LLVM contracts a product with a
//! sum or difference, even if operations that keep the product's value are between them. The table lists the operations that it
//! looked through in the PTX of Triton 3.0.0 to 3.9.0 for `sm_90`.
//!
//! | between the product and the sum | what removes it |
//! |---|---|
//! | `p + -0.0`, `p - 0.0`, `p * 1.0`, `fma(a, b, -0.0)`, `fma(p, 1.0, c)` | LLVM, `InstSimplify` and `InstCombine` |
//! | `p + 0.0`, if `p` cannot be `-0.0`: a square | LLVM, `InstSimplify` |
//! | `-p`, `p * -1.0`, `0.0 - p` | LLVM, `DAGCombiner`, which moves the sign into a factor |
//! | `where(c, p, constant)` before a sum with a constant; both sides products with a factor in common | `InstCombine` (`FoldOpIntoSelect`, `foldSelectOpOp`) |
//! | a cast to a narrower dtype that the factors were widened from: `(a.to(f32) * b.to(f32)).to(f16)` | `InstCombine` (`visitFPTrunc`) |
//! | `p % y`, which becomes `fma(-trunc(p / y), y, p)`: a sum with the product `p` | `NVPTXISelLowering`, `frem` |
//! | shapes, splits, joins, gathers, branches, loops, calls, `tl.sum` and combine functions | they leave no instruction between registers |
//!
//! A product may have several uses, and is fused into each of them (`enableAggressiveFMAFusion` of `NVPTX`). LLVM does not look
//! through the following, so the product is rounded there: memory, `abs`, `copysign`, `minimum`, `maximum`, `clamp`, casts to wider
//! dtypes (`NVPTX` has no `isFPExtFoldable`), and other factors (`p * 2.0`, `(a + 1.0) * b`), which LLVM reassociates or
//! distributes only with flags that Triton does not set.

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Rounding, TernaryOp, UnaryOp};
use cerith_tile::numeric::{self, Computed, decode, encode};

use super::cause::Cause;
use super::interval::Interval;
use super::lane::{Lane, convert_computed, exact_product};

fn negate_bits(dtype: DType, bits: u64) -> u64 {
    numeric::apply_unary(UnaryOp::Neg, dtype, bits)
        .bits()
        .unwrap_or(bits)
}

/// Negates a lane. A product stays a product, and an interval is not rounded, because a product may still be fused after a
/// negation.
pub(super) fn negate_lane(dtype: DType, lane: Lane) -> Option<Lane> {
    match lane {
        Lane::Product { bits, x, y } => Some(Lane::Product {
            bits: negate_bits(dtype, bits),
            x: negate_bits(dtype, x),
            y,
        }),
        Lane::Bits(bits) => Some(Lane::Bits(negate_bits(dtype, bits))),
        Lane::Within { low, high, nan, .. } => Some(Lane::Within {
            low: -high,
            high: -low,
            nan,
            cause: Cause::default(),
        }),
        Lane::Apart {
            low,
            high,
            below,
            above,
            nan,
            ..
        } => Some(Lane::Apart {
            low: -high,
            high: -low,
            below: above,
            above: below,
            nan,
            cause: Cause::default(),
        }),
        _ => None,
    }
}

/// Returns the same product, with these bits as its rounded value.
fn replace_bits(lane: Lane, bits: u64) -> Option<Lane> {
    match lane {
        Lane::Product { x, y, .. } => Some(Lane::Product { bits, x, y }),
        _ => None,
    }
}

/// Computes a sum or difference of exact floats. An operand that is a product may be fused.
pub(super) fn fuse_sum(op: BinaryOp, dtype: DType, x: Lane, y: Lane, xb: u64, yb: u64) -> Lane {
    let Computed::Bits(bits) = numeric::apply_binary(op, dtype, xb, yb) else {
        return convert_computed(numeric::apply_binary(op, dtype, xb, yb));
    };
    let subtracts = op == BinaryOp::Sub;
    // A product plus zero is still that product, unless it underflows: fused, it might leave a zero of the other sign.
    let zero = |lane: Lane, bits: u64| lane == Lane::Bits(bits) && decode(dtype, bits) == 0.0;
    let beside = if zero(y, yb) {
        Some((x, if subtracts { negate_bits(dtype, yb) } else { yb }))
    } else if zero(x, xb) {
        Some((
            if subtracts {
                negate_lane(dtype, y).unwrap_or(y)
            } else {
                y
            },
            xb,
        ))
    } else {
        None
    };
    if let Some((Lane::Product { x: a, y: b, .. }, zero)) = beside
        && numeric::apply_ternary(TernaryOp::Fma, dtype, a, b, zero) == Computed::Bits(bits)
    {
        return Lane::Product { bits, x: a, y: b };
    }
    let mut results = Interval::point(decode(dtype, bits));
    let mut same = true;
    let mut candidate = |a: u64, b: u64, c: u64| {
        if let Computed::Bits(other) = numeric::apply_ternary(TernaryOp::Fma, dtype, a, b, c) {
            same &= other == bits;
            results = results.hull(Interval::point(decode(dtype, other)));
        }
    };
    if let Lane::Product { x: a, y: b, .. } = x {
        candidate(a, b, if subtracts { negate_bits(dtype, yb) } else { yb });
    }
    if let Lane::Product { x: a, y: b, .. } = y {
        candidate(if subtracts { negate_bits(dtype, a) } else { a }, b, xb);
    }
    if same {
        Lane::Bits(bits)
    } else {
        results.to_lane(dtype)
    }
}

/// Multiplies exact floats. A product times 1 or -1 stays that product.
pub(super) fn multiply_exact(dtype: DType, x: Lane, y: Lane, xb: u64, yb: u64) -> Lane {
    let bits = match numeric::apply_binary(BinaryOp::Mul, dtype, xb, yb) {
        Computed::Bits(bits) => bits,
        other => return convert_computed(other),
    };
    let sides = [(x, decode(dtype, yb)), (y, decode(dtype, xb))];
    let same = sides.into_iter().find_map(|(lane, by)| match by {
        1.0 => replace_bits(lane, bits),
        -1.0 => negate_lane(dtype, lane).and_then(|lane| replace_bits(lane, bits)),
        _ => None,
    });
    same.unwrap_or(Lane::Product { bits, x: xb, y: yb })
}

/// Simplifies an `fma` of exact floats that is only a product or a sum.
pub(super) fn simplify_fma(dtype: DType, x: Lane, y: Lane, z: Lane) -> Option<Lane> {
    let (xb, yb, zb) = (x.bits()?, y.bits()?, z.bits()?);
    if decode(dtype, zb) == 0.0 {
        let bits = numeric::apply_ternary(TernaryOp::Fma, dtype, xb, yb, zb).bits()?;
        return Some(Lane::Product { bits, x: xb, y: yb });
    }
    let sides = [(x, yb), (y, xb)];
    let (lane, _) = sides
        .into_iter()
        .find(|&(lane, by)| matches!(lane, Lane::Product { .. }) && decode(dtype, by) == 1.0)?;
    Some(fuse_sum(BinaryOp::Add, dtype, lane, z, lane.bits()?, zb))
}

/// The interval of a remainder, from that of the rounded dividend: a product may be fused into the subtraction of a whole number
/// of divisors.
pub(super) fn remainder(dtype: DType, x: Lane, rest: Interval) -> Interval {
    let Some(exact) = exact_product(dtype, x).filter(|_| !rest.only_nan()) else {
        return rest;
    };
    let rounded = x.to_interval(dtype);
    let moved = Interval {
        low: rest.low + (exact.low - rounded.low),
        high: rest.high + (exact.high - rounded.high),
        nan: rest.nan,
    };
    if moved.low.is_nan() || moved.high.is_nan() {
        return rest;
    }
    rest.hull(moved.outward().round_to(dtype, Rounding::NearestEven))
}

/// Casts a product to a narrower dtype. If that dtype can represent both factors, the result is their product in that dtype.
pub(super) fn narrow_product(
    from: DType,
    to: DType,
    rounding: Rounding,
    lane: Lane,
    bits: u64,
) -> Option<Lane> {
    let Lane::Product { x, y, .. } = lane else {
        return None;
    };
    let narrows = from.is_float() && to.is_float() && !to.is_fp8() && to.bits() < from.bits();
    if !narrows || rounding != Rounding::NearestEven {
        return None;
    }
    let factor = |bits: u64| {
        let value = decode(from, bits);
        let narrow = encode(to, value, rounding);
        (decode(to, narrow) == value).then_some(narrow)
    };
    let (x, y) = (factor(x)?, factor(y)?);
    Some(Lane::Product { bits, x, y })
}
