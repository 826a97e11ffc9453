//! Shapes and casts: what moves or reinterprets lanes.

use super::argument::{
    block_shape, expect_elem, expect_flag, expect_int, expect_ints, expect_text, get_argument, spread,
    to_tensor,
};
use super::row::{Row, row};
use crate::lowering::Lowering;
use crate::semantic::arithmetic::lower_logical;
use crate::semantic::cast::{bitcast, cast_elem, parse_rounding};
use crate::semantic::shape::{
    broadcast, broadcast_to, cat, expand_dims, gather, join, permute, reshape, split, transpose, unsplat,
};
use crate::semantic::types::{as_items, expect_tensor};
use crate::stop::Traced;
use crate::value::Value;

pub(super) const ROWS: &[Row] = &[
    row("tl.broadcast(input, other)", |lo, args| {
        let (lhs, rhs) = (
            expect_tensor(lo, get_argument(args, 0), "input")?,
            expect_tensor(lo, get_argument(args, 1), "other")?,
        );
        let (lhs, rhs) = broadcast(lo, lhs, rhs)?;
        Ok(Value::new_tuple([Value::Tensor(lhs), Value::Tensor(rhs)]))
    }),
    row("tl.broadcast_to(input, *shape)", |lo, args| {
        let input = expect_tensor(lo, get_argument(args, 0), "input")?;
        let shape = block_shape(lo, spread(get_argument(args, 1)))?;
        broadcast_to(lo, input, &shape).map(Value::Tensor)
    })
    .method(),
    row("tl.trans(input, *dims)", |lo, args| {
        let input = expect_tensor(lo, get_argument(args, 0), "input")?;
        let dims = expect_ints(lo, spread(get_argument(args, 1)), "dims")?;
        if dims.is_empty() {
            transpose(lo, input)
        } else {
            permute(lo, input, &dims)
        }
        .map(Value::Tensor)
    })
    .method(),
    row("tl.permute(input, *dims)", |lo, args| {
        let input = expect_tensor(lo, get_argument(args, 0), "input")?;
        let dims = expect_ints(lo, spread(get_argument(args, 1)), "dims")?;
        permute(lo, input, &dims).map(Value::Tensor)
    })
    .method(),
    row("tl.cat(input, other, can_reorder=False)", |lo, args| {
        concatenate(lo, args, 0)
    })
    .removed_in(3, 7, 1),
    row("tl.cat(input, other, can_reorder=False, dim=0)", |lo, args| {
        let dim = expect_int(lo, get_argument(args, 3), "dim")?;
        concatenate(lo, args, dim)
    })
    .since(3, 7, 1),
    row("tl.join(a, b)", |lo, args| {
        let (a, b) = (
            expect_tensor(lo, get_argument(args, 0), "a")?,
            expect_tensor(lo, get_argument(args, 1), "b")?,
        );
        join(lo, a, b).map(Value::Tensor)
    }),
    row("tl.split(a)", |lo, args| {
        let a = expect_tensor(lo, get_argument(args, 0), "a")?;
        let (left, right) = split(lo, a)?;
        Ok(Value::new_tuple([Value::Tensor(left), Value::Tensor(right)]))
    })
    .method(),
    row("tl.view(input, *shape)", |lo, args| {
        let input = expect_tensor(lo, get_argument(args, 0), "input")?;
        let shape = block_shape(lo, spread(get_argument(args, 1)))?;
        reshape(lo, input, &shape, true).map(Value::Tensor)
    })
    .method(),
    row("tl.reshape(input, *shape, can_reorder=False)", |lo, args| {
        let input = expect_tensor(lo, get_argument(args, 0), "input")?;
        let shape = block_shape(lo, spread(get_argument(args, 1)))?;
        let reorder = expect_flag(lo, get_argument(args, 2), "can_reorder")?;
        reshape(lo, input, &shape, reorder).map(Value::Tensor)
    })
    .method(),
    row("tensor.item(self)", |lo, args| {
        let input = expect_tensor(lo, get_argument(args, 0), "input")?;
        unsplat(lo, input).map(Value::Tensor)
    })
    .since(3, 4, 0)
    .method(),
    // Since 3.4 the method exists only for its documentation: Python runs its empty body, which returns `None`. In 3.4 the
    // body doesn't accept the arguments that the compiler passes.
    row("tensor.sort(self, dim=None, descending=0)", |_, _| {
        Ok(Value::NONE)
    })
    .since(3, 5, 0)
    .method(),
    row("tl.expand_dims(input, axis)", |lo, args| {
        let input = to_tensor(lo, get_argument(args, 0))?;
        let axes = expect_ints(lo, as_items(get_argument(args, 1)), "axis")?;
        expand_dims(lo, input, &axes).map(Value::Tensor)
    })
    .method(),
    row("tl.gather(src, index, axis)", |lo, args| {
        let (source, index) = (
            expect_tensor(lo, get_argument(args, 0), "src")?,
            expect_tensor(lo, get_argument(args, 1), "index")?,
        );
        let axis = expect_int(lo, get_argument(args, 2), "axis")?;
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
        lower_logical_op(lo, args, false)
    })
    .method(),
    row("tensor.logical_or(self, other)", |lo, args| {
        lower_logical_op(lo, args, true)
    })
    .method(),
];

fn lower_logical_op(lo: &mut Lowering, args: &[Value], is_or: bool) -> Traced<Value> {
    let (lhs, rhs) = (
        to_tensor(lo, get_argument(args, 0))?,
        to_tensor(lo, get_argument(args, 1))?,
    );
    lower_logical(lo, is_or, lhs, rhs).map(Value::Tensor)
}

fn concatenate(lo: &mut Lowering, args: &[Value], dim: i128) -> Traced<Value> {
    let (lhs, rhs) = (
        expect_tensor(lo, get_argument(args, 0), "input")?,
        expect_tensor(lo, get_argument(args, 1), "other")?,
    );
    let reorder = expect_flag(lo, get_argument(args, 2), "can_reorder")?;
    cat(lo, lhs, rhs, reorder, dim).map(Value::Tensor)
}

fn convert(lo: &mut Lowering, args: &[Value]) -> Traced<Value> {
    let input = to_tensor(lo, get_argument(args, 0))?;
    let to = expect_elem(lo, get_argument(args, 1), "the dtype of a cast")?;
    if expect_flag(lo, get_argument(args, 3), "bitcast")? {
        return bitcast(lo, input, to).map(Value::Tensor);
    }
    let mode = expect_text(lo, get_argument(args, 2), "fp_downcast_rounding")?;
    let rounding = parse_rounding(lo, mode)?;
    cast_elem(lo, input, to, rounding).map(Value::Tensor)
}
