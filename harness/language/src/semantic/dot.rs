//! Matrix products. See `dot_scaled` for microscaled ones, which are lowered to these.

use cerith_tile::DType;
use cerith_tile::ir::{Elem, InputPrecision, OpKind, Shape, Type, ValueId};
use cerith_tile::rules::Rule;

use super::cast::{cast, elem_shown};
use super::promotion::describe_dtype;
use super::shape::{self, product_shape, reshape};
use crate::lowering::Lowering;
use crate::stop::Traced;

/// The options of a product.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The rounding of `f32` operands.
    pub precision: InputPrecision,
    /// The number of products of 8-bit floats that may be added imprecisely.
    pub max_imprecise: Option<i128>,
    /// The result's dtype, if it was given.
    pub out_dtype: Option<DType>,
}

/// Reads `input_precision`.
pub(crate) fn parse_precision(lo: &Lowering, name: &str) -> Traced<InputPrecision> {
    let lower = name.to_lowercase();
    let split = lo.rules.holds(Rule::DotSplitsIntoBfloats);
    let known = |precision: &InputPrecision| {
        split || !matches!(precision, InputPrecision::Bf16x3 | InputPrecision::Bf16x6)
    };
    let allowed = InputPrecision::ALL.iter().copied().filter(known);
    allowed
        .clone()
        .find(|precision| precision.name() == lower)
        .ok_or_else(|| {
            let names: Vec<&str> = allowed.map(InputPrecision::name).collect();
            lo.reject(format!(
                "input_precision must be one of {}, not `{name}`",
                names.join(", ")
            ))
        })
}

/// The fewest rows, columns and inner elements.
fn find_min_shape(lo: &Lowering, dtype: DType) -> [usize; 3] {
    let (small, shallow) = (lo.rules.holds(Rule::SmallDots), lo.rules.holds(Rule::ShallowDots));
    let side = if small { 1 } else { 16 };
    let deep = lo.rules.holds(Rule::EightBitDotsAreDeep)
        || dtype.is_int() && !lo.rules.holds(Rule::ShallowIntegerDots);
    match dtype.bits() {
        8 if deep => [side, side, 32],
        64 if shallow => [side, side, 4],
        32 if shallow => [side, side, 8],
        _ => [side, side, 16],
    }
}

fn check_dtypes(lo: &Lowering, lhs: ValueId, rhs: ValueId) -> Traced<(DType, DType)> {
    let (a, b) = (lo.ty(lhs).elem, lo.ty(rhs).elem);
    let (Some(left), Some(right)) = (a.num(), b.num()) else {
        return Err(lo.reject(format!("dot of {} and {}", elem_shown(a), elem_shown(b))));
    };
    if left.is_fp8() && right.is_fp8() {
        return Ok((left, right));
    }
    for (side, dtype) in [("lhs", left), ("rhs", right)] {
        let known = match dtype {
            DType::I8 | DType::U8 | DType::F16 | DType::BF16 | DType::F32 => true,
            DType::F64 => lo.rules.holds(Rule::DotTakesDouble),
            _ => false,
        };
        if !known {
            return Err(lo.reject(format!(
                "unsupported {side} dtype {} of dot",
                describe_dtype(dtype)
            )));
        }
    }
    if left != right {
        return Err(lo.reject(format!(
            "both operands of dot must have the same dtype, got {} and {}",
            describe_dtype(left),
            describe_dtype(right)
        )));
    }
    Ok((left, right))
}

/// `tl.dot`.
pub fn dot(
    lo: &mut Lowering,
    lhs: ValueId,
    rhs: ValueId,
    acc: Option<ValueId>,
    options: Options,
) -> Traced<ValueId> {
    if !lo.is_block(lhs) || !lo.is_block(rhs) {
        return Err(lo.reject("dot operands must be block tensors (not scalars)"));
    }
    let (a, b) = (lo.ty(lhs).shape.clone(), lo.ty(rhs).shape.clone());
    let Some(result) = product_shape(&a, &b) else {
        return Err(lo.reject(format!(
            "shapes {} and {} are not compatible for dot",
            shape::describe_shape(&a),
            shape::describe_shape(&b)
        )));
    };
    if let Some(acc) = acc
        && lo.ty(acc).shape != result
    {
        return Err(lo.reject(format!(
            "expected accumulator shape {}, got {}",
            shape::describe_shape(&result),
            shape::describe_shape(&lo.ty(acc).shape)
        )));
    }
    if a.len() <= 3 {
        return lower_product(lo, lhs, rhs, acc, options);
    }
    let lhs = flatten_batch(lo, lhs)?;
    let rhs = flatten_batch(lo, rhs)?;
    let acc = acc.map(|acc| flatten_batch(lo, acc)).transpose()?;
    let value = lower_product(lo, lhs, rhs, acc, options)?;
    reshape(lo, value, &result, false)
}

