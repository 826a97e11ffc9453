//! A block's shared memory, and who accessed each byte of it since which barrier.
//!
//! Every warp has a clock: what it knows of every warp's time. A barrier makes the clocks of those that come to it one, and
//! then each of them goes one further. What a warp did at its time `t` happened before what another does if that one's clock
//! has `t` or more for it. Two accesses of different warps where neither happened before the other, one of them a write, are a
//! race. Two writes of one value are none: Triton stores what several threads hold from all of them.
//!
//! Left out: lanes of one warp, which go in step; atomics among themselves.

use crate::outcome::FindingKind;
use crate::warp::Warp;

/// Nobody.
const NO_WARP: u8 = u8::MAX;

/// What is in a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Unwritten,
    Known,
    /// Something that came from where nothing was written.
    Unknown,
    /// What a `cp.async` that has not landed is to replace.
    InFlight,
}

/// An access that is remembered.
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
    /// Whether it happened before all that a warp does from now on.
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
    /// The last two readers that no barrier is between, if they are different warps.
    reads: [Mark; 2],
    content: Content,
}

const FRESH: Cell = Cell {
    write: NONE,
    reads: [NONE; 2],
    content: Content::Unwritten,
};

/// Who accesses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accessor<'w> {
    pub(crate) warp: u32,
    pub(crate) clock: &'w [u32],
    pub(crate) step: u32,
    pub(crate) atomic: bool,
}

impl<'w> Accessor<'w> {
    /// A warp, in the instruction where it is.
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

/// Two accesses that must not meet.
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
    /// Forgets everything; every byte is `fill`.
    pub(crate) fn reset(&mut self, size: usize, fill: u8) {
        self.bytes.clear();
        self.bytes.resize(size, fill);
        self.cells.clear();
        self.cells.resize(size, FRESH);
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Reads bytes that are there; the result says whether all of them were written.
    pub(crate) fn read(&mut self, at: usize, to: &mut [u8], by: &Accessor<'_>, met: &mut Option<Met>) -> bool {
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

    /// Writes bytes that are there.
    pub(crate) fn write(&mut self, at: usize, from: &[u8], known: bool, by: &Accessor<'_>, met: &mut Option<Met>) {
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

    /// A `cp.async` is on its way to bytes that are there.
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

    /// It lands.
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

/// Only the first of an access counts.
#[cold]
fn note(met: &mut Option<Met>, kind: FindingKind, byte: usize, other: u32) {
    met.get_or_insert(Met {
        kind,
        byte: byte as u64,
        other_step: other,
    });
}
