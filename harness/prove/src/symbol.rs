//! The unknowns of a proof, each with its range, its facts, and the values that it may have.

use std::collections::{BTreeMap, BTreeSet};

use cerith_tile::ir::{LocId, Shape};

use crate::condition::Condition;
use crate::polynomial::{Polynomial, SymbolId};

/// The meaning of a symbol.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A parameter of the kernel, or another size that the contract names: `x.shape[0]`.
    Size(String),
    /// `tl.program_id(axis)`.
    Program(u8),
    /// The index of a lane along a dimension.
    Lane(u8),
    /// The iteration of a loop, from 0.
    Turn(u32),
    /// The quotient of two polynomials, rounded toward zero.
    Quotient(Polynomial, Polynomial),
    /// One of several values.
    Choice(u32),
    /// A value with a range and no other fact, from here.
    Opaque(u32, LocId, Cause),
    /// A symbol of lanes, seen from other dimensions.
    Moved(SymbolId, Vec<Polynomial>),
}

/// The reason why a value has no facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// It was loaded from memory.
    Loaded,
    /// A loop changes it in a way that is not a fixed step.
    Carried,
    /// It is the result of an operation that has no model here.
    Computed,
}

/// One of the values of a symbol, and when it has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// The condition.
    pub condition: Condition,
    /// The value.
    pub value: Polynomial,
}

/// A symbol.
#[derive(Clone, Debug)]
pub struct Symbol {
    /// Its meaning.
    pub origin: Origin,
    /// Its least value.
    pub low: Option<i128>,
    /// Its largest value.
    pub high: Option<i128>,
    /// Polynomials that are at least 0.
    pub facts: Vec<Polynomial>,
    /// It has one of these values. Empty if that is not known.
    pub alternatives: Vec<Alternative>,
    /// The dimensions of lanes that its value depends on.
    pub dims: BTreeSet<u8>,
    /// It is the quotient of these where it is used, for one that isn't a quotient everywhere.
    pub quotient: Option<(Polynomial, Polynomial)>,
}

/// All symbols of a proof.
#[derive(Debug, Default)]
pub struct Symbols {
    all: Vec<Symbol>,
    ids: BTreeMap<Origin, SymbolId>,
}

impl Symbols {
    /// The symbol of an origin, made by `build` if it is new.
    pub fn intern(&mut self, origin: Origin, build: impl FnOnce(Origin) -> Symbol) -> SymbolId {
        if let Some(&id) = self.ids.get(&origin) {
            return id;
        }
        let id = SymbolId(self.all.len() as u32);
        self.ids.insert(origin.clone(), id);
        self.all.push(build(origin));
        id
    }

    /// The symbol of an origin, if there is one.
    pub fn find(&self, origin: &Origin) -> Option<SymbolId> {
        self.ids.get(origin).copied()
    }

    /// A symbol.
    pub fn get(&self, id: SymbolId) -> Option<&Symbol> {
        self.all.get(id.0 as usize)
    }

    /// A symbol, to be changed.
    pub fn get_mut(&mut self, id: SymbolId) -> Option<&mut Symbol> {
        self.all.get_mut(id.0 as usize)
    }

    /// Number of symbols.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// The symbol of the lanes along a dimension of a shape; 0 where there is one lane.
    pub fn lane(&mut self, dim: u8) -> SymbolId {
        self.intern(Origin::Lane(dim), |origin| Symbol {
            low: Some(0),
            dims: BTreeSet::from([dim]),
            ..Symbol::new(origin)
        })
    }

    /// The dimensions of lanes that a polynomial depends on.
    pub fn find_dims(&self, polynomial: &Polynomial) -> BTreeSet<u8> {
        let symbols = polynomial.symbols().into_iter();
        symbols
            .filter_map(|id| self.get(id))
            .flat_map(|symbol| symbol.dims.iter().copied())
            .collect()
    }

    /// The numeric range of a polynomial by those of its symbols.
    pub fn find_range(&self, polynomial: &Polynomial, shape: &Shape) -> (Option<i128>, Option<i128>) {
        let (mut low, mut high) = (Some(0i128), Some(0i128));
        for (monomial, coefficient) in polynomial.terms() {
            let mut range = (Some(coefficient), Some(coefficient));
            for &id in monomial {
                range = multiply_ranges(range, self.find_symbol_range(id, shape));
            }
            low = low.zip(range.0).and_then(|(a, b)| a.checked_add(b));
            high = high.zip(range.1).and_then(|(a, b)| a.checked_add(b));
        }
        (low, high)
    }

