//! Block pointers: `tl.make_block_ptr` and `tl.advance`, and loads and stores through them.
//!
//! Up to 3.7 they are a type of the compiler's IR, and in 3.8 an aggregate of Triton's library that creates ordinary
//! pointers. 3.9 removed them. A lane's address and mask are the same in both forms; the accepted programs differ. The
//! order of dimensions is ignored, because it changes no result.

use std::rc::Rc;

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Elem, OpKind, Shape, Type, ValueId};
use cerith_tile::quirk::Quirk;
use cerith_tile::rules::Rule;

use super::cast::{bool_pointer, cast, elem_shown};
use super::shape::{block_shape, broadcast_to, describe_shape};
use super::strided::{Axis, build_lanes, emit_padding, index, run};
use super::types::{as_items, triton_type, type_text};
use super::{memory, to_tensor};
use crate::constant::{self, Constant};
use crate::lowering::Lowering;
use crate::stop::Traced;
use crate::value::{BlockPointer, Value};

/// The message about a removed function.
const REMOVED: &str = "block pointers have been removed in favor of the tensor descriptor API";

/// Refuses block pointers in versions that no longer have them.
pub(crate) fn check_available(lo: &Lowering) -> Traced<()> {
    if lo.rules.holds(Rule::NoBlockPointers) {
        return Err(lo.reject(REMOVED));
    }
    Ok(())
}

/// A length, stride or offset as an `i64`.
fn to_i64(lo: &mut Lowering, value: &Value, narrow: bool, what: &str) -> Traced<ValueId> {
    if !lo.rules.holds(Rule::BlockPointersAreAggregates) {
        return index(lo, value, narrow, what);
    }
    let tensor = to_tensor(lo, value)?;
    match lo.dtype(tensor) {
        Some(dtype) if dtype.is_int() && !lo.is_block(tensor) => cast(lo, tensor, DType::I64),
        _ => {
            let text = triton_type(lo.ty(tensor));
            Err(lo.reject(format!("{what} must be a scalar integer, not {text}")))
        }
    }
}

fn to_i64s(lo: &mut Lowering, value: &Value, narrow: bool, what: &str) -> Traced<Box<[ValueId]>> {
    check_sequence(lo, value, what)?;
    as_items(value)
        .iter()
        .map(|item| to_i64(lo, item, narrow, what))
        .collect()
}

/// Since 3.8, a single number counts as a tuple of it.
fn check_sequence(lo: &Lowering, value: &Value, what: &str) -> Traced<()> {
    let many = matches!(value, Value::Tuple { .. } | Value::List(_));
    if many || lo.rules.holds(Rule::BlockPointersAreAggregates) {
        return Ok(());
    }
    Err(lo.reject(format!("{what} must be in a tuple or list")))
}

/// Integers that are known at compile time.
fn expect_ints(lo: &Lowering, value: &Value, what: &str) -> Traced<Vec<i128>> {
    as_items(value)
        .iter()
        .map(|item| match item {
            Value::Constant(constant) => constant::as_int(constant),
            _ => None,
        })
        .collect::<Option<_>>()
        .ok_or_else(|| lo.reject(format!("{what} must be constexpr integers")))
}

/// The arguments of `tl.make_block_ptr` after the base.
pub struct Layout<'a> {
    /// Extents of the tensor.
    pub shape: &'a Value,
    /// Its strides.
    pub strides: &'a Value,
    /// The start of the block.
    pub offsets: &'a Value,
    /// Extents of the block.
    pub block_shape: &'a Value,
    /// Dimensions by how fast they change.
    pub order: &'a Value,
}

