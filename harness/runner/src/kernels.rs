//! The kernels that are meant where a file is named without them: those that a case file launches, or the only one of a Python file.

use std::path::{Path, PathBuf};

use cerith_case::Shard;
use cerith_tile::source::{SourceFile, Sources};

use crate::corpus::{CorpusError, Selected};

/// The reason why a file names no kernel.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The case file cannot be read.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// The file is wrong: messages about it.
    #[error("{0}")]
    Broken(String),
    /// The case file launches no kernel.
    #[error("error: {0} launches no kernel\n  = help: `cerith run {0}` says what is wrong with it")]
    NoLaunch(String),
    /// The Python file has no kernel.
    #[error("error: there is no kernel in {0}\n  = help: a kernel is a function with `@triton.jit`")]
    NoKernel(String),
    /// The Python file has several kernels.
    #[error(
        "error: {file} has {} kernels\n  = help: name one: `{file}:{}`; `cerith check {file}` tries them all",
        kernels.len(),
        kernels.join(&format!("`, `{file}:"))
    )]
    Several {
        /// The file.
        file: String,
        /// Its kernels.
        kernels: Vec<String>,
    },
}

/// Whether a path is that of a case file.
pub fn is_case_file(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "yaml" || end == "yml")
}

/// The files and names of the kernels that the cases of a case file launch, each once.
pub fn find_launched_kernels(file: &Path) -> Result<Vec<(PathBuf, String)>, KernelError> {
    let shown = file.display().to_string();
    let selected = Selected::open(None, std::slice::from_ref(&shown))?;
    // Errors in other files of the folder are ignored.
    let own = file.canonicalize().ok();
    let problems = selected.problems();
    let problem = problems.iter().find(|problem| {
        let at = problem.position.as_ref();
        at.is_some_and(|at| Path::new(&at.file).canonicalize().ok() == own)
    });
    if let Some(problem) = problem {
        return Err(KernelError::Broken(problem.rendered.clone()));
    }
    let mut kernels: Vec<(PathBuf, String)> = Vec::new();
    for entry in selected.entries(Shard::ALL) {
        let Ok(case) = entry.resolve() else { continue };
        for launch in &case.launches {
            let kernel = &launch.kernel;
            let named = (selected.root().join(&kernel.module.path), kernel.name.clone());
            if !kernels.contains(&named) {
                kernels.push(named);
            }
        }
    }
    if kernels.is_empty() {
        return Err(KernelError::NoLaunch(shown));
    }
    Ok(kernels)
}

/// The only kernel of a file's text.
pub fn find_only_kernel(file: &Path, text: &str) -> Result<String, KernelError> {
    let shown = file.display();
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new(shown.to_string(), text));
    let mut kernels = cerith_survey::list_kernels(source, text).map_err(|problems| {
        let shown = problems
            .iter()
            .map(|problem| cerith_report::describe::to_problem(problem, &sources).rendered);
        KernelError::Broken(shown.collect::<Vec<_>>().join("\n"))
    })?;
    match kernels.len() {
        0 => Err(KernelError::NoKernel(shown.to_string())),
        1 => Ok(kernels.swap_remove(0)),
        _ => Err(KernelError::Several {
            file: shown.to_string(),
            kernels,
        }),
    }
}
