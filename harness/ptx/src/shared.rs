//! A block's shared memory, the past of each of its bytes, and the copies on their way to it.

use crate::race::{Accessor, Content, Met, States};

/// The shared memory of a block.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    bytes: Vec<u8>,
    /// The states of the bytes.
    cells: Vec<u32>,
    states: States,
}

impl Shared {
    /// Resets all bytes to `fill`, and removes all records.
    pub(crate) fn reset(&mut self, size: usize, fill: u8) {
        self.bytes.clear();
        self.bytes.resize(size, fill);
        self.cells.clear();
        self.cells.resize(size, States::FRESH);
        self.states.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Drops records of pasts that no byte has any more.
    pub(crate) fn tidy(&mut self) {
        self.states.tidy(self.cells.iter_mut());
    }

    /// Reads bytes, which must be in bounds. Returns whether all of them were written.
    pub(crate) fn read(
        &mut self,
        at: usize,
        to: &mut [u8],
        by: &Accessor<'_>,
        met: &mut Option<Met>,
    ) -> bool {
        let Some(bytes) = self.bytes.get(at..at.saturating_add(to.len())) else {
            return false;
        };
        to.copy_from_slice(bytes);
        self.record_read(at, to.len(), by, met)
    }

    /// Records a read of bytes. Returns whether all of them were written.
    pub(crate) fn record_read(
        &mut self,
        at: usize,
        len: usize,
        by: &Accessor<'_>,
        met: &mut Option<Met>,
    ) -> bool {
        let Some(cells) = self.cells.get_mut(at..at.saturating_add(len)) else {
            return false;
        };
        self.states.read(cells, at, by, met)
    }

    /// The bytes in a range, without a record.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
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
        let content = if known { Content::Known } else { Content::Unknown };
        let changes = |nth: usize| bytes.get(nth) != from.get(nth);
        self.states.write(cells, at, content, by, changes, met);
        bytes.copy_from_slice(from);
    }

    /// Records a write that comes later, or whose bytes are unknown. `content`: the content afterwards.
    pub(crate) fn record_write(
        &mut self,
        at: usize,
        len: usize,
        content: Content,
        by: &Accessor<'_>,
        met: &mut Option<Met>,
    ) {
        if let Some(cells) = self.cells.get_mut(at..at.saturating_add(len)) {
            self.states.write(cells, at, content, by, |_| true, met);
        }
    }

    /// Starts a `cp.async` to bytes, which must be in bounds.
    pub(crate) fn begin_copy(&mut self, at: usize, len: usize, by: &Accessor<'_>, met: &mut Option<Met>) {
        self.record_write(at, len, Content::InFlight, by, met);
    }

    /// Lands a `cp.async`.
    pub(crate) fn land(&mut self, at: usize, from: &[u8], by: &Accessor<'_>) {
        let end = at.saturating_add(from.len());
        self.put(at, from);
        if let Some(cells) = self.cells.get_mut(at..end) {
            self.states.land(cells, by);
        }
    }

    /// Writes bytes without a record.
    pub(crate) fn put(&mut self, at: usize, from: &[u8]) {
        if let Some(bytes) = self.bytes.get_mut(at..at.saturating_add(from.len())) {
            bytes.copy_from_slice(from);
        }
    }
}
