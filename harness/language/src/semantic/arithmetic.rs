//! Elementwise operators. See `cerith_tile::numeric` for their effect on a lane.

use cerith_tile::DType;
use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::ir::{AssertedBy, BinaryOp, CmpPredicate, Elem, OpKind, TernaryOp, UnaryOp, ValueId};
use cerith_tile::quirk::Quirk;
use cerith_tile::rules::Rule;

use super::cast::{bitcast, bool_like, cast, elem_shown};
use super::promotion::{
    Operand, computation_type, fitting_constant, is_signed, number_tensor, operand_tensor,
};
use super::python_int::{are_python_ints, is_python_int};
use super::shape::broadcast;
use crate::constant::{PyBinary, PyUnary};
use crate::lowering::Lowering;
use crate::stop::{Stop, Traced};

/// The operands of an operator other than numbers, and its promotion.
#[derive(Clone, Copy, Debug, Default)]
pub struct Check {
    /// Whether the left operand may be a pointer.
    pub lhs_ptr: bool,
    /// Whether the right operand may be a pointer.
    pub rhs_ptr: bool,
    /// Whether it is a division or a remainder.
    pub div_or_mod: bool,
}

impl Check {
    /// A division or a remainder: of numbers only.
    const DIVISION: Self = Self {
        lhs_ptr: false,
        rhs_ptr: false,
        div_or_mod: true,
    };
}

fn reject_operands(lo: &Lowering, lhs: Elem, rhs: Elem) -> Stop {
    lo.reject(format!(
        "invalid operands of type {} and {}",
        elem_shown(lhs),
        elem_shown(rhs)
    ))
}

/// The type that an operand has for promotion.
fn find_operand_elem(lo: &mut Lowering, operand: Operand) -> Traced<Elem> {
    match operand {
        Operand::Tensor(id) if lo.python_floats.contains(&id) => Ok(Elem::Num(DType::F32)),
        Operand::Tensor(id) if is_python_int(lo, operand) => {
            Ok(Elem::Num(if lo.dtype(id) == Some(DType::I1) {
                DType::I1
            } else {
                DType::I32
            }))
        }
        Operand::Tensor(id) => Ok(lo.ty(id).elem),
        Operand::Number(number) => match number.dtype() {
            Some(dtype) => Ok(Elem::Num(dtype)),
            None => number_tensor(lo, number).map(|id| lo.ty(id).elem),
        },
    }
}

/// `binary_op_type_checking_impl`: both operands in one type and one shape.
pub(crate) fn match_operands(
    lo: &mut Lowering,
    lhs: Operand,
    rhs: Operand,
    check: Check,
) -> Traced<(ValueId, ValueId)> {
    let (left, right) = if are_python_ints(lo, lhs, rhs) {
        (Elem::Num(DType::I64), Elem::Num(DType::I64))
    } else {
        (find_operand_elem(lo, lhs)?, find_operand_elem(lo, rhs)?)
    };
    for (this, that, allowed) in [(left, right, check.lhs_ptr), (right, left, check.rhs_ptr)] {
        let floating = that.num().is_some_and(DType::is_float);
        if this.is_ptr() && (!allowed || that.is_ptr() && this != that || floating) {
            return Err(reject_operands(lo, this, that));
        }
    }
    let (Some(a), Some(b)) = (left.num(), right.num()) else {
        let (lhs, rhs) = (operand_tensor(lo, lhs)?, operand_tensor(lo, rhs)?);
        return broadcast(lo, lhs, rhs);
    };
    let is_scalar = |operand| match operand {
        Operand::Number(_) => true,
        Operand::Tensor(id) => is_python_int(lo, operand) || lo.python_floats.contains(&id),
    };
    let dtype = computation_type(
        lo.rules,
        (a, is_scalar(lhs)),
        (b, is_scalar(rhs)),
        check.div_or_mod,
    )
    .map_err(|error| lo.reject(error.to_string()))?;
    let block = [lhs, rhs].into_iter().find_map(|operand| match operand {
        Operand::Tensor(id) if lo.is_block(id) => Some(id),
        _ => None,
    });
    let lhs = cast_for_computation(lo, lhs, dtype, block)?;
    let rhs = cast_for_computation(lo, rhs, dtype, block)?;
    broadcast(lo, lhs, rhs)
}

