//! The dtypes as Rust types, so that one generic loop serves them all and the compiler can vectorise it.

use bytemuck::Pod;

use super::math::Native;
use super::soft::{self, Fp8Format};

/// The stored form of an element: an unsigned integer of its size.
pub(super) trait Raw:
    Pod + Eq + std::ops::BitAnd<Output = Self> + std::ops::BitOr<Output = Self> + std::ops::Not<Output = Self>
{
    fn from_u64(bits: u64) -> Self;
    fn to_u64(self) -> u64;
}

macro_rules! raw {
    ($($ty:ty)+) => { $(
        impl Raw for $ty {
            #[inline(always)]
            fn from_u64(bits: u64) -> Self {
                bits as Self
            }
            #[inline(always)]
            fn to_u64(self) -> u64 {
                self as u64
            }
        }
    )+ };
}
raw!(u8 u16 u32 u64);

/// One element of a dtype.
pub(super) trait Element: Copy + PartialEq + PartialOrd {
    type Raw: Raw;
    fn of(raw: Self::Raw) -> Self;
    fn raw(self) -> Self::Raw;
}

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
    fn quotient(self, divisor: Self) -> Self;
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
            fn of(raw: $unsigned) -> Self {
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
            fn quotient(self, divisor: Self) -> Self {
                self.checked_div(divisor).unwrap_or(0)
            }
            #[inline(always)]
            fn remainder(self, divisor: Self) -> Self {
                self.checked_rem(divisor).unwrap_or(0)
            }
            #[inline(always)]
            fn mulhi(self, other: Self) -> Self {
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
                self.wrapping_shr(count)
            }
            #[inline(always)]
            fn lshr(self, count: u32) -> Self {
                (self as $unsigned).wrapping_shr(count) as Self
            }
            #[inline(always)]
            fn extend(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn truncate(bits: u64) -> Self {
                bits as Self
            }
            #[inline(always)]
            fn truncate_double(value: f64) -> Self {
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
    fn of(raw: u8) -> Self {
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
    fn quotient(self, _: Self) -> Self {
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

/// A float dtype: a native one, or a narrow one that is computed in `f32` and rounded back. For sums, products,
/// quotients and roots that is one rounding in effect: `f32` has more than twice the bits of each narrow type, plus 2.
pub(super) trait Float: Element {
    type Wide: Native;
    const SIGN: Self::Raw;
    fn widen(self) -> Self::Wide;
    /// Rounds to nearest even; out of range becomes what arithmetic makes of it, an infinity where there is one.
    fn narrow(wide: Self::Wide) -> Self;
    /// `x * y + z`, rounded to nearest even once.
    fn narrow_fma(x: Self::Wide, y: Self::Wide, z: Self::Wide) -> Self;
    /// Rounds a double to nearest even, once.
    fn narrow_double(value: f64) -> Self;
    /// Rounds an integer to nearest even, once.
    fn from_int<I: Int>(value: I) -> Self;
    /// The value, exact.
    fn to_f64(self) -> f64;
    /// The value, rounded to odd if it is a double.
    fn to_odd(self) -> f32;
    fn flip_sign(self) -> Self;
    fn clear_sign(self) -> Self;
    fn copy_sign(self, from: Self) -> Self;
}

macro_rules! sign_bits {
    ($raw:ty) => {
        const SIGN: $raw = 1 << (<$raw>::BITS - 1);
        #[inline(always)]
        fn flip_sign(self) -> Self {
            Self::of(self.raw() ^ Self::SIGN)
        }
        #[inline(always)]
        fn clear_sign(self) -> Self {
            Self::of(self.raw() & !Self::SIGN)
        }
        #[inline(always)]
        fn copy_sign(self, from: Self) -> Self {
            Self::of((self.raw() & !Self::SIGN) | (from.raw() & Self::SIGN))
        }
    };
}

macro_rules! native {
    ($($ty:ident $raw:ident $fma:path, $from_int:ident, $odd:expr;)+) => { $(
        impl Element for $ty {
            type Raw = $raw;
            #[inline(always)]
            fn of(raw: $raw) -> Self {
                Self::from_bits(raw)
            }
            #[inline(always)]
            fn raw(self) -> $raw {
                self.to_bits()
            }
        }

        impl Float for $ty {
            type Wide = Self;
            sign_bits!($raw);
            #[inline(always)]
            fn widen(self) -> Self {
                self
            }
            #[inline(always)]
            fn narrow(wide: Self) -> Self {
                wide
            }
            #[inline(always)]
            fn narrow_fma(x: Self, y: Self, z: Self) -> Self {
                $fma(x, y, z)
            }
            #[inline(always)]
            fn narrow_double(value: f64) -> Self {
                value as Self
            }
            #[inline(always)]
            fn from_int<I: Int>(value: I) -> Self {
                value.$from_int()
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn to_odd(self) -> f32 {
                $odd(self)
            }
        }
    )+ };
}

#[inline(always)]
fn fma_f32(x: f32, y: f32, z: f32) -> f32 {
    soft::fma_odd(x, y, z) as f32
}

native! {
    f32 u32 fma_f32, to_f32, std::convert::identity;
    f64 u64 libm::fma, to_f64, soft::f64_to_f32_odd;
}

macro_rules! narrow {
    ($($(#[doc = $doc:literal])+ $ty:ident $raw:ident $widen:path, $narrow:path;)+) => { $(
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug)]
        pub(super) struct $ty($raw);

        impl PartialEq for $ty {
            #[inline(always)]
            fn eq(&self, other: &Self) -> bool {
                self.widen() == other.widen()
            }
        }

        impl PartialOrd for $ty {
            #[inline(always)]
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                self.widen().partial_cmp(&other.widen())
            }
            #[inline(always)]
            fn lt(&self, other: &Self) -> bool {
                self.widen() < other.widen()
            }
            #[inline(always)]
            fn le(&self, other: &Self) -> bool {
                self.widen() <= other.widen()
            }
            #[inline(always)]
            fn gt(&self, other: &Self) -> bool {
                self.widen() > other.widen()
            }
            #[inline(always)]
            fn ge(&self, other: &Self) -> bool {
                self.widen() >= other.widen()
            }
        }

        impl Element for $ty {
            type Raw = $raw;
            #[inline(always)]
            fn of(raw: $raw) -> Self {
                Self(raw)
            }
            #[inline(always)]
            fn raw(self) -> $raw {
                self.0
            }
        }

        impl Float for $ty {
            type Wide = f32;
            sign_bits!($raw);
            #[inline(always)]
            fn widen(self) -> f32 {
                $widen(self.0)
            }
            #[inline(always)]
            fn narrow(wide: f32) -> Self {
                Self($narrow(wide))
            }
            #[inline(always)]
            fn narrow_fma(x: f32, y: f32, z: f32) -> Self {
                Self($narrow(soft::f64_to_f32_odd(soft::fma_odd(x, y, z))))
            }
            #[inline(always)]
            fn narrow_double(value: f64) -> Self {
                Self($narrow(soft::f64_to_f32_odd(value)))
            }
            #[inline(always)]
            fn from_int<I: Int>(value: I) -> Self {
                // Below 2^53 the double is exact; above, the last bit tells of what is lost.
                let wide = value.extend();
                let double = if I::BITS < 64 {
                    value.to_f64()
                } else if I::SIGNED {
                    super::cast::odd_double(wide as i64 as i128)
                } else {
                    super::cast::odd_double(wide as i128)
                };
                Self::narrow_double(double)
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.widen() as f64
            }
            #[inline(always)]
            fn to_odd(self) -> f32 {
                self.widen()
            }
        }
    )+ };
}

narrow! {
    /// IEEE 754 binary16.
    F16 u16 soft::f16_to_f32, soft::f32_to_f16;
    /// bfloat16.
    BF16 u16 soft::bf16_to_f32, soft::f32_to_bf16;
    /// `fp8e4nv`.
    F8E4NV u8 soft::fp8e4nv_to_f32, soft::f32_to_fp8e4nv;
    /// `fp8e5`.
    F8E5 u8 soft::fp8e5_to_f32, soft::f32_to_fp8e5;
    /// `fp8e4b8`.
    F8E4B8 u8 soft::fp8e4b8_to_f32, soft::f32_to_fp8e4b8;
    /// `fp8e5b16`.
    F8E5B16 u8 soft::fp8e5b16_to_f32, soft::f32_to_fp8e5b16;
    /// `fp8e4b15`.
    F8E4B15 u8 soft::fp8e4b15_to_f32, soft::f32_to_fp8e4b15;
}

impl Fp8Format {
    /// The format of an fp8 dtype.
    pub(super) const fn of(dtype: crate::DType) -> Option<Self> {
        use crate::DType;
        Some(match dtype {
            DType::F8E4NV => soft::FP8E4NV,
            DType::F8E5 => soft::FP8E5,
            DType::F8E4B8 => soft::FP8E4B8,
            DType::F8E5B16 => soft::FP8E5B16,
            DType::F8E4B15 => soft::FP8E4B15,
            _ => return None,
        })
    }
}

/// Runs `$body` with the type alias `$ty` standing for an integer dtype's Rust type, `$other` for a float dtype.
macro_rules! with_int {
    ($dtype:expr, $ty:ident => $body:expr, else $other:expr) => {{
        use $crate::DType;
        match $dtype {
            DType::I1 => {
                type $ty = $crate::numeric::element::Bit;
                $body
            }
            DType::I8 => {
                type $ty = i8;
                $body
            }
            DType::I16 => {
                type $ty = i16;
                $body
            }
            DType::I32 => {
                type $ty = i32;
                $body
            }
            DType::I64 => {
                type $ty = i64;
                $body
            }
            DType::U8 => {
                type $ty = u8;
                $body
            }
            DType::U16 => {
                type $ty = u16;
                $body
            }
            DType::U32 => {
                type $ty = u32;
                $body
            }
            DType::U64 => {
                type $ty = u64;
                $body
            }
            _ => $other,
        }
    }};
}
pub(super) use with_int;

/// Runs `$body` with the type alias `$ty` standing for a float dtype's Rust type, `$other` for an integer dtype.
macro_rules! with_float {
    ($dtype:expr, $ty:ident => $body:expr, else $other:expr) => {{
        use $crate::DType;
        use $crate::numeric::element as e;
        match $dtype {
            DType::F16 => {
                type $ty = e::F16;
                $body
            }
            DType::BF16 => {
                type $ty = e::BF16;
                $body
            }
            DType::F32 => {
                type $ty = f32;
                $body
            }
            DType::F64 => {
                type $ty = f64;
                $body
            }
            DType::F8E4NV => {
                type $ty = e::F8E4NV;
                $body
            }
            DType::F8E5 => {
                type $ty = e::F8E5;
                $body
            }
            DType::F8E4B8 => {
                type $ty = e::F8E4B8;
                $body
            }
            DType::F8E5B16 => {
                type $ty = e::F8E5B16;
                $body
            }
            DType::F8E4B15 => {
                type $ty = e::F8E4B15;
                $body
            }
            _ => $other,
        }
    }};
}
pub(super) use with_float;

/// Runs one of two bodies with the type alias `$ty` standing for a dtype's Rust type.
macro_rules! with_element {
    ($dtype:expr, $ty:ident => int $int:expr, float $float:expr) => {{
        use $crate::DType;
        use $crate::numeric::element as e;
        match $dtype {
            DType::I1 => {
                type $ty = e::Bit;
                $int
            }
            DType::I8 => {
                type $ty = i8;
                $int
            }
            DType::I16 => {
                type $ty = i16;
                $int
            }
            DType::I32 => {
                type $ty = i32;
                $int
            }
            DType::I64 => {
                type $ty = i64;
                $int
            }
            DType::U8 => {
                type $ty = u8;
                $int
            }
            DType::U16 => {
                type $ty = u16;
                $int
            }
            DType::U32 => {
                type $ty = u32;
                $int
            }
            DType::U64 => {
                type $ty = u64;
                $int
            }
            DType::F16 => {
                type $ty = e::F16;
                $float
            }
            DType::BF16 => {
                type $ty = e::BF16;
                $float
            }
            DType::F32 => {
                type $ty = f32;
                $float
            }
            DType::F64 => {
                type $ty = f64;
                $float
            }
            DType::F8E4NV => {
                type $ty = e::F8E4NV;
                $float
            }
            DType::F8E5 => {
                type $ty = e::F8E5;
                $float
            }
            DType::F8E4B8 => {
                type $ty = e::F8E4B8;
                $float
            }
            DType::F8E5B16 => {
                type $ty = e::F8E5B16;
                $float
            }
            DType::F8E4B15 => {
                type $ty = e::F8E4B15;
                $float
            }
        }
    }};
}
pub(super) use with_element;
