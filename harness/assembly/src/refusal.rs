//! Why a snippet becomes no operations.

/// Why a snippet becomes no operations.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Something in it is not known here.
    #[error("{0}")]
    Unknown(String),
    /// No compiler takes it.
    #[error("{0}")]
    Wrong(String),
}

impl Refusal {
    /// Something in a snippet is not known.
    pub(crate) fn unknown(what: impl std::fmt::Display) -> Self {
        Self::Unknown(format!("{what} in assembly"))
    }
}

/// What reading and executing a snippet gives.
pub(crate) type Assembled<T> = Result<T, Refusal>;