    /// The numeric range of a symbol in a block of lanes.
    pub fn find_symbol_range(&self, id: SymbolId, shape: &Shape) -> (Option<i128>, Option<i128>) {
        let Some(symbol) = self.get(id) else {
            return (None, None);
        };
        if let Origin::Lane(dim) = symbol.origin {
            let extent = shape.get(usize::from(dim)).copied().unwrap_or(1);
            return (Some(0), Some(extent.max(1) as i128 - 1));
        }
        (symbol.low, symbol.high)
    }

    /// A polynomial seen from other dimensions: lane `d` becomes `map[d]`.
    pub fn move_lanes(&mut self, polynomial: &Polynomial, map: &[Polynomial]) -> Option<Polynomial> {
        let mut moved: BTreeMap<SymbolId, Polynomial> = BTreeMap::new();
        for id in polynomial.symbols() {
            if let Some(to) = self.move_symbol(id, map)? {
                moved.insert(id, to);
            }
        }
        polynomial.substitute(&|id| moved.get(&id).cloned())
    }

    /// A symbol seen from other dimensions; the outer `None` is a failure, the inner one no change.
    #[expect(clippy::option_option, reason = "a failure differs from no change")]
    fn move_symbol(&mut self, id: SymbolId, map: &[Polynomial]) -> Option<Option<Polynomial>> {
        let symbol = self.get(id)?.clone();
        if symbol.dims.is_empty() {
            return Some(None);
        }
        if let Origin::Lane(dim) = symbol.origin {
            return map.get(usize::from(dim)).cloned().map(Some);
        }
        let is_same = symbol.dims.iter().all(|&dim| {
            let lane = self.lane(dim);
            map.get(usize::from(dim)) == Some(&Polynomial::from_symbol(lane))
        });
        if is_same {
            return Some(None);
        }
        let origin = Origin::Moved(id, map.to_vec());
        if let Some(&known) = self.ids.get(&origin) {
            return Some(Some(Polynomial::from_symbol(known)));
        }
        let dims = symbol.dims.iter().filter_map(|&dim| map.get(usize::from(dim)));
        let dims: BTreeSet<u8> = dims.flat_map(|to| self.find_dims(to)).collect();
        let new = self.intern(origin, |origin| Symbol {
            low: symbol.low,
            high: symbol.high,
            dims,
            ..Symbol::new(origin)
        });
        let own = Polynomial::from_symbol(new);
        let mut facts = Vec::new();
        for fact in &symbol.facts {
            // A fact that can't be moved is dropped: less is known then.
            if let Some(moved) = self.move_fact(fact, (id, &own), map) {
                facts.push(moved);
            }
        }
        let mut alternatives = Vec::new();
        for one in &symbol.alternatives {
            let value = self.move_lanes(&one.value, map);
            let condition = one.condition.move_lanes(self, map);
            if let Some(value) = value {
                alternatives.push(Alternative { condition, value });
            } else {
                alternatives.clear();
                break;
            }
        }
        if let Some(symbol) = self.get_mut(new) {
            symbol.facts = facts;
            symbol.alternatives = alternatives;
        }
        Some(Some(own))
    }

    fn move_fact(
        &mut self,
        fact: &Polynomial,
        (from, to): (SymbolId, &Polynomial),
        map: &[Polynomial],
    ) -> Option<Polynomial> {
        let mut moved: BTreeMap<SymbolId, Polynomial> = BTreeMap::from([(from, to.clone())]);
        for id in fact.symbols() {
            if id != from
                && let Some(to) = self.move_symbol(id, map)?
            {
                moved.insert(id, to);
            }
        }
        fact.substitute(&|id| moved.get(&id).cloned())
    }
}

impl Symbol {
    /// A symbol without facts.
    pub const fn new(origin: Origin) -> Self {
        Self {
            origin,
            low: None,
            high: None,
            facts: Vec::new(),
            alternatives: Vec::new(),
            dims: BTreeSet::new(),
            quotient: None,
        }
    }
}

type Range = (Option<i128>, Option<i128>);

fn multiply_ranges((a, b): Range, (c, d): Range) -> Range {
    if let (Some(a), Some(b), Some(c), Some(d)) = (a, b, c, d) {
        let products = [
            a.checked_mul(c),
            a.checked_mul(d),
            b.checked_mul(c),
            b.checked_mul(d),
        ];
        let all: Option<Vec<i128>> = products.into_iter().collect();
        return all.map_or((None, None), |all| {
            (all.iter().copied().min(), all.iter().copied().max())
        });
    }
    // Half-open ranges: only the sign of products of numbers that are not negative is known.
    match ((a, b), (c, d)) {
        ((Some(a), _), (Some(c), _)) if a >= 0 && c >= 0 => (a.checked_mul(c), None),
        ((_, Some(b)), (Some(c), _)) if b <= 0 && c >= 0 => (None, b.checked_mul(c)),
        ((Some(a), _), (_, Some(d))) if a >= 0 && d <= 0 => (None, a.checked_mul(d)),
        _ => (None, None),
    }
}
