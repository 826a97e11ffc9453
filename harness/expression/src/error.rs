//! Errors in expressions. See `template` for reporting them in a case file.

use std::ops::Range;

use cerith_memory::TorchError;

/// An error in an expression, with its location in the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExprError {
    /// Bytes of the expression's text.
    pub range: Range<usize>,
    /// One line, no full stop; torch's own message if torch would have raised.
    pub message: String,
    /// How to fix it, if known.
    pub help: Option<String>,
}

impl ExprError {
    pub(crate) fn new(range: Range<usize>, message: impl Into<String>) -> Self {
        Self {
            range,
            message: message.into(),
            help: None,
        }
    }

    pub(crate) fn help(mut self, help: Option<String>) -> Self {
        self.help = help;
        self
    }

    /// An error of torch, where it happened.
    pub(crate) fn of_torch(range: &Range<usize>, error: &TorchError) -> Self {
        Self::new(range.clone(), error.to_string())
    }
}
