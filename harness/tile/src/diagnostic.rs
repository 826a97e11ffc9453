//! Diagnostics about source text: the message, its locations and the fix, rendered as rustc does. Only `cli` prints
//! them.

use std::borrow::Cow;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::printable;
use crate::source::{Sources, Span};

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The command fails.
    Error,
    /// The command continues, but the user should take a look.
    Warning,
}

/// A span with text beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The span.
    pub span: Span,
    /// The text; may be empty.
    pub text: String,
    /// The storages that it is about, by name. The message names them too, and programs read this field.
    pub storages: Vec<String>,
    /// The name that the program uses there and nothing defines, if that is the fault.
    pub misspelling: Option<Box<Misspelling>>,
}

/// One message. The first label is the primary location, further labels are context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The severity.
    pub severity: Severity,
    /// A stable name of the kind of message, for example `out-of-bounds`; shown in brackets and matched by tests.
    pub code: &'static str,
    /// One line, lower case, no full stop.
    pub message: String,
    /// The labels, the primary one first.
    pub labels: Vec<Label>,
    /// Facts below the snippet.
    pub notes: Vec<String>,
    /// The fix.
    pub help: Option<String>,
    /// Whether a pass of a compiler rejects the program, after its front end accepts it.
    pub is_by_pass: bool,
}

/// A name that nothing defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misspelling {
    /// The name: `count`, or `tl.sine` for an attribute of a module.
    pub name: String,
    /// A similar name in its place, if there is one: `counts`, `tl.sin`.
    pub near: Option<String>,
}

/// A snippet, with its file and the position of its line.
type Placed<'a> = (
    (Cow<'a, str>, usize),
    Snippet<'a, annotate_snippets::Annotation<'a>>,
);

impl Diagnostic {
    /// Creates an error at a location.
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            message: message.into(),
            labels: vec![Label {
                span,
                text: String::new(),
                storages: Vec::new(),
                misspelling: None,
            }],
            notes: Vec::new(),
            help: None,
            is_by_pass: false,
        }
    }

    /// Creates a warning at a location.
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, span, message)
        }
    }

    /// Makes a warning of an error.
    #[must_use]
    pub const fn into_warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }

    /// Adds text beside the primary location.
    #[must_use]
    pub fn label_primary(mut self, text: impl Into<String>) -> Self {
        if let Some(label) = self.labels.first_mut() {
            label.text = text.into();
        }
        self
    }

    /// Adds a location for context.
    #[must_use]
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label {
            span,
            text: text.into(),
            storages: Vec::new(),
            misspelling: None,
        });
        self
    }

    /// Adds a fact below the snippet.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Adds the fix.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Records that nothing defines a name.
    #[must_use]
    pub fn misspelling(mut self, name: impl Into<String>, near: Option<String>) -> Self {
        if let Some(label) = self.labels.first_mut() {
            label.misspelling = Some(Box::new(Misspelling {
                name: name.into(),
                near,
            }));
        }
        self
    }

    /// Records that a pass of a compiler rejects the program.
    #[must_use]
    pub const fn by_pass(mut self) -> Self {
        self.is_by_pass = true;
        self
    }

    /// Records the storages that the primary place is about, each once.
    #[must_use]
    pub fn about_storages<'s>(mut self, names: impl IntoIterator<Item = &'s str>) -> Self {
        if let Some(label) = self.labels.first_mut() {
            for name in names {
                if !label.storages.iter().any(|known| known == name) {
                    label.storages.push(name.to_owned());
                }
            }
        }
        self
    }

    /// The storages that the message is about, by name.
    pub fn storages(&self) -> &[String] {
        self.labels.first().map_or(&[], |label| &label.storages)
    }

    /// The primary location.
    pub fn span(&self) -> Option<Span> {
        self.labels.first().map(|label| label.span)
    }

    /// Renders the message with its source lines, as rustc does; in ANSI colours if `colour`.
    pub fn render(&self, sources: &Sources, colour: bool) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut group = Group::with_title(level.primary_title(self.message.as_str()).id(self.code));
        let mut placed: Vec<Placed<'_>> = Vec::new();
        for (nth, label) in self.labels.iter().enumerate() {
            let Some(file) = sources.get(label.span.source) else {
                continue;
            };
            let end = file.text.len();
            let start = floor_boundary(&file.text, (label.span.start as usize).min(end));
            let stop = floor_boundary(&file.text, (label.span.end as usize).clamp(start, end));
            let kind = if nth == 0 {
                AnnotationKind::Primary
            } else {
                AnnotationKind::Context
            };
            // Copied lines are shown at their original location.
            let piece = file
                .find_piece(start as u32)
                .filter(|piece| stop <= piece.bytes.end);
            let (name, first, bytes) = piece.map_or((file.name.as_str(), 1, 0..end), |piece| {
                (piece.file, piece.first as usize, piece.bytes)
            });
            let name = printable::escape_line(name);
            let annotation = kind.span(start - bytes.start..stop - bytes.start);
            let key = (name.clone(), bytes.start);
            let annotation = if label.text.is_empty() {
                annotation
            } else {
                annotation.label(label.text.as_str())
            };
            if let Some(at) = placed.iter().position(|(other, _)| *other == key) {
                let (_, snippet) = placed.remove(at);
                placed.insert(at, (key, snippet.annotation(annotation)));
            } else {
                let snippet = Snippet::source(file.text.get(bytes).unwrap_or_default())
                    .line_start(first)
                    .path(name)
                    .annotation(annotation);
                placed.push((key, snippet));
            }
        }
        for (_, snippet) in placed {
            group = group.element(snippet);
        }
        for note in &self.notes {
            group = group.element(Level::NOTE.message(note.as_str()));
        }
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        let renderer = if colour {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        renderer.render(&[group]).clone()
    }
}

fn floor_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceFile;

    #[test]
    fn a_diagnostic_reads_as_rustc_would_write_it() {
        let mut sources = Sources::default();
        let id = sources.add(SourceFile::new("k.py", "x = 1\ny = tl.load(p)\n"));
        let shown = Diagnostic::error(
            "out-of-bounds",
            Span::new(id, 10, 20),
            "load of 4 bytes past the end",
        )
        .label_primary("program (3, 0, 0), lane 7")
        .note("storage `x` has 16 bytes")
        .help("mask the load")
        .render(&sources, false);
        insta::assert_snapshot!(shown, @r"
        error[out-of-bounds]: load of 4 bytes past the end
         --> k.py:2:5
          |
        2 | y = tl.load(p)
          |     ^^^^^^^^^^ program (3, 0, 0), lane 7
          |
          = note: storage `x` has 16 bytes
          = help: mask the load
        ");
    }
}
