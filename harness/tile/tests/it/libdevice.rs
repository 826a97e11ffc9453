//! The functions of CUDA's math library against exact results from elsewhere (`golden/libdevice.py` writes the file), and
//! the laws that they keep.

use std::collections::{BTreeMap, BTreeSet};

use cerith_tile::DType;
use cerith_tile::numeric::library::{Symbol, find_symbol, symbols};
use cerith_tile::numeric::{Computed, decode, is_nan};
use proptest::prelude::*;

const GOLDEN: &str = include_str!("../golden/libdevice.txt");

fn parse_words(text: &str) -> Vec<u64> {
    text.split_whitespace()
        .map(|word| u64::from_str_radix(word, 16).expect("bits in base 16"))
        .collect()
}

fn expect_symbol(name: &str) -> &'static Symbol {
    symbols()
        .find(|symbol| symbol.name == name)
        .unwrap_or_else(|| panic!("{name}"))
}

fn evaluate(symbol: &Symbol, operands: &[u64]) -> u64 {
    symbol.evaluate(operands).bits().expect("a value")
}

fn is_subnormal(dtype: DType, bits: u64) -> bool {
    dtype == DType::F32 && f32::from_bits(bits as u32).is_subnormal()
}

/// How far two floats are apart, in steps between neighbours.
fn count_steps(dtype: DType, a: u64, b: u64) -> u64 {
    let place = |bits: u64| {
        let width = dtype.bits();
        let magnitude = (bits & !(1 << (width - 1))) as i64;
        if bits >> (width - 1) == 1 {
            -magnitude
        } else {
            magnitude
        }
    };
    place(a).abs_diff(place(b))
}

#[test]
fn results_are_the_exact_ones_rounded_once() {
    let (mut wrong, mut lines) = (Vec::new(), 0);
    let mut off: BTreeMap<&str, usize> = BTreeMap::new();
    for line in GOLDEN.lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.split_once(' ').expect("a symbol");
        let (operands, result) = rest.split_once(" -> ").expect("a result");
        let (symbol, operands, wanted) = (expect_symbol(name), parse_words(operands), parse_words(result)[0]);
        let got = evaluate(symbol, &operands);
        lines += 1;
        // A subnormal operand is taken for zero: not what was written.
        let flushed = |(&bits, &dtype): (&u64, &DType)| is_subnormal(dtype, bits);
        if symbol.flushes() && operands.iter().zip(symbol.operands).any(flushed) {
            continue;
        }
        if is_subnormal(symbol.result, wanted) && symbol.flushes() {
            assert_eq!(got & 0x7fff_ffff, 0, "{line}");
            continue;
        }
        let zeros = decode(symbol.result, got) == 0.0 && decode(symbol.result, wanted) == 0.0;
        let same = got == wanted
            || (is_nan(symbol.result, got) && is_nan(symbol.result, wanted))
            // The sign of a zero is not in mpmath's numbers.
            || (zeros && !symbol.is_exact());
        if same {
            continue;
        }
        // The sums of Bessel functions leave their last digits where an alternating series does, or are `libm`'s.
        let bessel = matches!(symbol.function, "j0" | "j1" | "y0" | "y1");
        let near = count_steps(symbol.result, got, wanted) <= 1
            || bessel && (decode(symbol.result, got) - decode(symbol.result, wanted)).abs() < 1e-15;
        if symbol.is_exact() || symbol.result == DType::F32 || !near {
            wrong.push(format!("{line}, not {got:x}"));
        }
        *off.entry(name).or_default() += 1;
    }
    assert_eq!(wrong.join("\n"), "");
    assert!(lines > 13_000, "{lines}");
    // Too close to a tie to be settled, or beyond the series.
    assert!(off.values().sum::<usize>() < 40, "{off:?}");
}

