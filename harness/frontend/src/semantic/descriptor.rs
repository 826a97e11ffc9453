//! Tensor descriptors: made by `tl.make_tensor_descriptor` or by the host, and what is done through them.
//!
//! They are lowered to masked pointers, as Triton does where there is no tensor memory accelerator. What that
//! accelerator demands (alignment to 16 bytes) is demanded here too, since it is written in Triton's documentation.
//! Left out: `im2col` descriptors, and those of Gluon.

use std::rc::Rc;

use cerith_tile::DType;
use cerith_tile::ir::{
    AtomicOp, BinaryOp, CmpPredicate, Demand, Elem, MemoryOrder, OpKind, Shape, Type, ValueId,
};
use cerith_tile::quirk::Quirk;
use cerith_tile::rules::Rule;

use super::cast::{bitcast, bool_like, cast, cast_elem, elem_shown};
use super::memory;
use super::promotion::{describe, shown as dtype_shown};
use super::shape::{block_shape, shown};
use super::tile::{Axis, index, items, lanes, padding, run, scalar};
use crate::constant;
use crate::tracer::{Traced, Tracer};
use crate::value::{Constant, Descriptor, Value};

/// What alignments are multiples of, in bytes.
const ALIGNMENT: usize = 16;

/// The dimensions that a descriptor may have.
const MAX_RANK: usize = 5;

/// Emits what a descriptor has to fulfil when the kernel runs.
fn demand(tr: &mut Tracer<'_>, what: Demand, condition: ValueId) {
    tr.builder.effect(OpKind::Demand(what), &[condition]);
}

/// Whether so many elements of a size are a multiple of 16 bytes, as a condition. Nothing where they always are.
fn aligned(tr: &mut Tracer<'_>, elements: ValueId, size: usize) -> Option<ValueId> {
    let unit = ALIGNMENT / size.clamp(1, ALIGNMENT);
    if unit <= 1 {
        return None;
    }
    let ty = tr.ty(elements).clone();
    let mask = tr.constant(unit as u64 - 1, ty.clone());
    let rest = tr.op(OpKind::Binary(BinaryOp::And), &[elements, mask], ty.clone());
    let zero = tr.constant(0, ty.clone());
    Some(tr.op(OpKind::Compare(CmpPredicate::Eq), &[rest, zero], bool_like(&ty)))
}

/// What a pointer to numbers points to.
fn element(tr: &Tracer<'_>, base: ValueId) -> Option<DType> {
    tr.ty(base).elem.pointee().and_then(Elem::num)
}

/// Refuses a block whose last dimension has less than 16 bytes.
pub(crate) fn wide_enough(tr: &Tracer<'_>, dtype: DType, extent: i128) -> Traced<()> {
    // As the compiler counts: an `i1` has no bytes.
    let bytes = i128::from(dtype.bits() / 8);
    if extent.saturating_mul(bytes) < ALIGNMENT as i128 {
        return Err(tr.reject(format!(
            "a descriptor's block must have at least 16 bytes in the last dimension, but has {extent} elements of \
             {bytes} bytes"
        )));
    }
    Ok(())
}

/// The arguments of `tl.make_tensor_descriptor` after the base.
pub(crate) struct Layout<'a> {
    /// Extents of the tensor.
    pub shape: &'a Value,
    /// Its strides.
    pub strides: &'a Value,
    /// Extents of the block.
    pub block_shape: &'a Value,
    /// What lanes outside hold.
    pub padding: Option<&'a str>,
}

