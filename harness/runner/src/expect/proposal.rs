//! The expectations that a run proposes to add or to remove. See `expect` for asking the user and writing.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use cerith_case::{CaseFile, EnginePattern, NewExpectation, OutcomeKind, VerdictKind, VersionRange};
use cerith_report::event::{Expectation, Kind, State, Verdict};
use cerith_tile::quirk::Quirk;
use cerith_tile::releases::triton_since;
use cerith_tile::rules::Version;

/// The maximum length of a reason from a message.
const MAX_LENGTH: usize = 120;

/// Something to do with a case file.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The change.
    pub change: Change,
    /// One of the cases that it is about.
    pub example: Verdict,
    /// How many there are.
    pub cases: usize,
}

/// A change to a case file.
#[derive(Clone, Debug)]
pub enum Change {
    /// Add an expectation.
    Add(NewExpectation),
    /// Remove the expectation that begins on this line.
    Remove(u32),
}

/// The proposals that a run produces for one file.
#[derive(Debug, Default)]
pub struct FileProposals {
    /// The changes that can be made.
    pub proposals: Vec<Proposal>,
    /// The changes that cannot be made: a case or the location of an expectation, and the reason.
    pub refused: Vec<(String, String)>,
}

/// Makes proposals of the verdicts of a file's cases. `failed` are the cases in which Cerith failed.
pub fn of_file(
    file: &Arc<CaseFile>,
    verdicts: &[Verdict],
    failed: &HashSet<String>,
    why: Option<&str>,
) -> FileProposals {
    let mut found = FileProposals::default();
    propose_additions(verdicts, failed, why, &mut found);
    propose_removals(file, verdicts, &mut found);
    found
}

/// An expectation about one engine, without cases and the versions of engines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Doing {
    engine: String,
    verdict: Option<&'static str>,
    outcome: Option<&'static str>,
    message: String,
    quirks: Vec<String>,
    /// The versions of the language in which the reference stops.
    language: String,
}

fn propose_additions(
    verdicts: &[Verdict],
    failed: &HashSet<String>,
    why: Option<&str>,
    found: &mut FileProposals,
) {
    // By what an engine does: by case, the versions that do it.
    let mut doings: BTreeMap<Doing, BTreeMap<&str, BTreeSet<Version>>> = BTreeMap::new();
    let by_case: HashMap<&str, &Verdict> = verdicts.iter().map(|one| (one.case.as_str(), one)).collect();
    for verdict in verdicts.iter().filter(|verdict| !verdict.passes()) {
        if let Some(reason) = explain_refusal(verdict, failed) {
            found.refused.push((verdict.case.clone(), reason));
            continue;
        }
        for engine in &verdict.unexpected {
            match extract_behaviour(verdict, engine) {
                Ok((doing, version)) => {
                    let versions = doings.entry(doing).or_default().entry(&verdict.case).or_default();
                    versions.extend(version);
                }
                Err(reason) => found.refused.push((verdict.case.clone(), reason.to_string())),
            }
        }
    }
    for (doing, cases) in doings {
        let mut alike: BTreeMap<BTreeSet<Version>, Vec<&str>> = BTreeMap::new();
        for (case, versions) in cases {
            alike.entry(versions).or_default().push(case);
        }
        for (versions, cases) in alike {
            let Some(&example) = cases.first().and_then(|case| by_case.get(case)) else {
                continue;
            };
            let versions: Vec<String> = versions.iter().map(ToString::to_string).collect();
            let quirks: Vec<Quirk> = doing
                .quirks
                .iter()
                .filter_map(|name| Quirk::from_name(name))
                .collect();
            let reason = match why {
                Some(why) => why.to_owned(),
                // A known bug says itself what is wrong.
                None if !quirks.is_empty() => String::new(),
                None => build_reason(example, &doing),
            };
            found.proposals.push(Proposal {
                change: Change::Add(NewExpectation {
                    engine: doing.engine.clone(),
                    versions: if doing.language.is_empty() {
                        versions.join(" or ")
                    } else {
                        doing.language.clone()
                    },
                    verdict: doing.verdict.and_then(VerdictKind::from_name),
                    outcome: doing.outcome.and_then(OutcomeKind::from_name),
                    message: doing.message.clone(),
                    quirks,
                    reason,
                    cases: cases.iter().map(|&case| case.to_owned()).collect(),
                }),
                example: example.clone(),
                cases: cases.len(),
            });
        }
    }
}

