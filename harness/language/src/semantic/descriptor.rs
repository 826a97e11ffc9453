//! Tensor descriptors, created by `tl.make_tensor_descriptor` or by the host, and the operations on them.
//!
//! They are lowered to masked pointers, as Triton does without a tensor memory accelerator. The accelerator's alignment to
//! 16 bytes is checked here too, because Triton's documentation requires it. Unsupported: `im2col` descriptors, and those
//! of Gluon.

use std::rc::Rc;

use cerith_tile::DType;
use cerith_tile::ir::{
    AtomicOp, BinaryOp, CmpPredicate, Demand, Elem, MemoryOrder, OpKind, Shape, Type, ValueId,
};
use cerith_tile::quirk::Quirk;
use cerith_tile::rules::Rule;

use super::cast::{bitcast, bool_like, cast, cast_elem, elem_shown};
use super::memory;
use super::promotion::describe_dtype as dtype_shown;
use super::shape::{block_shape, describe_shape};
use super::strided::{Axis, build_lanes, emit_padding, index, run, to_scalar};
use super::types::{as_items, describe, triton_type, type_text};
use crate::constant::{self, Constant};
use crate::lowering::Lowering;
use crate::stop::Traced;
use crate::value::{Descriptor, Value};

/// The unit of alignment, in bytes.
const ALIGNMENT: usize = 16;

/// The dimensions that a descriptor may have.
const MAX_RANK: usize = 5;

/// Emits what a descriptor has to fulfil when the kernel runs.
fn demand(lo: &mut Lowering, what: Demand, condition: ValueId) {
    lo.builder.add_effect(OpKind::Demand(what), &[condition]);
}

/// Whether so many elements of a size are a multiple of 16 bytes, as a condition. Nothing where they always are.
fn emit_alignment_test(lo: &mut Lowering, elements: ValueId, size: usize) -> Option<ValueId> {
    let unit = ALIGNMENT / size.clamp(1, ALIGNMENT);
    if unit <= 1 {
        return None;
    }
    let ty = lo.ty(elements).clone();
    let mask = lo.emit_constant(unit as u64 - 1, ty.clone());
    let rest = lo.emit_op(OpKind::Binary(BinaryOp::And), &[elements, mask], ty.clone());
    let zero = lo.emit_constant(0, ty.clone());
    Some(lo.emit_op(OpKind::Compare(CmpPredicate::Eq), &[rest, zero], bool_like(&ty)))
}

/// The dtype that a pointer to numbers points to.
fn find_pointee(lo: &Lowering, base: ValueId) -> Option<DType> {
    lo.ty(base).elem.pointee().and_then(Elem::num)
}

/// Refuses a block whose last dimension has less than 16 bytes.
pub fn wide_enough(lo: &Lowering, dtype: DType, extent: i128) -> Traced<()> {
    // As the compiler counts: an `i1` has no bytes.
    let bytes = i128::from(dtype.bits() / 8);
    if extent.saturating_mul(bytes) < ALIGNMENT as i128 {
        return Err(lo.reject(format!(
            "a descriptor's block must have at least 16 bytes in the last dimension, but has {extent} elements of \
             {bytes} bytes"
        )));
    }
    Ok(())
}

/// The arguments of `tl.make_tensor_descriptor` after the base.
pub struct Layout<'a> {
    /// Extents of the tensor.
    pub shape: &'a Value,
    /// Its strides.
    pub strides: &'a Value,
    /// Extents of the block.
    pub block_shape: &'a Value,
    /// The value of lanes outside.
    pub padding: Option<&'a str>,
}

