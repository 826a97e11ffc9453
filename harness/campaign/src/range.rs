//! `cerith fuzz range`: the result of every installed version for a finding's case. Versions that are not installed are skipped.

use std::path::{Path, PathBuf};

use cerith_case::{Case, Shard, VerdictKind};
use cerith_engine::{EngineId, Reference};
use cerith_toolchain::Home;
use cerith_verdict::{Panel, Stopped, Trial, try_case};

use crate::facts::VersionResult;
use crate::finding::Finding;
use crate::finding_error::FindingError;
use crate::signature::Signature;
use cerith_runner::corpus::Selected;
use cerith_runner::engines::set_up;
use cerith_runner::exit::Exit;
use cerith_runner::host::Host;

/// Options for trying findings with all versions.
#[derive(Clone, Debug)]
pub struct RangeOptions {
    /// Folders of findings: `DIR/findings/NAME`.
    pub findings: Vec<PathBuf>,
}

/// Asks all versions about findings, and returns the exit code.
pub fn find_ranges(options: &RangeOptions, host: Host<'_>) -> Exit {
    let console = host.console;
    for folder in &options.findings {
        let done = Finding::read(folder)
            .map_err(FindingError::from)
            .and_then(|finding| update_range(finding, folder, host));
        match done {
            Ok(finding) => {
                let mut lines = vec![finding.name()];
                lines.extend(finding.facts.range.iter().map(|one| {
                    let same = if one.same { "the same" } else { "not the same" };
                    format!("  {:<20} {same}: {}, {}", one.engine, one.verdict, one.outcome)
                }));
                lines.push(String::new());
                console.print(&lines.join("\n"));
            }
            Err(error) => {
                console.note(&error.to_string());
                return Exit::Wrong;
            }
        }
        if host.is_stopped() {
            return Exit::Interrupted;
        }
    }
    Exit::AsExpected
}

/// Adds the results of all installed versions to the finding, and writes it to its folder.
pub fn update_range(mut finding: Finding, folder: &Path, host: Host<'_>) -> Result<Finding, FindingError> {
    let selected = Selected::open(Some(folder), &[])?;
    let case = find_only_case(&selected)?;
    finding.facts.range = try_versions(&case, &finding.facts.signature, &selected, host)?;
    finding.write(folder).map_err(FindingError::write(folder))?;
    Ok(finding)
}

/// The case of a corpus that has one.
pub fn find_only_case(selected: &Selected) -> Result<Case, FindingError> {
    if let Some(problem) = selected.problems().first() {
        return Err(FindingError::Problem(Box::new(problem.clone())));
    }
    let entry = selected.entries(Shard::ALL).next();
    entry
        .and_then(|entry| entry.resolve().ok())
        .ok_or_else(|| FindingError::NoCase(selected.root().to_owned()))
}

/// The engines of the finding's kind that are installed, by version.
pub fn find_engines(signature: &Signature) -> Result<Vec<EngineId>, FindingError> {
    let engine: EngineId = signature.engine.parse()?;
    let home = Home::discover()?;
    let installed = home.list()?;
    let plain = installed
        .into_iter()
        .filter(|one| one.id.numpy().is_none() && one.id.torch().is_none());
    let found: Vec<EngineId> = match engine {
        EngineId::Interpret { host, .. } => plain
            .map(|one| EngineId::Interpret {
                toolchain: one.id,
                host,
                torch: false,
            })
            .collect(),
        EngineId::Cuda { target, .. } => plain
            .map(|one| EngineId::Cuda {
                toolchain: one.id.compiler(),
                target,
            })
            .collect(),
        EngineId::Ptx { target, .. } => plain
            .map(|one| EngineId::Ptx {
                toolchain: one.id.compiler(),
                target,
            })
            .collect(),
        other => return Err(FindingError::NoVersions(other)),
    };
    Ok(found)
}

/// A panel of the reference and one engine.
pub fn open_panel(id: &EngineId, selected: &Selected, host: Host<'_>) -> Panel {
    let wanted = [EngineId::Reference, id.clone()];
    set_up(Reference::default(), &wanted, true, 1, selected, host).panel
}

fn try_versions(
    case: &Case,
    signature: &Signature,
    selected: &Selected,
    host: Host<'_>,
) -> Result<Vec<VersionResult>, FindingError> {
    let mut range = Vec::new();
    for id in find_engines(signature)? {
        let panel = open_panel(&id, selected, host);
        if panel.other_engines().is_empty() {
            continue;
        }
        let trial = try_case(case, &panel).map_err(|Stopped| FindingError::Interrupted)?;
        range.extend(describe_result(&trial, &id, signature));
    }
    Ok(range)
}

fn describe_result(trial: &Trial, id: &EngineId, signature: &Signature) -> Option<VersionResult> {
    let record = trial.other_records.iter().find(|record| record.id == *id)?;
    let complaint = record.outcome.complaint();
    let mut differences = trial.verdict.differences.iter().filter(|one| one.engine == *id);
    // Words begin with the kind of the complaint, an exception's type say.
    let says_so = complaint.is_none_or(|complaint| {
        signature.kind == "memory"
            || signature.kind == "guard"
            || signature.first.starts_with(&complaint.kind)
    });
    let same = trial.verdict.kind != VerdictKind::Undefined
        && differences.any(|one| one.kind.name() == signature.kind)
        && says_so;
    Some(VersionResult {
        engine: id.to_string(),
        same,
        verdict: trial.verdict.kind.to_string(),
        outcome: record.outcome.kind().to_string(),
        reference: trial
            .references
            .first()
            .map_or_else(String::new, |record| record.outcome.kind().to_string()),
        message: complaint.map(|complaint| complaint.message.clone()),
    })
}
