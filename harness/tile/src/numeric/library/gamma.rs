//! The gamma function and its logarithm, by Stirling's series.

use super::pair::{EULER, HALF_LN_TAU, LN_2, LN_PI, PI, Pair};
use super::special::turn;

/// Coefficients of Stirling's series, from the first power of 1/x, by twos (B(2k) / (2k (2k - 1)), DLMF 5.11.1).
const STIRLING: [Pair; 13] = [
    Pair::new(0.083_333_333_333_333_33, 4.625_929_269_271_485e-18),
    Pair::new(-0.002_777_777_777_777_778, 1.060_108_790_874_715_4e-19),
    Pair::new(0.000_793_650_793_650_793_7, 6.883_823_317_368_282e-22),
    Pair::new(-0.000_595_238_095_238_095_3, 5.369_382_187_547_26e-20),
    Pair::new(0.000_841_750_841_750_841_7, 3.687_017_488_923_769_4e-20),
    Pair::new(-0.001_917_526_917_526_917_6, 1.067_570_277_687_247_5e-19),
    Pair::new(0.006_410_256_410_256_41, 2.224_004_456_380_521_7e-19),
    Pair::new(-0.029_550_653_594_771_242, 4.861_760_957_508_855e-19),
    Pair::new(0.179_644_372_368_830_57, -6.401_600_482_710_946e-19),
    Pair::new(-1.392_432_216_905_901_1, 1.583_705_698_923_030_3e-17),
    Pair::new(13.402_864_044_168_393, -6.154_114_101_993_966e-16),
    Pair::new(-156.848_284_626_002, 9.391_823_141_715_389e-15),
    Pair::new(2_193.103_333_333_333_5, -1.333_925_562_600_294_8e-13),
];

/// zeta(k) / k, from k = 2 (DLMF 5.7.3).
const NEAR_ONE: [f64; 10] = [
    0.822_467_033_424_113_2,
    0.400_685_634_386_531_43,
    0.270_580_808_427_784_54,
    0.207_385_551_028_673_98,
    0.169_557_176_997_408_2,
    0.144_049_896_768_846_1,
    0.125_509_669_524_743_04,
    0.111_334_265_869_564_69,
    0.100_099_457_512_781_8,
    0.090_954_017_145_829_04,
];

/// (zeta(k) - 1) / k, from k = 2.
const NEAR_TWO: [f64; 10] = [
    0.322_467_033_424_113_2,
    0.067_352_301_053_198_1,
    0.020_580_808_427_784_546,
    0.007_385_551_028_673_986,
    0.002_890_510_330_741_523_4,
    0.001_192_753_911_703_261,
    0.000_509_669_524_743_042_5,
    0.000_223_154_758_453_579_39,
    9.945_751_278_180_853e-5,
    4.492_623_673_813_314e-5,
];

/// The logarithm of the gamma function of 30 or more.
fn sum_stirling(x: Pair) -> Pair {
    let square = x.square().recip();
    let mut sum = Pair::ZERO;
    for &coefficient in STIRLING.iter().rev() {
        sum = sum * square + coefficient;
    }
    (x - Pair::from_f64(0.5)) * x.ln() - x + HALF_LN_TAU + sum / x
}

/// A positive number raised by steps of 1 to at least 30, and the product of the numbers passed.
fn raise_argument(mut x: Pair) -> (Pair, Pair) {
    let mut product = Pair::UNIT;
    while x.high < 30.0 {
        product = product * x;
        x = x + Pair::UNIT;
    }
    (x, product)
}

/// The logarithm of the gamma function next to one of its zeros, by a power series without a constant.
fn near_zero(by: Pair, slope: Pair, rest: &[f64; 10]) -> Pair {
    let mut sum = 0.0;
    for &coefficient in rest.iter().rev() {
        sum = coefficient - by.high * sum;
    }
    slope * by + by.square() * Pair::from_f64(sum)
}

/// The logarithm of the gamma function of a positive number.
fn ln_gamma(x: Pair) -> Pair {
    let (one, two) = (x - Pair::UNIT, x - Pair::from_f64(2.0));
    if one.high.abs() < 1e-3 {
        return near_zero(one, -EULER, &NEAR_ONE);
    }
    if two.high.abs() < 1e-3 {
        return near_zero(two, Pair::UNIT - EULER, &NEAR_TWO);
    }
    let (x, product) = raise_argument(x);
    sum_stirling(x) - product.ln()
}

pub(super) fn lgamma(x: f64) -> Pair {
    if x.is_nan() {
        return Pair::NAN;
    }
    // Past the limit it overflows, and at zero and every negative integer there is a pole.
    if x > 2.556_4e305 || (x <= 0.0 && x == x.trunc()) {
        return Pair::from_f64(f64::INFINITY);
    }
    if x.abs() < 1e-40 {
        return -Pair::from_f64(x.abs()).ln();
    }
    if x > 1e30 {
        return scaled_product(x, Pair::from_f64(x).ln() - Pair::UNIT);
    }
    if x > 0.0 {
        return ln_gamma(Pair::from_f64(x));
    }
    LN_PI - turn(x).0.abs().ln() - ln_gamma(Pair::sum(1.0, -x))
}

/// A product that may overflow.
fn scaled_product(x: f64, by: Pair) -> Pair {
    (Pair::from_f64(libm::scalbn(x, -200)) * by).scale(200)
}

pub(super) fn tgamma(x: f64) -> Pair {
    if x.is_nan() || (x < 0.0 && x == x.trunc()) {
        return Pair::NAN;
    }
    if x == 0.0 || x > 172.0 {
        return Pair::from_f64(f64::INFINITY.copysign(x));
    }
    if x.abs() < 1e-40 {
        // 1 / x; later terms are too small.
        return Pair::from_f64(1.0 / x);
    }
    if x > 0.0 {
        let (high, product) = raise_argument(Pair::from_f64(x));
        return if x < 30.0 {
            sum_stirling(high).exp() / product
        } else {
            sum_stirling(high).exp()
        };
    }
    let sine = turn(x).0;
    if x < -190.0 {
        return Pair::from_f64(0f64.copysign(sine.high));
    }
    let (high, product) = raise_argument(Pair::sum(1.0, -x));
    let power = (LN_2 * Pair::from_f64(400.0) - sum_stirling(high)).exp();
    (PI / sine * power * product).scale(-400)
}
