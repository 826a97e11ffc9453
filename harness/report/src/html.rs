//! A stream as one HTML page that needs nothing else: no scripts from elsewhere, no fonts, no server.
//!
//! The page is a frame (`templates/report.html`), a style sheet and scripts (`templates/*.js`, joined in the order of
//! [`SCRIPTS`]) and data. The data is compressed JSON in base64, so that no word of a case is ever read as markup: an index of
//! all cases, which is all that filters look at, and blocks of whole events, each of which is unpacked when one of its cases is
//! opened. It is compressed as the events come, so that a page of many cases needs little memory.
//!
//! See `templates` for the look of the page, and [`cause`] for the short descriptions of failures.

pub(crate) mod cause;
mod index;

use std::io::{self, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, context};
use serde::Serialize;

use crate::digest;
use crate::event::{Event, Internal, Problem, Start, Summary};
use crate::safe;
use index::Index;

/// How many events are compressed together.
const BLOCK: usize = 64;

/// The most problems and internal errors that are shown; all are counted.
const MAX_KEPT_PROBLEMS: usize = 500;

const FRAME: &str = include_str!("templates/report.html");
const STYLE: &str = include_str!("templates/style.css");

/// The scripts, in the order in which they are joined.
const SCRIPTS: [&str; 11] = [
    include_str!("templates/dom.js"),
    include_str!("templates/data.js"),
    include_str!("templates/values.js"),
    include_str!("templates/state.js"),
    include_str!("templates/rows.js"),
    include_str!("templates/matrix.js"),
    include_str!("templates/memory.js"),
    include_str!("templates/case.js"),
    include_str!("templates/timeline.js"),
    include_str!("templates/coverage.js"),
    include_str!("templates/main.js"),
];

/// The page cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum HtmlError {
    /// Its frame cannot be filled in.
    #[error("make the HTML page: {0}")]
    Frame(#[from] minijinja::Error),
    /// Its data cannot be written down.
    #[error("make the HTML page: {0}")]
    Data(#[from] serde_json::Error),
    /// Its data cannot be compressed.
    #[error("make the HTML page: {0}")]
    Compress(#[from] io::Error),
}

/// The page of a whole stream.
#[derive(Debug, Default)]
pub struct Html {
    start: Start,
    summary: Option<Summary>,
    counted: Summary,
    problems: Vec<Problem>,
    internal: Vec<Internal>,
    index: Index,
    /// Events that are not compressed yet, a line each.
    open: Vec<u8>,
    opened: usize,
    /// Compressed blocks, in base64.
    blocks: Vec<String>,
    failed: Option<HtmlError>,
}

/// The page's fields about the run as a whole.
#[derive(Serialize)]
struct RunOverview<'a> {
    start: &'a Start,
    summary: &'a Summary,
    gate: &'static str,
    cut: bool,
    problems: &'a [Problem],
    internal: &'a [Internal],
    /// Events of a block.
    block: usize,
}

impl Html {
    /// Takes in one event.
    pub fn add_event(&mut self, event: &Event) {
        self.counted.count(event);
        match event {
            // The first of several streams determines the page's subject.
            Event::Start(start) => self.start = start.clone(),
            Event::Problem(problem) if self.problems.len() < MAX_KEPT_PROBLEMS => {
                self.problems.push(problem.clone());
            }
            Event::Internal(internal) if self.internal.len() < MAX_KEPT_PROBLEMS => {
                self.internal.push(internal.clone());
            }
            Event::Problem(_) | Event::Internal(_) => {}
            Event::Summary(summary) => self.summary = Some(summary.clone()),
            Event::Verdict(verdict) | Event::Sweep(verdict) => {
                self.index.add(verdict);
                if let Err(error) = self.keep(event) {
                    self.failed.get_or_insert(error);
                }
            }
        }
    }

    fn keep(&mut self, event: &Event) -> Result<(), HtmlError> {
        let (Event::Verdict(verdict) | Event::Sweep(verdict)) = event else {
            return Ok(());
        };
        let mut verdict = verdict.clone();
        if let Some(exhibit) = &mut verdict.exhibit {
            // The index has them.
            exhibit.texts.clear();
            exhibit.known.clear();
            exhibit.uses.clear();
        }
        if self.opened > 0 {
            self.open.push(b',');
        }
        serde_json::to_writer(&mut self.open, &verdict)?;
        self.opened += 1;
        if self.opened == BLOCK {
            self.close()?;
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), HtmlError> {
        if self.opened > 0 {
            let mut block = Vec::with_capacity(self.open.len() + 2);
            block.push(b'[');
            block.append(&mut self.open);
            block.push(b']');
            self.opened = 0;
            self.blocks.push(pack_bytes(&block)?);
        }
        Ok(())
    }

    /// The page. If a stream lacks its summary, the page reports it as cut short.
    ///
    /// # Errors
    /// The page cannot be made.
    pub fn finish(mut self) -> Result<String, HtmlError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.close()?;
        let cut = self.summary.is_none();
        let summary = self.summary.take().unwrap_or_else(|| {
            let mut counted = self.counted.clone();
            counted.exit = counted.exit_code();
            counted
        });
        let about = RunOverview {
            start: &self.start,
            gate: digest::describe_gate(cut, &summary),
            summary: &summary,
            cut,
            problems: &self.problems,
            internal: &self.internal,
            block: BLOCK,
        };
        let data = [
            ("about", pack_bytes(&serde_json::to_vec(&about)?)?),
            ("index", pack_bytes(&serde_json::to_vec(&self.index)?)?),
        ];
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| AutoEscape::Html);
        environment.set_syntax(
            SyntaxConfig::builder()
                .trim_blocks(true)
                .lstrip_blocks(true)
                .build()?,
        );
        environment.add_filter("safe_lines", |text: &str| safe::escape_lines(text).into_owned());
        environment.add_template("report", FRAME)?;
        let script = format!("(() => {{\n\"use strict\";\n{}\n}})();", SCRIPTS.join("\n"));
        let page = environment.get_template("report")?.render(context! {
            about => Serde(&about),
            style => STYLE,
            script => script,
            data => data,
        })?;
        // The blocks are much, and nothing in them needs to be escaped.
        let (front, back) = page.split_once("<!-- blocks -->").unwrap_or((page.as_str(), ""));
        let length = self.blocks.iter().map(|block| block.len() + 64).sum::<usize>() + page.len();
        let mut whole = String::with_capacity(length);
        whole.push_str(front);
        for (nth, block) in self.blocks.drain(..).enumerate() {
            whole.push_str("<script type=\"text/plain\" id=\"block-");
            whole.push_str(&nth.to_string());
            whole.push_str("\">");
            whole.push_str(&block);
            whole.push_str("</script>\n");
        }
        whole.push_str(back);
        Ok(whole)
    }
}

/// Bytes, compressed and in base64.
fn pack_bytes(bytes: &[u8]) -> Result<String, HtmlError> {
    let mut encoder = DeflateEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::new(5));
    encoder.write_all(bytes)?;
    Ok(STANDARD.encode(encoder.finish()?))
}