/// `tl.make_tensor_descriptor`.
pub(crate) fn make(tr: &mut Tracer<'_>, base: &Value, layout: &Layout<'_>) -> Traced<Value> {
    let (shape, strides) = (items(layout.shape), items(layout.strides));
    let extents = items(layout.block_shape);
    let rank = shape.len();
    if !(1..=MAX_RANK).contains(&rank) {
        return Err(tr.reject(format!("a descriptor has 1 to {MAX_RANK} dimensions, not {rank}")));
    }
    for (what, length) in [("strides", strides.len()), ("block shape", extents.len())] {
        if length != rank {
            return Err(tr.reject(format!(
                "the {what} has {length} dimensions, but the shape {rank}"
            )));
        }
    }
    let (base, dtype) = match base {
        Value::Tensor(id) if !tr.is_block(*id) && element(tr, *id).is_some() => {
            (*id, element(tr, *id).unwrap_or(DType::I8))
        }
        other => {
            let text = tr.type_text(other);
            return Err(tr.reject(format!("base must be a pointer to numbers, got {text}")));
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
        return Err(tr.reject("a descriptor's block shape must be constexpr integers"));
    };
    wide_enough(tr, dtype, known.last().copied().unwrap_or(0))?;
    let one = matches!(strides.last(), Some(Value::Constant(last)) if constant::compare(
        CmpPredicate::Eq, last, &Constant::Int(1)) == Ok(true));
    if !one {
        let last = strides.last().map_or_else(String::new, describe);
        return Err(tr.reject(format!(
            "a descriptor's last stride must be 1, known at compile time, but is {last}"
        )));
    }
    if tr.rules.holds(Rule::DescriptorStridesAreChecked) {
        for stride in strides.iter().take(rank - 1) {
            if let Value::Constant(Constant::Int(stride)) = stride
                && stride.saturating_mul(dtype.size() as i128) % ALIGNMENT as i128 != 0
            {
                return Err(tr.reject(format!(
                    "a descriptor's strides must be multiples of 16 bytes, but {stride} elements are {} bytes",
                    stride.saturating_mul(dtype.size() as i128)
                )));
            }
        }
    }
    let shape: Box<[ValueId]> = shape
        .iter()
        .map(|extent| scalar(tr, extent, DType::I32, "an extent of a descriptor"))
        .collect::<Traced<_>>()?;
    let strides: Box<[ValueId]> = strides
        .iter()
        .map(|stride| scalar(tr, stride, DType::I64, "a stride of a descriptor"))
        .collect::<Traced<_>>()?;
    let block_shape = block_shape(tr, &known)?;
    let nan = match layout.padding {
        Some("zero") => false,
        Some("nan") if dtype.is_int() => {
            return Err(tr.reject("padding option `nan` is not supported for integer blocks"));
        }
        Some("nan") => true,
        Some(other) => return Err(tr.reject(format!("padding option `{other}` is not supported"))),
        None => return Err(tr.reject("a descriptor's padding option is `zero` or `nan`")),
    };
    let address = cast_elem(tr, base, Elem::Num(DType::I64), None)?;
    if let Some(condition) = aligned(tr, address, 1) {
        demand(tr, Demand::AlignedBase, condition);
    }
    for &stride in strides.iter().take(rank - 1) {
        if let Some(condition) = aligned(tr, stride, dtype.size()) {
            demand(tr, Demand::AlignedStrides, condition);
        }
    }
    for &extent in &shape {
        let ty = Type::num(DType::I32);
        let zero = tr.constant(0, ty.clone());
        let proper = tr.op(OpKind::Compare(CmpPredicate::Ge), &[extent, zero], bool_like(&ty));
        demand(tr, Demand::ProperShape, proper);
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
pub(crate) fn expect<'v>(tr: &Tracer<'_>, value: &'v Value) -> Traced<&'v Rc<Descriptor>> {
    match value {
        Value::Descriptor(descriptor) => Ok(descriptor),
        other => {
            let text = tr.type_text(other);
            Err(tr.reject(format!("expected a tensor descriptor, got {text}")))
        }
    }
}

/// The element's dtype; a host's descriptor of bools has none that is known.
fn dtype(tr: &Tracer<'_>, descriptor: &Descriptor) -> Traced<DType> {
    match element(tr, descriptor.base) {
        Some(DType::I1) | None => Err(tr.unsupported("a descriptor of bools")),
        Some(dtype) => Ok(dtype),
    }
}

/// An offset along a dimension as an `i64`; along the last one it has to be a multiple of 16 bytes.
fn offset(tr: &mut Tracer<'_>, descriptor: &Descriptor, value: &Value, last: bool) -> Traced<ValueId> {
    let size = dtype(tr, descriptor)?.size();
    let at = index(tr, value, true, "an offset of a descriptor's block")?;
    let known = match value {
        Value::Constant(Constant::Int(number)) => Some(number * size as i128 % ALIGNMENT as i128 == 0),
        _ => None,
    };
    if last
        && known != Some(true)
        && let Some(condition) = aligned(tr, at, size)
    {
        demand(tr, Demand::AlignedOffset, condition);
    }
    Ok(at)
}

/// What is done to the lanes of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Load,
    Store,
}

/// An axis of a descriptor whose lanes are at these places.
fn axis(
    tr: &mut Tracer<'_>,
    descriptor: &Descriptor,
    nth: usize,
    at: ValueId,
    access: Access,
) -> Traced<Axis> {
    let (Some(&stride), Some(&limit)) = (descriptor.strides.get(nth), descriptor.shape.get(nth)) else {
        return Err(tr.unsupported("a descriptor without that dimension"));
    };
    let mut limit = cast(tr, limit, DType::I64)?;
    let whole_runs = access == Access::Store && tr.rules.follows(Quirk::DescriptorsStoreWholeRuns);
    if whole_runs && nth + 1 == descriptor.shape.len() {
        let run = (ALIGNMENT / (dtype(tr, descriptor)?.bits() as usize / 8).max(1)) as u64;
        let ty = Type::num(DType::I64);
        let (more, mask) = (
            tr.constant(run - 1, ty.clone()),
            tr.constant(run.wrapping_neg(), ty.clone()),
        );
        limit = tr.op(OpKind::Binary(BinaryOp::Add), &[limit, more], ty.clone());
        limit = tr.op(OpKind::Binary(BinaryOp::And), &[limit, mask], ty);
    }
    Ok(Axis {
        at,
        stride,
        limit: Some(limit),
        checked_below: true,
    })
}

/// The lanes of a block that begins at the offsets.
fn block(
    tr: &mut Tracer<'_>,
    descriptor: &Descriptor,
    offsets: &Value,
    access: Access,
) -> Traced<(ValueId, ValueId)> {
    let (Value::Tuple { items, .. } | Value::List(items)) = offsets else {
        return Err(tr.reject(format!(
            "offsets must be a list of integers, not {}",
            describe(offsets)
        )));
    };
    let rank = descriptor.block_shape.len();
    if items.len() != rank {
        return Err(tr.reject(format!("expected {rank} offsets, but got {}", items.len())));
    }
    let mut axes = Vec::with_capacity(rank);
    for (nth, (item, &extent)) in items.iter().zip(&descriptor.block_shape).enumerate() {
        let at = offset(tr, descriptor, item, nth + 1 == rank)?;
        let at = run(tr, at, extent)?;
        axes.push(axis(tr, descriptor, nth, at, access)?);
    }
    masked(tr, descriptor, &axes)
}

fn masked(tr: &mut Tracer<'_>, descriptor: &Descriptor, axes: &[Axis]) -> Traced<(ValueId, ValueId)> {
    match lanes(tr, descriptor.base, axes) {
        (pointers, Some(mask)) => Ok((pointers, mask)),
        _ => Err(tr.unsupported("a descriptor without dimensions")),
    }
}

/// Loads lanes, padded outside of the tensor and rounded if that was asked for.
fn loaded(
    tr: &mut Tracer<'_>,
    descriptor: &Descriptor,
    (pointers, mask): (ValueId, ValueId),
) -> Traced<ValueId> {
    let dtype = dtype(tr, descriptor)?;
    let shape = tr.ty(pointers).shape.clone();
    let other = padding(tr, Elem::Num(dtype), &shape, descriptor.nan);
    let value = memory::load(tr, pointers, Some(mask), Some(other), false)?;
    if descriptor.round && dtype == DType::F32 && !tr.rules.follows(Quirk::DescriptorsNeverRound) {
        return round_to_tf32(tr, value);
    }
    Ok(value)
}

/// An `f32` with the 10 bits of fraction of a tf32, to nearest, ties to even; infinities and NaN as they are.
fn round_to_tf32(tr: &mut Tracer<'_>, value: ValueId) -> Traced<ValueId> {
    const DROPPED: u64 = 13;
    let bits = bitcast(tr, value, Elem::Num(DType::U32))?;
    let ty = tr.ty(bits).clone();
    let number = |tr: &mut Tracer<'_>, bits: u64| tr.constant(bits, ty.clone());
    let binary = |tr: &mut Tracer<'_>, op, a, b| tr.op(OpKind::Binary(op), &[a, b], ty.clone());
    let (dropped, one) = (number(tr, DROPPED), number(tr, 1));
    let below_half = number(tr, (1 << (DROPPED - 1)) - 1);
    let kept = number(tr, 0xFFFF_FFFF & !((1 << DROPPED) - 1));
    let exponent = number(tr, 0x7F80_0000);
    let odd = binary(tr, BinaryOp::LShr, bits, dropped);
    let odd = binary(tr, BinaryOp::And, odd, one);
    let bias = binary(tr, BinaryOp::Add, odd, below_half);
    let rounded = binary(tr, BinaryOp::Add, bits, bias);
    let rounded = binary(tr, BinaryOp::And, rounded, kept);
    let special = binary(tr, BinaryOp::And, bits, exponent);
    let special = tr.op(
        OpKind::Compare(CmpPredicate::Eq),
        &[special, exponent],
        bool_like(&ty),
    );
    let chosen = tr.op(OpKind::Select, &[special, bits, rounded], ty.clone());
    bitcast(tr, chosen, Elem::Num(DType::F32))
}

/// `descriptor.load`.
pub(crate) fn load(tr: &mut Tracer<'_>, descriptor: &Descriptor, offsets: &Value) -> Traced<ValueId> {
    let lanes = block(tr, descriptor, offsets, Access::Load)?;
    loaded(tr, descriptor, lanes)
}

/// A value that has to have a shape and, to the compiler's IR, an element type.
fn valued(tr: &mut Tracer<'_>, value: &Value, shape: &[usize], dtype: DType, casts: bool) -> Traced<ValueId> {
    let id = match value {
        Value::Tensor(id) if tr.ty(*id).shape.as_slice() == shape => *id,
        other => {
            let text = tr.type_text(other);
            return Err(tr.reject(format!("expected a value of shape {}, got {text}", shown(shape))));
        }
    };
    let given = tr.ty(id).elem;
    if casts {
        return cast_elem(tr, id, Elem::Num(dtype), None);
    }
    // Integers of another signedness are one type to the compiler.
    let same = given.num().is_some_and(|given| {
        given == dtype || given.is_int() && dtype.is_int() && given.bits() == dtype.bits()
    });
    if !same {
        return Err(tr.reject(format!(
            "the descriptor's elements are {}, but the value's {}; cast it",
            dtype_shown(dtype),
            elem_shown(given)
        )));
    }
    bitcast(tr, id, Elem::Num(dtype))
}

/// `descriptor.store`.
pub(crate) fn store(
    tr: &mut Tracer<'_>,
    descriptor: &Descriptor,
    offsets: &Value,
    value: &Value,
) -> Traced<()> {
    let dtype = dtype(tr, descriptor)?;
    let casts = tr.rules.holds(Rule::DescriptorStoreCasts);
    let value = valued(tr, value, &descriptor.block_shape, dtype, casts)?;
    let (pointers, mask) = block(tr, descriptor, offsets, Access::Store)?;
    memory::store(tr, pointers, value, Some(mask))
}

/// `descriptor.atomic_add` and the like.
pub(crate) fn atomic(
    tr: &mut Tracer<'_>,
    op: AtomicOp,
    descriptor: &Descriptor,
    offsets: &Value,
    value: &Value,
) -> Traced<()> {
    use DType::{BF16, F16, F32, I32, I64, U32, U64};
    let dtype = dtype(tr, descriptor)?;
    let allowed: &[DType] = match op {
        AtomicOp::Add => &[U32, I32, U64, F32, F16, BF16],
        AtomicOp::Min | AtomicOp::Max => &[U32, I32, U64, I64, F16, BF16],
        _ => &[U32, I32, U64, I64],
    };
    if !allowed.contains(&dtype) {
        return Err(tr.reject(format!(
            "unsupported dtype: a descriptor's atomic_{} does not take {}",
            op.name(),
            dtype_shown(dtype)
        )));
    }
    let value = valued(tr, value, &descriptor.block_shape, dtype, false)?;
    let (pointers, mask) = block(tr, descriptor, offsets, Access::Store)?;
    memory::exchange(tr, op, pointers, value, Some(mask), MemoryOrder::Relaxed);
    Ok(())
}

/// The lanes of rows of a descriptor, and their shape.
fn rows(
    tr: &mut Tracer<'_>,
    descriptor: &Descriptor,
    what: &str,
    rows: &Value,
    column: &Value,
    access: Access,
) -> Traced<((ValueId, ValueId), Shape)> {
    const MIN_ROWS: usize = 8;
    let dtype = dtype(tr, descriptor)?;
    let [1, columns] = *descriptor.block_shape.as_slice() else {
        return Err(tr.reject(format!(
            "a descriptor's {what} needs a block of 1 row, but the block is {}",
            shown(&descriptor.block_shape)
        )));
    };
    let ids = match rows {
        Value::Tensor(id) if tr.ty(*id).shape.len() == 1 => *id,
        other => {
            let text = tr.type_text(other);
            return Err(tr.reject(format!("x offsets must have one dimension, but got {text}")));
        }
    };
    let count = tr.ty(ids).shape.first().copied().unwrap_or(0);
    let narrow = match tr.dtype(ids) {
        Some(DType::I32) => true,
        Some(DType::I16) => tr.rules.holds(Rule::GatherOffsetsAreTyped),
        Some(DType::U32) => !tr.rules.holds(Rule::GatherOffsetsAreTyped),
        _ => false,
    };
    if !narrow {
        let text = tr.triton_type(tr.ty(ids));
        return Err(tr.reject(format!("x offsets must be int16 or int32, but got {text}")));
    }
    if count < MIN_ROWS {
        return Err(tr.reject(format!(
            "a descriptor's {what} must have at least {MIN_ROWS} rows, but got {count}"
        )));
    }
    if dtype.bits() > 32 {
        return Err(tr.reject(format!(
            "a descriptor's {what} takes elements of at most 32 bits, not {}",
            dtype_shown(dtype)
        )));
    }
    let least = 32 / dtype.bits() as usize * 8;
    if columns < least {
        return Err(tr.reject(format!(
            "a descriptor's {what} of {} must have at least {least} columns, but got {columns}",
            dtype_shown(dtype)
        )));
    }
    let signed = if tr.dtype(ids) == Some(DType::U32) {
        bitcast(tr, ids, Elem::Num(DType::I32))?
    } else {
        ids
    };
    let down = cast(tr, signed, DType::I64)?;
    let first = offset(tr, descriptor, column, true)?;
    let along = run(tr, first, columns)?;
    let axes = [
        axis(tr, descriptor, 0, down, access)?,
        axis(tr, descriptor, 1, along, access)?,
    ];
    let lanes = masked(tr, descriptor, &axes)?;
    Ok((lanes, [count, columns].as_slice().into()))
}

/// `descriptor.gather`.
pub(crate) fn gather(tr: &mut Tracer<'_>, descriptor: &Descriptor, x: &Value, y: &Value) -> Traced<ValueId> {
    let (lanes, _) = rows(tr, descriptor, "gather", x, y, Access::Load)?;
    loaded(tr, descriptor, lanes)
}

/// `descriptor.scatter`.
pub(crate) fn scatter(
    tr: &mut Tracer<'_>,
    descriptor: &Descriptor,
    value: &Value,
    x: &Value,
    y: &Value,
) -> Traced<()> {
    let ((pointers, mask), shape) = rows(tr, descriptor, "scatter", x, y, Access::Store)?;
    let dtype = dtype(tr, descriptor)?;
    let value = valued(tr, value, &shape, dtype, false)?;
    memory::store(tr, pointers, value, Some(mask))
}

/// `descriptor.name`, what is no method.
pub(crate) fn attribute(tr: &Tracer<'_>, descriptor: &Descriptor, name: &str) -> Option<Value> {
    use crate::value::TypeValue;
    let tensors = |values: &[ValueId]| Value::tuple(values.iter().map(|&id| Value::Tensor(id)));
    let elem = tr.ty(descriptor.base).elem.pointee()?;
    let shape = &descriptor.block_shape;
    Some(match name {
        "shape" => tensors(&descriptor.shape),
        "strides" => tensors(&descriptor.strides),
        "block_shape" => Value::tuple(shape.iter().map(|&extent| Value::int(extent as i128))),
        "dtype" => Value::Constant(Constant::Type(TypeValue::Elem(elem))),
        "block_type" => Value::Constant(Constant::Type(TypeValue::Block(elem, shape.clone()))),
        _ => return None,
    })
}
