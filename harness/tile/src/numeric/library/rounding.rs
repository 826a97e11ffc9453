//! Arithmetic with directed rounding: exact, then rounded once, for all operands.

use std::cmp::Ordering;

/// Which way a result that is not exact is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `_rn`: to nearest, ties to even.
    Nearest,
    /// `_rz`: toward zero.
    Zero,
    /// `_rd`: toward negative infinity.
    Down,
    /// `_ru`: toward positive infinity.
    Up,
}

impl Direction {
    /// The integral number that a number is rounded to.
    pub fn round_to_integral(self, value: f64) -> f64 {
        match self {
            Self::Nearest => value.round_ties_even(),
            Self::Zero => value.trunc(),
            Self::Down => value.floor(),
            Self::Up => value.ceil(),
        }
    }

    /// Whether a magnitude is rounded to the greater of its two neighbours, given the comparison of the part below the
    /// last place with half a unit; `None` if that part is zero.
    fn is_away(self, negative: bool, odd: bool, below: Option<Ordering>) -> bool {
        match self {
            Self::Nearest => match below {
                Some(Ordering::Greater) => true,
                Some(Ordering::Equal) => odd,
                _ => false,
            },
            Self::Zero => false,
            Self::Down => negative && below.is_some(),
            Self::Up => !negative && below.is_some(),
        }
    }
}

/// A float type that results are rounded to: `f32` and `f64`.
pub trait Format: Copy {
    /// Bits of the significand, the leading one included.
    const DIGITS: u32;
    /// The exponent of the last place of subnormal numbers.
    const LEAST: i32;
    /// The largest finite number.
    const LARGEST: Self;
    /// The same number as a double.
    fn widen(self) -> f64;
    /// A number of so many units, times a power of two; exact.
    fn assemble(units: u64, exponent: i32, negative: bool) -> Self;
    /// The number nearest to a double.
    fn from_f64(value: f64) -> Self;
}

macro_rules! format {
    ($ty:ident $raw:ident $least:literal) => {
        impl Format for $ty {
            const DIGITS: u32 = $ty::MANTISSA_DIGITS;
            const LEAST: i32 = $least;
            const LARGEST: Self = $ty::MAX;
            fn widen(self) -> f64 {
                f64::from(self)
            }
            fn assemble(units: u64, exponent: i32, negative: bool) -> Self {
                let sign = $raw::from(negative) << ($raw::BITS - 1);
                let hidden = 1u64 << ($ty::MANTISSA_DIGITS - 1);
                // A subnormal number has the exponent bits of zero; a carry out of its units makes it normal by itself.
                let bits = if units < hidden {
                    units
                } else {
                    (((exponent - $least) as u64) << ($ty::MANTISSA_DIGITS - 1)) + units
                };
                $ty::from_bits(bits as $raw | sign)
            }
            fn from_f64(value: f64) -> Self {
                value as Self
            }
        }
    };
}

format!(f32 u32 -149);
format!(f64 u64 -1074);

/// A number other than zero, exact except for the part below its last bit.
#[derive(Clone, Copy, Debug)]
struct Exact {
    negative: bool,
    units: u128,
    exponent: i32,
    /// Whether something was cut off.
    sticky: bool,
}

