//! The ground floor of Conch: what every other crate speaks in.
//!
//! Here are Triton's dtypes and their exact arithmetic ([`numeric`]), the source positions and diagnostics that
//! every message is made of ([`source`], [`diagnostic`]), the language rules that changed between Triton versions
//! ([`rules`]), and the typed IR between the frontend and the interpreter ([`ir`]).
//!
//! Left out: memory, execution, Python. This crate does no IO, knows no engine and never panics on any input.
#![warn(missing_docs)]

pub mod diagnostic;
pub mod dtype;
pub mod ir;
pub mod numeric;
pub mod rules;
pub mod source;

pub use dtype::DType;
