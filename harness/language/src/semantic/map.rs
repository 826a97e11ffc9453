//! `tl.map_elementwise`: a `@triton.jit` function of scalars, called for every element or for several at once.
//!
//! The function is traced on scalars first, for the types of its operands and results. If all it does is arithmetic, it is then traced
//! on whole blocks, which is the same. If its lanes can go different ways, or it takes several elements, it becomes a
//! loop over the elements in row-major order. Which elements one call gets is not defined by the language beyond that.

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Block, CmpPredicate, Elem, OpKind, Shape, Type, ValueId};

use super::reduce::{call, takes_scalars};
use super::shape::{arange, broadcast_all, gather, reshape, splat, unsplat};
use super::types::describe;
use crate::stop::Traced;
use crate::value::Value;
use crate::value::callable::Caller;

/// Maximum number of elements of a block that a loop processes.
const MAX_LOOPED: usize = 1 << 13;

/// The name of a mapped function's results in messages.
const RESULT: &str = "the mapped function's result";

/// The result of tracing a mapped function on scalars.
struct Trial {
    /// The types of its results.
    types: Vec<Type>,
    /// Whether it does the same for every element.
    straight: bool,
}

/// `tl.map_elementwise`.
pub fn map_elementwise(
    caller: &mut dyn Caller,
    function: &Value,
    inputs: &[ValueId],
    pack: usize,
) -> Traced<Vec<ValueId>> {
    let lo = caller.lo();
    if !matches!(function, Value::Function(_)) {
        return Err(lo.reject(format!(
            "{} is no @triton.jit function to map",
            describe(function)
        )));
    }
    if inputs.is_empty() {
        return Err(lo.reject("map_elementwise must have at least 1 input tensor"));
    }
    let inputs = broadcast_all(lo, inputs)?;
    let shape = inputs
        .first()
        .map(|&input| lo.ty(input).shape.clone())
        .unwrap_or_default();
    if shape.is_empty() {
        return Err(lo.reject("map_elementwise maps blocks, not scalars"));
    }
    let elements: Vec<Type> = inputs.iter().map(|&input| lo.ty(input).clone()).collect();
    takes_scalars(lo, &elements, "a mapped function")?;
    let trial = trace_trial(caller, function, &inputs, pack)?;
    let lo = caller.lo();
    let types: Vec<Type> = trial.types.iter().step_by(pack).cloned().collect();
    for offset in 1..pack {
        if !trial.types.iter().skip(offset).step_by(pack).eq(types.iter()) {
            return Err(
                lo.reject("type mismatch in the results of a mapped function that takes several elements")
            );
        }
    }
    if !trial.straight || pack > 1 {
        return emit_loop(caller, function, &inputs, pack, &types);
    }
    let results = call(caller, function, &inputs, RESULT)?;
    let lo = caller.lo();
    let mut blocks = Vec::with_capacity(results.len());
    for (value, ty) in results.into_iter().zip(types) {
        let value = if lo.is_block(value) {
            value
        } else {
            splat(lo, value, &shape)
        };
        if *lo.ty(value) != Type::block(ty.elem, shape.clone()) {
            return Err(lo.report_unsupported("`tl.map_elementwise` of a function that looks at shapes"));
        }
        blocks.push(value);
    }
    Ok(blocks)
}

