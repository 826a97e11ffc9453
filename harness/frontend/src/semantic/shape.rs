//! Shapes: broadcasting, and the operations that move lanes. Left out: what the lanes hold.

use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::ir::{Elem, OpKind, Shape, Type, ValueId};
use cerith_tile::rules::Rule;
use smallvec::smallvec;

use super::promotion::describe;
use crate::tracer::{Stop, Traced, Tracer};
use crate::value::{Constant, Value};

/// The most lanes that a block may have.
pub(crate) const MAX_NUMEL: i128 = 1 << 20;

/// A shape as Python prints a list of ints.
pub(crate) fn shown(shape: &[usize]) -> String {
    let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("[{}]", extents.join(", "))
}

/// The extents that a user gave for a block: powers of two, not too many lanes.
pub(crate) fn block_shape(tr: &Tracer<'_>, extents: &[i128]) -> Traced<Shape> {
    let mut numel: i128 = 1;
    let mut shape = Shape::new();
    for (nth, &extent) in extents.iter().enumerate() {
        if extent == 0 && !tr.rules.holds(Rule::BlocksHaveElements) {
            return Err(tr.unsupported("a block of no elements, which Triton takes before 3.8"));
        }
        if extent <= 0 || extent & (extent - 1) != 0 {
            return Err(tr.reject(format!(
                "shape element {nth} must be a power of 2, but it is {extent}"
            )));
        }
        numel = numel.saturating_mul(extent);
        if numel > MAX_NUMEL {
            return Err(oversized(tr, numel));
        }
        shape.push(extent as usize);
    }
    Ok(shape)
}

/// The rejection of a block with too many elements.
pub(crate) fn oversized(tr: &Tracer<'_>, numel: i128) -> Stop {
    tr.reject(format!(
        "a block of {numel} elements exceeds Triton's maximum of {MAX_NUMEL}"
    ))
}

/// A scalar in every lane of a block; a scalar where the shape is empty.
pub(crate) fn splat(tr: &mut Tracer<'_>, scalar: ValueId, shape: &[usize]) -> ValueId {
    if shape.is_empty() {
        return scalar;
    }
    let ty = Type::block(tr.ty(scalar).elem, Shape::from_slice(shape));
    tr.op(OpKind::Splat, &[scalar], ty)
}

/// The lanes of a value under another shape with as many, in order.
fn with_shape(tr: &mut Tracer<'_>, value: ValueId, shape: Shape, reorder: bool) -> ValueId {
    let ty = Type::block(tr.ty(value).elem, shape);
    tr.op(OpKind::Reshape { reorder }, &[value], ty)
}

/// The one lane of a block as a scalar; a scalar as it is.
pub(crate) fn unsplat(tr: &mut Tracer<'_>, value: ValueId) -> Traced<ValueId> {
    if !tr.is_block(value) {
        return Ok(value);
    }
    if tr.ty(value).numel() != 1 {
        return Err(tr.reject("only a tensor with one element can become a scalar"));
    }
    Ok(with_shape(tr, value, Shape::new(), false))
}

/// Two operands in one shape: scalars are repeated, missing leading dimensions added, extents of 1 repeated.
pub(crate) fn broadcast(tr: &mut Tracer<'_>, lhs: ValueId, rhs: ValueId) -> Traced<(ValueId, ValueId)> {
    match (tr.is_block(lhs), tr.is_block(rhs)) {
        (false, false) => Ok((lhs, rhs)),
        (true, false) => {
            let shape = tr.ty(lhs).shape.clone();
            Ok((lhs, splat(tr, rhs, &shape)))
        }
        (false, true) => {
            let shape = tr.ty(rhs).shape.clone();
            Ok((splat(tr, lhs, &shape), rhs))
        }
        (true, true) => {
            let rank = tr.ty(lhs).shape.len().max(tr.ty(rhs).shape.len());
            let lhs = with_rank(tr, lhs, rank);
            let rhs = with_rank(tr, rhs, rank);
            let mut shape = Shape::new();
            for (nth, (&left, &right)) in tr.ty(lhs).shape.iter().zip(&tr.ty(rhs).shape).enumerate() {
                if left != right && left != 1 && right != 1 {
                    return Err(tr.reject(format!(
                        "cannot broadcast {} and {}: incompatible dimensions at index {nth}: {left} and {right}",
                        shown(&tr.ty(lhs).shape),
                        shown(&tr.ty(rhs).shape)
                    )));
                }
                shape.push(if left == 1 { right } else { left });
            }
            Ok((repeat(tr, lhs, &shape), repeat(tr, rhs, &shape)))
        }
    }
}

