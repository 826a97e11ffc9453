//! Words of cases, kernels and exceptions made safe for where they are shown: a terminal, a table of Markdown, a command of
//! a GitHub workflow. The printers of HTML and XML escape their text themselves.
//!
//! A name may hold anything: escape sequences that move the cursor, marks that reverse the direction of text, a line break and
//! then `::error::`. Each such character is shown as its number.

use std::borrow::Cow;
use std::fmt::Write as _;

pub use cerith_tile::printable::escape_line;
use cerith_tile::printable::{is_unsafe, replace};
use serde_json::Value;

use crate::event::Event;

/// Text of several lines: line breaks and tabs stay, and no line is a command of a workflow.
pub fn escape_lines(text: &str) -> Cow<'_, str> {
    let text = escape_unsafe(text);
    if !text.contains("::") && !text.contains("##[") {
        return text;
    }
    Cow::Owned(disarm_commands(&text, "\\u{3a}", "\\u{23}"))
}

/// Writes the first character of each command of a workflow, `:` or `#`, as a number.
fn disarm_commands(text: &str, colon: &str, hash: &str) -> String {
    // GitHub takes a line for a command that begins with `::`, also after spaces, or has `##[` anywhere.
    let safe: Vec<Cow<'_, str>> = text
        .split('\n')
        .map(|line| {
            let command = line.trim_start();
            if command.starts_with("::") {
                let indent = &line[..line.len() - command.len()];
                Cow::Owned(format!("{indent}{colon}{}", &command[1..]))
            } else {
                Cow::Borrowed(line)
            }
        })
        .collect();
    safe.join("\n").replace("##[", &format!("#{hash}["))
}

/// The event with all its words made safe for text of several lines.
pub fn escape_event(event: &Event) -> Cow<'_, Event> {
    let Ok(told) = serde_json::to_string(event) else {
        return Cow::Borrowed(event);
    };
    // JSON writes control characters as numbers; very few events have any.
    let suspicious = ["\\u00", "\\b", "\\f", "\\r", "::", "##["];
    if !has_broken_name(event)
        && !suspicious.iter().any(|part| told.contains(part))
        && !told.contains(is_unsafe)
    {
        return Cow::Borrowed(event);
    }
    let safe = serde_json::from_str(&told).map(|mut value: Value| {
        make_safe(&mut value, false);
        value
    });
    match safe.and_then(serde_json::from_value) {
        Ok(event) => Cow::Owned(event),
        Err(_) => Cow::Borrowed(event),
    }
}

/// Whether a name has a line break. Texts of several lines have too, so that their absence cannot be seen in JSON.
fn has_broken_name(event: &Event) -> bool {
    let broken = |name: &str| name.contains('\n');
    match event {
        Event::Start(start) => [&start.engines, &start.filters, &start.recorded]
            .into_iter()
            .flatten()
            .chain([&start.corpus, &start.baseline])
            .any(|name| broken(name)),
        Event::Problem(problem) => problem.position.as_ref().is_some_and(|at| broken(&at.file)),
        Event::Verdict(verdict) | Event::Sweep(verdict) => {
            broken(&verdict.case)
                || verdict.position.as_ref().is_some_and(|at| broken(&at.file))
                || verdict.engines.iter().any(|name| broken(name))
                || (verdict.differences.iter()).any(|one| one.first.iter().any(|one| broken(&one.storage)))
                || (verdict.outcomes.values())
                    .filter_map(|outcome| outcome.position.as_ref())
                    .any(|at| broken(&at.file))
                || (verdict.exhibit.iter().flat_map(|exhibit| &exhibit.texts)).any(|text| broken(&text.file))
        }
        Event::Internal(internal) => internal
            .case
            .iter()
            .chain(&internal.engine)
            .any(|name| broken(name)),
        Event::Summary(_) => false,
    }
}

/// Fields of events that hold names, and not text of several lines.
const NAMES: [&str; 20] = [
    "baseline",
    "blame",
    "case",
    "code",
    "corpus",
    "engine",
    "engines",
    "explained",
    "file",
    "filters",
    "function",
    "kernel",
    "left_out",
    "name",
    "recorded",
    "silent",
    "stopped",
    "storage",
    "tensor",
    "unexpected",
];

