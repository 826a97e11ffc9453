//! Python's `int`. Integers of 128 bits are stored inline; wider ones have up to [`Int::MAX_BITS`] bits.
//!
//! Conversions to floats and comparisons with them are exact.

use std::cmp::Ordering;
use std::fmt;

use num_bigint::{BigInt, Sign};
use num_integer::Integer;

use crate::error::{Error, ErrorKind, Reason};

/// A Python integer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Int(Repr);

/// `Wide` holds only integers that don't fit `Small`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Repr {
    Small(i128),
    Wide(BigInt),
}

use Repr::{Small, Wide};

impl From<i128> for Int {
    fn from(value: i128) -> Self {
        Self(Small(value))
    }
}

impl From<i32> for Int {
    fn from(value: i32) -> Self {
        Self(Small(i128::from(value)))
    }
}

impl From<bool> for Int {
    fn from(value: bool) -> Self {
        Self(Small(i128::from(value)))
    }
}

impl From<usize> for Int {
    fn from(value: usize) -> Self {
        Self::from(BigInt::from(value))
    }
}

impl From<BigInt> for Int {
    fn from(value: BigInt) -> Self {
        match i128::try_from(&value) {
            Ok(small) => Self(Small(small)),
            Err(_) => Self(Wide(value)),
        }
    }
}

impl Int {
    /// Maximum width of an integer: enough for any float and its products, and small enough that every operator is
    /// fast.
    pub const MAX_BITS: u64 = 8192;

    /// The integer, if it fits 128 bits.
    pub const fn to_i128(&self) -> Option<i128> {
        match &self.0 {
            Small(value) => Some(*value),
            Wide(_) => None,
        }
    }

    /// The integer as an index, if it fits a machine word.
    pub fn to_index(&self) -> Option<isize> {
        self.to_i128().and_then(|value| isize::try_from(value).ok())
    }

    fn wide(&self) -> BigInt {
        match &self.0 {
            Small(value) => BigInt::from(*value),
            Wide(value) => value.clone(),
        }
    }

    fn from_big(value: BigInt) -> Result<Self, Error> {
        if value.bits() > Self::MAX_BITS {
            return Err(Error::wide_int(Self::MAX_BITS));
        }
        Ok(Self::from(value))
    }

    /// Whether it is 0.
    pub const fn is_zero(&self) -> bool {
        matches!(self.0, Small(0))
    }

    /// Whether it is below 0.
    pub fn is_negative(&self) -> bool {
        match &self.0 {
            Small(value) => *value < 0,
            Wide(value) => value.sign() == Sign::Minus,
        }
    }

    /// Bits of the magnitude: `int.bit_length`.
    pub fn bits(&self) -> u64 {
        match &self.0 {
            Small(value) => u64::from(128 - value.unsigned_abs().leading_zeros()),
            Wide(value) => value.bits(),
        }
    }

    fn apply(
        &self,
        other: &Self,
        small: impl FnOnce(i128, i128) -> Option<i128>,
        wide: impl FnOnce(BigInt, BigInt) -> BigInt,
    ) -> Result<Self, Error> {
        if let (Small(a), Small(b)) = (&self.0, &other.0)
            && let Some(value) = small(*a, *b)
        {
            return Ok(Self(Small(value)));
        }
        Self::from_big(wide(self.wide(), other.wide()))
    }

    /// `self + other`.
    pub fn checked_add(&self, other: &Self) -> Result<Self, Error> {
        self.apply(other, i128::checked_add, |a, b| a + b)
    }

    /// `self - other`.
    pub fn checked_sub(&self, other: &Self) -> Result<Self, Error> {
        self.apply(other, i128::checked_sub, |a, b| a - b)
    }

    /// `self * other`.
    pub fn checked_mul(&self, other: &Self) -> Result<Self, Error> {
        self.apply(other, i128::checked_mul, |a, b| a * b)
    }

    /// `self & other`.
    pub fn and(&self, other: &Self) -> Result<Self, Error> {
        self.apply(other, |a, b| Some(a & b), |a, b| a & b)
    }

    /// `self | other`.
    pub fn or(&self, other: &Self) -> Result<Self, Error> {
        self.apply(other, |a, b| Some(a | b), |a, b| a | b)
    }

    /// `self ^ other`.
    pub fn xor(&self, other: &Self) -> Result<Self, Error> {
        self.apply(other, |a, b| Some(a ^ b), |a, b| a ^ b)
    }

    /// `-self`.
    pub fn negated(&self) -> Result<Self, Error> {
        Self::from(0).checked_sub(self)
    }

    /// `~self`.
    pub fn inverted(&self) -> Result<Self, Error> {
        Self::from(-1).checked_sub(self)
    }

    /// `abs(self)`.
    pub fn magnitude(&self) -> Result<Self, Error> {
        if self.is_negative() {
            self.negated()
        } else {
            Ok(self.clone())
        }
    }

