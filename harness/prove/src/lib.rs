//! Proofs for all sizes: every access of a kernel is inside of its tensor, no integer that an address or a mask depends on wraps,
//! no divisor is 0, and every loop's step is at least 1.
//!
//! [`prove`] takes a traced kernel and a [`Contract`]: the number of elements of each tensor, the grid, and the ranges of sizes.
//! The kernel is evaluated with unknown arguments (`evaluation`), and each obligation is decided from facts about
//! them (`decide`). Blocks and other values that the kernel was compiled for are numbers.
//!
//! An unproved obligation is unknown: nothing here shows that a launch fails. Content of tensors is unknown, so an index that was
//! loaded is in bounds only if a mask or the kernel's arithmetic bounds it. Contracts come from callers.
//!
//! This crate does no IO and never panics on any input.
#![warn(missing_docs)]

mod combination;
mod condition;
pub mod contract;
mod decide;
mod evaluation;
pub mod exact;
pub mod overflow;
mod point;
mod polynomial;
mod rational;
mod symbol;
mod text;
mod value;

use std::collections::BTreeMap;

use cerith_tile::DType;
use cerith_tile::ir::{Function, LocId, Shape};

use self::condition::Condition;
pub use self::contract::{Assumption, Contract, Size, Source};
use self::decide::{Context, Decider};
pub use self::evaluation::AccessKind;
use self::evaluation::{Access, Divisor, Evaluation, Guard, evaluate};
use self::polynomial::Polynomial;
use self::symbol::{Cause, Origin};
use self::text::Names;
use self::value::{Checks, find_dtype_range};

/// Linear programs for one obligation.
const GOAL_BUDGET: usize = 40;

/// Linear programs for one kernel: some seconds.
pub const KERNEL_BUDGET: usize = 2_000;

/// Stack for terms that depend on each other.
pub(crate) const STACK: usize = 16 << 20;

/// For which tensors something holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sizes {
    /// All that the contract allows.
    All,
    /// Those in which every tensor has fewer than 2^31 elements.
    Below2Pow31,
}

/// The answer to one obligation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It holds.
    Proved(Sizes),
    /// It is not known whether it holds.
    Unknown(Reason),
}

/// The reason why something is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The address isn't that of a parameter plus an integer.
    Address,
    /// The contract doesn't state the number of elements of this tensor.
    Elements(String),
    /// It depends on a value from memory, which was loaded here.
    Loaded(LocId),
    /// It depends on a value that a loop computes.
    Carried(LocId),
    /// It depends on an operation without a model.
    Computed(LocId),
    /// The offset in elements isn't shown to be at least 0.
    Negative(String),
    /// The offset in elements isn't shown to be below the number of elements.
    Past {
        /// The offset.
        offset: String,
        /// The number of elements.
        elements: String,
    },
    /// The integer isn't shown to be in the range of its dtype.
    Wraps {
        /// The integer.
        value: String,
        /// Its dtype.
        dtype: DType,
    },
    /// The divisor or the step isn't shown to be at least 1.
    NotPositive(String),
}

/// The kind of an obligation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObligationKind {
    /// An access is inside of its tensor.
    InBounds(AccessKind),
    /// An integer that an address or a mask depends on doesn't wrap.
    NoWrap,
    /// A divisor is not 0.
    Divisor,
    /// The step of a loop is at least 1.
    Step,
}

/// Something to prove, with the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obligation {
    /// Its kind.
    pub kind: ObligationKind,
    /// The operation.
    pub loc: LocId,
    /// The parameter of an access.
    pub tensor: Option<String>,
    /// The integer that must not wrap.
    pub value: Option<String>,
    /// The answer.
    pub answer: Answer,
    /// For an access: the sizes for which the integers of its address and masks don't wrap. `None` if a proof holds only where they don't.
    pub exact: Option<Sizes>,
}

impl Obligation {
    /// For which sizes it holds, integers that must not wrap included.
    pub fn proved(&self) -> Option<Sizes> {
        match (&self.answer, self.kind) {
            (Answer::Proved(sizes), ObligationKind::InBounds(_)) => join_sizes(Some(*sizes), self.exact),
            (Answer::Proved(sizes), _) => Some(*sizes),
            (Answer::Unknown(_), _) => None,
        }
    }
}

/// The obligations of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Accesses first, in the order of the text.
    pub obligations: Vec<Obligation>,
    /// Whether a limit ended the evaluation: then some are missing.
    pub is_cut: bool,
}

/// Proves what can be proved of a kernel.
pub fn prove(function: &Function, contract: &Contract) -> Proof {
    prove_within(function, contract, KERNEL_BUDGET)
}

