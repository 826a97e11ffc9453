//! The maximum distance of an engine's result from the exact value of a library function.
//!
//! *The guide* is the CUDA C++ Programming Guide, "Mathematical Functions": maximum errors in units of the last place
//! ("Standard Functions"), and those of the fast functions ("Intrinsic Functions"). They are measured, not proven; where
//! editions differ, the larger figure is used. Those of standard functions were compared with two projects' copies of
//! the guide (`sycl/doc/cuda` of intel/llvm, the README of cms-patatrack/xtd): none here is below either. *PTX* is the
//! PTX ISA, for functions that are one instruction. If neither has a figure, every result is admitted.

use std::f64::consts::PI;

use crate::DType;
use crate::numeric::accuracy::Range;

/// How far a result may be from the exact one.
#[derive(Clone, Copy)]
pub(super) enum Bound {
    /// Not at all.
    Exact,
    /// So many units of the last place.
    Ulps(f64),
    /// Computes the range from the operands and the exact value.
    Own(fn(&[f64], Range) -> Range),
}

/// The error of rounding itself.
const ROUNDING_ERROR: f64 = 0.5;

impl Bound {
    pub(super) fn widen_range(self, operands: &[f64], exact: Range, result: DType) -> Range {
        match self {
            Self::Exact => exact,
            Self::Ulps(units) => exact.widen(result, units + ROUNDING_ERROR, false),
            Self::Own(around) => around(operands, exact),
        }
    }
}

fn get_operand(operands: &[f64], nth: usize) -> f64 {
    operands.get(nth).copied().unwrap_or(f64::NAN)
}

fn widen_by_units(exact: Range, dtype: DType, units: f64) -> Range {
    exact.widen(dtype, units + ROUNDING_ERROR, false)
}

/// So far from the exact value, and its rounding.
fn widen_absolute(exact: Range, dtype: DType, by: f64) -> Range {
    if exact.low > exact.high {
        return exact;
    }
    let moved = Range {
        low: exact.low - by,
        high: exact.high + by,
        nan: exact.nan,
    };
    widen_by_units(moved, dtype, 0.0)
}

/// The guide: `j0f`, `j1f`, `y0f` and `y1f`: 9 ULP below 8, beyond it 2.2e-6.
pub(super) fn bessel_single(operands: &[f64], exact: Range) -> Range {
    if get_operand(operands, 0).abs() < 8.0 {
        widen_by_units(exact, DType::F32, 9.0)
    } else {
        widen_absolute(exact, DType::F32, 2.2e-6)
    }
}

/// The guide: `j0`, `j1`, `y0` and `y1`: 7 ULP below 8, beyond it 5e-12.
pub(super) fn bessel_double(operands: &[f64], exact: Range) -> Range {
    if get_operand(operands, 0).abs() < 8.0 {
        widen_by_units(exact, DType::F64, 7.0)
    } else {
        widen_absolute(exact, DType::F64, 5e-12)
    }
}

/// The guide: `jnf`: 2.2e-6 at an order of 128. It has no figure for other orders; those below are easier.
pub(super) fn jn_single(operands: &[f64], exact: Range) -> Range {
    bound_by_order(operands, exact, || widen_absolute(exact, DType::F32, 2.2e-6))
}

/// The guide: `jn`: 5e-12 at an order of 128. It has no figure for other orders; those below are easier.
pub(super) fn jn_double(operands: &[f64], exact: Range) -> Range {
    bound_by_order(operands, exact, || widen_absolute(exact, DType::F64, 5e-12))
}

/// The guide: `ynf`: `ceil(2 + 2.5n)` ULP where x is below the order n, beyond it 2.2e-6. Orders 0 and 1 are `y0f` and
/// `y1f`.
pub(super) fn yn_single(operands: &[f64], exact: Range) -> Range {
    let (order, x) = (get_operand(operands, 0), get_operand(operands, 1));
    if order == 0.0 || order == 1.0 {
        return bessel_single(&[x], exact);
    }
    if x.abs() < order {
        widen_by_units(exact, DType::F32, (2.0 + 2.5 * order).ceil())
    } else {
        widen_absolute(exact, DType::F32, 2.2e-6)
    }
}

/// The guide: `yn`: 5e-12 where x is above 1.5 times the order; it has no figure below. Orders 0 and 1 are `y0` and `y1`.
pub(super) fn yn_double(operands: &[f64], exact: Range) -> Range {
    let (order, x) = (get_operand(operands, 0), get_operand(operands, 1));
    if order == 0.0 || order == 1.0 {
        bessel_double(&[x], exact)
    } else if order < 0.0 || x <= 0.0 || x.is_nan() {
        exact
    } else if x > 1.5 * order {
        widen_absolute(exact, DType::F64, 5e-12)
    } else {
        Range::FULL
    }
}

fn bound_by_order(operands: &[f64], exact: Range, bounded: impl Fn() -> Range) -> Range {
    match get_operand(operands, 0) {
        order if order < 0.0 => exact,
        order if order <= 128.0 => bounded(),
        _ => Range::FULL,
    }
}

