//! What is known of one lane of every conforming implementation, and blocks of them.

use std::rc::Rc;

use cerith_tile::DType;
use cerith_tile::ir::Rounding;
use cerith_tile::numeric::{decode, encode};

use super::cause::Cause;
use super::chunk::{down, up};
use super::contract::unrounded;
use super::precision::power_of_two;
use super::wide::Wide;

/// What is known of a lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Lane {
    /// The same bits everywhere; of a NaN, that it is one.
    Bits(u64),
    /// A rounded product of floats; where it is added to something, its factors may be used instead.
    Product { bits: u64, x: u64, y: u64 },
    /// A float between two values, inclusive, or a NaN. The sign of a zero is not known.
    Within {
        low: f64,
        high: f64,
        nan: bool,
        cause: Cause,
    },
    /// A float between two values, or a value apart from those: an infinity, a NaN. None between the two where `low` is
    /// above `high`.
    Apart {
        low: f64,
        high: f64,
        below: bool,
        above: bool,
        nan: bool,
        cause: Cause,
    },
    /// Any value. With the programs in the order that is followed, these bits.
    Guess(u64),
    /// Any value.
    Unknown,
    /// No value at all.
    Poison,
}

/// The values that a float may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    pub low: f64,
    pub high: f64,
    pub nan: bool,
}

