//! The integer dtypes, `i1` included.

use super::element::Element;
use crate::fault::{Fault, is_planted};

/// An integer dtype. All arithmetic wraps.
pub(super) trait Int: Element + Ord {
    const BITS: u32;
    const SIGNED: bool;
    const ZERO: Self;
    const ALL_ONES: Self;
    const LOWEST: Self;
    /// The lowest value, one below it (or the same, where a double cannot tell), and one past the highest.
    const LEAST: f64;
    const BELOW: f64 = Self::LEAST - 1.0;
    const END: f64;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// Quotient toward zero. The caller has excluded a zero divisor and an overflowing pair.
    fn divide(self, divisor: Self) -> Self;
    /// Remainder with the dividend's sign. The caller has excluded what `quotient` excludes.
    fn remainder(self, divisor: Self) -> Self;
    /// The high half of the product of the bits, read as unsigned.
    fn mulhi(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    /// The bits as an unsigned shift count, if it is below the width.
    fn count(self) -> Option<u32>;
    /// The shift count is below the width.
    fn shl(self, count: u32) -> Self;
    fn shr(self, count: u32) -> Self;
    fn lshr(self, count: u32) -> Self;
    /// The low 64 bits of the value, extended by the rules of a cast (`i1` is never negative there).
    fn extend(self) -> u64;
    /// The low bits.
    fn truncate(bits: u64) -> Self;
    /// From a number in range, toward zero.
    fn truncate_double(value: f64) -> Self;
    /// To nearest even.
    fn to_f32(self) -> f32;
    fn to_f64(self) -> f64;
}

macro_rules! int {
    ($($ty:ident $unsigned:ident $wide:ident $signed:literal;)+) => { $(
        impl Element for $ty {
            type Raw = $unsigned;
            #[inline(always)]
            fn from_raw(raw: $unsigned) -> Self {
                raw as Self
            }
            #[inline(always)]
            fn raw(self) -> $unsigned {
                self as $unsigned
            }
        }

        impl Int for $ty {
            const BITS: u32 = Self::BITS;
            const SIGNED: bool = $signed;
            const ZERO: Self = 0;
            const ALL_ONES: Self = !0;
            const LOWEST: Self = Self::MIN;
            const LEAST: f64 = Self::MIN as f64;
            const END: f64 = if $signed { -(Self::MIN as f64) } else { 2.0 * (1u64 << (Self::BITS - 1)) as f64 };
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn divide(self, divisor: Self) -> Self {
                if is_planted(Fault::DivisionFloors) { return self.checked_div_euclid(divisor).unwrap_or(0); }
                self.checked_div(divisor).unwrap_or(0)
            }
            #[inline(always)]
            fn remainder(self, divisor: Self) -> Self {
                if is_planted(Fault::RemainderIsPositive) { return self.checked_rem_euclid(divisor).unwrap_or(0); }
                self.checked_rem(divisor).unwrap_or(0)
            }
            #[inline(always)]
            fn mulhi(self, other: Self) -> Self {
                if is_planted(Fault::HighProductIsSigned) {
                    let signed = |x: Self| (x as i128) << (i128::BITS - Self::BITS) >> (i128::BITS - Self::BITS);
                    return (signed(self).wrapping_mul(signed(other)) >> Self::BITS) as Self;
                }
                ((self as $unsigned as $wide).wrapping_mul(other as $unsigned as $wide) >> Self::BITS) as Self
            }
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
            #[inline(always)]
            fn count(self) -> Option<u32> {
                let count = self as $unsigned;
                (count < Self::BITS as $unsigned).then_some(count as u32)
            }
            #[inline(always)]
            fn shl(self, count: u32) -> Self {
                self.wrapping_shl(count)
            }
            #[inline(always)]
            fn shr(self, count: u32) -> Self {
                if is_planted(Fault::ShiftRightIsLogical) { return self.lshr(count); }
                self.wrapping_shr(count)
            }
            #[inline(always)]
            fn lshr(self, count: u32) -> Self {
                (self as $unsigned).wrapping_shr(count) as Self
            }
            #[inline(always)]
            fn extend(self) -> u64 {
                if is_planted(Fault::WideningForgetsSign) { return self as $unsigned as u64; }
                self as u64
            }
            #[inline(always)]
            fn truncate(bits: u64) -> Self {
                bits as Self
            }
            #[inline(always)]
            fn truncate_double(value: f64) -> Self {
                let value = if is_planted(Fault::FloatsRoundToIntegers) { value.round() } else { value };
                value as Self
            }
            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    )+ };
}

int! {
    i8 u8 u16 true;
    i16 u16 u32 true;
    i32 u32 u64 true;
    i64 u64 u128 true;
    u8 u8 u16 false;
    u16 u16 u32 false;
    u32 u32 u64 false;
    u64 u64 u128 false;
}

/// An `i1`, which Triton counts as unsigned: arithmetic is modulo 2, and the set bit is the larger one (`arith.addi`,
/// `cmpi ult`, `maxui`, `divui` in TTIR).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bit(u8);

impl Bit {
    #[inline(always)]
    pub(super) fn new(set: bool) -> Self {
        Self(u8::from(set))
    }
}

impl Element for Bit {
    type Raw = u8;
    #[inline(always)]
    fn from_raw(raw: u8) -> Self {
        Self(raw & 1)
    }
    #[inline(always)]
    fn raw(self) -> u8 {
        self.0
    }
}

impl Int for Bit {
    const BITS: u32 = 1;
    const SIGNED: bool = false;
    const ZERO: Self = Self(0);
    const ALL_ONES: Self = Self(1);
    const LOWEST: Self = Self(0);
    const LEAST: f64 = 0.0;
    const END: f64 = 2.0;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
    #[inline(always)]
    fn divide(self, _: Self) -> Self {
        self
    }
    #[inline(always)]
    fn remainder(self, _: Self) -> Self {
        Self(0)
    }
    #[inline(always)]
    fn mulhi(self, _: Self) -> Self {
        Self(0)
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
    #[inline(always)]
    fn count(self) -> Option<u32> {
        (self.0 == 0).then_some(0)
    }
    #[inline(always)]
    fn shl(self, _: u32) -> Self {
        self
    }
    #[inline(always)]
    fn shr(self, _: u32) -> Self {
        self
    }
    #[inline(always)]
    fn lshr(self, _: u32) -> Self {
        self
    }
    #[inline(always)]
    fn extend(self) -> u64 {
        self.0 as u64
    }
    #[inline(always)]
    fn truncate(bits: u64) -> Self {
        Self(bits as u8 & 1)
    }
    #[inline(always)]
    fn truncate_double(value: f64) -> Self {
        Self(value as u8 & 1)
    }
    #[inline(always)]
    fn to_f32(self) -> f32 {
        self.0 as f32
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self.0 as f64
    }
}