/// The guide: `lgammaf`: 6 ULP outside of -10.001 to -2.264, "larger inside".
pub(super) fn lgamma_single(operands: &[f64], exact: Range) -> Range {
    if (-10.001..-2.264).contains(&get_operand(operands, 0)) && exact.high < f64::INFINITY {
        Range::FULL
    } else {
        widen_by_units(exact, DType::F32, 6.0)
    }
}

/// The guide: `lgamma`: 4 ULP outside of -23.0001 to -2.2637, "larger inside".
pub(super) fn lgamma_double(operands: &[f64], exact: Range) -> Range {
    if (-23.0001..-2.2637).contains(&get_operand(operands, 0)) && exact.high < f64::INFINITY {
        Range::FULL
    } else {
        widen_by_units(exact, DType::F64, 4.0)
    }
}

/// No document has a figure. The library multiplies, once for each unit of the exponent in effect, and inverts.
pub(super) fn powi_single(operands: &[f64], exact: Range) -> Range {
    widen_by_units(exact, DType::F32, get_operand(operands, 1).abs() + 1.0)
}

/// As [`powi_single`].
pub(super) fn powi_double(operands: &[f64], exact: Range) -> Range {
    widen_by_units(exact, DType::F64, get_operand(operands, 1).abs() + 1.0)
}

/// Whether an operand is subnormal, of a function of `f32` some of whose instructions flush and others do not, as Triton
/// links it: the number is zero to one and not to the other.
fn is_torn(operands: &[f64]) -> bool {
    let x = get_operand(operands, 0);
    x != 0.0 && x.abs() < f64::from(f32::MIN_POSITIVE)
}

/// The guide: `cbrtf` and `rcbrtf`: 1 ULP. For a subnormal number, Triton's PTX returns a NaN.
pub(super) fn cube_root_single(operands: &[f64], exact: Range) -> Range {
    let near = widen_by_units(exact, DType::F32, 1.0);
    Range {
        nan: near.nan || is_torn(operands),
        ..near
    }
}

/// Exact. For a subnormal number, Triton's PTX returns twice the result.
pub(super) fn scaled_single(operands: &[f64], exact: Range) -> Range {
    if is_torn(operands) {
        let twice = Range {
            low: 2.0 * exact.low,
            high: 2.0 * exact.high,
            nan: exact.nan,
        };
        exact.hull_with(overflow_to_infinity(twice))
    } else {
        exact
    }
}

/// The number after zero is subnormal without flushing, otherwise the smallest normal number; everything between is
/// admitted.
pub(super) fn next_after(operands: &[f64], exact: Range) -> Range {
    let (x, y) = (get_operand(operands, 0), get_operand(operands, 1));
    let kept = f64::from(libm::nextafterf(x as f32, y as f32));
    exact
        .hull_with(Range::from_value(kept))
        .widen(DType::F32, 0.0, true)
}

/// The guide: `__fdividef`: 2 ULP for divisors of 2^-126 to 2^126; of a larger one the result is 0, or NaN.
pub(super) fn fast_divide(operands: &[f64], exact: Range) -> Range {
    let (x, y) = (get_operand(operands, 0), get_operand(operands, 1));
    let near = widen_by_units(exact, DType::F32, 2.0);
    if y.abs() > 2f64.powi(126) && y.is_finite() {
        near.hull_with(Range::from_value(if x.is_finite() { 0.0 } else { f64::NAN }))
    } else {
        near
    }
}

/// PTX, `rcp`: `rcp.approx.f32` is within 1 ULP. `.ftz` decides whether a subnormal operand or result is flushed.
pub(super) fn approximate_reciprocal(operands: &[f64], exact: Range) -> Range {
    let near = exact.widen(DType::F32, 1.0 + ROUNDING_ERROR, true);
    if is_torn(operands) {
        let infinite = f64::INFINITY.copysign(get_operand(operands, 0));
        near.hull_with(Range::from_value(infinite))
    } else {
        near
    }
}

/// PTX, `tanh`: `tanh.approx.f32` has a relative error of 2^-11 at most.
pub(super) fn approximate_tanh(_: &[f64], exact: Range) -> Range {
    if exact.low > exact.high {
        return exact;
    }
    let by = 2f64.powi(-11);
    let moved = Range {
        low: exact.low - exact.low.abs() * by,
        high: exact.high + exact.high.abs() * by,
        nan: exact.nan,
    };
    widen_by_units(moved, DType::F32, 0.0)
}

/// The guide: `__expf`: `2 + floor(abs(1.173 * x))` ULP.
pub(super) fn fast_exp(operands: &[f64], exact: Range) -> Range {
    widen_by_units(
        exact,
        DType::F32,
        2.0 + (1.173 * get_operand(operands, 0)).abs().min(1e6).floor(),
    )
}

