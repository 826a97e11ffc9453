//! Instructions that access memory.

use super::{Words, vector_elements};
use crate::alu::float::{max64, min64};
use crate::alu::half::{bf16_to_f32, f16_to_f32, to_bf16, to_f16};
use crate::alu::is_int;
use crate::kernel::PARAMETER_WINDOW;
use crate::lanes::{Lanes, map_unary};
use crate::link::Linker;
use crate::op::{Access, Address, Atomic, Copy, Op, Order, Scope, StateSpace, Update};
use crate::syntax::{Base, Kind, Operand, Role, Space, Type, VariableId};

pub(super) fn decode(
    linker: &mut Linker<'_>,
    name: &str,
    words: &mut Words<'_>,
    operands: &[Operand],
) -> Option<Op> {
    match name {
        "ld" | "ldu" => decode_access(linker, words, operands, true).map(Op::Load),
        "st" => decode_access(linker, words, operands, false).map(Op::Store),
        "atom" => decode_atomic(linker, words, operands, true),
        "red" => decode_atomic(linker, words, operands, false),
        "cp" => decode_copy(linker, words, operands),
        "cvta" => convert_address(linker, words, operands),
        "createpolicy" => {
            // The instruction creates a cache policy, which is only a hint.
            words.left.clear();
            let to = linker.target_slot(operands.first()?)?;
            let a = linker.constant(0);
            Some(Op::Move { to, a })
        }
        "prefetch" | "prefetchu" | "discard" | "applypriority" => {
            words.left.clear();
            Some(Op::Nothing)
        }
        _ => None,
    }
}

/// Decodes an operand in brackets. An access to a parameter has `.param`, or its variable is a parameter.
pub(super) fn decode_address(linker: &mut Linker<'_>, space: Space, operand: &Operand) -> Option<Address> {
    let Operand::Address(base, offset) = operand else {
        return None;
    };
    let mut place = match space {
        Space::Generic => StateSpace::Generic,
        Space::Global | Space::Const => StateSpace::Global,
        Space::Shared => StateSpace::Shared,
        Space::Cluster => StateSpace::Cluster,
        Space::Local | Space::Param => StateSpace::Private,
    };
    let base = match *base {
        Base::Register(number) => {
            // Arguments of calls are accessed by name.
            if space == Space::Param && linker.is_entry() {
                place = StateSpace::Parameters;
            }
            linker.register(number)?
        }
        Base::Absolute => linker.constant(0),
        Base::Variable(named) => {
            if let VariableId::Own(_) = named {
                let variable = linker.variable(named)?;
                if variable.space == Space::Param && variable.role != Role::Own && linker.is_entry() {
                    place = StateSpace::Parameters;
                }
            }
            linker.address_slot(named, 0)?
        }
    };
    Some(Address {
        place,
        base,
        offset: *offset,
    })
}

fn decode_access(
    linker: &mut Linker<'_>,
    words: &mut Words<'_>,
    operands: &[Operand],
    load: bool,
) -> Option<Access> {
    let (first, second) = (operands.first()?, operands.get(1)?);
    let (value, place) = if load { (first, second) } else { (second, first) };
    let hinted = words.take("L2::cache_hint");
    words.drop_hints();
    let (order, scope) = words.order();
    let order = order.unwrap_or_default();
    let space = words.space();
    let count = words.take_one(&[("v2", 2u8), ("v4", 4), ("v8", 8)]).unwrap_or(1);
    let ty = words.ty()?;
    // A third operand can only be a cache policy.
    if operands.len() != 2 + usize::from(hinted) {
        return None;
    }
    let address = decode_address(linker, space, place)?;
    let elements = vector_elements(value);
    if elements.len() != usize::from(count) {
        return None;
    }
    let mut registers = [0; 8];
    for (slot, element) in registers.iter_mut().zip(elements) {
        *slot = if load {
            linker.target_slot(element)?
        } else {
            linker.source_slot(element, ty)?
        };
    }
    Some(Access {
        address,
        bytes: ty.bytes() as u8,
        count,
        signed: ty.kind == Kind::Signed,
        whole_word: order == Order::Relaxed,
        order,
        scope: scope.unwrap_or_default(),
        registers,
    })
}