/// Proves what can be proved of a kernel with at most `budget` linear programs.
pub fn prove_within(function: &Function, contract: &Contract, budget: usize) -> Proof {
    stacker::maybe_grow(STACK, STACK, || {
        let evaluation = evaluate(function, contract);
        let mut prover = Prover {
            function,
            evaluation: &evaluation,
            small: list_small(&evaluation),
            budget,
            answers: BTreeMap::new(),
            wraps: BTreeMap::new(),
        };
        prover.prove_all()
    })
}

/// Conditions: every tensor has fewer than 2^31 elements.
fn list_small(evaluation: &Evaluation) -> Vec<Condition> {
    let most = Polynomial::from_number(i128::from(i32::MAX));
    let elements = evaluation.elements.iter().flatten();
    elements.map(|count| Condition::at_most(count, &most)).collect()
}

/// The sizes for which both hold.
fn join_sizes(a: Option<Sizes>, b: Option<Sizes>) -> Option<Sizes> {
    a.zip(b).map(|(a, b)| a.max(b))
}

/// A check with the conditions that hold where it is needed.
type CheckKey = (Polynomial, DType, Vec<Condition>, Shape);

struct Prover<'a> {
    function: &'a Function,
    evaluation: &'a Evaluation,
    small: Vec<Condition>,
    budget: usize,
    answers: BTreeMap<CheckKey, Option<Sizes>>,
    /// Integers that must not wrap, by their operations, with the answers.
    wraps: BTreeMap<(LocId, String), Answer>,
}

