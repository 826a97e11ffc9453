//! Compares two versions of an engine: every case is classified by its correctness in both, and the changes are grouped by cause.
//! A cause is a known bug, an error message, a rule of the language, or the operation that all cases of a group execute and
//! no right case does.
//!
//! | module | holds |
//! |---|---|
//! | `change` | how one case changed |
//! | `group` | the groups, as data |
//! | `cause` | why, and the operations that separate wrong cases from right ones |
//! | `figure` | sizes and times, as data, and what is noise in them |
//! | `compiled` | launches, sizes and times that changed |
//! | `text` | the groups for a terminal, as Markdown, as annotations |
//!
//! The command line runs the engines, and the verdicts decide which engine is right.

mod cause;
mod change;
mod compiled;
mod figure;
mod group;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cerith_tile::rules::Version;

use self::compiled::Pair;
use self::group::ComparedCase;
use crate::correctness::Correctness;
use crate::event::{Compiled, Rule, Verdict};
use crate::safe;

pub use self::change::Change;
pub use self::figure::{Measure, Noise, Shift};
pub use self::group::{Cause, Changes, Group};
pub use self::text::{render_github, render_human, render_markdown};

/// One engine in one case.
#[derive(Debug)]
struct Side {
    correctness: Correctness,
    /// The figures of compiled code, if the stream has them.
    compiled: Option<Compiled>,
    /// The reason for a missing outcome.
    error: String,
}

impl Side {
    fn from_verdict(verdict: &Verdict, engine: &str) -> Option<Self> {
        Some(Self {
            correctness: Correctness::from_verdict(verdict, engine)?,
            compiled: verdict.compiled.get(engine).cloned(),
            error: verdict
                .outcomes
                .get(engine)
                .map_or_else(String::new, |said| said.error.clone()),
        })
    }
}

/// The results of other runs for a case.
#[derive(Debug, Default)]
struct CaseSides {
    old: Option<Side>,
    new: Option<Side>,
    rules: Vec<Rule>,
}

/// Takes in the verdicts of two engines, of one run or of several.
#[derive(Debug)]
pub struct Bump {
    old: String,
    new: String,
    /// The corpus, if the user named it.
    corpus: String,
    /// The results of other runs for each case.
    other_runs: BTreeMap<String, CaseSides>,
    cases: Vec<ComparedCase>,
    unmatched: [Vec<String>; 2],
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
            corpus: String::new(),
            other_runs: BTreeMap::new(),
            cases: Vec::new(),
            unmatched: [const { Vec::new() }; 2],
            pairs: Vec::new(),
            silent: BTreeMap::new(),
            noise: Noise::default(),
        }
    }

    /// Sets the folder of the corpus, if the user named it: the printed next step names it too.
    #[must_use]
    pub fn with_corpus(mut self, corpus: impl Into<String>) -> Self {
        self.corpus = corpus.into();
        self
    }

    /// Sets the bounds of noise.
    #[must_use]
    pub const fn with_noise(mut self, noise: Noise) -> Self {
        self.noise = noise;
        self
    }

    /// Adds the verdicts of a separate run for one of the engines, or for both.
    #[must_use]
    pub fn with_other_run<'v>(mut self, verdicts: impl IntoIterator<Item = &'v Verdict>) -> Self {
        for verdict in verdicts {
            let [old, new] = [&self.old, &self.new].map(|engine| Side::from_verdict(verdict, engine));
            if old.is_none() && new.is_none() {
                continue;
            }
            let told = self.other_runs.entry(verdict.case.clone()).or_default();
            told.old = old.or(told.old.take());
            told.new = new.or(told.new.take());
            told.rules.extend_from_slice(&verdict.rules);
        }
        self
    }

    /// Takes in a verdict, and what the case's kernels use of the language.
    pub fn add_verdict(&mut self, verdict: &Verdict, uses: Arc<[String]>) {
        let told = self.other_runs.remove(&verdict.case).unwrap_or_default();
        let old = told.old.or_else(|| Side::from_verdict(verdict, &self.old));
        let new = told.new.or_else(|| Side::from_verdict(verdict, &self.new));
        let case = verdict.case.clone();
        let (old, new) = match (old, new) {
            (Some(old), Some(new)) => (old, new),
            (None, Some(_)) => return self.unmatched[1].push(case),
            (Some(_), None) => return self.unmatched[0].push(case),
            (None, None) => return,
        };
        // The rules of a verdict are those that lie between any two of its engines, which may be more than these.
        let rules: BTreeSet<String> = told
            .rules
            .iter()
            .chain(&verdict.rules)
            .filter(|rule| self.is_rule_changed(rule))
            .map(|rule| rule.rule.clone())
            .collect();
        let rules: Vec<String> = rules.into_iter().collect();
        let compiles = [old.compiled.is_some(), new.compiled.is_some()];
        let change = match Change::from_correctness(&old.correctness, &new.correctness, !rules.is_empty()) {
            Change::NotCompared => Change::between_compilers(&old.correctness, &new.correctness, compiles),
            change => change,
        };
        let silent = (change == Change::NotCompared).then_some([(&self.old, &old), (&self.new, &new)]);
        for (engine, side) in silent.into_iter().flatten() {
            if let Correctness::Silent { outcome, .. } = &side.correctness {
                let why = Some(&side.error).filter(|why| !why.is_empty()).unwrap_or(outcome);
                let why = format!("{engine} has no outcome, {}", safe::escape_line(why));
                *self.silent.entry(why).or_default() += 1;
            }
        }
        if let (Some(old), Some(new)) = (old.compiled, new.compiled) {
            self.pairs.push(Pair {
                case: case.clone(),
                old,
                new,
            });
        }
        let (old, new) = (old.correctness, new.correctness);
        self.cases.push(ComparedCase {
            case,
            old,
            new,
            change,
            rules,
            uses,
        });
    }

    /// Whether a rule came or went between the two engines; true where their versions are not known.
    fn is_rule_changed(&self, rule: &Rule) -> bool {
        let version = |engine: &str| -> Option<Version> {
            let (_, toolchain) = engine.split_once('@')?;
            toolchain.split('+').next()?.parse().ok()
        };
        match (
            version(&self.old),
            version(&self.new),
            rule.since.parse::<Version>(),
        ) {
            (Some(old), Some(new), Ok(since)) => (old < since) != (new < since),
            _ => true,
        }
    }

    /// The changes.
    pub fn finish(self) -> Changes {
        let Self {
            old,
            new,
            corpus,
            other_runs: told,
            cases: seen,
            unmatched: mut alone,
            pairs,
            silent,
            noise,
        } = self;
        for (case, told) in told {
            match (told.old.is_some(), told.new.is_some()) {
                (true, false) => alone[0].push(case),
                (false, true) => alone[1].push(case),
                // From a run over more cases than requested.
                _ => {}
            }
        }
        let mut counts = BTreeMap::new();
        for one in &seen {
            *counts.entry(one.change).or_default() += 1;
        }
        let mut changes = Changes {
            old,
            new,
            corpus,
            cases: seen.len() as u64,
            counts,
            groups: cause::group_by_cause(&seen),
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
