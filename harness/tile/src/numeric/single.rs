//! The functions of `f32` that kernels use most, in a form that vectorises: operands and results are `f64`, good for `f32`.
//! See `math` for all other functions.

use crate::fault::{Fault, is_planted};
use crate::ir::UnaryOp;

/// A function of `f32` at a number, before it is rounded: within 2^-40 of its value. None of a function that has no form
/// of its own for `f32`.
pub fn evaluate_single(op: UnaryOp, x: f64) -> Option<f64> {
    Some(match op {
        UnaryOp::Exp => exp(x),
        UnaryOp::Exp2 => exp2(x),
        UnaryOp::Log => log(x),
        UnaryOp::Log2 => log2(x),
        _ => return None,
    })
}

/// `e` to the power of `x`.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    exp2_of(x * std::f64::consts::LOG2_E)
}

/// 2 to the power of `x`.
#[inline(always)]
pub fn exp2(x: f64) -> f64 {
    exp2_of(x)
}

/// The natural logarithm; NaN for negative numbers.
#[inline(always)]
pub fn log(x: f64) -> f64 {
    let (exponent, rest) = log_of(x);
    log_special(x, exponent * std::f64::consts::LN_2 + rest)
}

/// The logarithm to base 2; NaN for negative numbers.
#[inline(always)]
pub fn log2(x: f64) -> f64 {
    let (exponent, rest) = log_of(x);
    log_special(x, exponent + rest * std::f64::consts::LOG2_E)
}

/// 2 to the `power`, within 2^-41 of its value: for functions of `f32`.
#[inline(always)]
fn exp2_of(power: f64) -> f64 {
    // 1.5 * 2^52: adding it leaves the nearest integer in the low bits.
    const INTEGRAL: f64 = 6_755_399_441_055_744.0;
    // Coefficients of e to the x; the next one's term is below 2^-42 where |x| is at most ln(2) / 2.
    const TERMS: [f64; 10] = [
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
    ];
    // Past these `f32` is infinite or zero. Comparing this way round keeps a NaN.
    let power = if power > 160.0 { 160.0 } else { power };
    let power = if power < -160.0 { -160.0 } else { power };
    let shifted = power + INTEGRAL;
    let rest = (power - (shifted - INTEGRAL)) * std::f64::consts::LN_2;
    let mut sum = 0.0;
    for term in TERMS {
        sum = sum * rest + term;
    }
    let scale = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    let scale = if is_planted(Fault::ExponentialDrifts) {
        scale * 1.000_002
    } else {
        scale
    };
    (sum * rest + 1.0) * scale
}

/// The natural logarithm in two parts, the exponent in units of ln(2) and the rest, for functions of `f32`; within
/// 2^-46 of its value.
#[inline(always)]
fn log_of(value: f64) -> (f64, f64) {
    // Coefficients of the series of artanh; s squared is below 0.0295, the next term below 2^-47.
    const TERMS: [f64; 8] = [
        1.0 / 17.0,
        1.0 / 15.0,
        1.0 / 13.0,
        1.0 / 11.0,
        1.0 / 9.0,
        1.0 / 7.0,
        1.0 / 5.0,
        1.0 / 3.0,
    ];
    let bits = value.to_bits();
    // The significand is brought to between sqrt(1/2) and sqrt(2), so that numbers near 1 have no exponent.
    let offset = bits.wrapping_sub(std::f64::consts::FRAC_1_SQRT_2.to_bits());
    let exponent = (offset as i64 >> 52) as i32 as f64;
    let significand = f64::from_bits(bits.wrapping_sub(offset & 0xfff0_0000_0000_0000));
    let s = (significand - 1.0) / (significand + 1.0);
    let square = s * s;
    let mut sum = 0.0;
    for term in TERMS {
        sum = (sum + term) * square;
    }
    let s = if is_planted(Fault::LogarithmDrifts) {
        s * 1.000_002
    } else {
        s
    };
    (exponent, 2.0 * s * sum + 2.0 * s)
}

/// A logarithm's result for numbers that have none of the ordinary ones.
#[inline(always)]
fn log_special(value: f64, ordinary: f64) -> f64 {
    let result = if value > 0.0 { ordinary } else { f64::NAN };
    let result = if value == 0.0 { f64::NEG_INFINITY } else { result };
    if value == f64::INFINITY {
        f64::INFINITY
    } else {
        result
    }
}