/// The admitted range contains the exact result, for any widening.
#[test]
fn the_exact_result_is_admitted() {
    for line in GOLDEN.lines().filter(|line| !line.starts_with('#')).step_by(3) {
        let (name, rest) = line.split_once(' ').expect("a symbol");
        let (operands, result) = rest.split_once(" -> ").expect("a result");
        let symbol = expect_symbol(name);
        if symbol.result.is_float() {
            let range = symbol.evaluate_range(&parse_words(operands));
            assert!(
                range.contains(symbol.result, parse_words(result)[0]),
                "{line}: {range:?}"
            );
        }
    }
}

#[test]
fn integers_and_bits() {
    let check = |name: &str, operands: &[u64], wanted: u64| {
        assert_eq!(
            evaluate(expect_symbol(name), operands),
            wanted,
            "{name} {operands:x?}"
        );
    };
    check("__nv_clz", &[0], 32);
    check("__nv_clz", &[0x8000_0000], 0);
    check("__nv_clzll", &[1], 63);
    check("__nv_popc", &[0xffff_ffff], 32);
    check("__nv_popcll", &[u64::MAX], 64);
    check("__nv_brev", &[1], 0x8000_0000);
    check("__nv_brevll", &[0b11], 3 << 62);
    check("__nv_ffs", &[0], 0);
    check("__nv_ffs", &[0x8000_0000], 32);
    check("__nv_ffsll", &[1 << 40], 41);
    check("__nv_byte_perm", &[0x3322_1100, 0x7766_5544, 0x7531], 0x7755_3311);
    // The highest bit of each digit is masked off: no byte is filled with a sign.
    check("__nv_byte_perm", &[0x80, 0, 0x8888], 0x8080_8080);
    check("__nv_mulhi", &[0xffff_ffff, 1], 0xffff_ffff);
    check("__nv_umulhi", &[0xffff_ffff, 2], 1);
    check("__nv_mul64hi", &[u64::MAX, u64::MAX], 0);
    check("__nv_umul64hi", &[u64::MAX, u64::MAX], u64::MAX - 1);
    check("__nv_mul24", &[0x00ff_ffff, 0xff00_0002], 0xffff_fffe);
    check("__nv_umul24", &[0xffff_ffff, 2], 0x1ff_fffe);
    check("__nv_hadd", &[0x7fff_ffff, 0x7fff_ffff], 0x7fff_ffff);
    check("__nv_hadd", &[0xffff_ffff, 0], 0xffff_ffff);
    check("__nv_uhadd", &[0xffff_ffff, 0xffff_fffe], 0xffff_fffe);
    check("__nv_rhadd", &[0xffff_ffff, 0], 0);
    check("__nv_urhadd", &[0xffff_ffff, 0xffff_fffe], 0xffff_ffff);
    check("__nv_sad", &[0x8000_0000, 0x7fff_ffff, 1], 0);
    check("__nv_usad", &[1, 5, 10], 14);
    check("__nv_abs", &[0x8000_0000], 0x8000_0000);
    check("__nv_double2hiint", &[0x1234_5678_9abc_def0], 0x1234_5678);
    check("__nv_double2loint", &[0x1234_5678_9abc_def0], 0x9abc_def0);
    check(
        "__nv_hiloint2double",
        &[0x1234_5678, 0x9abc_def0],
        0x1234_5678_9abc_def0,
    );
}

/// A function of `f32` at a number.
fn evaluate_f32(name: &str, x: f32) -> f32 {
    f32::from_bits(evaluate(expect_symbol(name), &[x.to_bits().into()]) as u32)
}

fn evaluate_f64(name: &str, x: f64) -> f64 {
    f64::from_bits(evaluate(expect_symbol(name), &[x.to_bits()]))
}

