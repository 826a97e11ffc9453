/// The reason why a snippet can't be lowered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A part is unsupported.
    #[error("{0}")]
    Unknown(String),
    /// Compilers reject it too.
    #[error("{0}")]
    Wrong(String),
}

impl Refusal {
    /// Creates the error for an unsupported part.
    pub(crate) fn unknown(what: impl std::fmt::Display) -> Self {
        Self::Unknown(format!("{what} in assembly"))
    }
}

/// The result of parsing and executing a snippet.
pub(crate) type Assembled<T> = Result<T, Refusal>;
