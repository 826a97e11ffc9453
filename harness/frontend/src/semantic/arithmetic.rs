//! Elementwise operators. Left out: what they do to a lane (`cerith_tile::numeric`).

use cerith_tile::DType;
use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::ir::{BinaryOp, CmpPredicate, Elem, OpKind, TernaryOp, UnaryOp, ValueId};
use cerith_tile::quirk::Quirk;
use cerith_tile::rules::Rule;

use super::PyUnary;
use super::cast::{bitcast, bool_like, cast, elem_shown};
use super::promotion::{
    Operand, computation_type, fitting_constant, is_signed, number_tensor, operand_tensor,
};
use super::python_int::{are_python_ints, is_python_int};
use super::shape::broadcast;
use crate::constant::PyBinary;
use crate::tracer::{Stop, Traced, Tracer};

/// What an operator takes beside numbers, and which promotion it follows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Check {
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

fn misfit(tr: &Tracer<'_>, lhs: Elem, rhs: Elem) -> Stop {
    tr.reject(format!(
        "invalid operands of type {} and {}",
        elem_shown(lhs),
        elem_shown(rhs)
    ))
}

/// The type that an operand has for promotion.
fn elem(tr: &mut Tracer<'_>, operand: Operand) -> Traced<Elem> {
    match operand {
        Operand::Tensor(id) if tr.python_floats.contains(&id) => Ok(Elem::Num(DType::F32)),
        Operand::Tensor(id) if is_python_int(tr, operand) => {
            Ok(Elem::Num(if tr.dtype(id) == Some(DType::I1) {
                DType::I1
            } else {
                DType::I32
            }))
        }
        Operand::Tensor(id) => Ok(tr.ty(id).elem),
        Operand::Number(number) => match number.dtype() {
            Some(dtype) => Ok(Elem::Num(dtype)),
            None => number_tensor(tr, number).map(|id| tr.ty(id).elem),
        },
    }
}

/// `binary_op_type_checking_impl`: both operands in one type and one shape.
pub(crate) fn matched(
    tr: &mut Tracer<'_>,
    lhs: Operand,
    rhs: Operand,
    check: Check,
) -> Traced<(ValueId, ValueId)> {
    let (left, right) = if are_python_ints(tr, lhs, rhs) {
        (Elem::Num(DType::I64), Elem::Num(DType::I64))
    } else {
        (elem(tr, lhs)?, elem(tr, rhs)?)
    };
    for (this, that, allowed) in [(left, right, check.lhs_ptr), (right, left, check.rhs_ptr)] {
        let floating = that.num().is_some_and(DType::is_float);
        if this.is_ptr() && (!allowed || that.is_ptr() && this != that || floating) {
            return Err(misfit(tr, this, that));
        }
    }
    let (Some(a), Some(b)) = (left.num(), right.num()) else {
        let (lhs, rhs) = (operand_tensor(tr, lhs)?, operand_tensor(tr, rhs)?);
        return broadcast(tr, lhs, rhs);
    };
    let is_scalar = |operand| match operand {
        Operand::Number(_) => true,
        Operand::Tensor(id) => is_python_int(tr, operand) || tr.python_floats.contains(&id),
    };
    let dtype = computation_type(
        tr.rules,
        (a, is_scalar(lhs)),
        (b, is_scalar(rhs)),
        check.div_or_mod,
    )
    .map_err(|message| tr.reject(message))?;
    let block = [lhs, rhs].into_iter().find_map(|operand| match operand {
        Operand::Tensor(id) if tr.is_block(id) => Some(id),
        _ => None,
    });
    let lhs = computed(tr, lhs, dtype, block)?;
    let rhs = computed(tr, rhs, dtype, block)?;
    broadcast(tr, lhs, rhs)
}

/// `_cast_to_computation_type`.
fn computed(tr: &mut Tracer<'_>, operand: Operand, dtype: DType, block: Option<ValueId>) -> Traced<ValueId> {
    match operand {
        Operand::Tensor(id) => cast(tr, id, dtype),
        Operand::Number(number) if tr.rules.holds(Rule::WeakPythonScalars) => {
            let ty = block.map(|block| tr.ty(block).with_elem(Elem::Num(dtype)));
            fitting_constant(tr, number, dtype, ty)
        }
        Operand::Number(number) => {
            let tensor = number_tensor(tr, number)?;
            cast(tr, tensor, dtype)
        }
    }
}

