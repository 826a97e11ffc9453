//! The maximum distance of a conforming engine's result from the exact one, per operation and dtype, and the admitted
//! results.
//!
//! The units are those of NVIDIA's documents: "Mathematical Functions" of the CUDA C++ Programming Guide, called *the
//! guide* here (maximum ULP errors of the standard functions, which `libdevice` implements; they are measured, not
//! proven), and the PTX ISA (`.approx` and `.full` instructions). The PTX that Triton 3.9.0 emits for `sm_90`
//! determines which of the two applies. There the instructions of `f32` functions have `.ftz`: subnormal operands may
//! be read as zero, and subnormal results become zero.
//!
//! The whole table was compared with an H200: all results of 533 kernels are admitted here, except casts of `fp8e5` to
//! `bf16` (see [`super::cast`]).

use super::cast::{decode, encode, is_nan};
use super::computed::Computed;
use super::elementwise::{apply_binary, apply_ternary, apply_unary, unary_result};
use crate::DType;
use crate::ir::{BinaryOp, Rounding, TernaryOp, UnaryOp};

/// How far a conforming engine may be from the exact result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Accuracy {
    /// No error: exact, or correctly rounded. Every engine returns the same bits, except for NaNs.
    Exact,
    /// Some units in the last place.
    Ulp {
        /// Error in units of the result's last place.
        ulps: f64,
        /// Additional error for each unit of the operand's magnitude.
        per_unit: f64,
        /// Whether subnormal operands and results may be replaced by zeros.
        flush: bool,
    },
    /// A float remainder computed as `x - trunc(x / y) * y`: exact while the quotient is, one divisor off where it
    /// rounds up to an integer, meaningless where it has no fraction bits left.
    Remainder,
}

const fn from_ulps(ulps: f64) -> Accuracy {
    Accuracy::Ulp {
        ulps,
        per_unit: 0.0,
        flush: false,
    }
}

const fn from_flushed_ulps(ulps: f64) -> Accuracy {
    Accuracy::Ulp {
        ulps,
        per_unit: 0.0,
        flush: true,
    }
}

impl Accuracy {
    /// The accuracy of an operation with one operand.
    pub const fn of_unary(op: UnaryOp, dtype: DType) -> Self {
        match dtype {
            DType::F32 => Self::of_unary_single(op),
            DType::F64 => Self::of_unary_double(op),
            // Narrow floats have no functions in Triton 3.9; where a version widens them to `f32`, two roundings.
            _ => match Self::of_unary_single(op) {
                Self::Exact => Self::Exact,
                _ => from_ulps(1.0),
            },
        }
    }

    const fn of_unary_single(op: UnaryOp) -> Self {
        match op {
            UnaryOp::Neg
            | UnaryOp::Not
            | UnaryOp::Abs
            | UnaryOp::Rint
            | UnaryOp::Trunc
            | UnaryOp::Round
            | UnaryOp::IsNan
            | UnaryOp::IsInf => Self::Exact,
            // cvt.rmi.ftz, cvt.rpi.ftz: the floor of a negative subnormal is -0. `sqrt_rn` is `sqrt.rn.ftz.f32` up to
            // Triton 3.5, of the library, and `sqrt.rn.f32` from 3.6 on.
            UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::SqrtRn => from_flushed_ulps(0.0),
            // `ex2.approx` of `x * log2(e)`, which is what the guide's `__expf` is: 2 + floor(abs(1.173 * x)), in "Intrinsic
            // Functions", single precision.
            UnaryOp::Exp => Self::Ulp {
                ulps: 2.0,
                per_unit: 1.173,
                flush: true,
            },
            // PTX ISA, `sqrt`: `sqrt.approx.ftz.f32` has a relative error of 2^-23; the guide has 1 for it. The others
            // are `expm1f`, `logf`, `log2f` and `log1pf` of the guide.
            UnaryOp::Sqrt | UnaryOp::Expm1 | UnaryOp::Log | UnaryOp::Log2 | UnaryOp::Log1p => {
                from_flushed_ulps(1.0)
            }
            // PTX ISA, `rsqrt` and `ex2`: `rsqrt.approx.ftz.f32` has a relative error of 2^-22.9, `ex2.approx.ftz.f32`
            // is within 2 ULP; the guide has 2 for `rsqrtf` and `exp2f` as well, and for the others' functions.
            UnaryOp::Rsqrt
            | UnaryOp::Exp2
            | UnaryOp::Log10
            | UnaryOp::Sin
            | UnaryOp::Cos
            | UnaryOp::Atan
            | UnaryOp::Cosh
            | UnaryOp::Tanh
            | UnaryOp::Erf => from_flushed_ulps(2.0),
            // The guide's `acosf`, `sinhf`, `asinf` and `tanf`. Editions from CUDA 12 on have 2 for the two arc functions,
            // and no more was seen on the H200; those before have 3 and 4.
            UnaryOp::Acos | UnaryOp::Sinh => from_flushed_ulps(3.0),
            UnaryOp::Asin | UnaryOp::Tan => from_flushed_ulps(4.0),
        }
    }

