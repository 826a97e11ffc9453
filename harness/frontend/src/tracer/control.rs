//! Runs of statements, and `if`: decided while tracing, or an operation with two regions.

use std::collections::BTreeSet;
use std::rc::Rc;

use cerith_tile::DType;
use cerith_tile::ir::{Block, OpKind, Type, ValueId};
use cerith_tile::rules::Rule;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use super::Tracer;
use super::frame::{Kind, Names, collect_leaves, rebuild};
use super::returns::Flow;
use cerith_language::semantic;
use cerith_language::semantic::types::{same_type, type_text};
use cerith_language::stop::Traced;
use cerith_language::value::Value;

/// The clauses after an `if`'s own body.
#[derive(Clone, Copy)]
pub(super) enum ElseBranch<'a> {
    /// Nothing.
    Nothing,
    /// `else:`.
    Body(&'a [Stmt]),
    /// `elif …:`, and the clauses after it.
    If(&'a Expr, &'a [Stmt], &'a [ast::ElifElseClause]),
}

/// One side of an `if` that was run.
struct Arm {
    /// Its operations, in a block that is still open.
    block: Block,
    /// Its control flow.
    flow: Flow,
    /// The names at its end.
    names: Names,
    /// The names it bound.
    bound: BTreeSet<Rc<str>>,
}

/// A variable that gets one value after an `if` from what its sides hold. `None`: that side has returned.
struct Export {
    name: Rc<str>,
    then_value: Option<Value>,
    else_value: Option<Value>,
}

/// Returns the clauses after a condition's body.
pub(super) fn else_of(clauses: &[ast::ElifElseClause]) -> ElseBranch<'_> {
    match clauses.split_first() {
        None => ElseBranch::Nothing,
        Some((clause, rest)) => match &clause.test {
            Some(test) => ElseBranch::If(test, &clause.body, rest),
            None => ElseBranch::Body(&clause.body),
        },
    }
}

/// Whether statements contain a `return`, in branches and loops too.
fn can_return(body: &[Stmt]) -> bool {
    body.iter().any(|statement| match statement {
        Stmt::Return(_) => true,
        Stmt::If(node) => {
            can_return(&node.body)
                || node
                    .elif_else_clauses
                    .iter()
                    .any(|clause| can_return(&clause.body))
        }
        Stmt::For(node) => can_return(&node.body),
        Stmt::While(node) => can_return(&node.body),
        Stmt::With(node) => can_return(&node.body),
        _ => false,
    })
}

fn else_returns(orelse: ElseBranch<'_>) -> bool {
    match orelse {
        ElseBranch::Nothing => false,
        ElseBranch::Body(body) => can_return(body),
        ElseBranch::If(_, body, rest) => {
            can_return(body) || rest.iter().any(|clause| can_return(&clause.body))
        }
    }
}

