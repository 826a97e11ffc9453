//! A generated case, made out of its number. Left out: what is done with it.

use std::path::Path;

use arbitrary::Unstructured;
use conch_case::{Case, Corpus, Input};
use conch_gen::case::{Detail, Generated};
use conch_gen::seeded;

/// The name of a kernel's file.
pub const KERNEL: &str = "kernel.py";

/// The name of a case's file.
pub const CASE: &str = "case.yaml";

/// A generated case with its texts.
pub struct Made {
    /// The kernel's file.
    pub kernel: String,
    /// The case's file.
    pub yaml: String,
    /// What both say.
    pub case: Case,
    /// What its places are places in.
    pub corpus: Corpus,
}

/// The case of a number, as it would be read from a folder.
///
/// # Errors
/// What is wrong with what was made: a bug of the generator.
pub fn make(seed: u64, number: u64, detail: Detail, folder: &Path) -> Result<Made, String> {
    let bytes = seeded::bytes(seed, number);
    let name = format!("k{number}");
    let generated = Generated::new(&name, detail, &mut Unstructured::new(&bytes))
        .map_err(|error| format!("generate case {number}: {error}"))?;
    let (kernel, yaml) = (generated.module(), generated.case_file(KERNEL));
    let input = |file: &str, text: &str| Input {
        name: folder.join(&name).join(file).display().to_string(),
        ..Input::text(format!("{name}/{file}"), text)
    };
    let corpus = Corpus::load([input(CASE, &yaml), input(KERNEL, &kernel)]);
    let wrong = |message: String| format!("case {number} of seed {seed} cannot be read: {message}");
    if let Some(problem) = corpus.problems().first() {
        return Err(wrong(problem.message.clone()));
    }
    let entry = corpus
        .entries()
        .next()
        .ok_or_else(|| wrong("there is none".to_owned()))?;
    let case = entry
        .resolve()
        .map_err(|problems| wrong(format!("{problems:?}")))?;
    Ok(Made {
        kernel,
        yaml,
        case,
        corpus,
    })
}
