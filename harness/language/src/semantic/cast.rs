//! Casts. See `cerith_tile::numeric` for each conversion of a lane.

use cerith_tile::DType;
use cerith_tile::ir::{CastKind, CmpPredicate, Elem, OpKind, Rounding, Type, ValueId};
use cerith_tile::rules::Rule;

use super::promotion::describe_dtype;
use crate::constant::{self, Constant, TypeValue};
use crate::lowering::Lowering;
use crate::stop::Traced;

/// Triton's name for an element type in messages.
pub(crate) fn elem_shown(elem: Elem) -> String {
    constant::repr(&Constant::Type(TypeValue::Elem(elem)))
}

/// Reads `fp_downcast_rounding`.
pub(crate) fn parse_rounding(lo: &Lowering, mode: Option<&str>) -> Traced<Option<Rounding>> {
    match mode {
        None => Ok(None),
        Some("rtne") => Ok(Some(Rounding::NearestEven)),
        Some("rtz") => Ok(Some(Rounding::TowardZero)),
        Some(other) => Err(lo.reject(format!(
            "invalid rounding mode `{other}`; `rtne` and `rtz` are supported"
        ))),
    }
}

fn emit(lo: &mut Lowering, value: ValueId, elem: Elem, kind: CastKind, rounding: Rounding) -> ValueId {
    let ty = lo.ty(value).with_elem(elem);
    lo.emit_op(OpKind::Cast { kind, rounding }, &[value], ty)
}

/// A value cast to a dtype, with the default rounding.
pub fn cast(lo: &mut Lowering, value: ValueId, dtype: DType) -> Traced<ValueId> {
    cast_elem(lo, value, Elem::Num(dtype), None)
}

/// `tl.cast` without `bitcast`.
pub(crate) fn cast_elem(
    lo: &mut Lowering,
    value: ValueId,
    to: Elem,
    rounding: Option<Rounding>,
) -> Traced<ValueId> {
    let from = lo.ty(value).elem;
    // The result of casting a constant pointer is not a constant pointer.
    if from == to && (!from.is_ptr() || lo.read_only.is_empty()) {
        return Ok(value);
    }
    let narrows = match (from.num(), to.num()) {
        (Some(from), Some(to)) => from.is_float() && to.is_float() && to.bits() < from.bits(),
        _ => false,
    };
    if rounding.is_some() && !narrows {
        return Err(lo.reject(format!(
            "fp_downcast_rounding is only for conversions to a narrower float, not from {} to {}",
            elem_shown(from),
            elem_shown(to)
        )));
    }
    let rounding = rounding.unwrap_or(Rounding::NearestEven);
    match (from, to) {
        (Elem::Num(source), Elem::Num(target)) => {
            if source.is_fp8() && target.is_int() || source.is_int() && target.is_fp8() {
                return Err(lo.reject(format!(
                    "cannot cast {} to {}",
                    describe_dtype(source),
                    describe_dtype(target)
                )));
            }
            // NVIDIA's `convert_custom_float8` takes no others (language/extra/cuda/utils.py, 3.0 to 3.9).
            if target == DType::F8E4B15 && !matches!(source, DType::F16 | DType::F32) {
                return Err(lo.reject(format!(
                    "cannot cast {} to {}: only {} and {} are converted to it",
                    describe_dtype(source),
                    describe_dtype(target),
                    describe_dtype(DType::F16),
                    describe_dtype(DType::F32)
                )));
            }
            if source == DType::F64 && target.is_fp8() && rounding == Rounding::TowardZero {
                return Err(lo.report_unsupported("rounding a double toward zero to an 8-bit float"));
            }
            Ok(emit(lo, value, to, CastKind::Value, rounding))
        }
        (Elem::Ptr { .. }, Elem::Num(DType::I64 | DType::U64) | Elem::Ptr { .. })
        | (Elem::Num(DType::I64 | DType::U64), Elem::Ptr { .. }) => {
            Ok(emit(lo, value, to, CastKind::Bits, rounding))
        }
        (Elem::Ptr { .. }, Elem::Num(DType::I1)) => {
            let address = emit(lo, value, Elem::Num(DType::I64), CastKind::Bits, rounding);
            let ty = lo.ty(address).clone();
            let null = lo.emit_constant(0, ty.clone());
            Ok(lo.emit_op(
                OpKind::Compare(CmpPredicate::Ne),
                &[address, null],
                ty.with_elem(Elem::Num(DType::I1)),
            ))
        }
        _ => Err(lo.reject(format!("cannot cast {} to {}", elem_shown(from), elem_shown(to)))),
    }
}

/// `tl.cast(…, bitcast=True)`.
pub(crate) fn bitcast(lo: &mut Lowering, value: ValueId, to: Elem) -> Traced<ValueId> {
    let from = lo.ty(value).elem;
    if from == to {
        return Ok(value);
    }
    let (Some(source), Some(target)) = (from.num(), to.num()) else {
        return cast_elem(lo, value, to, None);
    };
    if source.bits() != target.bits() {
        return Err(lo.reject(format!(
            "cannot bitcast data-type of size {} to data-type of size {}",
            source.bits(),
            target.bits()
        )));
    }
    Ok(emit(lo, value, to, CastKind::Bits, Rounding::NearestEven))
}

/// A pointer to `i1` as the pointer to `i8` through which booleans are loaded and stored; others as they are. Tells
/// whether it was one.
pub(crate) fn bool_pointer(lo: &mut Lowering, pointer: ValueId) -> (ValueId, bool) {
    if lo.ty(pointer).elem != Elem::ptr_to(DType::I1) {
        return (pointer, false);
    }
    (
        emit(
            lo,
            pointer,
            Elem::ptr_to(DType::I8),
            CastKind::Bits,
            Rounding::NearestEven,
        ),
        true,
    )
}

/// The type of a tensor with `bool` lanes and the same shape.
pub(crate) fn bool_like(ty: &Type) -> Type {
    ty.with_elem(Elem::Num(DType::I1))
}

/// Converts a value that is stored through a pointer to `i1`: since 3.9 to whether it is not zero, before that to its low
/// byte.
pub(crate) fn stored_bool(lo: &mut Lowering, value: ValueId) -> Traced<ValueId> {
    let value = if lo.rules.holds(Rule::StoredBoolsAreNormal) {
        cast(lo, value, DType::I1)?
    } else {
        value
    };
    cast(lo, value, DType::I8)
}
