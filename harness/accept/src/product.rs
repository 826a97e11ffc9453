//! Products whose order is not defined. Each of `n - 1` steps rounds once, so that a product is within `n` units in the last
//! place of the exact one. The product of some of the factors may be subnormal (which loses bits), zero or infinite, even if the
//! product of all factors is none of these. Zero times infinity is NaN. Every order has the sign of the exact product.

use cerith_tile::DType;
use cerith_tile::numeric::decode;

use super::interval::Interval;
use super::lane::Lane;
use super::precision::{self, power_of_two};
use super::sum::{Infinite, Outcomes, is_overflow};

/// A positive number, or zero, of any size.
#[derive(Clone, Copy, Debug)]
struct Large {
    /// At least 1 and less than 2, or 0.
    mantissa: f64,
    exponent: i64,
}

impl Large {
    const UNIT: Self = Self {
        mantissa: 1.0,
        exponent: 0,
    };

    fn scale(self, factor: f64) -> Self {
        // Subnormal numbers are brought into range first.
        let (factor, shift) = if factor < power_of_two(-1022) {
            (factor * power_of_two(100), 100)
        } else {
            (factor, 0)
        };
        let exponent = i64::from((factor.to_bits() >> 52 & 0x7ff) as i32 - 1023);
        if factor == 0.0 || self.mantissa == 0.0 {
            return Self {
                mantissa: 0.0,
                exponent: 0,
            };
        }
        let unit = factor
            * power_of_two(-(exponent as i32) / 2)
            * power_of_two(-(exponent as i32) - -(exponent as i32) / 2);
        let product = self.mantissa * unit;
        let carry = product >= 2.0;
        Self {
            mantissa: if carry { product / 2.0 } else { product },
            exponent: self.exponent + exponent - shift + i64::from(carry),
        }
    }

    /// The nearest `f64`: zero or infinity if the number is out of its range.
    fn value(self) -> f64 {
        let exponent = self.exponent.clamp(-1200, 1200) as i32;
        self.mantissa * power_of_two(exponent / 2) * power_of_two(exponent - exponent / 2)
    }
}

/// Factors that were multiplied so far.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Product {
    /// The least and greatest magnitude of the finite factors' exact product.
    magnitude: [Large; 2],
    /// The greatest magnitude that a product of some of the factors may have.
    max_part: Large,
    /// The least such magnitude, apart from zero.
    min_part: Large,
    /// The product of the factors' odd parts, while all of them are exact numbers.
    odd: Option<f64>,
    infinite: Infinite,
    /// Whether a factor may be zero.
    zero: bool,
    /// Whether a factor is zero.
    surely_zero: bool,
    /// Whether the product may be negative.
    negative: bool,
    /// Whether the product may be positive.
    positive: bool,
    count: f64,
    single: Option<Lane>,
    poison: bool,
}

impl Default for Product {
    fn default() -> Self {
        Self {
            magnitude: [Large::UNIT; 2],
            max_part: Large::UNIT,
            min_part: Large::UNIT,
            odd: Some(1.0),
            infinite: Infinite::default(),
            zero: false,
            surely_zero: false,
            negative: false,
            positive: true,
            count: 0.0,
            single: None,
            poison: false,
        }
    }
}

/// The odd part of a number's significand: the significand without its trailing zero bits.
fn odd_part(value: f64) -> f64 {
    let bits = value.to_bits() & !(1 << 63);
    let fraction = bits & ((1 << 52) - 1);
    let significand = if bits >> 52 == 0 {
        fraction
    } else {
        fraction | 1 << 52
    };
    (significand >> significand.trailing_zeros().min(63)) as f64
}

