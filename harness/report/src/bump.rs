//! What changed from one version of an engine to another: every case classified by how the two stand, and the changes
//! grouped by cause. A cause is a known bug, what was said, a rule of the language, or the operation that all cases of a
//! group execute and no case that is right does.
//!
//! | module | holds |
//! |---|---|
//! | `change` | what became of one case |
//! | `cause` | why, and the operations that tell cases apart |
//! | `compiled` | launches, sizes and times of what was compiled |
//! | `text` | the groups for a terminal, as Markdown, as annotations |
//!
//! Left out: running the engines (the command line), and who is right (the verdicts that this is made of).

mod cause;
mod change;
mod compiled;
mod text;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use self::compiled::Pair;
use crate::event::{Compiled, Verdict};
use crate::safe;
use crate::standing::Standing;

pub use self::cause::Cause;
pub use self::change::Change;
pub use self::compiled::{Measure, Noise, Shift};
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
    /// Why cases were not compared, with how many: who said nothing, and what it calls that.
    pub silent: BTreeMap<String, u64>,
    /// Figures of what was compiled, over all kernels.
    pub measures: Vec<Measure>,
    /// What was taken for noise in them.
    pub noise: Noise,
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
    /// What the old one was compiled to, where another run tells it.
    compiled_before: BTreeMap<String, Compiled>,
    pairs: Vec<Pair>,
    silent: BTreeMap<String, u64>,
    noise: Noise,
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
            compiled_before: BTreeMap::new(),
            pairs: Vec::new(),
            silent: BTreeMap::new(),
            noise: Noise::default(),
        }
    }

    /// The same, with another idea of noise.
    #[must_use]
    pub const fn with_noise(mut self, noise: Noise) -> Self {
        self.noise = noise;
        self
    }

    /// The same, where another run tells of the old engine: its verdicts.
    #[must_use]
    pub fn against<'v>(mut self, verdicts: impl IntoIterator<Item = &'v Verdict>) -> Self {
        let mut before = BTreeMap::new();
        for verdict in verdicts {
            if let Some(standing) = Standing::of(verdict, &self.old) {
                before.insert(verdict.case.clone(), standing);
            }
            if let Some(compiled) = verdict.compiled.get(&self.old) {
                self.compiled_before
                    .insert(verdict.case.clone(), compiled.clone());
            }
        }
        self.before = Some(before);
        self
    }

    /// Takes in a verdict, and what the case's kernels use of the language.
    pub fn verdict(&mut self, verdict: &Verdict, uses: Arc<[String]>) {
        let old = match &mut self.before {
            Some(before) => before.remove(&verdict.case),
            None => Standing::of(verdict, &self.old),
        };
        let case = verdict.case.clone();
        let old_made = match &self.before {
            Some(_) => self.compiled_before.get(&case),
            None => verdict.compiled.get(&self.old),
        };
        let new_made = verdict.compiled.get(&self.new);
        let compiles = [old_made.is_some(), new_made.is_some()];
        if let (Some(old), Some(new)) = (old_made, new_made) {
            self.pairs.push(Pair {
                case: case.clone(),
                old: old.clone(),
                new: new.clone(),
            });
        }
        let (old, new) = match (old, Standing::of(verdict, &self.new)) {
            (Some(old), Some(new)) => (old, new),
            (None, Some(_)) => return self.alone[1].push(case),
            (Some(_), None) => return self.alone[0].push(case),
            (None, None) => return,
        };
        // The rules of a verdict are those that lie between any two of its engines.
        let rules: Vec<String> = verdict.rules.iter().map(|rule| rule.rule.clone()).collect();
        let change = match Change::between(&old, &new, !rules.is_empty()) {
            Change::NotCompared => Change::between_compilers(&old, &new, compiles),
            change => change,
        };
        let silent = (change == Change::NotCompared).then_some([(&self.old, &old), (&self.new, &new)]);
        for (engine, standing) in silent.into_iter().flatten() {
            if let Standing::Silent { outcome, .. } = standing {
                let said = verdict.outcomes.get(engine).map(|said| said.error.as_str());
                let why = said.filter(|why| !why.is_empty()).unwrap_or(outcome);
                let why = format!("{engine} says nothing, {}", safe::line(why));
                *self.silent.entry(why).or_default() += 1;
            }
        }
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
            compiled_before: _,
            pairs,
            silent,
            noise,
        } = self;
        alone[0].extend(before.unwrap_or_default().into_keys());
        let mut counts = BTreeMap::new();
        for one in &seen {
            *counts.entry(one.change).or_default() += 1;
        }
        let mut changes = Changes {
            old,
            new,
            cases: seen.len() as u64,
            counts,
            groups: cause::groups(&seen),
            alone,
            silent,
            measures: Vec::new(),
            noise,
        };
        compiled::add(&mut changes, &pairs, noise);
        changes
    }
}

#[cfg(test)]
mod tests;
