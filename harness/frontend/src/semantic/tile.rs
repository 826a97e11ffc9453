//! Where the lanes of a block of a strided tensor are: what block pointers and tensor descriptors come down to.
//! Left out: what each of the two demands of its numbers (`block_pointer`, `descriptor`).

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CmpPredicate, Elem, OpKind, Shape, Type, ValueId};
use cerith_tile::rules::Rule;

use super::cast::{bool_like, cast};
use super::promotion::Operand;
use super::shape::{arange, splat};
use crate::constant;
use crate::tracer::{Traced, Tracer};
use crate::value::{Constant, Value};

/// One dimension of a tensor, and the part of it that a block covers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    /// Where each lane along the dimension is: `i64`, a block of one dimension.
    pub at: ValueId,
    /// The stride in elements, an `i64` scalar.
    pub stride: ValueId,
    /// How far the tensor goes, an `i64` scalar; nothing where it is not checked.
    pub limit: Option<ValueId>,
    /// Whether lanes before the first element are checked too.
    pub checked_below: bool,
}

/// `offset`, an `i64` scalar, and what follows it, as many as the extent.
pub(crate) fn run(tr: &mut Tracer<'_>, offset: ValueId, extent: usize) -> Traced<ValueId> {
    let lanes = arange(tr, 0, extent as i128)?;
    let lanes = cast(tr, lanes, DType::I64)?;
    let offset = splat(tr, offset, &[extent]);
    Ok(binary(tr, BinaryOp::Add, offset, lanes))
}

fn binary(tr: &mut Tracer<'_>, op: BinaryOp, a: ValueId, b: ValueId) -> ValueId {
    let ty = tr.ty(a).clone();
    tr.op(OpKind::Binary(op), &[a, b], ty)
}

/// A block of one dimension as dimension `at` of a block of this shape.
fn spread(tr: &mut Tracer<'_>, value: ValueId, at: usize, shape: &Shape) -> ValueId {
    let elem = tr.ty(value).elem;
    let mut thin: Shape = shape.iter().map(|_| 1).collect();
    if let (Some(slot), Some(&extent)) = (thin.get_mut(at), shape.get(at)) {
        *slot = extent;
    }
    let mut value = value;
    if shape.len() > 1 {
        value = tr.op(
            OpKind::Reshape { reorder: false },
            &[value],
            Type::block(elem, thin.clone()),
        );
    }
    if thin == *shape {
        return value;
    }
    tr.op(OpKind::Broadcast, &[value], Type::block(elem, shape.clone()))
}

/// Pointers to the lanes of a block, and which of them are inside; no mask where no dimension is checked.
pub(crate) fn lanes(tr: &mut Tracer<'_>, base: ValueId, axes: &[Axis]) -> (ValueId, Option<ValueId>) {
    let shape: Shape = axes
        .iter()
        .map(|axis| tr.ty(axis.at).shape.first().copied().unwrap_or(1))
        .collect();
    let (mut moved, mut inside) = (None, None);
    for (nth, axis) in axes.iter().enumerate() {
        let along = tr.ty(axis.at).shape.clone();
        let stride = splat(tr, axis.stride, &along);
        let offset = binary(tr, BinaryOp::Mul, axis.at, stride);
        let offset = spread(tr, offset, nth, &shape);
        moved = Some(match moved {
            Some(moved) => binary(tr, BinaryOp::Add, moved, offset),
            None => offset,
        });
        if let Some(limit) = axis.limit {
            let ty = bool_like(tr.ty(axis.at));
            let limit = splat(tr, limit, &along);
            let zero = tr.constant(0, tr.ty(axis.at).clone());
            let above = tr.op(OpKind::Compare(CmpPredicate::Ge), &[axis.at, zero], ty.clone());
            let below = tr.op(OpKind::Compare(CmpPredicate::Lt), &[axis.at, limit], ty);
            let valid = if axis.checked_below {
                binary(tr, BinaryOp::And, above, below)
            } else {
                below
            };
            let valid = spread(tr, valid, nth, &shape);
            inside = Some(match inside {
                Some(inside) => binary(tr, BinaryOp::And, inside, valid),
                None => valid,
            });
        }
    }
    let elem = tr.ty(base).elem;
    let pointers = splat(tr, base, &shape);
    let pointers = match moved {
        Some(moved) => tr.op(OpKind::AddPtr, &[pointers, moved], Type::block(elem, shape)),
        None => pointers,
    };
    (pointers, inside)
}

