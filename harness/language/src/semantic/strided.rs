//! Computes the positions of the lanes of a block in a strided tensor. Block pointers and tensor descriptors are lowered to
//! this. See `block_pointer` and `descriptor` for the requirements on their arguments.

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CmpPredicate, Elem, OpKind, Shape, Type, ValueId};
use cerith_tile::rules::Rule;

use super::cast::{bool_like, cast};
use super::promotion::Operand;
use super::shape::{arange, splat};
use super::types::triton_type;
use crate::constant::{self, Constant};
use crate::lowering::Lowering;
use crate::stop::Traced;
use crate::value::Value;

/// One dimension of a tensor, and the part of it that a block covers.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// The position of each lane along the dimension: `i64`, a block of one dimension.
    pub positions: ValueId,
    /// The stride in elements, an `i64` scalar.
    pub stride: ValueId,
    /// The extent of the tensor, an `i64` scalar; `None` if it is not checked.
    pub limit: Option<ValueId>,
    /// Whether lanes before the first element are checked too.
    pub checked_below: bool,
}

/// Emits the positions `offset..offset + extent`. `offset` is an `i64` scalar.
pub fn run(lo: &mut Lowering, offset: ValueId, extent: usize) -> Traced<ValueId> {
    let lanes = arange(lo, 0, extent as i128)?;
    let lanes = cast(lo, lanes, DType::I64)?;
    let offset = splat(lo, offset, &[extent]);
    Ok(emit_binary(lo, BinaryOp::Add, offset, lanes))
}

fn emit_binary(lo: &mut Lowering, op: BinaryOp, a: ValueId, b: ValueId) -> ValueId {
    let ty = lo.ty(a).clone();
    lo.emit_op(OpKind::Binary(op), &[a, b], ty)
}

/// Broadcasts a block of one dimension along dimension `at` of a block of this shape.
fn spread(lo: &mut Lowering, value: ValueId, at: usize, shape: &Shape) -> ValueId {
    let elem = lo.ty(value).elem;
    let mut thin: Shape = shape.iter().map(|_| 1).collect();
    if let (Some(slot), Some(&extent)) = (thin.get_mut(at), shape.get(at)) {
        *slot = extent;
    }
    let mut value = value;
    if shape.len() > 1 {
        value = lo.emit_op(
            OpKind::Reshape { reorder: false },
            &[value],
            Type::block(elem, thin.clone()),
        );
    }
    if thin == *shape {
        return value;
    }
    lo.emit_op(OpKind::Broadcast, &[value], Type::block(elem, shape.clone()))
}

/// Emits pointers to the lanes of a block, and the mask of the lanes inside the tensor; no mask if no dimension is checked.
pub(crate) fn build_lanes(lo: &mut Lowering, base: ValueId, axes: &[Axis]) -> (ValueId, Option<ValueId>) {
    let shape: Shape = axes
        .iter()
        .map(|axis| lo.ty(axis.positions).shape.first().copied().unwrap_or(1))
        .collect();
    let (mut moved, mut inside) = (None, None);
    for (nth, axis) in axes.iter().enumerate() {
        let along = lo.ty(axis.positions).shape.clone();
        let stride = splat(lo, axis.stride, &along);
        let offset = emit_binary(lo, BinaryOp::Mul, axis.positions, stride);
        let offset = spread(lo, offset, nth, &shape);
        moved = Some(match moved {
            Some(moved) => emit_binary(lo, BinaryOp::Add, moved, offset),
            None => offset,
        });
        if let Some(limit) = axis.limit {
            let ty = bool_like(lo.ty(axis.positions));
            let limit = splat(lo, limit, &along);
            let zero = lo.emit_constant(0, lo.ty(axis.positions).clone());
            let above = lo.emit_op(
                OpKind::Compare(CmpPredicate::Ge),
                &[axis.positions, zero],
                ty.clone(),
            );
            let below = lo.emit_op(OpKind::Compare(CmpPredicate::Lt), &[axis.positions, limit], ty);
            let valid = if axis.checked_below {
                emit_binary(lo, BinaryOp::And, above, below)
            } else {
                below
            };
            let valid = spread(lo, valid, nth, &shape);
            inside = Some(match inside {
                Some(inside) => emit_binary(lo, BinaryOp::And, inside, valid),
                None => valid,
            });
        }
    }
    let elem = lo.ty(base).elem;
    let pointers = splat(lo, base, &shape);
    let pointers = match moved {
        Some(moved) => lo.emit_op(OpKind::AddPtr, &[pointers, moved], Type::block(elem, shape)),
        None => pointers,
    };
    (pointers, inside)
}

