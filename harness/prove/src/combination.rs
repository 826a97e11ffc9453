//! Decides whether a polynomial is a sum of given polynomials with factors of at least 0, plus a constant of at least 0.
//!
//! This is a linear program over rational numbers: an unknown factor for each given polynomial, an equation for each monomial.
//! Most given polynomials can't be part of a sum, because nothing cancels one of their monomials: they are removed first. The
//! simplex method is exact, so that a solution is a proof without a tolerance. Floats were tried: they missed proofs.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::polynomial::{Monomial, Polynomial};
use crate::rational::Rational;

/// Maximum number of cells of a tableau.
const MAX_CELLS: usize = 60_000;

/// Maximum number of pivots.
const MAX_PIVOTS: usize = 400;

/// An integer that is greater than -1 is at least 0: a goal has to be at least this fraction more than -1.
const FRACTION: i128 = 1 << 13;

/// Whether `goal` is such a sum of `given`, up to a constant of less than 1, which doesn't matter for integers. False also if the
/// search gives up.
pub fn is_combination(goal: &Polynomial, given: &[Polynomial]) -> bool {
    if let Some(number) = goal.as_number() {
        return number >= 0;
    }
    let Some(used) = remove_useless(goal, given) else {
        return false;
    };
    let rounded = goal
        .scale(FRACTION)
        .and_then(|goal| goal.add_number(FRACTION - 1));
    // A sum stays one with a greater constant. Without the fraction, numbers are smaller.
    let found = rounded.and_then(|rounded| solve(&rounded, &used));
    found.or_else(|| solve(goal, &used)).unwrap_or(false)
}

/// Whether such a sum of `given` is -1: the facts contradict each other.
pub fn is_contradiction(given: &[Polynomial]) -> bool {
    let goal = Polynomial::from_number(-1);
    remove_useless(&goal, given).is_some_and(|used| solve(&goal, &used).unwrap_or(false))
}

/// The monomial of a term by its number, and the sign of the coefficient.
type SignedTerm = (usize, bool);

/// Removes the polynomials that can't be part of a sum. `None` if no sum has the monomials of the goal.
fn remove_useless<'a>(goal: &Polynomial, given: &'a [Polynomial]) -> Option<Vec<&'a Polynomial>> {
    let mut monomials: Vec<&Monomial> = given
        .iter()
        .flat_map(Polynomial::terms)
        .map(|(monomial, _)| monomial)
        .collect();
    monomials.sort_unstable();
    monomials.dedup();
    let number = |monomial: &Monomial| monomials.binary_search(&monomial).ok();
    let list_terms = |one: &Polynomial| -> Vec<SignedTerm> {
        let terms = one.terms();
        terms
            .filter_map(|(monomial, coefficient)| Some((number(monomial)?, coefficient > 0)))
            .collect()
    };
    let mut used: Vec<(&Polynomial, Vec<SignedTerm>)> =
        given.iter().map(|one| (one, list_terms(one))).collect();
    // `None` if no given polynomial has the monomial.
    let wanted: Option<Vec<SignedTerm>> = goal
        .terms()
        .filter(|(monomial, _)| !monomial.is_empty())
        .map(|(monomial, coefficient)| Some((number(monomial)?, coefficient > 0)))
        .collect();
    let wanted = wanted?;
    // A constant may be left over.
    let is_free: Vec<bool> = monomials
        .iter()
        .map(|monomial| monomial.is_empty() || goal.coefficient(monomial) != 0)
        .collect();
    loop {
        // For each monomial: whether some polynomial has it with a positive factor, and with a negative one.
        let mut signs = vec![(false, false); monomials.len()];
        for (at, is_positive) in used.iter().flat_map(|(_, terms)| terms) {
            if let Some(sign) = signs.get_mut(*at) {
                sign.0 |= is_positive;
                sign.1 |= !is_positive;
            }
        }
        let has_sign = |(at, is_positive): &SignedTerm| {
            let sign = signs.get(*at).copied().unwrap_or_default();
            if *is_positive { sign.0 } else { sign.1 }
        };
        if !wanted.iter().all(has_sign) {
            return None;
        }
        let is_useless = |(at, _): &SignedTerm| {
            let sign = signs.get(*at).copied().unwrap_or_default();
            sign.0 != sign.1 && !is_free.get(*at).copied().unwrap_or(true)
        };
        let before = used.len();
        used.retain(|(_, terms)| !terms.iter().any(is_useless));
        if used.len() == before {
            return Some(used.into_iter().map(|(one, _)| one).collect());
        }
    }
}

/// Whether the linear program has a solution. `None` if it is too large, or the search gives up.
fn solve(goal: &Polynomial, used: &[&Polynomial]) -> Option<bool> {
    let all = used.iter().copied().chain([goal]);
    let monomials: BTreeSet<&Monomial> = all
        .flat_map(Polynomial::terms)
        .map(|(monomial, _)| monomial)
        .collect();
    let constant = Monomial::new();
    let monomials = monomials.into_iter().filter(|monomial| !monomial.is_empty());
    let numbers: BTreeMap<&Monomial, usize> = [&constant].into_iter().chain(monomials).zip(0..).collect();
    // A column for each polynomial and one for the constant that is left over; the last one is the right side.
    let columns = used.len() + 2;
    if numbers.len().saturating_mul(columns) > MAX_CELLS {
        return None;
    }
    let mut rows: Vec<Vec<i128>> = vec![vec![0; columns]; numbers.len()];
    let mut set = |monomial: &Monomial, column: usize, number: i128| {
        let row = numbers.get(monomial).and_then(|&row| rows.get_mut(row));
        if let Some(cell) = row.and_then(|row| row.get_mut(column)) {
            *cell = number;
        }
    };
    set(&constant, columns - 2, 1);
    for (column, one) in used.iter().enumerate() {
        for (monomial, coefficient) in one.terms() {
            set(monomial, column, coefficient);
        }
    }
    for (monomial, coefficient) in goal.terms() {
        set(monomial, columns - 1, coefficient);
    }
    for row in rows
        .iter_mut()
        .filter(|row| row.last().is_some_and(|&right| right < 0))
    {
        for number in row {
            *number = number.saturating_neg();
        }
    }
    find_feasible(&rows, columns - 1)
}

