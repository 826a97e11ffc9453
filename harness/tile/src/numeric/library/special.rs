//! Functions without a closed form in finitely many operations: computed with twice the digits of `f64`, so that
//! rounding the result rounds the function correctly, except for cases too close to a tie.
//!
//! The special arguments of CUDA are those of "Mathematical Functions" in the CUDA Math API.

use super::pair::{LN_2, LN_10, PI, Pair, SQRT_HALF, SQRT_PI};

/// From this exponent on, adding 1 to a square has no effect.
const HUGE: f64 = 1e150;

pub(super) fn acosh(x: f64) -> Pair {
    if !(1.0..f64::INFINITY).contains(&x) {
        return if x == f64::INFINITY {
            Pair::from_f64(x)
        } else {
            Pair::NAN
        };
    }
    if x > HUGE {
        return Pair::from_f64(x).ln() + LN_2;
    }
    let beyond = Pair::sum(x, -1.0);
    let root = (beyond * (beyond + Pair::from_f64(2.0))).sqrt();
    (beyond + root).ln_1p()
}

pub(super) fn asinh(x: f64) -> Pair {
    if !x.is_finite() {
        return Pair::from_f64(x);
    }
    if x.abs() < 1e-10 {
        return less_cube(x, 6.0);
    }
    let size = x.abs();
    let result = if size > HUGE {
        Pair::from_f64(size).ln() + LN_2
    } else {
        let square = Pair::exact_product(size, size);
        let root = (Pair::UNIT + square).sqrt();
        (Pair::from_f64(size) + square / (Pair::UNIT + root)).ln_1p()
    };
    if x < 0.0 { -result } else { result }
}

/// `x - x^3 / by` for an x so small that later terms have no effect.
fn less_cube(x: f64, by: f64) -> Pair {
    Pair {
        high: x,
        low: -(x * x) * (x / by),
    }
}

pub(super) fn atanh(x: f64) -> Pair {
    let size = x.abs();
    if size >= 1.0 || x.is_nan() {
        return if size == 1.0 {
            Pair::from_f64(f64::INFINITY.copysign(x))
        } else {
            Pair::NAN
        };
    }
    if size < 1e-10 {
        return less_cube(x, -3.0);
    }
    let ratio = Pair::from_f64(2.0 * size) / Pair::sum(1.0, -size);
    let result = ratio.ln_1p() * Pair::from_f64(0.5);
    if x < 0.0 { -result } else { result }
}

pub(super) fn cbrt(x: f64) -> Pair {
    if x == 0.0 || !x.is_finite() {
        return Pair::from_f64(x);
    }
    let thirds = libm::ilogb(x).div_euclid(3);
    root_of_cube(x, thirds).times_power_of_two(thirds)
}

pub(super) fn rcbrt(x: f64) -> Pair {
    if x == 0.0 || !x.is_finite() {
        return Pair::from_f64(1.0 / x);
    }
    let thirds = libm::ilogb(x).div_euclid(3);
    root_of_cube(x, thirds).recip().times_power_of_two(-thirds)
}

/// The cube root of x divided by 2 to the power of `thirds` times 3, which is between 1 and 8.
fn root_of_cube(x: f64, thirds: i32) -> Pair {
    let x = libm::scalbn(x, -3 * thirds);
    let near = libm::cbrt(x);
    let square = Pair::exact_product(near, near);
    Pair::from_f64(near)
        + (Pair::from_f64(x) - square * Pair::from_f64(near)) / (square * Pair::from_f64(3.0))
}

/// Sine and cosine of pi times x, which is finite, by quarter turns.
pub(super) fn turn(x: f64) -> (Pair, Pair) {
    let x = x % 2.0;
    let quarters = (2.0 * x).round_ties_even();
    let (sin, cos) = (PI * Pair::from_f64(x - quarters / 2.0)).sin_cos();
    match (quarters as i32).rem_euclid(4) {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    }
}

pub(super) fn sinpi(x: f64) -> Pair {
    if !x.is_finite() {
        return Pair::NAN;
    }
    if x == x.trunc() {
        return Pair::from_f64(0f64.copysign(x));
    }
    // Twice pi below the least normal number is subnormal in both of its parts.
    if x.abs() < 1e-290 {
        return (PI * Pair::from_f64(libm::scalbn(x, 200))).scale(-200);
    }
    turn(x).0
}

pub(super) fn cospi(x: f64) -> Pair {
    if !x.is_finite() {
        return Pair::NAN;
    }
    if (x - 0.5) == (x - 0.5).trunc() && x.abs() < 1e15 {
        return Pair::ZERO;
    }
    turn(x).1
}

pub(super) fn exp(x: f64) -> Pair {
    if x.is_nan() {
        return Pair::NAN;
    }
    Pair::from_f64(x.clamp(-800.0, 800.0)).exp()
}