#[test]
fn numbers_are_classified() {
    let whole = |name: &str, x: u64| evaluate(expect_symbol(name), &[x]) as u32 as i32;
    let bits = |x: f32| u64::from(x.to_bits());
    assert_eq!(whole("__nv_signbitf", bits(-0.0)), 1);
    assert_eq!(whole("__nv_signbitd", (-2f64).to_bits()), 1);
    assert_eq!(whole("__nv_finitef", bits(f32::NAN)), 0);
    assert_eq!(whole("__nv_finitef", bits(f32::MAX)), 1);
    assert_eq!(whole("__nv_isfinited", f64::NEG_INFINITY.to_bits()), 0);
    assert_eq!(whole("__nv_ilogbf", bits(0.0)), i32::MIN);
    // Flushed, as Triton links it.
    assert_eq!(whole("__nv_ilogbf", 1), i32::MIN);
    assert_eq!(whole("__nv_ilogb", 1), -1074);
    assert_eq!(whole("__nv_ilogb", f64::INFINITY.to_bits()), i32::MAX);
    assert_eq!(whole("__nv_ilogbf", bits(-10.0)), 3);
    assert_eq!(evaluate_f64("__nv_logb", 0.0), f64::NEG_INFINITY);
    assert_eq!(evaluate_f64("__nv_logb", f64::NEG_INFINITY), f64::INFINITY);
    assert_eq!(evaluate_f32("__nv_saturatef", f32::NAN), 0.0);
    assert_eq!(evaluate_f32("__nv_saturatef", 1.5), 1.0);
    assert_eq!(evaluate_f32("__nv_saturatef", 0.25), 0.25);
    let next = |x: f32, y: f32| {
        f32::from_bits(evaluate(expect_symbol("__nv_nextafterf"), &[bits(x), bits(y)]) as u32)
    };
    assert_eq!(next(0.0, 1.0), f32::MIN_POSITIVE);
    assert_eq!(next(1.0, 2.0), 1.0 + f32::EPSILON);
    assert_eq!(next(f32::MAX, f32::INFINITY), f32::INFINITY);
    let ldexp = |x: f64, n: i32| {
        f64::from_bits(evaluate(
            expect_symbol("__nv_ldexp"),
            &[x.to_bits(), u64::from(n as u32)],
        ))
    };
    assert_eq!(ldexp(3.0, -1075).to_bits(), 2);
    assert_eq!(ldexp(1.0, i32::MAX), f64::INFINITY);
}

