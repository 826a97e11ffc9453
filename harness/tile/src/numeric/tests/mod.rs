//! The arithmetic against oracles that share no code with it.

mod functions;
mod integers;
mod loops;
mod nan;
mod rounding;
mod text;

use super::*;
use crate::DType;
use crate::ir::{BinaryOp, CmpPredicate, Rounding, TernaryOp, UnaryOp};

/// Whether two lanes hold the same, all NaNs being one.
fn is_same_lane(dtype: DType, left: u64, right: u64) -> bool {
    left == right || (is_nan(dtype, left) && is_nan(dtype, right))
}

/// The narrow floats of every layout.
const NARROW: [DType; 7] = [
    DType::F16,
    DType::BF16,
    DType::F8E4NV,
    DType::F8E5,
    DType::F8E4B8,
    DType::F8E5B16,
    DType::F8E4B15,
];

/// Some lanes of a dtype: bounds, neighbours of powers of two, and the bits of a counter in between.
fn sample_lanes(dtype: DType) -> Vec<u64> {
    let width = dtype.bits();
    let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
    if width <= 8 {
        return (0..=mask).collect();
    }
    let mut lanes: Vec<u64> = (0..width)
        .flat_map(|bit| {
            [
                1u64 << bit,
                (1u64 << bit).wrapping_sub(1),
                (1u64 << bit).wrapping_add(1),
            ]
        })
        .flat_map(|bits| [bits, !bits])
        .collect();
    if dtype.is_float() {
        for value in [
            0.0,
            1.0,
            0.5,
            1.5,
            3.0,
            100.25,
            1e-3,
            65504.0,
            f64::INFINITY,
            f64::NAN,
            1e-40,
            2.0f64.sqrt(),
        ] {
            lanes.push(encode(dtype, value, Rounding::NearestEven));
            lanes.push(encode(dtype, -value, Rounding::NearestEven));
        }
    }
    // A multiplicative counter spreads over every byte.
    lanes.extend((1..64u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    for bits in &mut lanes {
        *bits &= mask;
    }
    lanes.sort_unstable();
    lanes.dedup();
    lanes
}

#[test]
fn nothing_panics_on_any_operation_dtype_and_bits() {
    let wild = [
        0,
        1,
        7,
        0x80,
        0xff,
        0x7fff,
        0x8000,
        0x7f80_0000,
        0xffff_ffff,
        1 << 63,
        u64::MAX,
    ];
    let mut computed = 0u64;
    for dtype in DType::ALL {
        for &x in &wild {
            for &op in UnaryOp::ALL {
                computed += u64::from(apply_unary(op, dtype, x).bits().is_some());
                let range = unary_range(op, dtype, x);
                assert!(range.nan || range.low <= range.high, "{op:?} {dtype} {x:#x}");
            }
            for to in DType::ALL {
                for rounding in [Rounding::NearestEven, Rounding::TowardZero] {
                    computed += u64::from(cast(dtype, to, rounding, x).bits().is_some());
                    computed += encode(to, decode(dtype, x), rounding) & 1;
                }
            }
            assert!(parse(dtype, &format(dtype, x)).is_ok(), "{dtype} {x:#x}");
            for &y in &wild {
                for &op in BinaryOp::ALL {
                    computed += u64::from(apply_binary(op, dtype, x, y).bits().is_some());
                    let range = binary_range(op, dtype, x, y);
                    assert!(
                        range.nan || range.low <= range.high,
                        "{op:?} {dtype} {x:#x} {y:#x}"
                    );
                }
                for &op in TernaryOp::ALL {
                    for z in [0, x, y] {
                        computed += u64::from(apply_ternary(op, dtype, x, y, z).bits().is_some());
                        computed += u64::from(ternary_range(op, dtype, x, y, z).nan);
                    }
                }
                for &predicate in CmpPredicate::ALL {
                    computed += u64::from(compare(predicate, dtype, x, y));
                }
            }
        }
    }
    assert!(computed > 10_000, "{computed}");
}
