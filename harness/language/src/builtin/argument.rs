//! Reading bound arguments: ints, bools, strings, shapes, tensors. Each refusal says which argument it is about.

use cerith_tile::DType;
use cerith_tile::ir::{Elem, Shape, ValueId};

use crate::constant::{self, Constant, TypeValue};
use crate::lowering::Lowering;
use crate::semantic::promotion::{Operand, to_operand};
use crate::semantic::types::{as_items, describe};
use crate::semantic::{self, shape};
use crate::stop::Traced;
use crate::value::Value;

/// An argument by its place in the signature; a missing one is `None`, Python's.
pub(crate) fn get_argument(args: &[Value], nth: usize) -> &Value {
    args.get(nth).unwrap_or(&Value::NONE)
}

/// An int that is known while tracing; a bool counts, as in Python.
pub(crate) fn expect_int(lo: &Lowering, value: &Value, what: &str) -> Traced<i128> {
    match value {
        Value::Constant(constant) if constant::as_int(constant).is_some() => {
            Ok(constant::as_int(constant).unwrap_or_default())
        }
        other => Err(lo.reject(format!("{what} must be a constexpr int, not {}", describe(other)))),
    }
}

/// Whether Python counts the argument as true; it must be known while tracing.
pub(crate) fn expect_flag(lo: &Lowering, value: &Value, what: &str) -> Traced<bool> {
    match value {
        Value::Constant(constant) => Ok(constant::is_truthy(constant)),
        other => Err(lo.reject(format!("{what} must be a constexpr, not {}", describe(other)))),
    }
}

/// A string, or `None`.
pub(crate) fn expect_text<'v>(lo: &Lowering, value: &'v Value, what: &str) -> Traced<Option<&'v str>> {
    match value {
        Value::Constant(Constant::None) => Ok(None),
        Value::Constant(Constant::Str(text)) => Ok(Some(text)),
        other => Err(lo.reject(format!("{what} must be a string, not {}", describe(other)))),
    }
}

/// The items that `*shape` collected; a single tuple counts as its items.
pub(crate) fn spread(value: &Value) -> &[Value] {
    match as_items(value) {
        [only @ (Value::Tuple { .. } | Value::List(_))] => as_items(only),
        all => all,
    }
}

/// Ints that are known while tracing.
pub(crate) fn expect_ints(lo: &Lowering, values: &[Value], what: &str) -> Traced<Vec<i128>> {
    let mut ints = Vec::with_capacity(values.len());
    for (nth, value) in values.iter().enumerate() {
        ints.push(expect_int(lo, value, &format!("{what} element {nth}"))?);
    }
    Ok(ints)
}

/// A shape of a block.
pub fn block_shape(lo: &Lowering, values: &[Value]) -> Traced<Shape> {
    let extents = expect_ints(lo, values, "shape")?;
    shape::block_shape(lo, &extents)
}

/// Returns a tensor; a number is converted.
pub fn to_tensor(lo: &mut Lowering, value: &Value) -> Traced<ValueId> {
    semantic::to_tensor(lo, value)
}

/// Returns a tensor; a number is converted, and `None` stays `None`.
pub(crate) fn optional_tensor(lo: &mut Lowering, value: &Value) -> Traced<Option<ValueId>> {
    if value.is_none() {
        Ok(None)
    } else {
        to_tensor(lo, value).map(Some)
    }
}

/// A tensor or number for an operator.
pub(crate) fn number_or_tensor(lo: &Lowering, value: &Value) -> Traced<Operand> {
    to_operand(lo, value)
}

/// A type: `tl.float32`, a pointer type, the scalar of a block type.
pub(crate) fn expect_elem(lo: &Lowering, value: &Value, what: &str) -> Traced<Elem> {
    match value {
        Value::Constant(Constant::Type(TypeValue::Elem(elem) | TypeValue::Block(elem, _))) => Ok(*elem),
        other => Err(lo.reject(format!("{what} must be a dtype, not {}", describe(other)))),
    }
}

/// A number's dtype.
pub(crate) fn expect_dtype(lo: &Lowering, value: &Value, what: &str) -> Traced<DType> {
    let elem = expect_elem(lo, value, what)?;
    elem.num()
        .ok_or_else(|| lo.reject(format!("{what} must be the dtype of numbers, not a pointer")))
}
