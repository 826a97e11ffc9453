//! Evaluates a kernel with unknown arguments: every integer becomes a polynomial of unknowns, and every access is listed with its
//! address, its mask, and the conditions under which it is reached.
//!
//! A value that has no model becomes an unknown of its dtype's range. Integers are exact modulo their width, so only a use that
//! depends on more than the low bits (a comparison, a division, an offset that is widened) requires that they don't wrap.

mod arithmetic;
mod control;
mod movement;

use cerith_tile::DType;
use cerith_tile::ir::{Block, Elem, Function, LocId, OpKind, Operation, Shape, Type, ValueId};
use std::collections::BTreeSet;

use crate::condition::Condition;
use crate::contract::{Contract, Size};
use crate::polynomial::{Polynomial, SymbolId};
use crate::symbol::{Alternative, Cause, Origin, Symbol, Symbols};
use crate::value::{Checks, Kind, RangeCheck, Value, add_check, find_dtype_range, merge_checks};

/// Maximum number of operations that are evaluated, repetitions of loop bodies included.
const MAX_OPERATIONS: usize = 40_000;

/// Maximum number of symbols.
const MAX_SYMBOLS: usize = 20_000;

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccessKind {
    /// A load.
    Load,
    /// A store.
    Store,
    /// An atomic.
    Atomic,
}

/// A condition under which an operation is reached.
#[derive(Clone, Debug)]
pub struct Guard {
    /// The condition.
    pub condition: Condition,
    /// It holds only if these integers don't wrap.
    pub checks: Checks,
}

/// An access.
#[derive(Clone, Debug)]
pub struct Access {
    /// The operation.
    pub loc: LocId,
    /// Its kind.
    pub kind: AccessKind,
    /// Its lanes.
    pub shape: Shape,
    /// Bytes of an element.
    pub size: usize,
    /// The parameter and the offset in bytes; `None` if the address is unknown.
    pub address: Option<(usize, Polynomial)>,
    /// The integers of the address that must not wrap.
    pub checks: Checks,
    /// Conditions, the outermost first; the mask is the last one.
    pub guards: Vec<Guard>,
}

/// An integer division, or a loop whose step must be at least 1.
#[derive(Clone, Debug)]
pub struct Divisor {
    /// The operation.
    pub loc: LocId,
    /// The divisor or the step.
    pub value: Polynomial,
    /// Whether it is the step of a loop.
    pub is_step: bool,
    /// The lanes.
    pub shape: Shape,
    /// Conditions, the outermost first.
    pub guards: Vec<Guard>,
    /// Integers that must not wrap.
    pub checks: Checks,
}

/// A kernel's accesses, and all unknowns in them.
#[derive(Debug)]
pub struct Evaluation {
    /// The unknowns.
    pub symbols: Symbols,
    /// In the order of the text; an access in a function that is called twice is there twice.
    pub accesses: Vec<Access>,
    /// Divisions by something other than a number, and steps of loops.
    pub divisors: Vec<Divisor>,
    /// Conditions that the contract states.
    pub facts: Vec<Condition>,
    /// The number of elements of each tensor parameter, if the contract states it.
    pub elements: Vec<Option<Polynomial>>,
    /// Whether a limit ended the evaluation early: then accesses are missing.
    pub is_cut: bool,
    /// The values of the kernel, those of loops as in any iteration.
    pub values: Vec<Option<Value>>,
    /// The number of programs on each axis, if the contract states it.
    pub grid: [Option<Polynomial>; 3],
}

/// Evaluates a kernel under a contract.
pub fn evaluate(function: &Function, contract: &Contract) -> Evaluation {
    let mut evaluator = Evaluator {
        function,
        contract,
        symbols: Symbols::default(),
        values: vec![None; function.values.len()],
        guards: Vec::new(),
        accesses: Vec::new(),
        divisors: Vec::new(),
        is_trial: false,
        operations: 0,
        counter: 0,
        facts: Vec::new(),
        is_cut: false,
        parameters: BTreeSet::new(),
    };
    evaluator.bind_parameters();
    let elements = function.params.iter().map(|parameter| {
        let size = contract.elements.get(&parameter.name)?;
        evaluator.convert_size(size)
    });
    let elements: Vec<Option<Polynomial>> = elements.collect();
    evaluator.add_contract_facts();
    evaluator.evaluate_block(&function.body);
    let grid = [0, 1, 2].map(|axis| evaluator.find_programs(axis));
    Evaluation {
        symbols: evaluator.symbols,
        accesses: evaluator.accesses,
        divisors: evaluator.divisors,
        facts: evaluator.facts,
        elements,
        is_cut: evaluator.is_cut,
        values: evaluator.values,
        grid,
    }
}

