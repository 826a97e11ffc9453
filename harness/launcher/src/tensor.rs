//! Stand-in tensors: shapes and strides over a storage, with torch's views, but without elements.

use super::value::{Dtype, From, Number, Slice};

/// A view of a storage.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    pub storage: usize,
    pub shape: Vec<Number>,
    pub strides: Vec<i64>,
    pub offset: i64,
    pub dtype: Dtype,
    /// The launcher's parameter that is this tensor, unchanged.
    pub input: From,
    /// The launcher's parameter from which this tensor was computed with the same number of dimensions.
    pub base: From,
}

/// The content of a storage before a launch.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fill {
    /// Values that a caller passes.
    Given,
    Uninit,
    Zeros,
    Ones,
    Full(String),
    Arange,
    /// Integers that the launcher computed, in the order of memory.
    Elements(Vec<i64>),
    /// Values that torch or another kernel computed.
    Computed,
}

/// Memory that a tensor is a view of.
#[derive(Clone, Debug)]
pub(super) struct Storage {
    pub name: String,
    pub dtype: Dtype,
    /// The shape that a case file declares.
    pub shape: Vec<i64>,
    pub fill: Fill,
    /// The launcher's parameter whose elements it has.
    pub input: From,
    /// Whether the launcher returns a tensor in it.
    pub is_returned: bool,
    /// Whether a function that the launcher calls returns a tensor in it.
    pub is_result: bool,
}

pub(super) fn product(shape: &[i64]) -> Option<i64> {
    shape.iter().try_fold(1_i64, |all, one| all.checked_mul(*one))
}

/// The strides of a contiguous tensor.
pub(super) fn dense(shape: &[i64]) -> Vec<i64> {
    let mut step = 1_i64;
    let mut strides: Vec<i64> = shape
        .iter()
        .rev()
        .map(|size| {
            let stride = step;
            step = step.saturating_mul((*size).max(1));
            stride
        })
        .collect();
    strides.reverse();
    strides
}

impl Tensor {
    pub fn sizes(&self) -> Vec<i64> {
        self.shape.iter().map(|size| size.value).collect()
    }

    pub fn numel(&self) -> Number {
        let only: Vec<&Number> = self
            .shape
            .iter()
            .filter(|size| size.value != 1 || size.sizes != 0)
            .collect();
        if let [only] = only[..] {
            return *only;
        }
        let all = self.shape.iter().fold(0, |all, size| all | size.sizes);
        let value = self
            .shape
            .iter()
            .fold(1_i64, |all, size| all.saturating_mul(size.value));
        Number::computed(value, all)
    }

    pub fn is_contiguous(&self) -> bool {
        let dense = dense(&self.sizes());
        let mut dims = self.shape.iter().zip(&self.strides).zip(dense);
        self.sizes().contains(&0) || dims.all(|((size, stride), dense)| size.value == 1 || *stride == dense)
    }

    /// Resolves a dimension that may count from the end.
    pub fn dim(&self, dim: i64) -> Option<usize> {
        wrap(dim, self.shape.len())
    }

    fn view_of(&self, shape: Vec<Number>, strides: Vec<i64>, offset: i64) -> Self {
        Self {
            base: self.base.filter(|_| shape.len() == self.shape.len()),
            shape,
            strides,
            offset,
            input: None,
            ..self.clone()
        }
    }

    pub fn permute(&self, order: &[usize]) -> Option<Self> {
        let pick = |at: &usize| Some((*self.shape.get(*at)?, *self.strides.get(*at)?));
        let dims: Option<Vec<_>> = order.iter().map(pick).collect();
        let (shape, strides) = dims?.into_iter().unzip();
        Some(self.view_of(shape, strides, self.offset))
    }

    pub fn transpose(&self, a: i64, b: i64) -> Option<Self> {
        let (a, b) = (self.dim(a)?, self.dim(b)?);
        let mut order: Vec<usize> = (0..self.shape.len()).collect();
        order.swap(a, b);
        self.permute(&order)
    }

