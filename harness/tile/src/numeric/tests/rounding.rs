//! Narrowing and float arithmetic against an oracle that rounds by looking: it lists every number of the dtype and
//! compares with the points halfway between neighbours, which are exact in `f64`.

use proptest::prelude::*;

use super::super::narrow;
use super::*;

/// The non-negative numbers of a dtype, in order, by their definition alone.
struct Oracle {
    /// (value, magnitude bits), ascending; the last is the largest finite number.
    numbers: Vec<(f64, u64)>,
    /// The magnitude bits that follow the largest number when a value is rounded up past it.
    beyond: u64,
    /// Its value, were the format to go on.
    beyond_value: f64,
    sign: u64,
    dtype: DType,
}

impl Oracle {
    fn from_dtype(dtype: DType, saturate: bool) -> Self {
        // Exponent bits, fraction bits, bias, largest magnitude, result of an overflow (infinity or NaN).
        let (fraction, bias, largest, overflow) = match dtype {
            DType::F16 => (10, 15, 0x7bff, 0x7c00),
            DType::BF16 => (7, 127, 0x7f7f, 0x7f80),
            DType::F8E4NV => (3, 7, 0x7e, 0x7f),
            DType::F8E5 => (2, 15, 0x7b, 0x7c),
            DType::F8E4B8 => (3, 8, 0x7f, 0x80),
            DType::F8E5B16 => (2, 16, 0x7f, 0x80),
            DType::F8E4B15 => (3, 15, 0x7f, 0x7f),
            _ => unreachable!("a narrow dtype"),
        };
        let value = |bits: u64| {
            let (exponent, rest) = ((bits >> fraction) as i32, (bits & ((1 << fraction) - 1)) as f64);
            let unit = 2f64.powi(-fraction);
            if exponent == 0 {
                rest * unit * 2f64.powi(1 - bias)
            } else {
                (1.0 + rest * unit) * 2f64.powi(exponent - bias)
            }
        };
        Self {
            numbers: (0..=largest).map(|bits| (value(bits), bits)).collect(),
            beyond: if saturate { largest } else { overflow },
            beyond_value: value(largest + 1),
            sign: 1 << (dtype.bits() - 1),
            dtype,
        }
    }

    /// The bits of a finite number, rounded.
    fn round(&self, value: f64, rounding: Rounding) -> u64 {
        let magnitude = value.abs();
        let at = self.numbers.partition_point(|&(number, _)| number <= magnitude) - 1;
        let (below, bits) = self.numbers[at];
        let (above, up) = self
            .numbers
            .get(at + 1)
            .copied()
            .unwrap_or((self.beyond_value, self.beyond));
        // Both neighbours have few bits: their middle is exact.
        let middle = f64::midpoint(below, above);
        let chosen = match rounding {
            Rounding::NearestEven if magnitude > middle => up,
            Rounding::NearestEven if magnitude == middle && bits & 1 == 1 => up,
            _ => bits,
        };
        let unsigned_zero = matches!(self.dtype, DType::F8E4B8 | DType::F8E5B16);
        if unsigned_zero && (chosen == 0 || chosen == 0x80) {
            return chosen;
        }
        chosen | if value.is_sign_negative() { self.sign } else { 0 }
    }

    /// Every number, every middle, and their neighbours among `f64` and `f32`.
    fn edges(&self) -> Vec<f64> {
        let mut edges = Vec::new();
        let mut around = |value: f64| {
            edges.extend([value, value.next_up(), value.next_down()]);
            let single = value as f32;
            edges.extend([single.next_up() as f64, single.next_down() as f64]);
        };
        for pair in self.numbers.windows(2) {
            around(pair[0].0);
            around(f64::midpoint(pair[0].0, pair[1].0));
        }
        let last = self.numbers[self.numbers.len() - 1].0;
        around(last);
        around(f64::midpoint(last, self.beyond_value));
        around(self.beyond_value);
        edges.extend([f64::MAX, f32::MAX as f64, f64::MIN_POSITIVE, 5e-324, 1e-45]);
        edges.retain(|value| *value >= 0.0 && value.is_finite());
        edges
    }
}

#[test]
fn a_double_is_encoded_as_the_nearest_number() {
    for dtype in NARROW {
        let oracle = Oracle::from_dtype(dtype, false);
        for value in oracle.edges() {
            for value in [value, -value] {
                for rounding in [Rounding::NearestEven, Rounding::TowardZero] {
                    let got = encode(dtype, value, rounding);
                    let wanted = oracle.round(value, rounding);
                    assert!(
                        is_same_lane(dtype, got, wanted),
                        "{dtype} {value:e} {rounding:?}: {got:#x} not {wanted:#x}"
                    );
                }
            }
        }
    }
}

