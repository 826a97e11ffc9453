//! Python modules with kernels: the functions of a file with their signatures ([`module`], [`kernel`]), kernels extracted from
//! packages ([`excerpt`]), and how a kernel uses its parameters, as far as its text shows ([`usage`]).
//!
//! The text is only parsed, never run. See `cerith-frontend` for the meaning of a kernel's body.
#![warn(missing_docs)]

mod dependency;
pub mod excerpt;
mod free;
pub mod kernel;
pub mod module;
pub mod piece;
pub mod usage;

pub use kernel::{Function, Kernel, Module, Parameter, ParameterKind};
pub use usage::usage_of;
