//! Numbers of twice the precision of `f64`, as an unevaluated sum of two: what functions are computed in that have to
//! be rounded as if exact. A relative error of some 2^-100 is left; overflow and infinities are the callers' business.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// `high + low`, where `high` is the sum rounded to `f64`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) high: f64,
    pub(super) low: f64,
}

pub(super) const LN_2: Pair = Pair::new(std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17);
pub(super) const LN_10: Pair = Pair::new(std::f64::consts::LN_10, -2.170_756_223_382_249_4e-16);
pub(super) const PI: Pair = Pair::new(std::f64::consts::PI, 1.224_646_799_147_353_2e-16);
pub(super) const LN_PI: Pair = Pair::new(1.144_729_885_849_400_2, 1.026_595_116_270_782_6e-17);
pub(super) const TWO_BY_PI: Pair = Pair::new(std::f64::consts::FRAC_2_PI, -3.935_735_335_036_497e-17);
pub(super) const SQRT_PI: Pair = Pair::new(1.772_453_850_905_516, -7.666_586_499_825_799e-17);
pub(super) const SQRT_HALF: Pair = Pair::new(std::f64::consts::FRAC_1_SQRT_2, -4.833_646_656_726_457e-17);
pub(super) const EULER: Pair = Pair::new(0.577_215_664_901_532_9, -4.942_915_152_430_645e-18);
pub(super) const HALF_LN_TAU: Pair = Pair::new(0.918_938_533_204_672_8, -3.878_294_158_067_241_4e-17);

impl Pair {
    pub(super) const ZERO: Self = Self::new(0.0, 0.0);
    pub(super) const UNIT: Self = Self::new(1.0, 0.0);
    pub(super) const NAN: Self = Self::new(f64::NAN, 0.0);

    pub(super) const fn new(high: f64, low: f64) -> Self {
        Self { high, low }
    }

    pub(super) const fn from_f64(value: f64) -> Self {
        Self::new(value, 0.0)
    }

    /// The exact sum of two numbers (Knuth).
    pub(super) fn sum(x: f64, y: f64) -> Self {
        let sum = x + y;
        let part = sum - x;
        Self::new(sum, (x - (sum - part)) + (y - part))
    }

    /// The exact product of two numbers.
    pub(super) fn exact_product(x: f64, y: f64) -> Self {
        let product = x * y;
        Self::new(product, libm::fma(x, y, -product))
    }

    fn normalise(high: f64, low: f64) -> Self {
        let sum = high + low;
        Self::new(sum, low - (sum - high))
    }

    pub(super) fn abs(self) -> Self {
        if self.high < 0.0 { -self } else { self }
    }

    pub(super) fn square(self) -> Self {
        self * self
    }

    pub(super) fn recip(self) -> Self {
        Self::UNIT / self
    }

    /// The root of a number that is not negative.
    pub(super) fn sqrt(self) -> Self {
        if self.high == 0.0 {
            return self;
        }
        let near = self.high.sqrt();
        Self::from_f64(near) + (self - Self::exact_product(near, near)) * Self::from_f64(0.5 / near)
    }

    /// Times a power of two that leaves it a normal number.
    pub(super) fn times_power_of_two(self, exponent: i32) -> Self {
        Self::new(
            libm::scalbn(self.high, exponent),
            libm::scalbn(self.low, exponent),
        )
    }

    /// Multiplies by a power of two, rounded again if the result is subnormal or infinite.
    pub(super) fn scale(self, exponent: i32) -> Self {
        let ordinary = self.high == 0.0 || {
            let sum = libm::ilogb(self.high).saturating_add(exponent);
            (-960..1023).contains(&sum)
        };
        if ordinary {
            self.times_power_of_two(exponent)
        } else {
            Self::from_f64(libm::scalbn(self.to_odd(), exponent))
        }
    }

    /// Rounded to odd: rounding that again to fewer bits rounds the pair once.
    fn to_odd(self) -> f64 {
        let bits = self.high.to_bits();
        if self.low == 0.0 || !self.high.is_finite() || bits & 1 == 1 {
            return self.high;
        }
        let away = (self.low > 0.0) == (self.high > 0.0);
        f64::from_bits(if away { bits | 1 } else { bits.wrapping_sub(1) })
    }

