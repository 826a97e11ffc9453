//! Sums of products of values that are unknown before a launch: program ids, lanes, iterations of loops, parameters.
//! The result of any operator other than addition and multiplication is a single unknown.

use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of terms of a sum; a larger one is an unknown.
const TERMS_MOST: usize = 64;

/// Something unknown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Atom {
    /// A parameter that is passed at run time or known when the kernel is compiled.
    Param(String),
    /// `tl.program_id(axis)`.
    Program(u8),
    /// A lane of `tl.arange(0, end)`.
    Lane(Extent),
    /// The iteration of a loop, from 0. Loops are numbered in the order of reading.
    Turn(usize),
    /// The value of any other expression, identified by its text and the values in it.
    Other {
        /// Expressions with the same text of the same values have the same value.
        text: String,
        /// Axes of `tl.program_id` that it depends on.
        programs: BTreeSet<u8>,
        /// For `a % b`: `b`.
        below: Option<Box<Polynomial>>,
        /// The axis whose program id it is the quotient or the remainder of, if it is: `tl.program_id(0) // n`.
        part: Option<u8>,
        /// The tensor that it was loaded from.
        loaded: Option<String>,
    },
}

/// The end of a range of lanes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// A number in the text.
    Number(i64),
    /// A parameter.
    Param(String),
    /// Something else, by its text.
    Text(String),
}

/// A product of atoms, sorted; no atom: 1.
pub type Product = Vec<Atom>;

/// A sum of products with their factors. Nothing in it: 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Polynomial(BTreeMap<Product, i64>);

impl Polynomial {
    /// A number.
    pub fn from_number(number: i64) -> Self {
        Self::from_terms([(Product::new(), number)])
    }

    /// One unknown.
    pub fn from_atom(atom: Atom) -> Self {
        Self::from_terms([(vec![atom], 1)])
    }

    /// The sum of these products, each so many times.
    pub fn from_terms(terms: impl IntoIterator<Item = (Product, i64)>) -> Self {
        let mut sum = Self::default();
        for (product, factor) in terms {
            sum.add_term(product, factor);
        }
        sum
    }

    fn add_term(&mut self, product: Product, factor: i64) {
        let total = self.0.get(&product).copied().unwrap_or(0).wrapping_add(factor);
        if total == 0 {
            self.0.remove(&product);
        } else {
            self.0.insert(product, total);
        }
    }

    /// Its products and their factors.
    pub fn terms(&self) -> impl Iterator<Item = (&Product, i64)> {
        self.0.iter().map(|(product, &factor)| (product, factor))
    }

    /// Whether it is 0.
    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// The number that it is, if it is one.
    pub fn as_number(&self) -> Option<i64> {
        match self.0.len() {
            0 => Some(0),
            1 => self.0.get(&Product::new()).copied(),
            _ => None,
        }
    }

    /// The parameter that it is, if it is one alone.
    pub fn as_param(&self) -> Option<&str> {
        let mut terms = self.0.iter();
        match (terms.next(), terms.next()) {
            (Some((product, 1)), None) => match product.as_slice() {
                [Atom::Param(name)] => Some(name),
                _ => None,
            },
            _ => None,
        }
    }

    /// The one unknown that it is, if it is one alone.
    pub fn as_atom(&self) -> Option<&Atom> {
        let mut terms = self.0.iter();
        match (terms.next(), terms.next()) {
            (Some((product, 1)), None) => match product.as_slice() {
                [atom] => Some(atom),
                _ => None,
            },
            _ => None,
        }
    }

    /// The sum of two; `None` if it has too many terms.
    pub fn plus(&self, other: &Self) -> Option<Self> {
        let mut sum = self.clone();
        for (product, factor) in other.terms() {
            sum.add_term(product.clone(), factor);
        }
        (sum.0.len() <= TERMS_MOST).then_some(sum)
    }

    /// The difference of two; `None` if it has too many terms.
    pub fn minus(&self, other: &Self) -> Option<Self> {
        self.plus(&other.times_number(-1))
    }

