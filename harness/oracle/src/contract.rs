//! The precision that a kernel promises.

use cerith_tile::DType;

use super::rounding::count_bits;

/// The precision that a kernel's arithmetic has to have at least. Casts and stores round as the kernel says, but to no dtype that is
/// narrower than all data of the computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contract {
    /// Sums, products and functions of narrower floats count as computed in this dtype.
    pub accumulate: DType,
    /// Whether `f32` operands of a dot may be rounded to `tf32`, if the kernel asks for it.
    pub tf32: bool,
    /// The narrowest float of the computation's inputs and results. `None` stands for those of each kernel.
    pub narrowest: Option<DType>,
}

impl Default for Contract {
    fn default() -> Self {
        Self {
            accumulate: DType::F32,
            tf32: true,
            narrowest: None,
        }
    }
}

impl Contract {
    /// The contract of a computation whose inputs and results have these dtypes. Memory that a program allocates itself, narrower than
    /// all of them, lowers the precision as a cast does.
    #[must_use]
    pub fn with_data(self, dtypes: impl IntoIterator<Item = DType>) -> Self {
        let floats = dtypes.into_iter().filter(|dtype| dtype.is_float());
        Self {
            narrowest: floats.min_by_key(|&dtype| count_bits(dtype)),
            ..self
        }
    }

    /// Whether sums are at least as precise as those of `f32`.
    pub(crate) fn is_precise(self) -> bool {
        count_bits(self.accumulate) >= count_bits(DType::F32)
    }

    /// The dtype whose rounding an operation on `dtype` may have.
    pub(crate) fn widen_dtype(self, dtype: DType) -> DType {
        if count_bits(self.accumulate) > count_bits(dtype) {
            self.accumulate
        } else {
            dtype
        }
    }
}
