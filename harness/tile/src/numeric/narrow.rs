//! Conversions between `f32` and the narrow float dtypes, branch-free where it matters so that loops vectorise.

use crate::fault::{Fault, is_planted};
use crate::ir::Rounding;

/// `f64` to `f32` rounded to odd: toward zero, with the last bit set when that was not exact. Rounding the result
/// again to a narrower type is as good as rounding the `f64` once, since `f32` has at least 2 bits more than any of
/// them (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
#[inline(always)]
pub(super) fn f64_to_f32_odd(value: f64) -> f32 {
    let near = value as f32;
    let back = near as f64;
    if back == value || near.is_nan() {
        return near;
    }
    let bits = near.to_bits();
    // Away from zero by rounding (to infinity included): one step back gives the truncated value.
    let truncated = bits - u32::from(back.abs() > value.abs());
    f32::from_bits(truncated | 1)
}

/// An integer as a double, rounded to odd if it has more than 53 bits.
#[inline(always)]
pub(super) fn i128_to_f64_odd(value: i128) -> f64 {
    let magnitude = value.unsigned_abs();
    let spare = (128 - magnitude.leading_zeros()).saturating_sub(53);
    let kept = magnitude >> spare;
    let lost = u128::from(kept << spare != magnitude);
    let double = ((kept | lost) << spare) as f64;
    if value < 0 { -double } else { double }
}

/// `x * y + z` in `f64`, rounded to odd, so that rounding it again to `f32` or less rounds the exact value once.
#[inline(always)]
pub(super) fn fma_odd(x: f32, y: f32, z: f32) -> f64 {
    // Two 24-bit significands: the product is exact.
    let product = if is_planted(Fault::FmaRoundsTwice) {
        (x * y) as f64
    } else {
        x as f64 * y as f64
    };
    let addend = z as f64;
    let sum = product + addend;
    // The exact rounding error of the sum (Knuth's two-sum).
    let virtual_addend = sum - product;
    let lost = (product - (sum - virtual_addend)) + (addend - virtual_addend);
    let bits = sum.to_bits();
    let odd = if (lost > 0.0) == (sum > 0.0) {
        bits | 1
    } else {
        bits.wrapping_sub(1) | 1
    };
    // An even inexact sum is adjacent to the exact value, which lies on the side of the lost part.
    let odd = if bits & 1 == 1 { bits } else { odd };
    if lost == 0.0 || !sum.is_finite() {
        sum
    } else {
        f64::from_bits(odd)
    }
}

/// `x * y + z` of numbers of binary16 or fp8, in `f32`, rounded to odd, so that rounding it again to their dtype rounds the exact value
/// once. The product has at most 22 bits and is exact, which that of two bfloat16 is not: its exponent may leave the range.
#[inline(always)]
pub(super) fn fma_odd_f32(x: f32, y: f32, z: f32) -> f32 {
    let product = x * y;
    let sum = product + z;
    let virtual_addend = sum - product;
    let lost = (product - (sum - virtual_addend)) + (z - virtual_addend);
    let bits = sum.to_bits();
    let toward_zero = u32::from((lost > 0.0) != (sum > 0.0));
    let odd = bits.wrapping_sub(toward_zero & !bits) | 1;
    if lost == 0.0 || !sum.is_finite() {
        sum
    } else {
        f32::from_bits(odd)
    }
}

/// bfloat16's `x * y + z`, as `fma_odd_f32` gives it.
#[inline(always)]
pub(super) fn fma_odd_bf16(x: f32, y: f32, z: f32) -> f32 {
    f64_to_f32_odd(fma_odd(x, y, z))
}

/// binary16 to `f32`, exact; NaN payloads are kept.
#[inline(always)]
pub(super) fn f16_to_f32(half: u16) -> f32 {
    let sign = (half as u32 & 0x8000) << 16;
    let magnitude = (half as u32 & 0x7fff) << 13;
    // As an f32 the magnitude is 2^-112 times too small, subnormals included.
    let scaled = (f32::from_bits(magnitude) * f32::from_bits(0x7780_0000)).to_bits();
    let special = magnitude | 0x7f80_0000;
    let bits = if magnitude >= 0x0f80_0000 { special } else { scaled };
    f32::from_bits(bits | sign)
}

/// `f32` to binary16, to nearest even, overflow to infinity; every NaN becomes 0x7fff (`cvt.rn.f16.f32`).
#[inline(always)]
pub(super) fn f32_to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    let odd = (magnitude >> 13) & 1 | u32::from(is_planted(Fault::F16TiesUp));
    let normal = magnitude.wrapping_add(0xc800_0fff).wrapping_add(odd) >> 13;
    // Adding 0.5 aligns the units of a subnormal half with the last bit of the f32, rounding on the way.
    let subnormal = (f32::from_bits(magnitude) + 0.5)
        .to_bits()
        .wrapping_sub(0x3f00_0000);
    let subnormal = if is_planted(Fault::F16SubnormalsFlush) {
        0
    } else {
        subnormal
    };
    let finite = if magnitude < 0x3880_0000 {
        subnormal
    } else {
        normal
    };
    let finite = if magnitude >= 0x477f_f000 { 0x7c00 } else { finite };
    let half = if magnitude > 0x7f80_0000 {
        0x7fff
    } else {
        finite | sign
    };
    half as u16
}

