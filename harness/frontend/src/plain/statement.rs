//! Statements of plain Python. If it is unknown whether code runs, the names that it binds become [`Plain::Unknown`].

use std::rc::Rc;

use cerith_tile::source::Span;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use super::Runner;
use super::operator::apply_binary;
use crate::text::{bound_names, span_of};
use cerith_language::constant;
use cerith_language::stop::{Stop, Traced};
use cerith_language::value::object::MAX_RANGE;
use cerith_language::value::plain::{Plain, ScopeId};

/// The way a statement ends.
pub(super) enum Flow {
    /// Execution continues with the next statement.
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
    pub(super) fn run_statement(&mut self, scope: ScopeId, statement: &Stmt) -> Traced<Flow> {
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
                let value = self.define_class(scope, def)?;
                self.modules.bind(scope, def.name.as_str(), value);
            }
            Stmt::Assign(node) => {
                let value = self.eval_expression(scope, &node.value)?;
                for target in &node.targets {
                    self.assign(scope, target, &value);
                }
            }
            Stmt::AnnAssign(node) => {
                if let Some(value) = &node.value {
                    let value = self.eval_expression(scope, value)?;
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
                let lhs = self.eval_expression(scope, &node.target)?;
                let rhs = self.eval_expression(scope, &node.value)?;
                let value = apply_binary(node.op, &lhs, &rhs, span);
                self.assign(scope, &node.target, &value);
            }
            Stmt::If(node) => return self.if_statement(scope, node),
            Stmt::For(node) => return self.for_loop(scope, node),
            Stmt::Raise(node) => {
                let raised = match &node.exc {
                    Some(exception) => self.describe_exception(scope, exception)?,
                    None => "an exception".to_owned(),
                };
                return self.raise(raised, span);
            }
            Stmt::Assert(node) => {
                let holds = self.eval_expression(scope, &node.test)?.truth();
                if holds == Some(false) {
                    return self.raise("AssertionError".to_owned(), span);
                }
            }
            Stmt::Try(node) => {
                let handled = !node.handlers.is_empty();
                let flow = match self.run_body(scope, &node.body) {
                    Err(Stop::Rejected(_)) if handled => {
                        Flow::Return(Plain::new_unknown(span, "what a handler of exceptions computes"))
                    }
                    flow => flow?,
                };
                if !matches!(flow, Flow::Next) {
                    return Ok(flow);
                }
                return self.run_body(scope, &node.finalbody);
            }
            Stmt::With(node) => return self.run_body(scope, &node.body),
            Stmt::While(node) => return self.while_loop(scope, node),
            Stmt::Return(node) => {
                let value = node
                    .value
                    .as_deref()
                    .map_or(Ok(Plain::NONE), |value| self.eval_expression(scope, value))?;
                return Ok(Flow::Return(value));
            }
            Stmt::Break(_) => return Ok(Flow::Break),
            Stmt::Continue(_) => return Ok(Flow::Continue),
            Stmt::Expr(node) => self.apply_list_method(scope, &node.value)?,
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

    /// The text of an exception: `ValueError: too large`.
    fn describe_exception(&mut self, scope: ScopeId, exception: &Expr) -> Traced<String> {
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
                .eval_expression(scope, message)?
                .constant()
                .map(constant::to_text),
            None => None,
        };
        Ok(message.map_or_else(|| class.to_owned(), |message| format!("{class}: {message}")))
    }

    /// Raises an exception: in a function that a kernel calls, that rejects the kernel.
    fn raise(&self, raised: String, span: Span) -> Traced<Flow> {
        if self.lo.calls.is_empty() {
            Ok(Flow::Return(Plain::new_unknown(span, "what raises an exception")))
        } else {
            Err(self.lo.reject(raised))
        }
    }

    /// Runs plain Python statements.
    pub(super) fn run_body(&mut self, scope: ScopeId, body: &[Stmt]) -> Traced<Flow> {
        crate::text::with_stack(|| {
            for statement in body {
                let flow = self.run_statement(scope, statement)?;
                if !matches!(flow, Flow::Next) {
                    return Ok(flow);
                }
            }
            Ok(Flow::Next)
        })
    }

