//! The interface of the Rust types of dtypes, for generic loops that the compiler can vectorise. See `integer` and
//! `float` for the types, and `dispatch` for the type of each dtype.

use bytemuck::Pod;

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
    fn from_raw(raw: Self::Raw) -> Self;
    fn raw(self) -> Self::Raw;
}
