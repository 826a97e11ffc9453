//! `cerith matrix`: all versions at once, by cause. Left out: what changed between two of them (`cerith bump`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use cerith_engine::EngineId;
use cerith_report::matrix::{Matrix, Tally, render_human, render_markdown};
use cerith_tile::rules::Version;
use cerith_toolchain::{Home, ToolchainId};
use serde::Serialize;

use crate::args::{MatrixArgs, MatrixFormat, Side};
use crate::bump;
use crate::corpus::Selected;
use crate::exit::Exit;
use crate::judged;
use crate::output::Output;
use crate::pipeline;
use crate::terminal::Terminal;

/// Runs all versions, and answers with the exit code.
pub fn run_matrix(args: &MatrixArgs, stop: &'static AtomicBool) -> Exit {
    match compare_versions(args, stop) {
        Ok(exit) => exit,
        Err(message) => {
            Terminal::new().note(&message);
            if stop.load(Ordering::Relaxed) {
                Exit::Interrupted
            } else {
                Exit::Wrong
            }
        }
    }
}

fn compare_versions(args: &MatrixArgs, stop: &'static AtomicBool) -> Result<Exit, String> {
    let began = Instant::now();
    let (versions, filters): (Vec<&String>, Vec<&String>) = args
        .words
        .iter()
        .partition(|word| word.parse::<ToolchainId>().is_ok());
    let filters: Vec<String> = filters.into_iter().cloned().collect();
    let selected = Selected::open(args.cases.as_deref(), &filters)?;
    let home = Home::discover().map_err(|error| format!("error: failed to {error}"))?;
    let mut toolchains = Vec::new();
    for version in versions {
        let side = version.parse::<Side>().map_err(|why| format!("error: {why}"))?;
        toolchains.push(bump::resolve_toolchain(&side, &home, stop)?);
    }
    for side in &args.builds {
        toolchains.push(bump::resolve_toolchain(side, &home, stop)?);
    }
    if toolchains.is_empty() {
        toolchains = find_installed(&home)?;
    }
    toolchains.sort_by_key(ToolchainId::triton);
    toolchains.dedup();
    if toolchains.len() < 2 {
        return Err(format!(
            "error: a matrix is of two versions at least\n  = help: name them (`cerith matrix 3.2.0 {}`), or install some: \
             `cerith toolchain add {}`",
            Version::NEWEST,
            Version::NEWEST
        ));
    }
    let columns: Vec<EngineId> = toolchains
        .iter()
        .map(|toolchain| args.engine.to_engine_id(toolchain))
        .collect();
    let wanted: Vec<EngineId> = std::iter::once(EngineId::Reference)
        .chain(columns.iter().cloned())
        .collect();
    let mut output = Output::new_quiet(
        args.out.as_deref(),
        &selected.report_folder("matrix"),
        selected.is_partial(),
        Terminal::new(),
    )
    .map_err(|blocked| format!("error: {blocked}"))?;
    let jobs = pipeline::count_jobs(args.jobs);
    let (judged, problems) = judged::run(&selected, &wanted, args.offline, jobs, false, &mut output, stop);
    let interrupted = stop.load(Ordering::Relaxed);
    let written = output.finish(began, interrupted);
    let mut tally = Tally::new(columns.iter().map(ToString::to_string).collect());
    for one in &judged {
        tally.add_verdict(&one.verdict);
    }
    let matrix = tally.finish();
    let mut terminal = Terminal::new();
    let text = match args.format {
        MatrixFormat::Human => render_human(&matrix, terminal.palette, args.verbose),
        MatrixFormat::Markdown => render_markdown(&matrix),
        MatrixFormat::Jsonl => render_jsonl(&matrix),
    };
    terminal.print(&text);
    Ok(match () {
        () if interrupted => Exit::Interrupted,
        () if problems > 0 || written == Exit::Wrong => Exit::Wrong,
        () if matrix.cases == 0 => Exit::Nothing,
        () => Exit::AsExpected,
    })
}

/// The releases of Triton that are here.
fn find_installed(home: &Home) -> Result<Vec<ToolchainId>, String> {
    let all = home.list().map_err(|error| format!("error: failed to {error}"))?;
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
    /// A case in which the engines do not stand alike.
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
