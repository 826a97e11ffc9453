//! Computes all sums of a matrix product at once. The results equal adding the products one by one, to the bit, if all
//! operands and sums are of moderate size.

use cerith_tile::DType;

use super::ends::{max, min};
use super::interval::Interval;
use super::precision::{least_bit, power_of_two};
use super::sum::{Input, Sum, fits, is_single, lowest_bit};
use super::wide::{BITS, INTERVAL, PRODUCT, Parts, Wide};
use cerith_interp::dot::Extent;

/// Larger sums are computed by [`Sum::add_product`].
const MODERATE: f64 = 1e30;

/// Columns that are summed at once, in registers.
const COLUMNS: usize = 4;

/// The exponent of a lane that is not exact. Its sum with any exponent is at most [`LEAST`].
const NONE: i16 = i16::MIN / 2;
/// The exponent of zero. Its sum with any exponent except [`NONE`] is at least [`GREATEST`].
const ZERO: i16 = i16::MAX / 4;

/// Sums of the exponents of two `f32` numbers are between these.
const LEAST: i16 = -4000;
const GREATEST: i16 = 4000;

/// Terms between two checks whether the smallest bit still matters.
const STRIDE: usize = 16;

/// An operand, row by row.
#[derive(Debug)]
struct Factors {
    low: Vec<f64>,
    high: Vec<f64>,
    /// The exponent of each lane's smallest bit, or [`NONE`] or [`ZERO`].
    lowest: Vec<i16>,
    points: bool,
}

impl Factors {
    fn from_wide(wide: &Wide, input: Input) -> Option<Self> {
        // A product is rounded before it is a factor.
        if wide
            .tags
            .iter()
            .any(|tag| !matches!(*tag, BITS | INTERVAL | PRODUCT))
        {
            return None;
        }
        let (mut low, mut high) = (wide.low.clone(), wide.high.clone());
        if input == Input::Tf32 {
            for (low, high) in low.iter_mut().zip(&mut high) {
                let interval = Interval {
                    low: *low,
                    high: *high,
                    nan: false,
                };
                Interval {
                    low: *low,
                    high: *high,
                    ..
                } = interval.to_tf32();
            }
        }
        // Products of such numbers are exact in `f64`.
        let narrow = |end: &f64| end.abs() < MODERATE && is_single(*end);
        if !low.iter().all(narrow) || !high.iter().all(narrow) {
            return None;
        }
        let points = low.iter().zip(&high).all(|(low, high)| low == high);
        let lowest = wide.low.iter().zip(&wide.tags).map(|(&value, &tag)| {
            let lowest = if tag == INTERVAL {
                None
            } else {
                input.find_lowest_bit(value)
            };
            lowest.map_or(NONE, |exponent| i16::try_from(exponent).unwrap_or(ZERO))
        });
        Some(Self {
            lowest: lowest.collect(),
            low,
            high,
            points,
        })
    }
}

/// The ends and the magnitudes of sums of products.
#[derive(Debug)]
struct Totals {
    low: Vec<f64>,
    high: Vec<f64>,
    magnitude: Vec<f64>,
}

/// The rounding of the steps of a sum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    /// Bits that each step keeps.
    pub bits: i32,
    /// A further error, relative to the magnitude of all terms.
    pub inherited: f64,
    /// Bits that the steps with this error keep.
    pub inherited_bits: i32,
}

/// The products of a dot of `[batch,] m, k` and `[batch,] k, n`, added up.
#[derive(Debug)]
pub(super) struct Products {
    extent: Extent,
    a: Factors,
    b: Factors,
    totals: Totals,
    steps: Steps,
}