/// `_cast_to_computation_type`.
fn cast_for_computation(
    lo: &mut Lowering,
    operand: Operand,
    dtype: DType,
    block: Option<ValueId>,
) -> Traced<ValueId> {
    match operand {
        Operand::Tensor(id) => cast(lo, id, dtype),
        Operand::Number(number) if lo.rules.holds(Rule::WeakPythonScalars) => {
            let ty = block.map(|block| lo.ty(block).with_elem(Elem::Num(dtype)));
            fitting_constant(lo, number, dtype, ty)
        }
        Operand::Number(number) => {
            let tensor = number_tensor(lo, number)?;
            cast(lo, tensor, dtype)
        }
    }
}

/// `ternary_op_type_checking_impl`: three operands in one type and one shape. Before 3.9 their numbers were as strong
/// as tensors and they were matched in pairs, in `old_order`.
fn matched_three(
    lo: &mut Lowering,
    operands: [Operand; 3],
    old_order: [[usize; 2]; 3],
) -> Traced<[ValueId; 3]> {
    if !lo.rules.holds(Rule::WeakScalarsInFunctions) {
        let [a, b, c] = operands;
        let mut values = [
            operand_tensor(lo, a)?,
            operand_tensor(lo, b)?,
            operand_tensor(lo, c)?,
        ];
        for [first, second] in old_order {
            let (Some(&lhs), Some(&rhs)) = (values.get(first), values.get(second)) else {
                continue;
            };
            let (lhs, rhs) =
                match_operands(lo, Operand::Tensor(lhs), Operand::Tensor(rhs), Check::default())?;
            if let Some(slot) = values.get_mut(first) {
                *slot = lhs;
            }
            if let Some(slot) = values.get_mut(second) {
                *slot = rhs;
            }
        }
        return Ok(values);
    }
    let (mut of_tensors, mut of_numbers): (Option<DType>, Option<DType>) = (None, None);
    for operand in operands {
        let this = find_operand_elem(lo, operand)?;
        let Some(dtype) = this.num() else {
            return Err(reject_operands(lo, this, this));
        };
        let is_number = matches!(operand, Operand::Number(_));
        let slot = if is_number {
            &mut of_numbers
        } else {
            &mut of_tensors
        };
        *slot = Some(match *slot {
            None => dtype,
            Some(before) => computation_type(lo.rules, (before, is_number), (dtype, is_number), false)
                .map_err(|error| lo.reject(error.to_string()))?,
        });
    }
    let dtype = match (of_tensors, of_numbers) {
        (Some(tensors), Some(numbers)) => {
            computation_type(lo.rules, (tensors, false), (numbers, true), false)
                .map_err(|error| lo.reject(error.to_string()))?
        }
        (Some(dtype), None) | (None, Some(dtype)) => dtype,
        (None, None) => return Err(lo.report_unsupported("an operation without operands")),
    };
    let [a, b, c] = operands;
    let (a, b, c) = (
        cast_for_computation(lo, a, dtype, None)?,
        cast_for_computation(lo, b, dtype, None)?,
        cast_for_computation(lo, c, dtype, None)?,
    );
    let (a, b) = broadcast(lo, a, b)?;
    let (a, c) = broadcast(lo, a, c)?;
    let (b, c) = broadcast(lo, b, c)?;
    Ok([a, b, c])
}

fn emit(lo: &mut Lowering, op: BinaryOp, lhs: ValueId, rhs: ValueId) -> ValueId {
    let ty = lo.ty(lhs).clone();
    lo.emit_op(OpKind::Binary(op), &[lhs, rhs], ty)
}

/// Refuses arithmetic in `fp8e4b15`. Its values are bytes to the compiler (`get_fp8e4b15_ty` returns `i8`), and no
/// operation on floats accepts them. Operations on other 8-bit floats are refused later, and only if something uses them.
fn check_computable(lo: &Lowering, value: ValueId, what: &str) -> Traced<()> {
    match lo.dtype(value) {
        Some(dtype @ DType::F8E4B15) => {
            Err(lo.reject_by_pass(format!("{what} of {dtype}: it can only be moved and converted")))
        }
        _ => Ok(()),
    }
}

