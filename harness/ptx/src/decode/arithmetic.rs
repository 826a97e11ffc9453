//! Instructions that compute registers from registers.

use super::{Words, is_predicate, vector_elements};
use crate::alu::convert::Conversion;
use crate::alu::float::{Mode, Round};
use crate::alu::integer::{Carry, Half};
use crate::alu::{bits, convert, float, half, integer, is_int};
use crate::lanes::{Binary, Ternary, Test, Unary};
use crate::link::Linker;
use crate::op::{Flag, Logic, Op};
use crate::syntax::{Kind, Operand, Type};

pub(super) fn decode(
    linker: &mut Linker<'_>,
    name: &str,
    words: &mut Words<'_>,
    operands: &[Operand],
) -> Option<Op> {
    match name {
        "mov" => decode_mov(linker, words, operands),
        "cvt" => decode_cvt(linker, words, operands),
        "setp" => decode_setp(linker, words, operands),
        "set" => decode_set(linker, words, operands),
        "selp" => decode_selp(linker, words, operands),
        "testp" => decode_testp(linker, words, operands),
        "and" | "or" | "xor" | "not" if operands.first().is_some_and(is_predicate) => {
            decode_flags(linker, name, words, operands)
        }
        "addc" | "subc" | "madc" => decode_carry(linker, name, words, operands),
        "add" | "sub" | "mad" if words.left.contains(&"cc") => decode_carry(linker, name, words, operands),
        "slct" => None,
        _ => match operands.len() {
            2 => {
                let (f, ty) = decode_unary(name, words)?;
                let (to, a) = (
                    linker.target_slot(operands.first()?)?,
                    linker.source_slot(operands.get(1)?, ty)?,
                );
                Some(Op::Unary { f, to, a })
            }
            3 => {
                let (f, ty) = decode_binary(name, words)?;
                let to = linker.target_slot(operands.first()?)?;
                let (a, b) = (
                    linker.source_slot(operands.get(1)?, ty)?,
                    linker.source_slot(operands.get(2)?, ty)?,
                );
                Some(Op::Binary { f, to, a, b })
            }
            4 => {
                let (f, ty) = decode_ternary(name, words)?;
                let to = linker.target_slot(operands.first()?)?;
                let a = linker.source_slot(operands.get(1)?, ty)?;
                let (b, c) = (
                    linker.source_slot(operands.get(2)?, ty)?,
                    linker.source_slot(operands.get(3)?, ty)?,
                );
                Some(Op::Ternary { f, to, a, b, c })
            }
            5 => {
                let ty = words.ty()?;
                let f = match name {
                    "lop3" if ty.bits == 32 => bits::LOOKUP,
                    "bfi" => bits::insert(ty)?,
                    _ => return None,
                };
                let to = linker.target_slot(operands.first()?)?;
                let mut from = [0; 4];
                for (slot, operand) in from.iter_mut().zip(operands.get(1..)?) {
                    *slot = linker.source_slot(operand, ty)?;
                }
                Some(Op::Quaternary { f, to, from })
            }
            _ => None,
        },
    }
}

/// Decodes the modifiers of a float instruction; `.rn` is the default.
fn decode_mode(words: &mut Words<'_>, ty: Type) -> Mode {
    Mode {
        bits: ty.bits,
        round: words.round().unwrap_or(Round::Nearest),
        flush: words.take("ftz"),
        saturate: words.take("sat"),
    }
}

fn decode_unary(name: &str, words: &mut Words<'_>) -> Option<(Unary, Type)> {
    let ty = words.ty()?;
    let f = match name {
        "not" | "cnot" | "popc" | "clz" | "brev" if is_int(ty) => bits::find_unary(name, ty),
        "bfind" => {
            let shift = words.take("shiftamt");
            bits::find(ty, shift)
        }
        "neg" | "abs" if is_int(ty) => integer::find_unary(name, ty),
        "neg" | "abs" if ty.bits == 16 => half::sign(name, ty.pair),
        "neg" | "abs" => {
            let flush = words.take("ftz");
            float::sign(name, ty.bits, flush)
        }
        "rcp" | "sqrt" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh"
            if ty.kind == Kind::Float && ty.bits > 16 =>
        {
            if words.take("approx") {
                let flush = words.take("ftz");
                float::find_approximation(name, ty.bits, flush)
            } else {
                let mode = decode_mode(words, ty);
                float::find_unary(name, mode)
            }
        }
        "ex2" | "tanh" if ty.bits == 16 && words.take("approx") => {
            let flush = words.take("ftz");
            half::find_approximation(name, ty.kind == Kind::Brain, ty.pair, flush)
        }
        _ => None,
    };
    Some((f?, ty))
}

