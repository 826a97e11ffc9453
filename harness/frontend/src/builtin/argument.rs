//! Reading bound arguments: ints, bools, strings, shapes, tensors. Each refusal says which argument it is about.

use cerith_tile::DType;
use cerith_tile::ir::{Elem, Shape, ValueId};

use crate::constant;
use crate::semantic::promotion::{Operand, describe, operand};
use crate::semantic::{self, shape};
use crate::tracer::{Traced, Tracer};
use crate::value::{Constant, TypeValue, Value};

/// An argument by its place in the signature; a missing one is `None`, Python's.
pub(crate) fn at(args: &[Value], nth: usize) -> &Value {
    args.get(nth).unwrap_or(&Value::NONE)
}

/// An int that is known while tracing; a bool counts, as in Python.
pub(crate) fn int(tr: &Tracer<'_>, value: &Value, what: &str) -> Traced<i128> {
    match value {
        Value::Constant(constant) if constant::as_int(constant).is_some() => {
            Ok(constant::as_int(constant).unwrap_or_default())
        }
        other => Err(tr.reject(format!("{what} must be a constexpr int, not {}", describe(other)))),
    }
}

/// Whether Python counts the argument as true; it must be known while tracing.
pub(crate) fn flag(tr: &Tracer<'_>, value: &Value, what: &str) -> Traced<bool> {
    match value {
        Value::Constant(constant) => Ok(constant::truth(constant)),
        other => Err(tr.reject(format!("{what} must be a constexpr, not {}", describe(other)))),
    }
}

/// A string, or `None`.
pub(crate) fn text<'v>(tr: &Tracer<'_>, value: &'v Value, what: &str) -> Traced<Option<&'v str>> {
    match value {
        Value::Constant(Constant::None) => Ok(None),
        Value::Constant(Constant::Str(text)) => Ok(Some(text)),
        other => Err(tr.reject(format!("{what} must be a string, not {}", describe(other)))),
    }
}

/// The items of a tuple or list; anything else is an item by itself.
pub(crate) fn items(value: &Value) -> &[Value] {
    match value {
        Value::Tuple { items, .. } | Value::List(items) => items,
        other => std::slice::from_ref(other),
    }
}

/// What `*shape` collected: a single tuple stands for its items.
pub(crate) fn spread(value: &Value) -> &[Value] {
    match items(value) {
        [only @ (Value::Tuple { .. } | Value::List(_))] => items(only),
        all => all,
    }
}

/// Ints that are known while tracing.
pub(crate) fn ints(tr: &Tracer<'_>, values: &[Value], what: &str) -> Traced<Vec<i128>> {
    let mut ints = Vec::with_capacity(values.len());
    for (nth, value) in values.iter().enumerate() {
        ints.push(int(tr, value, &format!("{what} element {nth}"))?);
    }
    Ok(ints)
}

/// A shape of a block.
pub(crate) fn block_shape(tr: &Tracer<'_>, values: &[Value]) -> Traced<Shape> {
    let extents = ints(tr, values, "shape")?;
    shape::block_shape(tr, &extents)
}

/// A tensor that is one already.
pub(crate) fn tensor(tr: &Tracer<'_>, value: &Value, what: &str) -> Traced<ValueId> {
    match value {
        Value::Tensor(id) => Ok(*id),
        other => Err(tr.reject(format!("{what} must be a tensor, not {}", describe(other)))),
    }
}

/// One tensor or a tuple of tensors.
pub(crate) fn tensors(tr: &Tracer<'_>, value: &Value, what: &str) -> Traced<Vec<ValueId>> {
    items(value).iter().map(|item| tensor(tr, item, what)).collect()
}

/// A tensor, made of a number if need be.
pub(crate) fn to_tensor(tr: &mut Tracer<'_>, value: &Value) -> Traced<ValueId> {
    semantic::to_tensor(tr, value)
}

/// A tensor, made of a number if need be; `None` stays so.
pub(crate) fn optional_tensor(tr: &mut Tracer<'_>, value: &Value) -> Traced<Option<ValueId>> {
    if value.is_none() {
        Ok(None)
    } else {
        to_tensor(tr, value).map(Some)
    }
}

/// A tensor or number for an operator.
pub(crate) fn number_or_tensor(tr: &Tracer<'_>, value: &Value) -> Traced<Operand> {
    operand(tr, value)
}

/// A type: `tl.float32`, a pointer type, the scalar of a block type.
pub(crate) fn elem(tr: &Tracer<'_>, value: &Value, what: &str) -> Traced<Elem> {
    match value {
        Value::Constant(Constant::Type(TypeValue::Elem(elem) | TypeValue::Block(elem, _))) => Ok(*elem),
        other => Err(tr.reject(format!("{what} must be a dtype, not {}", describe(other)))),
    }
}

/// A number's dtype.
pub(crate) fn dtype(tr: &Tracer<'_>, value: &Value, what: &str) -> Traced<DType> {
    let elem = elem(tr, value, what)?;
    elem.num()
        .ok_or_else(|| tr.reject(format!("{what} must be the dtype of numbers, not a pointer")))
}
