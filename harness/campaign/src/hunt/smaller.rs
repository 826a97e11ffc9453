//! Reduces findings at the end of a campaign, each in its folder, which keeps its name. See `crate::reduce` for the method.

use std::io;
use std::path::Path;
use std::time::Duration;

use cerith_verdict::{Panel, try_case};

use super::Hunt;
use crate::case_source::CaseSource;
use crate::finding::{Finding, find_unexplained};
use crate::reduce::{Bounds, Unreduced, reduce_case};
use crate::signature::Signature;

/// Merges findings that are the same once reduced: the first of them stays. Answers with the others, each with the one that
/// stays.
///
/// # Errors
/// A finding cannot be removed.
pub fn merge<'a>(
    findings: &Path,
    names: impl Iterator<Item = &'a String>,
) -> io::Result<Vec<(String, String)>> {
    let mut kept: Vec<(Signature, &String)> = Vec::new();
    let mut gone = Vec::new();
    for name in names {
        let folder = findings.join(name);
        let Ok(finding) = Finding::read(&folder) else {
            continue;
        };
        let signature = finding.facts.signature;
        if let Some((_, first)) = kept.iter().find(|(known, _)| known.is_same(&signature)) {
            cerith_files::remove_folder_all(&folder)?;
            gone.push((name.clone(), (*first).clone()));
        } else {
            kept.push((signature, name));
        }
    }
    Ok(gone)
}

/// How long a finding may take to be made smaller.
const REDUCTION: Duration = Duration::from_mins(1);

impl Hunt<'_> {
    /// Reduces findings from this campaign or a previous one that were not reduced yet. Findings that were `judged` from results
    /// may need a GPU that this machine lacks.
    pub(super) fn shrink(&mut self, panel: &Panel, judged: bool, jobs: usize) {
        self.save();
        let host = self.host;
        for name in self.campaign.findings.keys() {
            if host.is_stopped() {
                return;
            }
            let bounds = Bounds {
                time: REDUCTION,
                jobs,
                host,
                keeps: None,
            };
            match shrink(&self.findings.join(name), panel, bounds) {
                Ok(ShrinkResult::Smaller(before, after, seconds)) => self.host.console.note(&format!(
                    "reduced: {name} from {before} lines to {after} in {seconds:.1} s"
                )),
                Ok(ShrinkResult::Before) => {}
                Ok(ShrinkResult::Unseen(engine)) if judged => self.host.console.note(&format!(
                    "not reduced: {name}: its compiler has no outcome for it; on a machine with a GPU: \
                     cerith reduce --cases {} {name}/case \
                     --engine {engine}",
                    self.findings.display()
                )),
                Ok(ShrinkResult::Unseen(_)) => self
                    .host
                    .console
                    .note(&format!("not reduced: {name}: its folder is gone")),
                Ok(ShrinkResult::Kept(why)) => self.host.console.note(&format!("not reduced: {name}: {why}")),
                Ok(ShrinkResult::Stopped) => return,
                Err(error) => {
                    self.unwritten = Some(error);
                    return;
                }
            }
        }
    }

    /// Merges findings that are the same once reduced.
    pub(super) fn merge(&mut self) {
        match merge(&self.findings, self.campaign.findings.keys()) {
            Ok(merged) => {
                for (gone, first) in merged {
                    self.host.console.note(&format!("the same: {gone} is {first}"));
                    self.campaign.merge(gone, &first);
                }
            }
            Err(error) => self.unwritten = Some(error),
        }
    }
}

/// The result of reducing a finding.
pub enum ShrinkResult {
    /// It is smaller now: lines of the kernel before and after, and seconds.
    Smaller(usize, usize, f64),
    /// It was made smaller before.
    Before,
    /// It stays as it is, for this reason.
    Kept(String),
    /// The engine does not differ on this machine.
    Unseen(String),
    /// The run was stopped.
    Stopped,
}