/// `tl.make_tensor_descriptor`.
pub fn make(lo: &mut Lowering, base: &Value, layout: &Layout<'_>) -> Traced<Value> {
    let (shape, strides) = (as_items(layout.shape), as_items(layout.strides));
    let extents = as_items(layout.block_shape);
    let rank = shape.len();
    if !(1..=MAX_RANK).contains(&rank) {
        return Err(lo.reject(format!("a descriptor has 1 to {MAX_RANK} dimensions, not {rank}")));
    }
    for (what, length) in [("strides", strides.len()), ("block shape", extents.len())] {
        if length != rank {
            return Err(lo.reject(format!(
                "the {what} has {length} dimensions, but the shape {rank}"
            )));
        }
    }
    let (base, dtype) = match base {
        Value::Tensor(id) if !lo.is_block(*id) && find_pointee(lo, *id).is_some() => {
            (*id, find_pointee(lo, *id).unwrap_or(DType::I8))
        }
        other => {
            let text = type_text(lo, other);
            return Err(lo.reject(format!("base must be a pointer to numbers, got {text}")));
        }
    };
    let known: Option<Vec<i128>> = extents
        .iter()
        .map(|extent| match extent {
            Value::Constant(constant) => constant::as_int(constant),
            _ => None,
        })
        .collect();
    let Some(known) = known else {
        return Err(lo.reject("a descriptor's block shape must be constexpr integers"));
    };
    wide_enough(lo, dtype, known.last().copied().unwrap_or(0))?;
    let one = matches!(strides.last(), Some(Value::Constant(last)) if constant::compare(
        CmpPredicate::Eq, last, &Constant::Int(1)) == Ok(true));
    if !one {
        let last = strides.last().map_or_else(String::new, describe);
        return Err(lo.reject(format!(
            "a descriptor's last stride must be 1, known at compile time, but is {last}"
        )));
    }
    if lo.rules.holds(Rule::DescriptorStridesAreChecked) {
        for stride in strides.iter().take(rank - 1) {
            if let Value::Constant(Constant::Int(stride)) = stride
                && stride.saturating_mul(dtype.size() as i128) % ALIGNMENT as i128 != 0
            {
                return Err(lo.reject(format!(
                    "a descriptor's strides must be multiples of 16 bytes, but {stride} elements are {} bytes",
                    stride.saturating_mul(dtype.size() as i128)
                )));
            }
        }
    }
    let shape: Box<[ValueId]> = shape
        .iter()
        .map(|extent| to_scalar(lo, extent, DType::I32, "an extent of a descriptor"))
        .collect::<Traced<_>>()?;
    let strides: Box<[ValueId]> = strides
        .iter()
        .map(|stride| to_scalar(lo, stride, DType::I64, "a stride of a descriptor"))
        .collect::<Traced<_>>()?;
    let block_shape = block_shape(lo, &known)?;
    let nan = match layout.padding {
        Some("zero") => false,
        Some("nan") if dtype.is_int() => {
            return Err(lo.reject("padding option `nan` is not supported for integer blocks"));
        }
        Some("nan") => true,
        Some(other) => return Err(lo.reject(format!("padding option `{other}` is not supported"))),
        None => return Err(lo.reject("a descriptor's padding option is `zero` or `nan`")),
    };
    let address = cast_elem(lo, base, Elem::Num(DType::I64), None)?;
    if let Some(condition) = emit_alignment_test(lo, address, 1) {
        demand(lo, Demand::AlignedBase, condition);
    }
    for &stride in strides.iter().take(rank - 1) {
        if let Some(condition) = emit_alignment_test(lo, stride, dtype.size()) {
            demand(lo, Demand::AlignedStrides, condition);
        }
    }
    for &extent in &shape {
        let ty = Type::num(DType::I32);
        let zero = lo.emit_constant(0, ty.clone());
        let proper = lo.emit_op(OpKind::Compare(CmpPredicate::Ge), &[extent, zero], bool_like(&ty));
        demand(lo, Demand::ProperShape, proper);
    }
    Ok(Value::Descriptor(Rc::new(Descriptor {
        base,
        shape,
        strides,
        block_shape,
        nan,
        round: false,
    })))
}

/// A value as a descriptor.
pub fn expect<'v>(lo: &Lowering, value: &'v Value) -> Traced<&'v Rc<Descriptor>> {
    match value {
        Value::Descriptor(descriptor) => Ok(descriptor),
        other => {
            let text = type_text(lo, other);
            Err(lo.reject(format!("expected a tensor descriptor, got {text}")))
        }
    }
}

/// The element's dtype; a host's descriptor of bools has none that is known.
fn expect_dtype(lo: &Lowering, descriptor: &Descriptor) -> Traced<DType> {
    match find_pointee(lo, descriptor.base) {
        Some(DType::I1) | None => Err(lo.report_unsupported("a descriptor of bools")),
        Some(dtype) => Ok(dtype),
    }
}