/// bfloat16 to `f32`, exact.
#[inline(always)]
pub(super) fn bf16_to_f32(brain: u16) -> f32 {
    f32::from_bits((brain as u32) << 16)
}

/// `f32` to bfloat16, to nearest even, overflow to infinity; every NaN becomes 0x7fff (`cvt.rn.bf16.f32`).
#[inline(always)]
pub(super) fn f32_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounding = if is_planted(Fault::Bf16Truncates) {
        0
    } else {
        0x7fff + ((bits >> 16) & 1)
    };
    let rounded = bits.wrapping_add(rounding) >> 16;
    let brain = if bits & 0x7fff_ffff > 0x7f80_0000 {
        0x7fff
    } else {
        rounded
    };
    brain as u16
}

/// `f32` to binary16 toward zero: overflow results in the largest finite number (`cvt.rz.f16.f32`).
#[inline(always)]
pub(super) fn f32_to_f16_toward_zero(value: f32) -> u16 {
    let magnitude = value.abs();
    let near = f32_to_f16(magnitude);
    let beyond = value.is_finite() && f16_to_f32(near) > magnitude;
    let sign = if value.is_nan() {
        0
    } else {
        (value.to_bits() >> 16) as u16 & 0x8000
    };
    (near - u16::from(beyond)) | sign
}

/// `f32` to bfloat16 toward zero (`cvt.rz.bf16.f32`).
#[inline(always)]
pub(super) fn f32_to_bf16_toward_zero(value: f32) -> u16 {
    if value.is_nan() {
        0x7fff
    } else {
        (value.to_bits() >> 16) as u16
    }
}

/// `f32` to `fp8e5` toward zero, as compiled: through binary16, whose high byte it is.
#[inline(always)]
pub(super) fn f32_to_fp8e5_toward_zero(value: f32) -> u8 {
    (f32_to_f16_toward_zero(value) >> 8) as u8
}

/// `f32` to `fp8e4b15` as Triton's assembly does it: through binary16 toward zero, at most 1.75 (a NaN as well), to
/// nearest with ties away from zero.
#[inline(always)]
pub(super) fn f32_to_fp8e4b15_limited(value: f32) -> u8 {
    let half = f32_to_f16_toward_zero(value);
    let sign = (half >> 8) as u8 & 0x80;
    let magnitude = (half & 0x7fff).min(0x3f00);
    ((magnitude * 2 + 0x80) >> 8) as u8 | sign
}

/// How an 8-bit float is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fp8Format {
    /// Bits of fraction.
    pub(super) fraction: u32,
    /// Exponent bias.
    pub(super) bias: i32,
    /// The magnitude of the largest finite number.
    pub(super) largest: u8,
    /// The magnitude of infinity, if there is one.
    pub(super) infinity: Option<u8>,
    /// The canonical NaN, if there is one.
    pub(super) nan: Option<u8>,
    /// Whether 0x80 is NaN instead of a negative zero.
    pub(super) unsigned_zero: bool,
}

/// OCP E4M3 (OFP8 specification 1.0, table 1): no infinity, NaN is all ones.
pub(super) const FP8E4NV: Fp8Format = Fp8Format {
    fraction: 3,
    bias: 7,
    largest: 0x7e,
    infinity: None,
    nan: Some(0x7f),
    unsigned_zero: false,
};
/// OCP E5M2 (OFP8 specification 1.0, table 1): like IEEE. CUDA's canonical NaN is 0x7f.
pub(super) const FP8E5: Fp8Format = Fp8Format {
    fraction: 2,
    bias: 15,
    largest: 0x7b,
    infinity: Some(0x7c),
    nan: Some(0x7f),
    unsigned_zero: false,
};
/// E4M3 FNUZ (arXiv 2206.02915): NaN is 0x80.
pub(super) const FP8E4B8: Fp8Format = Fp8Format {
    fraction: 3,
    bias: 8,
    largest: 0x7f,
    infinity: None,
    nan: Some(0x80),
    unsigned_zero: true,
};
/// E5M2 FNUZ (arXiv 2206.02915): NaN is 0x80.
pub(super) const FP8E5B16: Fp8Format = Fp8Format {
    fraction: 2,
    bias: 16,
    largest: 0x7f,
    infinity: None,
    nan: Some(0x80),
    unsigned_zero: true,
};
/// Triton's own E4M3 with bias 15: numbers only.
pub(super) const FP8E4B15: Fp8Format = Fp8Format {
    fraction: 3,
    bias: 15,
    largest: 0x7f,
    infinity: None,
    nan: None,
    unsigned_zero: false,
};