struct Evaluator<'a> {
    function: &'a Function,
    contract: &'a Contract,
    symbols: Symbols,
    values: Vec<Option<Value>>,
    guards: Vec<Guard>,
    accesses: Vec<Access>,
    divisors: Vec<Divisor>,
    /// Whether a loop's body is evaluated only to see what it changes.
    is_trial: bool,
    operations: usize,
    counter: u32,
    facts: Vec<Condition>,
    is_cut: bool,
    /// Names of integer parameters.
    parameters: BTreeSet<String>,
}

impl Evaluator<'_> {
    fn bind_parameters(&mut self) {
        for (nth, parameter) in self.function.params.iter().enumerate() {
            let ty = self.function.ty(parameter.value);
            let kind = match ty.elem {
                Elem::Ptr { .. } => Kind::Pointer {
                    parameter: nth,
                    offset: Polynomial::default(),
                },
                Elem::Num(DType::I1) => Kind::Truth(Condition::Unknown),
                Elem::Num(dtype) if dtype.is_int() => {
                    self.parameters.insert(parameter.name.clone());
                    Kind::Integer(self.name_size(&parameter.name, find_dtype_range(dtype)))
                }
                Elem::Num(_) => Kind::Unknown,
            };
            self.set(parameter.value, Value::new(kind, LocId(0)));
        }
    }

    /// The symbol of a size, with the range that the contract gives or this one.
    fn name_size(&mut self, name: &str, (low, high): (i128, i128)) -> Polynomial {
        let range = self.contract.ranges.get(name);
        let (low, high) = range.map_or((low, high), |&(least, most)| {
            (low.max(i128::from(least)), high.min(i128::from(most)))
        });
        let id = self
            .symbols
            .intern(Origin::Size(name.to_owned()), |origin| Symbol {
                low: Some(low),
                high: Some(high),
                ..Symbol::new(origin)
            });
        Polynomial::from_symbol(id)
    }

    fn convert_size(&mut self, size: &Size) -> Option<Polynomial> {
        match size {
            Size::Number(number) => Some(Polynomial::from_number(i128::from(*number))),
            Size::Name(name) => {
                let range = find_dtype_range(DType::I64);
                Some(self.name_size(name, (0, range.1)))
            }
            Size::Sum(parts) => parts.iter().try_fold(Polynomial::default(), |sum, part| {
                sum.add(&self.convert_size(part)?)
            }),
            Size::Product(parts) => parts
                .iter()
                .try_fold(Polynomial::from_number(1), |product, part| {
                    product.mul(&self.convert_size(part)?)
                }),
            Size::Cdiv(a, b) => {
                let (a, b) = (self.convert_size(a)?, self.convert_size(b)?);
                let sum = a.add(&b)?.add_number(-1)?;
                self.divide(&sum, &b)
            }
        }
    }

    fn add_contract_facts(&mut self) {
        for (small, large) in &self.contract.orders {
            if let Some((a, b)) = self.convert_size(small).zip(self.convert_size(large)) {
                self.facts.push(Condition::at_most(&a, &b));
            }
        }
        for (name, &factor) in &self.contract.multiples {
            let range = find_dtype_range(DType::I64);
            let size = self.name_size(name, (0, range.1));
            let by = Polynomial::from_number(i128::from(factor));
            let quotient = self.divide(&size, &by).and_then(|quotient| quotient.mul(&by));
            if let Some(product) = quotient {
                self.facts.push(Condition::are_equal(&product, &size));
            }
        }
    }

    fn set(&mut self, id: ValueId, value: Value) {
        if let Some(to) = self.values.get_mut(id.0 as usize) {
            *to = Some(value);
        }
    }

    fn get(&self, id: ValueId) -> Value {
        let known = self.values.get(id.0 as usize).cloned().flatten();
        known.unwrap_or_else(|| Value::new(Kind::Unknown, LocId(0)))
    }

    fn ty(&self, id: ValueId) -> &Type {
        self.function.ty(id)
    }

    fn dtype(&self, id: ValueId) -> Option<DType> {
        self.ty(id).elem.num()
    }

    fn evaluate_block(&mut self, block: &Block) -> Vec<ValueId> {
        for op in &block.ops {
            self.operations += 1;
            if self.operations > MAX_OPERATIONS || self.symbols.len() > MAX_SYMBOLS {
                self.is_cut = true;
                return Vec::new();
            }
            if op.kind == OpKind::Yield {
                return op.operands.to_vec();
            }
            self.evaluate_operation(op);
        }
        Vec::new()
    }

    fn evaluate_operation(&mut self, op: &Operation) {
        match &op.kind {
            OpKind::For { body } => return self.evaluate_for(op, body),
            OpKind::While { before, after } => return self.evaluate_while(op, before, after),
            OpKind::If {
                then_block,
                else_block,
            } => return self.evaluate_if(op, then_block, else_block),
            OpKind::Load { mask, .. } => {
                let mask = mask.then(|| op.operands.get(1).copied()).flatten();
                self.list_access(op, AccessKind::Load, mask);
            }
            OpKind::Store { mask } => {
                let mask = mask.then(|| op.operands.get(2).copied()).flatten();
                self.list_access(op, AccessKind::Store, mask);
            }
            OpKind::AtomicRmw { mask, .. } => {
                let mask = mask.then(|| op.operands.get(2).copied()).flatten();
                self.list_access(op, AccessKind::Atomic, mask);
            }
            OpKind::AtomicCas { .. } | OpKind::AtomicPoll { .. } => {
                self.list_access(op, AccessKind::Atomic, None);
            }
            OpKind::Assume => {
                if let Some(&condition) = op.operands.first() {
                    self.add_guard(condition);
                }
            }
            OpKind::Reduce { region, .. } | OpKind::Scan { region, .. } => {
                // Accesses in combine functions would be missing.
                let mut accesses = false;
                region.visit_operations(&mut |one| accesses |= one.kind.accesses_memory());
                self.is_cut |= accesses;
            }
            _ => {}
        }
        let value = self.compute(op);
        match (value, op.results.first()) {
            (Some(value), Some(&result)) => self.set(result, value),
            (None, Some(_)) => {
                let cause = match op.kind {
                    OpKind::Load { .. }
                    | OpKind::AtomicRmw { .. }
                    | OpKind::AtomicCas { .. }
                    | OpKind::AtomicPoll { .. } => Cause::Loaded,
                    _ => Cause::Computed,
                };
                for &result in &op.results {
                    let unknown = self.make_opaque(result, op.loc, cause);
                    self.set(result, unknown);
                }
            }
            _ => {}
        }
    }

    /// A value with the range of its dtype and no other fact.
    fn make_opaque(&mut self, id: ValueId, loc: LocId, cause: Cause) -> Value {
        let ty = self.ty(id).clone();
        let kind = match ty.elem {
            Elem::Num(DType::I1) => Kind::Truth(Condition::Unknown),
            Elem::Num(dtype) if dtype.is_int() => {
                let range = find_dtype_range(dtype);
                Kind::Integer(self.make_unknown(&ty.shape, loc, cause, range))
            }
            Elem::Num(_) | Elem::Ptr { .. } => Kind::Unknown,
        };
        Value::new(kind, loc)
    }

    /// A new unknown, one for each lane of a shape.
    fn make_unknown(
        &mut self,
        shape: &Shape,
        loc: LocId,
        cause: Cause,
        (low, high): (i128, i128),
    ) -> Polynomial {
        self.counter += 1;
        let origin = Origin::Opaque(self.counter, loc, cause);
        let id = self.symbols.intern(origin, |origin| Symbol {
            low: Some(low),
            high: Some(high),
            dims: list_dims(shape),
            ..Symbol::new(origin)
        });
        Polynomial::from_symbol(id)
    }

    /// A symbol with one of these values. Which one follows from lanes in conditions and values.
    fn make_choice(&mut self, alternatives: Vec<Alternative>) -> Polynomial {
        self.make_choice_of_lanes(alternatives, BTreeSet::new())
    }

    /// A symbol with one of these values, perhaps another one in each lane of these dimensions.
    fn make_choice_of_lanes(&mut self, alternatives: Vec<Alternative>, mut dims: BTreeSet<u8>) -> Polynomial {
        if let [first, rest @ ..] = alternatives.as_slice()
            && rest.iter().all(|one| one.value == first.value)
        {
            return first.value.clone();
        }
        for one in &alternatives {
            dims.extend(self.symbols.find_dims(&one.value));
            dims.extend(find_condition_dims(&self.symbols, &one.condition));
        }
        self.counter += 1;
        let id = self
            .symbols
            .intern(Origin::Choice(self.counter), |origin| Symbol {
                alternatives,
                dims,
                ..Symbol::new(origin)
            });
        Polynomial::from_symbol(id)
    }

    fn add_guard(&mut self, condition: ValueId) {
        let value = self.get(condition);
        // A block's condition would have to hold for the same lanes as those of an access: only scalars are used.
        if let Kind::Truth(condition) = value.kind
            && condition.is_known()
            && find_condition_dims(&self.symbols, &condition).is_empty()
        {
            self.guards.push(Guard {
                condition,
                checks: value.checks,
            });
        }
    }

    fn list_access(&mut self, op: &Operation, kind: AccessKind, mask: Option<ValueId>) {
        if self.is_trial {
            return;
        }
        let Some(&pointer) = op.operands.first() else {
            return;
        };
        let ty = self.ty(pointer).clone();
        let value = self.get(pointer);
        let mut guards = self.guards.clone();
        if let Some(mask) = mask {
            let mask = self.get(mask);
            if let Kind::Truth(condition) = mask.kind {
                guards.push(Guard {
                    condition,
                    checks: mask.checks,
                });
            }
        }
        self.accesses.push(Access {
            loc: op.loc,
            kind,
            size: ty.elem.pointee().map_or(1, Elem::size),
            shape: ty.shape,
            address: match value.kind {
                Kind::Pointer { parameter, offset } => Some((parameter, offset)),
                _ => None,
            },
            checks: value.checks,
            guards,
        });
    }

    /// The integer that a value is, with the check that it doesn't wrap, unless its range shows that.
    fn observe(&mut self, id: ValueId, checks: &mut Checks) -> Option<Polynomial> {
        let value = self.get(id);
        let Kind::Integer(polynomial) = value.kind else {
            return None;
        };
        merge_checks(checks, &value.checks);
        let dtype = self.dtype(id)?;
        let (least, most) = find_dtype_range(dtype);
        let shape = self.ty(id).shape.clone();
        let (low, high) = self.symbols.find_range(&polynomial, &shape);
        if low.is_none_or(|low| low < least) || high.is_none_or(|high| high > most) {
            let check = RangeCheck {
                value: polynomial.clone(),
                dtype,
                loc: value.loc,
                id: Some(id),
            };
            add_check(checks, check);
        }
        Some(polynomial)
    }
}

