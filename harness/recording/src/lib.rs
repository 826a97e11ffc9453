//! Recordings: the launches of any program that uses Triton, as a corpus.
//!
//! 1. The **recorder** is Python of ours that runs in the user's own process, beside the user's own Triton
//!    (`python/conch_triton`, embedded here: [`recorder`]). It writes part files ([`part`] specifies them).
//! 2. [`collect`] makes a **recording** of them: a folder of case files, kernels and archives of bytes, which is a corpus
//!    like any other ([`conch_case`] specifies it).
//!
//! ```text
//! recording/recording.json           what was recorded, with figures
//! recording/add_kernel/add_kernel.py the kernel with all that it needs; Triton itself can run it
//! recording/add_kernel/0001.yaml     a launch
//! recording/add_kernel/data.zip      what storages held, by hash
//! ```
//!
//! Left out: starting the program (`conch record`), running what was recorded (`conch run`).
//!
//! Invariants: nothing here runs Python; a part file is not believed (sizes, hashes, names and counts are checked), and what
//! is wrong with it is told; what the recorder could not say is counted with its reason, never dropped in silence.
#![warn(missing_docs)]

mod archive;
mod case_text;
pub mod collect;
pub mod part;
pub mod recorder;

pub use collect::{CollectError, Collected, Options, collect};
