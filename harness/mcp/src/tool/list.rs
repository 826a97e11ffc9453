//! `list`: the kernels of files, or the cases of a corpus.

use std::fmt::Write as _;

use cerith_case::Shard;
use cerith_check::text::CheckedText;
use cerith_module::excerpt::rename_jit;
use cerith_survey::list_kernels;
use cerith_tile::source::{SourceFile, Sources};
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::{build_schema, find_named, open_corpus, parse_arguments};
use super::error::{Choice, ToolError};
use super::{Answer, Request, ToolEntry};

/// The maximum number of names of an answer.
const MAX_NAMES: usize = 500;

pub const TOOL: ToolEntry = ToolEntry {
    name: "list",
    title: "List kernels or cases",
    description: "Lists the Triton kernels of a file or folder (`path`), or the cases of a corpus (`cases`, with an optional `filter`).",
    when_off: None,
    build_schema: build_own_schema,
    run: list,
};

fn build_own_schema() -> Value {
    build_schema(
        &json!({
            "path": {"type": "string", "description": "A Python file, notebook or folder."},
            "cases": {"type": "string", "description": "A folder of case files."},
            "filter": {"type": "string", "description": "Only cases that it matches: `layout/`, `dtype/*:dtype=bf16`."},
        }),
        &[],
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: Option<String>,
    cases: Option<String>,
    filter: Option<String>,
}

fn list(request: &Request<'_>, arguments: JsonObject) -> Result<Answer, ToolError> {
    let arguments: Arguments = parse_arguments(arguments)?;
    let (key, names) = match (&arguments.path, &arguments.cases) {
        (Some(path), None) => ("kernels", list_kernels_of(request, path)?),
        (None, Some(cases)) => {
            let selected = open_corpus(request.root, Some(cases), arguments.filter.as_deref())?;
            let entries = selected.entries(Shard::ALL).take(MAX_NAMES + 1);
            ("cases", entries.map(|entry| entry.id).collect())
        }
        _ => return Err(ToolError::Choice(Choice::List)),
    };
    let shown: Vec<&String> = names.iter().take(MAX_NAMES).collect();
    let mut text = String::new();
    // Writing to a string does not fail.
    for name in &shown {
        let _ = writeln!(text, "{name}");
    }
    if names.len() > MAX_NAMES {
        text.push_str("…\n");
    }
    if names.is_empty() {
        let _ = writeln!(text, "there are no {key}");
    }
    Ok(Answer {
        blocks: vec![text],
        data: json!({key: shown, "complete": names.len() <= MAX_NAMES}),
    })
}

/// The kernels of files, as `FILE:KERNEL`. Files that cannot be read or parsed are skipped if they were found in a folder.
fn list_kernels_of(request: &Request<'_>, path: &str) -> Result<Vec<String>, ToolError> {
    let named = find_named(request.root, Some(path), None, None)?;
    let mut names = Vec::new();
    for target in &named.targets {
        if names.len() > MAX_NAMES || request.host.is_stopped() {
            break;
        }
        let file = target.file.display().to_string();
        let kernels = CheckedText::read(&target.file)
            .map_err(|error| ToolError::Read {
                file: file.clone(),
                error,
            })
            .and_then(|read| {
                let text = rename_jit(&read.text).into_owned();
                let mut sources = Sources::default();
                let source = sources.add(SourceFile::new(file.as_str(), text.as_str()));
                list_kernels(source, &text).map_err(|problems| {
                    let shown = problems
                        .iter()
                        .map(|problem| cerith_report::describe::to_problem(problem, &sources).rendered);
                    ToolError::Broken(shown.collect::<Vec<_>>().join("\n"))
                })
            });
        match kernels {
            Ok(kernels) => names.extend(kernels.iter().map(|kernel| format!("{file}:{kernel}"))),
            Err(error) if target.explicit => return Err(error),
            Err(_) => {}
        }
    }
    Ok(names)
}
