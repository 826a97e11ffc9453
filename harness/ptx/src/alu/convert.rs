//! `cvt`: conversions between types. A number outside the range of an integer type becomes the nearest limit. A NaN
//! becomes 0; if the operand or the result has 64 bits, it becomes the number with only the top bit set.

use cerith_tile::DType;
use cerith_tile::ir::Rounding;
use cerith_tile::numeric;
use cerith_tile::numeric::library::rounding::{self, Direction};

use super::float::{NAN32, Round, f32_from_bits, f32_to_bits};
use super::half::{bf16_to_f32, f16_to_f32, to_bf16, to_f16};
use super::{Int, is_int, narrow, with_int};
use crate::lanes::{Binary, Unary, map_binary, map_unary};
use crate::syntax::{Kind, Type};

/// The modifiers of a conversion.
#[derive(Clone, Copy, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "they are the instruction's modifiers"
)]
pub(crate) struct Conversion {
    pub(crate) to: Type,
    pub(crate) from: Type,
    /// `.rn`, `.rz`, …
    pub(crate) round: Option<Round>,
    /// `.rni`, `.rzi`, …
    pub(crate) integral: Option<Round>,
    pub(crate) flush: bool,
    pub(crate) saturate: bool,
    /// `.relu`: negative results become zero.
    pub(crate) relu: bool,
    /// `.satfinite`: results beyond the largest number become it.
    pub(crate) finite: bool,
}

/// A float type in a register's low bits.
pub(crate) trait Source {
    /// Whether a NaN becomes 0 in an integer of at most 32 bits.
    const NAN_IS_ZERO: bool;
    fn read(bits: u64) -> f64;
}

macro_rules! source {
    ($($name:ident $zero:literal $read:expr;)+) => { $(
        pub(crate) struct $name;
        impl Source for $name {
            const NAN_IS_ZERO: bool = $zero;
            #[inline(always)]
            fn read(bits: u64) -> f64 {
                $read(bits)
            }
        }
    )+ };
}

source! {
    Half true |bits| f64::from(f16_to_f32(bits));
    Brain true |bits| f64::from(bf16_to_f32(bits));
    Single true |bits| f64::from(f32_from_bits::<false>(bits));
    Flushed true |bits| f64::from(f32_from_bits::<true>(bits));
    Double false f64::from_bits;
}

macro_rules! with_source {
    ($ty:expr, $flush:expr, $S:ident => $e:expr) => {
        match ($ty.kind, $ty.bits, $flush) {
            (Kind::Float, 16, false) => {
                type $S = $crate::alu::convert::Half;
                $e
            }
            (Kind::Brain, 16, false) => {
                type $S = $crate::alu::convert::Brain;
                $e
            }
            (Kind::Float, 32, false) => {
                type $S = $crate::alu::convert::Single;
                $e
            }
            (Kind::Float, 32, true) => {
                type $S = $crate::alu::convert::Flushed;
                $e
            }
            (Kind::Float, 64, false) => {
                type $S = $crate::alu::convert::Double;
                $e
            }
            _ => None,
        }
    };
}

pub(crate) use with_source;

const fn is_float(ty: Type) -> bool {
    matches!(ty.kind, Kind::Float | Kind::Brain) && !ty.pair
}

/// Conversions of one operand.
pub(crate) fn find_unary(how: Conversion) -> Option<Unary> {
    if how.relu || how.finite {
        return narrow::find_unary(how);
    }
    let known = match (is_int(how.from), is_int(how.to)) {
        (true, true) if how.round.is_none() && how.integral.is_none() && !how.flush => {
            between_ints(how.from, how.to, how.saturate)
        }
        (true, false) if is_float(how.to) && how.integral.is_none() && !how.saturate => {
            from_int(how.from, how.to, how.round?)
        }
        (false, true) if is_float(how.from) && how.round.is_none() => to_int(how),
        (false, false) if is_float(how.to) && is_float(how.from) => between_floats(how),
        _ => None,
    };
    known.or_else(|| narrow::find_unary(how))
}

