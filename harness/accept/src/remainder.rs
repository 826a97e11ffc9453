//! Remainders of intervals: dividends less a whole number of divisors.

use cerith_tile::DType;
use cerith_tile::ir::Rounding;
use cerith_tile::numeric::library::Symbol;

use super::interval::Interval;
use super::precision::{self, power_of_two};

/// The least normal number of `f32`.
const NORMAL: f64 = power_of_two(-126);

/// The remainder of a division whose quotient is rounded to a whole number in some way, which leaves at most that part of
/// the divisor.
pub(super) fn modulo(
    x: Interval,
    y: Interval,
    symbol: &Symbol,
    whole: impl Fn(f64) -> f64,
    part: f64,
) -> Option<Interval> {
    let (x, y) = if symbol.flushes() {
        (x.flushed(), y.flushed())
    } else {
        (x, y)
    };
    bound_remainder(x, y, part, 0.0, whole).map(|rest| {
        let rest = rest.round_to(symbol.result, Rounding::NearestEven);
        if symbol.flushes() { rest.flushed() } else { rest }
    })
}

/// The rest of a division: `x` less a whole number of `y`, where the quotient may be off by this part of itself.
fn bound_remainder(
    x: Interval,
    y: Interval,
    part: f64,
    off: f64,
    whole: impl Fn(f64) -> f64,
) -> Option<Interval> {
    if x.only_nan() || y.only_nan() {
        return Some(Interval::NAN);
    }
    let nan = x.nan || y.nan || y.holds(0.0) || x.magnitude().is_infinite();
    if x.magnitude().is_infinite() && off != 0.0 {
        return None;
    }
    let limit = y.magnitude() * part;
    let mut low = -limit.min(if part == 1.0 { x.magnitude() } else { f64::INFINITY });
    let mut high = -low;
    // The remainder of a division cut off has the dividend's sign.
    if part == 1.0 && off == 0.0 {
        (low, high) = (
            if x.low >= 0.0 { 0.0 } else { low },
            if x.high <= 0.0 { 0.0 } else { high },
        );
    } else if off != 0.0 {
        // A quotient that is rounded up to a whole number leaves a little less than nothing.
        let less = x.magnitude() * off * 2.0;
        (low, high) = (-limit - less, limit + less);
        low = if x.low >= 0.0 { low.max(-less) } else { low };
        high = if x.high <= 0.0 { high.min(less) } else { high };
        if nan {
            return None;
        }
    }
    if !y.holds(0.0) && y.magnitude().is_finite() && x.magnitude().is_finite() {
        let ends = [x.low / y.low, x.low / y.high, x.high / y.low, x.high / y.high];
        let spread = |end: f64| [end * (1.0 - off), end * (1.0 + off)];
        let quotients = ends
            .into_iter()
            .flat_map(spread)
            .map(|end| [end.next_down(), end.next_up()]);
        let wholes: Vec<f64> = quotients.flatten().map(whole).collect();
        let least = wholes.iter().copied().fold(f64::INFINITY, f64::min);
        let most = wholes.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if most - least <= 1.0 && least.abs().max(most.abs()) < power_of_two(50) {
            let less = |by: f64| {
                let ends = [by * y.low, by * y.high];
                let (most, least) = if ends[0] < ends[1] {
                    (y.high, y.low)
                } else {
                    (y.low, y.high)
                };
                (libm::fma(-by, most, x.low), libm::fma(-by, least, x.high))
            };
            let (first, second) = (less(least), less(most));
            low = low.max(first.0.min(second.0).next_down());
            high = high.min(first.1.max(second.1).next_up());
        }
    }
    Some(Interval {
        low: low.min(high),
        high: high.max(low),
        nan,
    })
}

/// `%`, which is computed as the dividend less a whole number of divisors, the quotient being rounded.
pub(super) fn of_floats(dtype: DType, x: Interval, y: Interval) -> Option<Interval> {
    let least = y.least_magnitude();
    let normal = if dtype == DType::F64 {
        f64::MIN_POSITIVE
    } else {
        NORMAL
    };
    if least < normal || !y.magnitude().is_finite() || !(x.magnitude() / least).is_finite() {
        return None;
    }
    // A quotient without fraction bits is off by its last places, and leaves so many divisors.
    let unit = power_of_two(1 - precision::count_bits(dtype));
    if x.magnitude() * unit >= least {
        let off = y.magnitude() + 5.0 * unit * x.magnitude();
        return Some(Interval {
            low: -off,
            high: off,
            nan: x.nan || y.nan,
        });
    }
    let off = power_of_two(3 - precision::count_bits(dtype).max(24));
    let rest = bound_remainder(x, y, 1.0, off, f64::trunc)?;
    Some(rest.round_to(dtype, Rounding::NearestEven).flushed())
}
