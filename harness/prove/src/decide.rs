//! Decides whether a polynomial is at least 0, from the facts about its symbols.
//!
//! Facts are polynomials of at least 0. A goal follows if it is a sum of facts and of products of facts with factors of at least 0
//! (Handelman's certificates; see [`crate::combination`]). Products are needed where strides are unknown: `row * stride` is at most
//! `(rows - 1) * stride`, because `rows - 1 - row` and `stride` are at least 0. Symbols with alternatives, such as a minimum, and
//! conditions with `or` are decided case by case if the goal doesn't follow without them.

use std::collections::{BTreeMap, BTreeSet};

use cerith_tile::ir::Shape;

use crate::combination::{is_combination, is_contradiction};
use crate::condition::Condition;
use crate::polynomial::{Monomial, Polynomial, SymbolId, list_limit_facts, multiply_monomials};
use crate::symbol::{Origin, Symbols};

/// Maximum number of nested cases.
const MAX_SPLITS: usize = 6;

/// Maximum number of facts of a proof.
const MAX_FACTS: usize = 80;

/// A larger upper end of a range is not multiplied with other facts.
const MAX_FACTOR: i128 = 1 << 16;

/// Maximum number of products of facts.
const MAX_PRODUCTS: usize = 400;

/// The conditions under which goals are decided.
#[derive(Clone, Debug)]
pub struct Context {
    /// Conditions that hold.
    pub conditions: Vec<Condition>,
    /// The lanes for which a goal must hold.
    pub shape: Shape,
    /// Whether parameters are in the range of their dtypes: only proofs about wrapping need that.
    pub uses_ranges: bool,
}

/// Decides goals, and counts the work.
#[derive(Debug)]
pub struct Decider<'a> {
    symbols: &'a Symbols,
    /// Programs to solve that are left.
    pub budget: usize,
}

impl<'a> Decider<'a> {
    /// A decider that solves at most `budget` linear programs.
    pub const fn new(symbols: &'a Symbols, budget: usize) -> Self {
        Self { symbols, budget }
    }

    /// Whether `goal` is at least 0 for all values of its symbols. False if that is not known.
    pub fn is_at_least_zero(&mut self, goal: &Polynomial, context: &Context) -> bool {
        if self.has_range_above(goal, context) {
            return true;
        }
        let mut facts = Vec::new();
        let mut open = Vec::new();
        for condition in &context.conditions {
            if !split_condition(condition, &mut facts, &mut open) {
                // The access is never reached.
                return true;
            }
        }
        let case = Case {
            goal: goal.clone(),
            facts,
            open,
            replaced: BTreeMap::new(),
        };
        self.decide(&case, context, 0)
    }

    /// Whether the ranges of the symbols alone prove the goal. Unlike the facts of the linear program, ranges are multiplied here.
    fn has_range_above(&self, goal: &Polynomial, context: &Context) -> bool {
        let (low, _) = self.symbols.find_range(goal, &context.shape);
        low.is_some_and(|low| low >= 0)
    }

    fn decide(&mut self, case: &Case, context: &Context, depth: usize) -> bool {
        if depth > 0 && self.has_range_above(&case.goal, context) {
            return true;
        }
        if self.budget == 0 {
            return false;
        }
        self.budget -= 1;
        let (facts, ranges) = self.collect_facts(case, context);
        if follows(&case.goal.name_limits(), &facts, &ranges) || depth > 0 && is_contradiction(&facts) {
            return true;
        }
        if depth >= MAX_SPLITS {
            return false;
        }
        let Some(cases) = self.split(case, &facts) else {
            return false;
        };
        cases.iter().all(|case| self.decide(case, context, depth + 1))
    }

