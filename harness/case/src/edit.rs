//! Edits of `expect:` in a case file: lines are added and removed, and every other byte of the file stays. An edit is
//! read back before it is returned, and each new expectation must apply to exactly the cases that it was made for.
//!
//! Callers decide which expectations to write, and write the files.

use std::collections::HashSet;
use std::fmt::Write as _;

use cerith_tile::quirk::Quirk;
use cerith_tile::source::{SourceFile, SourceId};

use crate::case_file::CaseFile;
use crate::expectation::{OutcomeKind, VerdictKind};
use crate::matrix::{Point, evaluate_condition};
use crate::print::quote_yaml;
use crate::schema::Schema;
use crate::yaml::{self, Key, Node, Yaml};
use cerith_expression::Value;

/// Maximum number of cases that a condition lists by name.
const MAX_NAMED_CASES: usize = 24;

/// An expectation that is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewExpectation {
    /// The engine: `interpret`.
    pub engine: String,
    /// Its versions; empty for all, and for engines without any.
    pub versions: String,
    /// The verdict.
    pub verdict: Option<VerdictKind>,
    /// The engine's own outcome, if it does not finish.
    pub outcome: Option<OutcomeKind>,
    /// A part of its message.
    pub message: String,
    /// The known bugs that explain it.
    pub quirks: Vec<Quirk>,
    /// The reason, as text.
    pub reason: String,
    /// The ids of the cases that it applies to, all in this file.
    pub cases: HashSet<String>,
}

/// An edit cannot be made. Nothing is changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// `expect:` is not a list of lines.
    #[error(
        "`expect:` is not written as a list with a line for each expectation; write it so, and try again"
    )]
    Shape,
    /// There is no expectation in this line.
    #[error("there is no expectation in line {0}")]
    NoSuchLine(u32),
    /// No condition separates the cases from the others.
    #[error("no short condition (`when`) tells its cases from the others of the file; write it by hand")]
    NoCondition,
    /// The edited text would not have the intended effect.
    #[error("the result would be wrong ({0}); write it by hand")]
    Wrong(String),
}

impl CaseFile {
    /// Returns the file's text with other expectations: adds `new` ones after the existing ones, and removes those
    /// that begin in the lines `gone`, counted from 1.
    ///
    /// # Errors
    /// The text can't be edited; see [`EditError`].
    pub fn edit_expectations(
        &self,
        text: &str,
        new: &[NewExpectation],
        gone: &[u32],
    ) -> Result<String, EditError> {
        let points = self.points();
        let lines: Vec<String> = new
            .iter()
            .map(|one| {
                Ok(render_expectation(
                    one,
                    build_condition(&points, &one.cases)?.as_deref(),
                ))
            })
            .collect::<Result<_, _>>()?;
        let out = edit(text, &lines, gone)?;
        self.check(&out, new, gone.len())?;
        Ok(out)
    }

    /// The ids of the file's cases.
    pub fn case_ids(&self) -> impl Iterator<Item = String> {
        self.points().into_iter().map(|(id, _)| id)
    }

    /// Every point with the id of its case.
    fn points(&self) -> Vec<(String, Point)> {
        let matrix = &self.schema.matrix;
        (0..matrix.len())
            .filter_map(|number| matrix.build_point(number).ok()?)
            .map(|point| {
                let labels = point.labels.iter();
                let labels: Vec<String> = labels.map(|(name, label)| format!("{name}={label}")).collect();
                let id = if labels.is_empty() {
                    self.id.clone()
                } else {
                    format!("{}:{}", self.id, labels.join(","))
                };
                (id, point)
            })
            .collect()
    }

