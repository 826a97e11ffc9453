//! Conversions between dtypes, and between dtypes and numbers.
//!
//! The rules of a value cast are `semantic.cast` of Triton 3.9.0 and the PTX it compiles to for `sm_90`:
//!
//! | from, to | rule | seen as |
//! |---|---|---|
//! | integer to integer | low bits; sign- or zero-extended by the source's signedness, `i1` as 0 or 1 | `arith.trunci`, `extsi`, `extui` |
//! | any to `i1` | whether it is not zero; a NaN is not zero | `arith.cmpf une`, `cmpi ne` |
//! | integer to float | rounded once, to nearest even, whatever the width | `cvt.rn.bf16.s64` and the like |
//! | float to integer | toward zero; out of range and NaN are poison (documented as undefined since triton#10692) | `cvt.rzi` |
//! | `f64`, `f32`, `f16`, `bf16` to a narrower one, and between `f16` and `bf16` | rounded once; overflow by the rounding | `cvt.rn.bf16.f64`, `cvt.rz.f16.f32` |
//! | to `fp8e4nv`, `fp8e5` | rounded once to nearest even; overflow and infinity give the largest number | `cvt.rn.satfinite.e4m3x2.f32` |
//! | `f32` to `fp8e5` toward zero | through `f16` toward zero; infinity stays | `cvt.rz.f16.f32`, then the high byte |
//! | `f16`, `f32` to `fp8e4b15` | to `f16` toward zero, limited to 1.75 (a NaN too), to nearest, ties away from zero | the assembly in `extra/cuda/utils.py` |
//! | from fp8 | exact | `cvt.rn.f16x2.e4m3x2`; from `fp8e5` to `bf16`, 3.9.0's bit tricks make numbers of NaNs and infinities |
//!
//! CUDA has no `fp8e4b8` and `fp8e5b16`; they follow `fp8e4nv` here. No cast leads between fp8 and integers
//! (`semantic.cast` ends in an assertion), nor is one defined here.

use super::computed::Computed;
use super::dispatch::{with_element, with_float, with_int};
use super::element::{Element, Raw};
use super::elementwise::{Flaw, Lane, Visit1};
use super::float::Float;
use super::integer::{Bit, Int};
use super::narrow::{self, Fp8Format, Overflow};
use crate::DType;
use crate::fault::{Fault, is_planted};
use crate::ir::Rounding;

/// Converts one lane's value. Poison if it has no value in the target dtype, or if there is no such cast.
pub fn cast(from: DType, to: DType, rounding: Rounding, bits: u64) -> Computed {
    visit_cast(from, to, rounding, Lane([bits]))
}

/// Whether there is a value cast between two dtypes.
pub const fn cast_defined(from: DType, to: DType) -> bool {
    !(from.is_fp8() && to.is_int() || from.is_int() && to.is_fp8())
}

/// The value of a lane; exact for every float dtype, and for integers up to 2^53.
pub fn decode(dtype: DType, bits: u64) -> f64 {
    with_element!(dtype, T => int of_bits::<T>(bits).to_f64(), float of_bits::<T>(bits).to_f64())
}

/// The integer that a lane of an integer dtype holds (`i1` as 0 or 1); a float toward zero, at most 2^127 away from 0,
/// and 0 for NaN.
pub fn decode_int(dtype: DType, bits: u64) -> i128 {
    fn decode_lane<T: Int>(bits: u64) -> i128 {
        let extended = of_bits::<T>(bits).extend();
        if T::SIGNED {
            extended as i64 as i128
        } else {
            extended as i128
        }
    }
    with_element!(dtype, T => int decode_lane::<T>(bits), float of_bits::<T>(bits).to_f64() as i128)
}

/// The lane nearest to a number, as torch fills a tensor: floats are rounded once; what is out of range becomes
/// infinity, or NaN in a dtype without infinity (in `fp8e4b15`, the largest number). Integer dtypes take the integral
/// part, wrapped; of NaN and infinities, 0. `i1` is whether the number is not zero.
pub fn encode(dtype: DType, value: f64, rounding: Rounding) -> u64 {
    match dtype {
        DType::F64 => value.to_bits(),
        DType::F32 => match rounding {
            Rounding::NearestEven => (value as f32).to_bits() as u64,
            Rounding::TowardZero => f32_toward_zero(value).to_bits() as u64,
        },
        DType::F16 => f16_of(narrow::f64_to_f32_odd(value), rounding) as u64,
        DType::BF16 => bf16_of(narrow::f64_to_f32_odd(value), rounding) as u64,
        DType::I1 => u64::from(value != 0.0),
        _ => match Fp8Format::from_dtype(dtype) {
            Some(format) => format.encode(narrow::f64_to_f32_odd(value), rounding, Overflow::Special) as u64,
            None if value.is_finite() => {
                encode_int(dtype, (value.trunc() % 18_446_744_073_709_551_616.0) as i128)
            }
            None => 0,
        },
    }
}

/// The lane nearest to an integer: wrapped to an integer dtype, rounded once to nearest even to a float; `i1` is
/// whether it is not zero.
pub fn encode_int(dtype: DType, value: i128) -> u64 {
    fn encode_lane<T: Int>(value: i128) -> u64 {
        T::truncate(value as u64).raw().to_u64()
    }
    match dtype {
        DType::I1 => return u64::from(value != 0),
        DType::F32 => return (value as f32).to_bits().into(),
        DType::F64 => return (value as f64).to_bits(),
        _ => {}
    }
    with_element!(dtype, T => int encode_lane::<T>(value), float T::narrow_double(narrow::i128_to_f64_odd(value)).raw().to_u64())
}

