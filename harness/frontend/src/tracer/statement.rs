//! Statements of kernels. See `control` for `if` and `loops` for loops.

use std::rc::Rc;

use cerith_tile::DType;
use cerith_tile::quirk::Quirk;
use cerith_tile::rules::Rule;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use super::Tracer;
use super::frame::{Kind, Slot};
use super::returns::Flow;
use crate::plain::annotation::Parameter;
use cerith_language::constant::{Constant, PyBinary};
use cerith_language::semantic::types::type_text;
use cerith_language::stop::{Stop, Traced};
use cerith_language::value::Value;
use cerith_language::{builtin, semantic};

impl Tracer<'_> {
    /// Runs a statement other than `if`.
    pub(super) fn run_statement(&mut self, statement: &Stmt) -> Traced<Flow> {
        self.lo.burn()?;
        let before = self.enter(statement.range());
        let flow = self.statement_inner(statement)?;
        self.lo.leave(before);
        Ok(flow)
    }

    fn statement_inner(&mut self, statement: &Stmt) -> Traced<Flow> {
        match statement {
            Stmt::Expr(node) => {
                self.eval(&node.value)?;
            }
            Stmt::Assign(node) => {
                let [target] = node.targets.as_slice() else {
                    return Err(self
                        .lo
                        .reject("simultaneous multiple assignment is not supported"));
                };
                let value = self.eval(&node.value)?;
                self.assign(target, value)?;
            }
            Stmt::AnnAssign(node) => self.assign_annotated(node)?,
            Stmt::AugAssign(node) => {
                let lhs = self.eval(&node.target)?;
                let rhs = self.eval(&node.value)?;
                self.check_held(&[(&node.target, &lhs), (&node.value, &rhs)])?;
                let Some(op) = PyBinary::from_ast(node.op) else {
                    return Err(self
                        .lo
                        .reject("the operator `@` is not implemented by Triton's compiler"));
                };
                let value = self.eval_binary(op, &lhs, &rhs)?;
                self.assign_elsewhere(&node.target, value)?;
            }
            Stmt::Return(node) => {
                let Some(value) = node.value.as_deref() else {
                    return Ok(Flow::Returned(Value::NONE));
                };
                let value = self.eval(value)?;
                if value.is_none() && node.value.as_deref().is_some_and(Expr::is_none_literal_expr) {
                    // Constants are converted to tensors there, but `None` can't be.
                    if !self.lo.rules.holds(Rule::ReturnedConstexprsStay) {
                        return Err(self.lo.reject("cannot convert `None` to a tensor"));
                    }
                }
                return Ok(Flow::Returned(self.convert_returned(value)?));
            }
            Stmt::For(node) => return self.for_loop(node),
            Stmt::While(node) => return self.while_loop(node),
            Stmt::Assert(node) => {
                let test = self.eval(&node.test)?;
                let message = node
                    .msg
                    .as_deref()
                    .map_or(Ok(Value::from_text("")), |message| self.eval(message))?;
                match builtin::lookup(self.lo.rules, "tl", "device_assert") {
                    Some(assert) => {
                        self.call(&assert, vec![test, message], Vec::new())?;
                    }
                    None => return Err(self.lo.report_unsupported("`assert`")),
                }
            }
            Stmt::Pass(_) => {}
            Stmt::With(node) if node.is_async => return Err(self.not_in_triton("`async with`")),
            Stmt::With(node) => {
                for item in &node.items {
                    self.eval(&item.context_expr)?;
                }
                return Err(self.lo.report_unsupported("`with`"));
            }
            Stmt::FunctionDef(_) => {
                return Err(self.not_in_triton("a function inside of a kernel"));
            }
            Stmt::Break(_) => return Err(self.not_in_triton("`break`")),
            Stmt::Continue(_) => return Err(self.not_in_triton("`continue`")),
            Stmt::Try(_) => return Err(self.not_in_triton("`try`")),
            Stmt::Raise(_) => return Err(self.not_in_triton("`raise`")),
            Stmt::ClassDef(_) => return Err(self.not_in_triton("a class")),
            Stmt::Delete(_) => return Err(self.not_in_triton("`del`")),
            Stmt::Global(_) => return Err(self.not_in_triton("`global`")),
            Stmt::Nonlocal(_) => return Err(self.not_in_triton("`nonlocal`")),
            Stmt::Import(_) | Stmt::ImportFrom(_) => {
                return Err(self.not_in_triton("an import inside of a kernel"));
            }
            Stmt::Match(_) => return Err(self.not_in_triton("`match`")),
            Stmt::TypeAlias(_) => return Err(self.not_in_triton("a type alias")),
            Stmt::If(_) | Stmt::IpyEscapeCommand(_) => {
                return Err(self.lo.report_unsupported("this statement"));
            }
        }
        Ok(Flow::Falls)
    }

    /// A returned value, as the caller gets it.
    fn convert_returned(&mut self, value: Value) -> Traced<Value> {
        if self.lo.rules.holds(Rule::ReturnedConstexprsStay) || self.items_stay_python() {
            return Ok(value);
        }
        match value {
            Value::Constant(Constant::Bool(_) | Constant::Int(_) | Constant::Float(_)) => {
                semantic::to_tensor(&mut self.lo, &value).map(Value::Tensor)
            }
            Value::Constant(Constant::Str(_)) | Value::Function(_) | Value::Builtin(_) => {
                let text = type_text(&self.lo, &value);
                Err(self.lo.reject(format!("cannot return {text}")))
            }
            Value::Tuple { items, names } => {
                let items = items
                    .iter()
                    .map(|item| self.convert_returned(item.clone()))
                    .collect::<Traced<Rc<[_]>>>()?;
                Ok(Value::Tuple { items, names })
            }
            other => Ok(other),
        }
    }

    fn assign_annotated(&mut self, node: &ast::StmtAnnAssign) -> Traced<()> {
        if let Expr::Name(_) = &*node.annotation {
            self.eval(&node.annotation)?;
        }
        if let Expr::Attribute(_) = &*node.annotation
            && let Err(stop @ Stop::Rejected(_)) = self.eval(&node.annotation)
        {
            return Err(stop);
        }
        let scope = self.frame.scope;
        let is_constexpr = self.plain().read_annotation(scope, &node.annotation) == Parameter::Constexpr;
        let Some(value) = &node.value else {
            if let (Expr::Name(name), true) = (
                &*node.target,
                is_constexpr
                    && self.lo.has_rule(Rule::BareAnnotationsCount)
                    && !self.lo.has_quirk(Quirk::AnnouncementsAreIgnored),
            ) {
                self.frame.pending.insert(name.id.as_str().into());
            }
            return Ok(());
        };
        let value = self.eval(value)?;
        if !is_constexpr {
            if !self.lo.has_rule(Rule::PlainAnnotations) {
                return Err(self
                    .lo
                    .reject("an annotation other than `tl.constexpr` is not supported"));
            }
            return self.assign_elsewhere(&node.target, value);
        }
        let Expr::Name(name) = &*node.target else {
            return Err(self.lo.reject("only a name can be annotated as constexpr"));
        };
        let name: Rc<str> = name.id.as_str().into();
        if self.frame.names.contains_key(&name) {
            return Err(self.lo.reject(format!(
                "`{name}` is already defined; a constexpr cannot be reassigned"
            )));
        }
        // A value that Triton does not define becomes a constexpr in every version; a constexpr stays one.
        let held = match &value {
            Value::Tensor(_) | Value::Tuple { .. } | Value::List(_) => {
                !self.lo.has_rule(Rule::AnnotatedTensorsAreTensors)
                    || node
                        .value
                        .as_deref()
                        .is_some_and(|written| self.makes_constexpr(written))
            }
            Value::Function(_) | Value::Builtin(_) | Value::Python(_) => true,
            _ => false,
        };
        let kind = if held { Kind::Held } else { Kind::Plain };
        self.frame.names.insert(name, Slot { value, kind });
        Ok(())
    }

    /// Whether an expression is a call of `tl.constexpr`.
    fn makes_constexpr(&mut self, expression: &Expr) -> bool {
        matches!(expression, Expr::Call(call)
            if matches!(self.eval(&call.func), Ok(Value::Builtin(builtin)) if builtin.name() == "tl.constexpr"))
    }

    /// Assigns for `+=`, annotated assignments and `:=`. Python numbers become tensors here, too.
    pub(super) fn assign_elsewhere(&mut self, target: &Expr, value: Value) -> Traced<()> {
        if let (Expr::Name(name), Value::Constant(Constant::Bool(_) | Constant::Int(_) | Constant::Float(_))) =
            (target, &value)
            && self.lo.has_quirk(Quirk::NumbersStayPython)
        {
            self.frame.set(&name.id.as_str().into(), value, Kind::Plain);
            return Ok(());
        }
        self.assign(target, value)
    }

    /// Whether numbers in tuples and results of functions stay Python numbers: the interpreter converts only an assigned
    /// value (`visit_Assign`, `to_tensor`). Models of bf16 need this too, because a number is converted to bf16 differently
    /// from an `i32` tensor.
    fn items_stay_python(&self) -> bool {
        self.lo.has_quirk(Quirk::NumbersStayPython) || self.lo.has_quirk(Quirk::Bf16IsBits)
    }

    /// `target = value`: Python numbers become tensors here.
    pub(super) fn assign(&mut self, target: &Expr, value: Value) -> Traced<()> {
        match target {
            Expr::Name(name) => {
                let name: Rc<str> = name.id.as_str().into();
                let value = match value {
                    Value::Tuple { items, names } if !self.lo.has_rule(Rule::TupleVariables) => {
                        match items.first() {
                            Some(first) => first.clone(),
                            None => Value::Tuple { items, names },
                        }
                    }
                    value => value,
                };
                if self.frame.pending.remove(&name) {
                    self.frame.set(&name, value, Kind::Plain);
                    return Ok(());
                }
                let (value, kind) = self.sanitize(value)?;
                if let Value::Tensor(id) = value {
                    self.lo.builder.name_value(id, &name);
                }
                self.frame.set(&name, value, kind);
                Ok(())
            }
            Expr::List(_) => Err(self.not_in_triton("a list of assignment targets")),
            Expr::Tuple(ast::ExprTuple { elts, .. }) => {
                if !self.lo.has_rule(Rule::NestedUnpacking) && elts.iter().any(Expr::is_tuple_expr) {
                    return Err(self
                        .lo
                        .reject("tuples inside of assignment targets are not supported"));
                }
                let items = self.unpack(elts, value)?;
                for (target, item) in elts.iter().zip(items.iter()) {
                    match (target, item) {
                        (Expr::Name(name), Value::Constant(constant))
                            if is_number(constant) && self.items_stay_python() =>
                        {
                            self.frame
                                .set(&name.id.as_str().into(), item.clone(), Kind::Plain);
                        }
                        _ => self.assign(target, item.clone())?,
                    }
                }
                Ok(())
            }
            Expr::Starred(_) => Err(self.lo.reject("starred assignment targets are not supported")),
            Expr::Subscript(_) => Err(self.not_in_triton("assignment to an item")),
            Expr::Attribute(_) => Err(self.not_in_triton("assignment to an attribute")),
            _ => Err(self.lo.report_unsupported("this assignment target")),
        }
    }

    fn unpack(&self, targets: &[Expr], value: Value) -> Traced<Rc<[Value]>> {
        let (Value::Tuple { items, .. } | Value::List(items)) = value else {
            let text = type_text(&self.lo, &value);
            return Err(self.lo.reject(format!("cannot unpack {text}")));
        };
        if targets.iter().any(Expr::is_starred_expr) {
            return Err(self.lo.reject("starred assignment targets are not supported"));
        }
        let (expected, got) = (targets.len(), items.len());
        if got > expected && self.lo.rules.holds(Rule::UnpackingIsExact) {
            return Err(self
                .lo
                .reject(format!("too many values to unpack (expected {expected})")));
        }
        if got < expected && self.lo.rules.holds(Rule::UnpackingFillsNames) {
            return Err(self.lo.reject(format!(
                "not enough values to unpack (expected {expected}, got {got})"
            )));
        }
        Ok(items)
    }

    /// Binds the target of a comprehension, whose values stay as they are.
    pub(super) fn bind_target(&mut self, target: &Expr, value: Value) -> Traced<()> {
        match target {
            Expr::Name(name) => {
                self.frame.set(&name.id.as_str().into(), value, Kind::Plain);
                Ok(())
            }
            Expr::Tuple(tuple) => {
                let items = self.unpack(&tuple.elts, value)?;
                for (target, item) in tuple.elts.iter().zip(items.iter()) {
                    self.bind_target(target, item.clone())?;
                }
                Ok(())
            }
            _ => Err(self.lo.report_unsupported("this target of a comprehension")),
        }
    }

    /// The value of a variable after an assignment of `value`.
    fn sanitize(&mut self, value: Value) -> Traced<(Value, Kind)> {
        Ok(match value {
            Value::Tensor(id) if self.lo.python_floats.contains(&id) => (
                Value::Tensor(semantic::cast(&mut self.lo, id, DType::F32)?),
                Kind::Plain,
            ),
            Value::Tensor(_) | Value::BlockPointer(_) | Value::Descriptor(_) | Value::Aggregate(_) => {
                (value, Kind::Plain)
            }
            Value::Constant(Constant::None | Constant::Type(_)) => (value, Kind::Bare),
            Value::Constant(Constant::Bool(_) | Constant::Int(_) | Constant::Float(_)) => (
                Value::Tensor(semantic::to_tensor(&mut self.lo, &value)?),
                Kind::Plain,
            ),
            Value::Tuple { items, names } => {
                let mut sanitized = Vec::with_capacity(items.len());
                for item in items.iter() {
                    if let Value::Constant(Constant::Type(_)) = item {
                        return Err(self.lo.reject("a variable cannot hold a tuple of types"));
                    }
                    let is_number = matches!(item, Value::Constant(constant) if is_number(constant));
                    sanitized.push(if is_number && self.items_stay_python() {
                        item.clone()
                    } else {
                        self.sanitize(item.clone())?.0
                    });
                }
                (
                    Value::Tuple {
                        items: sanitized.into(),
                        names,
                    },
                    Kind::Plain,
                )
            }
            Value::List(items) => return self.sanitize(Value::new_tuple(items.iter().cloned())),
            Value::Range(range) if !range.is_python => {
                return Err(self.lo.report_unsupported("a range that a variable holds"));
            }
            other => {
                let text = type_text(&self.lo, &other);
                let mut diagnostic = self
                    .lo
                    .build_diagnostic("rejected", format!("cannot convert {text} to a tensor"));
                diagnostic.help = Some("annotate the variable as `tl.constexpr`".to_owned());
                return Err(Stop::Rejected(Box::new(diagnostic)));
            }
        })
    }
}

const fn is_number(constant: &Constant) -> bool {
    matches!(
        constant,
        Constant::Bool(_) | Constant::Int(_) | Constant::Float(_)
    )
}
