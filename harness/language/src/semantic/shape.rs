//! Shapes: broadcasting, and the operations that move lanes.

use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::ir::{Elem, OpKind, Shape, Type, ValueId};
use cerith_tile::rules::Rule;
use smallvec::smallvec;

use super::types::describe;
use crate::constant::Constant;
use crate::lowering::{Lowering, MAX_NUMEL};
use crate::stop::{Stop, Traced};
use crate::value::Value;

/// A shape as Python prints a list of ints.
pub(crate) fn describe_shape(shape: &[usize]) -> String {
    let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("[{}]", extents.join(", "))
}

/// The extents that a user gave for a block: powers of two, not too many lanes.
pub fn block_shape(lo: &Lowering, extents: &[i128]) -> Traced<Shape> {
    let mut numel: i128 = 1;
    let mut shape = Shape::new();
    for (nth, &extent) in extents.iter().enumerate() {
        if extent == 0 && !lo.rules.holds(Rule::BlocksHaveElements) {
            return Err(lo.report_unsupported("a block of no elements, which Triton takes before 3.8"));
        }
        if extent <= 0 || extent & (extent - 1) != 0 {
            return Err(lo.reject(format!(
                "shape element {nth} must be a power of 2, but it is {extent}"
            )));
        }
        numel = numel.saturating_mul(extent);
        if numel > MAX_NUMEL {
            return Err(lo.too_large(numel));
        }
        shape.push(extent as usize);
    }
    Ok(shape)
}

/// A scalar in every lane of a block; a scalar where the shape is empty.
pub(crate) fn splat(lo: &mut Lowering, scalar: ValueId, shape: &[usize]) -> ValueId {
    if shape.is_empty() {
        return scalar;
    }
    let ty = Type::block(lo.ty(scalar).elem, Shape::from_slice(shape));
    lo.emit_op(OpKind::Splat, &[scalar], ty)
}

/// The lanes of a value under another shape with as many, in order.
fn with_shape(lo: &mut Lowering, value: ValueId, shape: Shape, reorder: bool) -> ValueId {
    let ty = Type::block(lo.ty(value).elem, shape);
    lo.emit_op(OpKind::Reshape { reorder }, &[value], ty)
}

/// The one lane of a block as a scalar; a scalar as it is.
pub(crate) fn unsplat(lo: &mut Lowering, value: ValueId) -> Traced<ValueId> {
    if !lo.is_block(value) {
        return Ok(value);
    }
    if lo.ty(value).numel() != 1 {
        return Err(lo.reject("only a tensor with one element can become a scalar"));
    }
    Ok(with_shape(lo, value, Shape::new(), false))
}

/// Two operands in one shape: scalars are repeated, missing leading dimensions added, extents of 1 repeated.
pub(crate) fn broadcast(lo: &mut Lowering, lhs: ValueId, rhs: ValueId) -> Traced<(ValueId, ValueId)> {
    match (lo.is_block(lhs), lo.is_block(rhs)) {
        (false, false) => Ok((lhs, rhs)),
        (true, false) => {
            let shape = lo.ty(lhs).shape.clone();
            Ok((lhs, splat(lo, rhs, &shape)))
        }
        (false, true) => {
            let shape = lo.ty(rhs).shape.clone();
            Ok((splat(lo, lhs, &shape), rhs))
        }
        (true, true) => {
            let rank = lo.ty(lhs).shape.len().max(lo.ty(rhs).shape.len());
            let lhs = with_rank(lo, lhs, rank);
            let rhs = with_rank(lo, rhs, rank);
            let mut shape = Shape::new();
            for (nth, (&left, &right)) in lo.ty(lhs).shape.iter().zip(&lo.ty(rhs).shape).enumerate() {
                if left != right && left != 1 && right != 1 {
                    return Err(lo.reject(format!(
                        "cannot broadcast {} and {}: incompatible dimensions at index {nth}: {left} and {right}",
                        describe_shape(&lo.ty(lhs).shape),
                        describe_shape(&lo.ty(rhs).shape)
                    )));
                }
                shape.push(if left == 1 { right } else { left });
            }
            Ok((repeat(lo, lhs, &shape), repeat(lo, rhs, &shape)))
        }
    }
}

fn with_rank(lo: &mut Lowering, block: ValueId, rank: usize) -> ValueId {
    let shape = lo.ty(block).shape.clone();
    if shape.len() >= rank {
        return block;
    }
    let missing = std::iter::repeat_n(1, rank - shape.len());
    let padded = if is_planted(Fault::RanksPadBehind) {
        shape.into_iter().chain(missing).collect()
    } else {
        missing.chain(shape).collect()
    };
    with_shape(lo, block, padded, false)
}

