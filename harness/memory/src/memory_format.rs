//! Memory formats: the strides that torch gives to a copy.
//!
//! The rules are those of torch 2.11's `c10/core/TensorImpl.cpp` and `aten/src/ATen/ExpandUtils.cpp`. An H200 shows
//! that `.cpu()` follows them too (`tests/golden/cpu_copies.jsonl`).

use smallvec::SmallVec;

use crate::tensor::{Dims, Tensor};

impl Tensor {
    /// Whether the elements fill their memory without gaps and without sharing, in any order of dimensions.
    pub fn is_non_overlapping_and_dense(&self) -> bool {
        if self.is_contiguous() {
            return true;
        }
        if let ([size], [stride]) = (&self.shape[..], &self.strides[..]) {
            return *size < 2 || *stride == 1;
        }
        let mut by_stride: SmallVec<[(i64, i64); 8]> = self
            .shape
            .iter()
            .zip(&self.strides)
            .filter(|&(&size, _)| size >= 2)
            .map(|(&n, &s)| (s, n))
            .collect();
        by_stride.sort_unstable();
        let mut expected = 1i64;
        for (stride, size) in by_stride {
            if stride != expected {
                return false;
            }
            expected = expected.saturating_mul(size);
        }
        true
    }

    /// The strides of `x.clone()`, `x.cpu()` and `torch.empty_like(x)`: those of `x` if it is dense, otherwise dense
    /// strides in the same order of dimensions. The copy starts a storage of its own.
    pub fn preserved_strides(&self) -> Dims {
        if self.is_non_overlapping_and_dense() {
            self.strides.clone()
        } else {
            self.dense_strides()
        }
    }

    /// Dense strides in the order of the present ones (`infer_dense_strides`). An expanded dimension keeps its place
    /// among the others.
    fn dense_strides(&self) -> Dims {
        let ndim = self.dim();
        let mut order: SmallVec<[usize; 8]> = (0..ndim).rev().collect();
        // An insertion sort like torch's: the comparison is not transitive, so another algorithm would return a
        // different order.
        for start in 1..ndim {
            let mut at = start;
            for before in (0..start).rev() {
                match self.compare_strides(order[before], order[at]) {
                    std::cmp::Ordering::Greater => {
                        order.swap(before, at);
                        at = before;
                    }
                    std::cmp::Ordering::Less => break,
                    std::cmp::Ordering::Equal => {}
                }
            }
        }
        let mut strides: Dims = smallvec::smallvec![1; ndim];
        let mut next = 1i64;
        for dim in order {
            strides[dim] = next;
            if self.shape[dim] > 1 {
                next = next.saturating_mul(self.shape[dim]);
            }
        }
        strides
    }

    fn compare_strides(&self, a: usize, b: usize) -> std::cmp::Ordering {
        let (stride_a, stride_b) = (self.strides[a], self.strides[b]);
        if stride_a == 0 || stride_b == 0 {
            return std::cmp::Ordering::Equal;
        }
        match stride_a.cmp(&stride_b) {
            // If strides are equal, the larger size is further out.
            std::cmp::Ordering::Equal if self.shape[a] > self.shape[b] => std::cmp::Ordering::Greater,
            std::cmp::Ordering::Equal => std::cmp::Ordering::Equal,
            unequal => unequal,
        }
    }
}
