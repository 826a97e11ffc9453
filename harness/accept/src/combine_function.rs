//! Bounds of reductions and scans by a combine function that rounds.
//!
//! No theorem bounds every order of an unknown function. So the function is evaluated with intervals in several
//! orders, deep and shallow, regular and random. In each order, every rounding may go either way. The range of an order
//! thus contains its exact result, and every result that its roundings can lead to. If the function is associative (and, in
//! a reduction, commutative) on the elements, all orders have the same exact result, so all ranges contain it. Then the
//! bounds are the hull of the ranges, widened by `n` roundings of the greatest intermediate result. Disjoint ranges show that
//! the function's result depends on the order.
//!
//! A result that has the same bits in every order, without a rounding, is exact. An overflow is a rounding that no widening
//! covers: where finite elements lead near the dtype's greatest number, an order that was not tried may pass it, and lead
//! anywhere (`inf` times 0 is NaN, another order never multiplies them). If a known operation combines an operand
//! independently of the others (the count of Welford's algorithm, sums in pairs), the operand has the bounds of this
//! operation (`sum`, `product`), which hold for every order.

use cerith_tile::DType;

use super::formula::{Element, Formula, measure_magnitude, rounding_of};
use super::interval::Interval;
use super::lane::Lane;
use cerith_interp::reduce::{Draws, draw_brackets};

/// Random orders that are tried.
const SEEDS: [u32; 2] = [1, 2];

/// Combined elements of a scan beyond which no random brackets are tried.
const MAX_BRACKETED: usize = 1 << 16;

/// The results of one operand, order by order.
#[derive(Clone)]
struct Bound {
    /// The result in the reference's own order.
    reference: Lane,
    hull: Interval,
    /// The intersection of the ranges of all orders.
    common: Interval,
    /// Whether the result is the same in all orders so far.
    unanimous: bool,
    /// The greatest finite intermediate result.
    greatest: f64,
}

impl Bound {
    fn new(own: Lane, dtype: DType) -> Self {
        let interval = own.to_interval(dtype);
        Self {
            reference: own,
            hull: interval,
            common: interval,
            unanimous: true,
            greatest: measure_magnitude(own, dtype),
        }
    }

    fn add(&mut self, lane: Lane, dtype: DType) {
        let interval = lane.to_interval(dtype);
        self.unanimous &= lane == self.reference;
        self.hull = self.hull.hull(interval);
        let nan = self.common.nan && interval.nan;
        self.common = match (self.common.only_nan(), interval.only_nan()) {
            (false, false) => Interval {
                low: self.common.low.max(interval.low),
                high: self.common.high.min(interval.high),
                nan,
            },
            _ => Interval { nan, ..Interval::NAN },
        };
        self.greatest = self.greatest.max(measure_magnitude(lane, dtype));
    }

    /// The accepted values after `count` elements.
    fn settle(&self, dtype: DType, count: usize, decided: bool) -> Lane {
        if self.unanimous && self.reference.bits().is_some() {
            return self.reference;
        }
        let steps = count as f64;
        let by = steps * rounding_of(dtype, self.greatest);
        let common = !self.common.only_nan() || self.common.nan;
        if common {
            return self.hull.widen(by).to_lane(dtype);
        }
        // The orders' ranges are disjoint. Until another launch has shown which bytes depend on the order, this is the range of
        // the reference's own order.
        if decided {
            Lane::Unknown
        } else {
            self.reference.to_interval(dtype).widen(by).to_lane(dtype)
        }
    }
}

/// The bounds of an element: a range for floats, and the common result of all orders for other dtypes.
struct Bounds<'f, 'a> {
    formula: &'f Formula<'a>,
    operands: Vec<Result<Bound, Agreed>>,
    /// Whether another order of finite elements may overflow.
    may_overflow: bool,
}

/// The common result of all orders, if it has no range.
#[derive(Clone, Copy)]
struct Agreed {
    /// The result in the reference's own order.
    reference: Lane,
    unanimous: bool,
}

impl<'f, 'a> Bounds<'f, 'a> {
    fn new(formula: &'f Formula<'a>, own: &Element) -> Self {
        let of = |(&lane, dtype): (&Lane, &Option<DType>)| match (lane, dtype) {
            (Lane::Poison | Lane::Unknown | Lane::Guess(_), _) | (_, None) => Err(Agreed {
                reference: lane,
                unanimous: true,
            }),
            (lane, &Some(dtype)) => Ok(Bound::new(lane, dtype)),
        };
        let operands = own.iter().zip(&formula.floats).map(of).collect();
        Self {
            formula,
            operands,
            may_overflow: false,
        }
    }