fn decode_binary(name: &str, words: &mut Words<'_>) -> Option<(Binary, Type)> {
    if words.left.contains(&"u16x2") || words.left.contains(&"s16x2") {
        let (ty, relu) = (words.any_ty()?, words.take("relu"));
        return Some((integer::find_pair(name, ty, relu)?, ty));
    }
    let ty = words.ty()?;
    let brain = ty.kind == Kind::Brain;
    let f = match name {
        "and" | "or" | "xor" | "shl" | "shr" => bits::find_binary(name, ty),
        "mul" if is_int(ty) => {
            let half = decode_half(words)?;
            integer::multiply(ty, half)
        }
        "mul24" if is_int(ty) => {
            let half = decode_half(words)?;
            integer::find_mul24(ty, half)
        }
        "min" | "max" if is_int(ty) && words.take("relu") => integer::find_pair(name, ty, true),
        "add" | "sub" | "div" | "rem" | "min" | "max" if is_int(ty) => {
            let sat = words.take("sat");
            integer::find_binary(name, ty, sat)
        }
        "min" | "max" => {
            let nan = words.take("NaN");
            if ty.bits == 16 {
                half::find_binary(name, brain, ty.pair, nan)
            } else {
                let flush = words.take("ftz");
                float::find_min_max(name, ty.bits, flush, nan)
            }
        }
        "add" | "sub" | "mul" if ty.bits == 16 => {
            words.take("rn");
            half::find_binary(name, brain, ty.pair, false)
        }
        "div" if words.take("approx") && ty.bits == 32 => {
            let flush = words.take("ftz");
            Some(float::quick_quotient(flush))
        }
        "add" | "sub" | "mul" | "div" if ty.kind == Kind::Float => {
            if name == "div" {
                words.take("full");
            }
            let mode = decode_mode(words, ty);
            float::find_binary(name, mode)
        }
        "copysign" if ty.kind == Kind::Float => float::copysign(ty.bits),
        _ => None,
    };
    Some((f?, ty))
}

fn decode_half(words: &mut Words<'_>) -> Option<Half> {
    words.take_one(&[("lo", Half::Low), ("hi", Half::High), ("wide", Half::Wide)])
}

fn decode_ternary(name: &str, words: &mut Words<'_>) -> Option<(Ternary, Type)> {
    let ty = words.ty()?;
    let f = match name {
        "mad" if is_int(ty) => {
            let half = decode_half(words)?;
            integer::multiply_add(ty, half)
        }
        "fma" | "mad" if ty.kind == Kind::Float && ty.bits > 16 => {
            let mode = decode_mode(words, ty);
            float::find_fma(mode)
        }
        "fma" if ty.bits == 16 => {
            if !words.take("rn") {
                return None;
            }
            let brain = ty.kind == Kind::Brain;
            Some(if words.take("relu") {
                half::multiply_add_clamped(brain, ty.pair)
            } else {
                half::multiply_add(brain, ty.pair)
            })
        }
        "sad" if is_int(ty) => integer::add_distance(ty),
        "bfe" if is_int(ty) => bits::extract(ty),
        "prmt" if ty.bits == 32 => {
            let mode = words.take_one(&[
                ("f4e", "f4e"),
                ("b4e", "b4e"),
                ("rc8", "rc8"),
                ("ecl", "ecl"),
                ("ecr", "ecr"),
                ("rc16", "rc16"),
            ]);
            bits::permute(mode)
        }
        "shf" if ty.bits == 32 => {
            let left = words.take_one(&[("l", true), ("r", false)])?;
            let wrap = words.take_one(&[("wrap", true), ("clamp", false)])?;
            Some(bits::funnel_shift(left, wrap))
        }
        _ => None,
    };
    Some((f?, ty))
}

fn decode_mov(linker: &mut Linker<'_>, words: &mut Words<'_>, operands: &[Operand]) -> Option<Op> {
    let [to, from] = operands else { return None };
    let ty = words.ty()?;
    if ty.kind == Kind::Predicate {
        let (to, a) = (linker.flag_target(to)?, linker.find_flag(from)?);
        return Some(Op::Flags {
            logic: Logic::And,
            to,
            a,
            b: Flag::TRUE,
        });
    }
    match (vector_elements(to), vector_elements(from)) {
        ([to], [from]) => {
            let (to, a) = (linker.target_slot(to)?, linker.source_slot(from, ty)?);
            Some(Op::Move { to, a })
        }
        ([to], parts @ ([_, _] | [_, _, _, _])) => {
            let to = linker.target_slot(to)?;
            let mut slots = [0; 4];
            for (slot, part) in slots.iter_mut().zip(parts) {
                *slot = linker.source_slot(part, ty)?;
            }
            let count = parts.len() as u8;
            Some(Op::Pack {
                to,
                parts: slots,
                count,
                width: ty.bits as u8 / count,
            })
        }
        (parts @ ([_, _] | [_, _, _, _]), [from]) => {
            let a = linker.source_slot(from, ty)?;
            let mut slots = [0; 4];
            for (slot, part) in slots.iter_mut().zip(parts) {
                *slot = linker.target_slot(part)?;
            }
            let count = parts.len() as u8;
            Some(Op::Unpack {
                parts: slots,
                count,
                width: ty.bits as u8 / count,
                a,
            })
        }
        _ => None,
    }
}

