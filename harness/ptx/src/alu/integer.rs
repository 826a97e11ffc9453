//! Integer arithmetic, which wraps. Quotient and remainder of a division by zero have all bits set, as on an H200; the
//! PTX ISA leaves them undefined.

use super::{Int, is_int, with_int};
use crate::lanes::{Binary, Lanes, Ternary, Test, Unary, map_binary, map_ternary, map_unary, test_lanes};
use crate::syntax::{Kind, Type};

/// The part of a product that an instruction returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    Low,
    High,
    /// The full product, in a register of twice the width.
    Wide,
}

/// `add`, `sub`, `div`, `rem`, `min`, `max`, saturating sums with `sat`.
pub(crate) fn find_binary(name: &str, ty: Type, sat: bool) -> Option<Binary> {
    if !is_int(ty) {
        return None;
    }
    if sat {
        // Only `.s32` saturates.
        return match (name, ty.kind, ty.bits) {
            ("add", Kind::Signed, 32) => {
                Some(|a, b, out| map_binary(a, b, out, |a, b| (a as i32).saturating_add(b as i32).bits()))
            }
            ("sub", Kind::Signed, 32) => {
                Some(|a, b, out| map_binary(a, b, out, |a, b| (a as i32).saturating_sub(b as i32).bits()))
            }
            _ => None,
        };
    }
    match name {
        "add" => {
            with_int!(ty, T => Some(|a, b, out| map_binary(a, b, out, |a, b| T::from_bits(a).wrapping_add(T::from_bits(b)).bits())))
        }
        "sub" => {
            with_int!(ty, T => Some(|a, b, out| map_binary(a, b, out, |a, b| T::from_bits(a).wrapping_sub(T::from_bits(b)).bits())))
        }
        "min" => {
            with_int!(ty, T => Some(|a, b, out| map_binary(a, b, out, |a, b| T::from_bits(a).min(T::from_bits(b)).bits())))
        }
        "max" => {
            with_int!(ty, T => Some(|a, b, out| map_binary(a, b, out, |a, b| T::from_bits(a).max(T::from_bits(b)).bits())))
        }
        "div" => with_int!(ty, T => Some(|a, b, out| map_binary(a, b, out, |a, b| {
            if T::from_bits(b) == 0 { T::from_bits(u64::MAX).bits() } else { T::from_bits(a).wrapping_div(T::from_bits(b)).bits() }
        }))),
        "rem" => with_int!(ty, T => Some(|a, b, out| map_binary(a, b, out, |a, b| {
            if T::from_bits(b) == 0 { T::from_bits(u64::MAX).bits() } else { T::from_bits(a).wrapping_rem(T::from_bits(b)).bits() }
        }))),
        _ => None,
    }
}

/// `add`, `min` and `max` of pairs of 16-bit integers, and `min.relu` and `max.relu`: a negative result becomes zero.
pub(crate) fn find_pair(name: &str, ty: Type, relu: bool) -> Option<Binary> {
    macro_rules! halves {
        ($T:ty, $f:expr) => {
            Some(|a, b, out| {
                map_binary(a, b, out, |a, b| {
                    let f: fn($T, $T) -> $T = $f;
                    let half = |shift: u32| f((a >> shift) as $T, (b >> shift) as $T).bits();
                    half(0) | half(16) << 16
                })
            })
        };
    }
    if (ty.kind, ty.bits, ty.pair) == (Kind::Signed, 32, false) && relu {
        return match name {
            "min" => Some(|a, b, out| map_binary(a, b, out, |a, b| (a as i32).min(b as i32).max(0).bits())),
            "max" => Some(|a, b, out| map_binary(a, b, out, |a, b| (a as i32).max(b as i32).max(0).bits())),
            _ => None,
        };
    }
    if !ty.pair || ty.bits != 16 {
        return None;
    }
    match (name, ty.kind, relu) {
        ("add", Kind::Signed | Kind::Unsigned, false) => halves!(u16, u16::wrapping_add),
        ("min", Kind::Unsigned, false) => halves!(u16, |a, b| a.min(b)),
        ("max", Kind::Unsigned, false) => halves!(u16, |a, b| a.max(b)),
        ("min", Kind::Signed, false) => halves!(i16, |a, b| a.min(b)),
        ("max", Kind::Signed, false) => halves!(i16, |a, b| a.max(b)),
        ("min", Kind::Signed, true) => halves!(i16, |a, b| a.min(b).max(0)),
        ("max", Kind::Signed, true) => halves!(i16, |a, b| a.max(b).max(0)),
        _ => None,
    }
}

