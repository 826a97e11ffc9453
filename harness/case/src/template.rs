//! Text with `{…}` in it, and the expressions that such text may be.
//!
//! `{…}` holds an expression over the matrix variables; its value takes its place: text as it is, everything else as
//! Python would print it. `{{` and `}}` are braces. The expanded text is read as if it had been written there.
//!
//! See [`crate::expr`] for the meaning of expressions.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use cerith_memory::Storages;
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::Span;

use crate::yaml::{Node, Yaml};
use cerith_expression::{ExprError, Expression, Names, Value};
use cerith_python::nearest::{find_nearest, suggest_spelling};

/// Text with placeholders.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    /// The location of the text.
    pub span: Span,
    text_at: Option<u32>,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Hole {
        expression: Expression,
        span: Span,
        text_at: Option<u32>,
    },
}

impl Template {
    /// Reads text at `span`. `text_at` is the offset of its first byte, if the file has the text unescaped.
    pub fn parse(text: &str, span: Span, text_at: Option<u32>) -> Result<Self, Diagnostic> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let place = |range: Range<usize>| locate_part(span, text_at, range);
        let mut rest = 0;
        while let Some(found) = text[rest..].find(['{', '}']) {
            let at = rest + found;
            plain.push_str(&text[rest..at]);
            let brace = &text[at..=at];
            if text[at + 1..].starts_with(brace) {
                plain.push_str(brace);
                rest = at + 2;
                continue;
            }
            let Some(len) = text[at + 1..].find('}').filter(|_| brace == "{") else {
                return Err(Diagnostic::error(
                    "bad-placeholder",
                    place(at..at + 1),
                    format!("`{brace}` without its other half"),
                )
                .help("write a matrix variable as `{name}`, and a brace as `{{` or `}}`"));
            };
            let inner = at + 1..at + 1 + len;
            let hole = place(inner.clone());
            let expression = Expression::parse(&text[inner.clone()]).map_err(|error| {
                to_diagnostic(
                    "bad-placeholder",
                    &error,
                    hole,
                    text_at.map(|at| at + inner.start as u32),
                    None,
                )
            })?;
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(Piece::Hole {
                expression,
                span: hole,
                text_at: text_at.map(|at| at + inner.start as u32),
            });
            rest = inner.end + 1;
        }
        plain.push_str(&text[rest..]);
        if !plain.is_empty() || pieces.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        // Doubled braces make the text shorter than it is in the file.
        let as_it_is = text_at.filter(|_| !text.contains("{{") && !text.contains("}}"));
        Ok(Self {
            span,
            text_at: as_it_is,
            pieces,
        })
    }

    /// The text, when it is the same at every point.
    pub fn constant(&self) -> Option<&str> {
        match &self.pieces[..] {
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The text at a point.
    pub fn render(&self, names: &Names) -> Result<Cow<'_, str>, Diagnostic> {
        if let Some(text) = self.constant() {
            return Ok(Cow::Borrowed(text));
        }
        let mut out = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Hole {
                    expression,
                    span,
                    text_at: at,
                } => {
                    check_names(expression, names, *span, *at, None, "matrix variable")?;
                    let value = expression
                        .evaluate(names, &mut Storages::new())
                        .map_err(|error| to_diagnostic("bad-placeholder", &error, *span, *at, None))?;
                    write_value(&mut out, &value);
                }
            }
        }
        Ok(Cow::Owned(out))
    }
}

/// A value as text: a string as it is, everything else as Python prints it.
pub(crate) fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Str(text) => out.push_str(text),
        other => out.push_str(&other.to_string()),
    }
}

/// A value of the file: a constant, an expression (perhaps with placeholders), or a list of values.
#[derive(Clone, Debug)]
pub(crate) enum ValueTemplate {
    Constant(Value, Span),
    /// Parsed once, the same at every point.
    Expression(Expression, Template),
    /// Parsed at every point.
    Text(Template),
    List(Vec<ValueTemplate>, Span),
}