fn make_safe(value: &mut Value, is_name: bool) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(safe) = if is_name {
                escape_line(text)
            } else {
                escape_lines(text)
            } {
                *text = safe;
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|value| make_safe(value, is_name)),
        Value::Object(entries) => {
            let taken = std::mem::take(entries);
            for (name, mut value) in taken {
                make_safe(&mut value, NAMES.contains(&name.as_str()));
                entries.insert(escape_line(&name).into_owned(), value);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Text for a terminal: control characters except line breaks and tabs, and marks that reorder or hide text, are written as JSON
/// escapes, so that JSON keeps its meaning. Colours stay where there are `colours`.
pub fn escape_screen(text: &str, colours: bool) -> Cow<'_, str> {
    let unwanted = |c| is_unsafe(c) && !matches!(c, '\n' | '\t');
    if !text.contains(unwanted) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find(unwanted) {
        let (before, after) = rest.split_at(at);
        safe.push_str(before);
        let colour = match_colour(after).filter(|_| colours);
        let taken = colour.unwrap_or_else(|| after.chars().next().map_or(0, char::len_utf8));
        let (taken, after) = after.split_at(taken);
        if colour.is_some() {
            safe.push_str(taken);
        } else {
            for unit in taken.encode_utf16() {
                let _ = write!(safe, "\\u{unit:04x}");
            }
        }
        rest = after;
    }
    safe.push_str(rest);
    Cow::Owned(safe)
}

/// Text for a terminal or the log of a workflow: [`escape_screen`], and no line is a command of a workflow. JSON keeps its meaning.
pub fn escape_log(text: &str, colours: bool) -> Cow<'_, str> {
    let text = escape_screen(text, colours);
    if !text.contains("::") && !text.contains("##[") {
        return text;
    }
    Cow::Owned(disarm_commands(&text, "\\u003a", "\\u0023"))
}

/// Whether [`escape_log`] leaves a line of JSON as it is; a quick test that most lines pass.
pub(crate) fn is_plain_json(line: &[u8]) -> bool {
    line.is_ascii()
        && !line.iter().any(|&byte| byte < b' ' || byte == 0x7f)
        && std::str::from_utf8(line).is_ok_and(|text| !text.contains("##["))
}

/// Bytes of the sequence that sets colours with which a text begins, if it does.
fn match_colour(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("\u{1b}[")?;
    let end = inner.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    inner[end..].starts_with('m').then_some(end + 3)
}

/// A whole page, made safe; its own text has none of the replaced characters.
pub fn escape_page(text: String) -> String {
    match escape_unsafe(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(safe) => safe,
    }
}

/// A cell of a Markdown table, with Markdown's special characters escaped.
pub fn escape_cell(text: &str) -> String {
    let mut cell = String::with_capacity(text.len());
    for c in escape_line(text).chars() {
        match c {
            '|' | '[' | ']' => {
                cell.push('\\');
                cell.push(c);
            }
            '<' => cell.push_str("&lt;"),
            '>' => cell.push_str("&gt;"),
            '&' => cell.push_str("&amp;"),
            '@' => cell.push_str("&#64;"),
            c => cell.push(c),
        }
    }
    cell
}

/// A path as a reference of a URI.
pub fn escape_uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

/// Code in a cell of a table of Markdown, with the marks around it.
pub fn escape_code(text: &str) -> String {
    format!("`{}`", escape_line(text).replace('`', "'").replace('|', "\\|"))
}

/// The message of a workflow's command. Source: GitHub's toolkit, `escapeData`.
pub fn escape_data(text: &str) -> String {
    // Its line breaks are written as numbers, so that nothing in it begins a line.
    let text = escape_unsafe(text);
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a workflow's command. Source: GitHub's toolkit, `escapeProperty`.
pub fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}

