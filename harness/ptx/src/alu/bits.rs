//! Bits: logic, shifts, fields, counts, permutations.

use super::{Int, is_int, with_int};
use crate::lanes::{Binary, Quaternary, Ternary, Unary, map_binary, map_ternary, map_unary};
use crate::syntax::{Kind, Type};

/// `and`, `or`, `xor`, `shl`, `shr`.
pub(crate) fn find_binary(name: &str, ty: Type) -> Option<Binary> {
    if !is_int(ty) {
        return None;
    }
    match name {
        "and" => Some(|a, b, out| map_binary(a, b, out, |a, b| a & b)),
        "or" => Some(|a, b, out| map_binary(a, b, out, |a, b| a | b)),
        "xor" => Some(|a, b, out| map_binary(a, b, out, |a, b| a ^ b)),
        // A shift by more than the width is clamped to the width.
        "shl" => with_int!(ty, T => Some(|a, b, out| map_binary(a, b, out, |a, b| {
            T::from_bits(a).checked_shl(b as u32).unwrap_or(0).bits()
        }))),
        "shr" => with_int!(ty, T => Some(|a, b, out| map_binary(a, b, out, |a, b| {
            (T::from_bits(a) >> (b as u32).min(T::BITS - 1) >> u32::from(b as u32 >= T::BITS)).bits()
        }))),
        _ => None,
    }
}

/// `not`, `cnot`, `popc`, `clz`, `brev`.
pub(crate) fn find_unary(name: &str, ty: Type) -> Option<Unary> {
    let unsigned = Type {
        kind: Kind::Unsigned,
        ..ty
    };
    match name {
        "not" => with_int!(unsigned, T => Some(|a, out| map_unary(a, out, |a| (!T::from_bits(a)).bits()))),
        "cnot" => {
            with_int!(unsigned, T => Some(|a, out| map_unary(a, out, |a| u64::from(T::from_bits(a) == 0))))
        }
        "popc" => {
            with_int!(unsigned, T => Some(|a, out| map_unary(a, out, |a| T::from_bits(a).count_ones().into())))
        }
        "clz" => {
            with_int!(unsigned, T => Some(|a, out| map_unary(a, out, |a| T::from_bits(a).leading_zeros().into())))
        }
        "brev" => {
            with_int!(unsigned, T => Some(|a, out| map_unary(a, out, |a| T::from_bits(a).reverse_bits().bits())))
        }
        _ => None,
    }
}

/// `bfind`: where the highest bit is that is not the sign; with `shift`, how far it is from the top.
pub(crate) fn find(ty: Type, shift: bool) -> Option<Unary> {
    #[inline(always)]
    fn find_top_bit<T: Int>(a: u64, shift: bool) -> u64 {
        let value = T::from_bits(a).wide();
        let value = if value < 0 { !value } else { value };
        if value == 0 {
            return u64::from(u32::MAX);
        }
        let at = 127 - value.leading_zeros();
        u64::from(if shift { T::BITS - 1 - at } else { at })
    }
    if shift {
        with_int!(ty, T => Some(|a, out| map_unary(a, out, |a| find_top_bit::<T>(a, true))))
    } else {
        with_int!(ty, T => Some(|a, out| map_unary(a, out, |a| find_top_bit::<T>(a, false))))
    }
}

/// `bfe`: `c` bits of `a` from bit `b` on.
pub(crate) fn extract(ty: Type) -> Option<Ternary> {
    #[inline(always)]
    fn extract_field<T: Int>(a: u64, b: u64, c: u64, signed: bool) -> u64 {
        let (from, len) = ((b & 0xff) as u32, (c & 0xff) as u32);
        if len == 0 {
            return 0;
        }
        let value = T::from_bits(a).wide();
        // Bits above the top are copies of the sign.
        let low = if from >= T::BITS {
            if value < 0 { -1 } else { 0 }
        } else {
            value >> from
        };
        if len >= 127 {
            return T::wrap(low).bits();
        }
        let kept = low & ((1i128 << len) - 1);
        let top = (from + len - 1).min(T::BITS - 1);
        let negative = signed && T::from_bits(a).bits() >> top & 1 == 1;
        T::wrap(if negative { kept | (-1i128 << len) } else { kept }).bits()
    }
    if !matches!(ty.bits, 32 | 64) {
        return None;
    }
    if ty.kind == Kind::Signed {
        with_int!(ty, T => Some(|a, b, c, out| map_ternary(a, b, c, out, |a, b, c| extract_field::<T>(a, b, c, true))))
    } else {
        with_int!(ty, T => Some(|a, b, c, out| map_ternary(a, b, c, out, |a, b, c| extract_field::<T>(a, b, c, false))))
    }
}