impl ValueTemplate {
    /// Reads a node; every problem in it goes to `problems`.
    pub fn parse(node: &Node, problems: &mut Vec<Diagnostic>) -> Option<Self> {
        let span = node.span;
        Some(match &node.value {
            Yaml::Null => Self::Constant(Value::None, span),
            Yaml::Bool(value) => Self::Constant(Value::Bool(*value), span),
            Yaml::Int(value) => Self::Constant(Value::Int(*value), span),
            Yaml::Float(value) => Self::Constant(Value::Float(*value), span),
            Yaml::Str(text) => match Self::parse_text(text, span, node.text_at) {
                Ok(value) => value,
                Err(problem) => {
                    problems.push(problem);
                    return None;
                }
            },
            Yaml::Seq(items) => {
                let read: Vec<_> = items
                    .iter()
                    .filter_map(|item| Self::parse(item, problems))
                    .collect();
                if read.len() < items.len() {
                    return None;
                }
                Self::List(read, span)
            }
            Yaml::Map(_) => {
                problems.push(
                    Diagnostic::error("wrong-type", span, "a mapping where a value belongs")
                        .help("write a number, an expression or a list; text is an expression, so quote it twice: \"'relu'\""),
                );
                return None;
            }
        })
    }

    /// Reads an expression.
    pub fn parse_text(text: &str, span: Span, text_at: Option<u32>) -> Result<Self, Diagnostic> {
        let template = Template::parse(text, span, text_at)?;
        let Some(constant) = template.constant() else {
            return Ok(Self::Text(template));
        };
        let expression = Expression::parse(constant)
            .map_err(|error| to_diagnostic("bad-expression", &error, span, template.text_at, None))?;
        Ok(Self::Expression(expression, template))
    }

    /// Its location.
    pub fn span(&self) -> Span {
        match self {
            Self::Constant(_, span) | Self::List(_, span) => *span,
            Self::Expression(_, template) | Self::Text(template) => template.span,
        }
    }

    /// The value at a point. Expressions that copy tensors add to `storages`.
    pub fn evaluate(&self, names: &Names, storages: &mut Storages) -> Result<Value, Diagnostic> {
        match self {
            Self::Constant(value, _) => Ok(value.clone()),
            Self::Expression(expression, template) => {
                evaluate(expression, names, storages, template.span, template.text_at, None)
            }
            Self::Text(template) => {
                let text = template.render(names)?;
                let expression = Expression::parse(&text).map_err(|error| {
                    to_diagnostic("bad-expression", &error, template.span, None, Some(&text))
                })?;
                evaluate(&expression, names, storages, template.span, None, Some(&text))
            }
            Self::List(items, _) => items
                .iter()
                .map(|item| item.evaluate(names, storages))
                .collect::<Result<_, _>>()
                .map(Value::List),
        }
    }

    /// Renders the text of an expression at a point. Values other than text appear as Python prints them.
    pub fn render_text(&self, names: &Names) -> Result<String, Diagnostic> {
        Ok(match self {
            Self::Constant(value, _) => value.to_string(),
            Self::Expression(expression, _) => expression.text().to_owned(),
            Self::Text(template) => template.render(names)?.into_owned(),
            Self::List(items, _) => {
                let items: Vec<_> = items
                    .iter()
                    .map(|item| item.render_text(names))
                    .collect::<Result<_, _>>()?;
                format!("[{}]", items.join(", "))
            }
        })
    }

    /// Whether every name that it takes from outside is there.
    pub fn is_known(&self, names: &Names) -> bool {
        self.all_names(names, &mut |name| names.contains_key(name))
    }

    /// Whether it takes any of these names from outside.
    pub fn mentions_any(&self, names: &Names, wanted: &HashSet<String>) -> bool {
        !wanted.is_empty() && !self.all_names(names, &mut |name| !wanted.contains(name))
    }

