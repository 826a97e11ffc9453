//! Tensors: views of a storage. See [`crate::view`] for view operations.

use cerith_tile::DType;
use smallvec::SmallVec;

use crate::storage::StorageId;

/// One number per dimension.
pub type Dims = SmallVec<[i64; 4]>;

/// A view of a storage. As in torch, sizes and strides are never negative, strides and offset count elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tensor {
    /// The storage viewed.
    pub storage: StorageId,
    /// Type of an element.
    pub dtype: DType,
    /// Elements along each dimension.
    pub shape: Dims,
    /// Elements between neighbours along each dimension; as long as `shape`.
    pub strides: Dims,
    /// Element of the storage that index `[0, 0, …]` is.
    pub offset: i64,
}

impl Tensor {
    /// A contiguous tensor from the start of `storage`.
    pub fn new_contiguous(storage: StorageId, dtype: DType, shape: &[i64]) -> Self {
        Self {
            storage,
            dtype,
            shape: shape.into(),
            strides: contiguous_strides(shape),
            offset: 0,
        }
    }

    /// Whether the fields form a valid tensor: as many strides as sizes, and nothing negative. The operations of this
    /// crate create only valid ones.
    pub fn is_proper(&self) -> bool {
        self.shape.len() == self.strides.len()
            && self.offset >= 0
            && self.shape.iter().chain(&self.strides).all(|&n| n >= 0)
    }

    /// `x.dim()`.
    pub fn dim(&self) -> usize {
        self.shape.len()
    }

    /// `x.numel()`; `i64::MAX` where the product is larger.
    pub fn numel(&self) -> i64 {
        numel(&self.shape)
    }

    /// `x.element_size()`, in bytes.
    pub fn element_size(&self) -> usize {
        self.dtype.size()
    }

    /// `x.is_contiguous()`: elements lie in order without gaps. Strides of dimensions with one element do not matter,
    /// and a tensor without elements always is (`c10/core/Contiguity.h`).
    pub fn is_contiguous(&self) -> bool {
        if self.numel() == 0 {
            return true;
        }
        let mut expected = 1i64;
        for (&size, &stride) in self.shape.iter().zip(&self.strides).rev() {
            if size != 1 {
                if stride != expected {
                    return false;
                }
                expected = expected.saturating_mul(size);
            }
        }
        true
    }

    /// The byte of the storage that `x.data_ptr()` points to.
    pub fn byte_offset(&self) -> i64 {
        self.offset.saturating_mul(self.element_size() as i64)
    }

    /// The first byte in the storage of every element, in row-major order.
    pub fn element_starts(&self) -> impl Iterator<Item = usize> + '_ {
        let size = self.element_size();
        let mut index: Dims = Dims::from_elem(0, self.dim());
        let mut left = self.numel();
        std::iter::from_fn(move || {
            if left <= 0 {
                return None;
            }
            left -= 1;
            let element: i64 = self.offset + index.iter().zip(&self.strides).map(|(i, s)| i * s).sum::<i64>();
            for (slot, &extent) in index.iter_mut().zip(&self.shape).rev() {
                *slot += 1;
                if *slot < extent {
                    break;
                }
                *slot = 0;
            }
            Some(usize::try_from(element).unwrap_or(usize::MAX / 16) * size)
        })
    }

    /// The range of bytes of the storage from the first to one past the last that any element covers; `None` for a
    /// tensor without elements.
    pub fn byte_range(&self) -> Option<(i64, i64)> {
        if self.shape.contains(&0) {
            return None;
        }
        let last = self
            .shape
            .iter()
            .zip(&self.strides)
            .fold(self.offset, |last, (&size, &stride)| {
                last.saturating_add((size - 1).saturating_mul(stride))
            });
        let size = self.element_size() as i64;
        Some((self.byte_offset(), last.saturating_add(1).saturating_mul(size)))
    }
}

/// Row-major strides; a dimension of 0 counts as 1, as in torch (`c10::TensorImpl::empty_tensor_restride`).
pub(crate) fn contiguous_strides(shape: &[i64]) -> Dims {
    let mut strides: Dims = smallvec::smallvec![1; shape.len()];
    let mut stride = 1i64;
    for (at, &size) in shape.iter().enumerate().rev() {
        if let Some(slot) = strides.get_mut(at) {
            *slot = stride;
        }
        stride = stride.saturating_mul(size.max(1));
    }
    strides
}

/// Product of sizes; 0 wins over overflow, overflow is `i64::MAX`.
pub(crate) fn numel(shape: &[i64]) -> i64 {
    if shape.contains(&0) {
        return 0;
    }
    shape
        .iter()
        .fold(1i64, |product, &size| product.saturating_mul(size))
}