/// All but the last two dimensions as one.
fn flatten_batch(lo: &mut Lowering, value: ValueId) -> Traced<ValueId> {
    let shape = lo.ty(value).shape.clone();
    let (batch, matrix) = shape.split_at(shape.len().saturating_sub(2));
    let flat: Vec<usize> = std::iter::once(batch.iter().product())
        .chain(matrix.iter().copied())
        .collect();
    reshape(lo, value, &flat, false)
}

fn lower_product(
    lo: &mut Lowering,
    mut lhs: ValueId,
    mut rhs: ValueId,
    acc: Option<ValueId>,
    options: Options,
) -> Traced<ValueId> {
    let (left, right) = check_dtypes(lo, lhs, rhs)?;
    let both_fp8 = left.is_fp8() && right.is_fp8();
    if left == DType::F8E4B15 || right == DType::F8E4B15 {
        lhs = cast(lo, lhs, DType::F16)?;
        rhs = cast(lo, rhs, DType::F16)?;
    }
    let dtype = lo.dtype(lhs).unwrap_or(left);
    let acc_dtype = acc.and_then(|acc| lo.dtype(acc));
    let out = options
        .out_dtype
        .or(acc_dtype.filter(|_| lo.rules.holds(Rule::DotFollowsAccumulator)));
    let out = out.unwrap_or(DType::F32);
    let (a, b) = (lo.ty(lhs).shape.clone(), lo.ty(rhs).shape.clone());
    let (Some(result), &[.., m, k], &[.., n]) = (product_shape(&a, &b), &a[..], &b[..]) else {
        return Err(lo.reject("dot needs matrices"));
    };
    let [least_m, least_n, least_k] = find_min_shape(lo, dtype);
    if m < least_m || n < least_n || k < least_k {
        return Err(lo.reject(format!(
            "dot needs shapes with M >= {least_m}, N >= {least_n} and K >= {least_k}, got M = {m}, N = {n}, K = {k}"
        )));
    }
    let result_dtype = match dtype {
        DType::I8 => DType::I32,
        DType::U8 => return Err(lo.reject("dot of integers supports int8 only")),
        _ if out == DType::BF16 => {
            return Err(lo.reject(
                "out_dtype=bfloat16 is unsupported by dot; use float32 or float16 and cast the result",
            ));
        }
        DType::F32 | DType::BF16 => DType::F32,
        DType::F64 => DType::F64,
        _ => out,
    };
    if let Some(got) = acc.map(|acc| lo.ty(acc).elem) {
        let wanted = if lo.rules.holds(Rule::DotTakesDouble) {
            out
        } else {
            result_dtype
        };
        if got != Elem::Num(wanted) {
            return Err(lo.reject(format!(
                "expected accumulator dtype {}, got {}; pass out_dtype to use this accumulator",
                describe_dtype(wanted),
                elem_shown(got)
            )));
        }
        if got != Elem::Num(result_dtype) {
            return Err(lo.reject(format!(
                "dot of {} accumulates in {}, not in {}",
                describe_dtype(dtype),
                describe_dtype(result_dtype),
                elem_shown(got)
            )));
        }
    }
    let max_imprecise = match options.max_imprecise {
        Some(most) if both_fp8 && most > k as i128 => {
            return Err(lo.reject(format!("max_num_imprecise_acc ({most}) must be at most K ({k})")));
        }
        Some(most) => u32::try_from(most).unwrap_or(0),
        // The CUDA backend's `max_num_imprecise_acc_default` of compute capability 9.0: all of them.
        None if both_fp8 => 1 << 30,
        None => 0,
    };
    let shape: Shape = result;
    let ty = Type::block(Elem::Num(result_dtype), shape);
    let acc = match acc {
        Some(acc) => acc,
        None => lo.emit_constant(0, ty.clone()),
    };
    Ok(lo.emit_op(
        OpKind::Dot {
            precision: options.precision,
            max_imprecise,
        },
        &[lhs, rhs, acc],
        ty,
    ))
}
