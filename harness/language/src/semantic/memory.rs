//! Loads, stores and atomics. Cache hints are ignored, because they change no result. See `strided` for the pointers of block
//! pointers and tensor descriptors.

use cerith_tile::DType;
use cerith_tile::ir::{AtomicOp, BinaryOp, CmpPredicate, Elem, MemoryOrder, OpKind, Type, UnaryOp, ValueId};
use cerith_tile::quirk::Quirk;
use cerith_tile::rules::Rule;

use super::arithmetic::select;
use super::cast::{bitcast, bool_like, bool_pointer, cast, cast_elem, elem_shown, stored_bool};
use super::promotion::Operand;
use super::shape::{broadcast, broadcast_all, broadcast_to, describe_shape};
use crate::lowering::Lowering;
use crate::stop::Traced;

/// The element that a pointer points to; any other value is rejected.
fn expect_pointee(lo: &Lowering, pointer: ValueId, function: &str) -> Traced<Elem> {
    let elem = lo.ty(pointer).elem;
    elem.pointee().ok_or_else(|| {
        lo.reject(format!(
            "unsupported pointer type {} in `tl.{function}`",
            elem_shown(elem)
        ))
    })
}

/// Refuses a block beside a scalar pointer.
fn no_block(lo: &Lowering, value: Option<ValueId>, what: &str) -> Traced<()> {
    if value.is_some_and(|value| lo.is_block(value)) {
        return Err(lo.reject(format!("{what} cannot be a block if the pointer is not a block")));
    }
    Ok(())
}

fn check_mask(lo: &Lowering, mask: Option<ValueId>) -> Traced<()> {
    match mask.map(|mask| lo.ty(mask).elem) {
        Some(elem) if elem != Elem::Num(DType::I1) => Err(lo.reject(format!(
            "mask must have boolean scalar type, not {}",
            elem_shown(elem)
        ))),
        _ => Ok(()),
    }
}

/// `tl.load`.
pub fn load(
    lo: &mut Lowering,
    mut pointer: ValueId,
    mut mask: Option<ValueId>,
    mut other: Option<ValueId>,
    volatile: bool,
) -> Traced<ValueId> {
    let mut element = expect_pointee(lo, pointer, "load")?;
    if mask.is_none() && other.is_some() {
        return Err(lo.reject("`other` cannot be provided without `mask`"));
    }
    if lo.is_block(pointer) {
        for value in [&mut mask, &mut other].into_iter().flatten() {
            if lo.rules.holds(Rule::LoadBroadcastsPointer) {
                (pointer, *value) = broadcast(lo, pointer, *value)?;
            } else {
                let shape = lo.ty(pointer).shape.clone();
                *value = broadcast_to(lo, *value, &shape)?;
            }
        }
        // A pointer that was broadcast with `other` has a larger shape than the mask.
        if let Some(mask) = &mut mask {
            let shape = lo.ty(pointer).shape.clone();
            *mask = broadcast_to(lo, *mask, &shape)?;
        }
    } else {
        no_block(lo, mask, "the mask")?;
        no_block(lo, other, "`other`")?;
    }
    check_mask(lo, mask)?;
    let (pointer, is_bool) = bool_pointer(lo, pointer);
    if is_bool {
        element = Elem::Num(DType::I8);
    }
    if let Some(other) = &mut other {
        *other = cast_elem(lo, *other, element, None)?;
    }
    let ty = lo.ty(pointer).with_elem(element);
    let operands: Vec<ValueId> = [Some(pointer), mask, other].into_iter().flatten().collect();
    let kind = OpKind::Load {
        mask: mask.is_some(),
        has_other: other.is_some(),
        volatile,
    };
    let loaded = lo.emit_op(kind, &operands, ty);
    if is_bool && lo.rules.holds(Rule::LoadedBoolsAreI1) {
        cast(lo, loaded, DType::I1)
    } else {
        Ok(loaded)
    }
}

