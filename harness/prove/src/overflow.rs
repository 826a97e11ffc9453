//! Chooses launches in which an integer of 32 bits wraps, the smallest first: one stride is made large, or one size, or two.
//!
//! A choice is a guess about one execution, from exact integers: a caller executes it and accepts it only if it fails.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Block, Elem, Function, LocId, OpKind, Operation, ValueId};

use crate::condition::Condition;
use crate::contract::{Contract, Size};
use crate::evaluation::{Access, Evaluation, evaluate};
use crate::point::{Point, collect_symbols, list_condition_symbols};
use crate::polynomial::{Polynomial, SymbolId};
use crate::symbol::Origin;
use crate::text::Names;
use crate::value::{Kind, RangeCheck, find_dtype_range};

/// Symbols that are evaluated for one kernel.
const KERNEL_BUDGET: usize = 4_000_000;

/// Symbols that are evaluated for one integer.
const CHECK_BUDGET: usize = 600_000;

/// Integers of one kernel.
const MAX_CHECKS: usize = 48;

/// Launches that are tried for one integer.
const MAX_TRIALS: usize = 4;

/// Sets of names that are made large for one integer.
const MAX_SUBSETS: usize = 24;

/// More variables than this have all of them at an end of their range at once.
const MAX_CORNERS: usize = 3;

/// A loop has at most so many iterations.
const MAX_TURNS: i128 = 1 << 40;

/// Expressions are looked through so deep for a variable to cast.
const MAX_DEPTH: usize = 8;

/// Values that other sizes get, if the integer still wraps.
const SMALL: [i64; 6] = [2, 3, 4, 8, 16, 32];

/// A stride that wraps with three rows.
const LARGE_STRIDE: i64 = 1 << 30;

/// The values that a search may choose.
#[derive(Clone, Debug, Default)]
pub struct Freedom {
    /// The values of names in an ordinary launch.
    pub start: BTreeMap<String, i64>,
    /// The names that may change, with their least and largest values.
    pub ranges: BTreeMap<String, (i64, i64)>,
    /// Names that are strides.
    pub strides: BTreeSet<String>,
    /// Names whose values follow from others.
    pub ties: Vec<(String, Size)>,
}

impl Freedom {
    /// All values of a launch, from those that were chosen.
    pub fn complete(&self, chosen: &BTreeMap<String, i64>) -> BTreeMap<String, i64> {
        let mut all = self.start.clone();
        all.extend(chosen.iter().map(|(name, &value)| (name.clone(), value)));
        for (name, size) in &self.ties {
            if let Some(value) = size.evaluate(&all) {
                all.insert(name.clone(), value);
            }
        }
        all
    }
}

/// An integer that wraps in a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrap {
    /// The operation that must not wrap.
    pub loc: LocId,
    /// Its value, as in the reason of the obligation.
    pub value: String,
    /// The first operation that wraps in this launch.
    pub first: LocId,
    /// An operand of it that a cast would widen.
    pub operand: Option<ValueId>,
    /// The dtype of the first operation that wraps.
    pub dtype: DType,
    /// Its exact value.
    pub exact: i128,
    /// The names that were made large.
    pub large: Vec<String>,
    /// The values of all names.
    pub sizes: BTreeMap<String, i64>,
    /// The program.
    pub program: [i64; 3],
    /// The access that it decides.
    pub access: LocId,
}

/// Decides about launches.
pub trait Trial {
    /// Whether launches for an integer are of interest.
    fn is_wanted(&self, loc: LocId) -> bool;

    /// Whether a launch with these values can be made.
    fn accepts(&self, sizes: &BTreeMap<String, i64>) -> bool;

    /// Makes the launch. Returns whether it shows that the integer wraps.
    fn replay(&mut self, wrap: &Wrap) -> bool;
}

/// Looks for launches in which integers wrap. Returns the number of integers that were not searched.
pub fn find_wraps(
    function: &Function,
    contract: &Contract,
    freedom: &Freedom,
    trial: &mut dyn Trial,
) -> usize {
    stacker::maybe_grow(crate::STACK, crate::STACK, || {
        let evaluation = evaluate(function, contract);
        let budget = Cell::new(0);
        let mut search = Search {
            function,
            evaluation: &evaluation,
            freedom,
            definitions: list_definitions(&function.body),
            budget: &budget,
            left: KERNEL_BUDGET,
        };
        search.run(trial)
    })
}