fn repeat(lo: &mut Lowering, block: ValueId, shape: &[usize]) -> ValueId {
    if lo.ty(block).shape.as_slice() == shape {
        return block;
    }
    let ty = Type::block(lo.ty(block).elem, Shape::from_slice(shape));
    lo.emit_op(OpKind::Broadcast, &[block], ty)
}

/// Several operands in one shape.
pub(crate) fn broadcast_all(lo: &mut Lowering, values: &[ValueId]) -> Traced<Vec<ValueId>> {
    let mut values = values.to_vec();
    let Some((mut head, mut tail)) = values
        .split_first_mut()
        .map(|(head, tail)| (*head, tail.to_vec()))
    else {
        return Ok(values);
    };
    for _ in 0..2 {
        for value in &mut tail {
            (head, *value) = broadcast(lo, head, *value)?;
        }
    }
    values.clear();
    values.push(head);
    values.append(&mut tail);
    Ok(values)
}

/// A value in exactly this shape (`broadcast_to`).
pub(crate) fn broadcast_to(lo: &mut Lowering, value: ValueId, shape: &[usize]) -> Traced<ValueId> {
    if !lo.is_block(value) {
        return Ok(splat(lo, value, shape));
    }
    let source = lo.ty(value).shape.clone();
    if source.len() != shape.len() {
        return Err(lo.reject(format!(
            "cannot broadcast, rank mismatch: {}, {}",
            describe_shape(&source),
            describe_shape(shape)
        )));
    }
    for (nth, (&from, &to)) in source.iter().zip(shape).enumerate() {
        if from != to && from != 1 {
            return Err(lo.reject(format!(
                "cannot broadcast, the expanded size of the tensor ({to}) must match the existing size ({from}) at \
                 non-singleton dimension {nth}: {}, {}",
                describe_shape(&source),
                describe_shape(shape)
            )));
        }
    }
    Ok(repeat(lo, value, shape))
}

/// `reshape` and `view`.
pub(crate) fn reshape(lo: &mut Lowering, value: ValueId, shape: &[usize], reorder: bool) -> Traced<ValueId> {
    if shape.is_empty() {
        if !lo.rules.holds(Rule::ReshapeToScalar) {
            return Err(lo.reject("reshape needs at least one dimension"));
        }
        return unsplat(lo, value);
    }
    if !lo.is_block(value) {
        return Err(lo.reject("a scalar cannot be reshaped; use `expand_dims` or `broadcast_to`"));
    }
    if lo.ty(value).numel() != shape.iter().product() {
        return Err(lo.reject(format!(
            "cannot reshape {} to {}: the number of elements would change",
            describe_shape(&lo.ty(value).shape),
            describe_shape(shape)
        )));
    }
    Ok(with_shape(lo, value, Shape::from_slice(shape), reorder))
}