/// Pointer, value and mask of a store or atomic in one shape, which must be the pointer's.
fn stored_operands(
    lo: &mut Lowering,
    pointer: ValueId,
    value: ValueId,
    mask: Option<ValueId>,
) -> Traced<(ValueId, ValueId, Option<ValueId>)> {
    if !lo.is_block(pointer) {
        no_block(lo, Some(value), "the value")?;
        no_block(lo, mask, "the mask")?;
        return Ok((pointer, value, mask));
    }
    let shape = lo.ty(pointer).shape.clone();
    if !lo.rules.holds(Rule::StoreAddsDimensions) {
        let value = broadcast_to(lo, value, &shape)?;
        let mask = mask.map(|mask| broadcast_to(lo, mask, &shape)).transpose()?;
        return Ok((pointer, value, mask));
    }
    let operands: Vec<ValueId> = [Some(pointer), Some(value), mask].into_iter().flatten().collect();
    let operands = broadcast_all(lo, &operands)?;
    let (Some(&wide), Some(&value)) = (operands.first(), operands.get(1)) else {
        return Err(lo.report_unsupported("a store without operands"));
    };
    if lo.ty(wide).shape != shape {
        return Err(lo.reject(format!(
            "expected the pointer to have shape {} but got {}",
            describe_shape(&lo.ty(wide).shape),
            describe_shape(&shape)
        )));
    }
    Ok((pointer, value, operands.get(2).copied()))
}

/// `tl.store`.
pub fn store(lo: &mut Lowering, pointer: ValueId, value: ValueId, mask: Option<ValueId>) -> Traced<()> {
    let element = expect_pointee(lo, pointer, "store")?;
    let (pointer, value, mask) = stored_operands(lo, pointer, value, mask)?;
    check_mask(lo, mask)?;
    let (pointer, is_bool) = bool_pointer(lo, pointer);
    let value = if is_bool {
        stored_bool(lo, value)?
    } else {
        cast_elem(lo, value, element, None)?
    };
    let operands: Vec<ValueId> = [Some(pointer), Some(value), mask].into_iter().flatten().collect();
    lo.builder
        .add_effect(OpKind::Store { mask: mask.is_some() }, &operands);
    Ok(())
}

/// The element of an atomic load or store: an integer or a float, and `i8` in place of `i1`.
fn whole_element(lo: &mut Lowering, pointer: ValueId, function: &str) -> Traced<(ValueId, DType, bool)> {
    let Some(dtype) = expect_pointee(lo, pointer, function)?.num() else {
        return Err(lo.reject(format!(
            "{function} only supports integer and floating-point elements"
        )));
    };
    let (pointer, is_bool) = bool_pointer(lo, pointer);
    Ok((pointer, if is_bool { DType::I8 } else { dtype }, is_bool))
}

/// `tl.atomic_load`: a load that may run at the same time as other programs' writes.
pub(crate) fn atomic_load(
    lo: &mut Lowering,
    mut pointer: ValueId,
    mut mask: Option<ValueId>,
) -> Traced<ValueId> {
    expect_pointee(lo, pointer, "atomic_load")?;
    if lo.is_block(pointer) {
        if let Some(mask) = &mut mask {
            (pointer, *mask) = broadcast(lo, pointer, *mask)?;
        }
    } else {
        no_block(lo, mask, "the mask")?;
    }
    check_mask(lo, mask)?;
    let (pointer, dtype, is_bool) = whole_element(lo, pointer, "atomic_load")?;
    let ty = lo.ty(pointer).with_elem(Elem::Num(dtype));
    let operands: Vec<ValueId> = [Some(pointer), mask].into_iter().flatten().collect();
    let kind = OpKind::Load {
        mask: mask.is_some(),
        has_other: false,
        volatile: true,
    };
    let loaded = lo.emit_op(kind, &operands, ty);
    if is_bool {
        cast(lo, loaded, DType::I1)
    } else {
        Ok(loaded)
    }
}

/// `tl.atomic_store`: an exchange without a result.
pub(crate) fn atomic_store(
    lo: &mut Lowering,
    pointer: ValueId,
    value: ValueId,
    mask: Option<ValueId>,
    order: MemoryOrder,
) -> Traced<()> {
    expect_pointee(lo, pointer, "atomic_store")?;
    let (pointer, value, mask) = stored_operands(lo, pointer, value, mask)?;
    check_mask(lo, mask)?;
    let (pointer, dtype, _) = whole_element(lo, pointer, "atomic_store")?;
    let value = cast(lo, value, dtype)?;
    exchange(lo, AtomicOp::Xchg, pointer, value, mask, order);
    Ok(())
}