#[test]
fn casts_round_once_and_fp8_saturates() {
    for to in [
        DType::F16,
        DType::BF16,
        DType::F8E4NV,
        DType::F8E5,
        DType::F8E4B8,
        DType::F8E5B16,
    ] {
        let oracle = Oracle::from_dtype(to, to.is_fp8());
        for value in oracle.edges() {
            let single = (value as f32).to_bits() as u64;
            for (from, bits) in [(DType::F64, value.to_bits()), (DType::F32, single)] {
                let exact = decode(from, bits);
                if !exact.is_finite() {
                    continue;
                }
                let got = cast(from, to, Rounding::NearestEven, bits);
                let wanted = oracle.round(exact, Rounding::NearestEven);
                assert_eq!(got, Computed::Bits(wanted), "{from} {exact:e} to {to}");
                // `fp8e5` toward zero goes through `f16`, which never overflows: the same here.
                let got = cast(from, to, Rounding::TowardZero, bits);
                let wanted = oracle.round(exact, Rounding::TowardZero);
                assert_eq!(
                    got,
                    Computed::Bits(wanted),
                    "{from} {exact:e} to {to} toward zero"
                );
            }
        }
    }
}

#[test]
fn every_bf16_goes_to_every_fp8_by_both_roundings() {
    for to in [DType::F8E4NV, DType::F8E5, DType::F8E4B8, DType::F8E5B16] {
        let oracle = Oracle::from_dtype(to, true);
        for bits in 0..=0xffffu64 {
            let value = f32::from_bits((bits as u32) << 16) as f64;
            if !value.is_finite() {
                continue;
            }
            for rounding in [Rounding::NearestEven, Rounding::TowardZero] {
                let wanted = Computed::Bits(oracle.round(value, rounding));
                assert_eq!(cast(DType::BF16, to, rounding, bits), wanted, "{value:e} to {to}");
            }
        }
    }
}

#[test]
fn fp8e4b15_is_what_its_assembly_makes_of_a_half() {
    // `extra/cuda/utils.py`: at most 0x3f00, doubled, half a unit added, the high byte.
    for bits in 0..=0xffffu64 {
        let magnitude = (bits & 0x7fff).min(0x3f00);
        let wanted = ((magnitude * 2 + 0x80) >> 8) | ((bits >> 8) & 0x80);
        assert_eq!(
            cast(DType::F16, DType::F8E4B15, Rounding::NearestEven, bits),
            Computed::Bits(wanted),
            "{bits:#x}"
        );
    }
}

#[test]
fn special_values_of_fp8() {
    let single = |value: f32| value.to_bits() as u64;
    let table: &[(DType, f32, u64, u64)] = &[
        // dtype, value, as a cast gives it, as torch fills it
        (DType::F8E4NV, f32::INFINITY, 0x7e, 0x7f),
        (DType::F8E4NV, f32::NEG_INFINITY, 0xfe, 0xff),
        (DType::F8E4NV, 465.0, 0x7e, 0x7f),
        (DType::F8E4NV, 464.0, 0x7e, 0x7e),
        (DType::F8E4NV, -1e30, 0xfe, 0xff),
        (DType::F8E4NV, f32::NAN, 0x7f, 0x7f),
        (DType::F8E4NV, -0.0, 0x80, 0x80),
        (DType::F8E5, f32::INFINITY, 0x7b, 0x7c),
        (DType::F8E5, 61440.0, 0x7b, 0x7c),
        (DType::F8E5, 61439.0, 0x7b, 0x7b),
        (DType::F8E5, f32::NAN, 0x7f, 0x7f),
        (DType::F8E4B8, f32::NAN, 0x80, 0x80),
        (DType::F8E4B8, -0.0, 0, 0),
        (DType::F8E4B8, -1e-30, 0, 0),
        (DType::F8E4B8, 1e9, 0x7f, 0x80),
        (DType::F8E5B16, f32::NEG_INFINITY, 0xff, 0x80),
        (DType::F8E4B15, f32::INFINITY, 0x7e, 0x7f),
        (DType::F8E4B15, f32::NAN, 0x7e, 0x7f),
        (DType::F8E4B15, -100.0, 0xfe, 0xff),
    ];
    for &(dtype, value, by_cast, by_fill) in table {
        let got = cast(DType::F32, dtype, Rounding::NearestEven, single(value));
        assert_eq!(got, Computed::Bits(by_cast), "{value} to {dtype}");
        assert_eq!(
            encode(dtype, value as f64, Rounding::NearestEven),
            by_fill,
            "{value} in {dtype}"
        );
    }
    // Toward zero, fp8e5 keeps an infinity that rounding to nearest saturates.
    let infinite = cast(
        DType::F32,
        DType::F8E5,
        Rounding::TowardZero,
        single(f32::INFINITY),
    );
    assert_eq!(infinite, Computed::Bits(0x7c));
}