/// A register may be wider than the type: signed values are sign-extended.
fn between_ints(from: Type, to: Type, saturate: bool) -> Option<Unary> {
    if saturate {
        return with_int!(from, S => with_int!(to, T => Some(|a, out| map_unary(a, out, |a| {
            T::wrap(S::from_bits(a).wide().clamp(T::RANGE.0, T::RANGE.1)).extended()
        }))));
    }
    with_int!(from, S => with_int!(to, T => Some(|a, out| map_unary(a, out, |a| (S::from_bits(a) as T).extended()))))
}

fn from_int(from: Type, to: Type, round: Round) -> Option<Unary> {
    macro_rules! directed {
        ($direction:ident) => {
            match to.bits {
                32 => with_int!(from, S => Some(|a, out| map_unary(a, out, |a| {
                    rounding::from_int::<f32>(S::from_bits(a).wide(), Direction::$direction).to_bits().into()
                }))),
                64 => with_int!(from, S => Some(|a, out| map_unary(a, out, |a| {
                    rounding::from_int::<f64>(S::from_bits(a).wide(), Direction::$direction).to_bits()
                }))),
                _ => None,
            }
        };
    }
    match (to.kind, to.bits, round) {
        (Kind::Float, 32, Round::Nearest) => {
            with_int!(from, S => Some(|a, out| map_unary(a, out, |a| (S::from_bits(a) as f32).to_bits().into())))
        }
        (Kind::Float, 64, Round::Nearest) => {
            with_int!(from, S => Some(|a, out| map_unary(a, out, |a| (S::from_bits(a) as f64).to_bits())))
        }
        (Kind::Float, 16, Round::Nearest) => with_int!(from, S => Some(|a, out| map_unary(a, out, |a| {
            numeric::encode_int(DType::F16, S::from_bits(a).wide())
        }))),
        (Kind::Brain, 16, Round::Nearest) => with_int!(from, S => Some(|a, out| map_unary(a, out, |a| {
            numeric::encode_int(DType::BF16, S::from_bits(a).wide())
        }))),
        (Kind::Float, _, Round::Zero) => directed!(Zero),
        (Kind::Float, _, Round::Down) => directed!(Down),
        (Kind::Float, _, Round::Up) => directed!(Up),
        _ => None,
    }
}

#[inline(always)]
fn convert_to_int<S: Source, T: Int>(bits: u64, integral: impl Fn(f64) -> f64) -> u64 {
    let value = S::read(bits);
    if value.is_nan() {
        return if S::NAN_IS_ZERO && T::BITS < 64 {
            0
        } else {
            1 << (T::BITS - 1)
        };
    }
    // Saturation at 2^127 is enough: it is outside the range of every type.
    T::wrap((integral(value) as i128).clamp(T::RANGE.0, T::RANGE.1)).extended()
}

fn to_int(how: Conversion) -> Option<Unary> {
    macro_rules! by {
        ($integral:expr) => {
            with_source!(how.from, how.flush, S => with_int!(how.to, T => {
                Some(|a, out| map_unary(a, out, |a| convert_to_int::<S, T>(a, $integral)))
            }))
        };
    }
    match how.integral? {
        Round::Nearest => by!(f64::round_ties_even),
        Round::Zero => by!(f64::trunc),
        Round::Down => by!(f64::floor),
        Round::Up => by!(f64::ceil),
    }
}

/// `cvt.rna.tf32.f32`: ties go away from zero, unlike anywhere else.
pub(crate) const TENSOR_AWAY: Unary = |a, out| {
    map_unary(a, out, |a| {
        let value = f32::from_bits(a as u32);
        if value.is_nan() {
            return NAN32;
        }
        // Adds half a unit of the 10 remaining bits. A carry goes into the exponent, and so to infinity.
        u64::from((a as u32).wrapping_add(0x1000) & 0xffff_e000)
    });
};

