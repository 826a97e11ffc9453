//! The engines: what executes a case, each behind the [`Engine`] trait.
//!
//! - [`EngineId`] names one: `reference`, `interpret@3.9.0`, `interpret@3.2.0+host`, `cuda@3.9.0`,
//!   `jit@3.6.0`, `inductor@2.11.0`.
//! - [`Outcome`] is what one did with a case. A program's trap is a value; a failure of Conch itself is a [`Failure`].
//!
//! Left out: who is right (`conch-verdict`), which engines a run takes and how many at once (`conch-cli`).
//!
//! Invariants: an engine never prints; whatever a program does to an engine costs that engine's outcome and nothing
//! else; only here is a GPU seen.
#![warn(missing_docs)]

pub mod cuda;
mod engine;
mod guard;
mod id;
mod inductor;
mod interpret;
mod jit;
mod outcome;
mod reference;
mod words;

pub use cuda::Cuda;
pub use engine::{Capabilities, Engine, Failure, Feature, Needs, Preparation, Prepared, Run};
pub use guard::guarded;
pub use id::{BadEngineId, By, EngineId, Family};
pub use inductor::Inductor;
pub use interpret::Interpret;
pub use jit::Jit;
pub use outcome::{Complaint, Finished, Outcome, Position, Tracked, Trap};
pub use reference::{Conforming, Kernel, Reference};