/// Returns the function of an atomic.
fn decode_update(name: &str, ty: Type) -> Option<Update> {
    if is_int(ty) {
        return Some(match (name, ty.kind == Kind::Signed, ty.bits) {
            ("exch", ..) => |_, b, _| b,
            ("cas", _, 16) => |old, b, c| if old as u16 == b as u16 { c } else { old },
            ("cas", _, 32) => |old, b, c| if old as u32 == b as u32 { c } else { old },
            ("cas", _, 64) => |old, b, c| if old == b { c } else { old },
            ("and", ..) => |old, b, _| old & b,
            ("or", ..) => |old, b, _| old | b,
            ("xor", ..) => |old, b, _| old ^ b,
            ("add", ..) => |old, b, _| old.wrapping_add(b),
            ("inc", false, 32) => |old, b, _| {
                if old as u32 >= b as u32 {
                    0
                } else {
                    old.wrapping_add(1)
                }
            },
            ("dec", false, 32) => |old, b, _| {
                if old as u32 == 0 || old as u32 > b as u32 {
                    b
                } else {
                    old.wrapping_sub(1)
                }
            },
            ("min", false, 32) => |old, b, _| (old as u32).min(b as u32).into(),
            ("max", false, 32) => |old, b, _| (old as u32).max(b as u32).into(),
            ("min", false, 64) => |old, b, _| old.min(b),
            ("max", false, 64) => |old, b, _| old.max(b),
            ("min", true, 32) => |old, b, _| (old as i32).min(b as i32) as u32 as u64,
            ("max", true, 32) => |old, b, _| (old as i32).max(b as i32) as u32 as u64,
            ("min", true, 64) => |old, b, _| (old as i64).min(b as i64) as u64,
            ("max", true, 64) => |old, b, _| (old as i64).max(b as i64) as u64,
            _ => return None,
        });
    }
    Some(match (name, ty.kind, ty.bits, ty.pair) {
        ("add", Kind::Float, 32, false) => ADD32,
        ("add", Kind::Float, 64, false) => |old, b, _| {
            let sum = f64::from_bits(old) + f64::from_bits(b);
            if sum.is_nan() {
                0xfff8_0000_0000_0000
            } else {
                sum.to_bits()
            }
        },
        ("add", Kind::Float, 16, false) => {
            |old, b, _| to_f16(f64::from(f16_to_f32(old)) + f64::from(f16_to_f32(b)))
        }
        ("add", Kind::Brain, 16, false) => {
            |old, b, _| to_bf16(f64::from(bf16_to_f32(old)) + f64::from(bf16_to_f32(b)))
        }
        ("add", Kind::Float, 16, true) => |old, b, _| {
            let half =
                |shift: u32| to_f16(f64::from(f16_to_f32(old >> shift)) + f64::from(f16_to_f32(b >> shift)));
            half(0) | half(16) << 16
        },
        ("add", Kind::Brain, 16, true) => |old, b, _| {
            let half = |shift: u32| {
                to_bf16(f64::from(bf16_to_f32(old >> shift)) + f64::from(bf16_to_f32(b >> shift)))
            };
            half(0) | half(16) << 16
        },
        ("min", Kind::Float, 64, false) => {
            |old, b, _| min64(f64::from_bits(old), f64::from_bits(b)).to_bits()
        }
        ("max", Kind::Float, 64, false) => {
            |old, b, _| max64(f64::from_bits(old), f64::from_bits(b)).to_bits()
        }
        _ => return None,
    })
}

/// `atom.add.f32` flushes subnormal numbers in global memory, but not in shared memory.
const ADD32: Update = |old, b, _| {
    let read = crate::alu::float::f32_from_bits::<true>;
    crate::alu::float::f32_to_bits::<true>(read(old) + read(b))
};
const ADD32_SHARED: Update = |old, b, _| {
    let read = crate::alu::float::f32_from_bits::<false>;
    crate::alu::float::f32_to_bits::<false>(read(old) + read(b))
};

