//! Recordings: the launches of any program that uses Triton, as a corpus.
//!
//! 1. The **recorder** is our Python package that runs in the user's own process, beside the user's own Triton
//!    (`python/cerith_triton`, embedded here: [`recorder`]). It writes part files ([`part`] specifies them).
//! 2. [`collect()`] makes a **recording** from them: a folder of case files, kernels and archives of bytes, which is a corpus
//!    like any other ([`cerith_case`] specifies it).
//!
//! ```text
//! recording/recording.json           what was recorded, with figures
//! recording/add_kernel/add_kernel.py the kernel with all that it needs; Triton itself can run it
//! recording/add_kernel/0001.yaml     a launch
//! recording/add_kernel/data.zip      what storages held, by hash
//! ```
//!
//! ```
//! use cerith_case::Corpus;
//! use cerith_recording::{Options, collect};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! // A recorder's output: frames of a header and a payload, here without any bytes of storages.
//! let frame = |header: &str| {
//!     let mut frame = (header.len() as u32).to_le_bytes().to_vec();
//!     frame.extend(0u64.to_le_bytes());
//!     frame.extend(header.as_bytes());
//!     frame
//! };
//! let text = "import triton\\n\\n\\n@triton.jit\\ndef nothing(n):\\n    pass\\n";
//! let part = [
//!     frame(r#"{"frame":"process","format":2,"pid":1,"argv":["train.py"],"python":"3.12.3","triton":"3.6.0","torch":null,
//!         "numpy":"2.3.5","platform":"linux-x86_64"}"#),
//!     frame(&format!(
//!         r#"{{"frame":"kernel","kernel":0,"function":"nothing","files":[{{"name":"nothing.py","text":"{text}"}}],
//!         "inspectable":true,"origin":"train.py:4"}}"#
//!     )),
//!     frame(r#"{"frame":"launch","launch":0,"kernel":0,"engine":"interpret+host","target":null,"grid":[4],"storages":[],
//!         "args":[["n",["i","7"]]],"options":[]}"#),
//!     frame(r#"{"frame":"ended","launch":0,"after":[],"raised":null,"seconds":0.001}"#),
//! ];
//! let parts = folder.join("parts");
//! std::fs::create_dir(&parts)?;
//! std::fs::write(parts.join("1-0.part"), part.concat())?;
//!
//! let out = folder.join("recording");
//! let collected = collect(&Options { parts, out: out.clone(), command: None, sample: "layout".to_owned(), private: false })?;
//! assert_eq!((collected.launches, collected.cases, collected.kernels), (1, 1, 1));
//!
//! let corpus = Corpus::read(&out)?;
//! let case = corpus.entries().next().expect("it has one").resolve().expect("it is whole");
//! assert_eq!((case.id.as_str(), case.launches[0].grid), ("nothing/0001", [4, 1, 1]));
//! # Ok(())
//! # }
//! ```
//!
//! `cerith record` starts the program, and `cerith run` runs the recording.
//!
//! Invariants: nothing here runs Python; a part file is not trusted (sizes, hashes, names and counts are checked), and its faults
//! are reported; what the recorder could not record is counted with its reason, never dropped in silence.
#![warn(missing_docs)]

mod archive;
mod case_text;
pub mod collect;
mod follow;
pub mod part;
pub mod recorder;

pub use collect::{CollectError, Collected, Options, Unfinished, collect};
pub use follow::Follower;
