//! Installed Triton versions, the pool of Python workers that run inside them, and workers that compile.
//!
//! A **toolchain** is one Triton and one NumPy in an environment of its own, or in an adopted one ([`ToolchainId`], [`Home`]). A
//! **worker** is a Python process of a toolchain that answers one [`Request`] after the other over pipes; a [`Pool`] keeps
//! several, hands them out, and replaces those that crash. On request a worker has torch's own tensors, and a GPU. Workers of
//! another kind are [`Compilers`]: their Triton compiles launches, without a GPU, into machine code and resolved parameters
//! ([`Compiled`]), which a [`Cache`] keeps on disk. Those of a toolchain with torch are [`Inductors`]: they make launches under
//! `torch.compile`. [`Programs`] execute functions of the user's files, and ask us about their launches.
//!
//! ```
//! use cerith_toolchain::pool::Limits;
//! use cerith_toolchain::request::Module;
//! use cerith_toolchain::{Home, Pool, Request, ToolchainId};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let id: ToolchainId = "3.9.0".parse()?;
//! // `home.add(&id, &())` would install it from PyPI, about 1 GB.
//! let home = Home::discover()?;
//! let Some(toolchain) = home.resolve(&id) else {
//!     eprintln!("Triton {id} is not installed: `cerith toolchain add {id}`");
//!     return Ok(());
//! };
//! let pool = Pool::new(toolchain, 1)?;
//! let module = Module {
//!     path: "broken.py".into(),
//!     text: "import triton\nraise ValueError(triton.__version__)\n".into(),
//! };
//! let response = pool.request(&Request::import(module), Limits::default())?;
//! let raised = response.result.unwrap_err();
//! assert_eq!((raised.root().kind.as_str(), raised.root().message.as_str()), ("ValueError", "3.9.0"));
//! # Ok(())
//! # }
//! ```
//!
//! The engines interpret the answers. See `cerith-worker` for the Python side; an [`Observer`] gets progress.
//!
//! Invariants:
//! - Only this crate starts Python. A worker that raises, hangs, faults or uses up its memory spoils only its own request.
//! - A worker runs untrusted code, so it is contained as far as the system allows ([`Containment`]).
//! - Whatever happens to this process, `kill -9` included, no worker outlives it.
//! - A toolchain is whole or missing: it is made beside its place and renamed into it.
#![warn(missing_docs)]

mod adopt;
#[cfg(feature = "planted-faults")]
pub mod answer_cache;
mod cache;
mod checkout;
mod compatibility;
mod compilation;
pub mod compiled;
pub mod compiler;
pub mod containment;
pub mod conversation;
mod dependencies;
mod environment;
mod explain;
pub mod failure;
mod home;
pub mod id;
pub mod inductor;
mod install;
mod installed;
mod limits;
mod manifest;
mod mode;
pub mod names;
mod packages;
pub mod pool;
mod probe;

pub mod program;
pub mod published;
mod reach;
mod repair;
pub mod request;
pub mod response;
mod scratch;
mod single_flight;
mod stamp;
mod uncontained;
mod usage;
mod visible;
mod wire;
mod worker;

pub use adopt::AdoptError;
pub use cache::{Cache, CacheSize};
pub use compilation::{Compilation, CompileRequest, Tuning};
pub use compiled::Compiled;
pub use compiler::Compilers;
pub use containment::Containment;
pub use explain::AddError;
pub use failure::{Exit, WorkerFailure};
pub use home::{Home, HomeError};
pub use id::{BadId, ToolchainId};
pub use inductor::{InductorRequest, Inductors};
pub use install::{Event, Observer};
pub use installed::{Adopted, Contents, Toolchain};
pub use limits::Limits;
pub use manifest::Damage;
pub use pool::Pool;
pub use program::{ProgramRequest, Programs};
pub use repair::Repaired;
pub use request::Request;
pub use response::Response;
