//! Operators of kernels: arithmetic, logic and comparisons of any values. See [`semantic`] for tensors and [`constant`] for
//! constants.

use std::rc::Rc;

use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::ir::CmpPredicate;
use cerith_tile::quirk::Quirk;
use cerith_tile::rules::Rule;
use ruff_python_ast::{self as ast, Expr};

use super::Tracer;
use cerith_language::constant::{self, Constant, PyBinary, PyUnary, TypeValue, to_predicate};
use cerith_language::gap::Gap;
use cerith_language::semantic;
use cerith_language::semantic::types::{same_type, type_text};
use cerith_language::stop::{Stop, Traced};
use cerith_language::value::Value;

/// The methods of an operator: of its left operand, and of its right one.
const fn find_methods(op: PyBinary) -> (&'static str, &'static str) {
    match op {
        PyBinary::Add => ("__add__", "__radd__"),
        PyBinary::Sub => ("__sub__", "__rsub__"),
        PyBinary::Mul => ("__mul__", "__rmul__"),
        PyBinary::Div => ("__truediv__", "__rtruediv__"),
        PyBinary::FloorDiv => ("__floordiv__", "__rfloordiv__"),
        PyBinary::Mod => ("__mod__", "__rmod__"),
        PyBinary::Pow => ("__pow__", "__rpow__"),
        PyBinary::LShift => ("__lshift__", "__rlshift__"),
        PyBinary::RShift => ("__rshift__", "__rrshift__"),
        PyBinary::BitAnd => ("__and__", "__rand__"),
        PyBinary::BitOr => ("__or__", "__ror__"),
        PyBinary::BitXor => ("__xor__", "__rxor__"),
    }
}

/// The operator whose method of the left operand has this name. Kernels may call it: `x.__lshift__(4)`.
pub(super) fn find_operator(method: &str) -> Option<PyBinary> {
    const ALL: [PyBinary; 11] = [
        PyBinary::Add,
        PyBinary::Sub,
        PyBinary::Mul,
        PyBinary::Div,
        PyBinary::FloorDiv,
        PyBinary::Mod,
        PyBinary::LShift,
        PyBinary::RShift,
        PyBinary::BitAnd,
        PyBinary::BitOr,
        PyBinary::BitXor,
    ];
    ALL.into_iter().find(|&op| find_methods(op).0 == method)
}

