//! The exceptions that torch raises. `cerith-case` adds their location in an expression.

/// A Python exception of torch, with torch's own message if it is stable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TorchError {
    /// `IndexError`: a dimension or an index that is out of range.
    #[error("{0}")]
    Index(String),
    /// `RuntimeError`: everything else that a shape, a stride or a dtype does not allow.
    #[error("{0}")]
    Runtime(String),
    /// `ValueError`: an argument of the right type with an impossible value.
    #[error("{0}")]
    Value(String),
    /// `TypeError`: an argument of the wrong type.
    #[error("{0}")]
    Type(String),
}

impl TorchError {
    pub(crate) fn raise_index<T>(message: impl Into<String>) -> Result<T, Self> {
        Err(Self::Index(message.into()))
    }

    pub(crate) fn raise_runtime<T>(message: impl Into<String>) -> Result<T, Self> {
        Err(Self::Runtime(message.into()))
    }

    pub(crate) fn raise_value<T>(message: impl Into<String>) -> Result<T, Self> {
        Err(Self::Value(message.into()))
    }
}
