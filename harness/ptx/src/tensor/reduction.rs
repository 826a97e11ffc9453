//! Reductions of bulk copies: how an element in memory and an element of the source are combined.

use super::map::ElementType;
use crate::alu::half::{bf16_to_f32, f16_to_f32, to_bf16, to_f16};
use crate::op::bulk::{Reduction, ReductionName};
use crate::syntax::Kind;

/// Computes the new bits of an element from the old ones and the operand.
pub(crate) type ElementUpdate = fn(u64, u64) -> u64;

/// Finds the function of a reduction through a tensor map.
pub(crate) fn find_update(name: ReductionName, element: ElementType) -> Option<ElementUpdate> {
    match element {
        ElementType::U32 => find_unsigned32(name),
        ElementType::S32 => find_signed32(name),
        ElementType::U64 => find_unsigned64(name),
        ElementType::S64 => find_signed64(name),
        ElementType::F16 => find_half(name),
        ElementType::Bf16 => find_brain(name),
        ElementType::F32 if name == ReductionName::Add => Some(add_f32),
        ElementType::F64 if name == ReductionName::Add => Some(add_f64),
        _ => None,
    }
}

impl Reduction {
    /// Finds the function of a reduction without a tensor map.
    pub(crate) fn find_update(self) -> Option<ElementUpdate> {
        let element = match (self.ty.kind, self.ty.bits) {
            (Kind::Unsigned | Kind::Bits, 32) => ElementType::U32,
            (Kind::Unsigned | Kind::Bits, 64) => ElementType::U64,
            (Kind::Signed, 32) => ElementType::S32,
            (Kind::Signed, 64) => ElementType::S64,
            (Kind::Float, 16) => ElementType::F16,
            (Kind::Brain, 16) => ElementType::Bf16,
            (Kind::Float, 32) => ElementType::F32,
            (Kind::Float, 64) => ElementType::F64,
            _ => return None,
        };
        find_update(self.name, element)
    }
}

fn find_logic(name: ReductionName) -> Option<ElementUpdate> {
    Some(match name {
        ReductionName::And => |old, new| old & new,
        ReductionName::Or => |old, new| old | new,
        ReductionName::Xor => |old, new| old ^ new,
        _ => return None,
    })
}

fn find_unsigned32(name: ReductionName) -> Option<ElementUpdate> {
    Some(match name {
        ReductionName::Add => |old, new| u64::from((old as u32).wrapping_add(new as u32)),
        ReductionName::Min => |old, new| u64::from((old as u32).min(new as u32)),
        ReductionName::Max => |old, new| u64::from((old as u32).max(new as u32)),
        ReductionName::Inc => |old, new| {
            let (old, new) = (old as u32, new as u32);
            if old >= new { 0 } else { u64::from(old + 1) }
        },
        ReductionName::Dec => |old, new| {
            let (old, new) = (old as u32, new as u32);
            u64::from(if old == 0 || old > new { new } else { old - 1 })
        },
        _ => return find_logic(name),
    })
}

fn find_signed32(name: ReductionName) -> Option<ElementUpdate> {
    Some(match name {
        ReductionName::Add => |old, new| u64::from((old as u32).wrapping_add(new as u32)),
        ReductionName::Min => |old, new| u64::from((old as i32).min(new as i32) as u32),
        ReductionName::Max => |old, new| u64::from((old as i32).max(new as i32) as u32),
        _ => return find_logic(name),
    })
}

fn find_unsigned64(name: ReductionName) -> Option<ElementUpdate> {
    Some(match name {
        ReductionName::Add => u64::wrapping_add,
        ReductionName::Min => |old, new| old.min(new),
        ReductionName::Max => |old, new| old.max(new),
        _ => return find_logic(name),
    })
}

fn find_signed64(name: ReductionName) -> Option<ElementUpdate> {
    Some(match name {
        ReductionName::Min => |old, new| (old as i64).min(new as i64) as u64,
        ReductionName::Max => |old, new| (old as i64).max(new as i64) as u64,
        _ => return None,
    })
}

/// The smaller number; the other operand if one is a NaN.
fn min_number(a: f32, b: f32) -> f64 {
    f64::from(crate::alu::float::min32(a, b))
}

fn max_number(a: f32, b: f32) -> f64 {
    f64::from(crate::alu::float::max32(a, b))
}

fn find_half(name: ReductionName) -> Option<ElementUpdate> {
    Some(match name {
        ReductionName::Add => |old, new| to_f16(f64::from(f16_to_f32(old)) + f64::from(f16_to_f32(new))),
        ReductionName::Min => |old, new| to_f16(min_number(f16_to_f32(old), f16_to_f32(new))),
        ReductionName::Max => |old, new| to_f16(max_number(f16_to_f32(old), f16_to_f32(new))),
        _ => return None,
    })
}

fn find_brain(name: ReductionName) -> Option<ElementUpdate> {
    Some(match name {
        ReductionName::Add => |old, new| to_bf16(f64::from(bf16_to_f32(old)) + f64::from(bf16_to_f32(new))),
        ReductionName::Min => |old, new| to_bf16(min_number(bf16_to_f32(old), bf16_to_f32(new))),
        ReductionName::Max => |old, new| to_bf16(max_number(bf16_to_f32(old), bf16_to_f32(new))),
        _ => return None,
    })
}

fn add_f32(old: u64, new: u64) -> u64 {
    let read = crate::alu::float::f32_from_bits::<true>;
    crate::alu::float::f32_to_bits::<true>(read(old) + read(new))
}

fn add_f64(old: u64, new: u64) -> u64 {
    let sum = f64::from_bits(old) + f64::from_bits(new);
    if sum.is_nan() {
        0xfff8_0000_0000_0000
    } else {
        sum.to_bits()
    }
}
