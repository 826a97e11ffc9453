//! The float dtypes.

use super::element::Element;
use super::integer::Int;
use super::math::Native;
use super::narrow::{self, Fp8Format};
use crate::fault::{Fault, is_planted};

/// A float dtype: a native one, or a narrow one that is computed in `f32` and rounded back. For sums, products,
/// quotients and roots that is one rounding in effect: `f32` has more than twice the bits of each narrow type, plus 2.
pub(super) trait Float: Element {
    type Wide: Native;
    const SIGN: Self::Raw;
    fn widen(self) -> Self::Wide;
    /// Rounds to nearest even. A number out of range becomes the dtype's overflow result, which is an infinity if it
    /// has one.
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
            Self::from_raw(self.raw() ^ Self::SIGN)
        }
        #[inline(always)]
        fn clear_sign(self) -> Self {
            Self::from_raw(self.raw() & !Self::SIGN)
        }
        #[inline(always)]
        fn copy_sign(self, from: Self) -> Self {
            Self::from_raw((self.raw() & !Self::SIGN) | (from.raw() & Self::SIGN))
        }
    };
}

macro_rules! native {
    ($($ty:ident $raw:ident $fma:path, $from_int:ident, $odd:expr;)+) => { $(
        impl Element for $ty {
            type Raw = $raw;
            #[inline(always)]
            fn from_raw(raw: $raw) -> Self {
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
                if is_planted(Fault::CastsRoundTwice) { self as f32 } else { $odd(self) }
            }
        }
    )+ };
}

#[inline(always)]
fn fma_f32(x: f32, y: f32, z: f32) -> f32 {
    narrow::fma_odd(x, y, z) as f32
}

native! {
    f32 u32 fma_f32, to_f32, std::convert::identity;
    f64 u64 libm::fma, to_f64, narrow::f64_to_f32_odd;
}

macro_rules! narrow {
    ($($(#[doc = $doc:literal])+ $ty:ident $raw:ident $widen:path, $narrow:path, $fma:path;)+) => { $(
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
            fn from_raw(raw: $raw) -> Self {
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
                Self($narrow($fma(x, y, z)))
            }
            #[inline(always)]
            fn narrow_double(value: f64) -> Self {
                Self($narrow(narrow::f64_to_f32_odd(value)))
            }
            #[inline(always)]
            fn from_int<I: Int>(value: I) -> Self {
                // Below 2^53 the double is exact; above, the last bit is sticky.
                let wide = value.extend();
                let double = if I::BITS < 64 || is_planted(Fault::IntegersRoundTwice) {
                    value.to_f64()
                } else if I::SIGNED {
                    narrow::i128_to_f64_odd(wide as i64 as i128)
                } else {
                    narrow::i128_to_f64_odd(wide as i128)
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
    F16 u16 narrow::f16_to_f32, narrow::f32_to_f16, narrow::fma_odd_f32;
    /// bfloat16.
    BF16 u16 narrow::bf16_to_f32, narrow::f32_to_bf16, narrow::fma_odd_bf16;
    /// `fp8e4nv`.
    F8E4NV u8 narrow::fp8e4nv_to_f32, narrow::f32_to_fp8e4nv, narrow::fma_odd_f32;
    /// `fp8e5`.
    F8E5 u8 narrow::fp8e5_to_f32, narrow::f32_to_fp8e5, narrow::fma_odd_f32;
    /// `fp8e4b8`.
    F8E4B8 u8 narrow::fp8e4b8_to_f32, narrow::f32_to_fp8e4b8, narrow::fma_odd_f32;
    /// `fp8e5b16`.
    F8E5B16 u8 narrow::fp8e5b16_to_f32, narrow::f32_to_fp8e5b16, narrow::fma_odd_f32;
    /// `fp8e4b15`.
    F8E4B15 u8 narrow::fp8e4b15_to_f32, narrow::f32_to_fp8e4b15, narrow::fma_odd_f32;
}

impl Fp8Format {
    /// The format of an fp8 dtype.
    pub(super) const fn from_dtype(dtype: crate::DType) -> Option<Self> {
        use crate::DType;
        Some(match dtype {
            DType::F8E4NV => narrow::FP8E4NV,
            DType::F8E5 => narrow::FP8E5,
            DType::F8E4B8 => narrow::FP8E4B8,
            DType::F8E5B16 => narrow::FP8E5B16,
            DType::F8E4B15 => narrow::FP8E4B15,
            _ => return None,
        })
    }
}