    fn add(&mut self, other: &Element) {
        for ((bound, &lane), dtype) in self.operands.iter_mut().zip(other).zip(&self.formula.floats) {
            let whole = |own: Lane| {
                Err(Agreed {
                    reference: own,
                    unanimous: true,
                })
            };
            match (&mut *bound, lane, dtype) {
                (_, Lane::Poison, _) => *bound = whole(Lane::Poison),
                (Ok(_), Lane::Unknown | Lane::Guess(_), _) | (Ok(_), _, None) => {
                    *bound = whole(Lane::Unknown);
                }
                (Ok(bound), lane, &Some(dtype)) => bound.add(lane, dtype),
                (Err(agreed), lane, _) => agreed.unanimous &= agreed.reference == lane,
            }
        }
    }

    /// Notes intermediate results. `finite`: the elements are.
    fn pass(&mut self, extent: &Extent, finite: bool) {
        self.may_overflow = finite && !extent.is_small;
        for (bound, &greatest) in self.operands.iter_mut().zip(&extent.greatest) {
            if let Ok(bound) = bound {
                bound.greatest = bound.greatest.max(greatest);
            }
        }
    }

    fn settle(&self, count: usize, decided: bool) -> Element {
        let of = |(bound, dtype): (&Result<Bound, Agreed>, &Option<DType>)| match (bound, dtype) {
            (Ok(_), _) if self.may_overflow && decided => Lane::Unknown,
            (Ok(bound), Some(dtype)) => bound.settle(*dtype, count, decided),
            (Err(agreed), _) if agreed.unanimous || !decided || agreed.reference == Lane::Poison => {
                agreed.reference
            }
            (Err(_), _) | (Ok(_), None) => Lane::Unknown,
        };
        self.operands.iter().zip(&self.formula.floats).map(of).collect()
    }
}

/// What intermediate results say about the orders that are not tried.
#[derive(Clone)]
struct Extent {
    /// The greatest finite magnitude of each operand.
    greatest: Vec<f64>,
    /// Whether all were far below the dtype's greatest number.
    is_small: bool,
}

impl Extent {
    fn new(formula: &Formula<'_>) -> Self {
        Self {
            greatest: vec![0.0; formula.floats.len()],
            is_small: true,
        }
    }

