//! `f16` and `bf16`, alone and in pairs: computed exactly with more bits, then rounded to nearest even once. A NaN
//! result is 0x7fff.

use cerith_tile::DType;
use cerith_tile::ir::Rounding;
use cerith_tile::numeric;

use super::float::{comparison, max32, min32};
use crate::lanes::{Binary, Ternary, Test, Unary, map_binary, map_ternary, map_unary, test_lanes};

pub(crate) const NAN: u64 = 0x7fff;

#[inline(always)]
pub(crate) fn f16_to_f32(bits: u64) -> f32 {
    // Read as an f32, the magnitude is too small by 2^112, for subnormal numbers too.
    let sign = (bits as u32 & 0x8000) << 16;
    let magnitude = (bits as u32 & 0x7fff) << 13;
    let scaled = f32::from_bits(magnitude) * f32::from_bits(0x7780_0000);
    let special = f32::from_bits(magnitude | 0x7f80_0000);
    let value = if magnitude >= 0x0f80_0000 { special } else { scaled };
    f32::from_bits(value.to_bits() | sign)
}

#[inline(always)]
pub(crate) fn bf16_to_f32(bits: u64) -> f32 {
    f32::from_bits((bits as u32) << 16)
}

#[inline(always)]
pub(crate) fn to_f16(value: f64) -> u64 {
    if value.is_nan() {
        return NAN;
    }
    numeric::encode(DType::F16, value, Rounding::NearestEven)
}

#[inline(always)]
pub(crate) fn to_bf16(value: f64) -> u64 {
    if value.is_nan() {
        return NAN;
    }
    numeric::encode(DType::BF16, value, Rounding::NearestEven)
}

/// `a * b + c`, rounded to odd: a second rounding then gives the correctly rounded result.
#[inline(always)]
fn fma_to_odd(a: f32, b: f32, c: f32) -> f64 {
    // 11 or 8 bits each: the product is exact.
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    if !sum.is_finite() {
        return sum;
    }
    let part = sum - product;
    let lost = (product - (sum - part)) + (c - part);
    if lost == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    let away = (lost > 0.0) == (sum > 0.0);
    f64::from_bits(if away {
        sum.to_bits() | 1
    } else {
        sum.to_bits() - 1
    })
}

/// Applies a function to both halves of a register.
#[inline(always)]
fn map_halves(a: u64, b: u64, c: u64, f: impl Fn(u64, u64, u64) -> u64) -> u64 {
    let low = f(a & 0xffff, b & 0xffff, c & 0xffff) & 0xffff;
    let high = f(a >> 16 & 0xffff, b >> 16 & 0xffff, c >> 16 & 0xffff) & 0xffff;
    low | high << 16
}

/// A function of a format, alone or in pairs.
macro_rules! formats {
    ($pair:expr, $brain:expr, |$read:ident, $write:ident, $a:ident, $b:ident| $e:expr) => {{
        let all: Binary = match ($pair, $brain) {
            (false, false) => |a, b, out| {
                map_binary(a, b, out, |$a, $b| {
                    let ($read, $write) = (f16_to_f32, to_f16);
                    let _ = $write;
                    $e
                })
            },
            (false, true) => |a, b, out| {
                map_binary(a, b, out, |$a, $b| {
                    let ($read, $write) = (bf16_to_f32, to_bf16);
                    let _ = $write;
                    $e
                })
            },
            (true, false) => |a, b, out| {
                map_binary(a, b, out, |a, b| {
                    map_halves(a, b, 0, |$a, $b, _| {
                        let ($read, $write) = (f16_to_f32, to_f16);
                        let _ = $write;
                        $e
                    })
                })
            },
            (true, true) => |a, b, out| {
                map_binary(a, b, out, |a, b| {
                    map_halves(a, b, 0, |$a, $b, _| {
                        let ($read, $write) = (bf16_to_f32, to_bf16);
                        let _ = $write;
                        $e
                    })
                })
            },
        };
        all
    }};
}

/// `add`, `sub`, `mul`, `min`, `max`.
pub(crate) fn find_binary(name: &str, brain: bool, pair: bool, nan: bool) -> Option<Binary> {
    Some(match (name, nan) {
        ("add", false) => {
            formats!(pair, brain, |read, write, a, b| write(fma_to_odd(
                read(a),
                1.0,
                read(b)
            )))
        }
        ("sub", false) => {
            formats!(pair, brain, |read, write, a, b| write(fma_to_odd(
                read(b),
                -1.0,
                read(a)
            )))
        }
        ("mul", false) => {
            formats!(pair, brain, |read, write, a, b| write(
                f64::from(read(a)) * f64::from(read(b))
            ))
        }
        ("min", false) => {
            formats!(pair, brain, |read, write, a, b| write(f64::from(min32(
                read(a),
                read(b)
            ))))
        }
        ("max", false) => {
            formats!(pair, brain, |read, write, a, b| write(f64::from(max32(
                read(a),
                read(b)
            ))))
        }
        ("min", true) => formats!(pair, brain, |read, write, a, b| {
            if read(a).is_nan() || read(b).is_nan() {
                NAN
            } else {
                write(f64::from(min32(read(a), read(b))))
            }
        }),
        ("max", true) => formats!(pair, brain, |read, write, a, b| {
            if read(a).is_nan() || read(b).is_nan() {
                NAN
            } else {
                write(f64::from(max32(read(a), read(b))))
            }
        }),
        _ => return None,
    })
}

