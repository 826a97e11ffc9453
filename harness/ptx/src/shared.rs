//! A block's shared memory, the history of each of its bytes, and the copies on their way to it.

use crate::outcome::FindingKind;
use crate::race::{Accessor, History, Met, note};

/// The state of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Unwritten,
    Known,
    /// A value computed from uninitialised bytes.
    Unknown,
    /// The target of a `cp.async` that has not landed.
    InFlight,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    history: History,
    content: Content,
}

const FRESH: Cell = Cell {
    history: History::EMPTY,
    content: Content::Unwritten,
};

/// The shared memory of a block.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    bytes: Vec<u8>,
    cells: Vec<Cell>,
}

impl Shared {
    /// Resets all bytes to `fill`, and removes all records.
    pub(crate) fn reset(&mut self, size: usize, fill: u8) {
        self.bytes.clear();
        self.bytes.resize(size, fill);
        self.cells.clear();
        self.cells.resize(size, FRESH);
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Reads bytes, which must be in bounds. Returns whether all of them were written.
    pub(crate) fn read(
        &mut self,
        at: usize,
        to: &mut [u8],
        by: &Accessor<'_>,
        met: &mut Option<Met>,
    ) -> bool {
        let end = at.saturating_add(to.len());
        let (Some(bytes), Some(cells)) = (self.bytes.get(at..end), self.cells.get_mut(at..end)) else {
            return false;
        };
        to.copy_from_slice(bytes);
        let mark = by.mark();
        let mut known = true;
        for (nth, cell) in cells.iter_mut().enumerate() {
            match cell.content {
                Content::Known => {}
                Content::InFlight => note(met, FindingKind::InFlight, at + nth, cell.history.write.step),
                Content::Unwritten | Content::Unknown => known = false,
            }
            cell.history.read(mark, by, at + nth, met);
        }
        known
    }

    /// Writes bytes, which must be in bounds.
    pub(crate) fn write(
        &mut self,
        at: usize,
        from: &[u8],
        known: bool,
        by: &Accessor<'_>,
        met: &mut Option<Met>,
    ) {
        let end = at.saturating_add(from.len());
        let (Some(bytes), Some(cells)) = (self.bytes.get_mut(at..end), self.cells.get_mut(at..end)) else {
            return;
        };
        let mark = by.mark();
        for (nth, ((byte, cell), &new)) in bytes.iter_mut().zip(cells).zip(from).enumerate() {
            if cell.content == Content::InFlight {
                note(met, FindingKind::InFlight, at + nth, cell.history.write.step);
            }
            cell.history.write(mark, *byte != new, by, at + nth, met);
            *byte = new;
            cell.content = if known { Content::Known } else { Content::Unknown };
        }
    }

    /// Starts a `cp.async` to bytes, which must be in bounds.
    pub(crate) fn begin_copy(&mut self, at: usize, len: usize, by: &Accessor<'_>, met: &mut Option<Met>) {
        let Some(cells) = self.cells.get_mut(at..at.saturating_add(len)) else {
            return;
        };
        let mark = by.mark();
        for (nth, cell) in cells.iter_mut().enumerate() {
            if cell.content == Content::InFlight {
                note(met, FindingKind::InFlight, at + nth, cell.history.write.step);
            }
            cell.history.write(mark, true, by, at + nth, met);
            cell.content = Content::InFlight;
        }
    }

    /// Lands a `cp.async`.
    pub(crate) fn land(&mut self, at: usize, from: &[u8], by: &Accessor<'_>) {
        let end = at.saturating_add(from.len());
        let (Some(bytes), Some(cells)) = (self.bytes.get_mut(at..end), self.cells.get_mut(at..end)) else {
            return;
        };
        bytes.copy_from_slice(from);
        let mark = by.mark();
        for cell in cells {
            cell.history.write = mark;
            cell.content = Content::Known;
        }
    }
}
