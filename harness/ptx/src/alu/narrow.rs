//! Conversions that `sm_90` adds: to `f16` and `bf16` with every rounding, with `.relu`, to `tf32`, and to and from
//! pairs of 8-bit floats. See [`super::convert`] for the others.

use cerith_tile::DType;
use cerith_tile::ir::Rounding;
use cerith_tile::numeric;
use cerith_tile::numeric::library::rounding::{self, Direction};

use super::convert::{Conversion, Source, with_source};
use super::float::{NAN32, Round, f32_from_bits};
use super::half::{NAN, bf16_to_f32, f16_to_f32, to_f16};
use super::{Int, is_int, with_int};
use crate::lanes::{Binary, Unary, map_binary, map_unary};
use crate::syntax::{Kind, Type};

/// A float type of 16 bits.
trait Half {
    const DTYPE: DType;
    fn read(bits: u64) -> f32;
}

struct F16;
struct Bf16;

impl Half for F16 {
    const DTYPE: DType = DType::F16;
    #[inline(always)]
    fn read(bits: u64) -> f32 {
        f16_to_f32(bits)
    }
}

impl Half for Bf16 {
    const DTYPE: DType = DType::BF16;
    #[inline(always)]
    fn read(bits: u64) -> f32 {
        bf16_to_f32(bits)
    }
}

/// Rounds to 16 bits.
#[inline(always)]
fn round_half<T: Half>(value: f64, round: Round) -> u64 {
    if value.is_nan() {
        return NAN;
    }
    if round == Round::Nearest {
        return numeric::encode(T::DTYPE, value, Rounding::NearestEven);
    }
    let bits = numeric::encode(T::DTYPE, value, Rounding::TowardZero);
    let away = match round {
        Round::Down => value < 0.0,
        Round::Up => value > 0.0,
        Round::Nearest | Round::Zero => false,
    };
    // The next number away from zero follows in the encoding; the largest is followed by infinity.
    if away && f64::from(T::read(bits)) != value {
        bits + 1
    } else {
        bits
    }
}

/// Replaces a negative number of 16 bits by zero.
const fn clamp_half(bits: u64) -> u64 {
    if bits & 0x8000 != 0 { 0 } else { bits }
}

macro_rules! with_half {
    ($ty:expr, $T:ident => $e:expr) => {
        match ($ty.kind, $ty.bits) {
            (Kind::Float, 16) => {
                type $T = F16;
                $e
            }
            (Kind::Brain, 16) => {
                type $T = Bf16;
                $e
            }
            _ => None,
        }
    };
}

macro_rules! with_round {
    ($round:expr, $R:ident => $e:expr) => {
        match $round {
            Round::Nearest => {
                const $R: Round = Round::Nearest;
                $e
            }
            Round::Zero => {
                const $R: Round = Round::Zero;
                $e
            }
            Round::Down => {
                const $R: Round = Round::Down;
                $e
            }
            Round::Up => {
                const $R: Round = Round::Up;
                $e
            }
        }
    };
}

/// Conversions of one operand.
pub(crate) fn find_unary(how: Conversion) -> Option<Unary> {
    if how.integral.is_some() || how.flush || how.saturate {
        return None;
    }
    match (how.to.kind, how.from.kind) {
        (Kind::E4m3 | Kind::E5m2, _) => find_pair_narrowing(how),
        (_, Kind::E4m3 | Kind::E5m2) => find_pair_widening(how),
        (Kind::Tensor, _) => find_tensor(how),
        _ if how.finite || how.to.pair || how.from.pair => None,
        _ if is_int(how.from) && how.from.bits > 8 => {
            let round = how.round.filter(|_| !how.relu)?;
            with_half!(how.to, T => with_int!(how.from, S => with_round!(round, ROUND => {
                Some(|a, out| map_unary(a, out, |a| round_half::<T>(to_odd(S::from_bits(a).wide()), ROUND)))
            })))
        }
        _ => {
            // Between `f16` and `bf16`, the rounding is optional, and to nearest.
            let round = match how.round {
                None if how.from.bits == 16 && how.from.kind != how.to.kind => Round::Nearest,
                round => round?,
            };
            if how.relu {
                if how.from.bits != 32 {
                    return None;
                }
                return with_half!(how.to, T => with_source!(how.from, false, S => with_round!(round, ROUND => {
                    Some(|a, out| map_unary(a, out, |a| clamp_half(round_half::<T>(S::read(a), ROUND))))
                })));
            }
            with_half!(how.to, T => with_source!(how.from, false, S => with_round!(round, ROUND => {
                Some(|a, out| map_unary(a, out, |a| round_half::<T>(S::read(a), ROUND)))
            })))
        }
    }
}

/// Converts an integer, rounded to odd: a second rounding to fewer bits is then correct.
#[inline(always)]
fn to_odd(value: i128) -> f64 {
    let near: f64 = rounding::from_int(value, Direction::Zero);
    if near as i128 == value {
        near
    } else {
        f64::from_bits(near.to_bits() | 1)
    }
}

