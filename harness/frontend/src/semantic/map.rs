//! `tl.map_elementwise`: a `@triton.jit` function of scalars, called for every element or for several at once.
//!
//! The function is traced on scalars first, for what it takes and gives. If all it does is arithmetic, it is then traced
//! on whole blocks, which is the same. If its lanes can go different ways, or it takes several elements, it becomes a
//! loop over the elements in row-major order. Which elements one call gets is not defined by the language beyond that.

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Block, CmpPredicate, Elem, OpKind, Shape, Type, ValueId};

use super::promotion::describe;
use super::reduce::takes_scalars;
use super::shape::{arange, broadcast_all, gather, reshape, splat, unsplat};
use crate::builtin::argument::tensors;
use crate::tracer::{Traced, Tracer};
use crate::value::Value;

/// How many elements a block may have that a loop goes over.
const MAX_LOOPED: usize = 1 << 13;

/// What a trial on scalars says of a mapped function.
struct Trial {
    /// The types of its results.
    types: Vec<Type>,
    /// Whether it does the same for every element.
    straight: bool,
}

/// `tl.map_elementwise`.
pub(crate) fn map_elementwise(
    tr: &mut Tracer<'_>,
    function: &Value,
    inputs: &[ValueId],
    pack: usize,
) -> Traced<Vec<ValueId>> {
    if !matches!(function, Value::Function(_)) {
        return Err(tr.reject(format!(
            "{} is no @triton.jit function to map",
            describe(function)
        )));
    }
    if inputs.is_empty() {
        return Err(tr.reject("map_elementwise must have at least 1 input tensor"));
    }
    let inputs = broadcast_all(tr, inputs)?;
    let shape = inputs
        .first()
        .map(|&input| tr.ty(input).shape.clone())
        .unwrap_or_default();
    if shape.is_empty() {
        return Err(tr.reject("map_elementwise maps blocks, not scalars"));
    }
    let elements: Vec<Type> = inputs.iter().map(|&input| tr.ty(input).clone()).collect();
    takes_scalars(tr, &elements, "a mapped function")?;
    let trial = trial(tr, function, &inputs, pack)?;
    let types: Vec<Type> = trial.types.iter().step_by(pack).cloned().collect();
    for offset in 1..pack {
        if !trial.types.iter().skip(offset).step_by(pack).eq(types.iter()) {
            return Err(
                tr.reject("type mismatch in the results of a mapped function that takes several elements")
            );
        }
    }
    if !trial.straight || pack > 1 {
        return looped(tr, function, &inputs, pack, &types);
    }
    let results = call(tr, function, &inputs)?;
    let mut blocks = Vec::with_capacity(results.len());
    for (value, ty) in results.into_iter().zip(types) {
        let value = if tr.is_block(value) {
            value
        } else {
            splat(tr, value, &shape)
        };
        if *tr.ty(value) != Type::block(ty.elem, shape.clone()) {
            return Err(tr.unsupported("`tl.map_elementwise` of a function that looks at shapes"));
        }
        blocks.push(value);
    }
    Ok(blocks)
}

fn call(tr: &mut Tracer<'_>, function: &Value, inputs: &[ValueId]) -> Traced<Vec<ValueId>> {
    let arguments = inputs.iter().map(|&input| Value::Tensor(input)).collect();
    let result = tr.call(function, arguments, Vec::new())?;
    tensors(tr, &result, "the mapped function's result")
}

fn trial(tr: &mut Tracer<'_>, function: &Value, inputs: &[ValueId], pack: usize) -> Traced<Trial> {
    let mut scalars = Vec::with_capacity(inputs.len() * pack);
    for &input in inputs {
        let ty = Type::scalar(tr.ty(input).elem);
        for _ in 0..pack {
            scalars.push(tr.builder.value(ty.clone()));
        }
    }
    tr.builder.open_block(&scalars);
    let results = call(tr, function, &scalars)?;
    let types: Vec<Type> = results.iter().map(|&value| tr.ty(value).clone()).collect();
    let body = tr.builder.close_block(&results);
    if types.iter().any(|ty| !ty.is_scalar()) {
        return Err(tr.reject("the mapped function must return scalars"));
    }
    if accesses_memory(&body) {
        return Err(tr.reject("a mapped function can compute only: it has no access to memory"));
    }
    let straight = body.ops.iter().all(|op| op.kind.regions().next().is_none());
    Ok(Trial { types, straight })
}