fn between_floats(how: Conversion) -> Option<Unary> {
    if let Some(round) = how.integral {
        return find_integral(how, round);
    }
    if how.saturate {
        // Triton clamps with a conversion to the same type.
        return match (how.from.bits, how.to.bits, how.flush) {
            (32, 32, false) => Some(|a, out| map_unary(a, out, |a| clamp_to_unit(f32_from_bits::<false>(a)))),
            (32, 32, true) => Some(|a, out| map_unary(a, out, |a| clamp_to_unit(f32_from_bits::<true>(a)))),
            _ => None,
        };
    }
    if how.to == how.from {
        return match (how.to.bits, how.flush) {
            (32, true) => Some(|a, out| map_unary(a, out, |a| f32_to_bits::<true>(f32_from_bits::<true>(a)))),
            (_, false) => Some(|a, out| map_unary(a, out, |a| a)),
            _ => None,
        };
    }
    match (how.to.kind, how.to.bits, how.round) {
        (Kind::Float, 64, None) => {
            with_source!(how.from, how.flush, S => Some(|a, out| map_unary(a, out, |a| widen(S::read(a)))))
        }
        (Kind::Float, 32, None) if how.from.kind == Kind::Brain && !how.flush => {
            Some(|a, out| map_unary(a, out, |a| a << 16 & 0xffff_0000))
        }
        (Kind::Float, 32, None) if how.from.bits == 16 => {
            with_source!(how.from, false, S => Some(|a, out| map_unary(a, out, |a| f32_to_bits::<false>(S::read(a) as f32))))
        }
        (Kind::Float, 32, Some(round)) if how.from.bits == 64 => Some(narrowed_single(round, how.flush)),
        (Kind::Float, 16, Some(Round::Nearest)) if how.from.bits == 64 && !how.flush => Some(|a, out| {
            map_unary(a, out, |a| {
                let value = f64::from_bits(a);
                if value.is_nan() {
                    narrowed_nan(a, 16, 10)
                } else {
                    to_f16(value)
                }
            });
        }),
        (Kind::Float, 16, Some(Round::Nearest)) => {
            with_source!(how.from, how.flush, S => Some(|a, out| map_unary(a, out, |a| to_f16(S::read(a)))))
        }
        (Kind::Float, 16, Some(Round::Zero)) => {
            with_source!(how.from, how.flush, S => Some(|a, out| map_unary(a, out, |a| to_f16_down(S::read(a)))))
        }
        (Kind::Brain, 16, Some(round)) if how.from.bits == 64 && !how.flush => match round {
            Round::Nearest => Some(|a, out| {
                map_unary(a, out, |a| {
                    let value = f64::from_bits(a);
                    if value.is_nan() {
                        narrowed_nan(a, 16, 7)
                    } else {
                        to_bf16(value)
                    }
                });
            }),
            Round::Zero => Some(|a, out| {
                map_unary(a, out, |a| {
                    let value = f64::from_bits(a);
                    if value.is_nan() {
                        narrowed_nan(a, 16, 7)
                    } else {
                        to_bf16_down(value)
                    }
                });
            }),
            _ => None,
        },
        (Kind::Brain, 16, Some(Round::Nearest)) => {
            with_source!(how.from, how.flush, S => Some(|a, out| map_unary(a, out, |a| to_bf16(S::read(a)))))
        }
        (Kind::Brain, 16, Some(Round::Zero)) => {
            with_source!(how.from, how.flush, S => Some(|a, out| map_unary(a, out, |a| to_bf16_down(S::read(a)))))
        }
        _ => None,
    }
}

/// A NaN keeps the part of its payload that fits.
#[inline(always)]
fn widen(value: f64) -> u64 {
    value.to_bits()
}

#[inline(always)]
fn clamp_to_unit(value: f32) -> u64 {
    let value = if value > 0.0 { value.min(1.0) } else { 0.0 };
    value.to_bits().into()
}

#[inline(always)]
fn to_f16_down(value: f64) -> u64 {
    if value.is_nan() {
        return 0x7fff;
    }
    numeric::encode(DType::F16, value, Rounding::TowardZero)
}

#[inline(always)]
fn to_bf16_down(value: f64) -> u64 {
    if value.is_nan() {
        return 0x7fff;
    }
    numeric::encode(DType::BF16, value, Rounding::TowardZero)
}

