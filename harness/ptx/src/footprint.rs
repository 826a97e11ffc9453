//! The bytes of one memory that a sequence of programs reads and writes, in units of [`UNIT`] bytes.

use std::cell::Cell;

use cerith_memory::Memory;

/// Bytes of a unit.
const UNIT: usize = 4;
/// Units of a word of the sets.
const BITS: usize = 64;

/// Sets of units. Cells, because a read does not change the memory otherwise.
#[derive(Debug, Default)]
pub(crate) struct Footprint {
    read: Vec<Cell<u64>>,
    written: Vec<Cell<u64>>,
}

impl Footprint {
    /// No access yet to a memory of `size` bytes.
    pub(crate) fn new(size: usize) -> Self {
        let words = size.div_ceil(UNIT * BITS);
        Self {
            read: vec![Cell::new(0); words],
            written: vec![Cell::new(0); words],
        }
    }

    /// Records a read of `len` bytes from `at` on.
    #[inline]
    pub(crate) fn record_read(&self, at: usize, len: usize) {
        add(&self.read, at, len);
    }

    /// Records a write of `len` bytes from `at` on.
    #[inline]
    pub(crate) fn record_write(&self, at: usize, len: usize) {
        add(&self.written, at, len);
    }

    /// Whether programs that follow these access a unit that these write.
    pub(crate) fn conflicts_with(&self, later: &Self) -> bool {
        let later = later.read.iter().zip(&later.written);
        let mut both = self.written.iter().zip(later);
        both.any(|(written, (read, rewritten))| written.get() & (read.get() | rewritten.get()) != 0)
    }

    /// The written bytes, as ranges of whole units within `size` bytes.
    fn list_written(&self, size: usize) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        let words = self
            .written
            .iter()
            .enumerate()
            .filter(|(_, word)| word.get() != 0);
        words.flat_map(move |(nth, word)| {
            (0..BITS)
                .filter(move |bit| word.get() >> bit & 1 == 1)
                .map(move |bit| {
                    let start = (nth * BITS + bit) * UNIT;
                    start.min(size)..(start + UNIT).min(size)
                })
        })
    }

    /// Copies the written bytes.
    pub(crate) fn copy_bytes(&self, from: &[u8], to: &mut [u8]) {
        for range in self.list_written(from.len().min(to.len())) {
            to[range.clone()].copy_from_slice(&from[range]);
        }
    }

    /// Copies the written bytes of an arena with their states.
    pub(crate) fn copy_arena(&self, from: &Memory, to: &mut Memory) {
        let (bytes, states) = from.arena();
        let (to_bytes, to_states) = to.arena_mut();
        self.copy_bytes(bytes, to_bytes);
        for range in self.list_written(states.len().min(to_states.len())) {
            to_states[range.clone()].copy_from_slice(&states[range]);
        }
    }
}

/// The accesses of a sequence to memory that all blocks share.
#[derive(Debug)]
pub(crate) struct Footprints {
    pub(crate) arena: Footprint,
    pub(crate) scratch: Footprint,
}

/// Adds the units of `len` bytes from `at` on.
#[inline]
fn add(words: &[Cell<u64>], at: usize, len: usize) {
    if len == 0 {
        return;
    }
    let (first, last) = (at / UNIT, at.saturating_add(len - 1) / UNIT);
    for unit in first..=last {
        let Some(word) = words.get(unit / BITS) else {
            return;
        };
        word.set(word.get() | 1 << (unit % BITS));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether programs that write `written` conflict with later ones that read `read` and write `rewritten`.
    fn check(written: (usize, usize), read: (usize, usize), rewritten: (usize, usize), expected: bool) {
        let (first, later) = (Footprint::new(1000), Footprint::new(1000));
        first.record_write(written.0, written.1);
        later.record_read(read.0, read.1);
        later.record_write(rewritten.0, rewritten.1);
        assert_eq!(
            first.conflicts_with(&later),
            expected,
            "{written:?} {read:?} {rewritten:?}"
        );
    }

    #[test]
    fn accesses_of_written_units_are_conflicts() {
        check((8, 4), (4, 4), (12, 100), false);
        check((8, 4), (9, 1), (100, 4), true);
        check((8, 4), (0, 0), (4, 8), true);
        check((0, 256), (256, 256), (512, 400), false);
        check((0, 257), (256, 256), (512, 400), true);
        check((996, 4), (999, 1), (0, 0), true);
        check((0, 0), (0, 1000), (0, 1000), false);
        // A later write of bytes that were only read is not a conflict.
        let (first, later) = (Footprint::new(8), Footprint::new(8));
        first.record_read(0, 8);
        later.record_write(0, 8);
        assert!(!first.conflicts_with(&later));
    }

    #[test]
    fn only_written_bytes_are_copied() {
        let footprint = Footprint::new(10);
        footprint.record_write(4, 4);
        footprint.record_write(9, 1);
        let (from, mut to) = ([1u8; 10], [0u8; 10]);
        footprint.copy_bytes(&from, &mut to);
        assert_eq!(to, [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]);
        footprint.record_write(usize::MAX - 2, 8);
    }
}