/// `tl.make_block_ptr`.
pub fn make(lo: &mut Lowering, base: &Value, layout: &Layout<'_>) -> Traced<Value> {
    check_available(lo)?;
    let base = match base {
        Value::Tensor(id) if lo.ty(*id).elem.is_ptr() && !lo.is_block(*id) => *id,
        other => {
            let text = type_text(lo, other);
            return Err(lo.reject(format!(
                "expected `base` to be a scalar pointer, but it is {text}"
            )));
        }
    };
    let aggregate = lo.rules.holds(Rule::BlockPointersAreAggregates);
    // The aggregate leaves it to loads and stores to treat a bool as a byte.
    let base = if aggregate { base } else { bool_pointer(lo, base).0 };
    let shape = to_i64s(lo, layout.shape, false, "an extent of a block pointer's tensor")?;
    let strides = to_i64s(lo, layout.strides, false, "a stride of a block pointer")?;
    let offsets = to_i64s(lo, layout.offsets, true, "an offset of a block pointer")?;
    let block = expect_ints(lo, layout.block_shape, "the extents of a block pointer's block")?;
    let order = expect_ints(lo, layout.order, "the order of a block pointer's dimensions")?;
    let rank = block.len();
    for (what, length) in [
        ("shape", shape.len()),
        ("strides", strides.len()),
        ("offsets", offsets.len()),
        ("order", order.len()),
    ] {
        if length != rank {
            return Err(lo.reject(format!(
                "expected `shape`, `strides`, `offsets`, `block_shape` and `order` to have the same length, but \
                 `block_shape` has {rank} and `{what}` has {length}"
            )));
        }
    }
    if rank == 0 {
        return Err(lo.reject("expected `make_block_ptr` to describe at least one dimension"));
    }
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if sorted.iter().enumerate().any(|(nth, &at)| at != nth as i128) {
        return Err(lo.reject(format!(
            "expected `order` to be a permutation of 0 to {}",
            rank - 1
        )));
    }
    let block_shape = block_shape(lo, &block)?;
    Ok(Value::BlockPointer(Rc::new(BlockPointer {
        base,
        shape,
        strides,
        offsets,
        block_shape,
    })))
}

/// A value as a block pointer.
pub fn expect<'v>(lo: &Lowering, value: &'v Value) -> Traced<&'v Rc<BlockPointer>> {
    match value {
        Value::BlockPointer(pointer) => Ok(pointer),
        other => {
            let text = type_text(lo, other);
            Err(lo.reject(format!(
                "`tl.advance` takes a block pointer of `tl.make_block_ptr`, not {text}"
            )))
        }
    }
}

/// `tl.advance`.
pub fn advance(lo: &mut Lowering, pointer: &BlockPointer, offsets: &Value) -> Traced<Value> {
    check_available(lo)?;
    let deltas = to_i64s(lo, offsets, true, "an offset of `tl.advance`")?;
    if deltas.len() != pointer.offsets.len() {
        return Err(lo.reject(format!(
            "expected `offsets` to have length {} but it has {}",
            pointer.offsets.len(),
            deltas.len()
        )));
    }
    let offsets = pointer
        .offsets
        .iter()
        .zip(&deltas)
        .map(|(&offset, &delta)| {
            lo.emit_op(
                OpKind::Binary(BinaryOp::Add),
                &[offset, delta],
                Type::num(DType::I64),
            )
        })
        .collect();
    Ok(Value::BlockPointer(Rc::new(BlockPointer {
        offsets,
        ..pointer.clone()
    })))
}

/// The dimensions that `boundary_check` names.
fn read_boundary_check(lo: &Lowering, boundary: &Value, rank: usize) -> Traced<Vec<usize>> {
    let aggregate = lo.rules.holds(Rule::BlockPointersAreAggregates);
    if matches!(boundary, Value::Constant(_)) {
        // The aggregate asks for a length, which neither a number alone nor `None` has. Before 3.8, what is false counts
        // as nothing.
        if aggregate {
            return Err(lo.reject("`boundary_check` must be a tuple or list of dimensions"));
        }
        if matches!(boundary, Value::Constant(constant) if !constant::is_truthy(constant)) {
            return Ok(Vec::new());
        }
    }
    let mut dims = Vec::new();
    for dim in expect_ints(lo, boundary, "the dimensions of `boundary_check`")? {
        let Some(dim) = usize::try_from(dim).ok().filter(|&dim| dim < rank) else {
            return Err(lo.reject(format!(
                "expected `boundary_check` to contain dimensions from 0 to {}, but it has {dim}",
                rank - 1
            )));
        };
        if dims.contains(&dim) {
            return Err(lo.reject(format!("`boundary_check` has dimension {dim} twice")));
        }
        dims.push(dim);
    }
    Ok(dims)
}

