//! `cerith matrix`: all versions at once, by cause. See `cerith bump` for the changes between two versions.

use std::path::PathBuf;
use std::time::Instant;

use cerith_engine::EngineId;
use cerith_report::matrix::{Matrix, Tally, render_human, render_markdown};
use cerith_tile::rules::Version;
use cerith_toolchain::{Home, HomeError, ToolchainId};
use serde::Serialize;

use crate::bump::{self, SideError};
use crate::corpus::{CorpusError, Selected};
use crate::exit::Exit;
use crate::host::Host;
use crate::judged;
use crate::options::TritonPart;
use crate::output::{Blocked, Output};
use crate::pipeline;
use crate::side::{BadSide, Side};

/// How a matrix is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixFormat {
    /// Text for people.
    Human,
    /// A table.
    Markdown,
    /// One row per line.
    Jsonl,
}

/// Options for comparing all versions.
#[derive(Clone, Debug)]
pub struct MatrixOptions {
    /// Versions, and filters of cases as in `cerith run`.
    pub words: Vec<String>,
    /// The Python of an environment with Triton, or the name of a build that was adopted.
    pub builds: Vec<Side>,
    /// The folder of case files, as in `cerith run`.
    pub cases: Option<PathBuf>,
    /// The part of Triton to test.
    pub engine: TritonPart,
    /// Output format.
    pub format: MatrixFormat,
    /// The folder of the stream and the reports of the run.
    pub out: Option<PathBuf>,
    /// The number of cases to run at once.
    pub jobs: Option<u16>,
    /// Use only installed toolchains.
    pub offline: bool,
    /// Show every case that is not the same in all versions.
    pub verbose: bool,
}

/// The reason why there is no matrix.
#[derive(Debug, thiserror::Error)]
enum MatrixError {
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    #[error("error: failed to {0}")]
    Home(#[from] HomeError),
    #[error("error: {0}")]
    Side(#[from] BadSide),
    #[error(transparent)]
    Toolchain(#[from] SideError),
    #[error(
        "error: a matrix needs at least two versions\n  = help: name them (`cerith matrix 3.2.0 {newest}`), or install some: \
         `cerith toolchain add {newest}`",
        newest = Version::NEWEST
    )]
    TooFew,
    #[error("error: {0}")]
    Blocked(#[from] Blocked),
}

/// Runs all versions, and returns the exit code.
pub fn run_matrix(options: &MatrixOptions, host: Host<'_>) -> Exit {
    match compare_versions(options, host) {
        Ok(exit) => exit,
        Err(error) => {
            host.console.note(&error.to_string());
            if host.is_stopped() {
                Exit::Interrupted
            } else {
                Exit::Wrong
            }
        }
    }
}

fn compare_versions(options: &MatrixOptions, host: Host<'_>) -> Result<Exit, MatrixError> {
    let began = Instant::now();
    let (versions, filters): (Vec<&String>, Vec<&String>) = options
        .words
        .iter()
        .partition(|word| word.parse::<ToolchainId>().is_ok());
    let filters: Vec<String> = filters.into_iter().cloned().collect();
    let selected = Selected::open(options.cases.as_deref(), &filters)?;
    let home = Home::discover()?;
    let mut toolchains = Vec::new();
    for version in versions {
        let side = version.parse::<Side>()?;
        toolchains.push(bump::resolve_toolchain(&side, &home, host)?);
    }
    for side in &options.builds {
        toolchains.push(bump::resolve_toolchain(side, &home, host)?);
    }
    if toolchains.is_empty() {
        toolchains = find_installed(&home)?;
    }
    toolchains.sort_by_key(ToolchainId::triton);
    toolchains.dedup();
    if toolchains.len() < 2 {
        return Err(MatrixError::TooFew);
    }
    let columns: Vec<EngineId> = toolchains
        .iter()
        .map(|toolchain| options.engine.to_engine_id(toolchain))
        .collect();
    let wanted: Vec<EngineId> = std::iter::once(EngineId::Reference)
        .chain(columns.iter().cloned())
        .collect();
    let mut output = Output::new_quiet(
        options.out.as_deref(),
        &selected.report_folder("matrix"),
        selected.is_partial(),
        host.console,
    )?;
    let jobs = pipeline::count_jobs(options.jobs);
    let (judged, problems) = judged::judge_all(
        &selected,
        &wanted,
        options.offline,
        jobs,
        false,
        &mut output,
        host,
    );
    let interrupted = host.is_stopped();
    let written = output.finish(began, interrupted);
    let mut tally = Tally::new(columns.iter().map(ToString::to_string).collect());
    for one in &judged {
        tally.add_verdict(&one.verdict);
    }
    let matrix = tally.finish();
    let console = host.console;
    let text = match options.format {
        MatrixFormat::Human => render_human(&matrix, console.palette(), options.verbose),
        MatrixFormat::Markdown => render_markdown(&matrix),
        MatrixFormat::Jsonl => render_jsonl(&matrix),
    };
    console.print(&text);
    Ok(match () {
        () if interrupted => Exit::Interrupted,
        () if problems > 0 || written == Exit::Wrong => Exit::Wrong,
        () if matrix.cases == 0 => Exit::Nothing,
        () => Exit::AsExpected,
    })
}

/// The releases of Triton that are here.
fn find_installed(home: &Home) -> Result<Vec<ToolchainId>, HomeError> {
    let all = home.list()?;
    Ok(all
        .into_iter()
        .map(|one| one.id)
        .filter(|id| id.torch().is_none() && id.build().is_none() && id.numpy().is_none())
        .collect())
}

/// A line of `--format jsonl`.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line<'m> {
    /// The columns.
    Matrix {
        engines: &'m [String],
        cases: u64,
        wrong: &'m [u64],
    },
    /// A cause.
    Cause(&'m cerith_report::matrix::Row),
    /// A case whose results differ between engines.
    Case {
        case: &'m str,
        cells: &'m [cerith_report::matrix::Cell],
    },
}

fn render_jsonl(matrix: &Matrix) -> String {
    let head = Line::Matrix {
        engines: &matrix.engines,
        cases: matrix.cases,
        wrong: &matrix.wrong,
    };
    let causes = matrix.causes.iter().map(Line::Cause);
    let cases = matrix.rows.iter().map(|(case, cells)| Line::Case { case, cells });
    let mut text = String::new();
    for line in std::iter::once(head).chain(causes).chain(cases) {
        text.push_str(&serde_json::to_string(&line).unwrap_or_default());
        text.push('\n');
    }
    text
}
