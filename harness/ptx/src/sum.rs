//! The summation of the matrix unit. NVIDIA does not document it; this models a Hopper GPU.
//!
//! All products of a run of elements and the sum so far are aligned to the largest exponent among them; a product's
//! exponent is the sum of its factors' exponents. Digits below the 25th fractional place are truncated. Their sum is
//! exact, and is truncated to the result's precision.

use crate::alu::float::NAN32;
use crate::alu::half::to_f16;

/// Fractional places that are kept.
const PLACES: i32 = 25;

/// A number as an integer and an exponent.
#[derive(Clone, Copy)]
struct Term {
    negative: bool,
    /// The significand, with 46 fractional places relative to the exponent.
    units: u64,
    exponent: i32,
}

/// Splits a float into its significand with 23 fractional places and its exponent.
fn split_float(value: f32) -> (u64, i32) {
    let bits = value.to_bits();
    let field = (bits >> 23 & 0xff) as i32;
    let fraction = u64::from(bits & 0x007f_ffff);
    if field == 0 {
        (fraction, -126)
    } else {
        (fraction | 1 << 23, field - 127)
    }
}

fn multiply_exactly(a: f32, b: f32) -> Term {
    let ((x, p), (y, q)) = (split_float(a), split_float(b));
    Term {
        negative: a.is_sign_negative() != b.is_sign_negative(),
        units: x * y,
        exponent: p + q,
    }
}

fn exact_term(value: f32) -> Term {
    let (units, exponent) = split_float(value);
    Term {
        negative: value.is_sign_negative(),
        units: units << 23,
        exponent,
    }
}

/// Sums products in `f32`, `run` at a time.
pub(crate) fn sum_f32(pairs: impl Iterator<Item = (f32, f32)>, c: f32, run: usize) -> u64 {
    let pairs: smallvec::SmallVec<[(f32, f32); 32]> = pairs.collect();
    let mut sum = c;
    for pairs in pairs.chunks(run.max(1)) {
        sum = round(pairs, sum);
    }
    if sum.is_nan() { NAN32 } else { sum.to_bits().into() }
}

/// Sums products in `f16`: as in `f32`, then rounded to nearest.
pub(crate) fn sum_f16(pairs: impl Iterator<Item = (f32, f32)>, c: f32) -> u64 {
    let bits = sum_f32(pairs, c, 16);
    to_f16(f64::from(f32::from_bits(bits as u32)))
}

/// Sums one run.
fn round(pairs: &[(f32, f32)], c: f32) -> f32 {
    let finite = c.is_finite() && pairs.iter().all(|(a, b)| a.is_finite() && b.is_finite());
    if !finite {
        // Infinities and NaN determine the result; finite terms don't matter then.
        let clip = |value: f64| if value.is_finite() { 0.0 } else { value };
        let products = pairs.iter().map(|&(a, b)| clip(f64::from(a) * f64::from(b)));
        return products.fold(clip(c.into()), |sum, product| sum + product) as f32;
    }
    let terms = pairs
        .iter()
        .map(|&(a, b)| multiply_exactly(a, b))
        .chain(std::iter::once(exact_term(c)))
        .filter(|term| term.units != 0);
    let Some(top) = terms.clone().map(|term| term.exponent).max() else {
        // A sum of zeros is negative only if all of them are.
        let negative = c.is_sign_negative()
            && pairs
                .iter()
                .all(|(a, b)| a.is_sign_negative() != b.is_sign_negative());
        return if negative { -0.0 } else { 0.0 };
    };
    let mut sum = 0i64;
    for term in terms {
        let shift = 46 - PLACES + (top - term.exponent);
        let kept = if shift >= 64 {
            0
        } else {
            (term.units >> shift) as i64
        };
        sum += if term.negative { -kept } else { kept };
    }
    assemble(sum, top - PLACES)
}

/// Converts an integer times a power of two to an `f32`, truncated.
fn assemble(units: i64, exponent: i32) -> f32 {
    if units == 0 {
        return 0.0;
    }
    let magnitude = units.unsigned_abs();
    let top = 63 - magnitude.leading_zeros() as i32;
    // The last place of the result.
    let last = (top - 23).max(-149 - exponent);
    let kept = if last > 0 {
        magnitude.checked_shr(last as u32).unwrap_or(0) << last.min(63)
    } else {
        magnitude
    };
    let value = kept as f64 * 2f64.powi(exponent);
    let value = if value > f64::from(f32::MAX) {
        f64::INFINITY
    } else {
        value
    };
    if units < 0 { -(value as f32) } else { value as f32 }
}