/// The dimensions of a shape with more than one lane.
fn list_dims(shape: &Shape) -> BTreeSet<u8> {
    let dims = shape.iter().enumerate().filter(|&(_, &extent)| extent > 1);
    dims.map(|(dim, _)| dim as u8).collect()
}

fn find_condition_dims(symbols: &Symbols, condition: &Condition) -> BTreeSet<u8> {
    match condition {
        Condition::True | Condition::False | Condition::Unknown => BTreeSet::new(),
        Condition::AtLeastZero(polynomial) => symbols.find_dims(polynomial),
        Condition::All(parts) | Condition::Any(parts) => parts
            .iter()
            .flat_map(|part| find_condition_dims(symbols, part))
            .collect(),
    }
}

/// Whether a polynomial has a symbol that was made after a number of symbols, and that depends on more than older ones.
fn depends_on_later(symbols: &Symbols, polynomial: &Polynomial, first: usize) -> bool {
    polynomial
        .symbols()
        .into_iter()
        .any(|id| is_later(symbols, id, first))
}

fn is_later(symbols: &Symbols, id: SymbolId, first: usize) -> bool {
    if (id.0 as usize) < first {
        return false;
    }
    let Some(symbol) = symbols.get(id) else {
        return true;
    };
    match &symbol.origin {
        Origin::Size(_) | Origin::Program(_) | Origin::Lane(_) => false,
        Origin::Quotient(a, b) => depends_on_later(symbols, a, first) || depends_on_later(symbols, b, first),
        Origin::Moved(of, _) => is_later(symbols, *of, first),
        Origin::Turn(_) | Origin::Opaque(..) | Origin::Choice(_) => true,
    }
}