fn escape_unsafe(text: &str) -> Cow<'_, str> {
    replace(text, |c| is_unsafe(c) && !matches!(c, '\n' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_shows_colours_and_nothing_else_that_is_not_seen() {
        let check =
            |text: &str, colours: bool, expected: &str| assert_eq!(escape_screen(text, colours), expected);
        check("a\tb\n", false, "a\tb\n");
        check("\u{1b}[1;31mred\u{1b}[0m", true, "\u{1b}[1;31mred\u{1b}[0m");
        check("\u{1b}[31mred", false, "\\u001b[31mred");
        check(
            "\u{1b}[2J\u{1b}]0;x\u{7}\r",
            true,
            "\\u001b[2J\\u001b]0;x\\u0007\\u000d",
        );
        check(
            "\u{202e}\u{e0041}\u{9b}\u{1b}",
            true,
            "\\u202e\\udb40\\udc41\\u009b\\u001b",
        );
        let json = format!("{{\"a\":\"{}\"}}", '\u{e0041}');
        let read: Value = serde_json::from_str(&escape_screen(&json, false)).expect("JSON");
        assert_eq!(read["a"], "\u{e0041}");
    }

    #[test]
    fn what_moves_a_cursor_or_turns_text_around_is_shown_as_a_number() {
        assert_eq!(escape_line("alias/twice:dtype=f32"), "alias/twice:dtype=f32");
        assert_eq!(escape_line("a\u{1b}[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(escape_line("a\u{202e}b\nc"), "a\\u{202e}b\\u{a}c");
        assert_eq!(escape_lines("a\n\tb\rc"), "a\n\tb\\u{d}c");
        // XML has no way to write these.
        assert_eq!(escape_line("a\u{fffe}b\u{ffff}"), "a\\u{fffe}b\\u{ffff}");
    }

    #[test]
    fn no_line_is_a_command_of_a_workflow() {
        assert_eq!(
            escape_lines("a::b\n::error::x\n\t ::add-mask::y"),
            "a::b\n\\u{3a}:error::x\n\t \\u{3a}:add-mask::y"
        );
        assert_eq!(escape_lines("see ##[error]x"), "see #\\u{23}[error]x");
    }

    #[test]
    fn every_word_of_an_event_is_made_safe() {
        let hostile = "a\u{1b}[2J\n::error::\u{202e}b";
        let verdict = crate::event::Verdict {
            case: hostile.to_owned(),
            engines: vec![hostile.to_owned()],
            notes: vec![hostile.to_owned()],
            outcomes: [(hostile.to_owned(), crate::event::EngineOutcome::default())].into(),
            ..crate::event::Verdict::default()
        };
        let safe = escape_event(&Event::Verdict(Box::new(verdict))).into_owned();
        let Event::Verdict(safe) = safe else {
            panic!("another event")
        };
        let name = "a\\u{1b}[2J\\u{a}::error::\\u{202e}b";
        let words = "a\\u{1b}[2J\n\\u{3a}:error::\\u{202e}b";
        assert_eq!((safe.case.as_str(), safe.notes[0].as_str()), (name, words));
        assert_eq!(
            safe.outcomes.keys().next().map(String::as_str),
            Some("a\\u{1b}[2J\\u{a}::error::\\u{202e}b")
        );
        let harmless = Event::Verdict(Box::default());
        assert!(matches!(escape_event(&harmless), Cow::Borrowed(_)));
    }

    #[test]
    fn a_cell_stays_a_cell() {
        assert_eq!(escape_cell("a|b\n| c"), "a\\|b\\u{a}\\| c");
        assert_eq!(
            escape_cell("<img src=x> @team [x](y)"),
            "&lt;img src=x&gt; &#64;team \\[x\\](y)"
        );
    }

    #[test]
    fn code_stays_code() {
        assert_eq!(escape_code("a`b|c"), "`a'b\\|c`");
    }

    #[test]
    fn a_command_of_a_workflow_is_one_command() {
        assert_eq!(escape_data("50%\n::error::x"), "50%25%0A::error::x");
        assert_eq!(escape_property("a: b, c"), "a%3A b%2C c");
    }
}
