//! A case made from texts, as if read from a folder. Left out: where the texts come from.

use std::path::Path;

use cerith_case::{Case, Corpus, Input};

/// The name of a kernel's file.
pub const KERNEL: &str = "kernel.py";

/// The name of a case's file.
pub const CASE: &str = "case.yaml";

/// A case with its texts.
pub struct CaseSource {
    /// The kernel's file.
    pub kernel: String,
    /// The case's file.
    pub yaml: String,
    /// What both say.
    pub case: Case,
    /// What its places are places in.
    pub corpus: Corpus,
}

impl CaseSource {
    /// The case of two texts, as it would be read from the folder `name` in `folder`.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn read(name: &str, kernel: &str, yaml: &str, folder: &Path) -> Result<Self, String> {
        Self::read_named(name, CASE, kernel, yaml, folder)
    }

    /// The same, of a case file with another name.
    pub fn read_named(
        name: &str,
        case: &str,
        kernel: &str,
        yaml: &str,
        folder: &Path,
    ) -> Result<Self, String> {
        let input = |file: &str, text: &str| Input {
            name: folder.join(name).join(file).display().to_string(),
            ..Input::from_text(format!("{name}/{file}"), text)
        };
        let corpus = Corpus::load([input(case, yaml), input(KERNEL, kernel)]);
        if let Some(problem) = corpus.problems().first() {
            return Err(problem.message.clone());
        }
        let entry = corpus.entries().next().ok_or("there is no case in it")?;
        let case = entry.resolve().map_err(|problems| {
            let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
            messages.join("; ")
        })?;
        Ok(Self {
            kernel: kernel.to_owned(),
            yaml: yaml.to_owned(),
            case,
            corpus,
        })
    }
}