/// `cvt.rn.tf32.f32` and `cvt.rz.tf32.f32`.
fn find_tensor(how: Conversion) -> Option<Unary> {
    #[inline(always)]
    fn round_tensor(bits: u64, nearest: bool) -> u64 {
        let bits = bits as u32;
        if f32::from_bits(bits).is_nan() {
            return NAN32;
        }
        // A carry goes into the exponent, and so to infinity.
        let half = if nearest { 0xfff + (bits >> 13 & 1) } else { 0 };
        u64::from(bits.wrapping_add(half) & 0xffff_e000)
    }
    const fn clamp(bits: u64) -> u64 {
        if bits & 0x8000_0000 != 0 { 0 } else { bits }
    }
    if how.from.kind != Kind::Float || how.from.bits != 32 || how.finite {
        return None;
    }
    Some(match (how.round?, how.relu) {
        (Round::Nearest, false) => |a, out| map_unary(a, out, |a| round_tensor(a, true)),
        (Round::Nearest, true) => |a, out| map_unary(a, out, |a| clamp(round_tensor(a, true))),
        (Round::Zero, false) => |a, out| map_unary(a, out, |a| round_tensor(a, false)),
        (Round::Zero, true) => |a, out| map_unary(a, out, |a| clamp(round_tensor(a, false))),
        _ => return None,
    })
}

/// A float type of 8 bits.
trait Byte {
    const DTYPE: DType;
    /// The largest number.
    const MAX: f64;
}

struct E4m3;
struct E5m2;

impl Byte for E4m3 {
    const DTYPE: DType = DType::F8E4NV;
    const MAX: f64 = 448.0;
}

impl Byte for E5m2 {
    const DTYPE: DType = DType::F8E5;
    const MAX: f64 = 57344.0;
}

/// Rounds to 8 bits. Larger numbers, and infinity, become the largest one.
#[inline(always)]
fn round_byte<T: Byte>(value: f64, relu: bool) -> u64 {
    if value.is_nan() {
        return 0x7f;
    }
    if relu && value.is_sign_negative() {
        return 0;
    }
    numeric::encode(T::DTYPE, value.clamp(-T::MAX, T::MAX), Rounding::NearestEven)
}

macro_rules! with_byte {
    ($ty:expr, $T:ident => $e:expr) => {
        match $ty.kind {
            Kind::E4m3 => {
                type $T = E4m3;
                $e
            }
            _ => {
                type $T = E5m2;
                $e
            }
        }
    };
}

/// `cvt.rn.satfinite.e4m3x2.f16x2`: both halves of a pair.
fn find_pair_narrowing(how: Conversion) -> Option<Unary> {
    #[inline(always)]
    fn narrow<T: Byte>(pair: u64, relu: bool) -> u64 {
        let half = |bits: u64| round_byte::<T>(f16_to_f32(bits).into(), relu);
        half(pair & 0xffff) | half(pair >> 16 & 0xffff) << 8
    }
    let is_pair = how.to.pair && how.from.pair && (how.from.kind, how.from.bits) == (Kind::Float, 16);
    if !is_pair || !how.finite || how.round != Some(Round::Nearest) {
        return None;
    }
    Some(with_byte!(how.to, T => if how.relu {
        |a, out| map_unary(a, out, |a| narrow::<T>(a, true))
    } else {
        |a, out| map_unary(a, out, |a| narrow::<T>(a, false))
    }))
}

/// `cvt.rn.f16x2.e4m3x2`: every number of 8 bits is one of 16.
fn find_pair_widening(how: Conversion) -> Option<Unary> {
    #[inline(always)]
    fn widen<T: Byte>(pair: u64, relu: bool) -> u64 {
        let byte = |bits: u64| {
            let half = to_f16(numeric::decode(T::DTYPE, bits));
            if relu { clamp_half(half) } else { half }
        };
        byte(pair & 0xff) | byte(pair >> 8 & 0xff) << 16
    }
    let is_pair = how.to.pair && how.from.pair && (how.to.kind, how.to.bits) == (Kind::Float, 16);
    if !is_pair || how.finite || how.round != Some(Round::Nearest) {
        return None;
    }
    Some(with_byte!(how.from, T => if how.relu {
        |a, out| map_unary(a, out, |a| widen::<T>(a, true))
    } else {
        |a, out| map_unary(a, out, |a| widen::<T>(a, false))
    }))
}

/// Conversions of two `f32` to a pair; the first operand is the upper part.
pub(crate) fn find_binary(how: Conversion) -> Option<Binary> {
    let single = Type {
        kind: Kind::Float,
        bits: 32,
        pair: false,
    };
    if !how.to.pair || how.from != single || how.flush || how.saturate || how.integral.is_some() {
        return None;
    }
    macro_rules! join {
        ($width:literal, $narrow:expr) => {
            Some(|a, b, out| {
                map_binary(a, b, out, |a, b| {
                    let narrow: fn(f64) -> u64 = $narrow;
                    let read = |bits: u64| f64::from(f32_from_bits::<false>(bits));
                    narrow(read(a)) << $width | narrow(read(b))
                })
            })
        };
    }
    let round = how.round?;
    if matches!(how.to.kind, Kind::E4m3 | Kind::E5m2) {
        if !how.finite || round != Round::Nearest {
            return None;
        }
        return with_byte!(how.to, T => if how.relu {
            join!(8, |value| round_byte::<T>(value, true))
        } else {
            join!(8, |value| round_byte::<T>(value, false))
        });
    }
    if !how.relu || how.finite || !matches!(round, Round::Nearest | Round::Zero) {
        return None;
    }
    with_half!(how.to, T => with_round!(round, ROUND => join!(16, |value| clamp_half(round_half::<T>(value, ROUND)))))
}
