//! The arithmetic of instructions: for each opcode with its types and modifiers, a function over the lanes of
//! registers. [`crate::decode`] maps instructions to these functions.
//!
//! - `integer`: sums, products, quotients, comparisons of whole numbers.
//! - `bits`: logic, shifts, fields, counts.
//! - `float`: `f32` and `f64`. `half`: `f16`, `bf16` and pairs of them.
//! - `convert`: `cvt`. `narrow`: the conversions that `sm_90` adds.
//!
//! Operations that PTX defines exactly are exact here. Instructions with `.approx` and `.full` are rounded correctly,
//! or within an ULP of that, which is within the bounds of the PTX ISA. A GPU's last bits may differ.

#![allow(
    clippy::neg_cmp_op_on_partial_ord,
    reason = "comparisons of PTX that hold for a NaN are negations of those that do not"
)]

pub(crate) mod bits;
pub(crate) mod convert;
pub(crate) mod float;
pub(crate) mod half;
pub(crate) mod integer;
pub(crate) mod narrow;

use crate::syntax::{Kind, Type};

/// Selects an integer type: evaluates `$e` with `$x` as that type.
macro_rules! with_int {
    ($ty:expr, $T:ident => $e:expr) => {
        match ($ty.kind == Kind::Signed, $ty.bits) {
            (true, 8) => {
                type $T = i8;
                $e
            }
            (true, 16) => {
                type $T = i16;
                $e
            }
            (true, 32) => {
                type $T = i32;
                $e
            }
            (true, 64) => {
                type $T = i64;
                $e
            }
            (false, 8) => {
                type $T = u8;
                $e
            }
            (false, 16) => {
                type $T = u16;
                $e
            }
            (false, 32) => {
                type $T = u32;
                $e
            }
            (false, 64) => {
                type $T = u64;
                $e
            }
            _ => None,
        }
    };
}
pub(crate) use with_int;

/// An integer type of the machine.
pub(crate) trait Int: Copy {
    /// Takes the low bits of a register.
    fn from_bits(bits: u64) -> Self;
    /// The bits in a register, zero-extended.
    fn bits(self) -> u64;
    /// The bits in a wider register: signed numbers are sign-extended.
    fn extended(self) -> u64;
    /// The number itself.
    fn wide(self) -> i128;
    /// Takes the low bits of a number.
    fn wrap(value: i128) -> Self;
    /// Width in bits.
    const BITS: u32;
    /// The least and the greatest number.
    const RANGE: (i128, i128);
}

macro_rules! int {
    ($($ty:ident $raw:ident;)+) => { $(
        impl Int for $ty {
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                bits as Self
            }
            #[inline(always)]
            fn bits(self) -> u64 {
                u64::from(self as $raw)
            }
            #[inline(always)]
            fn extended(self) -> u64 {
                i128::from(self) as u64
            }
            #[inline(always)]
            fn wide(self) -> i128 {
                i128::from(self)
            }
            #[inline(always)]
            fn wrap(value: i128) -> Self {
                value as Self
            }
            const BITS: u32 = <$ty>::BITS;
            const RANGE: (i128, i128) = (<$ty>::MIN as i128, <$ty>::MAX as i128);
        }
    )+ };
}

int! {
    i8 u8;
    i16 u16;
    i32 u32;
    i64 u64;
    u8 u8;
    u16 u16;
    u32 u32;
    u64 u64;
}

/// Returns whether a type is an integer type, or plain bits.
pub(crate) const fn is_int(ty: Type) -> bool {
    matches!(ty.kind, Kind::Bits | Kind::Signed | Kind::Unsigned) && !ty.pair
}