/// The reason why nothing can be written down for a case, if nothing can.
fn explain_refusal(verdict: &Verdict, failed: &HashSet<String>) -> Option<String> {
    if failed.contains(&verdict.case) {
        return Some("Cerith itself failed here; report the internal error".to_owned());
    }
    if verdict.vacuous {
        return Some("nothing that the program computed was compared; let it store something".to_owned());
    }
    if verdict.blame.iter().any(|id| id == "reference") || verdict.suspected.is_some() {
        return Some(
            "the reference is to blame: that is a bug in Cerith, to be fixed and not expected".to_owned(),
        );
    }
    if verdict.differences.iter().any(|one| one.kind == Kind::Given) {
        return Some("the reference's result differs from the case file's; one of them is wrong".to_owned());
    }
    if let Some(outcome) = verdict.outcomes.get("reference")
        && matches!(
            outcome.outcome,
            OutcomeKind::Unsupported
                | OutcomeKind::Exhausted
                | OutcomeKind::Crashed
                | OutcomeKind::Unavailable
        )
    {
        return Some(format!(
            "the reference has no outcome: {} {}",
            outcome.outcome,
            first_line(&outcome.message)
        ));
    }
    if verdict.unexpected.is_empty() && !verdict.silent.is_empty() {
        return Some(format!(
            "no outcome of {}; see what it lacks",
            verdict.silent.join(", ")
        ));
    }
    None
}

/// The reason why a case file cannot expect what an engine does.
#[derive(Debug, thiserror::Error)]
enum Inexpressible {
    #[error("a case file cannot name {0}")]
    Engine(String),
    #[error("the program has no defined answer, and the reference was not run")]
    Undefined,
    #[error("what {0} does cannot be written down")]
    Behaviour(String),
}

/// An engine's unexpected behaviour, and its version.
fn extract_behaviour(verdict: &Verdict, engine: &str) -> Result<(Doing, Option<Version>), Inexpressible> {
    let pattern = EnginePattern::parse(engine).ok_or_else(|| Inexpressible::Engine(engine.to_owned()))?;
    let version = pattern.version;
    let outcome = verdict.outcomes.get(engine);
    let stoppage = verdict.stoppage.as_ref().filter(|_| engine == "reference");
    let word = outcome
        .map(|outcome| outcome.outcome)
        .filter(|kind| *kind != OutcomeKind::Finished);
    let standing = match verdict.verdict {
        // It stops as all do who say something, and that is not written down.
        _ if verdict.stopped.iter().any(|id| id == engine) => None,
        VerdictKind::Undefined if engine != "reference" => {
            return Err(Inexpressible::Undefined);
        }
        VerdictKind::Inconclusive | VerdictKind::Agree => None,
        other => Some(other),
    };
    if standing.is_none() && word.is_none() {
        return Err(Inexpressible::Behaviour(engine.to_owned()));
    }
    let mut quirks: Vec<String> = Vec::new();
    let differences: Vec<_> = verdict
        .differences
        .iter()
        .filter(|one| one.engine == engine)
        .collect();
    let modelled = |name: &String| Quirk::from_name(name).is_some();
    if word.is_none()
        && !differences.is_empty()
        && differences
            .iter()
            .all(|one| !one.explained.is_empty() && one.explained.iter().all(modelled))
    {
        quirks = differences
            .iter()
            .flat_map(|one| one.explained.iter().cloned())
            .collect();
        quirks.sort();
        quirks.dedup();
    }
    Ok((
        Doing {
            engine: EnginePattern {
                version: None,
                ..pattern
            }
            .to_string(),
            verdict: standing.map(VerdictKind::name),
            outcome: word.map(OutcomeKind::name),
            message: word
                .and(outcome)
                .filter(|outcome| outcome.error != outcome.outcome.name())
                .map_or_else(String::new, |outcome| outcome.error.clone()),
            quirks,
            language: stoppage.map_or_else(String::new, |stoppage| stoppage.versions.clone()),
        },
        version,
    ))
}

