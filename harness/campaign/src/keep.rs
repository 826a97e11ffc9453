//! `cerith fuzz keep`: creates a finding from any case, reduced or written by hand. Cases without new differences are rejected,
//! unless the user asks for known bugs.

use std::fs;
use std::path::{Path, PathBuf};

use cerith_case::{Case, Shard};
use cerith_engine::Reference;
use cerith_verdict::{Panel, Stopped, try_case};

use crate::campaign::with_reference;
use crate::case_source::{CaseSource, KERNEL};
use crate::finding::{Finding, find_unexplained};
use crate::finding_error::FindingError;
use crate::range::find_only_case;
use crate::signature::Signature;
use cerith_runner::corpus::Selected;
use cerith_runner::engines::set_up;
use cerith_runner::exit::Exit;
use cerith_runner::host::Host;
use cerith_runner::options::EngineChoice;
use cerith_runner::stages::{Blaming, Means};

/// Options for keeping a case as a finding.
#[derive(Clone, Debug)]
pub struct KeepOptions {
    /// The case file, the kernel's file beside it, or the folder of the case.
    pub cases: PathBuf,
    /// The case, if there are several.
    pub filter: Option<String>,
    /// The selected engines.
    pub engines: EngineChoice,
    /// Also keep a difference that a known bug explains, to report it.
    pub known: bool,
    /// The folder of findings.
    pub out: PathBuf,
}

/// Keeps a case as a finding, and returns the exit code.
pub fn keep_finding(options: &KeepOptions, host: Host<'_>) -> Exit {
    let console = host.console;
    match keep_case(options, host) {
        Ok(Some(text)) => {
            console.print(&text);
            Exit::Unexpected
        }
        Ok(None) => {
            console.print("nothing new was found\n");
            Exit::AsExpected
        }
        Err(error) => {
            console.note(&error.to_string());
            Exit::Wrong
        }
    }
}

fn keep_case(options: &KeepOptions, host: Host<'_>) -> Result<Option<String>, FindingError> {
    let mut filters: Vec<String> = options.filter.iter().cloned().collect();
    let selected = if options.cases.is_file() {
        filters.insert(0, options.cases.to_string_lossy().into_owned());
        Selected::open(None, &filters)?
    } else {
        Selected::open(Some(&options.cases), &filters)?
    };
    let case = find_only_case(&selected)?;
    let made = build_source(&case, &selected)?;
    let setup = set_up(
        Reference::default(),
        &with_reference(&options.engines.engines),
        options.engines.offline,
        1,
        &selected,
        host,
    );
    if let Some(silent) = setup.failed.first().or(setup.left_out.first()) {
        return Err(FindingError::LeftOut(silent.clone()));
    }
    let panel: Panel = setup.panel;
    let trial = try_case(&case, &panel).map_err(|Stopped| FindingError::Interrupted)?;
    let known = trial.verdict.differences.first().filter(|_| options.known);
    let Some(difference) = find_unexplained(&trial).or(known) else {
        return Ok(None);
    };
    let signature = Signature::of_reduced(&case, &trial, difference, &panel);
    let origin = case
        .origin
        .clone()
        .unwrap_or_else(|| format!("{} of {}", case.id, options.cases.display()));
    let mut finding = Finding::new(&made, &trial, difference, &panel, signature, origin);
    if let Some(reference) = panel.reference() {
        let blaming = Blaming::new(Means {
            reference,
            offline: true,
            jobs: 1,
            corpus: selected.readable(),
            host,
        });
        let told = blaming
            .blame_stages(&case, &trial, std::slice::from_ref(&difference.engine))
            .map_err(|Stopped| FindingError::Interrupted)?;
        if !(told.stages.is_empty() && told.notes.is_empty()) {
            finding.found_in(told.stages);
        }
    }
    finding
        .keep(&options.out)
        .map_err(FindingError::write(&options.out))?;
    Ok(Some(format!("{}\n", options.out.join(finding.name()).display())))
}

/// A case as the two files of a finding: its own text where that has no matrix, so that its fills stay as they are.
fn build_source(case: &Case, selected: &Selected) -> Result<CaseSource, FindingError> {
    let alone = case
        .launches
        .iter()
        .all(|launch| launch.kernel.module.path == case.module.path);
    if !alone || !case.module.imports.is_empty() {
        return Err(FindingError::SeveralFiles);
    }
    let entry = selected.entries(Shard::ALL).next();
    let own_text = entry
        .filter(|_| case.point.is_empty())
        .and_then(|entry| fs::read_to_string(selected.root().join(&entry.file().path)).ok());
    let text = own_text
        .or_else(|| case.to_case_file())
        .ok_or(FindingError::Inexpressible)?;
    let own = case.module.path.rsplit('/').next().unwrap_or_default();
    let yaml = text.lines().fold(String::new(), |mut yaml, line| {
        yaml += &match line.strip_prefix("kernel:") {
            Some(_) => line.replacen(own, KERNEL, 1),
            None => line.to_owned(),
        };
        yaml + "\n"
    });
    CaseSource::read("finding", &case.module.file.text, &yaml, Path::new("")).map_err(FindingError::ReadBack)
}
