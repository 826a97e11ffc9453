//! PTX, executed without a GPU.
//!
//! [`parse`] reads a module, [`Kernel::new`] decodes one of its kernels, and [`Kernel::launch`] executes it on a
//! [`Memory`](cerith_memory::Memory). A launch ends with a [`LaunchOutcome`]. A [`Finding`] reports what a GPU hides:
//! races in shared memory, copies that were not waited for, missing proxy fences, uninitialised registers.
//!
//! ```
//! use std::sync::Arc;
//!
//! use cerith_memory::{Memory, Storages};
//! use cerith_ptx::{Config, Kernel, Launch, LaunchOutcome, parse};
//!
//! let text = "
//!     .version 8.0
//!     .target sm_80
//!     .address_size 64
//!     .visible .entry count(.param .u64 out)
//!     {
//!         .reg .b32 %r<2>;
//!         .reg .b64 %rd<4>;
//!         ld.param.u64 %rd0, [out];
//!         mov.u32 %r0, %tid.x;
//!         mul.wide.u32 %rd1, %r0, 4;
//!         add.u64 %rd2, %rd0, %rd1;
//!         st.global.u32 [%rd2], %r0;
//!         ret;
//!     }";
//! let kernel = Kernel::new(&Arc::new(parse(text).unwrap()), "count").unwrap();
//!
//! let mut storages = Storages::new();
//! let out = storages.add("out", 4 * 32).unwrap();
//! let mut memory = Memory::new(&storages, Vec::new());
//! let parameters = memory.address(out).to_le_bytes();
//! let launch = |threads| Launch {
//!     grid: [1, 1, 1],
//!     threads: [threads, 1, 1],
//!     cluster: [1; 3],
//!     shared: 0,
//!     parameters: &parameters,
//!     scratch: 0,
//! };
//! let outcome = kernel.launch(&launch(32), &mut memory, &Config::default());
//! assert!(matches!(outcome, LaunchOutcome::Finished(_)));
//! assert_eq!(memory.bytes(out)[4 * 31], 31);
//!
//! // One thread too many writes past the end of the storage.
//! let LaunchOutcome::Trapped(trap) = kernel.launch(&launch(33), &mut memory, &Config::default()) else {
//!     panic!("it traps")
//! };
//! assert_eq!(trap.kind.code(), "out-of-bounds");
//! assert_eq!(trap.thread.thread, 32);
//! assert_eq!(trap.instruction.unwrap().place.line, 13);
//! ```
//!
//! Supported are the instructions that Triton emits for `sm_80` and `sm_90a` (`tests/golden/opcodes.txt`), and similar
//! ones that need no extra code. [`Kernel::new`] rejects all others, with the line. Integer arithmetic, explicit rounding (`.rn`,
//! …) and conversions follow PTX bit for bit. Approximate functions are rounded correctly or nearly so. Threads of a
//! warp run in step, warps of a block take turns, and clusters of blocks run one after the other: one of the orders that a
//! GPU may take. Bulk copies and products of `wgmma` are agents of their own, and copies complete late or early as
//! [`Config::schedule`] says; races with them are found for every order that the synchronisation allows.
//!
//! Unsupported: bulk copies from one block's shared memory to another's, im2col and interleaved tensor maps, sparse
//! `wgmma`, tensor memory and `tcgen05` (`sm_100`), textures, and the assembler's work below PTX.
//!
//! Invariants: no IO; depends on no engine; no panic on any input; a launch ends within the limits of its [`Config`].
#![warn(missing_docs)]
#![allow(
    clippy::inline_always,
    reason = "an instruction's function must become part of the loop over the lanes, at every level"
)]

mod access;
mod accessor;
mod agent;
mod alu;
mod barrier;
mod block;
mod clock;
mod cluster;
mod code;
mod config;
mod cta;
mod deadlock;
mod decode;
mod exchange;
mod execute;
mod fidelity;
mod flight;
mod footprint;
mod foreign;
mod global;
mod kernel;
mod lanes;
mod launch;
mod lex;
mod link;
mod located;
mod machine;
mod matrix;
mod mbarrier;
mod meeting;
mod op;
mod outcome;
mod parallel;
mod parse;
mod product;
mod race;
mod registers;
mod release;
mod schedule;
mod sequence;
mod shared;
mod sum;
mod synchronise;
mod syntax;
mod tensor;
mod warp;
mod wgmma;

pub use code::FindingCode;
pub use config::{Config, Launch, SCRATCH_WINDOW};
pub use deadlock::{Arrived, Deadlock, PhaseWait, Wait, WaitTarget};
pub use fidelity::{ExecutedInstructions, Fidelity};
pub use kernel::{Kernel, LinkError, Parameter};
pub use located::Line;
pub use outcome::{
    Exhausted, Finding, FindingKind, Finished, GLOBAL_RACE, InstructionLocation, LaunchOutcome,
    MOST_FINDINGS, Resource, Thread, Trap, TrapKind,
};
pub use parse::parse;
pub use schedule::Schedule;
pub use syntax::{
    Base, Function, Initial, Instruction, Kind, Location, MaskOf, Module, Operand, Role, Source, Space,
    Special, SyntaxError, Type, Variable, VariableId,
};
pub use tensor::map::{HostTensorMap, TENSOR_MAP_BYTES, TensorMapError};
