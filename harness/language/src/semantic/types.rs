//! The types of values: comparing and showing them, and requiring tensors. See `promotion` for the types of new values.

use std::rc::Rc;

use cerith_tile::ir::{CmpPredicate, Shape, Type, ValueId};

use crate::constant::{self, Constant, TypeValue};
use crate::lowering::Lowering;
use crate::stop::Traced;
use crate::value::Value;

/// The description of a value in messages.
pub fn describe(value: &Value) -> String {
    match value {
        Value::Tensor(_) => "a tensor".to_owned(),
        Value::Constant(constant) => format!("`{}`", constant::repr(constant)),
        Value::Tuple { .. } => "a tuple".to_owned(),
        Value::List(_) => "a list".to_owned(),
        Value::Slice(_) => "a slice".to_owned(),
        Value::Function(function) => format!("the function `{}`", function.name),
        Value::Builtin(builtin) | Value::Method(_, builtin) => format!("the function `{}`", builtin.name()),
        Value::Module(name) => format!("the module `{name}`"),
        Value::BlockPointer(_) => "a block pointer".to_owned(),
        Value::Bound(_, function) => describe(function),
        Value::Aggregate(_) => "an aggregate".to_owned(),
        Value::Descriptor(_) => "a tensor descriptor".to_owned(),
        Value::Range(_) => "a range".to_owned(),
        Value::Python(_) => "a Python object".to_owned(),
    }
}

/// Whether two values have the same Triton type; of `constexpr`s, the value is part of the type.
pub fn same_type(lo: &Lowering, a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Tensor(a), Value::Tensor(b)) => lo.ty(*a) == lo.ty(*b),
        (Value::Constant(a), Value::Constant(b)) => constant::compare(CmpPredicate::Eq, a, b) == Ok(true),
        (Value::Tuple { items: a, names: m }, Value::Tuple { items: b, names: n }) => {
            m == n && a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same_type(lo, a, b))
        }
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same_type(lo, a, b))
        }
        (Value::Aggregate(a), Value::Aggregate(b)) => {
            Rc::ptr_eq(&a.class, &b.class)
                && a.items
                    .iter()
                    .zip(b.items.iter())
                    .all(|(a, b)| same_type(lo, a, b))
        }
        (Value::BlockPointer(a), Value::BlockPointer(b)) => {
            lo.ty(a.base) == lo.ty(b.base) && a.block_shape == b.block_shape
        }
        (Value::Descriptor(a), Value::Descriptor(b)) => {
            lo.ty(a.base) == lo.ty(b.base)
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
pub fn type_text(lo: &Lowering, value: &Value) -> String {
    match value {
        Value::Tensor(id) => triton_type(lo.ty(*id)),
        Value::Constant(value) => format!("constexpr[{}]", constant::repr(value)),
        Value::Tuple { items, .. } | Value::List(items) => {
            let items: Vec<String> = items.iter().map(|item| type_text(lo, item)).collect();
            format!("({})", items.join(", "))
        }
        Value::Function(function) => format!("the function `{}`", function.name),
        Value::Builtin(builtin) | Value::Method(_, builtin) => {
            format!("the function `{}`", builtin.name())
        }
        Value::Bound(_, function) => type_text(lo, function),
        Value::Aggregate(aggregate) => {
            let items: Vec<String> = aggregate.items.iter().map(|item| type_text(lo, item)).collect();
            format!("{}<{}>", aggregate.class.name, items.join(", "))
        }
        Value::Slice(_) => "a slice".to_owned(),
        Value::Module(name) => format!("the module `{name}`"),
        Value::BlockPointer(pointer) => {
            describe_block_type(lo, "pointer", pointer.base, &pointer.block_shape)
        }
        Value::Descriptor(descriptor) => {
            let mut text =
                describe_block_type(lo, "tensor_descriptor", descriptor.base, &descriptor.block_shape);
            if descriptor.nan {
                text.push_str(" padded with NaN");
            }
            text
        }
        Value::Range(_) => "a range".to_owned(),
        Value::Python(_) => "a Python object".to_owned(),
    }
}

/// The type of a pointer to blocks, as Triton writes it: `pointer<<[16, 16], fp32>>`.
fn describe_block_type(lo: &Lowering, what: &str, base: ValueId, block_shape: &Shape) -> String {
    let elem = lo.ty(base).elem;
    let block = Type::block(elem.pointee().unwrap_or(elem), block_shape.clone());
    format!("{what}<{}>", triton_type(&block))
}

/// A type as Triton writes it: `<[16, 16], fp32>`.
pub fn triton_type(ty: &Type) -> String {
    let named = if ty.block {
        TypeValue::Block(ty.elem, ty.shape.clone())
    } else {
        TypeValue::Elem(ty.elem)
    };
    constant::repr(&Constant::Type(named))
}

/// The items of a tuple or list; anything else is an item by itself.
pub(crate) fn as_items(value: &Value) -> &[Value] {
    match value {
        Value::Tuple { items, .. } | Value::List(items) => items,
        other => std::slice::from_ref(other),
    }
}

/// A tensor that is one already.
pub(crate) fn expect_tensor(lo: &Lowering, value: &Value, what: &str) -> Traced<ValueId> {
    match value {
        Value::Tensor(id) => Ok(*id),
        other => Err(lo.reject(format!("{what} must be a tensor, not {}", describe(other)))),
    }
}

/// One tensor or a tuple of tensors.
pub(crate) fn expect_tensors(lo: &Lowering, value: &Value, what: &str) -> Traced<Vec<ValueId>> {
    as_items(value)
        .iter()
        .map(|item| expect_tensor(lo, item, what))
        .collect()
}
