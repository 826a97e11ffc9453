//! torch's operations that always or sometimes copy. A copy is a new storage of the set.
//!
//! A copied byte keeps its state, and a copied address its target.

use cerith_tile::DType;

use crate::error::TorchError;
use crate::storage::{Pointer, Storage, StorageId, Storages, TooLarge};
use crate::tensor::{Dims, Tensor, contiguous_strides};
use crate::view::{compute_stride, infer_size, wrap_dim};

impl From<TooLarge> for TorchError {
    fn from(error: TooLarge) -> Self {
        Self::Runtime(error.to_string())
    }
}

impl Storages {
    /// Adds a storage for a contiguous tensor, uninitialised. Sizes must not be negative.
    pub fn allocate(
        &mut self,
        name: impl Into<String>,
        dtype: DType,
        shape: &[i64],
    ) -> Result<Tensor, TorchError> {
        self.empty_strided(&name.into(), dtype, shape, contiguous_strides(shape))
    }

    fn empty_strided(
        &mut self,
        name: &str,
        dtype: DType,
        shape: &[i64],
        strides: Dims,
    ) -> Result<Tensor, TorchError> {
        if let Some(negative) = shape.iter().find(|&&size| size < 0) {
            return Err(TorchError::Runtime(format!(
                "Trying to create tensor with negative dimension {negative}: {shape:?}"
            )));
        }
        let like = Tensor {
            storage: StorageId(0),
            dtype,
            shape: Dims::new(),
            strides: Dims::new(),
            offset: 0,
        };
        let like = like.with_layout(shape.into(), strides, 0)?;
        let bytes = like.byte_range().map_or(0, |(_, end)| end as u64);
        let storage = self.add(name, bytes)?;
        Ok(Tensor { storage, ..like })
    }

    /// `x.clone()`, and `x.cpu()` of a CUDA tensor: a dense tensor keeps its strides.
    pub fn clone_tensor(&mut self, tensor: &Tensor, name: &str) -> Result<Tensor, TorchError> {
        self.copy_as(tensor, tensor.preserved_strides(), name)
    }

    /// `x.contiguous()`: `x` itself if it is contiguous.
    pub fn contiguous(&mut self, tensor: &Tensor, name: &str) -> Result<Tensor, TorchError> {
        if tensor.is_contiguous() {
            return Ok(tensor.clone());
        }
        self.copy_as(tensor, contiguous_strides(&tensor.shape), name)
    }

    /// `x.reshape(shape)`: a view where strides allow it, otherwise a contiguous copy.
    pub fn reshape(&mut self, tensor: &Tensor, shape: &[i64], name: &str) -> Result<Tensor, TorchError> {
        let shape = infer_size(shape, tensor.numel())?;
        if let Some(strides) = compute_stride(&tensor.shape, &tensor.strides, &shape) {
            return tensor.with_layout(shape, strides, tensor.offset);
        }
        self.copy_as(tensor, contiguous_strides(&tensor.shape), name)?
            .view(&shape)
    }

    /// `x.flatten(start_dim, end_dim)`.
    pub fn flatten(
        &mut self,
        tensor: &Tensor,
        start_dim: i64,
        end_dim: i64,
        name: &str,
    ) -> Result<Tensor, TorchError> {
        match tensor.flattened_shape(start_dim, end_dim)? {
            Some(shape) => self.reshape(tensor, &shape, name),
            None => Ok(tensor.clone()),
        }
    }

    /// `x.ravel()`.
    pub fn ravel(&mut self, tensor: &Tensor, name: &str) -> Result<Tensor, TorchError> {
        self.contiguous(tensor, name)?.view(&[-1])
    }

    /// `x.flip(dims)`: always a copy, since strides are never negative.
    pub fn flip(&mut self, tensor: &Tensor, dims: &[i64], name: &str) -> Result<Tensor, TorchError> {
        let mut flipped: Dims = smallvec::smallvec![0; tensor.dim().max(1)];
        for &dim in dims {
            let dim = wrap_dim(dim, tensor.dim())?;
            if std::mem::replace(&mut flipped[dim], 1) == 1 {
                return TorchError::raise_runtime(format!(
                    "dim {dim} appears multiple times in the list of dims"
                ));
            }
        }
        let out = self.empty_strided(name, tensor.dtype, &tensor.shape, tensor.preserved_strides())?;
        let mut from = Walk::from_tensor(tensor);
        for (dim, _) in flipped
            .iter()
            .enumerate()
            .take(tensor.dim())
            .filter(|&(_, &flip)| flip == 1)
        {
            from.start = from
                .start
                .saturating_add((tensor.shape[dim] - 1).saturating_mul(from.strides[dim]));
            from.strides[dim] = from.strides[dim].saturating_neg();
        }
        self.copy_elements(tensor, &from, &out);
        Ok(out)
    }

