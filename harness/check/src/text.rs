//! The text of a checked file: Python from a file or from standard input, or the code cells of a notebook as one module.

use std::io::{self, Read as _};
use std::path::Path;

use cerith_case::MAX_TEXT;
use cerith_report::event::{EngineOutcome, Event};
use serde_json::Value;

/// The name of standard input on the command line.
pub const STDIN: &str = "-";

/// The most bytes of a notebook: outputs of its cells are in it too.
const MAX_NOTEBOOK: u64 = 64 << 20;

/// The text of a file, and the cells that it comes from.
pub struct CheckedText {
    /// The Python.
    pub text: String,
    /// The cells of a notebook.
    pub cells: Cells,
}

/// The code cells of a notebook: their numbers from 1, and their first lines in the joined text. Empty for a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cells(Vec<(usize, u32)>);

/// Whether a file is a notebook, by its name.
pub fn is_notebook(file: &Path) -> bool {
    file.extension().is_some_and(|end| end == "ipynb")
}

impl CheckedText {
    /// The text of a module.
    pub fn from_module(text: String) -> Self {
        Self {
            text,
            cells: Cells::default(),
        }
    }

    /// Reads a file, or standard input.
    pub fn read(file: &Path) -> io::Result<Self> {
        if file == Path::new(STDIN) {
            let mut text = String::new();
            let limit = MAX_TEXT as u64;
            io::stdin().lock().take(limit + 1).read_to_string(&mut text)?;
            if text.len() as u64 > limit {
                let message = format!("it has more than {limit} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            return Ok(Self::from_module(text));
        }
        if !is_notebook(file) {
            return cerith_files::read_text(file, MAX_TEXT as u64).map(Self::from_module);
        }
        let notebook = cerith_files::read_text(file, MAX_NOTEBOOK)?;
        join_cells(&notebook).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                "it is not a notebook: JSON with a list of `cells`",
            )
        })
    }
}

/// Joins the code cells of a notebook. Lines that are not Python (`%matplotlib`, `!pip install`) become comments.
fn join_cells(notebook: &str) -> Option<CheckedText> {
    let notebook: Value = serde_json::from_str(notebook).ok()?;
    let (mut text, mut cells, mut lines) = (String::new(), Vec::new(), 1);
    for (at, cell) in notebook.get("cells")?.as_array()?.iter().enumerate() {
        if cell.get("cell_type").and_then(Value::as_str) != Some("code") {
            continue;
        }
        let source = match cell.get("source") {
            Some(Value::String(source)) => source.clone(),
            Some(Value::Array(parts)) => parts.iter().filter_map(Value::as_str).collect(),
            _ => continue,
        };
        cells.push((at + 1, lines));
        // `%%bash` and the like: the cell is of another language. Others only measure.
        let first = source.trim_start().lines().next().unwrap_or_default();
        let is_python =
            !first.starts_with("%%") || first.starts_with("%%time") || first.starts_with("%%capture");
        for line in source.lines() {
            let code = line.trim_start();
            let is_command = code.starts_with(['%', '!', '?']) || code.ends_with('?');
            if !is_python {
                text.push('#');
            } else if is_command {
                let indent = line.len() - code.len();
                text.push_str(line.get(..indent).unwrap_or_default());
                text.push_str("pass  # ");
                text.push_str(code);
                text.push('\n');
                lines += 1;
                continue;
            }
            text.push_str(line);
            text.push('\n');
            lines += 1;
        }
    }
    Some(CheckedText {
        text,
        cells: Cells(cells),
    })
}

impl Cells {
    /// The cell of a line of the joined text, and the line in it.
    fn find(&self, line: u32) -> Option<(usize, u32)> {
        let (cell, first) = self.0.iter().rfind(|(_, first)| *first <= line)?;
        Some((*cell, line - first + 1))
    }

    /// Whether the text is that of a module.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A file and a line of it, as a report names them.
    pub fn locate(&self, file: &str, line: u32) -> (String, u32) {
        match self.find(line) {
            Some((cell, line)) => (format!("{file}:cell {cell}"), line),
            None => (file.to_owned(), line),
        }
    }