    /// The nearest number of single precision.
    pub(super) fn single(self) -> f32 {
        self.to_odd() as f32
    }

    /// e to the power of it, which is at most some thousand.
    pub(super) fn exp(self) -> Self {
        if self.high > 800.0 {
            return Self::from_f64(f64::INFINITY);
        }
        if self.high < -800.0 {
            return Self::ZERO;
        }
        let halvings = (self.high * std::f64::consts::LOG2_E).round();
        let rest = self - LN_2 * Self::from_f64(halvings);
        // At most 0.35: the 27th term is below 2^-130.
        let mut sum = Self::UNIT;
        for n in (1..27).rev() {
            sum = Self::UNIT + rest * sum / f64::from(n);
        }
        sum.scale(halvings as i32)
    }

    /// The natural logarithm of a positive number.
    pub(super) fn ln(self) -> Self {
        let exponent = libm::ilogb(self.high);
        let significand = self.times_power_of_two(-exponent);
        let (exponent, significand) = if significand.high > std::f64::consts::SQRT_2 {
            (exponent + 1, significand.times_power_of_two(-1))
        } else {
            (exponent, significand)
        };
        LN_2 * Self::from_f64(f64::from(exponent)) + (significand - Self::UNIT).ln_1p()
    }

    /// The natural logarithm of 1 more than it, which is more than -1.
    pub(super) fn ln_1p(self) -> Self {
        if self.high.abs() < 0.05 {
            // The series of the inverse hyperbolic tangent; its argument is at most 0.0257.
            let ratio = self / (self + Self::from_f64(2.0));
            let square = ratio.square();
            let mut sum = Self::ZERO;
            for n in (1..11).rev() {
                sum = (sum + Self::UNIT / f64::from(2 * n + 1)) * square;
            }
            return (ratio + ratio * sum) * Self::from_f64(2.0);
        }
        if self.high > 4.0 {
            return (Self::UNIT + self).ln();
        }
        // One step of Newton's method doubles the digits.
        let near = libm::log1p(self.high);
        Self::from_f64(near) + ((Self::UNIT + self) * Self::from_f64(-near).exp() - Self::UNIT)
    }

    /// Sine and cosine of it, which is at most 1 from zero.
    pub(super) fn sin_cos(self) -> (Self, Self) {
        let square = -self.square();
        let series = |first: i32| {
            let mut sum = Self::UNIT;
            for n in (1..15).rev() {
                let last = 2 * n + first;
                sum = Self::UNIT + square * sum / f64::from(last * (last - 1));
            }
            sum
        };
        (self * series(1), series(0))
    }
}

impl From<f64> for Pair {
    fn from(value: f64) -> Self {
        Self::from_f64(value)
    }
}

impl Neg for Pair {
    type Output = Self;
    fn neg(self) -> Self {
        Self::new(-self.high, -self.low)
    }
}

impl Add for Pair {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let (high, low) = (Self::sum(self.high, other.high), Self::sum(self.low, other.low));
        let first = Self::normalise(high.high, high.low + low.high);
        Self::normalise(first.high, first.low + low.low)
    }
}

impl Sub for Pair {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Pair {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let product = Self::exact_product(self.high, other.high);
        let cross = self.high * other.low + self.low * other.high;
        Self::normalise(product.high, product.low + cross)
    }
}

impl Div for Pair {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let first = self.high / other.high;
        let rest = self - other * Self::from_f64(first);
        let second = rest.high / other.high;
        let rest = rest - other * Self::from_f64(second);
        Self::normalise(first, second) + Self::from_f64(rest.high / other.high)
    }
}

/// One step of long division, whose remainder is a double.
impl Div<f64> for Pair {
    type Output = Self;
    fn div(self, other: f64) -> Self {
        let first = self.high / other;
        let rest = libm::fma(-first, other, self.high) + self.low;
        Self::normalise(first, rest / other)
    }
}