/// Whether a lane is a NaN. Integers never are.
pub fn is_nan(dtype: DType, bits: u64) -> bool {
    dtype.is_float() && decode(dtype, bits).is_nan()
}

/// Whether a lane is an infinity. Integers never are.
pub fn is_infinite(dtype: DType, bits: u64) -> bool {
    dtype.is_float() && decode(dtype, bits).is_infinite()
}

#[inline(always)]
fn of_bits<T: Element>(bits: u64) -> T {
    T::from_raw(T::Raw::from_u64(bits))
}

fn f32_toward_zero(value: f64) -> f32 {
    let near = value as f32;
    if (near as f64).abs() > value.abs() {
        f32::from_bits(near.to_bits() - 1)
    } else {
        near
    }
}

#[inline(always)]
fn f16_of(value: f32, rounding: Rounding) -> u16 {
    match rounding {
        Rounding::NearestEven => narrow::f32_to_f16(value),
        Rounding::TowardZero => narrow::f32_to_f16_toward_zero(value),
    }
}

#[inline(always)]
fn bf16_of(value: f32, rounding: Rounding) -> u16 {
    match rounding {
        Rounding::NearestEven => narrow::f32_to_bf16(value),
        Rounding::TowardZero => narrow::f32_to_bf16_toward_zero(value),
    }
}

/// Hands the meaning of a cast to a visitor.
pub(super) fn visit_cast<V: Visit1>(from: DType, to: DType, rounding: Rounding, visitor: V) -> V::Out {
    if from == to {
        return with_element!(from, T => int visitor.visit_total(|x: T| x), float visitor.visit_total(|x: T| x));
    }
    with_element!(from, S => int from_int::<S, V>(to, visitor), float from_float::<S, V>(from, to, rounding, visitor))
}

fn from_int<S: Int, V: Visit1>(to: DType, visitor: V) -> V::Out {
    if to == DType::I1 {
        return visitor.visit_total(|x: S| Bit::new(x != S::ZERO));
    }
    if to.is_fp8() {
        return visitor.visit_undefined();
    }
    with_element!(to, T =>
        int visitor.visit_total(|x: S| T::truncate(x.extend())),
        float visitor.visit_total(|x: S| T::from_int(x)))
}

fn from_float<S: Float, V: Visit1>(from: DType, to: DType, rounding: Rounding, visitor: V) -> V::Out {
    match to {
        DType::I1 => visitor.visit_total(|x: S| {
            let value = x.to_f64();
            Bit::new(value != 0.0 && !(value.is_nan() && is_planted(Fault::NanIsFalse)))
        }),
        _ if to.is_int() && from.is_fp8() => visitor.visit_undefined(),
        _ if to.is_int() => {
            with_int!(to, T => visitor.visit_partial(to_int::<S, T>), else visitor.visit_undefined())
        }
        _ => to_float::<S, V>(from, to, rounding, visitor),
    }
}

#[inline(always)]
fn to_int<S: Float, T: Int>(x: S) -> Result<T, Flaw> {
    let value = x.to_f64();
    // A NaN is within no bounds.
    if (value > T::BELOW || value >= T::LEAST) && value < T::END {
        Ok(T::truncate_double(value))
    } else {
        Err(Flaw::Poison)
    }
}

fn to_float<S: Float, V: Visit1>(from: DType, to: DType, rounding: Rounding, visitor: V) -> V::Out {
    use super::float::{BF16, F8E4B15, F8E5, F16};
    let near = rounding == Rounding::NearestEven;
    match to {
        DType::F64 => visitor.visit_total(|x: S| x.to_f64()),
        DType::F32 if from != DType::F64 || near => visitor.visit_total(|x: S| x.to_f64() as f32),
        DType::F32 => visitor.visit_total(|x: S| f32_toward_zero(x.to_f64())),
        DType::F16 if near => visitor.visit_total(|x: S| F16::from_raw(narrow::f32_to_f16(x.to_odd()))),
        DType::F16 => visitor.visit_total(|x: S| F16::from_raw(narrow::f32_to_f16_toward_zero(x.to_odd()))),
        DType::BF16 if near => visitor.visit_total(|x: S| BF16::from_raw(narrow::f32_to_bf16(x.to_odd()))),
        DType::BF16 => {
            visitor.visit_total(|x: S| BF16::from_raw(narrow::f32_to_bf16_toward_zero(x.to_odd())))
        }
        // A NaN becomes a number here, and on the way from `f32` to `f16` its sign was lost.
        DType::F8E4B15 if from == DType::F16 => visitor.visit_total(|x: S| {
            let value = x.to_odd();
            F8E4B15::from_raw(
                narrow::f32_to_fp8e4b15_limited(value.abs()) | (value.to_bits() >> 24) as u8 & 0x80,
            )
        }),
        DType::F8E4B15 => {
            visitor.visit_total(|x: S| F8E4B15::from_raw(narrow::f32_to_fp8e4b15_limited(x.to_odd())))
        }
        DType::F8E5 if !near => {
            visitor.visit_total(|x: S| F8E5::from_raw(narrow::f32_to_fp8e5_toward_zero(x.to_odd())))
        }
        _ => {
            let Some(format) = Fp8Format::from_dtype(to) else {
                return visitor.visit_undefined();
            };
            let overflow = if is_planted(Fault::Fp8CastsOverflow) {
                Overflow::Special
            } else {
                Overflow::Saturate
            };
            with_float!(to, T => visitor.visit_total(move |x: S| {
                T::from_raw(<T as Element>::Raw::from_u64(format.encode(x.to_odd(), rounding, overflow) as u64))
            }), else visitor.visit_undefined())
        }
    }
}