/// The guide: `__exp10f`: `2 + floor(abs(2.97 * x))` ULP.
pub(super) fn fast_exp10(operands: &[f64], exact: Range) -> Range {
    widen_by_units(
        exact,
        DType::F32,
        2.0 + (2.97 * get_operand(operands, 0)).abs().min(1e6).floor(),
    )
}

fn bound_logarithm(x: f64, exact: Range, near_one: f64, elsewhere: f64) -> Range {
    if (0.5..=2.0).contains(&x) {
        widen_absolute(exact, DType::F32, near_one)
    } else {
        widen_by_units(exact, DType::F32, elsewhere)
    }
}

/// The guide: `__logf`: 2^-21.41 from 0.5 to 2, elsewhere 3 ULP.
pub(super) fn fast_log(operands: &[f64], exact: Range) -> Range {
    bound_logarithm(get_operand(operands, 0), exact, 2f64.powf(-21.41), 3.0)
}

/// The guide: `__log2f`: 2^-22 from 0.5 to 2, elsewhere 2 ULP.
pub(super) fn fast_log2(operands: &[f64], exact: Range) -> Range {
    bound_logarithm(get_operand(operands, 0), exact, 2f64.powi(-22), 2.0)
}

/// The guide: `__log10f`: 2^-24 from 0.5 to 2, elsewhere 3 ULP.
pub(super) fn fast_log10(operands: &[f64], exact: Range) -> Range {
    bound_logarithm(get_operand(operands, 0), exact, 2f64.powi(-24), 3.0)
}

/// The error of `sin.approx` and `cos.approx`: the guide's from -pi to pi; PTX has 2^-20.5 for twice that and 2^-14.7
/// for 100 times, and none beyond.
fn bound_sine(x: f64, exact: Range, within_pi: f64) -> Range {
    let by = if x.abs() <= PI {
        within_pi
    } else if x.abs() <= 2.0 * PI {
        2f64.powf(-20.5)
    } else if x.abs() <= 100.0 * PI {
        2f64.powf(-14.7)
    } else if x.is_finite() {
        return Range::FULL;
    } else {
        0.0
    };
    widen_absolute(exact, DType::F32, by)
}

/// The guide: `__sinf`: 2^-21.41 from -pi to pi.
pub(super) fn fast_sin(operands: &[f64], exact: Range) -> Range {
    bound_sine(get_operand(operands, 0), exact, 2f64.powf(-21.41))
}

/// The guide: `__cosf`: 2^-21.19 from -pi to pi.
pub(super) fn fast_cos(operands: &[f64], exact: Range) -> Range {
    bound_sine(get_operand(operands, 0), exact, 2f64.powf(-21.19))
}

/// The guide: `__tanf` is `__sinf(x)` divided by `__cosf(x)`; the quotient is `div.approx`, 2 ULP.
pub(super) fn fast_tan(operands: &[f64], exact: Range) -> Range {
    let x = get_operand(operands, 0);
    if !x.is_finite() {
        return exact;
    }
    let sine = bound_sine(x, Range::from_value(libm::sin(x)), 2f64.powf(-21.41));
    let cosine = bound_sine(x, Range::from_value(libm::cos(x)), 2f64.powf(-21.19));
    if sine.nan || cosine.nan || (cosine.low <= 0.0 && cosine.high >= 0.0) {
        return Range::FULL;
    }
    bound_corners(sine, cosine, |x, y| x / y, 2.0).hull_with(exact)
}

/// The guide: `__powf` is `exp2f(y * __log2f(x))`, with `ex2.approx`, 2 ULP.
pub(super) fn fast_pow(operands: &[f64], exact: Range) -> Range {
    let (x, y) = (get_operand(operands, 0), get_operand(operands, 1));
    if exact.nan || x <= 0.0 || !x.is_finite() || !y.is_finite() {
        return exact;
    }
    let power = bound_corners(
        fast_log2(&[x], Range::from_value(libm::log2(x))),
        Range::from_value(y),
        |x, y| x * y,
        0.0,
    );
    bound_corners(power, Range::from_value(0.0), |power, _| libm::exp2(power), 2.0).hull_with(exact)
}

/// The admitted results at the corners of two ranges, widened by this many units.
fn bound_corners(a: Range, b: Range, f: impl Fn(f64, f64) -> f64, more: f64) -> Range {
    let ends = [
        f(a.low, b.low),
        f(a.low, b.high),
        f(a.high, b.low),
        f(a.high, b.high),
    ];
    let all = ends
        .into_iter()
        .map(Range::from_value)
        .reduce(Range::hull_with)
        .unwrap_or(Range::FULL);
    widen_by_units(overflow_to_infinity(all), DType::F32, more)
}

/// Numbers beyond `f32` are infinite.
fn overflow_to_infinity(range: Range) -> Range {
    let limit = |value: f64| {
        if value.abs() > f64::from(f32::MAX) {
            f64::INFINITY.copysign(value)
        } else {
            value
        }
    };
    Range {
        low: limit(range.low),
        high: limit(range.high),
        nan: range.nan,
    }
}
