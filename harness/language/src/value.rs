//! The values of a kernel's expressions while it is traced.
//!
//! Such values may be functions ([`callable`]), and come from the plain Python around kernels ([`plain`]). See
//! [`crate::constant`] for values known while tracing.

pub mod callable;
pub mod object;
pub mod plain;

use std::rc::Rc;

use cerith_tile::ir::{Shape, ValueId};

use self::callable::{Builtin, UserFunction};
use self::plain::{AggregateClass, Plain};
use crate::constant::Constant;

/// The value of an expression.
#[derive(Clone, Debug)]
pub enum Value {
    /// A `tl.tensor`: a scalar or block in IR. Its type is the builder's.
    Tensor(ValueId),
    /// Known now.
    Constant(Constant),
    /// A tuple.
    Tuple {
        /// Its items.
        items: Rc<[Value]>,
        /// The fields of a named tuple, empty otherwise.
        names: Rc<[Rc<str>]>,
    },
    /// A list; Triton accepts it where a shape or a tuple is meant.
    List(Rc<[Value]>),
    /// `a:b:c` inside of brackets.
    Slice(Rc<[Value; 3]>),
    /// A `@triton.jit` function of the user or of the prelude.
    Function(Rc<UserFunction>),
    /// A function of `tl`, of a tensor, of Python.
    Builtin(&'static Builtin),
    /// A method with the object it was taken from.
    Method(Rc<Value>, &'static Builtin),
    /// A function of the user's with the object it was taken from.
    Bound(Rc<Value>, Rc<Value>),
    /// Something of Python's that compile-time code may call: a `@constexpr_function`, the class of a named tuple
    /// or of aggregates.
    Python(Rc<Plain>),
    /// A module or namespace, by its canonical dotted name: `tl`, `tl.math`, `triton`, `math`.
    Module(Rc<str>),
    /// A block pointer from `tl.make_block_ptr`.
    BlockPointer(Rc<BlockPointer>),
    /// A tensor descriptor from `tl.make_tensor_descriptor` or the host.
    Descriptor(Rc<Descriptor>),
    /// An instance of a `@triton.aggregate` class.
    Aggregate(Rc<Aggregate>),
    /// `range(...)`, `tl.range(...)`, `tl.static_range(...)`, to be iterated.
    Range(Rc<RangeValue>),
}

/// A block of a strided tensor, which can be moved.
#[derive(Clone, Debug)]
pub struct BlockPointer {
    /// The first element: a scalar pointer.
    pub base: ValueId,
    /// Extents of the tensor: `i64` scalars, as strides and offsets are.
    pub shape: Box<[ValueId]>,
    /// Strides in elements.
    pub strides: Box<[ValueId]>,
    /// The start of the block, in elements.
    pub offsets: Box<[ValueId]>,
    /// Extents of the block.
    pub block_shape: Shape,
}

/// A strided tensor that blocks are loaded from and stored to.
#[derive(Clone, Debug)]
pub struct Descriptor {
    /// The first element: a scalar pointer.
    pub base: ValueId,
    /// Extents of the tensor: `i32` scalars.
    pub shape: Box<[ValueId]>,
    /// Strides in elements: `i64` scalars.
    pub strides: Box<[ValueId]>,
    /// Extents of a block.
    pub block_shape: Shape,
    /// Whether loaded lanes outside hold NaN instead of zero.
    pub nan: bool,
    /// Whether loads round to tf32.
    pub round: bool,
}

/// An instance of an aggregate.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// Its class.
    pub class: Rc<AggregateClass>,
    /// The values of its fields, in their order.
    pub items: Rc<[Value]>,
}

impl Aggregate {
    /// Returns the value of a field.
    pub fn find_field(&self, name: &str) -> Option<&Value> {
        let place = self.class.fields.iter().position(|(field, _)| &**field == name)?;
        self.items.get(place)
    }
}

/// A range to loop over.
#[derive(Clone, Debug)]
pub struct RangeValue {
    /// Whether the loop is unrolled.
    pub is_static: bool,
    /// Whether it is Python's, not Triton's: no value that a variable may hold.
    pub is_python: bool,
    /// First value.
    pub start: Value,
    /// Limit, not reached.
    pub stop: Value,
    /// Step.
    pub step: Value,
}

impl Value {
    /// Python's `None`.
    pub const NONE: Self = Self::Constant(Constant::None);

    /// A Python int.
    pub fn from_int(value: impl Into<i128>) -> Self {
        Self::Constant(Constant::Int(value.into()))
    }

    /// A Python bool.
    pub const fn from_bool(value: bool) -> Self {
        Self::Constant(Constant::Bool(value))
    }

    /// A Python string.
    pub fn from_text(value: &str) -> Self {
        Self::Constant(Constant::Str(value.into()))
    }

    /// A tuple without field names.
    pub fn new_tuple(items: impl IntoIterator<Item = Self>) -> Self {
        Self::Tuple {
            items: items.into_iter().collect(),
            names: Rc::new([]),
        }
    }

    /// A named tuple, with as many items as fields.
    pub fn new_named_tuple(fields: &[String], items: impl IntoIterator<Item = Self>) -> Self {
        Self::Tuple {
            items: items.into_iter().collect(),
            names: fields.iter().map(|name| name.as_str().into()).collect(),
        }
    }

    /// Whether it is Python's `None`.
    pub const fn is_none(&self) -> bool {
        matches!(self, Self::Constant(Constant::None))
    }
}