/// An offset along a dimension as an `i64`; along the last one it has to be a multiple of 16 bytes.
fn lower_offset(lo: &mut Lowering, descriptor: &Descriptor, value: &Value, last: bool) -> Traced<ValueId> {
    let size = expect_dtype(lo, descriptor)?.size();
    let at = index(lo, value, true, "an offset of a descriptor's block")?;
    let known = match value {
        Value::Constant(Constant::Int(number)) => Some(number * size as i128 % ALIGNMENT as i128 == 0),
        _ => None,
    };
    if last
        && known != Some(true)
        && let Some(condition) = emit_alignment_test(lo, at, size)
    {
        demand(lo, Demand::AlignedOffset, condition);
    }
    Ok(at)
}

/// An access to the lanes of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Load,
    Store,
}

/// An axis of a descriptor whose lanes are at these places.
fn build_axis(
    lo: &mut Lowering,
    descriptor: &Descriptor,
    nth: usize,
    at: ValueId,
    access: Access,
) -> Traced<Axis> {
    let (Some(&stride), Some(&limit)) = (descriptor.strides.get(nth), descriptor.shape.get(nth)) else {
        return Err(lo.report_unsupported("a descriptor without that dimension"));
    };
    let mut limit = cast(lo, limit, DType::I64)?;
    let whole_runs = access == Access::Store && lo.has_quirk(Quirk::DescriptorsStoreWholeRuns);
    if whole_runs && nth + 1 == descriptor.shape.len() {
        let run = (ALIGNMENT / (expect_dtype(lo, descriptor)?.bits() as usize / 8).max(1)) as u64;
        let ty = Type::num(DType::I64);
        let (more, mask) = (
            lo.emit_constant(run - 1, ty.clone()),
            lo.emit_constant(run.wrapping_neg(), ty.clone()),
        );
        limit = lo.emit_op(OpKind::Binary(BinaryOp::Add), &[limit, more], ty.clone());
        limit = lo.emit_op(OpKind::Binary(BinaryOp::And), &[limit, mask], ty);
    }
    Ok(Axis {
        positions: at,
        stride,
        limit: Some(limit),
        checked_below: true,
    })
}

/// The lanes of a block that begins at the offsets.
fn block(
    lo: &mut Lowering,
    descriptor: &Descriptor,
    offsets: &Value,
    access: Access,
) -> Traced<(ValueId, ValueId)> {
    let (Value::Tuple { items, .. } | Value::List(items)) = offsets else {
        return Err(lo.reject(format!(
            "offsets must be a list of integers, not {}",
            describe(offsets)
        )));
    };
    let rank = descriptor.block_shape.len();
    if items.len() != rank {
        return Err(lo.reject(format!("expected {rank} offsets, but got {}", items.len())));
    }
    let mut axes = Vec::with_capacity(rank);
    for (nth, (item, &extent)) in items.iter().zip(&descriptor.block_shape).enumerate() {
        let at = lower_offset(lo, descriptor, item, nth + 1 == rank)?;
        let at = run(lo, at, extent)?;
        axes.push(build_axis(lo, descriptor, nth, at, access)?);
    }
    build_masked_lanes(lo, descriptor, &axes)
}

fn build_masked_lanes(
    lo: &mut Lowering,
    descriptor: &Descriptor,
    axes: &[Axis],
) -> Traced<(ValueId, ValueId)> {
    match build_lanes(lo, descriptor.base, axes) {
        (pointers, Some(mask)) => Ok((pointers, mask)),
        _ => Err(lo.report_unsupported("a descriptor without dimensions")),
    }
}

/// Loads lanes, padded outside of the tensor and rounded if requested.
fn load_lanes(
    lo: &mut Lowering,
    descriptor: &Descriptor,
    (pointers, mask): (ValueId, ValueId),
) -> Traced<ValueId> {
    let dtype = expect_dtype(lo, descriptor)?;
    let shape = lo.ty(pointers).shape.clone();
    let other = emit_padding(lo, Elem::Num(dtype), &shape, descriptor.nan);
    let value = memory::load(lo, pointers, Some(mask), Some(other), false)?;
    if descriptor.round && dtype == DType::F32 && !lo.has_quirk(Quirk::DescriptorsNeverRound) {
        return round_to_tf32(lo, value);
    }
    Ok(value)
}