/// Reduces the finding of a folder. Its name stays, because the campaign counts it by name.
///
/// # Errors
/// The result cannot be written.
pub fn shrink(folder: &Path, panel: &Panel, bounds: Bounds<'_>) -> io::Result<ShrinkResult> {
    let finding = match Finding::read(folder) {
        Ok(finding) if finding.facts.signature.remaining.is_empty() => finding,
        Ok(_) => return Ok(ShrinkResult::Before),
        Err(why) => return Ok(ShrinkResult::Kept(why.to_string())),
    };
    let name = finding.name();
    let around = folder.parent().unwrap_or(folder);
    let made = match CaseSource::read(&name, finding.kernel(), finding.yaml(), around) {
        Ok(made) => made,
        Err(error) => return Ok(ShrinkResult::Kept(error.to_string())),
    };
    // An operation is known to go wrong: a smaller kernel shows another bug if it has lost it.
    let first = finding.facts.signature.first.clone();
    let bounds = Bounds {
        keeps: match first.rsplit_once(" at ") {
            Some((_, operation)) => Some(operation),
            None => first.split(' ').next(),
        },
        ..bounds
    };
    let small = match reduce_case(&made.case, panel, bounds) {
        Ok(small) => small,
        Err(Unreduced::Stopped) => return Ok(ShrinkResult::Stopped),
        Err(Unreduced::NoDifference(_)) => return Ok(ShrinkResult::Unseen(finding.facts.signature.engine)),
        Err(why) => return Ok(ShrinkResult::Kept(why.to_string())),
    };
    let candidate = small
        .reduced
        .candidate
        .clone()
        .with_description(made.case.summary.clone(), made.case.origin.clone());
    let Some(yaml) = candidate.case_file() else {
        return Ok(ShrinkResult::Kept(
            "the smaller case cannot be written as a case file".to_owned(),
        ));
    };
    let made = match CaseSource::read(&name, candidate.kernel(), &yaml, around) {
        Ok(made) => made,
        Err(error) => return Ok(ShrinkResult::Kept(error.to_string())),
    };
    let Ok(trial) = try_case(&made.case, panel) else {
        return Ok(ShrinkResult::Stopped);
    };
    let Some(difference) = find_unexplained(&trial) else {
        return Ok(ShrinkResult::Kept(
            "the smaller case does not differ once it is read back".to_owned(),
        ));
    };
    let of_reduced = Signature::of_reduced(&made.case, &trial, difference, panel);
    let signature = Signature {
        remaining: of_reduced.remaining,
        axis: of_reduced.axis,
        ..finding.facts.signature.clone()
    };
    let mut less = Finding::new(
        &made,
        &trial,
        difference,
        panel,
        signature,
        finding.facts.origin.clone(),
    );
    less.facts.lines = finding.facts.lines;
    less.write(folder)?;
    let after = small.reduced.candidate.size();
    Ok(ShrinkResult::Smaller(
        small.before.lines,
        after.lines,
        small.took.as_secs_f64(),
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use cerith_engine::CompilerStage;
    use cerith_report::event::Stage;
    use serde_json::json;

    use super::*;

    fn write(findings: &Path, name: &str, kind: &str, first: &str, remaining: &[&str]) {
        let folder = findings.join(name);
        fs::create_dir_all(&folder).expect("a folder");
        let signature = json!({
            "engine": "interpret@3.9.0", "kind": kind, "first": first, "remaining": remaining, "axis": null,
        });
        let facts = json!({
            "format": 1, "signature": signature, "verdict": "differ", "blame": [], "origin": "case 1 of seed 0", "lines": 9,
            "expected": "", "got": "", "observed": "", "environment": [], "range": [],
        });
        for (file, text) in [
            ("finding.json", facts.to_string()),
            ("case.yaml", String::new()),
            ("kernel.py", String::new()),
        ] {
            fs::write(folder.join(file), text).expect("it is written");
        }
    }

    #[test]
    fn findings_that_come_down_to_the_same_are_one() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let findings = folder.path();
        write(findings, "a", "memory", "exp f32", &["sort i8"]);
        write(findings, "b", "memory", "sum f16", &["sort i8"]);
        write(findings, "c", "memory", "sum f16", &["sort f16"]);
        write(findings, "d", "trap", "TypeError one", &["sort i8"]);
        write(findings, "e", "trap", "TypeError other", &["sort i8"]);
        // Another pass is wrong.
        write(findings, "h", "memory", "exp f32", &["sort i8"]);
        let mut other = Finding::read(&findings.join("h")).expect("it reads");
        other.found_in(vec![Stage {
            engines: vec!["ptx@3.9.0".to_owned()],
            first: CompilerStage::Ttgir,
            last: CompilerStage::Ttgir,
            passes: vec!["TritonGPUPipeline".to_owned()],
        }]);
        other.write(&findings.join("h")).expect("it is written");
        // The remaining operations of these are unknown.
        write(findings, "f", "memory", "exp f32", &[]);
        write(findings, "g", "memory", "exp f32", &[]);
        let names: Vec<String> = ["a", "b", "c", "d", "e", "f", "g", "h", "gone"]
            .map(str::to_owned)
            .into();
        let merged = merge(findings, names.iter()).expect("it is removed");
        assert_eq!(merged, [("b".to_owned(), "a".to_owned())]);
        assert!(!findings.join("b").exists() && findings.join("c").exists());
    }
}
