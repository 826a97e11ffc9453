//! The error of lowering, before it becomes a message for a user ([`super::Refused`]).

/// The reason why lowering stops.
#[derive(Debug)]
pub(super) struct Stop {
    pub message: String,
    /// The operation's offset in the text, if known.
    pub offset: Option<usize>,
}

impl Stop {
    /// Adds a location, unless an inner one is known.
    pub fn or_at(self, at: usize) -> Self {
        Self {
            offset: self.offset.or(Some(at)),
            ..self
        }
    }
}

/// The result of lowering.
pub(super) type Lowered<T> = Result<T, Stop>;

/// Stops. The caller adds the location.
pub(super) fn stop<T>(message: impl Into<String>) -> Lowered<T> {
    Err(Stop {
        message: message.into(),
        offset: None,
    })
}