/// An `f32` with the 10 bits of fraction of a tf32, to nearest, ties to even; infinities and NaN as they are.
fn round_to_tf32(lo: &mut Lowering, value: ValueId) -> Traced<ValueId> {
    const DROPPED: u64 = 13;
    let bits = bitcast(lo, value, Elem::Num(DType::U32))?;
    let ty = lo.ty(bits).clone();
    let number = |lo: &mut Lowering, bits: u64| lo.emit_constant(bits, ty.clone());
    let binary = |lo: &mut Lowering, op, a, b| lo.emit_op(OpKind::Binary(op), &[a, b], ty.clone());
    let (dropped, one) = (number(lo, DROPPED), number(lo, 1));
    let below_half = number(lo, (1 << (DROPPED - 1)) - 1);
    let kept = number(lo, 0xFFFF_FFFF & !((1 << DROPPED) - 1));
    let exponent = number(lo, 0x7F80_0000);
    let odd = binary(lo, BinaryOp::LShr, bits, dropped);
    let odd = binary(lo, BinaryOp::And, odd, one);
    let bias = binary(lo, BinaryOp::Add, odd, below_half);
    let rounded = binary(lo, BinaryOp::Add, bits, bias);
    let rounded = binary(lo, BinaryOp::And, rounded, kept);
    let special = binary(lo, BinaryOp::And, bits, exponent);
    let special = lo.emit_op(
        OpKind::Compare(CmpPredicate::Eq),
        &[special, exponent],
        bool_like(&ty),
    );
    let chosen = lo.emit_op(OpKind::Select, &[special, bits, rounded], ty.clone());
    bitcast(lo, chosen, Elem::Num(DType::F32))
}

/// `descriptor.load`.
pub fn load(lo: &mut Lowering, descriptor: &Descriptor, offsets: &Value) -> Traced<ValueId> {
    let lanes = block(lo, descriptor, offsets, Access::Load)?;
    load_lanes(lo, descriptor, lanes)
}

/// A value that has to have a shape and, to the compiler's IR, an element type.
fn expect_value(
    lo: &mut Lowering,
    value: &Value,
    shape: &[usize],
    dtype: DType,
    casts: bool,
) -> Traced<ValueId> {
    let id = match value {
        Value::Tensor(id) if lo.ty(*id).shape.as_slice() == shape => *id,
        other => {
            let text = type_text(lo, other);
            return Err(lo.reject(format!(
                "expected a value of shape {}, got {text}",
                describe_shape(shape)
            )));
        }
    };
    let given = lo.ty(id).elem;
    if casts {
        return cast_elem(lo, id, Elem::Num(dtype), None);
    }
    // Integers of another signedness are one type to the compiler.
    let same = given.num().is_some_and(|given| {
        given == dtype || given.is_int() && dtype.is_int() && given.bits() == dtype.bits()
    });
    if !same {
        return Err(lo.reject(format!(
            "the descriptor's elements are {}, but the value's {}; cast it",
            dtype_shown(dtype),
            elem_shown(given)
        )));
    }
    bitcast(lo, id, Elem::Num(dtype))
}

/// `descriptor.store`.
pub fn store(lo: &mut Lowering, descriptor: &Descriptor, offsets: &Value, value: &Value) -> Traced<()> {
    let dtype = expect_dtype(lo, descriptor)?;
    let casts = lo.rules.holds(Rule::DescriptorStoreCasts);
    let value = expect_value(lo, value, &descriptor.block_shape, dtype, casts)?;
    let (pointers, mask) = block(lo, descriptor, offsets, Access::Store)?;
    memory::store(lo, pointers, value, Some(mask))
}

/// `descriptor.atomic_add` and the like.
pub(crate) fn lower_atomic(
    lo: &mut Lowering,
    op: AtomicOp,
    descriptor: &Descriptor,
    offsets: &Value,
    value: &Value,
) -> Traced<()> {
    use DType::{BF16, F16, F32, I32, I64, U32, U64};
    let dtype = expect_dtype(lo, descriptor)?;
    let allowed: &[DType] = match op {
        AtomicOp::Add => &[U32, I32, U64, F32, F16, BF16],
        AtomicOp::Min | AtomicOp::Max => &[U32, I32, U64, I64, F16, BF16],
        _ => &[U32, I32, U64, I64],
    };
    if !allowed.contains(&dtype) {
        return Err(lo.reject(format!(
            "unsupported dtype: a descriptor's atomic_{} does not take {}",
            op.name(),
            dtype_shown(dtype)
        )));
    }
    let value = expect_value(lo, value, &descriptor.block_shape, dtype, false)?;
    let (pointers, mask) = block(lo, descriptor, offsets, Access::Store)?;
    memory::exchange(lo, op, pointers, value, Some(mask), MemoryOrder::Relaxed);
    Ok(())
}

