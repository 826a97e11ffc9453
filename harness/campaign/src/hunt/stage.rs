//! Finds the stage of Triton's compiler that causes a finding of a compiled engine. See `cerith_runner::stages` for running the
//! stages.

use std::io;
use std::path::Path;

use cerith_engine::EngineId;
use cerith_verdict::{Panel, try_case};

use super::Hunt;
use crate::case_source::CaseSource;
use crate::finding::{Finding, find_unexplained};
use cerith_runner::stages::{Blaming, Means};

impl Hunt<'_> {
    /// Runs the stages on each finding without a recorded stage, from this campaign or a previous one.
    pub(super) fn locate(&mut self, panel: &Panel, means: Means<'_>) {
        let blaming = Blaming::new(means);
        for name in self.campaign.findings.keys() {
            if means.host.is_stopped() {
                return;
            }
            match locate(&self.findings.join(name), panel, &blaming) {
                Ok(Some(line)) => self.host.console.note(&format!("{name}: {line}")),
                Ok(None) => {}
                Err(error) => {
                    self.unwritten = Some(error);
                    return;
                }
            }
        }
    }
}

/// Runs the stages on the finding of a folder, writes the result into the folder, and describes it in a line. `None` if there are
/// no stages to run, or if a result is recorded.
///
/// # Errors
/// The result cannot be written.
fn locate(folder: &Path, panel: &Panel, blaming: &Blaming<'_>) -> io::Result<Option<String>> {
    let Ok(mut finding) = Finding::read(folder) else {
        return Ok(None);
    };
    let engine: Option<EngineId> = finding.facts.signature.engine.parse().ok();
    let Some(engine) = engine.filter(|_| finding.facts.stages.is_none()) else {
        return Ok(None);
    };
    let around = folder.parent().unwrap_or(folder);
    let Ok(made) = CaseSource::read(&finding.name(), finding.kernel(), finding.yaml(), around) else {
        return Ok(None);
    };
    let Ok(trial) = try_case(&made.case, panel) else {
        return Ok(None);
    };
    if find_unexplained(&trial).is_none() {
        return Ok(None);
    }
    let Ok(told) = blaming.blame_stages(&made.case, &trial, &[engine]) else {
        return Ok(None);
    };
    let line = match (told.stages.first(), told.notes.first()) {
        (Some(stage), _) => stage.to_string(),
        (None, Some(note)) => note.clone(),
        (None, None) => return Ok(None),
    };
    finding.found_in(told.stages);
    finding.write(folder)?;
    Ok(Some(line))
}