    const fn of_unary_double(op: UnaryOp) -> Self {
        match op {
            UnaryOp::Neg
            | UnaryOp::Not
            | UnaryOp::Abs
            | UnaryOp::Floor
            | UnaryOp::Ceil
            | UnaryOp::Rint
            | UnaryOp::Trunc
            | UnaryOp::Round
            | UnaryOp::Sqrt
            | UnaryOp::SqrtRn
            | UnaryOp::IsNan
            | UnaryOp::IsInf => Self::Exact,
            // The guide's table of double precision, the larger figure where editions differ.
            UnaryOp::Rsqrt
            | UnaryOp::Exp
            | UnaryOp::Exp2
            | UnaryOp::Expm1
            | UnaryOp::Log
            | UnaryOp::Log2
            | UnaryOp::Log10
            | UnaryOp::Log1p
            | UnaryOp::Cosh
            | UnaryOp::Tanh => from_ulps(1.0),
            UnaryOp::Sin
            | UnaryOp::Cos
            | UnaryOp::Tan
            | UnaryOp::Asin
            | UnaryOp::Acos
            | UnaryOp::Atan
            | UnaryOp::Sinh
            | UnaryOp::Erf => from_ulps(2.0),
        }
    }

    /// The accuracy of an operation with two operands.
    pub const fn of_binary(op: BinaryOp, dtype: DType) -> Self {
        if dtype.is_int() {
            return Self::Exact;
        }
        let single = matches!(dtype, DType::F32);
        match op {
            // PTX ISA, `div`: `div.full.f32` is within 2 ULP for all operands. The other dtypes have `div.rn`, or are
            // widened by the frontend.
            BinaryOp::Div if single => from_ulps(2.0),
            // `div_rn` is `div.rn.ftz.f32` up to Triton 3.5, of the library, and `div.rn.f32` from 3.6 on.
            BinaryOp::DivRn if single => from_flushed_ulps(0.0),
            BinaryOp::Rem => Self::Remainder,
            // Documented as 4 (8 before CUDA 12); 15 were seen, since Triton links `__nv_powf` without the fusing of
            // products and sums that it counts on.
            BinaryOp::Pow if single => from_flushed_ulps(32.0),
            // The guide's `atan2f`, and `pow` and `atan2` of its table of double precision.
            BinaryOp::Atan2 if single => from_flushed_ulps(3.0),
            BinaryOp::Pow | BinaryOp::Atan2 => from_ulps(2.0),
            _ => Self::Exact,
        }
    }

    /// The accuracy of an operation with three operands: all are exact or rounded once.
    pub const fn of_ternary(_: TernaryOp, _: DType) -> Self {
        Self::Exact
    }

    /// Whether every engine returns the same bits.
    pub const fn is_exact(self) -> bool {
        matches!(self, Self::Exact)
    }

    /// The maximum distance of an engine's result from the reference's, in units of `dtype`'s last place, for operands
    /// of this magnitude. `None` if the bound isn't in such units.
    #[inline]
    pub fn count_units(self, dtype: DType, magnitude: f64) -> Option<f64> {
        let Self::Ulp { ulps, per_unit, .. } = self else {
            return None;
        };
        // The reference is itself half a unit off, and in `f64` as much as a unit.
        let own = match (dtype, ulps == 0.0) {
            (_, true) => 0.0,
            (DType::F64, _) => 1.0,
            _ => 0.5,
        };
        let magnitude = if magnitude.is_finite() { magnitude } else { 0.0 };
        Some(ulps + per_unit * magnitude + own)
    }

    /// Whether a result is rounded once, correctly, without flushing.
    pub fn rounds_once(self) -> bool {
        matches!(self, Self::Ulp { ulps, per_unit, .. } if ulps == 0.0 && per_unit == 0.0)
    }

    /// Whether subnormal operands and results may be replaced by zeros.
    pub const fn flushes(self) -> bool {
        matches!(self, Self::Ulp { flush: true, .. })
    }
}

