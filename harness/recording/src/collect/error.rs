//! Why a kernel or a launch is not collected.

use crate::archive::ContentError;

/// The reason why a kernel is not collected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum KernelError {
    #[error("kernel `{0}` without a file")]
    NoFile(String),
    #[error("kernel `{function}`: `{file}` is not a valid name for a separate file")]
    FileName { function: String, file: String },
}

/// A parameter whose value has no form in a case file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("parameter `{0}` has a value of an unknown kind")]
pub(super) struct UnknownValue(pub(super) String);

/// The reason why a case file cannot have the storages of a launch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StorageError {
    /// Addresses are not aligned to their size.
    #[error("`{0}` holds addresses at odd places")]
    OddAddresses(String),
    /// Bytes are missing.
    #[error("storage `{0}`: its bytes are not there, or not as many as it has")]
    Length(String),
    /// Bytes are not available.
    #[error("storage `{storage}`: {error}")]
    Content {
        /// The storage.
        storage: String,
        /// The cause.
        error: ContentError,
    },
}