fn is_float(lo: &Lowering, value: ValueId) -> bool {
    lo.dtype(value).is_some_and(DType::is_float)
}

/// A binary operator as it is written.
pub fn lower_binary(lo: &mut Lowering, op: PyBinary, lhs: Operand, rhs: Operand) -> Traced<ValueId> {
    let checks_overflow = lo.checks_overflow();
    lower_operator(lo, op, lhs, rhs, checks_overflow)
}

/// A binary operator without an overflow check: `sanitize_overflow=False`.
pub(crate) fn lower_wrapping(lo: &mut Lowering, op: PyBinary, lhs: Operand, rhs: Operand) -> Traced<ValueId> {
    lower_operator(lo, op, lhs, rhs, false)
}

fn lower_operator(
    lo: &mut Lowering,
    op: PyBinary,
    lhs: Operand,
    rhs: Operand,
    checks_overflow: bool,
) -> Traced<ValueId> {
    match op {
        PyBinary::Add => add(lo, lhs, rhs, checks_overflow),
        PyBinary::Sub => sub(lo, lhs, rhs, checks_overflow),
        PyBinary::Mul => {
            let (lhs, rhs) = match_operands(lo, lhs, rhs, Check::default())?;
            check_computable(lo, lhs, "*")?;
            if checks_overflow {
                check_overflow(lo, BinaryOp::Mul, lhs, rhs)?;
            }
            Ok(emit(lo, BinaryOp::Mul, lhs, rhs))
        }
        PyBinary::Div => divide(lo, lhs, rhs),
        PyBinary::FloorDiv => {
            let (lhs, rhs) = match_operands(lo, lhs, rhs, Check::DIVISION)?;
            if is_float(lo, lhs) {
                return Err(lo.reject(format!("// of {}: only integers", elem_shown(lo.ty(lhs).elem))));
            }
            Ok(emit(lo, BinaryOp::IntDiv, lhs, rhs))
        }
        PyBinary::Mod => {
            let (lhs, rhs) = match_operands(lo, lhs, rhs, Check::DIVISION)?;
            check_computable(lo, lhs, "%")?;
            let floored = is_float(lo, lhs) && !lo.rules.holds(Rule::FloatRemainderIsFmod);
            if floored && !matches!(lo.dtype(lhs), Some(DType::F32 | DType::F64)) {
                return Err(lo.reject(format!(
                    "% of {}: its floor is not defined",
                    elem_shown(lo.ty(lhs).elem)
                )));
            }
            if floored {
                // Written as `lhs - floor(lhs / rhs) * rhs`: the remainder by an infinity is NaN, and what the quotient
                // loses in rounding is lost.
                let quotient = emit(lo, BinaryOp::Div, lhs, rhs);
                let ty = lo.ty(quotient).clone();
                let floor = lo.emit_op(OpKind::Unary(UnaryOp::Floor), &[quotient], ty);
                let whole = emit(lo, BinaryOp::Mul, floor, rhs);
                return Ok(emit(lo, BinaryOp::Sub, lhs, whole));
            }
            Ok(emit(lo, BinaryOp::Rem, lhs, rhs))
        }
        PyBinary::Pow => Err(lo.reject("unsupported operand types for **: a tensor has no power operator")),
        PyBinary::LShift => lower_bitwise(lo, BinaryOp::Shl, lhs, rhs),
        PyBinary::RShift => shift_right(lo, lhs, rhs),
        PyBinary::BitAnd => lower_bitwise(lo, BinaryOp::And, lhs, rhs),
        PyBinary::BitOr => lower_bitwise(lo, BinaryOp::Or, lhs, rhs),
        PyBinary::BitXor => lower_bitwise(lo, BinaryOp::Xor, lhs, rhs),
    }
}

