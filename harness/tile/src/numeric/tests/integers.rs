//! Integer operations against arithmetic in `i128`.

use super::*;

const INTEGERS: [DType; 9] = [
    DType::I1,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
];

/// The number that bits stand for, by the dtype's width and signedness alone.
fn decode_number(dtype: DType, bits: u64) -> i128 {
    let value = i128::from(bits);
    let width = dtype.bits();
    if dtype.is_signed_int() && bits >> (width - 1) & 1 == 1 {
        value - (1 << width)
    } else {
        value
    }
}

fn encode_number(dtype: DType, value: i128) -> Computed {
    Computed::Bits((value & ((1 << dtype.bits()) - 1)) as u64)
}

#[test]
fn integers_wrap_and_know_their_signedness() {
    for dtype in INTEGERS {
        let width = i128::from(dtype.bits());
        let lowest = if dtype.is_signed_int() {
            -(1 << (width - 1))
        } else {
            0
        };
        let lanes = sample_lanes(dtype);
        for &x in &lanes {
            let a = decode_number(dtype, x);
            assert_eq!(apply_unary(UnaryOp::Neg, dtype, x), encode_number(dtype, -a));
            assert_eq!(apply_unary(UnaryOp::Not, dtype, x), encode_number(dtype, -a - 1));
            assert_eq!(apply_unary(UnaryOp::Abs, dtype, x), encode_number(dtype, a.abs()));
            assert_eq!(decode_int(dtype, x), a);
            for &y in &lanes {
                let b = decode_number(dtype, y);
                let unsigned = (i128::from(x), i128::from(y));
                let shift = (unsigned.1 < width).then_some(unsigned.1);
                let quotient = match (b, a == lowest && b == -1) {
                    (0, _) => Computed::DivisionByZero,
                    (_, true) => Computed::Poison,
                    _ => encode_number(dtype, a / b),
                };
                let rest = if quotient.bits().is_some() {
                    encode_number(dtype, a % b)
                } else {
                    quotient
                };
                let shifted = |value: i128| shift.map_or(Computed::Poison, |_| encode_number(dtype, value));
                let count = shift.unwrap_or(0);
                for (op, wanted) in [
                    (BinaryOp::Add, encode_number(dtype, a + b)),
                    (BinaryOp::Sub, encode_number(dtype, a - b)),
                    (BinaryOp::Mul, encode_number(dtype, a.wrapping_mul(b))),
                    (BinaryOp::IntDiv, quotient),
                    (BinaryOp::Rem, rest),
                    (BinaryOp::And, encode_number(dtype, a & b)),
                    (BinaryOp::Or, encode_number(dtype, a | b)),
                    (BinaryOp::Xor, encode_number(dtype, a ^ b)),
                    (BinaryOp::Shl, shifted(a << count)),
                    (BinaryOp::Shr, shifted(a >> count)),
                    (BinaryOp::LShr, shifted(unsigned.0 >> count)),
                    (BinaryOp::Min, encode_number(dtype, a.min(b))),
                    (BinaryOp::Max, encode_number(dtype, a.max(b))),
                ] {
                    assert_eq!(apply_binary(op, dtype, x, y), wanted, "{a} {op:?} {b} of {dtype}");
                }
                if dtype != DType::I1 {
                    let product = (unsigned.0 as u128).wrapping_mul(unsigned.1 as u128) >> dtype.bits();
                    assert_eq!(
                        apply_binary(BinaryOp::MulHi, dtype, x, y),
                        encode_number(dtype, product as i128)
                    );
                }
                for (predicate, wanted) in [
                    (CmpPredicate::Eq, a == b),
                    (CmpPredicate::Ne, a != b),
                    (CmpPredicate::Lt, a < b),
                    (CmpPredicate::Le, a <= b),
                    (CmpPredicate::Gt, a > b),
                    (CmpPredicate::Ge, a >= b),
                ] {
                    assert_eq!(
                        compare(predicate, dtype, x, y),
                        wanted,
                        "{a} {predicate:?} {b} of {dtype}"
                    );
                }
            }
        }
    }
}

