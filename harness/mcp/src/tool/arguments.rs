//! The arguments of tools: parsed from JSON, with schemas that say the same.

use std::path::{Path, PathBuf};

use cerith_check::target::{CheckTarget, find_targets};
use cerith_check::text::STDIN;
use cerith_runner::corpus::Selected;
use rmcp::model::JsonObject;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::error::{Choice, ToolError};
use crate::confinement::find_path;

/// The maximum number of bytes of a kernel's text in a request.
pub const MAX_INLINE: usize = 1 << 20;

/// The maximum number of bytes of every other text in a request.
const MAX_WORD: usize = 4 << 10;

/// Parses the arguments of a tool.
///
/// # Errors
/// An argument is long, or does not fit the schema.
pub fn parse_arguments<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, ToolError> {
    let is_long = |(name, value): &(&String, &Value)| {
        let limit = if *name == "text" { MAX_INLINE } else { MAX_WORD };
        value.as_str().is_some_and(|text| text.len() > limit)
    };
    if let Some((name, _)) = arguments.iter().find(is_long) {
        let limit = if name == "text" { MAX_INLINE } else { MAX_WORD };
        return Err(ToolError::LongArgument {
            name: name.clone(),
            limit,
        });
    }
    serde_json::from_value(Value::Object(arguments)).map_err(ToolError::BadArguments)
}

/// The schema of an object with these properties, and no others.
pub fn build_schema(properties: &Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// The kernels that a request names: those of a file or folder, or of a text.
pub struct NamedKernels {
    /// The files.
    pub targets: Vec<CheckTarget>,
    /// The text, in place of a file's.
    pub text: Option<String>,
}

/// Finds the kernels that a request names.
///
/// # Errors
/// No file or several are named, or the file may not be named.
pub fn find_named(
    root: &Path,
    path: Option<&str>,
    text: Option<String>,
    kernel: Option<&str>,
) -> Result<NamedKernels, ToolError> {
    let mut named = match (path, text) {
        (Some(path), None) => {
            let path = find_path(root, path)?;
            if kernel.is_some() && path.is_dir() {
                return Err(ToolError::Folder(path));
            }
            let name = match kernel {
                Some(kernel) => format!("{}:{kernel}", path.display()),
                None => path.display().to_string(),
            };
            NamedKernels {
                targets: find_targets(&[name])?,
                text: None,
            }
        }
        (None, Some(text)) => NamedKernels {
            targets: vec![CheckTarget {
                file: PathBuf::from(STDIN),
                kernels: kernel.map(str::to_owned).into_iter().collect(),
                explicit: true,
            }],
            text: Some(text),
        },
        _ => return Err(ToolError::Choice(Choice::Kernels)),
    };
    for target in &mut named.targets {
        if let Ok(short) = target.file.strip_prefix(".") {
            target.file = short.to_owned();
        }
    }
    // A case file names files too.
    for target in named.targets.iter().filter(|_| named.text.is_none()) {
        find_path(root, &target.file.to_string_lossy())?;
    }
    Ok(named)
}

/// Opens the corpus in a folder, `cases` by default, with the cases that a filter selects.
///
/// # Errors
/// The folder may not be named, or is not a corpus, or the filter selects no case.
pub fn open_corpus(root: &Path, folder: Option<&str>, filter: Option<&str>) -> Result<Selected, ToolError> {
    let folder = folder.unwrap_or("cases");
    let path = find_path(root, folder).map_err(ToolError::CorpusPath)?;
    let patterns: Vec<String> = filter.map(str::to_owned).into_iter().collect();
    let selected = Selected::open(Some(&path), &patterns)?;
    let problems = selected.unmatched();
    if problems.is_empty() {
        return Ok(selected);
    }
    let all = selected.problems().into_iter().chain(problems);
    let shown: Vec<String> = all.map(|problem| problem.rendered).collect();
    Err(ToolError::Broken(shown.join("\n")))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Arguments {
        #[serde(rename = "text")]
        _text: Option<String>,
        #[serde(rename = "path")]
        _path: Option<String>,
    }

    #[track_caller]
    fn check(arguments: &Value, expected: &str) {
        let object = arguments.as_object().expect("an object").clone();
        let parsed = parse_arguments::<Arguments>(object);
        let message = parsed.map_or_else(|error| error.to_string(), |_| String::new());
        assert_eq!(message.lines().next().unwrap_or_default(), expected);
    }

    #[test]
    fn bad_arguments_have_a_message() {
        check(&json!({}), "");
        check(&json!({"text": "x".repeat(MAX_INLINE)}), "");
        check(
            &json!({"text": "x".repeat(MAX_INLINE + 1)}),
            "error: `text` has more than 1048576 bytes",
        );
        check(
            &json!({"path": "x".repeat(MAX_WORD + 1)}),
            "error: `path` has more than 4096 bytes",
        );
        check(
            &json!({"file": "k.py"}),
            "error: bad arguments: unknown field `file`, expected `text` or `path`",
        );
        check(
            &json!({"path": 3}),
            "error: bad arguments: invalid type: integer `3`, expected a string",
        );
    }
}
