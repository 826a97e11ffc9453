//! `f32` and `f64`.
//!
//! An instruction whose operands are not NaN returns the `f32` NaN 0x7fffffff, or the `f64` NaN 0xfff8000000000000. An
//! `f64` instruction propagates the last NaN among its operands, made quiet (`snapshots/tile/h200-3.9.0.txt`).

use cerith_tile::numeric::library::rounding::{self, Direction};
use cerith_tile::numeric::single;

use crate::lanes::{Binary, Ternary, Test, Unary, map_binary, map_ternary, map_unary, test_lanes};

/// A rounding modifier; `.rn` if none is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    Nearest,
    Zero,
    Down,
    Up,
}

/// The modifiers of an instruction on `f32` or `f64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mode {
    pub(crate) bits: u32,
    pub(crate) round: Round,
    /// Whether subnormal numbers are flushed to zero.
    pub(crate) flush: bool,
    /// Whether the result is clamped to [0, 1].
    pub(crate) saturate: bool,
}

pub(crate) const NAN32: u64 = 0x7fff_ffff;
const NAN64: u64 = 0xfff8_0000_0000_0000;

/// Reads an operand.
#[inline(always)]
pub(crate) fn f32_from_bits<const FLUSH: bool>(bits: u64) -> f32 {
    let value = f32::from_bits(bits as u32);
    if FLUSH && value.abs() < f32::MIN_POSITIVE {
        0f32.copysign(value)
    } else {
        value
    }
}

/// Encodes a result.
#[inline(always)]
pub(crate) fn f32_to_bits<const FLUSH: bool>(value: f32) -> u64 {
    let bits = u64::from(value.to_bits());
    let bits = if FLUSH && value.abs() < f32::MIN_POSITIVE {
        bits & 0x8000_0000
    } else {
        bits
    };
    if value.is_nan() { NAN32 } else { bits }
}

/// Encodes a result clamped to [0, 1]; a NaN becomes 0.
#[inline(always)]
fn f32_to_saturated_bits<const FLUSH: bool>(value: f32) -> u64 {
    let value = if value > 0.0 { value } else { 0.0 };
    f32_to_bits::<FLUSH>(value.min(1.0))
}

/// 2^32: a multiple of it is no longer near the smallest normal number.
const AWAY: f32 = 4_294_967_296.0;

/// Whether a result that is the smallest normal number was rounded up to it, if rounded to 24 bits with an unbounded
/// exponent. `away` computes it with its exponent raised by [`AWAY`]. `.ftz` flushes such a result to zero (H100).
#[inline(always)]
fn flush_min_normal(value: f32, away: impl Fn() -> f32) -> f32 {
    if value.abs() == f32::MIN_POSITIVE && away().abs() < f32::MIN_POSITIVE * AWAY {
        0f32.copysign(value)
    } else {
        value
    }
}

/// `mul.ftz` of operands that are not subnormal.
#[inline(always)]
fn flushed_product(a: f32, b: f32, mul: impl Fn(f32, f32) -> f32) -> f32 {
    let (less, more) = if a.abs() < b.abs() { (a, b) } else { (b, a) };
    flush_min_normal(mul(a, b), || mul(less * AWAY, more))
}

/// `mul.ftz` with directed rounding.
#[inline(always)]
fn flushed_by(a: f32, b: f32, direction: Direction) -> f32 {
    flushed_product(a, b, |a, b| rounding::mul(a, b, direction))
}

/// `fma.ftz` of operands that are not subnormal. If the addend is large, a sum this small is exact.
#[inline(always)]
fn flushed_sum(a: f32, b: f32, c: f32, fma: impl Fn(f32, f32, f32) -> f32) -> f32 {
    let value = fma(a, b, c);
    if c.abs() > 1.0 {
        return value;
    }
    let (less, more) = if a.abs() < b.abs() { (a, b) } else { (b, a) };
    flush_min_normal(value, || fma(less * AWAY, more, c * AWAY))
}

