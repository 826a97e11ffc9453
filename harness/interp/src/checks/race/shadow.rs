//! The accesses to each byte in a launch.
//!
//! The shadow has one entry for every [`GRANULE`] bytes of the arena: a writer and a reader, each with the set of bytes
//! that it accessed if that is not all of them. If two programs share a granule, its bytes get separate cells. Entries of
//! earlier launches are older than `base`, so nothing is cleared between launches.
//!
//! An entry identifies a program by a number assigned at its start. If programs order each other through atomics
//! ([`super::happens_before`]), a program has several numbers, one for each part that is published as a whole.

mod load;
#[cfg(test)]
mod tests;

use cerith_memory::GUARD;

use crate::checks::Access;
use crate::checks::happens_before::{Orders, Release};

/// Bytes that share an entry: as many as a set has bits.
const GRANULE: usize = 32;
// A granule never holds bytes of two storages.
const _: () = assert!(GUARD.is_multiple_of(GRANULE));

/// Granules of a shadow that is not kept.
const LARGE: usize = 1 << 20;

/// A program's number is in the low bits.
const NUMBER: u32 = (1 << 30) - 1;
/// Flag of a cell's writer: another program wrote the same value before.
const SHARED: u32 = 1 << 31;
/// Flag of a cell's writer: by an atomic.
const ATOMIC: u32 = 1 << 30;
/// Flag of a granule's writer and reader: it touched only some of the bytes, those of the set beside it.
const PARTIAL: u32 = 1 << 31;
/// In a granule's writer: its bytes are apart, in the detail that its reader names.
const DETAILED: u32 = u32::MAX;

/// Every byte of a granule.
const ALL_BYTES: u32 = u32::MAX;

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

/// The accesses to all bytes in this launch.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    base: u32,
    next: u32,
    me: u32,
    /// The first number of the running program. All that came before and is of this launch is of other programs.
    first: u32,
    /// For each number at which a program began, which one it is.
    programs: Vec<(u32, u32)>,
    /// The programs that come before the running one.
    orders: Orders,
    /// Bytes of atomics that volatile loads read.
    volatile: Vec<usize>,
    /// Whether programs met in an atomic.
    pub met: bool,
    writers: Vec<u32>,
    /// The bytes that a partial writer wrote.
    written: Vec<u32>,
    readers: Vec<u32>,
    /// The bytes that a partial reader read.
    read: Vec<u32>,
    details: Vec<Detail>,
}

/// Two programs that raced at a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// The arena index of the byte.
    pub index: usize,
    /// The other program's number, when it is known.
    pub other_program: Option<u32>,
    /// The kind of its access.
    pub did: Access,
}

/// The bytes `from..to` of a granule.
#[inline]
const fn set(from: usize, to: usize) -> u32 {
    (ALL_BYTES >> (GRANULE - (to - from))) << from
}

/// The bytes that a granule's writer or reader touched.
#[inline]
const fn resolve_touched(entry: u32, set: u32) -> u32 {
    if entry & PARTIAL == 0 { ALL_BYTES } else { set }
}

/// Whether an entry is another program of this launch.
#[inline]
const fn is_foreign(entry: u32, me: u32, base: u32) -> bool {
    let number = entry & NUMBER;
    number >= base && number != me
}

/// Adds bytes to what this program touched of a granule; false where the entry is another program's.
#[inline]
fn join(entry: &mut u32, set: &mut u32, bytes: u32, me: u32, base: u32) -> bool {
    let number = *entry & NUMBER;
    let all = if number < base {
        bytes
    } else if number == me {
        bytes | resolve_touched(*entry, *set)
    } else {
        return false;
    };
    if all == ALL_BYTES {
        *entry = me;
    } else {
        (*entry, *set) = (me | PARTIAL, all);
    }
    true
}

