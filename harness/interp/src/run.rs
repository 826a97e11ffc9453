//! Runs of lanes with evenly rising addresses, and the spread of an access's lanes over memory. See `plan` for the lanes of
//! an access.

use crate::affine::{Extents, RANK};
use crate::checks::conflicting_lanes;

/// The lanes `lane..lane + count`, at the addresses `address + i * stride`.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub lane: usize,
    pub count: usize,
    pub address: u64,
    pub stride: i64,
}

impl Run {
    /// The address of one of the lanes.
    pub fn address(&self, nth: usize) -> u64 {
        self.address
            .wrapping_add((nth as i64).wrapping_mul(self.stride) as u64)
    }

    /// Whether the lanes' elements follow each other.
    pub fn is_contiguous(&self, size: usize) -> bool {
        self.count == 1 || self.stride == size as i64
    }
}

/// The spread of an access's lanes over memory.
#[derive(Clone, Copy, Debug)]
pub enum Spread {
    /// Evenly: strides in bytes, and the box of active lanes.
    Even([i64; RANK], Extents, Extents),
    /// By addresses of their own.
    Unknown,
}

impl Spread {
    /// Whether no two lanes share bytes. False when that is not certain.
    pub(crate) fn is_disjoint(&self, runs: &[Run], size: usize) -> bool {
        if let [run] = runs
            && (run.count == 1 || run.stride.unsigned_abs() >= size as u64)
        {
            return true;
        }
        if let Self::Even(strides, lo, hi) = self {
            let spans = lo.iter().zip(hi).map(|(lo, hi)| hi - lo);
            return !conflicting_lanes::may_overlap(strides.iter().copied().zip(spans), size);
        }
        // Runs in ascending order cannot overlap.
        let mut end = 0u128;
        runs.iter().all(|run| {
            let start = u128::from(run.address);
            let apart = start >= end && (run.count == 1 || run.stride >= size as i64);
            end = start + (run.count as u128 - 1) * u128::from(run.stride.unsigned_abs()) + size as u128;
            apart
        })
    }
}
