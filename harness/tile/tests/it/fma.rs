//! `fma` of the narrow floats against exact integers.

use cerith_tile::ir::{Rounding, TernaryOp};
use cerith_tile::{DType, numeric};
use proptest::prelude::*;

/// The exact `x * y + z` of binary16 numbers in units of 2^-48: all are integers below 2^81.
fn fma_exactly(x: f64, y: f64, z: f64) -> i128 {
    let scale = |value: f64| (value * 24f64.exp2()) as i128;
    scale(x) * scale(y) + (scale(z) << 24)
}

/// An integer as an `f64` that rounds to binary16 as the integer does: what 53 bits do not hold is one low bit.
fn round_to_odd(value: i128) -> f64 {
    let spare = (128 - value.unsigned_abs().leading_zeros()).saturating_sub(53);
    let kept = value >> spare;
    let lost = i128::from(kept << spare != value);
    ((kept | lost) << spare) as f64
}

/// The bits of a finite number of binary16.
fn finite() -> impl Strategy<Value = u16> {
    any::<u16>().prop_map(|bits| {
        if bits & 0x7c00 == 0x7c00 {
            bits & 0xbfff
        } else {
            bits
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn rounds_binary16_once(x in finite(), y in finite(), z in finite()) {
        let operands = [x, y, z].map(u64::from);
        let [x, y, z] = operands.map(|bits| numeric::decode(DType::F16, bits));
        let exact = fma_exactly(x, y, z);
        prop_assume!(exact != 0);
        let expected = round_to_odd(exact) * (-48f64).exp2();
        let expected = numeric::encode(DType::F16, expected, Rounding::NearestEven);
        let [x, y, z] = operands;
        let bits = numeric::apply_ternary(TernaryOp::Fma, DType::F16, x, y, z).bits();
        prop_assert_eq!(bits, Some(expected));
    }
}
