//! Contents that a case file expects in storages at the end. See `cerith-verdict` for comparing an outcome with them.

use cerith_memory::{Storage, StorageId};

/// The expected content of a storage after the last launch, as given in the case file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedContent {
    /// The storage.
    pub storage: StorageId,
    /// Its bytes. Bytes that the file does not give are uninitialised.
    pub content: Storage,
}
