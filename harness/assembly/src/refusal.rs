/// The reason why a snippet of assembly can't be lowered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Cerith does not support a part of the snippet.
    #[error("{0}")]
    Unknown(String),
    /// Compilers reject the snippet too.
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
