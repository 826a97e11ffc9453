//! The 32 lanes of a warp: a register of all of them, and loops over them. [`crate::warp`] tracks which lanes are
//! active.
//!
//! A register has 64 bits in every lane. An instruction reads as many low bits of it as its type has, and writes the rest as
//! zeros.

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;

/// One register of every lane.
pub(crate) type Lanes = [u64; LANES];

/// All lanes of a warp, as a mask.
pub(crate) const ALL: u32 = u32::MAX;

/// Computes a register from one operand. All lanes are computed; the caller keeps the active ones.
pub(crate) type Unary = fn(&Lanes, &mut Lanes);
/// Computes a register from two operands.
pub(crate) type Binary = fn(&Lanes, &Lanes, &mut Lanes);
/// Computes a register from three operands.
pub(crate) type Ternary = fn(&Lanes, &Lanes, &Lanes, &mut Lanes);
/// Computes a register from four operands.
pub(crate) type Quaternary = fn([&Lanes; 4], &mut Lanes);
/// Computes a mask of the lanes where a condition holds.
pub(crate) type Test = fn(&Lanes, &Lanes) -> u32;

#[inline(always)]
pub(crate) fn map_unary(a: &Lanes, out: &mut Lanes, f: impl Fn(u64) -> u64) {
    for (out, &a) in out.iter_mut().zip(a) {
        *out = f(a);
    }
}

#[inline(always)]
pub(crate) fn map_binary(a: &Lanes, b: &Lanes, out: &mut Lanes, f: impl Fn(u64, u64) -> u64) {
    for (out, (&a, &b)) in out.iter_mut().zip(a.iter().zip(b)) {
        *out = f(a, b);
    }
}

#[inline(always)]
pub(crate) fn map_ternary(
    a: &Lanes,
    b: &Lanes,
    c: &Lanes,
    out: &mut Lanes,
    f: impl Fn(u64, u64, u64) -> u64,
) {
    for (out, ((&a, &b), &c)) in out.iter_mut().zip(a.iter().zip(b).zip(c)) {
        *out = f(a, b, c);
    }
}

#[inline(always)]
pub(crate) fn test_lanes(a: &Lanes, b: &Lanes, f: impl Fn(u64, u64) -> bool) -> u32 {
    let mut mask = 0;
    for (lane, (&a, &b)) in a.iter().zip(b).enumerate() {
        mask |= u32::from(f(a, b)) << lane;
    }
    mask
}

/// Iterates over the numbers of the lanes in a mask, ascending.
#[inline]
pub(crate) fn lanes_of(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let lane = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        Some(lane)
    })
}
