//! Triton's language: types, operators and functions of `tl`, as operations of Cerith IR.
//!
//! From the ground: [`request`], [`clears`] and [`stop`] (input and refusals of a trace), [`constant`] and [`value`] (values while
//! tracing), [`lowering`] (the IR in progress, diagnostics, limits), [`semantic`] (types and operations of operators), [`builtin`]
//! (the table of functions, and Triton's library in Triton). The meaning follows Triton's documentation and its compiled
//! semantics, never its interpreter.
//!
//! See `cerith-frontend` for Python: parsing, modules, classes, control flow and calls.
//!
//! This crate does no IO, knows no engine and never panics on any input.
#![warn(missing_docs)]

pub mod builtin;
pub mod clears;
pub mod constant;
pub mod gap;
pub mod lowering;
pub mod request;
pub mod semantic;
pub mod stop;
pub mod value;
