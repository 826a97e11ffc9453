//! The precision that a kernel promises.

use cerith_tile::DType;

/// The precision that a kernel's arithmetic has to have at least. Casts and stores round as the kernel says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contract {
    /// Sums, products and functions of narrower floats count as computed in this dtype.
    pub accumulate: DType,
    /// Whether `f32` operands of a dot may be rounded to `tf32`, if the kernel asks for it.
    pub tf32: bool,
}

impl Default for Contract {
    fn default() -> Self {
        Self {
            accumulate: DType::F32,
            tf32: true,
        }
    }
}

impl Contract {
    /// The dtype whose rounding an operation on `dtype` may have.
    pub(crate) fn widen_dtype(self, dtype: DType) -> DType {
        let bits = |dtype: DType| dtype.float_format().map_or(0, |(fraction, _)| fraction);
        if bits(self.accumulate) > bits(dtype) {
            self.accumulate
        } else {
            dtype
        }
    }
}
