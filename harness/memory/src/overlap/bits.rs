//! A set of small numbers, for bytes that cannot be listed one tensor element after the other.

use std::ops::Range;

pub(super) struct Bits {
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    /// The empty set of numbers below `len`.
    pub fn new(len: usize) -> Self {
        Self {
            words: vec![0; len.div_ceil(64)],
            len,
        }
    }

    /// Adds a number that is in range.
    pub fn insert(&mut self, at: usize) {
        if let Some(word) = self.words.get_mut(at / 64) {
            *word |= 1 << (at % 64);
        }
    }

    /// Number of members.
    pub fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Adds `n + step`, `n + 2 * step`, … up to `n + (count - 1) * step` for every `n`, in steps that double.
    pub fn spread(&mut self, step: usize, count: usize) {
        let mut covered = 1;
        while covered < count {
            let more = covered.min(count - covered);
            self.add_shifted(step.saturating_mul(more));
            covered += more;
        }
    }

    /// Adds `n + by` for every `n`; drops numbers out of range.
    fn add_shifted(&mut self, by: usize) {
        let (words, bits) = (by / 64, by % 64);
        // From the top, so that every word read is still an old one.
        for at in (words..self.words.len()).rev() {
            let low = self.words[at - words] << bits;
            let carried = match (at - words).checked_sub(1) {
                Some(below) if bits > 0 => self.words[below] >> (64 - bits),
                _ => 0,
            };
            self.words[at] |= low | carried;
        }
        if !self.len.is_multiple_of(64)
            && let Some(last) = self.words.last_mut()
        {
            *last &= (1 << (self.len % 64)) - 1;
        }
    }

    /// The numbers as ranges, ascending and apart.
    pub fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = self.next(at, true)?;
            let end = self.next(start, false).unwrap_or(self.len);
            at = end;
            Some(start..end)
        })
    }

    /// The first number from `at` that is in the set, or that is not.
    fn next(&self, at: usize, wanted: bool) -> Option<usize> {
        let mut word = at / 64;
        let mut mask = u64::MAX << (at % 64);
        loop {
            let bits = *self.words.get(word)?;
            let found = if wanted { bits } else { !bits } & mask;
            if found != 0 {
                let number = word * 64 + found.trailing_zeros() as usize;
                return (number < self.len).then_some(number);
            }
            mask = u64::MAX;
            word += 1;
        }
    }
}
