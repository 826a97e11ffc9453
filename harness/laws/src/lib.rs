//! The laws of crates above [`cerith_gen`]: generated cases in the reference, and the files that Cerith reads.
//!
//! | module | an input is | law |
//! |---|---|---|
//! | [`case`] | bytes that are choices of a case | it reads as a case; the reference accepts it or reports why not; two runs, threads and twins produce the same result |
//! | [`broken`] | bytes that are choices of a case that breaks a rule | the reference answers as foretold |
//! | [`bundle`] | a bundle, or its sections before they are packed | it is refused with a message and a place, or what is read and written reads back the same |
//! | [`mlir`] | a module of Triton's IR | it is refused with a message and a place, or becomes IR that verifies and runs |
//! | [`recording`] | a part file, or a data archive | the same; what is collected is a corpus without errors |
//! | [`event_stream`] | a stream of events | the same; every printer takes what is read |
//! | [`ptx`] | a PTX text | it is refused with a place, or its kernels do the same in two launches, within their limits |
//!
//! [`seeds`] makes inputs to begin with.
//!
//! They are not in `cerith_gen`, because that knows no engine. `fuzz/` calls them, and `tests/it/regressions.rs` replays inputs that
//! found something.
//!
//! `fuzz/fuzz_targets/case_interpreter.rs` runs engines beside the reference.
//!
//! Invariants: no fuzzing engine; nothing is printed; nothing is written, except that [`recording`] writes to a folder of its own
//! and removes it.
#![warn(missing_docs)]

pub mod broken;
pub mod bundle;
pub mod case;
pub mod event_stream;
pub mod mlir;
pub mod ptx;
pub mod recording;
pub mod seeds;

use cerith_gen::Fault;

/// A fault, unless the law holds.
fn ensure(holds: bool, law: impl FnOnce() -> String) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(Fault(law())) }
}

/// Checks that an error has a message.
fn check_message(error: &impl ToString) -> Result<(), Fault> {
    let words = error.to_string();
    ensure(words.trim().len() > 3, || {
        format!("an error without words: {words:?}")
    })
}