/// Encodes a double result. `from` are the operands; the first NaN among them is propagated.
#[inline(always)]
fn f64_to_bits<const N: usize>(value: f64, from: [u64; N]) -> u64 {
    if !value.is_nan() {
        return value.to_bits();
    }
    from.into_iter()
        .find(|&bits| f64::from_bits(bits).is_nan())
        .map_or(NAN64, |bits| bits | 1 << 51)
}

macro_rules! single2 {
    ($mode:expr, $near:expr, $exact:path) => {{
        macro_rules! with {
            ($flush:literal, $out:path, $compute:expr) => {
                |a, b, out| {
                    map_binary(a, b, out, |a, b| {
                        let compute: fn(f32, f32) -> f32 = $compute;
                        $out(compute(
                            f32_from_bits::<$flush>(a),
                            f32_from_bits::<$flush>(b),
                        ))
                    })
                }
            };
        }
        let all: Binary = match ($mode.round, $mode.flush, $mode.saturate) {
            (Round::Nearest, false, false) => with!(false, f32_to_bits::<false>, $near),
            (Round::Nearest, true, false) => with!(true, f32_to_bits::<true>, $near),
            (Round::Nearest, false, true) => with!(false, f32_to_saturated_bits::<false>, $near),
            (Round::Nearest, true, true) => with!(true, f32_to_saturated_bits::<true>, $near),
            (Round::Zero, false, false) => {
                with!(false, f32_to_bits::<false>, |a, b| $exact(a, b, Direction::Zero))
            }
            (Round::Zero, true, false) => {
                with!(true, f32_to_bits::<true>, |a, b| $exact(a, b, Direction::Zero))
            }
            (Round::Down, false, false) => {
                with!(false, f32_to_bits::<false>, |a, b| $exact(a, b, Direction::Down))
            }
            (Round::Down, true, false) => {
                with!(true, f32_to_bits::<true>, |a, b| $exact(a, b, Direction::Down))
            }
            (Round::Up, false, false) => {
                with!(false, f32_to_bits::<false>, |a, b| $exact(a, b, Direction::Up))
            }
            (Round::Up, true, false) => with!(true, f32_to_bits::<true>, |a, b| $exact(a, b, Direction::Up)),
            _ => return None,
        };
        all
    }};
}

macro_rules! double2 {
    ($mode:expr, $near:expr, $exact:path) => {{
        macro_rules! with {
            ($compute:expr) => {
                |a, b, out| {
                    map_binary(a, b, out, |a, b| {
                        let compute: fn(f64, f64) -> f64 = $compute;
                        f64_to_bits(compute(f64::from_bits(a), f64::from_bits(b)), [b, a])
                    })
                }
            };
        }
        let all: Binary = match $mode.round {
            Round::Nearest => with!($near),
            Round::Zero => with!(|a, b| $exact(a, b, Direction::Zero)),
            Round::Down => with!(|a, b| $exact(a, b, Direction::Down)),
            Round::Up => with!(|a, b| $exact(a, b, Direction::Up)),
        };
        all
    }};
}

/// `add`, `sub`, `mul`, `div`.
pub(crate) fn find_binary(name: &str, mode: Mode) -> Option<Binary> {
    if mode.bits == 64 {
        if mode.flush || mode.saturate {
            return None;
        }
        return Some(match name {
            "add" => double2!(mode, |a, b| a + b, rounding::add),
            "sub" => double2!(mode, |a, b| a - b, rounding::sub),
            "mul" => double2!(mode, |a, b| a * b, rounding::mul),
            "div" => double2!(mode, |a, b| a / b, rounding::div),
            _ => return None,
        });
    }
    Some(match name {
        "add" => single2!(mode, |a, b| a + b, rounding::add),
        "sub" => single2!(mode, |a, b| a - b, rounding::sub),
        "mul" if mode.flush => {
            single2!(mode, |a, b| flushed_product(a, b, |a, b| a * b), flushed_by)
        }
        "mul" => single2!(mode, |a, b| a * b, rounding::mul),
        "div" => single2!(mode, |a, b| a / b, rounding::div),
        _ => return None,
    })
}

