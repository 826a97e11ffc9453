//! Functions of one number: rounding to integers against the host's, the others against `libm` in `f64`.

use super::*;

fn encode_single(value: f32) -> u64 {
    value.to_bits() as u64
}

#[test]
fn rounding_to_integers_is_the_hosts() {
    let mut lanes = sample_lanes(DType::F32);
    lanes.extend((-40..40).map(|n| encode_single(n as f32 * 0.25)));
    lanes.extend([
        encode_single(8_388_607.5),
        encode_single(4_194_303.8),
        encode_single(0.499_999_97),
        encode_single(-0.499_999_97),
    ]);
    for &x in &lanes {
        let value = f32::from_bits(x as u32);
        for (op, wanted) in [
            (UnaryOp::Floor, value.floor()),
            (UnaryOp::Ceil, value.ceil()),
            (UnaryOp::Trunc, value.trunc()),
            (UnaryOp::Rint, value.round_ties_even()),
            (UnaryOp::Round, value.round()),
        ] {
            let Computed::Bits(got) = apply_unary(op, DType::F32, x) else {
                panic!("no value")
            };
            assert!(
                is_same_lane(DType::F32, got, encode_single(wanted)),
                "{op:?} {value:e}: {got:#x}"
            );
        }
    }
    for x in sample_lanes(DType::F64) {
        let value = f64::from_bits(x);
        for (op, wanted) in [
            (UnaryOp::Floor, value.floor()),
            (UnaryOp::Ceil, value.ceil()),
            (UnaryOp::Trunc, value.trunc()),
            (UnaryOp::Rint, value.round_ties_even()),
            (UnaryOp::Round, value.round()),
        ] {
            let Computed::Bits(got) = apply_unary(op, DType::F64, x) else {
                panic!("no value")
            };
            assert!(
                is_same_lane(DType::F64, got, wanted.to_bits()),
                "{op:?} {value:e}: {got:#x}"
            );
        }
    }
}

#[test]
fn the_vectorised_functions_round_as_libm_does() {
    type Function = fn(f64) -> f64;
    let functions: [(UnaryOp, Function); 4] = [
        (UnaryOp::Exp, libm::exp),
        (UnaryOp::Exp2, libm::exp2),
        (UnaryOp::Log, libm::log),
        (UnaryOp::Log2, libm::log2),
    ];
    // Every exponent and sign, with significands spread by a prime.
    for bits in (0..=u32::MAX).step_by(99_991) {
        let value = f32::from_bits(bits);
        for (op, function) in functions {
            let exact = function(value as f64);
            let Computed::Bits(got) = apply_unary(op, DType::F32, bits.into()) else {
                panic!("no value")
            };
            let wanted = encode_single(exact as f32);
            // Within 2^-40 of a tie, either neighbour will do.
            let near = |value: f64| encode_single((value * (1.0 + 2f64.powi(-40))) as f32);
            let low = encode_single((exact * (1.0 - 2f64.powi(-40))) as f32);
            let fits = is_same_lane(DType::F32, got, wanted) || got == near(exact) || got == low;
            assert!(fits, "{op:?} {value:e}: {got:#x} not {wanted:#x}");
        }
    }
}

#[test]
fn exact_cases_are_exact() {
    for n in -149..128 {
        let power = libm::ldexp(1.0, n) as f32;
        assert_eq!(
            apply_unary(UnaryOp::Exp2, DType::F32, encode_single(n as f32)),
            Computed::Bits(encode_single(power))
        );
        assert_eq!(
            apply_unary(UnaryOp::Log2, DType::F32, encode_single(power)),
            Computed::Bits(encode_single(n as f32))
        );
    }
    for (op, x, wanted) in [
        (UnaryOp::Exp, 0.0, 1.0),
        (UnaryOp::Exp, -0.0, 1.0),
        (UnaryOp::Exp, f32::NEG_INFINITY, 0.0),
        (UnaryOp::Exp, f32::INFINITY, f32::INFINITY),
        (UnaryOp::Exp, 200.0, f32::INFINITY),
        (UnaryOp::Exp, -200.0, 0.0),
        (UnaryOp::Exp2, 128.0, f32::INFINITY),
        (UnaryOp::Exp2, -150.0, 0.0),
        (UnaryOp::Log, 1.0, 0.0),
        (UnaryOp::Log, 0.0, f32::NEG_INFINITY),
        (UnaryOp::Log, -0.0, f32::NEG_INFINITY),
        (UnaryOp::Log2, f32::INFINITY, f32::INFINITY),
        (UnaryOp::Sqrt, 4.0, 2.0),
        (UnaryOp::Sqrt, -0.0, -0.0),
        (UnaryOp::Rsqrt, 0.0, f32::INFINITY),
        (UnaryOp::Rsqrt, -0.0, f32::NEG_INFINITY),
        (UnaryOp::Rsqrt, 0.25, 2.0),
        (UnaryOp::Sin, -0.0, -0.0),
        (UnaryOp::Erf, f32::INFINITY, 1.0),
    ] {
        assert_eq!(
            apply_unary(op, DType::F32, encode_single(x)),
            Computed::Bits(encode_single(wanted)),
            "{op:?} {x}"
        );
    }
    for (op, x) in [
        (UnaryOp::Log, -1.0),
        (UnaryOp::Log2, f32::NEG_INFINITY),
        (UnaryOp::Sqrt, -1.0),
        (UnaryOp::Sin, f32::INFINITY),
        (UnaryOp::Exp, f32::NAN),
    ] {
        assert!(
            apply_unary(op, DType::F32, encode_single(x))
                .bits()
                .is_some_and(|bits| is_nan(DType::F32, bits)),
            "{op:?} {x}"
        );
    }
}