    fn note(&mut self, element: &Element, formula: &Formula<'_>) {
        self.is_small &= stays_below(formula, element, near_overflow);
        for ((greatest, &lane), dtype) in self.greatest.iter_mut().zip(element).zip(&formula.floats) {
            if let Some(dtype) = *dtype {
                *greatest = greatest.max(measure_magnitude(lane, dtype));
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        self.is_small &= other.is_small;
        for (greatest, &other) in self.greatest.iter_mut().zip(&other.greatest) {
            *greatest = greatest.max(other);
        }
    }
}

/// Whether all floats of an element are numbers, and at most as large as a limit of their dtype.
fn stays_below(formula: &Formula<'_>, element: &Element, limit: impl Fn(DType) -> f64) -> bool {
    element.iter().zip(&formula.floats).all(|(&lane, dtype)| {
        let Some(dtype) = *dtype else { return true };
        let (interval, most) = (lane.to_interval(dtype), limit(dtype));
        !interval.nan && interval.low >= -most && interval.high <= most
    })
}

fn is_finite(formula: &Formula<'_>, element: &Element) -> bool {
    stays_below(formula, element, |_| f64::MAX)
}

/// The magnitude beyond which another order may overflow: a sixteenth of the dtype's least number that is too large.
/// Results of two orders differ by more than this factor only where a cancellation makes them meaningless.
fn near_overflow(dtype: DType) -> f64 {
    let bias = dtype.float_format().map_or(0, |(_, bias)| bias);
    2f64.powi(bias as i32 - 3)
}

/// An evaluation in progress: the function, and what its results say.
struct Run<'f, 'a> {
    formula: &'f Formula<'a>,
    room: Vec<Lane>,
    extent: Extent,
}

impl<'f, 'a> Run<'f, 'a> {
    fn new(formula: &'f Formula<'a>) -> Self {
        Self {
            formula,
            room: Vec::new(),
            extent: Extent::new(formula),
        }
    }

    fn combine(&mut self, left: &Element, right: &Element) -> Element {
        let combined = self.formula.combine_loosely(left, right, &mut self.room);
        self.extent.note(&combined, self.formula);
        combined
    }

    fn fold<'e>(&mut self, mut elements: impl Iterator<Item = &'e Element>) -> Element {
        let mut so_far = elements.next().cloned().unwrap_or_default();
        for next in elements {
            so_far = self.combine(&so_far, next);
        }
        so_far
    }

    /// Combines neighbours, or the first half with the second, until one element is left.
    fn fold_tree(&mut self, elements: &[Element], neighbours: bool) -> Element {
        let mut rows = elements.to_vec();
        while rows.len() > 1 {
            let (pairs, count) = (rows.len() / 2, rows.len());
            let mut next = Vec::with_capacity(count - pairs);
            for pair in 0..pairs {
                let (left, right) = if neighbours {
                    (2 * pair, 2 * pair + 1)
                } else {
                    (pair, count - pairs + pair)
                };
                next.push(self.combine(&rows[left], &rows[right]));
            }
            if count % 2 == 1 {
                next.extend(rows.get(if neighbours { count - 1 } else { pairs }).cloned());
            }
            rows = next;
        }
        rows.pop().unwrap_or_default()
    }

    fn fold_random(&mut self, elements: &[Element], seed: u32) -> Element {
        let mut rows = elements.to_vec();
        let mut draws = Draws::new(seed);
        while rows.len() > 1 {
            let (left, right) = draws.draw_pair(rows.len());
            rows[left] = self.combine(&rows[left].clone(), &rows[right].clone());
            rows.swap_remove(right);
        }
        rows.pop().unwrap_or_default()
    }
}

/// The result of reducing a row. `decided` is whether a launch already showed which bytes depend on the order.
pub(super) fn bound_reduction(formula: &Formula<'_>, elements: &[Element], decided: bool) -> Element {
    let mut run = Run::new(formula);
    let own = run.fold(elements.iter());
    let mut bounds = Bounds::new(formula, &own);
    bounds.add(&run.fold(elements.iter().rev()));
    bounds.add(&run.fold_tree(elements, true));
    bounds.add(&run.fold_tree(elements, false));
    for seed in SEEDS {
        bounds.add(&run.fold_random(elements, seed));
    }
    let finite = elements.iter().all(|element| is_finite(formula, element));
    bounds.pass(&run.extent, finite);
    bounds.settle(elements.len(), decided)
}

/// The results of a scan of a row, prefix by prefix.
pub(super) fn bound_scan(formula: &Formula<'_>, elements: &[Element], decided: bool) -> Vec<Element> {
    let count = elements.len();
    let mut run = Run::new(formula);
    let mut bounds = Vec::with_capacity(count);
    // By the last element of what was combined: an intermediate result matters to the prefixes that contain it.
    let mut extents = vec![Extent::new(formula); count];
    let mut so_far = elements.first().cloned().unwrap_or_default();
    for (nth, element) in elements.iter().enumerate() {
        if nth > 0 {
            so_far = run.combine(&so_far, element);
            extents[nth].note(&so_far, formula);
        }
        bounds.push(Bounds::new(formula, &so_far));
    }
    let mut orders = vec![scan_steps(&mut run, elements, &mut extents)];
    if count <= MAX_BRACKETED {
        orders.extend(SEEDS.map(|seed| scan_brackets(&mut run, elements, seed, &mut extents)));
    }
    for order in orders {
        for (bound, element) in bounds.iter_mut().zip(&order) {
            bound.add(element);
        }
    }
    let (mut extent, mut finite) = (Extent::new(formula), true);
    for ((bound, element), own) in bounds.iter_mut().zip(elements).zip(&extents) {
        extent.merge(own);
        finite &= is_finite(formula, element);
        bound.pass(&extent, finite);
    }
    let settle = |(nth, bound): (usize, &Bounds<'_, '_>)| bound.settle(nth + 1, decided);
    bounds.iter().enumerate().map(settle).collect()
}

/// A scan in steps of 1, 2, 4, … `extents` has an entry for each element with which a combination ends.
fn scan_steps(run: &mut Run<'_, '_>, elements: &[Element], extents: &mut [Extent]) -> Vec<Element> {
    let mut rows = elements.to_vec();
    let mut distance = 1;
    while distance < rows.len() {
        let before = rows.clone();
        for nth in distance..rows.len() {
            rows[nth] = run.combine(&before[nth - distance], &before[nth]);
            extents[nth].note(&rows[nth], run.formula);
        }
        distance *= 2;
    }
    rows
}

/// A scan with random brackets. `extents` is as of `scan_steps`.
fn scan_brackets(
    run: &mut Run<'_, '_>,
    elements: &[Element],
    seed: u32,
    extents: &mut [Extent],
) -> Vec<Element> {
    let mut rows = elements.to_vec();
    for (middle, from, to) in draw_brackets(rows.len(), seed) {
        let left = rows[middle - 1].clone();
        for (row, extent) in rows[from..to].iter_mut().zip(&mut extents[from..to]) {
            *row = run.combine(&left, row);
            extent.note(row, run.formula);
        }
    }
    rows
}
