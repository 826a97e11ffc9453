//! Typed semantics of operators: promotion, broadcasting, casts, memory, reductions.
//!
//! Everything here follows Triton's compiled semantics of the version that the trace's [`Rules`](cerith_tile::rules)
//! name, never its interpreter's. The functions of this file are what the tracer needs for Python's syntax; those of
//! the modules are what `builtin` lowers calls with. Left out: values that are known while tracing (`constant`).

pub(crate) mod arithmetic;
pub(crate) mod block_pointer;
pub(crate) mod cast;
pub(crate) mod descriptor;
pub(crate) mod dot;
pub(crate) mod dot_scaled;
pub(crate) mod map;
pub(crate) mod memory;
pub(crate) mod promotion;
mod python_int;
pub(crate) mod reduce;
pub(crate) mod shape;
pub(crate) mod tile;

use cerith_tile::DType;
use cerith_tile::ir::{CmpPredicate, Elem, OpKind, ValueId};
use cerith_tile::quirk::Quirk;

pub(crate) use self::promotion::integer_promote;
use self::promotion::{Number, Operand, number_constant, operand, operand_tensor};
use crate::constant::PyBinary;
use crate::tracer::{Traced, Tracer};
use crate::value::{Constant, Value};

/// `+x`, `-x`, `~x`, `not x` of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PyUnary {
    /// `+x`.
    Pos,
    /// `-x`.
    Neg,
    /// `~x`.
    Invert,
    /// `not x`.
    Not,
}

/// `lhs op rhs`, at least one a tensor; the other may be a constant (a `constexpr`). Left to right as written.
pub(crate) fn binary(tr: &mut Tracer<'_>, op: PyBinary, lhs: &Value, rhs: &Value) -> Traced<Value> {
    let (lhs, rhs) = (operand(tr, lhs)?, operand(tr, rhs)?);
    match python_int::binary(tr, op, lhs, rhs)? {
        Some(result) => Ok(Value::Tensor(result)),
        None => arithmetic::binary(tr, op, lhs, rhs).map(Value::Tensor),
    }
}

/// `lhs < rhs` and the like, at least one a tensor.
pub(crate) fn compare(
    tr: &mut Tracer<'_>,
    predicate: CmpPredicate,
    lhs: &Value,
    rhs: &Value,
) -> Traced<Value> {
    let (lhs, rhs) = (operand(tr, lhs)?, operand(tr, rhs)?);
    match python_int::compare(tr, predicate, lhs, rhs)? {
        Some(result) => Ok(Value::Tensor(result)),
        None => arithmetic::compare(tr, predicate, lhs, rhs).map(Value::Tensor),
    }
}

/// `lhs and rhs` (`lhs or rhs` when `is_or`), both tensors: `logical_and` of the compiler.
pub(crate) fn logical(tr: &mut Tracer<'_>, is_or: bool, lhs: &Value, rhs: &Value) -> Traced<Value> {
    let (lhs, rhs) = (to_tensor(tr, lhs)?, to_tensor(tr, rhs)?);
    arithmetic::logical(tr, is_or, lhs, rhs).map(Value::Tensor)
}

/// `lhs and rhs` (`lhs or rhs` when `is_or`) as Python has them, of a scalar whose truth is known at run time: one of the two.
/// A number beside it becomes its dtype, if that holds it, as nothing here is of one dtype or another.
pub(crate) fn either(tr: &mut Tracer<'_>, is_or: bool, lhs: &Value, rhs: &Value) -> Traced<Value> {
    let lhs = to_tensor(tr, lhs)?;
    let truth = cast::cast_elem(tr, lhs, Elem::Num(DType::I1), None)?;
    let number = match rhs {
        Value::Constant(number @ (Constant::Bool(_) | Constant::Int(_) | Constant::Float(_))) => Some(number),
        _ => None,
    };
    let bool = tr.dtype(lhs) == Some(DType::I1);
    let is_bit = matches!(number, Some(Constant::Bool(_)));
    let (lhs, rhs) = match (number, tr.dtype(lhs)) {
        (Some(number), Some(dtype)) if is_bit || !bool => (lhs, scalar_constant(tr, number, dtype)?),
        _ => {
            let rhs = to_tensor(tr, rhs)?;
            match tr.dtype(rhs) {
                Some(dtype) if number.is_some() && bool => (cast::cast(tr, lhs, dtype)?, rhs),
                _ => (lhs, rhs),
            }
        }
    };
    let ty = tr.ty(lhs).clone();
    if ty != *tr.ty(rhs) {
        return Err(tr.unsupported("a choice between values of two dtypes"));
    }
    let (yes, no) = if is_or { (lhs, rhs) } else { (rhs, lhs) };
    Ok(Value::Tensor(tr.op(OpKind::Select, &[truth, yes, no], ty)))
}

/// A unary operator of a tensor.
pub(crate) fn unary(tr: &mut Tracer<'_>, op: PyUnary, operand: ValueId) -> Traced<Value> {
    if let Some(result) = python_int::unary(tr, op, operand)? {
        return Ok(Value::Tensor(result));
    }
    if op == PyUnary::Not && tr.rules.follows(Quirk::BlocksAreTrue) && tr.ty(operand).numel() > 1 {
        return Ok(Value::bool(false));
    }
    arithmetic::unary(tr, op, operand).map(Value::Tensor)
}

/// The tensor that a constant becomes where one is needed (on assignment too): `i32`, `i64`, `u64` by size, `i1`,
/// `f32` or `f64` by range. A tensor stays as it is; what has no tensor (a string, `None`) is rejected.
pub(crate) fn to_tensor(tr: &mut Tracer<'_>, value: &Value) -> Traced<ValueId> {
    let operand = operand(tr, value)?;
    operand_tensor(tr, operand)
}

/// The type [`to_tensor`] would give a constant, without making anything; `None` when there is none.
pub(crate) fn tensor_dtype(constant: &Constant) -> Option<DType> {
    Number::of(constant)?.dtype()
}

/// A scalar constant of exactly this dtype (`scalar_constant`), as returns of different kinds need.
pub(crate) fn scalar_constant(tr: &mut Tracer<'_>, value: &Constant, dtype: DType) -> Traced<ValueId> {
    match operand(tr, &Value::Constant(value.clone()))? {
        Operand::Number(number) => number_constant(tr, number, dtype, None),
        Operand::Tensor(id) => cast::cast(tr, id, dtype),
    }
}

/// `x.to(tl.int1)` of a scalar (or of a block with one lane, after unsplatting it): the test of `if`, `while` and of
/// the conditional expression. The tracer has refused blocks with more lanes before.
pub(crate) fn condition(tr: &mut Tracer<'_>, tensor: ValueId) -> Traced<ValueId> {
    let scalar = shape::unsplat(tr, tensor)?;
    cast::cast_elem(tr, scalar, Elem::Num(DType::I1), None)
}

/// A scalar integer cast to another integer dtype, as loop bounds are; by the signedness of where it comes from.
pub(crate) fn cast(tr: &mut Tracer<'_>, tensor: ValueId, dtype: DType) -> Traced<ValueId> {
    cast::cast(tr, tensor, dtype)
}

/// `tensor[index]`: `None` and `:` in a tuple or alone.
pub(crate) fn subscript(tr: &mut Tracer<'_>, tensor: ValueId, index: &Value) -> Traced<Value> {
    shape::subscript(tr, tensor, index).map(Value::Tensor)
}
