//! torch's view operations: tensors in, tensors of the same storage out. Rules and messages are those of torch
//! 2.11's `aten/src/ATen/native/TensorShape.cpp`, `TensorConversions.cpp` and `torch/csrc/autograd/python_variable_indexing.cpp`.
//!
//! torch accepts a negative size next to an empty one (`x.as_strided((0, -1), (1, 1))`); here it is an error.
//!
//! See `crate::copy` for operations that may copy.

mod dtype;
mod index;
mod order;
mod part;
mod shape;

pub use index::Index;
pub(crate) use shape::{compute_stride, infer_size};

use crate::error::TorchError;
use crate::tensor::{Dims, Tensor};

/// Maximum tensors of one `split`, `chunk` or `unbind`. torch has no such limit; here it bounds the memory of an
/// expression.
pub const MAX_PIECES: i64 = 1 << 16;

/// Maximum dimensions of a tensor, as in torch.
pub const MAX_DIMS: usize = 64;

/// Counts a negative dimension from the end. A tensor without dimensions takes 0 and -1, as if it had one
/// (`c10::maybe_wrap_dim`).
pub(crate) fn wrap_dim(dim: i64, ndim: usize) -> Result<usize, TorchError> {
    let count = ndim.max(1) as i64;
    if dim < -count || dim >= count {
        return TorchError::raise_index(format!(
            "Dimension out of range (expected to be in range of [{}, {}], but got {dim})",
            -count,
            count - 1
        ));
    }
    Ok(if dim < 0 { dim + count } else { dim } as usize)
}

/// A list as torch's messages write it.
pub(crate) fn list(items: &[i64]) -> String {
    format!("{items:?}")
}

impl Tensor {
    /// Size of a dimension that [`wrap_dim`] gave; 1 for the one that a tensor without dimensions pretends to have.
    pub(crate) fn size_at(&self, dim: usize) -> i64 {
        self.shape.get(dim).copied().unwrap_or(1)
    }

    /// Stride of a dimension that [`wrap_dim`] gave.
    pub(crate) fn stride_at(&self, dim: usize) -> i64 {
        self.strides.get(dim).copied().unwrap_or(1)
    }

    /// `x.size(dim)`.
    pub fn size(&self, dim: i64) -> Result<i64, TorchError> {
        Ok(self.size_at(self.wrap_nonscalar(dim)?))
    }

    /// `x.stride(dim)`.
    pub fn stride(&self, dim: i64) -> Result<i64, TorchError> {
        Ok(self.stride_at(self.wrap_nonscalar(dim)?))
    }

    fn wrap_nonscalar(&self, dim: i64) -> Result<usize, TorchError> {
        if self.shape.is_empty() {
            return TorchError::raise_index(format!(
                "Dimension specified as {dim} but tensor has no dimensions"
            ));
        }
        wrap_dim(dim, self.dim())
    }

    /// The same elements under another shape, strides and offset.
    pub(crate) fn with_layout(&self, shape: Dims, strides: Dims, offset: i64) -> Result<Self, TorchError> {
        if shape.len() > MAX_DIMS {
            return TorchError::raise_runtime(format!(
                "tensors of more than {MAX_DIMS} dimensions are not supported"
            ));
        }
        Ok(Self {
            storage: self.storage,
            dtype: self.dtype,
            shape,
            strides,
            offset,
        })
    }
}