    /// `x.repeat(sizes)`.
    pub fn repeat(&mut self, tensor: &Tensor, sizes: &[i64], name: &str) -> Result<Tensor, TorchError> {
        let Some(lead) = sizes.len().checked_sub(tensor.dim()) else {
            return TorchError::raise_runtime(
                "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
            );
        };
        let (mut shape, mut strides) = (Dims::new(), Dims::new());
        for (at, &times) in sizes.iter().enumerate() {
            let (size, stride) = match at.checked_sub(lead) {
                Some(dim) => (tensor.shape[dim], tensor.strides[dim]),
                None => (1, 0),
            };
            shape.extend([times, size]);
            strides.extend([0, stride]);
        }
        let merged: Dims = shape
            .chunks(2)
            .map(|pair| pair.iter().fold(1i64, |n, &m| n.saturating_mul(m)))
            .collect();
        let out = self.empty_strided(name, tensor.dtype, &merged, contiguous_strides(&merged))?;
        let spread = Tensor {
            shape,
            strides,
            ..tensor.clone()
        };
        let target = Tensor {
            strides: contiguous_strides(&spread.shape),
            shape: spread.shape.clone(),
            ..out.clone()
        };
        self.copy_elements(&spread, &Walk::from_tensor(&spread), &target);
        Ok(out)
    }

    /// Copies all elements to a new storage with these `strides`.
    fn copy_as(&mut self, tensor: &Tensor, strides: Dims, name: &str) -> Result<Tensor, TorchError> {
        let out = self.empty_strided(name, tensor.dtype, &tensor.shape, strides)?;
        self.copy_elements(tensor, &Walk::from_tensor(tensor), &out);
        Ok(out)
    }

    /// Copies the elements that `walk` meets in the storage of `tensor` to those of `out`, index by index. `out` is
    /// new, dense and of another storage.
    fn copy_elements(&mut self, tensor: &Tensor, walk: &Walk, out: &Tensor) {
        if out.numel() == 0 {
            return;
        }
        let Some(target) = self.get_mut(out.storage) else {
            return;
        };
        let mut bytes = std::mem::take(&mut target.bytes);
        let mut states = std::mem::take(&mut target.states);
        let mut pointers = Vec::new();
        let nowhere = Storage::default();
        let source = self.get(tensor.storage).unwrap_or(&nowhere);
        let width = tensor.element_size();
        let to = Walk::from_tensor(out);
        each_pair(&out.shape, walk, &to, |from, to| {
            let (Ok(from), Ok(to)) = (usize::try_from(from), usize::try_from(to)) else {
                return;
            };
            let source_range = from..from.saturating_add(width);
            let target_range = to..to.saturating_add(width);
            if let (Some((source_bytes, source_states)), Some(target_bytes), Some(target_states)) = (
                source.read(source_range),
                bytes.get_mut(target_range.clone()),
                states.get_mut(target_range),
            ) {
                target_bytes.copy_from_slice(&source_bytes);
                target_states.copy_from_slice(&source_states);
                if width == 8
                    && let Ok(at) = source
                        .pointers
                        .binary_search_by_key(&from, |pointer| pointer.offset)
                {
                    pointers.push(Pointer {
                        offset: to,
                        ..source.pointers[at]
                    });
                }
            }
        });
        pointers.sort_unstable();
        if let Some(target) = self.get_mut(out.storage) {
            target.bytes = bytes;
            target.states = states;
            target.pointers = pointers;
        }
    }
}

/// How the bytes of elements follow from indices.
struct Walk {
    /// Byte of the first element.
    start: i64,
    /// Bytes between neighbours of each dimension.
    strides: Dims,
}

impl Walk {
    fn from_tensor(tensor: &Tensor) -> Self {
        let width = tensor.element_size() as i64;
        Self {
            start: tensor.byte_offset(),
            strides: tensor
                .strides
                .iter()
                .map(|&stride| stride.saturating_mul(width))
                .collect(),
        }
    }
}

/// Calls `visit` with the byte that each walk meets at every index of `shape`, which has no 0.
fn each_pair(shape: &[i64], a: &Walk, b: &Walk, mut visit: impl FnMut(i64, i64)) {
    let (mut at_a, mut at_b) = (a.start, b.start);
    let mut index: Dims = smallvec::smallvec![0; shape.len()];
    loop {
        visit(at_a, at_b);
        let mut dim = shape.len();
        loop {
            let Some(next) = dim.checked_sub(1) else { return };
            dim = next;
            index[dim] += 1;
            at_a = at_a.wrapping_add(a.strides[dim]);
            at_b = at_b.wrapping_add(b.strides[dim]);
            if index[dim] < shape[dim] {
                break;
            }
            at_a = at_a.wrapping_sub(a.strides[dim].wrapping_mul(shape[dim]));
            at_b = at_b.wrapping_sub(b.strides[dim].wrapping_mul(shape[dim]));
            index[dim] = 0;
        }
    }
}
