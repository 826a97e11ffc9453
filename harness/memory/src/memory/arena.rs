//! The bytes of an arena and their states. A dropped arena keeps its large buffers for the next one, because memory
//! that is new to a process costs more than all work on it. See [`super::Memory`] for the layout.
//!
//! The pool of buffers is global: memory is cloned and dropped on any thread, and a clone has no access to another
//! pool. A buffer in the pool is empty, so no launch sees another's bytes.

use std::sync::Mutex;

use crate::storage::ByteState;

/// Buffers of fewer bytes are left to the allocator.
const LARGE: usize = 1 << 15;

/// Maximum bytes of one kind in the pool.
const MAX_KEPT_BYTES: usize = 64 << 20;

/// Maximum buffers of one kind in the pool.
const BUFFERS: usize = 32;

static BYTES: Spare<u8> = Spare(Mutex::new(Vec::new()));
static STATES: Spare<ByteState> = Spare(Mutex::new(Vec::new()));

/// Buffers in the pool, the last returned one at the end.
struct Spare<T>(Mutex<Vec<Vec<T>>>);

impl<T> Spare<T> {
    /// An empty buffer with room for `len` elements.
    fn take(&self, len: usize) -> Vec<T> {
        let kept = if len < LARGE {
            None
        } else {
            self.0.lock().ok().and_then(|mut all| {
                let fits = |buffer: &Vec<T>| (len..=len.saturating_mul(2)).contains(&buffer.capacity());
                let at = all.iter().rposition(fits)?;
                Some(all.remove(at))
            })
        };
        kept.unwrap_or_else(|| Vec::with_capacity(len))
    }

    /// Returns a buffer to the pool, unless the pool is full.
    fn give(&self, mut buffer: Vec<T>) {
        if !(LARGE..=MAX_KEPT_BYTES).contains(&buffer.capacity()) {
            return;
        }
        buffer.clear();
        if let Ok(mut all) = self.0.lock() {
            all.push(buffer);
            let mut bytes: usize = all.iter().map(Vec::capacity).sum();
            // Drops the buffers that have been unused for the longest time first.
            while all.len() > BUFFERS || bytes > MAX_KEPT_BYTES {
                bytes -= all.remove(0).capacity();
            }
        }
    }
}

/// The bytes of an arena and their states, equally many.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Arena {
    pub bytes: Vec<u8>,
    pub states: Vec<ByteState>,
}

impl Arena {
    /// An empty one with room for `len` bytes.
    pub(super) fn with_capacity(len: usize) -> Self {
        Self {
            bytes: BYTES.take(len),
            states: STATES.take(len),
        }
    }
}

impl Clone for Arena {
    fn clone(&self) -> Self {
        let mut clone = Self::with_capacity(self.bytes.len());
        clone.bytes.extend_from_slice(&self.bytes);
        clone.states.extend_from_slice(&self.states);
        clone
    }

    fn clone_from(&mut self, from: &Self) {
        self.bytes.clone_from(&from.bytes);
        self.states.clone_from(&from.states);
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        BYTES.give(std::mem::take(&mut self.bytes));
        STATES.give(std::mem::take(&mut self.states));
    }
}
