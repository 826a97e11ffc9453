//! Sums whose order is not defined. Whatever the order, a sum of `n` terms with each step rounded is within about
//! `n u Σ|x|` of the exact one (Higham, *Accuracy and Stability of Numerical Algorithms*, 4.2), `u` being half an ULP
//! of 1. Where all terms are multiples of one power of two and small enough, every order is exact.

use conch_tile::DType;
use conch_tile::ir::Rounding;
use conch_tile::numeric::{decode, encode};

use super::contract::unrounded;
use super::lane::{Interval, Lane};
use super::precision;

/// How a product uses its operands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Input {
    /// As they are.
    Whole,
    /// With the 11 bits of `tf32`, rounded either way or not at all.
    Tf32,
    /// As sums of numbers of so many bits, whose smallest products are left out: off by this part of the product.
    Split {
        /// Operands of at most this many bits are used as they are.
        bits: i32,
        /// The part.
        relative: f64,
    },
}

/// Terms that were added so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sum {
    total: Interval,
    /// Sum of the terms' largest magnitudes.
    magnitude: f64,
    count: f64,
    /// The most that a term is at least, while no term is negative: no order makes a sum less, as rounding keeps the order
    /// of numbers.
    floor: Option<f64>,
    /// The exponent of the smallest bit that any term has, while all terms are exact numbers.
    quantum: Option<i32>,
    /// The only term so far, when it is one.
    single: Option<Lane>,
    /// Errors that come beside those of the steps: relative to the magnitude.
    inherited: f64,
    /// How many bits these errors leave.
    inherited_bits: i32,
    poison: bool,
}

impl Default for Sum {
    fn default() -> Self {
        Self {
            total: Interval::point(0.0),
            magnitude: 0.0,
            count: 0.0,
            floor: Some(0.0),
            quantum: Some(i32::MAX),
            single: None,
            inherited: 0.0,
            inherited_bits: i32::MAX,
            poison: false,
        }
    }
}

/// The exponent of the smallest bit of a number; `None` of an infinity or NaN.
fn lowest_bit(value: f64) -> Option<i32> {
    if value == 0.0 {
        return Some(i32::MAX);
    }
    if !value.is_finite() {
        return None;
    }
    let bits = value.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i32;
    let fraction = bits & ((1 << 52) - 1);
    let significand = if exponent == 0 {
        fraction
    } else {
        fraction | (1 << 52)
    };
    Some(exponent.max(1) - 1075 + significand.trailing_zeros() as i32)
}

impl Sum {
    /// Adds a term.
    pub(crate) fn add(&mut self, lane: Lane, dtype: DType) {
        if lane == Lane::Poison {
            self.poison = true;
            return;
        }
        let term = unrounded(dtype, lane);
        let exact = if term.low == term.high {
            lowest_bit(term.low)
        } else {
            None
        };
        self.term(term, exact.filter(|_| lane.bits().is_some()));
        self.single = (self.count == 1.0).then_some(lane);
    }

    /// Adds the product of two lanes, whose operands are used as `input` says.
    pub(crate) fn add_product(&mut self, x: Lane, y: Lane, dtype: DType, input: Input) {
        if x == Lane::Poison || y == Lane::Poison {
            self.poison = true;
            return;
        }
        let (mut a, mut b) = (x.interval(dtype), y.interval(dtype));
        let (bits, relative) = match input {
            Input::Whole => (26, 0.0),
            Input::Tf32 => {
                (a, b) = (a.to_tf32(), b.to_tf32());
                (11, 0.0)
            }
            Input::Split { bits, relative } => (bits, relative),
        };
        let narrow = |lane: Lane| {
            let value = decode(dtype, lane.bits()?);
            let lowest = lowest_bit(value)?;
            if value == 0.0 {
                return Some(i32::MAX);
            }
            (value.abs() < precision::power_of_two(lowest.saturating_add(bits).min(1023))).then_some(lowest)
        };
        let exact = narrow(x).zip(narrow(y)).map(|(x, y)| x.saturating_add(y));
        let mut product = if a.only_nan() || b.only_nan() {
            Interval::NAN
        } else if a.low == a.high && b.low == b.high && !a.nan && !b.nan {
            // Factors of at most 26 bits have an exact product.
            let value = a.low * b.low;
            if dtype == DType::F64 {
                Interval::point(value).outward()
            } else {
                Interval::point(value)
            }
        } else {
            super::float::product(a, b)
        };
        if relative != 0.0 && exact.is_none() {
            product = product.widened(product.magnitude() * relative);
        }
        self.term(product, exact.filter(|_| dtype != DType::F64));
    }

