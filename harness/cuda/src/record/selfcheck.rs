//! Writes a record of a known outcome and reads it back, so that a mistake of ours in reading records is not taken for a
//! compiler's.

use cerith_case::{Case, Corpus, Input};
use cerith_tile::rules::Rules;

use super::entry::Record;
use cerith_engine::Engine;
use cerith_engine::{Outcome, Reference};

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

/// Checks that a record converts back to its outcome, and that it detects a different case.
///
/// # Errors
/// Records cannot be trusted, for this reason.
pub fn check_records() -> Result<(), String> {
    let case = build_case(CASE, KERNEL)?;
    let outcome = Reference::default()
        .run(&case, Rules::default())
        .map_err(|failure| format!("failed to {failure}"))?
        .outcome;
    let record = Record::from_outcome(&case, "", &outcome, 1).ok_or("an outcome has no record")?;
    let text = serde_json::to_string(&record).map_err(|error| error.to_string())?;
    let read: Record = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let same = match (&outcome, read.to_outcome(&case)?) {
        (Outcome::Finished(known), Outcome::Finished(found)) => {
            let mut ids = known.memory.ids();
            ids.all(|id| known.memory.bytes(id) == found.memory.bytes(id))
        }
        _ => false,
    };
    if !same {
        return Err("a record does not reproduce its outcome".to_owned());
    }
    if let Some(what) = read.find_mismatch(&case) {
        return Err(format!(
            "a record of the same case is taken for one of another {what}"
        ));
    }
    let others = [
        (CASE.replace("shape: [8]", "shape: [9]"), KERNEL.to_owned()),
        (CASE.to_owned(), KERNEL.replace("+ 1)", "+ 2)")),
    ];
    for (case, kernel) in others {
        if read.find_mismatch(&build_case(&case, &kernel)?).is_none() {
            return Err("a record is taken for one of another case".to_owned());
        }
    }
    Ok(())
}

fn build_case(case: &str, kernel: &str) -> Result<Case, String> {
    let corpus = Corpus::load([
        Input::from_text("record.yaml", case.to_owned()),
        Input::from_text("kernels.py", kernel.to_owned()),
    ]);
    let entry = corpus.entries().next();
    entry
        .ok_or("its case file cannot be read")?
        .resolve()
        .map_err(|_| "its case cannot be made".to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn records_give_back_what_they_were_made_of() {
        assert_eq!(super::check_records(), Ok(()));
    }
}
