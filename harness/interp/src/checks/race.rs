//! Data races between the programs of a launch, exact to the byte.
//!
//! Programs run one after the other, in the order of their ids. For every byte the shadow knows the program that wrote
//! it last and the first that read it, which is enough: whoever comes later is later than both. Two programs race when
//! one writes a byte that the other reads, or both write it and not the same value. Atomics race with plain accesses,
//! never with each other. A program whose atomic meets one of another program is ordered after all programs before it:
//! that is how locks and "the last one to arrive" counters order plain accesses.
//!
//! What is missed: a program that writes a byte twice, of which one value is what another program writes; an order
//! that only holds when programs happen to run in the order of their ids.
//!
//! The shadow has one cell for every [`GRANULE`] bytes of the arena while all of them are in one state, and one cell a
//! byte after an access that covers a granule in part. Entries of launches before are older than `base`, so nothing
//! has to be cleared between launches.

use conch_memory::{GUARD, Memory};

use super::{Access, Site, place_at, program_id};
use crate::outcome::{Stop, TrapKind};

/// Bytes that share a cell.
const GRANULE: usize = 32;

/// A cell's program number is in the low bits.
const NUMBER: u32 = (1 << 30) - 1;
/// Flag of a writer: another program wrote the same value before.
const SHARED: u32 = 1 << 31;
/// Flag of a writer: by an atomic.
const ATOMIC: u32 = 1 << 30;
/// In a granule's writer: its bytes are apart, in the detail that its reader names.
const APART: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    writer: u32,
    reader: u32,
}

#[derive(Debug)]
struct Detail {
    granule: usize,
    cells: [Cell; GRANULE],
}

/// Who accessed what in this launch.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    base: u32,
    next: u32,
    me: u32,
    /// Whether the running program is ordered after those before it.
    ordered: bool,
    /// Whether programs met in an atomic.
    pub met: bool,
    writers: Vec<u32>,
    readers: Vec<u32>,
    details: Vec<Detail>,
}

/// Two programs that raced at a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// The arena index of the byte.
    pub index: usize,
    /// The other program's number, when it is known.
    pub other: Option<u32>,
    /// What it did.
    pub did: Access,
}

impl Shadow {
    /// Starts a launch of `programs` programs over an arena of `bytes`.
    pub(crate) fn begin(&mut self, bytes: usize, programs: u64) {
        for detail in self.details.drain(..) {
            if let (Some(w), Some(r)) =
                (self.writers.get_mut(detail.granule), self.readers.get_mut(detail.granule))
            {
                (*w, *r) = (0, 0);
            }
        }
        let granules = bytes.div_ceil(GRANULE);
        let programs = programs.min(u64::from(NUMBER / 2)) as u32;
        if self.writers.len() < granules {
            self.writers.resize(granules, 0);
            self.readers.resize(granules, 0);
        }
        if self.next.saturating_add(programs) >= NUMBER {
            self.writers.fill(0);
            self.readers.fill(0);
            self.next = 0;
        }
        self.base = self.next + 1;
        self.next = self.base + programs;
        self.me = self.base;
        self.ordered = false;
        self.met = false;
    }

    /// The program of this number runs from now on.
    pub(crate) fn enter(&mut self, program: u64) {
        self.me = self.base + program.min(u64::from(self.next - self.base)) as u32;
        self.ordered = false;
    }

    fn live(&self, entry: u32) -> bool {
        entry & NUMBER >= self.base
    }

    fn number(&self, entry: u32) -> u32 {
        (entry & NUMBER) - self.base
    }

    /// A load of `len` bytes. A volatile one may see other programs' writes.
    pub(crate) fn read(&mut self, index: usize, len: usize, volatile: bool) -> Result<(), Conflict> {
        if volatile {
            return self.walk(index, len, |shadow, cell, _| {
                if shadow.live(cell.writer) && cell.writer & NUMBER != shadow.me {
                    shadow.ordered = true;
                    shadow.met = true;
                }
                Ok(())
            });
        }
        let (me, base) = (self.me, self.base);
        if index % GRANULE == 0 && len % GRANULE == 0 {
            let (first, last) = (index / GRANULE, (index + len) / GRANULE);
            let (Some(writers), Some(readers)) =
                (self.writers.get(first..last), self.readers.get_mut(first..last))
            else {
                return Ok(());
            };
            let foreign = writers.iter().fold(false, |any, &w| any | ((w >= base) & (w != me)));
            if !foreign {
                for reader in readers {
                    *reader = if *reader < base { me } else { *reader };
                }
                return Ok(());
            }
        }
        self.walk(index, len, |shadow, cell, index| {
            if shadow.live(cell.writer) && cell.writer & NUMBER != me && !shadow.ordered {
                let did = if cell.writer & ATOMIC == 0 { Access::Store } else { Access::Atomic };
                return Err(Conflict { index, other: Some(shadow.number(cell.writer)), did });
            }
            if !shadow.live(cell.reader) {
                cell.reader = me;
            }
            Ok(())
        })
    }