/// `fma.relu`: a negative result becomes zero.
pub(crate) fn multiply_add_clamped(brain: bool, pair: bool) -> Ternary {
    macro_rules! of {
        ($read:ident, $write:ident) => {
            |a, b, c, out| {
                map_ternary(a, b, c, out, |a, b, c| {
                    map_halves(a, b, c, |a, b, c| {
                        let bits = $write(fma_to_odd($read(a), $read(b), $read(c)));
                        if bits & 0x8000 != 0 { 0 } else { bits }
                    })
                })
            }
        };
    }
    macro_rules! low {
        ($read:ident, $write:ident) => {
            |a, b, c, out| {
                map_ternary(a, b, c, out, |a, b, c| {
                    let bits = $write(fma_to_odd($read(a), $read(b), $read(c)));
                    if bits & 0x8000 != 0 { 0 } else { bits }
                })
            }
        };
    }
    match (pair, brain) {
        (false, false) => low!(f16_to_f32, to_f16),
        (false, true) => low!(bf16_to_f32, to_bf16),
        (true, false) => of!(f16_to_f32, to_f16),
        (true, true) => of!(bf16_to_f32, to_bf16),
    }
}

/// `fma`.
pub(crate) fn multiply_add(brain: bool, pair: bool) -> Ternary {
    match (pair, brain) {
        (false, false) => |a, b, c, out| {
            map_ternary(a, b, c, out, |a, b, c| {
                to_f16(fma_to_odd(f16_to_f32(a), f16_to_f32(b), f16_to_f32(c)))
            });
        },
        (false, true) => |a, b, c, out| {
            map_ternary(a, b, c, out, |a, b, c| {
                to_bf16(fma_to_odd(bf16_to_f32(a), bf16_to_f32(b), bf16_to_f32(c)))
            });
        },
        (true, false) => |a, b, c, out| {
            map_ternary(a, b, c, out, |a, b, c| {
                map_halves(a, b, c, |a, b, c| {
                    to_f16(fma_to_odd(f16_to_f32(a), f16_to_f32(b), f16_to_f32(c)))
                })
            });
        },
        (true, true) => |a, b, c, out| {
            map_ternary(a, b, c, out, |a, b, c| {
                map_halves(a, b, c, |a, b, c| {
                    to_bf16(fma_to_odd(bf16_to_f32(a), bf16_to_f32(b), bf16_to_f32(c)))
                })
            });
        },
    }
}

/// `neg`, `abs`: change only the sign.
pub(crate) fn sign(name: &str, pair: bool) -> Option<Unary> {
    Some(match (name, pair) {
        ("neg", false) => |a, out| map_unary(a, out, |a| (a & 0xffff) ^ 0x8000),
        ("abs", false) => |a, out| map_unary(a, out, |a| a & 0x7fff),
        ("neg", true) => |a, out| map_unary(a, out, |a| (a & 0xffff_ffff) ^ 0x8000_8000),
        ("abs", true) => |a, out| map_unary(a, out, |a| a & 0x7fff_7fff),
        _ => return None,
    })
}

/// Comparisons of one number; `upper` compares the upper halves.
pub(crate) fn compare(name: &str, brain: bool, upper: bool) -> Option<Test> {
    #[inline(always)]
    fn read_high_f16(bits: u64) -> f32 {
        f16_to_f32(bits >> 16)
    }
    #[inline(always)]
    fn high_brain(bits: u64) -> f32 {
        bf16_to_f32(bits >> 16)
    }
    let test: Test = match (brain, upper) {
        (false, false) => comparison!(name, f16_to_f32),
        (true, false) => comparison!(name, bf16_to_f32),
        (false, true) => comparison!(name, read_high_f16),
        (true, true) => comparison!(name, high_brain),
    };
    Some(test)
}

/// `ex2.approx`, `tanh.approx`.
pub(crate) fn find_approximation(name: &str, brain: bool, pair: bool, flush: bool) -> Option<Unary> {
    /// Two to the power of a number, with subnormal results of `bf16` flushed.
    fn exp2_flushed(value: f64) -> f64 {
        let power = libm::exp2(value);
        if power < f64::from(f32::MIN_POSITIVE) {
            0.0
        } else {
            power
        }
    }
    macro_rules! both {
        ($read:ident, $write:ident, $f:path) => {
            |a, out| {
                map_unary(a, out, |a| {
                    map_halves(a, 0, 0, |a, _, _| $write($f(f64::from($read(a)))))
                })
            }
        };
    }
    if flush {
        return Some(match (name, brain, pair) {
            ("ex2", true, false) => {
                |a, out| map_unary(a, out, |a| to_bf16(exp2_flushed(f64::from(bf16_to_f32(a)))))
            }
            ("ex2", true, true) => both!(bf16_to_f32, to_bf16, exp2_flushed),
            _ => return None,
        });
    }
    if pair {
        return Some(match (name, brain) {
            ("ex2", false) => both!(f16_to_f32, to_f16, libm::exp2),
            ("ex2", true) => both!(bf16_to_f32, to_bf16, libm::exp2),
            ("tanh", false) => both!(f16_to_f32, to_f16, libm::tanh),
            ("tanh", true) => both!(bf16_to_f32, to_bf16, libm::tanh),
            _ => return None,
        });
    }
    Some(match (name, brain) {
        ("ex2", false) => |a, out| map_unary(a, out, |a| to_f16(libm::exp2(f64::from(f16_to_f32(a))))),
        ("ex2", true) => |a, out| map_unary(a, out, |a| to_bf16(libm::exp2(f64::from(bf16_to_f32(a))))),
        ("tanh", false) => |a, out| map_unary(a, out, |a| to_f16(libm::tanh(f64::from(f16_to_f32(a))))),
        ("tanh", true) => |a, out| map_unary(a, out, |a| to_bf16(libm::tanh(f64::from(bf16_to_f32(a))))),
        _ => return None,
    })
}
