//! `wgmma` and `stmatrix`.

use super::memory::decode_address;
use super::{LONG, Words, vector_elements};
use crate::link::Linker;
use crate::op::wgmma::{FactorType, LeftOperand, MatrixStore, SumType, Wgmma};
use crate::op::{Op, Slot};
use crate::syntax::{Kind, Operand, Space, Type};

pub(super) fn decode(
    linker: &mut Linker<'_>,
    name: &str,
    words: &mut Words<'_>,
    operands: &[Operand],
) -> Option<Op> {
    if !words.take("sync") || !words.take("aligned") {
        return None;
    }
    match name {
        "wgmma" if words.take("mma_async") => decode_product(linker, words, operands),
        "wgmma" if words.take("fence") => operands.is_empty().then_some(Op::FenceWgmma),
        "wgmma" if words.take("commit_group") => operands.is_empty().then_some(Op::CommitWgmma),
        "wgmma" if words.take("wait_group") => {
            let [Operand::Int(left)] = *operands else {
                return None;
            };
            u32::try_from(left).ok().map(Op::WaitWgmma)
        }
        "stmatrix" => decode_store(linker, words, operands),
        _ => None,
    }
}

/// Parses `m64n128k16`.
fn parse_shape(word: &str) -> Option<(usize, usize)> {
    let (n, k) = word.strip_prefix("m64n")?.split_once('k')?;
    Some((n.parse().ok()?, k.parse().ok()?))
}

fn factor_type(ty: Type) -> Option<FactorType> {
    if ty.pair {
        return None;
    }
    Some(match (ty.kind, ty.bits) {
        (Kind::Float, 16) => FactorType::F16,
        (Kind::Brain, 16) => FactorType::Bf16,
        (Kind::Tensor, 32) => FactorType::Tf32,
        (Kind::E4m3, 8) => FactorType::E4m3,
        (Kind::E5m2, 8) => FactorType::E5m2,
        (Kind::Signed, 8) => FactorType::S8,
        (Kind::Unsigned, 8) => FactorType::U8,
        _ => return None,
    })
}

/// Whether the PTX ISA has a product of these types and this shape.
fn is_product(a: FactorType, b: FactorType, sum: SumType, n: usize, k: usize) -> bool {
    use FactorType::{Bf16, E4m3, E5m2, F16, S8, Tf32, U8};
    let types = match (a, b) {
        (F16, F16) | (E4m3 | E5m2, E4m3 | E5m2) => matches!(sum, SumType::F16 | SumType::F32),
        (Bf16, Bf16) | (Tf32, Tf32) => sum == SumType::F32,
        (S8 | U8, S8 | U8) => matches!(sum, SumType::S32 { .. }),
        _ => false,
    };
    let width = n.is_multiple_of(8)
        && (8..=256).contains(&n)
        && (!matches!(sum, SumType::S32 { .. }) || n == 24 || n <= 32 || n.is_multiple_of(16));
    types && width && k * a.bytes() == 32
}

fn decode_product(linker: &mut Linker<'_>, words: &mut Words<'_>, operands: &[Operand]) -> Option<Op> {
    let at = words.left.iter().position(|word| parse_shape(word).is_some())?;
    let (n, k) = parse_shape(words.left.remove(at))?;
    let saturate = words.take("satfinite");
    let (d_type, a_ty, b_ty) = (words.any_ty()?, words.any_ty()?, words.any_ty()?);
    let (a_type, b_type) = (factor_type(a_ty)?, factor_type(b_ty)?);
    let sum_type = match (d_type.kind, d_type.bits, d_type.pair) {
        (Kind::Float, 16, false) => SumType::F16,
        (Kind::Float, 32, false) => SumType::F32,
        (Kind::Signed, 32, false) => SumType::S32 { saturate },
        _ => return None,
    };
    if !is_product(a_type, b_type, sum_type, n, k) || saturate && !matches!(sum_type, SumType::S32 { .. }) {
        return None;
    }
    let [d, a, b, adds, constants @ ..] = operands else {
        return None;
    };
    let d: Box<[Slot]> = vector_elements(d)
        .iter()
        .map(|element| linker.target_slot(element))
        .collect::<Option<_>>()?;
    let registers = if sum_type == SumType::F16 { n / 4 } else { n / 2 };
    if d.len() != registers {
        return None;
    }
    let a = match a {
        Operand::Vector(parts) => {
            let parts: &[Operand; 4] = parts.as_slice().try_into().ok()?;
            let mut slots = [0; 4];
            for (slot, part) in slots.iter_mut().zip(parts) {
                *slot = linker.source_slot(part, a_ty)?;
            }
            LeftOperand::Registers(slots)
        }
        a => LeftOperand::Descriptor(linker.source_slot(a, LONG)?),
    };
    let mut constants = constants.iter();
    let (mut negate_a, mut negate_b) = (false, false);
    if !matches!(sum_type, SumType::S32 { .. }) {
        negate_a = decode_sign(constants.next()?)?;
        negate_b = decode_sign(constants.next()?)?;
    }
    let (mut transpose_a, mut transpose_b) = (false, false);
    if matches!(a_type, FactorType::F16 | FactorType::Bf16) {
        if matches!(a, LeftOperand::Descriptor(_)) {
            transpose_a = decode_bit(constants.next()?)?;
        }
        transpose_b = decode_bit(constants.next()?)?;
    }
    if constants.next().is_some() {
        return None;
    }
    Some(Op::Wgmma(Box::new(Wgmma {
        a_type,
        b_type,
        sum_type,
        n,
        k,
        d,
        a,
        b: linker.source_slot(b, LONG)?,
        adds: linker.find_flag(adds)?,
        negate_a,
        negate_b,
        transpose_a,
        transpose_b,
    })))
}

/// Decodes a factor of 1 or -1. Returns whether it negates.
fn decode_sign(operand: &Operand) -> Option<bool> {
    match *operand {
        Operand::Int(1) => Some(false),
        Operand::Int(u64::MAX) => Some(true),
        _ => None,
    }
}

fn decode_bit(operand: &Operand) -> Option<bool> {
    match *operand {
        Operand::Int(0) => Some(false),
        Operand::Int(1) => Some(true),
        _ => None,
    }
}

fn decode_store(linker: &mut Linker<'_>, words: &mut Words<'_>, operands: &[Operand]) -> Option<Op> {
    let [address, from] = operands else { return None };
    let count = words.take_one(&[("x1", 1usize), ("x2", 2), ("x4", 4)])?;
    let transposed = words.take("trans");
    let space = words.space();
    if !words.take("m8n8") || !words.take("b16") || !matches!(space, Space::Generic | Space::Shared) {
        return None;
    }
    let ty = Type {
        kind: Kind::Bits,
        bits: 32,
        pair: false,
    };
    let from = vector_elements(from)
        .iter()
        .map(|element| linker.source_slot(element, ty))
        .collect::<Option<smallvec::SmallVec<[Slot; 4]>>>()?;
    (from.len() == count).then_some(())?;
    Some(Op::MatrixStore(Box::new(MatrixStore {
        address: decode_address(linker, space, address)?,
        transposed,
        from,
    })))
}
