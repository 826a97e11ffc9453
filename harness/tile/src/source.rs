//! Source files, spans in them, and line and column of a byte. See [`crate::diagnostic`] for rendering.

use std::ops::Range;
use std::sync::Arc;

/// A file of a [`Sources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct SourceId(pub u32);

/// A range of bytes in one source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// The file.
    pub source: SourceId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// A span of `start..end` in `source`.
    pub const fn new(source: SourceId, start: u32, end: u32) -> Self {
        Self { source, start, end }
    }
}

/// One text with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The path as a user would write it, relative if possible.
    pub name: String,
    /// The whole text.
    pub text: Arc<str>,
    line_starts: Vec<u32>,
    copies: Vec<Copied>,
}

/// Lines that were copied from another file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Copied {
    /// The first copied line in this file.
    line: u32,
    count: u32,
    from: String,
    /// Line and column of the first line in the original file.
    first: u32,
    column: u32,
}

impl Copied {
    /// Parses a marker on line `line`.
    fn parse(text: &str, line: u32) -> Option<Self> {
        let (count, place) = text.strip_prefix(MARKER)?.split_once(" lines are ")?;
        let mut parts = place.trim_end().rsplitn(3, ':');
        let column = parts.next()?.parse().ok()?;
        let first = parts.next()?.parse().ok()?;
        Some(Self {
            line: line + 1,
            count: count.parse().ok()?,
            from: parts.next()?.to_owned(),
            first,
            column,
        })
    }
}

/// The start of a comment with the origin of the lines after it: `# cerith_triton: the next 9 lines are
/// softmax.py:17:1`. The recorder writes it into its copies of a user's kernels.
pub const MARKER: &str = "# cerith_triton: the next ";

/// The text of lines that were copied from another file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The original file.
    pub file: &'a str,
    /// The number of the first line in the original file.
    pub first: u32,
    /// The range of bytes in this file.
    pub bytes: Range<usize>,
}

/// A location in a file that the user knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourcePosition<'a> {
    /// The file; for copied lines, the original one.
    pub file: &'a str,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl SourceFile {
    /// Indexes the lines of `text`.
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let line_starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at as u32 + 1))
            .collect();
        let copies = if text.contains(MARKER) {
            let lines = (1..).zip(text.lines());
            lines
                .filter_map(|(line, text)| Copied::parse(text, line))
                .collect()
        } else {
            Vec::new()
        };
        Self {
            name: name.into(),
            text,
            line_starts,
            copies,
        }
    }

    /// Returns the location of a byte: in the original file of a copied line, otherwise in this file.
    pub fn place(&self, byte: u32) -> SourcePosition<'_> {
        let (line, column) = self.line_column(byte);
        self.place_of(line, column)
    }

    /// Returns the location of a line and a column, both counted from 1. A column of 0 means
    /// no column, and stays 0.
    pub fn place_of(&self, line: u32, column: u32) -> SourcePosition<'_> {
        let copied = self.copies.iter().find_map(|copied| {
            let nth = line.checked_sub(copied.line).filter(|&nth| nth < copied.count)?;
            Some(SourcePosition {
                file: &copied.from,
                line: copied.first.saturating_add(nth),
                column: match column {
                    0 => 0,
                    column => column.saturating_add(copied.column.saturating_sub(1)),
                },
            })
        });
        copied.unwrap_or(SourcePosition {
            file: &self.name,
            line,
            column,
        })
    }

    /// Line and column of a byte, both counted from 1, the column in characters. A byte past the end
    /// counts as the end.
    pub fn line_column(&self, byte: u32) -> (u32, u32) {
        let byte = byte.min(self.text.len() as u32);
        let line = self.line_starts.partition_point(|&start| start <= byte).max(1) - 1;
        let start = self.line_starts[line] as usize;
        let column = self
            .text
            .get(start..byte as usize)
            .map_or(byte as usize - start, |s| s.chars().count());
        (line as u32 + 1, column as u32 + 1)
    }

    /// Finds the copied lines that contain a byte.
    pub fn find_piece(&self, byte: u32) -> Option<Piece<'_>> {
        let (line, _) = self.line_column(byte);
        let holds = |copied: &&Copied| {
            line.checked_sub(copied.line)
                .is_some_and(|nth| nth < copied.count)
        };
        let copied = self.copies.iter().find(holds)?;
        let start = |line: u32| {
            let start = self.line_starts.get((line as usize).saturating_sub(1));
            start.map_or(self.text.len(), |&start| start as usize)
        };
        Some(Piece {
            file: &copied.from,
            first: copied.first,
            bytes: start(copied.line)..start(copied.line.saturating_add(copied.count)),
        })
    }

    /// Returns the bytes from a column to the end of its line; the line is counted from 1, the column in characters
    /// from 0. `None` if the line doesn't exist; a column past the end is clamped.
    pub fn find_byte_range(&self, line: u32, column: u32) -> Option<(u32, u32)> {
        let start = *self.line_starts.get((line as usize).checked_sub(1)?)?;
        let text = self.line(line);
        let skipped = text
            .char_indices()
            .nth(column as usize)
            .map_or(text.len(), |(at, _)| at);
        Some((
            start + skipped as u32,
            start + text.trim_end().len().max(skipped) as u32,
        ))
    }

    /// The text of a line, counted from 1, without its line break; empty if the line doesn't exist.
    pub fn line(&self, line: u32) -> &str {
        let Some(&start) = self.line_starts.get((line as usize).wrapping_sub(1)) else {
            return "";
        };
        self.text
            .get(start as usize..)
            .and_then(|rest| rest.lines().next())
            .unwrap_or("")
    }
}