/// An integer with the conditions under which it decides an access.
struct Target<'a> {
    check: &'a RangeCheck,
    conditions: Vec<&'a Condition>,
    access: &'a Access,
    /// The symbols that it and the conditions depend on.
    used: BTreeSet<SymbolId>,
}

struct Search<'a> {
    function: &'a Function,
    evaluation: &'a Evaluation,
    freedom: &'a Freedom,
    definitions: BTreeMap<ValueId, &'a Operation>,
    budget: &'a Cell<usize>,
    /// Symbols that may still be evaluated for this kernel.
    left: usize,
}

/// A program, lanes and iterations, with the exact value of an integer.
struct Witness<'a> {
    point: Point<'a>,
    program: [i64; 3],
}

impl<'a> Search<'a> {
    fn run(&mut self, trial: &mut dyn Trial) -> usize {
        let targets = self.list_targets();
        let mut missed = 0;
        let mut looked_at = 0;
        for target in targets {
            if !trial.is_wanted(target.check.loc) {
                continue;
            }
            if looked_at >= MAX_CHECKS || self.left == 0 {
                missed += 1;
                continue;
            }
            looked_at += 1;
            let names = Names::new(self.function, &self.evaluation.symbols);
            let text = names.write(&target.check.value);
            let budget = CHECK_BUDGET.min(self.left);
            self.budget.set(budget);
            self.search(&target, &text, trial);
            self.left = self.left.saturating_sub(budget - self.budget.get());
        }
        missed
    }

