//! The state of one running Python function: its names and its return values.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use cerith_tile::ir::ValueId;
use cerith_tile::source::{SourceId, Span};
use indexmap::IndexMap;

use cerith_language::value::callable::UserFunction;
use cerith_language::value::plain::ScopeId;
use cerith_language::value::{Aggregate, BlockPointer, Descriptor, Value};

/// The way a name got its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An ordinary value.
    Plain,
    /// A bare Python object, not a `constexpr`: `None` and types that were assigned.
    Bare,
    /// A tensor or a named tuple inside of a constexpr.
    Held,
    /// A parameter that the launcher turned into a compile-time constant although it isn't annotated.
    Specialised,
}

/// The value of a name.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// The value.
    pub value: Value,
    /// The kind of binding.
    pub kind: Kind,
}

/// The names of a function.
pub(super) type Names = IndexMap<Rc<str>, Slot>;

/// A function that is being run.
#[derive(Debug, Default)]
pub(super) struct Frame {
    /// Its names, as they are here.
    pub names: Names,
    /// The names bound since the innermost region was entered.
    pub bound: BTreeSet<Rc<str>>,
    /// Names with a bare annotation `x: tl.constexpr` that are to be assigned.
    pub pending: BTreeSet<Rc<str>>,
    /// Names that only some paths bind, with the place that binds them.
    pub partial: HashMap<Rc<str>, Span>,
    /// The scope around: a module's, or a factory's.
    pub scope: ScopeId,
    /// The file.
    pub source: SourceId,
    /// The number of open loops in the IR.
    pub loops: usize,
    /// The values of unreachable `return`s. Their types must match the others.
    pub dead_returns: Vec<Value>,
}

impl Frame {
    /// Binds a name, as an assignment does.
    pub fn set(&mut self, name: &Rc<str>, value: Value, kind: Kind) {
        self.names.insert(Rc::clone(name), Slot { value, kind });
        self.bound.insert(Rc::clone(name));
    }
}

/// The tensors in a value, in order.
pub(super) fn collect_leaves(value: &Value) -> Vec<ValueId> {
    let mut found = Vec::new();
    collect(value, &mut found);
    found
}

fn collect(value: &Value, found: &mut Vec<ValueId>) {
    match value {
        Value::Tensor(id) => found.push(*id),
        Value::Tuple { items, .. } | Value::List(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Aggregate(aggregate) => aggregate.items.iter().for_each(|item| collect(item, found)),
        Value::BlockPointer(pointer) => {
            let BlockPointer {
                base,
                shape,
                strides,
                offsets,
                block_shape: _,
            } = &**pointer;
            found.push(*base);
            found.extend(shape.iter().chain(strides).chain(offsets));
        }
        Value::Descriptor(descriptor) => {
            found.push(descriptor.base);
            found.extend(descriptor.shape.iter().chain(&descriptor.strides));
        }
        _ => {}
    }
}

/// The value with other tensors in the places of its own.
pub(super) fn rebuild(value: &Value, tensors: &mut impl Iterator<Item = ValueId>) -> Value {
    match value {
        Value::Tensor(id) => Value::Tensor(tensors.next().unwrap_or(*id)),
        Value::Tuple { items, names } => Value::Tuple {
            items: items.iter().map(|item| rebuild(item, tensors)).collect(),
            names: Rc::clone(names),
        },
        Value::List(items) => Value::List(items.iter().map(|item| rebuild(item, tensors)).collect()),
        Value::Aggregate(aggregate) => Value::Aggregate(Rc::new(Aggregate {
            class: Rc::clone(&aggregate.class),
            items: aggregate
                .items
                .iter()
                .map(|item| rebuild(item, tensors))
                .collect(),
        })),
        Value::BlockPointer(pointer) => {
            let mut next = |id: &ValueId| tensors.next().unwrap_or(*id);
            Value::BlockPointer(Rc::new(BlockPointer {
                base: next(&pointer.base),
                shape: pointer.shape.iter().map(&mut next).collect(),
                strides: pointer.strides.iter().map(&mut next).collect(),
                offsets: pointer.offsets.iter().map(&mut next).collect(),
                block_shape: pointer.block_shape.clone(),
            }))
        }
        Value::Descriptor(descriptor) => {
            let mut next = |id: &ValueId| tensors.next().unwrap_or(*id);
            Value::Descriptor(Rc::new(Descriptor {
                base: next(&descriptor.base),
                shape: descriptor.shape.iter().map(&mut next).collect(),
                strides: descriptor.strides.iter().map(&mut next).collect(),
                ..(**descriptor).clone()
            }))
        }
        _ => value.clone(),
    }
}

/// A call whose body is being run.
#[derive(Debug)]
pub(super) struct ActiveCall {
    /// The called function.
    pub function: Rc<UserFunction>,
    /// The passed arguments.
    pub arguments: Vec<Value>,
}