/// The files that spans refer to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    files: Vec<Arc<SourceFile>>,
}

impl Sources {
    /// Adds a file.
    pub fn add(&mut self, file: impl Into<Arc<SourceFile>>) -> SourceId {
        self.files.push(file.into());
        SourceId(self.files.len() as u32 - 1)
    }

    /// Finds a file of this set.
    pub fn get(&self, id: SourceId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize).map(AsRef::as_ref)
    }

    /// Renders a span's start as `file:line:column`.
    pub fn describe_position(&self, span: Span) -> String {
        self.get(span.source).map_or_else(
            || "?".to_owned(),
            |file| {
                let SourcePosition { file, line, column } = file.place(span.start);
                format!("{file}:{line}:{column}")
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copied_lines_are_where_they_were_copied_from() {
        let text = "import triton\n\n@triton.jit\n# cerith_triton: the next 2 lines are a:b/softmax.py:17:5\ndef f():\n    \
                    pass\n\n# cerith_triton: the next x lines are k.py:1:1\nX = 1\n";
        let file = SourceFile::new("copy.py", text);
        let check = |line, column, expected| {
            let SourcePosition { file, line, column } = file.place_of(line, column);
            assert_eq!((file, line, column), expected);
        };
        check(3, 1, ("copy.py", 3, 1));
        check(5, 1, ("a:b/softmax.py", 17, 5));
        check(6, 5, ("a:b/softmax.py", 18, 9));
        check(6, 0, ("a:b/softmax.py", 18, 0));
        check(7, 1, ("copy.py", 7, 1));
        check(9, 1, ("copy.py", 9, 1));
        assert_eq!(
            file.place(text.find("pass").expect("it is there") as u32).line,
            18
        );
    }

    #[test]
    fn lines_and_columns_count_characters_from_one() {
        let file = SourceFile::new("k.py", "a\nñb\n");
        assert_eq!(file.line_column(0), (1, 1));
        assert_eq!(file.line_column(2), (2, 1));
        assert_eq!(file.line_column(4), (2, 2));
        assert_eq!(file.line_column(99), (3, 1));
        assert_eq!(file.line(2), "ñb");
        assert_eq!(file.find_byte_range(2, 1), Some((4, 5)));
        assert_eq!(file.find_byte_range(2, 9), Some((5, 5)));
        assert_eq!(file.find_byte_range(9, 0), None);
        assert_eq!(file.line(9), "");
    }
}
