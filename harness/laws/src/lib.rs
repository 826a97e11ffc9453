//! Laws of what stands above [`cerith_gen`]: generated cases in the reference, and the files that Cerith reads.
//!
//! | module | an input is | and is held to |
//! |---|---|---|
//! | [`case`] | bytes that are choices of a case | it reads as a case; the reference accepts it or says why not; the same twice, in threads, and for its twins |
//! | [`broken`] | bytes that are choices of a case that breaks a rule | the reference says what is foretold |
//! | [`bundle`] | a bundle, or its sections before they are packed | refused with words and a place; what is read and written is read again the same |
//! | [`recording`] | a part file, or a data archive | likewise; what is collected is a corpus without a problem |
//! | [`event_stream`] | a stream of events | likewise; every printer takes what is read |
//!
//! [`seeds`] makes inputs to begin with.
//!
//! They are apart from `cerith_gen` because that knows no engine. `fuzz/` calls them, and `tests/regressions.rs` replays what was
//! found.
//!
//! Left out: engines beside the reference, which `fuzz/fuzz_targets/case_interpreter.rs` asks.
//!
//! Invariants: no fuzzing engine; nothing is printed; nothing is written but what [`recording`] writes to a folder of its own, and
//! takes away again.
#![warn(missing_docs)]

pub mod broken;
pub mod bundle;
pub mod case;
pub mod event_stream;
pub mod recording;
pub mod seeds;

use cerith_gen::Fault;

/// A fault, unless what a law says is so.
fn ensure(holds: bool, law: impl FnOnce() -> String) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(Fault(law())) }
}

/// That an error has words.
fn words(error: &impl ToString) -> Result<(), Fault> {
    let words = error.to_string();
    ensure(words.trim().len() > 3, || {
        format!("an error without words: {words:?}")
    })
}
