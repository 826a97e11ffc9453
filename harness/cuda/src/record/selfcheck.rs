//! Writes a record of a known outcome and reads it back, so that Cerith does not blame a compiler for its own mistake in reading
//! records.

use cerith_case::{LoadError, load_case};
use cerith_tile::rules::Rules;

use super::change::ChangeError;
use super::entry::Record;
use cerith_engine::{Engine, Failure, Outcome, Reference};

const CASE: &str = "\
about: Two storages change, in several places.
kernel: kernels.py:apart
storages:
  x: { dtype: i32, shape: [8], fill: arange }
  out: { dtype: i32, shape: [8], fill: zeros }
launches:
  - { grid: [1], args: { x: x, out: out } }
";

const KERNEL: &str = "\
import triton
import triton.language as tl

@triton.jit
def apart(x, out):
    i = tl.arange(0, 4)
    tl.store(out + i * 2, tl.load(x + i * 2) + 1)
    tl.store(x + 7, 9)
";

/// The reason why records cannot be trusted: a bug in Cerith.
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    /// The case has an error.
    #[error(transparent)]
    Case(#[from] LoadError),
    /// The reference fails.
    #[error("failed to {0}")]
    Reference(#[from] Failure),
    /// An outcome is not recorded.
    #[error("an outcome has no record")]
    NoRecord,
    /// A record is not JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A record does not fit its case.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// A record has another outcome.
    #[error("a record does not reproduce its outcome")]
    OtherOutcome,
    /// A record does not match its case.
    #[error("a record of the same case is taken for one of another {0}")]
    Mismatch(&'static str),
    /// A record matches another case.
    #[error("a record is taken for one of another case")]
    Match,
}

/// Checks that a record converts back to its outcome, and that it detects a different case.
///
/// # Errors
/// Records cannot be trusted.
pub fn check_records() -> Result<(), RecordsError> {
    let case = load_case(CASE, KERNEL)?;
    let outcome = Reference::default().run(&case, Rules::default())?.outcome;
    let record = Record::from_outcome(&case, "", &outcome, 1).ok_or(RecordsError::NoRecord)?;
    let text = serde_json::to_string(&record)?;
    let read: Record = serde_json::from_str(&text)?;
    let same = match (&outcome, read.to_outcome(&case)?) {
        (Outcome::Finished(known), Outcome::Finished(found)) => {
            let mut ids = known.memory.ids();
            ids.all(|id| known.memory.bytes(id) == found.memory.bytes(id))
        }
        _ => false,
    };
    if !same {
        return Err(RecordsError::OtherOutcome);
    }
    if let Some(what) = read.find_mismatch(&case) {
        return Err(RecordsError::Mismatch(what));
    }
    let others = [
        (CASE.replace("shape: [8]", "shape: [9]"), KERNEL.to_owned()),
        (CASE.to_owned(), KERNEL.replace("+ 1)", "+ 2)")),
    ];
    for (case, kernel) in others {
        if read.find_mismatch(&load_case(&case, &kernel)?).is_none() {
            return Err(RecordsError::Match);
        }
    }
    Ok(())
}