fn decode_atomic(
    linker: &mut Linker<'_>,
    words: &mut Words<'_>,
    operands: &[Operand],
    wanted: bool,
) -> Option<Op> {
    words.drop_hints();
    let (order, scope) = words.order();
    words.take("noftz");
    let space = words.space();
    let names = [
        "exch", "cas", "and", "or", "xor", "add", "inc", "dec", "min", "max",
    ];
    let name = names.into_iter().find(|name| words.take(name))?;
    let ty = words.ty()?;
    let mut operands = operands.iter();
    let to = if wanted {
        let operand = operands.next()?;
        Some(linker.target_slot(operand)?)
    } else {
        None
    };
    let address = decode_address(linker, space, operands.next()?)?;
    let b = linker.source_slot(operands.next()?, ty)?;
    let c = match operands.next() {
        Some(c) => linker.source_slot(c, ty)?,
        None if name == "cas" => return None,
        None => b,
    };
    let single_sum = name == "add" && ty.kind == Kind::Float && ty.bits == 32;
    let update = if single_sum && matches!(address.place, StateSpace::Shared | StateSpace::Cluster) {
        ADD32_SHARED
    } else {
        decode_update(name, ty)?
    };
    Some(Op::Atomic(Atomic {
        address,
        bytes: ty.bytes() as u8,
        update,
        order: order.unwrap_or(Order::Relaxed),
        scope: scope.unwrap_or(Scope::Device),
        to,
        b,
        c,
    }))
}

/// `cp.async`.
fn decode_copy(linker: &mut Linker<'_>, words: &mut Words<'_>, operands: &[Operand]) -> Option<Op> {
    if words.left.contains(&"bulk") || !words.take("async") {
        return None;
    }
    if words.take("commit_group") {
        return Some(Op::CommitCopies);
    }
    if words.take("wait_all") {
        return Some(Op::WaitAllCopies);
    }
    if words.take("wait_group") {
        let Operand::Int(left) = *operands.first()? else {
            return None;
        };
        return Some(Op::WaitCopies(u32::try_from(left).ok()?));
    }
    let hinted = words.take("L2::cache_hint");
    words.drop_hints();
    if !(words.take("shared") || words.take("shared::cta")) || !words.take("global") {
        return None;
    }
    let (to, from) = (operands.first()?, operands.get(1)?);
    let Operand::Int(bytes @ (4 | 8 | 16)) = *operands.get(2)? else {
        return None;
    };
    let (to, from) = (
        decode_address(linker, Space::Shared, to)?,
        decode_address(linker, Space::Global, from)?,
    );
    let plain = 3 + usize::from(hinted);
    let read = match operands.get(3) {
        Some(size) if operands.len() > plain => {
            let ty = Type {
                kind: Kind::Unsigned,
                bits: 32,
                pair: false,
            };
            linker.source_slot(size, ty)?
        }
        _ => linker.constant(bytes),
    };
    Some(Op::Copy(Copy {
        to,
        from,
        bytes: bytes as u8,
        read,
    }))
}

/// `cvta`: converts between an address in a space and a generic address. Addresses of global memory are the same in
/// both; addresses in shared and local memory are offsets from its beginning.
fn convert_address(linker: &mut Linker<'_>, words: &mut Words<'_>, operands: &[Operand]) -> Option<Op> {
    let back = words.take("to");
    let space = words.space();
    let ty = words.ty()?;
    let [to, a] = operands else { return None };
    let (to, a) = (linker.target_slot(to)?, linker.source_slot(a, ty)?);
    let window = match space {
        Space::Shared | Space::Cluster => crate::kernel::SHARED_WINDOW,
        Space::Local => crate::kernel::LOCAL_WINDOW,
        Space::Param if !back => {
            let f = complete_parameter_address;
            return Some(Op::Unary { f, to, a });
        }
        _ => return Some(Op::Move { to, a }),
    };
    let b = linker.constant(if back { window.wrapping_neg() } else { window });
    let f = crate::alu::integer::find_binary(
        "add",
        Type {
            kind: Kind::Unsigned,
            bits: 64,
            pair: false,
        },
        false,
    )?;
    Some(Op::Binary { f, to, a, b })
}

/// Turns the offset of a parameter, or its generic address, into its generic address.
fn complete_parameter_address(a: &Lanes, out: &mut Lanes) {
    map_unary(a, out, |a| {
        if a < PARAMETER_WINDOW {
            a + PARAMETER_WINDOW
        } else {
            a
        }
    });
}