/// The result for a finite number beyond the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overflow {
    /// Infinity, or NaN where there is none (torch's conversions). The largest number in a format without either.
    Special,
    /// The largest number with its sign; so does infinity (`.satfinite`).
    Saturate,
}

impl Fp8Format {
    /// The value, exact.
    #[inline(always)]
    pub(super) fn decode(self, byte: u8) -> f32 {
        let sign = ((byte as u32) & 0x80) << 24;
        let magnitude = byte & 0x7f;
        let exponent = (magnitude >> self.fraction) as i32;
        let fraction = (magnitude & ((1 << self.fraction) - 1)) as f32;
        let one = (1u32 << self.fraction) as f32;
        let unit = |exponent: i32| f32::from_bits(((exponent - self.bias + 127) as u32) << 23);
        let value = if exponent == 0 {
            fraction / one * unit(i32::from(!is_planted(Fault::Fp8SubnormalsHalve)))
        } else {
            (one + fraction) / one * unit(exponent)
        };
        let value = if self.infinity == Some(magnitude) {
            f32::INFINITY
        } else {
            value
        };
        let is_nan = if self.unsigned_zero {
            byte == 0x80
        } else {
            self.nan.is_some() && magnitude > self.infinity.unwrap_or(self.largest)
        };
        let value = if is_nan { f32::NAN } else { value };
        f32::from_bits(value.to_bits() | sign)
    }

    /// The nearest byte, correctly rounded.
    #[inline(always)]
    pub(super) fn encode(self, value: f32, rounding: Rounding, overflow: Overflow) -> u8 {
        let bits = value.to_bits();
        let sign = (bits >> 24) as u8 & 0x80;
        let magnitude = bits & 0x7fff_ffff;
        if magnitude > 0x7f80_0000 {
            // In formats without a NaN, a NaN converts to the largest number.
            return self.nan.unwrap_or(self.largest | sign);
        }
        let past_largest = match (overflow, self.infinity, self.nan) {
            (Overflow::Saturate, ..) | (Overflow::Special, None, None) => self.largest | sign,
            (Overflow::Special, Some(infinity), _) => infinity | sign,
            (Overflow::Special, None, Some(nan)) if self.unsigned_zero => nan,
            (Overflow::Special, None, Some(nan)) => nan | sign,
        };
        if magnitude == 0x7f80_0000 {
            return past_largest;
        }
        // The unit of the last place here, as a power of two: that of the exponent, or of the subnormals.
        let exponent = ((magnitude >> 23) as i32 - 127).max(1 - self.bias);
        let shift = (23 - self.fraction as i32) + (exponent - ((magnitude >> 23).max(1) as i32 - 127));
        let significand = (magnitude & 0x007f_ffff) | if magnitude < 0x0080_0000 { 0 } else { 0x0080_0000 };
        // At 26 and more everything is below half a unit; the clamp keeps the shift defined.
        let shift = shift.clamp(0, 31) as u32;
        let kept = significand >> shift;
        let rest = significand & ((1 << shift) - 1);
        let half = (1u32 << shift) >> 1;
        let up = match rounding {
            Rounding::NearestEven => {
                rest > half || (rest == half && (kept & 1 == 1 || is_planted(Fault::Fp8TiesAway)))
            }
            Rounding::TowardZero => false,
        };
        // The carry of a significand into the exponent is what the encoding's order is made for.
        let biased = (exponent + self.bias - 1) as u32;
        let code = (biased << self.fraction) + kept + u32::from(up);
        if code > self.largest as u32 {
            return if rounding == Rounding::TowardZero {
                self.largest | sign
            } else {
                past_largest
            };
        }
        let sign = if self.unsigned_zero && code == 0 { 0 } else { sign };
        code as u8 | sign
    }
}

macro_rules! fp8 {
    ($($format:ident $decode:ident $encode:ident;)+) => { $(
        #[inline(always)]
        pub(super) fn $decode(byte: u8) -> f32 {
            $format.decode(byte)
        }
        #[inline(always)]
        pub(super) fn $encode(value: f32) -> u8 {
            $format.encode(value, Rounding::NearestEven, Overflow::Special)
        }
    )+ };
}

fp8! {
    FP8E4NV fp8e4nv_to_f32 f32_to_fp8e4nv;
    FP8E5 fp8e5_to_f32 f32_to_fp8e5;
    FP8E4B8 fp8e4b8_to_f32 f32_to_fp8e4b8;
    FP8E5B16 fp8e5b16_to_f32 f32_to_fp8e5b16;
    FP8E4B15 fp8e4b15_to_f32 f32_to_fp8e4b15;
}
