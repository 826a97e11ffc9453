//! Reasons that end a trace early.

use cerith_tile::diagnostic::Diagnostic;

/// The reason why a kernel has no IR.
#[derive(Clone, Debug)]
pub enum Refusal {
    /// Triton's compiler (or launcher) rejects the program, for this reason.
    Rejected(Box<Diagnostic>),
    /// The reference does not know the construct yet.
    Unsupported(Box<Diagnostic>),
    /// Tracing it takes more than a limit of the reference allows.
    Exhausted(Box<Diagnostic>),
}

/// A reason that ends a trace early.
#[derive(Debug)]
pub enum Stop {
    /// Triton's compiler rejects the program.
    Rejected(Box<Diagnostic>),
    /// The reference does not know the construct.
    Unsupported(Box<Diagnostic>),
    /// The program reached a limit of ours.
    Exhausted(Box<Diagnostic>),
}

/// The result of tracing a piece of Python.
pub type Traced<T> = Result<T, Stop>;

impl Stop {
    /// Adds a fact below the snippet.
    #[must_use]
    pub fn note(self, text: impl Into<String>) -> Self {
        let noted = |diagnostic: Box<Diagnostic>| Box::new(diagnostic.note(text));
        match self {
            Self::Rejected(diagnostic) => Self::Rejected(noted(diagnostic)),
            Self::Unsupported(diagnostic) => Self::Unsupported(noted(diagnostic)),
            Self::Exhausted(diagnostic) => Self::Exhausted(noted(diagnostic)),
        }
    }

    /// The refusal that it is.
    pub fn into_refusal(self) -> Refusal {
        match self {
            Self::Rejected(diagnostic) => Refusal::Rejected(diagnostic),
            Self::Unsupported(diagnostic) => Refusal::Unsupported(diagnostic),
            Self::Exhausted(diagnostic) => Refusal::Exhausted(diagnostic),
        }
    }
}
