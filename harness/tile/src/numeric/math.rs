//! Functions of `f32` and `f64`: those of `f32` are computed in `f64` and rounded, which is correct but for cases too
//! close to a tie; those of `f64` are `libm`'s (a port of musl's, below 1 ULP), the same on every host.

use crate::fault::{Fault, is_planted};
use crate::ir::UnaryOp;

/// A float type of the host.
pub(super) trait Native:
    Copy
    + PartialOrd
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
    + std::ops::Rem<Output = Self>
{
    fn is_nan(self) -> bool;
    fn is_infinite(self) -> bool;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn rint(self) -> Self;
    fn trunc(self) -> Self;
    fn round(self) -> Self;
    fn sqrt(self) -> Self;
    fn rsqrt(self) -> Self;
    fn exp(self) -> Self;
    fn exp2(self) -> Self;
    fn expm1(self) -> Self;
    fn log(self) -> Self;
    fn log2(self) -> Self;
    fn log10(self) -> Self;
    fn log1p(self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn tan(self) -> Self;
    fn asin(self) -> Self;
    fn acos(self) -> Self;
    fn atan(self) -> Self;
    fn sinh(self) -> Self;
    fn cosh(self) -> Self;
    fn tanh(self) -> Self;
    fn erf(self) -> Self;
    fn pow(self, exponent: Self) -> Self;
    fn atan2(self, x: Self) -> Self;
    /// C's `fmod`: exact, with the dividend's sign.
    fn fmod(self, divisor: Self) -> Self;
    /// `min.f32`: the number if one is a NaN; -0 is below +0.
    fn min_number(self, other: Self) -> Self;
    /// `max.f32`: the number if one is a NaN; -0 is below +0.
    fn max_number(self, other: Self) -> Self;
    /// `min.NaN.f32`: NaN if either is; -0 is below +0.
    fn minimum(self, other: Self) -> Self;
    /// `max.NaN.f32`: NaN if either is; -0 is below +0.
    fn maximum(self, other: Self) -> Self;
}

/// 2 to the `power`, within 2^-41 of its value: for functions of `f32`.
#[inline(always)]
fn exp2_of(power: f64) -> f64 {
    // 1.5 * 2^52: adding it leaves the nearest integer in the low bits.
    const INTEGRAL: f64 = 6_755_399_441_055_744.0;
    // Coefficients of e to the x; the next one's term is below 2^-42 where |x| is at most ln(2) / 2.
    const TERMS: [f64; 10] = [
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
    ];
    // Past these `f32` is infinite or zero. Comparing this way round keeps a NaN.
    let power = if power > 160.0 { 160.0 } else { power };
    let power = if power < -160.0 { -160.0 } else { power };
    let shifted = power + INTEGRAL;
    let rest = (power - (shifted - INTEGRAL)) * std::f64::consts::LN_2;
    let mut sum = 0.0;
    for term in TERMS {
        sum = sum * rest + term;
    }
    let scale = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    let scale = if is_planted(Fault::ExponentialDrifts) {
        scale * 1.000_002
    } else {
        scale
    };
    (sum * rest + 1.0) * scale
}

/// The natural logarithm in two parts, the exponent in units of ln(2) and the rest, for functions of `f32`; within
/// 2^-46 of its value.
#[inline(always)]
fn log_of(value: f64) -> (f64, f64) {
    // Coefficients of the series of artanh; s squared is below 0.0295, the next term below 2^-47.
    const TERMS: [f64; 8] = [
        1.0 / 17.0,
        1.0 / 15.0,
        1.0 / 13.0,
        1.0 / 11.0,
        1.0 / 9.0,
        1.0 / 7.0,
        1.0 / 5.0,
        1.0 / 3.0,
    ];
    let bits = value.to_bits();
    // The significand is brought to between sqrt(1/2) and sqrt(2), so that numbers near 1 have no exponent.
    let offset = bits.wrapping_sub(std::f64::consts::FRAC_1_SQRT_2.to_bits());
    let exponent = (offset as i64 >> 52) as i32 as f64;
    let significand = f64::from_bits(bits.wrapping_sub(offset & 0xfff0_0000_0000_0000));
    let s = (significand - 1.0) / (significand + 1.0);
    let square = s * s;
    let mut sum = 0.0;
    for term in TERMS {
        sum = (sum + term) * square;
    }
    let s = if is_planted(Fault::LogarithmDrifts) {
        s * 1.000_002
    } else {
        s
    };
    (exponent, 2.0 * s * sum + 2.0 * s)
}

/// A logarithm's result for numbers that have none of the ordinary ones.
#[inline(always)]
fn log_special(value: f64, ordinary: f64) -> f64 {
    let result = if value > 0.0 { ordinary } else { f64::NAN };
    let result = if value == 0.0 { f64::NEG_INFINITY } else { result };
    if value == f64::INFINITY {
        f64::INFINITY
    } else {
        result
    }
}

/// A function of `f32` at a number, before it is rounded: within 2^-40 of its value. None of a function that has no form
/// of its own for `f32`.
pub fn single(op: UnaryOp, x: f64) -> Option<f64> {
    Some(match op {
        UnaryOp::Exp => single::exp(x),
        UnaryOp::Exp2 => single::exp2(x),
        UnaryOp::Log => single::log(x),
        UnaryOp::Log2 => single::log2(x),
        _ => return None,
    })
}

/// The functions of `f32` that kernels use most, in a form that vectorises: operands and results are `f64`, good for `f32`.
pub mod single {
    use super::{exp2_of, log_of, log_special};

    /// `e` to the power of `x`.
    #[inline(always)]
    pub fn exp(x: f64) -> f64 {
        exp2_of(x * std::f64::consts::LOG2_E)
    }

    /// 2 to the power of `x`.
    #[inline(always)]
    pub fn exp2(x: f64) -> f64 {
        exp2_of(x)
    }

    /// The natural logarithm; NaN of what is negative.
    #[inline(always)]
    pub fn log(x: f64) -> f64 {
        let (exponent, rest) = log_of(x);
        log_special(x, exponent * std::f64::consts::LN_2 + rest)
    }

    /// The logarithm to the base of 2; NaN of what is negative.
    #[inline(always)]
    pub fn log2(x: f64) -> f64 {
        let (exponent, rest) = log_of(x);
        log_special(x, exponent + rest * std::f64::consts::LOG2_E)
    }
}

macro_rules! native {
    ($ty:ident; $($name:ident($($arg:ident),*) $call:expr;)+) => {
        impl Native for $ty {
            $(
                #[inline(always)]
                fn $name(self $(, $arg: Self)*) -> Self {
                    let call: fn(f64 $(, native!(@double $arg))*) -> f64 = $call;
                    call(self as f64 $(, $arg as f64)*) as Self
                }
            )+
            #[inline(always)]
            fn is_nan(self) -> bool {
                self.is_nan()
            }
            #[inline(always)]
            fn is_infinite(self) -> bool {
                self.is_infinite()
            }
            // The host's own are calls where SSE4.1 cannot be assumed; these are a few operations, and vectorise.
            #[inline(always)]
            fn floor(self) -> Self {
                let near = Native::rint(self);
                (if near > self { near - 1.0 } else { near }).copysign(self)
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                let near = Native::rint(self);
                (if near < self { near + 1.0 } else { near }).copysign(self)
            }
            #[inline(always)]
            fn rint(self) -> Self {
                // From here on every number is integral, and adding it rounds the bits below the units off.
                const INTEGRAL: $ty = (1u64 << ($ty::MANTISSA_DIGITS - 1)) as $ty;
                let magnitude = self.abs();
                let near = ((magnitude + INTEGRAL) - INTEGRAL).copysign(self);
                if magnitude < INTEGRAL { near } else { self }
            }
            #[inline(always)]
            fn trunc(self) -> Self {
                let magnitude = self.abs();
                let near = Native::rint(magnitude);
                (if near > magnitude { near - 1.0 } else { near }).copysign(self)
            }
            #[inline(always)]
            fn round(self) -> Self {
                let whole = Native::trunc(self.abs());
                (if self.abs() - whole >= 0.5 { whole + 1.0 } else { whole }).copysign(self)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                if is_planted(Fault::RootDrifts) { return self.sqrt() * (1.0 + 4.0 * Self::EPSILON); }
                self.sqrt()
            }
            #[inline(always)]
            fn fmod(self, divisor: Self) -> Self {
                self % divisor
            }
            #[inline(always)]
            fn min_number(self, other: Self) -> Self {
                let equal = Self::from_bits(self.to_bits() | other.to_bits());
                if is_planted(Fault::MinimumGivesNan) && (self.is_nan() || other.is_nan()) { return Self::NAN; }
                if is_planted(Fault::MinimumOfZeros) && self == other { return Self::from_bits(self.to_bits() & other.to_bits()); }
                let number = if other < self || self.is_nan() { other } else { self };
                if self == other { equal } else { number }
            }
            #[inline(always)]
            fn max_number(self, other: Self) -> Self {
                let equal = Self::from_bits(self.to_bits() & other.to_bits());
                let number = if other > self || self.is_nan() { other } else { self };
                if self == other { equal } else { number }
            }
            #[inline(always)]
            fn minimum(self, other: Self) -> Self {
                let number = self.min_number(other);
                if self.is_nan() || other.is_nan() { Self::NAN } else { number }
            }
            #[inline(always)]
            fn maximum(self, other: Self) -> Self {
                let number = self.max_number(other);
                if is_planted(Fault::MaximumLosesNan) { return number; }
                if self.is_nan() || other.is_nan() { Self::NAN } else { number }
            }
        }
    };
    (@double $arg:ident) => { f64 };
}

macro_rules! both {
    ($($rest:tt)+) => {
        native! { f32;
            exp() single::exp;
            exp2() single::exp2;
            log() single::log;
            log2() single::log2;
            $($rest)+
        }
        native! { f64;
            exp() libm::exp;
            exp2() libm::exp2;
            log() libm::log;
            log2() libm::log2;
            $($rest)+
        }
    };
}

both! {
    rsqrt() |x| 1.0 / x.sqrt();
    expm1() libm::expm1;
    log10() libm::log10;
    log1p() libm::log1p;
    sin() |x| if is_planted(Fault::SineDrifts) { libm::sin(x) * 1.000_002 } else { libm::sin(x) };
    cos() libm::cos;
    tan() libm::tan;
    asin() libm::asin;
    acos() libm::acos;
    atan() libm::atan;
    sinh() libm::sinh;
    cosh() libm::cosh;
    tanh() libm::tanh;
    erf() libm::erf;
    pow(exponent) libm::pow;
    atan2(x) libm::atan2;
}
