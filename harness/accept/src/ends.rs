//! Ends of intervals: `f64` numbers moved by the possible rounding error, without branches, so that loops vectorise. See
//! `interval` for intervals and `chunk` for blocks of them.

#![expect(
    clippy::inline_always,
    clippy::needless_bitwise_bool,
    reason = "parts of loops, which calls and branches keep from being vectorised"
)]

/// The least normal number of `f32`.
pub(super) const NORMAL: f64 = f32::MIN_POSITIVE as f64;
/// Far enough below the largest number of `f32`.
pub(super) const LARGE: f64 = 1e38;

#[inline(always)]
pub(super) fn min(x: f64, y: f64) -> f64 {
    if y < x { y } else { x }
}

#[inline(always)]
pub(super) fn max(x: f64, y: f64) -> f64 {
    if y > x { y } else { x }
}

/// Whether a number is normal in `f32`, and not near its largest.
#[inline(always)]
pub(super) fn is_ordinary(value: f64) -> bool {
    (value.abs() >= NORMAL) & (value.abs() < LARGE)
}

/// `x * y + z` as one number of `f64`, rounded so that rounding it again rounds once (to odd; Boldo and Melquiond, 2008).
#[inline(always)]
pub(super) fn fma_to_odd(x: f64, y: f64, z: f64) -> f64 {
    let product = x * y;
    let sum = product + z;
    // The rounding error of the sum, exactly (Knuth's two-sum).
    let addend = sum - product;
    let lost = (product - (sum - addend)) + (z - addend);
    let bits = sum.to_bits();
    let toward = u64::from((lost > 0.0) != (sum > 0.0));
    let odd = bits.wrapping_sub(toward) | 1;
    f64::from_bits(if (lost != 0.0) & (bits & 1 == 0) {
        odd
    } else {
        bits
    })
}

/// A number that is less, by no more than two units of its last place.
#[inline(always)]
pub(super) fn step_down(value: f64) -> f64 {
    value - (value.abs() * f64::EPSILON + f64::from_bits(1))
}

/// A number that is greater, likewise.
#[inline(always)]
pub(super) fn step_up(value: f64) -> f64 {
    value + (value.abs() * f64::EPSILON + f64::from_bits(1))
}

/// A normal number of `f32`, and so many units of its last place.
#[inline(always)]
pub(super) fn add_ulps(value: f64, units: f64) -> f64 {
    let unit = f64::from_bits((value.to_bits() & (0x7ff << 52)).wrapping_sub(23 << 52));
    value + units * unit
}
