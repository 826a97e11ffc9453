//! A case created from texts, as if it were read from a folder.

use std::path::Path;

use cerith_case::{Case, Corpus, Input};

/// The name of a kernel's file.
pub const KERNEL: &str = "kernel.py";

/// The name of a case's file.
pub const CASE: &str = "case.yaml";

/// An error in the texts of a case.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A file cannot be read as a case or a kernel.
    #[error("{0}")]
    File(String),
    /// The case file has no case.
    #[error("there is no case in it")]
    NoCase,
    /// The case is wrong, for each of these reasons.
    #[error("{}", .0.join("; "))]
    Case(Vec<String>),
}

/// A case with its texts.
pub struct CaseSource {
    /// The kernel's file.
    pub kernel: String,
    /// The case's file.
    pub yaml: String,
    /// The case that both files define.
    pub case: Case,
    /// The corpus that its source locations refer to.
    pub corpus: Corpus,
}

impl CaseSource {
    /// The case of two texts, as it would be read from the folder `name` in `folder`.
    ///
    /// # Errors
    /// The texts are wrong.
    pub fn read(name: &str, kernel: &str, yaml: &str, folder: &Path) -> Result<Self, SourceError> {
        Self::read_named(name, CASE, kernel, yaml, folder)
    }

    /// Reads the case of two texts from a case file with another name.
    pub fn read_named(
        name: &str,
        case: &str,
        kernel: &str,
        yaml: &str,
        folder: &Path,
    ) -> Result<Self, SourceError> {
        let input = |file: &str, text: &str| Input {
            name: folder.join(name).join(file).display().to_string(),
            ..Input::from_text(format!("{name}/{file}"), text)
        };
        let corpus = Corpus::load([input(case, yaml), input(KERNEL, kernel)]);
        if let Some(problem) = corpus.problems().first() {
            return Err(SourceError::File(problem.message.clone()));
        }
        let entry = corpus.entries().next().ok_or(SourceError::NoCase)?;
        let case = entry.resolve().map_err(|problems| {
            SourceError::Case(problems.into_iter().map(|problem| problem.message).collect())
        })?;
        Ok(Self {
            kernel: kernel.to_owned(),
            yaml: yaml.to_owned(),
            case,
            corpus,
        })
    }
}
