//! The finder of the bug that a case shows, and its state upstream. `cerith fuzz trophies` writes a table of all such bugs.

use crate::expectation::{EnginePattern, words};

words! {
    /// The finder of a bug.
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
    /// The finder.
    pub finder: Finder,
    /// The engines with the bug, as its expectations name them. If empty, all of these.
    pub engines: Vec<EnginePattern>,
    /// The link of the bug in Triton's tracker; `None` if no report is known.
    pub upstream: Option<String>,
    /// State of the bug upstream.
    pub state: FoundState,
}
