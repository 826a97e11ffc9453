//! Views of all elements under another shape.

use super::{list, wrap_dim};
use crate::error::TorchError;
use crate::tensor::{Dims, Tensor, contiguous_strides, numel};
use cerith_tile::fault::{Fault, is_planted};

/// Replaces a `-1` by the extent that results in `elements` (`ATen/InferSize.h`).
pub(crate) fn infer_size(shape: &[i64], elements: i64) -> Result<Dims, TorchError> {
    let mut inferred = None;
    let mut product = 1i64;
    for (at, &size) in shape.iter().enumerate() {
        match size {
            -1 if inferred.is_some() => {
                return TorchError::raise_runtime("only one dimension can be inferred");
            }
            -1 => inferred = Some(at),
            0.. => {
                product = if product == 0 || size == 0 {
                    0
                } else {
                    product.saturating_mul(size)
                }
            }
            _ => {
                return TorchError::raise_runtime(format!(
                    "invalid shape dimension {size} at index {at} of shape {}",
                    list(shape)
                ));
            }
        }
    }
    let mut out = Dims::from(shape);
    match inferred {
        None if product == elements => Ok(out),
        Some(at) if product > 0 && elements % product == 0 => {
            out[at] = elements / product;
            Ok(out)
        }
        Some(_) if product == 0 && elements == 0 => TorchError::raise_runtime(format!(
            "cannot reshape tensor of 0 elements into shape {} because the unspecified dimension size -1 can be any \
             value and is ambiguous",
            list(shape)
        )),
        _ => TorchError::raise_runtime(format!(
            "shape '{}' is invalid for input of size {elements}",
            list(shape)
        )),
    }
}

/// The strides under which a tensor shows its elements as `new_shape`, if there are any
/// (`computeStride` of `ATen/TensorUtils.cpp`). Both shapes have as many elements.
pub(crate) fn compute_stride(shape: &[i64], strides: &[i64], new_shape: &[i64]) -> Option<Dims> {
    let (Some(&last_stride), elements) = (strides.last(), numel(shape)) else {
        return Some(smallvec::smallvec![1; new_shape.len()]);
    };
    if elements == 0 {
        return Some(if shape == new_shape {
            strides.into()
        } else {
            contiguous_strides(new_shape)
        });
    }
    let mut out: Dims = smallvec::smallvec![0; new_shape.len()];
    // Dimensions of the new shape that still have no stride.
    let mut left = new_shape.len();
    let mut base = last_stride;
    let (mut old_count, mut new_count) = (1i64, 1i64);
    for dim in (0..shape.len()).rev() {
        old_count = old_count.saturating_mul(shape[dim]);
        // A chunk of dimensions that lie in memory as one ends where the next one out does not continue it.
        let ends = dim == 0 || (shape[dim - 1] != 1 && strides[dim - 1] != old_count.saturating_mul(base));
        if !ends {
            continue;
        }
        while left > 0 && (new_count < old_count || new_shape[left - 1] == 1) {
            left -= 1;
            out[left] = new_count.saturating_mul(base);
            new_count = new_count.saturating_mul(new_shape[left]);
        }
        if new_count != old_count {
            return None;
        }
        if dim > 0 {
            base = strides[dim - 1];
            (old_count, new_count) = (1, 1);
        }
    }
    (left == 0).then_some(out)
}

impl Tensor {
    /// `x.view(shape)`.
    pub fn view(&self, shape: &[i64]) -> Result<Self, TorchError> {
        let shape = infer_size(shape, self.numel())?;
        match compute_stride(&self.shape, &self.strides, &shape) {
            Some(strides) => self.with_layout(shape, strides, self.offset),
            None => TorchError::raise_runtime(
                "view size is not compatible with input tensor's size and stride (at least one dimension spans \
                 across two contiguous subspaces). Use .reshape(...) instead.",
            ),
        }
    }

