//! Oscillating functions: their result on an interval is bounded by their slope, their magnitude, and the positions of
//! their minima.

use cerith_tile::ir::Rounding;
use cerith_tile::numeric::library::Symbol;
use cerith_tile::numeric::{Range, decode, encode};
use smallvec::SmallVec;

use super::{Operand, Points};
use crate::interval::Interval;

/// The position of the gamma function's minimum among positive numbers.
const GAMMA_MINIMUM: f64 = 1.461_632_144_968_362_3;

/// The range of a function with a maximum slope and a maximum magnitude.
pub(super) fn bound_wave(
    symbol: &Symbol,
    operand: Operand,
    before: &[u64],
    slope: f64,
    steep: f64,
    most: f64,
) -> Option<Interval> {
    let interval = operand.interval();
    if interval.only_nan() {
        return Some(interval);
    }
    let bounded = Interval {
        low: -most,
        high: most,
        nan: interval.nan,
    };
    let infinite = interval.magnitude().is_infinite();
    let half = (interval.high - interval.low) / 2.0;
    let numbers = if infinite || half * slope.min(steep) >= most {
        bounded.with_nan(infinite)
    } else {
        let middle = encode(operand.dtype, interval.low + half, Rounding::NearestEven);
        let mut bits: Points = before.iter().copied().collect();
        bits.push(middle);
        let middle = decode(operand.dtype, middle);
        let reach = slope * (interval.high - middle).max(middle - interval.low).next_up();
        let value = decode(symbol.result, symbol.evaluate(&bits).bits()?);
        let around = Interval {
            low: value - reach,
            high: value + reach,
            nan: interval.nan,
        }
        .outward();
        Interval {
            low: around.low.max(-most),
            high: around.high.min(most),
            nan: around.nan,
        }
    };
    widen_range(symbol, operand, before, numbers)
}

/// A range of exact values with the errors that engines have at both ends of the operand.
pub(super) fn widen_range(
    symbol: &Symbol,
    operand: Operand,
    before: &[u64],
    exact: Interval,
) -> Option<Interval> {
    let interval = operand.interval();
    let mut hull: Option<Range> = None;
    for end in [
        interval.low,
        interval.high,
        interval.low.max(0.0).min(interval.high),
    ] {
        let end = if end.is_infinite() {
            f64::MAX.copysign(end)
        } else {
            end
        };
        let mut operands: SmallVec<[f64; 4]> = before.iter().map(|&order| f64::from(order as i32)).collect();
        operands.push(end);
        let range = symbol.widen_range(
            &operands,
            Range {
                low: exact.low,
                high: exact.high,
                nan: false,
            },
        );
        if range.nan {
            return None;
        }
        hull = Some(hull.map_or(range, |hull| hull.hull_with(range)));
    }
    let Range { low, high, .. } = hull?;
    Some(Interval {
        low,
        high,
        nan: exact.nan,
    })
}

/// Bessel functions of the second kind: from minus infinity at zero, then waves. `J^2 + Y^2` falls (Nicholson), so that
/// its root at the lower end bounds both from there on.
pub(super) fn bound_neumann(
    symbol: &Symbol,
    operand: Operand,
    before: &[u64],
    order: f64,
) -> Option<Interval> {
    let interval = operand.interval();
    if interval.only_nan() {
        return Some(interval);
    }
    let low = interval.low;
    let modulus = |order: f64| {
        let order = order.min(1e6) as i32;
        libm::hypot(libm::jn(order, low), libm::yn(order, low))
    };
    // `Y_n' = (Y_(n-1) - Y_(n+1)) / 2`, and `Y_0' = -Y_1`. Beyond 0 no function of an order from 0 is above 0.53.
    let slope = if order == 0.0 {
        modulus(1.0)
    } else {
        f64::midpoint(modulus(order - 1.0), modulus(order + 1.0))
    };
    if low <= 0.0 || !slope.is_finite() || order > 1e3 {
        let numbers = Interval {
            low: f64::NEG_INFINITY,
            high: 0.53,
            nan: interval.nan,
        };
        return Some(numbers);
    }
    let most = modulus(order).max(f64::MIN_POSITIVE);
    bound_wave(
        symbol,
        operand,
        before,
        slope * 1.000_001,
        f64::INFINITY,
        most * 1.000_001,
    )
}

/// The minimum of `lgamma` in an interval without a pole, or any number of it if the minimum is at an end.
pub(super) fn gamma_minimum(interval: Interval) -> Option<f64> {
    if interval.low > 0.0 {
        return Some(GAMMA_MINIMUM);
    }
    if interval.low.floor() != interval.high.floor() || interval.low == interval.low.floor() {
        return None;
    }
    // It is convex between poles.
    let (mut low, mut high) = (interval.low, interval.high);
    for _ in 0..100 {
        let third = (high - low) / 3.0;
        let (left, right) = (low + third, high - third);
        if libm::lgamma(left) < libm::lgamma(right) {
            high = right;
        } else {
            low = left;
        }
    }
    Some(f64::midpoint(low, high))
}
