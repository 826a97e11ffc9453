//! Ints that stay Python's although they are known only at run time: loop indices, when Triton's interpreter is followed
//! ([`Quirk::LoopIndicesArePython`]). They have 64 bits and never wrap, their division rounds down, and beside a tensor
//! they take its dtype, as a literal does. Unsupported: Python's floats, and ints beyond 64 bits.
//!
//! [`Quirk::LoopIndicesArePython`]: cerith_tile::quirk::Quirk::LoopIndicesArePython

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CmpPredicate, OpKind, Type, ValueId};

use super::cast::bool_like;
use super::promotion::{Number, Operand, number_constant};
use crate::constant::{PyBinary, PyUnary};
use crate::lowering::Lowering;
use crate::stop::Traced;

/// Whether an operand is such an int.
pub(super) fn is_python_int(lo: &Lowering, operand: Operand) -> bool {
    matches!(operand, Operand::Tensor(id) if lo.python_ints.contains(&id))
}

/// Whether an operation is Python's own, on such ints and literals.
pub(super) fn are_python_ints(lo: &Lowering, lhs: Operand, rhs: Operand) -> bool {
    let literal = |operand| matches!(operand, Operand::Number(Number::Int(_) | Number::Bool(_)));
    let known = |operand| is_python_int(lo, operand) || literal(operand);
    known(lhs) && known(rhs) && !(literal(lhs) && literal(rhs))
}

fn to_i64(lo: &mut Lowering, operand: Operand) -> Traced<ValueId> {
    match operand {
        Operand::Tensor(id) => super::cast::cast(lo, id, DType::I64),
        Operand::Number(number) => number_constant(lo, number, DType::I64, None),
    }
}

/// `lhs op rhs` where that is Python's own.
pub(super) fn lower_binary(
    lo: &mut Lowering,
    op: PyBinary,
    lhs: Operand,
    rhs: Operand,
) -> Traced<Option<ValueId>> {
    if !are_python_ints(lo, lhs, rhs) {
        return Ok(None);
    }
    let simple = match op {
        PyBinary::Add => BinaryOp::Add,
        PyBinary::Sub => BinaryOp::Sub,
        PyBinary::Mul => BinaryOp::Mul,
        PyBinary::LShift => BinaryOp::Shl,
        PyBinary::RShift => BinaryOp::Shr,
        PyBinary::BitAnd => BinaryOp::And,
        PyBinary::BitOr => BinaryOp::Or,
        PyBinary::BitXor => BinaryOp::Xor,
        PyBinary::FloorDiv => BinaryOp::IntDiv,
        PyBinary::Mod => BinaryOp::Rem,
        PyBinary::Div | PyBinary::Pow => return Ok(None),
    };
    let (lhs, rhs) = (to_i64(lo, lhs)?, to_i64(lo, rhs)?);
    let result = match simple {
        BinaryOp::IntDiv | BinaryOp::Rem => lower_floor_division(lo, simple == BinaryOp::Rem, lhs, rhs),
        _ => emit_binary(lo, simple, lhs, rhs),
    };
    lo.python_ints.insert(result);
    Ok(Some(result))
}

/// `lhs < rhs` and the like where that is Python's own: a bool of Python's, which is an int too.
pub(super) fn compare(
    lo: &mut Lowering,
    predicate: CmpPredicate,
    lhs: Operand,
    rhs: Operand,
) -> Traced<Option<ValueId>> {
    if !are_python_ints(lo, lhs, rhs) {
        return Ok(None);
    }
    let (lhs, rhs) = (to_i64(lo, lhs)?, to_i64(lo, rhs)?);
    let result = lo.emit_op(OpKind::Compare(predicate), &[lhs, rhs], Type::num(DType::I1));
    lo.python_ints.insert(result);
    Ok(Some(result))
}

/// `-x` and `~x`. For a bool, `~x` is an int too, and never 0.
pub(super) fn lower_unary(lo: &mut Lowering, op: PyUnary, value: ValueId) -> Traced<Option<ValueId>> {
    let from = match op {
        PyUnary::Neg => 0,
        PyUnary::Invert => -1,
        PyUnary::Pos | PyUnary::Not => return Ok(None),
    };
    let from = Operand::Number(Number::Int(from));
    lower_binary(lo, PyBinary::Sub, from, Operand::Tensor(value))
}

fn emit_binary(lo: &mut Lowering, op: BinaryOp, lhs: ValueId, rhs: ValueId) -> ValueId {
    lo.emit_op(OpKind::Binary(op), &[lhs, rhs], Type::num(DType::I64))
}

/// The quotient rounded down, or the remainder that goes with it.
fn lower_floor_division(lo: &mut Lowering, remainder: bool, lhs: ValueId, rhs: ValueId) -> ValueId {
    let ty = Type::num(DType::I64);
    let bools = bool_like(&ty);
    let zero = lo.emit_constant(0, ty.clone());
    let rest = emit_binary(lo, BinaryOp::Rem, lhs, rhs);
    let mut test = |predicate, a, b| lo.emit_op(OpKind::Compare(predicate), &[a, b], bools.clone());
    let inexact = test(CmpPredicate::Ne, rest, zero);
    let (below, other_below) = (
        test(CmpPredicate::Lt, rest, zero),
        test(CmpPredicate::Lt, rhs, zero),
    );
    let apart = test(CmpPredicate::Ne, below, other_below);
    let down = lo.emit_op(OpKind::Binary(BinaryOp::And), &[inexact, apart], bools);
    let (cut, lower) = if remainder {
        (rest, emit_binary(lo, BinaryOp::Add, rest, rhs))
    } else {
        let cut = emit_binary(lo, BinaryOp::IntDiv, lhs, rhs);
        let one = lo.emit_constant(1, ty.clone());
        (cut, emit_binary(lo, BinaryOp::Sub, cut, one))
    };
    lo.emit_op(OpKind::Select, &[down, lower, cut], ty)
}