    /// All facts about the symbols of a case, and the largest values of dtypes, which are not multiplied with other facts.
    fn collect_facts(&self, case: &Case, context: &Context) -> (Vec<Polynomial>, Vec<Polynomial>) {
        let mut facts = case.facts.clone();
        let mut ranges = Vec::new();
        let mut queue: Vec<SymbolId> = case.goal.symbols().into_iter().collect();
        queue.extend(facts.iter().flat_map(Polynomial::symbols));
        let mut seen: BTreeSet<SymbolId> = BTreeSet::new();
        while let Some(id) = queue.pop() {
            if !seen.insert(id) {
                continue;
            }
            if let Some(value) = case.replaced.get(&id) {
                queue.extend(value.symbols());
                continue;
            }
            let Some(symbol) = self.symbols.get(id) else {
                continue;
            };
            let (low, high) = self.symbols.find_symbol_range(id, &context.shape);
            let own = Polynomial::from_symbol(id);
            let is_wide = matches!(symbol.origin, Origin::Size(_) | Origin::Program(_));
            if let Some(low) = low.and_then(i128::checked_neg)
                && let Some(fact) = own.add_number(low)
            {
                facts.push(fact);
            }
            if let Some(high) = high.filter(|_| !is_wide || context.uses_ranges)
                && let Some(fact) = own.scale(-1).and_then(|negative| negative.add_number(high))
            {
                if is_wide || high > MAX_FACTOR {
                    ranges.push(fact);
                } else {
                    facts.push(fact);
                }
            }
            for fact in &symbol.facts {
                queue.extend(fact.symbols());
                facts.extend(fact.substitute(&|id| case.replaced.get(&id).cloned()));
            }
        }
        let mut unique = BTreeSet::new();
        facts.retain(|fact| fact.as_number().is_none() && unique.insert(fact.clone()));
        facts.truncate(MAX_FACTS);
        let facts = facts.iter().map(Polynomial::name_limits).collect();
        let mut ranges: Vec<Polynomial> = ranges.iter().map(Polynomial::name_limits).collect();
        ranges.extend(list_limit_facts());
        (facts, ranges)
    }

    /// The cases of a symbol with alternatives, or of a condition with `or`. Symbols of the goal come first.
    fn split(&self, case: &Case, facts: &[Polynomial]) -> Option<Vec<Case>> {
        let of_facts = facts.iter().flat_map(Polynomial::symbols);
        let mut symbols = case.goal.symbols().into_iter().chain(of_facts);
        let choice = symbols.find(|id| {
            let symbol = self.symbols.get(*id);
            !case.replaced.contains_key(id) && symbol.is_some_and(|symbol| !symbol.alternatives.is_empty())
        });
        if let Some(id) = choice {
            let symbol = self.symbols.get(id)?;
            let mut cases = Vec::new();
            for alternative in &symbol.alternatives {
                let value = alternative
                    .value
                    .substitute(&|other| case.replaced.get(&other).cloned())?;
                let replace = |other: SymbolId| (other == id).then(|| value.clone());
                let mut next = Case {
                    goal: case.goal.substitute(&replace)?,
                    facts: Vec::new(),
                    open: case.open.iter().map(|one| one.substitute(&replace)).collect(),
                    replaced: BTreeMap::from([(id, value.clone())]),
                };
                for (&other, known) in &case.replaced {
                    next.replaced.insert(other, known.substitute(&replace)?);
                }
                // Facts about the symbol hold for its value too.
                for fact in case.facts.iter().chain(&symbol.facts) {
                    next.facts.extend(fact.substitute(&replace));
                }
                let condition = alternative
                    .condition
                    .substitute(&|other| next.replaced.get(&other).cloned());
                if split_condition(&condition, &mut next.facts, &mut next.open) {
                    cases.push(next);
                }
            }
            return Some(cases);
        }
        let mut next = case.clone();
        let Condition::Any(parts) = next.open.pop()? else {
            return None;
        };
        let mut cases = Vec::new();
        for part in &parts {
            let mut one = next.clone();
            if split_condition(part, &mut one.facts, &mut one.open) {
                cases.push(one);
            }
        }
        Some(cases)
    }
}

/// A goal with facts.
#[derive(Clone, Debug)]
struct Case {
    goal: Polynomial,
    facts: Vec<Polynomial>,
    /// Conditions with `or`.
    open: Vec<Condition>,
    /// Symbols that have been replaced by one of their alternatives.
    replaced: BTreeMap<SymbolId, Polynomial>,
}

/// Adds a condition to facts, and its parts with `or` to `open`. False if it can't hold.
fn split_condition(condition: &Condition, facts: &mut Vec<Polynomial>, open: &mut Vec<Condition>) -> bool {
    match condition {
        Condition::True | Condition::Unknown => true,
        Condition::False => false,
        Condition::AtLeastZero(polynomial) => {
            facts.push(polynomial.clone());
            true
        }
        Condition::All(parts) => parts.iter().all(|part| split_condition(part, facts, open)),
        Condition::Any(_) => {
            if condition.is_known() {
                open.push(condition.clone());
            }
            true
        }
    }
}