/// `div.approx`: returns zero for very large divisors.
pub(crate) fn quick_quotient(flush: bool) -> Binary {
    #[inline(always)]
    fn divide_approx(a: f32, b: f32) -> f32 {
        // 2^126
        if b.abs() > 8.507_059e37 && b.is_finite() {
            let zero = 0f32.copysign(a) * 1f32.copysign(b);
            return if a.is_infinite() { f32::NAN } else { zero + a * 0.0 };
        }
        a / b
    }
    if flush {
        |a, b, out| {
            map_binary(a, b, out, |a, b| {
                f32_to_bits::<true>(divide_approx(f32_from_bits::<true>(a), f32_from_bits::<true>(b)))
            });
        }
    } else {
        |a, b, out| {
            map_binary(a, b, out, |a, b| {
                f32_to_bits::<false>(divide_approx(
                    f32_from_bits::<false>(a),
                    f32_from_bits::<false>(b),
                ))
            });
        }
    }
}

/// `fma`, and `mad` of floats.
pub(crate) fn find_fma(mode: Mode) -> Option<Ternary> {
    macro_rules! single {
        ($flush:literal, $out:path, $compute:expr) => {
            |a, b, c, out| {
                map_ternary(a, b, c, out, |a, b, c| {
                    let compute: fn(f32, f32, f32) -> f32 = $compute;
                    let (a, b, c) = (
                        f32_from_bits::<$flush>(a),
                        f32_from_bits::<$flush>(b),
                        f32_from_bits::<$flush>(c),
                    );
                    $out(if $flush {
                        flushed_sum(a, b, c, compute)
                    } else {
                        compute(a, b, c)
                    })
                })
            }
        };
    }
    macro_rules! double {
        ($compute:expr) => {
            |a, b, c, out| {
                map_ternary(a, b, c, out, |a, b, c| {
                    let compute: fn(f64, f64, f64) -> f64 = $compute;
                    let value = compute(f64::from_bits(a), f64::from_bits(b), f64::from_bits(c));
                    f64_to_bits(value, [c, b, a])
                })
            }
        };
    }
    if mode.bits == 64 {
        if mode.flush || mode.saturate {
            return None;
        }
        return Some(match mode.round {
            Round::Nearest => double!(f64::mul_add),
            Round::Zero => double!(|a, b, c| rounding::fma(a, b, c, Direction::Zero)),
            Round::Down => double!(|a, b, c| rounding::fma(a, b, c, Direction::Down)),
            Round::Up => double!(|a, b, c| rounding::fma(a, b, c, Direction::Up)),
        });
    }
    Some(match (mode.round, mode.flush, mode.saturate) {
        (Round::Nearest, false, false) => single!(false, f32_to_bits::<false>, f32::mul_add),
        (Round::Nearest, true, false) => single!(true, f32_to_bits::<true>, f32::mul_add),
        (Round::Nearest, false, true) => single!(false, f32_to_saturated_bits::<false>, f32::mul_add),
        (Round::Nearest, true, true) => single!(true, f32_to_saturated_bits::<true>, f32::mul_add),
        (Round::Zero, false, false) => {
            single!(false, f32_to_bits::<false>, |a, b, c| rounding::fma(
                a,
                b,
                c,
                Direction::Zero
            ))
        }
        (Round::Zero, true, false) => {
            single!(true, f32_to_bits::<true>, |a, b, c| rounding::fma(
                a,
                b,
                c,
                Direction::Zero
            ))
        }
        (Round::Down, false, false) => {
            single!(false, f32_to_bits::<false>, |a, b, c| rounding::fma(
                a,
                b,
                c,
                Direction::Down
            ))
        }
        (Round::Down, true, false) => {
            single!(true, f32_to_bits::<true>, |a, b, c| rounding::fma(
                a,
                b,
                c,
                Direction::Down
            ))
        }
        (Round::Up, false, false) => {
            single!(false, f32_to_bits::<false>, |a, b, c| rounding::fma(
                a,
                b,
                c,
                Direction::Up
            ))
        }
        (Round::Up, true, false) => {
            single!(true, f32_to_bits::<true>, |a, b, c| rounding::fma(
                a,
                b,
                c,
                Direction::Up
            ))
        }
        _ => return None,
    })
}