/// What lanes outside of a tensor hold: NaN or zero.
pub(crate) fn padding(tr: &mut Tracer<'_>, elem: Elem, shape: &Shape, nan: bool) -> ValueId {
    let bits = match elem.num() {
        Some(dtype) if nan => {
            cerith_tile::numeric::encode(dtype, f64::NAN, cerith_tile::ir::Rounding::NearestEven)
        }
        _ => 0,
    };
    tr.constant(bits, Type::block(elem, shape.clone()))
}

/// The items of a tuple or list of numbers; a number by itself counts as one.
pub(crate) fn items(value: &Value) -> &[Value] {
    match value {
        Value::Tuple { items, .. } | Value::List(items) => items,
        other => std::slice::from_ref(other),
    }
}

/// `_convert_elem_to_ir_value`: an integer as an `i64`. `narrow` says that it has to be an `i32` before.
pub(crate) fn index(tr: &mut Tracer<'_>, value: &Value, narrow: bool, what: &str) -> Traced<ValueId> {
    let bits = if narrow { 32 } else { 64 };
    let limit = 1i128 << (bits - 1);
    match value {
        Value::Constant(Constant::Int(number)) if (-limit..limit).contains(number) => {
            Ok(tr.constant(*number as i64 as u64, Type::num(DType::I64)))
        }
        Value::Constant(Constant::Int(number)) => {
            Err(tr.reject(format!("{what} {number} does not fit in {bits} bits")))
        }
        Value::Constant(constant) => Err(tr.reject(format!(
            "{what} must be an integer, not `{}`",
            constant::repr(constant)
        ))),
        Value::Tensor(id) => {
            let dtype = tr.dtype(*id).filter(|dtype| dtype.is_int());
            let Some(dtype) = dtype else {
                let text = tr.triton_type(tr.ty(*id));
                return Err(tr.reject(format!("{what} must be an integer, not {text}")));
            };
            if tr.is_block(*id) {
                let text = tr.triton_type(tr.ty(*id));
                return Err(tr.reject(format!("{what} must be a scalar, not {text}")));
            }
            if !narrow {
                return cast(tr, *id, DType::I64);
            }
            let unsigned = !dtype.is_signed_int() && !tr.rules.holds(Rule::UnsignedBlockOffsets);
            if dtype.bits() != 32 || unsigned {
                let mut message = format!(
                    "{what} must be a 32-bit integer, not {}",
                    super::promotion::shown(dtype)
                );
                if dtype.bits() > 32 {
                    message.push_str("; add `.to(tl.int32)`");
                }
                return Err(tr.reject(message));
            }
            // The compiler's integers have no sign: what is unsigned here is read as signed.
            let signed = super::cast::bitcast(tr, *id, Elem::Num(DType::I32))?;
            cast(tr, signed, DType::I64)
        }
        other => Err(tr.reject(format!(
            "{what} must be an integer, not {}",
            super::promotion::describe(other)
        ))),
    }
}

/// A scalar of a dtype, of a number or tensor.
pub(crate) fn scalar(tr: &mut Tracer<'_>, value: &Value, dtype: DType, what: &str) -> Traced<ValueId> {
    match super::promotion::operand(tr, value)? {
        Operand::Number(number) => super::promotion::number_constant(tr, number, dtype, None),
        Operand::Tensor(id) if tr.is_block(id) => {
            let text = tr.triton_type(tr.ty(id));
            Err(tr.reject(format!("{what} must be a scalar, not {text}")))
        }
        Operand::Tensor(id) => cast(tr, id, dtype),
    }
}
