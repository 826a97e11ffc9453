//! Reductions, scans and mapped functions: their regions are traced calls of `@triton.jit` functions.
//! Left out: the standard library's reductions, which are Triton code (`prelude`); mapped functions (`map`).

use cerith_tile::DType;
use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::ir::{BinaryOp, Block, CmpPredicate, Combine, Elem, OpKind, Shape, Type, ValueId};
use cerith_tile::quirk::{Quirk, told};
use smallvec::SmallVec;

use super::cast::{bitcast, bool_like};
use super::promotion::describe;
use super::shape::{arange, axis, broadcast_to, expand_dim, reshape};
use crate::builtin::argument::tensors;
use crate::tracer::{Traced, Tracer};
use crate::value::Value;

/// Traces a call of `combine` on two of each element into a region.
fn region(tr: &mut Tracer<'_>, elements: &[Type], combine: &Value) -> Traced<Block> {
    if !matches!(combine, Value::Function(_)) {
        return Err(tr.reject(format!(
            "{} is no @triton.jit function to combine with",
            describe(combine)
        )));
    }
    takes_scalars(tr, elements, "a combine function")?;
    let args: Vec<ValueId> = elements
        .iter()
        .chain(elements)
        .map(|element| tr.builder.value(element.clone()))
        .collect();
    tr.builder.open_block(&args);
    let arguments = args.iter().map(|&arg| Value::Tensor(arg)).collect();
    let result = tr.call(combine, arguments, Vec::new())?;
    let yields = tensors(tr, &result, "the combine function's result")?;
    let matches = yields.len() == elements.len()
        && yields
            .iter()
            .zip(elements)
            .all(|(&value, element)| tr.ty(value) == element);
    if !matches {
        let list = |types: &mut dyn Iterator<Item = String>| types.collect::<Vec<_>>().join(", ");
        let wanted = list(&mut elements.iter().map(ToString::to_string));
        let got = list(&mut yields.iter().map(|&value| tr.ty(value).to_string()));
        return Err(tr.reject(format!(
            "the combine function must return ({wanted}) but returns ({got})"
        )));
    }
    let region = tr.builder.close_block(&yields);
    // The compiler takes them, but how often and in which order a combine function runs is up to it.
    if let Some(what) = impure(&region) {
        return Err(tr.unsupported(format!("a combine function with {what}")));
    }
    Ok(region)
}

/// Refuses a function of scalars of 8-bit floats, which the passes for NVIDIA's GPUs cannot convert (compile-only runs);
/// those of `fp8e4b15` are bytes.
pub(super) fn takes_scalars(tr: &Tracer<'_>, elements: &[Type], what: &str) -> Traced<()> {
    let mut dtypes = elements.iter().filter_map(|element| element.elem.num());
    match dtypes.find(|dtype| dtype.is_fp8() && *dtype != DType::F8E4B15) {
        Some(dtype) => Err(tr.reject(format!("{what} of {dtype}: it can only be moved and converted"))),
        None => Ok(()),
    }
}

/// What a region does beside computing, if it does.
fn impure(region: &Block) -> Option<&'static str> {
    region.ops.iter().find_map(|op| match &op.kind {
        OpKind::Barrier | OpKind::Acquire => Some("a barrier"),
        OpKind::Assert { .. } => Some("an assert"),
        kind if kind.accesses_memory() => Some("an access to memory"),
        kind => kind.regions().find_map(impure),
    })
}

/// The well-known operation that a region is, if it is one.
fn known(region: &Block) -> Option<Combine> {
    let ([operation, end], &[left, right]) = (&region.ops[..], &region.args[..]) else {
        return None;
    };
    let in_order = operation.operands[..] == [left, right] || operation.operands[..] == [right, left];
    if !in_order || operation.results[..] != end.operands[..] {
        return None;
    }
    let OpKind::Binary(op) = operation.kind else {
        return None;
    };
    match op {
        BinaryOp::Add => Some(Combine::Add),
        BinaryOp::Mul => Some(Combine::Mul),
        BinaryOp::Min => Some(Combine::Min),
        BinaryOp::Max => Some(Combine::Max),
        BinaryOp::And => Some(Combine::And),
        BinaryOp::Or => Some(Combine::Or),
        BinaryOp::Xor => Some(Combine::Xor),
        _ => None,
    }
}