/// Narrows an `f64` NaN to a type of `width` bits with a significand of `digits` bits: keeps the part of its payload
/// that fits, made quiet. (An `f32` NaN becomes the NaN with all bits set.)
#[inline(always)]
fn narrowed_nan(bits: u64, width: u32, digits: u32) -> u64 {
    let sign = bits >> 63 << (width - 1);
    let exponent = ((1u64 << (width - 1 - digits)) - 1) << digits;
    let payload = bits >> (52 - digits) & ((1 << digits) - 1);
    sign | exponent | payload | 1 << (digits - 1)
}

fn narrowed_single(round: Round, flush: bool) -> Unary {
    macro_rules! with {
        ($flush:literal, $narrow:expr) => {
            |a, out| {
                map_unary(a, out, |a| {
                    let narrow: fn(f64) -> f32 = $narrow;
                    let value = f64::from_bits(a);
                    if value.is_nan() {
                        return narrowed_nan(a, 32, 23);
                    }
                    f32_to_bits::<$flush>(narrow(value))
                })
            }
        };
    }
    match (round, flush) {
        (Round::Nearest, false) => with!(false, |a| a as f32),
        (Round::Nearest, true) => with!(true, |a| a as f32),
        (Round::Zero, false) => with!(false, |a| rounding::narrow(a, Direction::Zero)),
        (Round::Zero, true) => with!(true, |a| rounding::narrow(a, Direction::Zero)),
        (Round::Down, false) => with!(false, |a| rounding::narrow(a, Direction::Down)),
        (Round::Down, true) => with!(true, |a| rounding::narrow(a, Direction::Down)),
        (Round::Up, false) => with!(false, |a| rounding::narrow(a, Direction::Up)),
        (Round::Up, true) => with!(true, |a| rounding::narrow(a, Direction::Up)),
    }
}

/// `cvt.rzi.f32.f32`: to an integral number of the same type.
fn find_integral(how: Conversion, round: Round) -> Option<Unary> {
    if how.to != how.from || how.saturate {
        return None;
    }
    macro_rules! by {
        ($integral:ident) => {
            match (how.to.kind, how.to.bits, how.flush) {
                (Kind::Float, 32, false) => Some(|a, out| {
                    map_unary(a, out, |a| {
                        f32_to_bits::<false>(f32_from_bits::<false>(a).$integral())
                    })
                }),
                (Kind::Float, 32, true) => Some(|a, out| {
                    map_unary(a, out, |a| {
                        f32_to_bits::<true>(f32_from_bits::<true>(a).$integral())
                    })
                }),
                (Kind::Float, 64, false) => {
                    Some(|a, out| map_unary(a, out, |a| f64::from_bits(a).$integral().to_bits()))
                }
                (Kind::Float, 16, false) => {
                    Some(|a, out| map_unary(a, out, |a| to_f16(f64::from(f16_to_f32(a).$integral()))))
                }
                (Kind::Brain, 16, false) => {
                    Some(|a, out| map_unary(a, out, |a| to_bf16(f64::from(bf16_to_f32(a).$integral()))))
                }
                _ => None,
            }
        };
    }
    match round {
        Round::Nearest => by!(round_ties_even),
        Round::Zero => by!(trunc),
        Round::Down => by!(floor),
        Round::Up => by!(ceil),
    }
}

/// Conversions of two `f32` to a pair; the first operand is the upper half.
pub(crate) fn find_pair_conversion(how: Conversion) -> Option<Binary> {
    if how.relu || how.finite {
        return narrow::find_binary(how);
    }
    if !how.to.pair || how.from.kind != Kind::Float || how.from.bits != 32 || how.flush || how.saturate {
        return None;
    }
    macro_rules! with {
        ($narrow:path) => {
            Some(|a, b, out| {
                map_binary(a, b, out, |a, b| {
                    let of = |bits: u64| $narrow(f64::from(f32_from_bits::<false>(bits)));
                    of(a) << 16 | of(b)
                })
            })
        };
    }
    match (how.to.kind, how.round?) {
        (Kind::Float, Round::Nearest) => with!(to_f16),
        (Kind::Float, Round::Zero) => with!(to_f16_down),
        (Kind::Brain, Round::Nearest) => with!(to_bf16),
        (Kind::Brain, Round::Zero) => with!(to_bf16_down),
        _ => None,
    }
}
