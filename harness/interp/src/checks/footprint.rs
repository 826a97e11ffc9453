//! What the running program did to which bytes, lane by lane, where somebody asks: whether it reads what another lane of
//! it wrote with no barrier between, and which of its operations met another program in a race.
//!
//! Lanes are held by threads that run at once. What a lane stored is there for the same lane of a later load, and for
//! other lanes only behind `tl.debug_barrier()`. An atomic counts as a barrier. What is missed: lanes of the same number
//! that are held by different threads, because the two operations' blocks have other shapes.

use std::collections::HashMap;

use conch_memory::{Memory, ORIGIN};
use conch_tile::ir::{LocId, OpKind};

use super::{Access, Site, place_at};
use crate::outcome::{Stop, TrapKind};
use crate::plan::Run;
use crate::program::{Code, Op};

/// Which lane wrote a byte, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    lane: usize,
    loc: LocId,
}

/// A byte that a lane reads and another lane wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Crossed {
    lane: usize,
    address: u64,
    written: Written,
}

/// The footprint of the running program; empty, and free, where nobody asks.
#[derive(Debug, Default)]
pub(crate) struct Footprint {
    /// Whether reads of the program's own writes are watched.
    rereads: bool,
    written: HashMap<u64, Written>,
    /// An address, and how it is accessed, whose operation is looked for.
    sought: Option<(u64, Access)>,
    found: Option<LocId>,
}

/// Whether a block may read memory that it wrote before.
pub(crate) fn rereads(code: &Code, stored: &mut bool) -> bool {
    code.steps.iter().any(|step| match &step.op {
        Op::Plain(OpKind::Store { .. }) => {
            *stored = true;
            false
        }
        Op::Plain(OpKind::Load { .. }) => *stored,
        // What is stored in a trip is there in the next.
        Op::For(body) => rereads(body, stored) || rereads(body, stored),
        Op::While(before, after) => (0..2).any(|_| rereads(before, stored) || rereads(after, stored)),
        Op::If(one, other) => {
            let mut also = *stored;
            let found = rereads(one, stored) || rereads(other, &mut also);
            *stored |= also;
            found
        }
        Op::Plain(_) | Op::Binary(_) | Op::Unary(_) | Op::Reduce { .. } | Op::Scan { .. } => false,
    })
}

impl Footprint {
    /// One that watches reads of the program's own writes, or not.
    pub(crate) fn new(rereads: bool) -> Self {
        Self {
            rereads,
            ..Self::default()
        }
    }

    /// Whether anything is asked.
    #[inline]
    pub(crate) const fn kept(&self) -> bool {
        self.rereads || self.sought.is_some()
    }

    /// All lanes see what was stored so far: a barrier, an atomic, a new program.
    pub(crate) fn order(&mut self) {
        if self.rereads {
            self.written.clear();
        }
    }

    /// One that looks for the operation which accesses a byte of the arena.
    pub(crate) fn seeking(index: usize, access: Access) -> Self {
        Self {
            sought: Some((ORIGIN.wrapping_add(index as u64), access)),
            ..Self::default()
        }
    }

    /// The operation that was looked for.
    pub(crate) const fn found(&self) -> Option<LocId> {
        self.found
    }

    /// An operation accessed elements.
    pub(crate) fn accessed(&mut self, runs: &[Run], size: usize, access: Access, loc: LocId) {
        let Some((sought, wanted)) = self.sought else {
            return;
        };
        let holds = |run: &Run| (0..run.count).any(|nth| sought.wrapping_sub(run.address(nth)) < size as u64);
        if access == wanted && runs.iter().any(holds) {
            self.found = Some(loc);
        }
    }

    /// Elements were stored.
    pub(crate) fn stored(&mut self, runs: &[Run], size: usize, loc: LocId) {
        self.accessed(runs, size, Access::Store, loc);
        if !self.rereads {
            return;
        }
        for run in runs {
            for nth in 0..run.count {
                let lane = run.lane + nth;
                for byte in 0..size as u64 {
                    let address = run.address(nth).wrapping_add(byte);
                    self.written.insert(address, Written { lane, loc });
                }
            }
        }
    }

    /// Elements are loaded: the first byte that another lane wrote.
    pub(crate) fn loaded(&mut self, runs: &[Run], size: usize, loc: LocId) -> Option<Crossed> {
        self.accessed(runs, size, Access::Load, loc);
        if self.written.is_empty() {
            return None;
        }
        runs.iter().find_map(|run| {
            (0..run.count).find_map(|nth| {
                let lane = run.lane + nth;
                (0..size as u64).find_map(|byte| {
                    let address = run.address(nth).wrapping_add(byte);
                    let written = *self.written.get(&address)?;
                    (written.lane != lane).then_some(Crossed {
                        lane,
                        address,
                        written,
                    })
                })
            })
        })
    }
}

/// The trap for a lane that reads what another wrote.
#[cold]
pub(crate) fn trap(site: Site<'_>, memory: &Memory, crossed: Crossed) -> Stop {
    let kind = TrapKind::UnorderedRead;
    let Crossed {
        lane,
        address,
        written,
    } = crossed;
    let index = address.wrapping_sub(ORIGIN) as usize;
    let diagnostic = site
        .diagnostic(
            kind,
            Some(lane),
            format!(
                "load of bytes that lane {} of the same program wrote, with no barrier between",
                written.lane
            ),
        )
        .label(site.function.span(written.loc), "written here")
        .note(format!("they are at {}", place_at(memory, index)))
        .note("the lanes of a program run at once, on threads that do not wait for each other")
        .help("put `tl.debug_barrier()` between the store and the load, or keep the value in a variable");
    site.trap(kind, Some(lane), diagnostic)
}
