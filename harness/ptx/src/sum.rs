//! The summation of the matrix unit. NVIDIA does not document it; this models a Hopper GPU.
//!
//! All products of a run of elements and the sum so far are aligned to the largest exponent among them; a product's
//! exponent is the sum of its factors' exponents. Digits below a fractional place are truncated: the 25th, or the 13th
//! if the factors have 8 bits. Their sum is exact, and is truncated to the result's precision, which is 13 fractional
//! digits if the factors have 8 bits and the result 32. A run is an instruction.

use crate::alu::float::NAN32;

/// Splits a float into its significand with 23 fractional places and its exponent.
fn split_float(value: f32) -> (u64, i32) {
    let bits = value.to_bits();
    let field = (bits >> 23 & 0xff) as i32;
    let fraction = u64::from(bits & 0x007f_ffff);
    if field == 0 {
        (fraction, -126)
    } else {
        (fraction | 1 << 23, field - 127)
    }
}

/// Maximum factors of a run.
pub(crate) const MAX_FACTORS: usize = 32;

/// The exponent of a zero: smaller than that of any product.
const ZERO: i32 = -1 << 12;

/// A row or a column of factors, split into significands and exponents.
#[derive(Clone, Debug)]
pub(crate) struct Factors {
    /// The significands with their signs, and 23 fractional places.
    significands: [i32; MAX_FACTORS],
    exponents: [i32; MAX_FACTORS],
    values: [f32; MAX_FACTORS],
    len: usize,
    finite: bool,
}

impl Factors {
    /// Splits values of a type whose normal numbers have at least this exponent. Smaller numbers are not normalised.
    pub(crate) fn collect(values: impl Iterator<Item = f32>, least: i32) -> Self {
        let mut factors = Self {
            significands: [0; MAX_FACTORS],
            exponents: [ZERO; MAX_FACTORS],
            values: [0.0; MAX_FACTORS],
            len: 0,
            finite: true,
        };
        let places = factors.significands.iter_mut().zip(&mut factors.exponents);
        for (value, ((significand, exponent), to)) in values.zip(places.zip(&mut factors.values)) {
            let (units, power) = split_float(value);
            let (units, power) = (units >> (least - power).clamp(0, 63), power.max(least));
            *significand = if value.is_sign_negative() {
                -(units as i32)
            } else {
                units as i32
            };
            *exponent = if units == 0 { ZERO } else { power };
            *to = value;
            factors.len += 1;
            factors.finite &= value.is_finite();
        }
        factors
    }
}

/// How many digits the unit keeps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Precision {
    /// Fractional places of the aligned terms.
    pub(crate) places: i32,
    /// Fractional digits of the result.
    pub(crate) digits: i32,
    /// Whether a sum of negative zeros is negative.
    pub(crate) signed_zero: bool,
}

impl Precision {
    /// `mma.sync`.
    pub(crate) const WARP: Self = Self {
        places: 25,
        digits: 23,
        signed_zero: true,
    };
    /// `wgmma` with factors of 16 bits, and `tf32`.
    pub(crate) const WIDE: Self = Self {
        signed_zero: false,
        ..Self::WARP
    };
    /// Factors of 8 bits.
    pub(crate) const NARROW: Self = Self {
        places: 13,
        digits: 13,
        signed_zero: false,
    };
    /// Factors of 8 bits, summed in `f16`: the result is rounded from all digits.
    pub(crate) const NARROW_HALF: Self = Self {
        digits: 23,
        ..Self::NARROW
    };
}

/// Sums the products of factors and a summand, in one run.
pub(crate) fn sum_factors(a: &Factors, b: &Factors, c: f32, precision: Precision) -> u64 {
    if !(a.finite && b.finite && c.is_finite()) {
        return sum_special(a, b, c);
    }
    let (units, exponent) = split_float(c);
    let mut top = if units == 0 { ZERO } else { exponent };
    let mut exponents = [0; MAX_FACTORS];
    for (exponent, (p, q)) in exponents
        .iter_mut()
        .zip(a.exponents.iter().zip(&b.exponents))
        .take(a.len)
    {
        *exponent = p + q;
        top = top.max(p + q);
    }
    // Products with a zero have exponents from about twice `ZERO` to about `ZERO`.
    if top <= ZERO / 2 {
        return if precision.signed_zero {
            sum_zeros(a, b, c)
        } else {
            0
        };
    }
    let base = 46 - precision.places + top;
    let keep = |units: u64, exponent: i32| (units >> (base - exponent).clamp(0, 63)) as i64;
    let mut sum = keep(units << 23, exponent);
    if c.is_sign_negative() {
        sum = -sum;
    }
    let significands = a.significands.iter().zip(&b.significands);
    for ((&x, &y), &exponent) in significands.zip(&exponents).take(a.len) {
        let product = i64::from(x) * i64::from(y);
        let kept = keep(product.unsigned_abs(), exponent);
        // The sign of the product: 0 or -1.
        let sign = product >> 63;
        sum += (kept ^ sign) - sign;
    }
    assemble(sum, top - precision.places, precision.digits)
        .to_bits()
        .into()
}

/// Sums if there are infinities or NaN: they determine the result, and finite terms don't matter.
#[cold]
fn sum_special(a: &Factors, b: &Factors, c: f32) -> u64 {
    let clip = |value: f64| if value.is_finite() { 0.0 } else { value };
    let pairs = a.values.iter().zip(&b.values).take(a.len);
    let products = pairs.map(|(&a, &b)| clip(f64::from(a) * f64::from(b)));
    let sum = products.fold(clip(c.into()), |sum, product| sum + product) as f32;
    if sum.is_nan() { NAN32 } else { sum.to_bits().into() }
}

/// Sums zeros: the result is negative only if all of them are.
#[cold]
fn sum_zeros(a: &Factors, b: &Factors, c: f32) -> u64 {
    let mut pairs = a.values.iter().zip(&b.values).take(a.len);
    let negative = c.is_sign_negative() && pairs.all(|(a, b)| a.is_sign_negative() != b.is_sign_negative());
    (if negative { -0.0f32 } else { 0.0 }).to_bits().into()
}

/// Converts an integer times a power of two to an `f32` with so many fractional digits, truncated.
fn assemble(units: i64, exponent: i32, digits: i32) -> f32 {
    if units == 0 {
        return 0.0;
    }
    let magnitude = units.unsigned_abs();
    let top = 63 - magnitude.leading_zeros() as i32;
    // The last place of the result.
    let last = (top - digits).max(-149 - exponent);
    let kept = if last > 0 {
        magnitude.checked_shr(last as u32).unwrap_or(0) << last.min(63)
    } else {
        magnitude
    };
    let value = kept as f64 * 2f64.powi(exponent);
    let value = if value > f64::from(f32::MAX) {
        f64::INFINITY
    } else {
        value
    };
    // A sum below the smallest number is zero, without a sign.
    if units < 0 && value as f32 != 0.0 {
        -(value as f32)
    } else {
        value as f32
    }
}
