//! Bulk copies (`cp.async.bulk`, `cp.reduce.async.bulk`), with and without tensor maps, and `st.async`.

use smallvec::SmallVec;

use super::memory::decode_address;
use super::{LONG, WORD, Words, vector_elements};
use crate::link::Linker;
use crate::op::bulk::{
    AsyncStore, BulkCopy, Completion, Reduction, ReductionName, TensorCopy, TensorDirection,
};
use crate::op::{Access, Address, Op, Order, Scope, Slot, StateSpace};
use crate::syntax::{Kind, Operand, Space};

pub(super) fn decode(
    linker: &mut Linker<'_>,
    name: &str,
    words: &mut Words<'_>,
    operands: &[Operand],
) -> Option<Op> {
    if matches!(name, "st" | "red") {
        return words
            .take("async")
            .then(|| decode_store(linker, name, words, operands))?;
    }
    let reduces = name == "cp" && words.take("reduce");
    if name != "cp" || !words.take("async") || !words.take("bulk") {
        return None;
    }
    if words.take("commit_group") {
        return operands.is_empty().then_some(Op::CommitBulk);
    }
    if words.take("wait_group") {
        let reads = words.take("read");
        let [Operand::Int(left)] = *operands else {
            return None;
        };
        let left = u32::try_from(left).ok()?;
        return Some(Op::WaitBulk { left, reads });
    }
    if words.take("prefetch") {
        // A prefetch has no effect besides time.
        words.left.clear();
        return Some(Op::Nothing);
    }
    let mut operands = operands;
    // The cache policy is the last operand.
    if words.take("L2::cache_hint") {
        let (policy, rest) = operands.split_last()?;
        linker.source_slot(policy, LONG)?;
        operands = rest;
    }
    let multicast = if words.take("multicast::cluster") {
        let (blocks, rest) = operands.split_last()?;
        operands = rest;
        Some(linker.source_slot(blocks, WORD)?)
    } else {
        None
    };
    let reduction = if reduces {
        Some(decode_reduction_name(words)?)
    } else {
        None
    };
    if words.take("tensor") {
        return decode_tensor_copy(linker, words, operands, multicast, reduction);
    }
    let reduction = match reduction {
        Some(name) => {
            let shared = words.left.contains(&"shared::cluster");
            Some(decode_reduction(words, name, shared)?)
        }
        None => None,
    };
    decode_copy(linker, words, operands, multicast, reduction).map(|copy| Op::BulkCopy(Box::new(copy)))
}

/// Removes the spaces of the destination and of the source, in the order in which they are written.
fn take_spaces(words: &mut Words<'_>) -> Option<(StateSpace, StateSpace)> {
    let mut take = || {
        let read = |word: &str| match word {
            "global" => Some(StateSpace::Global),
            "shared::cta" => Some(StateSpace::Shared),
            "shared::cluster" => Some(StateSpace::Cluster),
            _ => None,
        };
        let at = words.left.iter().position(|word| read(word).is_some())?;
        read(words.left.remove(at))
    };
    Some((take()?, take()?))
}

fn decode_completion(
    linker: &mut Linker<'_>,
    words: &mut Words<'_>,
    mbarrier: Option<&Operand>,
) -> Option<Completion> {
    if words.take("mbarrier::complete_tx::bytes") {
        let address = decode_address(linker, Space::Cluster, mbarrier?)?;
        return Some(Completion::Mbarrier(address));
    }
    (words.take("bulk_group") && mbarrier.is_none()).then_some(Completion::Group)
}

fn decode_address_in(linker: &mut Linker<'_>, space: StateSpace, operand: &Operand) -> Option<Address> {
    let address = decode_address(linker, Space::Generic, operand)?;
    Some(Address {
        place: space,
        ..address
    })
}

fn decode_copy(
    linker: &mut Linker<'_>,
    words: &mut Words<'_>,
    operands: &[Operand],
    multicast: Option<Slot>,
    reduction: Option<Reduction>,
) -> Option<BulkCopy> {
    let (to_space, from_space) = take_spaces(words)?;
    let (to, from, bytes, mbarrier) = match operands {
        [to, from, bytes] => (to, from, bytes, None),
        [to, from, bytes, mbarrier] => (to, from, bytes, Some(mbarrier)),
        _ => return None,
    };
    let completion = decode_completion(linker, words, mbarrier)?;
    let is_group = matches!(completion, Completion::Group);
    let allowed = match (to_space, from_space) {
        (StateSpace::Shared | StateSpace::Cluster, StateSpace::Global) => !is_group && reduction.is_none(),
        // Unsupported: from one block's shared memory to another's, which the machine doesn't copy.
        (StateSpace::Global, StateSpace::Shared) => is_group && multicast.is_none(),
        _ => false,
    };
    if !allowed {
        return None;
    }
    Some(BulkCopy {
        to: decode_address_in(linker, to_space, to)?,
        from: decode_address_in(linker, from_space, from)?,
        bytes: linker.source_slot(bytes, WORD)?,
        completion,
        multicast,
        reduction,
    })
}

