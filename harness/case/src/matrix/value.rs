//! Values of a matrix, and their names in ids and expressions. See [`super::Matrix`] for points.

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::Span;

use crate::template::write_value;
use crate::yaml::{Key, Node, Yaml};
use cerith_expression::{Value, is_reserved};

/// A value that a variable takes.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    /// How ids write it.
    pub(super) label: String,
    pub(super) value: Value,
    /// Further variables that are bound with it.
    pub(super) fields: Vec<(String, Value)>,
    pub(super) span: Span,
}

/// Equality of matrix values, floats bit for bit.
pub(super) fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b)),
        _ => a == b,
    }
}

/// Values of a variable given as a mapping of names to values. A value that is a mapping itself binds its keys.
pub(super) fn named_values(pairs: &[(Key, Node)], problems: &mut Vec<Diagnostic>) -> Vec<Setting> {
    let mut values: Vec<Setting> = Vec::with_capacity(pairs.len());
    for (name, node) in pairs {
        if !is_label(&name.name) {
            problems.push(
                Diagnostic::error(
                    "bad-name",
                    name.span,
                    format!("`{}` cannot be part of a case's id", name.name),
                )
                .help(LABEL_HELP),
            );
            continue;
        }
        let mut fields = Vec::new();
        let value = if let Yaml::Map(pairs) = &node.value {
            for (field, node) in pairs {
                match check_identifier(field, "matrix variable") {
                    Ok(()) => {
                        fields.extend(parse_literal(node, problems).map(|value| (field.name.clone(), value)));
                    }
                    Err(problem) => problems.push(problem),
                }
            }
            Some(Value::Str(name.name.clone()))
        } else {
            parse_literal(node, problems)
        };
        if let Some(first) = values.first() {
            let keys = |fields: &[(String, Value)]| {
                let mut keys: Vec<_> = fields.iter().map(|(name, _)| name.clone()).collect();
                keys.sort();
                keys
            };
            if keys(&first.fields) != keys(&fields) {
                problems.push(
                    Diagnostic::error(
                        "missing-key",
                        node.span,
                        "values that do not bind the same variables",
                    )
                    .help("give every value of a variable the same keys"),
                );
                continue;
            }
        }
        values.extend(value.map(|value| Setting {
            label: name.name.clone(),
            value,
            fields,
            span: name.span,
        }));
    }
    values
}

/// A value of a matrix: no expression, text is text.
pub(super) fn parse_literal(node: &Node, problems: &mut Vec<Diagnostic>) -> Option<Value> {
    Some(match &node.value {
        Yaml::Null => Value::None,
        Yaml::Bool(value) => Value::Bool(*value),
        Yaml::Int(value) => Value::Int(*value),
        Yaml::Float(value) => Value::Float(*value),
        Yaml::Str(text) => Value::Str(text.clone()),
        Yaml::Seq(items) => {
            let read: Vec<_> = items
                .iter()
                .filter_map(|item| parse_literal(item, problems))
                .collect();
            if read.len() < items.len() {
                return None;
            }
            Value::List(read)
        }
        Yaml::Map(_) => {
            problems.push(
                Diagnostic::error("wrong-type", node.span, "a mapping as a matrix value")
                    .help("name the values: `variable: { name: { key: value }, … }`"),
            );
            return None;
        }
    })
}

/// How an id writes a value: `f16`, `-3`, `4x6`, `f32+float32`. `None` when nothing readable would be left.
pub(super) fn label(value: &Value) -> Option<String> {
    match value {
        Value::None => Some("none".to_owned()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Str(text) => to_slug(text),
        // Recorded ids keep their first notation of floats, which is not always Python's.
        Value::Float(value) if !value.is_nan() => Some(format!("{value:?}")),
        Value::List(items) if items.is_empty() => Some("empty".to_owned()),
        Value::List(items) => {
            let labels: Vec<_> = items.iter().map(label).collect::<Option<_>>()?;
            let separator = if items.iter().any(|item| matches!(item, Value::List(_))) {
                "_"
            } else if items.iter().all(|item| matches!(item, Value::Int(_))) {
                "x"
            } else {
                "+"
            };
            Some(labels.join(separator))
        }
        other => {
            let mut text = String::new();
            write_value(&mut text, other);
            Some(text)
        }
    }
}

/// Text with everything that an id has no room for as `_`: `base.view(8, 6)` is `base.view_8_6`.
fn to_slug(text: &str) -> Option<String> {
    let mut slug = String::with_capacity(text.len());
    for c in text.chars() {
        if is_label(c.encode_utf8(&mut [0; 4])) {
            slug.push(c);
        } else if !slug.ends_with('_') {
            slug.push('_');
        }
    }
    let slug = if is_label(text) {
        text
    } else {
        slug.trim_matches('_')
    };
    is_label(slug).then(|| slug.to_owned())
}

fn is_label(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+' | '-' | '@' | '%' | '^'))
}

const LABEL_HELP: &str = "use letters, digits and `_ . + - @ % ^`";

pub(super) fn reject_label(variable: &str, value: &Value, span: Span) -> Diagnostic {
    Diagnostic::error("bad-name", span, format!("{value} cannot be part of a case's id")).help(format!(
        "give the values names: `{variable}: {{ some_name: …, other_name: … }}`"
    ))
}

/// Whether a variable, a storage or a tensor may have this name: letters, digits and `_`, but neither a keyword of
/// Python nor a reserved name of expressions.
pub fn is_name(name: &str) -> bool {
    is_python_name(name) && !is_reserved(name)
}

/// Whether something in Python may have this name: letters, digits and `_`, and no keyword.
pub(crate) fn is_python_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !KEYWORDS.contains(&name)
}

/// Whether a key can be a name in expressions.
pub(crate) fn check_identifier(key: &Key, what: &str) -> Result<(), Diagnostic> {
    let mut chars = key.name.chars();
    let first = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if !first || !chars.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(Diagnostic::error(
            "bad-name",
            key.span,
            format!("`{}` is not a name for a {what}", key.name),
        )
        .help("use letters, digits and `_`, beginning with a letter"));
    }
    if KEYWORDS.contains(&key.name.as_str()) || is_reserved(&key.name) {
        return Err(Diagnostic::error(
            "bad-name",
            key.span,
            format!("`{}` has a meaning of its own in expressions", key.name),
        )
        .help("take another name"));
    }
    Ok(())
}

/// Python's keywords.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];
