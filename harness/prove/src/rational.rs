//! Rational numbers for the search of a proof. An overflow gives `None`, and the search gives up.

use std::cmp::Ordering;

use num_integer::Integer;

/// A fraction in lowest terms, with a positive denominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rational {
    numerator: i128,
    denominator: i128,
}

/// The common divisor. Most numbers of a search have fewer than 65 bits, for which it is several times as fast.
fn find_divisor(a: i128, b: i128) -> i128 {
    match (u64::try_from(a.unsigned_abs()), u64::try_from(b.unsigned_abs())) {
        (Ok(1), _) | (_, Ok(1)) => 1,
        (Ok(a), Ok(b)) => i128::from(a.gcd(&b)),
        _ => a.gcd(&b),
    }
}

/// The quotient by a common divisor, which is 1 more often than not.
const fn divide(number: i128, divisor: i128) -> i128 {
    if divisor == 1 { number } else { number / divisor }
}

impl Rational {
    fn new(numerator: i128, denominator: i128) -> Option<Self> {
        if denominator == 0 || numerator == i128::MIN || denominator == i128::MIN {
            return None;
        }
        let divisor = find_divisor(numerator, denominator) * denominator.signum();
        Some(Self {
            numerator: divide(numerator, divisor),
            denominator: divide(denominator, divisor),
        })
    }

    /// An integer.
    pub const fn from_integer(numerator: i128) -> Self {
        Self {
            numerator,
            denominator: 1,
        }
    }

    /// Whether it is 0.
    pub const fn is_zero(self) -> bool {
        self.numerator == 0
    }

    /// Whether it is greater than 0.
    pub const fn is_positive(self) -> bool {
        self.numerator > 0
    }

    /// The difference.
    pub fn sub(self, other: Self) -> Option<Self> {
        if self.denominator == 1 && other.denominator == 1 {
            let difference = self.numerator.checked_sub(other.numerator)?;
            return Some(Self::from_integer(difference));
        }
        // Divided by the common divisor first, numbers stay small.
        let common = find_divisor(self.denominator, other.denominator);
        let (own, others) = (
            divide(self.denominator, common),
            divide(other.denominator, common),
        );
        let left = self.numerator.checked_mul(others)?;
        let right = other.numerator.checked_mul(own)?;
        Self::new(left.checked_sub(right)?, self.denominator.checked_mul(others)?)
    }

    /// The product.
    pub fn mul(self, other: Self) -> Option<Self> {
        if self.is_zero() || other.is_zero() {
            return Some(Self::from_integer(0));
        }
        if self.denominator == 1 && other.denominator == 1 {
            let product = self.numerator.checked_mul(other.numerator)?;
            return Some(Self::from_integer(product));
        }
        let (left, right) = (
            find_divisor(self.numerator, other.denominator),
            find_divisor(other.numerator, self.denominator),
        );
        Some(Self {
            numerator: divide(self.numerator, left).checked_mul(divide(other.numerator, right))?,
            denominator: divide(self.denominator, right).checked_mul(divide(other.denominator, left))?,
        })
    }

    /// The quotient; `None` for a divisor of 0.
    pub fn div(self, other: Self) -> Option<Self> {
        self.mul(Self::new(other.denominator, other.numerator)?)
    }

    /// Which one is larger.
    pub fn compare(self, other: Self) -> Option<Ordering> {
        Some(self.sub(other)?.numerator.cmp(&0))
    }
}
