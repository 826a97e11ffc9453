//! Triton's element types. See [`crate::ir::Elem`] for pointers.

use std::fmt;
use std::str::FromStr;

/// An element type of the Triton language. `Display` and `FromStr` use Triton's own names in the short form that
/// case files use (`f32`, `i1`, `fp8e4nv`); `FromStr` also takes Triton's long forms (`float32`, `fp32`, `int8`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// `tl.int1`; one byte in memory, 0 or 1.
    I1,
    /// `tl.int8`.
    I8,
    /// `tl.int16`.
    I16,
    /// `tl.int32`.
    I32,
    /// `tl.int64`.
    I64,
    /// `tl.uint8`.
    U8,
    /// `tl.uint16`.
    U16,
    /// `tl.uint32`.
    U32,
    /// `tl.uint64`.
    U64,
    /// `tl.float16`, IEEE 754 binary16.
    F16,
    /// `tl.bfloat16`.
    BF16,
    /// `tl.float32`, IEEE 754 binary32.
    F32,
    /// `tl.float64`, IEEE 754 binary64.
    F64,
    /// `tl.float8e4nv` (`torch.float8_e4m3fn`): bias 7, no infinity, NaN is `S.1111.111`.
    F8E4NV,
    /// `tl.float8e5` (`torch.float8_e5m2`): bias 15, IEEE-like infinities and NaNs.
    F8E5,
    /// `tl.float8e4b8` (`torch.float8_e4m3fnuz`): bias 8, no infinity, no negative zero, NaN is 0x80.
    F8E4B8,
    /// `tl.float8e5b16` (`torch.float8_e5m2fnuz`): bias 16, no infinity, no negative zero, NaN is 0x80.
    F8E5B16,
    /// `tl.float8e4b15`: bias 15, no infinity, no NaN.
    F8E4B15,
}

impl DType {
    /// Every dtype, in the order of declaration.
    pub const ALL: [Self; 18] = [
        Self::I1,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::F16,
        Self::BF16,
        Self::F32,
        Self::F64,
        Self::F8E4NV,
        Self::F8E5,
        Self::F8E4B8,
        Self::F8E5B16,
        Self::F8E4B15,
    ];

    /// Bits of the value (1 for `i1`, although it takes a byte of memory).
    pub const fn bits(self) -> u32 {
        match self {
            Self::I1 => 1,
            Self::I8
            | Self::U8
            | Self::F8E4NV
            | Self::F8E5
            | Self::F8E4B8
            | Self::F8E5B16
            | Self::F8E4B15 => 8,
            Self::I16 | Self::U16 | Self::F16 | Self::BF16 => 16,
            Self::I32 | Self::U32 | Self::F32 => 32,
            Self::I64 | Self::U64 | Self::F64 => 64,
        }
    }

    /// Bytes an element takes in memory.
    pub const fn size(self) -> usize {
        (self.bits() as usize).div_ceil(8)
    }

