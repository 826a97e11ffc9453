//! What belongs to one Python function that is being run: its names and what it returned.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use cerith_tile::ir::{Type, ValueId};
use cerith_tile::source::{SourceId, Span};
use indexmap::IndexMap;

use super::module::ScopeId;
use super::{Aggregate, Tracer};
use crate::constant;
use crate::value::{BlockPointer, Descriptor, Value};

/// How a name came to its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An ordinary value.
    Plain,
    /// A bare Python object, not a `constexpr`: `None` and types that were assigned.
    Bare,
    /// A tensor inside of a constexpr.
    Held,
    /// A parameter whose value the launcher made a compile-time constant without being asked to.
    Specialised,
}

/// What a name is bound to.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// The value.
    pub value: Value,
    /// How it came to be.
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
    /// How many loops of IR are open.
    pub loops: usize,
    /// What `return`s that are never reached would return; the types must agree all the same.
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
pub(super) fn leaves(value: &Value) -> Vec<ValueId> {
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

impl Tracer<'_> {
    /// Whether two values have the same Triton type; of `constexpr`s, the value is part of the type.
    pub(super) fn same_type(&self, a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Tensor(a), Value::Tensor(b)) => self.ty(*a) == self.ty(*b),
            (Value::Constant(a), Value::Constant(b)) => {
                constant::compare(cerith_tile::ir::CmpPredicate::Eq, a, b) == Ok(true)
            }
            (Value::Tuple { items: a, names: m }, Value::Tuple { items: b, names: n }) => {
                m == n && a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| self.same_type(a, b))
            }
            (Value::List(a), Value::List(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| self.same_type(a, b))
            }
            (Value::Aggregate(a), Value::Aggregate(b)) => {
                Rc::ptr_eq(&a.class, &b.class)
                    && a.items
                        .iter()
                        .zip(b.items.iter())
                        .all(|(a, b)| self.same_type(a, b))
            }
            (Value::BlockPointer(a), Value::BlockPointer(b)) => {
                self.ty(a.base) == self.ty(b.base) && a.block_shape == b.block_shape
            }
            (Value::Descriptor(a), Value::Descriptor(b)) => {
                self.ty(a.base) == self.ty(b.base)
                    && a.block_shape == b.block_shape
                    && (a.nan, a.round) == (b.nan, b.round)
            }
            (Value::Function(a), Value::Function(b)) => Rc::ptr_eq(a, b),
            (Value::Builtin(a), Value::Builtin(b)) => std::ptr::eq(*a, *b),
            (Value::Module(a), Value::Module(b)) => a == b,
            _ => false,
        }
    }

    /// A value's type, as messages show it.
    pub fn type_text(&self, value: &Value) -> String {
        match value {
            Value::Tensor(id) => self.triton_type(self.ty(*id)),
            Value::Constant(value) => format!("constexpr[{}]", constant::repr(value)),
            Value::Tuple { items, .. } | Value::List(items) => {
                let items: Vec<String> = items.iter().map(|item| self.type_text(item)).collect();
                format!("({})", items.join(", "))
            }
            Value::Function(function) => format!("the function `{}`", function.name),
            Value::Builtin(builtin) | Value::Method(_, builtin) => {
                format!("the function `{}`", builtin.name())
            }
            Value::Bound(_, function) => self.type_text(function),
            Value::Aggregate(aggregate) => {
                let items: Vec<String> = aggregate.items.iter().map(|item| self.type_text(item)).collect();
                format!("{}<{}>", aggregate.class.name, items.join(", "))
            }
            Value::Slice(_) => "a slice".to_owned(),
            Value::Module(name) => format!("the module `{name}`"),
            Value::BlockPointer(pointer) => self.pointed("pointer", pointer.base, &pointer.block_shape),
            Value::Descriptor(descriptor) => {
                let mut text = self.pointed("tensor_descriptor", descriptor.base, &descriptor.block_shape);
                if descriptor.nan {
                    text.push_str(" padded with NaN");
                }
                text
            }
            Value::Range(_) => "a range".to_owned(),
            Value::Python(_) => "a Python object".to_owned(),
        }
    }

    /// What points to blocks, as Triton writes it: `pointer<<[16, 16], fp32>>`.
    fn pointed(&self, what: &str, base: ValueId, block_shape: &cerith_tile::ir::Shape) -> String {
        let elem = self.ty(base).elem;
        let block = Type::block(elem.pointee().unwrap_or(elem), block_shape.clone());
        format!("{what}<{}>", self.triton_type(&block))
    }

    /// A type as Triton writes it: `<[16, 16], fp32>`.
    #[expect(
        clippy::unused_self,
        reason = "called beside the other descriptions of values"
    )]
    pub fn triton_type(&self, ty: &Type) -> String {
        use crate::value::{Constant, TypeValue};
        let named = if ty.block {
            TypeValue::Block(ty.elem, ty.shape.clone())
        } else {
            TypeValue::Elem(ty.elem)
        };
        constant::repr(&Constant::Type(named))
    }
}
