//! Block pointers and tensor descriptors: the functions that make them, and their methods.

use cerith_tile::ir::AtomicOp;

use super::argument::{expect_text, get_argument};
use super::row::{Row, row};
use crate::lowering::Lowering;
use crate::semantic::types::as_items;
use crate::semantic::{block_pointer, descriptor};
use crate::stop::Traced;
use crate::value::Value;
use crate::value::callable::Builtin;

pub(super) const ROWS: &[Row] = &[
    row(
        "tl.make_block_ptr(base, shape, strides, offsets, block_shape, order)",
        |lo, args| {
            let layout = block_pointer::Layout {
                shape: get_argument(args, 1),
                strides: get_argument(args, 2),
                offsets: get_argument(args, 3),
                block_shape: get_argument(args, 4),
                order: get_argument(args, 5),
            };
            block_pointer::make(lo, get_argument(args, 0), &layout)
        },
    ),
    row("tl.advance(base, offsets)", |lo, args| {
        block_pointer::check_available(lo)?;
        let pointer = block_pointer::expect(lo, get_argument(args, 0))?;
        block_pointer::advance(lo, pointer, get_argument(args, 1))
    })
    .method(),
    row(
        "tl.make_tensor_descriptor(base, shape, strides, block_shape, padding_option='zero')",
        |lo, args| {
            let option = expect_text(lo, get_argument(args, 4), "padding_option")?;
            make(lo, args, option)
        },
    )
    .since(3, 5, 1),
    row(
        "tl.make_tensor_descriptor(base, shape, strides, block_shape)",
        |lo, args| make(lo, args, Some("zero")),
    )
    .since(3, 4, 0)
    .removed_in(3, 5, 1),
    row("tl.load_tensor_descriptor(desc, offsets)", load).since(3, 4, 0),
    row("tl.store_tensor_descriptor(desc, offsets, value)", store).since(3, 4, 0),
];

fn make(lo: &mut Lowering, args: &[Value], padding: Option<&str>) -> Traced<Value> {
    let layout = descriptor::Layout {
        shape: get_argument(args, 1),
        strides: get_argument(args, 2),
        block_shape: get_argument(args, 3),
        padding,
    };
    descriptor::make(lo, get_argument(args, 0), &layout)
}

fn load(lo: &mut Lowering, args: &[Value]) -> Traced<Value> {
    let desc = descriptor::expect(lo, get_argument(args, 0))?;
    descriptor::load(lo, desc, get_argument(args, 1)).map(Value::Tensor)
}

fn store(lo: &mut Lowering, args: &[Value]) -> Traced<Value> {
    let desc = descriptor::expect(lo, get_argument(args, 0))?;
    descriptor::store(lo, desc, get_argument(args, 1), get_argument(args, 2))?;
    Ok(Value::NONE)
}

fn lower_atomic(lo: &mut Lowering, op: AtomicOp, args: &[Value]) -> Traced<Value> {
    let desc = descriptor::expect(lo, get_argument(args, 0))?;
    descriptor::lower_atomic(lo, op, desc, get_argument(args, 1), get_argument(args, 2))?;
    Ok(Value::NONE)
}

/// The two offsets that rows are gathered from or scattered to.
fn expect_offset_pair<'v>(lo: &Lowering, offsets: &'v Value, what: &str) -> Traced<(&'v Value, &'v Value)> {
    match as_items(offsets) {
        [x, y] => Ok((x, y)),
        other => Err(lo.reject(format!(
            "a descriptor's {what} takes two offsets, but got {}",
            other.len()
        ))),
    }
}

/// Methods of descriptors.
pub(super) static METHODS: &[Builtin] = &[
    Builtin::of_operations("tensor_descriptor.load(self, offsets)", load),
    Builtin::of_operations("tensor_descriptor.store(self, offsets, value)", store),
    Builtin::of_operations(
        "tensor_descriptor.atomic_add(self, offsets, value)",
        |lo, args| lower_atomic(lo, AtomicOp::Add, args),
    ),
    Builtin::of_operations(
        "tensor_descriptor.atomic_min(self, offsets, value)",
        |lo, args| lower_atomic(lo, AtomicOp::Min, args),
    ),
    Builtin::of_operations(
        "tensor_descriptor.atomic_max(self, offsets, value)",
        |lo, args| lower_atomic(lo, AtomicOp::Max, args),
    ),
    Builtin::of_operations(
        "tensor_descriptor.atomic_and(self, offsets, value)",
        |lo, args| lower_atomic(lo, AtomicOp::And, args),
    ),
    Builtin::of_operations("tensor_descriptor.atomic_or(self, offsets, value)", |lo, args| {
        lower_atomic(lo, AtomicOp::Or, args)
    }),
    Builtin::of_operations(
        "tensor_descriptor.atomic_xor(self, offsets, value)",
        |lo, args| lower_atomic(lo, AtomicOp::Xor, args),
    ),
    Builtin::of_operations("tensor_descriptor.gather(self, *args)", |lo, args| {
        let desc = descriptor::expect(lo, get_argument(args, 0))?;
        let (x, y) = expect_offset_pair(lo, get_argument(args, 1), "gather")?;
        descriptor::gather(lo, desc, x, y).map(Value::Tensor)
    }),
    Builtin::of_operations("tensor_descriptor.scatter(self, value, *args)", |lo, args| {
        let desc = descriptor::expect(lo, get_argument(args, 0))?;
        let (x, y) = expect_offset_pair(lo, get_argument(args, 2), "scatter")?;
        descriptor::scatter(lo, desc, get_argument(args, 1), x, y)?;
        Ok(Value::NONE)
    }),
];
