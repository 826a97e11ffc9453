//! Python's values and what can be done with them, as expressions outside of kernels use them: in case files, and in the
//! module-level code of kernels' files.
//!
//! | module | holds |
//! |---|---|
//! | [`parse`] | text to tree, with limits |
//! | [`walk`] | the walk over the tree of an expression |
//! | [`object`] | what a value must tell of itself so that all that follows works on it |
//! | [`value`] | values of Python and nothing else |
//! | [`int`], [`float`] | numbers |
//! | [`operator`], [`builtin`], [`math`], [`repr`] | what is done with values |
//! | [`error`] | which exception is raised, with which text |
//! | [`nearest`] | suggestions for words that are misspelled |
//!
//! A crate that has values of its own, tensors say, implements [`Object`] for its type and gets Python's meaning for all that
//! Python has a meaning for. Values and errors are those of `CPython` 3.11; `tests/it/cpython.rs` holds them to a table that it
//! made.
//!
//! Left out: statements, functions, classes, complex numbers, bytes, sets, formatting, and whatever a value that is not
//! Python's means.
//!
//! Invariants: no IO, no panic; an operator ends at once, since integers have at most [`Int::MAX_BITS`] bits and what
//! is longer than [`Object::MAX_ITEMS`] is not made.
#![warn(missing_docs)]

pub mod builtin;
pub mod error;
pub mod float;
pub mod int;
pub mod math;
pub mod nearest;
pub mod object;
pub mod operator;
pub mod parse;
pub mod repr;
pub mod value;
pub mod walk;

pub use error::{Error, ErrorKind, Reason};
pub use int::Int;
pub use object::{Object, Plain, Sequence, View};
pub use value::Value;