    fn term(&mut self, term: Interval, lowest: Option<i32>) {
        let (low, high) = (self.total.low + term.low, self.total.high + term.high);
        let nan = self.total.nan || term.nan || low.is_nan() || high.is_nan();
        let ends = |x: f64, other: f64| if x.is_nan() { other } else { x };
        self.total = Interval {
            low: ends(low, f64::NEG_INFINITY),
            high: ends(high, f64::INFINITY),
            nan,
        };
        if term.only_nan() {
            self.total = Interval::NAN;
        }
        self.floor = self
            .floor
            .filter(|_| term.low >= 0.0)
            .map(|floor| floor.max(term.low));
        self.magnitude += term.magnitude();
        self.count += 1.0;
        self.quantum = self.quantum.zip(lowest).map(|(a, b)| a.min(b));
    }

    /// Says that the sum is off by this part of the terms' magnitudes, unless `bits` bits hold every partial sum.
    pub(crate) fn inherit(&mut self, relative: f64, bits: i32) {
        self.inherited = relative;
        self.inherited_bits = bits;
    }

    /// What the sum may be, when each step is rounded to `bits` bits and the result to `dtype`.
    pub(crate) fn result(&self, dtype: DType, bits: i32) -> Lane {
        if self.poison {
            return Lane::Poison;
        }
        if let Some(single) = self.single {
            return single;
        }
        if self.total.only_nan() {
            return Interval::NAN.lane(dtype);
        }
        if self.total.low == self.total.high && self.total.low.is_infinite() && !self.total.nan {
            return self.total.lane(dtype);
        }
        if let Some(quantum) = self.quantum {
            let fits = quantum == i32::MAX
                || self.magnitude
                    <= precision::power_of_two(
                        quantum.saturating_add(bits.min(self.inherited_bits)).min(1023),
                    );
            let value = self.total.low;
            // What every order computes exactly is then rounded once, to the result's dtype.
            if fits && value == self.total.high && !self.total.nan {
                let rounded = encode(dtype, value, Rounding::NearestEven);
                return Interval::point(decode(dtype, rounded)).lane(dtype);
            }
        }
        let unit = precision::power_of_two(-bits);
        // The second part is the rounding of this computation itself.
        let error = self.magnitude
            * (self.count * unit * 1.01 + self.inherited + self.count * precision::power_of_two(-52));
        let error = if error.is_nan() { f64::INFINITY } else { error };
        let largest = largest(dtype);
        let spread = |value: f64| if value.is_nan() { f64::INFINITY } else { value };
        let mut wide = Interval {
            low: -spread(-(self.total.low - error)),
            high: spread(self.total.high + error),
            nan: self.total.nan,
        };
        if let Some(floor) = self.floor {
            // Steps that cut off lose some of the largest term as well.
            let kept = 1.0 - 2.0 * self.count * unit - self.inherited;
            wide.low = wide.low.max(floor * kept.max(0.0));
        }
        // Partial sums may overflow where the whole does not.
        if self.magnitude + error > largest && self.magnitude.is_finite() {
            wide = Interval::EVERYTHING;
        }
        wide.rounded(dtype, Rounding::NearestEven).lane(dtype)
    }

    /// The sum of one dtype, each step rounded to it.
    pub(crate) fn of(&self, dtype: DType) -> Lane {
        self.result(dtype, precision::bits(dtype))
    }
}

/// The largest finite number of a dtype.
pub(super) fn largest(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::MAX,
        DType::F32 | DType::BF16 => f64::from(f32::MAX),
        DType::F16 => 65504.0,
        _ => 240.0,
    }
}