    /// Binds the names of code that may or may not run to an unknown value.
    fn forget(&mut self, scope: ScopeId, body: &[Stmt], span: Span, what: &str) {
        let mut names = Vec::new();
        bound_names(body, &mut names);
        for name in names {
            self.modules.bind(scope, &name, Plain::new_unknown(span, what));
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
                Some(test) if decided => self.eval_expression(scope, test)?.truth(),
                Some(_) => None,
                None => Some(true),
            };
            match holds {
                Some(true) if decided => return self.run_body(scope, body),
                Some(false) => {}
                _ => {
                    decided = false;
                    let span = span_of(source, node.range());
                    self.forget(scope, body, span, "what depends on this condition");
                    if body.iter().any(|statement| matches!(statement, Stmt::Return(_))) {
                        flow = Flow::Return(Plain::new_unknown(span, "what depends on this condition"));
                    }
                }
            }
        }
        Ok(flow)
    }

    fn while_loop(&mut self, scope: ScopeId, node: &ast::StmtWhile) -> Traced<Flow> {
        let span = span_of(self.modules.source_of(scope), node.range());
        for _ in 0..MAX_RANGE {
            match self.eval_expression(scope, &node.test)?.truth() {
                Some(true) => {}
                Some(false) => return self.run_body(scope, &node.orelse),
                None => {
                    self.forget(scope, &node.body, span, "what a `while` loop computes");
                    return Ok(Flow::Next);
                }
            }
            match self.run_body(scope, &node.body)? {
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
        let iterable = self.eval_expression(scope, &node.iter)?;
        let Some(items) = iterable.items().map(<[Plain]>::to_vec) else {
            self.forget(scope, &node.body, span, "what this loop computes");
            return Ok(Flow::Next);
        };
        for item in items {
            self.assign(scope, &node.target, &item);
            match self.run_body(scope, &node.body)? {
                Flow::Break => return Ok(Flow::Next),
                Flow::Return(value) => return Ok(Flow::Return(value)),
                Flow::Next | Flow::Continue => {}
            }
        }
        self.run_body(scope, &node.orelse)
    }

    /// Runs an expression for its effect. Only `name.append(…)` and `name.extend(…)` affect kernels.
    fn apply_list_method(&mut self, scope: ScopeId, expression: &Expr) -> Traced<()> {
        let Expr::Call(call) = expression else {
            return Ok(());
        };
        let Expr::Attribute(method) = &*call.func else {
            return Ok(());
        };
        let Expr::Name(name) = &*method.value else {
            return Ok(());
        };
        let Some((Plain::List(_), _)) = self.modules.find_global(scope, name.id.as_str()) else {
            return Ok(());
        };
        let span = span_of(self.modules.source_of(scope), expression.range());
        let added = match call.arguments.args.first() {
            Some(argument) => self.eval_expression(scope, argument)?,
            None => Plain::new_unknown(span, "what this call does to the list"),
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
        // If something else holds the list too, the list there would have to change as well.
        let changed = match (&*slot, items) {
            (Plain::List(list), Some(items)) if Rc::strong_count(list) == 1 => {
                let mut list = (**list).clone();
                list.extend(items);
                Plain::List(Rc::new(list))
            }
            _ => Plain::new_unknown(span, "what this call does to the list"),
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
                    let item = item.unwrap_or_else(|| {
                        Plain::new_unknown(span, "a part of the value that is unpacked here")
                    });
                    self.assign(scope, target, &item);
                }
            }
            Expr::Starred(starred) => {
                self.assign(
                    scope,
                    &starred.value,
                    &Plain::new_unknown(span, "what a starred target takes"),
                );
            }
            Expr::Subscript(subscript) => {
                // The container changes, so its contents are unknown from now on.
                if let Expr::Name(name) = &*subscript.value {
                    self.modules.bind(
                        scope,
                        name.id.as_str(),
                        Plain::new_unknown(span, "a container after an item of it was set"),
                    );
                }
            }
            _ => {}
        }
    }
}
