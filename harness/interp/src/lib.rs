//! The reference interpreter: IR and memory to an outcome.
//!
//! [`Program::prepare`] prepares a verified kernel once. [`Program::launch`] runs all programs of a grid on a
//! [`cerith_memory::Memory`] and returns a [`LaunchOutcome`]: finished, trapped (undefined behaviour, shown at its source
//! line), exhausted, or unsupported. An error of the kernel is never an `Err`; an [`InternalError`] is a bug of the
//! interpreter or of its caller.
//!
//! Operations have the meaning of Triton's documentation and its compiled semantics. Undefined values are *poison*:
//! computing with them results in more of them, storing them marks the bytes ([`cerith_memory::ByteState::Poison`]), and a
//! decision that depends on one is a trap.
//!
//! ```
//! use std::sync::Arc;
//!
//! use cerith_frontend::{Request, trace};
//! use cerith_interp::{ParamValue, Config, LaunchOutcome, Program, TrapKind};
//! use cerith_memory::{Memory, Storages};
//! use cerith_tile::DType;
//! use cerith_tile::ir::Elem;
//! use cerith_tile::rules::Rules;
//! use cerith_tile::source::SourceFile;
//!
//! let text = "
//! import triton
//! import triton.language as tl
//!
//! @triton.jit
//! def count(out, BLOCK: tl.constexpr):
//!     i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
//!     tl.store(out + i, i)
//! ";
//! let traced = trace(&Request {
//!     file: Arc::new(SourceFile::new("count.py", text)),
//!     modules: Vec::new(),
//!     kernel: "count".to_owned(),
//!     positional: vec![cerith_frontend::RequestArg::Pointer(Elem::Num(DType::I32)), cerith_frontend::RequestArg::Int(4)],
//!     keyword: Vec::new(),
//!     options: Vec::new(),
//!     rules: Rules::default(),
//! })
//! .unwrap();
//! let program = Program::prepare(traced.function).unwrap();
//!
//! let mut storages = Storages::new();
//! let out = storages.allocate("out", DType::I32, &[8]).unwrap();
//! let mut memory = Memory::new(&storages, Vec::new());
//! let args = [ParamValue::tensor(&memory, &out, "out")];
//!
//! // Two programs of four lanes fill it; a third one has no room.
//! let outcome = program.launch([2, 1, 1], &args, &mut memory, &Config::default()).unwrap();
//! assert!(matches!(outcome, LaunchOutcome::Finished(_)));
//! assert_eq!(memory.bytes(out.storage)[28], 7);
//! let outcome = program.launch([3, 1, 1], &args, &mut memory, &Config::default()).unwrap();
//! let LaunchOutcome::Trapped(trap) = outcome else { panic!("{outcome:?}") };
//! assert_eq!((trap.kind, trap.program), (TrapKind::OutOfBounds, [2, 0, 0]));
//! let shown = trap.diagnostic.render(&program.function().sources, false);
//! assert!(shown.contains("count.py:8"), "{shown}");
//! ```
//!
//! See `cerith-tile::numeric` for arithmetic, `cerith-frontend` for Python, and `cerith-verdict` for the comparison of
//! outcomes.
//!
//! Invariants: no IO; no panic on any input; execution is deterministic; memory is only accessed inside of storages; a
//! launch ends within its fuel, and soon after it is stopped.
#![warn(missing_docs)]

mod affine;
mod atomic;
pub mod checks;
mod compile;
pub mod config;
mod dataflow;
pub mod dot;
mod effect;
pub mod elementwise;
#[cfg(feature = "planted-faults")]
mod fault;
mod launch;
mod layouts;
mod load;
pub mod machine;
pub mod movement;
pub mod order;
pub mod origin;
pub mod outcome;
mod pages;
mod plan;
pub mod program;
mod reach;
pub mod reduce;
mod retrace;
mod run;
mod shape;
pub mod state;
mod store;
pub mod survey;
mod threads;
pub mod value;
pub mod watch;

pub use config::{Checks, Combining, Config, Leaving, Numerics, OutOfBounds, ParamValue};
pub use order::Order;
pub use outcome::{
    Exhausted, Finished, InternalError, LaunchOutcome, Resource, Stats, StorageSet, Trap, TrapKind,
    Unsupported,
};
pub use program::Program;
pub use watch::Watch;