impl Prover<'_> {
    fn prove_all(&mut self) -> Proof {
        let mut obligations = Vec::new();
        for access in &self.evaluation.accesses {
            obligations.push(self.prove_access(access));
        }
        for divisor in &self.evaluation.divisors {
            obligations.push(self.prove_divisor(divisor));
        }
        let wraps = std::mem::take(&mut self.wraps);
        obligations.extend(wraps.into_iter().map(|((loc, value), answer)| Obligation {
            kind: ObligationKind::NoWrap,
            loc,
            tensor: None,
            value: Some(value),
            answer,
            exact: None,
        }));
        Proof {
            obligations,
            is_cut: self.evaluation.is_cut || self.budget == 0,
        }
    }

    /// Decides a goal, for all sizes or for small ones.
    fn decide(&mut self, goal: &Polynomial, context: &mut Context) -> Option<Sizes> {
        if self.decide_one(goal, context) {
            return Some(Sizes::All);
        }
        let length = context.conditions.len();
        context.conditions.extend(self.small.iter().cloned());
        let holds = self.decide_one(goal, context);
        context.conditions.truncate(length);
        holds.then_some(Sizes::Below2Pow31)
    }

    fn decide_one(&mut self, goal: &Polynomial, context: &Context) -> bool {
        let budget = self.budget.min(GOAL_BUDGET);
        let mut decider = Decider::new(&self.evaluation.symbols, budget);
        let holds = decider.is_at_least_zero(goal, context);
        self.budget = self.budget.saturating_sub(budget - decider.budget);
        holds
    }

    /// Adds guards to a context one after the other. Returns for which sizes none of their integers wraps.
    fn enter_guards(&mut self, guards: &[Guard], context: &mut Context) -> Option<Sizes> {
        let mut sizes = Some(Sizes::All);
        for guard in guards {
            let exact = self.prove_checks(&guard.checks, context);
            sizes = join_sizes(sizes, exact);
            context.conditions.push(guard.condition.clone());
        }
        sizes
    }

    fn prove_checks(&mut self, checks: &Checks, context: &mut Context) -> Option<Sizes> {
        let mut sizes = Some(Sizes::All);
        for check in checks {
            let key = (
                check.value.clone(),
                check.dtype,
                context.conditions.clone(),
                context.shape.clone(),
            );
            let known = self.answers.get(&key).copied();
            let answer = known.unwrap_or_else(|| {
                let (least, most) = find_dtype_range(check.dtype);
                let above = least
                    .checked_neg()
                    .and_then(|least| check.value.add_number(least));
                let below = check
                    .value
                    .scale(-1)
                    .and_then(|negative| negative.add_number(most));
                context.uses_ranges = true;
                let mut decide = |goal: Option<Polynomial>| goal.and_then(|goal| self.decide(&goal, context));
                let answer = join_sizes(decide(below), decide(above));
                context.uses_ranges = false;
                self.answers.insert(key, answer);
                answer
            });
            sizes = join_sizes(sizes, answer);
            let value = Names::new(self.function, &self.evaluation.symbols).write(&check.value);
            let answer = match answer {
                Some(sizes) => Answer::Proved(sizes),
                None => Answer::Unknown(Reason::Wraps {
                    value: value.clone(),
                    dtype: check.dtype,
                }),
            };
            let known = self
                .wraps
                .entry((check.loc, value))
                .or_insert_with(|| answer.clone());
            // The weakest answer counts.
            match (&known, &answer) {
                (Answer::Proved(_), Answer::Unknown(_)) => *known = answer,
                (Answer::Proved(a), Answer::Proved(b)) if b > a => *known = answer,
                _ => {}
            }
        }
        sizes
    }

    fn prove_access(&mut self, access: &Access) -> Obligation {
        let mut context = Context {
            conditions: self.evaluation.facts.clone(),
            shape: access.shape.clone(),
            uses_ranges: false,
        };
        let guarded = self.enter_guards(&access.guards, &mut context);
        let exact = self.prove_checks(&access.checks, &mut context);
        let exact = join_sizes(guarded, exact);
        let parameter = access.address.as_ref().map(|(parameter, _)| *parameter);
        let tensor = parameter
            .and_then(|nth| self.function.params.get(nth))
            .map(|parameter| parameter.name.clone());
        Obligation {
            kind: ObligationKind::InBounds(access.kind),
            loc: access.loc,
            tensor: tensor.clone(),
            value: None,
            answer: self.prove_bounds(access, tensor, &mut context),
            exact,
        }
    }

    fn prove_bounds(&mut self, access: &Access, tensor: Option<String>, context: &mut Context) -> Answer {
        let Some((parameter, offset)) = &access.address else {
            return Answer::Unknown(Reason::Address);
        };
        let Some(elements) = self.evaluation.elements.get(*parameter).cloned().flatten() else {
            return Answer::Unknown(Reason::Elements(tensor.unwrap_or_default()));
        };
        let size = access.size.max(1) as i128;
        let from_start = self.decide(offset, context);
        let Some(first) = from_start else {
            return Answer::Unknown(self.explain(offset, |offset| Reason::Negative(offset.to_owned()), size));
        };
        let pointee = self.find_pointee_size(*parameter);
        let room = elements
            .scale(pointee)
            .and_then(|bytes| bytes.sub(offset))
            .and_then(|rest| rest.add_number(-size));
        let to_end = room.and_then(|room| self.decide(&room, context));
        if let Some(second) = to_end {
            return Answer::Proved(first.max(second));
        }
        let written = Names::new(self.function, &self.evaluation.symbols).write(&elements);
        Answer::Unknown(self.explain(
            offset,
            |offset| Reason::Past {
                offset: offset.to_owned(),
                elements: written.clone(),
            },
            size,
        ))
    }

    fn find_pointee_size(&self, parameter: usize) -> i128 {
        let parameter = self.function.params.get(parameter);
        let elem = parameter.map(|parameter| self.function.ty(parameter.value).elem);
        elem.and_then(cerith_tile::ir::Elem::pointee)
            .map_or(1, |pointee| pointee.size().max(1) as i128)
    }

    /// The reason why an offset in bytes has no bound: an unknown in it, or the offset itself.
    fn explain(&self, offset: &Polynomial, reason: impl Fn(&str) -> Reason, size: i128) -> Reason {
        let mut queue: Vec<_> = offset.symbols().into_iter().collect();
        let mut seen = std::collections::BTreeSet::new();
        while let Some(id) = queue.pop() {
            if !seen.insert(id) {
                continue;
            }
            let Some(symbol) = self.evaluation.symbols.get(id) else {
                continue;
            };
            match &symbol.origin {
                Origin::Opaque(_, loc, Cause::Loaded) => return Reason::Loaded(*loc),
                Origin::Opaque(_, loc, Cause::Carried) => return Reason::Carried(*loc),
                Origin::Opaque(_, loc, Cause::Computed) => return Reason::Computed(*loc),
                Origin::Moved(of, _) => queue.push(*of),
                Origin::Quotient(a, b) => queue.extend(a.symbols().into_iter().chain(b.symbols())),
                _ => queue.extend(symbol.alternatives.iter().flat_map(|one| one.value.symbols())),
            }
        }
        let names = Names::new(self.function, &self.evaluation.symbols);
        let elements = offset.divide_exactly(size);
        reason(&names.write(elements.as_ref().unwrap_or(offset)))
    }

    fn prove_divisor(&mut self, divisor: &Divisor) -> Obligation {
        let mut context = Context {
            conditions: self.evaluation.facts.clone(),
            shape: divisor.shape.clone(),
            uses_ranges: false,
        };
        let guarded = self.enter_guards(&divisor.guards, &mut context);
        let exact = self.prove_checks(&divisor.checks, &mut context);
        let positive = divisor.value.add_number(-1);
        let holds = positive.and_then(|positive| self.decide(&positive, &mut context));
        let sizes = join_sizes(join_sizes(guarded, exact), holds);
        let names = Names::new(self.function, &self.evaluation.symbols);
        Obligation {
            kind: if divisor.is_step {
                ObligationKind::Step
            } else {
                ObligationKind::Divisor
            },
            loc: divisor.loc,
            tensor: None,
            value: None,
            answer: sizes.map_or_else(
                || Answer::Unknown(Reason::NotPositive(names.write(&divisor.value))),
                Answer::Proved,
            ),
            exact: None,
        }
    }
}