/// Gathers elements by the granule that they are in: its number, their bytes of it, the first element and how many.
#[inline]
fn by_granule(
    index: usize,
    size: usize,
    stride: usize,
    count: usize,
    mut visit: impl FnMut(usize, u32, usize, usize) -> Result<(), Conflict>,
) -> Result<(), Conflict> {
    let mut nth = 0;
    while nth < count {
        let first = nth;
        let granule = (index + nth * stride) / GRANULE;
        let mut bytes = 0;
        while nth < count {
            let at = index + nth * stride;
            if at / GRANULE != granule {
                break;
            }
            bytes |= set(at % GRANULE, at % GRANULE + size);
            nth += 1;
        }
        visit(granule, bytes, first, nth - first)?;
    }
    Ok(())
}

impl Shadow {
    /// Starts a launch of `programs` programs over an arena of `bytes`.
    pub(crate) fn begin(&mut self, bytes: usize, programs: u64) {
        for detail in self.details.drain(..) {
            if let (Some(w), Some(r)) = (
                self.writers.get_mut(detail.granule),
                self.readers.get_mut(detail.granule),
            ) {
                (*w, *r) = (0, 0);
            }
        }
        let granules = bytes.div_ceil(GRANULE);
        let programs = programs.min(u64::from(NUMBER / 2)) as u32;
        if self.writers.len() < granules {
            // Entries of earlier launches are useless; fresh zeros cost nothing until the first access.
            for all in [
                &mut self.writers,
                &mut self.written,
                &mut self.readers,
                &mut self.read,
            ] {
                *all = vec![0; granules];
            }
        }
        if self.next.saturating_add(programs) >= NUMBER {
            self.writers.fill(0);
            self.readers.fill(0);
            self.next = 0;
        }
        self.base = self.next + 1;
        self.next = self.base;
        self.first = self.base;
        self.me = self.base;
        self.programs.clear();
        self.programs.push((self.base, 0));
        self.orders = Orders::default();
        self.met = false;
    }

    /// Makes room for an arena that grew to `bytes`.
    pub(crate) fn grow(&mut self, bytes: usize) {
        let granules = bytes.div_ceil(GRANULE);
        if self.writers.len() < granules {
            for all in [
                &mut self.writers,
                &mut self.written,
                &mut self.readers,
                &mut self.read,
            ] {
                all.resize(granules, 0);
            }
        }
    }

    /// Programs of this launch order each other through atomics.
    pub(crate) fn follow(&mut self) {
        self.orders.follow();
    }

    /// Forgets everything, when there is much of it.
    pub(crate) fn shrink(&mut self) {
        if self.writers.len() > LARGE || self.details.capacity() > LARGE / 16 {
            *self = Self::default();
        }
    }

    /// The program of this number runs from now on.
    pub(crate) fn enter(&mut self, program: u64) {
        self.first = self.fresh();
        self.me = self.first;
        self.programs
            .push((self.first, program.min(u64::from(u32::MAX)) as u32));
        self.orders.enter();
        self.volatile.clear();
    }

    /// The next number, or the last again when there are no more.
    const fn fresh(&mut self) -> u32 {
        if self.next + 1 < NUMBER {
            self.next += 1;
        }
        self.next
    }

    /// The next accesses are by one thread, which holds all scalars, or by many.
    #[inline]
    pub(crate) fn begin_access(&mut self, scalar: bool) {
        if self.orders.followed() {
            self.me = if let Some(number) = self.orders.begin_access(scalar) {
                number
            } else {
                let number = self.fresh();
                self.orders.set_number(scalar, number);
                number
            };
        }
    }

    /// All threads of the program wait for each other.
    pub(crate) fn barrier(&mut self) {
        self.orders.barrier();
    }

    /// Acquires the events that earlier volatile loads read.
    pub(crate) fn acquire(&mut self) {
        for index in std::mem::take(&mut self.volatile) {
            self.orders.synchronise(index, Release::POLL);
        }
    }