impl Tracer<'_> {
    /// `lhs op rhs`.
    pub(super) fn eval_binary(&mut self, op: PyBinary, lhs: &Value, rhs: &Value) -> Traced<Value> {
        if matches!((lhs, rhs), (Value::Aggregate(_), _) | (_, Value::Aggregate(_)))
            && let Some(result) = self.aggregate_operator(find_methods(op), lhs, rhs)
        {
            return result;
        }
        match (lhs, rhs) {
            (Value::Constant(a), Value::Constant(b)) => constant::apply_binary(op, a, b)
                .map(Value::Constant)
                .map_err(|failure| self.lo.report_failure(failure)),
            (
                Value::Tuple { items: a, .. } | Value::List(a),
                Value::Tuple { items: b, .. } | Value::List(b),
            ) if op == PyBinary::Add => {
                self.check_length(a.len().saturating_add(b.len()))?;
                self.not_too_deep(Value::new_tuple(a.iter().chain(b.iter()).cloned()))
            }
            (Value::Tuple { items, .. }, Value::Constant(times)) if op == PyBinary::Mul => {
                let Some(times) = constant::as_int(times) else {
                    return Err(self.reject_operands(op.symbol(), lhs, rhs));
                };
                let length = items
                    .len()
                    .saturating_mul(usize::try_from(times.max(0)).unwrap_or(usize::MAX));
                self.check_length(length)?;
                self.not_too_deep(Value::new_tuple(items.iter().cloned().cycle().take(length)))
            }
            (Value::Tensor(_), Value::Tensor(_) | Value::Constant(_))
            | (Value::Constant(_), Value::Tensor(_)) => {
                self.used_binary(op, lhs, rhs);
                semantic::lower_binary(&mut self.lo, op, lhs, rhs)
            }
            _ => Err(self.reject_operands(op.symbol(), lhs, rhs)),
        }
    }

    fn check_length(&mut self, length: usize) -> Traced<()> {
        if length > super::MAX_ITEMS {
            return Err(self.lo.report_exhausted(super::MAX_ITEMS, "items of a tuple"));
        }
        self.lo.charge(length)
    }

    fn reject_operands(&self, symbol: &str, lhs: &Value, rhs: &Value) -> Stop {
        let (lhs, rhs) = (type_text(&self.lo, lhs), type_text(&self.lo, rhs));
        self.lo
            .reject(format!("unsupported operand types for {symbol}: {lhs} and {rhs}"))
    }

    pub(super) fn eval_unary(&mut self, op: ast::UnaryOp, operand: &Value) -> Traced<Value> {
        if matches!(operand, Value::Tensor(_)) {
            self.used_unary(op, operand);
        }
        let op = match op {
            ast::UnaryOp::Invert => PyUnary::Invert,
            ast::UnaryOp::Not => PyUnary::Not,
            ast::UnaryOp::UAdd => PyUnary::Pos,
            ast::UnaryOp::USub => PyUnary::Neg,
        };
        match operand {
            Value::Constant(value) => constant::apply_unary(op, value)
                .map(Value::Constant)
                .map_err(|failure| self.lo.report_failure(failure)),
            Value::Tensor(tensor) => semantic::lower_unary(&mut self.lo, op, *tensor),
            Value::Tuple { .. } | Value::List(_)
                if op == PyUnary::Not && self.lo.has_gap(Gap::NotOfTuples) =>
            {
                Err(self.lo.reject("`not` is not implemented on tuples"))
            }
            Value::Tuple { items, .. } | Value::List(items) if op == PyUnary::Not => {
                Ok(Value::from_bool(items.is_empty()))
            }
            _ => {
                let text = type_text(&self.lo, operand);
                Err(self
                    .lo
                    .reject(format!("this operator is not implemented on {text}")))
            }
        }
    }

    /// `and`, `or` and chained comparisons: constants decide or drop out, tensors are combined.
    pub(super) fn combine_operands(
        &mut self,
        is_or: bool,
        operands: &mut dyn FnMut(&mut Self) -> Traced<Option<Value>>,
    ) -> Traced<Value> {
        let mut dynamic = Vec::new();
        let mut last = Value::NONE;
        while let Some(value) = operands(self)? {
            match Self::known_truth(&value) {
                Some(truth) if truth == is_or => return Ok(value),
                Some(_) => {}
                None => dynamic.push(value.clone()),
            }
            last = value;
        }
        let Some(mut combined) = dynamic.pop() else {
            return Ok(last);
        };
        while let Some(lhs) = dynamic.pop() {
            combined = semantic::lower_logical(&mut self.lo, is_or, &lhs, &combined)?;
        }
        Ok(combined)
    }

    /// `and` and `or` of versions that take two operands, evaluate both and combine them as `i1`.
    pub(super) fn eval_eager_logic(&mut self, node: &ast::ExprBoolOp) -> Traced<Value> {
        let [lhs, rhs] = node.values.as_slice() else {
            return Err(self
                .lo
                .reject("chained boolean operators (A or B or C) are not supported; use parentheses"));
        };
        let (lhs, rhs) = (self.eval(lhs)?, self.eval(rhs)?);
        let is_or = node.op == ast::BoolOp::Or;
        match (&lhs, &rhs) {
            (Value::Constant(_), Value::Constant(_)) => Ok(if Self::known_truth(&lhs) == Some(is_or) {
                lhs
            } else {
                rhs
            }),
            (Value::Tensor(_), Value::Tensor(_) | Value::Constant(_))
            | (Value::Constant(_), Value::Tensor(_)) => {
                semantic::lower_logical(&mut self.lo, is_or, &lhs, &rhs)
            }
            _ => Err(self.reject_operands(if is_or { "or" } else { "and" }, &lhs, &rhs)),
        }
    }

    /// `and` and `or`, up to the first operand that decides.
    pub(super) fn eval_logic(&mut self, node: &ast::ExprBoolOp) -> Traced<Value> {
        let is_or = node.op == ast::BoolOp::Or;
        let mut operands = node.values.iter();
        let mut last = Value::NONE;
        while let Some(operand) = operands.next() {
            let value = self.eval(operand)?;
            match Self::known_truth(&value) {
                Some(truth) if truth == is_or => return Ok(value),
                Some(_) => last = value,
                None if self.lo.has_quirk(Quirk::LogicPicksOperands) => {
                    return self.pick_operand(is_or, value, operands.as_slice());
                }
                None => {
                    let mut first = Some(value);
                    return self.combine_operands(is_or, &mut |tr| match first.take() {
                        Some(first) => Ok(Some(first)),
                        None => operands.next().map(|operand| tr.eval(operand)).transpose(),
                    });
                }
            }
        }
        Ok(last)
    }

    /// `and` and `or` with Python's meaning: the first operand that decides, otherwise the last one. A block counts as
    /// true.
    fn pick_operand(&mut self, is_or: bool, first: Value, others: &[Expr]) -> Traced<Value> {
        let mut value = first;
        for operand in others {
            let truth = match &value {
                Value::Tensor(id) if self.lo.ty(*id).numel() > 1 => Some(true),
                value => Self::known_truth(value),
            };
            value = match truth {
                Some(truth) if truth == is_or => return Ok(value),
                Some(_) => self.eval(operand)?,
                None => {
                    let next = self.eval(operand)?;
                    semantic::select_by_truth(&mut self.lo, is_or, &value, &next)?
                }
            };
        }
        Ok(value)
    }

    pub(super) fn compare_chain(&mut self, node: &ast::ExprCompare) -> Traced<Value> {
        if node.ops.len() > 1 && !self.lo.rules.holds(Rule::ChainedComparisons) {
            return Err(self
                .lo
                .reject("simultaneous multiple comparison is not supported"));
        }
        let mut lhs = self.eval(&node.left)?;
        let mut left: &Expr = &node.left;
        let mut pairs = node.ops.iter().zip(&node.comparators);
        let mut next = |tr: &mut Self| -> Traced<Option<Value>> {
            let Some((op, comparator)) = pairs.next() else {
                return Ok(None);
            };
            let rhs = tr.eval(comparator)?;
            if !matches!(op, ast::CmpOp::Is | ast::CmpOp::IsNot) && node.ops.len() == 1 {
                tr.check_held(&[(&node.left, &lhs), (comparator, &rhs)])?;
            }
            let is_object = |value: &Value, expression| tr.is_object(value, expression);
            let value = match op {
                ast::CmpOp::Is | ast::CmpOp::IsNot
                    if is_object(&lhs, left) != is_object(&rhs, comparator) =>
                {
                    Value::from_bool(*op == ast::CmpOp::IsNot)
                }
                _ => tr.compare(*op, &lhs, &rhs)?,
            };
            left = comparator;
            let value = if pairs.len() > 0 && is_planted(Fault::ComparisonChainIsCut) {
                Value::from_bool(true)
            } else {
                value
            };
            lhs = rhs;
            Ok(Some(value))
        };
        if node.ops.len() == 1 {
            return Ok(next(self)?.unwrap_or(Value::NONE));
        }
        self.combine_operands(false, &mut next)
    }

    /// Whether Python would compare a constexpr itself here, not what it holds: so it does with a global one.
    pub(super) fn is_object(&self, value: &Value, expression: &Expr) -> bool {
        let Expr::Name(name) = expression else {
            return false;
        };
        !self.frame.names.contains_key(name.id.as_str())
            && matches!(
                value,
                Value::Constant(
                    Constant::None
                        | Constant::Bool(_)
                        | Constant::Int(_)
                        | Constant::Float(_)
                        | Constant::Str(_)
                )
            )
            && self.lo.has_quirk(Quirk::ConstexprsAreObjects)
    }

    fn compare(&mut self, op: ast::CmpOp, lhs: &Value, rhs: &Value) -> Traced<Value> {
        if matches!(op, ast::CmpOp::Is | ast::CmpOp::IsNot) {
            return Ok(Value::from_bool(
                self.same_object(lhs, rhs)? == (op == ast::CmpOp::Is),
            ));
        }
        let Some(predicate) = to_predicate(op) else {
            return Err(self.lo.reject("`in` is not implemented by Triton's compiler"));
        };
        match (lhs, rhs) {
            (Value::Constant(a), Value::Constant(b)) => constant::compare(predicate, a, b)
                .map(Value::from_bool)
                .map_err(|failure| self.lo.report_failure(failure)),
            (Value::Tensor(_), Value::Tensor(_) | Value::Constant(_))
            | (Value::Constant(_), Value::Tensor(_)) => {
                self.used_comparison(predicate, lhs, rhs);
                semantic::compare(&mut self.lo, predicate, lhs, rhs)
            }
            (
                Value::Tuple { items: a, .. } | Value::List(a),
                Value::Tuple { items: b, .. } | Value::List(b),
            ) => self.compare_tuples(predicate, a, b),
            (Value::Tensor(_), _) | (_, Value::Tensor(_)) => {
                Err(self.reject_operands(constant::describe_predicate(predicate), lhs, rhs))
            }
            (Value::Tuple { .. } | Value::List(_), _) | (_, Value::Tuple { .. } | Value::List(_))
                if self.lo.has_rule(Rule::TupleVariables)
                    && !matches!(
                        (lhs, rhs),
                        (Value::Constant(Constant::Type(_)) | Value::Function(_), _)
                    ) =>
            {
                Err(self.reject_operands(constant::describe_predicate(predicate), lhs, rhs))
            }
            _ => match predicate {
                CmpPredicate::Eq => Ok(Value::from_bool(same_type(&self.lo, lhs, rhs))),
                CmpPredicate::Ne => Ok(Value::from_bool(!same_type(&self.lo, lhs, rhs))),
                _ => Err(self.reject_operands(constant::describe_predicate(predicate), lhs, rhs)),
            },
        }
    }

    fn compare_tuples(&mut self, predicate: CmpPredicate, a: &[Value], b: &[Value]) -> Traced<Value> {
        if !matches!(predicate, CmpPredicate::Eq | CmpPredicate::Ne) {
            return Err(self.lo.reject(format!(
                "`{}` is not implemented for tuples",
                constant::describe_predicate(predicate)
            )));
        }
        let mut equal = a.len() == b.len();
        for (a, b) in a.iter().zip(b) {
            match self.compare(ast::CmpOp::Eq, a, b)? {
                Value::Constant(value) => equal &= constant::is_truthy(&value),
                _ => {
                    return Err(self
                        .lo
                        .report_unsupported("the comparison of tuples that hold tensors"));
                }
            }
        }
        Ok(Value::from_bool(equal == (predicate == CmpPredicate::Eq)))
    }

    fn same_object(&self, lhs: &Value, rhs: &Value) -> Traced<bool> {
        Ok(match (lhs, rhs) {
            (Value::Constant(a), Value::Constant(b)) => match (a, b) {
                (Constant::None | Constant::Bool(_) | Constant::Ellipsis, _)
                | (_, Constant::None | Constant::Bool(_) | Constant::Ellipsis) => a == b,
                (Constant::Type(TypeValue::Elem(a)), Constant::Type(TypeValue::Elem(b))) => a == b,
                // CPython keeps one object for each of these.
                (Constant::Int(a), Constant::Int(b)) if (-5..=256).contains(a) || (-5..=256).contains(b) => {
                    a == b
                }
                (Constant::Int(_), Constant::Float(_)) | (Constant::Float(_), Constant::Int(_)) => false,
                _ => return Err(self.lo.report_unsupported("`is` between these constants")),
            },
            (Value::Tensor(a), Value::Tensor(b)) => a == b,
            (Value::Function(a), Value::Function(b)) => Rc::ptr_eq(a, b),
            (Value::Builtin(a), Value::Builtin(b)) => std::ptr::eq(*a, *b),
            _ => false,
        })
    }
}
