//! Loads in the shadow.

use super::{
    ATOMIC, Conflict, DETAILED, GRANULE, PARTIAL, Shadow, by_granule, is_foreign, join, resolve_touched, set,
};
use crate::checks::Access;

impl Shadow {
    /// A load of `len` bytes. A volatile one may see other programs' writes.
    pub(crate) fn load(&mut self, index: usize, len: usize, volatile: bool) -> Result<(), Conflict> {
        if volatile {
            return self.visit_bytes(index, len, |shadow, cell, at| {
                if !shadow.is_live(cell.writer) || shadow.is_own(cell.writer) || shadow.is_after(cell.writer)
                {
                    return Ok(());
                }
                shadow.met = true;
                if cell.writer & ATOMIC != 0 {
                    shadow.volatile.push(at);
                    return Ok(());
                }
                Err(Conflict {
                    index: at,
                    other_program: Some(shadow.find_program(cell.writer)),
                    did: Access::Store,
                })
            });
        }
        let (first, last) = (index.div_ceil(GRANULE), (index + len) / GRANULE);
        if first >= last {
            return self.load_pieces(index, index + len);
        }
        self.load_pieces(index, first * GRANULE)?;
        if !self.load_whole(first, last) {
            self.load_pieces(first * GRANULE, last * GRANULE)?;
        }
        self.load_pieces(last * GRANULE, index + len)
    }

    /// A load of aligned elements that start `stride` bytes apart.
    pub(crate) fn load_elements(
        &mut self,
        index: usize,
        size: usize,
        stride: usize,
        count: usize,
        volatile: bool,
    ) -> Result<(), Conflict> {
        by_granule(index, size, stride, count, |granule, bytes, first, elements| {
            if !volatile && self.load_piece(granule, bytes) {
                return Ok(());
            }
            (first..first + elements).try_for_each(|nth| self.load(index + nth * stride, size, volatile))
        })
    }

    /// A load of whole granules; false, and nothing done, where they must be looked at one by one.
    #[inline]
    #[expect(
        clippy::needless_bitwise_bool,
        reason = "branches would keep the loop from being vectorised"
    )]
    pub(super) fn load_whole(&mut self, first: usize, last: usize) -> bool {
        let (me, base) = (self.me, self.base);
        let (Some(writers), Some(readers)) =
            (self.writers.get(first..last), self.readers.get_mut(first..last))
        else {
            return true;
        };
        let shared = writers.iter().zip(readers.iter()).fold(false, |any, (&w, &r)| {
            any | ((w >= base) & (w != me)) | (r & PARTIAL != 0)
        });
        if shared {
            return false;
        }
        for reader in readers {
            *reader = if *reader < base { me } else { *reader };
        }
        true
    }

    /// A load, granule by granule.
    #[inline]
    fn load_pieces(&mut self, from: usize, to: usize) -> Result<(), Conflict> {
        let mut at = from;
        while at < to {
            let granule = at / GRANULE;
            let start = granule * GRANULE;
            let stop = to.min(start + GRANULE);
            if !self.load_piece(granule, set(at - start, stop - start)) {
                self.load_bytes(at, stop - at)?;
            }
            at = stop;
        }
        Ok(())
    }

    /// A load of some bytes of a granule; false, and nothing done, where they must be looked at one by one.
    #[inline]
    pub(super) fn load_piece(&mut self, granule: usize, bytes: u32) -> bool {
        let (me, base) = (self.me, self.base);
        let (Some(&writer), Some(written), Some(reader), Some(read)) = (
            self.writers.get(granule),
            self.written.get(granule),
            self.readers.get_mut(granule),
            self.read.get_mut(granule),
        ) else {
            return true;
        };
        if is_foreign(writer, me, base)
            && (writer == DETAILED || resolve_touched(writer, *written) & bytes != 0)
        {
            return false;
        }
        join(reader, read, bytes, me, base) || resolve_touched(*reader, *read) & bytes == bytes
    }

    fn load_bytes(&mut self, index: usize, len: usize) -> Result<(), Conflict> {
        let me = self.me;
        self.visit_bytes(index, len, |shadow, cell, index| {
            if shadow.is_live(cell.writer) && !shadow.is_own(cell.writer) && !shadow.is_after(cell.writer) {
                let did = if cell.writer & ATOMIC == 0 {
                    Access::Store
                } else {
                    Access::Atomic
                };
                return Err(Conflict {
                    index,
                    other_program: Some(shadow.find_program(cell.writer)),
                    did,
                });
            }
            if !shadow.is_live(cell.reader) || shadow.is_own(cell.reader) || shadow.is_after(cell.reader) {
                cell.reader = me;
            }
            Ok(())
        })
    }
}
