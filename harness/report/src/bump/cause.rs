//! Why cases changed: groups of them, each with one cause. See [`super::change`] for the kinds of changes.
//!
//! If neither a known bug nor a message shows the cause, the kernels' use of the language may: an operation that many cases of
//! a change use, and few or none that are right in both versions.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::change::Change;
use super::group::{Cause, ComparedCase, Group};
use crate::correctness::{Correctness, Wrong};

/// The share of an operation's cases that must have changed for it to be called the cause.
const SURE: f64 = 0.5;

/// The fewest cases that make an operation the cause, if more cases are unexplained.
const FEWEST: usize = 2;

/// The changes, grouped by cause: the worst change first, and of one change the cause with most cases.
pub(super) fn group_by_cause(seen: &[ComparedCase]) -> Vec<Group> {
    let mut groups: BTreeMap<(Change, Cause), Vec<&ComparedCase>> = BTreeMap::new();
    let mut open: BTreeMap<Change, Vec<&ComparedCase>> = BTreeMap::new();
    for one in seen.iter().filter(|one| one.change.is_news()) {
        match find_known_cause(one) {
            Some(cause) => groups.entry((one.change, cause)).or_default().push(one),
            None => open.entry(one.change).or_default().push(one),
        }
    }
    let right = Right::from_cases(seen);
    for (change, cases) in open {
        for (cause, cases) in right.group_by_operation(cases) {
            groups.entry((change, cause)).or_default().extend(cases);
        }
    }
    let mut groups: Vec<Group> = groups
        .into_iter()
        .map(|((change, cause), cases)| Group {
            change,
            cause,
            smallest: find_smallest(&cases),
            cases: cases.iter().map(|one| one.case.clone()).collect(),
        })
        .collect();
    groups.sort_by_key(|group| (group.change, std::cmp::Reverse(group.cases.len())));
    groups
}

fn find_smallest(cases: &[&ComparedCase]) -> String {
    cases
        .iter()
        .min_by_key(|one| (one.uses.len(), one.case.len(), &one.case))
        .map_or_else(String::new, |one| one.case.clone())
}

/// The cause of a change according to a known bug, a rule or a message.
fn find_known_cause(one: &ComparedCase) -> Option<Cause> {
    let wrong = |correctness: &Correctness| match correctness {
        Correctness::Wrong(wrong) => Some(wrong.clone()),
        _ => None,
    };
    let (old, new) = (wrong(&one.old), wrong(&one.new));
    match one.change {
        Change::RuleChanged | Change::NewlyUndefined | Change::NewlyDefined => {
            // If several rules came with one version, the operations that the cases execute are better evidence.
            return (one.rules.len() == 1).then(|| Cause::Rules(one.rules.clone()));
        }
        _ => {}
    }
    let only = |wrong: &Wrong| {
        if !wrong.known_bugs.is_empty() {
            Some(Cause::Known(wrong.known_bugs.clone()))
        } else if !wrong.message.is_empty() {
            Some(Cause::Said(wrong.message.clone()))
        } else {
            None
        }
    };
    match (old, new) {
        (Some(old), Some(new)) => {
            let minus = |left: &[String], right: &[String]| -> Vec<String> {
                let rest = left.iter().filter(|name| !right.contains(name));
                rest.cloned().collect()
            };
            let (gone, came) = (
                minus(&old.known_bugs, &new.known_bugs),
                minus(&new.known_bugs, &old.known_bugs),
            );
            match (gone.is_empty(), came.is_empty()) {
                (false, true) if !new.known_bugs.is_empty() => Some(Cause::Known(gone)),
                (true, false) if !old.known_bugs.is_empty() => Some(Cause::Known(came)),
                (false, false) => Some(Cause::Instead { old: gone, new: came }),
                _ => only(&new),
            }
        }
        (Some(one), None) | (None, Some(one)) => only(&one),
        (None, None) => None,
    }
}

/// How many cases that are right in both versions use each name.
struct Right<'s> {
    right: HashMap<&'s str, u64>,
    /// The uses of all cases, whether the engine is right or wrong.
    all: HashMap<&'s str, u64>,
}

impl<'s> Right<'s> {
    fn from_cases(seen: &'s [ComparedCase]) -> Self {
        let (mut right, mut all) = (HashMap::new(), HashMap::new());
        for one in seen {
            for name in iter_names(one) {
                *all.entry(name).or_default() += 1;
                if one.change == Change::Unchanged {
                    *right.entry(name).or_default() += 1;
                }
            }
        }
        Self { right, all }
    }