/// `tl.atomic_poll`.
pub(crate) fn atomic_poll(
    lo: &mut Lowering,
    pointer: ValueId,
    expected: ValueId,
    timeout: bool,
) -> Traced<ValueId> {
    let element = expect_pointee(lo, pointer, "atomic_poll")?;
    let Some(dtype) = element
        .num()
        .filter(|dtype| dtype.is_int() && matches!(dtype.bits(), 16 | 32 | 64))
    else {
        return Err(lo.reject("atomic_poll only supports integer elements with width 16, 32 or 64"));
    };
    let expected = cast(lo, expected, dtype)?;
    let (pointer, expected, _) = stored_operands(lo, pointer, expected, None)?;
    let ty = bool_like(lo.ty(expected));
    Ok(lo.emit_op(OpKind::AtomicPoll { timeout }, &[pointer, expected], ty))
}

/// `tl.atomic_add` and its like.
pub(crate) fn lower_atomic(
    lo: &mut Lowering,
    op: AtomicOp,
    pointer: ValueId,
    value: ValueId,
    mask: Option<ValueId>,
    order: MemoryOrder,
) -> Traced<ValueId> {
    let function = format!("atomic_{}", op.name());
    let element = expect_pointee(lo, pointer, &function)?;
    let Some(dtype) = element.num() else {
        return Err(lo.reject(format!("{function} does not support {}", elem_shown(element))));
    };
    let small = match dtype {
        DType::F16 => op != AtomicOp::Add,
        DType::BF16 => op != AtomicOp::Add || !lo.rules.holds(Rule::AtomicAddTakesBfloat),
        _ => dtype.bits() <= 16,
    };
    if small {
        return Err(lo.reject(format!("{function} does not support {}", elem_shown(element))));
    }
    let (pointer, value, mask) = stored_operands(lo, pointer, value, mask)?;
    let value = cast(lo, value, dtype)?;
    check_mask(lo, mask)?;
    if dtype.is_float() && matches!(op, AtomicOp::Min | AtomicOp::Max) {
        return float_extremum(lo, op, pointer, value, mask, order);
    }
    if dtype.is_float() && matches!(op, AtomicOp::And | AtomicOp::Or | AtomicOp::Xor) {
        return on_bits(lo, op, pointer, value, mask, order);
    }
    Ok(exchange(lo, op, pointer, value, mask, order))
}

/// A bitwise atomic of floats: `atom.and.b32` and similar instructions on their bits. The compiler accepts it, and an H200 executes it.
fn on_bits(
    lo: &mut Lowering,
    op: AtomicOp,
    pointer: ValueId,
    value: ValueId,
    mask: Option<ValueId>,
    order: MemoryOrder,
) -> Traced<ValueId> {
    let elem = lo.ty(value).elem;
    let bits = if elem == Elem::Num(DType::F64) {
        DType::I64
    } else {
        DType::I32
    };
    let value = bitcast(lo, value, Elem::Num(bits))?;
    let pointer = cast_elem(lo, pointer, Elem::ptr_to(bits), None)?;
    let before = exchange(lo, op, pointer, value, mask, order);
    bitcast(lo, before, elem)
}

/// An atomic of operands that fit.
pub fn exchange(
    lo: &mut Lowering,
    op: AtomicOp,
    pointer: ValueId,
    value: ValueId,
    mask: Option<ValueId>,
    order: MemoryOrder,
) -> ValueId {
    let ty = lo.ty(value).clone();
    let operands: Vec<ValueId> = [Some(pointer), Some(value), mask].into_iter().flatten().collect();
    lo.emit_op(
        OpKind::AtomicRmw {
            op,
            mask: mask.is_some(),
            order,
        },
        &operands,
        ty,
    )
}