    /// An atomic ended: what it hands on at a byte, and takes over from there.
    pub(crate) fn synchronise(&mut self, index: usize, release: Release) {
        self.orders.synchronise(index, release);
    }

    /// Whether the running program comes after the accesses of an entry.
    fn is_after(&self, entry: u32) -> bool {
        self.orders.is_after(entry & NUMBER)
    }

    /// Whether an entry is the running program's own.
    const fn is_own(&self, entry: u32) -> bool {
        entry & NUMBER >= self.first
    }

    const fn is_live(&self, entry: u32) -> bool {
        entry & NUMBER >= self.base
    }

    /// The program of an entry.
    fn find_program(&self, entry: u32) -> u32 {
        let number = entry & NUMBER;
        let after = self.programs.partition_point(|&(first, _)| first <= number);
        after
            .checked_sub(1)
            .and_then(|at| self.programs.get(at))
            .map_or(0, |&(_, program)| program)
    }

    /// A store of aligned elements that start `stride` bytes apart. `old` is the arena, `new` has the elements one
    /// after the other.
    pub(crate) fn store_elements(
        &mut self,
        index: usize,
        size: usize,
        stride: usize,
        old: &[u8],
        new: &[u8],
    ) -> Result<(), Conflict> {
        let count = new.len() / size;
        let kept = |(nth, new): (usize, &[u8])| {
            old.get(index + nth * stride..index + nth * stride + size) == Some(new)
        };
        if new.chunks_exact(size).enumerate().all(kept) {
            return by_granule(index, size, stride, count, |granule, bytes, first, elements| {
                if self.keep_piece(granule, bytes) {
                    return Ok(());
                }
                (first..first + elements).try_for_each(|nth| self.keep(index + nth * stride, size))
            });
        }
        by_granule(index, size, stride, count, |granule, bytes, first, elements| {
            if self.store_piece(granule, bytes) {
                return Ok(());
            }
            (first..first + elements).try_for_each(|nth| {
                let at = index + nth * stride;
                let (old, new) = (old.get(at..at + size), new.get(nth * size..(nth + 1) * size));
                self.store(at, old.unwrap_or(&[]), new.unwrap_or(&[]))
            })
        })
    }

    /// A store of bytes; `old` is what is there before it.
    pub(crate) fn store(&mut self, index: usize, old: &[u8], new: &[u8]) -> Result<(), Conflict> {
        if old == new {
            return self.keep(index, new.len());
        }
        let end = index + new.len();
        let (first, last) = (index.div_ceil(GRANULE), end / GRANULE);
        if first >= last {
            return self.store_pieces(index, end, index, old, new);
        }
        self.store_pieces(index, first * GRANULE, index, old, new)?;
        if !self.store_whole(first, last) {
            self.store_pieces(first * GRANULE, last * GRANULE, index, old, new)?;
        }
        self.store_pieces(last * GRANULE, end, index, old, new)
    }

    /// Records a store of the old value. Like a load, it conflicts only with writers that change it. If the program itself
    /// wrote that value before, its earlier write already conflicts with them.
    fn keep(&mut self, index: usize, len: usize) -> Result<(), Conflict> {
        let end = index + len;
        let (first, last) = (index.div_ceil(GRANULE), end / GRANULE);
        if first >= last {
            return self.keep_pieces(index, end);
        }
        self.keep_pieces(index, first * GRANULE)?;
        let base = self.base;
        let is_written = |writers: &[u32]| writers.iter().any(|&w| w >= base);
        if self.writers.get(first..last).is_some_and(is_written) || !self.load_whole(first, last) {
            self.keep_pieces(first * GRANULE, last * GRANULE)?;
        }
        self.keep_pieces(last * GRANULE, end)
    }

