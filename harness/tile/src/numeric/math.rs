//! Functions of `f32` and `f64`. Those of `f32` are computed in `f64` and rounded, which is correct except for cases
//! too close to a tie; those of `f64` are `libm`'s (a port of musl's, below 1 ULP), the same on every host.

use super::single;
use crate::fault::{Fault, is_planted};

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
    /// `min.f32`: the other operand if one is a NaN; -0 is below +0.
    fn min_number(self, other: Self) -> Self;
    /// `max.f32`: the other operand if one is a NaN; -0 is below +0.
    fn max_number(self, other: Self) -> Self;
    /// `min.NaN.f32`: NaN if either is; -0 is below +0.
    fn minimum(self, other: Self) -> Self;
    /// `max.NaN.f32`: NaN if either is; -0 is below +0.
    fn maximum(self, other: Self) -> Self;
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
