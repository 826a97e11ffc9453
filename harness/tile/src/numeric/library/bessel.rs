//! Bessel functions: by their power series where these keep enough digits, else by `libm`'s.

use super::pair::{EULER, LN_2, PI, Pair, TWO_BY_PI};

/// Up to here the terms of a series with alternating signs leave more digits than `f64` has.
const SERIES: f64 = 25.0;

/// The sum of `scale * weight(k) * sign^k * (x / 2)^(2k) / (k! (k + order)!)`, where order is 0 or 1.
fn sum_series(x: f64, order: i32, sign: f64, scale: f64, mut weight: impl FnMut(i32) -> Pair) -> Pair {
    let square = Pair::exact_product(x / 2.0, x / 2.0) * Pair::from_f64(sign);
    let mut term = Pair::from_f64(scale);
    let mut sum = term * weight(0);
    for k in 1..2000 {
        term = term * square / Pair::from_f64(f64::from(k) * f64::from(k + order));
        let part = term * weight(k);
        sum = sum + part;
        if f64::from(k) > x.abs() && part.high.abs() <= sum.high.abs() * 1e-36 {
            break;
        }
    }
    sum
}

/// H(k), the sum of 1/n up to k, one after the other.
fn sum_harmonic() -> impl FnMut(i32) -> Pair {
    let mut sum = Pair::ZERO;
    move |k| {
        if k > 0 {
            sum = sum + Pair::from_f64(f64::from(k)).recip();
        }
        sum
    }
}

pub(super) fn j0(x: f64) -> Pair {
    if x.abs() > SERIES || x.is_nan() {
        return Pair::from_f64(libm::j0(x));
    }
    sum_series(x, 0, -1.0, 1.0, |_| Pair::UNIT)
}

pub(super) fn j1(x: f64) -> Pair {
    if x.abs() > SERIES || x.is_nan() {
        return Pair::from_f64(libm::j1(x));
    }
    if x.abs() < 1e-200 {
        return Pair::from_f64(x / 2.0);
    }
    sum_series(x, 1, -1.0, 1.0, |_| Pair::UNIT) * Pair::from_f64(x / 2.0)
}

pub(super) fn y0(x: f64) -> Pair {
    if x > SERIES || x <= 0.0 || x.is_nan() {
        return second_kind(x, libm::y0);
    }
    let logarithm = Pair::from_f64(x).ln() - LN_2 + EULER;
    let mut harmonic = sum_harmonic();
    let rest = sum_series(x, 0, -1.0, 1.0, |k| -harmonic(k));
    TWO_BY_PI * (logarithm * j0(x) + rest)
}

pub(super) fn y1(x: f64) -> Pair {
    if x > SERIES || x <= 0.0 || x.is_nan() {
        return second_kind(x, libm::y1);
    }
    if x < 1e-200 {
        return -(TWO_BY_PI / Pair::from_f64(libm::scalbn(x, 500))).scale(500);
    }
    let logarithm = Pair::from_f64(x).ln() - LN_2 + EULER;
    let mut harmonic = sum_harmonic();
    let rest = sum_series(x, 1, -1.0, 1.0, |k| {
        let sum = harmonic(k);
        sum + sum + Pair::from_f64(f64::from(k + 1)).recip()
    });
    let half = Pair::from_f64(x / 2.0);
    TWO_BY_PI * (logarithm * j1(x) - Pair::from_f64(x).recip()) - rest * half / PI
}

/// A function of the second kind, which is NaN below zero and infinite at zero.
fn second_kind(x: f64, function: impl Fn(f64) -> f64) -> Pair {
    Pair::from_f64(if x < 0.0 {
        f64::NAN
    } else if x == 0.0 {
        f64::NEG_INFINITY
    } else {
        function(x)
    })
}

/// The library has no result for negative orders.
pub(super) fn jn(order: i32, x: f64) -> Pair {
    match order {
        ..0 => Pair::NAN,
        0 => j0(x),
        1 => j1(x),
        _ => Pair::from_f64(libm::jn(order, x)),
    }
}

/// The library has no result for negative orders.
pub(super) fn yn(order: i32, x: f64) -> Pair {
    match order {
        ..0 => Pair::NAN,
        0 => y0(x),
        1 => y1(x),
        _ => second_kind(x, |x| libm::yn(order, x)),
    }
}

/// The modified function of order 0 or 1. Its terms are scaled down until the end, because the last may overflow.
fn compute_modified(x: f64, order: i32) -> Pair {
    if x.is_nan() {
        return Pair::NAN;
    }
    if x.abs() > 720.0 {
        let sign = if order == 1 { x } else { 1.0 };
        return Pair::from_f64(f64::INFINITY.copysign(sign));
    }
    if order == 1 && x.abs() < 1e-200 {
        return Pair::from_f64(x / 2.0);
    }
    let factor = if order == 1 { x / 2.0 } else { 1.0 };
    (sum_series(x, order, 1.0, libm::scalbn(1.0, -100), |_| Pair::UNIT) * Pair::from_f64(factor)).scale(100)
}

pub(super) fn bessel_i0(x: f64) -> Pair {
    compute_modified(x, 0)
}

pub(super) fn bessel_i1(x: f64) -> Pair {
    compute_modified(x, 1)
}