/// The lanes of rows of a descriptor, and their shape.
fn build_rows(
    lo: &mut Lowering,
    descriptor: &Descriptor,
    what: &str,
    rows: &Value,
    column: &Value,
    access: Access,
) -> Traced<((ValueId, ValueId), Shape)> {
    const MIN_ROWS: usize = 8;
    let dtype = expect_dtype(lo, descriptor)?;
    let [1, columns] = *descriptor.block_shape.as_slice() else {
        return Err(lo.reject(format!(
            "a descriptor's {what} needs a block of 1 row, but the block is {}",
            describe_shape(&descriptor.block_shape)
        )));
    };
    let ids = match rows {
        Value::Tensor(id) if lo.ty(*id).shape.len() == 1 => *id,
        other => {
            let text = type_text(lo, other);
            return Err(lo.reject(format!("x offsets must have one dimension, but got {text}")));
        }
    };
    let count = lo.ty(ids).shape.first().copied().unwrap_or(0);
    let narrow = match lo.dtype(ids) {
        Some(DType::I32) => true,
        Some(DType::I16) => lo.rules.holds(Rule::GatherOffsetsAreTyped),
        Some(DType::U32) => !lo.rules.holds(Rule::GatherOffsetsAreTyped),
        _ => false,
    };
    if !narrow {
        let text = triton_type(lo.ty(ids));
        return Err(lo.reject(format!("x offsets must be int16 or int32, but got {text}")));
    }
    if count < MIN_ROWS {
        return Err(lo.reject(format!(
            "a descriptor's {what} must have at least {MIN_ROWS} rows, but got {count}"
        )));
    }
    if dtype.bits() > 32 {
        return Err(lo.reject(format!(
            "a descriptor's {what} takes elements of at most 32 bits, not {}",
            dtype_shown(dtype)
        )));
    }
    let least = 32 / dtype.bits() as usize * 8;
    if columns < least {
        return Err(lo.reject(format!(
            "a descriptor's {what} of {} must have at least {least} columns, but got {columns}",
            dtype_shown(dtype)
        )));
    }
    let signed = if lo.dtype(ids) == Some(DType::U32) {
        bitcast(lo, ids, Elem::Num(DType::I32))?
    } else {
        ids
    };
    let down = cast(lo, signed, DType::I64)?;
    let first = lower_offset(lo, descriptor, column, true)?;
    let along = run(lo, first, columns)?;
    let axes = [
        build_axis(lo, descriptor, 0, down, access)?,
        build_axis(lo, descriptor, 1, along, access)?,
    ];
    let lanes = build_masked_lanes(lo, descriptor, &axes)?;
    Ok((lanes, [count, columns].as_slice().into()))
}

/// `descriptor.gather`.
pub fn gather(lo: &mut Lowering, descriptor: &Descriptor, x: &Value, y: &Value) -> Traced<ValueId> {
    let (lanes, _) = build_rows(lo, descriptor, "gather", x, y, Access::Load)?;
    load_lanes(lo, descriptor, lanes)
}

/// `descriptor.scatter`.
pub fn scatter(
    lo: &mut Lowering,
    descriptor: &Descriptor,
    value: &Value,
    x: &Value,
    y: &Value,
) -> Traced<()> {
    let ((pointers, mask), shape) = build_rows(lo, descriptor, "scatter", x, y, Access::Store)?;
    let dtype = expect_dtype(lo, descriptor)?;
    let value = expect_value(lo, value, &shape, dtype, false)?;
    memory::store(lo, pointers, value, Some(mask))
}

/// `descriptor.name`, methods left out.
pub(crate) fn find_attribute(lo: &Lowering, descriptor: &Descriptor, name: &str) -> Option<Value> {
    use crate::constant::TypeValue;
    let tensors = |values: &[ValueId]| Value::new_tuple(values.iter().map(|&id| Value::Tensor(id)));
    let elem = lo.ty(descriptor.base).elem.pointee()?;
    let shape = &descriptor.block_shape;
    Some(match name {
        "shape" => tensors(&descriptor.shape),
        "strides" => tensors(&descriptor.strides),
        "block_shape" => Value::new_tuple(shape.iter().map(|&extent| Value::from_int(extent as i128))),
        "dtype" => Value::Constant(Constant::Type(TypeValue::Elem(elem))),
        "block_type" => Value::Constant(Constant::Type(TypeValue::Block(elem, shape.clone()))),
        _ => return None,
    })
}