impl Exact {
    /// A finite number.
    fn from_f64(value: f64) -> Self {
        let bits = value.to_bits();
        let (field, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
        let units = if field == 0 { fraction } else { fraction | 1 << 52 };
        Self {
            negative: value.is_sign_negative(),
            units: units.into(),
            exponent: field.max(1) - 1075,
            sticky: false,
        }
    }

    fn of_int(value: i128) -> Self {
        Self {
            negative: value < 0,
            units: value.unsigned_abs(),
            exponent: 0,
            sticky: false,
        }
    }

    /// The exponent of the leading bit.
    fn top(self) -> i32 {
        self.exponent + 127 - self.units.leading_zeros() as i32
    }

    /// Shifts the leading bit to a given place.
    fn align_to(self, place: u32) -> Self {
        let lead = self.units.checked_ilog2().unwrap_or(0);
        if lead <= place {
            return Self {
                units: self.units << (place - lead),
                exponent: self.exponent - (place - lead) as i32,
                ..self
            };
        }
        self.shift_right(lead - place)
    }

    /// Shifts right, with a sticky last bit.
    fn shift_right(self, bits: u32) -> Self {
        let (units, lost) = if bits >= 128 {
            (0, self.units != 0)
        } else {
            (self.units >> bits, self.units & ((1 << bits) - 1) != 0)
        };
        Self {
            units,
            exponent: self.exponent.saturating_add_unsigned(bits),
            sticky: self.sticky || lost,
            ..self
        }
    }

    /// The sum of two exact numbers; `None` when it is zero.
    fn add(self, other: Self) -> Option<Self> {
        if self.units == 0 || other.units == 0 {
            return Some(if self.units == 0 { other } else { self }).filter(|sum| sum.units != 0);
        }
        let (large, small) = if self.top() >= other.top() {
            (self, other)
        } else {
            (other, self)
        };
        // At most 106 bits: anything below bit 0 is far below the leading bit of the sum.
        let large = large.align_to(125);
        let small = small.align_to(125);
        let small = small.shift_right(large.exponent.abs_diff(small.exponent));
        let sum = if large.negative == small.negative {
            Self {
                units: large.units + small.units,
                sticky: small.sticky,
                ..large
            }
        } else if large.units >= small.units {
            // The truncated part is subtracted too.
            Self {
                units: large.units - small.units - u128::from(small.sticky),
                sticky: small.sticky,
                ..large
            }
        } else {
            Self {
                units: small.units - large.units,
                negative: small.negative,
                ..large
            }
        };
        Some(sum).filter(|sum| sum.units != 0 || sum.sticky)
    }

    fn mul(self, other: Self) -> Self {
        Self {
            negative: self.negative != other.negative,
            units: self.units * other.units,
            exponent: self.exponent + other.exponent,
            sticky: false,
        }
    }

    fn div(self, other: Self) -> Self {
        let (x, y) = (self.align_to(125), other.align_to(52));
        Self {
            negative: self.negative != other.negative,
            units: x.units / y.units,
            exponent: x.exponent - y.exponent,
            sticky: x.units % y.units != 0,
        }
    }

    fn root(self) -> Self {
        let x = self.align_to(124);
        let x = if x.exponent % 2 == 0 {
            x
        } else {
            self.align_to(123)
        };
        let root = x.units.isqrt();
        Self {
            negative: false,
            units: root,
            exponent: x.exponent / 2,
            sticky: root * root != x.units,
        }
    }

    fn round_to<F: Format>(self, direction: Direction) -> F {
        if self.units == 0 {
            return F::assemble(0, F::LEAST, self.negative);
        }
        // The last place of the result.
        let last = (self.top() + 1 - F::DIGITS as i32).max(F::LEAST);
        let below = last - self.exponent;
        if below <= 0 {
            let units = self.units << below.unsigned_abs();
            return finish(units as u64, last, self.negative, direction);
        }
        let kept = self.shift_right(below as u32 - 1);
        let below = match (kept.units & 1 == 1, kept.sticky) {
            (false, false) => None,
            (false, true) => Some(Ordering::Less),
            (true, false) => Some(Ordering::Equal),
            (true, true) => Some(Ordering::Greater),
        };
        let units = (kept.units >> 1) as u64;
        let up = direction.is_away(self.negative, units & 1 == 1, below);
        finish(units + u64::from(up), last, self.negative, direction)
    }
}

fn finish<F: Format>(units: u64, last: i32, negative: bool, direction: Direction) -> F {
    // Rounding up may have carried into one more bit.
    let (units, last) = if units >> F::DIGITS == 1 {
        (units >> 1, last + 1)
    } else {
        (units, last)
    };
    let top = last + F::DIGITS as i32 - 1;
    let limit = 2 - F::LEAST - F::DIGITS as i32;
    if units >> (F::DIGITS - 1) == 1 && top > limit {
        let infinite = match direction {
            Direction::Nearest => true,
            Direction::Zero => false,
            Direction::Down => negative,
            Direction::Up => !negative,
        };
        let sign = if negative { -1.0 } else { 1.0 };
        return F::from_f64(
            sign * if infinite {
                f64::INFINITY
            } else {
                F::LARGEST.widen()
            },
        );
    }
    F::assemble(units, last, negative)
}

/// An exact result of zero: negative where both terms are, or where rounding goes down.
fn round_zero<F: Format>(x: f64, y: f64, direction: Direction) -> F {
    let negative = match (x.is_sign_negative(), y.is_sign_negative()) {
        (true, true) => true,
        (false, false) => false,
        _ => direction == Direction::Down,
    };
    F::from_f64(if negative { -0.0 } else { 0.0 })
}

/// The sum.
pub fn add<F: Format>(x: F, y: F, direction: Direction) -> F {
    let (x, y) = (x.widen(), y.widen());
    if !x.is_finite() || !y.is_finite() {
        return F::from_f64(x + y);
    }
    if x == 0.0 && y == 0.0 {
        return round_zero(x, y, direction);
    }
    match Exact::from_f64(x).add(Exact::from_f64(y)) {
        Some(sum) => sum.round_to(direction),
        None => round_zero(x, y, direction),
    }
}

/// The difference.
pub fn sub<F: Format>(x: F, y: F, direction: Direction) -> F {
    add(x, F::from_f64(-y.widen()), direction)
}

/// The product.
pub fn mul<F: Format>(x: F, y: F, direction: Direction) -> F {
    let (x, y) = (x.widen(), y.widen());
    if !x.is_finite() || !y.is_finite() || x == 0.0 || y == 0.0 {
        return F::from_f64(x * y);
    }
    Exact::from_f64(x).mul(Exact::from_f64(y)).round_to(direction)
}

/// The quotient.
pub fn div<F: Format>(x: F, y: F, direction: Direction) -> F {
    let (x, y) = (x.widen(), y.widen());
    if !x.is_finite() || !y.is_finite() || x == 0.0 || y == 0.0 {
        return F::from_f64(x / y);
    }
    Exact::from_f64(x).div(Exact::from_f64(y)).round_to(direction)
}

/// `x * y + z`, rounded once.
pub fn fma<F: Format>(x: F, y: F, z: F, direction: Direction) -> F {
    let (x, y, z) = (x.widen(), y.widen(), z.widen());
    if !x.is_finite() || !y.is_finite() || !z.is_finite() {
        // A finite product is never infinite, however large, so it can't cancel the addend.
        let product = if x.is_finite() && y.is_finite() {
            0.0
        } else {
            x * y
        };
        return F::from_f64(product + z);
    }
    let product = Exact::from_f64(x).mul(Exact::from_f64(y));
    let sign = if product.negative { -0.0 } else { 0.0 };
    if product.units == 0 && z == 0.0 {
        return round_zero(sign, z, direction);
    }
    match product.add(Exact::from_f64(z)) {
        Some(sum) => sum.round_to(direction),
        None => round_zero(sign, z, direction),
    }
}

/// The square root.
pub fn sqrt<F: Format>(x: F, direction: Direction) -> F {
    let value = x.widen();
    if value == 0.0 || value.is_nan() || value < 0.0 || value.is_infinite() {
        return F::from_f64(value.sqrt());
    }
    Exact::from_f64(value).root().round_to(direction)
}

/// A number in another format.
pub fn narrow<F: Format>(value: f64, direction: Direction) -> F {
    if value == 0.0 || !value.is_finite() {
        return F::from_f64(value);
    }
    Exact::from_f64(value).round_to(direction)
}

/// An integer as a float.
pub fn from_int<F: Format>(value: i128, direction: Direction) -> F {
    Exact::of_int(value).round_to(direction)
}

/// The quotient of 1 and a number.
pub fn rcp<F: Format>(x: F, direction: Direction) -> F {
    div(F::from_f64(1.0), x, direction)
}
