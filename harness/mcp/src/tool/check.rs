//! `check`: the findings in the kernels of a file, a folder or a text, by the reference alone.

use std::fmt::Write as _;
use std::sync::Arc;

use cerith_check::baseline::Baseline;
use cerith_check::checker::{Checker, build_reference};
use cerith_check::config::Config;
use cerith_check::error::SubjectError;
use cerith_check::line::Line;
use cerith_check::report::{KernelReport, Standing};
use cerith_check::subject::{FilesRead, Subject};
use cerith_check::target::CheckTarget;
use cerith_report::Palette;
use cerith_runner::pipeline;
use cerith_survey::Survey;
use cerith_verdict::Panel;
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer_size::{MAX_ANSWER, MAX_FINDING, cut_text};
use super::arguments::{NamedKernels, build_schema, find_named, parse_arguments};
use super::error::ToolError;
use super::{Answer, Request, ToolEntry};
use crate::confinement::find_path;

/// The maximum number of bytes of a finding's text if there is a suggested edit, so that both fit.
const MAX_BESIDE_EDIT: usize = 1600;

pub const TOOL: ToolEntry = ToolEntry {
    name: "check",
    title: "Check Triton kernels",
    description: "Runs Triton kernels with many sizes, layouts and dtypes in a reference interpreter, without a GPU and without Python, and \
            reports undefined behaviour: accesses out of bounds, data races, uninitialised or unwritten values, type errors, deadlocks. \
            Call it after each edit of a kernel. It infers arguments from the source and from functions that launch the kernel. \
            Each finding has its line, the launch and element that show it, and a suggested edit if one is certain. It cannot find \
            wrong formulas.",
    when_off: None,
    build_schema: build_own_schema,
    run: check,
};

fn build_own_schema() -> Value {
    build_schema(
        &json!({
            "path": {"type": "string", "description": "A Python file, notebook, case file or folder, from the server's folder."},
            "text": {"type": "string", "description": "Python with kernels, in place of `path`. Imports start from the server's folder."},
            "kernel": {"type": "string", "description": "One kernel of the file. Without it, all."},
            "timeout": {"type": "integer", "minimum": 1, "description": "The most seconds for each kernel."},
            "verbose": {"type": "boolean", "description": "List each launch."},
            "no_config": {"type": "boolean", "description": "Read no `cerith.toml`."},
            "baseline": {"type": "string", "description": "Hide the findings in this file of `cerith check --write-baseline`."},
        }),
        &[],
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: Option<String>,
    text: Option<String>,
    kernel: Option<String>,
    timeout: Option<u64>,
    #[serde(default)]
    verbose: bool,
    #[serde(default)]
    no_config: bool,
    baseline: Option<String>,
}

/// The inputs of every check of a request, except its targets.
pub struct Means<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// Known findings.
    pub baseline: &'a Baseline,
    /// The maximum number of seconds for each kernel.
    pub timeout: Option<u64>,
    /// Whether each launch is listed.
    pub is_verbose: bool,
}

fn check(request: &Request<'_>, arguments: JsonObject) -> Result<Answer, ToolError> {
    let arguments: Arguments = parse_arguments(arguments)?;
    let named = find_named(
        request.root,
        arguments.path.as_deref(),
        arguments.text,
        arguments.kernel.as_deref(),
    )?;
    let config = if arguments.no_config {
        Config::without_file()
    } else {
        Config::find_here()?
    };
    let baseline = match (&arguments.baseline, &config.baseline) {
        (Some(path), _) => Baseline::read(&find_path(request.root, path)?)?,
        (None, Some(path)) => Baseline::read(path)?,
        (None, None) => Baseline::default(),
    };
    let means = Means {
        config: &config,
        baseline: &baseline,
        timeout: arguments.timeout,
        is_verbose: arguments.verbose,
    };
    let mut reports = Reports::default();
    let mut errors = Vec::new();
    for target in &named.targets {
        if !target.explicit && config.is_excluded(&target.file) {
            continue;
        }
        let done = check_target(request, &means, &named, target, &mut |_, _, report| {
            reports.add(report);
        });
        if let Err(error) = done {
            if named.targets.len() == 1 {
                return Err(error.into());
            }
            errors.push((target.file.display().to_string(), error.to_string()));
        }
        if request.host.is_stopped() {
            break;
        }
    }
    Ok(reports.finish(&errors, request.host.is_stopped()))
}

