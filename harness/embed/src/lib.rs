//! Cerith in a program of your own: case files in, verdicts out.
//!
//! A [`Corpus`] is read from texts or from a folder. A [`Panel`] consists of the [`reference`](fn@reference) and other engines
//! ([`interpreter`]). [`judge`] runs every case through the panel and hands out [`Event`]s, which [`Human`] prints as
//! `cerith run` does.
//!
//! ```
//! use cerith_embed::{Corpus, Event, Input, Panel, judge, reference};
//!
//! let case = "
//! about: One is added.
//! kernel: add.py:add
//! storages: { x: { dtype: i32, shape: [4], fill: arange } }
//! launches: [{ grid: 1, args: { x: x } }]
//! ";
//! let kernel = "
//! import triton
//! import triton.language as tl
//!
//! @triton.jit
//! def add(x):
//!     i = tl.arange(0, 4)
//!     tl.store(x + i, tl.load(x + i) + 1)
//! ";
//! let corpus = Corpus::load([Input::from_text("area/add.yaml", case), Input::from_text("area/add.py", kernel)]);
//! let panel = Panel::new(Some(reference()), vec![]);
//! let summary = judge(&corpus, &panel, |event| {
//!     if let Event::Problem(problem) = event {
//!         eprintln!("{}", problem.rendered);
//!     }
//! })?;
//! assert_eq!(summary.cases, 1);
//! # Ok::<(), cerith_embed::Stopped>(())
//! ```
//!
//! Compilers and GPUs, fuzzing, sweeps and reports of versions are not included. If you need them, use their crates.
#![warn(missing_docs)]

use std::sync::Arc;

use cerith_engine::{Engine, Interpret, Reference};
use cerith_report::describe;
use cerith_runner::judge::{CaseResult, Judge};
use cerith_toolchain::pool::Limits;
use cerith_toolchain::{Home, HomeError, Pool, ToolchainId};

pub use cerith_case::{Corpus, Input};
pub use cerith_report::{Event, Human, Summary};
pub use cerith_verdict::{Panel, Stopped};

/// The reason why there is no interpreter. Fits after "failed to ".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoInterpreter {
    /// The version is not known.
    #[error("read `{version}` as a version of Triton: {problem}")]
    Version {
        /// The version as given.
        version: String,
        /// The reason why it is not a version.
        problem: String,
    },
    /// The toolchains cannot be listed.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// That version is not installed.
    #[error("find Triton {0}: it is not installed; `cerith toolchain add {0}` installs it")]
    Missing(ToolchainId),
    /// Its workers have no folder for their files.
    #[error("start workers: {0}")]
    Workers(#[from] std::io::Error),
}

/// The reference, which needs nothing.
pub fn reference() -> Arc<Reference> {
    Arc::new(Reference::default())
}

/// The interpreter of an installed Triton (`3.9.0`), in at most so many processes.
///
/// # Errors
/// There is no such version, it is not installed, or it cannot be started.
pub fn interpreter(version: &str, processes: usize) -> Result<Arc<dyn Engine>, NoInterpreter> {
    let id: ToolchainId = version
        .parse()
        .map_err(|bad: cerith_toolchain::BadId| NoInterpreter::Version {
            version: version.to_owned(),
            problem: bad.problem,
        })?;
    let toolchain = Home::discover()?.resolve(&id);
    let pool = Pool::new(toolchain.ok_or(NoInterpreter::Missing(id))?, processes)?;
    Ok(Arc::new(Interpret::new(pool, false, Limits::INTERPRETER)))
}

/// Runs every case of a corpus through a panel, and passes on the events: the errors of the corpus, and a verdict for each case.
/// The summary has the exit code of `cerith run`.
///
/// # Errors
/// The panel was stopped.
pub fn judge(corpus: &Corpus, panel: &Panel, mut tell: impl FnMut(&Event)) -> Result<Summary, Stopped> {
    let mut summary = Summary::default();
    let mut told = |event: Event| {
        summary.count(&event);
        tell(&event);
    };
    let sources = corpus.sources();
    for problem in corpus.problems() {
        told(Event::Problem(describe::to_problem(problem, sources)));
    }
    let judge = Judge {
        panel,
        sources,
        blaming: None,
        oracle: None,
    };
    let mut judged = 0;
    judge.judge_entries(
        corpus.entries(),
        1,
        || false,
        |_, result| {
            judged += 1;
            match result {
                CaseResult::Events(events) => events.into_iter().for_each(&mut told),
                CaseResult::Wrong(_, problems) => {
                    for problem in &problems {
                        told(Event::Problem(describe::to_problem(problem, sources)));
                    }
                }
            }
        },
    );
    if judged < corpus.entries().count() {
        return Err(Stopped);
    }
    Ok(summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(version: &str, expected: &str) {
        let error = interpreter(version, 1).err().expect("there is none");
        assert!(error.to_string().starts_with(expected), "{error}");
    }

    #[test]
    fn an_interpreter_that_is_not_there_is_told_with_its_mend() {
        check("three", "read `three` as a version of Triton: ");
        check(
            "3.9.0+numpy0.1",
            "find Triton 3.9.0+numpy0.1: it is not installed; `cerith toolchain add ",
        );
    }

    #[test]
    fn what_is_wrong_with_a_case_is_told_and_counted() {
        let corpus = Corpus::load([Input::from_text("area/bad.yaml", "about: 1\nkernel: gone.py:k\n")]);
        let panel = Panel::new(Some(reference()), vec![]);
        let mut problems = 0;
        let summary = judge(&corpus, &panel, |event| {
            problems += usize::from(matches!(event, Event::Problem(_)));
        });
        let summary = summary.expect("it is not stopped");
        assert!(problems > 0);
        assert_eq!(summary.exit_code(), 2);
    }
}
