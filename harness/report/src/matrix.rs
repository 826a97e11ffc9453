//! Which versions are wrong for which causes: a table whose rows are causes and then cases, and whose columns are engines.
//! The command line runs the engines.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use indexmap::IndexMap;
use serde::Serialize;

use crate::correctness::{Correctness, Wrong, find_known_bug};
use crate::event::Verdict;
use crate::safe;
use crate::style::{Palette, Tone};

/// The correctness of an engine in one case, as a cell of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cell {
    /// Right.
    Right,
    /// Wrong.
    Wrong,
    /// Without a defined answer.
    Undefined,
    /// Silent, or not asked.
    Silent,
}

impl Cell {
    /// One character.
    pub const fn mark(self) -> char {
        match self {
            Self::Right => '.',
            Self::Wrong => 'X',
            Self::Undefined => '~',
            Self::Silent => ' ',
        }
    }
}

/// A cause, and how many cases it makes each engine wrong in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The known bug, the text of an error, or otherwise the case file that shows it.
    pub cause: String,
    /// Whether it is a known bug.
    pub known: bool,
    /// Cases for each engine, in the order of the table.
    pub counts: Vec<u64>,
    /// The first case.
    pub first: String,
}

impl Row {
    /// The range of versions that have it: indices of the first and the last such engine.
    pub fn range(&self) -> Option<(usize, usize)> {
        let has = |count: &u64| *count > 0;
        Some((
            self.counts.iter().position(has)?,
            self.counts.iter().rposition(has)?,
        ))
    }
}

/// The table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Matrix {
    /// The engines, the oldest first.
    pub engines: Vec<String>,
    /// Cases that were judged.
    pub cases: u64,
    /// Causes, in the order of the versions that have them.
    pub causes: Vec<Row>,
    /// Cases in which engines stand differently.
    pub rows: BTreeMap<String, Vec<Cell>>,
    /// Cases in which each engine is wrong.
    pub wrong: Vec<u64>,
}

/// Takes in verdicts of all engines.
#[derive(Debug, Default)]
pub struct Tally {
    engines: Vec<String>,
    cases: u64,
    causes: IndexMap<(String, bool), Row>,
    rows: BTreeMap<String, Vec<Cell>>,
    wrong: Vec<u64>,
}

impl Tally {
    /// The oldest of these engines first.
    pub fn new(engines: Vec<String>) -> Self {
        Self {
            wrong: vec![0; engines.len()],
            engines,
            ..Self::default()
        }
    }

    /// Takes in a verdict.
    pub fn add_verdict(&mut self, verdict: &Verdict) {
        self.cases += 1;
        let mut cells = Vec::with_capacity(self.engines.len());
        for place in 0..self.engines.len() {
            let correctness = self
                .engines
                .get(place)
                .and_then(|engine| Correctness::from_verdict(verdict, engine));
            cells.push(match &correctness {
                Some(Correctness::Right { .. }) => Cell::Right,
                Some(Correctness::Undefined) => Cell::Undefined,
                Some(Correctness::Silent { .. }) | None => Cell::Silent,
                Some(Correctness::Wrong(wrong)) => {
                    self.count(place, wrong, &verdict.case);
                    Cell::Wrong
                }
            });
        }
        if cells.iter().any(|cell| Some(cell) != cells.first()) {
            self.rows.insert(verdict.case.clone(), cells);
        }
    }

    fn count(&mut self, place: usize, wrong: &Wrong, case: &str) {
        if let Some(count) = self.wrong.get_mut(place) {
            *count += 1;
        }
        let mut names: Vec<(String, bool)> =
            wrong.known_bugs.iter().map(|name| (name.clone(), true)).collect();
        if names.is_empty() {
            names.push(if wrong.message.is_empty() {
                // Cases of one file show one thing, mostly.
                let file = case.split_once(':').map_or(case, |(file, _)| file);
                (format!("{file} ({})", wrong.kind), false)
            } else {
                (wrong.message.clone(), false)
            });
        }
        for (cause, known) in names {
            let row = self.causes.entry((cause.clone(), known)).or_insert_with(|| Row {
                cause,
                known,
                counts: vec![0; self.engines.len()],
                first: case.to_owned(),
            });
            if let Some(count) = row.counts.get_mut(place) {
                *count += 1;
            }
        }
    }

