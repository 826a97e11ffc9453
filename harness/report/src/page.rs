//! One case as a page of HTML, for a notebook or a mail: the verdict, the engines' outcomes, pictures and tables of differences,
//! and the program. It is one piece of text that needs no script and loads nothing.
//!
//! See [`crate::Html`] for the report of a whole run.

use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, context};
use serde::Serialize;

use crate::event::{Event, Verdict};
use crate::safe;
use crate::tile::{Cell, Tile, build_tiles};

const PAGE: &str = include_str!("templates/case_page.html");

/// A case of a page.
#[derive(Clone, Debug)]
pub struct PageCase {
    /// Its verdict, with the data for a report.
    pub verdict: Verdict,
    /// The IR of its launches, each with a heading. `None` unless requested.
    pub ir: Vec<(String, String)>,
}

/// A page cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("make the page of a case: {0}")]
pub struct PageError(#[from] minijinja::Error);

/// A case as the template sees it.
#[derive(Serialize)]
struct CaseContext<'v> {
    verdict: &'v Verdict,
    word: String,
    passes: bool,
    exhibit: Option<&'v crate::event::Exhibit>,
    differences: Vec<Differing<'v>>,
    ir: &'v [(String, String)],
}

/// A difference with its pictures.
#[derive(Serialize)]
struct Differing<'v> {
    difference: &'v crate::event::Difference,
    tiles: Vec<Picture>,
}

/// A picture, in units of a cell.
#[derive(Serialize)]
struct Picture {
    heading: String,
    width: usize,
    height: usize,
    /// Cells that are not the same: place to the right and downward, what they are, and a word for it.
    cells: Vec<(usize, usize, &'static str)>,
}

impl Picture {
    fn from_tile(tile: &Tile) -> Self {
        let mut cells = Vec::new();
        for (row, line) in tile.rows.iter().enumerate() {
            for (column, cell) in line.iter().enumerate() {
                let kind = match cell {
                    Cell::Same => continue,
                    Cell::Some => "part",
                    Cell::All => "all",
                    Cell::Undefined => "open",
                };
                cells.push((column, row, kind));
            }
        }
        Self {
            heading: tile.heading(),
            width: tile.rows.iter().map(Vec::len).max().unwrap_or(0),
            height: tile.rows.len(),
            cells,
        }
    }
}

/// A page of cases.
///
/// # Errors
///
/// The template cannot be filled in.
pub fn render_page(cases: &[PageCase]) -> Result<String, PageError> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    let safe: Vec<(Event, Vec<(String, String)>)> = cases
        .iter()
        .map(|one| {
            let event = Event::Verdict(Box::new(one.verdict.clone()));
            let ir = one
                .ir
                .iter()
                .map(|(head, text)| (head.clone(), safe::escape_lines(text).into_owned()));
            (safe::escape_event(&event).into_owned(), ir.collect())
        })
        .collect();
    let mut shown = Vec::with_capacity(cases.len());
    for (event, ir) in &safe {
        let Event::Verdict(verdict) = event else { continue };
        let exhibit = verdict.exhibit.as_deref();
        let differences: Vec<Differing<'_>> = verdict
            .differences
            .iter()
            .map(|difference| Differing {
                difference,
                tiles: exhibit
                    .map(|exhibit| build_tiles(exhibit, &difference.baseline, &difference.engine))
                    .unwrap_or_default()
                    .iter()
                    .map(Picture::from_tile)
                    .collect(),
            })
            .collect();
        shown.push(CaseContext {
            verdict,
            word: verdict.verdict.to_string(),
            passes: verdict.passes(),
            exhibit,
            differences,
            ir,
        });
    }
    Ok(environment.render_named_str("case_page.html", PAGE, context! { cases => Serde(&shown) })?)
}
