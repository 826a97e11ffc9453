//! The public names of a toolchain's language, as listed by its wheel.

use std::collections::BTreeMap;
use std::fmt;

use crate::pool::Limits;
use crate::request::Module;
use crate::{Pool, Request, WorkerFailure};

/// Names of functions, types and constants, in order, by where a kernel finds them: `tl`, `tl.math`, `tensor`, ….
pub type PublicNames = BTreeMap<String, Vec<String>>;

/// The reason why there is no list.
#[derive(Debug)]
pub enum NamesError {
    /// The worker did not answer.
    Worker(WorkerFailure),
    /// Python raised an exception.
    Raised(String),
    /// The printed text is not a list.
    Answer(serde_json::Error),
}

impl fmt::Display for NamesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Worker(failure) => write!(f, "ask Triton for its names: {failure}"),
            Self::Raised(text) => write!(f, "ask Triton for its names: {text}"),
            Self::Answer(error) => write!(f, "read Triton's names: {error}"),
        }
    }
}

impl std::error::Error for NamesError {}

/// Asks a worker.
///
/// # Errors
/// The worker died, or its Triton is one whose names cannot be listed.
pub fn public_names(pool: &Pool) -> Result<PublicNames, NamesError> {
    let module = Module {
        path: "public_names.py".into(),
        text: cerith_worker::PUBLIC_NAMES.into(),
    };
    let response = pool
        .request(&Request::import(module), Limits::default())
        .map_err(NamesError::Worker)?;
    if let Err(raised) = response.result {
        let root = raised.root();
        return Err(NamesError::Raised(format!("{}: {}", root.kind, root.message)));
    }
    serde_json::from_str(&response.stdout).map_err(NamesError::Answer)
}
