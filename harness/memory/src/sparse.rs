//! Sparse storages: their content is computed, and bytes exist only in pages that something touched. See
//! [`crate::Memory`] for the pages of a launch.

use std::fmt;
use std::sync::Arc;

use crate::storage::{ByteState, Storage, UNINIT_BYTE};

/// Bytes of a page. An access makes the whole page resident, so a kernel that touches one element of each row needs a page
/// for each.
pub const PAGE: usize = 4096;

/// Maximum bytes of the sparse storages of one set together (128 TiB). Their addresses stay far below `i64::MAX`.
pub const MAX_SPARSE_BYTES: u64 = 1 << 47;

/// Maximum bytes of all resident pages of one memory (256 MiB).
pub const MAX_RESIDENT_BYTES: u64 = 1 << 28;

/// Computes the first content of a sparse storage, any part of it at any time.
pub trait Rule: fmt::Debug + Send + Sync {
    /// Writes the content from byte `offset` of the storage on. Both slices are equally long.
    fn write(&self, offset: u64, bytes: &mut [u8], states: &mut [ByteState]);

    /// A description that identifies the content: rules with equal descriptions have equal content.
    fn describe(&self) -> String;
}

/// The first content of a sparse storage: uninitialised, or by a rule.
#[derive(Clone, Debug, Default)]
pub struct Content(Option<Arc<dyn Rule>>);

impl Content {
    /// Uninitialised bytes.
    pub const UNINIT: Self = Self(None);

    /// Content that a rule computes.
    pub fn new(rule: Arc<dyn Rule>) -> Self {
        Self(Some(rule))
    }

    /// The content of a storage, whatever it is.
    pub(crate) fn from_storage(storage: &Storage) -> Self {
        let stored = || Self::new(Arc::new(Stored(storage.clone())));
        storage.content().cloned().unwrap_or_else(stored)
    }

    /// Whether every byte is uninitialised.
    pub const fn is_uninit(&self) -> bool {
        self.0.is_none()
    }

    /// Writes the content from byte `offset` of the storage on.
    pub fn write(&self, offset: u64, bytes: &mut [u8], states: &mut [ByteState]) {
        if let Some(rule) = &self.0 {
            rule.write(offset, bytes, states);
        } else {
            bytes.fill(UNINIT_BYTE);
            states.fill(ByteState::Uninit);
        }
    }

    /// The content of `len` bytes from `offset`.
    pub fn compute(&self, offset: u64, len: usize) -> (Vec<u8>, Vec<ByteState>) {
        let (mut bytes, mut states) = (vec![UNINIT_BYTE; len], vec![ByteState::Uninit; len]);
        self.write(offset, &mut bytes, &mut states);
        (bytes, states)
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(rule) => f.write_str(&rule.describe()),
            None => f.write_str("uninit"),
        }
    }
}

impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a.describe() == b.describe(),
            _ => false,
        }
    }
}

impl Eq for Content {}

/// Content that is held as bytes.
#[derive(Debug)]
struct Stored(Storage);

impl Rule for Stored {
    fn write(&self, offset: u64, bytes: &mut [u8], states: &mut [ByteState]) {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        if let Some((from, from_states)) = self.0.read(start..start.saturating_add(bytes.len())) {
            bytes.copy_from_slice(&from);
            states.copy_from_slice(&from_states);
        }
    }

    fn describe(&self) -> String {
        format!("{:?} {:?}", self.0.bytes(), self.0.states())
    }
}