/// [`exp`] rounded to single precision. The pair is needed only if the error of a double, below one unit of its last place, could
/// change the rounding.
pub(super) fn exp_single(x: f32) -> f32 {
    let near = libm::exp(x.into());
    let [low, high] = [-2.0, 2.0].map(|units| (near + near * f64::EPSILON * units) as f32);
    if low == high {
        return low;
    }
    exp(x.into()).single()
}

pub(super) fn exp10(x: f64) -> Pair {
    if x.is_nan() {
        return Pair::NAN;
    }
    (LN_10 * Pair::from_f64(x.clamp(-400.0, 400.0))).exp()
}

/// The root of the sum of squares, divided by 2 to the power of the exponent that comes with it.
fn norm(values: &[f64]) -> (Pair, i32) {
    let most = values.iter().fold(0f64, |most, value| most.max(value.abs()));
    let exponent = if most > 0.0 { libm::ilogb(most) } else { 0 };
    let squares = values.iter().map(|&value| {
        let value = libm::scalbn(value, -exponent);
        Pair::exact_product(value, value)
    });
    (
        squares.fold(Pair::ZERO, |sum, square| sum + square).sqrt(),
        exponent,
    )
}

/// `hypot`, `norm3d`, `norm4d`: infinite if any is, else NaN if any is.
pub(super) fn compute_norm(values: &[f64]) -> Pair {
    if values.iter().any(|value| value.is_infinite()) {
        return Pair::from_f64(f64::INFINITY);
    }
    if values.iter().any(|value| value.is_nan()) {
        return Pair::NAN;
    }
    let (root, exponent) = norm(values);
    root.scale(exponent)
}

/// `rhypot`, `rnorm3d`, `rnorm4d`: 1 by the length.
pub(super) fn inverse_length(values: &[f64]) -> Pair {
    if values.iter().any(|value| value.is_infinite()) {
        return Pair::ZERO;
    }
    if values.iter().any(|value| value.is_nan()) {
        return Pair::NAN;
    }
    let (root, exponent) = norm(values);
    if root.high == 0.0 {
        return Pair::from_f64(f64::INFINITY);
    }
    root.recip().scale(-exponent)
}

/// 1 by the square root.
pub(super) fn rsqrt(x: f64) -> Pair {
    if x == 0.0 || !x.is_finite() || x < 0.0 {
        return Pair::from_f64(1.0 / x.sqrt());
    }
    Pair::from_f64(x).sqrt().recip()
}

/// The error function of a number from 0 to 3, by a series of positive terms.
fn erf_series(x: Pair) -> Pair {
    let twice = x.square() * Pair::from_f64(2.0);
    let (mut term, mut sum) = (Pair::UNIT, Pair::UNIT);
    for n in 1..120 {
        term = term * twice / Pair::from_f64(f64::from(2 * n + 1));
        sum = sum + term;
        if term.high < sum.high * 1e-34 {
            break;
        }
    }
    let scale = Pair::from_f64(2.0) / SQRT_PI;
    sum * scale * x * (-x.square()).exp()
}

/// `exp(x^2) erfc(x)` of a number of 2 or more, by a continued fraction.
fn erfcx_fraction(x: Pair) -> Pair {
    let steps = if x.high > 6.0 { 40 } else { 160 };
    let mut rest = x;
    for n in (1..steps).rev() {
        rest = x + Pair::from_f64(f64::from(n) / 2.0) / rest;
    }
    (SQRT_PI * rest).recip()
}

/// The complement of the error function, at a pair.
fn erfc_at(x: Pair) -> Pair {
    if x.high < 0.0 {
        return Pair::from_f64(2.0) - erfc_at(-x);
    }
    if x.high < 2.0 {
        return Pair::UNIT - erf_series(x);
    }
    if x.high > 28.0 {
        return Pair::ZERO;
    }
    // e to the power of -x^2 may be subnormal, and is scaled last.
    erfcx_fraction(x) * (-x.square() + Pair::from_f64(600.0)).exp() * Pair::from_f64(-600.0).exp()
}

pub(super) fn erfc(x: f64) -> Pair {
    if x.is_nan() {
        return Pair::NAN;
    }
    if x.abs() > 28.0 {
        return if x > 0.0 { Pair::ZERO } else { Pair::from_f64(2.0) };
    }
    scale_erfc(Pair::from_f64(x), 0.0)
}

/// `erfc(x)` divided by 2 to the power of `halvings`, as it may be subnormal.
fn scale_erfc(x: Pair, halvings: f64) -> Pair {
    if x.high < 20.0 {
        return erfc_at(x) * Pair::from_f64(libm::exp2(-halvings));
    }
    // Scaled up by 2 to the power of 400 until the end.
    let power = -x.square() + LN_2 * Pair::from_f64(400.0);
    (erfcx_fraction(x) * power.exp()).scale(-400 - halvings as i32)
}

