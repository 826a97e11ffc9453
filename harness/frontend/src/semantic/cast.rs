//! Casts. Left out: what each conversion does to a lane (`cerith_tile::numeric`).

use cerith_tile::DType;
use cerith_tile::ir::{CastKind, CmpPredicate, Elem, OpKind, Rounding, Type, ValueId};
use cerith_tile::rules::Rule;

use super::promotion::shown;
use crate::constant;
use crate::tracer::{Traced, Tracer};
use crate::value::{Constant, TypeValue};

/// What Triton calls an element type in messages.
pub(crate) fn elem_shown(elem: Elem) -> String {
    constant::repr(&Constant::Type(TypeValue::Elem(elem)))
}

/// Reads `fp_downcast_rounding`.
pub(crate) fn rounding(tr: &Tracer<'_>, mode: Option<&str>) -> Traced<Option<Rounding>> {
    match mode {
        None => Ok(None),
        Some("rtne") => Ok(Some(Rounding::NearestEven)),
        Some("rtz") => Ok(Some(Rounding::TowardZero)),
        Some(other) => Err(tr.reject(format!(
            "invalid rounding mode `{other}`; `rtne` and `rtz` are supported"
        ))),
    }
}

fn emit(tr: &mut Tracer<'_>, value: ValueId, elem: Elem, kind: CastKind, rounding: Rounding) -> ValueId {
    let ty = tr.ty(value).with_elem(elem);
    tr.op(OpKind::Cast { kind, rounding }, &[value], ty)
}

/// A value cast to a dtype, with the default rounding.
pub(crate) fn cast(tr: &mut Tracer<'_>, value: ValueId, dtype: DType) -> Traced<ValueId> {
    cast_elem(tr, value, Elem::Num(dtype), None)
}

/// `tl.cast` without `bitcast`.
pub(crate) fn cast_elem(
    tr: &mut Tracer<'_>,
    value: ValueId,
    to: Elem,
    rounding: Option<Rounding>,
) -> Traced<ValueId> {
    let from = tr.ty(value).elem;
    // A cast of a constant pointer is none of one.
    if from == to && (!from.is_ptr() || tr.read_only.is_empty()) {
        return Ok(value);
    }
    let narrows = match (from.num(), to.num()) {
        (Some(from), Some(to)) => from.is_float() && to.is_float() && to.bits() < from.bits(),
        _ => false,
    };
    if rounding.is_some() && !narrows {
        return Err(tr.reject(format!(
            "fp_downcast_rounding is only for conversions to a narrower float, not from {} to {}",
            elem_shown(from),
            elem_shown(to)
        )));
    }
    let rounding = rounding.unwrap_or(Rounding::NearestEven);
    match (from, to) {
        (Elem::Num(source), Elem::Num(target)) => {
            if source.is_fp8() && target.is_int() || source.is_int() && target.is_fp8() {
                return Err(tr.reject(format!("cannot cast {} to {}", shown(source), shown(target))));
            }
            if source == DType::F64 && target.is_fp8() && rounding == Rounding::TowardZero {
                return Err(tr.unsupported("rounding a double toward zero to an 8-bit float"));
            }
            Ok(emit(tr, value, to, CastKind::Value, rounding))
        }
        (Elem::Ptr { .. }, Elem::Num(DType::I64 | DType::U64) | Elem::Ptr { .. })
        | (Elem::Num(DType::I64 | DType::U64), Elem::Ptr { .. }) => {
            Ok(emit(tr, value, to, CastKind::Bits, rounding))
        }
        (Elem::Ptr { .. }, Elem::Num(DType::I1)) => {
            let address = emit(tr, value, Elem::Num(DType::I64), CastKind::Bits, rounding);
            let ty = tr.ty(address).clone();
            let null = tr.constant(0, ty.clone());
            Ok(tr.op(
                OpKind::Compare(CmpPredicate::Ne),
                &[address, null],
                ty.with_elem(Elem::Num(DType::I1)),
            ))
        }
        _ => Err(tr.reject(format!("cannot cast {} to {}", elem_shown(from), elem_shown(to)))),
    }
}

/// `tl.cast(…, bitcast=True)`.
pub(crate) fn bitcast(tr: &mut Tracer<'_>, value: ValueId, to: Elem) -> Traced<ValueId> {
    let from = tr.ty(value).elem;
    if from == to {
        return Ok(value);
    }
    let (Some(source), Some(target)) = (from.num(), to.num()) else {
        return cast_elem(tr, value, to, None);
    };
    if source.bits() != target.bits() {
        return Err(tr.reject(format!(
            "cannot bitcast data-type of size {} to data-type of size {}",
            source.bits(),
            target.bits()
        )));
    }
    Ok(emit(tr, value, to, CastKind::Bits, Rounding::NearestEven))
}

/// A pointer to `i1` as the pointer to `i8` through which booleans are loaded and stored; others as they are. Tells
/// whether it was one.
pub(crate) fn bool_pointer(tr: &mut Tracer<'_>, pointer: ValueId) -> (ValueId, bool) {
    if tr.ty(pointer).elem != Elem::ptr_to(DType::I1) {
        return (pointer, false);
    }
    (
        emit(
            tr,
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

/// What a value becomes before it is stored through a pointer to `i1`: since 3.9 whether it is not zero, before that
/// its low byte.
pub(crate) fn stored_bool(tr: &mut Tracer<'_>, value: ValueId) -> Traced<ValueId> {
    let value = if tr.rules.holds(Rule::StoredBoolsAreNormal) {
        cast(tr, value, DType::I1)?
    } else {
        value
    };
    cast(tr, value, DType::I8)
}