impl Product {
    pub(super) fn multiply(&mut self, lane: Lane, dtype: DType) {
        if lane == Lane::Poison {
            self.poison = true;
            return;
        }
        self.count += 1.0;
        self.single = (self.count == 1.0).then_some(lane.plain());
        let factor = lane.to_interval(dtype);
        if !factor.only_nan() {
            let (may_fall, may_rise) = (factor.low < 0.0, factor.high > 0.0);
            (self.negative, self.positive) = (
                self.negative && may_rise || self.positive && may_fall,
                self.positive && may_rise || self.negative && may_fall,
            );
        }
        let Some((low, high)) = self.infinite.take(factor) else {
            self.odd = None;
            return;
        };
        let least = factor.least_magnitude();
        let most = low.abs().max(high.abs());
        self.zero |= least == 0.0;
        self.surely_zero |= most == 0.0;
        self.odd = match (lane.bits(), self.odd) {
            (Some(_), Some(odd)) if most > 0.0 => Some(odd * odd_part(most)),
            (Some(_), odd) => odd,
            _ => None,
        };
        if most == 0.0 {
            return;
        }
        self.magnitude[0] = self.magnitude[0].scale(least);
        self.magnitude[1] = self.magnitude[1].scale(most);
        self.max_part = self.max_part.scale(most.max(1.0));
        // A value other than zero is at least the smallest number of the dtype.
        self.min_part = self.min_part.scale(least.max(decode(dtype, 1)).min(1.0));
    }

    /// The possible products in any order.
    pub(super) fn to_lane(self, dtype: DType) -> Lane {
        if self.poison {
            return Lane::Poison;
        }
        if let Some(single) = self.single {
            return single;
        }
        let infinite = self.infinite;
        let surely_infinite = infinite.surely_above || infinite.surely_below;
        if infinite.surely_nan || surely_infinite && self.surely_zero {
            return Interval::NAN.to_lane(dtype);
        }
        let bits = precision::count_bits(dtype);
        let smallest = decode(dtype, 1);
        let slack = self.count * power_of_two(1 - bits);
        let exact = self.odd.is_some_and(|odd| odd <= power_of_two(bits));
        let error = if exact { 0.0 } else { slack };
        let over = {
            let most = self.max_part.scale(1.0 + error);
            let scaled = Large {
                exponent: most.exponent - 64,
                ..most
            };
            is_overflow(most.value(), scaled.value(), dtype)
        };
        let least = self.min_part.scale((1.0 - error).max(0.0));
        // Below the smallest normal number, a product of some factors loses bits, and may become zero.
        let subnormal = least.value() < smallest * power_of_two(bits - 1);
        // A step that does not produce zero loses at most a third: 1.5 times the smallest number may round to the smallest
        // number. The last step may then round half of the smallest number to zero.
        let kept = |steps: f64| {
            if subnormal {
                (2.0f64 / 3.0).powf(steps)
            } else {
                1.0
            }
        };
        let vanishes = least.scale(2.0 * kept(self.count - 2.0)).value() <= smallest;
        let may_be_infinite = over || infinite.above || infinite.below;
        let may_be_zero = vanishes || self.zero;
        let nan = infinite.nan || may_be_infinite && may_be_zero;
        let magnitudes = if self.surely_zero {
            Some((0.0, 0.0))
        } else if surely_infinite {
            None
        } else {
            let (low, high) = (self.magnitude[0], self.magnitude[1]);
            // A step with a subnormal result is off by at most the smallest number, and the other factors multiply this error.
            // Such a step at most doubles its exact result.
            let lost = if subnormal {
                self.max_part.scale(self.count * smallest).value()
            } else {
                0.0
            };
            let doublings = power_of_two(if subnormal {
                self.count.min(1000.0) as i32
            } else {
                0
            });
            let most =
                (high.scale(1.0 + error).value() + lost).min(high.scale(doublings * (1.0 + error)).value());
            let fewest = (low.scale((1.0 - error).max(0.0)).value() - lost)
                .max(low.scale((1.0 - error).max(0.0) * kept(self.count - 1.0)).value());
            Some((if may_be_zero { 0.0 } else { fewest.max(0.0) }, most))
        };
        let may_overflow = |sign: bool| sign && !self.surely_zero && may_be_infinite;
        let finite = magnitudes.map(|(low, high)| match (self.negative, self.positive) {
            (true, true) => (-high, high),
            (true, false) => (-high, -low),
            _ => (low, high),
        });
        Outcomes {
            finite,
            above: may_overflow(self.positive),
            below: may_overflow(self.negative),
            nan,
            rounded: exact,
        }
        .to_lane(dtype)
    }
}