    /// Whether every outside name that it uses passes the test. Text that is not an expression at this point uses no
    /// names.
    fn all_names(&self, names: &Names, test: &mut dyn FnMut(&str) -> bool) -> bool {
        match self {
            Self::Constant(..) => true,
            Self::Expression(expression, _) => expression.free_names().iter().all(|(name, _)| test(name)),
            Self::Text(template) => template
                .render(names)
                .ok()
                .and_then(|text| Expression::parse(&text).ok())
                .is_none_or(|expression| expression.free_names().iter().all(|(name, _)| test(name))),
            Self::List(items, _) => items.iter().all(|item| item.all_names(names, test)),
        }
    }
}

fn evaluate(
    expression: &Expression,
    names: &Names,
    storages: &mut Storages,
    span: Span,
    text_at: Option<u32>,
    substituted: Option<&str>,
) -> Result<Value, Diagnostic> {
    check_names(
        expression,
        names,
        span,
        text_at,
        substituted,
        "tensor or matrix variable",
    )?;
    expression.evaluate(names, storages).map_err(|error| {
        let mut problem = to_diagnostic("bad-expression", &error, span, text_at, substituted);
        let mut told: Vec<String> = Vec::new();
        for (name, _) in expression.free_names() {
            if let Some(Value::Tensor(tensor)) = names.get(&name)
                && !told.contains(&name)
            {
                problem = problem.note(format!(
                    "`{name}` has dtype {}, shape {:?}, strides {:?} and offset {}",
                    tensor.dtype,
                    &tensor.shape[..],
                    &tensor.strides[..],
                    tensor.offset
                ));
                told.push(name);
            }
        }
        if problem.help.is_none() {
            let help = if told.is_empty() {
                "write an expression that has a value at every point of the matrix"
            } else {
                "choose sizes, indices and offsets that fit the tensors noted here, at every point of the matrix"
            };
            problem = problem.help(help);
        }
        problem
    })
}

/// An error at the first name that is not there.
fn check_names(
    expression: &Expression,
    names: &Names,
    span: Span,
    text_at: Option<u32>,
    substituted: Option<&str>,
    what: &str,
) -> Result<(), Diagnostic> {
    let Some((name, range)) = expression
        .free_names()
        .into_iter()
        .find(|(name, _)| !names.contains_key(name))
    else {
        return Ok(());
    };
    let mut diagnostic = Diagnostic::error(
        "unknown-name",
        locate_part(span, text_at, range),
        format!("unknown {what} `{name}`"),
    );
    diagnostic.help = suggest_spelling(&name, names.keys().map(String::as_str))
        .or_else(|| Some("define it under `storages`, `tensors` or `matrix`".to_owned()));
    if let Some(text) = substituted {
        diagnostic = diagnostic.note(format!("the text is `{text}` at this point of the matrix"));
    }
    if expression.text().trim() == name && find_nearest(&name, names.keys().map(String::as_str)).is_none() {
        diagnostic = diagnostic.note(format!(
            "text is an expression; a string is quoted twice: `\"'{name}'\"`"
        ));
    }
    Err(diagnostic)
}

fn to_diagnostic(
    code: &'static str,
    error: &ExprError,
    span: Span,
    text_at: Option<u32>,
    substituted: Option<&str>,
) -> Diagnostic {
    let mut diagnostic = Diagnostic::error(
        code,
        locate_part(span, text_at, error.range.clone()),
        error.message.clone(),
    );
    diagnostic.help.clone_from(&error.help);
    if let Some(text) = substituted {
        diagnostic = diagnostic.note(format!("the text is `{text}` at this point of the matrix"));
    }
    diagnostic
}

/// The span of a part of a text, or of the whole text if the file has it escaped.
fn locate_part(span: Span, text_at: Option<u32>, range: Range<usize>) -> Span {
    let Some(at) = text_at else { return span };
    let byte = |offset: usize| {
        at.saturating_add(u32::try_from(offset).unwrap_or(u32::MAX))
            .clamp(span.start, span.end)
    };
    let (start, end) = (byte(range.start), byte(range.end));
    Span {
        start,
        end: end.max(start),
        ..span
    }
}