fn with_rank(tr: &mut Tracer<'_>, block: ValueId, rank: usize) -> ValueId {
    let shape = tr.ty(block).shape.clone();
    if shape.len() >= rank {
        return block;
    }
    let missing = std::iter::repeat_n(1, rank - shape.len());
    let padded = if is_planted(Fault::RanksPadBehind) {
        shape.into_iter().chain(missing).collect()
    } else {
        missing.chain(shape).collect()
    };
    with_shape(tr, block, padded, false)
}

fn repeat(tr: &mut Tracer<'_>, block: ValueId, shape: &[usize]) -> ValueId {
    if tr.ty(block).shape.as_slice() == shape {
        return block;
    }
    let ty = Type::block(tr.ty(block).elem, Shape::from_slice(shape));
    tr.op(OpKind::Broadcast, &[block], ty)
}

/// Several operands in one shape.
pub(crate) fn broadcast_all(tr: &mut Tracer<'_>, values: &[ValueId]) -> Traced<Vec<ValueId>> {
    let mut values = values.to_vec();
    let Some((mut head, mut tail)) = values
        .split_first_mut()
        .map(|(head, tail)| (*head, tail.to_vec()))
    else {
        return Ok(values);
    };
    for _ in 0..2 {
        for value in &mut tail {
            (head, *value) = broadcast(tr, head, *value)?;
        }
    }
    values.clear();
    values.push(head);
    values.append(&mut tail);
    Ok(values)
}

/// A value in exactly this shape (`broadcast_to`).
pub(crate) fn broadcast_to(tr: &mut Tracer<'_>, value: ValueId, shape: &[usize]) -> Traced<ValueId> {
    if !tr.is_block(value) {
        return Ok(splat(tr, value, shape));
    }
    let source = tr.ty(value).shape.clone();
    if source.len() != shape.len() {
        return Err(tr.reject(format!(
            "cannot broadcast, rank mismatch: {}, {}",
            shown(&source),
            shown(shape)
        )));
    }
    for (nth, (&from, &to)) in source.iter().zip(shape).enumerate() {
        if from != to && from != 1 {
            return Err(tr.reject(format!(
                "cannot broadcast, the expanded size of the tensor ({to}) must match the existing size ({from}) at \
                 non-singleton dimension {nth}: {}, {}",
                shown(&source),
                shown(shape)
            )));
        }
    }
    Ok(repeat(tr, value, shape))
}

/// `reshape` and `view`.
pub(crate) fn reshape(
    tr: &mut Tracer<'_>,
    value: ValueId,
    shape: &[usize],
    reorder: bool,
) -> Traced<ValueId> {
    if shape.is_empty() {
        if !tr.rules.holds(Rule::ReshapeToScalar) {
            return Err(tr.reject("reshape needs at least one dimension"));
        }
        return unsplat(tr, value);
    }
    if !tr.is_block(value) {
        return Err(tr.reject("a scalar cannot be reshaped; use `expand_dims` or `broadcast_to`"));
    }
    if tr.ty(value).numel() != shape.iter().product() {
        return Err(tr.reject(format!(
            "cannot reshape {} to {}: the number of elements would change",
            shown(&tr.ty(value).shape),
            shown(shape)
        )));
    }
    Ok(with_shape(tr, value, Shape::from_slice(shape), reorder))
}

