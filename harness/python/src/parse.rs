//! Parses expressions with ruff's parser, within limits.

use std::ops::Range;

use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, TraversalSignal, walk_expr};
use ruff_python_ast::{AnyNodeRef, Expr, ModExpression, Number};
use ruff_text_size::{Ranged, TextRange};

use crate::error::{Error, Reason};
use crate::int::Int;
use crate::object::Plain;

/// Limits of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum length in bytes.
    pub length: usize,
    /// Maximum nesting of nodes, which bounds the recursion of walks.
    pub depth: usize,
}

/// A syntax error with its location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxError {
    /// Its range in the text, in bytes.
    pub range: Range<usize>,
    /// The message, one line without a full stop.
    pub message: String,
}

/// Converts a text range to bytes.
pub fn to_bytes(range: TextRange) -> Range<usize> {
    range.start().to_usize()..range.end().to_usize()
}

/// Parses one expression.
pub fn parse_expression(text: &str, limits: Limits) -> Result<ModExpression, SyntaxError> {
    if text.len() > limits.length {
        return Err(SyntaxError {
            range: 0..text.len(),
            message: format!(
                "an expression of {} bytes is longer than the {} that are read",
                text.len(),
                limits.length
            ),
        });
    }
    let parsed = ruff_python_parser::parse_expression(text).map_err(|error| SyntaxError {
        range: to_bytes(error.location),
        message: lower_first(&error.error.to_string()),
    })?;
    let tree = parsed.into_syntax();
    match too_deep(&tree.body, limits.depth) {
        Some(range) => Err(SyntaxError {
            range,
            message: format!("the expression is nested more than {} levels deep", limits.depth),
        }),
        None => Ok(tree),
    }
}

/// Finds a node beyond the maximum depth. This walk stops at that depth too.
fn too_deep(body: &Expr, limit: usize) -> Option<Range<usize>> {
    struct Walk {
        limit: usize,
        depth: usize,
        too_deep: Option<Range<usize>>,
    }
    impl<'a> SourceOrderVisitor<'a> for Walk {
        fn enter_node(&mut self, _: AnyNodeRef<'a>) -> TraversalSignal {
            if self.too_deep.is_some() {
                TraversalSignal::Skip
            } else {
                TraversalSignal::Traverse
            }
        }

        fn visit_expr(&mut self, expr: &'a Expr) {
            if self.depth >= self.limit {
                self.too_deep.get_or_insert_with(|| to_bytes(expr.range()));
                return;
            }
            self.depth += 1;
            walk_expr(self, expr);
            self.depth -= 1;
        }
    }
    let mut visitor = Walk {
        limit,
        depth: 0,
        too_deep: None,
    };
    visitor.visit_expr(body);
    visitor.too_deep
}

/// Evaluates a numeric literal.
pub fn parse_number(literal: &Number) -> Result<Plain, Error> {
    match literal {
        Number::Int(int) => {
            if let Some(int) = int.as_u64() {
                return Ok(Plain::Int(i128::from(int).into()));
            }
            let text = int.to_string().replace('_', "").to_lowercase();
            let (base, digits) = match text.split_at_checked(2) {
                Some(("0x", digits)) => (16, digits),
                Some(("0o", digits)) => (8, digits),
                Some(("0b", digits)) => (2, digits),
                _ => (10, &*text),
            };
            Int::from_digits(digits, base)?
                .map(Plain::Int)
                .ok_or_else(|| Error::of_value(Reason::Literal, "invalid decimal literal"))
        }
        Number::Float(float) => Ok(Plain::Float(*float)),
        Number::Complex { .. } => Err(Error::unsupported(Reason::Complex, "complex numbers")),
    }
}

/// Makes the first letter of a message lower case; ruff's messages begin with a capital.
fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        // Acronyms such as `EOF` stay.
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain([second]).chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}
