//! Expressions of kernels.

use std::rc::Rc;

use cerith_tile::DType;
use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::ir::{CmpPredicate, OpKind, ValueId};
use cerith_tile::quirk::Quirk;
use cerith_tile::rules::Rule;
use ruff_python_ast::{self as ast, Expr, Number};
use ruff_text_size::Ranged;

use super::Tracer;
use super::frame::Kind;
use crate::constant::{self, Constant, PyBinary, PyUnary, TypeValue, literal, predicate};
use crate::gap::Gap;
use crate::semantic;
use crate::semantic::types::{same_type, type_text};
use crate::stop::{Stop, Traced};
use crate::value::Value;

/// Tuples inside of tuples.
const MAX_TUPLES: usize = 32;

/// The methods of an operator: of its left operand, and of its right one.
const fn methods(op: PyBinary) -> (&'static str, &'static str) {
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

/// Whether a value has tuples and aggregates inside of each other no more than `depth` deep, and no more than `budget`
/// values in all, those that are shared counted each time.
fn fits(value: &Value, depth: usize, budget: &mut usize) -> bool {
    if *budget == 0 {
        return false;
    }
    *budget -= 1;
    let items = match value {
        Value::Tuple { items, .. } | Value::List(items) => items,
        Value::Aggregate(aggregate) => &aggregate.items,
        _ => return true,
    };
    depth > 0 && items.iter().all(|item| fits(item, depth - 1, budget))
}

impl Tracer<'_> {
    /// Evaluates an expression.
    pub(super) fn eval(&mut self, expression: &Expr) -> Traced<Value> {
        self.lo.burn()?;
        let before = self.enter(expression.range());
        let value = self.deeper(|tr| tr.eval_inner(expression));
        if value.is_ok() {
            self.lo.leave(before);
        }
        value
    }

    fn eval_inner(&mut self, expression: &Expr) -> Traced<Value> {
        match expression {
            Expr::Name(name) => self.lookup(name.id.as_str()),
            Expr::NumberLiteral(_)
            | Expr::StringLiteral(_)
            | Expr::BooleanLiteral(_)
            | Expr::NoneLiteral(_)
            | Expr::EllipsisLiteral(_) => match literal(expression) {
                Some(constant) => Ok(Value::Constant(constant)),
                None => Err(match expression {
                    Expr::NumberLiteral(ast::ExprNumberLiteral {
                        value: Number::Complex { .. },
                        ..
                    }) => self.lo.reject("a complex number has no meaning in a kernel"),
                    _ => self.lo.unsupported("this literal"),
                }),
            },
            Expr::FString(node) => self.fstring(node),
            Expr::BinOp(node) => {
                let lhs = self.eval(&node.left)?;
                let rhs = self.eval(&node.right)?;
                self.check_held(&[(&node.left, &lhs), (&node.right, &rhs)])?;
                let Some(op) = PyBinary::of(node.op) else {
                    return Err(self
                        .lo
                        .reject("the operator `@` is not implemented by Triton's compiler"));
                };
                self.binary(op, &lhs, &rhs)
            }
            Expr::UnaryOp(node) => {
                let operand = self.eval(&node.operand)?;
                if node.op != ast::UnaryOp::Not {
                    self.check_held(&[(&node.operand, &operand)])?;
                }
                self.unary(node.op, &operand)
            }
            Expr::BoolOp(node) if self.lo.rules.follows(Quirk::LogicPicksOperands) => self.picked(node),
            Expr::BoolOp(node) if !self.lo.speaks(Rule::ShortCircuits) => self.both(node),
            Expr::BoolOp(node) => {
                let mut operands = node.values.iter();
                self.boolean(node.op == ast::BoolOp::Or, &mut |tr| {
                    operands.next().map(|operand| tr.eval(operand)).transpose()
                })
            }
            Expr::Compare(node) => self.compare_chain(node),
            Expr::If(node) => self.conditional(node),
            Expr::Tuple(node) => self.tuple_of(&node.elts),
            Expr::List(node) => self.tuple_of(&node.elts),
            Expr::ListComp(_) if !self.lo.speaks(Rule::Comprehensions) => {
                Err(self.not_in_triton("a list comprehension"))
            }
            Expr::ListComp(node) => self.list_comprehension(node),
            Expr::Named(_) if !self.lo.speaks(Rule::NamedExpressions) => Err(self.not_in_triton("`:=`")),
            Expr::Named(node) => {
                let value = self.eval(&node.value)?;
                self.assign_elsewhere(&node.target, value)?;
                self.eval(&node.target)
            }
            Expr::Attribute(node) => self.attribute_node(node),
            Expr::Subscript(node) => {
                let container = self.eval(&node.value)?;
                let constexpr = matches!(&*node.value, Expr::Name(_))
                    && matches!(
                        container,
                        Value::Tuple { .. } | Value::List(_) | Value::Constant(Constant::Str(_))
                    );
                if self.is_held(&node.value) || constexpr && !self.lo.speaks(Rule::TupleVariables) {
                    return Err(self.lo.reject("'constexpr' object is not subscriptable"));
                }
                let index = self.eval(&node.slice)?;
                self.subscript(&container, &index)
            }
            Expr::Slice(node) => {
                let mut part = |part: Option<&Expr>| part.map_or(Ok(Value::NONE), |part| self.eval(part));
                let (lower, upper) = (part(node.lower.as_deref())?, part(node.upper.as_deref())?);
                let step = part(node.step.as_deref())?;
                Ok(Value::Slice(Rc::new([lower, upper, step])))
            }
            Expr::Call(node) => self.call_node(node),
            Expr::Starred(_) => Err(self.lo.reject("`*` is not accepted here by Triton's compiler")),
            Expr::Lambda(_) => Err(self.not_in_triton("a lambda")),
            Expr::Dict(_) | Expr::DictComp(_) => Err(self.not_in_triton("a dict")),
            Expr::Set(_) | Expr::SetComp(_) => Err(self.not_in_triton("a set")),
            Expr::Generator(_) => Err(self.not_in_triton("a generator expression")),
            Expr::Await(_) | Expr::Yield(_) | Expr::YieldFrom(_) => Err(self.not_in_triton("a coroutine")),
            Expr::BytesLiteral(_) => Err(self.lo.reject("bytes have no meaning in a kernel")),
            Expr::TString(_) => Err(self.not_in_triton("a template string")),
            Expr::IpyEscapeCommand(_) => Err(self.lo.reject("this is no Python")),
        }
    }

    /// A rejection of what Triton's compiler has no translation for.
    pub(super) fn not_in_triton(&self, construct: &str) -> Stop {
        self.lo.reject_with(
            "not-in-triton",
            format!("{construct} cannot be compiled by Triton"),
        )
    }

    fn tuple_of(&mut self, elements: &[Expr]) -> Traced<Value> {
        let mut items = Vec::with_capacity(elements.len());
        for element in elements {
            items.push(self.eval(element)?);
        }
        self.not_too_deep(Value::tuple(items))
    }

    /// The value, if it does not nest too deep and does not hold too much.
    pub(super) fn not_too_deep(&self, value: Value) -> Traced<Value> {
        let mut budget = 2 * super::MAX_ITEMS;
        if fits(&value, MAX_TUPLES, &mut budget) {
            return Ok(value);
        }
        Err(if budget == 0 {
            self.lo
                .exhausted(2 * super::MAX_ITEMS, "items of a tuple and of those in it")
        } else {
            self.lo.exhausted(MAX_TUPLES, "tuples inside of each other")
        })
    }

    /// `lhs op rhs`.
    pub(super) fn binary(&mut self, op: PyBinary, lhs: &Value, rhs: &Value) -> Traced<Value> {
        if matches!((lhs, rhs), (Value::Aggregate(_), _) | (_, Value::Aggregate(_)))
            && let Some(result) = self.aggregate_operator(methods(op), lhs, rhs)
        {
            return result;
        }
        match (lhs, rhs) {
            (Value::Constant(a), Value::Constant(b)) => constant::binary(op, a, b)
                .map(Value::Constant)
                .map_err(|failure| self.lo.failure(failure)),
            (
                Value::Tuple { items: a, .. } | Value::List(a),
                Value::Tuple { items: b, .. } | Value::List(b),
            ) if op == PyBinary::Add => {
                self.check_length(a.len().saturating_add(b.len()))?;
                self.not_too_deep(Value::tuple(a.iter().chain(b.iter()).cloned()))
            }
            (Value::Tuple { items, .. }, Value::Constant(times)) if op == PyBinary::Mul => {
                let Some(times) = constant::as_int(times) else {
                    return Err(self.unfit(op.symbol(), lhs, rhs));
                };
                let length = items
                    .len()
                    .saturating_mul(usize::try_from(times.max(0)).unwrap_or(usize::MAX));
                self.check_length(length)?;
                self.not_too_deep(Value::tuple(items.iter().cloned().cycle().take(length)))
            }
            (Value::Tensor(_), Value::Tensor(_) | Value::Constant(_))
            | (Value::Constant(_), Value::Tensor(_)) => {
                self.used_binary(op, lhs, rhs);
                semantic::binary(&mut self.lo, op, lhs, rhs)
            }
            _ => Err(self.unfit(op.symbol(), lhs, rhs)),
        }
    }

    fn check_length(&mut self, length: usize) -> Traced<()> {
        if length > super::MAX_ITEMS {
            return Err(self.lo.exhausted(super::MAX_ITEMS, "items of a tuple"));
        }
        self.lo.charge(length)
    }

    fn unfit(&self, symbol: &str, lhs: &Value, rhs: &Value) -> Stop {
        let (lhs, rhs) = (type_text(&self.lo, lhs), type_text(&self.lo, rhs));
        self.lo
            .reject(format!("unsupported operand types for {symbol}: {lhs} and {rhs}"))
    }

    fn unary(&mut self, op: ast::UnaryOp, operand: &Value) -> Traced<Value> {
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
            Value::Constant(value) => constant::unary(op, value)
                .map(Value::Constant)
                .map_err(|failure| self.lo.failure(failure)),
            Value::Tensor(tensor) => semantic::unary(&mut self.lo, op, *tensor),
            Value::Tuple { .. } | Value::List(_)
                if op == PyUnary::Not && self.lo.refuses(Gap::NotOfTuples) =>
            {
                Err(self.lo.reject("`not` is not implemented on tuples"))
            }
            Value::Tuple { items, .. } | Value::List(items) if op == PyUnary::Not => {
                Ok(Value::bool(items.is_empty()))
            }
            _ => {
                let text = type_text(&self.lo, operand);
                Err(self
                    .lo
                    .reject(format!("this operator is not implemented on {text}")))
            }
        }
    }

    /// Whether Python counts a value that is known now as true; `None` for a tensor.
    pub(super) fn known_truth(value: &Value) -> Option<bool> {
        match value {
            Value::Tensor(_) => None,
            Value::Constant(value) => Some(constant::truth(value)),
            Value::Tuple { items, .. } | Value::List(items) => Some(!items.is_empty()),
            _ => Some(true),
        }
    }

    /// `and`, `or` and chained comparisons: constants decide or drop out, tensors are combined.
    fn boolean(
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
            combined = semantic::logical(&mut self.lo, is_or, &lhs, &combined)?;
        }
        Ok(combined)
    }

    /// `and` and `or` of versions that take two operands, evaluate both and combine them as `i1`.
    fn both(&mut self, node: &ast::ExprBoolOp) -> Traced<Value> {
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
            | (Value::Constant(_), Value::Tensor(_)) => semantic::logical(&mut self.lo, is_or, &lhs, &rhs),
            _ => Err(self.unfit(if is_or { "or" } else { "and" }, &lhs, &rhs)),
        }
    }

    /// `and` and `or` as Python has them: the first operand that decides, else the last one. A block decides as what is true.
    fn picked(&mut self, node: &ast::ExprBoolOp) -> Traced<Value> {
        let is_or = node.op == ast::BoolOp::Or;
        let mut operands = node.values.iter();
        let mut value = match operands.next() {
            Some(first) => self.eval(first)?,
            None => Value::NONE,
        };
        for operand in operands {
            let truth = match &value {
                Value::Tensor(id) if self.lo.ty(*id).numel() > 1 => Some(true),
                value => Self::known_truth(value),
            };
            value = match truth {
                Some(truth) if truth == is_or => return Ok(value),
                Some(_) => self.eval(operand)?,
                None => {
                    let next = self.eval(operand)?;
                    semantic::either(&mut self.lo, is_or, &value, &next)?
                }
            };
        }
        Ok(value)
    }

    /// Whether an expression is a name whose value is a tensor inside of a constexpr, as versions have it where a
    /// run-time value is annotated as `constexpr`.
    pub(super) fn is_held(&self, expression: &Expr) -> bool {
        let Expr::Name(name) = expression else {
            return false;
        };
        self.frame
            .names
            .get(name.id.as_str())
            .is_some_and(|slot| slot.kind == Kind::Held && matches!(slot.value, Value::Tensor(_)))
    }

    /// Refuses operands that are tensors inside of constexprs, unless another operand is a tensor, which takes them out.
    pub(super) fn check_held(&self, operands: &[(&Expr, &Value)]) -> Traced<()> {
        let held = |expression: &Expr| self.is_held(expression);
        let rescued = operands
            .iter()
            .any(|(expression, value)| matches!(value, Value::Tensor(_)) && !held(expression));
        if rescued || !operands.iter().any(|(expression, _)| held(expression)) {
            return Ok(());
        }
        Err(self.held())
    }

    fn held(&self) -> Stop {
        let version = self.lo.rules.version;
        let mut diagnostic = self.lo.diagnostic(
            "rejected",
            "a constexpr that holds a run-time value has no operators (\"Did you forget to add @triton.jit?\")",
        );
        diagnostic.notes.push(format!(
            "in Triton {version}, a run-time value that is annotated as `tl.constexpr` is held by a constexpr"
        ));
        diagnostic.help = Some("leave the annotation out".to_owned());
        Stop::Rejected(Box::new(diagnostic))
    }

    fn compare_chain(&mut self, node: &ast::ExprCompare) -> Traced<Value> {
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
                    Value::bool(*op == ast::CmpOp::IsNot)
                }
                _ => tr.compare(*op, &lhs, &rhs)?,
            };
            left = comparator;
            let value = if pairs.len() > 0 && is_planted(Fault::ComparisonChainIsCut) {
                Value::bool(true)
            } else {
                value
            };
            lhs = rhs;
            Ok(Some(value))
        };
        if node.ops.len() == 1 {
            return Ok(next(self)?.unwrap_or(Value::NONE));
        }
        self.boolean(false, &mut next)
    }

    /// Whether Python would compare a constexpr here, and not what it holds: a global one.
    pub(super) fn is_object(&self, value: &Value, expression: &Expr) -> bool {
        let Expr::Name(name) = expression else {
            return false;
        };
        self.lo.rules.follows(Quirk::ConstexprsAreObjects)
            && !self.frame.names.contains_key(name.id.as_str())
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
    }

    fn compare(&mut self, op: ast::CmpOp, lhs: &Value, rhs: &Value) -> Traced<Value> {
        if matches!(op, ast::CmpOp::Is | ast::CmpOp::IsNot) {
            return Ok(Value::bool(self.same_object(lhs, rhs)? == (op == ast::CmpOp::Is)));
        }
        let Some(predicate) = predicate(op) else {
            return Err(self.lo.reject("`in` is not implemented by Triton's compiler"));
        };
        match (lhs, rhs) {
            (Value::Constant(a), Value::Constant(b)) => constant::compare(predicate, a, b)
                .map(Value::bool)
                .map_err(|failure| self.lo.failure(failure)),
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
                Err(self.unfit(constant::symbol(predicate), lhs, rhs))
            }
            (Value::Tuple { .. } | Value::List(_), _) | (_, Value::Tuple { .. } | Value::List(_))
                if self.lo.speaks(Rule::TupleVariables)
                    && !matches!(
                        (lhs, rhs),
                        (Value::Constant(Constant::Type(_)) | Value::Function(_), _)
                    ) =>
            {
                Err(self.unfit(constant::symbol(predicate), lhs, rhs))
            }
            _ => match predicate {
                CmpPredicate::Eq => Ok(Value::bool(same_type(&self.lo, lhs, rhs))),
                CmpPredicate::Ne => Ok(Value::bool(!same_type(&self.lo, lhs, rhs))),
                _ => Err(self.unfit(constant::symbol(predicate), lhs, rhs)),
            },
        }
    }

    fn compare_tuples(&mut self, predicate: CmpPredicate, a: &[Value], b: &[Value]) -> Traced<Value> {
        if !matches!(predicate, CmpPredicate::Eq | CmpPredicate::Ne) {
            return Err(self.lo.reject(format!(
                "`{}` is not implemented for tuples",
                constant::symbol(predicate)
            )));
        }
        let mut equal = a.len() == b.len();
        for (a, b) in a.iter().zip(b) {
            match self.compare(ast::CmpOp::Eq, a, b)? {
                Value::Constant(value) => equal &= constant::truth(&value),
                _ => return Err(self.lo.unsupported("the comparison of tuples that hold tensors")),
            }
        }
        Ok(Value::bool(equal == (predicate == CmpPredicate::Eq)))
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
                _ => return Err(self.lo.unsupported("`is` between these constants")),
            },
            (Value::Tensor(a), Value::Tensor(b)) => a == b,
            (Value::Function(a), Value::Function(b)) => Rc::ptr_eq(a, b),
            (Value::Builtin(a), Value::Builtin(b)) => std::ptr::eq(*a, *b),
            _ => false,
        })
    }

    /// `a if test else b`.
    fn conditional(&mut self, node: &ast::ExprIf) -> Traced<Value> {
        let test = self.eval(&node.test)?;
        self.check_held(&[(&node.test, &test)])?;
        let Value::Tensor(tensor) = test else {
            let branch = if self.static_condition(&test, "conditional expressions")? {
                &node.body
            } else {
                &node.orelse
            };
            return self.eval(branch);
        };
        if self.lo.is_block(tensor) {
            return Err(self.ambiguous());
        }
        let condition = semantic::condition(&mut self.lo, tensor)?;
        let is_float = |arm| matches!(literal(arm), Some(Constant::Float(_)));
        let stays_python =
            self.lo.rules.follows(Quirk::NumbersStayPython) && is_float(&node.body) && is_float(&node.orelse);
        // What `:=` binds in here is gone afterwards.
        let (names, bound) = (self.frame.names.clone(), self.frame.bound.clone());
        self.lo.builder.open_block(&[]);
        let value = self.eval(&node.body)?;
        let then_value = self.arm(&node.body, &value, stays_python)?;
        let then_block = self.lo.builder.close_block(then_value.as_slice());
        self.frame.names.clone_from(&names);
        self.lo.builder.open_block(&[]);
        let value = self.eval(&node.orelse)?;
        let else_value = self.arm(&node.orelse, &value, stays_python)?;
        let else_block = self.lo.builder.close_block(else_value.as_slice());
        self.frame.names = names;
        self.frame.bound = bound;
        let (then_value, else_value) = match (then_value, else_value) {
            (Some(then_value), Some(else_value)) => (then_value, else_value),
            (None, None) => {
                self.lo.builder.effect(
                    OpKind::If {
                        then_block,
                        else_block,
                    },
                    &[condition],
                );
                return Ok(Value::NONE);
            }
            _ => {
                return Err(self.lo.reject(
                    "ternary expression with dynamic condition has inconsistent types: one arm has no value",
                ));
            }
        };
        let ty = self.lo.ty(then_value).clone();
        if ty != *self.lo.ty(else_value) {
            let (a, b) = (
                type_text(&self.lo, &Value::Tensor(then_value)),
                type_text(&self.lo, &Value::Tensor(else_value)),
            );
            return Err(self.lo.reject(format!(
                "ternary expression with dynamic condition has inconsistent types {a} and {b}"
            )));
        }
        let kind = OpKind::If {
            then_block,
            else_block,
        };
        let chosen = self.lo.builder.op(kind, &[condition], ty);
        if stays_python {
            self.lo.python_floats.insert(chosen);
        }
        Ok(Value::Tensor(chosen))
    }

    /// The value of an arm of a conditional expression; none where the arm is a call of what only has an effect, as
    /// `tl.store` is. A number that stays one of Python is held in `f64`.
    fn arm(&mut self, arm: &Expr, value: &Value, stays_python: bool) -> Traced<Option<ValueId>> {
        if let Value::Constant(number) = value
            && stays_python
        {
            return semantic::scalar_constant(&mut self.lo, number, DType::F64).map(Some);
        }
        if value.is_none() && self.is_effect(arm) {
            return Ok(None);
        }
        semantic::to_tensor(&mut self.lo, value).map(Some)
    }

    /// Whether an expression is a call of a builtin whose result is `void`, or a choice between such calls.
    fn is_effect(&mut self, expression: &Expr) -> bool {
        match expression {
            Expr::Call(call) => matches!(
                self.eval(&call.func),
                Ok(Value::Builtin(builtin) | Value::Method(_, builtin)) if builtin.is_void()
            ),
            Expr::If(node) => self.is_effect(&node.body) && self.is_effect(&node.orelse),
            _ => false,
        }
    }

    pub(super) fn ambiguous(&self) -> Stop {
        self.lo
            .reject("boolean value of a tensor with more than one value is ambiguous")
    }

    /// The truth of a condition that is known now. Triton insists on a bool, an int or `None`.
    pub(super) fn static_condition(&self, value: &Value, place: &str) -> Traced<bool> {
        if let Value::Constant(value @ (Constant::None | Constant::Bool(_) | Constant::Int(_))) = value {
            return Ok(constant::truth(value));
        }
        let text = match value {
            Value::Constant(value) => constant::type_name(value).to_owned(),
            _ => type_text(&self.lo, value),
        };
        Err(self.lo.reject(format!(
            "{place} accept a bool, an int or None as their test, not {text}"
        )))
    }

    fn fstring(&mut self, node: &ast::ExprFString) -> Traced<Value> {
        let mut text = String::new();
        for part in &node.value {
            match part {
                ast::FStringPart::Literal(literal) => text.push_str(literal.as_str()),
                ast::FStringPart::FString(fstring) => {
                    for element in &fstring.elements {
                        match element {
                            ast::InterpolatedStringElement::Literal(literal) => text.push_str(&literal.value),
                            ast::InterpolatedStringElement::Interpolation(inner) => {
                                let value = self.eval(&inner.expression)?;
                                let is_type = matches!(value, Value::Constant(Constant::Type(_)))
                                    && !self.is_annotated(&inner.expression);
                                let Some(Value::Constant(value)) = Some(value).filter(|_| !is_type) else {
                                    return Err(self.lo.reject(
                                        "cannot evaluate an f-string containing values that are no constexprs",
                                    ));
                                };
                                match inner.conversion {
                                    ast::ConversionFlag::Repr | ast::ConversionFlag::Ascii => {
                                        text.push_str(&constant::repr(&value));
                                    }
                                    _ => text.push_str(&constant::text(&value)),
                                }
                            }
                        }
                    }
                }
            }
        }
        Ok(Value::str(&text))
    }

    /// Whether an expression that gives a type gives it as a constexpr: a name or a call, no attribute.
    fn is_annotated(&self, expression: &Expr) -> bool {
        !matches!(expression, Expr::Name(_) | Expr::Attribute(_))
            || matches!(expression, Expr::Name(name)
            if self.frame.names.get(name.id.as_str()).is_some_and(|slot| slot.kind != Kind::Bare))
    }

    fn list_comprehension(&mut self, node: &ast::ExprListComp) -> Traced<Value> {
        let [generator] = node.generators.as_slice() else {
            return Err(self.lo.reject("nested comprehensions are not supported"));
        };
        let iterated = self.eval(&generator.iter)?;
        let (Value::Tuple { items, .. } | Value::List(items)) = iterated else {
            return Err(self.lo.reject("only comprehensions over tuples are supported"));
        };
        if !self.lo.speaks(Rule::ComprehensionsUnpack) && !generator.target.is_name_expr() {
            return Err(self.lo.reject("the target of a comprehension has to be a name"));
        }
        let mut results = Vec::with_capacity(items.len());
        'items: for item in items.iter() {
            self.bind_target(&generator.target, item.clone())?;
            for condition in &generator.ifs {
                let condition = self.eval(condition)?;
                match Self::known_truth(&condition) {
                    Some(true) => {}
                    Some(false) => continue 'items,
                    None => {
                        return Err(self
                            .lo
                            .reject("the condition of a comprehension has to be a constexpr"));
                    }
                }
            }
            results.push(self.eval(&node.elt)?);
        }
        self.not_too_deep(Value::tuple(results))
    }
}
