//! Typed semantics of operators: promotion, broadcasting, casts, memory, reductions.
//!
//! All functions follow Triton's compiled semantics of the version that the trace's [`Rules`](cerith_tile::rules) name,
//! never its interpreter's. The tracer uses the functions of this file for Python's syntax; `builtin` lowers calls with
//! those of the modules. See `constant` for values known while tracing.

pub mod arithmetic;
pub mod block_pointer;
pub mod cast;
pub mod descriptor;
pub mod dot;
pub mod dot_scaled;
pub mod map;
pub mod memory;
pub mod promotion;
mod python_int;
pub mod reduce;
pub mod shape;
pub mod strided;
pub mod types;

use cerith_tile::DType;
use cerith_tile::ir::{CmpPredicate, Elem, OpKind, ValueId};
use cerith_tile::quirk::Quirk;

pub use self::promotion::integer_promote;
use self::promotion::{Number, Operand, number_constant, operand_tensor, to_operand};
use crate::constant::{Constant, PyBinary, PyUnary};
use crate::lowering::Lowering;
use crate::stop::Traced;
use crate::value::Value;

/// `lhs op rhs`, at least one a tensor; the other may be a constant (a `constexpr`). Left to right as written.
pub fn lower_binary(lo: &mut Lowering, op: PyBinary, lhs: &Value, rhs: &Value) -> Traced<Value> {
    let (lhs, rhs) = (to_operand(lo, lhs)?, to_operand(lo, rhs)?);
    match python_int::lower_binary(lo, op, lhs, rhs)? {
        Some(result) => Ok(Value::Tensor(result)),
        None => arithmetic::lower_binary(lo, op, lhs, rhs).map(Value::Tensor),
    }
}

/// `lhs < rhs` and the like, at least one a tensor.
pub fn compare(lo: &mut Lowering, predicate: CmpPredicate, lhs: &Value, rhs: &Value) -> Traced<Value> {
    let (lhs, rhs) = (to_operand(lo, lhs)?, to_operand(lo, rhs)?);
    match python_int::compare(lo, predicate, lhs, rhs)? {
        Some(result) => Ok(Value::Tensor(result)),
        None => arithmetic::compare(lo, predicate, lhs, rhs).map(Value::Tensor),
    }
}

/// `lhs and rhs` (`lhs or rhs` when `is_or`), both tensors: `logical_and` of the compiler.
pub fn lower_logical(lo: &mut Lowering, is_or: bool, lhs: &Value, rhs: &Value) -> Traced<Value> {
    let (lhs, rhs) = (to_tensor(lo, lhs)?, to_tensor(lo, rhs)?);
    arithmetic::lower_logical(lo, is_or, lhs, rhs).map(Value::Tensor)
}

/// `lhs and rhs` (`lhs or rhs` when `is_or`) with Python's meaning: one of the two, selected by a scalar's truth at run
/// time. A number beside the scalar takes its dtype if that can represent the number, because a value has only one dtype.
pub fn select_by_truth(lo: &mut Lowering, is_or: bool, lhs: &Value, rhs: &Value) -> Traced<Value> {
    let lhs = to_tensor(lo, lhs)?;
    let truth = cast::cast_elem(lo, lhs, Elem::Num(DType::I1), None)?;
    let number = match rhs {
        Value::Constant(number @ (Constant::Bool(_) | Constant::Int(_) | Constant::Float(_))) => Some(number),
        _ => None,
    };
    let bool = lo.dtype(lhs) == Some(DType::I1);
    let is_bit = matches!(number, Some(Constant::Bool(_)));
    let (lhs, rhs) = match (number, lo.dtype(lhs)) {
        (Some(number), Some(dtype)) if is_bit || !bool => (lhs, scalar_constant(lo, number, dtype)?),
        _ => {
            let rhs = to_tensor(lo, rhs)?;
            match lo.dtype(rhs) {
                Some(dtype) if number.is_some() && bool => (cast::cast(lo, lhs, dtype)?, rhs),
                _ => (lhs, rhs),
            }
        }
    };
    let ty = lo.ty(lhs).clone();
    if ty != *lo.ty(rhs) {
        return Err(lo.report_unsupported("a choice between values of two dtypes"));
    }
    let (yes, no) = if is_or { (lhs, rhs) } else { (rhs, lhs) };
    Ok(Value::Tensor(lo.emit_op(OpKind::Select, &[truth, yes, no], ty)))
}

/// A unary operator of a tensor.
pub fn lower_unary(lo: &mut Lowering, op: PyUnary, operand: ValueId) -> Traced<Value> {
    if let Some(result) = python_int::lower_unary(lo, op, operand)? {
        return Ok(Value::Tensor(result));
    }
    if op == PyUnary::Not && lo.ty(operand).numel() > 1 && lo.has_quirk(Quirk::BlocksAreTrue) {
        return Ok(Value::from_bool(false));
    }
    arithmetic::lower_unary(lo, op, operand).map(Value::Tensor)
}

/// The tensor that a constant becomes where one is needed (on assignment too): `i32`, `i64`, `u64` by size, `i1`,
/// `f32` or `f64` by range. A tensor stays as it is; what has no tensor (a string, `None`) is rejected.
pub fn to_tensor(lo: &mut Lowering, value: &Value) -> Traced<ValueId> {
    let operand = to_operand(lo, value)?;
    operand_tensor(lo, operand)
}

/// The type [`to_tensor`] would give a constant, without making anything; `None` when there is none.
pub fn tensor_dtype(constant: &Constant) -> Option<DType> {
    Number::from_constant(constant)?.dtype()
}

/// A scalar constant of exactly this dtype (`scalar_constant`), as returns of different kinds need.
pub fn scalar_constant(lo: &mut Lowering, value: &Constant, dtype: DType) -> Traced<ValueId> {
    match to_operand(lo, &Value::Constant(value.clone()))? {
        Operand::Number(number) => number_constant(lo, number, dtype, None),
        Operand::Tensor(id) => cast::cast(lo, id, dtype),
    }
}

/// `x.to(tl.int1)` of a scalar (or of a block with one lane, after unsplatting it): the test of `if`, `while` and of
/// the conditional expression. The tracer has refused blocks with more lanes before.
pub fn lower_condition(lo: &mut Lowering, tensor: ValueId) -> Traced<ValueId> {
    let scalar = shape::unsplat(lo, tensor)?;
    cast::cast_elem(lo, scalar, Elem::Num(DType::I1), None)
}

/// A scalar integer cast to another integer dtype, as loop bounds are; by the signedness of where it comes from.
pub fn cast(lo: &mut Lowering, tensor: ValueId, dtype: DType) -> Traced<ValueId> {
    cast::cast(lo, tensor, dtype)
}

/// `tensor[index]`: `None` and `:` in a tuple or alone.
pub fn lower_subscript(lo: &mut Lowering, tensor: ValueId, index: &Value) -> Traced<Value> {
    shape::lower_subscript(lo, tensor, index).map(Value::Tensor)
}
