//! Why lowering stops. Left out: the message for a user ([`super::Refused`]).

/// Why lowering stops.
#[derive(Debug)]
pub(super) struct Stop {
    pub message: String,
    /// The operation's byte in the text, where it is known.
    pub offset: Option<usize>,
}

impl Stop {
    /// The same, at this place if no inner one is known.
    pub fn or_at(self, at: usize) -> Self {
        Self {
            offset: self.offset.or(Some(at)),
            ..self
        }
    }
}

/// What lowering gives.
pub(super) type Lowered<T> = Result<T, Stop>;

/// Stops, at the place that the caller knows.
pub(super) fn stop<T>(message: impl Into<String>) -> Lowered<T> {
    Err(Stop {
        message: message.into(),
        offset: None,
    })
}