/// `binary_op_sanitize_overflow_impl`: asserts that the result of an integer operation below 64 bits fits its dtype. The result
/// is computed in `i64`, which wraps, as Triton does it.
fn check_overflow(lo: &mut Lowering, op: BinaryOp, lhs: ValueId, rhs: ValueId) -> Traced<()> {
    let Some(dtype) = lo.dtype(lhs).filter(|dtype| dtype.is_int() && dtype.bits() < 64) else {
        return Ok(());
    };
    let bits = dtype.bits();
    // Triton counts `i1` among the unsigned dtypes.
    let (low, high) = if is_signed(dtype) && dtype != DType::I1 {
        (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1)
    } else {
        (0, (1i64 << bits) - 1)
    };
    let name = match op {
        BinaryOp::Mul => "mul",
        BinaryOp::Sub => "sub",
        _ => "add",
    };
    let (lhs, rhs) = (cast(lo, lhs, DType::I64)?, cast(lo, rhs, DType::I64)?);
    let result = emit(lo, op, lhs, rhs);
    let ty = lo.ty(result).clone();
    let flags = bool_like(&ty);
    let (low, high) = (
        lo.emit_constant(low as u64, ty.clone()),
        lo.emit_constant(high as u64, ty),
    );
    let below = lo.emit_op(OpKind::Compare(CmpPredicate::Le), &[result, high], flags.clone());
    let above = lo.emit_op(OpKind::Compare(CmpPredicate::Ge), &[result, low], flags.clone());
    let fits = lo.emit_op(OpKind::Binary(BinaryOp::And), &[below, above], flags);
    lo.builder.add_effect(
        OpKind::Assert {
            message: format!("int{bits} overflow detected for operation {name}"),
            mask: false,
            check: AssertedBy::OverflowCheck,
        },
        &[fits],
    );
    Ok(())
}

fn add(lo: &mut Lowering, lhs: Operand, rhs: Operand, checks_overflow: bool) -> Traced<ValueId> {
    let (lhs, rhs) = match_operands(
        lo,
        lhs,
        rhs,
        Check {
            lhs_ptr: true,
            rhs_ptr: true,
            ..Check::default()
        },
    )?;
    match (lo.ty(lhs).elem.is_ptr(), lo.ty(rhs).elem.is_ptr()) {
        (true, true) => Err(lo.reject("cannot add pointers together")),
        (true, false) => offset_pointer(lo, lhs, rhs),
        (false, true) => offset_pointer(lo, rhs, lhs),
        (false, false) => {
            check_computable(lo, lhs, "+")?;
            if checks_overflow {
                check_overflow(lo, BinaryOp::Add, lhs, rhs)?;
            }
            Ok(emit(lo, BinaryOp::Add, lhs, rhs))
        }
    }
}

fn offset_pointer(lo: &mut Lowering, pointer: ValueId, offset: ValueId) -> Traced<ValueId> {
    let offset = match lo.dtype(offset) {
        Some(dtype) if !is_signed(dtype) && dtype.bits() < 64 => {
            if !lo.has_quirk(Quirk::OffsetsSignExtend) && !is_planted(Fault::UnsignedOffsetsAreSigned) {
                cast(lo, offset, DType::I64)?
            } else {
                sign_extended(lo, offset, dtype)?
            }
        }
        _ => offset,
    };
    let ty = lo.ty(pointer).clone();
    Ok(lo.emit_op(OpKind::AddPtr, &[pointer, offset], ty))
}

/// The bits of an unsigned offset, read as a signed one.
fn sign_extended(lo: &mut Lowering, offset: ValueId, dtype: DType) -> Traced<ValueId> {
    let signed = match dtype {
        DType::U8 => DType::I8,
        DType::U16 => DType::I16,
        DType::U32 => DType::I32,
        _ => {
            let wide = cast(lo, offset, DType::I32)?;
            return negate(lo, wide);
        }
    };
    bitcast(lo, offset, Elem::Num(signed))
}

fn sub(lo: &mut Lowering, lhs: Operand, rhs: Operand, checks_overflow: bool) -> Traced<ValueId> {
    let (lhs, rhs) = match_operands(
        lo,
        lhs,
        rhs,
        Check {
            lhs_ptr: true,
            ..Check::default()
        },
    )?;
    if lo.ty(lhs).elem.is_ptr() {
        let back = if is_planted(Fault::PointersMoveForward) {
            rhs
        } else {
            negate(lo, rhs)?
        };
        return offset_pointer(lo, lhs, back);
    }
    check_computable(lo, lhs, "-")?;
    if checks_overflow {
        check_overflow(lo, BinaryOp::Sub, lhs, rhs)?;
    }
    Ok(emit(lo, BinaryOp::Sub, lhs, rhs))
}

