//! Evaluates an expression of plain Python: implements the names and values that [`cerith_python::walk`] needs.
//!
//! An unknown value does not end the walk. It becomes [`Plain::Unknown`] at the node that needs the value. See
//! [`super::expression`] for the nodes that the walk delegates to its caller.

use cerith_python::walk::{self, Scope};
use cerith_python::{Error, ErrorKind};
use cerith_tile::source::Span;
use ruff_python_ast::{CmpOp, Expr, Operator, UnaryOp};
use ruff_text_size::TextRange;

use super::Runner;
use super::operator::{apply_binary, apply_unary, compare, unknown_from_failure};
use crate::text::span_of;
use cerith_language::stop::{Stop, Traced};
use cerith_language::value::plain::{Plain, ScopeId};

/// The names visible to an expression, and the runner of its calls.
struct Evaluation<'r, 'm, 'a> {
    runner: &'r mut Runner<'m, 'a>,
    scope: ScopeId,
}

/// The reason why a node has no value.
enum Halt {
    /// Tracing ends.
    Stop(Stop),
    /// The value depends on an unknown one.
    Unknown,
    /// Python raises an exception, or the value is unsupported here.
    Failed(Plain),
}

impl From<Stop> for Halt {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

impl Runner<'_, '_> {
    /// Evaluates a node. Returns [`Plain::Unknown`] if its value is unknown.
    pub(super) fn eval_node(&mut self, scope: ScopeId, expression: &Expr, span: Span) -> Traced<Plain> {
        let found = walk::evaluate_node(&mut Evaluation { runner: self, scope }, expression);
        match found {
            Ok(value) | Err(Halt::Failed(value)) => Ok(value),
            Err(Halt::Unknown) => Ok(Plain::new_unknown(span, unknown_of(expression))),
            Err(Halt::Stop(stop)) => Err(stop),
        }
    }

    /// The items of a display or a call, `*` unpacked; `None` where what is unpacked is not known.
    pub(super) fn eval_items(&mut self, scope: ScopeId, elements: &[Expr]) -> Traced<Option<Vec<Plain>>> {
        match walk::evaluate_all(&mut Evaluation { runner: self, scope }, elements) {
            Ok(items) => Ok(Some(items)),
            Err(Halt::Stop(stop)) => Err(stop),
            Err(Halt::Unknown | Halt::Failed(_)) => Ok(None),
        }
    }
}

impl Evaluation<'_, '_, '_> {
    fn to_span(&self, at: TextRange) -> Span {
        span_of(self.runner.modules.source_of(self.scope), at)
    }
}

impl Scope for Evaluation<'_, '_, '_> {
    type Value = Plain;
    type Error = Halt;
    type Outer = ScopeId;

    fn locate_error(&mut self, error: Error, at: TextRange) -> Halt {
        match error.kind {
            ErrorKind::Unknown => Halt::Unknown,
            _ => Halt::Failed(unknown_from_failure(&error.into(), self.to_span(at))),
        }
    }

    fn pay(&mut self, weight: usize, _: TextRange) -> Result<(), Halt> {
        Ok(self.runner.lo.charge(weight)?)
    }

    fn resolve_name(&mut self, name: &str, at: TextRange) -> Result<Plain, Halt> {
        Ok(self.runner.eval_name(self.scope, name, self.to_span(at)))
    }

    fn open(&mut self) -> Result<ScopeId, Halt> {
        self.runner.lo.charge(16)?;
        let inner = self.runner.modules.new_inner_scope(self.scope);
        Ok(std::mem::replace(&mut self.scope, inner))
    }

    fn bind(&mut self, name: &str, value: Plain) {
        self.runner.modules.bind(self.scope, name, value);
    }

    fn close(&mut self, outer: ScopeId) {
        self.scope = outer;
    }

    fn evaluate(&mut self, expr: &Expr) -> Result<Plain, Halt> {
        Ok(self.runner.eval_expression(self.scope, expr)?)
    }

    fn test_truth(&mut self, value: &Plain, _: TextRange) -> Result<bool, Halt> {
        value.truth().ok_or(Halt::Unknown)
    }

    fn apply_unary(&mut self, op: UnaryOp, value: &Plain, at: TextRange) -> Result<Plain, Halt> {
        Ok(apply_unary(op, value, self.to_span(at)))
    }

    fn apply_binary(
        &mut self,
        op: Operator,
        left: &Plain,
        right: &Plain,
        at: TextRange,
    ) -> Result<Plain, Halt> {
        Ok(apply_binary(op, left, right, self.to_span(at)))
    }

    fn compare(&mut self, op: CmpOp, left: &Plain, right: &Plain, at: TextRange) -> Result<bool, Halt> {
        compare(op, left, right).map_err(|error| self.locate_error(error, at))
    }

    fn evaluate_other(&mut self, expr: &Expr) -> Result<Plain, Halt> {
        Ok(self.runner.eval_other_node(self.scope, expr)?)
    }
}

/// Describes a node whose value depends on an unknown one.
fn unknown_of(expression: &Expr) -> &'static str {
    match expression {
        Expr::If(_) => "what depends on this condition",
        Expr::BoolOp(_) => "this condition",
        Expr::Compare(_) => "this comparison",
        Expr::ListComp(_) => "this comprehension",
        Expr::Generator(_) => "this generator",
        Expr::Tuple(_) => "this tuple",
        Expr::List(_) => "this list",
        _ => "this expression",
    }
}
