//! How far a result may be from the exact one, by what engines document.
//!
//! Sources: CUDA C++ Programming Guide, "Mathematical Functions" (ULPs of libdevice); PTX ISA, `div.full`, `ex2.approx`,
//! `sqrt.approx`, `rsqrt.approx`; NumPy's vectorised functions of `float32` and `float64` are within 4 ULP
//! (`numpy/_core/src/npysort` and the SIMD notes of NumPy 1.22 and later), so no function is held to less.

use conch_tile::DType;
use conch_tile::ir::{BinaryOp, UnaryOp};

/// The least that any transcendental function is allowed.
const FUNCTION: f64 = 4.0;

/// How many ULP the result of an operation of one operand may be off; `None` when it is exact or correctly rounded.
/// `magnitude` is that of the operand.
pub(crate) fn unary(op: UnaryOp, dtype: DType, magnitude: f64) -> Option<f64> {
    let double = dtype == DType::F64;
    match op {
        UnaryOp::Neg
        | UnaryOp::Not
        | UnaryOp::Abs
        | UnaryOp::Floor
        | UnaryOp::Ceil
        | UnaryOp::Rint
        | UnaryOp::Trunc
        | UnaryOp::Round
        | UnaryOp::SqrtRn
        | UnaryOp::IsNan
        | UnaryOp::IsInf => None,
        // `sqrt.approx.f32` has a relative error of 2^-23; there is no approximate root of f64.
        UnaryOp::Sqrt if double => None,
        UnaryOp::Sqrt | UnaryOp::Rsqrt => Some(2.0),
        // `ex2.approx(x * log2(e))`: the guide's 2 + floor(abs(1.173 * x)) of `__expf`.
        UnaryOp::Exp if !double => Some(FUNCTION.max(2.0 + (1.173 * magnitude).floor())),
        UnaryOp::Exp
        | UnaryOp::Exp2
        | UnaryOp::Expm1
        | UnaryOp::Log
        | UnaryOp::Log2
        | UnaryOp::Log10
        | UnaryOp::Log1p
        | UnaryOp::Sin
        | UnaryOp::Cos
        | UnaryOp::Tan
        | UnaryOp::Asin
        | UnaryOp::Acos
        | UnaryOp::Atan
        | UnaryOp::Sinh
        | UnaryOp::Cosh
        | UnaryOp::Tanh
        | UnaryOp::Erf => Some(FUNCTION),
    }
}

/// The same for two operands.
pub(crate) const fn binary(op: BinaryOp, dtype: DType) -> Option<f64> {
    match op {
        // `div.full.f32`; f64 is divided correctly.
        BinaryOp::Div if !matches!(dtype, DType::F64) => Some(2.0),
        // The guide has 9 in its older editions, 4 in its newer ones.
        BinaryOp::Pow => Some(9.0),
        BinaryOp::Atan2 => Some(FUNCTION),
        _ => None,
    }
}

/// Bits of a float's significand, the hidden one included.
pub(crate) const fn precision(dtype: DType) -> i32 {
    match dtype {
        DType::F64 => 53,
        DType::F32 => 24,
        DType::F16 => 11,
        DType::BF16 => 8,
        DType::F8E4NV | DType::F8E4B8 | DType::F8E4B15 => 4,
        _ => 3,
    }
}

/// The dtype that an approximate function is computed in: narrow floats go through `f32`.
pub(crate) const fn working(dtype: DType) -> DType {
    if matches!(dtype, DType::F64) {
        DType::F64
    } else {
        DType::F32
    }
}

/// The size of `ulps` units in the last place at a value of a dtype.
pub(crate) fn slack(ulps: f64, value: f64, dtype: DType) -> f64 {
    let exponent = (value.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    let least = if matches!(dtype, DType::F64) { -1074 } else { -149 };
    ulps * power_of_two((exponent + 1 - precision(dtype)).max(least))
}

/// 2 to an integer power, subnormal ones included; 0 and infinity past the range.
pub(crate) const fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(match exponent {
        ..-1074 => 0,
        -1074..-1022 => 1 << (exponent + 1074),
        -1022..1024 => ((exponent + 1023) as u64) << 52,
        1024.. => 0x7ff << 52,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_over_the_whole_range() {
        for exponent in -1080..1030 {
            assert_eq!(power_of_two(exponent), f64::from(exponent).exp2(), "{exponent}");
        }
    }

    #[test]
    fn an_ulp_is_the_distance_to_the_next_number() {
        for value in [1.0f32, 1.5, 1.99, 2.0, 3.0, 1e-40, 1e30, 0.0] {
            assert_eq!(
                slack(1.0, f64::from(value), DType::F32),
                f64::from(value.next_up() - value),
                "{value}"
            );
        }
    }
}
