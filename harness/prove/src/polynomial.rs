//! Polynomials with integer coefficients: what an index, a size or an offset is, as a function of unknowns.
//!
//! Operations return `None` where a result would be too large to be of use, or a coefficient overflows.

use std::cmp::Ordering;
use std::collections::BTreeSet;

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

/// The product of two monomials.
pub fn multiply_monomials(a: &Monomial, b: &Monomial) -> Monomial {
    let mut product = Monomial::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.iter().copied().peekable(), b.iter().copied().peekable());
    while let (Some(one), Some(other)) = (a.peek(), b.peek()) {
        product.extend(if one <= other { a.next() } else { b.next() });
    }
    product.extend(a.chain(b));
    product
}

/// An order of monomials that multiplication keeps: by degree, and by symbols.
fn compare_degrees(a: &Monomial, b: &Monomial) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// A sum of monomials with their coefficients, none of which is 0, in order of the monomials. The empty sum is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Polynomial(Vec<(Monomial, i128)>);

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
        Self(if coefficient == 0 {
            Vec::new()
        } else {
            vec![(monomial, coefficient)]
        })
    }

    /// The terms, in order of their monomials.
    pub fn terms(&self) -> impl Iterator<Item = (&Monomial, i128)> {
        self.0
            .iter()
            .map(|(monomial, coefficient)| (monomial, *coefficient))
    }

    fn find(&self, monomial: &Monomial) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.cmp(monomial))
    }

    /// The monomial of the highest degree, the last one of several. It is the product of those of the factors. `None` for 0.
    pub fn leading_monomial(&self) -> Option<&Monomial> {
        let monomials = self.0.iter().map(|(monomial, _)| monomial);
        monomials.max_by(|a, b| compare_degrees(a, b))
    }

    /// Number of terms.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The coefficient of a monomial.
    pub fn coefficient(&self, monomial: &Monomial) -> i128 {
        let found = self.find(monomial).ok().and_then(|at| self.0.get(at));
        found.map_or(0, |(_, coefficient)| *coefficient)
    }

    /// The number that it is, if it has no symbols.
    pub fn as_number(&self) -> Option<i128> {
        match self.0.as_slice() {
            [] => Some(0),
            [(monomial, number)] if monomial.is_empty() => Some(*number),
            _ => None,
        }
    }

    /// The symbols in it.
    pub fn symbols(&self) -> BTreeSet<SymbolId> {
        self.0
            .iter()
            .flat_map(|(monomial, _)| monomial)
            .copied()
            .collect()
    }

    fn checked(self) -> Option<Self> {
        let mut terms = self.0.iter();
        let is_small = self.0.len() <= MAX_TERMS && terms.all(|(monomial, _)| monomial.len() <= MAX_DEGREE);
        is_small.then_some(self)
    }

    fn add_term(&mut self, monomial: Monomial, coefficient: i128) -> Option<()> {
        match self.find(&monomial) {
            Ok(at) => {
                let (_, known) = self.0.get_mut(at)?;
                *known = known.checked_add(coefficient)?;
                if *known == 0 {
                    self.0.remove(at);
                }
            }
            Err(at) if coefficient != 0 => self.0.insert(at, (monomial, coefficient)),
            Err(_) => {}
        }
        Some(())
    }

    /// The sum of terms in order of their monomials.
    fn sum_sorted(terms: impl Iterator<Item = (Monomial, i128)>) -> Option<Self> {
        let mut sum: Vec<(Monomial, i128)> = Vec::with_capacity(terms.size_hint().0);
        for (monomial, coefficient) in terms {
            match sum.last_mut() {
                Some((last, known)) if *last == monomial => *known = known.checked_add(coefficient)?,
                _ => sum.push((monomial, coefficient)),
            }
        }
        sum.retain(|(_, coefficient)| *coefficient != 0);
        Some(Self(sum))
    }

    /// The sum of this and `factor` times another.
    pub fn add_scaled(&self, other: &Self, factor: i128) -> Option<Self> {
        let mut sum: Vec<(Monomial, i128)> = Vec::with_capacity(self.len() + other.len());
        let mut own = self.0.iter().peekable();
        for (monomial, coefficient) in &other.0 {
            let scaled = coefficient.checked_mul(factor)?;
            while let Some((known, number)) = own.next_if(|(known, _)| known < monomial) {
                sum.push((known.clone(), *number));
            }
            let number = own.next_if(|(known, _)| known == monomial);
            let total = number.map_or(Some(scaled), |(_, number)| number.checked_add(scaled))?;
            if total != 0 {
                sum.push((monomial.clone(), total));
            }
        }
        sum.extend(own.cloned());
        Self(sum).checked()
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
        let degree = |one: &Self| one.leading_monomial().map_or(0, SmallVec::len);
        if degree(self) + degree(other) > MAX_DEGREE && !self.0.is_empty() && !other.0.is_empty() {
            return None;
        }
        let mut terms = Vec::with_capacity(self.len() * other.len());
        for (a, m) in self.terms() {
            for (b, n) in other.terms() {
                terms.push((multiply_monomials(a, b), m.checked_mul(n)?));
            }
        }
        // Stable, so that equal monomials are added up in this order.
        terms.sort_by(|(a, _), (b, _)| a.cmp(b));
        Self::sum_sorted(terms.into_iter())?.checked()
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
            quotient.0.push((monomial.clone(), coefficient.checked_div(by)?));
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
        if let Ok(at) = named.find(&Monomial::new()) {
            named.0.remove(at);
        }
        if rest != 0 {
            // The empty product comes first.
            named.0.insert(0, (Monomial::new(), rest));
        }
        named
    }

    /// Of "this is at least 0" the strongest form over integers: divided by the common divisor of the coefficients,
    /// the constant rounded down.
    #[must_use]
    pub fn tighten(&self) -> Self {
        let coefficients = self.0.iter().filter(|(monomial, _)| !monomial.is_empty());
        let divisor = coefficients.fold(0i128, |divisor, (_, coefficient)| {
            divisor.gcd(&coefficient.checked_abs().unwrap_or(1))
        });
        if divisor <= 1 {
            return self.clone();
        }
        let terms = self
            .0
            .iter()
            .map(|(monomial, coefficient)| (monomial.clone(), Integer::div_floor(coefficient, &divisor)));
        Self(terms.filter(|&(_, coefficient)| coefficient != 0).collect())
    }
}
