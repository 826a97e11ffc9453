//! Expressions of case files: Python as PyTorch users write it, over the case's tensors and matrix variables.
//!
//! The text is parsed by ruff's parser; [`Expression::evaluate`] walks the tree. There are tensors with torch's
//! methods, attributes and indexing, integers, floats, strings, booleans, `None`, dtypes, tuples and lists,
//! arithmetic, comparisons, `and`/`or`/`not`, conditional expressions, list comprehensions and a handful of builtins.
//!
//! Left out: statements, lambdas, calls of anything that is not listed, tensor arithmetic (an expression lays tensors
//! out, a kernel computes).
//!
//! Invariants: no IO, no panic, and bounded time, memory and stack for any text.

mod value;

use std::ops::Range;

use conch_memory::Storages;
use indexmap::IndexMap;

pub use value::{Address, Value};

/// What names mean in an expression: tensors by name (a storage's name is the tensor over all of it) and matrix
/// variables.
pub type Names = IndexMap<String, Value>;

/// What is wrong with an expression, and where in its text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExprError {
    /// Bytes of the expression's text.
    pub range: Range<usize>,
    /// One line, lower case, no full stop; torch's own words where torch would have raised.
    pub message: String,
    /// The mend, where one is known.
    pub help: Option<String>,
}

/// A parsed expression.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
}

impl Expression {
    /// Parses one expression. Text of more than [`Self::MAX_LEN`] bytes is an error.
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        unimplemented!("{text}")
    }

    /// The longest text that [`Self::parse`] takes, in bytes.
    pub const MAX_LEN: usize = 4096;

    /// The text that was parsed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names that the expression takes from outside, with the bytes of each use, in order of appearance. Names of
    /// builtins, modules and dtypes are left out.
    pub fn free_names(&self) -> Vec<(String, Range<usize>)> {
        unimplemented!()
    }

    /// Evaluates the expression. Operations that copy (`clone`, `contiguous`, `reshape`, `flip`, …) add storages to
    /// `storages`, named after the text that made them.
    pub fn evaluate(&self, names: &Names, storages: &mut Storages) -> Result<Value, ExprError> {
        unimplemented!("{names:?} {storages:?}")
    }
}