/// Whether the goal follows from the facts, their products, and ranges.
fn follows(goal: &Polynomial, facts: &[Polynomial], ranges: &[Polynomial]) -> bool {
    let mut all = facts.to_vec();
    all.extend_from_slice(ranges);
    if is_combination(goal, &all) {
        return true;
    }
    let is_linear = |one: &Polynomial| one.terms().all(|(monomial, _)| monomial.len() <= 1);
    if is_linear(goal) && facts.iter().all(is_linear) {
        return false;
    }
    let products = multiply_facts(goal, facts);
    if !products.is_empty() {
        all.extend(products);
        if is_combination(goal, &all) {
            return true;
        }
    }
    // By contradiction: products with the opposite of the goal say more. That `a * b > 0` and `b > 0` imply `a > 0` has no direct sum.
    let Some(opposite) = goal.scale(-1).and_then(|negative| negative.add_number(-1)) else {
        return false;
    };
    let mut facts = facts.to_vec();
    facts.push(opposite.clone());
    let mut all = multiply_facts(&opposite, &facts);
    all.extend(facts);
    all.extend_from_slice(ranges);
    is_contradiction(&all)
}

/// Polynomials other than 0, with their leading monomials.
fn list_led(polynomials: &[Polynomial]) -> Vec<(&Polynomial, &Monomial)> {
    let led = polynomials.iter();
    led.filter_map(|one| Some((one, one.leading_monomial()?)))
        .collect()
}

/// The products of two and three facts that may be of use: the others have monomials that nothing cancels.
fn multiply_facts(goal: &Polynomial, facts: &[Polynomial]) -> Vec<Polynomial> {
    let mut wanted: BTreeSet<Monomial> = BTreeSet::new();
    for (monomial, _) in facts.iter().chain([goal]).flat_map(Polynomial::terms) {
        if monomial.len() > 1 {
            wanted.insert(monomial.clone());
            // A product of three is reached by one of two.
            for skipped in 0..monomial.len() {
                let mut part = monomial.clone();
                part.remove(skipped);
                if part.len() > 1 {
                    wanted.insert(part);
                }
            }
        }
    }
    // A fact about one symbol of a product, times the other one, has products with the fact's other symbols.
    let mut near = wanted.clone();
    for fact in facts {
        let symbols = fact.symbols();
        for monomial in &wanted {
            for (nth, symbol) in monomial.iter().enumerate() {
                if !symbols.contains(symbol) {
                    continue;
                }
                for (other, _) in fact.terms() {
                    let mut product = monomial.clone();
                    product.remove(nth);
                    product.extend(other.iter().copied());
                    product.sort_unstable();
                    near.insert(product);
                }
            }
        }
    }
    let is_useful = |product: &Polynomial| {
        let mut nonlinear = product.terms().filter(|(monomial, _)| monomial.len() > 1);
        nonlinear.all(|(monomial, _)| near.contains(monomial))
    };
    // Nothing cancels the product of the leading monomials: most products are of no use because of it.
    let multiply = |(a, lead): (&Polynomial, &Monomial), (b, other): (&Polynomial, &Monomial)| {
        let monomial = multiply_monomials(lead, other);
        if monomial.len() > 1 && !near.contains(&monomial) {
            return None;
        }
        a.mul(b).filter(|product| is_useful(product))
    };
    let led: Vec<(&Polynomial, &Monomial)> = list_led(facts);
    let mut pairs = Vec::new();
    'pairs: for (nth, a) in led.iter().enumerate() {
        for b in led.iter().skip(nth) {
            if pairs.len() >= MAX_PRODUCTS {
                break 'pairs;
            }
            pairs.extend(multiply(*a, *b));
        }
    }
    let mut all = Vec::new();
    if wanted.iter().any(|monomial| monomial.len() > 2) {
        'all: for pair in list_led(&pairs) {
            for c in &led {
                if all.len() >= MAX_PRODUCTS {
                    break 'all;
                }
                all.extend(multiply(pair, *c));
            }
        }
    }
    all.extend(pairs);
    let mut unique = BTreeSet::new();
    all.retain(|one| one.as_number().is_none() && unique.insert(one.clone()));
    all
}
