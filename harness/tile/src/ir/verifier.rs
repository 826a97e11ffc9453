//! Whether IR is well-formed.

/// What is wrong with a function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct VerifyError(pub String);
