//! The findings of `cerith check` in the formats of a CI: commands of a GitHub workflow, SARIF, and `JUnit`.

use std::path::Path;

use cerith_report::event::VerdictKind;
use cerith_report::{Junit, Palette, Remarks};

use super::error::CheckError;
use crate::args::{CheckArgs, CheckFormat};
use cerith_check::conformance::{ConformanceReport, ConformanceVerdict};
use cerith_check::finding::{Finding, Summary};
use cerith_check::report::{KernelReport, Standing};

/// All reports, whether they are requested or not.
#[derive(Default)]
pub struct Reports {
    remarks: Remarks,
    junit: Junit,
}

impl Reports {
    /// Adds a kernel.
    pub fn add(&mut self, told: &KernelReport<'_>) {
        let name = format!("{}:{}", told.file, told.kernel);
        let mut add = |verdict: Option<VerdictKind>, finding: &Finding, id: &str| {
            let rule = format!("check/{}", finding.key.code());
            let Summary {
                message, position, ..
            } = &finding.summary;
            self.remarks
                .add_finding(&name, verdict, &rule, id, message, position.clone());
        };
        for shown in told.list_wrong() {
            add(Some(shown.finding.verdict()), shown.finding, &shown.id);
        }
        for one in &told.preconditions {
            let finding = &one.precondition.finding;
            add(Some(finding.verdict()), finding, &one.id);
        }
        for shown in &told.warned {
            add(None, shown.finding, &shown.id);
        }
        let text = told.render(Palette::default());
        let conditions = told.preconditions.iter().map(|one| &one.precondition.finding);
        let failed = told
            .list_wrong()
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

    /// Adds a launcher that was compared with a reference function.
    pub fn add_conformance(&mut self, report: &ConformanceReport) {
        let name = format!("{}:{}", report.file, report.launcher);
        let message = report.text.lines().next().unwrap_or_default();
        if report.is_failure() {
            let verdict = Some(VerdictKind::Differ);
            self.remarks
                .add_finding(&name, verdict, "check/conformance", &name, message, None);
        }
        let failed = report.is_failure().then_some((message, report.text.as_str()));
        let is_skipped = !report.is_failure() && report.verdict != ConformanceVerdict::Agree;
        let skipped = is_skipped.then_some(message);
        self.junit
            .add_kernel(&report.file, &report.launcher, failed, skipped);
    }

    /// Adds a file that cannot be checked.
    pub fn add_error(&mut self, file: &str, message: &str) {
        let message = message.lines().next().unwrap_or_default();
        let verdict = Some(VerdictKind::Inconclusive);
        self.remarks
            .add_finding(file, verdict, "check/input", file, message, None);
        self.junit.add_kernel(file, file, Some((message, message)), None);
    }

    /// Writes the reports that are requested, and returns the one to print. The second part is whether it has commands of a workflow.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(mut self, args: &CheckArgs) -> Result<(String, bool), CheckError> {
        self.remarks.end();
        self.junit.end();
        let write = |path: &Path, text: &str| {
            cerith_files::write(path, text).map_err(|error| CheckError::Write {
                path: path.to_owned(),
                error,
            })
        };
        let output = Path::new("standard output");
        let mut printed = (String::new(), false);
        if args.sarif.is_some() || args.format == CheckFormat::Sarif {
            let path = args.sarif.as_deref();
            let text = self.remarks.clone().sarif();
            let text = text.map_err(|error| CheckError::Sarif {
                path: path.unwrap_or(output).to_owned(),
                error,
            })?;
            if let Some(path) = path {
                write(path, &text)?;
            }
            if args.format == CheckFormat::Sarif {
                printed = (text, false);
            }
        }
        if args.github.is_some() || args.format == CheckFormat::Github {
            let text = self.remarks.github();
            if let Some(path) = &args.github {
                write(path, &text)?;
            }
            if args.format == CheckFormat::Github {
                printed = (text, true);
            }
        }
        if args.junit.is_some() || args.format == CheckFormat::Junit {
            let path = args.junit.as_deref();
            let xml = self.junit.finish();
            let xml = xml.map_err(|error| CheckError::Junit {
                path: path.unwrap_or(output).to_owned(),
                error,
            })?;
            if let Some(path) = path {
                write(path, &xml)?;
            }
            if args.format == CheckFormat::Junit {
                printed = (xml, false);
            }
        }
        Ok(printed)
    }
}
