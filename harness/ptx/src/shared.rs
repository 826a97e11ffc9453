//! A block's shared memory, with the accesses to each byte since the last barrier.
//!
//! Every warp has a vector clock: the time that it knows of each warp. A barrier merges the clocks of the warps that
//! reach it, and then each warp advances its own time. An access of a warp at its time `t` happened before an access of
//! another warp if that warp's clock has at least `t` for the first. Two accesses of different warps are a race if
//! neither happened before the other and one of them is a write. Two writes of the same value are not a race: Triton
//! stores a value that several threads hold from all of them.
//!
//! Not checked: accesses of one warp, whose lanes run in step; atomics against each other.

use crate::outcome::FindingKind;
use crate::warp::Warp;

/// The warp of a cell that was never accessed.
const NO_WARP: u8 = u8::MAX;

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

/// A recorded access.
#[derive(Clone, Copy, Debug)]
struct Mark {
    time: u32,
    step: u32,
    warp: u8,
    atomic: bool,
}

const NONE: Mark = Mark {
    time: 0,
    step: 0,
    warp: NO_WARP,
    atomic: false,
};

impl Mark {
    /// Whether the access happened before everything that a warp does from now on.
    #[inline]
    fn is_before(&self, by: &Accessor<'_>) -> bool {
        self.time == 0
            || u32::from(self.warp) == by.warp
            || by
                .clock
                .get(self.warp as usize)
                .is_some_and(|&known| known >= self.time)
    }
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    write: Mark,
    /// The last two reads of different warps without a barrier between them.
    reads: [Mark; 2],
    content: Content,
}

const FRESH: Cell = Cell {
    write: NONE,
    reads: [NONE; 2],
    content: Content::Unwritten,
};

/// The warp and instruction of an access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accessor<'w> {
    pub(crate) warp: u32,
    pub(crate) clock: &'w [u32],
    pub(crate) step: u32,
    pub(crate) atomic: bool,
}

impl<'w> Accessor<'w> {
    /// Describes a warp at its current instruction.
    pub(crate) fn from_warp(warp: &'w Warp, atomic: bool) -> Self {
        Self {
            warp: warp.number,
            clock: &warp.clock,
            step: warp.group.step,
            atomic,
        }
    }

    fn mark(&self) -> Mark {
        Mark {
            time: self.clock.get(self.warp as usize).copied().unwrap_or(0),
            step: self.step,
            warp: self.warp as u8,
            atomic: self.atomic,
        }
    }
}

/// Two conflicting accesses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Met {
    pub(crate) kind: FindingKind,
    pub(crate) byte: u64,
    pub(crate) other_step: u32,
}

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
                Content::InFlight => note(met, FindingKind::InFlight, at + nth, cell.write.step),
                Content::Unwritten | Content::Unknown => known = false,
            }
            if !(cell.write.is_before(by) || by.atomic && cell.write.atomic) {
                note(met, FindingKind::ReadAfterWrite, at + nth, cell.write.step);
            }
            remember(cell, mark, by);
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
                note(met, FindingKind::InFlight, at + nth, cell.write.step);
            }
            check_write(cell, *byte != new, by, at + nth, met);
            *byte = new;
            *cell = Cell {
                write: mark,
                reads: [NONE; 2],
                content: if known { Content::Known } else { Content::Unknown },
            };
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
                note(met, FindingKind::InFlight, at + nth, cell.write.step);
            }
            check_write(cell, true, by, at + nth, met);
            *cell = Cell {
                write: mark,
                reads: [NONE; 2],
                content: Content::InFlight,
            };
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
            cell.write = mark;
            cell.content = Content::Known;
        }
    }
}

fn remember(cell: &mut Cell, mark: Mark, by: &Accessor<'_>) {
    let [first, second] = &mut cell.reads;
    if first.warp == mark.warp || first.is_before(by) {
        *first = mark;
    } else {
        *second = mark;
    }
}

#[inline]
fn check_write(cell: &Cell, changes: bool, by: &Accessor<'_>, byte: usize, met: &mut Option<Met>) {
    if changes && !(cell.write.is_before(by) || by.atomic && cell.write.atomic) {
        note(met, FindingKind::WriteWrite, byte, cell.write.step);
    }
    for read in &cell.reads {
        if !(read.is_before(by) || by.atomic && read.atomic) {
            note(met, FindingKind::WriteAfterRead, byte, read.step);
        }
    }
}

/// Keeps only the first conflict of an access.
#[cold]
fn note(met: &mut Option<Met>, kind: FindingKind, byte: usize, other: u32) {
    met.get_or_insert(Met {
        kind,
        byte: byte as u64,
        other_step: other,
    });
}
