//! Loads one case from texts, for cases that Cerith itself contains. See [`Corpus`] for reading a user's files.

use crate::case::Case;
use crate::corpus::Corpus;
use crate::input::Input;

/// The reason why a case of Cerith's own cannot be loaded: a bug of Cerith.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the case cannot be loaded: {0}")]
pub struct LoadError(String);

/// Loads the first case of a case file. `kernels` is the content of `kernels.py`, which the case file names.
pub fn load_case(case_file: &str, kernels: &str) -> Result<Case, LoadError> {
    let corpus = Corpus::load([
        Input::from_text("case.yaml", case_file),
        Input::from_text("kernels.py", kernels),
    ]);
    if let Some(problem) = corpus.problems().first() {
        return Err(LoadError(problem.message.clone()));
    }
    let Some(entry) = corpus.entries().next() else {
        return Err(LoadError("the case file expands to no case".to_owned()));
    };
    entry.resolve().map_err(|problems| {
        let messages = problems.into_iter().map(|problem| problem.message);
        LoadError(messages.collect::<Vec<_>>().join("; "))
    })
}

#[cfg(test)]
mod tests {
    use super::load_case;

    #[test]
    fn the_first_problem_is_in_the_message() {
        let file = "about: A case.\nkernel: kernels.py:absent\nlaunches: [{ grid: 1 }]\n";
        let error = load_case(file, "").expect_err("there is no such kernel");
        assert!(error.to_string().contains("absent"), "{error}");
    }
}
