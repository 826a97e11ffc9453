//! The result of one case of a campaign, and the part of it that is kept. See `hunt` for running the case.

use std::path::Path;

use crate::finding::Finding;
use crate::twins::Unlike;

/// The result of one case.
pub enum FuzzResult {
    /// It was judged.
    Judged {
        /// The verdict in one word.
        verdict: String,
        /// The known bugs that explain what differs.
        explained: Vec<String>,
        /// The part of it that is kept.
        kept_result: Option<KeptResult>,
    },
    /// Cerith itself failed at it.
    Failed(String),
}

/// The part of a result that is kept.
pub enum KeptResult {
    /// A difference between engines.
    Finding(Box<Finding>),
    /// A twin that stores something else.
    Unlike(Box<Unlike>),
}

impl KeptResult {
    /// Its name.
    pub fn name(&self) -> String {
        match self {
            Self::Finding(finding) => finding.name(),
            Self::Unlike(unlike) => unlike.name(),
        }
    }

    /// Keeps it in a folder of its own.
    pub fn keep(&self, findings: &Path) -> std::io::Result<()> {
        match self {
            Self::Finding(finding) => finding.keep(findings),
            Self::Unlike(unlike) => unlike.keep(findings),
        }
    }
}
