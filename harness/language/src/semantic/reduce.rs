//! Reductions, scans and histograms. The region of a reduction or scan is a call of a `@triton.jit` function, which a
//! [`Caller`] runs.
//! See `prelude` for the standard library's reductions, which are Triton code, and `map` for mapped functions.

use cerith_tile::DType;
use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::ir::{
    AssertedBy, BinaryOp, Block, CmpPredicate, Combine, Elem, OpKind, Shape, Type, ValueId,
};
use cerith_tile::quirk::{Quirk, signature};
use smallvec::SmallVec;

use super::cast::{bitcast, bool_like};
use super::shape::{arange, broadcast_to, expand_dim, reshape, wrap_axis};
use super::types::{describe, expect_tensors};
use crate::lowering::Lowering;
use crate::stop::Traced;
use crate::value::Value;
use crate::value::callable::Caller;

/// Traces a call of `combine` on two of each element into a region.
fn trace_combine(caller: &mut dyn Caller, elements: &[Type], combine: &Value) -> Traced<Block> {
    let lo = caller.lo();
    if !matches!(combine, Value::Function(_)) {
        return Err(lo.reject(format!(
            "{} is no @triton.jit function to combine with",
            describe(combine)
        )));
    }
    takes_scalars(lo, elements, "a combine function")?;
    let args: Vec<ValueId> = elements
        .iter()
        .chain(elements)
        .map(|element| lo.builder.add_value(element.clone()))
        .collect();
    lo.builder.open_block(&args);
    let yields = call(caller, combine, &args, "the combine function's result")?;
    let lo = caller.lo();
    let matches = yields.len() == elements.len()
        && yields
            .iter()
            .zip(elements)
            .all(|(&value, element)| lo.ty(value) == element);
    if !matches {
        let list = |types: &mut dyn Iterator<Item = String>| types.collect::<Vec<_>>().join(", ");
        let wanted = list(&mut elements.iter().map(ToString::to_string));
        let got = list(&mut yields.iter().map(|&value| lo.ty(value).to_string()));
        return Err(lo.reject(format!(
            "the combine function must return ({wanted}) but returns ({got})"
        )));
    }
    let mut region = lo.builder.close_block(&yields);
    mark_overflow_checks(&mut region);
    // The compiler takes them, but how often and in which order a combine function runs is up to it.
    if let Some(what) = find_side_effect(&region) {
        return Err(lo.report_unsupported(format!("a combine function with {what}")));
    }
    Ok(region)
}

/// Calls a function on tensors and returns its result tensors; messages call them `what`.
pub(super) fn call(
    caller: &mut dyn Caller,
    function: &Value,
    inputs: &[ValueId],
    what: &str,
) -> Traced<Vec<ValueId>> {
    let arguments = inputs.iter().map(|&input| Value::Tensor(input)).collect();
    let result = caller.call(function, arguments)?;
    expect_tensors(caller.lo(), &result, what)
}

/// Refuses a function of scalars that are 8-bit floats: the passes for NVIDIA's GPUs cannot convert them (compile-only runs).
/// Those of `fp8e4b15` are bytes.
pub(super) fn takes_scalars(lo: &Lowering, elements: &[Type], what: &str) -> Traced<()> {
    let mut dtypes = elements.iter().filter_map(|element| element.elem.num());
    match dtypes.find(|dtype| dtype.is_fp8() && *dtype != DType::F8E4B15) {
        Some(dtype) => {
            Err(lo.reject_by_pass(format!("{what} of {dtype}: it can only be moved and converted")))
        }
        None => Ok(()),
    }
}

/// Marks the overflow checks of a combine function.
fn mark_overflow_checks(region: &mut Block) {
    for operation in &mut region.ops {
        if let OpKind::Assert { check, .. } = &mut operation.kind
            && *check == AssertedBy::OverflowCheck
        {
            *check = AssertedBy::CombineOverflowCheck;
        }
        for inner in operation.kind.regions_mut() {
            mark_overflow_checks(inner);
        }
    }
}

/// The side effect of a region, if it has one.
fn find_side_effect(region: &Block) -> Option<&'static str> {
    region.ops.iter().find_map(|op| match &op.kind {
        OpKind::Barrier | OpKind::Acquire => Some("a barrier"),
        OpKind::Assert {
            check: AssertedBy::Kernel,
            ..
        } => Some("an assert"),
        kind if kind.accesses_memory() => Some("an access to memory"),
        kind => kind.regions().find_map(find_side_effect),
    })
}