#[test]
fn fp8_bytes_decode_to_their_definition() {
    for dtype in NARROW.into_iter().filter(|dtype| dtype.is_fp8()) {
        let oracle = Oracle::from_dtype(dtype, false);
        for byte in 0..=0xffu64 {
            let value = decode(dtype, byte);
            let fnuz = matches!(dtype, DType::F8E4B8 | DType::F8E5B16);
            let magnitude = byte & 0x7f;
            if fnuz && byte == 0x80 {
                assert!(value.is_nan());
            } else if let Some(&(wanted, _)) = oracle.numbers.get(magnitude as usize) {
                assert_eq!(value.abs(), wanted, "{dtype} {byte:#x}");
                assert_eq!(value.is_sign_negative(), byte & 0x80 != 0, "{dtype} {byte:#x}");
            } else {
                let infinite = dtype == DType::F8E5 && magnitude == 0x7c;
                assert_eq!(value.is_infinite(), infinite, "{dtype} {byte:#x}");
                assert_eq!(value.is_nan(), !infinite, "{dtype} {byte:#x}");
            }
        }
    }
}

#[test]
fn every_narrow_lane_survives_widening_and_narrowing() {
    for from in NARROW {
        for bits in 0..1u64 << from.bits() {
            for through in [DType::F32, DType::F64] {
                let Computed::Bits(wide) = cast(from, through, Rounding::NearestEven, bits) else {
                    panic!("{from} {bits:#x} has no value")
                };
                assert!(is_same_lane(
                    from,
                    encode(from, decode(through, wide), Rounding::NearestEven),
                    bits
                ));
                assert!(is_same_lane(
                    from,
                    encode(from, decode(through, wide), Rounding::TowardZero),
                    bits
                ));
            }
        }
    }
}

#[test]
fn f16_and_bf16_widen_as_the_half_crate_does() {
    for bits in 0..=u16::MAX {
        let (ours, theirs) = (narrow::f16_to_f32(bits), half::f16::from_bits(bits).to_f32());
        assert!(
            ours.to_bits() == theirs.to_bits() || (ours.is_nan() && theirs.is_nan()),
            "{bits:#x}"
        );
        let (ours, theirs) = (narrow::bf16_to_f32(bits), half::bf16::from_bits(bits).to_f32());
        assert!(
            ours.to_bits() == theirs.to_bits() || (ours.is_nan() && theirs.is_nan()),
            "{bits:#x}"
        );
    }
}

#[test]
fn half_arithmetic_is_exact_arithmetic_rounded_once() {
    // Halves are multiples of 2^-24 below 2^16: sums are exact in `f64`, and so are products.
    let oracle = Oracle::from_dtype(DType::F16, false);
    let lanes = sample_lanes(DType::F16);
    for &x in &lanes {
        for &y in &lanes {
            let (a, b) = (decode(DType::F16, x), decode(DType::F16, y));
            for (op, exact) in [
                (BinaryOp::Add, a + b),
                (BinaryOp::Sub, a - b),
                (BinaryOp::Mul, a * b),
            ] {
                if exact.is_finite() {
                    let wanted = Computed::Bits(oracle.round(exact, Rounding::NearestEven));
                    assert_eq!(apply_binary(op, DType::F16, x, y), wanted, "{a} {op:?} {b}");
                }
            }
        }
    }
}

#[test]
fn brain_float_products_are_rounded_once() {
    let oracle = Oracle::from_dtype(DType::BF16, false);
    let lanes = sample_lanes(DType::BF16);
    for &x in &lanes {
        for &y in &lanes {
            // 16 bits of product: exact in `f64`, whose range is wide enough as well.
            let exact = decode(DType::BF16, x) * decode(DType::BF16, y);
            if exact.is_finite() {
                let wanted = Computed::Bits(oracle.round(exact, Rounding::NearestEven));
                assert_eq!(apply_binary(BinaryOp::Mul, DType::BF16, x, y), wanted);
            }
        }
    }
}