    fn keep_pieces(&mut self, from: usize, to: usize) -> Result<(), Conflict> {
        let mut at = from;
        while at < to {
            let granule = at / GRANULE;
            let start = granule * GRANULE;
            let stop = to.min(start + GRANULE);
            if !self.keep_piece(granule, set(at - start, stop - start)) {
                self.keep_bytes(at, stop - at)?;
            }
            at = stop;
        }
        Ok(())
    }

    /// A store of the old value to some bytes of a granule. Returns false, and does nothing, if they need a check one by one.
    fn keep_piece(&mut self, granule: usize, bytes: u32) -> bool {
        let (Some(&writer), Some(&written)) = (self.writers.get(granule), self.written.get(granule)) else {
            return true;
        };
        let mine = if writer != DETAILED && writer & NUMBER == self.me {
            resolve_touched(writer, written)
        } else {
            0
        };
        bytes & !mine == 0 || self.load_piece(granule, bytes & !mine)
    }

    fn keep_bytes(&mut self, index: usize, len: usize) -> Result<(), Conflict> {
        self.visit_bytes(index, len, |shadow, cell, at| {
            let is_mine = shadow.is_live(cell.writer) && shadow.is_own(cell.writer);
            // After its own atomic, a store may undo another program's atomic.
            if is_mine && cell.writer & ATOMIC == 0 {
                return Ok(());
            }
            if shadow.is_live(cell.writer) && !is_mine && !shadow.is_after(cell.writer) {
                return shadow.write(cell, at, false);
            }
            if !shadow.is_live(cell.reader) || shadow.is_own(cell.reader) || shadow.is_after(cell.reader) {
                cell.reader = shadow.me;
            }
            Ok(())
        })
    }