fn divide(lo: &mut Lowering, lhs: Operand, rhs: Operand) -> Traced<ValueId> {
    let (lhs, rhs) = match_operands(lo, lhs, rhs, Check::DIVISION)?;
    check_computable(lo, lhs, "/")?;
    if !is_float(lo, lhs) && is_planted(Fault::IntegersDivideWhole) {
        let whole = emit(lo, BinaryOp::IntDiv, lhs, rhs);
        return cast(lo, whole, DType::F32);
    }
    let (lhs, rhs) = if is_float(lo, lhs) {
        (lhs, rhs)
    } else {
        (cast(lo, lhs, DType::F32)?, cast(lo, rhs, DType::F32)?)
    };
    Ok(emit(lo, BinaryOp::Div, lhs, rhs))
}

fn match_integers(lo: &mut Lowering, lhs: Operand, rhs: Operand) -> Traced<(ValueId, ValueId)> {
    let (lhs, rhs) = match_operands(lo, lhs, rhs, Check::default())?;
    if is_float(lo, lhs) {
        return Err(reject_operands(lo, lo.ty(lhs).elem, lo.ty(rhs).elem));
    }
    Ok((lhs, rhs))
}

fn lower_bitwise(lo: &mut Lowering, op: BinaryOp, lhs: Operand, rhs: Operand) -> Traced<ValueId> {
    let (lhs, rhs) = match_integers(lo, lhs, rhs)?;
    Ok(emit(lo, op, lhs, rhs))
}

/// `>>`: arithmetic or logical by the signedness of the left tensor, or of the right one when the left is a number,
/// whatever both are promoted to.
fn shift_right(lo: &mut Lowering, lhs: Operand, rhs: Operand) -> Traced<ValueId> {
    let owner = if matches!(lhs, Operand::Tensor(_)) {
        lhs
    } else {
        rhs
    };
    let arithmetic = find_operand_elem(lo, owner)?.num().is_some_and(is_signed);
    let (lhs, rhs) = match_integers(lo, lhs, rhs)?;
    let dtype = lo.dtype(lhs);
    if !arithmetic {
        return Ok(emit(lo, BinaryOp::LShr, lhs, rhs));
    }
    let signed = match dtype {
        Some(DType::U8) => DType::I8,
        Some(DType::U16) => DType::I16,
        Some(DType::U32) => DType::I32,
        Some(DType::U64) => DType::I64,
        _ => return Ok(emit(lo, BinaryOp::Shr, lhs, rhs)),
    };
    let back = lo.ty(lhs).elem;
    let (lhs, rhs) = (
        bitcast(lo, lhs, Elem::Num(signed))?,
        bitcast(lo, rhs, Elem::Num(signed))?,
    );
    let shifted = emit(lo, BinaryOp::Shr, lhs, rhs);
    bitcast(lo, shifted, back)
}

/// A comparison.
pub fn compare(lo: &mut Lowering, predicate: CmpPredicate, lhs: Operand, rhs: Operand) -> Traced<ValueId> {
    let (lhs, rhs) = function_operands(lo, lhs, rhs, Check::default())?;
    check_computable(lo, lhs, "a comparison")?;
    let ty = bool_like(lo.ty(lhs));
    Ok(lo.emit_op(OpKind::Compare(predicate), &[lhs, rhs], ty))
}

/// A tensor as `i1` where only what has one bit can be reinterpreted.
fn as_bool(lo: &mut Lowering, value: ValueId) -> Traced<ValueId> {
    bitcast(lo, value, Elem::Num(DType::I1))
}

/// `and` and `or` of two tensors.
pub fn lower_logical(lo: &mut Lowering, is_or: bool, lhs: ValueId, rhs: ValueId) -> Traced<ValueId> {
    let (lhs, rhs) = (as_bool(lo, lhs)?, as_bool(lo, rhs)?);
    let op = if is_or { BinaryOp::Or } else { BinaryOp::And };
    lower_bitwise(lo, op, Operand::Tensor(lhs), Operand::Tensor(rhs))
}

/// A unary operator.
pub fn lower_unary(lo: &mut Lowering, op: PyUnary, value: ValueId) -> Traced<ValueId> {
    match op {
        PyUnary::Pos => Err(lo.reject("a tensor has no unary +")),
        PyUnary::Neg => negate(lo, value),
        PyUnary::Invert => invert(lo, value),
        PyUnary::Not => {
            let value = as_bool(lo, value)?;
            invert(lo, value)
        }
    }
}