/// `ternary_op_type_checking_impl`: three operands in one type and one shape. Before 3.9 their numbers were as strong
/// as tensors and they were matched in pairs, in `old_order`.
fn matched_three(
    tr: &mut Tracer<'_>,
    operands: [Operand; 3],
    old_order: [[usize; 2]; 3],
) -> Traced<[ValueId; 3]> {
    if !tr.rules.holds(Rule::WeakScalarsInFunctions) {
        let [a, b, c] = operands;
        let mut values = [
            operand_tensor(tr, a)?,
            operand_tensor(tr, b)?,
            operand_tensor(tr, c)?,
        ];
        for [first, second] in old_order {
            let (Some(&lhs), Some(&rhs)) = (values.get(first), values.get(second)) else {
                continue;
            };
            let (lhs, rhs) = matched(tr, Operand::Tensor(lhs), Operand::Tensor(rhs), Check::default())?;
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
        let this = elem(tr, operand)?;
        let Some(dtype) = this.num() else {
            return Err(misfit(tr, this, this));
        };
        let is_number = matches!(operand, Operand::Number(_));
        let slot = if is_number {
            &mut of_numbers
        } else {
            &mut of_tensors
        };
        *slot = Some(match *slot {
            None => dtype,
            Some(before) => computation_type(tr.rules, (before, is_number), (dtype, is_number), false)
                .map_err(|message| tr.reject(message))?,
        });
    }
    let dtype = match (of_tensors, of_numbers) {
        (Some(tensors), Some(numbers)) => {
            computation_type(tr.rules, (tensors, false), (numbers, true), false)
                .map_err(|message| tr.reject(message))?
        }
        (Some(dtype), None) | (None, Some(dtype)) => dtype,
        (None, None) => return Err(tr.unsupported("an operation without operands")),
    };
    let [a, b, c] = operands;
    let (a, b, c) = (
        computed(tr, a, dtype, None)?,
        computed(tr, b, dtype, None)?,
        computed(tr, c, dtype, None)?,
    );
    let (a, b) = broadcast(tr, a, b)?;
    let (a, c) = broadcast(tr, a, c)?;
    let (b, c) = broadcast(tr, b, c)?;
    Ok([a, b, c])
}

fn emit(tr: &mut Tracer<'_>, op: BinaryOp, lhs: ValueId, rhs: ValueId) -> ValueId {
    let ty = tr.ty(lhs).clone();
    tr.op(OpKind::Binary(op), &[lhs, rhs], ty)
}

/// Refuses what is computed in 8-bit floats. Values of `fp8e4b15` are bytes to the compiler (`get_fp8e4b15_ty` gives `i8`),
/// and no operation on floats takes them; of the others the front makes operations that the passes for NVIDIA's GPUs have
/// no lowering for (compile-only runs of 3.0.0 to 3.9.0), nor those for AMD's (`fadd` of `fp8e4b8` and `fp8e5b16` by 3.9.0).
fn computable(tr: &Tracer<'_>, value: ValueId, what: &str) -> Traced<()> {
    match tr.dtype(value) {
        Some(dtype) if dtype.is_fp8() => {
            Err(tr.reject(format!("{what} of {dtype}: it can only be moved and converted")))
        }
        _ => Ok(()),
    }
}

fn is_float(tr: &Tracer<'_>, value: ValueId) -> bool {
    tr.dtype(value).is_some_and(DType::is_float)
}

/// A binary operator as it is written.
pub(crate) fn binary(tr: &mut Tracer<'_>, op: PyBinary, lhs: Operand, rhs: Operand) -> Traced<ValueId> {
    match op {
        PyBinary::Add => add(tr, lhs, rhs),
        PyBinary::Sub => sub(tr, lhs, rhs),
        PyBinary::Mul => {
            let (lhs, rhs) = matched(tr, lhs, rhs, Check::default())?;
            computable(tr, lhs, "*")?;
            Ok(emit(tr, BinaryOp::Mul, lhs, rhs))
        }
        PyBinary::Div => divide(tr, lhs, rhs),
        PyBinary::FloorDiv => {
            let (lhs, rhs) = matched(tr, lhs, rhs, Check::DIVISION)?;
            if is_float(tr, lhs) {
                return Err(tr.reject(format!("// of {}: only integers", elem_shown(tr.ty(lhs).elem))));
            }
            Ok(emit(tr, BinaryOp::IntDiv, lhs, rhs))
        }
        PyBinary::Mod => {
            let (lhs, rhs) = matched(tr, lhs, rhs, Check::DIVISION)?;
            computable(tr, lhs, "%")?;
            let floored = is_float(tr, lhs) && !tr.rules.holds(Rule::FloatRemainderIsFmod);
            if floored && !matches!(tr.dtype(lhs), Some(DType::F32 | DType::F64)) {
                return Err(tr.reject(format!(
                    "% of {}: its floor is not defined",
                    elem_shown(tr.ty(lhs).elem)
                )));
            }
            if floored {
                // As `lhs - floor(lhs / rhs) * rhs` was written: the remainder by an infinity is NaN, and what the
                // quotient loses in rounding is lost.
                let quotient = emit(tr, BinaryOp::Div, lhs, rhs);
                let ty = tr.ty(quotient).clone();
                let floor = tr.op(OpKind::Unary(UnaryOp::Floor), &[quotient], ty);
                let whole = emit(tr, BinaryOp::Mul, floor, rhs);
                return Ok(emit(tr, BinaryOp::Sub, lhs, whole));
            }
            Ok(emit(tr, BinaryOp::Rem, lhs, rhs))
        }
        PyBinary::Pow => Err(tr.reject("unsupported operand types for **: a tensor has no power operator")),
        PyBinary::LShift => bitwise(tr, BinaryOp::Shl, lhs, rhs),
        PyBinary::RShift => shift_right(tr, lhs, rhs),
        PyBinary::BitAnd => bitwise(tr, BinaryOp::And, lhs, rhs),
        PyBinary::BitOr => bitwise(tr, BinaryOp::Or, lhs, rhs),
        PyBinary::BitXor => bitwise(tr, BinaryOp::Xor, lhs, rhs),
    }
}

fn add(tr: &mut Tracer<'_>, lhs: Operand, rhs: Operand) -> Traced<ValueId> {
    let (lhs, rhs) = matched(
        tr,
        lhs,
        rhs,
        Check {
            lhs_ptr: true,
            rhs_ptr: true,
            ..Check::default()
        },
    )?;
    match (tr.ty(lhs).elem.is_ptr(), tr.ty(rhs).elem.is_ptr()) {
        (true, true) => Err(tr.reject("cannot add pointers together")),
        (true, false) => offset(tr, lhs, rhs),
        (false, true) => offset(tr, rhs, lhs),
        (false, false) => {
            computable(tr, lhs, "+")?;
            Ok(emit(tr, BinaryOp::Add, lhs, rhs))
        }
    }
}

fn offset(tr: &mut Tracer<'_>, pointer: ValueId, offset: ValueId) -> Traced<ValueId> {
    let offset = match tr.dtype(offset) {
        Some(dtype) if !is_signed(dtype) && dtype.bits() < 64 => {
            if !tr.rules.follows(Quirk::OffsetsSignExtend) && !is_planted(Fault::UnsignedOffsetsAreSigned) {
                cast(tr, offset, DType::I64)?
            } else {
                sign_extended(tr, offset, dtype)?
            }
        }
        _ => offset,
    };
    let ty = tr.ty(pointer).clone();
    Ok(tr.op(OpKind::AddPtr, &[pointer, offset], ty))
}

/// The bits of an unsigned offset, read as a signed one.
fn sign_extended(tr: &mut Tracer<'_>, offset: ValueId, dtype: DType) -> Traced<ValueId> {
    let signed = match dtype {
        DType::U8 => DType::I8,
        DType::U16 => DType::I16,
        DType::U32 => DType::I32,
        _ => {
            let wide = cast(tr, offset, DType::I32)?;
            return minus(tr, wide);
        }
    };
    bitcast(tr, offset, Elem::Num(signed))
}

fn sub(tr: &mut Tracer<'_>, lhs: Operand, rhs: Operand) -> Traced<ValueId> {
    let (lhs, rhs) = matched(
        tr,
        lhs,
        rhs,
        Check {
            lhs_ptr: true,
            ..Check::default()
        },
    )?;
    if tr.ty(lhs).elem.is_ptr() {
        let back = if is_planted(Fault::PointersMoveForward) {
            rhs
        } else {
            minus(tr, rhs)?
        };
        return offset(tr, lhs, back);
    }
    computable(tr, lhs, "-")?;
    Ok(emit(tr, BinaryOp::Sub, lhs, rhs))
}

fn divide(tr: &mut Tracer<'_>, lhs: Operand, rhs: Operand) -> Traced<ValueId> {
    let (lhs, rhs) = matched(tr, lhs, rhs, Check::DIVISION)?;
    computable(tr, lhs, "/")?;
    if !is_float(tr, lhs) && is_planted(Fault::IntegersDivideWhole) {
        let whole = emit(tr, BinaryOp::IntDiv, lhs, rhs);
        return cast(tr, whole, DType::F32);
    }
    let (lhs, rhs) = if is_float(tr, lhs) {
        (lhs, rhs)
    } else {
        (cast(tr, lhs, DType::F32)?, cast(tr, rhs, DType::F32)?)
    };
    Ok(emit(tr, BinaryOp::Div, lhs, rhs))
}

fn integers(tr: &mut Tracer<'_>, lhs: Operand, rhs: Operand) -> Traced<(ValueId, ValueId)> {
    let (lhs, rhs) = matched(tr, lhs, rhs, Check::default())?;
    if is_float(tr, lhs) {
        return Err(misfit(tr, tr.ty(lhs).elem, tr.ty(rhs).elem));
    }
    Ok((lhs, rhs))
}

fn bitwise(tr: &mut Tracer<'_>, op: BinaryOp, lhs: Operand, rhs: Operand) -> Traced<ValueId> {
    let (lhs, rhs) = integers(tr, lhs, rhs)?;
    Ok(emit(tr, op, lhs, rhs))
}

/// `>>`: arithmetic or logical by the signedness of the left tensor, or of the right one when the left is a number,
/// whatever both are promoted to.
fn shift_right(tr: &mut Tracer<'_>, lhs: Operand, rhs: Operand) -> Traced<ValueId> {
    let owner = if matches!(lhs, Operand::Tensor(_)) {
        lhs
    } else {
        rhs
    };
    let arithmetic = elem(tr, owner)?.num().is_some_and(is_signed);
    let (lhs, rhs) = integers(tr, lhs, rhs)?;
    let dtype = tr.dtype(lhs);
    if !arithmetic {
        return Ok(emit(tr, BinaryOp::LShr, lhs, rhs));
    }
    let signed = match dtype {
        Some(DType::U8) => DType::I8,
        Some(DType::U16) => DType::I16,
        Some(DType::U32) => DType::I32,
        Some(DType::U64) => DType::I64,
        _ => return Ok(emit(tr, BinaryOp::Shr, lhs, rhs)),
    };
    let back = tr.ty(lhs).elem;
    let (lhs, rhs) = (
        bitcast(tr, lhs, Elem::Num(signed))?,
        bitcast(tr, rhs, Elem::Num(signed))?,
    );
    let shifted = emit(tr, BinaryOp::Shr, lhs, rhs);
    bitcast(tr, shifted, back)
}

/// A comparison.
pub(crate) fn compare(
    tr: &mut Tracer<'_>,
    predicate: CmpPredicate,
    lhs: Operand,
    rhs: Operand,
) -> Traced<ValueId> {
    let (lhs, rhs) = function_operands(tr, lhs, rhs, Check::default())?;
    computable(tr, lhs, "a comparison")?;
    let ty = bool_like(tr.ty(lhs));
    Ok(tr.op(OpKind::Compare(predicate), &[lhs, rhs], ty))
}

/// A tensor as `i1` where only what has one bit can be reinterpreted.
fn as_bool(tr: &mut Tracer<'_>, value: ValueId) -> Traced<ValueId> {
    bitcast(tr, value, Elem::Num(DType::I1))
}

/// `and` and `or` of two tensors.
pub(crate) fn logical(tr: &mut Tracer<'_>, is_or: bool, lhs: ValueId, rhs: ValueId) -> Traced<ValueId> {
    let (lhs, rhs) = (as_bool(tr, lhs)?, as_bool(tr, rhs)?);
    let op = if is_or { BinaryOp::Or } else { BinaryOp::And };
    bitwise(tr, op, Operand::Tensor(lhs), Operand::Tensor(rhs))
}

/// A unary operator.
pub(crate) fn unary(tr: &mut Tracer<'_>, op: PyUnary, value: ValueId) -> Traced<ValueId> {
    match op {
        PyUnary::Pos => Err(tr.reject("a tensor has no unary +")),
        PyUnary::Neg => minus(tr, value),
        PyUnary::Invert => invert(tr, value),
        PyUnary::Not => {
            let value = as_bool(tr, value)?;
            invert(tr, value)
        }
    }
}

/// `-x`.
fn minus(tr: &mut Tracer<'_>, value: ValueId) -> Traced<ValueId> {
    let ty = tr.ty(value).clone();
    match ty.elem.num() {
        None => Err(tr.reject(format!(
            "wrong type argument to unary minus ({})",
            elem_shown(ty.elem)
        ))),
        Some(dtype) if dtype.is_float() && tr.rules.holds(Rule::NegationFlipsSign) => {
            computable(tr, value, "-")?;
            Ok(tr.op(OpKind::Unary(UnaryOp::Neg), &[value], ty))
        }
        Some(_) => {
            let zero = tr.constant(0, ty);
            sub(tr, Operand::Tensor(zero), Operand::Tensor(value))
        }
    }
}

fn invert(tr: &mut Tracer<'_>, value: ValueId) -> Traced<ValueId> {
    let ty = tr.ty(value).clone();
    if !ty.elem.num().is_some_and(DType::is_int) {
        return Err(tr.reject(format!(
            "wrong type argument to unary invert ({})",
            elem_shown(ty.elem)
        )));
    }
    Ok(tr.op(OpKind::Unary(UnaryOp::Not), &[value], ty))
}

/// An operand of a function: a number is as strong as a tensor before 3.9.
fn function_operand(tr: &mut Tracer<'_>, operand: Operand) -> Traced<Operand> {
    match operand {
        Operand::Number(number) if !tr.rules.holds(Rule::WeakScalarsInFunctions) => {
            number_tensor(tr, number).map(Operand::Tensor)
        }
        _ => Ok(operand),
    }
}

/// Two operands of a function like `minimum` or `div_rn`, in one type and one shape.
pub(crate) fn function_operands(
    tr: &mut Tracer<'_>,
    lhs: Operand,
    rhs: Operand,
    check: Check,
) -> Traced<(ValueId, ValueId)> {
    let (lhs, rhs) = (function_operand(tr, lhs)?, function_operand(tr, rhs)?);
    matched(tr, lhs, rhs, check)
}

/// `bf16` as `f32` where the rules of old did so.
fn bfloat_promoted(tr: &mut Tracer<'_>, operand: Operand) -> Traced<Operand> {
    match operand {
        Operand::Tensor(id)
            if tr.dtype(id) == Some(DType::BF16) && !tr.rules.holds(Rule::BfloatExtremaStayBfloat) =>
        {
            cast(tr, id, DType::F32).map(Operand::Tensor)
        }
        _ => Ok(operand),
    }
}

/// `minimum` and `maximum`. Whether NaN wins is `None` where it was given as something else, which only floats mind.
pub(crate) fn extremum(
    tr: &mut Tracer<'_>,
    larger: bool,
    lhs: Operand,
    rhs: Operand,
    propagate_nan: Option<bool>,
) -> Traced<ValueId> {
    let (lhs, rhs) = (bfloat_promoted(tr, lhs)?, bfloat_promoted(tr, rhs)?);
    let (lhs, rhs) = function_operands(tr, lhs, rhs, Check::default())?;
    computable(tr, lhs, if larger { "maximum" } else { "minimum" })?;
    let op = match (larger, wins(tr, lhs, propagate_nan)?) {
        (false, false) => BinaryOp::Min,
        (false, true) => BinaryOp::MinPropagateNan,
        (true, false) => BinaryOp::Max,
        (true, true) => BinaryOp::MaxPropagateNan,
    };
    Ok(emit(tr, op, lhs, rhs))
}

/// Whether NaN wins.
fn wins(tr: &Tracer<'_>, value: ValueId, propagate_nan: Option<bool>) -> Traced<bool> {
    if !is_float(tr, value) {
        return Ok(false);
    }
    propagate_nan
        .ok_or_else(|| tr.reject("propagate_nan must be tl.PropagateNan.ALL or tl.PropagateNan.NONE"))
}

/// `clamp`.
pub(crate) fn clamp(
    tr: &mut Tracer<'_>,
    operands: [Operand; 3],
    propagate_nan: Option<bool>,
) -> Traced<ValueId> {
    let [x, low, high] = operands;
    let operands = [
        bfloat_promoted(tr, x)?,
        bfloat_promoted(tr, low)?,
        bfloat_promoted(tr, high)?,
    ];
    let values = matched_three(tr, operands, [[1, 2], [0, 1], [0, 2]])?;
    let [x, low, high] = values;
    computable(tr, x, "clamp")?;
    if !is_float(tr, x) {
        if !tr.rules.holds(Rule::IntegerClamp) {
            let elem = elem_shown(tr.ty(x).elem);
            return Err(tr.reject(format!("clamp of {elem}: only floats")));
        }
        let raised = emit(tr, BinaryOp::Max, x, low);
        return Ok(emit(tr, BinaryOp::Min, raised, high));
    }
    let op = if wins(tr, x, propagate_nan)? {
        TernaryOp::ClampPropagateNan
    } else {
        TernaryOp::Clamp
    };
    let ty = tr.ty(x).clone();
    Ok(tr.op(OpKind::Ternary(op), &values, ty))
}

/// `fma`.
pub(crate) fn fma(tr: &mut Tracer<'_>, operands: [Operand; 3]) -> Traced<ValueId> {
    let values = matched_three(tr, operands, [[0, 1], [2, 0], [2, 1]])?;
    let [x, _, _] = values;
    computable(tr, x, "fma")?;
    if !is_float(tr, x) {
        let elem = elem_shown(tr.ty(x).elem);
        return Err(tr.reject(format!("fma of {elem}: only floats")));
    }
    let ty = tr.ty(x).clone();
    Ok(tr.op(OpKind::Ternary(TernaryOp::Fma), &values, ty))
}

/// `fdiv`.
pub(crate) fn fdiv(tr: &mut Tracer<'_>, lhs: Operand, rhs: Operand, ieee: bool) -> Traced<ValueId> {
    let check = Check::DIVISION;
    let (lhs, rhs) = if tr.rules.holds(Rule::FdivPromotes) {
        function_operands(tr, lhs, rhs, check)?
    } else {
        let (lhs, rhs) = (operand_tensor(tr, lhs)?, operand_tensor(tr, rhs)?);
        if tr.ty(lhs).elem != tr.ty(rhs).elem {
            return Err(misfit(tr, tr.ty(lhs).elem, tr.ty(rhs).elem));
        }
        broadcast(tr, lhs, rhs)?
    };
    if !is_float(tr, lhs) {
        return Err(tr.reject("fdiv requires floating-point operands after type promotion"));
    }
    computable(tr, lhs, "fdiv")?;
    let precise = ieee && !tr.rules.follows(Quirk::FdivIgnoresRounding);
    Ok(emit(
        tr,
        if precise { BinaryOp::DivRn } else { BinaryOp::Div },
        lhs,
        rhs,
    ))
}

/// An elementwise operation of two operands promoted to one type.
pub(crate) fn elementwise(tr: &mut Tracer<'_>, op: BinaryOp, lhs: Operand, rhs: Operand) -> Traced<ValueId> {
    let (lhs, rhs) = function_operands(tr, lhs, rhs, Check::default())?;
    Ok(emit(tr, op, lhs, rhs))
}

/// `where`.
pub(crate) fn select(tr: &mut Tracer<'_>, condition: ValueId, x: Operand, y: Operand) -> Traced<ValueId> {
    let condition = cast(tr, condition, DType::I1)?;
    let (x, y) = matched(
        tr,
        x,
        y,
        Check {
            lhs_ptr: true,
            rhs_ptr: true,
            ..Check::default()
        },
    )?;
    if tr.ty(x).elem != tr.ty(y).elem {
        return Err(misfit(tr, tr.ty(x).elem, tr.ty(y).elem));
    }
    let (condition, x, y) = if tr.is_block(condition) {
        let (condition, x) = broadcast(tr, condition, x)?;
        let (x, y) = broadcast(tr, x, y)?;
        (condition, x, y)
    } else {
        let (condition, _) = broadcast(tr, condition, x)?;
        (condition, x, y)
    };
    let ty = tr.ty(x).clone();
    Ok(tr.op(OpKind::Select, &[condition, x, y], ty))
}