#[test]
fn poles_and_limits_are_cudas() {
    let inf = f64::INFINITY;
    for (name, x, wanted) in [
        ("__nv_acosh", 1.0, 0.0),
        ("__nv_acosh", 0.5, f64::NAN),
        ("__nv_acosh", inf, inf),
        ("__nv_asinh", -inf, -inf),
        ("__nv_atanh", 1.0, inf),
        ("__nv_atanh", -2.0, f64::NAN),
        ("__nv_cbrt", -inf, -inf),
        ("__nv_rcbrt", -0.0, -inf),
        ("__nv_rcbrt", inf, 0.0),
        ("__nv_sinpi", inf, f64::NAN),
        ("__nv_sinpi", -3.0, -0.0),
        ("__nv_cospi", 2.5, 0.0),
        ("__nv_exp10", -inf, 0.0),
        ("__nv_exp10", 400.0, inf),
        ("__nv_exp10", 2.0, 100.0),
        ("__nv_erfc", -inf, 2.0),
        ("__nv_erfc", inf, 0.0),
        ("__nv_erfcx", -inf, inf),
        ("__nv_erfcx", inf, 0.0),
        ("__nv_erfinv", 1.0, inf),
        ("__nv_erfinv", 1.5, f64::NAN),
        ("__nv_erfcinv", 0.0, inf),
        ("__nv_erfcinv", 2.0, -inf),
        ("__nv_normcdf", -inf, 0.0),
        ("__nv_normcdfinv", 0.5, 0.0),
        ("__nv_normcdfinv", 1.0, inf),
        ("__nv_normcdfinv", -0.5, f64::NAN),
        ("__nv_tgamma", 0.0, inf),
        ("__nv_tgamma", -0.0, -inf),
        ("__nv_tgamma", -3.0, f64::NAN),
        ("__nv_tgamma", -inf, f64::NAN),
        ("__nv_tgamma", 5.0, 24.0),
        ("__nv_lgamma", 1.0, 0.0),
        ("__nv_lgamma", 2.0, 0.0),
        ("__nv_lgamma", -4.0, inf),
        ("__nv_lgamma", -inf, inf),
        ("__nv_j0", 0.0, 1.0),
        ("__nv_j0", inf, 0.0),
        ("__nv_j1", -0.0, -0.0),
        ("__nv_y0", 0.0, -inf),
        ("__nv_y1", -1.0, f64::NAN),
        ("__nv_y0", inf, 0.0),
        ("__nv_cyl_bessel_i0", -inf, inf),
        ("__nv_cyl_bessel_i1", -inf, -inf),
        ("__nv_cyl_bessel_i1", -0.0, -0.0),
    ] {
        let got = evaluate_f64(name, x);
        let same = got.to_bits() == wanted.to_bits() || (got.is_nan() && wanted.is_nan());
        assert!(same, "{name}({x}) is {got}, not {wanted}");
        assert!(evaluate_f64(name, f64::NAN).is_nan(), "{name} of NaN");
    }
    let hypot =
        |x: f64, y: f64| f64::from_bits(evaluate(expect_symbol("__nv_hypot"), &[x.to_bits(), y.to_bits()]));
    assert_eq!(hypot(inf, f64::NAN), inf);
    assert!(hypot(1.0, f64::NAN).is_nan());
    assert_eq!(hypot(3e300, 4e300), 5e300);
    assert_eq!(hypot(0.0, 0.0), 0.0);
    let bessel = |name: &str, n: i32, x: f64| {
        f64::from_bits(evaluate(expect_symbol(name), &[u64::from(n as u32), x.to_bits()]))
    };
    assert!(bessel("__nv_jn", -1, 1.0).is_nan());
    assert!(bessel("__nv_yn", -1, 1.0).is_nan());
    assert_eq!(bessel("__nv_yn", 3, 0.0), f64::NEG_INFINITY);
    assert_eq!(bessel("__nv_jn", 1, 2.0), evaluate_f64("__nv_j1", 2.0));
    let orders = expect_symbol("__nv_jn");
    assert_eq!(orders.evaluate(&[0x7fff_ffff, 0]), Computed::Poison);
}

/// Every symbol takes any bits, and gives a lane of its result's dtype.
#[test]
fn any_bits_are_taken() {
    let odd = [
        0,
        1,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0001,
        0x8000_0000,
        0x0080_0000,
        0x7f7f_ffff,
        u64::MAX,
        1 << 63,
    ];
    let wide = [
        0x7ff0_0000_0000_0000,
        0xfff0_0000_0000_0000,
        0x7ff8_0000_0000_0001,
        0x0010_0000_0000_0000,
        0x7fef_ffff_ffff_ffff,
    ];
    let all: Vec<u64> = odd.into_iter().chain(wide).collect();
    for symbol in symbols() {
        for (nth, &first) in all.iter().enumerate() {
            let operands: Vec<u64> = symbol
                .operands
                .iter()
                .enumerate()
                .map(|(at, dtype)| {
                    let bits = if at == 0 {
                        first
                    } else {
                        all[(nth * 7 + at * 3) % all.len()]
                    };
                    if dtype.bits() == 64 {
                        bits
                    } else {
                        bits & 0xffff_ffff
                    }
                })
                .collect();
            let range = symbol.evaluate_range(&operands);
            if let Computed::Bits(bits) = symbol.evaluate(&operands) {
                assert!(
                    symbol.result.bits() == 64 || bits >> 32 == 0,
                    "{symbol:?} {operands:x?}"
                );
                assert!(
                    range.contains(symbol.result, bits),
                    "{symbol:?} {operands:x?} {range:?}"
                );
            }
        }
    }
}