/// Checks the kernels of one target with the reference.
///
/// # Errors
/// The file cannot be read, or is wrong.
pub fn check_target(
    request: &Request<'_>,
    means: &Means<'_>,
    named: &NamedKernels,
    target: &CheckTarget,
    report: &mut dyn FnMut(&Subject, &Survey, &KernelReport<'_>),
) -> Result<(), SubjectError> {
    let threads = pipeline::count_threads(pipeline::count_jobs(request.jobs), u64::MAX);
    let panel = Arc::new(build_panel(threads));
    request.host.stop_on_interrupt(&panel);
    let mut checker = Checker {
        config: means.config,
        baseline: means.baseline,
        timeout: Some(request.measure_remaining(means.timeout)),
        jobs: request.jobs,
        is_verbose: means.is_verbose,
        host: request.host,
        open_panel: &mut |_| Some(Arc::clone(&panel)),
    };
    checker
        .check_file(target, named.text.as_deref(), &FilesRead::default(), report)
        .map(drop)
}

/// The reference alone: it starts no process.
pub fn build_panel(threads: usize) -> Panel {
    let reference = build_reference().with_threads(threads);
    Panel::new(Some(Arc::new(reference)), Vec::new())
}

/// The reports of kernels, as text and as data.
#[derive(Default)]
struct Reports {
    blocks: Vec<String>,
    kernels: Vec<Value>,
    /// How many kernels are in each state: with findings, with nothing found, not judged, not tried.
    counts: [usize; 4],
    /// How many bytes of text there are.
    length: usize,
    /// How many kernels are left out of the text and of the data.
    omitted: usize,
    first_code: Option<String>,
}

impl Reports {
    fn add(&mut self, report: &KernelReport<'_>) {
        let state = match report.standing() {
            Standing::Found(_) => 0,
            Standing::Clean => 1,
            Standing::NotJudged => 2,
            Standing::NotTried(_) => 3,
        };
        if let Some(count) = self.counts.get_mut(state) {
            *count += 1;
        }
        let block = render_report(report);
        if self.length + block.len() > MAX_ANSWER && !self.blocks.is_empty() {
            self.omitted += 1;
            return;
        }
        self.length += block.len();
        self.blocks.push(block);
        // Text and numbers have no way to fail.
        self.kernels
            .push(serde_json::to_value(Line::new(report)).unwrap_or_default());
        let first = report.list_wrong().map(|one| one.finding);
        let conditions = report.preconditions.iter().map(|one| &one.precondition.finding);
        if let Some(finding) = first.chain(conditions).next() {
            let code = finding.key.code().to_owned();
            self.first_code.get_or_insert(code);
        }
    }

    fn finish(mut self, errors: &[(String, String)], is_stopped: bool) -> Answer {
        let [found, clean, not_judged, not_tried] = self.counts;
        let total = found + clean + not_judged + not_tried;
        let mut summary = format!(
            "{total} kernels: {found} with findings, {clean} with nothing found, {not_judged} not judged, {not_tried} not tried\n"
        );
        if self.omitted > 0 {
            let _ = writeln!(
                summary,
                "{} kernels are omitted, because the answer is long: name a file or a kernel",
                self.omitted
            );
        }
        if is_stopped {
            summary.push_str("stopped before all kernels were checked: name a file or a kernel\n");
        }
        if let Some(code) = &self.first_code {
            let _ = writeln!(
                summary,
                "`explain` with the code `{code}` explains the first finding"
            );
        }
        for (file, message) in errors {
            self.blocks
                .push(cut_text(&format!("{file}: {message}\n"), MAX_FINDING));
        }
        self.blocks.push(summary);
        let errors: Vec<Value> = errors
            .iter()
            .map(|(file, message)| json!({"file": file, "message": cut_text(message, MAX_FINDING)}))
            .collect();
        Answer {
            blocks: self.blocks,
            data: json!({
                "kernels": self.kernels,
                "errors": errors,
                "counts": {"found": found, "clean": clean, "not_judged": not_judged, "not_tried": not_tried},
                "omitted": self.omitted,
                "complete": !is_stopped,
            }),
        }
    }
}

/// The text about a kernel: at most [`MAX_FINDING`] bytes for each finding, its suggested edit included.
fn render_report(report: &KernelReport<'_>) -> String {
    let parts = report.render_parts(Palette::default());
    // The headline and the notes are not findings.
    let findings = parts.len().saturating_sub(2);
    let limit = if report.edits.is_empty() {
        MAX_FINDING
    } else {
        MAX_BESIDE_EDIT
    };
    let mut text: String = parts.iter().map(|part| cut_text(part, limit)).collect();
    if !report.edits.is_empty() {
        let room = (MAX_FINDING - MAX_BESIDE_EDIT) * findings.max(1);
        let edits = if report.edits.len() > room {
            "  = suggested edit: see `edits` of the structured answer\n".to_owned()
        } else {
            format!("  = suggested edit:\n{}", report.edits)
        };
        text.push_str(&edits);
    }
    text
}