/// `mul`.
pub(crate) fn multiply(ty: Type, half: Half) -> Option<Binary> {
    if !is_int(ty) {
        return None;
    }
    match half {
        Half::Low => {
            with_int!(ty, T => Some(|a, b, out| map_binary(a, b, out, |a, b| T::from_bits(a).wrapping_mul(T::from_bits(b)).bits())))
        }
        Half::High => {
            with_int!(ty, T => Some(|a, b, out| map_binary(a, b, out, |a, b| multiply_high::<T>(a, b).bits())))
        }
        Half::Wide => wide_product(ty),
    }
}

/// `mul24`: multiplies the lower 24 bits of both operands; the result is the lower or the upper 32 bits of the 48-bit
/// product.
pub(crate) fn find_mul24(ty: Type, half: Half) -> Option<Binary> {
    Some(match (ty.kind == Kind::Signed, ty.bits, half) {
        (true, 32, Half::Low) => |a, b, out| {
            map_binary(a, b, out, |a, b| {
                (sign_extend24(a) * sign_extend24(b)) as u32 as u64
            });
        },
        (true, 32, Half::High) => |a, b, out| {
            map_binary(a, b, out, |a, b| {
                ((sign_extend24(a) * sign_extend24(b)) >> 16) as u32 as u64
            });
        },
        (false, 32, Half::Low) => {
            |a, b, out| map_binary(a, b, out, |a, b| (mask_low24(a) * mask_low24(b)) as u32 as u64)
        }
        (false, 32, Half::High) => |a, b, out| {
            map_binary(a, b, out, |a, b| {
                ((mask_low24(a) * mask_low24(b)) >> 16) as u32 as u64
            });
        },
        _ => return None,
    })
}

const fn mask_low24(bits: u64) -> u64 {
    bits & 0x00ff_ffff
}

const fn sign_extend24(bits: u64) -> i64 {
    (bits as i64) << 40 >> 40
}

#[inline(always)]
fn multiply_high<T: Int>(a: u64, b: u64) -> T {
    T::wrap(T::from_bits(a).wide().wrapping_mul(T::from_bits(b).wide()) >> T::BITS)
}

fn wide_product(ty: Type) -> Option<Binary> {
    Some(match (ty.kind == Kind::Signed, ty.bits) {
        (true, 16) => |a, b, out| {
            map_binary(a, b, out, |a, b| {
                (i32::from(a as i16) * i32::from(b as i16)).bits()
            });
        },
        (false, 16) => |a, b, out| {
            map_binary(a, b, out, |a, b| {
                u32::from(a as u16).wrapping_mul(u32::from(b as u16)).bits()
            });
        },
        (true, 32) => |a, b, out| {
            map_binary(a, b, out, |a, b| {
                (i64::from(a as i32) * i64::from(b as i32)).bits()
            });
        },
        (false, 32) => |a, b, out| {
            map_binary(a, b, out, |a, b| {
                u64::from(a as u32).wrapping_mul(u64::from(b as u32))
            });
        },
        _ => return None,
    })
}

/// `mad`.
pub(crate) fn multiply_add(ty: Type, half: Half) -> Option<Ternary> {
    if !is_int(ty) {
        return None;
    }
    match half {
        Half::Low => with_int!(ty, T => Some(|a, b, c, out| map_ternary(a, b, c, out, |a, b, c| {
            T::from_bits(a).wrapping_mul(T::from_bits(b)).wrapping_add(T::from_bits(c)).bits()
        }))),
        Half::High => with_int!(ty, T => Some(|a, b, c, out| map_ternary(a, b, c, out, |a, b, c| {
            multiply_high::<T>(a, b).wrapping_add(T::from_bits(c)).bits()
        }))),
        Half::Wide => Some(match (ty.kind == Kind::Signed, ty.bits) {
            (true, 16) => |a, b, c, out| {
                map_ternary(a, b, c, out, |a, b, c| {
                    (i32::from(a as i16) * i32::from(b as i16))
                        .wrapping_add(c as i32)
                        .bits()
                });
            },
            (false, 16) => |a, b, c, out| {
                map_ternary(a, b, c, out, |a, b, c| {
                    u32::from(a as u16)
                        .wrapping_mul(u32::from(b as u16))
                        .wrapping_add(c as u32)
                        .bits()
                });
            },
            (true, 32) => |a, b, c, out| {
                map_ternary(a, b, c, out, |a, b, c| {
                    (i64::from(a as i32) * i64::from(b as i32))
                        .wrapping_add(c as i64)
                        .bits()
                });
            },
            (false, 32) => |a, b, c, out| {
                map_ternary(a, b, c, out, |a, b, c| {
                    u64::from(a as u32)
                        .wrapping_mul(u64::from(b as u32))
                        .wrapping_add(c)
                });
            },
            _ => return None,
        }),
    }
}

