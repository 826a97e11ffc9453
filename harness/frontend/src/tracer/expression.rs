//! Expressions of kernels. See `access` for names and attributes, `operator` for operators, and `call` for calls.

use std::rc::Rc;

use cerith_tile::DType;
use cerith_tile::ir::{OpKind, ValueId};
use cerith_tile::quirk::Quirk;
use cerith_tile::rules::Rule;
use ruff_python_ast::{self as ast, Expr, Number};
use ruff_text_size::Ranged;

use super::Tracer;
use super::frame::Kind;
use cerith_language::constant::{self, Constant, PyBinary, eval_literal};
use cerith_language::semantic;
use cerith_language::semantic::types::type_text;
use cerith_language::stop::{Stop, Traced};
use cerith_language::value::Value;

/// Tuples inside of tuples.
const MAX_TUPLES: usize = 32;

/// Whether tuples and aggregates inside of a value are at most `depth` deep and hold at most `budget` values in all. Shared
/// values are counted each time.
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
        let value = self.run_nested(|tr| tr.eval_inner(expression));
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
            | Expr::EllipsisLiteral(_) => match eval_literal(expression) {
                Some(constant) => Ok(Value::Constant(constant)),
                None => Err(match expression {
                    Expr::NumberLiteral(ast::ExprNumberLiteral {
                        value: Number::Complex { .. },
                        ..
                    }) => self.lo.reject("a complex number has no meaning in a kernel"),
                    _ => self.lo.report_unsupported("this literal"),
                }),
            },
            Expr::FString(node) => self.eval_fstring(node),
            Expr::BinOp(node) => {
                let lhs = self.eval(&node.left)?;
                let rhs = self.eval(&node.right)?;
                self.check_held(&[(&node.left, &lhs), (&node.right, &rhs)])?;
                let Some(op) = PyBinary::from_ast(node.op) else {
                    return Err(self
                        .lo
                        .reject("the operator `@` is not implemented by Triton's compiler"));
                };
                self.eval_binary(op, &lhs, &rhs)
            }
            Expr::UnaryOp(node) => {
                let operand = self.eval(&node.operand)?;
                if node.op != ast::UnaryOp::Not {
                    self.check_held(&[(&node.operand, &operand)])?;
                }
                self.eval_unary(node.op, &operand)
            }
            Expr::BoolOp(node)
                if !self.lo.has_rule(Rule::ShortCircuits)
                    && !self.lo.has_quirk(Quirk::LogicPicksOperands) =>
            {
                self.eval_eager_logic(node)
            }
            Expr::BoolOp(node) => self.eval_logic(node),
            Expr::Compare(node) => self.compare_chain(node),
            Expr::If(node) => self.eval_conditional(node),
            Expr::Tuple(node) => self.tuple_of(&node.elts),
            Expr::List(node) => self.tuple_of(&node.elts),
            Expr::ListComp(_) if !self.lo.has_rule(Rule::Comprehensions) => {
                Err(self.not_in_triton("a list comprehension"))
            }
            Expr::ListComp(node) => self.list_comprehension(node),
            Expr::Named(_) if !self.lo.has_rule(Rule::NamedExpressions) => Err(self.not_in_triton("`:=`")),
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
                if self.is_held(&node.value) || constexpr && !self.lo.has_rule(Rule::TupleVariables) {
                    return Err(self.lo.reject("'constexpr' object is not subscriptable"));
                }
                let index = self.eval(&node.slice)?;
                self.eval_subscript(&container, &index)
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
            Expr::IpyEscapeCommand(_) => Err(self.lo.reject("this is not Python")),
        }
    }

    /// The rejection of a construct that Triton's compiler does not translate.
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
        self.not_too_deep(Value::new_tuple(items))
    }

    /// The value, if it does not nest too deep and does not hold too much.
    pub(super) fn not_too_deep(&self, value: Value) -> Traced<Value> {
        let mut budget = 2 * super::MAX_ITEMS;
        if fits(&value, MAX_TUPLES, &mut budget) {
            return Ok(value);
        }
        Err(if budget == 0 {
            self.lo
                .report_exhausted(2 * super::MAX_ITEMS, "items of a tuple and of those in it")
        } else {
            self.lo
                .report_exhausted(MAX_TUPLES, "tuples inside of each other")
        })
    }

    /// Whether Python counts a value that is known now as true; `None` for a tensor.
    pub(super) fn known_truth(value: &Value) -> Option<bool> {
        match value {
            Value::Tensor(_) => None,
            Value::Constant(value) => Some(constant::is_truthy(value)),
            Value::Tuple { items, .. } | Value::List(items) => Some(!items.is_empty()),
            _ => Some(true),
        }
    }

    /// Whether an expression is a name whose value is a tensor inside of a constexpr. Some versions create these for a
    /// run-time value annotated as `constexpr`.
    pub(super) fn is_held(&self, expression: &Expr) -> bool {
        let Expr::Name(name) = expression else {
            return false;
        };
        self.frame
            .names
            .get(name.id.as_str())
            .is_some_and(|slot| slot.kind == Kind::Held && matches!(slot.value, Value::Tensor(_)))
    }

    /// Whether an expression is a name whose constexpr holds a named tuple.
    pub(super) fn is_held_tuple(&self, expression: &Expr) -> bool {
        let Expr::Name(name) = expression else {
            return false;
        };
        let slot = self.frame.names.get(name.id.as_str());
        slot.is_some_and(|slot| {
            slot.kind == Kind::Held && matches!(&slot.value, Value::Tuple { names, .. } if !names.is_empty())
        })
    }

    /// Refuses operands that are tensors inside of constexprs, unless another operand is a plain tensor: then they are unwrapped.
    pub(super) fn check_held(&self, operands: &[(&Expr, &Value)]) -> Traced<()> {
        let held = |expression: &Expr| self.is_held(expression);
        let rescued = operands
            .iter()
            .any(|(expression, value)| matches!(value, Value::Tensor(_)) && !held(expression));
        if rescued || !operands.iter().any(|(expression, _)| held(expression)) {
            return Ok(());
        }
        Err(self.reject_held())
    }

    fn reject_held(&self) -> Stop {
        let version = self.lo.rules.version;
        let mut diagnostic = self.lo.build_diagnostic(
            "rejected",
            "a constexpr that holds a run-time value has no operators (\"Did you forget to add @triton.jit?\")",
        );
        diagnostic.notes.push(format!(
            "in Triton {version}, a run-time value that is annotated as `tl.constexpr` is held by a constexpr"
        ));
        diagnostic.help = Some("leave the annotation out".to_owned());
        Stop::Rejected(Box::new(diagnostic))
    }

    /// `a if test else b`.
    fn eval_conditional(&mut self, node: &ast::ExprIf) -> Traced<Value> {
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
        let condition = semantic::lower_condition(&mut self.lo, tensor)?;
        let is_float = |arm| matches!(eval_literal(arm), Some(Constant::Float(_)));
        let stays_python =
            self.lo.has_quirk(Quirk::NumbersStayPython) && is_float(&node.body) && is_float(&node.orelse);
        // Bindings by `:=` in here end with the expression.
        let (names, bound) = (self.frame.names.clone(), self.frame.bound.clone());
        self.lo.builder.open_block(&[]);
        let value = self.eval(&node.body)?;
        let then_value = self.lower_arm(&node.body, &value, stays_python)?;
        let then_block = self.lo.builder.close_block(then_value.as_slice());
        self.frame.names.clone_from(&names);
        self.lo.builder.open_block(&[]);
        let value = self.eval(&node.orelse)?;
        let else_value = self.lower_arm(&node.orelse, &value, stays_python)?;
        let else_block = self.lo.builder.close_block(else_value.as_slice());
        self.frame.names = names;
        self.frame.bound = bound;
        let (then_value, else_value) = match (then_value, else_value) {
            (Some(then_value), Some(else_value)) => (then_value, else_value),
            (None, None) => {
                self.lo.builder.add_effect(
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
        let chosen = self.lo.builder.add_op(kind, &[condition], ty);
        if stays_python {
            self.lo.python_floats.insert(chosen);
        }
        Ok(Value::Tensor(chosen))
    }

    /// The value of an arm of a conditional expression. `None` if the arm only has an effect, such as a call of `tl.store`.
    /// A float that stays a Python number is stored as `f64`.
    fn lower_arm(&mut self, arm: &Expr, value: &Value, stays_python: bool) -> Traced<Option<ValueId>> {
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
            return Ok(constant::is_truthy(value));
        }
        let text = match value {
            Value::Constant(value) => constant::type_name(value).to_owned(),
            _ => type_text(&self.lo, value),
        };
        Err(self.lo.reject(format!(
            "{place} accept a bool, an int or None as their test, not {text}"
        )))
    }

    fn eval_fstring(&mut self, node: &ast::ExprFString) -> Traced<Value> {
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
                                        "cannot evaluate an f-string containing values that are not constexprs",
                                    ));
                                };
                                match inner.conversion {
                                    ast::ConversionFlag::Repr | ast::ConversionFlag::Ascii => {
                                        text.push_str(&constant::repr(&value));
                                    }
                                    _ => text.push_str(&constant::to_text(&value)),
                                }
                            }
                        }
                    }
                }
            }
        }
        Ok(Value::from_text(&text))
    }

    /// Whether the type that an expression evaluates to is a constexpr. It is for a local name bound to one and for calls,
    /// but not for an attribute.
    pub(super) fn is_annotated(&self, expression: &Expr) -> bool {
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
        if !self.lo.has_rule(Rule::ComprehensionsUnpack) && !generator.target.is_name_expr() {
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
        self.not_too_deep(Value::new_tuple(results))
    }
}