/// `-x`.
fn negate(lo: &mut Lowering, value: ValueId) -> Traced<ValueId> {
    let ty = lo.ty(value).clone();
    match ty.elem.num() {
        None => Err(lo.reject(format!(
            "wrong type argument to unary minus ({})",
            elem_shown(ty.elem)
        ))),
        Some(dtype) if dtype.is_float() && lo.rules.holds(Rule::NegationFlipsSign) => {
            check_computable(lo, value, "-")?;
            Ok(lo.emit_op(OpKind::Unary(UnaryOp::Neg), &[value], ty))
        }
        Some(_) => {
            let zero = lo.emit_constant(0, ty);
            let checks_overflow = lo.checks_overflow();
            sub(lo, Operand::Tensor(zero), Operand::Tensor(value), checks_overflow)
        }
    }
}

fn invert(lo: &mut Lowering, value: ValueId) -> Traced<ValueId> {
    let ty = lo.ty(value).clone();
    if !ty.elem.num().is_some_and(DType::is_int) {
        return Err(lo.reject(format!(
            "wrong type argument to unary invert ({})",
            elem_shown(ty.elem)
        )));
    }
    Ok(lo.emit_op(OpKind::Unary(UnaryOp::Not), &[value], ty))
}

/// An operand of a function: a number is as strong as a tensor before 3.9.
fn function_operand(lo: &mut Lowering, operand: Operand) -> Traced<Operand> {
    match operand {
        Operand::Number(number) if !lo.rules.holds(Rule::WeakScalarsInFunctions) => {
            number_tensor(lo, number).map(Operand::Tensor)
        }
        _ => Ok(operand),
    }
}

/// Two operands of a function like `minimum` or `div_rn`, in one type and one shape.
pub(crate) fn function_operands(
    lo: &mut Lowering,
    lhs: Operand,
    rhs: Operand,
    check: Check,
) -> Traced<(ValueId, ValueId)> {
    let (lhs, rhs) = (function_operand(lo, lhs)?, function_operand(lo, rhs)?);
    match_operands(lo, lhs, rhs, check)
}

/// `bf16` as `f32`, where the version's rules widen it.
fn bfloat_promoted(lo: &mut Lowering, operand: Operand) -> Traced<Operand> {
    match operand {
        Operand::Tensor(id)
            if lo.dtype(id) == Some(DType::BF16) && !lo.rules.holds(Rule::BfloatExtremaStayBfloat) =>
        {
            cast(lo, id, DType::F32).map(Operand::Tensor)
        }
        _ => Ok(operand),
    }
}

/// `minimum` and `maximum`. `propagate_nan` says whether NaN wins; it is `None` where the argument says neither, which matters
/// to floats only.
pub(crate) fn lower_extremum(
    lo: &mut Lowering,
    larger: bool,
    lhs: Operand,
    rhs: Operand,
    propagate_nan: Option<bool>,
) -> Traced<ValueId> {
    let (lhs, rhs) = (bfloat_promoted(lo, lhs)?, bfloat_promoted(lo, rhs)?);
    let (lhs, rhs) = function_operands(lo, lhs, rhs, Check::default())?;
    check_computable(lo, lhs, if larger { "maximum" } else { "minimum" })?;
    let op = match (larger, is_nan_propagated(lo, lhs, propagate_nan)?) {
        (false, false) => BinaryOp::Min,
        (false, true) => BinaryOp::MinPropagateNan,
        (true, false) => BinaryOp::Max,
        (true, true) => BinaryOp::MaxPropagateNan,
    };
    Ok(emit(lo, op, lhs, rhs))
}

/// Whether NaN wins.
fn is_nan_propagated(lo: &Lowering, value: ValueId, propagate_nan: Option<bool>) -> Traced<bool> {
    if !is_float(lo, value) {
        return Ok(false);
    }
    propagate_nan
        .ok_or_else(|| lo.reject("propagate_nan must be tl.PropagateNan.ALL or tl.PropagateNan.NONE"))
}

