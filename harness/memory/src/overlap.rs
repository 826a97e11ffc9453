//! Computes the bytes that tensors cover and share, exactly, for any strides, dtypes and stride 0.
//!
//! The bytes of a tensor are a sum of arithmetic progressions plus a run. Dimensions whose steps fit into the run
//! extend it, and progressions that continue each other are merged, so ordinary views reduce to a few runs. Runs that
//! can't meet modulo the common divisor of all steps are decided at once too (the columns of a split matrix). The
//! remaining cases are enumerated, or, if there are more elements than bytes, computed on a bit set of the bytes. The
//! cost is bounded by the size of the storage, not by the product of sizes.
//!
//! Races between programs are checked in `cerith-interp`.

mod bits;
mod locate;

use std::ops::Range;

use bits::Bits;

use crate::storage::MAX_BYTES;
use crate::tensor::Tensor;

/// Maximum number of runs to list one by one, enough for the largest storage.
const MAX_RUNS: i64 = MAX_BYTES as i64 / 64;

/// Bytes of a storage as ranges that are sorted, not empty, and apart from each other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ByteRanges {
    ranges: Vec<Range<i64>>,
}

impl ByteRanges {
    /// The ranges, sorted and apart from each other.
    pub fn ranges(&self) -> &[Range<i64>] {
        &self.ranges
    }

    /// Number of bytes.
    pub fn len(&self) -> u64 {
        self.ranges
            .iter()
            .map(|range| range.start.abs_diff(range.end))
            .sum()
    }

    /// Whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether a byte is one of them.
    pub fn contains(&self, byte: i64) -> bool {
        self.has_overlap(byte..byte.saturating_add(1))
    }

    /// Whether any byte of a range is one of them.
    pub fn has_overlap(&self, range: Range<i64>) -> bool {
        let at = self.ranges.partition_point(|own| own.end <= range.start);
        self.ranges.get(at).is_some_and(|own| own.start < range.end)
    }

    /// The bytes in both.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        let (mut a, mut b) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        let mut out = Self::default();
        while let (Some(&x), Some(&y)) = (a.peek(), b.peek()) {
            let shared = x.start.max(y.start)..x.end.min(y.end);
            if shared.start < shared.end {
                out.push(shared);
            }
            if x.end < y.end {
                a.next();
            } else {
                b.next();
            }
        }
        out
    }

    /// Adds a range that begins at or after every earlier one.
    fn push(&mut self, range: Range<i64>) {
        match self.ranges.last_mut() {
            Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
            _ => self.ranges.push(range),
        }
    }
}

/// A tensor's bytes: runs of `run` bytes that begin at `start` plus any sum of one multiple per step.
#[derive(Clone, Debug)]
struct Pattern {
    start: i64,
    run: i64,
    /// Steps in bytes with their counts (at least 2); ascending, every step larger than `run`.
    steps: Vec<(i64, i64)>,
}

impl Pattern {
    /// `None` for a tensor without elements.
    fn from_tensor(tensor: &Tensor) -> Option<Self> {
        let (start, _) = tensor.byte_range()?;
        let width = tensor.element_size() as i64;
        let mut dims: Vec<(i64, i64)> = tensor
            .strides
            .iter()
            .zip(&tensor.shape)
            .filter(|&(&stride, &size)| size > 1 && stride != 0)
            .map(|(&stride, &size)| (stride.saturating_mul(width), size))
            .collect();
        dims.sort_unstable();
        let mut run = width;
        let mut steps: Vec<(i64, i64)> = Vec::new();
        for (step, count) in dims {
            if steps.is_empty() && step <= run {
                run = run.saturating_add(step.saturating_mul(count - 1));
                continue;
            }
            // `count` jumps of a multiple of an inner step that do not skip over it continue that progression.
            let continued = steps
                .iter_mut()
                .find(|(inner, inner_count)| step % *inner == 0 && step / *inner <= *inner_count);
            match continued {
                Some((inner, inner_count)) => {
                    *inner_count = inner_count.saturating_add((step / *inner).saturating_mul(count - 1));
                }
                None => steps.push((step, count)),
            }
        }
        Some(Self { start, run, steps })
    }

    fn runs(&self) -> i64 {
        self.steps
            .iter()
            .fold(1i64, |product, &(_, count)| product.saturating_mul(count))
    }

    /// One past the last byte.
    fn end(&self) -> i64 {
        self.steps
            .iter()
            .fold(self.start, |end, &(step, count)| {
                end.saturating_add(step.saturating_mul(count - 1))
            })
            .saturating_add(self.run)
    }

    /// Whether all of it lies below the 64 bits that numbers here saturate at.
    fn is_exact(&self) -> bool {
        self.end() < i64::MAX
    }

    /// Whether it ends before another one begins, saturated numbers counting as unknown.
    fn is_before(&self, other: &Self) -> bool {
        other.start < i64::MAX && self.end() <= other.start
    }