    /// A store of bytes; `old` is what is there before it.
    pub(crate) fn write(&mut self, index: usize, old: &[u8], new: &[u8]) -> Result<(), Conflict> {
        let (me, base) = (self.me, self.base);
        let len = new.len();
        if index % GRANULE == 0 && len % GRANULE == 0 {
            let (first, last) = (index / GRANULE, (index + len) / GRANULE);
            let (Some(writers), Some(readers)) =
                (self.writers.get_mut(first..last), self.readers.get(first..last))
            else {
                return Ok(());
            };
            let foreign = writers.iter().zip(readers).fold(false, |any, (&w, &r)| {
                any | ((w >= base) & (w != me)) | ((r >= base) & (r != me))
            });
            if !foreign {
                writers.fill(me);
                return Ok(());
            }
        }
        self.walk(index, len, |shadow, cell, at| {
            if shadow.live(cell.reader) && cell.reader != me && !shadow.ordered {
                return Err(Conflict { index: at, other: Some(shadow.number(cell.reader)), did: Access::Load });
            }
            if !shadow.live(cell.writer) || shadow.ordered {
                cell.writer = me;
                return Ok(());
            }
            let differs = old.get(at - index) != new.get(at - index);
            if cell.writer & NUMBER != me {
                if cell.writer & ATOMIC != 0 {
                    return Err(Conflict { index: at, other: Some(shadow.number(cell.writer)), did: Access::Atomic });
                }
                if differs {
                    return Err(Conflict { index: at, other: Some(shadow.number(cell.writer)), did: Access::Store });
                }
                cell.writer = me | SHARED;
            } else if cell.writer & SHARED != 0 && differs {
                return Err(Conflict { index: at, other: None, did: Access::Store });
            }
            Ok(())
        })
    }

    /// An atomic of `len` bytes.
    pub(crate) fn atomic(&mut self, index: usize, len: usize) -> Result<(), Conflict> {
        let me = self.me;
        self.walk(index, len, |shadow, cell, at| {
            if shadow.live(cell.writer) && cell.writer & NUMBER != me {
                if cell.writer & ATOMIC != 0 {
                    shadow.met = true;
                    shadow.ordered = true;
                } else if !shadow.ordered {
                    return Err(Conflict { index: at, other: Some(shadow.number(cell.writer)), did: Access::Store });
                }
            }
            if shadow.live(cell.reader) && cell.reader != me && !shadow.ordered {
                return Err(Conflict { index: at, other: Some(shadow.number(cell.reader)), did: Access::Load });
            }
            cell.writer = me | ATOMIC;
            Ok(())
        })
    }

    /// Visits the cells of some bytes one by one: whole granules where the access covers them, bytes where not.
    fn walk(
        &mut self,
        index: usize,
        len: usize,
        mut visit: impl FnMut(&mut Self, &mut Cell, usize) -> Result<(), Conflict>,
    ) -> Result<(), Conflict> {
        let end = index + len;
        let mut at = index;
        while at < end {
            let granule = at / GRANULE;
            let start = granule * GRANULE;
            let stop = (start + GRANULE).min(end);
            let (Some(&writer), Some(&reader)) = (self.writers.get(granule), self.readers.get(granule)) else {
                return Ok(());
            };
            let mut cell = Cell { writer, reader };
            if writer == APART {
                let detail = reader as usize;
                while at < stop {
                    let Some(mut cell) = self.details.get(detail).and_then(|d| d.cells.get(at - start)).copied()
                    else {
                        return Ok(());
                    };
                    let visited = visit(self, &mut cell, at);
                    if let Some(to) = self.details.get_mut(detail).and_then(|d| d.cells.get_mut(at - start)) {
                        *to = cell;
                    }
                    visited?;
                    at += 1;
                }
                continue;
            }
            if at == start && stop == start + GRANULE {
                let before = cell;
                // A granule is visited as one only where its bytes need not be told apart: where nobody else is.
                let foreign = |entry: u32| self.live(entry) && entry != self.me;
                if !foreign(cell.writer) && !foreign(cell.reader) {
                    visit(self, &mut cell, at)?;
                    if (cell.writer, cell.reader) != (before.writer, before.reader)
                        && let (Some(w), Some(r)) = (self.writers.get_mut(granule), self.readers.get_mut(granule))
                    {
                        (*w, *r) = (cell.writer, cell.reader);
                    }
                    at = stop;
                    continue;
                }
            }
            let detail = self.details.len();
            self.details.push(Detail { granule, cells: [cell; GRANULE] });
            if let (Some(w), Some(r)) = (self.writers.get_mut(granule), self.readers.get_mut(granule)) {
                (*w, *r) = (APART, detail as u32);
            }
        }
        Ok(())
    }
}

/// The trap for two programs that raced. `lane` of this program did it.
#[cold]
pub(crate) fn trap(
    site: Site<'_>,
    memory: &Memory,
    access: Access,
    lane: usize,
    conflict: Conflict,
    grid: [u32; 3],
) -> Stop {
    let kind = TrapKind::Race;
    debug_assert!(GUARD % GRANULE == 0, "a granule never holds bytes of two storages");
    let other = conflict.other.map_or_else(
        || "another program".to_owned(),
        |number| {
            let (x, y) = (grid[0].max(1), grid[1].max(1));
            format!("program {}", program_id([number % x, number / x % y, number / x / y]))
        },
    );
    let did = match conflict.did {
        Access::Load => "reads",
        Access::Store if access == Access::Store => "writes another value to",
        Access::Store => "writes",
        Access::Atomic => "atomically updates",
    };
    let diagnostic = site
        .diagnostic(kind, Some(lane), format!("{} of bytes that {other} {did}", access.name()))
        .note(format!("they are at {}", place_at(memory, conflict.index)))
        .note("programs of a launch run in any order, or at once")
        .help("let each program own what it writes, or use atomics");
    site.trap(kind, Some(lane), diagnostic)
}