/// Pointers to a block's lanes, and which of them are inside where that is checked.
fn materialize(
    lo: &mut Lowering,
    pointer: &BlockPointer,
    boundary: &Value,
) -> Traced<(ValueId, Option<ValueId>)> {
    let checked = read_boundary_check(lo, boundary, pointer.block_shape.len())?;
    let mut axes = Vec::with_capacity(pointer.block_shape.len());
    let parts = pointer.block_shape.iter().zip(&pointer.offsets);
    let parts = parts.zip(pointer.strides.iter().zip(&pointer.shape));
    for (nth, ((&extent, &offset), (&stride, &limit))) in parts.enumerate() {
        axes.push(Axis {
            positions: run(lo, offset, extent)?,
            stride,
            limit: checked.contains(&nth).then_some(limit),
            checked_below: !lo.has_quirk(Quirk::BlockPointersCheckAbove),
        });
    }
    Ok(build_lanes(lo, pointer.base, &axes))
}

/// `tl.load` through a block pointer.
pub fn load(
    lo: &mut Lowering,
    pointer: &BlockPointer,
    boundary: &Value,
    option: Option<&str>,
    volatile: bool,
) -> Traced<ValueId> {
    let elem = lo.ty(pointer.base).elem.pointee();
    let is_int = elem.and_then(Elem::num).is_some_and(DType::is_int);
    let nan = match option.unwrap_or("") {
        "" => None,
        "zero" => Some(false),
        "nan" if is_int => {
            return Err(lo.reject("padding option `nan` is not supported for block pointers to integers"));
        }
        "nan" => Some(true),
        other => return Err(lo.reject(format!("padding option `{other}` is not supported"))),
    };
    let (pointers, mask) = materialize(lo, pointer, boundary)?;
    let other = match (nan, elem) {
        (Some(nan), Some(elem)) if mask.is_some() => Some(emit_padding(lo, elem, &pointer.block_shape, nan)),
        (Some(_), _) if lo.rules.holds(Rule::BlockPointersAreAggregates) => {
            return Err(lo.reject("`padding_option` cannot be given without `boundary_check`"));
        }
        _ => None,
    };
    memory::load(lo, pointers, mask, other, volatile)
}

/// `tl.store` through a block pointer.
pub fn store(lo: &mut Lowering, pointer: &BlockPointer, value: ValueId, boundary: &Value) -> Traced<()> {
    let mut value = value;
    if !lo.rules.holds(Rule::BlockPointersAreAggregates) {
        if !lo.is_block(value) {
            value = broadcast_to(lo, value, &pointer.block_shape)?;
        }
        let (given, wanted) = (lo.ty(value).clone(), lo.ty(pointer.base).elem.pointee());
        if given.shape != pointer.block_shape {
            return Err(lo.reject(format!(
                "the block pointer's block has shape {}, but the value {}",
                describe_shape(&pointer.block_shape),
                describe_shape(&given.shape)
            )));
        }
        if Some(given.elem) != wanted {
            let wanted = wanted.map_or_else(String::new, elem_shown);
            return Err(lo.reject(format!(
                "the block pointer points to {wanted}, but the value is of {}; cast it",
                elem_shown(given.elem)
            )));
        }
    }
    let (pointers, mask) = materialize(lo, pointer, boundary)?;
    memory::store(lo, pointers, value, mask)
}

/// `pointer.name` of a block pointer.
pub(crate) fn find_attribute(lo: &Lowering, pointer: &BlockPointer, name: &str) -> Option<Value> {
    use crate::constant::TypeValue;
    let tensors = |values: &[ValueId]| Value::new_tuple(values.iter().map(|&id| Value::Tensor(id)));
    let elem = lo.ty(pointer.base).elem;
    let of_type = |ty| Some(Value::Constant(Constant::Type(ty)));
    if !lo.rules.holds(Rule::BlockPointersAreAggregates) {
        return match name {
            "dtype" | "type" => of_type(TypeValue::BlockPointer(
                elem.pointee()?,
                pointer.block_shape.clone(),
            )),
            "shape" => Some(Value::new_tuple([])),
            _ => None,
        };
    }
    let ints = |shape: &Shape| Value::new_tuple(shape.iter().map(|&extent| Value::from_int(extent as i128)));
    match name {
        "dtype" => of_type(TypeValue::Elem(elem)),
        "base" => Some(Value::Tensor(pointer.base)),
        "shape" => Some(tensors(&pointer.shape)),
        "strides" => Some(tensors(&pointer.strides)),
        "offsets" => Some(tensors(&pointer.offsets)),
        "block_shape" => Some(ints(&pointer.block_shape)),
        _ => None,
    }
}
