//! The accesses of one block to global memory, to find races between its warps.
//!
//! A race alone is not an error: Triton loads a scalar in every thread and stores it from one, and mostly only that thread
//! uses the loaded value. [`crate::launch`] decides whether the result depends on the order.

use rustc_hash::FxHashMap;

use crate::outcome::{FindingKind, Thread};
use crate::race::{Accessor, Actor, Content, Met, States};

/// Bytes of a page of states.
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
    pages: FxHashMap<usize, Box<[u32; PAGE]>>,
    states: States,
    /// The first race of the launch.
    pub(crate) race: Option<Race>,
    /// The warp that used atomics, and whether others of the same block did too. The order of atomics is the program's choice,
    /// so their results don't show a race.
    atomics: Option<u16>,
    pub(crate) has_shared_atomics: bool,
}

impl Global {
    /// Removes the accesses of the previous block.
    pub(crate) fn begin_block(&mut self) {
        self.pages.clear();
        self.states.clear();
        self.atomics = None;
    }

    /// Drops records of pasts that no byte has any more.
    pub(crate) fn tidy(&mut self) {
        self.states
            .tidy(self.pages.values_mut().flat_map(|page| page.iter_mut()));
    }

    pub(crate) fn read(&mut self, at: usize, len: usize, by: &Accessor<'_>) -> Option<Met> {
        let mut met = None;
        self.visit(at, len, by, |states, cells, _, byte| {
            states.read(cells, byte, by, &mut met);
        });
        met
    }

    /// `old` and `new` are the bytes before and after.
    pub(crate) fn write(&mut self, at: usize, old: &[u8], new: &[u8], by: &Accessor<'_>) -> Option<Met> {
        let mut met = None;
        self.visit(at, new.len(), by, |states, cells, nth, byte| {
            let changes = |of: usize| old.get(nth + of) != new.get(nth + of);
            states.write(cells, byte, Content::Known, by, changes, &mut met);
        });
        met
    }

    /// Visits the states of the bytes page by page, with the number of the first byte within the access, and its address.
    #[inline]
    fn visit(
        &mut self,
        at: usize,
        len: usize,
        by: &Accessor<'_>,
        mut visit: impl FnMut(&mut States, &mut [u32], usize, usize),
    ) {
        if by.actor == Actor::Atomic {
            self.has_shared_atomics |= self.atomics.is_some_and(|warp| warp != by.component);
            self.atomics = Some(by.component);
        }
        let mut nth = 0;
        while nth < len {
            let (page, offset) = ((at + nth) / PAGE, (at + nth) % PAGE);
            let count = (PAGE - offset).min(len - nth);
            let cells = self
                .pages
                .entry(page)
                .or_insert_with(|| Box::new([States::FRESH; PAGE]));
            visit(
                &mut self.states,
                &mut cells[offset..offset + count],
                nth,
                at + nth,
            );
            nth += count;
        }
    }
}
