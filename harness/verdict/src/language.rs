//! The versions of the language that make a case mean something else: the rules that decide it, and the versions in which its
//! launches stop. Both are found by running the reference under the rules of other versions.

use cerith_case::{Case, OutcomeKind};
use cerith_engine::{Engine, Outcome, Reference, catch_panic};
use cerith_tile::rules::{Rule, Rules, Version};

use crate::panel::{EngineRun, is_equivalent};

/// The outcome of a case whose launches stop in the reference, and the versions whose language does that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stoppage {
    /// The outcome.
    pub outcome: OutcomeKind,
    /// The versions as an expectation names them, such as `>=3.9`; empty if all have this outcome.
    pub versions: String,
}

/// The oldest version whose language the reference knows.
const OLDEST: Version = Version::new(3, 0, 0);

fn run(reference: &Reference, case: &Case, rules: Rules) -> Option<Outcome> {
    let run = catch_panic(|| reference.run(case, rules)).ok()?.ok()?;
    Some(run.outcome)
}

fn is_alike(left: Option<&Outcome>, right: Option<&Outcome>) -> bool {
    left.zip(right)
        .is_some_and(|(left, right)| is_equivalent(left, right))
}

/// The message of an outcome that stopped. Without its rule, a program may stop for another reason.
fn extract_message(outcome: Option<&Outcome>) -> Option<&str> {
    Some(outcome?.complaint()?.message.as_str())
}

/// The versions after `oldest`, up to `newest`, in which some rule changed, in order.
fn find_changed_versions(oldest: Version, newest: Version) -> Vec<Version> {
    let sinces = Rule::ALL.iter().map(|rule| rule.since());
    let mut changes: Vec<Version> = sinces
        .filter(|&since| oldest < since && since <= newest)
        .collect();
    changes.sort_unstable();
    changes.dedup();
    changes
}

/// Finds the rules that change the reference's outcome between the oldest and the newest version of a trial. If no single rule of a
/// version does, all of that version are listed.
pub(crate) fn find_deciding_rules(reference: &Reference, case: &Case, references: &[EngineRun]) -> Vec<Rule> {
    let versions = references.iter().map(|record| record.rules.version);
    let (Some(oldest), Some(newest)) = (versions.clone().min(), versions.max()) else {
        return Vec::new();
    };
    let mut before = run(reference, case, Rules::from_version(oldest));
    let mut deciding = Vec::new();
    for version in find_changed_versions(oldest, newest) {
        let rules = Rules::from_version(version);
        let after = run(reference, case, rules);
        if !is_alike(before.as_ref(), after.as_ref()) {
            let new = || Rule::ALL.iter().copied().filter(|rule| rule.since() == version);
            let listed = deciding.len();
            deciding.extend(new().filter(|&rule| {
                let without = run(reference, case, rules.without_rule(rule));
                !is_alike(without.as_ref(), after.as_ref())
                    || extract_message(without.as_ref()) != extract_message(after.as_ref())
            }));
            if deciding.len() == listed {
                deciding.extend(new());
            }
        }
        before = after;
    }
    deciding
}

/// Finds the versions around a record's in which the reference stops in the same way.
pub(crate) fn find_stoppage(reference: &Reference, case: &Case, record: &EngineRun) -> Stoppage {
    let outcome = record.outcome.kind();
    let mut versions = vec![OLDEST];
    versions.extend(find_changed_versions(OLDEST, Version::NEWEST));
    let stops = |version: Version| {
        run(reference, case, Rules::from_version(version)).is_some_and(|other| other.kind() == outcome)
    };
    let after = versions.partition_point(|&version| version <= record.rules.version);
    let first = versions[..after].iter().rposition(|&version| !stops(version));
    let last = versions[after..].iter().position(|&version| !stops(version));
    let bounds = [
        first
            .and_then(|at| versions.get(at + 1))
            .map(|since| (">=", since)),
        last.and_then(|at| versions.get(after + at))
            .map(|until| ("<", until)),
    ];
    let bounds: Vec<String> = bounds
        .into_iter()
        .flatten()
        .map(|(operator, version)| {
            let text = version.to_string();
            format!("{operator}{}", text.strip_suffix(".0").unwrap_or(&text))
        })
        .collect();
    Stoppage {
        outcome,
        versions: bounds.join(", "),
    }
}