    /// The shape of `x.flatten(start_dim, end_dim)`; `None` if it is `x` itself.
    pub(crate) fn flattened_shape(&self, start_dim: i64, end_dim: i64) -> Result<Option<Dims>, TorchError> {
        let (start, end) = (wrap_dim(start_dim, self.dim())?, wrap_dim(end_dim, self.dim())?);
        if start > end {
            return TorchError::raise_runtime(
                "flatten() has invalid args: start_dim cannot come after end_dim",
            );
        }
        if self.shape.is_empty() {
            return Ok(Some(smallvec::smallvec![1]));
        }
        if start == end {
            return Ok(None);
        }
        let mut shape = Dims::from(&self.shape[..start]);
        shape.push(numel(&self.shape[start..=end]));
        shape.extend_from_slice(&self.shape[end + 1..]);
        Ok(Some(shape))
    }

    /// `x.unflatten(dim, sizes)`.
    pub fn unflatten(&self, dim: i64, sizes: &[i64]) -> Result<Self, TorchError> {
        let at = wrap_dim(dim, self.dim())?;
        if sizes.is_empty() {
            return TorchError::raise_runtime("unflatten: sizes must be non-empty");
        }
        let Some(&size) = self.shape.get(at) else {
            return TorchError::raise_runtime(format!(
                "Dimension specified as {at} but tensor has no dimensions"
            ));
        };
        let sizes = match infer_size(sizes, size) {
            Err(TorchError::Runtime(message)) if message.contains("is invalid for input of size") => {
                return TorchError::raise_runtime(format!(
                    "unflatten: Provided sizes {} don't multiply up to the size of dim {at} ({size}) in the input tensor",
                    list(sizes)
                ));
            }
            other => other?,
        };
        let mut shape = Dims::from(self.shape.get(..at).unwrap_or(&[]));
        shape.extend_from_slice(&sizes);
        shape.extend_from_slice(self.shape.get(at + 1..).unwrap_or(&[]));
        self.view(&shape)
    }

    /// `x.as_strided(size, stride, storage_offset)` in a storage of `storage_bytes` bytes.
    pub fn as_strided(
        &self,
        size: &[i64],
        stride: &[i64],
        storage_offset: Option<i64>,
        storage_bytes: usize,
    ) -> Result<Self, TorchError> {
        let offset = storage_offset.unwrap_or(if is_planted(Fault::AsStridedStartsAtZero) {
            0
        } else {
            self.offset
        });
        if size.len() != stride.len() {
            return TorchError::raise_runtime("mismatch in length of strides and shape");
        }
        if stride.iter().any(|&n| n < 0) {
            return TorchError::raise_runtime(format!(
                "as_strided: Negative strides are not supported at the moment, got strides: {}",
                list(stride)
            ));
        }
        if let Some(negative) = size.iter().find(|&&n| n < 0) {
            return TorchError::raise_runtime(format!(
                "Trying to create tensor with negative dimension {negative}: {}",
                list(size)
            ));
        }
        if offset < 0 {
            return TorchError::raise_runtime(format!("Tensor: invalid storage offset {offset}"));
        }
        let out = self.with_layout(size.into(), stride.into(), offset)?;
        out.check_bounds(storage_bytes)?;
        Ok(out)
    }

    /// Whether all elements are inside a storage of `storage_bytes` bytes, and the error that torch's `as_strided`
    /// raises if not. A tensor without elements always is.
    pub fn check_bounds(&self, storage_bytes: usize) -> Result<(), TorchError> {
        match self.byte_range() {
            Some((_, end)) if end > storage_bytes as i64 => TorchError::raise_runtime(format!(
                "setStorage: sizes {}, strides {}, storage offset {}, and itemsize {} requiring a storage size of \
                 {end} are out of bounds for storage of size {storage_bytes}",
                list(&self.shape),
                list(&self.strides),
                self.offset,
                self.element_size()
            )),
            _ => Ok(()),
        }
    }
}
