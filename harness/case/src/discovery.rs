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
        /// Reported to Triton's maintainers.
        Reported = "reported",
        /// Fixed in the newest Triton.
        Fixed = "fixed",
    }
}

/// The key `found` of a case file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovery {
    /// Who found it.
    pub finder: Finder,
    /// The engines with the bug, as its expectations name them; if empty, all that they name.
    pub engines: Vec<EnginePattern>,
    /// The link of the bug in Triton's tracker; `None` if no report is known.
    pub upstream: Option<String>,
    /// State of the bug upstream.
    pub state: FoundState,
}
