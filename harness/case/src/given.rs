//! What a case file says that storages hold at the end. Left out: holding an outcome to it (`cerith-verdict`).

use cerith_memory::{Storage, StorageId};

/// What a storage holds after the last launch, as the case file gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The storage.
    pub storage: StorageId,
    /// Its bytes; those that nothing is said of are uninitialised.
    pub content: Storage,
}
