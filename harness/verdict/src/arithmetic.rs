//! Arithmetic with known results, which the reference does before any that counts.
//!
//! The reference's results, and its acceptance of others' results, depend on one arithmetic. If that is wrong, an engine that is
//! right is blamed, and another may agree by chance. So casts, and the operations that round once or not at all, are compared
//! with their results by definition; `arithmetic/results.py` works those out with Python's whole numbers and fractions.
//!
//! It does not test functions with only an error bound, or anything other than arithmetic (`cases/given`).

use cerith_case::{Corpus, Input};
use cerith_engine::{Engine, Reference};
use cerith_tile::rules::Rules;

use crate::given_contents::compare_given;

const KERNELS: &str = include_str!("arithmetic/kernels.py");
const CASES: &str = include_str!("arithmetic/results.yaml");

/// The reference's mistakes in this arithmetic, a sentence for each case.
pub(crate) fn check_arithmetic(reference: &Reference) -> Vec<String> {
    let files = CASES.split("---\n").enumerate().map(|(at, text)| {
        let name = format!("known_{at}.yaml");
        Input::from_text(&name, text.to_owned())
    });
    let corpus = Corpus::load(files.chain([Input::from_text("kernels.py", KERNELS)]));
    let mut wrong = Vec::new();
    for entry in corpus.entries() {
        let Ok(case) = entry.resolve() else {
            wrong.push(format!("`{}` cannot be made", entry.id));
            continue;
        };
        let outcome = match reference.run(&case, Rules::default()) {
            Ok(run) => run.outcome,
            Err(failure) => {
                wrong.push(format!("in `{}` the reference failed to {failure}", entry.id));
                continue;
            }
        };
        if outcome.finished().is_none() {
            wrong.push(format!("`{}` has a result, and the reference has none", entry.id));
        } else if let Some(comparison) = compare_given(&case, &outcome) {
            let found = comparison.first.first().map_or_else(
                || "something has no defined value".to_owned(),
                |element| {
                    let [known, found] = &element.values;
                    format!(
                        "byte {} of `{}` holds {found} and not {known}",
                        element.byte, element.storage
                    )
                },
            );
            wrong.push(format!("`{}` of `{}`: {found}", entry.id, case.summary));
        }
    }
    if corpus.entries().next().is_none() {
        wrong.push("none of it can be read".to_owned());
    }
    wrong
}
