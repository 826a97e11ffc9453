//! The accesses of one block to global memory, to find races between its warps.
//!
//! A race alone is not an error: Triton loads a scalar in every thread and stores it from one, and mostly only that thread
//! uses the loaded value. [`crate::launch`] decides whether the result depends on the order.

use rustc_hash::FxHashMap;

use crate::outcome::{FindingKind, Thread};
use crate::race::{Accessor, History, Met};

/// Bytes of a page of histories.
const PAGE: usize = 64;

/// A detected race.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Race {
    pub(crate) kind: FindingKind,
    pub(crate) step: u32,
    pub(crate) other_step: u32,
    pub(crate) thread: Thread,
}

/// The accesses of the current block to global memory.
#[derive(Debug, Default)]
pub(crate) struct Global {
    pages: FxHashMap<usize, Box<[History; PAGE]>>,
    /// The first race of the launch.
    pub(crate) race: Option<Race>,
    /// The warp that used atomics, and whether others of the same block did too. The order of atomics is the program's choice,
    /// so their results don't show a race.
    atomics: Option<u32>,
    pub(crate) has_shared_atomics: bool,
}

impl Global {
    /// Removes the accesses of the previous block.
    pub(crate) fn begin_block(&mut self) {
        self.pages.clear();
        self.atomics = None;
    }

    pub(crate) fn read(&mut self, at: usize, len: usize, by: &Accessor<'_>) -> Option<Met> {
        let mut met = None;
        let mark = by.mark();
        self.visit(at, len, by, |history, byte, _| {
            history.read(mark, by, byte, &mut met);
        });
        met
    }

    /// `old` and `new` are the bytes before and after.
    pub(crate) fn write(&mut self, at: usize, old: &[u8], new: &[u8], by: &Accessor<'_>) -> Option<Met> {
        let mut met = None;
        let mark = by.mark();
        self.visit(at, new.len(), by, |history, byte, nth| {
            let changes = old.get(nth) != new.get(nth);
            history.write(mark, changes, by, byte, &mut met);
        });
        met
    }

    /// Visits the history of each byte, with its address and its number within the access.
    #[inline]
    fn visit(
        &mut self,
        at: usize,
        len: usize,
        by: &Accessor<'_>,
        mut visit: impl FnMut(&mut History, usize, usize),
    ) {
        if by.atomic {
            self.has_shared_atomics |= self.atomics.is_some_and(|warp| warp != by.warp);
            self.atomics = Some(by.warp);
        }
        let mut nth = 0;
        while nth < len {
            let (page, offset) = ((at + nth) / PAGE, (at + nth) % PAGE);
            let count = (PAGE - offset).min(len - nth);
            let histories = self
                .pages
                .entry(page)
                .or_insert_with(|| Box::new([History::EMPTY; PAGE]));
            for history in &mut histories[offset..offset + count] {
                visit(history, at + nth, nth);
                nth += 1;
            }
        }
    }
}