fn trace_trial(caller: &mut dyn Caller, function: &Value, inputs: &[ValueId], pack: usize) -> Traced<Trial> {
    let lo = caller.lo();
    let mut scalars = Vec::with_capacity(inputs.len() * pack);
    for &input in inputs {
        let ty = Type::scalar(lo.ty(input).elem);
        for _ in 0..pack {
            scalars.push(lo.builder.add_value(ty.clone()));
        }
    }
    lo.builder.open_block(&scalars);
    let results = call(caller, function, &scalars, RESULT)?;
    let lo = caller.lo();
    let types: Vec<Type> = results.iter().map(|&value| lo.ty(value).clone()).collect();
    let body = lo.builder.close_block(&results);
    if types.iter().any(|ty| !ty.is_scalar()) {
        return Err(lo.reject("the mapped function must return scalars"));
    }
    if accesses_memory(&body) {
        return Err(lo.reject("a mapped function can compute only: it has no access to memory"));
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

/// Emits a loop over the elements: extracts the arguments of a call from the inputs, and inserts its results.
fn emit_loop(
    caller: &mut dyn Caller,
    function: &Value,
    inputs: &[ValueId],
    pack: usize,
    types: &[Type],
) -> Traced<Vec<ValueId>> {
    let lo = caller.lo();
    let shape = inputs
        .first()
        .map(|&input| lo.ty(input).shape.clone())
        .unwrap_or_default();
    let lanes: usize = shape.iter().product();
    if !lanes.is_multiple_of(pack) {
        return Err(lo.report_unsupported("`tl.map_elementwise` of a block that its `pack` does not divide"));
    }
    if lanes > MAX_LOOPED {
        return Err(lo.report_unsupported(format!(
            "`tl.map_elementwise` of more than {MAX_LOOPED} elements by a function with branches or several elements"
        )));
    }
    let mut sources = Vec::with_capacity(inputs.len());
    for &input in inputs {
        sources.push(reshape(lo, input, &[lanes], false)?);
    }
    let number = Type::num(DType::I32);
    let (one, row_shape): (Shape, Shape) = (smallvec::smallvec![1], smallvec::smallvec![lanes]);
    let row = |ty: &Type| Type::block(ty.elem, row_shape.clone());
    let places = arange(lo, 0, lanes as i128)?;
    let zero = lo.emit_constant(0, number.clone());
    let end = lo.emit_constant(lanes as u64, number.clone());
    let step = lo.emit_constant(pack as u64, number.clone());
    let mut operands = vec![zero, end, step];
    for ty in types {
        operands.push(lo.emit_op(OpKind::Poison, &[], row(ty)));
    }
    let first = lo.builder.add_value(number.clone());
    let mut results: Vec<ValueId> = Vec::with_capacity(types.len());
    for ty in types {
        results.push(lo.builder.add_value(row(ty)));
    }
    let args: Vec<ValueId> = std::iter::once(first).chain(results.iter().copied()).collect();
    lo.builder.open_block(&args);
    let mut at = vec![first];
    for offset in 1..pack {
        let offset = lo.emit_constant(offset as u64, number.clone());
        let add = OpKind::Binary(BinaryOp::Add);
        at.push(lo.emit_op(add, &[first, offset], number.clone()));
    }
    let mut scalars = Vec::with_capacity(sources.len() * pack);
    for &source in &sources {
        for &place in &at {
            let index = splat(lo, place, &one);
            let element = gather(lo, source, index, 0)?;
            scalars.push(unsplat(lo, element)?);
        }
    }
    let given = call(caller, function, &scalars, RESULT)?;
    let lo = caller.lo();
    for (nth, result) in results.iter_mut().enumerate() {
        for (&place, &value) in at.iter().zip(given.iter().skip(nth * pack)) {
            let lane = splat(lo, place, &row_shape);
            let bools = lo.ty(places).with_elem(Elem::Num(DType::I1));
            let here = lo.emit_op(OpKind::Compare(CmpPredicate::Eq), &[places, lane], bools);
            let value = splat(lo, value, &row_shape);
            let ty = lo.ty(*result).clone();
            *result = lo.emit_op(OpKind::Select, &[here, value, *result], ty);
        }
    }
    let body = lo.builder.close_block(&results);
    let kinds: Vec<Type> = types.iter().map(row).collect();
    let done = lo.builder.op_multi(OpKind::For { body }, &operands, &kinds);
    let mut blocks = Vec::with_capacity(types.len());
    for value in done {
        blocks.push(reshape(lo, value, &shape, false)?);
    }
    Ok(blocks)
}
