//! Statements of a launcher.

use std::rc::Rc;

use ruff_python_ast::{self as ast, Expr, Stmt};

use super::machine::{Condition, Eval, Flow, Halt, Machine};
use super::plan::Kind;
use super::value::{Body, Closure, Scope, Source, Value};

/// Maximum number of iterations of a loop.
const MAX_TURNS: usize = 64;

/// Why the elements of a value are not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoElements {
    /// The value itself is not known, for this reason.
    #[error("{0}")]
    Unknown(String),
    #[error("a loop over {0}")]
    Kind(&'static str),
}

impl<'a> Machine<'a> {
    pub fn run(&mut self, body: &'a [Stmt], scope: &Scope<'a>) -> Eval<'a, Flow<'a>> {
        for stmt in body {
            self.step()?;
            match self.statement(stmt, scope)? {
                Flow::Next => {}
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, stmt: &'a Stmt, scope: &Scope<'a>) -> Eval<'a, Flow<'a>> {
        match stmt {
            Stmt::Expr(expr) => {
                self.eval(&expr.value, scope)?;
            }
            Stmt::Assign(assign) => {
                let value = self.eval(&assign.value, scope)?;
                for target in &assign.targets {
                    self.assign(target, value.clone(), scope)?;
                }
            }
            Stmt::AnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    let value = self.eval(value, scope)?;
                    self.assign(&assign.target, value, scope)?;
                }
            }
            Stmt::AugAssign(assign) => {
                let old = self.eval(&assign.target, scope)?;
                let new = self.eval(&assign.value, scope)?;
                let value = match &old {
                    // In place.
                    Value::Tensor(tensor) => {
                        self.change(tensor.storage, super::tensor::Fill::Computed);
                        old
                    }
                    _ => self.binary(&old, assign.op, &new)?,
                };
                self.assign(&assign.target, value, scope)?;
            }
            Stmt::If(branches) => return self.choose(branches, scope),
            Stmt::For(each) => return self.repeat(each, scope),
            Stmt::While(each) => {
                for _ in 0..MAX_TURNS {
                    let test = self.eval(&each.test, scope)?;
                    if self.truth(&test)? != Some(true) {
                        return Ok(Flow::Next);
                    }
                    match self.run(&each.body, scope)? {
                        Flow::Next | Flow::Continue => {}
                        Flow::Break => return Ok(Flow::Next),
                        Flow::Return(value) => return Ok(Flow::Return(value)),
                    }
                }
            }
            Stmt::With(with) => {
                for item in &with.items {
                    let value = self.eval(&item.context_expr, scope)?;
                    if let Some(target) = &item.optional_vars {
                        self.assign(target, value, scope)?;
                    }
                }
                return self.run(&with.body, scope);
            }
            Stmt::Try(tried) => {
                let flow = match self.run(&tried.body, scope) {
                    Err(Halt::Raised(condition, reason)) => match tried.handlers.first() {
                        Some(ast::ExceptHandler::ExceptHandler(handler)) => self.run(&handler.body, scope)?,
                        None => return Err(Halt::Raised(condition, reason)),
                    },
                    other => other?,
                };
                if !matches!(flow, Flow::Next) {
                    return Ok(flow);
                }
                if let Flow::Return(value) = self.run(&tried.finalbody, scope)? {
                    return Ok(Flow::Return(value));
                }
            }
            Stmt::Assert(assert) => {
                let value = self.eval(&assert.test, scope)?;
                if self.truth(&value)? == Some(false) {
                    let condition = Condition {
                        test: &assert.test,
                        wanted: true,
                        scope: Rc::clone(scope),
                    };
                    let line = self.module.line_of(assert);
                    return Err(Halt::Raised(
                        Some(condition),
                        format!("the assertion of line {line}"),
                    ));
                }
            }
            Stmt::Raise(raise) => {
                let line = self.module.line_of(raise);
                return self.raise(format!("line {line} raises"));
            }
            Stmt::Return(returned) => {
                let value = match &returned.value {
                    Some(value) => self.eval(value, scope)?,
                    None => Value::NONE,
                };
                self.mark_result(&value);
                return Ok(Flow::Return(value));
            }
            Stmt::FunctionDef(def) => {
                let value = self.function_value(def, Some(Rc::clone(scope)));
                scope.bind(def.name.as_str(), value);
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    let name = alias.name.as_str();
                    let bound = alias.asname.as_ref().map_or(name, |name| name.as_str());
                    let first = if alias.asname.is_some() {
                        name
                    } else {
                        name.split('.').next().unwrap_or(name)
                    };
                    let bound = if alias.asname.is_some() { bound } else { first };
                    scope.bind(bound, super::value::module_value(first));
                }
            }
            Stmt::ImportFrom(import) => {
                let module = import.module.as_ref().map_or("", |module| module.as_str());
                for alias in &import.names {
                    let bound = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
                    let value = super::value::module_value(&format!("{module}.{}", alias.name));
                    scope.bind(bound, value);
                }
            }
            Stmt::Break(_) => return Ok(Flow::Break),
            Stmt::Continue(_) => return Ok(Flow::Continue),
            Stmt::Delete(deleted) => {
                for target in &deleted.targets {
                    self.delete(target, scope)?;
                }
            }
            Stmt::Global(_)
            | Stmt::Nonlocal(_)
            | Stmt::Pass(_)
            | Stmt::ClassDef(_)
            | Stmt::Match(_)
            | Stmt::TypeAlias(_)
            | Stmt::IpyEscapeCommand(_) => {}
        }
        Ok(Flow::Next)
    }

    /// A function of the text as a value.
    #[expect(clippy::unused_self, reason = "a verb of the machine")]
    pub fn function_value(&self, def: &'a ast::StmtFunctionDef, scope: Option<Scope<'a>>) -> Value<'a> {
        if cerith_module::excerpt::is_kernel(def) {
            return Value::Kernel(def);
        }
        Value::Closure(Rc::new(Closure {
            parameters: Some(&def.parameters),
            body: Body::Function(def),
            scope,
        }))
    }

    /// An `if`: the branch that its conditions choose. Without a known condition, the branch that leads to a launch, or does not
    /// end the function.
    fn choose(&mut self, branches: &'a ast::StmtIf, scope: &Scope<'a>) -> Eval<'a, Flow<'a>> {
        let mut clauses: Vec<(Option<&'a Expr>, &'a [Stmt])> = vec![(Some(&branches.test), &branches.body)];
        clauses.extend(
            branches
                .elif_else_clauses
                .iter()
                .map(|clause| (clause.test.as_ref(), &clause.body[..])),
        );
        let depth = self.conditions.len();
        let mut skipped: Vec<(&'a Expr, &'a [Stmt])> = Vec::new();
        for (at, (test, body)) in clauses.iter().enumerate() {
            let Some(test) = *test else {
                let flow = self.run(body, scope)?;
                self.note_missed(&skipped, None, body, &flow, &[], scope);
                self.conditions.truncate(depth);
                return Ok(flow);
            };
            let value = self.eval(test, scope)?;
            let truth = self.truth(&value)?;
            let is_true = if let Some(is_true) = truth {
                is_true
            } else {
                let rest = clauses.get(at + 1..).unwrap_or_default();
                let others = rest.iter().any(|(_, body)| self.module.launches(body));
                self.module.launches(body)
                    || (!others && !ends(body) && rest.iter().any(|(_, body)| ends(body)))
            };
            if truth == Some(false) {
                self.note_orders(test, scope);
            }
            self.conditions.push(Condition {
                test,
                wanted: is_true,
                scope: Rc::clone(scope),
            });
            if is_true {
                let doubts = self.doubts;
                self.doubts += usize::from(truth.is_none());
                let flow = self.run(body, scope);
                self.doubts = doubts;
                let flow = flow?;
                let rest = clauses.get(at + 1..).unwrap_or_default();
                self.note_missed(&skipped, Some(test), body, &flow, rest, scope);
                self.conditions.truncate(depth);
                return Ok(flow);
            }
            skipped.push((test, body));
        }
        self.note_missed(&skipped, None, &[], &Flow::Next, &[], scope);
        self.conditions.truncate(depth);
        Ok(Flow::Next)
    }

    /// Notes the conditions under which other branches would have led to launches.
    fn note_missed(
        &mut self,
        skipped: &[(&'a Expr, &'a [Stmt])],
        taken: Option<&'a Expr>,
        body: &'a [Stmt],
        flow: &Flow<'a>,
        rest: &[(Option<&'a Expr>, &'a [Stmt])],
        scope: &Scope<'a>,
    ) {
        for (test, other) in skipped {
            if self.module.launches(other) {
                self.missed.push(Condition {
                    test,
                    wanted: true,
                    scope: Rc::clone(scope),
                });
            }
        }
        if let Some(test) = taken
            && !self.module.launches(body)
            && (matches!(flow, Flow::Return(_)) || rest.iter().any(|(_, body)| self.module.launches(body)))
        {
            self.missed.push(Condition {
                test,
                wanted: false,
                scope: Rc::clone(scope),
            });
            for (test, other) in rest {
                if let (Some(test), true) = (test, self.module.launches(other)) {
                    self.missed.push(Condition {
                        test,
                        wanted: true,
                        scope: Rc::clone(scope),
                    });
                }
            }
        }
    }

    fn repeat(&mut self, each: &'a ast::StmtFor, scope: &Scope<'a>) -> Eval<'a, Flow<'a>> {
        let iterated = self.eval(&each.iter, scope)?;
        let doubts = self.doubts;
        let values = match self.iterate(&iterated)? {
            Ok(values) => values,
            // Once, with names that are not known.
            Err(error) => {
                self.doubts += 1;
                vec![Value::unknown(error.to_string())]
            }
        };
        let flow = self.run_turns(each, values, scope);
        self.doubts = doubts;
        flow
    }

    fn run_turns(
        &mut self,
        each: &'a ast::StmtFor,
        values: Vec<Value<'a>>,
        scope: &Scope<'a>,
    ) -> Eval<'a, Flow<'a>> {
        for value in values.into_iter().take(MAX_TURNS) {
            self.step()?;
            self.assign(&each.target, value, scope)?;
            match self.run(&each.body, scope)? {
                Flow::Next | Flow::Continue => {}
                Flow::Break => break,
                Flow::Return(value) => return Ok(Flow::Return(value)),
            }
        }
        Ok(Flow::Next)
    }

    /// The elements of a value that a loop goes through.
    pub fn iterate(&mut self, value: &Value<'a>) -> Eval<'a, Result<Vec<Value<'a>>, NoElements>> {
        if let Some(elements) = value.elements() {
            return Ok(Ok(elements));
        }
        Ok(match value {
            Value::Input(input) => {
                // Two dimensions of one tensor would have to differ.
                let name = self
                    .plan
                    .inputs
                    .get(*input)
                    .map_or("", |input| input.name.as_str());
                let count = if matches!(name, "dim" | "dims" | "axis" | "axes") {
                    1
                } else {
                    2
                };
                let change = self.make_items(*input, count);
                return self.restart(change, "a loop over an unknown parameter");
            }
            Value::Dict(items) => Ok(items.borrow().iter().map(|(key, _)| key.clone()).collect()),
            Value::Unknown(reason) => Err(NoElements::Unknown(reason.to_string())),
            Value::Tensor(tensor) => {
                let count = tensor
                    .shape
                    .first()
                    .map_or(0, |size| size.value)
                    .min(MAX_TURNS as i64);
                Ok((0..count)
                    .filter_map(|at| tensor.select(0, at))
                    .map(Value::Tensor)
                    .collect())
            }
            other => Err(NoElements::Kind(other.kind())),
        })
    }

    pub fn assign(&mut self, target: &'a Expr, value: Value<'a>, scope: &Scope<'a>) -> Eval<'a, ()> {
        match target {
            Expr::Name(name) => {
                self.name_storage(name.id.as_str(), &value);
                scope.bind(name.id.as_str(), value);
            }
            Expr::Tuple(tuple) => self.unpack(&tuple.elts, &value, scope)?,
            Expr::List(list) => self.unpack(&list.elts, &value, scope)?,
            Expr::Starred(starred) => self.assign(&starred.value, value, scope)?,
            Expr::Attribute(attribute) => {
                let object = self.eval(&attribute.value, scope)?;
                if let Value::Object(fields) = object {
                    fields.borrow_mut().insert(attribute.attr.to_string(), value);
                }
            }
            Expr::Subscript(subscript) => {
                let object = self.eval(&subscript.value, scope)?;
                let key = self.eval(&subscript.slice, scope)?;
                match &object {
                    Value::Dict(items) => {
                        let mut items = items.borrow_mut();
                        let known = items
                            .iter_mut()
                            .find(|(one, _)| super::value::is_equal(one, &key) == Some(true));
                        match known {
                            Some((_, old)) => *old = value,
                            None => items.push((key, value)),
                        }
                    }
                    Value::List(items) => {
                        let mut items = items.borrow_mut();
                        match find_item(&key, items.len()).and_then(|at| items.get_mut(at)) {
                            Some(old) => *old = value,
                            None => forget_items(&mut items),
                        }
                    }
                    Value::Tensor(tensor) => self.change(tensor.storage, super::tensor::Fill::Computed),
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Deletes an item of a list or a dict. Names that are deleted are not used afterwards.
    fn delete(&mut self, target: &'a Expr, scope: &Scope<'a>) -> Eval<'a, ()> {
        let Expr::Subscript(subscript) = target else {
            return Ok(());
        };
        let object = self.eval(&subscript.value, scope)?;
        let key = self.eval(&subscript.slice, scope)?;
        match &object {
            Value::Dict(items) => items
                .borrow_mut()
                .retain(|(one, _)| super::value::is_equal(one, &key) != Some(true)),
            Value::List(items) => {
                let mut items = items.borrow_mut();
                match find_item(&key, items.len()) {
                    Some(at) => {
                        items.remove(at);
                    }
                    None => forget_items(&mut items),
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn unpack(&mut self, targets: &'a [Expr], value: &Value<'a>, scope: &Scope<'a>) -> Eval<'a, ()> {
        let starred = targets.iter().position(Expr::is_starred_expr);
        if let Value::Input(input) = value {
            let input = *input;
            let change = if starred.is_some() {
                None
            } else {
                self.make_items(input, targets.len())
            };
            return self.restart(change, "an unknown parameter is unpacked");
        }
        let shape_of = match value {
            Value::Tuple(_, Some(input)) => Some(*input),
            _ => None,
        };
        let values = match self.iterate(value)? {
            Ok(values) => values,
            Err(error) => {
                let reason = error.to_string();
                for target in targets {
                    self.assign(target, Value::unknown(reason.as_str()), scope)?;
                }
                return Ok(());
            }
        };
        let Some(at) = starred else {
            if values.len() != targets.len() {
                if let Some(input) = shape_of {
                    let change = self.set_rank(input, targets.len());
                    if change.is_some() {
                        return self.restart(change, "");
                    }
                } else if let Some((input, length)) = self.spread
                    && length == values.len()
                {
                    let rank = self.plan.tensor(input).map_or(0, |tensor| tensor.dims.len());
                    let change = (rank + targets.len())
                        .checked_sub(length)
                        .and_then(|rank| self.set_rank(input, rank));
                    if change.is_some() {
                        return self.restart(change, "");
                    }
                }
                return self.raise(format!("{} values for {} names", values.len(), targets.len()));
            }
            if let Some(input) = shape_of {
                self.plan.confirm_rank(input);
            }
            for (at, (target, value)) in targets.iter().zip(values).enumerate() {
                if let Some(input) = shape_of {
                    self.observe(input, at, target);
                    self.same_name(target, &value, scope)?;
                }
                self.assign(target, value, scope)?;
            }
            return Ok(());
        };
        let after = targets.len() - at - 1;
        if values.len() < at + after {
            if let Some(input) = shape_of {
                let change = self.set_rank(input, targets.len());
                return self.restart(change, "too few dimensions");
            }
            return self.raise("too few values for the names");
        }
        let end = values.len() - after;
        let (first, rest) = values.split_at(at);
        let (middle, last) = rest.split_at(end - at);
        let middle = Value::list(middle.to_vec());
        let all = first.iter().cloned().chain([middle]).chain(last.iter().cloned());
        for (at, (target, value)) in targets.iter().zip(all).enumerate() {
            if let Some(input) = shape_of {
                self.observe(input, at, target);
            }
            self.assign(target, value, scope)?;
        }
        Ok(())
    }

    fn observe(&mut self, input: usize, dim: usize, target: &Expr) {
        if !matches!(target, Expr::Name(name) if name.id.as_str().starts_with('_')) {
            self.observed.insert((input, dim));
        }
    }

    /// `M, K = a.shape` and `K, N = b.shape`: a name for two sizes shows that they are equal.
    fn same_name(&mut self, target: &Expr, value: &Value<'a>, scope: &Scope<'a>) -> Eval<'a, ()> {
        let (Expr::Name(name), Value::Int(new)) = (target, value) else {
            return Ok(());
        };
        let old = scope.names.borrow().get(name.id.as_str()).and_then(Value::number);
        if name.id.as_str().starts_with('_') {
            return Ok(());
        }
        if let (Some(Source::Size(old)), Source::Size(new)) = (old.map(|old| old.source), new.source)
            && old != new
        {
            let change = self.plan.unify(old, new);
            if change.is_some() {
                return self.restart(change, "");
            }
        }
        Ok(())
    }

    pub fn set_rank(&mut self, input: usize, rank: usize) -> Option<()> {
        if let Some(Kind::Tensor(tensor)) = self.plan.kind(input)
            && tensor.has_rank
        {
            return None;
        }
        let is_first = self.reads_first(input);
        self.plan.set_rank(input, rank)?;
        if is_first && rank > 1 {
            self.plan.rotate_dims(input);
        }
        Some(())
    }

    /// Gives an input this many dimensions, perhaps more later.
    pub fn raise_rank(&mut self, input: usize, rank: usize, is_from_end: bool) -> Option<()> {
        let is_first = !is_from_end && self.reads_first(input);
        self.plan.raise_rank(input, rank)?;
        if is_first && rank > 1 {
            self.plan.rotate_dims(input);
        }
        Some(())
    }

    /// Whether the only known size of an input is its first, and another input has it too: the launcher has read `x.shape[0]`.
    fn reads_first(&self, input: usize) -> bool {
        let Some(&[size]) = self.plan.tensor(input).map(|tensor| tensor.dims.as_slice()) else {
            return false;
        };
        self.observed.contains(&(input, 0)) && self.plan.is_shared(size)
    }
}

/// Whether statements end the function.
pub(super) fn ends(body: &[Stmt]) -> bool {
    match body.last() {
        Some(Stmt::Raise(_) | Stmt::Return(_)) => true,
        Some(Stmt::If(branches)) => {
            let has_else = branches
                .elif_else_clauses
                .last()
                .is_some_and(|clause| clause.test.is_none());
            has_else
                && ends(&branches.body)
                && branches.elif_else_clauses.iter().all(|clause| ends(&clause.body))
        }
        _ => false,
    }
}

/// The item of a list that a key names, counted from the end if it is negative.
fn find_item(key: &Value<'_>, length: usize) -> Option<usize> {
    let at = key.number()?.value;
    let at = if at < 0 {
        at.checked_add_unsigned(length as u64)?
    } else {
        at
    };
    usize::try_from(at).ok().filter(|at| *at < length)
}

/// Nothing is known about the items of a list after one at an unknown position has changed.
fn forget_items(items: &mut [Value<'_>]) {
    for item in items {
        *item = Value::unknown("an item of a list whose position is not known");
    }
}
