//! Plain Python at module level, in factories, heuristics and configurations: an evaluator of the part that is simple.
//!
//! What it does not know becomes [`Host::Unknown`] with the reason, and poisons what is computed from it. It never
//! guesses, and it is bounded: loops and calls burn the tracer's fuel.

use std::rc::Rc;

use cerith_python::builtin::NAMES;
use cerith_python::operator;
use cerith_tile::source::Span;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use super::Tracer;
use super::host_call::MAX_RANGE;
use super::host_operator::{compare, depth, failed, length, made, subscript, unary};
use crate::constant::{self, PyBinary};
use crate::stop::{Stop, Traced};
use crate::text::{bound_names, span_of};
use crate::value::Value;
use crate::value::host::{Host, HostArguments, HostBody, HostFunction, ScopeId};

/// Values inside of each other.
const MAX_DEPTH: usize = 24;

/// Python's own names that are understood beside those of its builtins ([`NAMES`]).
const OTHER_NAMES: [&str; 4] = ["dict", "getattr", "hasattr", "isinstance"];

/// How a plain Python statement ends.
pub(super) enum HostFlow {
    /// It goes on.
    Next,
    /// `return`.
    Return(Host),
    /// `break`.
    Break,
    /// `continue`.
    Continue,
}

impl Tracer<'_> {
    /// Runs a plain Python statement.
    pub(super) fn host_statement(&mut self, scope: ScopeId, statement: &Stmt) -> Traced<HostFlow> {
        self.lo.burn()?;
        let source = self.source_of(scope);
        let span = span_of(source, statement.range());
        match statement {
            Stmt::Import(node) => self.import(scope, node)?,
            Stmt::ImportFrom(node) => self.import_from(scope, node)?,
            Stmt::FunctionDef(def) => {
                let value = self.define(scope, &Rc::new(def.clone()))?;
                self.bind(scope, def.name.as_str(), value);
            }
            Stmt::ClassDef(def) => {
                let value = self.class(scope, def)?;
                self.bind(scope, def.name.as_str(), value);
            }
            Stmt::Assign(node) => {
                let value = self.host_expression(scope, &node.value)?;
                for target in &node.targets {
                    self.host_assign(scope, target, &value);
                }
            }
            Stmt::AnnAssign(node) => {
                if let Some(value) = &node.value {
                    let value = self.host_expression(scope, value)?;
                    self.host_assign(scope, &node.target, &value);
                }
                if let Expr::Name(name) = &*node.target
                    && self.names_constexpr(scope, &node.annotation)
                    && let Some(scope) = self.scopes.get_mut(scope)
                {
                    scope.annotated.insert(name.id.as_str().into());
                }
            }
            Stmt::AugAssign(node) => {
                let lhs = self.host_expression(scope, &node.target)?;
                let rhs = self.host_expression(scope, &node.value)?;
                let value = self.host_binary(node.op, &lhs, &rhs, span);
                self.host_assign(scope, &node.target, &value);
            }
            Stmt::If(node) => return self.host_if(scope, node),
            Stmt::For(node) => return self.host_for(scope, node),
            Stmt::Raise(node) => {
                let raised = match &node.exc {
                    Some(exception) => self.raised(scope, exception)?,
                    None => "an exception".to_owned(),
                };
                return self.raise(raised, span);
            }
            Stmt::Assert(node) => {
                let holds = self.host_expression(scope, &node.test)?.truth();
                if holds == Some(false) {
                    return self.raise("AssertionError".to_owned(), span);
                }
            }
            Stmt::Try(node) => {
                let handled = !node.handlers.is_empty();
                let flow = match self.host_body(scope, &node.body) {
                    Err(Stop::Rejected(_)) if handled => {
                        HostFlow::Return(Host::unknown(span, "what a handler of exceptions computes"))
                    }
                    flow => flow?,
                };
                if !matches!(flow, HostFlow::Next) {
                    return Ok(flow);
                }
                return self.host_body(scope, &node.finalbody);
            }
            Stmt::With(node) => return self.host_body(scope, &node.body),
            Stmt::While(node) => return self.host_while(scope, node),
            Stmt::Return(node) => {
                let value = node
                    .value
                    .as_deref()
                    .map_or(Ok(Host::NONE), |value| self.host_expression(scope, value))?;
                return Ok(HostFlow::Return(value));
            }
            Stmt::Break(_) => return Ok(HostFlow::Break),
            Stmt::Continue(_) => return Ok(HostFlow::Continue),
            Stmt::Expr(node) => self.host_effect(scope, &node.value)?,
            Stmt::Delete(node) => {
                for target in &node.targets {
                    if let (Expr::Name(name), Some(scope)) = (target, self.scopes.get_mut(scope)) {
                        scope.names.remove(name.id.as_str());
                    }
                }
            }
            Stmt::Match(node) => {
                for case in &node.cases {
                    self.forget(scope, &case.body, span, "what a `match` computes");
                }
            }
            _ => {}
        }
        Ok(HostFlow::Next)
    }

    /// What an exception says: `ValueError: too large`.
    fn raised(&mut self, scope: ScopeId, exception: &Expr) -> Traced<String> {
        let (class, message) = match exception {
            Expr::Call(call) => (&*call.func, call.arguments.args.first()),
            other => (other, None),
        };
        let class = match class {
            Expr::Name(name) => name.id.as_str(),
            _ => "an exception",
        };
        let message = match message {
            Some(message) => self
                .host_expression(scope, message)?
                .constant()
                .map(constant::text),
            None => None,
        };
        Ok(message.map_or_else(|| class.to_owned(), |message| format!("{class}: {message}")))
    }

    /// Raises an exception: in a function that a kernel calls, that rejects the kernel.
    fn raise(&self, raised: String, span: Span) -> Traced<HostFlow> {
        if self.calls.is_empty() {
            Ok(HostFlow::Return(Host::unknown(span, "what raises an exception")))
        } else {
            Err(self.lo.reject(raised))
        }
    }

    /// Runs plain Python statements.
    pub(super) fn host_body(&mut self, scope: ScopeId, body: &[Stmt]) -> Traced<HostFlow> {
        crate::text::with_stack(|| {
            for statement in body {
                let flow = self.host_statement(scope, statement)?;
                if !matches!(flow, HostFlow::Next) {
                    return Ok(flow);
                }
            }
            Ok(HostFlow::Next)
        })
    }

    /// What code that may or may not run would bind is not known.
    fn forget(&mut self, scope: ScopeId, body: &[Stmt], span: Span, what: &str) {
        let mut names = Vec::new();
        bound_names(body, &mut names);
        for name in names {
            self.bind(scope, &name, Host::unknown(span, what));
        }
    }

    fn host_if(&mut self, scope: ScopeId, node: &ast::StmtIf) -> Traced<HostFlow> {
        let source = self.source_of(scope);
        let tests = std::iter::once((Some(&*node.test), &node.body)).chain(
            node.elif_else_clauses
                .iter()
                .map(|clause| (clause.test.as_ref(), &clause.body)),
        );
        let mut decided = true;
        let mut flow = HostFlow::Next;
        for (test, body) in tests {
            let holds = match test {
                Some(test) if decided => self.host_expression(scope, test)?.truth(),
                Some(_) => None,
                None => Some(true),
            };
            match holds {
                Some(true) if decided => return self.host_body(scope, body),
                Some(false) => {}
                _ => {
                    decided = false;
                    let span = span_of(source, node.range());
                    self.forget(scope, body, span, "what depends on this condition");
                    if body.iter().any(|statement| matches!(statement, Stmt::Return(_))) {
                        flow = HostFlow::Return(Host::unknown(span, "what depends on this condition"));
                    }
                }
            }
        }
        Ok(flow)
    }

    fn host_while(&mut self, scope: ScopeId, node: &ast::StmtWhile) -> Traced<HostFlow> {
        let span = span_of(self.source_of(scope), node.range());
        for _ in 0..MAX_RANGE {
            match self.host_expression(scope, &node.test)?.truth() {
                Some(true) => {}
                Some(false) => return self.host_body(scope, &node.orelse),
                None => {
                    self.forget(scope, &node.body, span, "what a `while` loop computes");
                    return Ok(HostFlow::Next);
                }
            }
            match self.host_body(scope, &node.body)? {
                HostFlow::Break => return Ok(HostFlow::Next),
                HostFlow::Return(value) => return Ok(HostFlow::Return(value)),
                HostFlow::Next | HostFlow::Continue => {}
            }
        }
        let what = format!("what a loop of more than {MAX_RANGE} iterations computes");
        self.forget(scope, &node.body, span, &what);
        Ok(HostFlow::Next)
    }

    fn host_for(&mut self, scope: ScopeId, node: &ast::StmtFor) -> Traced<HostFlow> {
        let span = span_of(self.source_of(scope), node.range());
        let iterable = self.host_expression(scope, &node.iter)?;
        let Some(items) = iterable.items().map(<[Host]>::to_vec) else {
            self.forget(scope, &node.body, span, "what this loop computes");
            return Ok(HostFlow::Next);
        };
        for item in items {
            self.host_assign(scope, &node.target, &item);
            match self.host_body(scope, &node.body)? {
                HostFlow::Break => return Ok(HostFlow::Next),
                HostFlow::Return(value) => return Ok(HostFlow::Return(value)),
                HostFlow::Next | HostFlow::Continue => {}
            }
        }
        self.host_body(scope, &node.orelse)
    }

    /// An expression for its effect: only `name.append(…)` and `name.extend(…)` matter to what kernels see.
    fn host_effect(&mut self, scope: ScopeId, expression: &Expr) -> Traced<()> {
        let Expr::Call(call) = expression else {
            return Ok(());
        };
        let Expr::Attribute(method) = &*call.func else {
            return Ok(());
        };
        let Expr::Name(name) = &*method.value else {
            return Ok(());
        };
        let Some((Host::List(_), _)) = self.global(scope, name.id.as_str()) else {
            return Ok(());
        };
        let span = span_of(self.source_of(scope), expression.range());
        let added = match call.arguments.args.first() {
            Some(argument) => self.host_expression(scope, argument)?,
            None => Host::unknown(span, "what this call does to the list"),
        };
        let items = match (method.attr.as_str(), &added) {
            ("append", _) => Some(vec![added]),
            ("extend", _) => added.items().map(<[Host]>::to_vec),
            _ => None,
        };
        let Some(slot) = self
            .scopes
            .get_mut(scope)
            .and_then(|scope| scope.names.get_mut(name.id.as_str()))
        else {
            return Ok(());
        };
        // A list that something else holds too would have to change there as well.
        let changed = match (&*slot, items) {
            (Host::List(list), Some(items)) if Rc::strong_count(list) == 1 => {
                let mut list = (**list).clone();
                list.extend(items);
                Host::List(Rc::new(list))
            }
            _ => Host::unknown(span, "what this call does to the list"),
        };
        *slot = changed;
        Ok(())
    }

    pub(super) fn host_assign(&mut self, scope: ScopeId, target: &Expr, value: &Host) {
        let span = span_of(self.source_of(scope), target.range());
        match target {
            Expr::Name(name) => self.bind(scope, name.id.as_str(), value.clone()),
            Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
                let items = value
                    .items()
                    .filter(|items| items.len() == elts.len())
                    .map(<[Host]>::to_vec);
                for (nth, target) in elts.iter().enumerate() {
                    let item = items.as_ref().and_then(|items| items.get(nth)).cloned();
                    let item = item.unwrap_or_else(|| Host::unknown(span, "a part of what is unpacked here"));
                    self.host_assign(scope, target, &item);
                }
            }
            Expr::Starred(starred) => {
                self.host_assign(
                    scope,
                    &starred.value,
                    &Host::unknown(span, "what a starred target takes"),
                );
            }
            Expr::Subscript(subscript) => {
                // The container changes; what it holds from now on is not followed.
                if let Expr::Name(name) = &*subscript.value {
                    self.bind(
                        scope,
                        name.id.as_str(),
                        Host::unknown(span, "a container after an item of it was set"),
                    );
                }
            }
            _ => {}
        }
    }

    /// Evaluates an expression of plain Python.
    pub(super) fn host_expression(&mut self, scope: ScopeId, expression: &Expr) -> Traced<Host> {
        self.lo.burn()?;
        let value = self.deeper(|tr| tr.host_expression_inner(scope, expression))?;
        let makes = matches!(
            expression,
            Expr::Tuple(_)
                | Expr::List(_)
                | Expr::Dict(_)
                | Expr::ListComp(_)
                | Expr::Lambda(_)
                | Expr::Call(_)
        );
        if makes && depth(&value, MAX_DEPTH + 1) > MAX_DEPTH {
            let span = span_of(self.source_of(scope), expression.range());
            return Ok(Host::unknown(
                span,
                format!("a value that is more than {MAX_DEPTH} deep"),
            ));
        }
        self.lo.charge(length(&value))?;
        Ok(value)
    }

    fn host_expression_inner(&mut self, scope: ScopeId, expression: &Expr) -> Traced<Host> {
        let span = span_of(self.source_of(scope), expression.range());
        Ok(match expression {
            Expr::Name(name) => self.host_name(scope, name.id.as_str(), span),
            Expr::NumberLiteral(_)
            | Expr::StringLiteral(_)
            | Expr::BooleanLiteral(_)
            | Expr::NoneLiteral(_)
            | Expr::EllipsisLiteral(_) => match constant::literal(expression) {
                Some(constant) => Host::Constant(constant),
                None => Host::unknown(span, "this literal"),
            },
            Expr::FString(node) => self.host_fstring(scope, node, span)?,
            Expr::Tuple(node) => match self.host_items(scope, &node.elts)? {
                Some(items) => Host::Tuple(items.into()),
                None => Host::unknown(span, "this tuple"),
            },
            Expr::List(node) => match self.host_items(scope, &node.elts)? {
                Some(items) => Host::List(Rc::new(items)),
                None => Host::unknown(span, "this list"),
            },
            Expr::Dict(node) => {
                let mut items = Vec::with_capacity(node.items.len());
                for item in &node.items {
                    let value = self.host_expression(scope, &item.value)?;
                    match (&item.key, value) {
                        (Some(key), value) => items.push((self.host_expression(scope, key)?, value)),
                        (None, Host::Dict(more)) => items.extend(more.iter().cloned()),
                        (None, _) => return Ok(Host::unknown(span, "this dict")),
                    }
                }
                Host::Dict(Rc::new(items))
            }
            Expr::Attribute(node) => {
                let value = self.host_expression(scope, &node.value)?;
                self.host_attribute(&value, node.attr.as_str(), span)
            }
            Expr::BinOp(node) => {
                let lhs = self.host_expression(scope, &node.left)?;
                let rhs = self.host_expression(scope, &node.right)?;
                self.host_binary(node.op, &lhs, &rhs, span)
            }
            Expr::UnaryOp(node) => {
                let operand = self.host_expression(scope, &node.operand)?;
                unary(node.op, &operand, span)
            }
            Expr::BoolOp(node) => {
                let mut value = Host::NONE;
                for operand in &node.values {
                    value = self.host_expression(scope, operand)?;
                    match value.truth() {
                        Some(truth) if truth == (node.op == ast::BoolOp::Or) => break,
                        Some(_) => {}
                        None => return Ok(Host::unknown(span, "this condition")),
                    }
                }
                value
            }
            Expr::Compare(node) => self.host_compare(scope, node, span)?,
            Expr::If(node) => match self.host_expression(scope, &node.test)?.truth() {
                Some(true) => self.host_expression(scope, &node.body)?,
                Some(false) => self.host_expression(scope, &node.orelse)?,
                None => Host::unknown(span, "what depends on this condition"),
            },
            Expr::Lambda(node) => {
                let defaults = match &node.parameters {
                    Some(parameters) => self.defaults(scope, parameters)?,
                    None => Vec::new(),
                };
                Host::Function(Rc::new(HostFunction {
                    name: "<lambda>".into(),
                    body: HostBody::Lambda(Box::new(node.clone())),
                    scope,
                    defaults,
                }))
            }
            Expr::ListComp(node) => {
                let mut items = Vec::new();
                let known = self.comprehend(scope, &node.generators, &mut |tr, scope| {
                    let item = tr.host_expression(scope, &node.elt)?;
                    items.push(item);
                    Ok(())
                })?;
                if known {
                    Host::List(Rc::new(items))
                } else {
                    Host::unknown(span, "this comprehension")
                }
            }
            Expr::Generator(node) => {
                let mut items = Vec::new();
                let known = self.comprehend(scope, &node.generators, &mut |tr, scope| {
                    let item = tr.host_expression(scope, &node.elt)?;
                    items.push(item);
                    Ok(())
                })?;
                if known {
                    Host::List(Rc::new(items))
                } else {
                    Host::unknown(span, "this generator")
                }
            }
            Expr::Subscript(node) => {
                let container = self.host_expression(scope, &node.value)?;
                let index = self.host_expression(scope, &node.slice)?;
                let known = |items: &[(Host, Host)]| items.iter().all(|(key, _)| key.constant().is_some());
                match (subscript(&container, &index, span), &container, index.constant()) {
                    (Host::Unknown(_), Host::Dict(items), Some(key))
                        if known(items) && !self.calls.is_empty() =>
                    {
                        return Err(self.lo.reject(format!("KeyError: {}", constant::repr(key))));
                    }
                    (found, ..) => found,
                }
            }
            Expr::Call(node) => {
                let callee = self.host_expression(scope, &node.func)?;
                let arguments = self.host_arguments(scope, &node.arguments)?;
                match arguments {
                    Some(arguments) => self.host_call(&callee, arguments, span)?,
                    None => Host::unknown(span, "this call"),
                }
            }
            _ => Host::unknown(span, "this expression"),
        })
    }

    fn host_name(&self, scope: ScopeId, name: &str, span: Span) -> Host {
        if let Some((value, _)) = self.global(scope, name) {
            return value.clone();
        }
        match name {
            "__name__" => self
                .scopes
                .get(scope)
                .map_or(Host::NONE, |scope| Host::str(&scope.module)),
            _ => match NAMES.iter().chain(&OTHER_NAMES).find(|known| **known == name) {
                Some(known) => Host::Builtin(known),
                None => Host::unknown(span, format!("the name `{name}`")),
            },
        }
    }

    fn host_items(&mut self, scope: ScopeId, elements: &[Expr]) -> Traced<Option<Vec<Host>>> {
        let mut items = Vec::with_capacity(elements.len());
        for element in elements {
            if let Expr::Starred(starred) = element {
                match self.host_expression(scope, &starred.value)?.items() {
                    Some(more) => items.extend(more.iter().cloned()),
                    None => return Ok(None),
                }
            } else {
                items.push(self.host_expression(scope, element)?);
            }
        }
        Ok(Some(items))
    }

    fn host_fstring(&mut self, scope: ScopeId, node: &ast::ExprFString, span: Span) -> Traced<Host> {
        let mut text = String::new();
        for part in &node.value {
            match part {
                ast::FStringPart::Literal(literal) => text.push_str(literal.as_str()),
                ast::FStringPart::FString(fstring) => {
                    for element in &fstring.elements {
                        match element {
                            ast::InterpolatedStringElement::Literal(literal) => text.push_str(&literal.value),
                            ast::InterpolatedStringElement::Interpolation(inner) => {
                                let value = self.host_expression(scope, &inner.expression)?;
                                match value.constant() {
                                    Some(value) if inner.format_spec.is_none() => {
                                        text.push_str(&constant::text(value));
                                    }
                                    _ => return Ok(Host::unknown(span, "this string")),
                                }
                            }
                        }
                    }
                }
            }
        }
        Ok(Host::str(&text))
    }

    fn host_compare(&mut self, scope: ScopeId, node: &ast::ExprCompare, span: Span) -> Traced<Host> {
        let mut lhs = self.host_expression(scope, &node.left)?;
        for (op, comparator) in node.ops.iter().zip(&node.comparators) {
            let rhs = self.host_expression(scope, comparator)?;
            match compare(*op, &lhs, &rhs) {
                Some(true) => lhs = rhs,
                Some(false) => return Ok(Host::bool(false)),
                None => return Ok(Host::unknown(span, "this comparison")),
            }
        }
        Ok(Host::bool(true))
    }

    #[expect(clippy::unused_self, reason = "belongs to the evaluator beside it")]
    pub(super) fn host_binary(&self, op: ast::Operator, lhs: &Host, rhs: &Host, span: Span) -> Host {
        match (op, lhs, rhs) {
            (_, Host::Unknown(_), _) => return lhs.clone(),
            (_, _, Host::Unknown(_)) => return rhs.clone(),
            _ => {}
        }
        let constants = PyBinary::of(op).zip(lhs.constant().zip(rhs.constant()));
        let Some((op, (a, b))) = constants else {
            return made(operator::binary(op, lhs, rhs), "this computation", span);
        };
        match constant::binary(op, a, b) {
            Ok(value) if matches!((lhs, rhs), (Host::Constexpr(_), _) | (_, Host::Constexpr(_))) => {
                Host::Constexpr(Box::new(Value::Constant(value)))
            }
            Ok(value) => Host::Constant(value),
            Err(failure) => failed(&failure, span),
        }
    }

    /// Runs `each` for every combination that the clauses of a comprehension give. False: something is not known.
    fn comprehend(
        &mut self,
        scope: ScopeId,
        generators: &[ast::Comprehension],
        each: &mut dyn FnMut(&mut Self, ScopeId) -> Traced<()>,
    ) -> Traced<bool> {
        let Some((first, rest)) = generators.split_first() else {
            each(self, scope)?;
            return Ok(true);
        };
        let Some(items) = self
            .host_expression(scope, &first.iter)?
            .items()
            .map(<[Host]>::to_vec)
        else {
            return Ok(false);
        };
        let source = self.source_of(scope);
        let module = self
            .scopes
            .get(scope)
            .map_or_else(|| "".into(), |scope| Rc::clone(&scope.module));
        self.lo.charge(16)?;
        let inner = self.new_scope(Some(scope), source, &module);
        'items: for item in items {
            self.lo.burn()?;
            self.host_assign(inner, &first.target, &item);
            for condition in &first.ifs {
                match self.host_expression(inner, condition)?.truth() {
                    Some(true) => {}
                    Some(false) => continue 'items,
                    None => return Ok(false),
                }
            }
            if !self.comprehend(inner, rest, each)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The arguments of a call; `None` when what is unpacked is not known.
    fn host_arguments(
        &mut self,
        scope: ScopeId,
        arguments: &ast::Arguments,
    ) -> Traced<Option<HostArguments>> {
        let Some(positional) = self.host_items(scope, &arguments.args)? else {
            return Ok(None);
        };
        let mut keyword = Vec::with_capacity(arguments.keywords.len());
        for argument in &arguments.keywords {
            let value = self.host_expression(scope, &argument.value)?;
            match (&argument.arg, value) {
                (Some(name), value) => keyword.push((Rc::from(name.as_str()), value)),
                (None, Host::Dict(items)) => {
                    for (key, value) in items.iter() {
                        let Some(key) = key.as_str() else { return Ok(None) };
                        keyword.push((Rc::clone(key), value.clone()));
                    }
                }
                (None, _) => return Ok(None),
            }
        }
        Ok(Some(HostArguments { positional, keyword }))
    }
}
