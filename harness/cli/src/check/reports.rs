//! The findings of `cerith check` in the formats of a CI: commands of a GitHub workflow, and `JUnit`.

use std::path::Path;

use cerith_report::event::VerdictKind;
use cerith_report::{Junit, Palette, Remarks};

use super::finding::{KernelReport, Standing};
use crate::args::CheckArgs;

/// Both reports, whether they are asked for or not.
#[derive(Default)]
pub struct Reports {
    remarks: Remarks,
    junit: Junit,
}

impl Reports {
    /// Adds a kernel.
    pub fn add(&mut self, told: &KernelReport<'_>) {
        let name = format!("{}:{}", told.file, told.kernel);
        let wrong = || told.findings.iter().filter(|one| one.wrong);
        let mut note = |verdict: Option<VerdictKind>, summary: &super::finding::Summary| {
            self.remarks
                .add_finding(&name, verdict, &summary.message, summary.position.clone());
        };
        for shown in wrong() {
            note(Some(shown.finding.verdict()), &shown.finding.summary);
        }
        for precondition in &told.preconditions {
            note(
                Some(precondition.finding.verdict()),
                &precondition.finding.summary,
            );
        }
        for shown in &told.warned {
            note(None, &shown.finding.summary);
        }
        let text = told.render(Palette::default());
        let conditions = told.preconditions.iter().map(|one| &one.finding);
        let failed = wrong()
            .map(|one| one.finding)
            .chain(conditions)
            .next()
            .map(|finding| (finding.summary.message.as_str(), text.as_str()));
        let skipped = match told.standing() {
            Standing::NotTried(why) => Some(format!("not tried: {why}")),
            Standing::NotJudged => Some("not judged".to_owned()),
            Standing::Clean | Standing::Found(_) => None,
        };
        self.junit
            .add_kernel(told.file, told.kernel, failed, skipped.as_deref());
    }

    /// Adds a file that cannot be checked.
    pub fn add_error(&mut self, file: &str, message: &str) {
        let message = message.lines().next().unwrap_or_default();
        self.remarks
            .add_finding(file, Some(VerdictKind::Inconclusive), message, None);
        self.junit.add_kernel(file, file, Some((message, message)), None);
    }

    /// Writes the reports that are asked for.
    ///
    /// # Errors
    /// The message of a file that cannot be written.
    pub fn write(mut self, args: &CheckArgs) -> Result<(), String> {
        self.remarks.end();
        self.junit.end();
        let failed = |path: &Path, error: &dyn std::fmt::Display| {
            format!("error: failed to write {}: {error}", path.display())
        };
        if let Some(path) = &args.github {
            cerith_files::write(path, self.remarks.github()).map_err(|error| failed(path, &error))?;
        }
        if let Some(path) = &args.junit {
            let xml = self.junit.finish().map_err(|error| failed(path, &error))?;
            cerith_files::write(path, &xml).map_err(|error| failed(path, &error))?;
        }
        Ok(())
    }
}