/// `clamp`.
pub fn clamp(lo: &mut Lowering, operands: [Operand; 3], propagate_nan: Option<bool>) -> Traced<ValueId> {
    let [x, low, high] = operands;
    let operands = [
        bfloat_promoted(lo, x)?,
        bfloat_promoted(lo, low)?,
        bfloat_promoted(lo, high)?,
    ];
    let values = matched_three(lo, operands, [[1, 2], [0, 1], [0, 2]])?;
    let [x, low, high] = values;
    check_computable(lo, x, "clamp")?;
    if !is_float(lo, x) {
        if !lo.rules.holds(Rule::IntegerClamp) {
            let elem = elem_shown(lo.ty(x).elem);
            return Err(lo.reject_by_pass(format!("clamp of {elem}: only floats")));
        }
        let raised = emit(lo, BinaryOp::Max, x, low);
        return Ok(emit(lo, BinaryOp::Min, raised, high));
    }
    let op = if is_nan_propagated(lo, x, propagate_nan)? {
        TernaryOp::ClampPropagateNan
    } else {
        TernaryOp::Clamp
    };
    let ty = lo.ty(x).clone();
    Ok(lo.emit_op(OpKind::Ternary(op), &values, ty))
}

/// `fma`.
pub fn fma(lo: &mut Lowering, operands: [Operand; 3]) -> Traced<ValueId> {
    let values = matched_three(lo, operands, [[0, 1], [2, 0], [2, 1]])?;
    let [x, _, _] = values;
    check_computable(lo, x, "fma")?;
    if !is_float(lo, x) {
        let elem = elem_shown(lo.ty(x).elem);
        return Err(lo.reject_by_pass(format!("fma of {elem}: only floats")));
    }
    let ty = lo.ty(x).clone();
    Ok(lo.emit_op(OpKind::Ternary(TernaryOp::Fma), &values, ty))
}

/// `fdiv`.
pub fn fdiv(lo: &mut Lowering, lhs: Operand, rhs: Operand, ieee: bool) -> Traced<ValueId> {
    let check = Check::DIVISION;
    let (lhs, rhs) = if lo.rules.holds(Rule::FdivPromotes) {
        function_operands(lo, lhs, rhs, check)?
    } else {
        let (lhs, rhs) = (operand_tensor(lo, lhs)?, operand_tensor(lo, rhs)?);
        if lo.ty(lhs).elem != lo.ty(rhs).elem {
            return Err(reject_operands(lo, lo.ty(lhs).elem, lo.ty(rhs).elem));
        }
        broadcast(lo, lhs, rhs)?
    };
    if !is_float(lo, lhs) {
        return Err(lo.reject("fdiv requires floating-point operands after type promotion"));
    }
    check_computable(lo, lhs, "fdiv")?;
    let precise = ieee && !lo.has_quirk(Quirk::FdivIgnoresRounding);
    Ok(emit(
        lo,
        if precise { BinaryOp::DivRn } else { BinaryOp::Div },
        lhs,
        rhs,
    ))
}

/// An elementwise operation of two operands promoted to one type.
pub(crate) fn lower_elementwise(
    lo: &mut Lowering,
    op: BinaryOp,
    lhs: Operand,
    rhs: Operand,
) -> Traced<ValueId> {
    let (lhs, rhs) = function_operands(lo, lhs, rhs, Check::default())?;
    Ok(emit(lo, op, lhs, rhs))
}

/// `where`.
pub fn select(lo: &mut Lowering, condition: ValueId, x: Operand, y: Operand) -> Traced<ValueId> {
    let condition = cast(lo, condition, DType::I1)?;
    let (x, y) = match_operands(
        lo,
        x,
        y,
        Check {
            lhs_ptr: true,
            rhs_ptr: true,
            ..Check::default()
        },
    )?;
    if lo.ty(x).elem != lo.ty(y).elem {
        return Err(reject_operands(lo, lo.ty(x).elem, lo.ty(y).elem));
    }
    let (condition, x, y) = if lo.is_block(condition) {
        let (condition, x) = broadcast(lo, condition, x)?;
        let (x, y) = broadcast(lo, x, y)?;
        (condition, x, y)
    } else {
        let (condition, _) = broadcast(lo, condition, x)?;
        (condition, x, y)
    };
    let ty = lo.ty(x).clone();
    Ok(lo.emit_op(OpKind::Select, &[condition, x, y], ty))
}
