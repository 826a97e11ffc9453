//! What torch raises. Left out: where in an expression it was raised (see `cerith-case`).

/// The Python exception that torch raises for a wrong operation, with torch's own words where they are stable.
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
