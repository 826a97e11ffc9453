//! The sums of a matrix product, all of them at once: what adding up the products one by one gives, to the bit, where all
//! operands and sums are of moderate size.

use conch_tile::DType;

use super::lane::{Interval, Lane};
use super::sum::{Input, Sum, fits, is_single};
use crate::dot::Extent;

/// Sums beyond this are left to [`Sum::add_product`].
const MODERATE: f64 = 1e30;

/// Columns that are summed at once, in registers.
const COLUMNS: usize = 4;

/// In place of an exponent.
const NONE: i32 = i32::MIN;

/// An operand, row by row.
struct Factors {
    low: Vec<f64>,
    high: Vec<f64>,
    /// The exponent of each lane's smallest bit; [`NONE`] of a lane that is not exact.
    lowest: Vec<i32>,
    points: bool,
}

impl Factors {
    fn of(lanes: &[Lane], dtype: DType, input: Input) -> Option<Self> {
        let mut factors = Self {
            low: Vec::with_capacity(lanes.len()),
            high: Vec::with_capacity(lanes.len()),
            lowest: Vec::with_capacity(lanes.len()),
            points: true,
        };
        for lane in lanes {
            if !matches!(lane, Lane::Bits(_) | Lane::Within { .. }) {
                return None;
            }
            let whole = lane.interval(dtype);
            let interval = if input == Input::Tf32 {
                whole.to_tf32()
            } else {
                whole
            };
            let Interval { low, high, nan } = interval;
            // Products of such numbers are exact in `f64`.
            let narrow = |end: f64| end.abs() < MODERATE && is_single(end);
            if nan || !narrow(low) || !narrow(high) {
                return None;
            }
            factors.points &= low == high;
            factors.low.push(low);
            factors.high.push(high);
            let lowest = lane.bits().and_then(|_| input.lowest(whole.low));
            factors.lowest.push(lowest.unwrap_or(NONE));
        }
        Some(factors)
    }
}

/// The ends and the magnitudes of sums of products.
struct Totals {
    low: Vec<f64>,
    high: Vec<f64>,
    magnitude: Vec<f64>,
}

/// The sums of products of `[batch,] m, k` and `[batch,] k, n`; nothing where they have to be added up one by one. Each
/// step of a sum keeps `bits` bits.
pub(super) fn sums(
    extent: Extent,
    (a, b): (&[Lane], &[Lane]),
    dtype: DType,
    input: Input,
    bits: i32,
) -> Option<Vec<Sum>> {
    let Extent { batch, m, n, k } = extent;
    let moderate = matches!(input, Input::Whole | Input::Tf32) && dtype != DType::F64;
    if !moderate || k == 0 || n == 0 || a.len() != batch * m * k || b.len() != batch * k * n {
        return None;
    }
    let (a, b) = (Factors::of(a, dtype, input)?, Factors::of(b, dtype, input)?);
    let totals = match (a.points, b.points) {
        (true, true) => products::<true>(extent, &a, &b, |x, _, y, _| {
            let product = x * y;
            (product, product, product.abs())
        }),
        (true, false) => products::<false>(extent, &a, &b, |x, _, low, high| ends(x * low, x * high)),
        (false, true) => products::<false>(extent, &a, &b, |low, high, y, _| ends(low * y, high * y)),
        (false, false) => products::<false>(extent, &a, &b, |a, b, c, d| {
            let (one, two) = (ends(a * c, a * d), ends(b * c, b * d));
            (least(one.0, two.0), most(one.1, two.1), most(one.2, two.2))
        }),
    };
    let mut sums = Vec::with_capacity(batch * m * n);
    for (lane, ((&low, &high), &magnitude)) in totals
        .low
        .iter()
        .zip(&totals.high)
        .zip(&totals.magnitude)
        .enumerate()
    {
        if magnitude.is_nan() || magnitude > MODERATE {
            return None;
        }
        let (row, j) = (lane / n, lane % n);
        let quantum = || {
            let own = a.lowest.get(row * k..(row + 1) * k)?;
            let column = b.lowest.get(row / m * k * n + j..)?.iter().step_by(n);
            let mut quantum = i32::MAX;
            for (&x, &y) in own.iter().zip(column) {
                if x == NONE || y == NONE {
                    return None;
                }
                quantum = quantum.min(x.saturating_add(y));
                // What does not fit now will not either with smaller bits and more terms.
                if !fits(magnitude, quantum, bits) {
                    break;
                }
            }
            Some(quantum)
        };
        let quantum = quantum();
        let total = Interval {
            low,
            high,
            nan: false,
        };
        sums.push(Sum::of_products(total, magnitude, k, quantum));
    }
    Some(sums)
}

#[inline]
fn least(x: f64, y: f64) -> f64 {
    if y < x { y } else { x }
}

#[inline]
fn most(x: f64, y: f64) -> f64 {
    if y > x { y } else { x }
}

#[inline]
fn ends(x: f64, y: f64) -> (f64, f64, f64) {
    (least(x, y), most(x, y), most(x.abs(), y.abs()))
}

/// Adds up `term` of each pair of factors, in ascending `k`. With `POINTS`, both ends are one.
#[inline]
fn products<const POINTS: bool>(
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
                let (y_low, y_high) = (chunk(y_low, column), chunk(y_high, column));
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

/// The elements from a column on, zeros behind the last.
#[inline]
fn chunk(row: &[f64], column: usize) -> [f64; COLUMNS] {
    let row = row.get(column..).unwrap_or(&[]);
    row.first_chunk().copied().unwrap_or_else(|| {
        let mut padded = [0.0; COLUMNS];
        for (to, &from) in padded.iter_mut().zip(row) {
            *to = from;
        }
        padded
    })
}