    /// The table.
    pub fn finish(self) -> Matrix {
        let mut causes: Vec<Row> = self.causes.into_values().collect();
        causes.sort_by_key(|row| {
            let all: u64 = row.counts.iter().sum();
            (row.range(), std::cmp::Reverse(all))
        });
        Matrix {
            engines: self.engines,
            cases: self.cases,
            causes,
            rows: self.rows,
            wrong: self.wrong,
        }
    }
}

/// The most characters of a cause in a table.
const CAUSE: usize = 48;

/// The table for a terminal: causes; with `cases` also the cases that are not the same in all versions.
pub fn render_human(matrix: &Matrix, palette: Palette, cases: bool) -> String {
    let mut text = String::new();
    let versions: Vec<&str> = matrix.engines.iter().map(|id| extract_version(id)).collect();
    let width = versions
        .iter()
        .map(|version| version.len())
        .max()
        .unwrap_or(0)
        .max(5);
    let row = |cells: &mut dyn Iterator<Item = String>| {
        cells.fold(String::new(), |mut row, cell| {
            let _ = write!(row, " {cell:>width$}");
            row
        })
    };
    let _ = writeln!(
        text,
        "{:CAUSE$}{}",
        palette.paint(
            Tone::Strong,
            &format!("{:CAUSE$}", format!("{} cases, wrong in", matrix.cases))
        ),
        row(&mut versions.iter().map(ToString::to_string)),
    );
    let number = |count: u64| {
        if count == 0 {
            ".".to_owned()
        } else {
            count.to_string()
        }
    };
    for one in &matrix.causes {
        let cause = shorten_text(&safe::escape_line(&one.cause));
        let padded = format!("{cause:CAUSE$}");
        let _ = writeln!(
            text,
            "{}{}  {}",
            palette.paint(if one.known { Tone::Name } else { Tone::Warn }, &padded),
            row(&mut one.counts.iter().map(|&count| number(count))),
            palette.paint(Tone::Dim, &describe_lifetime(one, &versions)),
        );
    }
    let _ = writeln!(
        text,
        "{:CAUSE$}{}",
        "cases in all",
        row(&mut matrix.wrong.iter().map(|&count| number(count)))
    );
    if cases {
        let _ = writeln!(
            text,
            "\n{} of {} cases are not the same in all versions:",
            matrix.rows.len(),
            matrix.cases
        );
        for (case, cells) in &matrix.rows {
            let marks: String = cells.iter().map(|cell| cell.mark()).collect();
            let _ = writeln!(text, "  {marks}  {}", safe::escape_line(case));
        }
        let _ = writeln!(
            text,
            "  . right, X wrong, ~ without a defined answer, blank: no outcome"
        );
    } else if !matrix.rows.is_empty() {
        let _ = writeln!(
            text,
            "{} cases are not the same in all versions; -v shows each",
            matrix.rows.len()
        );
    }
    text
}

/// The table of causes as Markdown.
pub fn render_markdown(matrix: &Matrix) -> String {
    let versions: Vec<&str> = matrix.engines.iter().map(|id| extract_version(id)).collect();
    let mut page = format!(
        "| wrong in, of {} cases | {} | since | what |\n|---|{}---|---|\n",
        matrix.cases,
        versions.join(" | "),
        "--:|".repeat(versions.len())
    );
    for one in &matrix.causes {
        let counts: Vec<String> = one
            .counts
            .iter()
            .map(|&count| {
                if count == 0 {
                    String::new()
                } else {
                    count.to_string()
                }
            })
            .collect();
        let about = if one.known {
            find_known_bug(&one.cause).map(|(about, _)| about)
        } else {
            None
        };
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} |",
            if one.known {
                safe::escape_code(&one.cause)
            } else {
                safe::escape_cell(&one.cause)
            },
            counts.join(" | "),
            describe_lifetime(one, &versions),
            about.map_or_else(|| safe::escape_code(&one.first), safe::escape_cell),
        );
    }
    let all: Vec<String> = matrix.wrong.iter().map(ToString::to_string).collect();
    let _ = writeln!(page, "| **cases in all** | {} | | |", all.join(" | "));
    page
}

