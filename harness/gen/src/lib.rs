//! Generators of Cerith's inputs, and the laws that hold for them: a plain library that knows no fuzzing engine.
//!
//! | module | makes | and checks with |
//! |---|---|---|
//! | [`text`] | Python files with a kernel | [`text::check`]: refused with a place in the file, or traced to IR that verifies and runs the same twice |
//! | [`program`] | typed IR | [`program::check`]: both executions agree, and checks change only what is reported |
//! | [`view`] | tensors and chains of torch's operations on them | [`view::check`]: elements are where a model that enumerates them has them |
//! | [`case_file`] | case files | [`case_file::check`]: problems have a place, and a case that is printed reads back the same |
//!
//! Everything random comes from an [`arbitrary::Unstructured`], so that the same bytes are the same input, from any source:
//! libFuzzer (`fuzz/`), proptest (`harness/*/tests`) or a plain generator of random numbers (`examples/soak.rs`). The result of
//! one input is a [`TrialResult`].
//!
//! [`case`] makes whole cases from [`seeded`] bytes, to compare engines (`cerith fuzz`, `examples/kernels.rs`).
//!
//! [`kernel`] builds IR by hand, for tests.
//!
//! [`reduce`] makes cases smaller, generated or not, as long as an oracle says that they still show the same.
//!
//! `cerith fuzz` runs engines, and decides about findings.
//!
//! Invariants: no fuzzing engine, no IO; the same bytes are the same trial.
#![warn(missing_docs)]

pub mod case;
pub mod case_file;
pub mod kernel;
pub mod program;
pub mod reduce;
pub mod seeded;
pub mod text;
pub mod view;

use std::fmt;

/// How a trial ended in which every law held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ended {
    /// The input was refused, with a reason.
    Refused,
    /// It was accepted, and stopped while it ran: undefined, unsupported, or too much work.
    Stopped,
    /// It was accepted and ran to its end.
    Finished,
}

impl Ended {
    /// All ends.
    pub const ALL: [Self; 3] = [Self::Refused, Self::Stopped, Self::Finished];
}

/// A law that did not hold: a bug of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(pub String);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

/// The result of a trial of one input.
pub type TrialResult = Result<Ended, Fault>;

/// A fault, unless the law holds.
fn ensure(holds: bool, law: impl FnOnce() -> String) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(Fault(law())) }
}
