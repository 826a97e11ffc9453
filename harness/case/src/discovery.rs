//! Who found the bug that a case shows, and its state upstream. See `cerith fuzz trophies` for a table of all finds.

use crate::expectation::{EnginePattern, words};

words! {
    /// Who found it.
    Finder {
        /// A generated case of `cerith fuzz`, or another random kernel.
        Fuzz = "fuzz",
        /// A case written by hand for the corpus.
        Corpus = "corpus",
    }
}

words! {
    /// State of the bug upstream.
    FoundState {
        /// Not reported to Triton's maintainers.
        Unreported = "unreported",
        /// Triton's maintainers know.
        Reported = "reported",
        /// The newest Triton no longer has it.
        Fixed = "fixed",
    }
}

/// What a case file says under `found`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovery {
    /// Who found it.
    pub finder: Finder,
    /// Whose bug it is, as its expectations name engines; with none, all that they name.
    pub engines: Vec<EnginePattern>,
    /// The link of the bug at Triton's; nothing if it is new as far as we know.
    pub upstream: Option<String>,
    /// State of the bug upstream.
    pub state: FoundState,
}