fn decode_cvt(linker: &mut Linker<'_>, words: &mut Words<'_>, operands: &[Operand]) -> Option<Op> {
    let rna = words.take("rna");
    let round = words.round();
    let integral = words.take_one(&[
        ("rni", Round::Nearest),
        ("rzi", Round::Zero),
        ("rmi", Round::Down),
        ("rpi", Round::Up),
    ]);
    let (flush, saturate) = (words.take("ftz"), words.take("sat"));
    let (relu, finite) = (words.take("relu"), words.take("satfinite"));
    let (to_type, from_type) = (words.any_ty()?, words.any_ty()?);
    let how = Conversion {
        to: to_type,
        from: from_type,
        round,
        integral,
        flush,
        saturate,
        relu,
        finite,
    };
    if rna {
        return decode_tensor_rounding(linker, how, operands);
    }
    match operands {
        [to, a] => {
            let f = convert::find_unary(how)?;
            let (to, a) = (linker.target_slot(to)?, linker.source_slot(a, from_type)?);
            Some(Op::Unary { f, to, a })
        }
        [to, a, b] => {
            let f = convert::find_pair_conversion(how)?;
            let to = linker.target_slot(to)?;
            let (a, b) = (
                linker.source_slot(a, from_type)?,
                linker.source_slot(b, from_type)?,
            );
            Some(Op::Binary { f, to, a, b })
        }
        _ => None,
    }
}

/// `cvt.rna.tf32.f32`.
fn decode_tensor_rounding(linker: &mut Linker<'_>, how: Conversion, operands: &[Operand]) -> Option<Op> {
    let [to, a] = operands else { return None };
    let modified =
        how.round.is_some() || how.integral.is_some() || how.flush || how.saturate || how.relu || how.finite;
    if modified || how.to.kind != Kind::Tensor || how.from.kind != Kind::Float || how.from.bits != 32 {
        return None;
    }
    Some(Op::Unary {
        f: convert::TENSOR_AWAY,
        to: linker.target_slot(to)?,
        a: linker.source_slot(a, how.from)?,
    })
}

const COMPARISONS: [&str; 18] = [
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu",
    "num", "nan",
];

fn decode_comparison(name: &str, ty: Type, flush: bool, upper: bool) -> Option<Test> {
    if is_int(ty) {
        return integer::compare(name, ty).filter(|_| !flush);
    }
    match ty.bits {
        16 => half::compare(name, ty.kind == Kind::Brain, upper).filter(|_| !flush),
        _ => float::compare(name, ty.bits, flush),
    }
}

fn decode_logic(words: &mut Words<'_>) -> Option<Logic> {
    words.take_one(&[("and", Logic::And), ("or", Logic::Or), ("xor", Logic::Xor)])
}

fn decode_setp(linker: &mut Linker<'_>, words: &mut Words<'_>, operands: &[Operand]) -> Option<Op> {
    let name = COMPARISONS.into_iter().find(|name| words.take(name))?;
    let (joined, flush, ty) = (decode_logic(words), words.take("ftz"), words.ty()?);
    let (to, other) = match operands.first()? {
        Operand::Two(to, other) => (&**to, Some(&**other)),
        to => (to, None),
    };
    let to = linker.flag_target(to)?;
    let other = match other {
        Some(other) => Some(linker.flag_target(other)?),
        None => None,
    };
    let (a, b) = (
        linker.source_slot(operands.get(1)?, ty)?,
        linker.source_slot(operands.get(2)?, ty)?,
    );
    let (logic, with) = match (joined, operands.get(3)) {
        (Some(logic), Some(with)) => (logic, linker.find_flag(with)?),
        (None, None) => (Logic::And, Flag::TRUE),
        _ => return None,
    };
    if ty.pair {
        return Some(Op::TestPair {
            low: decode_comparison(name, ty, flush, false)?,
            high: decode_comparison(name, ty, flush, true)?,
            to,
            high_to: other?,
            a,
            b,
            logic,
            operand: with,
        });
    }
    Some(Op::Test {
        f: decode_comparison(name, ty, flush, false)?,
        to,
        complement: other,
        a,
        b,
        logic,
        operand: with,
    })
}

