//! One execution of a kernel's integers: sizes, a program, a lane and iterations are numbers, and so is every polynomial of them.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use crate::condition::Condition;
use crate::polynomial::{Polynomial, SymbolId};
use crate::symbol::{Origin, Symbols};

/// How deep symbols depend on each other.
const MAX_DEPTH: usize = 40;

/// Values of symbols. Symbols that are missing are 0 if they are programs, lanes or iterations, and unknown otherwise.
#[derive(Clone, Debug)]
pub struct Point<'a> {
    symbols: &'a Symbols,
    values: BTreeMap<SymbolId, i128>,
    /// Symbols that may still be evaluated.
    budget: &'a Cell<usize>,
}

impl<'a> Point<'a> {
    /// A point without values. Evaluations count against a budget.
    pub const fn new(symbols: &'a Symbols, budget: &'a Cell<usize>) -> Self {
        Self {
            symbols,
            values: BTreeMap::new(),
            budget,
        }
    }

    /// Sets a symbol.
    pub fn set(&mut self, id: SymbolId, value: i128) {
        self.values.insert(id, value);
    }

    /// The value of a symbol that was set.
    pub fn get(&self, id: SymbolId) -> i128 {
        self.values.get(&id).copied().unwrap_or(0)
    }

    /// The value of a polynomial; `None` if it is unknown.
    pub fn evaluate(&self, polynomial: &Polynomial) -> Option<i128> {
        self.evaluate_deep(polynomial, 0)
    }

    /// Whether a condition holds; `None` if that is unknown.
    pub fn holds(&self, condition: &Condition) -> Option<bool> {
        self.holds_deep(condition, 0)
    }

    fn evaluate_deep(&self, polynomial: &Polynomial, depth: usize) -> Option<i128> {
        let mut sum = 0i128;
        for (monomial, coefficient) in polynomial.terms() {
            let mut product = coefficient;
            for &id in monomial {
                product = product.checked_mul(self.evaluate_symbol(id, depth)?)?;
            }
            sum = sum.checked_add(product)?;
        }
        Some(sum)
    }

    fn evaluate_symbol(&self, id: SymbolId, depth: usize) -> Option<i128> {
        let left = self.budget.get().checked_sub(1)?;
        self.budget.set(left);
        if let Some(&value) = self.values.get(&id) {
            return Some(value);
        }
        if depth > MAX_DEPTH {
            return None;
        }
        let symbol = self.symbols.get(id)?;
        let divide = |a, b| {
            let divisor = self.evaluate_deep(b, depth + 1)?;
            self.evaluate_deep(a, depth + 1)?.checked_div(divisor)
        };
        match &symbol.origin {
            Origin::Program(_) | Origin::Lane(_) | Origin::Turn(_) => Some(0),
            Origin::Size(_) | Origin::Opaque(..) => None,
            Origin::Quotient(a, b) => divide(a, b),
            Origin::Choice(_) => {
                if let Some((a, b)) = &symbol.quotient {
                    return divide(a, b);
                }
                for one in &symbol.alternatives {
                    if self.holds_deep(&one.condition, depth + 1)? {
                        return self.evaluate_deep(&one.value, depth + 1);
                    }
                }
                None
            }
            Origin::Moved(of, map) => {
                let mut inner = self.clone();
                for (dim, to) in map.iter().enumerate() {
                    let lane = self.symbols.find(&Origin::Lane(u8::try_from(dim).ok()?));
                    if let Some(lane) = lane {
                        inner.set(lane, self.evaluate_deep(to, depth + 1)?);
                    }
                }
                inner.evaluate_symbol(*of, depth + 1)
            }
        }
    }

    fn holds_deep(&self, condition: &Condition, depth: usize) -> Option<bool> {
        match condition {
            Condition::True => Some(true),
            Condition::False => Some(false),
            Condition::Unknown => None,
            Condition::AtLeastZero(polynomial) => Some(self.evaluate_deep(polynomial, depth)? >= 0),
            Condition::All(parts) => {
                let mut is_known = true;
                for part in parts {
                    match self.holds_deep(part, depth) {
                        Some(false) => return Some(false),
                        Some(true) => {}
                        None => is_known = false,
                    }
                }
                is_known.then_some(true)
            }
            Condition::Any(parts) => {
                let mut is_known = true;
                for part in parts {
                    match self.holds_deep(part, depth) {
                        Some(true) => return Some(true),
                        Some(false) => {}
                        None => is_known = false,
                    }
                }
                is_known.then_some(false)
            }
        }
    }
}

/// Adds the symbols that polynomials and conditions depend on, through others too.
pub fn collect_symbols(symbols: &Symbols, from: impl IntoIterator<Item = SymbolId>) -> BTreeSet<SymbolId> {
    let mut seen = BTreeSet::new();
    let mut queue: Vec<SymbolId> = from.into_iter().collect();
    while let Some(id) = queue.pop() {
        if !seen.insert(id) {
            continue;
        }
        let Some(symbol) = symbols.get(id) else { continue };
        match &symbol.origin {
            Origin::Quotient(a, b) => queue.extend(a.symbols().into_iter().chain(b.symbols())),
            Origin::Moved(of, map) => {
                queue.push(*of);
                queue.extend(map.iter().flat_map(Polynomial::symbols));
            }
            Origin::Size(_)
            | Origin::Program(_)
            | Origin::Lane(_)
            | Origin::Turn(_)
            | Origin::Choice(_)
            | Origin::Opaque(..) => {}
        }
        if let Some((a, b)) = &symbol.quotient {
            queue.extend(a.symbols().into_iter().chain(b.symbols()));
        }
        for one in &symbol.alternatives {
            queue.extend(one.value.symbols());
            queue.extend(list_condition_symbols(&one.condition));
        }
    }
    seen
}

/// The symbols in a condition.
pub fn list_condition_symbols(condition: &Condition) -> Vec<SymbolId> {
    match condition {
        Condition::True | Condition::False | Condition::Unknown => Vec::new(),
        Condition::AtLeastZero(polynomial) => polynomial.symbols().into_iter().collect(),
        Condition::All(parts) | Condition::Any(parts) => {
            parts.iter().flat_map(list_condition_symbols).collect()
        }
    }
}
