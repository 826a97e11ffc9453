//! Which view of a storage shows a byte. Asked byte by byte, and only where bits differ: a map of all bytes costs more than
//! comparing them.

use std::cell::OnceCell;
use std::collections::HashSet;

use cerith_memory::{Dims, NamedTensor, StorageId, Tensor};
use cerith_tile::DType;

/// A view of a storage, and how its elements lie.
struct StorageView<'a> {
    /// The number of the view among all views.
    nth: usize,
    tensor: &'a Tensor,
    layout: ViewLayout,
}

/// How the elements of a view lie.
enum ViewLayout {
    /// One element fits between two neighbours along a dimension with all the dimensions that are narrower: stride, size and
    /// number of each dimension with more than one element, the widest first. No two elements are one, unless by a stride of 0.
    Nested(Vec<(i64, i64, usize)>),
    /// In any other way: the elements, computed on demand.
    Anyhow(OnceCell<HashSet<i64>>),
}

impl ViewLayout {
    fn from_tensor(tensor: &Tensor) -> Self {
        let mut dims: Vec<(i64, i64, usize)> = tensor
            .strides
            .iter()
            .zip(&tensor.shape)
            .enumerate()
            .filter(|(_, (stride, size))| **stride > 0 && **size > 1)
            .map(|(nth, (&stride, &size))| (stride, size, nth))
            .collect();
        dims.sort_unstable_by(|one, other| other.cmp(one));
        let mut reach = 0_i64;
        for &(stride, size, _) in dims.iter().rev() {
            if stride <= reach {
                return Self::Anyhow(OnceCell::new());
            }
            reach = reach.saturating_add(stride.saturating_mul(size - 1));
        }
        Self::Nested(dims)
    }
}

impl StorageView<'_> {
    /// The first index of an element of the storage, if the view shows it; the index is left at 0 where only enumeration knows it.
    fn index(&self, element: i64) -> Option<Dims> {
        let mut rest = element - self.tensor.offset;
        if rest < 0 || self.tensor.numel() == 0 {
            return None;
        }
        let mut index = Dims::from_elem(0, self.tensor.dim());
        match &self.layout {
            ViewLayout::Nested(dims) => {
                for &(stride, size, nth) in dims {
                    let at = (rest / stride).min(size - 1);
                    rest -= at * stride;
                    if let Some(slot) = index.get_mut(nth) {
                        *slot = at;
                    }
                }
                (rest == 0).then_some(index)
            }
            ViewLayout::Anyhow(elements) => elements
                .get_or_init(|| {
                    let size = self.tensor.element_size().max(1);
                    self.tensor
                        .element_starts()
                        .map(|start| (start / size) as i64)
                        .collect()
                })
                .contains(&element)
                .then_some(index),
        }
    }
}

/// The views of one storage.
pub(crate) struct Covers<'a> {
    views: Vec<StorageView<'a>>,
}

impl<'a> Covers<'a> {
    /// Those of `views` that are of this storage.
    pub(crate) fn new(views: &'a [NamedTensor], storage: StorageId) -> Self {
        Self {
            views: views
                .iter()
                .enumerate()
                .filter(|(_, view)| view.tensor.storage == storage)
                .map(|(nth, view)| StorageView {
                    nth,
                    tensor: &view.tensor,
                    layout: ViewLayout::from_tensor(&view.tensor),
                })
                .collect(),
        }
    }

    /// The first view that shows a byte.
    pub(crate) fn find_view(&self, byte: usize) -> Option<usize> {
        self.find_views(byte).map(|shown| shown.nth).next()
    }

    /// The dtypes that a byte is shown as.
    pub(crate) fn find_dtypes(&self, byte: usize) -> impl Iterator<Item = DType> {
        self.find_views(byte).map(|shown| shown.tensor.dtype)
    }

    fn find_views(&self, byte: usize) -> impl Iterator<Item = &StorageView<'a>> {
        self.views.iter().filter(move |shown| {
            // Offsets and strides count elements, so that all elements of a size begin at its multiples.
            let element = byte / shown.tensor.element_size().max(1);
            i64::try_from(element).is_ok_and(|element| shown.index(element).is_some())
        })
    }

    /// The first index whose element of a view starts at a byte.
    pub(crate) fn find_coordinates(&self, nth: usize, byte: usize) -> Option<Dims> {
        let shown = self.views.iter().find(|shown| shown.nth == nth)?;
        let size = shown.tensor.element_size().max(1);
        if !byte.is_multiple_of(size) {
            return None;
        }
        let index = shown.index(i64::try_from(byte / size).ok()?)?;
        match shown.layout {
            ViewLayout::Nested(_) => Some(index),
            ViewLayout::Anyhow(_) => search_coordinates(shown.tensor, byte),
        }
    }
}

/// Searches all elements one by one.
fn search_coordinates(tensor: &Tensor, byte: usize) -> Option<Dims> {
    let nth = tensor.element_starts().position(|start| start == byte)? as i64;
    let mut rest = nth;
    let mut index: Dims = Dims::from_elem(0, tensor.dim());
    for (slot, &extent) in index.iter_mut().zip(&tensor.shape).rev() {
        *slot = rest % extent.max(1);
        rest /= extent.max(1);
    }
    Some(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the answer for every byte of a view with enumeration.
    #[track_caller]
    fn check(shape: &[i64], strides: &[i64], offset: i64, dtype: DType) {
        let tensor = Tensor {
            storage: StorageId(0),
            dtype,
            shape: shape.into(),
            strides: strides.into(),
            offset,
        };
        let views = [NamedTensor {
            name: "x".to_owned(),
            tensor: tensor.clone(),
        }];
        let covers = Covers::new(&views, StorageId(0));
        let size = dtype.size();
        let starts: HashSet<usize> = tensor.element_starts().collect();
        for byte in 0..200 {
            let shown = starts.contains(&(byte / size * size));
            assert_eq!(
                covers.find_view(byte).is_some(),
                shown,
                "byte {byte} of {tensor:?}"
            );
            assert_eq!(
                covers.find_dtypes(byte).count(),
                usize::from(shown),
                "byte {byte}"
            );
            assert_eq!(
                covers.find_coordinates(0, byte),
                search_coordinates(&tensor, byte),
                "byte {byte} of {tensor:?}"
            );
        }
    }

    #[test]
    fn every_byte_is_shown_as_enumeration_says() {
        for dtype in [DType::F32, DType::I8, DType::F16] {
            check(&[3, 4], &[4, 1], 0, dtype);
            check(&[3, 4], &[1, 3], 2, dtype);
            check(&[2, 3, 2], &[12, 3, 1], 1, dtype);
            check(&[3, 1, 2], &[5, 7, 2], 0, dtype);
            // Expanded, unfolded, crossing, empty, a scalar.
            check(&[3, 4], &[0, 1], 3, dtype);
            check(&[3, 4], &[1, 1], 0, dtype);
            check(&[3, 3], &[3, 2], 0, dtype);
            check(&[3, 0], &[1, 1], 0, dtype);
            check(&[], &[], 5, dtype);
        }
    }
}