macro_rules! single1 {
    ($flush:expr, $compute:expr) => {{
        macro_rules! with {
            ($constant:literal) => {
                |a, out| {
                    map_unary(a, out, |a| {
                        let compute: fn(f32) -> f32 = $compute;
                        f32_to_bits::<$constant>(compute(f32_from_bits::<$constant>(a)))
                    })
                }
            };
        }
        let all: Unary = if $flush { with!(true) } else { with!(false) };
        all
    }};
}

macro_rules! double1 {
    ($compute:expr) => {
        |a, out| {
            map_unary(a, out, |a| {
                let compute: fn(f64) -> f64 = $compute;
                f64_to_bits(compute(f64::from_bits(a)), [a])
            })
        }
    };
}

/// `rcp`, `sqrt`, rounded.
pub(crate) fn find_unary(name: &str, mode: Mode) -> Option<Unary> {
    if mode.saturate {
        return None;
    }
    if mode.bits == 64 {
        return Some(match (name, mode.round, mode.flush) {
            ("rcp", Round::Nearest, false) => double1!(f64::recip),
            ("rcp", Round::Zero, false) => double1!(|a| rounding::rcp(a, Direction::Zero)),
            ("rcp", Round::Down, false) => double1!(|a| rounding::rcp(a, Direction::Down)),
            ("rcp", Round::Up, false) => double1!(|a| rounding::rcp(a, Direction::Up)),
            ("sqrt", Round::Nearest, false) => double1!(f64::sqrt),
            ("sqrt", Round::Zero, false) => double1!(|a| rounding::sqrt(a, Direction::Zero)),
            ("sqrt", Round::Down, false) => double1!(|a| rounding::sqrt(a, Direction::Down)),
            ("sqrt", Round::Up, false) => double1!(|a| rounding::sqrt(a, Direction::Up)),
            _ => return None,
        });
    }
    let flush = mode.flush;
    Some(match (name, mode.round) {
        ("rcp", Round::Nearest) => single1!(flush, f32::recip),
        ("rcp", Round::Zero) => single1!(flush, |a| rounding::rcp(a, Direction::Zero)),
        ("rcp", Round::Down) => single1!(flush, |a| rounding::rcp(a, Direction::Down)),
        ("rcp", Round::Up) => single1!(flush, |a| rounding::rcp(a, Direction::Up)),
        ("sqrt", Round::Nearest) => single1!(flush, f32::sqrt),
        ("sqrt", Round::Zero) => single1!(flush, |a| rounding::sqrt(a, Direction::Zero)),
        ("sqrt", Round::Down) => single1!(flush, |a| rounding::sqrt(a, Direction::Down)),
        ("sqrt", Round::Up) => single1!(flush, |a| rounding::sqrt(a, Direction::Up)),
        _ => return None,
    })
}

/// Evaluates an `.approx` function of `f64`: only the upper halves of operand and result are used.
#[inline(always)]
fn take_upper_half(value: f64) -> f64 {
    let bits = value.to_bits() & 0xffff_ffff_0000_0000;
    let value = f64::from_bits(bits);
    if value.abs() < f64::MIN_POSITIVE {
        0f64.copysign(value)
    } else {
        value
    }
}

/// `rcp`, `sqrt`, `rsqrt`, `ex2`, `lg2`, `sin`, `cos`, `tanh` with `.approx`.
pub(crate) fn find_approximation(name: &str, bits: u32, flush: bool) -> Option<Unary> {
    if bits == 64 {
        return Some(match (name, flush) {
            ("rcp", true) => double1!(|a| take_upper_half(take_upper_half(a).recip())),
            ("rsqrt", true) => double1!(|a| take_upper_half(take_upper_half(a).sqrt().recip())),
            ("rsqrt", false) => double1!(|a| a.sqrt().recip()),
            _ => return None,
        });
    }
    Some(match name {
        "rcp" => single1!(flush, f32::recip),
        "sqrt" => single1!(flush, f32::sqrt),
        "rsqrt" => single1!(flush, |a| f64::from(a).sqrt().recip() as f32),
        "ex2" => single1!(flush, |a| single::exp2(f64::from(a)) as f32),
        "lg2" => single1!(flush, |a| single::log2(f64::from(a)) as f32),
        // The hardware reduces the argument to one period first, which fails for infinity.
        "sin" => single1!(flush, |a| libm::sin(f64::from(a)) as f32),
        "cos" => single1!(flush, |a| libm::cos(f64::from(a)) as f32),
        "tanh" => single1!(flush, |a| libm::tanh(f64::from(a)) as f32),
        _ => return None,
    })
}

