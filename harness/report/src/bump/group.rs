//! The changes, in groups with one cause each, in plain data. See `change` for the change of a case, and `cause` for
//! finding causes.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::change::Change;
use super::figure::{Measure, Noise, Shift};
use crate::correctness::Correctness;

/// Why cases changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Known bugs that came, or went.
    Known(Vec<String>),
    /// Known bugs that took the place of others.
    Instead {
        /// Those that were there.
        old: Vec<String>,
        /// Those that are.
        new: Vec<String>,
    },
    /// Rules of the language.
    Rules(Vec<String>),
    /// An operation that all of the cases execute.
    Operation {
        /// Its name; several, where the same cases use them.
        names: Vec<String>,
        /// How many cases use it and are right in both versions.
        elsewhere: u64,
    },
    /// A message.
    Said(String),
    /// Launches that are made otherwise.
    Launch {
        /// In what way.
        way: String,
        /// The greatest amounts, the old one and the new one, where the way has any.
        most: Option<[u64; 2]>,
    },
    /// Figures of kernels that changed beyond noise.
    Measured {
        /// The measured figure: `code` in bytes, or `time` in microseconds.
        of: &'static str,
        /// The area that the kernels' cases are in.
        area: String,
        /// The kernels, the greatest change first.
        kernels: Vec<Shift>,
    },
    /// None that is known.
    Unknown {
        /// The kind of difference.
        kind: String,
    },
}

/// One case in two versions.
#[derive(Clone, Debug)]
pub(super) struct ComparedCase {
    pub(super) case: String,
    pub(super) old: Correctness,
    pub(super) new: Correctness,
    pub(super) change: Change,
    pub(super) rules: Vec<String>,
    pub(super) uses: Arc<[String]>,
}

/// Cases that changed in the same way for the same cause.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// In what way.
    pub change: Change,
    /// Why.
    pub cause: Cause,
    /// The smallest of them: the one that uses least of the language.
    pub smallest: String,
    /// All of them, in the order of the corpus.
    pub cases: Vec<String>,
}

/// All that changed between two engines.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Changes {
    /// The old one.
    pub old: String,
    /// The new one.
    pub new: String,
    /// The corpus, if the user named it.
    #[serde(skip)]
    pub corpus: String,
    /// Cases that were compared, and those that could not be.
    pub cases: u64,
    /// How many cases have each change.
    pub counts: BTreeMap<Change, u64>,
    /// The changes, by cause, the worst first.
    pub groups: Vec<Group>,
    /// Cases that only one side has, each side's.
    pub alone: [Vec<String>; 2],
    /// Why cases were not compared, with how many: which engine gave no answer, and its outcome.
    pub silent: BTreeMap<String, u64>,
    /// Figures of the compiled code, over all kernels.
    pub measures: Vec<Measure>,
    /// The bounds of noise.
    pub noise: Noise,
}

impl Changes {
    /// How many cases have this change.
    pub fn count(&self, change: Change) -> u64 {
        self.counts.get(&change).copied().unwrap_or_default()
    }
}