/// An axis counted from the end when negative, within `rank` dimensions.
pub(crate) fn axis(tr: &Tracer<'_>, axis: i128, rank: usize) -> Traced<usize> {
    let rank = rank as i128;
    if axis < -rank || axis >= rank {
        return Err(tr.reject(format!(
            "invalid axis {axis}: expected {} <= axis < {rank}",
            -rank
        )));
    }
    let axis = if axis < -1 && is_planted(Fault::NegativeAxisIsOff) {
        axis + 1
    } else {
        axis
    };
    Ok((if axis < 0 { axis + rank } else { axis }) as usize)
}

/// A new dimension of extent 1 at `at`, which is at most the rank.
pub(crate) fn expand_dim(tr: &mut Tracer<'_>, value: ValueId, at: usize) -> ValueId {
    let mut shape = tr.ty(value).shape.clone();
    shape.insert(at.min(shape.len()), 1);
    if tr.is_block(value) {
        with_shape(tr, value, shape, false)
    } else {
        splat(tr, value, &shape)
    }
}

/// `expand_dims`: new dimensions at these axes of the result.
pub(crate) fn expand_dims(tr: &mut Tracer<'_>, value: ValueId, axes: &[i128]) -> Traced<ValueId> {
    let rank = tr.ty(value).shape.len() + axes.len();
    let mut sorted = Vec::with_capacity(axes.len());
    for &at in axes {
        sorted.push(axis(tr, at, rank)?);
    }
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(tr.reject(format!(
            "expand_dims received the same axis twice: {}",
            shown(&sorted)
        )));
    }
    Ok(sorted
        .into_iter()
        .fold(value, |value, at| expand_dim(tr, value, at)))
}

/// `permute`: dimension `i` of the result is dimension `dims[i]` of the operand.
pub(crate) fn permute(tr: &mut Tracer<'_>, value: ValueId, dims: &[i128]) -> Traced<ValueId> {
    let shape = tr.ty(value).shape.clone();
    if shape.len() != dims.len() {
        return Err(tr.reject(format!(
            "permute dims must have the same length as the input's shape, got {} and {}",
            shape.len(),
            dims.len()
        )));
    }
    let order: Option<Shape> = dims.iter().map(|&dim| usize::try_from(dim).ok()).collect();
    let order = order.filter(|order| (0..shape.len()).all(|dim| order.contains(&dim)));
    let Some(order) = order else {
        return Err(tr.reject("permute dims must be a permutation of 0, 1, ..., n-1"));
    };
    if order.is_empty() {
        return Err(tr.reject("a scalar has no dimensions to permute"));
    }
    let order: Shape = if is_planted(Fault::PermutationIsInverse) {
        (0..order.len())
            .filter_map(|dim| order.iter().position(|&to| to == dim))
            .collect()
    } else {
        order
    };
    let result: Shape = order.iter().filter_map(|&dim| shape.get(dim).copied()).collect();
    let ty = Type::block(tr.ty(value).elem, result);
    Ok(tr.op(OpKind::Trans { order }, &[value], ty))
}

/// `trans` without dimensions: the last two are swapped.
pub(crate) fn transpose(tr: &mut Tracer<'_>, value: ValueId) -> Traced<ValueId> {
    let rank = tr.ty(value).shape.len() as i128;
    if rank < 2 {
        return Err(tr.reject("tl.trans of a 0- or 1-dimensional tensor"));
    }
    let dims: Vec<i128> = (0..rank - 2).chain([rank - 1, rank - 2]).collect();
    permute(tr, value, &dims)
}