/// Emits the value of lanes outside of a tensor: NaN or zero.
pub(crate) fn emit_padding(lo: &mut Lowering, elem: Elem, shape: &Shape, nan: bool) -> ValueId {
    let bits = match elem.num() {
        Some(dtype) if nan => {
            cerith_tile::numeric::encode(dtype, f64::NAN, cerith_tile::ir::Rounding::NearestEven)
        }
        _ => 0,
    };
    lo.emit_constant(bits, Type::block(elem, shape.clone()))
}

/// Converts an integer to an `i64`, as Triton's `_convert_elem_to_ir_value` does. With `narrow`, it must fit in an `i32`.
pub fn index(lo: &mut Lowering, value: &Value, narrow: bool, what: &str) -> Traced<ValueId> {
    let bits = if narrow { 32 } else { 64 };
    let limit = 1i128 << (bits - 1);
    match value {
        Value::Constant(Constant::Int(number)) if (-limit..limit).contains(number) => {
            Ok(lo.emit_constant(*number as i64 as u64, Type::num(DType::I64)))
        }
        Value::Constant(Constant::Int(number)) => {
            Err(lo.reject(format!("{what} {number} does not fit in {bits} bits")))
        }
        Value::Constant(constant) => Err(lo.reject(format!(
            "{what} must be an integer, not `{}`",
            constant::repr(constant)
        ))),
        Value::Tensor(id) => {
            let dtype = lo.dtype(*id).filter(|dtype| dtype.is_int());
            let Some(dtype) = dtype else {
                let text = triton_type(lo.ty(*id));
                return Err(lo.reject(format!("{what} must be an integer, not {text}")));
            };
            if lo.is_block(*id) {
                let text = triton_type(lo.ty(*id));
                return Err(lo.reject(format!("{what} must be a scalar, not {text}")));
            }
            if !narrow {
                return cast(lo, *id, DType::I64);
            }
            let unsigned = !dtype.is_signed_int() && !lo.rules.holds(Rule::UnsignedBlockOffsets);
            if dtype.bits() != 32 || unsigned {
                let mut message = format!(
                    "{what} must be a 32-bit integer, not {}",
                    super::promotion::describe_dtype(dtype)
                );
                if dtype.bits() > 32 {
                    message.push_str("; add `.to(tl.int32)`");
                }
                return Err(lo.reject(message));
            }
            // The compiler's integers have no sign: an unsigned value is read as a signed one here.
            let signed = super::cast::bitcast(lo, *id, Elem::Num(DType::I32))?;
            cast(lo, signed, DType::I64)
        }
        other => Err(lo.reject(format!(
            "{what} must be an integer, not {}",
            super::types::describe(other)
        ))),
    }
}

/// A scalar of a dtype, of a number or tensor.
pub(crate) fn to_scalar(lo: &mut Lowering, value: &Value, dtype: DType, what: &str) -> Traced<ValueId> {
    match super::promotion::to_operand(lo, value)? {
        Operand::Number(number) => super::promotion::number_constant(lo, number, dtype, None),
        Operand::Tensor(id) if lo.is_block(id) => {
            let text = triton_type(lo.ty(id));
            Err(lo.reject(format!("{what} must be a scalar, not {text}")))
        }
        Operand::Tensor(id) => cast(lo, id, dtype),
    }
}