fn decode_tensor_copy(
    linker: &mut Linker<'_>,
    words: &mut Words<'_>,
    operands: &[Operand],
    multicast: Option<Slot>,
    reduction: Option<ReductionName>,
) -> Option<Op> {
    let rank = words.take_one(&[("1d", 1u8), ("2d", 2), ("3d", 3), ("4d", 4), ("5d", 5)])?;
    words.take("tile");
    let (to_space, from_space) = take_spaces(words)?;
    let loads = match (to_space, from_space) {
        (StateSpace::Shared | StateSpace::Cluster, StateSpace::Global) => true,
        (StateSpace::Global, StateSpace::Shared) => false,
        _ => return None,
    };
    let (map, shared, mbarrier) = match operands {
        [shared, map, mbarrier] if loads => (map, shared, Some(mbarrier)),
        [map, shared] if !loads => (map, shared, None),
        _ => return None,
    };
    let Operand::Coordinates(base, offset, coordinates) = map else {
        return None;
    };
    let completion = decode_completion(linker, words, mbarrier)?;
    let direction = match (loads, reduction) {
        (true, None) => TensorDirection::Load,
        (false, None) => TensorDirection::Store,
        (false, Some(name)) => TensorDirection::Reduce(name),
        (true, Some(_)) => return None,
    };
    if coordinates.len() != usize::from(rank) || multicast.is_some() && !loads {
        return None;
    }
    let coordinates: SmallVec<[Slot; 5]> = coordinates
        .iter()
        .map(|coordinate| linker.source_slot(coordinate, WORD))
        .collect::<Option<_>>()?;
    let shared_space = if loads { to_space } else { from_space };
    Some(Op::TensorCopy(Box::new(TensorCopy {
        direction,
        rank,
        map: decode_address(linker, Space::Generic, &Operand::Address(*base, *offset))?,
        coordinates,
        shared: decode_address_in(linker, shared_space, shared)?,
        completion,
        multicast,
    })))
}

fn decode_reduction_name(words: &mut Words<'_>) -> Option<ReductionName> {
    words.take_one(&[
        ("add", ReductionName::Add),
        ("min", ReductionName::Min),
        ("max", ReductionName::Max),
        ("inc", ReductionName::Inc),
        ("dec", ReductionName::Dec),
        ("and", ReductionName::And),
        ("or", ReductionName::Or),
        ("xor", ReductionName::Xor),
    ])
}

/// Decodes the type of a reduction, if the PTX ISA has one of this name and type: fewer in shared memory.
fn decode_reduction(words: &mut Words<'_>, name: ReductionName, shared: bool) -> Option<Reduction> {
    use ReductionName::{Add, And, Dec, Inc, Max, Min, Or, Xor};
    let keeps_subnormals = words.take("noftz");
    let ty = words.ty()?;
    let is_half = matches!(ty.kind, Kind::Float | Kind::Brain) && ty.bits == 16;
    let allowed = match (name, ty.kind, ty.bits) {
        _ if ty.pair => false,
        (Add | Min | Max, ..) if is_half => !shared && keeps_subnormals == (name == Add),
        _ if keeps_subnormals => false,
        (Add, Kind::Unsigned, 64)
        | (Add | Min | Max, Kind::Signed | Kind::Unsigned, 32)
        | (Inc | Dec, Kind::Unsigned, 32)
        | (And | Or | Xor, Kind::Bits, 32) => true,
        (Add, Kind::Float, 32 | 64)
        | (Min | Max, Kind::Signed | Kind::Unsigned, 64)
        | (And | Or | Xor, Kind::Bits, 64) => !shared,
        _ => false,
    };
    allowed.then_some(Reduction { name, ty })
}

/// `st.async` and `red.async`.
fn decode_store(
    linker: &mut Linker<'_>,
    name: &str,
    words: &mut Words<'_>,
    operands: &[Operand],
) -> Option<Op> {
    let [address, value, mbarrier] = operands else {
        return None;
    };
    if !words.take("shared::cluster") || !words.take("mbarrier::complete_tx::bytes") {
        return None;
    }
    words.order();
    let (reduction, count, ty) = if name == "red" {
        let name = decode_reduction_name(words)?;
        let reduction = decode_reduction(words, name, true)?;
        (Some(reduction), 1, reduction.ty)
    } else {
        let count = words.take_one(&[("v2", 2u8), ("v4", 4)]).unwrap_or(1);
        (None, count, words.ty()?)
    };
    let elements = vector_elements(value);
    if !matches!(ty.bits, 32 | 64) || elements.len() != usize::from(count) {
        return None;
    }
    let mut registers = [0; 8];
    for (slot, element) in registers.iter_mut().zip(elements) {
        *slot = linker.source_slot(element, ty)?;
    }
    let access = Access {
        address: decode_address(linker, Space::Cluster, address)?,
        bytes: ty.bytes() as u8,
        count,
        signed: false,
        whole_word: false,
        order: Order::Weak,
        scope: Scope::Cluster,
        registers,
    };
    Some(Op::AsyncStore(Box::new(AsyncStore {
        access,
        mbarrier: decode_address(linker, Space::Cluster, mbarrier)?,
        reduction,
    })))
}
