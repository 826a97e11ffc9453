//! Remarks about failures, at lines of files: commands of a GitHub workflow ([`Remarks::github`]), and SARIF for code scanning
//! ([`Remarks::sarif`]). GitHub shows ten annotations of a step, so that a line of a file gets one, and the worst come first.
//! Code scanning gets every result.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::event::{Event, Position, Severity, Verdict, VerdictKind};
use crate::junit;
use crate::safe;

/// GitHub shows ten errors of a step, and fifty of a job. More would only fill the log.
const ANNOTATED: usize = 50;

/// How many results code scanning takes from one run.
const SCANNED: usize = 25_000;

/// How many other cases an annotation names.
const MAX_NAMED: usize = 3;

/// One remark.
#[derive(Clone, Debug)]
struct Remark {
    level: Level,
    weight: Weight,
    /// A stable word for its kind.
    rule: String,
    /// An id that stays if the line moves. Without it, the title is the id.
    id: Option<String>,
    /// The subject of the remark, usually a case.
    title: String,
    words: String,
    position: Option<Position>,
}

/// How bad a remark is, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// No verdict can be relied on: Cerith failed, or the run was cut short.
    Run,
    /// An engine is wrong.
    Differ,
    /// The kernel has no defined answer.
    Undefined,
    /// Cases are not read.
    Input,
    /// Anything else that is not as expected.
    Other,
    /// A warning.
    Warning,
}