fn same_shape(lo: &Lowering, inputs: &[ValueId], what: &str) -> Traced<Shape> {
    let mut shapes = inputs.iter().map(|&input| &lo.ty(input).shape);
    let Some(first) = shapes.next().cloned() else {
        return Err(lo.reject(format!("{what} needs at least one tensor")));
    };
    if shapes.any(|shape| *shape != first) {
        return Err(lo.reject(format!("all inputs of {what} must have the same shape")));
    }
    Ok(first)
}

fn collect_element_types(lo: &Lowering, inputs: &[ValueId]) -> Vec<Type> {
    inputs
        .iter()
        .map(|&input| Type::scalar(lo.ty(input).elem))
        .collect()
}

/// `tl.reduce`: along an axis, or of all lanes.
pub fn reduce(
    caller: &mut dyn Caller,
    inputs: &[ValueId],
    at: Option<i128>,
    combine: &Value,
    keep_dims: bool,
) -> Traced<Vec<ValueId>> {
    let lo = caller.lo();
    let shape = same_shape(lo, inputs, "a reduction")?;
    let rank = shape.len();
    let negative = at.is_some_and(|at| at < 0);
    let (inputs, at, rest) = match at {
        Some(at) => {
            let at = wrap_axis(lo, at, rank)?;
            let mut rest = shape;
            rest.remove(at);
            (inputs.to_vec(), at, rest)
        }
        None if rank == 0 => return Err(lo.reject("a scalar cannot be reduced")),
        None => {
            let numel = shape.iter().product();
            let mut flat = Vec::with_capacity(inputs.len());
            for &input in inputs {
                flat.push(if rank == 1 {
                    input
                } else {
                    reshape(lo, input, &[numel], true)?
                });
            }
            (flat, 0, Shape::new())
        }
    };
    let elements = collect_element_types(lo, &inputs);
    let region = trace_combine(caller, &elements, combine)?;
    let results: Vec<Type> = elements
        .iter()
        .map(|element| Type::block(element.elem, rest.clone()))
        .collect();
    let combined = region.combine();
    // Sums and extrema of the library, and places of extrema, are NumPy's in Triton's interpreter.
    let by_numpy = caller.is_of_prelude(combine)
        && (inputs.len() > 1 || matches!(combined, Some(Combine::Add | Combine::Min | Combine::Max)));
    let lo = caller.lo();
    if negative && !by_numpy {
        lo.record_use(signature::NEGATIVE_AXIS);
    }
    if keep_dims {
        lo.record_use(signature::KEPT_DIMENSIONS);
    }
    let kind = OpKind::Reduce {
        axis: at,
        combine: combined,
        region,
    };
    let reduced = lo.builder.op_multi(kind, &inputs, &results);
    if !keep_dims {
        return Ok(reduced.into_vec());
    }
    let whole = rest.is_empty();
    let mut kept = Vec::with_capacity(reduced.len());
    for value in reduced {
        kept.push(if whole {
            (0..rank).fold(value, |value, _| expand_dim(lo, value, 0))
        } else {
            expand_dim(
                lo,
                value,
                if is_planted(Fault::KeptDimensionIsFirst) {
                    0
                } else {
                    at
                },
            )
        });
    }
    Ok(kept)
}

/// `tl.associative_scan`.
pub(crate) fn scan(
    caller: &mut dyn Caller,
    inputs: &[ValueId],
    at: i128,
    combine: &Value,
    reverse: bool,
) -> Traced<Vec<ValueId>> {
    let is_of_prelude = caller.is_of_prelude(combine);
    let lo = caller.lo();
    let shape = same_shape(lo, inputs, "a scan")?;
    let forgets = at < 0 && lo.has_quirk(Quirk::NegativeScansForget) && !is_of_prelude;
    let at = wrap_axis(lo, at, shape.len())?;
    if forgets {
        return one_step(caller, inputs, &shape, at, combine, reverse);
    }
    let elements = collect_element_types(lo, inputs);
    let region = trace_combine(caller, &elements, combine)?;
    let lo = caller.lo();
    let results: Vec<Type> = inputs.iter().map(|&input| lo.ty(input).clone()).collect();
    let kind = OpKind::Scan {
        axis: at,
        reverse,
        combine: region.combine(),
        region,
    };
    Ok(lo.builder.op_multi(kind, inputs, &results).into_vec())
}