    pub fn unsqueeze(&self, dim: i64) -> Option<Self> {
        let at = wrap(dim, self.shape.len() + 1)?;
        let (mut shape, mut strides) = (self.shape.clone(), self.strides.clone());
        let stride = match (self.shape.get(at), self.strides.get(at)) {
            (Some(size), Some(stride)) => size.value.saturating_mul(*stride),
            _ => 1,
        };
        shape.insert(at, Number::plain(1));
        strides.insert(at, stride);
        Some(self.view_of(shape, strides, self.offset))
    }

    /// Removes dimension `dim` if its size is 1, or all dimensions of size 1.
    pub fn squeeze(&self, dim: Option<i64>) -> Option<Self> {
        let only = match dim {
            Some(dim) => Some(self.dim(dim)?),
            None => None,
        };
        let kept: Vec<usize> = (0..self.shape.len())
            .filter(|at| {
                let is_one = self.shape.get(*at).is_some_and(|size| size.value == 1);
                !is_one || only.is_some_and(|only| only != *at)
            })
            .collect();
        self.permute(&kept)
    }

    pub fn select(&self, dim: usize, index: i64) -> Option<Self> {
        let size = self.shape.get(dim)?.value;
        let index = if index < 0 { index + size } else { index };
        if !(0..size).contains(&index) {
            return None;
        }
        let offset = self
            .offset
            .checked_add(index.checked_mul(*self.strides.get(dim)?)?)?;
        let (mut shape, mut strides) = (self.shape.clone(), self.strides.clone());
        shape.remove(dim);
        strides.remove(dim);
        Some(self.view_of(shape, strides, offset))
    }

    pub fn slice(&self, dim: usize, slice: &Slice) -> Option<Self> {
        let size = *self.shape.get(dim)?;
        let stride = *self.strides.get(dim)?;
        if slice.step < 1 {
            return None;
        }
        let bound = |bound: Option<Number>, or: Number| {
            let bound = bound.unwrap_or(or);
            let value = if bound.value < 0 {
                bound.value.saturating_add(size.value)
            } else {
                bound.value
            };
            let value = value.clamp(0, size.value);
            if value == bound.value {
                bound
            } else {
                Number::computed(value, bound.sizes | size.sizes)
            }
        };
        let lower = bound(slice.lower, Number::plain(0));
        let upper = bound(slice.upper, size);
        let length = (upper.value - lower.value).max(0);
        let elements = length / slice.step + i64::from(length % slice.step != 0);
        let extent = if lower.value == 0 && slice.step == 1 {
            upper
        } else {
            Number::computed(elements, lower.sizes | upper.sizes)
        };
        let (mut shape, mut strides) = (self.shape.clone(), self.strides.clone());
        *shape.get_mut(dim)? = extent;
        *strides.get_mut(dim)? = stride.checked_mul(slice.step)?;
        let offset = self.offset.checked_add(lower.value.checked_mul(stride)?)?;
        Some(self.view_of(shape, strides, offset))
    }

    pub fn expand(&self, shape: &[Number]) -> Option<Self> {
        let more = shape.len().checked_sub(self.shape.len())?;
        let mut strides = vec![0; more];
        let mut sizes: Vec<Number> = shape.to_vec();
        for (at, (own, stride)) in self.shape.iter().zip(&self.strides).enumerate() {
            let size = sizes.get_mut(more + at)?;
            if size.value == -1 || size.value == own.value {
                *size = *own;
                strides.push(*stride);
            } else if own.value == 1 {
                strides.push(0);
            } else {
                return None;
            }
        }
        Some(self.view_of(sizes, strides, self.offset))
    }

