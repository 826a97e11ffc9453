//! The accesses to each element since the last barrier. Cells of earlier programs and barriers are older than `epoch`, so
//! nothing has to be cleared.

use std::collections::HashMap;
use std::ops::Range;

use smallvec::SmallVec;

/// An access of the text, and a lane of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LaneAccess {
    pub access: u16,
    pub lane: u32,
}

/// The store left what was there.
const SILENT: u8 = 1;
/// It was an atomic.
const ATOMIC: u8 = 2;
/// Several lanes of the access.
const SEVERAL_LANES: u8 = 4;
/// Other accesses read it too.
const FURTHER_READERS: u8 = 8;

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    epoch: u32,
    accessor: LaneAccess,
    flags: u8,
}

/// Cells that are not kept from launch to launch.
const LARGE: usize = 1 << 20;

/// The cells of an arena.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    epoch: u32,
    grain: usize,
    writers: Vec<Cell>,
    readers: Vec<Cell>,
    /// Readers of an element that belong to a different access than its first reader.
    further_readers: HashMap<usize, SmallVec<[(LaneAccess, bool); 2]>>,
}

impl Cells {
    /// Starts a launch on an arena of `bytes` with elements of at least `grain` bytes.
    pub(crate) fn begin(&mut self, bytes: usize, grain: usize) {
        let grain = grain.max(1);
        let count = bytes / grain + 1;
        if self.writers.len() < count {
            self.writers = vec![Cell::default(); count];
            self.readers = vec![Cell::default(); count];
            self.epoch = 0;
        }
        self.grain = grain;
        self.order();
    }

    /// Makes room for an arena that grew to `bytes`.
    pub(crate) fn grow(&mut self, bytes: usize) {
        let count = bytes / self.grain.max(1) + 1;
        if self.writers.len() < count {
            self.writers.resize(count, Cell::default());
            self.readers.resize(count, Cell::default());
        }
    }

    /// Forgets everything, where there is much of it.
    pub(crate) fn shrink(&mut self) {
        if self.writers.len() > LARGE {
            *self = Self::default();
        }
    }

    /// Marks all earlier accesses as complete for all threads.
    pub(crate) fn order(&mut self) {
        if self.epoch == u32::MAX {
            self.writers.fill(Cell::default());
            self.readers.fill(Cell::default());
            self.epoch = 0;
        }
        self.epoch += 1;
        if !self.further_readers.is_empty() {
            self.further_readers.clear();
        }
    }

    /// The cells of an element at an index of the arena; none outside of it.
    #[inline]
    pub(crate) fn cell_range(&self, index: Option<usize>, size: usize) -> Range<usize> {
        let grain = self.grain.max(1);
        index.map_or(0..0, |index| {
            index / grain..index.saturating_add(size - 1) / grain + 1
        })
    }

    fn filter_live(&self, cell: Option<&Cell>) -> Option<Cell> {
        cell.copied().filter(|cell| cell.epoch == self.epoch)
    }

    /// The last access that changed it, and whether it was an atomic.
    #[inline]
    pub(crate) fn find_changer(&self, at: usize) -> Option<(LaneAccess, bool)> {
        let cell = self.filter_live(self.writers.get(at))?;
        (cell.flags & SILENT == 0).then_some((cell.accessor, cell.flags & ATOMIC != 0))
    }

    /// The last access that wrote it, even if it wrote the old value, and whether it was an atomic.
    #[inline]
    pub(crate) fn find_writer(&self, at: usize) -> Option<(LaneAccess, bool)> {
        let cell = self.filter_live(self.writers.get(at))?;
        Some((cell.accessor, cell.flags & ATOMIC != 0))
    }

    /// Its readers: one lane of each access, and whether the access had more of them.
    pub(crate) fn find_readers(&self, at: usize) -> SmallVec<[(LaneAccess, bool); 2]> {
        let mut readers = SmallVec::new();
        if let Some(cell) = self.filter_live(self.readers.get(at)) {
            readers.push((cell.accessor, cell.flags & SEVERAL_LANES != 0));
            if cell.flags & FURTHER_READERS != 0 {
                readers.extend(self.further_readers.get(&at).into_iter().flatten().copied());
            }
        }
        readers
    }

    /// Records a read.
    #[inline]
    pub(crate) fn read(&mut self, at: usize, who: LaneAccess) {
        let epoch = self.epoch;
        let Some(cell) = self.readers.get_mut(at) else {
            return;
        };
        if cell.epoch != epoch {
            *cell = Cell {
                epoch,
                accessor: who,
                flags: 0,
            };
        } else if cell.accessor.access == who.access {
            if cell.accessor.lane != who.lane {
                cell.flags |= SEVERAL_LANES;
            }
        } else {
            cell.flags |= FURTHER_READERS;
            let more = self.further_readers.entry(at).or_default();
            match more.iter_mut().find(|(other, _)| other.access == who.access) {
                Some((other, several)) => *several |= other.lane != who.lane,
                None => more.push((who, false)),
            }
        }
    }

    /// Records a write.
    #[inline]
    pub(crate) fn write(&mut self, at: usize, who: LaneAccess, silent: bool, atomic: bool) {
        let epoch = self.epoch;
        let Some(cell) = self.writers.get_mut(at) else {
            return;
        };
        if silent && cell.epoch == epoch && cell.flags & SILENT == 0 {
            return;
        }
        let silent = if silent { SILENT } else { 0 };
        let atomic = if atomic { ATOMIC } else { 0 };
        *cell = Cell {
            epoch,
            accessor: who,
            flags: silent | atomic,
        };
    }
}
