//! Who found what a case shows, and what became of it. Left out: the table of all that was found (`cerith fuzz trophies`).

use crate::expectation::{EnginePattern, words};

words! {
    /// Who found it.
    Finder {
        /// A generated case of `cerith fuzz`, or another random kernel.
        Fuzz = "fuzz",
        /// A case that somebody wrote for the corpus.
        Corpus = "corpus",
    }
}

words! {
    /// What became of it.
    FoundState {
        /// Nobody has told Triton's maintainers.
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
    /// What became of it.
    pub state: FoundState,
}
