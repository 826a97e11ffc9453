//! The findings in a kernel as a line of JSON.

use std::borrow::Cow;

use serde::Serialize;

use super::proof::ProofCount;
use super::report::{KernelFinding, KernelPrecondition, KernelReport, Standing};

/// One kernel. Empty fields are omitted.
#[derive(Serialize)]
pub struct Line<'a> {
    file: &'a str,
    kernel: &'a str,
    /// `found`, `clean`, `not-judged` or `not-tried`.
    result: &'static str,
    launches: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<FindingLine<'a>>,
    /// The warnings about launches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<FindingLine<'a>>,
    /// The conditions under which the kernel is defined.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    preconditions: Vec<Condition<'a>>,
    /// The function of the file whose launches these are.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a str>,
    /// The version of Triton by whose language the kernel is judged, if not the newest.
    #[serde(skip_serializing_if = "Option::is_none")]
    triton: Option<String>,
    /// The arguments that differ from the kernel's text, because no launch passed without the change.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    changed: &'a [String],
    /// The parts of the kernel's autotuner that the launches omit.
    #[serde(skip_serializing_if = "<[&str]>::is_empty")]
    omitted: &'a [&'static str],
    /// The reasons that launches were not judged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_judged: Vec<FindingLine<'a>>,
    /// The launches that were not made, because there was no time left.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    untried: &'a [String],
    /// Findings that comments, the configuration or the baseline hide.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hidden: Vec<HiddenLine<'a>>,
    /// How many accesses are proved.
    #[serde(skip_serializing_if = "Option::is_none")]
    proved: Option<ProofCount>,
    /// A diff of suggested edits.
    #[serde(skip_serializing_if = "str::is_empty")]
    edits: &'a str,
}

/// A finding that is not reported.
#[derive(Serialize)]
struct HiddenLine<'a> {
    by: String,
    code: &'a str,
    place: &'a str,
    reason: &'a str,
}

/// A condition, and the failure if it does not hold.
#[derive(Serialize)]
struct Condition<'a> {
    id: &'a str,
    code: &'a str,
    unless: &'a [String],
    kind: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    place: &'a str,
    text: Cow<'a, str>,
}

fn describe_condition<'a>(one: &'a KernelPrecondition<'_>) -> Condition<'a> {
    let finding = &one.precondition.finding;
    Condition {
        id: &one.id,
        code: finding.key.code(),
        unless: &one.precondition.unless,
        kind: finding.key.kind(),
        place: &finding.key.place,
        text: one.text(),
    }
}

#[derive(Serialize)]
struct FindingLine<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    id: &'a str,
    code: &'a str,
    engine: &'a str,
    /// The kind of outcome and of error.
    kind: String,
    /// `softmax.py:26`.
    #[serde(skip_serializing_if = "str::is_empty")]
    place: &'a str,
    text: Cow<'a, str>,
    /// The arguments of the first launch that shows it.
    #[serde(skip_serializing_if = "String::is_empty")]
    launch: String,
    /// The special properties of the launches that show it.
    launches: Vec<&'a str>,
}

/// Lines of a report as one line.
fn join(lines: &[String]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    let text = lines.join(" ");
    text.strip_prefix("= launch: ").unwrap_or(&text).to_owned()
}

fn build_finding<'a>(one: &'a KernelFinding<'_>) -> FindingLine<'a> {
    FindingLine {
        id: &one.id,
        code: one.finding.key.code(),
        engine: &one.finding.key.engine,
        kind: one.finding.key.kind(),
        place: &one.finding.key.place,
        text: one.text(),
        launch: join(&one.launch),
        launches: if one.has_cases() {
            one.launches.clone()
        } else {
            Vec::new()
        },
    }
}

impl<'a> Line<'a> {
    /// The line of a kernel.
    pub fn new(told: &'a KernelReport<'_>) -> Self {
        let (result, why) = match told.standing() {
            Standing::Clean => ("clean", None),
            Standing::Found(_) => ("found", None),
            Standing::NotJudged => ("not-judged", None),
            Standing::NotTried(why) => ("not-tried", Some(why.to_string())),
        };
        Self {
            file: told.file,
            kernel: told.kernel,
            result,
            launches: told.launches,
            why,
            findings: told.list_wrong().map(build_finding).collect(),
            warnings: told.warned.iter().map(build_finding).collect(),
            preconditions: told.preconditions.iter().map(describe_condition).collect(),
            host: told.host,
            triton: told.version.map(|version| version.to_string()),
            changed: told.changed,
            omitted: told.omitted,
            not_judged: (told.findings.iter())
                .filter(|one| !one.wrong)
                .map(build_finding)
                .collect(),
            untried: &told.untried,
            hidden: (told.hidden.iter())
                .map(|one| HiddenLine {
                    by: one.by.to_string(),
                    code: &one.code,
                    place: &one.place,
                    reason: &one.reason,
                })
                .collect(),
            proved: told.proved,
            edits: &told.edits,
        }
    }

    /// The line, with its end.
    pub fn text(&self) -> String {
        // Strings and numbers have no way to fail.
        let mut text = serde_json::to_string(self).unwrap_or_default();
        text.push('\n');
        text
    }
}