/// `sad`: the third operand plus the distance between the first two.
pub(crate) fn add_distance(ty: Type) -> Option<Ternary> {
    with_int!(ty, T => Some(|a, b, c, out| map_ternary(a, b, c, out, |a, b, c| {
        let apart = (T::from_bits(a).wide() - T::from_bits(b).wide()).unsigned_abs();
        apart.wrapping_add(T::from_bits(c).bits().into()) as u64 & mask_of(T::BITS)
    })))
}

const fn mask_of(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// `neg`, `abs`.
pub(crate) fn find_unary(name: &str, ty: Type) -> Option<Unary> {
    if ty.kind != Kind::Signed {
        return None;
    }
    macro_rules! signed {
        ($method:ident) => {
            Some(match ty.bits {
                16 => |a, out| map_unary(a, out, |a| (a as i16).$method().bits()),
                32 => |a, out| map_unary(a, out, |a| (a as i32).$method().bits()),
                64 => |a, out| map_unary(a, out, |a| (a as i64).$method().bits()),
                _ => return None,
            })
        };
    }
    match name {
        "neg" => signed!(wrapping_neg),
        "abs" => signed!(wrapping_abs),
        _ => None,
    }
}

/// `setp` and `set` of whole numbers.
pub(crate) fn compare(name: &str, ty: Type) -> Option<Test> {
    if !is_int(ty) || ty.bits == 8 {
        return None;
    }
    macro_rules! by {
        ($T:ident, $op:tt) => {
            Some(|a, b| test_lanes(a, b, |a, b| <$T>::from_bits(a) $op <$T>::from_bits(b)))
        };
    }
    // Bit types only have equality; `lo` and similar are unsigned.
    let ordered = ty.kind != Kind::Bits;
    match name {
        "eq" => with_int!(ty, T => by!(T, ==)),
        "ne" => with_int!(ty, T => by!(T, !=)),
        "lt" | "lo" if ordered => with_int!(ty, T => by!(T, <)),
        "le" | "ls" if ordered => with_int!(ty, T => by!(T, <=)),
        "gt" | "hi" if ordered => with_int!(ty, T => by!(T, >)),
        "ge" | "hs" if ordered => with_int!(ty, T => by!(T, >=)),
        _ => None,
    }
}

/// An addition with carry, or a subtraction with borrow, of each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carry {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// The low half of `a * b`, and `c`.
    LowProduct,
    /// The high half of `a * b`, and `c`.
    HighProduct,
}

/// Computes a sum with carry. `carried` is the incoming carry (or borrow), by lane. Returns the outgoing one.
pub(crate) fn carry(op: Carry, ty: Type, operands: [&Lanes; 3], carried: u32, out: &mut Lanes) -> u32 {
    let mask = u128::from(mask_of(ty.bits));
    let signed = ty.kind == Kind::Signed;
    let mut goes = 0;
    for lane in 0..out.len() {
        let [a, b, c] = operands.map(|of| of.get(lane).map_or(0, |&bits| u128::from(bits) & mask));
        let carry = u128::from(carried >> lane & 1);
        let product = || {
            let extend = |bits: u128| {
                if signed {
                    let shift = 128 - ty.bits;
                    ((bits << shift) as i128 >> shift) as u128
                } else {
                    bits
                }
            };
            extend(a).wrapping_mul(extend(b))
        };
        let (sum, beyond) = match op {
            Carry::Add => (a + b + carry, a + b + carry > mask),
            Carry::Sub => (a.wrapping_sub(b).wrapping_sub(carry), a < b + carry),
            Carry::LowProduct => {
                let sum = (product() & mask) + c + carry;
                (sum, sum > mask)
            }
            Carry::HighProduct => {
                let sum = (product() >> ty.bits & mask) + c + carry;
                (sum, sum > mask)
            }
        };
        if let Some(out) = out.get_mut(lane) {
            *out = (sum & mask) as u64;
        }
        goes |= u32::from(beyond) << lane;
    }
    goes
}