#[test]
fn names_and_dtypes_are_of_one_symbol() {
    let mut names = BTreeSet::new();
    for found in symbols() {
        assert!(names.insert(found.name), "{} twice", found.name);
        assert_eq!(find_symbol(found.function, found.operands), Some(found));
    }
    assert_eq!(names.len(), 246);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Down is below up, the nearest is one of the two, and toward zero is the one nearer to it.
    #[test]
    fn directions_are_around_the_exact_result(x: u64, y: u64, z: u64, narrow: bool) {
        let dtype = if narrow { DType::F32 } else { DType::F64 };
        for stem in ["add", "sub", "mul", "div", "fma", "sqrt", "rcp"] {
            let at = |way: &str| {
                let symbol = symbols()
                    .find(|symbol| symbol.function == format!("{stem}_{way}") && symbol.result == dtype)
                    .expect("a symbol");
                let operands: Vec<u64> = [x, y, z]
                    .into_iter()
                    .take(symbol.operands.len())
                    .map(|bits| if narrow { bits & 0xffff_ffff } else { bits })
                    .collect();
                decode(dtype, evaluate(symbol, &operands))
            };
            let (down, near, up, zero) = (at("rd"), at("rn"), at("ru"), at("rz"));
            if down.is_nan() {
                prop_assert!(near.is_nan() && up.is_nan() && zero.is_nan());
                continue;
            }
            prop_assert!(down <= up, "{} {} {}", stem, down, up);
            prop_assert!(near == down || near == up);
            let inward = if down >= 0.0 { down } else { up };
            prop_assert_eq!(zero, inward);
            if narrow && down != 0.0 && up != 0.0 {
                prop_assert!(count_steps(dtype, u64::from((down as f32).to_bits()), u64::from((up as f32).to_bits())) <= 1);
            }
        }
        // What rounds to nearest is the host's own arithmetic.
        if !narrow {
            let (a, b) = (f64::from_bits(x), f64::from_bits(y));
            for (name, wanted) in [("add_rn", a + b), ("sub_rn", a - b), ("mul_rn", a * b), ("div_rn", a / b)] {
                let got = evaluate(find_symbol(name, &[DType::F64, DType::F64]).expect("a symbol"), &[x, y]);
                prop_assert!(got == wanted.to_bits() || (is_nan(DType::F64, got) && wanted.is_nan()), "{}", name);
            }
        }
    }

    /// Odd functions are odd, even ones even.
    #[test]
    fn functions_are_odd_and_even(x in -40f64..40.0) {
        for name in ["asinh", "atanh", "cbrt", "rcbrt", "sinpi", "erfinv", "j1", "cyl_bessel_i1"] {
            let name = format!("__nv_{name}");
            let (plus, minus) = (evaluate_f64(&name, x), evaluate_f64(&name, -x));
            prop_assert!(plus.to_bits() == (-minus).to_bits() || plus.is_nan() && minus.is_nan(), "{} {}", name, x);
        }
        for name in ["cospi", "j0", "cyl_bessel_i0"] {
            let name = format!("__nv_{name}");
            prop_assert_eq!(evaluate_f64(&name, x), evaluate_f64(&name, -x));
        }
        let complement = evaluate_f64("__nv_erfc", x) + evaluate_f64("__nv_erfc", -x);
        prop_assert!((complement - 2.0).abs() < 1e-15);
        prop_assert!((evaluate_f64("__nv_normcdf", x) + evaluate_f64("__nv_normcdf", -x) - 1.0).abs() < 1e-15);
    }

    /// Inverses undo each other.
    #[test]
    fn inverses_undo(y in 1e-300f64..1.0) {
        let back = evaluate_f64("__nv_erfc", evaluate_f64("__nv_erfcinv", y));
        prop_assert!((back - y).abs() <= 2000.0 * f64::EPSILON * y, "{}: {}", y, back);
        let back = evaluate_f64("__nv_normcdf", evaluate_f64("__nv_normcdfinv", y));
        prop_assert!((back - y).abs() <= 2000.0 * f64::EPSILON * y);
    }
}
