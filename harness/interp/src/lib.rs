//! The reference interpreter: IR and memory to an outcome.
//!
//! [`Program::prepare`] makes a verified kernel ready once; [`Program::launch`] runs all programs of a grid on a
//! [`conch_memory::Memory`] and gives an [`Outcome`]: finished, trapped (the kernel did what has no meaning, shown at
//! its source line), exhausted, or unsupported. What the kernel does wrong is never an `Err`; an [`InternalError`] is
//! our own bug, or the caller's.
//!
//! The meaning of operations is Triton's documentation and its compiled semantics. Values that nothing defines are
//! *poison*: computing with them gives more of them, storing them marks the bytes
//! ([`conch_memory::ByteState::Poison`]), and letting them decide anything is a trap.
//!
//! Left out: arithmetic (`conch-tile::numeric`), Python (`conch-frontend`), comparing outcomes (`conch-verdict`).
//!
//! Invariants: no IO, no panic on any input; execution is deterministic; memory is only accessed inside of storages;
//! a launch stops within its fuel.
#![warn(missing_docs)]

mod acceptance;
mod affine;
mod atomic;
mod checks;
mod config;
mod dot;
mod effect;
mod elementwise;
mod load;
mod machine;
mod origin;
mod outcome;
mod plan;
mod program;
mod reach;
mod reduce;
mod shape;
mod store;
mod value;

pub use acceptance::{Acceptance, AcceptanceMap, Accepted};
pub use config::{Arg, Checks, Config};
pub use outcome::{
    Exhausted, Finished, InternalError, Outcome, Resource, Stats, Trap, TrapKind, Unsupported,
};
pub use program::Program;
