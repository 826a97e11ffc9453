//! PTX, executed without a GPU.

mod access;
mod alu;
mod block;
mod decode;
mod exchange;
mod execute;
mod foreign;
mod lanes;
mod launch;
mod lex;
mod link;
mod machine;
mod matrix;
mod op;
mod outcome;
mod parse;
mod shared;
mod sum;
pub mod syntax;
mod warp;

pub use launch::{Config, Launch};
pub use link::{Kernel, LinkError, Parameter};
pub use outcome::{
    At, Exhausted, Finding, FindingKind, Finished, LaunchOutcome, Resource, Thread, Trap, TrapKind,
};
pub use parse::parse;

/// The most findings of a launch.
pub const MOST_FINDINGS: usize = 16;

/// Where the scratch memory of a launch begins.
pub const SCRATCH_WINDOW: u64 = 0x0500_0000_0000;
