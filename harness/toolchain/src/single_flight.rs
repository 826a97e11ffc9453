//! One compilation for equal requests: other threads wait for its answer, which is then in the cache. See [`crate::Compilers`].

use std::collections::HashSet;
use std::sync::{Condvar, Mutex, PoisonError};

use crate::cache::Key;

/// Requests that are being compiled, so that other threads do not compile them too.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    counted: Mutex<HashSet<Key>>,
    free: Condvar,
}

/// A request's turn, which ends when this is dropped.
pub(crate) struct Turn<'a>(&'a Turns, Key);

impl Turns {
    /// Waits for who has the turn of a request, and takes it.
    pub(crate) fn take(&self, key: Key) -> Turn<'_> {
        let taken = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = self
            .free
            .wait_while(taken, |taken| taken.contains(&key))
            .unwrap_or_else(PoisonError::into_inner);
        taken.insert(key.clone());
        Turn(self, key)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let Self(turns, key) = self;
        turns
            .counted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(key);
        turns.free.notify_all();
    }
}