impl Interval {
    pub(crate) const EVERYTHING: Self = Self {
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

    /// Whether there is no number in it: nothing but NaN.
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

    /// Both ends moved outward by the rounding of the computation that gave them.
    pub(crate) fn outward(self) -> Self {
        let infinite = |end: f64| end.is_infinite();
        Self {
            low: if infinite(self.low) {
                self.low.next_down()
            } else {
                down(self.low)
            },
            high: if infinite(self.high) {
                self.high.next_up()
            } else {
                up(self.high)
            },
            nan: self.nan,
        }
    }

    /// Both ends moved outward by this much.
    pub(crate) fn widened(self, by: f64) -> Self {
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

    /// What `tf32` may make of every value: the numbers of 11 bits on both sides, and all between.
    pub(crate) fn to_tf32(self) -> Self {
        let around = |value: f64| {
            // `f32` values, whose last 13 bits `tf32` has no room for; as `f64` they are the last 42.
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

    /// With zero, where a subnormal number of `f32` in it may be taken for one.
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
    pub(crate) fn rounded(self, dtype: DType, rounding: Rounding) -> Self {
        if self.only_nan() {
            return self;
        }
        let round = |value: f64| decode(dtype, encode(dtype, value, rounding));
        let (low, high) = (round(self.low), round(self.high));
        // A dtype without infinity makes a NaN of what is out of range.
        let nan = self.nan || low.is_nan() || high.is_nan();
        Self {
            low: if low.is_nan() { f64::NEG_INFINITY } else { low },
            high: if high.is_nan() { f64::INFINITY } else { high },
            nan,
        }
    }

    /// As a lane: exact where only one value is left.
    pub(crate) fn lane(self, dtype: DType) -> Lane {
        if self.only_nan() {
            return Lane::Bits(encode(dtype, f64::NAN, Rounding::NearestEven));
        }
        if self.low == self.high && !self.nan && self.low != 0.0 {
            return Lane::Bits(encode(dtype, self.low, Rounding::NearestEven));
        }
        // What is infinite is NaN where the dtype has no infinity.
        let infinite = self.low.is_infinite() || self.high.is_infinite();
        let nan = self.nan
            || infinite && decode(dtype, encode(dtype, f64::INFINITY, Rounding::NearestEven)).is_nan();
        Lane::Within {
            low: self.low,
            high: self.high,
            nan,
            cause: Cause::default(),
        }
    }
}

impl Lane {
    /// The bits, if they are the same everywhere.
    pub(crate) const fn bits(self) -> Option<u64> {
        match self {
            Self::Bits(bits) | Self::Product { bits, .. } => Some(bits),
            Self::Within { .. } | Self::Apart { .. } | Self::Guess(_) | Self::Unknown | Self::Poison => None,
        }
    }

    /// The bits in the order of programs that is followed, as far as they are known.
    pub(crate) const fn followed(self) -> Option<u64> {
        match self {
            Self::Guess(bits) => Some(bits),
            other => other.bits(),
        }
    }

    /// This lane, or a guess where it is unknown and the bits of another are known in the order that is followed.
    pub(super) const fn or_guess(self, other: Self) -> Self {
        match (self, other.followed()) {
            (Self::Unknown, Some(bits)) => Self::Guess(bits),
            _ => self,
        }
    }

    /// Whether implementations may have different values there.
    pub(crate) const fn is_open(self) -> bool {
        !matches!(self, Self::Bits(_) | Self::Product { .. } | Self::Poison)
    }

    /// The lane as others see it, who do not add it to something.
    pub(crate) const fn plain(self) -> Self {
        match self {
            Self::Product { bits, .. } => Self::Bits(bits),
            other => other,
        }
    }

    /// What widened it most, of a lane that has a range.
    pub(super) const fn cause(self) -> Option<Cause> {
        match self {
            Self::Within { cause, .. } | Self::Apart { cause, .. } => Some(cause),
            _ => None,
        }
    }

    /// The same lane, with what widened it most.
    pub(super) const fn because(mut self, because: Cause) -> Self {
        if let Self::Within { cause, .. } | Self::Apart { cause, .. } = &mut self {
            *cause = because;
        }
        self
    }

    /// Whether the same is known of both, whatever made them so wide.
    pub(super) fn same(self, other: Self) -> bool {
        let alone = |lane: Self| lane.because(Cause::default());
        alone(self) == alone(other)
    }

    /// The values of a float lane.
    pub(crate) fn interval(self, dtype: DType) -> Interval {
        match self {
            Self::Bits(bits) | Self::Product { bits, .. } => Interval::point(decode(dtype, bits)),
            Self::Within { low, high, nan, .. } => Interval { low, high, nan },
            Self::Apart {
                low,
                high,
                below,
                above,
                nan,
                ..
            } => Interval {
                low: if below { f64::NEG_INFINITY } else { low },
                high: if above { f64::INFINITY } else { high },
                nan,
            },
            Self::Guess(_) | Self::Unknown | Self::Poison => Interval::EVERYTHING,
        }
    }

    /// What holds of both.
    pub(crate) fn hull(self, other: Self, dtype: Option<DType>) -> Self {
        match (self, other) {
            (a, b) if a == b => a,
            (a, b)
                if a.bits().is_some()
                    && a.plain() == b.plain()
                    && dtype.is_none_or(|dtype| !dtype.is_float()) =>
            {
                a.plain()
            }
            (Self::Poison, _) | (_, Self::Poison) => Self::Poison,
            (a, b) => match dtype.filter(|dtype| dtype.is_float()) {
                Some(dtype) => {
                    let hull = unrounded(dtype, a).hull(unrounded(dtype, b));
                    let cause = a.cause().or(b.cause()).unwrap_or_default();
                    Self::Within {
                        low: hull.low,
                        high: hull.high,
                        nan: hull.nan,
                        cause,
                    }
                }
                None => Self::Unknown,
            },
        }
    }
}

/// The lanes of a value.
#[derive(Clone, Debug)]
pub(crate) enum Lanes {
    /// The same in every lane.
    Uniform(Lane),
    /// One for each.
    Each(Vec<Lane>),
    /// Floats, an array for each part of a lane.
    Wide(Rc<Wide>),
    /// Exact, in the plain machine's slot of the same number.
    Plain,
}

impl Lanes {
    pub(crate) fn at(&self, lane: usize) -> Lane {
        match self {
            Self::Uniform(all) => *all,
            Self::Each(lanes) => lanes.get(lane).copied().unwrap_or(Lane::Unknown),
            Self::Wide(wide) => wide.at(lane),
            Self::Plain => Lane::Unknown,
        }
    }

    /// Bytes that the lanes take.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Uniform(_) | Self::Plain => 0,
            Self::Each(lanes) => size_of_val(lanes.as_slice()),
            Self::Wide(wide) => wide.bytes(),
        }
    }

    /// Written out.
    pub(crate) fn each(&self, count: usize) -> Vec<Lane> {
        match self {
            Self::Uniform(all) => vec![*all; count],
            Self::Each(lanes) => lanes.clone(),
            Self::Wide(wide) => (0..count).map(|lane| wide.at(lane)).collect(),
            Self::Plain => vec![Lane::Unknown; count],
        }
    }
}