    /// Names cells and their lines in an event instead of lines of the joined text.
    pub fn relocate_event(&self, file: &str, event: &mut Event) {
        if self.0.is_empty() {
            return;
        }
        match event {
            Event::Verdict(verdict) => {
                let outcomes = verdict.outcomes.values_mut();
                for outcome in outcomes.chain(verdict.warning.as_deref_mut()) {
                    self.relocate_outcome(file, outcome);
                }
            }
            Event::Problem(problem) => problem.rendered = self.relocate_text(file, &problem.rendered),
            _ => {}
        }
    }

    /// Names cells and their lines in an outcome.
    pub fn relocate_outcome(&self, file: &str, outcome: &mut EngineOutcome) {
        if let Some(position) = &mut outcome.position
            && position.file == file
        {
            (position.file, position.line) = self.locate(file, position.line);
        }
        if let Some(detail) = &mut outcome.detail {
            *detail = self.relocate_text(file, detail);
        }
    }

    /// Changes a rendered diagnostic: `--> file:line:column`, and the numbers before lines of the file.
    pub fn relocate_text(&self, file: &str, text: &str) -> String {
        let mut is_own = false;
        let mut out = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            let trimmed = line.trim_start();
            let place = trimmed
                .strip_prefix("--> ")
                .or_else(|| trimmed.strip_prefix("::: "));
            let changed = if let Some(place) = place {
                let rest = place.strip_prefix(file).and_then(|rest| rest.strip_prefix(':'));
                is_own = rest.is_some();
                rest.and_then(|rest| self.relocate_place(file, rest))
                    .and_then(|new| Some(format!("{}{new}", line.strip_suffix(place)?)))
            } else if is_own {
                self.relocate_number(line)
            } else {
                None
            };
            out.push_str(changed.as_deref().unwrap_or(line));
        }
        out
    }

    /// `12:5` as `file:cell 3:2:5`.
    fn relocate_place(&self, file: &str, place: &str) -> Option<String> {
        let digits = place.find(|c: char| !c.is_ascii_digit()).unwrap_or(place.len());
        let (line, rest) = place.split_at_checked(digits)?;
        let (file, line) = self.locate(file, line.parse().ok()?);
        Some(format!("{file}:{line}{rest}"))
    }

    /// `12 | code` with the line's number in its cell, as wide as before.
    fn relocate_number(&self, line: &str) -> Option<String> {
        let (number, rest) = line.split_once(" |")?;
        let (_, in_cell) = self.find(number.trim_start().parse().ok()?)?;
        Some(format!("{in_cell:>width$} |{rest}", width = number.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(cells: &str, expected: &str) {
        let joined = join_cells(&format!(r#"{{"cells": [{cells}]}}"#)).expect("a notebook");
        assert_eq!(joined.text, expected);
    }

    #[test]
    fn code_cells_are_joined() {
        check(
            r##"{"cell_type": "markdown", "source": "# title"},
            {"cell_type": "code", "source": ["%time f()\n", "x = 1"]},
            {"cell_type": "code", "source": "if x:\n    !ls\n%%notmagic"},
            {"cell_type": "code", "source": "%%bash\nls"}"##,
            "pass  # %time f()\nx = 1\nif x:\n    pass  # !ls\npass  # %%notmagic\n#%%bash\n#ls\n",
        );
        assert!(join_cells("[]").is_none());
        assert!(join_cells("{").is_none());
    }

    #[test]
    fn lines_are_those_of_cells() {
        let joined = join_cells(
            r#"{"cells": [{"cell_type": "code", "source": "a\nb"}, {"cell_type": "raw"}, {"cell_type": "code", "source": "c\nd"}]}"#,
        )
        .expect("a notebook");
        assert_eq!(
            joined.cells.relocate_text(
                "k.ipynb",
                "error: no\n  --> k.ipynb:4:2\n  |\n4 | d\n  ::: other.py:3:1\n3 | e\n"
            ),
            "error: no\n  --> k.ipynb:cell 3:2:2\n  |\n2 | d\n  ::: other.py:3:1\n3 | e\n",
        );
        let module = Cells::default();
        assert_eq!(module.locate("k.py", 3), ("k.py".to_owned(), 3));
    }
}
