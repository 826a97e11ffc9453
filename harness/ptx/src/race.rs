//! The accesses to each byte since the last barrier.
//!
//! Every warp has a vector clock: for each warp, the latest time that it has synchronised with. A barrier merges the
//! clocks of the warps that reach it, and then each warp advances its own time. An access of a warp at its time `t`
//! happened before an access of another warp if that warp's clock has at least `t` for the first. Two accesses of
//! different warps race if neither happened before the other and one of them is a write. Two writes of the same value
//! don't race: Triton stores a value that several threads hold from all of them.
//!
//! Lanes of one warp run in step, and atomics don't race with each other.

use crate::outcome::FindingKind;
use crate::warp::Warp;

/// The warp of a mark without an access.
const NO_WARP: u8 = u8::MAX;

/// A past access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    time: u32,
    pub(crate) step: u32,
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

/// The past accesses of a byte that a later one may race with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct History {
    pub(crate) write: Mark,
    /// The last two readers without a barrier between them, if they are different warps.
    reads: [Mark; 2],
}

impl History {
    pub(crate) const EMPTY: Self = Self {
        write: NONE,
        reads: [NONE; 2],
    };

    /// Records a read, and reports the write that it races with.
    #[inline]
    pub(crate) fn read(&mut self, mark: Mark, by: &Accessor<'_>, byte: usize, met: &mut Option<Met>) {
        if !(self.write.is_before(by) || by.atomic && self.write.atomic) {
            note(met, FindingKind::ReadAfterWrite, byte, self.write.step);
        }
        let [first, second] = &mut self.reads;
        if first.warp == mark.warp || first.is_before(by) {
            *first = mark;
        } else {
            *second = mark;
        }
    }

    /// Records a write, and reports the access that it races with. `changes`: the byte gets another value.
    #[inline]
    pub(crate) fn write(
        &mut self,
        mark: Mark,
        changes: bool,
        by: &Accessor<'_>,
        byte: usize,
        met: &mut Option<Met>,
    ) {
        if changes && !(self.write.is_before(by) || by.atomic && self.write.atomic) {
            note(met, FindingKind::WriteWrite, byte, self.write.step);
        }
        for read in &self.reads {
            if !(read.is_before(by) || by.atomic && read.atomic) {
                note(met, FindingKind::WriteAfterRead, byte, read.step);
            }
        }
        *self = Self {
            write: mark,
            reads: [NONE; 2],
        };
    }
}

/// The warp that accesses memory, and its clock.
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

    pub(crate) fn mark(&self) -> Mark {
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

/// Keeps only the first conflict of an access.
#[cold]
pub(crate) fn note(met: &mut Option<Met>, kind: FindingKind, byte: usize, other_step: u32) {
    met.get_or_insert(Met {
        kind,
        byte: byte as u64,
        other_step,
    });
}
