//! The bytes of an arena and what is known of each. Large buffers are kept when an arena is dropped and used again for the
//! next: memory that is new to a process costs more than all that is done in it. Left out: what lies where
//! ([`super::Memory`]).
//!
//! The buffers that wait are global. Memory is cloned and dropped by whoever holds one, on any thread, and a clone has nothing
//! to take a pool from. A buffer that waits is empty, so nothing of one launch is seen by another.

use std::sync::Mutex;

use crate::storage::ByteState;

/// Buffers of fewer bytes are left to the allocator.
const LARGE: usize = 1 << 15;

/// The most bytes of one kind that are kept.
const MAX_KEPT_BYTES: usize = 64 << 20;

/// The most buffers of one kind that are kept.
const BUFFERS: usize = 32;

static BYTES: Spare<u8> = Spare(Mutex::new(Vec::new()));
static STATES: Spare<ByteState> = Spare(Mutex::new(Vec::new()));

/// Buffers that wait for their next arena, the one given back last at the end.
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

    /// Keeps a buffer, unless that would be too many.
    fn give(&self, mut buffer: Vec<T>) {
        if !(LARGE..=MAX_KEPT_BYTES).contains(&buffer.capacity()) {
            return;
        }
        buffer.clear();
        if let Ok(mut all) = self.0.lock() {
            all.push(buffer);
            let mut bytes: usize = all.iter().map(Vec::capacity).sum();
            // Those that nobody wanted for the longest time go first.
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
