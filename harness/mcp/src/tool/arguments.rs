//! The arguments of tools: parsed from JSON, with schemas that say the same.

use std::path::{Path, PathBuf};

use cerith_check::target::{CheckTarget, find_targets};
use cerith_check::text::STDIN;
use cerith_runner::corpus::Selected;
use rmcp::model::JsonObject;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::confinement::find_path;

/// The most bytes of a kernel's text in a request.
pub const MAX_INLINE: usize = 1 << 20;

/// The most bytes of every other text in a request.
const MAX_WORD: usize = 4 << 10;

/// Parses the arguments of a tool.
///
/// # Errors
/// The message for the client.
pub fn parse_arguments<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, String> {
    let is_long = |(name, value): &(&String, &Value)| {
        let limit = if *name == "text" { MAX_INLINE } else { MAX_WORD };
        value.as_str().is_some_and(|text| text.len() > limit)
    };
    if let Some((name, _)) = arguments.iter().find(is_long) {
        let limit = if name == "text" { MAX_INLINE } else { MAX_WORD };
        return Err(format!(
            "error: `{name}` has more than {limit} bytes\n  = help: name a file with `path`"
        ));
    }
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| format!("error: bad arguments: {error}\n  = help: `tools/list` has their schema"))
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
/// The message for the client.
pub fn find_named(
    root: &Path,
    path: Option<&str>,
    text: Option<String>,
    kernel: Option<&str>,
) -> Result<NamedKernels, String> {
    let mut named = match (path, text) {
        (Some(path), None) => {
            let path = find_path(root, path).map_err(|error| format!("error: {error}"))?;
            if kernel.is_some() && path.is_dir() {
                return Err(format!(
                    "error: `kernel` names a kernel of a file, and {} is a folder\n  = help: name the file with `path`",
                    path.display()
                ));
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
        _ => {
            return Err(
                "error: name the kernels with either `path` or `text`\n  = help: `path` is a file or a folder, `text` is Python"
                    .to_owned(),
            );
        }
    };
    for target in &mut named.targets {
        if let Ok(short) = target.file.strip_prefix(".") {
            target.file = short.to_owned();
        }
    }
    // A case file names files too.
    for target in named.targets.iter().filter(|_| named.text.is_none()) {
        find_path(root, &target.file.to_string_lossy()).map_err(|error| format!("error: {error}"))?;
    }
    Ok(named)
}

/// Opens the corpus in a folder, `cases` by default, with the cases that a filter selects.
///
/// # Errors
/// The message for the client.
pub fn open_corpus(root: &Path, folder: Option<&str>, filter: Option<&str>) -> Result<Selected, String> {
    let folder = folder.unwrap_or("cases");
    let path = find_path(root, folder).map_err(|error| {
        format!("error: {error}\n  = help: `cases` names a folder with case files; `check` needs none")
    })?;
    let patterns: Vec<String> = filter.map(str::to_owned).into_iter().collect();
    let selected = Selected::open(Some(&path), &patterns).map_err(|error| error.to_string())?;
    let problems = selected.unmatched();
    if problems.is_empty() {
        return Ok(selected);
    }
    let all = selected.problems().into_iter().chain(problems);
    Err(all.map(|problem| problem.rendered).collect::<Vec<_>>().join("\n"))
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
        let message = parsed.map_or_else(|message| message, |_| String::new());
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
