//! Shapes and casts: what moves or reinterprets lanes.

use super::argument::{at, block_shape, elem, flag, int, ints, spread, text, to_tensor};
use super::row::{Row, row};
use crate::lowering::Lowering;
use crate::semantic::arithmetic::logical;
use crate::semantic::cast::{bitcast, cast_elem, rounding};
use crate::semantic::shape::{
    broadcast, broadcast_to, cat, expand_dims, gather, join, permute, reshape, split, transpose, unsplat,
};
use crate::semantic::types::{items, tensor};
use crate::stop::Traced;
use crate::value::Value;

pub(super) const ROWS: &[Row] = &[
    row("tl.broadcast(input, other)", |lo, args| {
        let (lhs, rhs) = (
            tensor(lo, at(args, 0), "input")?,
            tensor(lo, at(args, 1), "other")?,
        );
        let (lhs, rhs) = broadcast(lo, lhs, rhs)?;
        Ok(Value::tuple([Value::Tensor(lhs), Value::Tensor(rhs)]))
    }),
    row("tl.broadcast_to(input, *shape)", |lo, args| {
        let input = tensor(lo, at(args, 0), "input")?;
        let shape = block_shape(lo, spread(at(args, 1)))?;
        broadcast_to(lo, input, &shape).map(Value::Tensor)
    })
    .method(),
    row("tl.trans(input, *dims)", |lo, args| {
        let input = tensor(lo, at(args, 0), "input")?;
        let dims = ints(lo, spread(at(args, 1)), "dims")?;
        if dims.is_empty() {
            transpose(lo, input)
        } else {
            permute(lo, input, &dims)
        }
        .map(Value::Tensor)
    })
    .method(),
    row("tl.permute(input, *dims)", |lo, args| {
        let input = tensor(lo, at(args, 0), "input")?;
        let dims = ints(lo, spread(at(args, 1)), "dims")?;
        permute(lo, input, &dims).map(Value::Tensor)
    })
    .method(),
    row("tl.cat(input, other, can_reorder=False)", |lo, args| {
        concatenate(lo, args, 0)
    })
    .until(3, 7, 1),
    row("tl.cat(input, other, can_reorder=False, dim=0)", |lo, args| {
        let dim = int(lo, at(args, 3), "dim")?;
        concatenate(lo, args, dim)
    })
    .since(3, 7, 1),
    row("tl.join(a, b)", |lo, args| {
        let (a, b) = (tensor(lo, at(args, 0), "a")?, tensor(lo, at(args, 1), "b")?);
        join(lo, a, b).map(Value::Tensor)
    }),
    row("tl.split(a)", |lo, args| {
        let a = tensor(lo, at(args, 0), "a")?;
        let (left, right) = split(lo, a)?;
        Ok(Value::tuple([Value::Tensor(left), Value::Tensor(right)]))
    })
    .method(),
    row("tl.view(input, *shape)", |lo, args| {
        let input = tensor(lo, at(args, 0), "input")?;
        let shape = block_shape(lo, spread(at(args, 1)))?;
        reshape(lo, input, &shape, true).map(Value::Tensor)
    })
    .method(),
    row("tl.reshape(input, *shape, can_reorder=False)", |lo, args| {
        let input = tensor(lo, at(args, 0), "input")?;
        let shape = block_shape(lo, spread(at(args, 1)))?;
        let reorder = flag(lo, at(args, 2), "can_reorder")?;
        reshape(lo, input, &shape, reorder).map(Value::Tensor)
    })
    .method(),
    row("tensor.item(self)", |lo, args| {
        let input = tensor(lo, at(args, 0), "input")?;
        unsplat(lo, input).map(Value::Tensor)
    })
    .since(3, 4, 0)
    .method(),
    // Since 3.4 the method is there for its documentation: Python runs its empty body, and it gives `None`. In 3.4 the body
    // does not take what the compiler passes.
    row("tensor.sort(self, dim=None, descending=0)", |_, _| {
        Ok(Value::NONE)
    })
    .since(3, 5, 0)
    .method(),
    row("tl.expand_dims(input, axis)", |lo, args| {
        let input = to_tensor(lo, at(args, 0))?;
        let axes = ints(lo, items(at(args, 1)), "axis")?;
        expand_dims(lo, input, &axes).map(Value::Tensor)
    })
    .method(),
    row("tl.gather(src, index, axis)", |lo, args| {
        let (source, index) = (tensor(lo, at(args, 0), "src")?, tensor(lo, at(args, 1), "index")?);
        let axis = int(lo, at(args, 2), "axis")?;
        gather(lo, source, index, axis).map(Value::Tensor)
    })
    .since(3, 3, 1)
    .method(),
    row(
        "tl.cast(input, dtype, fp_downcast_rounding=None, bitcast=False)",
        convert,
    )
    .method(),
    row(
        "tensor.to(self, dtype, fp_downcast_rounding=None, bitcast=False)",
        convert,
    )
    .method(),
    row("tensor.logical_and(self, other)", |lo, args| {
        both(lo, args, false)
    })
    .method(),
    row("tensor.logical_or(self, other)", |lo, args| both(lo, args, true)).method(),
];

fn both(lo: &mut Lowering, args: &[Value], is_or: bool) -> Traced<Value> {
    let (lhs, rhs) = (to_tensor(lo, at(args, 0))?, to_tensor(lo, at(args, 1))?);
    logical(lo, is_or, lhs, rhs).map(Value::Tensor)
}

fn concatenate(lo: &mut Lowering, args: &[Value], dim: i128) -> Traced<Value> {
    let (lhs, rhs) = (
        tensor(lo, at(args, 0), "input")?,
        tensor(lo, at(args, 1), "other")?,
    );
    let reorder = flag(lo, at(args, 2), "can_reorder")?;
    cat(lo, lhs, rhs, reorder, dim).map(Value::Tensor)
}

fn convert(lo: &mut Lowering, args: &[Value]) -> Traced<Value> {
    let input = to_tensor(lo, at(args, 0))?;
    let to = elem(lo, at(args, 1), "the dtype of a cast")?;
    if flag(lo, at(args, 3), "bitcast")? {
        return bitcast(lo, input, to).map(Value::Tensor);
    }
    let mode = text(lo, at(args, 2), "fp_downcast_rounding")?;
    let rounding = rounding(lo, mode)?;
    cast_elem(lo, input, to, rounding).map(Value::Tensor)
}