/// An axis counted from the end when negative, within `rank` dimensions.
pub(crate) fn wrap_axis(lo: &Lowering, axis: i128, rank: usize) -> Traced<usize> {
    let rank = rank as i128;
    if axis < -rank || axis >= rank {
        return Err(lo.reject(format!(
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
pub(crate) fn expand_dim(lo: &mut Lowering, value: ValueId, at: usize) -> ValueId {
    let mut shape = lo.ty(value).shape.clone();
    shape.insert(at.min(shape.len()), 1);
    if lo.is_block(value) {
        with_shape(lo, value, shape, false)
    } else {
        splat(lo, value, &shape)
    }
}

/// `expand_dims`: new dimensions at these axes of the result.
pub(crate) fn expand_dims(lo: &mut Lowering, value: ValueId, axes: &[i128]) -> Traced<ValueId> {
    let rank = lo.ty(value).shape.len() + axes.len();
    let mut sorted = Vec::with_capacity(axes.len());
    for &at in axes {
        sorted.push(wrap_axis(lo, at, rank)?);
    }
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(lo.reject(format!(
            "expand_dims received the same axis twice: {}",
            describe_shape(&sorted)
        )));
    }
    Ok(sorted
        .into_iter()
        .fold(value, |value, at| expand_dim(lo, value, at)))
}

/// `permute`: dimension `i` of the result is dimension `dims[i]` of the operand.
pub(crate) fn permute(lo: &mut Lowering, value: ValueId, dims: &[i128]) -> Traced<ValueId> {
    let shape = lo.ty(value).shape.clone();
    if shape.len() != dims.len() {
        return Err(lo.reject(format!(
            "permute dims must have the same length as the input's shape, got {} and {}",
            shape.len(),
            dims.len()
        )));
    }
    let order: Option<Shape> = dims.iter().map(|&dim| usize::try_from(dim).ok()).collect();
    let order = order.filter(|order| (0..shape.len()).all(|dim| order.contains(&dim)));
    let Some(order) = order else {
        return Err(lo.reject("permute dims must be a permutation of 0, 1, ..., n-1"));
    };
    if order.is_empty() {
        return Err(lo.reject("a scalar has no dimensions to permute"));
    }
    let order: Shape = if is_planted(Fault::PermutationIsInverse) {
        (0..order.len())
            .filter_map(|dim| order.iter().position(|&to| to == dim))
            .collect()
    } else {
        order
    };
    let result: Shape = order.iter().filter_map(|&dim| shape.get(dim).copied()).collect();
    let ty = Type::block(lo.ty(value).elem, result);
    Ok(lo.emit_op(OpKind::Trans { order }, &[value], ty))
}

/// `trans` without dimensions: the last two are swapped.
pub fn transpose(lo: &mut Lowering, value: ValueId) -> Traced<ValueId> {
    let rank = lo.ty(value).shape.len() as i128;
    if rank < 2 {
        return Err(lo.reject("tl.trans of a 0- or 1-dimensional tensor"));
    }
    let dims: Vec<i128> = (0..rank - 2).chain([rank - 1, rank - 2]).collect();
    permute(lo, value, &dims)
}

/// `join`.
pub fn join(lo: &mut Lowering, lhs: ValueId, rhs: ValueId) -> Traced<ValueId> {
    let (lhs, rhs) = broadcast(lo, lhs, rhs)?;
    if lo.ty(lhs).elem != lo.ty(rhs).elem {
        return Err(lo.reject(format!(
            "join needs tensors of one type, got {} and {}",
            super::cast::elem_shown(lo.ty(lhs).elem),
            super::cast::elem_shown(lo.ty(rhs).elem)
        )));
    }
    let scalars = !lo.is_block(lhs);
    let (lhs, rhs) = if scalars {
        (expand_dim(lo, lhs, 0), expand_dim(lo, rhs, 0))
    } else {
        (lhs, rhs)
    };
    let mut shape = lo.ty(lhs).shape.clone();
    shape.push(2);
    let ty = Type::block(lo.ty(lhs).elem, shape);
    let joined = lo.emit_op(OpKind::Join, &[lhs, rhs], ty);
    if scalars {
        reshape(lo, joined, &[2], false)
    } else {
        Ok(joined)
    }
}

/// `split`.
pub fn split(lo: &mut Lowering, value: ValueId) -> Traced<(ValueId, ValueId)> {
    let shape = lo.ty(value).shape.clone();
    match shape.last() {
        None => return Err(lo.reject("split requires a tensor that is not a scalar")),
        Some(2) => {}
        Some(last) => return Err(lo.reject(format!("split needs a last dimension of 2, got {last}"))),
    }
    let one_dimension = shape.len() == 1;
    let value = if one_dimension {
        expand_dim(lo, value, 0)
    } else {
        value
    };
    let mut half = lo.ty(value).shape.clone();
    half.pop();
    let ty = Type::block(lo.ty(value).elem, half);
    let halves = lo.builder.op_multi(OpKind::Split, &[value], &[ty.clone(), ty]);
    let (Some(&left), Some(&right)) = (halves.first(), halves.get(1)) else {
        return Err(lo.report_unsupported("a split without halves"));
    };
    if one_dimension {
        Ok((unsplat(lo, left)?, unsplat(lo, right)?))
    } else {
        Ok((left, right))
    }
}

/// `cat` along dimension `dim`.
pub(crate) fn cat(
    lo: &mut Lowering,
    lhs: ValueId,
    rhs: ValueId,
    reorder: bool,
    dim: i128,
) -> Traced<ValueId> {
    let (left, right) = (lo.ty(lhs).shape.clone(), lo.ty(rhs).shape.clone());
    if lo.ty(lhs).elem != lo.ty(rhs).elem {
        return Err(lo.reject("cat needs tensors of one type"));
    }
    if reorder || !lo.rules.holds(Rule::OrderedCat) {
        if !reorder {
            return Err(lo.reject("this version's `cat` may always reorder elements; pass can_reorder=True"));
        }
        if left.len() != 1 || right.len() != 1 {
            return Err(lo.reject(format!(
                "cat expects 1D inputs, got {}D",
                left.len().max(right.len())
            )));
        }
        let extents: Vec<i128> = vec![(left.iter().sum::<usize>() + right.iter().sum::<usize>()) as i128];
        let shape = block_shape(lo, &extents)?;
        let ty = Type::block(lo.ty(lhs).elem, shape);
        return Ok(lo.emit_op(OpKind::Cat { reorder }, &[lhs, rhs], ty));
    }
    if left.len() != right.len() {
        let (left, right) = (left.len(), right.len());
        return Err(lo.reject(format!(
            "cat needs tensors of the same rank, got {left} and {right}"
        )));
    }
    let at = wrap_axis(lo, dim, left.len())?;
    if left != right {
        return Err(lo.reject(format!(
            "cat needs tensors of the same shape, got {} and {}",
            describe_shape(&left),
            describe_shape(&right)
        )));
    }
    let joined = join(lo, lhs, rhs)?;
    let mut order: Vec<i128> = (0..left.len() as i128).collect();
    order.insert(at, left.len() as i128);
    let joined = permute(lo, joined, &order)?;
    let mut shape: Vec<i128> = left.iter().map(|&extent| extent as i128).collect();
    if let Some(extent) = shape.get_mut(at) {
        *extent *= 2;
    }
    let shape = block_shape(lo, &shape)?;
    reshape(lo, joined, &shape, false)
}

/// `gather`.
pub fn gather(lo: &mut Lowering, source: ValueId, index: ValueId, at: i128) -> Traced<ValueId> {
    if !lo.dtype(index).is_some_and(cerith_tile::DType::is_int) {
        return Err(lo.reject("gather needs an index of integers"));
    }
    let (from, by) = (lo.ty(source).shape.clone(), lo.ty(index).shape.clone());
    if from.len() != by.len() {
        return Err(lo.reject("gather needs a source and an index of the same rank"));
    }
    let at = wrap_axis(lo, at, from.len())?;
    if from
        .iter()
        .zip(&by)
        .enumerate()
        .any(|(dim, (a, b))| dim != at && a != b)
    {
        return Err(lo.reject(format!(
            "gather needs a source and an index that agree outside of axis {at}, got {} and {}",
            describe_shape(&from),
            describe_shape(&by)
        )));
    }
    let ty = Type::block(lo.ty(source).elem, by);
    Ok(lo.emit_op(OpKind::Gather { axis: at }, &[source, index], ty))
}

/// `arange`.
pub fn arange(lo: &mut Lowering, start: i128, end: i128) -> Traced<ValueId> {
    let (0.., 0.., Ok(first), Ok(last)) = (start, end, i32::try_from(start), i32::try_from(end)) else {
        return Err(lo.reject("arange must fit in int32, and its bounds must not be negative"));
    };
    if end <= start {
        return Err(lo.reject(format!(
            "arange's end ({end}) must be greater than its start ({start})"
        )));
    }
    let length = end - start;
    if length & (length - 1) != 0 {
        return Err(lo.reject(format!("arange's range must be a power of 2, but it is {length}")));
    }
    let shape = block_shape(lo, &[length])?;
    let ty = Type::block(Elem::Num(cerith_tile::DType::I32), shape);
    Ok(lo.emit_op(
        OpKind::Range {
            start: first,
            end: last,
        },
        &[],
        ty,
    ))
}

/// `tensor[index]`.
pub fn lower_subscript(lo: &mut Lowering, tensor: ValueId, index: &Value) -> Traced<ValueId> {
    let single = [index.clone()];
    let indices: &[Value] = match index {
        Value::Tuple { items, .. } => items,
        _ => &single,
    };
    let rank = lo.ty(tensor).shape.len();
    let mut dims = 0;
    let mut value = tensor;
    for (nth, index) in indices.iter().enumerate() {
        match index {
            Value::Constant(Constant::None) => {
                if nth > lo.ty(value).shape.len() {
                    return Err(lo.reject(format!("invalid axis {nth}")));
                }
                value = expand_dim(lo, value, nth);
            }
            Value::Slice(bounds) if bounds.iter().all(Value::is_none) => {
                dims += 1;
                if dims > rank && lo.rules.holds(Rule::SurplusIndices) {
                    return Err(lo.reject(format!("too many indices for a tensor of rank {rank}")));
                }
            }
            other => {
                let message = format!("unsupported tensor index: {}", describe(other));
                return Err(Stop::Rejected(Box::new(
                    lo.build_diagnostic("rejected", message)
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
