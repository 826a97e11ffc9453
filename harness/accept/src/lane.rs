//! One lane: the values that conforming implementations may hold in it. See `lanes` and `wide` for blocks.

use cerith_tile::DType;
use cerith_tile::ir::Rounding;
use cerith_tile::numeric::{Computed, decode, encode};

use super::cause::Cause;
use super::interval::{Interval, multiply_intervals};

/// The possible values of a lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Lane {
    /// The same bits in every implementation; for a NaN, any NaN.
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

    /// The cause of a lane with a range.
    pub(super) const fn cause(self) -> Option<Cause> {
        match self {
            Self::Within { cause, .. } | Self::Apart { cause, .. } => Some(cause),
            _ => None,
        }
    }

    /// Returns the lane with this cause.
    pub(super) const fn with_cause(mut self, because: Cause) -> Self {
        if let Self::Within { cause, .. } | Self::Apart { cause, .. } = &mut self {
            *cause = because;
        }
        self
    }

    /// Whether both have the same values, whatever their causes.
    pub(super) fn is_equivalent(self, other: Self) -> bool {
        let alone = |lane: Self| lane.with_cause(Cause::default());
        alone(self) == alone(other)
    }

    /// The values of a float lane.
    pub(crate) fn to_interval(self, dtype: DType) -> Interval {
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
            Self::Guess(_) | Self::Unknown | Self::Poison => Interval::ENTIRE,
        }
    }

    /// Returns a lane with the possible values of both.
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
                    let hull = to_unrounded(dtype, a).hull(to_unrounded(dtype, b));
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

impl Interval {
    /// As a lane: exact where only one value is left.
    pub(crate) fn to_lane(self, dtype: DType) -> Lane {
        if self.only_nan() {
            return Lane::Bits(encode(dtype, f64::NAN, Rounding::NearestEven));
        }
        if self.low == self.high && !self.nan && self.low != 0.0 {
            return Lane::Bits(encode(dtype, self.low, Rounding::NearestEven));
        }
        // A dtype without infinity has NaN instead.
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

/// An exact result as a lane.
pub(super) fn convert_computed(computed: Computed) -> Lane {
    match computed {
        Computed::Bits(bits) => Lane::Bits(bits),
        // The first execution would have stopped at a zero divisor; after an unknown value it has no meaning.
        Computed::Poison | Computed::DivisionByZero => Lane::Poison,
    }
}

/// The product of a lane's factors before it is rounded; of another lane nothing.
pub(super) fn exact_product(dtype: DType, lane: Lane) -> Option<Interval> {
    let Lane::Product { x, y, .. } = lane else {
        return None;
    };
    let (x, y) = (decode(dtype, x), decode(dtype, y));
    Some(if dtype == DType::F64 {
        multiply_intervals(Interval::point(x), Interval::point(y))
    } else {
        // Products of all but `f64` are exact in `f64`.
        Interval::point(x * y)
    })
}

/// The term that a lane adds to a sum: its value, or its unrounded product.
pub(super) fn to_unrounded(dtype: DType, lane: Lane) -> Interval {
    let interval = lane.to_interval(dtype);
    exact_product(dtype, lane).map_or(interval, |exact| interval.hull(exact))
}

/// Applies a function to lanes that may be guesses: the result is that for unknown lanes, or a guess.
pub(super) fn map_guesses(lanes: &[Lane], f: &impl Fn(&[Lane]) -> Lane) -> Lane {
    if !lanes.iter().any(|lane| matches!(lane, Lane::Guess(_))) {
        return f(lanes);
    }
    let with = |other: fn(u64) -> Lane| -> smallvec::SmallVec<[Lane; 3]> {
        let lane = |&lane: &Lane| match lane {
            Lane::Guess(bits) => other(bits),
            lane => lane,
        };
        lanes.iter().map(lane).collect()
    };
    let known = f(&with(|_| Lane::Unknown));
    match (known, f(&with(Lane::Bits)).bits()) {
        (Lane::Unknown, Some(bits)) => Lane::Guess(bits),
        _ => known,
    }
}

/// The lanes of the two outcomes of a decision that is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Sides {
    /// A range covers both, and what is in between.
    #[default]
    Covered,
    /// Nothing bounds the lane if the two are apart.
    Separate,
}

impl Sides {
    /// A lane for both outcomes.
    pub(super) fn merge(self, one: Lane, other: Lane, dtype: Option<DType>) -> Lane {
        if self == Self::Separate && dtype.is_some_and(|dtype| are_apart(one, other, dtype)) {
            Lane::Unknown
        } else {
            one.hull(other, dtype)
        }
    }
}

/// The part of their magnitude that two numbers must differ by to be apart.
const MIN_GAP: f64 = 1.0 / 4096.0;

fn are_apart(one: Lane, other: Lane, dtype: DType) -> bool {
    let known = |lane: Lane| !matches!(lane, Lane::Guess(_) | Lane::Unknown | Lane::Poison);
    if !dtype.is_float() || !known(one) || !known(other) {
        return false;
    }
    let (one, other) = (one.to_interval(dtype), other.to_interval(dtype));
    if one.only_nan() || other.only_nan() {
        return one.only_nan() != other.only_nan();
    }
    let gap = (one.low - other.high).max(other.low - one.high);
    let widths = (one.high - one.low) + (other.high - other.low);
    gap > widths.max(MIN_GAP * one.magnitude().max(other.magnitude())) || gap == f64::INFINITY
}

/// A lane that covers both.
pub(super) fn merge_either(one: Lane, other: Lane, dtype: Option<DType>, sides: Sides) -> Lane {
    match (one.plain(), other.plain()) {
        (one, other) if one == other => one,
        (Lane::Poison | Lane::Unknown | Lane::Guess(_), _)
        | (_, Lane::Poison | Lane::Unknown | Lane::Guess(_)) => Lane::Unknown,
        (one, other) => sides.merge(one, other, dtype),
    }
}

/// A lane that covers both: the result of an access that may happen or not. A guess only if the current order of programs decides
/// which of the two it is.
pub(super) fn merge_followed(
    happens: Option<bool>,
    with: Lane,
    without: Lane,
    dtype: Option<DType>,
    sides: Sides,
) -> Lane {
    let merged = merge_either(with, without, dtype, sides);
    happens.map_or(merged, |happens| {
        merged.or_guess(if happens { with } else { without })
    })
}