/// `neg`, `abs`: change only the sign bit. `.ftz` flushes subnormal numbers, and neither makes an `f32` NaN canonical.
pub(crate) fn sign(name: &str, bits: u32, flush: bool) -> Option<Unary> {
    Some(match (name, bits, flush) {
        ("neg", 32, false) => |a, out| map_unary(a, out, |a| (a & 0xffff_ffff) ^ 0x8000_0000),
        ("abs", 32, false) => |a, out| map_unary(a, out, |a| a & 0x7fff_ffff),
        ("neg", 32, true) => |a, out| map_unary(a, out, |a| f32_to_bits::<true>(-f32_from_bits::<true>(a))),
        ("abs", 32, true) => {
            |a, out| map_unary(a, out, |a| f32_to_bits::<true>(f32_from_bits::<true>(a).abs()))
        }
        ("neg", 64, false) => |a, out| map_unary(a, out, |a| a ^ 1 << 63),
        // This instruction keeps a NaN's sign.
        ("abs", 64, false) => |a, out| {
            map_unary(a, out, |a| {
                if f64::from_bits(a).is_nan() {
                    a
                } else {
                    a & !(1 << 63)
                }
            });
        },
        _ => return None,
    })
}

/// `copysign`: the sign of the first operand, and the magnitude of the second.
pub(crate) fn copysign(bits: u32) -> Option<Binary> {
    Some(match bits {
        32 => |a, b, out| map_binary(a, b, out, |a, b| (a & 0x8000_0000) | (b & 0x7fff_ffff)),
        64 => |a, b, out| map_binary(a, b, out, |a, b| (a & 1 << 63) | (b & !(1 << 63))),
        _ => return None,
    })
}

/// The lesser of two numbers, -0 below +0; if one operand is a NaN, the other.
macro_rules! extreme {
    ($name:ident $ty:ident $op:tt $zero:tt) => {
        #[inline(always)]
        pub(crate) fn $name(a: $ty, b: $ty) -> $ty {
            if a == b {
                return $ty::from_bits(a.to_bits() $zero b.to_bits());
            }
            if a $op b || b.is_nan() { a } else { b }
        }
    };
}
extreme!(min32 f32 < |);
extreme!(max32 f32 > &);
extreme!(min64 f64 < |);
extreme!(max64 f64 > &);

/// `min`, `max`; with `nan`, a NaN if one operand is.
pub(crate) fn find_min_max(name: &str, bits: u32, flush: bool, nan: bool) -> Option<Binary> {
    macro_rules! with {
        ($flush:literal, $f:expr) => {
            |a, b, out| {
                map_binary(a, b, out, |a, b| {
                    let f: fn(f32, f32) -> f32 = $f;
                    f32_to_bits::<$flush>(f(f32_from_bits::<$flush>(a), f32_from_bits::<$flush>(b)))
                })
            }
        };
    }
    #[inline(always)]
    fn propagate_nan(a: f32, b: f32, f: fn(f32, f32) -> f32) -> f32 {
        if a.is_nan() || b.is_nan() {
            f32::NAN
        } else {
            f(a, b)
        }
    }
    Some(match (name, bits, flush, nan) {
        ("min", 32, false, false) => with!(false, min32),
        ("min", 32, true, false) => with!(true, min32),
        ("max", 32, false, false) => with!(false, max32),
        ("max", 32, true, false) => with!(true, max32),
        ("min", 32, false, true) => with!(false, |a, b| propagate_nan(a, b, min32)),
        ("min", 32, true, true) => with!(true, |a, b| propagate_nan(a, b, min32)),
        ("max", 32, false, true) => with!(false, |a, b| propagate_nan(a, b, max32)),
        ("max", 32, true, true) => with!(true, |a, b| propagate_nan(a, b, max32)),
        ("min", 64, false, false) => |a, b, out| {
            map_binary(a, b, out, |a, b| {
                f64_to_bits(min64(f64::from_bits(a), f64::from_bits(b)), [b, a])
            });
        },
        ("max", 64, false, false) => |a, b, out| {
            map_binary(a, b, out, |a, b| {
                f64_to_bits(max64(f64::from_bits(a), f64::from_bits(b)), [b, a])
            });
        },
        _ => return None,
    })
}

