//! Views of a part along one dimension: slices, selections, splits, windows.

use super::{MAX_PIECES, list, wrap_dim};
use crate::error::TorchError;
use crate::tensor::Tensor;
use cerith_tile::fault::{Fault, is_planted};

impl Tensor {
    /// `x[…, start:end:step, …]` along `dim`. Negative bounds count from the end, and all bounds are clamped.
    pub fn slice(
        &self,
        dim: i64,
        start: Option<i64>,
        end: Option<i64>,
        step: i64,
    ) -> Result<Self, TorchError> {
        if self.shape.is_empty() {
            return TorchError::raise_index("slice() cannot be applied to a 0-dim tensor.");
        }
        if step <= 0 {
            return TorchError::raise_runtime("slice step must be positive");
        }
        let dim = wrap_dim(dim, self.dim())?;
        let (size, stride) = (self.size_at(dim), self.stride_at(dim));
        let wrap = |at: i64| {
            if at < 0 && !is_planted(Fault::SliceClampsNegative) {
                at.saturating_add(size)
            } else {
                at
            }
        };
        let start = wrap(start.unwrap_or(0)).clamp(0, size);
        let end = wrap(end.unwrap_or(i64::MAX)).clamp(start, size);
        let mut out = self.clone();
        out.shape[dim] = ((end - start) as u64).div_ceil(step as u64) as i64;
        out.strides[dim] = stride.saturating_mul(if is_planted(Fault::SliceForgetsStep) {
            1
        } else {
            step
        });
        out.offset = self.offset.saturating_add(start.saturating_mul(stride));
        Ok(out)
    }

    /// `x.narrow(dim, start, length)`.
    pub fn narrow(&self, dim: i64, start: i64, length: i64) -> Result<Self, TorchError> {
        if self.shape.is_empty() {
            return TorchError::raise_runtime("narrow() cannot be applied to a 0-dim tensor.");
        }
        if length < 0 {
            return TorchError::raise_runtime("narrow(): length must be non-negative.");
        }
        let size = self.size_at(wrap_dim(dim, self.dim())?);
        if start < -size || start > size {
            return TorchError::raise_index(format!(
                "start out of range (expected to be in range of [{}, {size}], but got {start})",
                -size
            ));
        }
        let start = if start < 0 { start + size } else { start };
        if start > size.saturating_sub(length) {
            return TorchError::raise_runtime(format!(
                "start ({start}) + length ({length}) exceeds dimension size ({size})."
            ));
        }
        self.slice(dim, Some(start), Some(start + length), 1)
    }

    /// `x.select(dim, index)`.
    pub fn select(&self, dim: i64, index: i64) -> Result<Self, TorchError> {
        if self.shape.is_empty() {
            return TorchError::raise_index("select() cannot be applied to a 0-dim tensor.");
        }
        let dim = wrap_dim(dim, self.dim())?;
        let size = self.size_at(dim);
        if index < -size || index >= size {
            return TorchError::raise_index(format!(
                "select(): index {index} out of range for tensor of size {} at dimension {dim}",
                list(&self.shape)
            ));
        }
        Ok(self.take(dim, if index < 0 { index + size } else { index }))
    }

    /// Element `index`, which is in range, along `dim`.
    pub(super) fn take(&self, dim: usize, index: i64) -> Self {
        let mut out = self.clone();
        out.shape.remove(dim);
        let stride = out.strides.remove(dim);
        let from = if is_planted(Fault::SelectForgetsOffset) {
            0
        } else {
            self.offset
        };
        out.offset = from.saturating_add(index.saturating_mul(stride));
        out
    }

    /// `x.split(split_size, dim)`.
    pub fn split(&self, split_size: i64, dim: i64) -> Result<Vec<Self>, TorchError> {
        if self.shape.is_empty() {
            return TorchError::raise_runtime("split expects at least a 1-dimensional tensor");
        }
        if split_size < 0 {
            return TorchError::raise_runtime(format!(
                "split expects split_size be non-negative, but got split_size={split_size}"
            ));
        }
        let size = self.size_at(wrap_dim(dim, self.dim())?);
        if split_size == 0 && size != 0 {
            return TorchError::raise_runtime(format!(
                "split_size can only be 0 if dimension size is 0, but got dimension size of {size}"
            ));
        }
        let pieces = if split_size == 0 {
            1
        } else {
            (size as u64).div_ceil(split_size as u64).max(1) as i64
        };
        check_pieces(pieces)?;
        (0..pieces)
            .map(|nth| {
                let start = nth * split_size;
                let start = if is_planted(Fault::UnevenSplitOverlaps) {
                    start.min((size - split_size).max(0))
                } else {
                    start
                };
                self.narrow(dim, start, split_size.min(size - start))
            })
            .collect()
    }

