//! Integers, conditions and addresses, lane by lane.

use std::collections::BTreeSet;

use cerith_tile::DType;
use cerith_tile::ir::{
    BinaryOp, CastKind, CmpPredicate, Combine, Elem, LocId, OpKind, Operation, Shape, TernaryOp, Type,
    UnaryOp, ValueId,
};

use super::{Divisor, Evaluator, list_dims};
use crate::condition::Condition;
use crate::decide::{Context, Decider};
use crate::polynomial::Polynomial;
use crate::symbol::{Alternative, Cause, Origin, Symbol};
use crate::value::{Checks, Kind, Value, find_dtype_range, merge_checks};

/// Linear programs that the sign of a dividend may take.
const SIGN_BUDGET: usize = 6;

impl Evaluator<'_> {
    /// The result of an operation; `None` if it is unknown.
    pub(super) fn compute(&mut self, op: &Operation) -> Option<Value> {
        let result = *op.results.first()?;
        let operand = |nth: usize| op.operands.get(nth).copied();
        match &op.kind {
            OpKind::Constant(bits) => {
                let kind = match self.ty(result).elem {
                    Elem::Num(DType::I1) if bits & 1 == 1 => Kind::Truth(Condition::True),
                    Elem::Num(DType::I1) => Kind::Truth(Condition::False),
                    Elem::Num(dtype) if dtype.is_int() => {
                        Kind::Integer(Polynomial::from_number(decode(*bits, dtype)))
                    }
                    _ => Kind::Unknown,
                };
                Some(Value::new(kind, op.loc))
            }
            OpKind::ProgramId(axis) => {
                let program = self.find_program(*axis)?;
                Some(Value::new(Kind::Integer(program), op.loc))
            }
            OpKind::NumPrograms(axis) => {
                let count = self.find_programs(*axis)?;
                Some(Value::new(Kind::Integer(count), op.loc))
            }
            OpKind::Range { start, end } => {
                let lanes = i64::from(*end) - i64::from(*start);
                let lane = if lanes > 1 {
                    Polynomial::from_symbol(self.symbols.lane(0))
                } else {
                    Polynomial::default()
                };
                Some(Value::new(
                    Kind::Integer(lane.add_number(i128::from(*start))?),
                    op.loc,
                ))
            }
            OpKind::Unary(kind) => self.compute_unary(*kind, operand(0)?, op.loc),
            OpKind::Binary(kind) => self.compute_binary(*kind, (operand(0)?, operand(1)?), op.loc),
            OpKind::Ternary(TernaryOp::Clamp) if self.dtype(result).is_some_and(DType::is_int) => {
                let (x, low, high) = (operand(0)?, operand(1)?, operand(2)?);
                let mut checks = Checks::new();
                let x = self.observe(x, &mut checks)?;
                let low = self.observe(low, &mut checks)?;
                let high = self.observe(high, &mut checks)?;
                let least = self.choose_extreme(&x, &low, false);
                let value = self.choose_extreme(&least, &high, true);
                Some(Value {
                    kind: Kind::Integer(value),
                    checks,
                    loc: op.loc,
                })
            }
            OpKind::Compare(predicate) => self.compare(*predicate, operand(0)?, operand(1)?, op.loc),
            OpKind::Select => self.select(operand(0)?, operand(1)?, operand(2)?, op.loc),
            OpKind::Cast { kind, .. } => self.cast(*kind, operand(0)?, result, op.loc),
            OpKind::Splat | OpKind::Broadcast | OpKind::Reshape { .. } | OpKind::Trans { .. } => {
                self.move_operand(op)
            }
            OpKind::Join => self.join_operands(op),
            OpKind::AddPtr => self.add_pointer(operand(0)?, operand(1)?, op.loc),
            OpKind::Hint { .. } => Some(self.get(operand(0)?)),
            OpKind::Reduce {
                combine: Some(Combine::Min | Combine::Max),
                ..
            } if op.results.len() == 1 => self.reduce_range(operand(0)?, result, op.loc),
            _ => None,
        }
    }

    /// The number of programs on an axis.
    pub(super) fn find_programs(&mut self, axis: u8) -> Option<Polynomial> {
        let stated = self.contract.grid.get(usize::from(axis))?.clone();
        match stated {
            Some(size) => self.convert_size(&size),
            None => Some(self.name_size(&format!("num_programs({axis})"), (1, i128::from(i32::MAX)))),
        }
    }

    fn find_program(&mut self, axis: u8) -> Option<Polynomial> {
        let count = self.find_programs(axis)?;
        let id = self.symbols.intern(Origin::Program(axis), |origin| Symbol {
            low: Some(0),
            high: Some(i128::from(i32::MAX) - 1),
            ..Symbol::new(origin)
        });
        let program = Polynomial::from_symbol(id);
        let last = count.sub(&program)?.add_number(-1)?;
        if let Some(symbol) = self.symbols.get_mut(id)
            && symbol.facts.is_empty()
        {
            symbol.facts.push(last);
        }
        Some(program)
    }

    fn compute_unary(&mut self, kind: UnaryOp, x: ValueId, loc: LocId) -> Option<Value> {
        let value = self.get(x);
        match (kind, &value.kind) {
            (UnaryOp::Not, Kind::Truth(condition)) => Some(Value {
                kind: Kind::Truth(condition.negate()),
                loc,
                ..value
            }),
            (UnaryOp::Neg, Kind::Integer(polynomial)) => Some(Value {
                kind: Kind::Integer(polynomial.scale(-1)?),
                loc,
                ..value
            }),
            // The complement of x is -x - 1.
            (UnaryOp::Not, Kind::Integer(polynomial)) => Some(Value {
                kind: Kind::Integer(polynomial.scale(-1)?.add_number(-1)?),
                loc,
                ..value
            }),
            (UnaryOp::Abs, Kind::Integer(_)) => {
                let mut checks = Checks::new();
                let x = self.observe(x, &mut checks)?;
                let negative = x.scale(-1)?;
                Some(Value {
                    kind: Kind::Integer(self.choose_extreme(&x, &negative, false)),
                    checks,
                    loc,
                })
            }
            _ => None,
        }
    }

    fn compute_binary(&mut self, kind: BinaryOp, (x, y): (ValueId, ValueId), loc: LocId) -> Option<Value> {
        let (left, right) = (self.get(x), self.get(y));
        let mut checks = Checks::new();
        if let (Kind::Truth(a), Kind::Truth(b)) = (&left.kind, &right.kind) {
            merge_checks(&mut checks, &left.checks);
            merge_checks(&mut checks, &right.checks);
            let (a, b) = (a.clone(), b.clone());
            let condition = match kind {
                BinaryOp::And | BinaryOp::Mul | BinaryOp::Min => a.and(b),
                BinaryOp::Or | BinaryOp::Max => a.or(b),
                BinaryOp::Xor | BinaryOp::Add | BinaryOp::Sub => {
                    let (not_a, not_b) = (a.negate(), b.negate());
                    a.and(not_b).or(not_a.and(b))
                }
                _ => return None,
            };
            return Some(Value {
                kind: Kind::Truth(condition),
                checks,
                loc,
            });
        }
        let (Kind::Integer(a), Kind::Integer(b)) = (&left.kind, &right.kind) else {
            return None;
        };
        let value = match kind {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => {
                // Exact modulo the width, as their operands are.
                merge_checks(&mut checks, &left.checks);
                merge_checks(&mut checks, &right.checks);
                match kind {
                    BinaryOp::Add => a.add(b)?,
                    BinaryOp::Sub => a.sub(b)?,
                    _ => a.mul(b)?,
                }
            }
            BinaryOp::Shl => {
                let width = i128::from(self.dtype(x)?.bits());
                let by = b.as_number().filter(|by| (0..width).contains(by))?;
                merge_checks(&mut checks, &left.checks);
                a.scale(1 << by)?
            }
            BinaryOp::IntDiv | BinaryOp::Rem => {
                let a = self.observe(x, &mut checks)?;
                let b = self.observe(y, &mut checks)?;
                self.list_divisor(&b, x, &checks, loc);
                let ty = self.ty(x).clone();
                let quotient = self.divide_checked(&a, &b, &ty);
                match (kind, quotient) {
                    (BinaryOp::IntDiv, Some(quotient)) => quotient,
                    (_, Some(quotient)) => a.sub(&quotient.mul(&b)?)?,
                    (_, None) => return self.bound_division(kind, &b, &ty, loc),
                }
            }
            BinaryOp::Shr | BinaryOp::LShr => {
                let a = self.observe(x, &mut checks)?;
                let by = b.as_number().filter(|by| (0..63).contains(by))?;
                let ty = self.ty(x).clone();
                self.divide_checked(&a, &Polynomial::from_number(1 << by), &ty)?
            }
            BinaryOp::Min | BinaryOp::Max => {
                let a = self.observe(x, &mut checks)?;
                let b = self.observe(y, &mut checks)?;
                self.choose_extreme(&a, &b, kind == BinaryOp::Min)
            }
            BinaryOp::And => {
                let a = self.observe(x, &mut checks)?;
                let b = self.observe(y, &mut checks)?;
                self.mask_bits(&a, &b, &self.ty(x).clone(), loc)?
            }
            _ => return None,
        };
        Some(Value {
            kind: Kind::Integer(value),
            checks,
            loc,
        })
    }

    /// `a & b` where one is a number of at least 0.
    fn mask_bits(&mut self, a: &Polynomial, b: &Polynomial, ty: &Type, loc: LocId) -> Option<Polynomial> {
        let (value, mask) = match (a.as_number(), b.as_number()) {
            (_, Some(mask)) => (a, mask),
            (Some(mask), None) => (b, mask),
            (None, None) => return None,
        };
        if mask < 0 {
            return None;
        }
        let size = mask.checked_add(1)?;
        if size.count_ones() == 1
            && let Some(quotient) = self.divide_checked(value, &Polynomial::from_number(size), ty)
        {
            return value.sub(&quotient.scale(size)?);
        }
        Some(self.make_unknown(&ty.shape, loc, Cause::Computed, (0, mask)))
    }

    /// The smaller or the larger one.
    fn choose_extreme(&mut self, a: &Polynomial, b: &Polynomial, smaller: bool) -> Polynomial {
        let (low, high) = if smaller { (a, b) } else { (b, a) };
        match Condition::at_most(low, high) {
            Condition::True => a.clone(),
            Condition::False => b.clone(),
            condition => {
                let chosen = self.make_choice(vec![
                    Alternative {
                        value: a.clone(),
                        condition: condition.clone(),
                    },
                    Alternative {
                        value: b.clone(),
                        condition: condition.negate(),
                    },
                ]);
                // A fact that holds in both cases needs no case.
                if let Some(id) = chosen.symbols().first().copied()
                    && chosen == Polynomial::from_symbol(id)
                {
                    let facts = [a, b].map(|one| {
                        if smaller {
                            one.sub(&chosen)
                        } else {
                            chosen.sub(one)
                        }
                    });
                    if let Some(symbol) = self.symbols.get_mut(id)
                        && symbol.facts.is_empty()
                    {
                        symbol.facts.extend(facts.into_iter().flatten());
                    }
                }
                chosen
            }
        }
    }

    fn list_divisor(&mut self, divisor: &Polynomial, like: ValueId, checks: &Checks, loc: LocId) {
        if self.is_trial || divisor.as_number().is_some_and(|number| number != 0) {
            return;
        }
        self.divisors.push(Divisor {
            loc,
            value: divisor.clone(),
            is_step: false,
            shape: self.ty(like).shape.clone(),
            guards: self.guards.clone(),
            checks: checks.clone(),
        });
    }

    /// The quotient, if the dividend is at least 0 and the divisor at least 1 wherever this is executed.
    fn divide_checked(&mut self, a: &Polynomial, b: &Polynomial, ty: &Type) -> Option<Polynomial> {
        if let Some((x, y)) = a.as_number().zip(b.as_number()) {
            return Some(Polynomial::from_number(x.checked_div(y)?));
        }
        let mut context = Context {
            conditions: self.facts.clone(),
            shape: ty.shape.clone(),
            uses_ranges: false,
        };
        let positive = b.add_number(-1)?;
        let proves = |context: &Context, symbols| {
            let mut decider = Decider::new(symbols, SIGN_BUDGET);
            decider.is_at_least_zero(&positive, context) && decider.is_at_least_zero(a, context)
        };
        if proves(&context, &self.symbols) {
            return self.divide(a, b);
        }
        if self.guards.is_empty() {
            return None;
        }
        context
            .conditions
            .extend(self.guards.iter().map(|guard| guard.condition.clone()));
        if !proves(&context, &self.symbols) {
            return None;
        }
        // It holds only here, so the symbol must not be that of the same quotient elsewhere.
        self.counter += 1;
        let choice = Origin::Choice(self.counter);
        self.name_quotient(choice, a, b)
    }

    /// The quotient of polynomials of at least 0 and 1.
    pub(super) fn divide(&mut self, a: &Polynomial, b: &Polynomial) -> Option<Polynomial> {
        match b.as_number() {
            Some(1) => return Some(a.clone()),
            Some(number) if number > 1 => {
                if let Some(quotient) = a.divide_exactly(number) {
                    return Some(quotient);
                }
            }
            Some(_) => return None,
            None if a == b => return Some(Polynomial::from_number(1)),
            None => {}
        }
        self.name_quotient(Origin::Quotient(a.clone(), b.clone()), a, b)
    }

    fn name_quotient(&mut self, origin: Origin, a: &Polynomial, b: &Polynomial) -> Option<Polynomial> {
        let mut dims = self.symbols.find_dims(a);
        dims.extend(self.symbols.find_dims(b));
        // The lanes have no extents here, so a range is that of any lane.
        let (low, high) = self.symbols.find_range(a, &Shape::new());
        let by = b.as_number().filter(|by| *by > 0 && dims.is_empty());
        let low = by.and_then(|by| low?.checked_div(by)).map_or(0, |low| low.max(0));
        let high = by.and_then(|by| high?.checked_div(by));
        let id = self.symbols.intern(origin, |origin| Symbol {
            low: Some(low),
            high,
            dims,
            quotient: Some((a.clone(), b.clone())),
            ..Symbol::new(origin)
        });
        let quotient = Polynomial::from_symbol(id);
        // b q <= a <= b q + b - 1, and q <= a because b is at least 1.
        let product = quotient.mul(b)?;
        let remainder = a.sub(&product)?;
        let rest = b.sub(&remainder)?.add_number(-1)?;
        let most = a.sub(&quotient)?;
        if let Some(symbol) = self.symbols.get_mut(id)
            && symbol.facts.is_empty()
        {
            symbol.facts.extend([remainder, rest]);
            if b.as_number().is_none() {
                symbol.facts.push(most);
            }
        }
        Some(quotient)
    }

    /// A quotient or a remainder whose operands may be negative.
    fn bound_division(&mut self, kind: BinaryOp, b: &Polynomial, ty: &Type, loc: LocId) -> Option<Value> {
        let (least, most) = find_dtype_range(ty.elem.num()?);
        let range = match b.as_number() {
            Some(number) if kind == BinaryOp::Rem && number != 0 => {
                let largest = number.checked_abs()? - 1;
                (least.max(-largest), largest)
            }
            _ => (least, most),
        };
        let unknown = self.make_unknown(&ty.shape, loc, Cause::Computed, range);
        Some(Value::new(Kind::Integer(unknown), loc))
    }

    fn compare(&mut self, predicate: CmpPredicate, x: ValueId, y: ValueId, loc: LocId) -> Option<Value> {
        let mut checks = Checks::new();
        let (a, b) = (self.observe(x, &mut checks)?, self.observe(y, &mut checks)?);
        let condition = match predicate {
            CmpPredicate::Eq => Condition::are_equal(&a, &b),
            CmpPredicate::Ne => Condition::is_less(&a, &b).or(Condition::is_less(&b, &a)),
            CmpPredicate::Lt => Condition::is_less(&a, &b),
            CmpPredicate::Le => Condition::at_most(&a, &b),
            CmpPredicate::Gt => Condition::is_less(&b, &a),
            CmpPredicate::Ge => Condition::at_most(&b, &a),
        };
        Some(Value {
            kind: Kind::Truth(condition),
            checks,
            loc,
        })
    }

    fn select(&mut self, condition: ValueId, x: ValueId, y: ValueId, loc: LocId) -> Option<Value> {
        let (test, left, right) = (self.get(condition), self.get(x), self.get(y));
        let Kind::Truth(condition) = &test.kind else {
            return None;
        };
        let shape = self.ty(x).shape.clone();
        self.merge_values(condition, &test.checks, (&left, &right), &shape, loc)
    }

    /// One of two values, by a condition on each lane of a shape.
    pub(super) fn merge_values(
        &mut self,
        condition: &Condition,
        condition_checks: &Checks,
        (left, right): (&Value, &Value),
        shape: &Shape,
        loc: LocId,
    ) -> Option<Value> {
        match condition {
            Condition::True => return Some(left.clone()),
            Condition::False => return Some(right.clone()),
            _ => {}
        }
        let otherwise = condition.negate();
        let choose = |this: &mut Self, a: &Polynomial, b: &Polynomial| {
            let alternatives = vec![
                Alternative {
                    condition: condition.clone(),
                    value: a.clone(),
                },
                Alternative {
                    condition: otherwise.clone(),
                    value: b.clone(),
                },
            ];
            // An unknown condition may differ in each lane.
            let lanes = if condition.has_unknown() {
                list_dims(shape)
            } else {
                BTreeSet::new()
            };
            this.make_choice_of_lanes(alternatives, lanes)
        };
        let kind = match (&left.kind, &right.kind) {
            (Kind::Integer(a), Kind::Integer(b)) => Kind::Integer(choose(self, a, b)),
            (
                Kind::Pointer { parameter, offset },
                Kind::Pointer {
                    parameter: other,
                    offset: other_offset,
                },
            ) if parameter == other => Kind::Pointer {
                parameter: *parameter,
                offset: choose(self, offset, other_offset),
            },
            (Kind::Truth(a), Kind::Truth(b)) => Kind::Truth(
                condition
                    .clone()
                    .and(a.clone())
                    .or(otherwise.clone().and(b.clone())),
            ),
            _ => return None,
        };
        let mut checks = condition_checks.clone();
        merge_checks(&mut checks, &left.checks);
        merge_checks(&mut checks, &right.checks);
        Some(Value { kind, checks, loc })
    }

    fn cast(&mut self, kind: CastKind, x: ValueId, result: ValueId, loc: LocId) -> Option<Value> {
        let value = self.get(x);
        let (from, to) = (self.ty(x).elem, self.ty(result).elem);
        match (&value.kind, from, to) {
            // The offset is in bytes.
            (Kind::Pointer { .. }, _, Elem::Ptr { .. }) => Some(Value { loc, ..value }),
            (Kind::Truth(_), _, Elem::Num(DType::I1)) => Some(value),
            (Kind::Truth(condition), _, Elem::Num(dtype)) if dtype.is_int() => {
                let condition = condition.clone();
                let numbers =
                    [1, 0].map(|number| Value::new(Kind::Integer(Polynomial::from_number(number)), loc));
                let [one, zero] = &numbers;
                let shape = self.ty(x).shape.clone();
                self.merge_values(&condition, &value.checks, (one, zero), &shape, loc)
            }
            (Kind::Integer(_), Elem::Num(_), Elem::Num(DType::I1)) if kind == CastKind::Value => {
                let mut checks = Checks::new();
                let polynomial = self.observe(x, &mut checks)?;
                let zero = Polynomial::default();
                let condition =
                    Condition::is_less(&polynomial, &zero).or(Condition::is_less(&zero, &polynomial));
                Some(Value {
                    kind: Kind::Truth(condition),
                    checks,
                    loc,
                })
            }
            (Kind::Integer(_), Elem::Num(source), Elem::Num(target)) if target.is_int() => {
                if target.bits() <= source.bits() {
                    // The low bits stay as they are.
                    return Some(value);
                }
                let mut checks = Checks::new();
                let polynomial = self.observe(x, &mut checks)?;
                Some(Value {
                    kind: Kind::Integer(polynomial),
                    checks,
                    loc: value.loc,
                })
            }
            _ => None,
        }
    }

    fn add_pointer(&mut self, pointer: ValueId, offset: ValueId, loc: LocId) -> Option<Value> {
        let base = self.get(pointer);
        let Kind::Pointer {
            parameter,
            offset: start,
        } = &base.kind
        else {
            return None;
        };
        let size = self.ty(pointer).elem.pointee()?.size() as i128;
        let mut checks = base.checks.clone();
        let by = self.observe(offset, &mut checks)?;
        Some(Value {
            kind: Kind::Pointer {
                parameter: *parameter,
                offset: start.add_scaled(&by, size)?,
            },
            checks,
            loc,
        })
    }

    /// The least or the largest of lanes: in their range.
    fn reduce_range(&mut self, x: ValueId, result: ValueId, loc: LocId) -> Option<Value> {
        let mut checks = Checks::new();
        let polynomial = self.observe(x, &mut checks)?;
        if !checks.is_empty() {
            return None;
        }
        let range = self.symbols.find_range(&polynomial, &self.ty(x).shape.clone());
        let (low, high) = (range.0?, range.1?);
        let shape = self.ty(result).shape.clone();
        let unknown = self.make_unknown(&shape, loc, Cause::Computed, (low, high));
        Some(Value::new(Kind::Integer(unknown), loc))
    }
}

/// The number that bits are.
fn decode(bits: u64, dtype: DType) -> i128 {
    let width = dtype.bits();
    let number = i128::from(bits) & ((1i128 << width) - 1);
    let is_negative = dtype.is_signed_int() && number >> (width - 1) & 1 == 1;
    if is_negative {
        number - (1i128 << width)
    } else {
        number
    }
}
