//! `cerith fuzz trophies`: the table of bugs that Cerith has found, generated from the case files with a `found:` key. Findings
//! that are not promoted are not listed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use cerith_case::{CaseFile, Corpus, Exception, Finder};
use cerith_files::MAX_FILE;
use cerith_report::safe;

use crate::finding_error::FindingError;
use cerith_runner::corpus::Selected;
use cerith_runner::exit::Exit;
use cerith_runner::host::Console;

/// Options for the table of findings.
#[derive(Clone, Debug)]
pub struct TrophiesOptions {
    /// The corpus.
    pub cases: Option<PathBuf>,
    /// Write nothing, and exit with 1 if the page is not up to date with the cases.
    pub check: bool,
}

/// The table's file, beside the corpus.
const FILE: &str = "reports/findings.md";

/// Writes the table or looks whether it is up to date, and returns the exit code.
pub fn update_trophies(options: &TrophiesOptions, console: &dyn Console) -> Exit {
    let selected = match Selected::open(options.cases.as_deref(), &[]) {
        Ok(selected) => selected,
        Err(error) => {
            console.note(&error.to_string());
            return Exit::Wrong;
        }
    };
    if options.check {
        let path = locate_table(selected.root());
        let there = cerith_files::read_text(&path, MAX_FILE).unwrap_or_default();
        if there == render_table(&selected.corpus) {
            return Exit::AsExpected;
        }
        console.note(&format!(
            "error: {} is not up to date with the case files\n  = help: `cerith fuzz trophies` writes it",
            path.display()
        ));
        return Exit::Unexpected;
    }
    match write_table(&selected) {
        Ok(path) => {
            console.print(&format!("{}\n", path.display()));
            Exit::AsExpected
        }
        Err(error) => {
            console.note(&error.to_string());
            Exit::Wrong
        }
    }
}

/// Writes the table of a corpus, beside it.
pub fn write_table(selected: &Selected) -> Result<PathBuf, FindingError> {
    let path = locate_table(selected.root());
    path.parent()
        .map_or(Ok(()), cerith_files::create_folders)
        .and_then(|()| cerith_files::write(&path, render_table(&selected.corpus)))
        .map_err(FindingError::write(&path))?;
    Ok(path)
}

fn locate_table(root: &Path) -> PathBuf {
    root.parent().unwrap_or(Path::new("")).join(FILE)
}

fn render_table(corpus: &Corpus) -> String {
    let mut found: Vec<_> = corpus
        .files()
        .iter()
        .filter_map(|file| Some((file.discovery()?, &**file)))
        .collect();
    found.sort_by_key(|(_, file)| file.path.clone());
    let new = found.iter().filter(|(found, _)| found.upstream.is_none()).count();
    let fuzzed = found
        .iter()
        .filter(|(found, _)| found.finder == Finder::Fuzz)
        .count();
    let mut text = format!(
        "# What Cerith has found\n\nBugs of Triton: {}. Found by random kernels: {fuzzed}; by cases of the corpus: {}. New, as far as \
         we know: {new}.\n\nThis page is made from the case files that say `found:`. `cerith fuzz trophies` writes it; \
         do not edit it. An engine without versions has the bug in all versions. A bug that is `unreported` was not \
         reported upstream.\n\n\
         | shown by | engines, versions and how | program | by | upstream | state |\n|---|---|---|---|---|---|\n",
        found.len(),
        found.len() - fuzzed,
    );
    for (found, file) in found {
        let mut program = format!(
            "[{}](../cases/{})",
            safe::escape_code(&file.id),
            safe::escape_uri(&file.path)
        );
        if let Some(kernel) = file.kernel_path() {
            let _ = write!(program, ", [kernel](../cases/{})", safe::escape_uri(kernel));
        }
        let _ = writeln!(
            text,
            "| {} | {} | {program} | {} | {} | {} |",
            safe::escape_cell(file.summary()),
            describe_engines(file),
            found.finder,
            found
                .upstream
                .as_deref()
                .map_or_else(|| "new".to_owned(), safe::escape_cell),
            found.state
        );
    }
    text
}

/// The engines with the bug, each with its versions and the effect.
fn describe_engines(file: &CaseFile) -> String {
    let mut engines: Vec<String> = Vec::new();
    for Exception {
        engine,
        versions,
        axes,
        reason: why,
    } in file.exceptions()
    {
        let mut text = engine.to_string();
        if versions.to_string() != "*" {
            let _ = write!(text, " {versions}");
        }
        for (nth, axis) in axes.iter().enumerate() {
            let _ = write!(text, "{}{axis}", if nth == 0 { " over " } else { ", " });
        }
        if !why.is_empty() {
            let _ = write!(text, ": {why}");
        }
        if !engines.contains(&text) {
            engines.push(text);
        }
    }
    safe::escape_cell(&engines.join(". "))
}
