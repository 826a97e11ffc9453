//! Loops and conditions.
//!
//! A loop's body is evaluated twice. The first time everything that it carries is unknown, which shows what one iteration changes: a
//! value that stays, or that moves by a fixed step, is known in iteration `k`. All else is unknown in the second evaluation,
//! which lists the accesses.

use std::collections::BTreeMap;

use cerith_tile::ir::{Block, Elem, LocId, Operation, Shape, ValueId};

use super::{Divisor, Evaluator, Guard, depends_on_later};
use crate::condition::Condition;
use crate::polynomial::{Polynomial, SymbolId};
use crate::symbol::{Alternative, Cause, Origin, Symbol};
use crate::value::{Checks, Kind, RangeCheck, Value, add_check, find_dtype_range, merge_checks};

/// How an iteration changes a value.
#[derive(Clone, Debug)]
enum Change {
    /// By this much.
    Step(Polynomial, Checks),
    /// In another way.
    Any,
}

impl Evaluator<'_> {
    pub(super) fn evaluate_if(&mut self, op: &Operation, then_block: &Block, else_block: &Block) {
        let Some(&test) = op.operands.first() else { return };
        let test = self.get(test);
        let condition = match test.kind {
            Kind::Truth(condition) => condition,
            _ => Condition::Unknown,
        };
        let then_values = self.evaluate_branch(&condition, &test.checks, then_block);
        let else_values = self.evaluate_branch(&condition.negate(), &test.checks, else_block);
        for (nth, &result) in op.results.iter().enumerate() {
            let merged = match (then_values.get(nth), else_values.get(nth)) {
                (Some(a), Some(b)) => {
                    // The condition is a scalar.
                    self.merge_values(&condition, &test.checks, (a, b), &Shape::new(), op.loc)
                }
                _ => None,
            };
            let value = merged.unwrap_or_else(|| self.make_opaque(result, op.loc, Cause::Computed));
            self.set(result, value);
        }
    }

    fn evaluate_branch(&mut self, condition: &Condition, checks: &Checks, block: &Block) -> Vec<Value> {
        let depth = self.guards.len();
        self.guards.push(Guard {
            condition: condition.clone(),
            checks: checks.clone(),
        });
        let yields = self.evaluate_block(block);
        let values = yields.into_iter().map(|id| self.get(id)).collect();
        self.guards.truncate(depth);
        values
    }

    pub(super) fn evaluate_while(&mut self, op: &Operation, before: &Block, after: &Block) {
        for &arg in &before.args {
            let unknown = self.make_opaque(arg, op.loc, Cause::Carried);
            self.set(arg, unknown);
        }
        let depth = self.guards.len();
        let yields = self.evaluate_block(before);
        if let Some((&test, values)) = yields.split_first() {
            self.add_guard(test);
            for (&arg, &value) in after.args.iter().zip(values) {
                let value = self.get(value);
                self.set(arg, value);
            }
        }
        self.evaluate_block(after);
        self.guards.truncate(depth);
        for &result in &op.results {
            let unknown = self.make_opaque(result, op.loc, Cause::Carried);
            self.set(result, unknown);
        }
    }

    pub(super) fn evaluate_for(&mut self, op: &Operation, body: &Block) {
        let (Some((bounds, initial)), Some((&variable, carried))) =
            (op.operands.split_at_checked(3), body.args.split_first())
        else {
            return;
        };
        let start: Vec<Value> = initial.iter().map(|&id| self.get(id)).collect();
        let changes = self.find_changes(op, body, variable, carried, &start);
        let mut checks = Checks::new();
        let observed: Vec<Option<Polynomial>> =
            bounds.iter().map(|&id| self.observe(id, &mut checks)).collect();
        let depth = self.guards.len();
        let turn = self.enter_loop(op, variable, &observed, &checks);
        for ((&arg, value), change) in carried.iter().zip(&start).zip(&changes) {
            let value = self
                .advance(value, change, turn.as_ref())
                .unwrap_or_else(|| self.make_opaque(arg, op.loc, Cause::Carried));
            self.set(arg, value);
        }
        self.evaluate_block(body);
        self.guards.truncate(depth);
        let trips = match observed.as_slice() {
            [Some(lower), Some(upper), Some(step)] if turn.is_some() => {
                self.count_trips(lower, upper, step, op.loc)
            }
            _ => None,
        };
        for ((&result, value), change) in op.results.iter().zip(&start).zip(&changes) {
            let mut value = self
                .advance(value, change, trips.as_ref())
                .unwrap_or_else(|| self.make_opaque(result, op.loc, Cause::Carried));
            if matches!(change, Change::Step(step, _) if step.as_number() != Some(0)) {
                merge_checks(&mut value.checks, &checks);
            }
            self.set(result, value);
        }
    }

    /// Binds the loop's variable, and adds the condition under which the body runs. Returns the iteration.
    fn enter_loop(
        &mut self,
        op: &Operation,
        variable: ValueId,
        observed: &[Option<Polynomial>],
        checks: &Checks,
    ) -> Option<Polynomial> {
        let unknown = self.make_opaque(variable, op.loc, Cause::Carried);
        self.set(variable, unknown);
        let [Some(lower), Some(upper), Some(step)] = observed else {
            return None;
        };
        if !self.is_trial && step.as_number().is_none_or(|number| number < 1) {
            self.divisors.push(Divisor {
                loc: op.loc,
                value: step.clone(),
                is_step: true,
                shape: Shape::new(),
                guards: self.guards.clone(),
                checks: checks.clone(),
            });
        }
        self.counter += 1;
        let id = self.symbols.intern(Origin::Turn(self.counter), |origin| Symbol {
            low: Some(0),
            ..Symbol::new(origin)
        });
        let turn = Polynomial::from_symbol(id);
        let value = lower.add(&turn.mul(step)?)?;
        let dtype = self.dtype(variable)?;
        self.set(
            variable,
            Value {
                kind: Kind::Integer(value.clone()),
                checks: checks.clone(),
                loc: op.loc,
            },
        );
        // The last value may be just below the largest one of the dtype, but a loop never runs with a value that wrapped: its bound
        // is in range, and `value < bound` here is a comparison of exact integers only if the step past the bound doesn't wrap.
        let (least, most) = find_dtype_range(dtype);
        let past = upper.add(step)?;
        let mut loop_checks = checks.clone();
        let (_, high) = self.symbols.find_range(&past, &Shape::new());
        if high.is_none_or(|high| high > most) && least < most {
            let check = RangeCheck {
                value: past.add_number(-1)?,
                dtype,
                loc: op.loc,
                id: None,
            };
            add_check(&mut loop_checks, check);
        }
        self.guards.push(Guard {
            condition: Condition::is_less(&value, upper),
            checks: loop_checks,
        });
        Some(turn)
    }

    /// The change of each carried value in an iteration.
    fn find_changes(
        &mut self,
        op: &Operation,
        body: &Block,
        variable: ValueId,
        carried: &[ValueId],
        start: &[Value],
    ) -> Vec<Change> {
        let first = self.symbols.len();
        let was_trial = std::mem::replace(&mut self.is_trial, true);
        let unknown = self.make_opaque(variable, op.loc, Cause::Carried);
        self.set(variable, unknown);
        let mut own: Vec<Option<SymbolId>> = Vec::new();
        for (&arg, value) in carried.iter().zip(start) {
            own.push(self.bind_carried(arg, value, op.loc));
        }
        let depth = self.guards.len();
        let yields = self.evaluate_block(body);
        self.guards.truncate(depth);
        self.is_trial = was_trial;
        let mut steps: Vec<Option<(Polynomial, Checks)>> = Vec::new();
        for (nth, symbol) in own.iter().enumerate() {
            let step = symbol.and_then(|symbol| {
                let value = self.get(*yields.get(nth)?);
                let own = Polynomial::from_symbol(symbol);
                match (value.kind, &start.get(nth)?.kind) {
                    (Kind::Integer(next), Kind::Integer(_)) => Some((next.sub(&own)?, value.checks)),
                    (Kind::Pointer { parameter, offset }, Kind::Pointer { parameter: other, .. })
                        if parameter == *other =>
                    {
                        Some((offset.sub(&own)?, value.checks))
                    }
                    _ => None,
                }
            });
            steps.push(step);
        }
        // Values that stay are known in the steps of others.
        let mut kept: BTreeMap<SymbolId, Polynomial> = BTreeMap::new();
        for (nth, symbol) in own.iter().enumerate() {
            if let (Some(symbol), Some(Some((step, _)))) = (symbol, steps.get(nth))
                && step.as_number() == Some(0)
                && let Some(Kind::Integer(value) | Kind::Pointer { offset: value, .. }) =
                    start.get(nth).map(|value| &value.kind)
            {
                kept.insert(*symbol, value.clone());
            }
        }
        let replace = |id: SymbolId| kept.get(&id).cloned();
        let mut changes = Vec::new();
        for step in steps {
            let change = step.and_then(|(step, checks)| {
                let step = step.substitute(&replace)?;
                if depends_on_later(&self.symbols, &step, first) {
                    return None;
                }
                // Checks of the body's own values are listed where these are used; those of the step itself must hold too.
                let mut own_checks = Checks::new();
                for check in &checks {
                    let value = check.value.substitute(&replace)?;
                    if depends_on_later(&self.symbols, &value, first) {
                        return None;
                    }
                    let moved = RangeCheck {
                        value,
                        ..(**check).clone()
                    };
                    add_check(&mut own_checks, moved);
                }
                Some(Change::Step(step, own_checks))
            });
            changes.push(change.unwrap_or(Change::Any));
        }
        changes
    }

    /// Binds a carried value to a symbol of its own.
    fn bind_carried(&mut self, arg: ValueId, start: &Value, loc: LocId) -> Option<SymbolId> {
        let ty = self.ty(arg).clone();
        let range = match ty.elem {
            Elem::Num(dtype) => find_dtype_range(dtype),
            Elem::Ptr { .. } => find_dtype_range(cerith_tile::DType::I64),
        };
        let symbol = self.make_unknown(&ty.shape, loc, Cause::Carried, range);
        let id = symbol.symbols().first().copied();
        let kind = match &start.kind {
            Kind::Integer(_) => Kind::Integer(symbol),
            Kind::Pointer { parameter, .. } => Kind::Pointer {
                parameter: *parameter,
                offset: symbol,
            },
            Kind::Truth(_) | Kind::Unknown => {
                let unknown = self.make_opaque(arg, loc, Cause::Carried);
                self.set(arg, unknown);
                return None;
            }
        };
        self.set(arg, Value::new(kind, loc));
        id
    }

    /// A carried value after a number of iterations.
    fn advance(&mut self, start: &Value, change: &Change, turns: Option<&Polynomial>) -> Option<Value> {
        let Change::Step(step, checks) = change else {
            return None;
        };
        let mut value = start.clone();
        if step.as_number() == Some(0) {
            return Some(value);
        }
        let turns = turns?;
        let moved = step.mul(turns)?;
        match &mut value.kind {
            Kind::Integer(polynomial) => *polynomial = polynomial.add(&moved)?,
            Kind::Pointer { offset, .. } => *offset = offset.add(&moved)?,
            Kind::Truth(_) | Kind::Unknown => return None,
        }
        // The step is not taken before the second iteration.
        let zero = Polynomial::default();
        for check in checks {
            let taken = self.make_choice(vec![
                Alternative {
                    condition: Condition::at_most(turns, &zero),
                    value: zero.clone(),
                },
                Alternative {
                    condition: Condition::is_less(&zero, turns),
                    value: check.value.clone(),
                },
            ]);
            let check = RangeCheck {
                value: taken,
                ..(**check).clone()
            };
            add_check(&mut value.checks, check);
        }
        Some(value)
    }

    /// The number of iterations of a loop that has ended.
    fn count_trips(
        &mut self,
        lower: &Polynomial,
        upper: &Polynomial,
        step: &Polynomial,
        loc: LocId,
    ) -> Option<Polynomial> {
        let range = (1, i128::from(i64::MAX));
        let some = self.make_unknown(&Shape::new(), loc, Cause::Carried, range);
        let id = some.symbols().first().copied()?;
        // lower + trips * step >= upper, and one iteration fewer is below it.
        let end = lower.add(&some.mul(step)?)?;
        let facts = [end.sub(upper)?, upper.add(step)?.sub(&end)?.add_number(-1)?];
        if let Some(symbol) = self.symbols.get_mut(id) {
            symbol.facts.extend(facts);
        }
        Some(self.make_choice(vec![
            Alternative {
                condition: Condition::at_most(upper, lower),
                value: Polynomial::default(),
            },
            Alternative {
                condition: Condition::is_less(lower, upper),
                value: some,
            },
        ]))
    }
}