    fn times_number(&self, number: i64) -> Self {
        Self::from_terms(
            self.terms()
                .map(|(product, factor)| (product.clone(), factor.wrapping_mul(number))),
        )
    }

    /// The product of two; `None` if it has too many terms.
    pub fn times(&self, other: &Self) -> Option<Self> {
        if self.0.len().saturating_mul(other.0.len()) > TERMS_MOST * TERMS_MOST {
            return None;
        }
        let mut product = Self::default();
        for (a, m) in self.terms() {
            for (b, n) in other.terms() {
                let mut atoms: Product = a.iter().chain(b).cloned().collect();
                atoms.sort();
                product.add_term(atoms, m.wrapping_mul(n));
            }
        }
        (product.0.len() <= TERMS_MOST).then_some(product)
    }

    /// All atoms in it.
    pub fn atoms(&self) -> impl Iterator<Item = &Atom> {
        self.0.keys().flatten()
    }

    /// The factor of an unknown.
    #[must_use]
    pub fn factor_of(&self, atom: &Atom) -> Self {
        let terms = self.terms().filter_map(|(product, factor)| {
            let rest = divide_product(product, std::slice::from_ref(atom))?;
            Some((rest, factor))
        });
        Self::from_terms(terms)
    }

    /// The constant term.
    pub fn number_term(&self) -> i64 {
        self.0.get(&Product::new()).copied().unwrap_or(0)
    }

    /// Without the constant term.
    #[must_use]
    pub fn without_number(&self) -> Self {
        let mut rest = self.clone();
        rest.0.remove(&Product::new());
        rest
    }

    /// Without the terms that are the same in every lane, program and turn.
    #[must_use]
    pub fn without_offset(&self) -> Self {
        let moves = |product: &Product| product.iter().any(|atom| !matches!(atom, Atom::Param(_)));
        let terms = self.terms().filter(|(product, _)| moves(product));
        Self::from_terms(terms.map(|(product, factor)| (product.clone(), factor)))
    }

    /// The axes of `tl.program_id` that it depends on.
    pub fn programs(&self) -> BTreeSet<u8> {
        let mut programs = BTreeSet::new();
        for atom in self.atoms() {
            match atom {
                Atom::Program(axis) => {
                    programs.insert(*axis);
                }
                Atom::Other { programs: more, .. } => programs.extend(more),
                Atom::Param(_) | Atom::Lane(_) | Atom::Turn(_) => {}
            }
        }
        programs
    }
}

/// Removes the atoms of another product from a product; `None` if it does not have them all.
pub fn divide_product(product: &[Atom], by: &[Atom]) -> Option<Product> {
    let mut rest = product.to_vec();
    for atom in by {
        let at = rest.iter().position(|one| one == atom)?;
        rest.remove(at);
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_param(name: &str) -> Polynomial {
        Polynomial::from_atom(Atom::Param(name.to_owned()))
    }

    #[test]
    fn sums_and_products_are_what_they_are_in_school() {
        let (a, b) = (from_param("a"), from_param("b"));
        let sum = a.plus(&b).expect("short");
        let difference = a.minus(&b).expect("short");
        let product = sum.times(&difference).expect("short");
        let squares = a.times(&a).zip(b.times(&b)).and_then(|(a, b)| a.minus(&b));
        assert_eq!(Some(product), squares);
        assert!(a.minus(&a).expect("short").is_zero());
        assert_eq!(a.as_param(), Some("a"));
        assert_eq!(sum.as_param(), None);
        assert_eq!(Polynomial::from_number(3).as_number(), Some(3));
    }

    #[test]
    fn what_gets_too_long_is_unknown() {
        let mut sum = Polynomial::from_number(1);
        for n in 0..12 {
            let next = sum.plus(&from_param(&format!("p{n}"))).expect("short");
            match next.times(&sum) {
                Some(product) => sum = product,
                None => return,
            }
        }
        panic!("it grew without end");
    }
}
