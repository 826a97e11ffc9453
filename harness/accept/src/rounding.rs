//! Rounds numbers to a dtype, to nearest even, without branches, for loops that vectorise. Numbers that are subnormal or
//! too large in the dtype are flagged, because their rounding may be wrong.

#![expect(
    clippy::inline_always,
    clippy::needless_bitwise_bool,
    reason = "loops over arrays, which calls and branches keep from being vectorised"
)]

use super::ends::{LARGE, NORMAL};

/// Rounding to a dtype, to nearest even.
pub(super) trait Round {
    /// The rounded number, and whether that may be wrong.
    fn round(value: f64) -> (f64, bool);
}

/// `f32`.
#[derive(Debug)]
pub(super) struct Single;

impl Round for Single {
    #[inline(always)]
    fn round(value: f64) -> (f64, bool) {
        (f64::from(value as f32), false)
    }
}

/// Keeps all but so many of the bits of `f64`.
#[inline(always)]
fn round_bits(value: f64, drop: u32) -> f64 {
    let bits = value.to_bits();
    let even = (bits >> drop) & 1;
    let half = (1u64 << (drop - 1)) - 1;
    f64::from_bits(bits.wrapping_add(half + even) & !((1u64 << drop) - 1))
}

/// `f16`, where its numbers are normal.
#[derive(Debug)]
pub(super) struct Half;

impl Round for Half {
    #[inline(always)]
    fn round(value: f64) -> (f64, bool) {
        let rounded = round_bits(value, 42);
        let ordinary = (value.abs() >= 6.103_515_625e-5) & (rounded.abs() <= 65504.0);
        (rounded, !(ordinary | (value == 0.0)))
    }
}

/// `bf16`, where its numbers are normal.
#[derive(Debug)]
pub(super) struct Brain;

impl Round for Brain {
    #[inline(always)]
    fn round(value: f64) -> (f64, bool) {
        let rounded = round_bits(value, 45);
        let ordinary = (value.abs() >= NORMAL) & (rounded.abs() <= LARGE);
        (rounded, !(ordinary | (value == 0.0)))
    }
}