/// Builds a reason from the observed behaviour.
fn build_reason(verdict: &Verdict, doing: &Doing) -> String {
    let said = verdict
        .unexpected
        .iter()
        .find_map(|engine| verdict.outcomes.get(engine));
    let said = said.map_or("", |outcome| first_line(&outcome.message));
    if said.is_empty() {
        format!(
            "seen, and not looked into: {}",
            doing.verdict.or(doing.outcome).unwrap_or_default()
        )
    } else {
        let short: String = said.chars().take(MAX_LENGTH).collect();
        format!("seen, and not looked into: {short}")
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn propose_removals(file: &Arc<CaseFile>, verdicts: &[Verdict], found: &mut FileProposals) {
    let mut lines: BTreeMap<u32, Vec<(&Verdict, &Expectation)>> = BTreeMap::new();
    for verdict in verdicts {
        for expectation in &verdict.expectations {
            if let Some(at) = &expectation.position {
                lines.entry(at.line).or_default().push((verdict, expectation));
            }
        }
    }
    let points = file.case_ids().count();
    for (line, all) in lines {
        let stale = all.iter().filter(|(_, one)| one.state == State::Stale).count();
        let Some(&(example, expectation)) = all.iter().find(|(_, one)| one.state == State::Stale) else {
            continue;
        };
        let place = format!(
            "{}:{line}",
            example.position.as_ref().map_or(&*file.path, |at| &*at.file)
        );
        let refused = if all.len() > stale {
            Some(format!(
                "no longer happens in {stale} cases, and still happens in {}; narrow its `when`",
                all.len() - stale
            ))
        } else if all.iter().any(|(verdict, one)| still_happens(verdict, one)) {
            Some(
                "no longer happens with some of the engines, and still happens with others; narrow its `versions`"
                    .to_owned(),
            )
        } else if verdicts.len() < points {
            Some(format!(
                "no longer happens, but only {} of the file's {points} cases were run; run all of them",
                verdicts.len()
            ))
        } else {
            let others = find_untried(expectation, &example.engines);
            (!others.is_empty()).then(|| {
                format!(
                    "no longer happens, but also covers versions that were not run ({}); run them, or \
                     narrow its `versions`",
                    others.join(", ")
                )
            })
        };
        match refused {
            Some(reason) => found.refused.push((place, reason)),
            None => found.proposals.push(Proposal {
                change: Change::Remove(line),
                example: example.clone(),
                cases: stale,
            }),
        }
    }
}

/// Whether the expectation still happens with one of its engines, though not with another.
fn still_happens(verdict: &Verdict, expectation: &Expectation) -> bool {
    let Ok(versions) = expectation.versions.parse::<VersionRange>() else {
        return true;
    };
    let patterns: Vec<EnginePattern> = expectation
        .engines
        .iter()
        .filter_map(|engine| EnginePattern::parse(engine))
        .collect();
    let means = |engine: &&String| {
        patterns
            .iter()
            .any(|one| one.matches(engine, Version::NEWEST, &versions))
    };
    verdict.engines.iter().filter(means).any(|engine| {
        let outcome = verdict
            .outcomes
            .get(engine)
            .map_or(OutcomeKind::Finished, |one| one.outcome);
        let wrong = verdict.blame.contains(engine) || verdict.verdict == VerdictKind::Undefined;
        match (expectation.verdict, expectation.outcome) {
            (Some(verdict), Some(wanted)) => wanted == outcome && (verdict == VerdictKind::Agree || wrong),
            (Some(_), None) => wrong,
            (None, Some(wanted)) => wanted == outcome,
            (None, None) => true,
        }
    })
}

/// The releases that an expectation covers but no engine of the run has, the last patch of each minor.
fn find_untried(expectation: &Expectation, engines: &[String]) -> Vec<String> {
    let Ok(range) = expectation.versions.parse::<VersionRange>() else {
        return vec![expectation.versions.clone()];
    };
    let patterns: Vec<EnginePattern> = expectation
        .engines
        .iter()
        .filter_map(|engine| EnginePattern::parse(engine))
        .collect();
    let of_reference = patterns.iter().any(|one| one.name == "reference");
    if of_reference && range == VersionRange::any() {
        // The expectation is about the program, whatever the language.
        return Vec::new();
    }
    // The reference runs in the language of each engine's version; alone, in the newest.
    let means = |id: &String| {
        of_reference
            || patterns
                .iter()
                .any(|one| one.matches(id, Version::NEWEST, &VersionRange::any()))
    };
    let mut asked: Vec<(u16, u16)> = engines
        .iter()
        .filter(|id| means(id))
        .filter_map(|id| EnginePattern::parse(id)?.version)
        .map(|version| (version.major, version.minor))
        .collect();
    if of_reference && asked.is_empty() {
        asked.push((Version::NEWEST.major, Version::NEWEST.minor));
    }
    if patterns.iter().any(|one| one.name == "inductor") {
        // Those are versions of torch.
        return vec!["of torch".to_owned()];
    }
    let mut others: Vec<String> = triton_since(Version::new(3, 0, 0))
        .iter()
        .filter(|version| range.contains(**version) && !asked.contains(&(version.major, version.minor)))
        .map(|version| format!("{}.{}", version.major, version.minor))
        .collect();
    others.dedup();
    others
}