    /// Cases by the operation that distinguishes them from right cases.
    fn group_by_operation<'c>(
        &self,
        mut cases: Vec<&'c ComparedCase>,
    ) -> Vec<(Cause, Vec<&'c ComparedCase>)> {
        let mut found = Vec::new();
        while let Some((names, elsewhere)) = self.find_best_names(&cases) {
            let (with, without): (Vec<&ComparedCase>, Vec<&ComparedCase>) =
                cases.into_iter().partition(|one| has(one, &names));
            cases = without;
            found.push((Cause::Operation { names, elsewhere }, with));
        }
        let mut rest: BTreeMap<Cause, Vec<&ComparedCase>> = BTreeMap::new();
        for one in cases {
            let kind = match (&one.new, &one.old) {
                (Correctness::Wrong(wrong), _) | (_, Correctness::Wrong(wrong)) => wrong.kind.to_string(),
                _ => String::new(),
            };
            let cause = if one.rules.is_empty() {
                Cause::Unknown { kind }
            } else {
                Cause::Rules(one.rules.clone())
            };
            rest.entry(cause).or_default().push(one);
        }
        found.extend(rest);
        found
    }

    /// The names that best distinguish the cases from right ones, and the number of right cases that use them.
    fn find_best_names(&self, cases: &[&ComparedCase]) -> Option<(Vec<String>, u64)> {
        let mut uses: HashMap<&str, u64> = HashMap::new();
        for one in cases {
            for name in iter_names(one) {
                *uses.entry(name).or_default() += 1;
            }
        }
        let score = |name: &str, here: u64| {
            let elsewhere = self.right.get(name).copied().unwrap_or_default();
            let sure = here as f64 / (here + elsewhere) as f64;
            (sure * here as f64, sure, elsewhere)
        };
        let few = FEWEST.min(cases.len()) as u64;
        let candidates = || uses.iter().filter(|&(_, &here)| here >= few);
        let (best, _, _) = candidates()
            .map(|(name, &here)| score(name, here))
            .filter(|&(_, sure, _)| sure >= SURE)
            .max_by(|left, right| left.0.total_cmp(&right.0))?;
        let mut named: Vec<(&str, u64)> = candidates()
            .map(|(name, &here)| (*name, score(name, here)))
            .filter(|(_, (value, sure, _))| *sure >= SURE && *value >= best)
            .map(|(name, (_, _, elsewhere))| (name, elsewhere))
            .collect();
        // A use that few cases have is the best evidence.
        named.sort_unstable_by_key(|&(name, _)| (self.all.get(name).copied().unwrap_or_default(), name));
        // A name with a dtype says no more than the name where both stand for the same cases.
        let alone: HashSet<&str> = named.iter().map(|&(name, _)| name).collect();
        named.retain(|(name, _)| *name == strip_dtype(name) || !alone.contains(strip_dtype(name)));
        let elsewhere = named.first().map_or(0, |&(_, elsewhere)| elsewhere);
        let first = named.first()?.0;
        // Several that the same cases use are one cause; of others, the first is as good as any.
        let same = |name: &str| cases.iter().all(|one| has_one(one, name) == has_one(one, first));
        let names: Vec<String> = named
            .iter()
            .filter(|(name, _)| same(name))
            .map(|&(name, _)| name.to_owned())
            .collect();
        Some((names, elsewhere))
    }
}

/// A name without the dtype that it is used on.
fn strip_dtype(name: &str) -> &str {
    name.rsplit_once(' ').map_or(name, |(bare, _)| bare)
}

fn has_one(one: &ComparedCase, wanted: &str) -> bool {
    iter_names(one).any(|name| name == wanted)
}

fn has(one: &ComparedCase, wanted: &[String]) -> bool {
    wanted.first().is_some_and(|wanted| has_one(one, wanted))
}

/// The uses of a case: each name by itself, and with each dtype, once.
fn iter_names(one: &ComparedCase) -> impl Iterator<Item = &str> {
    let mut seen = HashSet::new();
    one.uses
        .iter()
        .flat_map(|name| [name.as_str(), strip_dtype(name)])
        .filter(move |name| seen.insert(*name))
}