/// `join`.
pub(crate) fn join(tr: &mut Tracer<'_>, lhs: ValueId, rhs: ValueId) -> Traced<ValueId> {
    let (lhs, rhs) = broadcast(tr, lhs, rhs)?;
    if tr.ty(lhs).elem != tr.ty(rhs).elem {
        return Err(tr.reject(format!(
            "join needs tensors of one type, got {} and {}",
            super::cast::elem_shown(tr.ty(lhs).elem),
            super::cast::elem_shown(tr.ty(rhs).elem)
        )));
    }
    let scalars = !tr.is_block(lhs);
    let (lhs, rhs) = if scalars {
        (expand_dim(tr, lhs, 0), expand_dim(tr, rhs, 0))
    } else {
        (lhs, rhs)
    };
    let mut shape = tr.ty(lhs).shape.clone();
    shape.push(2);
    let ty = Type::block(tr.ty(lhs).elem, shape);
    let joined = tr.op(OpKind::Join, &[lhs, rhs], ty);
    if scalars {
        reshape(tr, joined, &[2], false)
    } else {
        Ok(joined)
    }
}

/// `split`.
pub(crate) fn split(tr: &mut Tracer<'_>, value: ValueId) -> Traced<(ValueId, ValueId)> {
    let shape = tr.ty(value).shape.clone();
    match shape.last() {
        None => return Err(tr.reject("split requires a tensor that is no scalar")),
        Some(2) => {}
        Some(last) => return Err(tr.reject(format!("split needs a last dimension of 2, got {last}"))),
    }
    let one_dimension = shape.len() == 1;
    let value = if one_dimension {
        expand_dim(tr, value, 0)
    } else {
        value
    };
    let mut half = tr.ty(value).shape.clone();
    half.pop();
    let ty = Type::block(tr.ty(value).elem, half);
    let halves = tr.builder.op_multi(OpKind::Split, &[value], &[ty.clone(), ty]);
    let (Some(&left), Some(&right)) = (halves.first(), halves.get(1)) else {
        return Err(tr.unsupported("a split without halves"));
    };
    if one_dimension {
        Ok((unsplat(tr, left)?, unsplat(tr, right)?))
    } else {
        Ok((left, right))
    }
}

/// `cat` along dimension `dim`.
pub(crate) fn cat(
    tr: &mut Tracer<'_>,
    lhs: ValueId,
    rhs: ValueId,
    reorder: bool,
    dim: i128,
) -> Traced<ValueId> {
    let (left, right) = (tr.ty(lhs).shape.clone(), tr.ty(rhs).shape.clone());
    if tr.ty(lhs).elem != tr.ty(rhs).elem {
        return Err(tr.reject("cat needs tensors of one type"));
    }
    if reorder || !tr.rules.holds(Rule::OrderedCat) {
        if !reorder {
            return Err(tr.reject("this version's `cat` may always reorder elements; pass can_reorder=True"));
        }
        if left.len() != 1 || right.len() != 1 {
            return Err(tr.reject(format!(
                "cat expects 1D inputs, got {}D",
                left.len().max(right.len())
            )));
        }
        let extents: Vec<i128> = vec![(left.iter().sum::<usize>() + right.iter().sum::<usize>()) as i128];
        let shape = block_shape(tr, &extents)?;
        let ty = Type::block(tr.ty(lhs).elem, shape);
        return Ok(tr.op(OpKind::Cat { reorder }, &[lhs, rhs], ty));
    }
    if left.len() != right.len() {
        let (left, right) = (left.len(), right.len());
        return Err(tr.reject(format!(
            "cat needs tensors of the same rank, got {left} and {right}"
        )));
    }
    let at = axis(tr, dim, left.len())?;
    if left != right {
        return Err(tr.reject(format!(
            "cat needs tensors of the same shape, got {} and {}",
            shown(&left),
            shown(&right)
        )));
    }
    let joined = join(tr, lhs, rhs)?;
    let mut order: Vec<i128> = (0..left.len() as i128).collect();
    order.insert(at, left.len() as i128);
    let joined = permute(tr, joined, &order)?;
    let mut shape: Vec<i128> = left.iter().map(|&extent| extent as i128).collect();
    if let Some(extent) = shape.get_mut(at) {
        *extent *= 2;
    }
    let shape = block_shape(tr, &shape)?;
    reshape(tr, joined, &shape, false)
}

