//! Block pointers and tensor descriptors: the functions that make them, and their methods.

use cerith_python::nearest::nearest;
use cerith_tile::ir::AtomicOp;

use super::argument::{at, text};
use super::row::{Row, row};
use crate::lowering::Lowering;
use crate::semantic::types::items;
use crate::semantic::{block_pointer, descriptor};
use crate::stop::{Stop, Traced};
use crate::value::callable::Builtin;
use crate::value::{BlockPointer, Descriptor, Value};

pub(super) const ROWS: &[Row] = &[
    row(
        "tl.make_block_ptr(base, shape, strides, offsets, block_shape, order)",
        |lo, args| {
            let layout = block_pointer::Layout {
                shape: at(args, 1),
                strides: at(args, 2),
                offsets: at(args, 3),
                block_shape: at(args, 4),
                order: at(args, 5),
            };
            block_pointer::make(lo, at(args, 0), &layout)
        },
    ),
    row("tl.advance(base, offsets)", |lo, args| {
        block_pointer::available(lo)?;
        let pointer = block_pointer::expect(lo, at(args, 0))?;
        block_pointer::advance(lo, pointer, at(args, 1))
    })
    .method(),
    row(
        "tl.make_tensor_descriptor(base, shape, strides, block_shape, padding_option='zero')",
        |lo, args| {
            let option = text(lo, at(args, 4), "padding_option")?;
            make(lo, args, option)
        },
    )
    .since(3, 5, 1),
    row(
        "tl.make_tensor_descriptor(base, shape, strides, block_shape)",
        |lo, args| make(lo, args, Some("zero")),
    )
    .since(3, 4, 0)
    .until(3, 5, 1),
    row("tl.load_tensor_descriptor(desc, offsets)", load).since(3, 4, 0),
    row("tl.store_tensor_descriptor(desc, offsets, value)", store).since(3, 4, 0),
];

fn make(lo: &mut Lowering, args: &[Value], padding: Option<&str>) -> Traced<Value> {
    let layout = descriptor::Layout {
        shape: at(args, 1),
        strides: at(args, 2),
        block_shape: at(args, 3),
        padding,
    };
    descriptor::make(lo, at(args, 0), &layout)
}

fn load(lo: &mut Lowering, args: &[Value]) -> Traced<Value> {
    let desc = descriptor::expect(lo, at(args, 0))?;
    descriptor::load(lo, desc, at(args, 1)).map(Value::Tensor)
}

fn store(lo: &mut Lowering, args: &[Value]) -> Traced<Value> {
    let desc = descriptor::expect(lo, at(args, 0))?;
    descriptor::store(lo, desc, at(args, 1), at(args, 2))?;
    Ok(Value::NONE)
}

fn atomic(lo: &mut Lowering, op: AtomicOp, args: &[Value]) -> Traced<Value> {
    let desc = descriptor::expect(lo, at(args, 0))?;
    descriptor::atomic(lo, op, desc, at(args, 1), at(args, 2))?;
    Ok(Value::NONE)
}

/// The two offsets that rows are gathered from or scattered to.
fn two<'v>(lo: &Lowering, offsets: &'v Value, what: &str) -> Traced<(&'v Value, &'v Value)> {
    match items(offsets) {
        [x, y] => Ok((x, y)),
        other => Err(lo.reject(format!(
            "a descriptor's {what} takes two offsets, but got {}",
            other.len()
        ))),
    }
}

static METHODS: &[Builtin] = &[
    Builtin::of_operations("tensor_descriptor.load(self, offsets)", load),
    Builtin::of_operations("tensor_descriptor.store(self, offsets, value)", store),
    Builtin::of_operations(
        "tensor_descriptor.atomic_add(self, offsets, value)",
        |lo, args| atomic(lo, AtomicOp::Add, args),
    ),
    Builtin::of_operations(
        "tensor_descriptor.atomic_min(self, offsets, value)",
        |lo, args| atomic(lo, AtomicOp::Min, args),
    ),
    Builtin::of_operations(
        "tensor_descriptor.atomic_max(self, offsets, value)",
        |lo, args| atomic(lo, AtomicOp::Max, args),
    ),
    Builtin::of_operations(
        "tensor_descriptor.atomic_and(self, offsets, value)",
        |lo, args| atomic(lo, AtomicOp::And, args),
    ),
    Builtin::of_operations("tensor_descriptor.atomic_or(self, offsets, value)", |lo, args| {
        atomic(lo, AtomicOp::Or, args)
    }),
    Builtin::of_operations(
        "tensor_descriptor.atomic_xor(self, offsets, value)",
        |lo, args| atomic(lo, AtomicOp::Xor, args),
    ),
    Builtin::of_operations("tensor_descriptor.gather(self, *args)", |lo, args| {
        let desc = descriptor::expect(lo, at(args, 0))?;
        let (x, y) = two(lo, at(args, 1), "gather")?;
        descriptor::gather(lo, desc, x, y).map(Value::Tensor)
    }),
    Builtin::of_operations("tensor_descriptor.scatter(self, value, *args)", |lo, args| {
        let desc = descriptor::expect(lo, at(args, 0))?;
        let (x, y) = two(lo, at(args, 2), "scatter")?;
        descriptor::scatter(lo, desc, at(args, 1), x, y)?;
        Ok(Value::NONE)
    }),
];

const ATTRIBUTES: [&str; 5] = ["shape", "strides", "block_shape", "dtype", "block_type"];

/// `descriptor.name`: what it is made of, and methods (as `Value::Method`).
pub(crate) fn descriptor_attribute(
    lo: &Lowering,
    value: &std::rc::Rc<Descriptor>,
    name: &str,
) -> Traced<Value> {
    if let Some(found) = descriptor::attribute(lo, value, name) {
        return Ok(found);
    }
    if let Some(method) = METHODS.iter().find(|method| method.short_name() == name) {
        let receiver = Value::Descriptor(std::rc::Rc::clone(value));
        return Ok(Value::Method(std::rc::Rc::new(receiver), method));
    }
    let names = ATTRIBUTES
        .into_iter()
        .chain(METHODS.iter().map(Builtin::short_name));
    Err(unknown(lo, "a tensor descriptor", name, names))
}

/// `pointer.name` of a block pointer.
pub(crate) fn block_pointer_attribute(
    lo: &mut Lowering,
    value: &std::rc::Rc<BlockPointer>,
    name: &str,
) -> Traced<Value> {
    use cerith_tile::rules::Rule;
    if let Some(found) = block_pointer::attribute(lo, value, name) {
        return Ok(found);
    }
    // As a tensor it has the methods of tensors, as an aggregate its own.
    let methods: &[&str] = if lo.rules.holds(Rule::BlockPointersAreAggregates) {
        &["advance", "load", "store"]
    } else {
        &["advance", "store"]
    };
    if methods.contains(&name)
        && let Some(Value::Builtin(method)) = super::lookup(lo.rules, "tl", name)
    {
        let receiver = Value::BlockPointer(std::rc::Rc::clone(value));
        return Ok(Value::Method(std::rc::Rc::new(receiver), method));
    }
    Err(unknown(
        lo,
        "a block pointer",
        name,
        ["dtype", "type", "shape", "advance", "store"].into_iter(),
    ))
}

fn unknown(lo: &Lowering, what: &str, name: &str, names: impl Iterator<Item = &'static str>) -> Stop {
    let near = nearest(name, names);
    lo.unknown_attribute(format!("{what} has no attribute `{name}`"), near)
}