    #[inline]
    #[expect(
        clippy::needless_bitwise_bool,
        reason = "branches would keep the loop from being vectorised"
    )]
    fn store_whole(&mut self, first: usize, last: usize) -> bool {
        let (me, base) = (self.me, self.base);
        let (Some(writers), Some(readers)) =
            (self.writers.get_mut(first..last), self.readers.get(first..last))
        else {
            return true;
        };
        let shared = writers.iter().zip(readers).fold(false, |any, (&w, &r)| {
            any | ((w >= base) & (w != me)) | ((r >= base) & (r != me))
        });
        if shared {
            return false;
        }
        writers.fill(me);
        true
    }

    #[inline]
    fn store_pieces(
        &mut self,
        from: usize,
        to: usize,
        index: usize,
        old: &[u8],
        new: &[u8],
    ) -> Result<(), Conflict> {
        let mut at = from;
        while at < to {
            let granule = at / GRANULE;
            let start = granule * GRANULE;
            let stop = to.min(start + GRANULE);
            if !self.store_piece(granule, set(at - start, stop - start)) {
                self.store_bytes(at, stop, index, old, new)?;
            }
            at = stop;
        }
        Ok(())
    }

    #[inline]
    fn store_piece(&mut self, granule: usize, bytes: u32) -> bool {
        let (me, base) = (self.me, self.base);
        let (Some(writer), Some(written), Some(&reader), Some(read)) = (
            self.writers.get_mut(granule),
            self.written.get_mut(granule),
            self.readers.get(granule),
            self.read.get(granule),
        ) else {
            return true;
        };
        if *writer == DETAILED || is_foreign(reader, me, base) && resolve_touched(reader, *read) & bytes != 0
        {
            return false;
        }
        join(writer, written, bytes, me, base)
    }

    /// A store of the bytes `from..to`, of an access that starts at `index`.
    fn store_bytes(
        &mut self,
        from: usize,
        to: usize,
        index: usize,
        old: &[u8],
        new: &[u8],
    ) -> Result<(), Conflict> {
        self.visit_bytes(from, to - from, |shadow, cell, at| {
            let differs = old.get(at - index) != new.get(at - index);
            shadow.write(cell, at, differs)
        })
    }

    /// A write to a byte, of the old value or another one.
    fn write(&self, cell: &mut Cell, at: usize, differs: bool) -> Result<(), Conflict> {
        let me = self.me;
        if self.is_live(cell.reader) && !self.is_own(cell.reader) && !self.is_after(cell.reader) {
            return Err(Conflict {
                index: at,
                other_program: Some(self.find_program(cell.reader)),
                did: Access::Load,
            });
        }
        if !self.is_live(cell.writer) || self.is_after(cell.writer) {
            cell.writer = me;
            return Ok(());
        }
        if !self.is_own(cell.writer) {
            let did = if cell.writer & ATOMIC == 0 {
                Access::Store
            } else {
                Access::Atomic
            };
            if differs || did == Access::Atomic {
                return Err(Conflict {
                    index: at,
                    other_program: Some(self.find_program(cell.writer)),
                    did,
                });
            }
            cell.writer = me | SHARED;
        } else if cell.writer & SHARED != 0 && differs {
            return Err(Conflict {
                index: at,
                other_program: None,
                did: Access::Store,
            });
        } else {
            cell.writer = me | cell.writer & SHARED;
        }
        Ok(())
    }

    /// An atomic of `len` bytes.
    pub(crate) fn record_atomic(&mut self, index: usize, len: usize) -> Result<(), Conflict> {
        let me = self.me;
        self.visit_bytes(index, len, |shadow, cell, at| {
            if shadow.is_live(cell.writer) && !shadow.is_own(cell.writer) {
                if cell.writer & ATOMIC != 0 {
                    shadow.met = true;
                } else if !shadow.is_after(cell.writer) {
                    return Err(Conflict {
                        index: at,
                        other_program: Some(shadow.find_program(cell.writer)),
                        did: Access::Store,
                    });
                }
            }
            if shadow.is_live(cell.reader) && !shadow.is_own(cell.reader) && !shadow.is_after(cell.reader) {
                return Err(Conflict {
                    index: at,
                    other_program: Some(shadow.find_program(cell.reader)),
                    did: Access::Load,
                });
            }
            cell.writer = me | ATOMIC;
            Ok(())
        })
    }

    /// Visits bytes one by one, in cells of their own.
    fn visit_bytes(
        &mut self,
        index: usize,
        len: usize,
        mut visit: impl FnMut(&mut Self, &mut Cell, usize) -> Result<(), Conflict>,
    ) -> Result<(), Conflict> {
        for at in index..index + len {
            let granule = at / GRANULE;
            let Some(detail) = self.ensure_detail(granule) else {
                return Ok(());
            };
            let Some(&cell) = self.details.get(detail).and_then(|d| d.cells.get(at % GRANULE)) else {
                return Ok(());
            };
            let mut cell = cell;
            visit(self, &mut cell, at)?;
            if let Some(to) = self
                .details
                .get_mut(detail)
                .and_then(|d| d.cells.get_mut(at % GRANULE))
            {
                *to = cell;
            }
        }
        Ok(())
    }

    /// The detail of a granule, made where there was none.
    fn ensure_detail(&mut self, granule: usize) -> Option<usize> {
        let (writer, reader) = (*self.writers.get(granule)?, *self.readers.get(granule)?);
        if writer == DETAILED {
            return Some(reader as usize);
        }
        let (written, read) = (*self.written.get(granule)?, *self.read.get(granule)?);
        let mut cells = [Cell::default(); GRANULE];
        for (nth, cell) in cells.iter_mut().enumerate() {
            cell.writer = if resolve_touched(writer, written) >> nth & 1 == 1 {
                writer & NUMBER
            } else {
                0
            };
            cell.reader = if resolve_touched(reader, read) >> nth & 1 == 1 {
                reader & NUMBER
            } else {
                0
            };
        }
        let detail = self.details.len();
        self.details.push(Detail { granule, cells });
        *self.writers.get_mut(granule)? = DETAILED;
        *self.readers.get_mut(granule)? = detail as u32;
        Some(detail)
    }
}