    /// `x.split(split_sizes, dim)`.
    pub fn split_with_sizes(&self, split_sizes: &[i64], dim: i64) -> Result<Vec<Self>, TorchError> {
        if self.shape.is_empty() {
            return TorchError::raise_runtime("split expects at least a 1-dimensional tensor");
        }
        let size = self.size_at(wrap_dim(dim, self.dim())?);
        if split_sizes.iter().any(|&n| n < 0) {
            return TorchError::raise_runtime(format!(
                "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={}",
                list(split_sizes)
            ));
        }
        if split_sizes.iter().fold(0i64, |sum, &n| sum.saturating_add(n)) != size {
            return TorchError::raise_runtime(format!(
                "split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension \
                 {dim}), but got split_sizes={}",
                list(split_sizes)
            ));
        }
        let mut start = 0;
        split_sizes
            .iter()
            .map(|&length| {
                let piece = self.narrow(
                    dim,
                    if is_planted(Fault::SplitSizesStartEven) {
                        start.min(size - length)
                    } else {
                        start
                    },
                    length,
                );
                start += if is_planted(Fault::SplitSizesStartEven) {
                    size / split_sizes.len().max(1) as i64
                } else {
                    length
                };
                piece
            })
            .collect()
    }

    /// `x.chunk(chunks, dim)`.
    pub fn chunk(&self, chunks: i64, dim: i64) -> Result<Vec<Self>, TorchError> {
        if self.shape.is_empty() {
            return TorchError::raise_runtime("chunk expects at least a 1-dimensional tensor");
        }
        if chunks <= 0 {
            return TorchError::raise_runtime(format!(
                "chunk expects `chunks` to be greater than 0, got: {chunks}"
            ));
        }
        let size = self.size_at(wrap_dim(dim, self.dim())?);
        if size == 0 {
            check_pieces(chunks)?;
            return self.split_with_sizes(&vec![0; chunks as usize], dim);
        }
        let round_down = is_planted(Fault::ChunkRoundsDown) && size >= chunks;
        self.split(
            if round_down {
                size / chunks
            } else {
                (size as u64).div_ceil(chunks as u64) as i64
            },
            dim,
        )
    }

    /// `x.tensor_split(sections, dim)`.
    pub fn tensor_split(&self, sections: i64, dim: i64) -> Result<Vec<Self>, TorchError> {
        let size = self.size_for_tensor_split(dim)?;
        if sections <= 0 {
            return TorchError::raise_runtime(format!(
                "number of sections must be larger than 0, got {sections}"
            ));
        }
        check_pieces(sections)?;
        let (least, extra) = (size / sections, size % sections);
        let mut start = 0;
        (0..sections)
            .map(|nth| {
                let end = start + least + i64::from(nth < extra);
                let piece = self.slice(dim, Some(start), Some(end), 1);
                start = end;
                piece
            })
            .collect()
    }

    /// `x.tensor_split(indices, dim)`.
    pub fn tensor_split_at(&self, indices: &[i64], dim: i64) -> Result<Vec<Self>, TorchError> {
        self.size_for_tensor_split(dim)?;
        let mut start = 0;
        let mut pieces = Vec::with_capacity(indices.len() + 1);
        for &end in indices {
            pieces.push(self.slice(dim, Some(start), Some(end), 1)?);
            start = end;
        }
        pieces.push(self.slice(dim, Some(start), None, 1)?);
        Ok(pieces)
    }

    fn size_for_tensor_split(&self, dim: i64) -> Result<i64, TorchError> {
        if self.shape.is_empty() {
            return TorchError::raise_runtime(
                "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims",
            );
        }
        Ok(self.size_at(wrap_dim(dim, self.dim())?))
    }

    /// `x.unbind(dim)`.
    pub fn unbind(&self, dim: i64) -> Result<Vec<Self>, TorchError> {
        let dim = wrap_dim(dim, self.dim())?;
        if self.shape.is_empty() {
            return TorchError::raise_index(format!(
                "Dimension specified as {dim} but tensor has no dimensions"
            ));
        }
        let size = self.size_at(dim);
        check_pieces(size)?;
        Ok((0..size).map(|index| self.take(dim, index)).collect())
    }

    /// `x.unfold(dimension, size, step)`: windows of `size` elements, `step` apart, as a last dimension.
    pub fn unfold(&self, dimension: i64, size: i64, step: i64) -> Result<Self, TorchError> {
        let dim = wrap_dim(dimension, self.dim())?;
        if size < 0 {
            return TorchError::raise_runtime(format!("size is {size} but must be >= 0"));
        }
        let (length, stride) = (self.size_at(dim), self.stride_at(dim));
        if size > length {
            return TorchError::raise_runtime(format!(
                "maximum size for tensor at dimension {dim} is {length} but size is {size}"
            ));
        }
        if step <= 0 {
            return TorchError::raise_runtime(format!("step is {step} but must be > 0"));
        }
        let Some(count) = ((length - size) / step).checked_add(1) else {
            // One more than `i64::MAX`, which torch wraps around.
            return TorchError::raise_runtime(format!(
                "IntArrayRef contains an int that cannot be represented as a SymInt: {}",
                i64::MIN
            ));
        };
        let (mut shape, mut strides) = (self.shape.clone(), self.strides.clone());
        if let (Some(windows), Some(apart)) = (shape.get_mut(dim), strides.get_mut(dim)) {
            *windows = count;
            *apart = stride.saturating_mul(if is_planted(Fault::UnfoldStepsByOne) {
                1
            } else {
                step
            });
        }
        shape.push(size);
        strides.push(stride);
        self.with_layout(shape, strides, self.offset)
    }
}

fn check_pieces(pieces: i64) -> Result<(), TorchError> {
    if pieces > MAX_PIECES {
        return TorchError::raise_runtime(format!(
            "{pieces} pieces are more than the {MAX_PIECES} that are supported"
        ));
    }
    Ok(())
}
