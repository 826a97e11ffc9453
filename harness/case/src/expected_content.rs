//! What a case file says that storages hold at the end. Left out: comparing an outcome with it (`cerith-verdict`).

use cerith_memory::{Storage, StorageId};

/// What a storage holds after the last launch, as the case file gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedContent {
    /// The storage.
    pub storage: StorageId,
    /// Its bytes. Bytes that the file does not give are uninitialised.
    pub content: Storage,
}