    /// Reads an edited text again.
    fn check(&self, text: &str, new: &[NewExpectation], gone: usize) -> Result<(), EditError> {
        let wrong = |why: &str| EditError::Wrong(why.to_owned());
        let mut problems = Vec::new();
        let file = SourceFile::new(self.path.clone(), text);
        let schema = Schema::parse(SourceId(0), &file, &mut problems);
        if let Some(problem) = problems.first() {
            return Err(wrong(&problem.message));
        }
        let schema = schema.ok_or_else(|| wrong("it is not a case file"))?;
        let kept = self.schema.expect.len() - gone.min(self.schema.expect.len());
        if schema.expect.len() != kept + new.len() {
            return Err(wrong("expectations are lost"));
        }
        for (written, meant) in schema.expect.iter().skip(kept).zip(new) {
            for (id, point) in self.points() {
                let speaks = match &written.condition {
                    None => true,
                    Some(when) => {
                        evaluate_condition(when, &point.names).map_err(|problem| wrong(&problem.message))?
                    }
                };
                if speaks != meant.cases.contains(&id) {
                    return Err(wrong(&format!("its condition is not right for `{id}`")));
                }
            }
        }
        Ok(())
    }
}

/// Renders an expectation as in a file, without the leading `- `.
fn render_expectation(new: &NewExpectation, when: Option<&str>) -> String {
    let mut line = format!("{{ engine: {}", quote_yaml(&new.engine));
    let mut field = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = write!(line, ", {name}: {value}");
        }
    };
    let text = |text: &str| (!text.is_empty()).then(|| quote_yaml(text));
    field("versions", text(&new.versions));
    field("when", when.map(quote_yaml));
    field("verdict", new.verdict.map(|verdict| verdict.name().to_owned()));
    field("outcome", new.outcome.map(|outcome| outcome.name().to_owned()));
    field("message", text(&new.message));
    let quirks: Vec<&str> = new.quirks.iter().map(|quirk| quirk.name()).collect();
    field(
        "quirk",
        match quirks[..] {
            [] => None,
            [one] => Some(one.to_owned()),
            _ => Some(format!("[{}]", quirks.join(", "))),
        },
    );
    field("why", text(&new.reason));
    line.push_str(" }");
    line
}

/// Finds a condition that holds for exactly these cases of a file; `None` if they are all of its cases.
fn build_condition(points: &[(String, Point)], cases: &HashSet<String>) -> Result<Option<String>, EditError> {
    let meant: Vec<&Point> = points
        .iter()
        .filter(|(id, _)| cases.contains(id))
        .map(|(_, point)| point)
        .collect();
    if meant.len() == points.len() {
        return Ok(None);
    }
    let others = || points.iter().filter(|(id, _)| !cases.contains(id));
    let variables: Vec<&String> =
        meant
            .iter()
            .flat_map(|point| point.names.keys())
            .fold(Vec::new(), |mut known, name| {
                if !known.contains(&name) {
                    known.push(name);
                }
                known
            });
    for name in &variables {
        let mut values: Vec<String> = Vec::new();
        let all = meant.iter().all(|point| {
            let value = point.names.get(*name).and_then(render_literal);
            if let Some(value) = value.clone().filter(|value| !values.contains(value)) {
                values.push(value);
            }
            value.is_some()
        });
        let apart = || {
            others().all(|(_, point)| {
                let value = point.names.get(*name).and_then(render_literal);
                value.is_some_and(|value| !values.contains(&value))
            })
        };
        if all && values.len() <= MAX_NAMED_CASES && apart() {
            return Ok(Some(match &values[..] {
                [one] => format!("{name} == {one}"),
                _ => format!("{name} in ({})", values.join(", ")),
            }));
        }
    }
    if meant.len() > MAX_NAMED_CASES || meant.is_empty() {
        return Err(EditError::NoCondition);
    }
    let each: Vec<String> = meant
        .iter()
        .map(|point| {
            let parts: Option<Vec<String>> = point
                .names
                .iter()
                .map(|(name, value)| Some(format!("{name} == {}", render_literal(value)?)))
                .collect();
            parts
                .map(|parts| parts.join(" and "))
                .ok_or(EditError::NoCondition)
        })
        .collect::<Result<_, _>>()?;
    Ok(Some(match &each[..] {
        [one] => one.clone(),
        _ => format!("({})", each.join(") or (")),
    }))
}

