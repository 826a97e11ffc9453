//! The engines, which execute cases. All implement the [`Engine`] trait.
//!
//! - [`EngineId`] names one: `reference`, `interpret@3.9.0`, `interpret@3.2.0+host`, `cuda@3.9.0`,
//!   `ptx@3.9.0`, `jit@3.6.0`, `ttir@3.9.0`, `inductor@2.11.0`.
//! - [`Outcome`] is what an engine did with a case. A program's trap is a value; a failure of Cerith itself is a [`Failure`].
//!
//! ```
//! use cerith_case::{Corpus, Input};
//! use cerith_engine::{Engine, EngineId, Outcome, Reference};
//! use cerith_tile::rules::{Rules, Version};
//!
//! let case_file = "
//! about: One element too many is read.
//! kernel: copy.py:copy
//! storages:
//!   x: { dtype: f32, shape: [3], fill: arange }
//!   out: { dtype: f32, shape: [4], fill: uninit }
//! launches:
//!   - { grid: [1], args: { x: x, out: out } }
//! ";
//! let kernel = "
//! import triton
//! import triton.language as tl
//!
//! @triton.jit
//! def copy(x, out):
//!     i = tl.arange(0, 4)
//!     tl.store(out + i, tl.load(x + i))
//! ";
//! let corpus = Corpus::load([Input::from_text("copy.yaml", case_file), Input::from_text("copy.py", kernel)]);
//! let case = corpus.entries().next().unwrap().resolve().unwrap();
//!
//! // Every engine is asked in this way; `Interpret::new(pool, …)` is Triton's own interpreter.
//! let reference = Reference::default();
//! let run = reference.run(&case, Rules::from_version(Version::new(3, 6, 0))).unwrap();
//! let Outcome::Trapped(_, complaint) = run.outcome else { panic!("it is undefined") };
//! assert_eq!(complaint.kind, "out-of-bounds");
//! let position = complaint.position.unwrap();
//! assert_eq!((position.file.as_str(), position.line), ("copy.py", 8));
//!
//! let id: EngineId = "interpret@3.2.0+host".parse().unwrap();
//! assert_eq!(id.version(), Some(Version::new(3, 2, 0)));
//! ```
//!
//! See `cerith-verdict` for which engine is right, and `cerith-cli` for which engines a run uses and how many run at once.
//!
//! Invariants: an engine never prints; whatever a program does to an engine spoils that engine's outcome and nothing else; only
//! `cerith-cuda` and workers with torch use a GPU.
#![warn(missing_docs)]

mod clears;
mod combine_orders;
pub mod compile;
mod compiler_cause;
mod compiler_stage;
mod compiler_versions;
mod engine;
mod executed;
mod execution;
mod followed;
mod id;
mod inductor;
mod interpret;
mod jit;
pub mod job;
mod known_bugs;
mod lane_orders;
mod lines;
mod loading;
mod missing_feature;
mod outcome;
mod panics;
mod ptx;
mod recorded;
mod reference;
mod schedules;
mod shared_code;
mod sparse;
pub mod stats;
mod ttir;
mod worker_outcome;
mod worker_request;

pub use cerith_ptx::{ExecutedInstructions, FindingCode, GLOBAL_RACE};
pub use compiler_cause::extract_compiler_cause;
pub use compiler_stage::CompilerStage;
pub use engine::{Capabilities, Engine, Failure, Feature, Needs, Preparation, Prepared, Remembered, Run};
pub use execution::Execution;
pub use followed::{Followed, Following};
pub use id::{BadEngineId, EngineId, Family, LaunchExecutor};
pub use inductor::Inductor;
pub use interpret::Interpret;
pub use jit::Jit;
pub use lines::Line;
pub use outcome::{
    Complaint, DAMAGED_RECORDING, Finished, Frame, INVALID_IR, MODULE_NOT_FOUND, NO_RECORDING, NO_WORKER,
    OTHER_CODE, Outcome, Position, STALE_RECORDING, SourceLines, Tracked, Trap,
};
pub use panics::catch_panic;
pub use ptx::{BAD_INSTRUCTION, BAD_SYNTAX, Ptx};
pub use recorded::{Recorded, infer_rules};
pub use reference::{Conforming, Explanation, FormulaMemory, FormulaRun, Kernel, Reference, Widest};
pub use shared_code::{Families, find_families, is_triton_code, list_triton_code};
pub use sparse::{TOO_LARGE, reject_sparse};
pub use ttir::{FailedPass, Passes, Ttir};
pub use worker_outcome::ASSERT_FAILED;
