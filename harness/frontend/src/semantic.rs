//! Typed semantics of operators: promotion, broadcasting, casts.

use conch_tile::ir::{CmpPredicate, ValueId};

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
    let _ = (op, lhs, rhs);
    Err(tr.unsupported("tensor operators"))
}

/// `lhs < rhs` and the like, at least one a tensor.
pub(crate) fn compare(tr: &mut Tracer<'_>, predicate: CmpPredicate, lhs: &Value, rhs: &Value) -> Traced<Value> {
    let _ = (predicate, lhs, rhs);
    Err(tr.unsupported("tensor comparisons"))
}

/// `lhs and rhs` (`lhs or rhs` when `is_or`), both tensors: `logical_and` of the compiler.
pub(crate) fn logical(tr: &mut Tracer<'_>, is_or: bool, lhs: &Value, rhs: &Value) -> Traced<Value> {
    let _ = (is_or, lhs, rhs);
    Err(tr.unsupported("logical operators of tensors"))
}

/// A unary operator of a tensor.
pub(crate) fn unary(tr: &mut Tracer<'_>, op: PyUnary, operand: ValueId) -> Traced<Value> {
    let _ = (op, operand);
    Err(tr.unsupported("unary tensor operators"))
}

/// The tensor that a constant becomes where one is needed (on assignment too): `i32`, `i64`, `u64` by size, `i1`,
/// `f32` or `f64` by range. A tensor stays as it is; what has no tensor (a string, `None`) is rejected.
pub(crate) fn to_tensor(tr: &mut Tracer<'_>, value: &Value) -> Traced<ValueId> {
    match value {
        Value::Tensor(id) => Ok(*id),
        _ => Err(tr.unsupported("constants as tensors")),
    }
}

/// The type [`to_tensor`] would give a constant, without making anything; `None` when there is none.
pub(crate) fn tensor_dtype(constant: &Constant) -> Option<conch_tile::DType> {
    let _ = constant;
    None
}

/// A scalar constant of exactly this dtype (`scalar_constant`), as returns of different kinds need.
pub(crate) fn scalar_constant(tr: &mut Tracer<'_>, value: &Constant, dtype: conch_tile::DType) -> Traced<ValueId> {
    let _ = (value, dtype);
    Err(tr.unsupported("constants as tensors"))
}

/// `x.to(tl.int1)` of a scalar (or of a block with one lane, after unsplatting it): the test of `if`, `while` and of
/// the conditional expression. The tracer has refused blocks with more lanes before.
pub(crate) fn condition(tr: &mut Tracer<'_>, tensor: ValueId) -> Traced<ValueId> {
    let _ = tensor;
    Err(tr.unsupported("conditions"))
}

/// A scalar integer cast to another integer dtype, as loop bounds are; by the signedness of where it comes from.
pub(crate) fn cast(tr: &mut Tracer<'_>, tensor: ValueId, dtype: conch_tile::DType) -> Traced<ValueId> {
    let _ = (tensor, dtype);
    Err(tr.unsupported("casts"))
}

/// `integer_promote_impl` of two integer dtypes, for loop bounds.
pub(crate) fn integer_promote(lhs: conch_tile::DType, rhs: conch_tile::DType) -> conch_tile::DType {
    let _ = rhs;
    lhs
}

/// `tensor[index]`: `None` and `:` in a tuple or alone.
pub(crate) fn subscript(tr: &mut Tracer<'_>, tensor: ValueId, index: &Value) -> Traced<Value> {
    let _ = (tensor, index);
    Err(tr.unsupported("subscripts of tensors"))
}