impl Weight {
    const fn of_verdict(verdict: VerdictKind) -> Self {
        match verdict {
            VerdictKind::Differ | VerdictKind::Nondeterministic => Self::Differ,
            VerdictKind::Undefined => Self::Undefined,
            _ => Self::Other,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Error,
    Warning,
}

impl Level {
    const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// The remarks of a whole stream.
#[derive(Clone, Debug, Default)]
pub struct Remarks {
    entries: Vec<Remark>,
    omitted_count: usize,
    cerith: String,
    ended: bool,
}

impl Remarks {
    /// Takes in one event.
    pub fn add_event(&mut self, event: &Event) {
        match &*safe::escape_event(event) {
            Event::Start(start) => self.cerith.clone_from(&start.cerith),
            Event::Verdict(verdict) | Event::Sweep(verdict) if !verdict.passes() => {
                self.keep(of_verdict(verdict));
            }
            Event::Verdict(_) | Event::Sweep(_) => {}
            Event::Problem(problem) => self.keep(Remark {
                level: if problem.severity == Severity::Error {
                    Level::Error
                } else {
                    Level::Warning
                },
                weight: if problem.severity == Severity::Error {
                    Weight::Input
                } else {
                    Weight::Warning
                },
                rule: format!("input/{}", problem.code),
                id: None,
                title: problem.code.clone(),
                words: problem.message.clone(),
                position: problem.position.clone(),
            }),
            Event::Internal(internal) => self.keep(Remark {
                level: Level::Error,
                weight: Weight::Run,
                rule: "internal".to_owned(),
                id: None,
                title: internal.case.clone().unwrap_or_else(|| "the run".to_owned()),
                words: format!("Cerith failed: {}", internal.message),
                position: None,
            }),
            Event::Summary(_) => self.ended = true,
        }
    }

    fn keep(&mut self, remark: Remark) {
        if self.entries.len() < SCANNED {
            self.entries.push(remark);
        } else {
            self.omitted_count += 1;
        }
    }

    fn close(&mut self) {
        if !self.ended {
            self.keep(Remark {
                level: Level::Error,
                weight: Weight::Run,
                rule: "run/cut-short".to_owned(),
                id: None,
                title: "the run".to_owned(),
                words: "the stream ends without its summary; the cases that are missing were not judged"
                    .to_owned(),
                position: None,
            });
        }
    }

    /// Adds a finding in a kernel that no case file describes. `None` as its verdict is a warning. `rule` is a stable word for its
    /// kind, and `id` stays if its line moves.
    pub fn add_finding(
        &mut self,
        kernel: &str,
        verdict: Option<VerdictKind>,
        rule: &str,
        id: &str,
        words: &str,
        at: Option<Position>,
    ) {
        self.keep(Remark {
            level: verdict.map_or(Level::Warning, |_| Level::Error),
            weight: verdict.map_or(Weight::Warning, Weight::of_verdict),
            rule: rule.to_owned(),
            id: Some(id.to_owned()),
            title: kernel.to_owned(),
            words: words.to_owned(),
            position: at,
        });
    }

    /// Notes that nothing is missing, if the remarks are not those of a stream with a summary.
    pub fn end(&mut self) {
        env!("CARGO_PKG_VERSION").clone_into(&mut self.cerith);
        self.ended = true;
    }

    /// As commands of a GitHub workflow: one for each line of a file, the worst first.
    pub fn github(mut self) -> String {
        self.close();
        let mut lines: Vec<(Remark, Vec<String>)> = Vec::new();
        let mut known: HashMap<(String, u32), usize> = HashMap::new();
        self.entries.sort_by_key(|remark| remark.weight);
        for remark in self.entries {
            let place = remark.position.as_ref().map(|at| (at.file.clone(), at.line));
            if let Some((_, others)) = place.as_ref().and_then(|place| lines.get_mut(*known.get(place)?)) {
                others.push(remark.title);
                continue;
            }
            if let Some(place) = place {
                known.insert(place, lines.len());
            }
            lines.push((remark, Vec::new()));
        }
        lines.sort_by_key(|(remark, others)| (remark.weight, usize::MAX - others.len()));
        let mut text = String::new();
        for (remark, others) in lines.iter().take(ANNOTATED) {
            let mut properties = String::new();
            if let Some(at) = &remark.position {
                let _ = write!(
                    properties,
                    "file={},line={},",
                    safe::escape_property(&at.file),
                    at.line
                );
                if at.column > 0 {
                    let _ = write!(properties, "col={},", at.column);
                }
            }
            let words = format!("{}{}", remark.words, name_others(&remark.title, others));
            let _ = writeln!(
                text,
                "::{} {properties}title={}::{}",
                remark.level.word(),
                safe::escape_property(&safe::escape_line(&remark.title)),
                safe::escape_data(&safe::escape_line(&words))
            );
        }
        let more = lines.len().saturating_sub(ANNOTATED) + self.omitted_count;
        if more > 0 {
            let _ = writeln!(text, "::notice title=Cerith::{more} more are in the stream");
        }
        text
    }

    /// As SARIF 2.1.0.
    ///
    /// # Errors
    /// It cannot be written down.
    pub fn sarif(mut self) -> Result<String, serde_json::Error> {
        self.close();
        let mut rules: Vec<&str> = self.entries.iter().map(|remark| remark.rule.as_str()).collect();
        rules.sort_unstable();
        rules.dedup();
        let results: Vec<Value> = self.entries.iter().map(build_result).collect();
        let left_out = if self.omitted_count > 0 {
            vec![json!({
                "level": "warning",
                "message": {"text": format!("{} more are in the stream", self.omitted_count)},
            })]
        } else {
            Vec::new()
        };
        let log = json!({
            "version": "2.1.0",
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "runs": [{
                "tool": {"driver": {
                    "name": "cerith",
                    "version": self.cerith,
                    "rules": rules.iter().map(|rule| json!({"id": rule})).collect::<Vec<_>>(),
                }},
                "invocations": [{
                    "executionSuccessful": self.ended,
                    "toolExecutionNotifications": left_out,
                }],
                "results": results,
            }],
        });
        Ok(serde_json::to_string_pretty(&log)? + "\n")
    }
}

/// Names the other cases of an annotation's line.
fn name_others(title: &str, others: &[String]) -> String {
    let mut names: Vec<&str> = others
        .iter()
        .map(String::as_str)
        .filter(|&other| other != title)
        .collect();
    names.dedup();
    let more = names.len().saturating_sub(MAX_NAMED);
    names.truncate(MAX_NAMED);
    match (names.is_empty(), more) {
        (true, _) => String::new(),
        (false, 0) => format!("; also {}", names.join(", ")),
        (false, _) => format!("; also {} and {more} more", names.join(", ")),
    }
}

fn of_verdict(verdict: &Verdict) -> Remark {
    let wrong = verdict.unexpected.iter().chain(&verdict.blame);
    let kernel = wrong
        .filter_map(|engine| verdict.outcomes.get(engine))
        .find_map(|outcome| outcome.position.clone());
    Remark {
        level: Level::Error,
        weight: Weight::of_verdict(verdict.verdict),
        rule: format!("verdict/{}", verdict.verdict),
        id: None,
        title: verdict.case.clone(),
        words: junit::describe_error(verdict),
        position: kernel.or_else(|| verdict.position.clone()),
    }
}

fn build_result(remark: &Remark) -> Value {
    let mut result = json!({
        "ruleId": remark.rule,
        "level": remark.level.word(),
        "message": {"text": format!("{}: {}", remark.title, remark.words)},
        "partialFingerprints": match &remark.id {
            Some(id) => json!({"finding/v1": id}),
            None => json!({"case/v1": remark.title}),
        },
    });
    if let Some(at) = &remark.position {
        let mut region = json!({"startLine": at.line.max(1)});
        if at.column > 0 {
            region["startColumn"] = json!(at.column);
        }
        result["locations"] = json!([{
            "physicalLocation": {"artifactLocation": {"uri": safe::escape_uri(&at.file)}, "region": region},
        }]);
    }
    result
}