fn same_shape(tr: &Tracer<'_>, inputs: &[ValueId], what: &str) -> Traced<Shape> {
    let mut shapes = inputs.iter().map(|&input| &tr.ty(input).shape);
    let Some(first) = shapes.next().cloned() else {
        return Err(tr.reject(format!("{what} needs at least one tensor")));
    };
    if shapes.any(|shape| *shape != first) {
        return Err(tr.reject(format!("all inputs of {what} must have the same shape")));
    }
    Ok(first)
}

fn elements(tr: &Tracer<'_>, inputs: &[ValueId]) -> Vec<Type> {
    inputs
        .iter()
        .map(|&input| Type::scalar(tr.ty(input).elem))
        .collect()
}

/// `tl.reduce`: along an axis, or of all lanes.
pub(crate) fn reduce(
    tr: &mut Tracer<'_>,
    inputs: &[ValueId],
    at: Option<i128>,
    combine: &Value,
    keep_dims: bool,
) -> Traced<Vec<ValueId>> {
    let shape = same_shape(tr, inputs, "a reduction")?;
    let rank = shape.len();
    let negative = at.is_some_and(|at| at < 0);
    let (inputs, at, rest) = match at {
        Some(at) => {
            let at = axis(tr, at, rank)?;
            let mut rest = shape;
            rest.remove(at);
            (inputs.to_vec(), at, rest)
        }
        None if rank == 0 => return Err(tr.reject("a scalar cannot be reduced")),
        None => {
            let numel = shape.iter().product();
            let mut flat = Vec::with_capacity(inputs.len());
            for &input in inputs {
                flat.push(if rank == 1 {
                    input
                } else {
                    reshape(tr, input, &[numel], true)?
                });
            }
            (flat, 0, Shape::new())
        }
    };
    let elements = elements(tr, &inputs);
    let region = region(tr, &elements, combine)?;
    let results: Vec<Type> = elements
        .iter()
        .map(|element| Type::block(element.elem, rest.clone()))
        .collect();
    let combined = known(&region);
    // Sums and extrema of the library, and places of extrema, are NumPy's in Triton's interpreter.
    let by_numpy = tr.is_of_prelude(combine)
        && (inputs.len() > 1 || matches!(combined, Some(Combine::Add | Combine::Min | Combine::Max)));
    if negative && !by_numpy {
        tr.used(told::NEGATIVE_AXIS);
    }
    if keep_dims {
        tr.used(told::KEPT_DIMENSIONS);
    }
    let kind = OpKind::Reduce {
        axis: at,
        combine: combined,
        region,
    };
    let reduced = tr.builder.op_multi(kind, &inputs, &results);
    if !keep_dims {
        return Ok(reduced.into_vec());
    }
    let whole = rest.is_empty();
    let mut kept = Vec::with_capacity(reduced.len());
    for value in reduced {
        kept.push(if whole {
            (0..rank).fold(value, |value, _| expand_dim(tr, value, 0))
        } else {
            expand_dim(
                tr,
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
    tr: &mut Tracer<'_>,
    inputs: &[ValueId],
    at: i128,
    combine: &Value,
    reverse: bool,
) -> Traced<Vec<ValueId>> {
    let shape = same_shape(tr, inputs, "a scan")?;
    let forgets = at < 0 && tr.rules.follows(Quirk::NegativeScansForget) && !tr.is_of_prelude(combine);
    let at = axis(tr, at, shape.len())?;
    if forgets {
        return one_step(tr, inputs, &shape, at, combine, reverse);
    }
    let elements = elements(tr, inputs);
    let region = region(tr, &elements, combine)?;
    let results: Vec<Type> = inputs.iter().map(|&input| tr.ty(input).clone()).collect();
    let kind = OpKind::Scan {
        axis: at,
        reverse,
        combine: known(&region),
        region,
    };
    Ok(tr.builder.op_multi(kind, inputs, &results).into_vec())
}

/// A scan whose every step but the first starts from zero.
fn one_step(
    tr: &mut Tracer<'_>,
    inputs: &[ValueId],
    shape: &Shape,
    at: usize,
    combine: &Value,
    reverse: bool,
) -> Traced<Vec<ValueId>> {
    let extent = shape.get(at).copied().unwrap_or(1);
    let zeros = inputs.iter().map(|&input| tr.constant(0, tr.ty(input).clone()));
    let zeros = zeros.collect::<Vec<_>>();
    let arguments = zeros.iter().chain(inputs).map(|&value| Value::Tensor(value));
    let result = tr.call(combine, arguments.collect(), Vec::new())?;
    let steps = tensors(tr, &result, "the combine function's result")?;
    let mut place = arange(tr, 0, extent as i128)?;
    for _ in 0..at {
        place = expand_dim(tr, place, 0);
    }
    while tr.ty(place).shape.len() < shape.len() {
        let rank = tr.ty(place).shape.len();
        place = expand_dim(tr, place, rank);
    }
    let ty = tr.ty(place).clone();
    let first = tr.constant(if reverse { extent as u64 - 1 } else { 0 }, ty.clone());
    let begins = tr.op(OpKind::Compare(CmpPredicate::Eq), &[place, first], bool_like(&ty));
    let begins = broadcast_to(tr, begins, shape)?;
    Ok(inputs
        .iter()
        .zip(steps)
        .map(|(&input, step)| {
            let ty = tr.ty(input).clone();
            tr.op(OpKind::Select, &[begins, input, step], ty)
        })
        .collect())
}

/// `tl.histogram`.
pub(crate) fn histogram(
    tr: &mut Tracer<'_>,
    values: ValueId,
    bins: usize,
    mask: Option<ValueId>,
) -> Traced<ValueId> {
    let values = if tr.rules.follows(Quirk::HistogramTakesLowBits) {
        let ty = tr.ty(values).clone();
        let low = tr.constant((bins.max(32) - 1) as u64, ty.clone());
        tr.op(OpKind::Binary(BinaryOp::And), &[values, low], ty)
    } else if tr.rules.follows(Quirk::HistogramClosesLastBin) {
        let ty = tr.ty(values).clone();
        let bools = bool_like(&ty);
        let end = tr.constant(bins as u64, ty.clone());
        let last = tr.constant(bins as u64 - 1, ty.clone());
        let at_end = tr.op(OpKind::Compare(CmpPredicate::Eq), &[values, end], bools);
        tr.op(OpKind::Select, &[at_end, last, values], ty)
    } else {
        values
    };
    let mask = inside(tr, values, bins, mask)?;
    let operands: SmallVec<[ValueId; 2]> = [Some(values), mask].into_iter().flatten().collect();
    let shape: Shape = smallvec::smallvec![bins];
    let ty = Type::block(Elem::Num(DType::I32), shape);
    Ok(tr.op(OpKind::Histogram { mask: mask.is_some() }, &operands, ty))
}

/// The mask without the lanes whose values, as unsigned numbers, have no bin.
fn inside(
    tr: &mut Tracer<'_>,
    values: ValueId,
    bins: usize,
    mask: Option<ValueId>,
) -> Traced<Option<ValueId>> {
    let ty = tr.ty(values).clone();
    let unsigned = match tr.dtype(values).map(DType::bits) {
        Some(32) => DType::U32,
        Some(64) => DType::U64,
        // How far narrow values are extended, and as what, is not told.
        _ => return Ok(mask),
    };
    let numbers = bitcast(tr, values, Elem::Num(unsigned))?;
    let end = tr.constant(bins as u64, ty.with_elem(Elem::Num(unsigned)));
    let bools = bool_like(&ty);
    let inside = tr.op(OpKind::Compare(CmpPredicate::Lt), &[numbers, end], bools.clone());
    Ok(Some(match mask {
        Some(mask) => tr.op(OpKind::Binary(BinaryOp::And), &[mask, inside], bools),
        None => inside,
    }))
}