/// `bfi`: `a` put into `b` from bit `c` on, `d` bits of it.
pub(crate) fn insert(ty: Type) -> Option<Quaternary> {
    #[inline(always)]
    fn put(bits: u32, a: u64, b: u64, c: u64, d: u64) -> u64 {
        let (from, len) = ((c & 0xff) as u32, (d & 0xff) as u32);
        let field = if len >= 64 { u64::MAX } else { (1 << len) - 1 };
        let field = field.checked_shl(from).unwrap_or(0) & (u64::MAX >> (64 - bits));
        (b & !field) | (a.checked_shl(from).unwrap_or(0) & field)
    }
    macro_rules! of {
        ($bits:literal) => {
            |[a, b, c, d], out| {
                for (out, ((&a, &b), (&c, &d))) in out.iter_mut().zip(a.iter().zip(b).zip(c.iter().zip(d))) {
                    *out = put($bits, a, b & (u64::MAX >> (64 - $bits)), c, d);
                }
            }
        };
    }
    match ty.bits {
        32 => Some(of!(32)),
        64 => Some(of!(64)),
        _ => None,
    }
}

/// `lop3`: any function of three bits; the last operand is its truth table.
pub(crate) const LOOKUP: Quaternary = |[a, b, c, table], out| {
    for (out, ((&a, &b), (&c, &table))) in out.iter_mut().zip(a.iter().zip(b).zip(c.iter().zip(table))) {
        let (a, b, c) = (a as u32, b as u32, c as u32);
        let mut result = 0;
        for row in 0..8u32 {
            if table >> row & 1 == 1 {
                let of = |bits: u32, shift: u32| if row >> shift & 1 == 1 { bits } else { !bits };
                result |= of(a, 2) & of(b, 1) & of(c, 0);
            }
        }
        *out = result.into();
    }
};

/// `prmt`: selects four of the eight bytes of `b:a` by the nibbles of `c`. The nibble's top bit replicates the byte's
/// sign.
pub(crate) fn permute(mode: Option<&str>) -> Option<Ternary> {
    macro_rules! with {
        ($select:expr) => {
            Some(|a, b, c, out| {
                map_ternary(a, b, c, out, |a, b, c| {
                    let bytes = (a & 0xffff_ffff) | b << 32;
                    let byte = |at: u32| bytes >> (8 * (at & 7)) & 0xff;
                    let mut result = 0;
                    for nth in 0..4u32 {
                        let select: fn(u64, u32) -> (u32, bool) = $select;
                        let (at, sign) = select(c, nth);
                        let byte = byte(at);
                        let byte = if sign { (byte >> 7) * 0xff } else { byte };
                        result |= byte << (8 * nth);
                    }
                    result
                });
            })
        };
    }
    match mode {
        None => with!(|c, nth| ((c >> (4 * nth) & 7) as u32, c >> (4 * nth) & 8 != 0)),
        Some("f4e") => with!(|c, nth| ((c & 3) as u32 + nth, false)),
        Some("b4e") => with!(|c, nth| ((c & 3) as u32 + 8 - nth, false)),
        Some("rc8") => with!(|c, _| ((c & 3) as u32, false)),
        Some("ecl") => with!(|c, nth| (
            (c & 3) as u32 * u32::from(nth < (c & 3) as u32)
                + nth.max((c & 3) as u32) * u32::from(nth >= (c & 3) as u32),
            false
        )),
        Some("ecr") => with!(|c, nth| (nth.min((c & 3) as u32), false)),
        Some("rc16") => with!(|c, nth| (((c & 1) as u32) * 2 + (nth & 1), false)),
        _ => None,
    }
}

/// `shf`: 32 bits of `b:a`, shifted to the left or to the right.
pub(crate) fn funnel_shift(left: bool, wrap: bool) -> Ternary {
    macro_rules! of {
        ($amount:expr, $take:expr) => {
            |a, b, c, out| {
                map_ternary(a, b, c, out, |a, b, c| {
                    let both = (a & 0xffff_ffff) | b << 32;
                    let amount: fn(u32) -> u32 = $amount;
                    let take: fn(u64, u32) -> u64 = $take;
                    take(both, amount(c as u32)) & 0xffff_ffff
                })
            }
        };
    }
    match (left, wrap) {
        (true, true) => of!(|c| c & 31, |both, n| both << n >> 32),
        (true, false) => of!(|c| c.min(32), |both, n| both << n >> 32),
        (false, true) => of!(|c| c & 31, |both, n| both >> n),
        (false, false) => of!(|c| c.min(32), |both, n| both >> n),
    }
}

/// Packs registers: `mov.b64 d, {a, b}`.
pub(crate) fn pack(parts: &[u64], width: u32) -> u64 {
    let mask = u64::MAX >> (64 - width);
    parts.iter().rev().fold(0, |packed, &part| {
        packed.checked_shl(width).unwrap_or(0) | (part & mask)
    })
}