pub(super) fn erfcx(x: f64) -> Pair {
    if x.is_nan() {
        return Pair::NAN;
    }
    if x == f64::INFINITY {
        return Pair::ZERO;
    }
    if x >= 2.0 {
        return if x > 1e15 {
            // One term of the fraction is left.
            (SQRT_PI * Pair::from_f64(libm::scalbn(x, -100)))
                .recip()
                .scale(-100)
        } else {
            erfcx_fraction(Pair::from_f64(x))
        };
    }
    if x < -27.0 {
        return Pair::from_f64(f64::INFINITY);
    }
    let square = Pair::exact_product(x, x);
    if x < -20.0 {
        // The term subtracted below is far too small to matter, and the product may overflow.
        return (square - LN_2 * Pair::from_f64(99.0)).exp().scale(100);
    }
    if x < -2.0 {
        // The rest is subtracted from `2 * exp(x^2)`.
        return (square.exp() * Pair::from_f64(2.0)) - erfcx_fraction(Pair::from_f64(-x));
    }
    square.exp() * erfc_at(Pair::from_f64(x))
}

pub(super) fn normcdf(x: f64) -> Pair {
    if x.is_nan() {
        return Pair::NAN;
    }
    if x.abs() > 39.0 {
        return if x > 0.0 { Pair::UNIT } else { Pair::ZERO };
    }
    scale_erfc(-(SQRT_HALF * Pair::from_f64(x)), 1.0)
}

/// The x whose `erfc` is `y`, which is above 0 and at most 1.
fn erfcinv_at(y: Pair) -> Pair {
    // A rough start (Abramowitz and Stegun, 26.2.23), improved by Newton's method on the logarithm, which is nearly
    // linear.
    let wanted = y.ln();
    let root = (-2.0 * (wanted.high - std::f64::consts::LN_2)).sqrt();
    let ratio = (2.515_517 + root * (0.802_853 + root * 0.010_328))
        / (1.0 + root * (1.432_788 + root * (0.189_269 + root * 0.001_308)));
    let mut x = Pair::from_f64((root - ratio).max(0.0) * std::f64::consts::FRAC_1_SQRT_2);
    for _ in 0..6 {
        // ln erfc(x) and its slope, from erfcx(x), which neither overflows nor vanishes.
        let scaled = if x.high >= 2.0 {
            erfcx_fraction(x)
        } else {
            x.square().exp() * erfc_at(x)
        };
        let error = scaled.ln() - x.square() - wanted;
        let slope = (SQRT_PI * scaled).recip() * Pair::from_f64(2.0);
        let next = x + error / slope;
        let moved = (next.high - x.high).abs() + (next.low - x.low).abs();
        x = next;
        if moved <= x.high.abs() * 1e-30 {
            break;
        }
    }
    x
}

pub(super) fn erfcinv(y: f64) -> Pair {
    if !(0.0..=2.0).contains(&y) {
        return Pair::NAN;
    }
    if y == 0.0 || y == 2.0 {
        return Pair::from_f64(if y == 0.0 {
            f64::INFINITY
        } else {
            f64::NEG_INFINITY
        });
    }
    if y == 1.0 {
        return Pair::ZERO;
    }
    if y > 0.5 {
        // 1 - y is exact, and near the middle it is the significant quantity.
        return -erfinv_at(Pair::sum(y, -1.0));
    }
    erfcinv_at(Pair::from_f64(y))
}

/// The x whose `erf` is `y`, which is between -1 and 1.
fn erfinv_at(y: Pair) -> Pair {
    if y.high < 0.0 {
        return -erfinv_at(-y);
    }
    if y.high > 0.5 {
        return erfcinv_at(Pair::UNIT - y);
    }
    if y.high < 1e-20 {
        return y * SQRT_PI * Pair::from_f64(0.5);
    }
    let mut x = y * SQRT_PI * Pair::from_f64(0.5);
    for _ in 0..7 {
        let error = erf_series(x) - y;
        x = x - error * SQRT_PI * Pair::from_f64(0.5) * x.square().exp();
    }
    x
}

pub(super) fn erfinv(y: f64) -> Pair {
    if y.is_nan() || y.abs() > 1.0 {
        return Pair::NAN;
    }
    if y.abs() == 1.0 {
        return Pair::from_f64(f64::INFINITY.copysign(y));
    }
    if y == 0.0 {
        return Pair::from_f64(y);
    }
    if y.abs() < 1e-290 {
        return (SQRT_PI * Pair::from_f64(libm::scalbn(y, 200))).scale(-201);
    }
    erfinv_at(Pair::from_f64(y))
}

pub(super) fn normcdfinv(p: f64) -> Pair {
    if !(0.0..=1.0).contains(&p) {
        return Pair::NAN;
    }
    if p == 0.0 || p == 1.0 {
        return Pair::from_f64(if p == 0.0 {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        });
    }
    let twice = Pair::from_f64(2.0) * SQRT_HALF;
    if p > 0.25 {
        return twice * erfinv_at(Pair::sum(p, -0.5) * Pair::from_f64(2.0));
    }
    -(twice * erfcinv_at(Pair::from_f64(2.0 * p)))
}