    /// The integers that decide accesses, each with the first access that it decides.
    fn list_targets(&self) -> Vec<Target<'a>> {
        let mut targets: Vec<Target<'a>> = Vec::new();
        for access in &self.evaluation.accesses {
            let mut conditions: Vec<&Condition> = self.evaluation.facts.iter().collect();
            let groups = access
                .guards
                .iter()
                .map(|guard| (&guard.checks, Some(&guard.condition)));
            for (checks, condition) in groups.chain([(&access.checks, None)]) {
                for check in checks {
                    let is_known =
                        |one: &Target<'_>| one.check.loc == check.loc && one.check.value == check.value;
                    if check.dtype.bits() <= 32 && !targets.iter().any(is_known) {
                        let used = self.collect_used(&check.value, &conditions);
                        targets.push(Target {
                            check,
                            conditions: conditions.clone(),
                            access,
                            used,
                        });
                    }
                }
                conditions.extend(condition);
            }
        }
        targets
    }

    fn search(&self, target: &Target<'a>, text: &str, trial: &mut dyn Trial) {
        let subsets = self.list_subsets(target);
        let mut tried: Vec<BTreeMap<String, i64>> = Vec::new();
        for subset in subsets {
            if tried.len() >= MAX_TRIALS || self.budget.get() == 0 {
                return;
            }
            let Some(chosen) = self.choose(target, &subset, trial) else {
                continue;
            };
            let sizes = self.freedom.complete(&chosen);
            if tried.contains(&sizes) {
                continue;
            }
            let Some(witness) = self.find_witness(target, &sizes) else {
                continue;
            };
            let Some(wrap) = self.describe(target, text, &subset, &sizes, &witness) else {
                continue;
            };
            if trial.replay(&wrap) {
                return;
            }
            tried.push(sizes);
        }
    }

    /// The symbols that an integer, the conditions of its access and the grid depend on.
    fn collect_used(&self, value: &Polynomial, conditions: &[&Condition]) -> BTreeSet<SymbolId> {
        let conditions = conditions.iter().flat_map(|one| list_condition_symbols(one));
        let of_grid = self.evaluation.grid.iter().flatten();
        let of_grid = of_grid.flat_map(Polynomial::symbols);
        let all = value.symbols().into_iter().chain(conditions).chain(of_grid);
        collect_symbols(&self.evaluation.symbols, all)
    }

    /// The names to make large: each stride, each size, and pairs of sizes.
    fn list_subsets(&self, target: &Target<'a>) -> Vec<Vec<String>> {
        let of_value = collect_symbols(&self.evaluation.symbols, target.check.value.symbols());
        let name = |id: &SymbolId| match &self.evaluation.symbols.get(*id)?.origin {
            Origin::Size(name) => Some(name.clone()),
            _ => None,
        };
        let mut names: Vec<String> = of_value.iter().filter_map(name).collect();
        let of_value = names.clone();
        let others: Vec<String> = target
            .used
            .iter()
            .filter_map(name)
            .filter(|one| !names.contains(one))
            .collect();
        names.extend(others);
        // A name that follows from others changes with these.
        let tied = |one: &String| {
            let tie = self.freedom.ties.iter().find(|(name, _)| name == one);
            tie.map_or_else(|| vec![one.clone()], |(_, size)| size.list_names())
        };
        let mut free: Vec<String> = Vec::new();
        for one in names.iter().flat_map(tied) {
            if self.freedom.ranges.contains_key(&one) && !free.contains(&one) {
                free.push(one);
            }
        }
        let (mut strides, sizes): (Vec<String>, Vec<String>) = free
            .into_iter()
            .partition(|one| self.freedom.strides.contains(one));
        strides.retain(|one| of_value.contains(one));
        let mut subsets: Vec<Vec<String>> = strides.iter().map(|one| vec![one.clone()]).collect();
        subsets.extend(sizes.iter().map(|one| vec![one.clone()]));
        for (nth, a) in sizes.iter().enumerate() {
            subsets.extend(sizes.iter().skip(nth + 1).map(|b| vec![a.clone(), b.clone()]));
        }
        for stride in &strides {
            subsets.extend(sizes.iter().map(|size| vec![stride.clone(), size.clone()]));
        }
        subsets.truncate(MAX_SUBSETS);
        subsets
    }

    /// The smallest values of some names with which an integer wraps.
    fn choose(
        &self,
        target: &Target<'a>,
        subset: &[String],
        trial: &dyn Trial,
    ) -> Option<BTreeMap<String, i64>> {
        let range = |name: &String| self.find_range(target, name);
        let start = |name: &String| {
            let (least, most) = range(name);
            self.freedom
                .start
                .get(name)
                .copied()
                .unwrap_or(2)
                .clamp(least, most)
        };
        let mut chosen: BTreeMap<String, i64> =
            subset.iter().map(|name| (name.clone(), start(name))).collect();
        let wraps = |chosen: &BTreeMap<String, i64>| {
            let sizes = self.freedom.complete(chosen);
            self.find_witness(target, &sizes).is_some()
        };
        let is_stride = |name: &String| self.freedom.strides.contains(name);
        if let [name] = subset
            && is_stride(name)
            && range(name).1 >= LARGE_STRIDE
            && wraps(&BTreeMap::from([(name.clone(), LARGE_STRIDE)]))
        {
            chosen.insert(name.clone(), LARGE_STRIDE);
        } else {
            // Together, then one after the other.
            let scaled = |shift: u32| -> BTreeMap<String, i64> {
                let grow = |(name, value): (&String, &i64)| {
                    let grown = i128::from(*value).checked_shl(shift).unwrap_or(i128::MAX);
                    let most = range(name).1;
                    (name.clone(), i64::try_from(grown).unwrap_or(most).min(most))
                };
                chosen.iter().map(grow).collect()
            };
            let shift = (0..=36).step_by(2).find(|&shift| wraps(&scaled(shift)))?;
            let mut found = scaled(shift);
            for name in subset {
                let (mut low, mut high) = (range(name).0, *found.get(name)?);
                while low < high {
                    let middle = low + (high - low) / 2;
                    let mut tried = found.clone();
                    tried.insert(name.clone(), middle);
                    if wraps(&tried) {
                        high = middle;
                    } else {
                        low = middle + 1;
                    }
                }
                found.insert(name.clone(), high);
            }
            chosen = found;
        }
        let is_right =
            |chosen: &BTreeMap<String, i64>| wraps(chosen) && trial.accepts(&self.freedom.complete(chosen));
        // Other sizes may be smaller or have to be.
        let others: Vec<&String> = self
            .freedom
            .ranges
            .keys()
            .filter(|name| !subset.contains(name))
            .collect();
        for name in others {
            let (least, _) = range(name);
            let before = self.freedom.start.get(name).copied().unwrap_or(least);
            let smaller = SMALL.into_iter().filter(|small| (least..before).contains(small));
            for small in smaller {
                let mut tried = chosen.clone();
                tried.insert(name.clone(), small);
                if is_right(&tried) {
                    chosen = tried;
                    break;
                }
            }
        }
        is_right(&chosen).then_some(chosen)
    }

    /// The range of a name in a search. A larger argument has 64 bits, and so has a product with it.
    fn find_range(&self, target: &Target<'a>, name: &str) -> (i64, i64) {
        let (least, most) = self
            .freedom
            .ranges
            .get(name)
            .copied()
            .unwrap_or((2, i64::from(i32::MAX)));
        let id = self.evaluation.symbols.find(&Origin::Size(name.to_owned()));
        let is_factor = id.is_some_and(|id| target.check.value.symbols().contains(&id));
        let is_argument = self
            .function
            .params
            .iter()
            .any(|parameter| parameter.name == name);
        if is_factor && is_argument {
            (least, most.min(i64::from(i32::MAX)))
        } else {
            (least, most)
        }
    }

    /// A program, lanes and iterations that reach the access with an integer out of range.
    fn find_witness(&self, target: &Target<'a>, sizes: &BTreeMap<String, i64>) -> Option<Witness<'a>> {
        let symbols = &self.evaluation.symbols;
        let mut point = Point::new(symbols, self.budget);
        let mut variables: Vec<(u8, SymbolId, i128)> = Vec::new();
        for &id in &target.used {
            if let Origin::Size(name) = &symbols.get(id)?.origin
                && let Some(&value) = sizes.get(name)
            {
                point.set(id, i128::from(value));
            }
        }
        for &id in &target.used {
            match symbols.get(id)?.origin {
                Origin::Program(axis) => {
                    let count = self.evaluation.grid.get(usize::from(axis))?.as_ref()?;
                    variables.push((0, id, point.evaluate(count)? - 1));
                }
                Origin::Turn(_) => variables.push((1, id, MAX_TURNS)),
                Origin::Lane(_) => {
                    let high = symbols.find_symbol_range(id, &target.access.shape).1?;
                    variables.push((2, id, high));
                }
                _ => {}
            }
        }
        variables.sort_unstable();
        let corners = match variables.len() {
            count @ 0..=MAX_CORNERS => (0..1u32 << count).rev().collect(),
            _ => vec![u32::MAX, 0],
        };
        let (least, most) = find_dtype_range(target.check.dtype);
        for corner in corners {
            let mut point = point.clone();
            for &(_, id, _) in &variables {
                point.set(id, 0);
            }
            for (nth, &(_, id, high)) in variables.iter().enumerate() {
                if corner >> nth & 1 == 1 {
                    raise(&mut point, id, high, &target.conditions);
                }
            }
            let reached = is_reached(&point, &target.conditions);
            let value = point.evaluate(&target.check.value);
            if reached && value.is_some_and(|value| !(least..=most).contains(&value)) {
                let mut program = [0; 3];
                for (axis, to) in (0..).zip(&mut program) {
                    if let Some(id) = symbols.find(&Origin::Program(axis)) {
                        *to = i64::try_from(point.get(id)).ok()?;
                    }
                }
                return Some(Witness { point, program });
            }
        }
        None
    }

    fn describe(
        &self,
        target: &Target<'a>,
        text: &str,
        subset: &[String],
        sizes: &BTreeMap<String, i64>,
        witness: &Witness<'a>,
    ) -> Option<Wrap> {
        let exact = witness.point.evaluate(&target.check.value)?;
        let mut wrap = Wrap {
            loc: target.check.loc,
            value: text.to_owned(),
            first: target.check.loc,
            operand: None,
            dtype: target.check.dtype,
            exact,
            large: subset.to_vec(),
            sizes: sizes.clone(),
            program: witness.program,
            access: target.access.loc,
        };
        let mut id = target.check.id;
        while let Some(op) = id.and_then(|id| self.definitions.get(&id)) {
            let is_arithmetic = matches!(
                op.kind,
                OpKind::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul)
            );
            if !is_arithmetic
                && !matches!(
                    op.kind,
                    OpKind::Broadcast | OpKind::Splat | OpKind::Reshape { .. }
                )
            {
                break;
            }
            let inner = op
                .operands
                .iter()
                .find_map(|&operand| Some((operand, self.find_wrapped(operand, &witness.point)?)));
            if is_arithmetic {
                wrap.first = op.loc;
                wrap.operand = self.find_cast(op, 0);
                wrap.dtype = op.results.first().and_then(|&id| self.find_dtype(id))?;
                if let Some(value) = op
                    .results
                    .first()
                    .and_then(|&id| self.find_wrapped(id, &witness.point))
                {
                    wrap.exact = value;
                }
            }
            let next = match (is_arithmetic, op.operands.first()) {
                (true, _) => inner.map(|(operand, _)| operand),
                (false, operand) => operand.copied(),
            };
            id = next;
        }
        Some(wrap)
    }

    /// The exact value of an integer, if it is out of range.
    fn find_wrapped(&self, id: ValueId, point: &Point<'a>) -> Option<i128> {
        let value = self.evaluation.values.get(id.0 as usize)?.as_ref()?;
        let Kind::Integer(polynomial) = &value.kind else {
            return None;
        };
        let exact = point.evaluate(polynomial)?;
        let (least, most) = find_dtype_range(self.find_dtype(id)?);
        (!(least..=most).contains(&exact)).then_some(exact)
    }

    fn find_dtype(&self, id: ValueId) -> Option<DType> {
        match self.function.ty(id).elem {
            Elem::Num(dtype) => Some(dtype),
            Elem::Ptr { .. } => None,
        }
    }

    /// The variable to widen so that an operation doesn't wrap: a factor of a product, before its lanes are moved.
    fn find_cast(&self, op: &Operation, depth: usize) -> Option<ValueId> {
        let is_product = |id: &ValueId| {
            let op = self.definitions.get(&self.strip_movement(*id));
            op.is_some_and(|op| op.kind == OpKind::Binary(BinaryOp::Mul))
        };
        let variables = || op.operands.iter().copied().filter(|&id| self.is_variable(id));
        let id = self.strip_movement(variables().find(is_product).or_else(|| variables().next())?);
        let is_named = self.function.values.get(id.0 as usize)?.name.is_some();
        match self.definitions.get(&id) {
            Some(inner)
                if !is_named
                    && depth < MAX_DEPTH
                    && matches!(
                        inner.kind,
                        OpKind::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul)
                    ) =>
            {
                self.find_cast(inner, depth + 1)
            }
            _ => Some(id),
        }
    }

    /// The value whose lanes operations move or repeat.
    fn strip_movement(&self, mut id: ValueId) -> ValueId {
        for _ in 0..MAX_DEPTH {
            let is_named = self
                .function
                .values
                .get(id.0 as usize)
                .is_some_and(|value| value.name.is_some());
            match self.definitions.get(&id) {
                Some(op)
                    if !is_named
                        && matches!(
                            op.kind,
                            OpKind::Broadcast | OpKind::Splat | OpKind::Reshape { .. } | OpKind::Hint { .. }
                        ) =>
                {
                    match op.operands.first() {
                        Some(&from) => id = from,
                        None => return id,
                    }
                }
                _ => return id,
            }
        }
        id
    }

    /// Whether a value depends on more than arguments and numbers.
    fn is_variable(&self, id: ValueId) -> bool {
        let value = self.evaluation.values.get(id.0 as usize).and_then(Option::as_ref);
        let Some(Kind::Integer(polynomial)) = value.map(|value| &value.kind) else {
            return false;
        };
        let symbols = collect_symbols(&self.evaluation.symbols, polynomial.symbols());
        let is_size = |id: SymbolId| {
            let symbol = self.evaluation.symbols.get(id);
            symbol.is_some_and(|symbol| matches!(symbol.origin, Origin::Size(_) | Origin::Quotient(..)))
        };
        symbols.into_iter().any(|id| !is_size(id))
    }
}

/// Whether no condition is false.
fn is_reached(point: &Point<'_>, conditions: &[&Condition]) -> bool {
    conditions
        .iter()
        .all(|condition| point.holds(condition) != Some(false))
}

/// Sets a symbol to its largest value with which the conditions hold, if they hold for all smaller ones.
fn raise(point: &mut Point<'_>, id: SymbolId, high: i128, conditions: &[&Condition]) {
    point.set(id, high);
    if is_reached(point, conditions) {
        return;
    }
    let (mut low, mut high) = (0, high);
    while low < high {
        let middle = low + (high - low + 1) / 2;
        point.set(id, middle);
        if is_reached(point, conditions) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    point.set(id, low);
}

/// The operations of values.
fn list_definitions(body: &Block) -> BTreeMap<ValueId, &Operation> {
    let mut definitions = BTreeMap::new();
    let mut blocks = vec![body];
    while let Some(block) = blocks.pop() {
        for op in &block.ops {
            definitions.extend(op.results.iter().map(|&id| (id, op)));
            blocks.extend(op.kind.regions());
        }
    }
    definitions
}
