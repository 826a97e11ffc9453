//! Writes case files, reads them back, and keeps only those that are cases. See [`crate::case_text`] for the texts.

use std::collections::BTreeMap;
use std::path::Path;

use cerith_case::Corpus;
use cerith_tile::diagnostic::Diagnostic;

use super::{CaseFile, CollectError, write as write_file};

/// Writes the case files of a folder that already has its kernels and archives. A file that the checks of case files refuse is
/// written as `unchecked`, or left out. Answers with the number of files, and why the others were left out.
pub fn write(folder: &Path, cases: &mut [CaseFile<'_>]) -> Result<(u64, Vec<String>), CollectError> {
    for case in &*cases {
        write_file(&folder.join(&case.name), &case.text.print())?;
    }
    let mut wrong = find_problems(folder, cases)?;
    if !wrong.is_empty() {
        for case in cases.iter_mut().filter(|case| wrong.contains_key(&case.name)) {
            case.text.unchecked = true;
            write_file(&folder.join(&case.name), &case.text.print())?;
        }
        wrong = find_problems(folder, cases)?;
    }
    let mut reasons = Vec::new();
    for case in &*cases {
        if let Some(why) = wrong.remove(&case.name) {
            let path = folder.join(&case.name);
            cerith_files::remove_file(&path).map_err(CollectError::io_error_at(&path))?;
            reasons.push(why);
        }
    }
    Ok(((cases.len() - reasons.len()) as u64, reasons))
}

/// The first problem of each case file that has any.
fn find_problems(folder: &Path, cases: &[CaseFile<'_>]) -> Result<BTreeMap<String, String>, CollectError> {
    let corpus = Corpus::read(folder).map_err(|error| CollectError::Io {
        path: folder.to_owned(),
        source: std::io::Error::other(error.to_string()),
    })?;
    let mut found = BTreeMap::new();
    let mut note = |file: &str, problem: &Diagnostic| {
        found
            .entry(file.to_owned())
            .or_insert_with(|| problem.message.clone());
    };
    let read: Vec<&str> = corpus.files().iter().map(|file| file.path.as_str()).collect();
    for problem in corpus.problems() {
        let file = problem
            .span()
            .and_then(|span| corpus.sources().get(span.source))
            .map(|file| file.name.rsplit('/').next().unwrap_or_default().to_owned());
        match file {
            Some(file) if cases.iter().any(|case| case.name == file) => note(&file, problem),
            // A kernel's file: none of the case files that were left out for it is a case.
            _ => {
                for case in cases.iter().filter(|case| !read.contains(&&*case.name)) {
                    note(&case.name, problem);
                }
            }
        }
    }
    for entry in corpus.entries() {
        if let Err(problems) = entry.resolve()
            && let Some(problem) = problems.first()
        {
            note(&entry.file().path, problem);
        }
    }
    Ok(found)
}