/// `gather`.
pub(crate) fn gather(tr: &mut Tracer<'_>, source: ValueId, index: ValueId, at: i128) -> Traced<ValueId> {
    if !tr.dtype(index).is_some_and(cerith_tile::DType::is_int) {
        return Err(tr.reject("gather needs an index of integers"));
    }
    let (from, by) = (tr.ty(source).shape.clone(), tr.ty(index).shape.clone());
    if from.len() != by.len() {
        return Err(tr.reject("gather needs a source and an index of the same rank"));
    }
    let at = axis(tr, at, from.len())?;
    if from
        .iter()
        .zip(&by)
        .enumerate()
        .any(|(dim, (a, b))| dim != at && a != b)
    {
        return Err(tr.reject(format!(
            "gather needs a source and an index that agree outside of axis {at}, got {} and {}",
            shown(&from),
            shown(&by)
        )));
    }
    let ty = Type::block(tr.ty(source).elem, by);
    Ok(tr.op(OpKind::Gather { axis: at }, &[source, index], ty))
}

/// `arange`.
pub(crate) fn arange(tr: &mut Tracer<'_>, start: i128, end: i128) -> Traced<ValueId> {
    let (0.., 0.., Ok(first), Ok(last)) = (start, end, i32::try_from(start), i32::try_from(end)) else {
        return Err(tr.reject("arange must fit in int32, and its bounds must not be negative"));
    };
    if end <= start {
        return Err(tr.reject(format!(
            "arange's end ({end}) must be greater than its start ({start})"
        )));
    }
    let length = end - start;
    if length & (length - 1) != 0 {
        return Err(tr.reject(format!("arange's range must be a power of 2, but it is {length}")));
    }
    let shape = block_shape(tr, &[length])?;
    let ty = Type::block(Elem::Num(cerith_tile::DType::I32), shape);
    Ok(tr.op(
        OpKind::Range {
            start: first,
            end: last,
        },
        &[],
        ty,
    ))
}

/// `tensor[index]`.
pub(crate) fn subscript(tr: &mut Tracer<'_>, tensor: ValueId, index: &Value) -> Traced<ValueId> {
    let single = [index.clone()];
    let indices: &[Value] = match index {
        Value::Tuple { items, .. } => items,
        _ => &single,
    };
    let rank = tr.ty(tensor).shape.len();
    let mut dims = 0;
    let mut value = tensor;
    for (nth, index) in indices.iter().enumerate() {
        match index {
            Value::Constant(Constant::None) => {
                if nth > tr.ty(value).shape.len() {
                    return Err(tr.reject(format!("invalid axis {nth}")));
                }
                value = expand_dim(tr, value, nth);
            }
            Value::Slice(bounds) if bounds.iter().all(Value::is_none) => {
                dims += 1;
                if dims > rank && tr.rules.holds(Rule::SurplusIndices) {
                    return Err(tr.reject(format!("too many indices for a tensor of rank {rank}")));
                }
            }
            other => {
                let message = format!("unsupported tensor index: {}", describe(other));
                return Err(Stop::Rejected(Box::new(
                    tr.diagnostic("rejected", message)
                        .help("a tensor is indexed with `None` and `:` alone"),
                )));
            }
        }
    }
    Ok(value)
}

/// The shape of the last dimensions of a matrix product: `[…, M, N]` of `[…, M, K]` and `[…, K, N]`.
pub(crate) fn product_shape(lhs: &[usize], rhs: &[usize]) -> Option<Shape> {
    let (&[.., m, k], &[.., k_too, n]) = (lhs, rhs) else {
        return None;
    };
    let (batch, batch_too) = (lhs.get(..lhs.len() - 2)?, rhs.get(..rhs.len() - 2)?);
    if k != k_too || batch != batch_too {
        return None;
    }
    let mut shape: Shape = Shape::from_slice(batch);
    let matrix: Shape = smallvec![m, n];
    shape.extend(matrix);
    Some(shape)
}
