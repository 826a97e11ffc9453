//! Expressions of case files: Python as torch's users write it, over the case's tensors and matrix variables.
//!
//! The text is parsed by ruff's parser; [`Expression::evaluate`] walks the tree. There are tensors with torch's
//! methods, attributes and indexing, integers, floats, strings, booleans, `None`, dtypes, tuples and lists,
//! arithmetic, comparisons, `and`/`or`/`not`, conditional expressions, list comprehensions and a handful of builtins
//! (`min`, `max`, `len`, `range`, `sum`, …, `cdiv`, `next_power_of_2`, and what [`is_reserved`] lists of `torch`,
//! `triton`, `tl` and `math`).
//!
//! Not supported: statements, lambdas, f-strings, calls of unlisted functions, and tensor arithmetic (an expression
//! only lays tensors out; computing is up to a kernel).
//!
//! Invariants: no IO, no panic, and bounded time, memory and stack for any text: text of [`Expression::MAX_LEN`]
//! bytes, nesting of [`Expression::MAX_DEPTH`], and a budget of steps that every value made is counted against.

mod arguments;
mod builtin;
mod error;
mod eval;
mod method;
mod names;
mod operator;
mod value;
mod work;

use std::ops::Range;
use std::sync::Arc;

use cerith_memory::Storages;
use cerith_python::parse::{self, Limits};
use ruff_python_ast::{Expr, ModExpression};

pub use builtin::is_reserved;
pub use error::ExprError;
pub use value::{Address, Names, Value};

/// A parsed expression. Clones share the tree.
#[derive(Clone, Debug)]
pub struct Expression {
    text: Arc<str>,
    tree: Arc<ModExpression>,
}

impl Expression {
    /// The maximum length of a text that [`Self::parse`] takes, in bytes.
    pub const MAX_LEN: usize = 4096;

    /// The deepest tree that [`Self::parse`] takes: a chain of 50 method calls is one of 100.
    pub const MAX_DEPTH: usize = 128;

    /// Parses one expression.
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        let limits = Limits {
            length: Self::MAX_LEN,
            depth: Self::MAX_DEPTH,
        };
        let tree = parse::parse_expression(text, limits)
            .map_err(|error| ExprError::new(error.range, error.message))?;
        Ok(Self {
            text: text.into(),
            tree: Arc::new(tree),
        })
    }

    /// The text that was parsed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The tree.
    pub fn tree(&self) -> &Expr {
        &self.tree.body
    }

    /// The names that the expression takes from outside, with the bytes of each use, in order of appearance.
    /// Reserved names ([`is_reserved`]) and the variables of comprehensions are left out.
    pub fn free_names(&self) -> Vec<(String, Range<usize>)> {
        names::free(&self.tree.body)
    }

    /// Evaluates the expression. Operations that copy (`clone`, `contiguous`, `reshape`, `flip`, …) add storages to
    /// `storages`, named after the text that made them.
    pub fn evaluate(&self, names: &Names, storages: &mut Storages) -> Result<Value, ExprError> {
        eval::Evaluator::new(&self.text, names, storages).evaluate(&self.tree.body)
    }
}

#[cfg(test)]
mod tests;
