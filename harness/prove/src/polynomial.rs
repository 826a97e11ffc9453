//! Polynomials with integer coefficients: what an index, a size or an offset is, as a function of unknowns.
//!
//! Operations return `None` where a result would be too large to be of use, or a coefficient overflows.

use std::collections::{BTreeMap, BTreeSet};

use num_integer::Integer;
use smallvec::SmallVec;

/// Maximum number of terms.
const MAX_TERMS: usize = 64;

/// Maximum number of symbols in a product.
const MAX_DEGREE: usize = 5;

/// An unknown, by its index in [`crate::symbol::Symbols`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId(pub u32);

/// Symbols of the largest `i32` and the largest `i64`.
const LIMITS: [(SymbolId, i128); 2] = [
    (SymbolId(u32::MAX - 1), i32::MAX as i128),
    (SymbolId(u32::MAX), i64::MAX as i128),
];

/// Facts about the symbols of [`Polynomial::name_limits`].
pub fn list_limit_facts() -> Vec<Polynomial> {
    let [small, large] = LIMITS.map(|(symbol, _)| Polynomial::from_symbol(symbol));
    let facts = [small.add_number(-(1 << 24)), large.sub(&small)];
    facts.into_iter().flatten().collect()
}

/// A product of symbols, sorted. The empty product is 1.
pub type Monomial = SmallVec<[SymbolId; 3]>;

/// A sum of monomials with their coefficients, none of which is 0. The empty sum is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Polynomial(BTreeMap<Monomial, i128>);

impl Polynomial {
    /// A number.
    pub fn from_number(number: i128) -> Self {
        Self::from_term(Monomial::new(), number)
    }

    /// A symbol.
    pub fn from_symbol(symbol: SymbolId) -> Self {
        Self::from_term(smallvec::smallvec![symbol], 1)
    }

    fn from_term(monomial: Monomial, coefficient: i128) -> Self {
        let mut terms = BTreeMap::new();
        if coefficient != 0 {
            terms.insert(monomial, coefficient);
        }
        Self(terms)
    }

    /// The terms, in order of their monomials.
    pub fn terms(&self) -> impl Iterator<Item = (&Monomial, i128)> {
        self.0
            .iter()
            .map(|(monomial, &coefficient)| (monomial, coefficient))
    }

    /// Number of terms.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The coefficient of a monomial.
    pub fn coefficient(&self, monomial: &Monomial) -> i128 {
        self.0.get(monomial).copied().unwrap_or(0)
    }

    /// The number that it is, if it has no symbols.
    pub fn as_number(&self) -> Option<i128> {
        match self.0.len() {
            0 => Some(0),
            1 => self.0.get(&Monomial::new()).copied(),
            _ => None,
        }
    }

    /// The symbols in it.
    pub fn symbols(&self) -> BTreeSet<SymbolId> {
        self.0.keys().flatten().copied().collect()
    }

    fn checked(self) -> Option<Self> {
        let small = self.0.len() <= MAX_TERMS && self.0.keys().all(|monomial| monomial.len() <= MAX_DEGREE);
        small.then_some(self)
    }

    fn add_term(&mut self, monomial: Monomial, coefficient: i128) -> Option<()> {
        let sum = self.coefficient(&monomial).checked_add(coefficient)?;
        if sum == 0 {
            self.0.remove(&monomial);
        } else {
            self.0.insert(monomial, sum);
        }
        Some(())
    }

    /// The sum of this and `factor` times another.
    pub fn add_scaled(&self, other: &Self, factor: i128) -> Option<Self> {
        let mut sum = self.clone();
        for (monomial, coefficient) in other.terms() {
            sum.add_term(monomial.clone(), coefficient.checked_mul(factor)?)?;
        }
        sum.checked()
    }

    /// The sum.
    pub fn add(&self, other: &Self) -> Option<Self> {
        self.add_scaled(other, 1)
    }

    /// The difference.
    pub fn sub(&self, other: &Self) -> Option<Self> {
        self.add_scaled(other, -1)
    }

    /// The sum of this and a number.
    pub fn add_number(&self, number: i128) -> Option<Self> {
        self.add(&Self::from_number(number))
    }

    /// The product with a number.
    pub fn scale(&self, factor: i128) -> Option<Self> {
        Self::default().add_scaled(self, factor)
    }

    /// The product.
    pub fn mul(&self, other: &Self) -> Option<Self> {
        let mut product = Self::default();
        for (a, m) in self.terms() {
            for (b, n) in other.terms() {
                let mut monomial: Monomial = a.iter().chain(b).copied().collect();
                monomial.sort_unstable();
                product.add_term(monomial, m.checked_mul(n)?)?;
            }
            if product.0.len() > 4 * MAX_TERMS {
                return None;
            }
        }
        product.checked()
    }

    /// Replaces symbols.
    pub fn substitute(&self, replace: &dyn Fn(SymbolId) -> Option<Self>) -> Option<Self> {
        let mut sum = Self::default();
        for (monomial, coefficient) in self.terms() {
            let mut product = Self::from_number(coefficient);
            for &symbol in monomial {
                let factor = replace(symbol).unwrap_or_else(|| Self::from_symbol(symbol));
                product = product.mul(&factor)?;
            }
            sum = sum.add(&product)?;
        }
        Some(sum)
    }

    /// Divides by a number if every coefficient is a multiple of it.
    pub fn divide_exactly(&self, by: i128) -> Option<Self> {
        let mut quotient = Self::default();
        for (monomial, coefficient) in self.terms() {
            if coefficient.checked_rem(by)? != 0 {
                return None;
            }
            quotient.add_term(monomial.clone(), coefficient.checked_div(by)?)?;
        }
        Some(quotient)
    }

    /// With the largest values of `i32` and `i64` in the constant replaced by symbols (see [`list_limit_facts`]).
    /// Numbers of a proof stay small then.
    #[must_use]
    pub fn name_limits(&self) -> Self {
        let mut named = self.clone();
        let mut rest = self.coefficient(&Monomial::new());
        for (symbol, limit) in LIMITS.into_iter().rev() {
            if rest.unsigned_abs() <= (limit / 2).unsigned_abs() {
                continue;
            }
            let times = Integer::div_floor(&rest.saturating_add(limit / 2), &limit);
            if named.add_term(smallvec::smallvec![symbol], times).is_some() {
                rest -= times * limit;
            }
        }
        named.0.remove(&Monomial::new());
        if rest != 0 {
            named.0.insert(Monomial::new(), rest);
        }
        named
    }

    /// Of "this is at least 0" the strongest form over integers: divided by the common divisor of the coefficients,
    /// the constant rounded down.
    #[must_use]
    pub fn tighten(&self) -> Self {
        let coefficients = self.0.iter().filter(|(monomial, _)| !monomial.is_empty());
        let divisor = coefficients.fold(0i128, |divisor, (_, &coefficient)| {
            divisor.gcd(&coefficient.checked_abs().unwrap_or(1))
        });
        if divisor <= 1 {
            return self.clone();
        }
        let terms = self
            .0
            .iter()
            .map(|(monomial, &coefficient)| (monomial.clone(), Integer::div_floor(&coefficient, &divisor)));
        Self(terms.filter(|&(_, coefficient)| coefficient != 0).collect())
    }
}