fn decode_set(linker: &mut Linker<'_>, words: &mut Words<'_>, operands: &[Operand]) -> Option<Op> {
    let [to, a, b] = operands else { return None };
    let name = COMPARISONS.into_iter().find(|name| words.take(name))?;
    let (flush, to_type, ty) = (words.take("ftz"), words.ty()?, words.ty()?);
    let truth = match (to_type.kind, to_type.bits, to_type.pair) {
        (Kind::Float, 32, _) => 0x3f80_0000,
        (Kind::Float, 16, false) => 0x3c00,
        (Kind::Float, 16, true) => 0x3c00_3c00,
        (Kind::Brain, 16, false) => 0x3f80,
        (Kind::Brain, 16, true) => 0x3f80_3f80,
        (Kind::Signed | Kind::Unsigned, bits, _) => u64::MAX >> (64 - bits),
        _ => return None,
    };
    let (to, a, b) = (
        linker.target_slot(to)?,
        linker.source_slot(a, ty)?,
        linker.source_slot(b, ty)?,
    );
    Some(Op::Set {
        low: decode_comparison(name, ty, flush, false)?,
        high: if ty.pair {
            Some(decode_comparison(name, ty, flush, true)?)
        } else {
            None
        },
        to,
        a,
        b,
        truth,
    })
}

fn decode_selp(linker: &mut Linker<'_>, words: &mut Words<'_>, operands: &[Operand]) -> Option<Op> {
    let [to, a, b, flag] = operands else { return None };
    let ty = words.ty()?;
    let flag = linker.find_flag(flag)?;
    if ty.kind == Kind::Predicate {
        return Some(Op::FlagSelect {
            to: linker.flag_target(to)?,
            a: linker.find_flag(a)?,
            b: linker.find_flag(b)?,
            condition: flag,
        });
    }
    let (to, a, b) = (
        linker.target_slot(to)?,
        linker.source_slot(a, ty)?,
        linker.source_slot(b, ty)?,
    );
    Some(Op::Select { to, a, b, flag })
}

fn decode_testp(linker: &mut Linker<'_>, words: &mut Words<'_>, operands: &[Operand]) -> Option<Op> {
    let [to, a] = operands else { return None };
    let kinds = [
        "finite",
        "infinite",
        "number",
        "notanumber",
        "normal",
        "subnormal",
    ];
    let name = kinds.into_iter().find(|name| words.take(name))?;
    let ty = words.ty()?;
    let f = float::classify(name, ty.bits)?;
    let (to, a) = (linker.flag_target(to)?, linker.source_slot(a, ty)?);
    Some(Op::Test {
        f,
        to,
        complement: None,
        a,
        b: a,
        logic: Logic::And,
        operand: Flag::TRUE,
    })
}

fn decode_flags(
    linker: &mut Linker<'_>,
    name: &str,
    words: &mut Words<'_>,
    operands: &[Operand],
) -> Option<Op> {
    if words.ty()?.kind != Kind::Predicate {
        return None;
    }
    let (to, a) = (
        linker.flag_target(operands.first()?)?,
        linker.find_flag(operands.get(1)?)?,
    );
    if name == "not" {
        return Some(Op::Flags {
            logic: Logic::Xor,
            to,
            a,
            b: Flag::TRUE,
        });
    }
    let logic = match name {
        "and" => Logic::And,
        "or" => Logic::Or,
        _ => Logic::Xor,
    };
    let b = linker.find_flag(operands.get(2)?)?;
    Some(Op::Flags { logic, to, a, b })
}

/// `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`.
fn decode_carry(
    linker: &mut Linker<'_>,
    name: &str,
    words: &mut Words<'_>,
    operands: &[Operand],
) -> Option<Op> {
    let (gives, ty) = (words.take("cc"), words.ty()?);
    if !is_int(ty) || !matches!(ty.bits, 32 | 64) {
        return None;
    }
    let op = match name.trim_end_matches('c') {
        "add" => Carry::Add,
        "sub" => Carry::Sub,
        _ => match decode_half(words)? {
            Half::Low => Carry::LowProduct,
            Half::High => Carry::HighProduct,
            Half::Wide => return None,
        },
    };
    let to = linker.target_slot(operands.first()?)?;
    let (a, b) = (
        linker.source_slot(operands.get(1)?, ty)?,
        linker.source_slot(operands.get(2)?, ty)?,
    );
    let c = match operands.get(3) {
        Some(c) => linker.source_slot(c, ty)?,
        None => a,
    };
    Some(Op::Carry {
        op,
        ty,
        takes: name.ends_with('c'),
        gives,
        to,
        a,
        b,
        c,
    })
}
