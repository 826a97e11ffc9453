//! The kernels that are meant where a file is named without them: those that a case file launches, or the only one of a Python file.

use std::path::{Path, PathBuf};

use cerith_case::Shard;
use cerith_tile::source::{SourceFile, Sources};

use crate::corpus::Selected;

/// Whether a path is that of a case file.
pub fn is_case_file(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "yaml" || end == "yml")
}

/// The files and names of the kernels that the cases of a case file launch, each once. Fails with what to tell the user.
pub fn find_launched_kernels(file: &Path) -> Result<Vec<(PathBuf, String)>, String> {
    let shown = file.display().to_string();
    let selected = Selected::open(None, std::slice::from_ref(&shown))?;
    // What is wrong with other files of the folder is not asked.
    let own = file.canonicalize().ok();
    let problems = selected.problems();
    let problem = problems.iter().find(|problem| {
        let at = problem.position.as_ref();
        at.is_some_and(|at| Path::new(&at.file).canonicalize().ok() == own)
    });
    if let Some(problem) = problem {
        return Err(problem.rendered.clone());
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
        return Err(format!(
            "error: {shown} launches no kernel\n  = help: `cerith run {shown}` says what is wrong with it"
        ));
    }
    Ok(kernels)
}

/// The only kernel of a file's text. Fails with what to type for one of them.
pub fn find_only_kernel(file: &Path, text: &str) -> Result<String, String> {
    let shown = file.display();
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new(shown.to_string(), text));
    let mut kernels = cerith_survey::list_kernels(source, text).map_err(|problems| {
        let shown = problems
            .iter()
            .map(|problem| cerith_report::describe::to_problem(problem, &sources).rendered);
        shown.collect::<Vec<_>>().join("\n")
    })?;
    match kernels.len() {
        0 => Err(format!(
            "error: there is no kernel in {shown}\n  = help: a kernel is a function with `@triton.jit`"
        )),
        1 => Ok(kernels.swap_remove(0)),
        _ => Err(format!(
            "error: {shown} has {} kernels\n  = help: name one: `{shown}:{}`; `cerith check {shown}` tries them all",
            kernels.len(),
            kernels.join(&format!("`, `{shown}:"))
        )),
    }
}