fn accesses_memory(block: &Block) -> bool {
    block
        .ops
        .iter()
        .any(|op| op.kind.accesses_memory() || op.kind.regions().any(accesses_memory))
}

/// A loop over the elements: takes those of a call out of the inputs, and puts what it gives into the results.
fn looped(
    tr: &mut Tracer<'_>,
    function: &Value,
    inputs: &[ValueId],
    pack: usize,
    types: &[Type],
) -> Traced<Vec<ValueId>> {
    let shape = inputs
        .first()
        .map(|&input| tr.ty(input).shape.clone())
        .unwrap_or_default();
    let lanes: usize = shape.iter().product();
    if !lanes.is_multiple_of(pack) {
        return Err(tr.unsupported("`tl.map_elementwise` of a block that its `pack` does not divide"));
    }
    if lanes > MAX_LOOPED {
        return Err(tr.unsupported(format!(
            "`tl.map_elementwise` of more than {MAX_LOOPED} elements by a function with branches or several elements"
        )));
    }
    let mut sources = Vec::with_capacity(inputs.len());
    for &input in inputs {
        sources.push(reshape(tr, input, &[lanes], false)?);
    }
    let number = Type::num(DType::I32);
    let (one, row_shape): (Shape, Shape) = (smallvec::smallvec![1], smallvec::smallvec![lanes]);
    let row = |ty: &Type| Type::block(ty.elem, row_shape.clone());
    let places = arange(tr, 0, lanes as i128)?;
    let zero = tr.constant(0, number.clone());
    let end = tr.constant(lanes as u64, number.clone());
    let step = tr.constant(pack as u64, number.clone());
    let mut operands = vec![zero, end, step];
    for ty in types {
        operands.push(tr.op(OpKind::Poison, &[], row(ty)));
    }
    let first = tr.builder.value(number.clone());
    let mut results: Vec<ValueId> = Vec::with_capacity(types.len());
    for ty in types {
        results.push(tr.builder.value(row(ty)));
    }
    let args: Vec<ValueId> = std::iter::once(first).chain(results.iter().copied()).collect();
    tr.builder.open_block(&args);
    let mut at = vec![first];
    for offset in 1..pack {
        let offset = tr.constant(offset as u64, number.clone());
        let add = OpKind::Binary(BinaryOp::Add);
        at.push(tr.op(add, &[first, offset], number.clone()));
    }
    let mut scalars = Vec::with_capacity(sources.len() * pack);
    for &source in &sources {
        for &place in &at {
            let index = splat(tr, place, &one);
            let element = gather(tr, source, index, 0)?;
            scalars.push(unsplat(tr, element)?);
        }
    }
    let given = call(tr, function, &scalars)?;
    for (nth, result) in results.iter_mut().enumerate() {
        for (&place, &value) in at.iter().zip(given.iter().skip(nth * pack)) {
            let lane = splat(tr, place, &row_shape);
            let bools = tr.ty(places).with_elem(Elem::Num(DType::I1));
            let here = tr.op(OpKind::Compare(CmpPredicate::Eq), &[places, lane], bools);
            let value = splat(tr, value, &row_shape);
            let ty = tr.ty(*result).clone();
            *result = tr.op(OpKind::Select, &[here, value, *result], ty);
        }
    }
    let body = tr.builder.close_block(&results);
    let kinds: Vec<Type> = types.iter().map(row).collect();
    let done = tr.builder.op_multi(OpKind::For { body }, &operands, &kinds);
    let mut blocks = Vec::with_capacity(types.len());
    for value in done {
        blocks.push(reshape(tr, value, &shape, false)?);
    }
    Ok(blocks)
}
