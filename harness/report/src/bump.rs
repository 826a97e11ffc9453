//! What changed from one version of an engine to another: every case classified by how the two stand, and the changes
//! grouped by cause. A cause is a known bug, what was said, a rule of the language, or the operation that all cases of a
//! group execute and no case that is right does.
//!
//! | module | holds |
//! |---|---|
//! | `change` | what became of one case |
//! | `cause` | why, and the operations that tell cases apart |
//! | `text` | the groups for a terminal, as Markdown, as annotations |
//!
//! Left out: running the engines (the command line), and who is right (the verdicts that this is made of).

mod cause;
mod change;
mod text;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::event::Verdict;
use crate::standing::Standing;

pub use self::cause::Cause;
pub use self::change::Change;
pub use self::text::{github, human, markdown};

/// One case in two versions.
#[derive(Clone, Debug)]
struct Seen {
    case: String,
    old: Standing,
    new: Standing,
    change: Change,
    rules: Vec<String>,
    uses: Arc<[String]>,
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
    /// Cases that were held against each other, and those that could not be.
    pub cases: u64,
    /// How many cases came to what.
    pub counts: BTreeMap<Change, u64>,
    /// What changed, by cause, the worst first.
    pub groups: Vec<Group>,
    /// Cases that only one side has, each side's.
    pub alone: [Vec<String>; 2],
}

impl Changes {
    /// How many cases came to this.
    pub fn count(&self, change: Change) -> u64 {
        self.counts.get(&change).copied().unwrap_or_default()
    }
}

/// Takes in the verdicts of two engines, of one run or of two.
#[derive(Debug)]
pub struct Bump {
    old: String,
    new: String,
    /// The old one's standing, where another run tells it.
    before: Option<BTreeMap<String, Standing>>,
    seen: Vec<Seen>,
    alone: [Vec<String>; 2],
}

impl Bump {
    /// From one engine to another.
    pub fn new(old: impl Into<String>, new: impl Into<String>) -> Self {
        Self {
            old: old.into(),
            new: new.into(),
            before: None,
            seen: Vec::new(),
            alone: [const { Vec::new() }; 2],
        }
    }

    /// The same, where another run tells of the old engine: its verdicts.
    #[must_use]
    pub fn against<'v>(mut self, verdicts: impl IntoIterator<Item = &'v Verdict>) -> Self {
        let standings = verdicts
            .into_iter()
            .filter_map(|verdict| Some((verdict.case.clone(), Standing::of(verdict, &self.old)?)));
        self.before = Some(standings.collect());
        self
    }

    /// Takes in a verdict, and what the case's kernels use of the language.
    pub fn verdict(&mut self, verdict: &Verdict, uses: Arc<[String]>) {
        let old = match &mut self.before {
            Some(before) => before.remove(&verdict.case),
            None => Standing::of(verdict, &self.old),
        };
        let case = verdict.case.clone();
        let (old, new) = match (old, Standing::of(verdict, &self.new)) {
            (Some(old), Some(new)) => (old, new),
            (None, Some(_)) => return self.alone[1].push(case),
            (Some(_), None) => return self.alone[0].push(case),
            (None, None) => return,
        };
        // The rules of a verdict are those that lie between any two of its engines.
        let rules: Vec<String> = verdict.rules.iter().map(|rule| rule.rule.clone()).collect();
        let change = Change::between(&old, &new, !rules.is_empty());
        self.seen.push(Seen {
            case,
            old,
            new,
            change,
            rules,
            uses,
        });
    }

    /// What changed.
    pub fn finish(self) -> Changes {
        let Self {
            old,
            new,
            before,
            seen,
            mut alone,
        } = self;
        alone[0].extend(before.unwrap_or_default().into_keys());
        let mut counts = BTreeMap::new();
        for one in &seen {
            *counts.entry(one.change).or_default() += 1;
        }
        Changes {
            old,
            new,
            cases: seen.len() as u64,
            counts,
            groups: cause::groups(&seen),
            alone,
        }
    }
}

#[cfg(test)]
mod tests;
