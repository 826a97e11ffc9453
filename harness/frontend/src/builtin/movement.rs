//! Shapes and casts: what moves or reinterprets lanes.

use super::argument::{at, block_shape, elem, flag, int, ints, items, spread, tensor, text, to_tensor};
use super::{Row, row};
use crate::semantic::arithmetic::logical;
use crate::semantic::cast::{bitcast, cast_elem, rounding};
use crate::semantic::shape::{
    broadcast, broadcast_to, cat, expand_dims, gather, join, permute, reshape, split, transpose, unsplat,
};
use crate::tracer::{Traced, Tracer};
use crate::value::Value;

pub(super) const ROWS: &[Row] = &[
    row("tl.broadcast(input, other)", |tr, args| {
        let (lhs, rhs) = (
            tensor(tr, at(args, 0), "input")?,
            tensor(tr, at(args, 1), "other")?,
        );
        let (lhs, rhs) = broadcast(tr, lhs, rhs)?;
        Ok(Value::tuple([Value::Tensor(lhs), Value::Tensor(rhs)]))
    }),
    row("tl.broadcast_to(input, *shape)", |tr, args| {
        let input = tensor(tr, at(args, 0), "input")?;
        let shape = block_shape(tr, spread(at(args, 1)))?;
        broadcast_to(tr, input, &shape).map(Value::Tensor)
    })
    .method(),
    row("tl.trans(input, *dims)", |tr, args| {
        let input = tensor(tr, at(args, 0), "input")?;
        let dims = ints(tr, spread(at(args, 1)), "dims")?;
        if dims.is_empty() {
            transpose(tr, input)
        } else {
            permute(tr, input, &dims)
        }
        .map(Value::Tensor)
    })
    .method(),
    row("tl.permute(input, *dims)", |tr, args| {
        let input = tensor(tr, at(args, 0), "input")?;
        let dims = ints(tr, spread(at(args, 1)), "dims")?;
        permute(tr, input, &dims).map(Value::Tensor)
    })
    .method(),
    row("tl.cat(input, other, can_reorder=False)", |tr, args| {
        concatenate(tr, args, 0)
    })
    .until(3, 7, 1),
    row("tl.cat(input, other, can_reorder=False, dim=0)", |tr, args| {
        let dim = int(tr, at(args, 3), "dim")?;
        concatenate(tr, args, dim)
    })
    .since(3, 7, 1),
    row("tl.join(a, b)", |tr, args| {
        let (a, b) = (tensor(tr, at(args, 0), "a")?, tensor(tr, at(args, 1), "b")?);
        join(tr, a, b).map(Value::Tensor)
    }),
    row("tl.split(a)", |tr, args| {
        let a = tensor(tr, at(args, 0), "a")?;
        let (left, right) = split(tr, a)?;
        Ok(Value::tuple([Value::Tensor(left), Value::Tensor(right)]))
    })
    .method(),
    row("tl.view(input, *shape)", |tr, args| {
        let input = tensor(tr, at(args, 0), "input")?;
        let shape = block_shape(tr, spread(at(args, 1)))?;
        reshape(tr, input, &shape, true).map(Value::Tensor)
    })
    .method(),
    row("tl.reshape(input, *shape, can_reorder=False)", |tr, args| {
        let input = tensor(tr, at(args, 0), "input")?;
        let shape = block_shape(tr, spread(at(args, 1)))?;
        let reorder = flag(tr, at(args, 2), "can_reorder")?;
        reshape(tr, input, &shape, reorder).map(Value::Tensor)
    })
    .method(),
    row("tensor.item(self)", |tr, args| {
        let input = tensor(tr, at(args, 0), "input")?;
        unsplat(tr, input).map(Value::Tensor)
    })
    .since(3, 4, 0)
    .method(),
    // Since 3.4 the method is only what documents it: Python runs its empty body, and it gives `None`. In 3.4 the body does
    // not take what the compiler passes.
    row("tensor.sort(self, dim=None, descending=0)", |_, _| {
        Ok(Value::NONE)
    })
    .since(3, 5, 0)
    .method(),
    row("tl.expand_dims(input, axis)", |tr, args| {
        let input = to_tensor(tr, at(args, 0))?;
        let axes = ints(tr, items(at(args, 1)), "axis")?;
        expand_dims(tr, input, &axes).map(Value::Tensor)
    })
    .method(),
    row("tl.gather(src, index, axis)", |tr, args| {
        let (source, index) = (tensor(tr, at(args, 0), "src")?, tensor(tr, at(args, 1), "index")?);
        let axis = int(tr, at(args, 2), "axis")?;
        gather(tr, source, index, axis).map(Value::Tensor)
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
    row("tensor.logical_and(self, other)", |tr, args| {
        both(tr, args, false)
    })
    .method(),
    row("tensor.logical_or(self, other)", |tr, args| both(tr, args, true)).method(),
];

fn both(tr: &mut Tracer<'_>, args: &[Value], is_or: bool) -> Traced<Value> {
    let (lhs, rhs) = (to_tensor(tr, at(args, 0))?, to_tensor(tr, at(args, 1))?);
    logical(tr, is_or, lhs, rhs).map(Value::Tensor)
}

fn concatenate(tr: &mut Tracer<'_>, args: &[Value], dim: i128) -> Traced<Value> {
    let (lhs, rhs) = (
        tensor(tr, at(args, 0), "input")?,
        tensor(tr, at(args, 1), "other")?,
    );
    let reorder = flag(tr, at(args, 2), "can_reorder")?;
    cat(tr, lhs, rhs, reorder, dim).map(Value::Tensor)
}

fn convert(tr: &mut Tracer<'_>, args: &[Value]) -> Traced<Value> {
    let input = to_tensor(tr, at(args, 0))?;
    let to = elem(tr, at(args, 1), "the dtype of a cast")?;
    if flag(tr, at(args, 3), "bitcast")? {
        return bitcast(tr, input, to).map(Value::Tensor);
    }
    let mode = text(tr, at(args, 2), "fp_downcast_rounding")?;
    let rounding = rounding(tr, mode)?;
    cast_elem(tr, input, to, rounding).map(Value::Tensor)
}