#[test]
fn ranges_hold_the_reference_and_know_their_bounds() {
    let range = unary_range(UnaryOp::Exp, DType::F32, encode_single(88.0));
    let exact = libm::exp(88.0);
    assert!(
        range.low < exact && exact < range.high && range.high < exact * (1.0 + 2e-5),
        "{range:?}"
    );
    // 88.73 is past the overflow by less than the error: the largest number is admitted, and so is infinity.
    let range = unary_range(UnaryOp::Exp, DType::F32, encode_single(88.723));
    assert!(
        range.contains(DType::F32, encode_single(f32::INFINITY))
            && range.contains(DType::F32, encode_single(f32::MAX))
    );
    // Flushed subnormals: the square root of a subnormal may be zero, its reciprocal infinite.
    let tiny = encode_single(1e-40);
    assert!(unary_range(UnaryOp::Sqrt, DType::F32, tiny).contains(DType::F32, 0));
    assert!(unary_range(UnaryOp::Rsqrt, DType::F32, tiny).contains(DType::F32, encode_single(f32::INFINITY)));
    assert!(unary_range(UnaryOp::Floor, DType::F32, encode_single(-1e-40)).contains(DType::F32, 0x8000_0000));
    assert!(!unary_range(UnaryOp::Floor, DType::F32, encode_single(-0.5)).contains(DType::F32, 0x8000_0000));
    // An exact operation admits one value; the signs of zero are one number.
    let range = binary_range(BinaryOp::Add, DType::F32, encode_single(1.0), encode_single(2.0));
    assert_eq!((range.low, range.high, range.nan), (3.0, 3.0, false));
    assert!(!range.contains(DType::F32, encode_single(3.000_000_2)));
    // A remainder next to a multiple may come out one divisor lower.
    let range = binary_range(BinaryOp::Rem, DType::F32, encode_single(1.0), encode_single(0.1));
    assert!(
        range.contains(DType::F32, encode_single(1.0 % 0.1))
            && range.contains(DType::F32, encode_single(-1.490_116_1e-9))
    );
    assert!(
        !binary_range(BinaryOp::Rem, DType::F32, encode_single(7.5), encode_single(2.0))
            .contains(DType::F32, encode_single(-0.5))
    );
    // A quotient without fraction bits is off by its last places.
    let range = binary_range(BinaryOp::Rem, DType::F32, encode_single(1e30), encode_single(3.0));
    assert!(
        range.contains(DType::F32, encode_single(1e23)) && !range.contains(DType::F32, encode_single(1e25))
    );
    let range = binary_range(
        BinaryOp::Rem,
        DType::F32,
        encode_single(1e30),
        encode_single(1e-30),
    );
    assert!(range.contains(DType::F32, encode_single(f32::NEG_INFINITY)));
    assert!(!range.contains(DType::F32, encode_single(f32::INFINITY)));
    assert!(
        !binary_range(BinaryOp::Rem, DType::F32, encode_single(1.0), encode_single(0.0))
            .contains(DType::F32, 0)
    );
    for dtype in DType::ALL {
        for x in sample_lanes(dtype).into_iter().step_by(5) {
            for &op in UnaryOp::ALL {
                if let Computed::Bits(bits) = apply_unary(op, dtype, x) {
                    assert!(
                        unary_range(op, dtype, x).contains(unary_result(op, dtype), bits),
                        "{op:?} {dtype} {x:#x}"
                    );
                }
            }
            for &op in BinaryOp::ALL {
                if let Computed::Bits(bits) = apply_binary(op, dtype, x, 3) {
                    assert!(
                        binary_range(op, dtype, x, 3).contains(dtype, bits),
                        "{op:?} {dtype} {x:#x}"
                    );
                }
            }
        }
    }
}