/// The results that conforming engines may give for a lane. `-0` and `+0` are one number here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The lowest number.
    pub low: f64,
    /// The highest number; below `low` when there is none.
    pub high: f64,
    /// Whether a NaN is admitted.
    pub nan: bool,
}

impl Range {
    /// Every number and NaN.
    pub const FULL: Self = Self {
        low: f64::NEG_INFINITY,
        high: f64::INFINITY,
        nan: true,
    };
    /// The empty range.
    const EMPTY: Self = Self {
        low: f64::INFINITY,
        high: f64::NEG_INFINITY,
        nan: false,
    };

    /// One value, a NaN perhaps.
    pub fn from_value(value: f64) -> Self {
        if value.is_nan() {
            Self {
                nan: true,
                ..Self::EMPTY
            }
        } else {
            Self {
                low: value,
                high: value,
                nan: false,
            }
        }
    }

    /// Whether a lane holds a value of the range.
    pub fn contains(self, dtype: DType, bits: u64) -> bool {
        let value = decode(dtype, bits);
        if value.is_nan() {
            self.nan
        } else {
            self.low <= value && value <= self.high
        }
    }

    /// The smallest range around both.
    #[must_use]
    pub fn hull_with(self, other: Self) -> Self {
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            nan: self.nan || other.nan,
        }
    }

    /// The range of values that are `units` of `dtype`'s last place around this one, overflow included; with `flush`,
    /// zero too where there are subnormal numbers.
    #[must_use]
    pub fn widen(self, dtype: DType, units: f64, flush: bool) -> Self {
        if self.low > self.high {
            return self;
        }
        let mut low = step(dtype, self.low, -units);
        let mut high = step(dtype, self.high, units);
        if flush && low < smallest_normal(dtype) && high > -smallest_normal(dtype) {
            low = low.min(0.0);
            high = high.max(0.0);
        }
        Self {
            low,
            high,
            nan: self.nan,
        }
    }
}

fn smallest_normal(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::MIN_POSITIVE,
        DType::F16 => 2f64.powi(-14),
        _ => f32::MIN_POSITIVE as f64,
    }
}

pub(super) fn is_subnormal(dtype: DType, bits: u64) -> bool {
    let value = decode(dtype, bits);
    value != 0.0 && value.abs() < smallest_normal(dtype)
}

fn find_largest(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::MAX,
        DType::F32 => f32::MAX as f64,
        _ => decode(dtype, encode(dtype, f64::MAX, Rounding::TowardZero)),
    }
}

