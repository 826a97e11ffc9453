//! Instructions on the matrix unit.

use smallvec::SmallVec;

use super::{Words, vector_elements};
use crate::link::Linker;
use crate::op::{Address, MatrixLoad, Mma, MmaKind, Op, Slot, StateSpace};
use crate::syntax::{Base, Kind, Operand, Type};

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
        "mma" => decode_mma(linker, words, operands),
        "ldmatrix" => decode_load(linker, words, operands),
        _ => None,
    }
}

fn decode_load(linker: &mut Linker<'_>, words: &mut Words<'_>, operands: &[Operand]) -> Option<Op> {
    let [to, Operand::Address(base, offset)] = operands else {
        return None;
    };
    if !words.take("m8n8") || !(words.take("shared") || words.take("shared::cta")) {
        return None;
    }
    let count = words.take_one(&[("x1", 1usize), ("x2", 2), ("x4", 4)])?;
    let transposed = words.take("trans");
    if words.ty()?.bits != 16 {
        return None;
    }
    let base = match *base {
        Base::Register(number) => linker.register(number)?,
        Base::Absolute => linker.constant(0),
        Base::Variable(named) => linker.address_slot(named, 0)?,
    };
    let to = target_slots(linker, to)?;
    (to.len() == count).then(|| {
        Op::MatrixLoad(Box::new(MatrixLoad {
            address: Address {
                place: StateSpace::Shared,
                base,
                offset: *offset,
            },
            transposed,
            to,
        }))
    })
}

fn target_slots(linker: &mut Linker<'_>, operand: &Operand) -> Option<SmallVec<[Slot; 4]>> {
    vector_elements(operand)
        .iter()
        .map(|element| linker.target_slot(element))
        .collect()
}

fn source_slots(linker: &mut Linker<'_>, operand: &Operand, ty: Type) -> Option<SmallVec<[Slot; 4]>> {
    vector_elements(operand)
        .iter()
        .map(|element| linker.source_slot(element, ty))
        .collect()
}

fn decode_mma(linker: &mut Linker<'_>, words: &mut Words<'_>, operands: &[Operand]) -> Option<Op> {
    let (m, n, k) = words.take_one(&[
        ("m16n8k8", (16, 8, 8)),
        ("m16n8k16", (16, 8, 16)),
        ("m16n8k4", (16, 8, 4)),
        ("m16n8k32", (16, 8, 32)),
        ("m8n8k4", (8, 8, 4)),
        ("m8n8k16", (8, 8, 16)),
    ])?;
    if !words.take("row") || !words.take("col") {
        return None;
    }
    let saturate = words.take("satfinite");
    let (d, a, b, c) = (words.ty()?, words.ty()?, words.ty()?, words.ty()?);
    if d != c {
        return None;
    }
    let kind = match (a.kind, a.bits, d.kind, d.bits, k) {
        (Kind::Float, 16, Kind::Float, 16, 8 | 16) if m == 16 && a == b => MmaKind::HalfHalf,
        (Kind::Float, 16, Kind::Float, 32, 8 | 16) if m == 16 && a == b => MmaKind::Half,
        (Kind::Brain, 16, Kind::Float, 32, 8 | 16) if m == 16 && a == b => MmaKind::Brain,
        (Kind::Tensor, 32, Kind::Float, 32, 4 | 8) if m == 16 && a == b => MmaKind::Tensor,
        (Kind::Signed | Kind::Unsigned, 8, Kind::Signed, 32, 16 | 32) if b.bits == 8 => MmaKind::Byte {
            a_signed: a.kind == Kind::Signed,
            b_signed: b.kind == Kind::Signed,
            saturate,
        },
        (Kind::Float, 64, Kind::Float, 64, 4) if m == 8 && a == b => MmaKind::Double,
        _ => return None,
    };
    if saturate && !matches!(kind, MmaKind::Byte { .. }) {
        return None;
    }
    let [to, of_a, of_b, of_c] = operands else {
        return None;
    };
    let mma = Mma {
        kind,
        m,
        n,
        k,
        d: target_slots(linker, to)?,
        a: source_slots(linker, of_a, a)?,
        b: source_slots(linker, of_b, b)?,
        c: source_slots(linker, of_c, c)?,
    };
    // Registers of one lane for a matrix with elements of this many bits.
    let held = |rows: usize, columns: usize, bits: u32| rows * columns / 32 * bits as usize / 32;
    let registers =
        |rows, columns, ty: Type| held(rows, columns, ty.bits).max(1) / if ty.bits == 64 { 2 } else { 1 };
    let counts = [
        (mma.d.len(), registers(m, n, d).max(1)),
        (mma.c.len(), registers(m, n, d).max(1)),
        (mma.a.len(), registers(m, k, a).max(1)),
        (mma.b.len(), registers(k, n, b).max(1)),
    ];
    counts
        .iter()
        .all(|(has, wants)| has == wants)
        .then(|| Op::Mma(Box::new(mma)))
}