/// The larger (or smaller) float through integer atomics: where the operand's sign bit is clear, as signed integers,
/// where it is set, the other extremum of unsigned ones.
fn float_extremum(
    lo: &mut Lowering,
    op: AtomicOp,
    pointer: ValueId,
    value: ValueId,
    mask: Option<ValueId>,
    order: MemoryOrder,
) -> Traced<ValueId> {
    let ty = lo.ty(value).clone();
    let bools = bool_like(&ty);
    let (signed, unsigned) = if ty.elem == Elem::Num(DType::F64) {
        (DType::I64, DType::U64)
    } else {
        (DType::I32, DType::U32)
    };
    let (negative, positive) = if lo.has_quirk(Quirk::AtomicExtremaByComparison) {
        let zero = lo.emit_constant(0, ty.clone());
        let positive = lo.emit_op(OpKind::Compare(CmpPredicate::Ge), &[value, zero], bools.clone());
        (
            lo.emit_op(OpKind::Compare(CmpPredicate::Lt), &[value, zero], bools.clone()),
            positive,
        )
    } else {
        let bits = bitcast(lo, value, Elem::Num(signed))?;
        let zero = lo.emit_constant(0, ty.with_elem(Elem::Num(signed)));
        let negative = lo.emit_op(OpKind::Compare(CmpPredicate::Lt), &[bits, zero], bools.clone());
        (
            negative,
            lo.emit_op(OpKind::Unary(UnaryOp::Not), &[negative], bools.clone()),
        )
    };
    let other = if op == AtomicOp::Max {
        AtomicOp::Min
    } else {
        AtomicOp::Max
    };
    let gives_bits =
        op == AtomicOp::Min && ty.elem == Elem::Num(DType::F64) && lo.has_quirk(Quirk::AtomicMinGivesBits);
    let mut parts = [value, value];
    for (part, (dtype, op, lanes)) in parts
        .iter_mut()
        .zip([(signed, op, positive), (unsigned, other, negative)])
    {
        let value = bitcast(lo, value, Elem::Num(dtype))?;
        let pointer = cast_elem(lo, pointer, Elem::ptr_to(dtype), None)?;
        let lanes = match mask {
            Some(mask) => lo.emit_op(OpKind::Binary(BinaryOp::And), &[mask, lanes], bools.clone()),
            None => lanes,
        };
        let before = exchange(lo, op, pointer, value, Some(lanes), order);
        *part = if gives_bits {
            cast_elem(lo, before, ty.elem, None)?
        } else {
            bitcast(lo, before, ty.elem)?
        };
    }
    let [from_positive, from_negative] = parts;
    select(
        lo,
        positive,
        Operand::Tensor(from_positive),
        Operand::Tensor(from_negative),
    )
}

/// `tl.atomic_cas`: nothing is broadcast or cast.
pub fn atomic_cas(
    lo: &mut Lowering,
    pointer: ValueId,
    compare: ValueId,
    value: ValueId,
    order: MemoryOrder,
) -> Traced<ValueId> {
    let element = expect_pointee(lo, pointer, "atomic_cas")?;
    if !element
        .num()
        .is_some_and(|dtype| matches!(dtype.bits(), 16 | 32 | 64))
    {
        return Err(lo.reject("atomic_cas only supports elements with width 16, 32 or 64"));
    }
    let wanted: Type = lo.ty(pointer).with_elem(element);
    for (what, operand) in [("cmp", compare), ("val", value)] {
        let shapes_agree = lo.ty(operand).shape == wanted.shape;
        // Lowering failed for such a `val` even then.
        if what == "cmp"
            && shapes_agree
            && !same_bits(lo.ty(operand), &wanted)
            && !lo.rules.holds(Rule::AtomicCasIsChecked)
        {
            return Err(lo.report_unsupported("an atomic_cas whose `cmp` is not of the pointer's type"));
        }
        if !same_bits(lo.ty(operand), &wanted) {
            return Err(lo.reject(format!(
                "atomic_cas needs `{what}` of the type that the pointer points to, {wanted}, but it is {}",
                lo.ty(operand)
            )));
        }
    }
    // Integers of another signedness have the same IR type in Triton, and the result has the value's.
    let given = lo.ty(value).elem;
    let compare = bitcast(lo, compare, element)?;
    let value = bitcast(lo, value, element)?;
    let ty = lo.ty(value).clone();
    let before = lo.emit_op(OpKind::AtomicCas { order }, &[pointer, compare, value], ty);
    bitcast(lo, before, given)
}

/// Whether two types are one to MLIR, where integers have no sign.
fn same_bits(a: &Type, b: &Type) -> bool {
    let signless = |elem: Elem| elem.num().filter(|dtype| dtype.is_int()).map(DType::bits);
    a.shape == b.shape
        && (a.elem == b.elem || signless(a.elem).is_some() && signless(a.elem) == signless(b.elem))
}
