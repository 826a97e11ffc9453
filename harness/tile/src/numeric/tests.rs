//! The arithmetic against oracles that share no code with it.

use super::*;
use crate::DType;
use crate::ir::{BinaryOp, Rounding, TernaryOp};

#[test]
fn f16_and_bf16_agree_with_the_half_crate_on_every_pattern() {
    for bits in 0..=u16::MAX {
        let ours = soft::f16_to_f32(bits);
        let theirs = half::f16::from_bits(bits).to_f32();
        assert!(
            ours.to_bits() == theirs.to_bits() || (ours.is_nan() && theirs.is_nan()),
            "{bits:#x}"
        );
        let ours = soft::bf16_to_f32(bits);
        let theirs = half::bf16::from_bits(bits).to_f32();
        assert!(
            ours.to_bits() == theirs.to_bits() || (ours.is_nan() && theirs.is_nan()),
            "{bits:#x}"
        );
        if !half::f16::from_bits(bits).is_nan() {
            assert_eq!(soft::f32_to_f16(soft::f16_to_f32(bits)), bits);
            assert_eq!(soft::f32_to_f16_toward_zero(soft::f16_to_f32(bits)), bits);
        }
        if !half::bf16::from_bits(bits).is_nan() {
            assert_eq!(soft::f32_to_bf16(soft::bf16_to_f32(bits)), bits);
        }
    }
}

#[test]
fn smoke() {
    let f = |x: f32| x.to_bits() as u64;
    assert_eq!(
        binary(BinaryOp::Add, DType::F32, f(1.5), f(2.0)),
        Computed::Bits(f(3.5))
    );
    assert_eq!(
        ternary(TernaryOp::Fma, DType::F32, f(1.5), f(2.0), f(0.25)),
        Computed::Bits(f(3.25))
    );
    assert_eq!(
        binary(BinaryOp::IntDiv, DType::I32, 7, 0),
        Computed::DivisionByZero
    );
    assert_eq!(
        cast(DType::F32, DType::F8E4NV, Rounding::NearestEven, f(465.0)),
        Computed::Bits(0x7e)
    );
}