    /// The bytes as ranges. `None` where neither the runs nor the bytes between the first and the last can be counted
    /// through, which needs a tensor that is inside no storage.
    fn ranges(&self) -> Option<ByteRanges> {
        if !self.is_exact() {
            return None;
        }
        let (runs, span) = (self.runs(), self.end() - self.start);
        let limit = MAX_BYTES as i64;
        // A word of the bit set takes the room of one start.
        let listed = (span / 64).max(1024);
        if runs > listed && span <= limit {
            return Some(self.ranges_by_bits(span));
        }
        if runs > MAX_RUNS {
            return None;
        }
        let mut starts = Vec::with_capacity(runs as usize);
        starts.push(self.start);
        // From the outside in, so that nested steps come out sorted.
        for &(step, count) in self.steps.iter().rev() {
            starts = starts
                .iter()
                .flat_map(|&start| (0..count).map(move |nth| start.saturating_add(step.saturating_mul(nth))))
                .collect();
        }
        starts.sort_unstable();
        let mut out = ByteRanges::default();
        for start in starts {
            out.push(start..start.saturating_add(self.run));
        }
        Some(out)
    }

    fn ranges_by_bits(&self, span: i64) -> ByteRanges {
        let mut bits = Bits::new(span as usize);
        bits.insert(0);
        for &(step, count) in &self.steps {
            bits.spread(step as usize, count as usize);
        }
        bits.spread(1, self.run as usize);
        let mut out = ByteRanges::default();
        for range in bits.ranges() {
            out.push(self.start + range.start as i64..self.start + range.end as i64);
        }
        out
    }

    /// Whether a common divisor of all steps keeps the runs of both apart.
    fn apart_by_residue(&self, other: &Self) -> bool {
        let divisor = self
            .steps
            .iter()
            .chain(&other.steps)
            .fold(0i64, |a, &(b, _)| gcd(a, b));
        if divisor == 0 || !self.is_exact() || !other.is_exact() {
            return false;
        }
        // Modulo the divisor each is one run on a circle. They are apart if neither begins inside of the other.
        let ahead = i128::from(other.start) - i128::from(self.start);
        let ahead = ahead.rem_euclid(i128::from(divisor)) as i64;
        let behind = if ahead == 0 { 0 } else { divisor - ahead };
        ahead >= self.run && behind >= other.run
    }
}

fn gcd(mut a: i64, mut b: i64) -> i64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.saturating_abs()
}

/// The bytes that a tensor's elements cover. `None` only for a tensor that is inside no storage and so large and so
/// scattered that its bytes cannot be counted through.
pub fn find_covered_bytes(tensor: &Tensor) -> Option<ByteRanges> {
    if !tensor.is_proper() {
        return None;
    }
    Pattern::from_tensor(tensor).map_or_else(|| Some(ByteRanges::default()), |pattern| pattern.ranges())
}

/// The bytes that elements of both tensors cover; none for tensors of different storages. `None` as in [`find_covered_bytes`].
pub fn find_shared_bytes(a: &Tensor, b: &Tensor) -> Option<ByteRanges> {
    let nothing = Some(ByteRanges::default());
    if a.storage != b.storage {
        return nothing;
    }
    if !a.is_proper() || !b.is_proper() {
        return None;
    }
    let (Some(x), Some(y)) = (Pattern::from_tensor(a), Pattern::from_tensor(b)) else {
        return nothing;
    };
    if x.is_before(&y) || y.is_before(&x) || x.apart_by_residue(&y) {
        return nothing;
    }
    Some(x.ranges()?.intersect(&y.ranges()?))
}

/// Whether any element of one shares a byte with any element of the other. `None` as in [`find_covered_bytes`].
pub fn overlaps(a: &Tensor, b: &Tensor) -> Option<bool> {
    if a == b && a.is_proper() {
        return Some(a.byte_range().is_some());
    }
    find_shared_bytes(a, b).map(|shared| !shared.is_empty())
}

/// Whether two elements of a tensor are the same memory. (Elements lie at multiples of their size from each other:
/// they share all bytes or none.) `None` as in [`find_covered_bytes`].
pub fn overlaps_itself(tensor: &Tensor) -> Option<bool> {
    if !tensor.is_proper() {
        return None;
    }
    let Some((start, end)) = tensor.byte_range() else {
        return Some(false);
    };
    let width = tensor.element_size() as i64;
    let mut dims: Vec<(i64, i64)> = tensor
        .strides
        .iter()
        .copied()
        .zip(tensor.shape.iter().copied())
        .filter(|&(_, size)| size > 1)
        .collect();
    dims.sort_unstable();
    // No two indices meet if every step is larger than everything inside it.
    let mut inside = 0i64;
    let nested = dims.iter().all(|&(stride, size)| {
        let apart = stride > inside;
        inside = inside.saturating_add(stride.saturating_mul(size - 1));
        apart
    });
    if nested {
        return Some(false);
    }
    if end == i64::MAX {
        return None;
    }
    let span = (end - start) / width;
    if tensor.numel() > span {
        return Some(true);
    }
    if tensor.numel() > MAX_BYTES as i64 || span > MAX_BYTES as i64 {
        return None;
    }
    // Every start that the dimensions so far make, moved by each index of the next one, must be new. Shifted sets keep
    // that to the bytes: a set that loses a member to another one has an overlap.
    let mut seen = Bits::new(span as usize);
    seen.insert(0);
    let mut members = 1;
    for &(stride, size) in &dims {
        seen.spread(stride as usize, size as usize);
        members *= size as u64;
        if seen.count() < members {
            return Some(true);
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests;
