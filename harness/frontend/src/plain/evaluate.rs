//! Plain Python at module level, in factories, heuristics and configurations: an evaluator of the part that is simple.
//!
//! What it does not know becomes [`Plain::Unknown`] with the reason, and poisons what is computed from it. It never
//! guesses, and it is bounded: loops and calls burn the tracer's fuel.

use std::rc::Rc;

use cerith_python::builtin::NAMES;
use cerith_tile::source::Span;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use super::Runner;
use super::operator::{MAX_RANGE, binary, compare, depth, length, subscript, unary};
use crate::constant;
use crate::stop::{Stop, Traced};
use crate::text::{bound_names, span_of};
use crate::value::plain::{Arguments, Plain, PlainBody, PlainFunction, ScopeId};

/// Values inside of each other.
const MAX_DEPTH: usize = 24;

/// Python's own names that are understood beside those of its builtins ([`NAMES`]).
const OTHER_NAMES: [&str; 4] = ["dict", "getattr", "hasattr", "isinstance"];

/// How a statement ends.
pub(super) enum Flow {
    /// It goes on.
    Next,
    /// `return`.
    Return(Plain),
    /// `break`.
    Break,
    /// `continue`.
    Continue,
}

impl Runner<'_, '_> {
    /// Runs a plain Python statement.
    pub(super) fn statement(&mut self, scope: ScopeId, statement: &Stmt) -> Traced<Flow> {
        self.lo.burn()?;
        let source = self.modules.source_of(scope);
        let span = span_of(source, statement.range());
        match statement {
            Stmt::Import(node) => self.import(scope, node)?,
            Stmt::ImportFrom(node) => self.import_from(scope, node)?,
            Stmt::FunctionDef(def) => {
                let value = self.define(scope, &Rc::new(def.clone()))?;
                self.modules.bind(scope, def.name.as_str(), value);
            }
            Stmt::ClassDef(def) => {
                let value = self.class(scope, def)?;
                self.modules.bind(scope, def.name.as_str(), value);
            }
            Stmt::Assign(node) => {
                let value = self.expression(scope, &node.value)?;
                for target in &node.targets {
                    self.assign(scope, target, &value);
                }
            }
            Stmt::AnnAssign(node) => {
                if let Some(value) = &node.value {
                    let value = self.expression(scope, value)?;
                    self.assign(scope, &node.target, &value);
                }
                if let Expr::Name(name) = &*node.target
                    && self.names_constexpr(scope, &node.annotation)
                    && let Some(scope) = self.modules.scopes.get_mut(scope)
                {
                    scope.annotated.insert(name.id.as_str().into());
                }
            }
            Stmt::AugAssign(node) => {
                let lhs = self.expression(scope, &node.target)?;
                let rhs = self.expression(scope, &node.value)?;
                let value = binary(node.op, &lhs, &rhs, span);
                self.assign(scope, &node.target, &value);
            }
            Stmt::If(node) => return self.if_statement(scope, node),
            Stmt::For(node) => return self.for_loop(scope, node),
            Stmt::Raise(node) => {
                let raised = match &node.exc {
                    Some(exception) => self.raised(scope, exception)?,
                    None => "an exception".to_owned(),
                };
                return self.raise(raised, span);
            }
            Stmt::Assert(node) => {
                let holds = self.expression(scope, &node.test)?.truth();
                if holds == Some(false) {
                    return self.raise("AssertionError".to_owned(), span);
                }
            }
            Stmt::Try(node) => {
                let handled = !node.handlers.is_empty();
                let flow = match self.body(scope, &node.body) {
                    Err(Stop::Rejected(_)) if handled => {
                        Flow::Return(Plain::unknown(span, "what a handler of exceptions computes"))
                    }
                    flow => flow?,
                };
                if !matches!(flow, Flow::Next) {
                    return Ok(flow);
                }
                return self.body(scope, &node.finalbody);
            }
            Stmt::With(node) => return self.body(scope, &node.body),
            Stmt::While(node) => return self.while_loop(scope, node),
            Stmt::Return(node) => {
                let value = node
                    .value
                    .as_deref()
                    .map_or(Ok(Plain::NONE), |value| self.expression(scope, value))?;
                return Ok(Flow::Return(value));
            }
            Stmt::Break(_) => return Ok(Flow::Break),
            Stmt::Continue(_) => return Ok(Flow::Continue),
            Stmt::Expr(node) => self.effect(scope, &node.value)?,
            Stmt::Delete(node) => {
                for target in &node.targets {
                    if let (Expr::Name(name), Some(scope)) = (target, self.modules.scopes.get_mut(scope)) {
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
        Ok(Flow::Next)
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
            Some(message) => self.expression(scope, message)?.constant().map(constant::text),
            None => None,
        };
        Ok(message.map_or_else(|| class.to_owned(), |message| format!("{class}: {message}")))
    }

    /// Raises an exception: in a function that a kernel calls, that rejects the kernel.
    fn raise(&self, raised: String, span: Span) -> Traced<Flow> {
        if self.lo.calls.is_empty() {
            Ok(Flow::Return(Plain::unknown(span, "what raises an exception")))
        } else {
            Err(self.lo.reject(raised))
        }
    }

    /// Runs plain Python statements.
    pub(super) fn body(&mut self, scope: ScopeId, body: &[Stmt]) -> Traced<Flow> {
        crate::text::with_stack(|| {
            for statement in body {
                let flow = self.statement(scope, statement)?;
                if !matches!(flow, Flow::Next) {
                    return Ok(flow);
                }
            }
            Ok(Flow::Next)
        })
    }

    /// What code that may or may not run would bind is not known.
    fn forget(&mut self, scope: ScopeId, body: &[Stmt], span: Span, what: &str) {
        let mut names = Vec::new();
        bound_names(body, &mut names);
        for name in names {
            self.modules.bind(scope, &name, Plain::unknown(span, what));
        }
    }

    fn if_statement(&mut self, scope: ScopeId, node: &ast::StmtIf) -> Traced<Flow> {
        let source = self.modules.source_of(scope);
        let tests = std::iter::once((Some(&*node.test), &node.body)).chain(
            node.elif_else_clauses
                .iter()
                .map(|clause| (clause.test.as_ref(), &clause.body)),
        );
        let mut decided = true;
        let mut flow = Flow::Next;
        for (test, body) in tests {
            let holds = match test {
                Some(test) if decided => self.expression(scope, test)?.truth(),
                Some(_) => None,
                None => Some(true),
            };
            match holds {
                Some(true) if decided => return self.body(scope, body),
                Some(false) => {}
                _ => {
                    decided = false;
                    let span = span_of(source, node.range());
                    self.forget(scope, body, span, "what depends on this condition");
                    if body.iter().any(|statement| matches!(statement, Stmt::Return(_))) {
                        flow = Flow::Return(Plain::unknown(span, "what depends on this condition"));
                    }
                }
            }
        }
        Ok(flow)
    }

    fn while_loop(&mut self, scope: ScopeId, node: &ast::StmtWhile) -> Traced<Flow> {
        let span = span_of(self.modules.source_of(scope), node.range());
        for _ in 0..MAX_RANGE {
            match self.expression(scope, &node.test)?.truth() {
                Some(true) => {}
                Some(false) => return self.body(scope, &node.orelse),
                None => {
                    self.forget(scope, &node.body, span, "what a `while` loop computes");
                    return Ok(Flow::Next);
                }
            }
            match self.body(scope, &node.body)? {
                Flow::Break => return Ok(Flow::Next),
                Flow::Return(value) => return Ok(Flow::Return(value)),
                Flow::Next | Flow::Continue => {}
            }
        }
        let what = format!("what a loop of more than {MAX_RANGE} iterations computes");
        self.forget(scope, &node.body, span, &what);
        Ok(Flow::Next)
    }

    fn for_loop(&mut self, scope: ScopeId, node: &ast::StmtFor) -> Traced<Flow> {
        let span = span_of(self.modules.source_of(scope), node.range());
        let iterable = self.expression(scope, &node.iter)?;
        let Some(items) = iterable.items().map(<[Plain]>::to_vec) else {
            self.forget(scope, &node.body, span, "what this loop computes");
            return Ok(Flow::Next);
        };
        for item in items {
            self.assign(scope, &node.target, &item);
            match self.body(scope, &node.body)? {
                Flow::Break => return Ok(Flow::Next),
                Flow::Return(value) => return Ok(Flow::Return(value)),
                Flow::Next | Flow::Continue => {}
            }
        }
        self.body(scope, &node.orelse)
    }

    /// An expression for its effect: only `name.append(…)` and `name.extend(…)` matter to what kernels see.
    fn effect(&mut self, scope: ScopeId, expression: &Expr) -> Traced<()> {
        let Expr::Call(call) = expression else {
            return Ok(());
        };
        let Expr::Attribute(method) = &*call.func else {
            return Ok(());
        };
        let Expr::Name(name) = &*method.value else {
            return Ok(());
        };
        let Some((Plain::List(_), _)) = self.modules.global(scope, name.id.as_str()) else {
            return Ok(());
        };
        let span = span_of(self.modules.source_of(scope), expression.range());
        let added = match call.arguments.args.first() {
            Some(argument) => self.expression(scope, argument)?,
            None => Plain::unknown(span, "what this call does to the list"),
        };
        let items = match (method.attr.as_str(), &added) {
            ("append", _) => Some(vec![added]),
            ("extend", _) => added.items().map(<[Plain]>::to_vec),
            _ => None,
        };
        let Some(slot) = self
            .modules
            .scopes
            .get_mut(scope)
            .and_then(|scope| scope.names.get_mut(name.id.as_str()))
        else {
            return Ok(());
        };
        // A list that something else holds too would have to change there as well.
        let changed = match (&*slot, items) {
            (Plain::List(list), Some(items)) if Rc::strong_count(list) == 1 => {
                let mut list = (**list).clone();
                list.extend(items);
                Plain::List(Rc::new(list))
            }
            _ => Plain::unknown(span, "what this call does to the list"),
        };
        *slot = changed;
        Ok(())
    }

    pub(super) fn assign(&mut self, scope: ScopeId, target: &Expr, value: &Plain) {
        let span = span_of(self.modules.source_of(scope), target.range());
        match target {
            Expr::Name(name) => self.modules.bind(scope, name.id.as_str(), value.clone()),
            Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
                let items = value
                    .items()
                    .filter(|items| items.len() == elts.len())
                    .map(<[Plain]>::to_vec);
                for (nth, target) in elts.iter().enumerate() {
                    let item = items.as_ref().and_then(|items| items.get(nth)).cloned();
                    let item =
                        item.unwrap_or_else(|| Plain::unknown(span, "a part of what is unpacked here"));
                    self.assign(scope, target, &item);
                }
            }
            Expr::Starred(starred) => {
                self.assign(
                    scope,
                    &starred.value,
                    &Plain::unknown(span, "what a starred target takes"),
                );
            }
            Expr::Subscript(subscript) => {
                // The container changes; what it holds from now on is not followed.
                if let Expr::Name(name) = &*subscript.value {
                    self.modules.bind(
                        scope,
                        name.id.as_str(),
                        Plain::unknown(span, "a container after an item of it was set"),
                    );
                }
            }
            _ => {}
        }
    }

    /// Evaluates an expression of plain Python.
    pub fn expression(&mut self, scope: ScopeId, expression: &Expr) -> Traced<Plain> {
        self.lo.burn()?;
        let value = self.deeper(|tr| tr.expression_inner(scope, expression))?;
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
            let span = span_of(self.modules.source_of(scope), expression.range());
            return Ok(Plain::unknown(
                span,
                format!("a value that is more than {MAX_DEPTH} deep"),
            ));
        }
        self.lo.charge(length(&value))?;
        Ok(value)
    }

    fn expression_inner(&mut self, scope: ScopeId, expression: &Expr) -> Traced<Plain> {
        let span = span_of(self.modules.source_of(scope), expression.range());
        Ok(match expression {
            Expr::Name(name) => self.name(scope, name.id.as_str(), span),
            Expr::NumberLiteral(_)
            | Expr::StringLiteral(_)
            | Expr::BooleanLiteral(_)
            | Expr::NoneLiteral(_)
            | Expr::EllipsisLiteral(_) => match constant::literal(expression) {
                Some(constant) => Plain::Constant(constant),
                None => Plain::unknown(span, "this literal"),
            },
            Expr::FString(node) => self.fstring(scope, node, span)?,
            Expr::Tuple(node) => match self.items(scope, &node.elts)? {
                Some(items) => Plain::Tuple(items.into()),
                None => Plain::unknown(span, "this tuple"),
            },
            Expr::List(node) => match self.items(scope, &node.elts)? {
                Some(items) => Plain::List(Rc::new(items)),
                None => Plain::unknown(span, "this list"),
            },
            Expr::Dict(node) => {
                let mut items = Vec::with_capacity(node.items.len());
                for item in &node.items {
                    let value = self.expression(scope, &item.value)?;
                    match (&item.key, value) {
                        (Some(key), value) => items.push((self.expression(scope, key)?, value)),
                        (None, Plain::Dict(more)) => items.extend(more.iter().cloned()),
                        (None, _) => return Ok(Plain::unknown(span, "this dict")),
                    }
                }
                Plain::Dict(Rc::new(items))
            }
            Expr::Attribute(node) => {
                let value = self.expression(scope, &node.value)?;
                self.attribute(&value, node.attr.as_str(), span)
            }
            Expr::BinOp(node) => {
                let lhs = self.expression(scope, &node.left)?;
                let rhs = self.expression(scope, &node.right)?;
                binary(node.op, &lhs, &rhs, span)
            }
            Expr::UnaryOp(node) => {
                let operand = self.expression(scope, &node.operand)?;
                unary(node.op, &operand, span)
            }
            Expr::BoolOp(node) => {
                let mut value = Plain::NONE;
                for operand in &node.values {
                    value = self.expression(scope, operand)?;
                    match value.truth() {
                        Some(truth) if truth == (node.op == ast::BoolOp::Or) => break,
                        Some(_) => {}
                        None => return Ok(Plain::unknown(span, "this condition")),
                    }
                }
                value
            }
            Expr::Compare(node) => self.comparison(scope, node, span)?,
            Expr::If(node) => match self.expression(scope, &node.test)?.truth() {
                Some(true) => self.expression(scope, &node.body)?,
                Some(false) => self.expression(scope, &node.orelse)?,
                None => Plain::unknown(span, "what depends on this condition"),
            },
            Expr::Lambda(node) => {
                let defaults = match &node.parameters {
                    Some(parameters) => self.defaults(scope, parameters)?,
                    None => Vec::new(),
                };
                Plain::Function(Rc::new(PlainFunction {
                    name: "<lambda>".into(),
                    body: PlainBody::Lambda(Box::new(node.clone())),
                    scope,
                    defaults,
                }))
            }
            Expr::ListComp(node) => {
                let mut items = Vec::new();
                let known = self.comprehend(scope, &node.generators, &mut |tr, scope| {
                    let item = tr.expression(scope, &node.elt)?;
                    items.push(item);
                    Ok(())
                })?;
                if known {
                    Plain::List(Rc::new(items))
                } else {
                    Plain::unknown(span, "this comprehension")
                }
            }
            Expr::Generator(node) => {
                let mut items = Vec::new();
                let known = self.comprehend(scope, &node.generators, &mut |tr, scope| {
                    let item = tr.expression(scope, &node.elt)?;
                    items.push(item);
                    Ok(())
                })?;
                if known {
                    Plain::List(Rc::new(items))
                } else {
                    Plain::unknown(span, "this generator")
                }
            }
            Expr::Subscript(node) => {
                let container = self.expression(scope, &node.value)?;
                let index = self.expression(scope, &node.slice)?;
                let known = |items: &[(Plain, Plain)]| items.iter().all(|(key, _)| key.constant().is_some());
                match (subscript(&container, &index, span), &container, index.constant()) {
                    (Plain::Unknown(_), Plain::Dict(items), Some(key))
                        if known(items) && !self.lo.calls.is_empty() =>
                    {
                        return Err(self.lo.reject(format!("KeyError: {}", constant::repr(key))));
                    }
                    (found, ..) => found,
                }
            }
            Expr::Call(node) => {
                let callee = self.expression(scope, &node.func)?;
                let arguments = self.arguments(scope, &node.arguments)?;
                match arguments {
                    Some(arguments) => self.call(&callee, arguments, span)?,
                    None => Plain::unknown(span, "this call"),
                }
            }
            _ => Plain::unknown(span, "this expression"),
        })
    }

    fn name(&self, scope: ScopeId, name: &str, span: Span) -> Plain {
        if let Some((value, _)) = self.modules.global(scope, name) {
            return value.clone();
        }
        match name {
            "__name__" => self
                .modules
                .scopes
                .get(scope)
                .map_or(Plain::NONE, |scope| Plain::str(&scope.module)),
            _ => match NAMES.iter().chain(&OTHER_NAMES).find(|known| **known == name) {
                Some(known) => Plain::Builtin(known),
                None => Plain::unknown(span, format!("the name `{name}`")),
            },
        }
    }

    fn items(&mut self, scope: ScopeId, elements: &[Expr]) -> Traced<Option<Vec<Plain>>> {
        let mut items = Vec::with_capacity(elements.len());
        for element in elements {
            if let Expr::Starred(starred) = element {
                match self.expression(scope, &starred.value)?.items() {
                    Some(more) => items.extend(more.iter().cloned()),
                    None => return Ok(None),
                }
            } else {
                items.push(self.expression(scope, element)?);
            }
        }
        Ok(Some(items))
    }

    fn fstring(&mut self, scope: ScopeId, node: &ast::ExprFString, span: Span) -> Traced<Plain> {
        let mut text = String::new();
        for part in &node.value {
            match part {
                ast::FStringPart::Literal(literal) => text.push_str(literal.as_str()),
                ast::FStringPart::FString(fstring) => {
                    for element in &fstring.elements {
                        match element {
                            ast::InterpolatedStringElement::Literal(literal) => text.push_str(&literal.value),
                            ast::InterpolatedStringElement::Interpolation(inner) => {
                                let value = self.expression(scope, &inner.expression)?;
                                match value.constant() {
                                    Some(value) if inner.format_spec.is_none() => {
                                        text.push_str(&constant::text(value));
                                    }
                                    _ => return Ok(Plain::unknown(span, "this string")),
                                }
                            }
                        }
                    }
                }
            }
        }
        Ok(Plain::str(&text))
    }

    fn comparison(&mut self, scope: ScopeId, node: &ast::ExprCompare, span: Span) -> Traced<Plain> {
        let mut lhs = self.expression(scope, &node.left)?;
        for (op, comparator) in node.ops.iter().zip(&node.comparators) {
            let rhs = self.expression(scope, comparator)?;
            match compare(*op, &lhs, &rhs) {
                Some(true) => lhs = rhs,
                Some(false) => return Ok(Plain::bool(false)),
                None => return Ok(Plain::unknown(span, "this comparison")),
            }
        }
        Ok(Plain::bool(true))
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
            .expression(scope, &first.iter)?
            .items()
            .map(<[Plain]>::to_vec)
        else {
            return Ok(false);
        };
        let source = self.modules.source_of(scope);
        let module = self
            .modules
            .scopes
            .get(scope)
            .map_or_else(|| "".into(), |scope| Rc::clone(&scope.module));
        self.lo.charge(16)?;
        let inner = self.modules.new_scope(Some(scope), source, &module);
        'items: for item in items {
            self.lo.burn()?;
            self.assign(inner, &first.target, &item);
            for condition in &first.ifs {
                match self.expression(inner, condition)?.truth() {
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
    fn arguments(&mut self, scope: ScopeId, arguments: &ast::Arguments) -> Traced<Option<Arguments>> {
        let Some(positional) = self.items(scope, &arguments.args)? else {
            return Ok(None);
        };
        let mut keyword = Vec::with_capacity(arguments.keywords.len());
        for argument in &arguments.keywords {
            let value = self.expression(scope, &argument.value)?;
            match (&argument.arg, value) {
                (Some(name), value) => keyword.push((Rc::from(name.as_str()), value)),
                (None, Plain::Dict(items)) => {
                    for (key, value) in items.iter() {
                        let Some(key) = key.as_str() else { return Ok(None) };
                        keyword.push((Rc::clone(key), value.clone()));
                    }
                }
                (None, _) => return Ok(None),
            }
        }
        Ok(Some(Arguments { positional, keyword }))
    }
}
