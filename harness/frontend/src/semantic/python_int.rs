//! Ints that stay Python's though they are known only at run time: the indices of loops, where Triton's interpreter is followed
//! ([`Quirk::LoopIndicesArePython`]). They are held in 64 bits and never wrap, their division rounds down, and they follow the dtype
//! of a tensor beside them as a literal does. Left out: Python's floats, and ints beyond 64 bits.
//!
//! [`Quirk::LoopIndicesArePython`]: cerith_tile::quirk::Quirk::LoopIndicesArePython

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CmpPredicate, OpKind, Type, ValueId};

use super::PyUnary;
use super::cast::bool_like;
use super::promotion::{Number, Operand, number_constant};
use crate::constant::PyBinary;
use crate::tracer::{Traced, Tracer};

/// Whether an operand is such an int.
pub(super) fn is_python_int(tr: &Tracer<'_>, operand: Operand) -> bool {
    matches!(operand, Operand::Tensor(id) if tr.python_ints.contains(&id))
}

/// Whether an operation is Python's own, on such ints and literals.
pub(super) fn are_python_ints(tr: &Tracer<'_>, lhs: Operand, rhs: Operand) -> bool {
    let literal = |operand| matches!(operand, Operand::Number(Number::Int(_) | Number::Bool(_)));
    let known = |operand| is_python_int(tr, operand) || literal(operand);
    known(lhs) && known(rhs) && !(literal(lhs) && literal(rhs))
}

fn held(tr: &mut Tracer<'_>, operand: Operand) -> Traced<ValueId> {
    match operand {
        Operand::Tensor(id) => super::cast::cast(tr, id, DType::I64),
        Operand::Number(number) => number_constant(tr, number, DType::I64, None),
    }
}

/// `lhs op rhs` where that is Python's own.
pub(super) fn binary(
    tr: &mut Tracer<'_>,
    op: PyBinary,
    lhs: Operand,
    rhs: Operand,
) -> Traced<Option<ValueId>> {
    if !are_python_ints(tr, lhs, rhs) {
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
    let (lhs, rhs) = (held(tr, lhs)?, held(tr, rhs)?);
    let result = match simple {
        BinaryOp::IntDiv | BinaryOp::Rem => floored(tr, simple == BinaryOp::Rem, lhs, rhs),
        _ => whole(tr, simple, lhs, rhs),
    };
    tr.python_ints.insert(result);
    Ok(Some(result))
}

/// `lhs < rhs` and the like where that is Python's own: a bool of Python's, which is an int too.
pub(super) fn compare(
    tr: &mut Tracer<'_>,
    predicate: CmpPredicate,
    lhs: Operand,
    rhs: Operand,
) -> Traced<Option<ValueId>> {
    if !are_python_ints(tr, lhs, rhs) {
        return Ok(None);
    }
    let (lhs, rhs) = (held(tr, lhs)?, held(tr, rhs)?);
    let result = tr.op(OpKind::Compare(predicate), &[lhs, rhs], Type::num(DType::I1));
    tr.python_ints.insert(result);
    Ok(Some(result))
}

/// `-x`, and `~x`, which of a bool is an int as well, and never 0.
pub(super) fn unary(tr: &mut Tracer<'_>, op: PyUnary, value: ValueId) -> Traced<Option<ValueId>> {
    let from = match op {
        PyUnary::Neg => 0,
        PyUnary::Invert => -1,
        PyUnary::Pos | PyUnary::Not => return Ok(None),
    };
    let from = Operand::Number(Number::Int(from));
    binary(tr, PyBinary::Sub, from, Operand::Tensor(value))
}

fn whole(tr: &mut Tracer<'_>, op: BinaryOp, lhs: ValueId, rhs: ValueId) -> ValueId {
    tr.op(OpKind::Binary(op), &[lhs, rhs], Type::num(DType::I64))
}

/// The quotient rounded down, or the remainder that goes with it.
fn floored(tr: &mut Tracer<'_>, remainder: bool, lhs: ValueId, rhs: ValueId) -> ValueId {
    let ty = Type::num(DType::I64);
    let bools = bool_like(&ty);
    let zero = tr.constant(0, ty.clone());
    let rest = whole(tr, BinaryOp::Rem, lhs, rhs);
    let mut test = |predicate, a, b| tr.op(OpKind::Compare(predicate), &[a, b], bools.clone());
    let inexact = test(CmpPredicate::Ne, rest, zero);
    let (below, other_below) = (
        test(CmpPredicate::Lt, rest, zero),
        test(CmpPredicate::Lt, rhs, zero),
    );
    let apart = test(CmpPredicate::Ne, below, other_below);
    let down = tr.op(OpKind::Binary(BinaryOp::And), &[inexact, apart], bools);
    let (cut, lower) = if remainder {
        (rest, whole(tr, BinaryOp::Add, rest, rhs))
    } else {
        let cut = whole(tr, BinaryOp::IntDiv, lhs, rhs);
        let one = tr.constant(1, ty.clone());
        (cut, whole(tr, BinaryOp::Sub, cut, one))
    };
    tr.op(OpKind::Select, &[down, lower, cut], ty)
}
