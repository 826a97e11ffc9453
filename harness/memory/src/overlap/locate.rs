//! Finds the element that covers a byte.

use crate::tensor::{Dims, Tensor};

/// Maximum positions that a search visits.
const MAX_STEPS: u32 = 10_000;

impl Tensor {
    /// The index of an element that covers a byte of the storage. If there are several, it is the first in index order,
    /// with the largest strides first. Also `None` if the search gives up, which needs many strides none of which
    /// contains the others. Use [`super::find_covered_bytes`] if the answer affects a result.
    pub fn index_of_byte(&self, byte: i64) -> Option<Dims> {
        let (start, end) = self.byte_range().filter(|_| self.is_proper())?;
        if byte < start || byte >= end {
            return None;
        }
        let target = (byte - start) / self.element_size() as i64;
        let mut order: Vec<usize> = (0..self.dim())
            .filter(|&dim| self.shape[dim] > 1 && self.strides[dim] > 0)
            .collect();
        order.sort_by_key(|&dim| std::cmp::Reverse(self.strides[dim]));
        // The total reach of all dimensions from each one on.
        let mut reach = vec![0i64; order.len() + 1];
        for (at, &dim) in order.iter().enumerate().rev() {
            reach[at] = reach[at + 1].saturating_add((self.shape[dim] - 1).saturating_mul(self.strides[dim]));
        }
        let mut search = Search {
            tensor: self,
            order,
            reach,
            index: smallvec::smallvec![0; self.dim()],
            steps: 0,
        };
        search.from(0, target).then_some(search.index)
    }
}

struct Search<'a> {
    tensor: &'a Tensor,
    order: Vec<usize>,
    reach: Vec<i64>,
    index: Dims,
    steps: u32,
}

impl Search<'_> {
    /// Whether the dimensions from `at` on can sum to `left` elements. Recurses once per dimension.
    fn from(&mut self, at: usize, left: i64) -> bool {
        let Some(&dim) = self.order.get(at) else {
            return left == 0;
        };
        let (stride, size) = (self.tensor.strides[dim], self.tensor.shape[dim]);
        // The reach of the later dimensions bounds this index from below.
        let least = left.saturating_sub(self.reach[at + 1]).max(0);
        let least = (least as u64).div_ceil(stride as u64) as i64;
        for nth in least..=(left / stride).min(size - 1) {
            self.steps += 1;
            if self.steps > MAX_STEPS {
                return false;
            }
            self.index[dim] = nth;
            if self.from(at + 1, left - nth * stride) {
                return true;
            }
        }
        self.index[dim] = 0;
        false
    }
}
