//! `tensormap.replace` and `tensormap.cp_fenceproxy`.

use super::Words;
use super::memory::decode_address;
use crate::link::Linker;
use crate::op::bulk::{MapCopy, MapField, MapReplacement};
use crate::op::{Op, Order};
use crate::syntax::{Operand, Space};

pub(super) fn decode(
    linker: &mut Linker<'_>,
    name: &str,
    words: &mut Words<'_>,
    operands: &[Operand],
) -> Option<Op> {
    if name != "tensormap" {
        return None;
    }
    if words.take("replace") {
        return decode_replacement(linker, words, operands);
    }
    let required = [
        "cp_fenceproxy",
        "global",
        "shared::cta",
        "tensormap::generic",
        "sync",
        "aligned",
    ];
    if !required.iter().all(|word| words.take(word)) {
        return None;
    }
    let (Some(Order::Release), Some(_)) = words.order() else {
        return None;
    };
    let [to, from, Operand::Int(128)] = operands else {
        return None;
    };
    Some(Op::CopyMap(Box::new(MapCopy {
        to: decode_address(linker, Space::Global, to)?,
        from: decode_address(linker, Space::Shared, from)?,
    })))
}

fn decode_replacement(linker: &mut Linker<'_>, words: &mut Words<'_>, operands: &[Operand]) -> Option<Op> {
    /// A name of a field, and whether the instruction has an ordinal number.
    #[derive(Clone, Copy)]
    enum Field {
        One(MapField),
        Many(fn(u8) -> MapField),
    }
    if !words.take("tile") || !words.take("b1024") {
        return None;
    }
    let field = words.take_one(&[
        ("global_address", Field::One(MapField::GlobalAddress)),
        ("rank", Field::One(MapField::Rank)),
        ("elemtype", Field::One(MapField::ElementType)),
        ("interleave_layout", Field::One(MapField::Interleave)),
        ("swizzle_mode", Field::One(MapField::Swizzle)),
        ("fill_mode", Field::One(MapField::Fill)),
        ("box_dim", Field::Many(MapField::BoxDim)),
        ("global_dim", Field::Many(MapField::GlobalDim)),
        ("global_stride", Field::Many(MapField::GlobalStride)),
        ("element_stride", Field::Many(MapField::ElementStride)),
    ])?;
    let space = words.space();
    if !matches!(space, Space::Generic | Space::Global | Space::Shared) {
        return None;
    }
    let ty = words.ty()?;
    let (field, address, value) = match (field, operands) {
        (Field::One(field), [address, value]) => (field, address, value),
        (Field::Many(field), &[ref address, Operand::Int(nth), ref value]) => {
            let nth = u8::try_from(nth).ok().filter(|&nth| nth < 5)?;
            (field(nth), address, value)
        }
        _ => return None,
    };
    let bits = match field {
        MapField::GlobalAddress | MapField::GlobalStride(_) => 64,
        _ => 32,
    };
    // The values of these fields are constants of the instruction.
    let limit = match field {
        MapField::ElementType => Some(12),
        MapField::Interleave => Some(2),
        MapField::Swizzle => Some(3),
        MapField::Fill => Some(1),
        _ => None,
    };
    let allowed = match (limit, value) {
        (None, _) => true,
        (Some(limit), &Operand::Int(value)) => value <= limit,
        _ => false,
    };
    if ty.bits != bits || !allowed {
        return None;
    }
    Some(Op::ReplaceMap(Box::new(MapReplacement {
        field,
        address: decode_address(linker, space, address)?,
        value: linker.source_slot(value, ty)?,
    })))
}
