//! Who accessed a byte since which barrier.
//!
//! Every warp has a clock: what it knows of every warp's time. A barrier makes the clocks of the warps that meet there one, and
//! then each of them advances its own time. What a warp did at its time `t` happened before another warp's access if that
//! warp's clock has `t` or more for it. Two accesses of different warps race if neither happened before the other and one of
//! them is a write. Two writes of the same value don't race: Triton stores what several threads hold from all of them.
//!
//! Lanes of one warp run in step, and atomics don't race with each other.

use crate::outcome::FindingKind;
use crate::warp::Warp;

/// The warp of a mark that stands for no access.
const NOBODY: u8 = u8::MAX;

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
    warp: NOBODY,
    atomic: false,
};

impl Mark {
    /// Whether it happened before all that a warp does from now on.
    #[inline]
    fn is_before(&self, by: &By<'_>) -> bool {
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
    pub(crate) fn read(&mut self, mark: Mark, by: &By<'_>, byte: usize, met: &mut Option<Met>) {
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
        by: &By<'_>,
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
pub(crate) struct By<'w> {
    pub(crate) warp: u32,
    pub(crate) clock: &'w [u32],
    pub(crate) step: u32,
    pub(crate) atomic: bool,
}

impl<'w> By<'w> {
    /// A warp, in the instruction where it is.
    pub(crate) fn now(warp: &'w Warp, atomic: bool) -> Self {
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

/// Two accesses that race, or that must not meet for another reason.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Met {
    pub(crate) kind: FindingKind,
    pub(crate) byte: u64,
    pub(crate) other: u32,
}

/// Only the first of an access counts.
#[cold]
pub(crate) fn note(met: &mut Option<Met>, kind: FindingKind, byte: usize, other: u32) {
    met.get_or_insert(Met {
        kind,
        byte: byte as u64,
        other,
    });
}
