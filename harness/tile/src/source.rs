//! Where text comes from: source files, spans in them, and line and column of a byte.
//! Left out: reading files (callers bring the text) and rendering (see [`crate::diagnostic`]).

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
    /// The path as a user would write it, relative where possible.
    pub name: String,
    /// The whole text.
    pub text: Arc<str>,
    line_starts: Vec<u32>,
}

impl SourceFile {
    /// Indexes the lines of `text`.
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let line_starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at as u32 + 1))
            .collect();
        Self {
            name: name.into(),
            text,
            line_starts,
        }
    }

    /// Line and column of a byte, both counted from 1, the column in characters. A byte past the end is the end.
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

    /// The text of a line counted from 1, without its line break; empty for a line that is not there.
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

/// All files that spans may point into.
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

    /// The file of an id, if it is of this set.
    pub fn get(&self, id: SourceId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize).map(AsRef::as_ref)
    }

    /// `file:line:column` of a span's start.
    pub fn position(&self, span: Span) -> String {
        self.get(span.source).map_or_else(
            || "?".to_owned(),
            |file| {
                let (line, column) = file.line_column(span.start);
                format!("{}:{line}:{column}", file.name)
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_characters_from_one() {
        let file = SourceFile::new("k.py", "a\nñb\n");
        assert_eq!(file.line_column(0), (1, 1));
        assert_eq!(file.line_column(2), (2, 1));
        assert_eq!(file.line_column(4), (2, 2));
        assert_eq!(file.line_column(99), (3, 1));
        assert_eq!(file.line(2), "ñb");
        assert_eq!(file.line(9), "");
    }
}