    /// Whether this is any floating-point type.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::BF16 | Self::F32 | Self::F64) || self.is_fp8()
    }

    /// Whether this is one of the 8-bit floating-point types.
    pub const fn is_fp8(self) -> bool {
        matches!(
            self,
            Self::F8E4NV | Self::F8E5 | Self::F8E4B8 | Self::F8E5B16 | Self::F8E4B15
        )
    }

    /// For a float: the bits of the stored significand, and the exponent's bias (`dtype.fp_mantissa_width` and
    /// `exponent_bias` in `triton/language/core.py`).
    pub const fn float_format(self) -> Option<(u32, u32)> {
        Some(match self {
            Self::F8E4B15 => (3, 15),
            Self::F8E4NV => (3, 7),
            Self::F8E4B8 => (3, 8),
            Self::F8E5 => (2, 15),
            Self::F8E5B16 => (2, 16),
            Self::F16 => (10, 15),
            Self::BF16 => (7, 127),
            Self::F32 => (23, 127),
            Self::F64 => (52, 1023),
            _ => return None,
        })
    }

    /// Whether this is any integer type, `i1` included.
    pub const fn is_int(self) -> bool {
        !self.is_float()
    }

    /// Whether this is a signed integer type.
    pub const fn is_signed_int(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// Whether this is an unsigned integer type. `i1` is one (`dtype.UINT_TYPES` in `triton/language/core.py`, all
    /// versions): `True` is above `False`.
    pub const fn is_unsigned_int(self) -> bool {
        matches!(self, Self::I1 | Self::U8 | Self::U16 | Self::U32 | Self::U64)
    }

    /// The short name, as case files and reports write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::I1 => "i1",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::F8E4NV => "fp8e4nv",
            Self::F8E5 => "fp8e5",
            Self::F8E4B8 => "fp8e4b8",
            Self::F8E5B16 => "fp8e5b16",
            Self::F8E4B15 => "fp8e4b15",
        }
    }

    /// The name as an attribute of `triton.language` (`tl.float32`).
    pub const fn triton_name(self) -> &'static str {
        match self {
            Self::I1 => "int1",
            Self::I8 => "int8",
            Self::I16 => "int16",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::U8 => "uint8",
            Self::U16 => "uint16",
            Self::U32 => "uint32",
            Self::U64 => "uint64",
            Self::F16 => "float16",
            Self::BF16 => "bfloat16",
            Self::F32 => "float32",
            Self::F64 => "float64",
            Self::F8E4NV => "float8e4nv",
            Self::F8E5 => "float8e5",
            Self::F8E4B8 => "float8e4b8",
            Self::F8E5B16 => "float8e5b16",
            Self::F8E4B15 => "float8e4b15",
        }
    }

    /// The name as an attribute of `torch`. `fp8e4b15` has none there: torch users pass it as `uint8`.
    pub const fn torch_name(self) -> Option<&'static str> {
        Some(match self {
            Self::I1 => "bool",
            Self::I8 => "int8",
            Self::I16 => "int16",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::U8 => "uint8",
            Self::U16 => "uint16",
            Self::U32 => "uint32",
            Self::U64 => "uint64",
            Self::F16 => "float16",
            Self::BF16 => "bfloat16",
            Self::F32 => "float32",
            Self::F64 => "float64",
            Self::F8E4NV => "float8_e4m3fn",
            Self::F8E5 => "float8_e5m2",
            Self::F8E4B8 => "float8_e4m3fnuz",
            Self::F8E5B16 => "float8_e5m2fnuz",
            Self::F8E4B15 => return None,
        })
    }

    /// Finds a dtype by its torch name without the `torch.` prefix. Aliases such as `half` and `long` are included.
    pub fn from_torch_name(name: &str) -> Option<Self> {
        Some(match name {
            "half" => Self::F16,
            "float" => Self::F32,
            "double" => Self::F64,
            "char" => Self::I8,
            "short" => Self::I16,
            "int" => Self::I32,
            "long" => Self::I64,
            _ => return Self::ALL.into_iter().find(|d| d.torch_name() == Some(name)),
        })
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for a text that is not the name of a dtype.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown dtype `{0}`")]
pub struct UnknownDType(pub String);

impl FromStr for DType {
    type Err = UnknownDType;

    fn from_str(text: &str) -> Result<Self, UnknownDType> {
        Self::ALL
            .into_iter()
            .find(|d| {
                d.name() == text
                    || d.triton_name() == text
                    || text
                        .strip_prefix("fp")
                        .is_some_and(|rest| d.triton_name().strip_prefix("float") == Some(rest))
            })
            .or(match text {
                "bool" => Some(Self::I1),
                "bf16" => Some(Self::BF16),
                _ => None,
            })
            .ok_or_else(|| UnknownDType(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for dtype in DType::ALL {
            assert_eq!(dtype.name().parse(), Ok(dtype));
            assert_eq!(dtype.triton_name().parse(), Ok(dtype));
            if let Some(name) = dtype.torch_name() {
                assert_eq!(DType::from_torch_name(name), Some(dtype));
            }
        }
        assert_eq!("fp32".parse(), Ok(DType::F32));
        assert_eq!("f23".parse::<DType>(), Err(UnknownDType("f23".into())));
    }
}
