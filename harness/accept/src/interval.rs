//! Intervals: the values that a float may have. See `lane` for lanes of other types.

use cerith_tile::DType;
use cerith_tile::ir::Rounding;
use cerith_tile::numeric::{decode, encode};

use super::ends::{step_down, step_up};
use super::precision::power_of_two;

/// The values that a float may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    pub low: f64,
    pub high: f64,
    pub nan: bool,
}

impl Interval {
    pub(crate) const ENTIRE: Self = Self {
        low: f64::NEG_INFINITY,
        high: f64::INFINITY,
        nan: true,
    };
    pub(crate) const NAN: Self = Self {
        low: f64::INFINITY,
        high: f64::NEG_INFINITY,
        nan: true,
    };

    pub(crate) const fn point(value: f64) -> Self {
        if value.is_nan() {
            Self::NAN
        } else {
            Self {
                low: value,
                high: value,
                nan: false,
            }
        }
    }

    /// Whether it contains no number: only NaN.
    pub(crate) const fn only_nan(self) -> bool {
        self.low > self.high
    }

    /// The least interval that holds both.
    pub(crate) fn hull(self, other: Self) -> Self {
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            nan: self.nan || other.nan,
        }
    }

    pub(crate) fn with_nan(self, nan: bool) -> Self {
        Self {
            nan: self.nan || nan,
            ..self
        }
    }

    /// Both ends moved outward by the rounding error of their computation.
    pub(crate) fn outward(self) -> Self {
        let infinite = |end: f64| end.is_infinite();
        Self {
            low: if infinite(self.low) {
                self.low.next_down()
            } else {
                step_down(self.low)
            },
            high: if infinite(self.high) {
                self.high.next_up()
            } else {
                step_up(self.high)
            },
            nan: self.nan,
        }
    }

    /// Both ends moved outward by an amount.
    pub(crate) fn widen(self, by: f64) -> Self {
        if self.only_nan() || by.is_nan() {
            return self;
        }
        let end = |value: f64, other: f64| if value.is_nan() { other } else { value };
        Self {
            low: end(self.low - by, self.low),
            high: end(self.high + by, self.high),
            nan: self.nan,
        }
    }

    /// The values after rounding to `tf32`: the numbers of 11 bits on both sides, and all in between.
    pub(crate) fn to_tf32(self) -> Self {
        let around = |value: f64| {
            // `tf32` lacks the last 13 bits of `f32`; these are the last 42 bits of the `f64`.
            if value.abs() < power_of_two(-126) {
                // A subnormal `f32`: the 13th bit from its end is 2^-136.
                let cells = value / power_of_two(-136);
                let (toward, away) = (cells.trunc(), cells.abs().ceil().copysign(cells));
                return (toward * power_of_two(-136), away * power_of_two(-136));
            }
            let bits = value.to_bits();
            let mask = (1u64 << 42) - 1;
            let zero = f64::from_bits(bits & !mask);
            if value.is_finite() && bits & mask != 0 {
                (zero, f64::from_bits((bits | mask).wrapping_add(1)))
            } else {
                (value, value)
            }
        };
        if self.only_nan() {
            return self;
        }
        let (low, high) = (around(self.low), around(self.high));
        let largest = f64::from(f32::MAX);
        let limited = |value: f64| {
            if value.abs() > largest {
                f64::INFINITY.copysign(value)
            } else {
                value
            }
        };
        Self {
            low: limited(low.0.min(low.1)),
            high: limited(high.0.max(high.1)),
            nan: self.nan,
        }
    }

    pub(crate) fn holds(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Adds zero if it contains a subnormal `f32`, which may be flushed to zero.
    pub(crate) fn flushed(self) -> Self {
        let normal = power_of_two(-126);
        if self.low < normal && self.high > -normal {
            Self {
                low: self.low.min(0.0),
                high: self.high.max(0.0),
                nan: self.nan,
            }
        } else {
            self
        }
    }

    /// The largest magnitude in it.
    pub(crate) fn magnitude(self) -> f64 {
        if self.only_nan() {
            0.0
        } else {
            self.low.abs().max(self.high.abs())
        }
    }

    /// The smallest magnitude in it.
    pub(crate) fn least_magnitude(self) -> f64 {
        if self.low <= 0.0 && 0.0 <= self.high || self.only_nan() {
            0.0
        } else {
            self.low.abs().min(self.high.abs())
        }
    }

    /// Every value rounded to nearest in a dtype.
    pub(crate) fn round_to(self, dtype: DType, rounding: Rounding) -> Self {
        if self.only_nan() {
            return self;
        }
        let round = |value: f64| decode(dtype, encode(dtype, value, rounding));
        let (low, high) = (round(self.low), round(self.high));
        // A dtype without infinity has NaN for values out of range.
        let nan = self.nan || low.is_nan() || high.is_nan();
        Self {
            low: if low.is_nan() { f64::NEG_INFINITY } else { low },
            high: if high.is_nan() { f64::INFINITY } else { high },
            nan,
        }
    }
}

/// The hull of `f` over the ends of two intervals, for operations such as products.
pub(super) fn combine_corners(a: Interval, b: Interval, f: impl Fn(f64, f64) -> f64) -> Interval {
    let all = [
        f(a.low, b.low),
        f(a.low, b.high),
        f(a.high, b.low),
        f(a.high, b.high),
    ];
    if all.iter().any(|x| x.is_nan()) {
        return Interval::ENTIRE;
    }
    let low = all.iter().copied().fold(f64::INFINITY, f64::min);
    let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Interval {
        low,
        high,
        nan: a.nan || b.nan,
    }
}

/// The products of two intervals.
pub(crate) fn multiply_intervals(a: Interval, b: Interval) -> Interval {
    // Zero times infinity is NaN, also if zero is between the ends.
    let lost = |a: Interval, b: Interval| a.holds(0.0) && b.magnitude().is_infinite();
    combine_corners(a, b, |x, y| x * y)
        .outward()
        .with_nan(lost(a, b) || lost(b, a))
}