    /// `self // other` and `self % other`: rounded down, the remainder with the divisor's sign. `None` for a divisor of 0.
    pub fn floor_div_mod(&self, other: &Self) -> Option<(Self, Self)> {
        if other.is_zero() {
            return None;
        }
        if let (Small(a), Small(b)) = (&self.0, &other.0)
            && let (Some(quotient), Some(rest)) = (a.checked_div(*b), a.checked_rem(*b))
        {
            return Some(if rest != 0 && (rest < 0) != (*b < 0) {
                ((quotient - 1).into(), (rest + b).into())
            } else {
                (quotient.into(), rest.into())
            });
        }
        let (quotient, rest) = self.wide().div_mod_floor(&other.wide());
        Some((quotient.into(), rest.into()))
    }

    /// `self ** exponent`, which is not negative.
    pub fn checked_pow(&self, exponent: &Self) -> Result<Self, Error> {
        match (&self.0, &exponent.0) {
            (_, Small(0)) => return Ok(Self::from(1)),
            (Small(0 | 1), _) => return Ok(self.clone()),
            (Small(-1), _) => {
                let odd = exponent.and(&Self::from(1))?.to_i128() == Some(1);
                return Ok(Self::from(if odd { -1 } else { 1 }));
            }
            _ => {}
        }
        let too_wide = || Error::wide_int(Self::MAX_BITS);
        let count = exponent
            .to_i128()
            .and_then(|count| u32::try_from(count).ok())
            .ok_or_else(too_wide)?;
        if let Small(base) = self.0
            && let Some(power) = base.checked_pow(count)
        {
            return Ok(Self(Small(power)));
        }
        // The result has at least this many bits.
        if (self.bits() - 1).saturating_mul(u64::from(count)) >= Self::MAX_BITS {
            return Err(too_wide());
        }
        Self::from_big(self.wide().pow(count))
    }

    /// `pow(self, exponent, modulus)`.
    pub fn power_modulo(&self, exponent: &Self, modulus: &Self) -> Result<Self, Error> {
        if modulus.is_zero() {
            return Err(Error::of_value(
                Reason::Argument,
                "pow() 3rd argument cannot be 0",
            ));
        }
        let modulus = modulus.wide();
        let (mut base, mut exponent) = (self.wide(), exponent.wide());
        if exponent.sign() == Sign::Minus {
            base = base.modinv(&modulus).ok_or_else(|| {
                Error::of_value(Reason::Argument, "base is not invertible for the given modulus")
            })?;
            exponent = -exponent;
        }
        Ok(base.modpow(&exponent, &modulus).into())
    }

    /// `self << count`.
    pub fn shifted_left(&self, count: &Self) -> Result<Self, Error> {
        if count.is_negative() {
            return Err(negative_shift());
        }
        if self.is_zero() {
            return Ok(self.clone());
        }
        let count = count
            .to_i128()
            .and_then(|count| u32::try_from(count).ok())
            .filter(|count| self.bits() + u64::from(*count) <= Self::MAX_BITS)
            .ok_or_else(|| Error::wide_int(Self::MAX_BITS))?;
        if let Small(value) = self.0
            && self.bits() + u64::from(count) < 127
        {
            return Ok(Self(Small(value << count)));
        }
        Self::from_big(self.wide() << count)
    }

    /// `self >> count`.
    pub fn shifted_right(&self, count: &Self) -> Result<Self, Error> {
        if count.is_negative() {
            return Err(negative_shift());
        }
        let count = count
            .to_i128()
            .and_then(|count| u32::try_from(count).ok())
            .unwrap_or(u32::MAX);
        Ok(match &self.0 {
            Small(value) => Self(Small(value >> count.min(127))),
            Wide(value) => (value >> count).into(),
        })
    }

    /// The nearest float, ties to even. `OverflowError` if it is too large.
    pub fn to_float(&self) -> Result<f64, Error> {
        let too_large = || Error::overflow("int too large to convert to float");
        match &self.0 {
            Small(value) => Ok(*value as f64),
            Wide(value) => {
                let magnitude = value.magnitude();
                let shift = magnitude.bits() - 64;
                let top = u64::try_from(magnitude >> shift).unwrap_or(u64::MAX);
                // A sticky bit represents all truncated bits.
                let sticky = u64::from(magnitude.trailing_zeros().is_some_and(|zeros| zeros < shift));
                let float = round_to_f64(top | sticky, shift as i64);
                if float.is_infinite() {
                    return Err(too_large());
                }
                Ok(if value.sign() == Sign::Minus {
                    -float
                } else {
                    float
                })
            }
        }
    }

    /// The fraction below 1 and the power of 2 whose product is an integer above 0.
    pub(crate) fn scaled(&self) -> (f64, u64) {
        let bits = self.bits();
        let top = self.wide() >> bits.saturating_sub(64);
        let top = u64::try_from(top).unwrap_or(u64::MAX);
        (top as f64 * power_of_two(-64), bits)
    }