impl Products {
    /// `None` if the products must be added one by one.
    pub(super) fn new(extent: Extent, (a, b): (&Wide, &Wide), input: Input, steps: Steps) -> Option<Self> {
        let Extent { batch, m, n, k } = extent;
        let moderate = matches!(input, Input::Whole | Input::Tf32);
        if !moderate || k == 0 || n == 0 || a.len() != batch * m * k || b.len() != batch * k * n {
            return None;
        }
        let (a, b) = (Factors::from_wide(a, input)?, Factors::from_wide(b, input)?);
        let totals = match (a.points, b.points) {
            (true, true) => sum_products::<true>(extent, &a, &b, |x, _, y, _| {
                let product = x * y;
                (product, product, product.abs())
            }),
            (true, false) => {
                sum_products::<false>(extent, &a, &b, |x, _, low, high| order_ends(x * low, x * high))
            }
            (false, true) => {
                sum_products::<false>(extent, &a, &b, |low, high, y, _| order_ends(low * y, high * y))
            }
            (false, false) => sum_products::<false>(extent, &a, &b, |a, b, c, d| {
                let (one, two) = (order_ends(a * c, a * d), order_ends(b * c, b * d));
                (min(one.0, two.0), max(one.1, two.1), max(one.2, two.2))
            }),
        };
        let wild = |&magnitude: &f64| magnitude.is_nan() || magnitude > MODERATE;
        (!totals.magnitude.iter().any(wild)).then_some(Self {
            extent,
            a,
            b,
            totals,
            steps,
        })
    }

    /// The exponent of the smallest bit of each lane's terms. `None` if a term is not exact. If no sum of a row fits, the exponents of
    /// the row may be too large, but not so large that a sum fits.
    fn quanta(&self) -> Vec<Option<i32>> {
        let Extent { m, n, k, .. } = self.extent;
        let bits = self.steps.bits.min(self.steps.inherited_bits);
        let number = |quantum: i16| match quantum {
            ..=LEAST => None,
            GREATEST.. => Some(i32::MAX),
            quantum => Some(i32::from(quantum)),
        };
        let mut quanta = Vec::with_capacity(self.totals.magnitude.len());
        let mut lanes = vec![ZERO; n];
        for (row, magnitudes) in self.totals.magnitude.chunks_exact(n).enumerate() {
            let own = self.a.lowest.get(row * k..(row + 1) * k).unwrap_or(&[]);
            let other = self.b.lowest.get(row / m * k * n..).unwrap_or(&[]);
            lanes.fill(ZERO);
            if own.contains(&NONE) {
                lanes.fill(NONE);
            } else {
                for (own, other) in own.chunks(STRIDE).zip(other.chunks(STRIDE * n)) {
                    for (&x, other) in own.iter().zip(other.chunks_exact(n)) {
                        for (lane, &y) in lanes.iter_mut().zip(other) {
                            *lane = (*lane).min(x + y);
                        }
                    }
                    // Smaller bits and more terms don't fit either.
                    let matters = |(&lane, &magnitude): (&i16, &f64)| {
                        number(lane).is_some_and(|quantum| fits(magnitude, quantum, bits))
                    };
                    if !lanes.iter().zip(magnitudes).any(matters) {
                        break;
                    }
                }
            }
            quanta.extend(lanes.iter().map(|&lane| number(lane)));
        }
        quanta
    }

    /// Bits that every step of a sum keeps.
    pub(super) const fn bits(&self) -> i32 {
        self.steps.bits
    }

    /// The sums, to which further terms can be added.
    pub(super) fn sums(&self) -> Vec<Sum> {
        let quanta = self.quanta();
        let sum = |lane: usize| {
            let magnitude = *self.totals.magnitude.get(lane)?;
            let total = Interval {
                low: *self.totals.low.get(lane)?,
                high: *self.totals.high.get(lane)?,
                nan: false,
            };
            let mut sum = Sum::of_products(total, magnitude, self.extent.k, *quanta.get(lane)?);
            sum.inherit(self.steps.inherited, self.steps.inherited_bits);
            Some(sum)
        };
        (0..self.totals.low.len()).filter_map(sum).collect()
    }

