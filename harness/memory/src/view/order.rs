//! Views that reorder, add, drop or repeat dimensions.

use cerith_tile::fault::{Fault, is_planted};
use smallvec::SmallVec;

use super::{list, wrap_dim};
use crate::error::TorchError;
use crate::tensor::{Dims, Tensor};

impl Tensor {
    /// `x.transpose(dim0, dim1)`.
    pub fn transpose(&self, dim0: i64, dim1: i64) -> Result<Self, TorchError> {
        let (a, b) = (wrap_dim(dim0, self.dim())?, wrap_dim(dim1, self.dim())?);
        let mut out = self.clone();
        let square = self.shape[..].get(a) == self.shape[..].get(b);
        if a != b && !(square && is_planted(Fault::SquareTransposeIsNone)) {
            out.shape.swap(a, b);
            out.strides.swap(a, b);
        }
        Ok(out)
    }

    /// `x.T`: all dimensions in reverse.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let mut out = self.clone();
        out.shape.reverse();
        out.strides.reverse();
        out
    }

    /// `x.t()`.
    pub fn t(&self) -> Result<Self, TorchError> {
        if self.dim() > 2 {
            return TorchError::raise_runtime(format!(
                "t() expects a tensor with <= 2 dimensions, but self is {}D",
                self.dim()
            ));
        }
        Ok(self.reversed())
    }

    /// `x.mT`, and `x.mH` and `x.adjoint()` of real numbers; `name` is which of them an error names. A tensor without
    /// dimensions is its own transpose.
    pub fn matrix_transpose(&self, name: &str) -> Result<Self, TorchError> {
        if self.dim() == 1 {
            return TorchError::raise_runtime(format!(
                "tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor."
            ));
        }
        if self.dim() == 0 {
            Ok(self.clone())
        } else {
            self.transpose(-2, -1)
        }
    }

    /// `x.permute(dims)`.
    pub fn permute(&self, dims: &[i64]) -> Result<Self, TorchError> {
        if dims.len() != self.dim() {
            return TorchError::raise_runtime(format!(
                "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the \
                 desired ordering of dimensions i.e. input.dim() = {} is not equal to len(dims) = {}",
                self.dim(),
                dims.len()
            ));
        }
        let mut seen: SmallVec<[bool; 8]> = smallvec::smallvec![false; self.dim()];
        let mut out = self.clone();
        for (nth, &dim) in dims.iter().enumerate() {
            let dim = wrap_dim(dim, self.dim())?;
            if std::mem::replace(&mut seen[dim], true) {
                return TorchError::raise_runtime("permute(): duplicate dims are not allowed.");
            }
            let (to, from) = if is_planted(Fault::PermuteIsInverse) {
                (dim, nth)
            } else {
                (nth, dim)
            };
            out.shape[to] = self.shape[from];
            out.strides[to] = self.strides[from];
        }
        Ok(out)
    }

    /// `x.movedim(source, destination)`.
    pub fn movedim(&self, source: &[i64], destination: &[i64]) -> Result<Self, TorchError> {
        if source.len() != destination.len() {
            return TorchError::raise_runtime(format!(
                "movedim: Invalid source or destination dims: source ({} dims) should contain the same number of \
                 dims as destination ({} dims)",
                list(source),
                list(destination)
            ));
        }
        let wrap = |dims: &[i64]| -> Result<SmallVec<[usize; 8]>, TorchError> {
            dims.iter().map(|&dim| wrap_dim(dim, self.dim())).collect()
        };
        let (from, to) = (wrap(source)?, wrap(destination)?);
        for (wrapped, dims, side) in [(&from, source, "source"), (&to, destination, "destination")] {
            if wrapped
                .iter()
                .enumerate()
                .any(|(nth, dim)| wrapped[..nth].contains(dim))
            {
                return TorchError::raise_runtime(format!(
                    "movedim: repeated dim in `{side}` ({})",
                    list(dims)
                ));
            }
        }
        if self.dim() == 0 {
            return Ok(self.clone());
        }
        let mut rest = (0..self.dim()).filter(|dim| !from.contains(dim));
        let order: Dims = (0..self.dim())
            .map(|at| match to.iter().position(|&dim| dim == at) {
                Some(nth) => from[nth] as i64,
                None => rest.next().unwrap_or(0) as i64,
            })
            .collect();
        self.permute(&order)
    }

    /// `x.expand(sizes)`.
    pub fn expand(&self, sizes: &[i64]) -> Result<Self, TorchError> {
        let ndim = self.dim();
        if sizes.len() < ndim {
            return TorchError::raise_runtime(format!(
                "expand({}{{{}}}, size={}): the number of sizes provided ({}) must be greater or equal \
                 to the number of dimensions in the tensor ({ndim})",
                super::dtype::type_name(self.dtype),
                list(&self.shape),
                list(sizes),
                sizes.len()
            ));
        }
        let lead = sizes.len() - ndim;
        let mut shape: Dims = smallvec::smallvec![0; sizes.len()];
        let mut strides: Dims = smallvec::smallvec![0; sizes.len()];
        for at in (0..sizes.len()).rev() {
            let (mut size, mut stride) = match at.checked_sub(lead) {
                Some(dim) => (self.shape[dim], self.strides[dim]),
                None if ndim == 0 => (1, 0),
                None => (1, shape[at + 1].saturating_mul(strides[at + 1])),
            };
            let mut target = sizes[at];
            if target < 0 && at < lead {
                return TorchError::raise_runtime(format!(
                    "The expanded size of the tensor ({target}) isn't allowed in a leading, non-existing dimension {at}"
                ));
            }
            if target == -1 {
                target = size;
            }
            if size != target {
                if size != 1 {
                    return TorchError::raise_runtime(format!(
                        "The expanded size of the tensor ({target}) must match the existing size ({size}) at \
                         non-singleton dimension {at}.  Target sizes: {}.  Tensor sizes: {}",
                        list(sizes),
                        list(&self.shape)
                    ));
                }
                if target < 0 {
                    return TorchError::raise_runtime(format!(
                        "Trying to create tensor with negative dimension {target}: {}",
                        list(sizes)
                    ));
                }
                size = target;
                stride = if is_planted(Fault::ExpandKeepsStride) {
                    stride
                } else {
                    0
                };
            }
            shape[at] = size;
            strides[at] = stride;
        }
        self.with_layout(shape, strides, self.offset)
    }

    /// `x.squeeze()`: drops every dimension of one element.
    #[must_use]
    pub fn squeeze(&self) -> Self {
        self.keep(|dim| self.shape[dim] != 1)
    }

    /// `x.squeeze(dims)`: drops the given dimensions if they have one element.
    pub fn squeeze_dims(&self, dims: &[i64]) -> Result<Self, TorchError> {
        let mut drop: SmallVec<[bool; 8]> = smallvec::smallvec![false; self.dim().max(1)];
        for &dim in dims {
            let dim = wrap_dim(dim, self.dim())?;
            if std::mem::replace(&mut drop[dim], true) {
                return TorchError::raise_runtime(format!(
                    "dim {dim} appears multiple times in the list of dims"
                ));
            }
        }
        Ok(self.keep(|dim| !drop[dim] || self.shape[dim] != 1))
    }

    /// `x.unsqueeze(dim)`.
    pub fn unsqueeze(&self, dim: i64) -> Result<Self, TorchError> {
        let dim = wrap_dim(dim, self.dim() + 1)?;
        let stride = match self.shape.get(dim) {
            Some(&size) => size.saturating_mul(self.stride_at(dim)),
            None => 1,
        };
        let (mut shape, mut strides) = (self.shape.clone(), self.strides.clone());
        shape.insert(dim, 1);
        strides.insert(dim, stride);
        self.with_layout(shape, strides, self.offset)
    }

    /// `x.diagonal(offset, dim1, dim2)`.
    pub fn diagonal(&self, offset: i64, dim1: i64, dim2: i64) -> Result<Self, TorchError> {
        let (a, b) = (wrap_dim(dim1, self.dim())?, wrap_dim(dim2, self.dim())?);
        if a == b {
            return TorchError::raise_runtime(format!(
                "diagonal dimensions cannot be identical {dim1}, {dim2}"
            ));
        }
        let (rows, columns) = (self.shape[a], self.shape[b]);
        let size = if offset >= 0 {
            rows.min(columns.saturating_sub(offset))
        } else {
            rows.saturating_add(offset).min(columns)
        }
        .max(0);
        let start = if size == 0 || is_planted(Fault::DiagonalStartsAtZero) {
            self.offset
        } else if offset >= 0 {
            self.offset.saturating_add(offset.saturating_mul(self.strides[b]))
        } else {
            self.offset
                .saturating_add(offset.saturating_neg().saturating_mul(self.strides[a]))
        };
        let stride = self.strides[a].saturating_add(self.strides[b]);
        let mut out = self.keep(|dim| dim != a && dim != b);
        out.shape.push(size);
        out.strides.push(stride);
        out.offset = start;
        Ok(out)
    }

    fn keep(&self, wanted: impl Fn(usize) -> bool) -> Self {
        let pick = |dims: &Dims| {
            dims.iter()
                .enumerate()
                .filter(|&(dim, _)| wanted(dim))
                .map(|(_, &n)| n)
                .collect()
        };
        Self {
            storage: self.storage,
            dtype: self.dtype,
            shape: pick(&self.shape),
            strides: pick(&self.strides),
            offset: self.offset,
        }
    }
}