#[test]
fn integer_casts_keep_low_bits_and_extend_by_the_source() {
    for from in INTEGERS {
        for to in INTEGERS {
            for x in sample_lanes(from) {
                let value = decode_number(from, x);
                let wanted = if to == DType::I1 {
                    Computed::Bits(u64::from(value != 0))
                } else {
                    encode_number(to, value)
                };
                assert_eq!(
                    cast(from, to, Rounding::NearestEven, x),
                    wanted,
                    "{value} of {from} to {to}"
                );
            }
        }
    }
}

#[test]
fn floats_become_integers_toward_zero_or_poison() {
    for from in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        for to in INTEGERS.into_iter().filter(|to| *to != DType::I1) {
            let (low, high) = match (to.is_signed_int(), to.bits()) {
                (true, width) => (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1),
                (false, width) => (0, (1i128 << width) - 1),
            };
            for x in sample_lanes(from) {
                let value = decode(from, x);
                // `as` saturates, at bounds far outside of those asked about.
                let whole = value as i128;
                let fits = !value.is_nan() && (low..=high).contains(&whole);
                let wanted = if fits {
                    encode_number(to, whole)
                } else {
                    Computed::Poison
                };
                assert_eq!(
                    cast(from, to, Rounding::NearestEven, x),
                    wanted,
                    "{value} of {from} to {to}"
                );
            }
        }
        for x in sample_lanes(from) {
            let set = u64::from(decode(from, x) != 0.0);
            assert_eq!(
                cast(from, DType::I1, Rounding::NearestEven, x),
                Computed::Bits(set)
            );
        }
    }
}

#[test]
fn numbers_are_encoded_by_their_low_bits() {
    assert_eq!(encode_int(DType::I8, 300), 44);
    assert_eq!(encode_int(DType::I8, -1), 0xff);
    assert_eq!(encode_int(DType::I1, 2), 1);
    assert_eq!(encode(DType::U8, -1.9, Rounding::NearestEven), 0xff);
    assert_eq!(encode(DType::I32, f64::NAN, Rounding::NearestEven), 0);
    assert_eq!(encode(DType::I32, f64::INFINITY, Rounding::NearestEven), 0);
    assert_eq!(
        encode(DType::U64, 1.8e19, Rounding::NearestEven),
        18_000_000_000_000_000_000
    );
    assert_eq!(encode(DType::I1, 0.5, Rounding::NearestEven), 1);
}

#[test]
fn operations_without_a_meaning_are_known_before() {
    for dtype in DType::ALL {
        for &op in UnaryOp::ALL {
            let defined = matches!(op, UnaryOp::Neg | UnaryOp::Abs) || dtype.is_int() == (op == UnaryOp::Not);
            assert_eq!(unary_defined(op, dtype), defined, "{op:?} {dtype}");
        }
        assert_eq!(binary_defined(BinaryOp::IntDiv, dtype), dtype.is_int());
        assert_eq!(binary_defined(BinaryOp::Div, dtype), dtype.is_float());
        assert_eq!(
            binary_defined(BinaryOp::MulHi, dtype),
            dtype.is_int() && dtype != DType::I1
        );
        assert_eq!(ternary_defined(TernaryOp::Fma, dtype), dtype.is_float());
        assert!(ternary_defined(TernaryOp::Clamp, dtype));
        assert!(!cast_defined(dtype, DType::F8E5) || dtype.is_float());
    }
    assert_eq!(apply_binary(BinaryOp::Div, DType::I32, 4, 2), Computed::Poison);
    assert_eq!(
        cast(DType::F8E5, DType::I32, Rounding::NearestEven, 0x3c),
        Computed::Poison
    );
}
