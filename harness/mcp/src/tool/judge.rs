//! `judge`: whether a submission's kernels compute the function of a task, as `cerith judge` decides it, in the process that the server was
//! started with.

use std::path::Path;

use cerith_submission::MAX_FILE;
use cerith_submission::service::{JudgeRequest, ServiceError, SourceText};
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::{build_schema, parse_arguments};
use super::error::{Choice, ToolError};
use super::{Answer, Request, ToolEntry};
use crate::confinement::{PathError, find_path};

pub const TOOL: ToolEntry = ToolEntry {
    name: "judge",
    title: "Judge a submission",
    description: "Decides whether a submission's Triton kernels compute the function of a task (a file in KernelBench's or TritonBench's form, or with \
            a function `reference`), on shapes and data that the submission has not seen. Returns a verdict (`accepted`, `wrong`, \
            `inaccurate`, `library-call`, …), the element that shows it, and a hint. It executes both files in contained processes. Call it \
            after `check` finds nothing.",
    when_off: Some(
        "Off: this server starts no processes. `cerith mcp --judge` starts one with this tool, which decides whether a submission's Triton kernels compute \
            the function of a task.",
    ),
    build_schema: build_own_schema,
    run: judge,
};

fn build_own_schema() -> Value {
    build_schema(
        &json!({
            "task": {"type": "string", "description": "The task's file."},
            "path": {"type": "string", "description": "The submission's file."},
            "text": {"type": "string", "description": "The submission's Python, in place of `path`."},
            "seed": {"type": "integer", "minimum": 0, "description": "The seed of an earlier judgement, to repeat its data."},
            "accumulate": {"enum": ["f16", "bf16", "f32", "f64"], "description": "The dtype of sums, in place of the task's."},
            "no_tf32": {"type": "boolean", "description": "Refuse dots of f32 that round to TF32."},
        }),
        &["task"],
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    task: String,
    path: Option<String>,
    text: Option<String>,
    seed: Option<u64>,
    accumulate: Option<String>,
    #[serde(default)]
    no_tf32: bool,
}

fn judge(request: &Request<'_>, arguments: JsonObject) -> Result<Answer, ToolError> {
    let service = request.judge.ok_or(ToolError::JudgeOff)?;
    let arguments: Arguments = parse_arguments(arguments)?;
    let task = read_source(request.root, &arguments.task)?;
    let kernel = match (arguments.path, arguments.text) {
        (Some(path), None) => read_source(request.root, &path)?,
        (None, Some(text)) => SourceText {
            name: "submission.py".to_owned(),
            text,
        },
        _ => return Err(ToolError::Choice(Choice::Submission)),
    };
    let order = JudgeRequest {
        task,
        kernel,
        seed: arguments.seed,
        accumulate: arguments.accumulate,
        no_tf32: arguments.no_tf32,
    };
    let judgement = service.judge(order, &|| request.host.is_stopped(), request.progress);
    let judgement = judgement.map_err(|error| match error {
        ServiceError::Cancelled => ToolError::JudgeStopped,
        error => ToolError::Judge(error),
    })?;
    Ok(Answer {
        blocks: vec![judgement.write_text()],
        data: serde_json::to_value(&judgement).unwrap_or_default(),
    })
}

/// The text of a file in the server's folder. The process that judges gets no path that it could follow out of it.
fn read_source(root: &Path, name: &str) -> Result<SourceText, ToolError> {
    let path = find_path(root, name)?;
    let text = cerith_files::read_text(&path, MAX_FILE).map_err(|source| PathError::Unreadable {
        path: name.to_owned(),
        source,
    })?;
    Ok(SourceText {
        name: path.display().to_string(),
        text,
    })
}