/// Phase one of the simplex method. Every row begins with an artificial variable of its own, which isn't stored, and `basis` has the
/// column that has taken its place. The sum of the artificial variables is made 0, if that is possible. `None` if a number
/// overflows, or after too many pivots.
fn find_feasible(numbers: &[Vec<i128>], variables: usize) -> Option<bool> {
    let mut rows: Vec<Vec<Rational>> = Vec::with_capacity(numbers.len());
    // The sum of all rows that still have an artificial variable.
    let mut sums = vec![Rational::from_integer(0); variables + 1];
    for row in numbers {
        let row: Vec<Rational> = row.iter().map(|&number| Rational::from_integer(number)).collect();
        subtract_multiple(&mut sums, &row, Rational::from_integer(-1))?;
        rows.push(row);
    }
    let mut basis: Vec<Option<usize>> = vec![None; rows.len()];
    for turn in 0..MAX_PIVOTS {
        if sums.last()?.is_zero() {
            return Some(true);
        }
        let column = choose_column(&sums, variables, turn)?;
        let Some(column) = column else {
            return Some(false);
        };
        let mut best: Option<(usize, Rational)> = None;
        for (nth, row) in rows.iter().enumerate() {
            let cell = *row.get(column)?;
            if !cell.is_positive() {
                continue;
            }
            let ratio = row.last()?.div(cell)?;
            let is_better = match best {
                None => true,
                Some((other, least)) => match ratio.compare(least)? {
                    Ordering::Less => true,
                    Ordering::Equal => order(basis.get(nth), nth) < order(basis.get(other), other),
                    Ordering::Greater => false,
                },
            };
            if is_better {
                best = Some((nth, ratio));
            }
        }
        let (pivot, _) = best?;
        let mut row = std::mem::take(rows.get_mut(pivot)?);
        let factor = *row.get(column)?;
        for cell in &mut row {
            if !cell.is_zero() {
                *cell = cell.div(factor)?;
            }
        }
        for other in rows.iter_mut().filter(|other| !other.is_empty()) {
            let factor = *other.get(column)?;
            subtract_multiple(other, &row, factor)?;
        }
        let factor = *sums.get(column)?;
        subtract_multiple(&mut sums, &row, factor)?;
        *rows.get_mut(pivot)? = row;
        *basis.get_mut(pivot)? = Some(column);
    }
    None
}

/// The column that helps most; late in the search the first one that helps (Bland's rule), so that it can't go in circles.
#[expect(
    clippy::option_option,
    reason = "an overflow differs from the end of the search"
)]
fn choose_column(sums: &[Rational], variables: usize, turn: usize) -> Option<Option<usize>> {
    let mut best: Option<(usize, Rational)> = None;
    for (column, &sum) in sums.iter().take(variables).enumerate() {
        if !sum.is_positive() {
            continue;
        }
        let is_better = match best {
            None => true,
            Some((_, most)) => turn < MAX_PIVOTS / 2 && sum.compare(most)? == Ordering::Greater,
        };
        if is_better {
            best = Some((column, sum));
        }
    }
    Some(best.map(|(column, _)| column))
}

/// Artificial variables leave first.
fn order(basis: Option<&Option<usize>>, row: usize) -> (bool, usize) {
    match basis {
        Some(Some(column)) => (true, *column),
        _ => (false, row),
    }
}

fn subtract_multiple(from: &mut [Rational], row: &[Rational], factor: Rational) -> Option<()> {
    if factor.is_zero() {
        return Some(());
    }
    for (cell, &other) in from.iter_mut().zip(row) {
        if !other.is_zero() {
            *cell = cell.sub(other.mul(factor)?)?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::polynomial::SymbolId;

    fn x(n: u32) -> Polynomial {
        Polynomial::from_symbol(SymbolId(n))
    }

    #[test]
    fn sums_of_facts_are_found() {
        let (a, b) = (x(0), x(1));
        // From a >= 0 and b - a - 1 >= 0 follows b - 1 >= 0, but not b - 2 >= 0.
        let given = [
            a.clone(),
            b.sub(&a).and_then(|d| d.add_number(-1)).expect("small"),
        ];
        assert!(is_combination(&b.add_number(-1).expect("small"), &given));
        assert!(!is_combination(&b.add_number(-2).expect("small"), &given));
        assert!(!is_combination(&a.scale(-1).expect("small"), &given));
        // 6a + 4b + 3 from a and b - a - 1.
        let goal = a
            .scale(6)
            .and_then(|p| p.add_scaled(&b, 4))
            .and_then(|p| p.add_number(3))
            .expect("small");
        assert!(is_combination(&goal, &given));
    }
}