/// The value of the last place around `value`.
fn last_place(dtype: DType, value: f64) -> f64 {
    let (fraction, least) = match dtype {
        DType::F64 => (52, -1022),
        DType::F32 => (23, -126),
        DType::BF16 => (7, -126),
        DType::F16 => (10, -14),
        DType::F8E5 | DType::F8E5B16 => (2, -15),
        _ => (3, -14),
    };
    // For zero, and for subnormal `f64` numbers, this is below the smallest exponent of all dtypes.
    let exponent = (value.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    let exponent = exponent.max(least) - fraction;
    if exponent >= -1022 {
        f64::from_bits(((exponent + 1023) as u64) << 52)
    } else {
        libm::ldexp(1.0, exponent)
    }
}

/// `value` and `units` of its last place, infinite past the largest number; from infinity, back into the numbers.
fn step(dtype: DType, value: f64, units: f64) -> f64 {
    if units == 0.0 {
        return value;
    }
    let top = find_largest(dtype);
    if value.is_infinite() {
        if (value > 0.0) == (units > 0.0) {
            return value;
        }
        // Infinity represents the number after the largest one.
        return (top - (units.abs() - 1.0) * last_place(dtype, top)).copysign(value);
    }
    let moved = value + units * last_place(dtype, value);
    if moved.abs() > top {
        f64::INFINITY.copysign(moved)
    } else {
        moved
    }
}

/// The admitted results of an operation with one operand.
pub fn unary_range(op: UnaryOp, dtype: DType, x: u64) -> Range {
    let accuracy = Accuracy::of_unary(op, dtype);
    let result = unary_result(op, dtype);
    compute_range(accuracy, dtype, result, &[x], |operands| match operands {
        &[x] => apply_unary(op, dtype, x),
        _ => Computed::Poison,
    })
}

/// The admitted results of an operation with two operands.
pub fn binary_range(op: BinaryOp, dtype: DType, x: u64, y: u64) -> Range {
    let accuracy = Accuracy::of_binary(op, dtype);
    if accuracy == Accuracy::Remainder {
        return remainder_range(dtype, x, y);
    }
    if op == BinaryOp::Pow && dtype == DType::F32 && is_subnormal(dtype, x) {
        // `__nv_powf` scales a subnormal base up with instructions that flush it. The H200's result is the power of
        // some number between zero and the smallest normal one.
        let sign = x & 0x8000_0000;
        let near = |x: u64| {
            compute_range(accuracy, dtype, dtype, &[x, y], |x| {
                apply_binary(op, dtype, x[0], x[1])
            })
        };
        return near(sign).hull_with(near(x)).hull_with(near(sign | 0x0080_0000));
    }
    compute_range(accuracy, dtype, dtype, &[x, y], |operands| match operands {
        &[x, y] => apply_binary(op, dtype, x, y),
        _ => Computed::Poison,
    })
}

/// The admitted results of an operation with three operands.
pub fn ternary_range(op: TernaryOp, dtype: DType, x: u64, y: u64, z: u64) -> Range {
    compute_range(
        Accuracy::of_ternary(op, dtype),
        dtype,
        dtype,
        &[x, y, z],
        |operands| match operands {
            &[x, y, z] => apply_ternary(op, dtype, x, y, z),
            _ => Computed::Poison,
        },
    )
}

fn compute_range(
    accuracy: Accuracy,
    dtype: DType,
    result: DType,
    operands: &[u64],
    compute: impl Fn(&[u64]) -> Computed,
) -> Range {
    let value = |operands: &[u64]| match compute(operands) {
        Computed::Bits(bits) => Range::from_value(decode(result, bits)),
        Computed::Poison | Computed::DivisionByZero => Range::FULL,
    };
    let exact = value(operands);
    let magnitude = operands
        .iter()
        .map(|&x| decode(dtype, x).abs())
        .filter(|x| x.is_finite())
        .fold(0.0, f64::max);
    let Some(units) = accuracy.count_units(dtype, magnitude) else {
        return exact;
    };
    let flush = accuracy.flushes();
    let mut range = exact.widen(result, units, flush);
    if flush && operands.iter().any(|&x| is_subnormal(dtype, x)) {
        // An engine may flush any of them.
        for choice in 1..1u32 << operands.len().min(8) {
            let mut flushed = operands.to_vec();
            for (nth, x) in flushed.iter_mut().enumerate() {
                if choice >> nth & 1 == 1 && is_subnormal(dtype, *x) {
                    *x = encode(dtype, 0f64.copysign(decode(dtype, *x)), Rounding::NearestEven);
                }
            }
            range = range.hull_with(value(&flushed).widen(result, units, flush));
        }
    }
    range
}

fn remainder_range(dtype: DType, x: u64, y: u64) -> Range {
    let exact = match apply_binary(BinaryOp::Rem, dtype, x, y) {
        Computed::Bits(bits) if !is_nan(dtype, bits) => decode(dtype, bits),
        _ => f64::NAN,
    };
    let (x, y) = (decode(dtype, x), decode(dtype, y));
    let precision = if dtype == DType::F64 {
        f64::EPSILON
    } else {
        f32::EPSILON as f64
    };
    let quotient = (x / y).abs();
    // For an infinite dividend the compiled code returns the dividend, although there is no remainder.
    if x.is_infinite() {
        return Range {
            nan: true,
            ..Range::from_value(x)
        };
    }
    if x.is_nan() || y.is_nan() || y == 0.0 {
        return Range::from_value(exact);
    }
    // A quotient without fraction bits is off by its last places, and leaves so many divisors; an infinite one leaves all
    // of them.
    if quotient * precision >= 1.0 {
        let off = y.abs() + 5.0 * precision * x.abs();
        let range = Range::from_value(off).hull_with(Range::from_value(-off));
        return if quotient >= find_largest(dtype) {
            range.hull_with(Range::from_value(-f64::INFINITY.copysign(x)))
        } else {
            range
        };
    }
    // A subnormal operand may be taken for zero, and so may a result.
    let tiny = |value: f64| value != 0.0 && value.abs() < smallest_normal(dtype);
    if tiny(x) || tiny(y) || tiny(exact) {
        let range = Range::from_value(exact)
            .hull_with(Range::from_value(0.0))
            .hull_with(Range::from_value(x));
        return Range {
            nan: range.nan || tiny(y),
            ..range
        };
    }
    if y.is_infinite() {
        return Range::from_value(exact);
    }
    let range = Range::from_value(exact);
    let missing = y.abs() - exact.abs();
    let slack = x.abs() * precision * 2.0;
    if missing <= slack {
        range.hull_with(Range::from_value(-missing.copysign(x)))
    } else {
        range
    }
}