/// Comparisons, for `setp` and `set`. The ones that end in `u` hold if an operand is a NaN.
macro_rules! comparison {
    ($name:expr, $read:expr) => {
        match $name {
            "eq" => |a, b| test_lanes(a, b, |a, b| $read(a) == $read(b)),
            "ne" => |a, b| test_lanes(a, b, |a, b| $read(a) < $read(b) || $read(a) > $read(b)),
            "lt" => |a, b| test_lanes(a, b, |a, b| $read(a) < $read(b)),
            "le" => |a, b| test_lanes(a, b, |a, b| $read(a) <= $read(b)),
            "gt" => |a, b| test_lanes(a, b, |a, b| $read(a) > $read(b)),
            "ge" => |a, b| test_lanes(a, b, |a, b| $read(a) >= $read(b)),
            "equ" => |a, b| test_lanes(a, b, |a, b| !($read(a) < $read(b) || $read(a) > $read(b))),
            "neu" => |a, b| test_lanes(a, b, |a, b| $read(a) != $read(b)),
            "ltu" => |a, b| test_lanes(a, b, |a, b| !($read(a) >= $read(b))),
            "leu" => |a, b| test_lanes(a, b, |a, b| !($read(a) > $read(b))),
            "gtu" => |a, b| test_lanes(a, b, |a, b| !($read(a) <= $read(b))),
            "geu" => |a, b| test_lanes(a, b, |a, b| !($read(a) < $read(b))),
            "num" => |a, b| test_lanes(a, b, |a, b| !$read(a).is_nan() && !$read(b).is_nan()),
            "nan" => |a, b| test_lanes(a, b, |a, b| $read(a).is_nan() || $read(b).is_nan()),
            _ => return None,
        }
    };
}
pub(crate) use comparison;

/// Comparisons of `f32` and `f64`.
pub(crate) fn compare(name: &str, bits: u32, flush: bool) -> Option<Test> {
    let test: Test = match (bits, flush) {
        (32, false) => comparison!(name, f32_from_bits::<false>),
        (32, true) => comparison!(name, f32_from_bits::<true>),
        (64, false) => comparison!(name, f64::from_bits),
        _ => return None,
    };
    Some(test)
}

/// `testp`; ignores the second operand.
pub(crate) fn classify(name: &str, bits: u32) -> Option<Test> {
    macro_rules! of {
        ($read:expr) => {
            match name {
                "finite" => |a, b| test_lanes(a, b, |a, _| $read(a).is_finite()),
                "infinite" => |a, b| test_lanes(a, b, |a, _| $read(a).is_infinite()),
                "number" => |a, b| test_lanes(a, b, |a, _| !$read(a).is_nan()),
                "notanumber" => |a, b| test_lanes(a, b, |a, _| $read(a).is_nan()),
                "normal" => |a, b| test_lanes(a, b, |a, _| $read(a).is_normal()),
                "subnormal" => |a, b| test_lanes(a, b, |a, _| $read(a).is_subnormal()),
                _ => return None,
            }
        };
    }
    let test: Test = match bits {
        32 => of!(f32_from_bits::<false>),
        64 => of!(f64::from_bits),
        _ => return None,
    };
    Some(test)
}
