//! NaNs, infinities and signs of zero.

use super::*;

const FLOATS: [DType; 9] = [
    DType::F16,
    DType::BF16,
    DType::F32,
    DType::F64,
    DType::F8E4NV,
    DType::F8E5,
    DType::F8E4B8,
    DType::F8E5B16,
    DType::F8E4B15,
];

/// Renders an operation's result for numbers of a dtype.
fn render_binary(op: BinaryOp, dtype: DType, x: f64, y: f64) -> String {
    let lane = |value| encode(dtype, value, Rounding::NearestEven);
    apply_binary(op, dtype, lane(x), lane(y))
        .bits()
        .map_or_else(|| "poison".to_owned(), |bits| format(dtype, bits))
}

#[test]
fn minima_and_maxima_choose_numbers_or_nans_and_order_zeros() {
    let nan = f64::NAN;
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        for (op, x, y, wanted) in [
            (BinaryOp::Min, nan, 1.0, "1.0"),
            (BinaryOp::Min, 1.0, nan, "1.0"),
            (BinaryOp::Min, nan, nan, "nan"),
            (BinaryOp::Min, 0.0, -0.0, "-0.0"),
            (BinaryOp::Min, -0.0, 0.0, "-0.0"),
            (BinaryOp::Min, f64::NEG_INFINITY, 1.0, "-inf"),
            (BinaryOp::Max, nan, -1.0, "-1.0"),
            (BinaryOp::Max, -1.0, nan, "-1.0"),
            (BinaryOp::Max, nan, nan, "nan"),
            (BinaryOp::Max, 0.0, -0.0, "0.0"),
            (BinaryOp::Max, -0.0, 0.0, "0.0"),
            (BinaryOp::Max, -0.0, -0.0, "-0.0"),
            (BinaryOp::MinPropagateNan, nan, 1.0, "nan"),
            (BinaryOp::MinPropagateNan, 1.0, nan, "nan"),
            (BinaryOp::MinPropagateNan, 0.0, -0.0, "-0.0"),
            (BinaryOp::MaxPropagateNan, 1.0, nan, "nan"),
            (BinaryOp::MaxPropagateNan, -0.0, 0.0, "0.0"),
            (BinaryOp::MaxPropagateNan, 2.0, 1.0, "2.0"),
        ] {
            assert_eq!(render_binary(op, dtype, x, y), wanted, "{op:?} {dtype} {x} {y}");
        }
    }
}

#[test]
fn clamp_takes_the_limit_for_a_nan_or_keeps_it() {
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        let lane = |value| encode(dtype, value, Rounding::NearestEven);
        let clamp = |op, x| {
            apply_ternary(op, dtype, lane(x), lane(-1.0), lane(2.0))
                .bits()
                .map(|bits| decode(dtype, bits))
        };
        for (x, wanted) in [
            (-3.0, -1.0),
            (0.5, 0.5),
            (7.0, 2.0),
            (f64::NAN, -1.0),
            (f64::INFINITY, 2.0),
        ] {
            assert_eq!(clamp(TernaryOp::Clamp, x), Some(wanted));
        }
        assert!(clamp(TernaryOp::ClampPropagateNan, f64::NAN).is_some_and(f64::is_nan));
        assert_eq!(clamp(TernaryOp::ClampPropagateNan, 7.0), Some(2.0));
    }
    let clamped = apply_ternary(TernaryOp::Clamp, DType::I8, 0x80, 0xff, 5);
    assert_eq!(clamped, Computed::Bits(0xff), "-128 between -1 and 5");
}

#[test]
fn signs_are_bits() {
    for dtype in FLOATS {
        let sign = 1u64 << (dtype.bits() - 1);
        for x in sample_lanes(dtype) {
            assert_eq!(apply_unary(UnaryOp::Neg, dtype, x), Computed::Bits(x ^ sign));
            assert_eq!(apply_unary(UnaryOp::Abs, dtype, x), Computed::Bits(x & !sign));
            assert_eq!(
                apply_binary(BinaryOp::CopySign, dtype, x, sign),
                Computed::Bits(x | sign)
            );
        }
    }
}

#[test]
fn comparisons_with_a_nan_are_false_but_for_ne() {
    for dtype in [
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
        DType::F8E4NV,
        DType::F8E5,
        DType::F8E4B8,
    ] {
        let (nan, one) = (
            encode(dtype, f64::NAN, Rounding::NearestEven),
            encode(dtype, 1.0, Rounding::NearestEven),
        );
        for &predicate in CmpPredicate::ALL {
            for (x, y) in [(nan, one), (one, nan), (nan, nan)] {
                assert_eq!(
                    compare(predicate, dtype, x, y),
                    predicate == CmpPredicate::Ne,
                    "{predicate:?} {dtype}"
                );
            }
        }
        let test = |op, x| apply_unary(op, dtype, x);
        assert_eq!(test(UnaryOp::IsNan, nan), Computed::Bits(1));
        assert_eq!(test(UnaryOp::IsNan, one), Computed::Bits(0));
        assert_eq!(test(UnaryOp::IsInf, nan), Computed::Bits(0));
    }
    let zeros = |predicate| compare(predicate, DType::F32, 0, 0x8000_0000);
    assert!(zeros(CmpPredicate::Eq) && zeros(CmpPredicate::Le) && !zeros(CmpPredicate::Lt));
}

#[test]
fn remainders_have_the_sign_of_the_dividend() {
    for (x, y, fmod) in [
        (-7.5, 2.0, "-1.5"),
        (7.5, -2.0, "1.5"),
        (7.5, 2.0, "1.5"),
        (-6.0, 2.0, "-0.0"),
        (1.0, f64::INFINITY, "1.0"),
        (1.0, 0.0, "nan"),
        (f64::INFINITY, 2.0, "nan"),
    ] {
        assert_eq!(render_binary(BinaryOp::Rem, DType::F32, x, y), fmod, "{x} % {y}");
    }
}

#[test]
fn casts_keep_nans_and_infinities_where_there_are_some() {
    for from in [DType::F16, DType::BF16, DType::F32, DType::F64, DType::F8E5] {
        for to in [DType::F16, DType::BF16, DType::F32, DType::F64] {
            for (value, rounding) in [
                (f64::NAN, Rounding::NearestEven),
                (f64::NAN, Rounding::TowardZero),
                (f64::INFINITY, Rounding::NearestEven),
                (f64::NEG_INFINITY, Rounding::TowardZero),
            ] {
                let bits = cast(from, to, rounding, encode(from, value, Rounding::NearestEven)).bits();
                let got = bits.map(|bits| decode(to, bits)).expect("a cast between floats");
                assert!(
                    got == value || (got.is_nan() && value.is_nan()),
                    "{value} of {from} to {to}"
                );
            }
        }
    }
    // A NaN with its payload in the low bits stays one.
    assert!(matches!(
        cast(DType::F32, DType::BF16, Rounding::NearestEven, 0x7f80_0001),
        Computed::Bits(0x7fff)
    ));
    assert!(matches!(
        cast(DType::F32, DType::BF16, Rounding::TowardZero, 0x7f80_0001),
        Computed::Bits(0x7fff)
    ));
}
