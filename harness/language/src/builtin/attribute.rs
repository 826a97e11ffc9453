//! Attributes of values in the IR: their parts, and methods (as [`Value::Method`]). An unknown name is rejected with the
//! nearest spelling. See [`super::types`] for types.

use std::rc::Rc;

use cerith_python::nearest::find_nearest;
use cerith_tile::ir::ValueId;
use cerith_tile::rules::Rule;

use super::descriptor::METHODS;
use super::{find_method, list_methods, lookup, types};
use crate::constant::{Constant, TypeValue};
use crate::lowering::Lowering;
use crate::semantic::shape::permute;
use crate::semantic::{block_pointer, descriptor};
use crate::stop::{Stop, Traced};
use crate::value::callable::Builtin;
use crate::value::{BlockPointer, Descriptor, Value};

/// `tensor.name`: `dtype`, `shape`, `type`, `T`, methods (as `Value::Method`). Unknown names are rejected with the
/// nearest spelling.
pub fn of_tensor(lo: &mut Lowering, tensor: ValueId, name: &str) -> Traced<Value> {
    let ty = lo.ty(tensor).clone();
    match name {
        "dtype" => return Ok(Value::Constant(Constant::Type(TypeValue::Elem(ty.elem)))),
        "type" => return Ok(types::type_of(&ty)),
        "shape" => {
            return Ok(Value::new_tuple(
                ty.shape.iter().map(|&extent| Value::from_int(extent as i128)),
            ));
        }
        "numel" => return Ok(Value::from_int(ty.numel() as i128)),
        "T" => return permute(lo, tensor, &[1, 0]).map(Value::Tensor),
        _ => {}
    }
    if let Some(method) = find_method(lo.rules, name) {
        return Ok(Value::Method(Rc::new(Value::Tensor(tensor)), method));
    }
    let names = ["dtype", "type", "shape", "numel", "T"].into_iter();
    Err(reject_attribute(
        lo,
        "a tensor",
        name,
        names.chain(list_methods(lo.rules).map(Builtin::short_name)),
    ))
}

/// Attributes of descriptors other than methods.
const OF_DESCRIPTOR: [&str; 5] = ["shape", "strides", "block_shape", "dtype", "block_type"];

/// `descriptor.name`: its parts, and methods (as `Value::Method`).
pub fn of_descriptor(lo: &Lowering, value: &Rc<Descriptor>, name: &str) -> Traced<Value> {
    if let Some(found) = descriptor::find_attribute(lo, value, name) {
        return Ok(found);
    }
    if let Some(method) = METHODS.iter().find(|method| method.short_name() == name) {
        let receiver = Value::Descriptor(Rc::clone(value));
        return Ok(Value::Method(Rc::new(receiver), method));
    }
    let names = OF_DESCRIPTOR
        .into_iter()
        .chain(METHODS.iter().map(Builtin::short_name));
    Err(reject_attribute(lo, "a tensor descriptor", name, names))
}

/// `pointer.name` of a block pointer.
pub fn of_block_pointer(lo: &mut Lowering, value: &Rc<BlockPointer>, name: &str) -> Traced<Value> {
    if let Some(found) = block_pointer::find_attribute(lo, value, name) {
        return Ok(found);
    }
    // As a tensor it has the methods of tensors, as an aggregate its own.
    let methods: &[&str] = if lo.rules.holds(Rule::BlockPointersAreAggregates) {
        &["advance", "load", "store"]
    } else {
        &["advance", "store"]
    };
    if methods.contains(&name)
        && let Some(Value::Builtin(method)) = lookup(lo.rules, "tl", name)
    {
        let receiver = Value::BlockPointer(Rc::clone(value));
        return Ok(Value::Method(Rc::new(receiver), method));
    }
    Err(reject_attribute(
        lo,
        "a block pointer",
        name,
        ["dtype", "type", "shape", "advance", "store"].into_iter(),
    ))
}

/// The rejection of a name that a value does not have.
fn reject_attribute(
    lo: &Lowering,
    what: &str,
    name: &str,
    names: impl Iterator<Item = &'static str>,
) -> Stop {
    let near = find_nearest(name, names);
    lo.unknown_attribute(format!("{what} has no attribute `{name}`"), None, name, near)
}
