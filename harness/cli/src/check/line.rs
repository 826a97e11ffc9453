//! What was found in a kernel as a line of JSON.

use serde::Serialize;

use super::finding::{KernelFinding, KernelReport, Precondition, Standing};

/// One kernel. Fields that have nothing to say are left out.
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
    /// What launches are warned of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<FindingLine<'a>>,
    /// What must hold for the kernel to be defined.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    preconditions: Vec<Condition<'a>>,
    /// The function of the file whose launches these are.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a str>,
    /// The version of Triton by whose language the kernel is judged, if not the newest.
    #[serde(skip_serializing_if = "Option::is_none")]
    triton: Option<String>,
    /// What is passed otherwise than the text suggests: with other arguments no launch got through.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    changed: &'a [String],
    /// The parts of the kernel's autotuner that the launches omit.
    #[serde(skip_serializing_if = "<[&str]>::is_empty")]
    omitted: &'a [&'static str],
    /// What kept launches from being judged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_judged: Vec<FindingLine<'a>>,
}

/// What must hold, and the failure if it does not.
#[derive(Serialize)]
struct Condition<'a> {
    unless: &'a [String],
    kind: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    place: &'a str,
    text: &'a str,
}

fn describe_condition(one: &Precondition) -> Condition<'_> {
    Condition {
        unless: &one.unless,
        kind: one.finding.key.kind(),
        place: &one.finding.key.place,
        text: &one.finding.text,
    }
}

#[derive(Serialize)]
struct FindingLine<'a> {
    engine: &'a str,
    /// The kind of outcome and of error.
    kind: String,
    /// `softmax.py:26`.
    #[serde(skip_serializing_if = "str::is_empty")]
    place: &'a str,
    text: &'a str,
    /// What is special about the launches that show it.
    launches: Vec<&'a str>,
}

fn build_finding<'a>(one: &'a KernelFinding<'_>) -> FindingLine<'a> {
    FindingLine {
        engine: &one.finding.key.engine,
        kind: one.finding.key.kind(),
        place: &one.finding.key.place,
        text: &one.finding.text,
        launches: one.launches.clone(),
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
        let things = |wrong: bool| {
            let shown = told.findings.iter().filter(|one| one.wrong == wrong);
            shown.map(build_finding).collect()
        };
        Self {
            file: told.file,
            kernel: told.kernel,
            result,
            launches: told.launches,
            why,
            findings: things(true),
            warnings: told.warned.iter().map(build_finding).collect(),
            preconditions: told
                .preconditions
                .iter()
                .copied()
                .map(describe_condition)
                .collect(),
            host: told.host,
            triton: told.version.map(|version| version.to_string()),
            changed: told.changed,
            omitted: told.omitted,
            not_judged: things(false),
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
