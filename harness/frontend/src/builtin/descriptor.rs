//! Block pointers and tensor descriptors: the functions that make them, and their methods.

use cerith_python::nearest::nearest;
use cerith_tile::ir::AtomicOp;

use super::argument::{at, items, text};
use super::{Builtin, Row, row};
use crate::semantic::{block_pointer, descriptor};
use crate::tracer::{Stop, Traced, Tracer};
use crate::value::{BlockPointer, Descriptor, Value};

pub(super) const ROWS: &[Row] = &[
    row(
        "tl.make_block_ptr(base, shape, strides, offsets, block_shape, order)",
        |tr, args| {
            let layout = block_pointer::Layout {
                shape: at(args, 1),
                strides: at(args, 2),
                offsets: at(args, 3),
                block_shape: at(args, 4),
                order: at(args, 5),
            };
            block_pointer::make(tr, at(args, 0), &layout)
        },
    ),
    row("tl.advance(base, offsets)", |tr, args| {
        block_pointer::available(tr)?;
        let pointer = block_pointer::expect(tr, at(args, 0))?;
        block_pointer::advance(tr, pointer, at(args, 1))
    })
    .method(),
    row(
        "tl.make_tensor_descriptor(base, shape, strides, block_shape, padding_option='zero')",
        |tr, args| {
            let option = text(tr, at(args, 4), "padding_option")?;
            make(tr, args, option)
        },
    )
    .since(3, 5, 1),
    row(
        "tl.make_tensor_descriptor(base, shape, strides, block_shape)",
        |tr, args| make(tr, args, Some("zero")),
    )
    .since(3, 4, 0)
    .until(3, 5, 1),
    row("tl.load_tensor_descriptor(desc, offsets)", load).since(3, 4, 0),
    row("tl.store_tensor_descriptor(desc, offsets, value)", store).since(3, 4, 0),
];

fn make(tr: &mut Tracer<'_>, args: &[Value], padding: Option<&str>) -> Traced<Value> {
    let layout = descriptor::Layout {
        shape: at(args, 1),
        strides: at(args, 2),
        block_shape: at(args, 3),
        padding,
    };
    descriptor::make(tr, at(args, 0), &layout)
}

fn load(tr: &mut Tracer<'_>, args: &[Value]) -> Traced<Value> {
    let desc = descriptor::expect(tr, at(args, 0))?;
    descriptor::load(tr, desc, at(args, 1)).map(Value::Tensor)
}

fn store(tr: &mut Tracer<'_>, args: &[Value]) -> Traced<Value> {
    let desc = descriptor::expect(tr, at(args, 0))?;
    descriptor::store(tr, desc, at(args, 1), at(args, 2))?;
    Ok(Value::NONE)
}

fn atomic(tr: &mut Tracer<'_>, op: AtomicOp, args: &[Value]) -> Traced<Value> {
    let desc = descriptor::expect(tr, at(args, 0))?;
    descriptor::atomic(tr, op, desc, at(args, 1), at(args, 2))?;
    Ok(Value::NONE)
}

/// The two offsets that rows are gathered from or scattered to.
fn two<'v>(tr: &Tracer<'_>, offsets: &'v Value, what: &str) -> Traced<(&'v Value, &'v Value)> {
    match items(offsets) {
        [x, y] => Ok((x, y)),
        other => Err(tr.reject(format!(
            "a descriptor's {what} takes two offsets, but got {}",
            other.len()
        ))),
    }
}

static METHODS: &[Builtin] = &[
    Builtin {
        signature: "tensor_descriptor.load(self, offsets)",
        lower: load,
    },
    Builtin {
        signature: "tensor_descriptor.store(self, offsets, value)",
        lower: store,
    },
    Builtin {
        signature: "tensor_descriptor.atomic_add(self, offsets, value)",
        lower: |tr, args| atomic(tr, AtomicOp::Add, args),
    },
    Builtin {
        signature: "tensor_descriptor.atomic_min(self, offsets, value)",
        lower: |tr, args| atomic(tr, AtomicOp::Min, args),
    },
    Builtin {
        signature: "tensor_descriptor.atomic_max(self, offsets, value)",
        lower: |tr, args| atomic(tr, AtomicOp::Max, args),
    },
    Builtin {
        signature: "tensor_descriptor.atomic_and(self, offsets, value)",
        lower: |tr, args| atomic(tr, AtomicOp::And, args),
    },
    Builtin {
        signature: "tensor_descriptor.atomic_or(self, offsets, value)",
        lower: |tr, args| atomic(tr, AtomicOp::Or, args),
    },
    Builtin {
        signature: "tensor_descriptor.atomic_xor(self, offsets, value)",
        lower: |tr, args| atomic(tr, AtomicOp::Xor, args),
    },
    Builtin {
        signature: "tensor_descriptor.gather(self, *args)",
        lower: |tr, args| {
            let desc = descriptor::expect(tr, at(args, 0))?;
            let (x, y) = two(tr, at(args, 1), "gather")?;
            descriptor::gather(tr, desc, x, y).map(Value::Tensor)
        },
    },
    Builtin {
        signature: "tensor_descriptor.scatter(self, value, *args)",
        lower: |tr, args| {
            let desc = descriptor::expect(tr, at(args, 0))?;
            let (x, y) = two(tr, at(args, 2), "scatter")?;
            descriptor::scatter(tr, desc, at(args, 1), x, y)?;
            Ok(Value::NONE)
        },
    },
];

const ATTRIBUTES: [&str; 5] = ["shape", "strides", "block_shape", "dtype", "block_type"];

/// `descriptor.name`: what it is made of, and methods (as `Value::Method`).
pub(crate) fn descriptor_attribute(
    tr: &Tracer<'_>,
    value: &std::rc::Rc<Descriptor>,
    name: &str,
) -> Traced<Value> {
    if let Some(found) = descriptor::attribute(tr, value, name) {
        return Ok(found);
    }
    if let Some(method) = METHODS.iter().find(|method| method.short_name() == name) {
        let receiver = Value::Descriptor(std::rc::Rc::clone(value));
        return Ok(Value::Method(std::rc::Rc::new(receiver), method));
    }
    let names = ATTRIBUTES
        .into_iter()
        .chain(METHODS.iter().map(Builtin::short_name));
    Err(unknown(tr, "a tensor descriptor", name, names))
}

/// `pointer.name` of a block pointer.
pub(crate) fn block_pointer_attribute(
    tr: &mut Tracer<'_>,
    value: &std::rc::Rc<BlockPointer>,
    name: &str,
) -> Traced<Value> {
    use cerith_tile::rules::Rule;
    if let Some(found) = block_pointer::attribute(tr, value, name) {
        return Ok(found);
    }
    // As a tensor it has the methods of tensors, as an aggregate its own.
    let methods: &[&str] = if tr.rules.holds(Rule::BlockPointersAreAggregates) {
        &["advance", "load", "store"]
    } else {
        &["advance", "store"]
    };
    if methods.contains(&name)
        && let Some(Value::Builtin(method)) = super::lookup(tr, "tl", name)
    {
        let receiver = Value::BlockPointer(std::rc::Rc::clone(value));
        return Ok(Value::Method(std::rc::Rc::new(receiver), method));
    }
    Err(unknown(
        tr,
        "a block pointer",
        name,
        ["dtype", "type", "shape", "advance", "store"].into_iter(),
    ))
}

fn unknown(tr: &Tracer<'_>, what: &str, name: &str, names: impl Iterator<Item = &'static str>) -> Stop {
    let near = nearest(name, names);
    super::unknown(tr, &format!("{what} has no attribute `{name}`"), near)
}