/// The exact `x * y + z` of halves in units of 2^-48, rounded by the oracle.
fn half_fma(oracle: &Oracle, x: u64, y: u64, z: u64) -> Option<u64> {
    let units = |bits: u64| {
        let value = decode(DType::F16, bits);
        value.is_finite().then_some((value * 2f64.powi(24)) as i128)
    };
    let (x, y, z) = (units(x)?, units(y)?, units(z)?);
    let exact = x * y + (z << 24);
    if exact == 0 {
        return None;
    }
    // 2^-25 is the finest middle: what lies below is only a "more" or a "less".
    let (coarse, rest) = (exact.unsigned_abs() >> 22, exact.unsigned_abs() & ((1 << 22) - 1));
    let value = (coarse as f64) * 2f64.powi(-26);
    let value = if rest != 0 { value.next_up() } else { value };
    Some(oracle.round(if exact < 0 { -value } else { value }, Rounding::NearestEven))
}

#[test]
fn half_fma_rounds_once() {
    let oracle = Oracle::from_dtype(DType::F16, false);
    let lanes = sample_lanes(DType::F16);
    for (nth, &x) in lanes.iter().enumerate() {
        for &y in lanes.iter().skip(nth % 3).step_by(3) {
            for &z in lanes.iter().skip(nth % 5).step_by(5) {
                if let Some(wanted) = half_fma(&oracle, x, y, z) {
                    assert_eq!(
                        apply_ternary(TernaryOp::Fma, DType::F16, x, y, z),
                        Computed::Bits(wanted)
                    );
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn single_fma_is_the_hosts(x: u32, y: u32, z: u32) {
        let wanted = f32::from_bits(x).mul_add(f32::from_bits(y), f32::from_bits(z)).to_bits() as u64;
        let Computed::Bits(got) = apply_ternary(TernaryOp::Fma, DType::F32, x.into(), y.into(), z.into()) else {
            panic!("no value")
        };
        prop_assert!(is_same_lane(DType::F32, got, wanted), "{got:#x} not {wanted:#x}");
    }

    #[test]
    fn single_fma_of_near_cancellation_is_the_hosts(x in 0x3f00_0000u32..0x4100_0000, y in 0x3f00_0000u32..0x4100_0000, d in -3i32..4) {
        let (x, y) = (f32::from_bits(x), f32::from_bits(y));
        let z = f32::from_bits((-(x * y)).to_bits().wrapping_add_signed(d));
        let wanted = x.mul_add(y, z);
        let bits = |value: f32| value.to_bits() as u64;
        prop_assert_eq!(apply_ternary(TernaryOp::Fma, DType::F32, bits(x), bits(y), bits(z)), Computed::Bits(bits(wanted)));
    }

    #[test]
    fn single_arithmetic_is_double_arithmetic_rounded(x: u32, y: u32) {
        // 53 bits are enough for the second rounding to be harmless (Figueroa, 1995).
        let (a, b) = (f32::from_bits(x) as f64, f32::from_bits(y) as f64);
        let (x, y) = (u64::from(x), u64::from(y));
        for (op, exact) in [
            (BinaryOp::Add, a + b), (BinaryOp::Sub, a - b), (BinaryOp::Mul, a * b), (BinaryOp::Div, a / b), (BinaryOp::DivRn, a / b),
        ] {
            let Computed::Bits(got) = apply_binary(op, DType::F32, x, y) else { panic!("no value") };
            prop_assert!(is_same_lane(DType::F32, got, (exact as f32).to_bits().into()), "{a} {op:?} {b}");
        }
    }

    #[test]
    fn integers_become_floats_by_one_rounding(value: i64, shift in 0u32..64) {
        let value = value >> shift;
        // The double of a number below 2^53 is exact; of others, its halves' order tells where the number lies.
        for dtype in [DType::F16, DType::BF16] {
            let oracle = Oracle::from_dtype(dtype, false);
            let near = value as f64;
            let exact = match (near as i128).cmp(&i128::from(value)) {
                std::cmp::Ordering::Less => near.next_up(),
                std::cmp::Ordering::Equal => near,
                std::cmp::Ordering::Greater => near.next_down(),
            };
            let wanted = oracle.round(exact, Rounding::NearestEven);
            prop_assert_eq!(cast(DType::I64, dtype, Rounding::NearestEven, value as u64), Computed::Bits(wanted));
            prop_assert_eq!(encode_int(dtype, value.into()), wanted);
        }
        let single = u64::from((value as f32).to_bits());
        prop_assert_eq!(cast(DType::I64, DType::F32, Rounding::NearestEven, value as u64), Computed::Bits(single));
        prop_assert_eq!(encode_int(DType::F32, value.into()), single);
        prop_assert_eq!(encode_int(DType::F64, value.into()), (value as f64).to_bits());
    }
}