/// A scan whose every step but the first starts from zero.
fn one_step(
    caller: &mut dyn Caller,
    inputs: &[ValueId],
    shape: &Shape,
    at: usize,
    combine: &Value,
    reverse: bool,
) -> Traced<Vec<ValueId>> {
    let lo = caller.lo();
    let extent = shape.get(at).copied().unwrap_or(1);
    let zeros = inputs
        .iter()
        .map(|&input| lo.emit_constant(0, lo.ty(input).clone()));
    let arguments: Vec<ValueId> = zeros
        .collect::<Vec<_>>()
        .into_iter()
        .chain(inputs.iter().copied())
        .collect();
    let steps = call(caller, combine, &arguments, "the combine function's result")?;
    let lo = caller.lo();
    let mut place = arange(lo, 0, extent as i128)?;
    for _ in 0..at {
        place = expand_dim(lo, place, 0);
    }
    while lo.ty(place).shape.len() < shape.len() {
        let rank = lo.ty(place).shape.len();
        place = expand_dim(lo, place, rank);
    }
    let ty = lo.ty(place).clone();
    let first = lo.emit_constant(if reverse { extent as u64 - 1 } else { 0 }, ty.clone());
    let begins = lo.emit_op(OpKind::Compare(CmpPredicate::Eq), &[place, first], bool_like(&ty));
    let begins = broadcast_to(lo, begins, shape)?;
    Ok(inputs
        .iter()
        .zip(steps)
        .map(|(&input, step)| {
            let ty = lo.ty(input).clone();
            lo.emit_op(OpKind::Select, &[begins, input, step], ty)
        })
        .collect())
}

/// `tl.histogram`.
pub fn histogram(lo: &mut Lowering, values: ValueId, bins: usize, mask: Option<ValueId>) -> Traced<ValueId> {
    let values = if lo.has_quirk(Quirk::HistogramTakesLowBits) {
        let ty = lo.ty(values).clone();
        let low = lo.emit_constant((bins.max(32) - 1) as u64, ty.clone());
        lo.emit_op(OpKind::Binary(BinaryOp::And), &[values, low], ty)
    } else if lo.has_quirk(Quirk::HistogramClosesLastBin) {
        let ty = lo.ty(values).clone();
        let bools = bool_like(&ty);
        let end = lo.emit_constant(bins as u64, ty.clone());
        let last = lo.emit_constant(bins as u64 - 1, ty.clone());
        let at_end = lo.emit_op(OpKind::Compare(CmpPredicate::Eq), &[values, end], bools);
        lo.emit_op(OpKind::Select, &[at_end, last, values], ty)
    } else {
        values
    };
    let mask = restrict_mask(lo, values, bins, mask)?;
    let operands: SmallVec<[ValueId; 2]> = [Some(values), mask].into_iter().flatten().collect();
    let shape: Shape = smallvec::smallvec![bins];
    let ty = Type::block(Elem::Num(DType::I32), shape);
    Ok(lo.emit_op(OpKind::Histogram { mask: mask.is_some() }, &operands, ty))
}

/// The mask without the lanes whose values, as unsigned numbers, have no bin.
fn restrict_mask(
    lo: &mut Lowering,
    values: ValueId,
    bins: usize,
    mask: Option<ValueId>,
) -> Traced<Option<ValueId>> {
    let ty = lo.ty(values).clone();
    let unsigned = match lo.dtype(values).map(DType::bits) {
        Some(32) => DType::U32,
        Some(64) => DType::U64,
        // Nothing says how far narrow values are extended, and as what.
        _ => return Ok(mask),
    };
    let numbers = bitcast(lo, values, Elem::Num(unsigned))?;
    let end = lo.emit_constant(bins as u64, ty.with_elem(Elem::Num(unsigned)));
    let bools = bool_like(&ty);
    let inside = lo.emit_op(OpKind::Compare(CmpPredicate::Lt), &[numbers, end], bools.clone());
    Ok(Some(match mask {
        Some(mask) => lo.emit_op(OpKind::Binary(BinaryOp::And), &[mask, inside], bools),
        None => inside,
    }))
}