impl Tracer<'_> {
    /// Runs statements one after the other. If `tail` is set, the function ends after them, so nothing needs the names that
    /// they bind.
    pub(super) fn run(&mut self, body: &[Stmt], tail: bool) -> Traced<Flow> {
        self.lo.burn()?;
        self.run_nested(|tr| tr.run_inner(body, tail))
    }

    fn run_inner(&mut self, body: &[Stmt], tail: bool) -> Traced<Flow> {
        let mut rest = body;
        while let Some((statement, after)) = rest.split_first() {
            rest = after;
            if let Stmt::If(node) = statement {
                let before = self.enter(statement.range());
                let orelse = else_of(&node.elif_else_clauses);
                let (flow, consumed) = self.branch(&node.test, &node.body, orelse, after, tail)?;
                self.lo.leave(before);
                if consumed {
                    return Ok(flow);
                }
                match self.go_on(flow, after, tail, false)? {
                    Some(flow) => return Ok(flow),
                    None => continue,
                }
            }
            let flow = self.run_statement(statement)?;
            if let Some(flow) = self.go_on(flow, after, tail, matches!(statement, Stmt::Return(_)))? {
                return Ok(flow);
            }
        }
        Ok(Flow::Falls)
    }

    /// Handles the statements after one that ended with `flow`. `None`: the caller runs them as usual.
    fn go_on(&mut self, flow: Flow, after: &[Stmt], tail: bool, is_return: bool) -> Traced<Option<Flow>> {
        match flow {
            Flow::Falls => Ok(None),
            Flow::Returned(_) => {
                if !is_return {
                    self.run_dead(after)?;
                }
                Ok(Some(flow))
            }
            Flow::Maybe { .. } if after.is_empty() => Ok(Some(flow)),
            Flow::Maybe { flag, value } => self
                .run_unless(flag, value, tail, &mut |tr| tr.run(after, tail))
                .map(Some),
        }
    }

    /// Runs unreachable statements. Their errors still count, and the values that they return affect the function's type.
    fn run_dead(&mut self, body: &[Stmt]) -> Traced<()> {
        if body.is_empty() {
            return Ok(());
        }
        let (names, bound) = (self.frame.names.clone(), self.frame.bound.clone());
        self.lo.builder.open_block(&[]);
        let flow = self.run(body, true)?;
        self.lo.builder.discard_block();
        self.frame.names = names;
        self.frame.bound = bound;
        if let Some(value) = flow.value() {
            self.frame.dead_returns.push(value.clone());
        }
        Ok(())
    }

    /// Runs `rest` where the function has not returned yet, as `flag` says.
    pub(super) fn run_unless(
        &mut self,
        flag: ValueId,
        value: Value,
        tail: bool,
        rest: &mut dyn FnMut(&mut Self) -> Traced<Flow>,
    ) -> Traced<Flow> {
        self.run_region(|tr| tr.run_unless_inner(flag, value, tail, rest))
    }

    fn run_unless_inner(
        &mut self,
        flag: ValueId,
        value: Value,
        tail: bool,
        rest: &mut dyn FnMut(&mut Self) -> Traced<Flow>,
    ) -> Traced<Flow> {
        let livein = self.frame.names.clone();
        let before = std::mem::take(&mut self.frame.bound);
        self.lo.builder.open_block(&[]);
        let block = self.lo.builder.suspend_block();
        let then_arm = Arm {
            block,
            flow: Flow::Returned(value),
            names: livein.clone(),
            bound: BTreeSet::new(),
        };
        self.lo.builder.open_block(&[]);
        let flow = rest(self)?;
        let else_arm = self.take_arm(flow, &livein, before);
        let exports = if tail {
            Vec::new()
        } else {
            collect_exports(&livein, &else_arm, false)
        };
        self.join(flag, then_arm, else_arm, &exports, tail)
    }

    /// Ends an arm that was just run and goes back to the names before it.
    fn take_arm(&mut self, flow: Flow, livein: &Names, bound_before: BTreeSet<Rc<str>>) -> Arm {
        let block = self.lo.builder.suspend_block();
        let names = std::mem::replace(&mut self.frame.names, livein.clone());
        let bound = std::mem::replace(&mut self.frame.bound, bound_before);
        Arm {
            block,
            flow,
            names,
            bound,
        }
    }

    /// Runs an `if`. The flag says whether it ran the statements after it too.
    fn branch(
        &mut self,
        test: &Expr,
        body: &[Stmt],
        orelse: ElseBranch<'_>,
        after: &[Stmt],
        tail: bool,
    ) -> Traced<(Flow, bool)> {
        self.run_nested(|tr| tr.run_region(|tr| tr.branch_inner(test, body, orelse, after, tail)))
    }

    /// Runs the clauses after an `if`'s own body.
    fn run_else(&mut self, orelse: ElseBranch<'_>, tail: bool) -> Traced<Flow> {
        match orelse {
            ElseBranch::Nothing => Ok(Flow::Falls),
            ElseBranch::Body(body) => self.run(body, tail),
            ElseBranch::If(test, body, rest) => {
                let before = self.enter(test.range());
                let (flow, _) = self.branch(test, body, else_of(rest), &[], tail)?;
                self.lo.leave(before);
                Ok(flow)
            }
        }
    }

    fn branch_inner(
        &mut self,
        test: &Expr,
        body: &[Stmt],
        orelse: ElseBranch<'_>,
        after: &[Stmt],
        tail: bool,
    ) -> Traced<(Flow, bool)> {
        let inner_tail = tail && after.is_empty();
        let condition = self.eval(test)?;
        self.check_held(&[(test, &condition)])?;
        let Value::Tensor(tensor) = condition else {
            if self.static_condition(&condition, "`if` statements")? {
                return Ok((self.run(body, inner_tail)?, false));
            }
            return Ok((self.run_else(orelse, inner_tail)?, false));
        };
        let of_one = self.lo.has_rule(Rule::BranchesOnBlocksOfOne) && self.lo.ty(tensor).numel() == 1;
        if self.lo.is_block(tensor) && !of_one {
            return Err(self.ambiguous());
        }
        let condition = semantic::lower_condition(&mut self.lo, tensor)?;
        let has_return = can_return(body) || else_returns(orelse);
        if has_return && self.frame.loops > 0 {
            return Err(self
                .lo
                .reject("cannot have `return` statements inside `while` or `for` statements in Triton"));
        }
        let livein = self.frame.names.clone();
        let before = std::mem::take(&mut self.frame.bound);
        let pending = self.frame.pending.clone();
        self.lo.builder.open_block(&[]);
        let flow = self.run(body, inner_tail)?;
        let then_arm = self.take_arm(flow, &livein, BTreeSet::new());
        self.frame.pending.clone_from(&pending);
        self.lo.builder.open_block(&[]);
        let flow = self.run_else(orelse, inner_tail)?;
        let else_arm = self.take_arm(flow, &livein, before);
        self.frame.pending = pending;
        let merged = self.merge(&livein, &then_arm, &else_arm)?;
        match (&then_arm.flow, &else_arm.flow) {
            (Flow::Falls, Flow::Falls) => {
                Ok((self.join(condition, then_arm, else_arm, &merged, false)?, false))
            }
            (Flow::Returned(_), Flow::Falls) => {
                let arm =
                    self.continue_arm(else_arm, &merged, after, tail, |export| export.else_value.clone())?;
                let exports = if tail {
                    Vec::new()
                } else {
                    collect_exports(&livein, &arm, false)
                };
                Ok((self.join(condition, then_arm, arm, &exports, tail)?, true))
            }
            (Flow::Falls, Flow::Returned(_)) => {
                let arm =
                    self.continue_arm(then_arm, &merged, after, tail, |export| export.then_value.clone())?;
                let exports = if tail {
                    Vec::new()
                } else {
                    collect_exports(&livein, &arm, true)
                };
                Ok((self.join(condition, arm, else_arm, &exports, tail)?, true))
            }
            _ => {
                let (then_returned, else_returned) = (
                    matches!(then_arm.flow, Flow::Returned(_)),
                    matches!(else_arm.flow, Flow::Returned(_)),
                );
                let exports: Vec<Export> = merged
                    .into_iter()
                    .map(|export| Export {
                        then_value: export.then_value.filter(|_| !then_returned),
                        else_value: export.else_value.filter(|_| !else_returned),
                        name: export.name,
                    })
                    .collect();
                Ok((
                    self.join(condition, then_arm, else_arm, &exports, inner_tail)?,
                    false,
                ))
            }
        }
    }

    /// Runs the statements after an `if` inside of its only side that has not returned.
    fn continue_arm(
        &mut self,
        arm: Arm,
        merged: &[Export],
        after: &[Stmt],
        tail: bool,
        side: impl Fn(&Export) -> Option<Value>,
    ) -> Traced<Arm> {
        let livein = self.frame.names.clone();
        let before = std::mem::take(&mut self.frame.bound);
        self.lo.builder.resume_block(arm.block);
        for export in merged {
            if let Some(value) = side(export) {
                self.frame.set(&export.name, value, Kind::Plain);
            }
        }
        let flow = self.run(after, tail)?;
        Ok(self.take_arm(flow, &livein, before))
    }

    /// The variables that have a value after an `if`, as Triton's compiler decides: those bound before that a side
    /// changed, and those that both sides bind. Their types must agree.
    fn merge(&mut self, livein: &Names, then_arm: &Arm, else_arm: &Arm) -> Traced<Vec<Export>> {
        let mut exports: Vec<Export> = Vec::new();
        for (name, slot) in livein {
            let (Some(then_slot), Some(else_slot)) = (then_arm.names.get(name), else_arm.names.get(name))
            else {
                continue;
            };
            if slot.kind == Kind::Bare || collect_leaves(&then_slot.value) == collect_leaves(&else_slot.value)
            {
                continue;
            }
            for (side, changed) in [("then", then_slot), ("else", else_slot)] {
                if changed.kind == Kind::Bare || !same_type(&self.lo, &slot.value, &changed.value) {
                    let (was, now) = (
                        type_text(&self.lo, &slot.value),
                        type_text(&self.lo, &changed.value),
                    );
                    return Err(self.lo.reject_with(
                        "branch-type-mismatch",
                        format!("initial value for `{name}` is of type {was}, but the {side} block redefines it as {now}"),
                    ));
                }
            }
            exports.push(Export {
                name: Rc::clone(name),
                then_value: Some(then_slot.value.clone()),
                else_value: Some(else_slot.value.clone()),
            });
        }
        for name in then_arm.bound.intersection(&else_arm.bound) {
            if exports.iter().any(|export| export.name == *name) {
                continue;
            }
            let (Some(then_slot), Some(else_slot)) = (then_arm.names.get(name), else_arm.names.get(name))
            else {
                continue;
            };
            let bare = then_slot.kind == Kind::Bare || else_slot.kind == Kind::Bare;
            if bare || !same_type(&self.lo, &then_slot.value, &else_slot.value) {
                let (a, b) = (
                    type_text(&self.lo, &then_slot.value),
                    type_text(&self.lo, &else_slot.value),
                );
                return Err(self.lo.reject_with(
                    "branch-type-mismatch",
                    format!("mismatched type for `{name}` between then block ({a}) and else block ({b})"),
                ));
            }
            exports.push(Export {
                name: Rc::clone(name),
                then_value: Some(then_slot.value.clone()),
                else_value: Some(else_slot.value.clone()),
            });
        }
        let span = self.lo.span;
        for name in then_arm.bound.symmetric_difference(&else_arm.bound) {
            if !livein.contains_key(name) {
                self.frame.partial.insert(Rc::clone(name), span);
            }
        }
        Ok(exports)
    }

    /// Makes the operation of an `if` from its two sides and binds what it results in.
    fn join(
        &mut self,
        condition: ValueId,
        then_arm: Arm,
        else_arm: Arm,
        exports: &[Export],
        tail: bool,
    ) -> Traced<Flow> {
        let common = match (then_arm.flow.value(), else_arm.flow.value()) {
            (None, None) => None,
            (Some(value), None) | (None, Some(value)) => Some(self.common_of(value)),
            (Some(a), Some(b)) => Some(self.unify_types(&self.common_of(a), &self.common_of(b))?),
        };
        let both_returned =
            matches!(then_arm.flow, Flow::Returned(_)) && matches!(else_arm.flow, Flow::Returned(_));
        let flagged = common.is_some() && !both_returned && !tail;
        let mut types = Vec::new();
        if flagged {
            types.push(Type::num(DType::I1));
        }
        if let Some(common) = &common {
            common.collect_types(&mut types);
        }
        let templates: Vec<(Rc<str>, Value)> = exports
            .iter()
            .filter_map(|export| {
                let value = export.then_value.as_ref().or(export.else_value.as_ref())?;
                Some((Rc::clone(&export.name), value.clone()))
            })
            .collect();
        for (_, value) in &templates {
            types.extend(
                collect_leaves(value)
                    .into_iter()
                    .map(|leaf| self.lo.ty(leaf).clone()),
            );
        }
        let mut blocks = Vec::with_capacity(2);
        for (arm, is_then) in [(then_arm, true), (else_arm, false)] {
            self.lo.builder.resume_block(arm.block);
            let mut yields = Vec::new();
            if flagged {
                yields.push(match &arm.flow {
                    Flow::Maybe { flag, .. } => *flag,
                    Flow::Returned(_) => self.lo.builder.add_constant(1, Type::num(DType::I1)),
                    Flow::Falls => self.lo.builder.add_constant(0, Type::num(DType::I1)),
                });
            }
            if let Some(common) = &common {
                self.conform(arm.flow.value(), common, &mut yields)?;
            }
            for (export, (_, template)) in exports.iter().zip(&templates) {
                match if is_then {
                    &export.then_value
                } else {
                    &export.else_value
                } {
                    Some(value) => yields.extend(collect_leaves(value)),
                    None => {
                        for leaf in collect_leaves(template) {
                            let ty = self.lo.ty(leaf).clone();
                            yields.push(self.lo.builder.add_op(OpKind::Poison, &[], ty));
                        }
                    }
                }
            }
            blocks.push(self.lo.builder.close_block(&yields));
        }
        let (Some(else_block), Some(then_block)) = (blocks.pop(), blocks.pop()) else {
            return Err(self.lo.report_unsupported("this `if`"));
        };
        let results = self.lo.builder.op_multi(
            OpKind::If {
                then_block,
                else_block,
            },
            &[condition],
            &types,
        );
        let mut results = results.into_iter();
        let flag = if flagged { results.next() } else { None };
        let value = common.map(|common| common.build(&mut results));
        for (name, template) in &templates {
            let value = rebuild(template, &mut results);
            if let Value::Tensor(id) = value {
                self.lo.builder.name_value(id, name);
            }
            self.frame.set(name, value, Kind::Plain);
        }
        Ok(match (flag, value) {
            (Some(flag), Some(value)) => Flow::Maybe { flag, value },
            (None, Some(value)) => Flow::Returned(value),
            _ => Flow::Falls,
        })
    }
}

/// The names that one side leaves changed when the other has returned.
fn collect_exports(livein: &Names, arm: &Arm, is_then: bool) -> Vec<Export> {
    if matches!(arm.flow, Flow::Returned(_)) {
        return Vec::new();
    }
    arm.names
        .iter()
        .filter(|(name, slot)| {
            livein
                .get(*name)
                .is_none_or(|before| !same_value(&before.value, &slot.value))
        })
        .map(|(name, slot)| {
            let value = Some(slot.value.clone());
            let (then_value, else_value) = if is_then { (value, None) } else { (None, value) };
            Export {
                name: Rc::clone(name),
                then_value,
                else_value,
            }
        })
        .collect()
}

/// Whether two values are the same for all code after them.
fn same_value(a: &Value, b: &Value) -> bool {
    if let (Value::Constant(a), Value::Constant(b)) = (a, b) {
        return a == b;
    }
    let (x, y) = (collect_leaves(a), collect_leaves(b));
    x == y && std::mem::discriminant(a) == std::mem::discriminant(b) && !x.is_empty()
}