/// The range of versions in words: `3.2.0 to 3.5.1`, `since 3.3.1`, `all`.
fn describe_lifetime(row: &Row, versions: &[&str]) -> String {
    let Some((first, last)) = row.range() else {
        return String::new();
    };
    let at = |place: usize| versions.get(place).copied().unwrap_or_default();
    match (first == 0, last + 1 == versions.len()) {
        (true, true) => "all".to_owned(),
        (true, false) => format!("up to {}", at(last)),
        (false, true) => format!("since {}", at(first)),
        (false, false) if first == last => format!("{} alone", at(first)),
        (false, false) => format!("{} to {}", at(first), at(last)),
    }
}

fn extract_version(engine: &str) -> &str {
    engine.split_once('@').map_or(engine, |(_, version)| version)
}

fn shorten_text(text: &str) -> String {
    if text.chars().count() < CAUSE {
        return text.to_owned();
    }
    text.chars().take(CAUSE - 2).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Difference;
    use crate::event::{Kind, VerdictKind};

    fn build_verdict(case: &str, wrong: &[(&str, &str)]) -> Verdict {
        Verdict {
            case: case.to_owned(),
            engines: [
                "reference",
                "interpret@3.0.0",
                "interpret@3.1.0",
                "interpret@3.2.0",
            ]
            .map(str::to_owned)
            .into(),
            verdict: if wrong.is_empty() {
                VerdictKind::Agree
            } else {
                VerdictKind::Differ
            },
            blame: wrong.iter().map(|(id, _)| (*id).to_owned()).collect(),
            differences: wrong
                .iter()
                .map(|(id, bug)| Difference {
                    baseline: "reference".to_owned(),
                    engine: (*id).to_owned(),
                    kind: Kind::Memory,
                    explained: [*bug]
                        .into_iter()
                        .filter(|bug| !bug.is_empty())
                        .map(str::to_owned)
                        .collect(),
                    ..Difference::default()
                })
                .collect(),
            ..Verdict::default()
        }
    }

    fn build_matrix() -> Matrix {
        let engines = ["interpret@3.0.0", "interpret@3.1.0", "interpret@3.2.0"].map(str::to_owned);
        let mut tally = Tally::new(engines.into());
        tally.add_verdict(&build_verdict("a/right", &[]));
        tally.add_verdict(&build_verdict("a/old", &[("interpret@3.0.0", "bf16-is-bits")]));
        tally.add_verdict(&build_verdict(
            "a/always",
            &[
                ("interpret@3.0.0", ""),
                ("interpret@3.1.0", ""),
                ("interpret@3.2.0", ""),
            ],
        ));
        tally.add_verdict(&build_verdict(
            "a/new",
            &[("interpret@3.2.0", "fdiv-ignores-rounding")],
        ));
        tally.finish()
    }

    fn check_snapshot(name: &str, text: &str) {
        insta::with_settings!({snapshot_path => "../../../snapshots/report", prepend_module_to_snapshot => false}, {
            insta::assert_snapshot!(name, text);
        });
    }

    #[test]
    fn a_terminal_sees_since_when_and_until_when() {
        check_snapshot(
            "matrix_human",
            &render_human(&build_matrix(), Palette::default(), true),
        );
    }

    #[test]
    fn a_page_says_what_each_bug_is() {
        check_snapshot("matrix_markdown", &render_markdown(&build_matrix()));
    }
}