    /// Replaces a `-1` among the sizes of a view.
    pub fn complete(&self, shape: &[Number]) -> Option<Vec<Number>> {
        let numel = self.numel();
        let holes = shape.iter().filter(|size| size.value == -1).count();
        let mut shape = shape.to_vec();
        if holes > 1 || shape.iter().any(|size| size.value < -1) {
            return None;
        }
        let given = shape.iter().filter(|size| size.value != -1);
        let (known, sizes) = given.fold((1_i64, 0), |(all, sizes), size| {
            (all.saturating_mul(size.value), sizes | size.sizes)
        });
        if holes == 1 {
            if known == 0 || numel.value % known != 0 {
                return None;
            }
            // A size of this tensor with the right value that the other sizes do not use keeps its source.
            let rest = numel.value / known;
            let mut own = self.shape.iter();
            let same = own.find(|size| size.value == rest && size.sizes & !sizes != 0);
            let computed = Number::computed(rest, numel.sizes | sizes);
            let hole = shape.iter_mut().find(|size| size.value == -1)?;
            *hole = same.copied().unwrap_or(computed);
        } else if known != numel.value {
            return None;
        }
        Some(shape)
    }

    /// Evaluates `view`; `None` if it needs a copy. The shape is complete.
    pub fn view(&self, shape: &[Number]) -> Option<Self> {
        let sizes: Vec<i64> = shape.iter().map(|size| size.value).collect();
        if self.is_contiguous() {
            return Some(self.view_of(shape.to_vec(), dense(&sizes), self.offset));
        }
        // Like torch: a group of dimensions that is contiguous in itself can be split and merged.
        let mut strides = vec![0_i64; sizes.len()];
        let own = self.sizes();
        let mut at = sizes.len();
        let mut end = own.len();
        while end > 0 {
            let base = *self.strides.get(end - 1)?;
            let mut elements = *own.get(end - 1)?;
            let mut start = end - 1;
            while start > 0
                && (own.get(start - 1) == Some(&1)
                    || *self.strides.get(start - 1)? == elements.checked_mul(base)?)
            {
                start -= 1;
                elements = elements.checked_mul(*own.get(start)?)?;
            }
            let mut taken = 1_i64;
            while at > 0 && (taken < elements || sizes.get(at - 1) == Some(&1)) {
                at -= 1;
                *strides.get_mut(at)? = taken.checked_mul(base)?;
                taken = taken.checked_mul(*sizes.get(at)?)?;
            }
            if taken != elements {
                return None;
            }
            end = start;
        }
        (at == 0).then(|| self.view_of(shape.to_vec(), strides, self.offset))
    }

    /// The expression for this tensor in a case file, in terms of its storage.
    pub fn expression(&self, storage: &Storage) -> String {
        let name = &storage.name;
        let sizes = self.sizes();
        let declared = &storage.shape;
        let own = dense(declared);
        if self.dtype != storage.dtype {
            // `write` rejects a view with another dtype.
            return name.clone();
        }
        if sizes == *declared && self.strides == own && self.offset == 0 {
            return name.clone();
        }
        let list = |numbers: &[i64]| numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        if self.offset == 0
            && self.is_contiguous()
            && product(&sizes) == product(declared)
            && !sizes.is_empty()
        {
            return format!("{name}.view({})", list(&sizes));
        }
        let ranks = (sizes.len(), declared.len());
        if let ((2, 2), [a, b], [c, d]) = (ranks, &self.strides[..], &own[..])
            && self.offset == 0
            && (a, b) == (d, c)
            && sizes.iter().rev().eq(declared)
        {
            return format!("{name}.t()");
        }
        if ranks.0 == ranks.1
            && self.offset == 0
            && self.strides == own
            && let Some((last, rest)) = sizes.split_last()
            && declared
                .split_last()
                .is_some_and(|(wide, other)| other == rest && last <= wide)
        {
            return format!("{name}[..., :{last}]");
        }
        let tuple = |numbers: &[i64]| match numbers {
            [one] => format!("({one},)"),
            many => format!("({})", list(many)),
        };
        if self.offset == 0 {
            format!("{name}.as_strided({}, {})", tuple(&sizes), tuple(&self.strides))
        } else {
            format!(
                "{name}.as_strided({}, {}, {})",
                tuple(&sizes),
                tuple(&self.strides),
                self.offset
            )
        }
    }
}

fn wrap(dim: i64, rank: usize) -> Option<usize> {
    let rank = rank as i64;
    let dim = if dim < 0 { dim + rank } else { dim };
    if (0..rank).contains(&dim) {
        Some(dim as usize)
    } else {
        None
    }
}