    /// The sums with an accumulator of `f32`, equal to those of [`Sum::result`]. `None` if an
    /// accumulator has no interval, or a sum is too large.
    pub(super) fn add_accumulator(&self, start: impl Fn(usize) -> Option<Parts>) -> Option<Wide> {
        let Steps {
            bits,
            inherited,
            inherited_bits,
        } = self.steps;
        let count = self.extent.k as f64 + 1.0;
        let relative = count * power_of_two(-bits) * 1.01 + inherited + count * power_of_two(-52);
        let least_bit = least_bit(DType::F32);
        let underflow = count * power_of_two(least_bit);
        let Totals { low, high, magnitude } = &self.totals;
        let lanes = low.len();
        let quanta = self.quanta();
        let mut wide = Wide::with_capacity(DType::F32, lanes);
        for lane in 0..lanes {
            let start = start(lane)?;
            if !matches!(start.tag, BITS | INTERVAL | PRODUCT) {
                return None;
            }
            let products = *magnitude.get(lane)?;
            let magnitude = products + start.low.abs().max(start.high.abs());
            let (low, high) = (low.get(lane)? + start.low, high.get(lane)? + start.high);
            let reached = magnitude * (1.0 + relative);
            if reached.is_nan() || reached > MODERATE {
                return None;
            }
            let exact = low == high && start.tag != INTERVAL && {
                let quantum = quanta.get(lane).copied().flatten();
                let quantum = quantum.zip(lowest_bit(start.low));
                quantum.is_some_and(|(own, other)| {
                    let quantum = own.min(other);
                    quantum >= least_bit && fits(magnitude, quantum, bits.min(inherited_bits))
                })
            };
            let error = if exact {
                0.0
            } else {
                magnitude * relative + underflow
            };
            let single = |end: f64| f64::from(end as f32);
            wide.push(Parts::from_ends(single(low - error), single(high + error))?);
        }
        Some(wide)
    }
}

#[inline]
fn order_ends(x: f64, y: f64) -> (f64, f64, f64) {
    (min(x, y), max(x, y), max(x.abs(), y.abs()))
}

/// Adds up `term` of each pair of factors, in ascending `k`. With `POINTS`, both ends are equal.
#[inline]
fn sum_products<const POINTS: bool>(
    Extent { batch, m, n, k }: Extent,
    a: &Factors,
    b: &Factors,
    term: impl Fn(f64, f64, f64, f64) -> (f64, f64, f64),
) -> Totals {
    let lanes = batch * m * n;
    let mut totals = Totals {
        low: Vec::with_capacity(lanes),
        high: Vec::with_capacity(lanes),
        magnitude: Vec::with_capacity(lanes),
    };
    for row in 0..batch * m {
        let (own, other) = (row * k..(row + 1) * k, row / m * k * n..(row / m + 1) * k * n);
        let a_low = a.low.get(own.clone()).unwrap_or(&[]);
        let a_high = a.high.get(own).unwrap_or(&[]);
        let b_low = b.low.get(other.clone()).unwrap_or(&[]);
        let b_high = b.high.get(other).unwrap_or(&[]);
        for column in (0..n).step_by(COLUMNS) {
            let width = COLUMNS.min(n - column);
            let mut low = [0.0; COLUMNS];
            let mut high = [0.0; COLUMNS];
            let mut magnitude = [0.0; COLUMNS];
            let rows = b_low.chunks_exact(n).zip(b_high.chunks_exact(n));
            for ((&x_low, &x_high), (y_low, y_high)) in a_low.iter().zip(a_high).zip(rows) {
                let (y_low, y_high) = (load_columns(y_low, column), load_columns(y_high, column));
                for j in 0..COLUMNS {
                    let (least, most, size) = term(x_low, x_high, y_low[j], y_high[j]);
                    low[j] += least;
                    if !POINTS {
                        high[j] += most;
                    }
                    magnitude[j] += size;
                }
            }
            let high = if POINTS { low } else { high };
            totals.low.extend(low.iter().take(width));
            totals.high.extend(high.iter().take(width));
            totals.magnitude.extend(magnitude.iter().take(width));
        }
    }
    totals
}

/// The elements from a column on, padded with zeros.
#[inline]
fn load_columns(row: &[f64], column: usize) -> [f64; COLUMNS] {
    let row = row.get(column..).unwrap_or(&[]);
    row.first_chunk().copied().unwrap_or_else(|| {
        let mut padded = [0.0; COLUMNS];
        for (to, &from) in padded.iter_mut().zip(row) {
            *to = from;
        }
        padded
    })
}