/// Renders a value as an expression, if it can be compared.
fn render_literal(value: &Value) -> Option<String> {
    match value {
        Value::None | Value::Bool(_) | Value::Int(_) => Some(value.to_string()),
        Value::Str(text) if !text.contains(['\'', '\\']) && !text.contains(char::is_control) => {
            Some(format!("'{text}'"))
        }
        Value::List(items) => {
            let items: Option<Vec<String>> = items.iter().map(render_literal).collect();
            Some(format!("[{}]", items?.join(", ")))
        }
        _ => None,
    }
}

/// The text with lines more and lines less.
fn edit(text: &str, new: &[String], gone: &[u32]) -> Result<String, EditError> {
    let root = yaml::parse(SourceId(0), text).map_err(|problem| EditError::Wrong(problem.message))?;
    let Yaml::Map(pairs) = &root.value else {
        return Err(EditError::Shape);
    };
    if text
        .get(root.span.start as usize..)
        .is_some_and(|rest| rest.starts_with('{'))
    {
        return Err(EditError::Shape);
    }
    let there = pairs.iter().find(|(key, _)| key.name == "expect");
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut cuts: Vec<(usize, usize)> = Vec::new();
    let mut indent = "  ".to_owned();
    // The offset of the new lines, and whether the key must be written first.
    let (at, key) = match there {
        None => (text.len(), true),
        Some((key, node)) => match &node.value {
            Yaml::Null => (line_end(text, key.span.end as usize), false),
            Yaml::Seq(items) if !items.is_empty() => {
                for (nth, item) in items.iter().enumerate() {
                    let (start, before) = item_start(text, item)?;
                    if nth == 0 {
                        indent = before;
                    }
                    if gone.contains(&line_number(text, start)) {
                        cuts.push((start, line_end(text, node_end(text, item))));
                    }
                }
                if cuts.len() == items.len() && new.is_empty() {
                    cuts.push(key_line(text, key)?);
                }
                let last = items.last().map_or(0, |item| node_end(text, item));
                (line_end(text, last), false)
            }
            _ => return Err(EditError::Shape),
        },
    };
    if let Some(missing) = gone
        .iter()
        .find(|line| !cuts.iter().any(|&(start, _)| line_number(text, start) == **line))
    {
        return Err(EditError::NoSuchLine(*missing));
    }
    let mut added = String::new();
    if !new.is_empty() {
        let before = text.get(..at).unwrap_or_default();
        if !before.is_empty() && !before.ends_with('\n') {
            added.push_str(end);
        }
        if key {
            added.push_str("expect:");
            added.push_str(end);
        }
        for line in new {
            let _ = write!(added, "{indent}- {line}{end}");
        }
    }
    // New lines are a cut of nothing, with something in its place.
    let mut parts: Vec<(usize, usize, &str)> = cuts.iter().map(|&(start, stop)| (start, stop, "")).collect();
    parts.push((at, at, &added));
    parts.sort_unstable();
    let mut out = String::with_capacity(text.len() + added.len());
    let mut from = 0;
    for (start, stop, instead) in parts {
        out.push_str(text.get(from..start).unwrap_or_default());
        out.push_str(instead);
        from = stop;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    Ok(out)
}

/// The start of an item's line, and the text before its dash.
fn item_start(text: &str, item: &Node) -> Result<(usize, String), EditError> {
    let at = item.span.start as usize;
    let start = line_start(text, at);
    let before = text.get(start..at).unwrap_or_default();
    let indent = before.trim_start_matches(' ');
    match indent.strip_prefix('-') {
        Some(rest) if rest.trim().is_empty() => Ok((start, " ".repeat(before.len() - indent.len()))),
        _ => Err(EditError::Shape),
    }
}

/// The line of a key that has nothing else in it.
fn key_line(text: &str, key: &Key) -> Result<(usize, usize), EditError> {
    let (start, end) = (
        line_start(text, key.span.start as usize),
        line_end(text, key.span.end as usize),
    );
    let line = text.get(start..end).unwrap_or_default().trim();
    if line == "expect:" {
        Ok((start, end))
    } else {
        Err(EditError::Shape)
    }
}

/// The end of the last word of a node. The parser ends a block at the start of the next node, after any comments.
fn node_end(text: &str, node: &Node) -> usize {
    let flow = text
        .get(node.span.start as usize..)
        .is_some_and(|rest| rest.starts_with(['{', '[']));
    let last = match &node.value {
        _ if flow => None,
        Yaml::Seq(items) => items.last(),
        Yaml::Map(pairs) => pairs.last().map(|(_, value)| value),
        _ => None,
    };
    // Nesting is bounded by the reader.
    last.map_or(node.span.end as usize, |last| node_end(text, last))
}

fn line_start(text: &str, at: usize) -> usize {
    text.get(..at)
        .and_then(|before| before.rfind('\n'))
        .map_or(0, |end| end + 1)
}

/// Behind the line break of the line that has this byte.
fn line_end(text: &str, at: usize) -> usize {
    text.get(at..)
        .and_then(|rest| rest.find('\n'))
        .map_or(text.len(), |end| at + end + 1)
}

fn line_number(text: &str, start: usize) -> u32 {
    let before = text.get(..start).unwrap_or_default();
    before.matches('\n').count() as u32 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, new: &[&str], gone: &[u32], expected: &str) {
        let new: Vec<String> = new.iter().map(|&line| line.to_owned()).collect();
        assert_eq!(edit(text, &new, gone).as_deref(), Ok(expected), "{text}");
    }

    const FILE: &str = "# head\nabout: x  # why\nexpect:\n    # of a\n    - { a: 1 } # one\n\n    - b: 2\n      c: 3\n# tail\nlaunches: []\n";

    #[test]
    fn lines_come_and_go_and_all_else_stays() {
        check(
            "about: x",
            &["{ n: 1 }"],
            &[],
            "about: x\nexpect:\n  - { n: 1 }\n",
        );
        check(
            "about: x\r\n",
            &["{ n: 1 }"],
            &[],
            "about: x\r\nexpect:\r\n  - { n: 1 }\r\n",
        );
        check(
            "expect: # none\nabout: x\n",
            &["{ n: 1 }"],
            &[],
            "expect: # none\n  - { n: 1 }\nabout: x\n",
        );
        check(
            "expect:\n- { a: 1 }\nabout: x\n",
            &["{ n: 1 }"],
            &[],
            "expect:\n- { a: 1 }\n- { n: 1 }\nabout: x\n",
        );
        check(
            FILE,
            &["{ n: 1 }"],
            &[],
            &FILE.replace("c: 3\n", "c: 3\n    - { n: 1 }\n"),
        );
        check(FILE, &[], &[5], &FILE.replace("    - { a: 1 } # one\n", ""));
        check(FILE, &[], &[7], &FILE.replace("    - b: 2\n      c: 3\n", ""));
        check(
            FILE,
            &["{ n: 1 }"],
            &[7],
            &FILE.replace("    - b: 2\n      c: 3\n", "    - { n: 1 }\n"),
        );
        check(
            FILE,
            &[],
            &[5, 7],
            "# head\nabout: x  # why\n    # of a\n\n# tail\nlaunches: []\n",
        );
        check("expect:\n  - { a: 1 }", &[], &[2], "");
        check(
            "expect:\n  - { a: 'é' }",
            &["{ n: 1 }"],
            &[],
            "expect:\n  - { a: 'é' }\n  - { n: 1 }\n",
        );
    }

    #[test]
    fn what_is_written_otherwise_is_refused() {
        let check = |text: &str, gone: &[u32], expected: &EditError| {
            let new = if gone.is_empty() {
                vec!["{ n: 1 }".to_owned()]
            } else {
                Vec::new()
            };
            assert_eq!(edit(text, &new, gone).as_ref(), Err(expected), "{text}");
        };
        check("expect: [{ a: 1 }]\n", &[], &EditError::Shape);
        check("expect: [\n  { a: 1 },\n]\n", &[], &EditError::Shape);
        check("{ about: x }\n", &[], &EditError::Shape);
        check("expect: text\n", &[], &EditError::Shape);
        check("expect: # all\n  - { a: 1 }\n", &[2], &EditError::Shape);
        check("expect:\n  - { a: 1 }\n", &[1], &EditError::NoSuchLine(1));
    }
}
