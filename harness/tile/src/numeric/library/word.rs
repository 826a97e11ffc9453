//! The Rust types that library functions take and give, as bits of lanes.

use crate::DType;

/// A value of a dtype.
pub(super) trait Word: Copy {
    const DTYPE: DType;
    fn from_lane_bits(bits: u64) -> Self;
    fn bits(self) -> u64;
}

macro_rules! integer {
    ($($ty:ident $raw:ident $dtype:ident;)+) => { $(
        impl Word for $ty {
            const DTYPE: DType = DType::$dtype;
            fn from_lane_bits(bits: u64) -> Self {
                bits as Self
            }
            fn bits(self) -> u64 {
                self as $raw as u64
            }
        }
    )+ };
}

integer! {
    i32 u32 I32;
    u32 u32 U32;
    i64 u64 I64;
    u64 u64 U64;
}

impl Word for f32 {
    const DTYPE: DType = DType::F32;
    fn from_lane_bits(bits: u64) -> Self {
        Self::from_bits(bits as u32)
    }
    fn bits(self) -> u64 {
        self.to_bits().into()
    }
}

impl Word for f64 {
    const DTYPE: DType = DType::F64;
    fn from_lane_bits(bits: u64) -> Self {
        Self::from_bits(bits)
    }
    fn bits(self) -> u64 {
        self.to_bits()
    }
}