    /// Truncates a float to an integer; `None` for NaN and infinities.
    pub fn from_float(float: f64) -> Option<Self> {
        if !float.is_finite() {
            return None;
        }
        if float.abs() < 2f64.powi(126) {
            return Some(Self(Small(float as i128)));
        }
        let bits = float.to_bits();
        let exponent = (bits >> 52 & 0x7ff) as i64 - 1075;
        let mantissa = (bits & ((1 << 52) - 1)) | 1 << 52;
        let magnitude = BigInt::from(mantissa) << exponent.max(0) as u64;
        Some(if float < 0.0 { -magnitude } else { magnitude }.into())
    }

    /// `self / other`, rounded once.
    pub fn true_div(&self, other: &Self) -> Result<f64, Error> {
        if other.is_zero() {
            return Err(Error::zero_division("division by zero"));
        }
        let exact = |value: &Self| {
            value
                .to_i128()
                .filter(|value| value.unsigned_abs() <= 1 << 53)
                .map(|value| value as f64)
        };
        if let (Some(a), Some(b)) = (exact(self), exact(other)) {
            return Ok(a / b);
        }
        let negative = self.is_negative() != other.is_negative();
        let (a, b) = (self.wide(), other.wide());
        let (a, b) = (a.magnitude(), b.magnitude());
        // The quotient is truncated to 62 or 63 bits; the last bit is sticky.
        let shift = 62 - (a.bits() as i64 - b.bits() as i64);
        let (scaled, divisor) = if shift >= 0 {
            (a << shift as u64, b.clone())
        } else {
            (a.clone(), b << shift.unsigned_abs())
        };
        let (quotient, rest) = scaled.div_rem(&divisor);
        let quotient = u64::try_from(quotient).unwrap_or(u64::MAX) | u64::from(rest.bits() != 0);
        let float = round_to_f64(quotient, -shift);
        if float.is_infinite() {
            return Err(Error::overflow("integer division result too large for a float"));
        }
        Ok(if negative { -float } else { float })
    }

    /// Compares an integer with a float exactly; `None` for NaN.
    pub fn compare_float(&self, float: f64) -> Option<Ordering> {
        if float.is_nan() {
            return None;
        }
        let Some(whole) = Self::from_float(float) else {
            return Some(if float > 0.0 {
                Ordering::Less
            } else {
                Ordering::Greater
            });
        };
        Some(
            self.cmp(&whole)
                .then_with(|| 0.0f64.partial_cmp(&float.fract()).unwrap_or(Ordering::Equal)),
        )
    }

    /// Parses digits in a base from 2 to 36, without any other characters.
    pub fn from_digits(digits: &str, base: u32) -> Result<Option<Self>, Error> {
        if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(base)) {
            return Ok(None);
        }
        if let Ok(small) = i128::from_str_radix(digits, base) {
            return Ok(Some(Self(Small(small))));
        }
        let significant = digits.trim_start_matches('0');
        if significant.len() as u64 > Self::MAX_BITS {
            return Err(Error::wide_int(Self::MAX_BITS));
        }
        match BigInt::parse_bytes(significant.as_bytes(), base) {
            Some(value) => Self::from_big(value).map(Some),
            None => Ok(None),
        }
    }
}

impl PartialOrd for Int {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Int {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Small(a), Small(b)) => a.cmp(b),
            _ => self.wide().cmp(&other.wide()),
        }
    }
}

impl fmt::Display for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Small(value) => write!(f, "{value}"),
            Wide(value) => write!(f, "{value}"),
        }
    }
}

fn negative_shift() -> Error {
    Error::new(ErrorKind::Value, Reason::Other, "negative shift count")
}

/// `2 ** exponent`, exactly; 0 below the range of floats, and infinity above it.
fn power_of_two(exponent: i64) -> f64 {
    match exponent {
        1024.. => f64::INFINITY,
        -1022..1024 => f64::from_bits(((exponent + 1023) as u64) << 52),
        -1074..-1022 => f64::from_bits(1 << (exponent + 1074)),
        _ => 0.0,
    }
}

/// `significand * 2 ** exponent` as the nearest float, ties to even. The significand has at least 55 bits.
fn round_to_f64(significand: u64, exponent: i64) -> f64 {
    let bits = i64::from(64 - significand.leading_zeros());
    // Subnormal floats have fewer bits.
    let held = (bits + exponent + 1074).min(53);
    if held < 0 {
        return 0.0;
    }
    let drop = bits - held;
    if drop <= 0 {
        return significand as f64 * power_of_two(exponent);
    }
    let (kept, rest) = if drop >= 64 {
        (0, significand)
    } else {
        (significand >> drop, significand & ((1 << drop) - 1))
    };
    let half = 1u64 << (drop - 1).min(63);
    let up = rest > half || (rest == half && kept & 1 == 1);
    if bits + exponent > 1024 {
        return f64::INFINITY;
    }
    (kept + u64::from(up)) as f64 * power_of_two(exponent + drop)
}
