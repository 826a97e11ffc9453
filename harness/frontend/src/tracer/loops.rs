//! `for` and `while`. Loops over `tl.static_range` are unrolled. Other loops become operations with regions, which carry the
//! variables that their bodies change.

use std::rc::Rc;

use cerith_tile::DType;
use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::ir::{BinaryOp, OpKind, Type, ValueId};
use cerith_tile::quirk::Quirk;
use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use super::Tracer;
use super::frame::{Kind, Names, collect_leaves, rebuild};
use super::returns::Flow;
use cerith_language::constant::{self, Constant};
use cerith_language::gap::Gap;
use cerith_language::semantic;
use cerith_language::semantic::types::{same_type, type_text};
use cerith_language::stop::{Stop, Traced};
use cerith_language::value::{RangeValue, Value};

/// The maximum number of iterations of a `static_range`.
const MAX_UNROLL: i128 = 1 << 14;

/// A variable that a loop carries from one iteration to the next.
struct Carried {
    name: Rc<str>,
    initial: Value,
}

impl Tracer<'_> {
    /// Runs a `for`.
    pub(super) fn for_loop(&mut self, node: &ast::StmtFor) -> Traced<Flow> {
        if node.is_async {
            return Err(self.not_in_triton("`async for`"));
        }
        let Expr::Call(_) = &*node.iter else {
            return Err(self
                .lo
                .reject("only `range`, `tl.range` and `tl.static_range` can be looped over"));
        };
        let iterated = self.eval(&node.iter)?;
        let Value::Range(range) = iterated else {
            return Err(self
                .lo
                .reject("only `range`, `tl.range` and `tl.static_range` can be looped over"));
        };
        let Expr::Name(target) = &*node.target else {
            return Err(self.lo.reject("the target of a loop has to be a name"));
        };
        let target: Rc<str> = target.id.as_str().into();
        if range.is_static {
            return self.unroll(node, &target, &range);
        }
        if !node.orelse.is_empty() {
            return Err(self.not_in_triton("`else` after a loop"));
        }
        self.run_region(|tr| tr.lower_counted_loop(node, &target, &range))?;
        Ok(Flow::Falls)
    }

    fn unroll(&mut self, node: &ast::StmtFor, target: &Rc<str>, range: &RangeValue) -> Traced<Flow> {
        let mut bounds = [0; 3];
        for (bound, value) in bounds.iter_mut().zip([&range.start, &range.stop, &range.step]) {
            let Value::Constant(value) = value else {
                return Err(self
                    .lo
                    .reject("the bounds and step of `tl.static_range` have to be constexprs"));
            };
            let Some(value) = constant::as_int(value) else {
                let name = constant::type_name(value);
                return Err(self
                    .lo
                    .reject(format!("'{name}' object cannot be interpreted as an integer")));
            };
            *bound = value;
        }
        let [start, stop, step] = bounds;
        if step == 0 {
            return Err(self.lo.reject("range() arg 3 must not be zero"));
        }
        let distance = stop.saturating_sub(start);
        let count = if (distance > 0) == (step > 0) && distance != 0 {
            (distance.unsigned_abs() - 1) / step.unsigned_abs() + 1
        } else {
            0
        };
        if count > MAX_UNROLL.unsigned_abs() {
            let stop = self
                .lo
                .report_exhausted(MAX_UNROLL, "iterations of an unrolled loop");
            return Err(stop.note(format!("the loop has {count} iterations")));
        }
        self.run_iterations(node, target, start, step, count)
    }

    /// Runs the remaining iterations of an unrolled loop.
    fn run_iterations(
        &mut self,
        node: &ast::StmtFor,
        target: &Rc<str>,
        start: i128,
        step: i128,
        count: u128,
    ) -> Traced<Flow> {
        let (mut at, mut left) = (start, count);
        while left > 0 {
            let slot = super::frame::Slot {
                value: Value::from_int(at),
                kind: Kind::Plain,
            };
            self.frame.names.insert(Rc::clone(target), slot);
            let flow = self.run(&node.body, false)?;
            left -= 1;
            at = at.saturating_add(if is_planted(Fault::StaticRangeCountsByOne) {
                1
            } else {
                step
            });
            let flow = match flow {
                // `else` of an unrolled loop is compiled after every iteration.
                Flow::Falls => self.run(&node.orelse, false)?,
                other => other,
            };
            match flow {
                Flow::Falls => {}
                Flow::Returned(_) => {
                    // Triton compiles later iterations as dead code, and reports their mistakes. They have the same text as
                    // this one.
                    return Ok(flow);
                }
                Flow::Maybe { .. } if left == 0 => return Ok(flow),
                Flow::Maybe { flag, value } => {
                    return self.run_nested(|tr| {
                        tr.run_unless(flag, value, false, &mut |tr| {
                            tr.run_iterations(node, target, at, step, left)
                        })
                    });
                }
            }
        }
        Ok(Flow::Falls)
    }

    /// Emits the `for` operation.
    fn lower_counted_loop(
        &mut self,
        node: &ast::StmtFor,
        target: &Rc<str>,
        range: &RangeValue,
    ) -> Traced<()> {
        let (mut start, mut stop, mut step) = (range.start.clone(), range.stop.clone(), range.step.clone());
        let mut negative = false;
        if let Value::Constant(value @ (Constant::Int(_) | Constant::Bool(_))) = &step
            && let Some(value) = constant::as_int(value)
            && value < 0
        {
            step = Value::from_int(value.saturating_neg());
            std::mem::swap(&mut start, &mut stop);
            start = if is_planted(Fault::DownwardStopIgnored) {
                Value::from_int(0)
            } else {
                start
            };
            negative = true;
        }
        let before = self.enter(node.iter.range());
        let mut bounds = Vec::with_capacity(3);
        for (what, value) in [("lower bound", &start), ("upper bound", &stop), ("step", &step)] {
            let tensor = semantic::to_tensor(&mut self.lo, value)?;
            if self.lo.is_block(tensor) && self.lo.ty(tensor).numel() != 1 {
                let text = type_text(&self.lo, &Value::Tensor(tensor));
                return Err(self
                    .lo
                    .reject(format!("the {what} of a loop must be a scalar, got {text}")));
            }
            match self.lo.dtype(tensor) {
                Some(dtype) if dtype.is_int() => bounds.push((tensor, dtype)),
                _ => {
                    let text = type_text(&self.lo, &Value::Tensor(tensor));
                    return Err(self.lo.reject(format!(
                        "for loop bounds and step must all be ints, the {what} is {text}"
                    )));
                }
            }
        }
        let dtype = bounds
            .iter()
            .map(|(_, dtype)| *dtype)
            .reduce(semantic::integer_promote)
            .unwrap_or(DType::I32);
        let stays_python = self.lo.has_quirk(Quirk::LoopIndicesArePython);
        let dtype = if stays_python { DType::I64 } else { dtype };
        let mut operands = Vec::with_capacity(3);
        for (tensor, _) in &bounds {
            if self.lo.is_block(*tensor) {
                return Err(self
                    .lo
                    .report_unsupported("loop bounds that are blocks of one element"));
            }
            operands.push(semantic::cast(&mut self.lo, *tensor, dtype)?);
        }
        self.lo.leave(before);
        let ty = Type::num(dtype);
        // Before and after the loop its variable is bound, but has no value, as in Triton's compiler.
        let nothing = self.lo.builder.add_op(OpKind::Poison, &[], ty.clone());
        self.frame.set(target, Value::Tensor(nothing), Kind::Plain);
        let variable = self.lo.builder.add_value(ty.clone());

        let livein = self.frame.names.clone();
        let bound_before = std::mem::take(&mut self.frame.bound);
        let pending = self.frame.pending.clone();
        let carried = self.discover(&node.body, &livein, Some(target))?;

        let mut args = vec![variable];
        args.extend(self.carry_in(&carried));
        self.lo.builder.open_block(&args);
        self.lo.builder.name_value(variable, target);
        self.frame.set(target, Value::Tensor(variable), Kind::Plain);
        if stays_python {
            self.lo.python_ints.insert(variable);
        }
        if negative && let [lower, upper, _] = operands.as_slice() {
            let (lower, upper) = (*lower, *upper);
            let down = self
                .lo
                .builder
                .add_op(OpKind::Binary(BinaryOp::Sub), &[upper, variable], ty.clone());
            let value = self
                .lo
                .builder
                .add_op(OpKind::Binary(BinaryOp::Add), &[down, lower], ty);
            if stays_python {
                self.lo.python_ints.insert(value);
            }
            self.frame.set(target, Value::Tensor(value), Kind::Plain);
        }
        if self.discovering == 0 {
            self.loop_body(&node.body)?;
        }
        let yields = self.carry_out(&carried)?;
        let body = self.lo.builder.close_block(&yields);

        self.frame.names = livein;
        self.frame.bound = bound_before;
        self.frame.pending = pending;
        operands.extend(
            carried
                .iter()
                .flat_map(|carried| collect_leaves(&carried.initial)),
        );
        self.finish(OpKind::For { body }, &operands, &carried);
        Ok(())
    }

    /// Runs a `while`.
    pub(super) fn while_loop(&mut self, node: &ast::StmtWhile) -> Traced<Flow> {
        self.run_region(|tr| tr.while_inner(node))
    }

    fn while_inner(&mut self, node: &ast::StmtWhile) -> Traced<Flow> {
        if !node.orelse.is_empty() {
            return Err(self.not_in_triton("`else` after a loop"));
        }
        let livein = self.frame.names.clone();
        let bound_before = std::mem::take(&mut self.frame.bound);
        let pending = self.frame.pending.clone();
        let carried = self.discover(&node.body, &livein, None)?;

        let args = self.carry_in(&carried);
        self.lo.builder.open_block(&args);
        let test = self.eval(&node.test)?;
        let Value::Tensor(test) = test else {
            let mut diagnostic = self
                .lo
                .build_diagnostic("rejected", "the test of a `while` loop has to be a tensor");
            diagnostic
                .notes
                .push("Triton decides nothing about a `while` at compile time".to_owned());
            return Err(Stop::Rejected(Box::new(diagnostic)));
        };
        if self.lo.is_block(test) {
            return Err(self.ambiguous());
        }
        if self.lo.dtype(test) != Some(DType::I1) && self.lo.has_gap(Gap::WhileOfNumbers) {
            return Err(self.lo.reject("the test of a `while` loop has to be a bool"));
        }
        let condition = semantic::lower_condition(&mut self.lo, test)?;
        let mut yields = vec![condition];
        yields.extend(&args);
        let head = self.lo.builder.close_block(&yields);

        let args = self.carry_in(&carried);
        self.lo.builder.open_block(&args);
        if self.discovering == 0 {
            self.loop_body(&node.body)?;
        }
        let yields = self.carry_out(&carried)?;
        let after = self.lo.builder.close_block(&yields);

        self.frame.names = livein;
        self.frame.bound = bound_before;
        self.frame.pending = pending;
        let operands: Vec<ValueId> = carried
            .iter()
            .flat_map(|carried| collect_leaves(&carried.initial))
            .collect();
        self.finish(OpKind::While { before: head, after }, &operands, &carried);
        Ok(Flow::Falls)
    }

    fn loop_body(&mut self, body: &[ast::Stmt]) -> Traced<()> {
        self.frame.loops += 1;
        let flow = self.run(body, false)?;
        self.frame.loops -= 1;
        match flow {
            Flow::Falls => Ok(()),
            _ => Err(self
                .lo
                .reject("cannot have `return` statements inside `while` or `for` statements in Triton")),
        }
    }

    /// Runs a loop's body once, to find the variables that it changes, and discards the result.
    fn discover(
        &mut self,
        body: &[ast::Stmt],
        livein: &Names,
        target: Option<&Rc<str>>,
    ) -> Traced<Vec<Carried>> {
        self.lo.builder.open_block(&[]);
        self.discovering += 1;
        self.loop_body(body)?;
        self.discovering -= 1;
        self.lo.builder.discard_block();
        let names = std::mem::replace(&mut self.frame.names, livein.clone());
        let bound = std::mem::take(&mut self.frame.bound);
        for name in &bound {
            if !livein.contains_key(name) {
                let span = self.lo.span;
                self.frame.partial.insert(Rc::clone(name), span);
            }
        }
        let mut carried = Vec::new();
        for (name, slot) in livein {
            let Some(now) = names.get(name) else { continue };
            if Some(name) == target {
                continue;
            }
            if slot.kind == Kind::Bare {
                if bound.contains(name) {
                    return Err(self
                        .lo
                        .reject(format!("loop carried variable `{name}` is not a Triton value")));
                }
                continue;
            }
            self.check_carried(name, &slot.value, &now.value, now.kind)?;
            if collect_leaves(&slot.value) != collect_leaves(&now.value) {
                carried.push(Carried {
                    name: Rc::clone(name),
                    initial: slot.value.clone(),
                });
            }
        }
        Ok(carried)
    }

    fn check_carried(&self, name: &str, before: &Value, now: &Value, kind: Kind) -> Traced<()> {
        if kind == Kind::Bare {
            return Err(self
                .lo
                .reject(format!("cannot reassign constexpr `{name}` in the loop")));
        }
        let tensors = matches!((before, now), (Value::Tensor(_), Value::Tensor(_)));
        if std::mem::discriminant(before) != std::mem::discriminant(now) {
            let mut diagnostic = self.lo.build_diagnostic(
                "loop-type-mismatch",
                format!(
                    "loop carried variable `{name}` changed type, was {} but is now {}",
                    type_text(&self.lo, before),
                    type_text(&self.lo, now)
                ),
            );
            if matches!(before, Value::Constant(_)) {
                diagnostic.help = Some(format!(
                    "assign `{name}` to another variable before the loop and change that"
                ));
            }
            return Err(Stop::Rejected(Box::new(diagnostic)));
        }
        let same_tensors = || {
            let (x, y) = (collect_leaves(before), collect_leaves(now));
            x.len() == y.len() && x.iter().zip(&y).all(|(x, y)| self.lo.ty(*x) == self.lo.ty(*y))
        };
        let pointed = matches!(before, Value::BlockPointer(_) | Value::Descriptor(_));
        if (tensors || pointed) && !same_type(&self.lo, before, now) || !tensors && !same_tensors() {
            return Err(self.lo.reject_with(
                "loop-type-mismatch",
                format!(
                    "loop-carried variable `{name}` has initial type {} but is re-assigned to {} in the loop; its \
                     type has to stay the same",
                    type_text(&self.lo, before),
                    type_text(&self.lo, now)
                ),
            ));
        }
        Ok(())
    }

    /// Creates a region's arguments for the carried variables, and binds the variables to them.
    fn carry_in(&mut self, carried: &[Carried]) -> Vec<ValueId> {
        let mut args = Vec::new();
        for carried in carried {
            let fresh: Vec<ValueId> = collect_leaves(&carried.initial)
                .into_iter()
                .map(|leaf| {
                    let ty = self.lo.ty(leaf).clone();
                    self.lo.builder.add_value(ty)
                })
                .collect();
            let value = rebuild(&carried.initial, &mut fresh.iter().copied());
            if let Value::Tensor(id) = value {
                self.lo.builder.name_value(id, &carried.name);
            }
            self.frame.set(&carried.name, value, Kind::Plain);
            args.extend(fresh);
        }
        args
    }

    /// The values of the carried variables at the end of a loop's body.
    fn carry_out(&mut self, carried: &[Carried]) -> Traced<Vec<ValueId>> {
        let mut yields = Vec::new();
        for carried in carried {
            let Some(slot) = self.frame.names.get(&carried.name).cloned() else {
                continue;
            };
            self.check_carried(&carried.name, &carried.initial, &slot.value, slot.kind)?;
            yields.extend(collect_leaves(&slot.value));
        }
        Ok(yields)
    }

    /// Appends a loop's operation and binds the carried variables to its results.
    fn finish(&mut self, kind: OpKind, operands: &[ValueId], carried: &[Carried]) {
        let types: Vec<Type> = carried
            .iter()
            .flat_map(|carried| collect_leaves(&carried.initial))
            .map(|leaf| self.lo.ty(leaf).clone())
            .collect();
        let mut results = self.lo.builder.op_multi(kind, operands, &types).into_iter();
        for carried in carried {
            let value = rebuild(&carried.initial, &mut results);
            if let Value::Tensor(id) = value {
                self.lo.builder.name_value(id, &carried.name);
            }
            self.frame.set(&carried.name, value, Kind::Plain);
        }
    }
}
