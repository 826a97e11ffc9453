//! Reads lines of bounded length, and finds the id of a message that is too long to keep.

use std::io::{self, BufRead, Read};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// The maximum number of bytes of a message.
pub const MAX_MESSAGE: usize = 4 << 20;

/// The number of bytes that are searched for the id of a message that is too long.
const MAX_SCANNED: u64 = 64 << 20;

/// One line of the input.
#[derive(Debug, PartialEq)]
pub enum Line {
    /// A line, without its end.
    Whole(Vec<u8>),
    /// A line that is too long, and the id of its request, if it was found.
    TooLong(Option<Value>),
}

/// Reads a line. `None` at the end of the input.
pub fn read_line(input: &mut impl BufRead) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    input
        .by_ref()
        .take(MAX_MESSAGE as u64 + 1)
        .read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(Some(Line::Whole(line)));
    }
    if line.len() <= MAX_MESSAGE {
        return Ok(Some(Line::Whole(line)));
    }
    let mut rest = RestOfLine {
        input,
        has_ended: false,
    };
    let scanned = io::Cursor::new(line).chain(&mut rest).take(MAX_SCANNED);
    let id = serde_json::from_reader::<_, Head>(io::BufReader::new(scanned))
        .ok()
        .and_then(|head| head.id);
    io::copy(&mut rest, &mut io::sink())?;
    Ok(Some(Line::TooLong(id)))
}

/// The part of a message that is kept if it is too long.
#[derive(Deserialize)]
struct Head {
    id: Option<Value>,
    #[serde(rename = "params")]
    _params: Option<IgnoredAny>,
}

/// The input up to the end of the line, which is read and not returned.
struct RestOfLine<'a, R> {
    input: &'a mut R,
    has_ended: bool,
}

impl<R: BufRead> Read for RestOfLine<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.has_ended {
            return Ok(0);
        }
        let available = self.input.fill_buf()?;
        let end = available.iter().position(|byte| *byte == b'\n');
        let count = end.unwrap_or(available.len()).min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(available).take(count) {
            *to = *from;
        }
        let at_end = end == Some(count) || available.is_empty();
        self.input.consume(count + usize::from(end == Some(count)));
        self.has_ended = at_end;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(input: &str, expected: &[Line]) {
        let mut reader = io::BufReader::with_capacity(64, input.as_bytes());
        let mut lines = Vec::new();
        while let Some(line) = read_line(&mut reader).expect("memory") {
            lines.push(line);
        }
        assert_eq!(lines, expected);
    }

    fn build_line(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_are_read_one_by_one() {
        check("", &[]);
        check("a\n\nbc", &[build_line("a"), build_line(""), build_line("bc")]);
    }

    #[test]
    fn the_id_of_a_long_message_is_found_on_both_sides() {
        let long = "x".repeat(MAX_MESSAGE);
        let before = format!("{{\"id\": 7, \"params\": {{\"text\": \"{long}\"}}}}\nnext\n");
        check(&before, &[Line::TooLong(Some(json!(7))), build_line("next")]);
        let after = format!("{{\"params\": {{\"text\": \"{long}\"}}, \"id\": \"a\"}}\nnext");
        check(&after, &[Line::TooLong(Some(json!("a"))), build_line("next")]);
        check(
            &format!("{long}yz\nnext"),
            &[Line::TooLong(None), build_line("next")],
        );
        check(&long, &[build_line(&long)]);
    }
}
