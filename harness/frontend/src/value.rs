//! What an expression of a kernel evaluates to while it is traced.

use std::rc::Rc;

use conch_tile::DType;
use conch_tile::ir::{Elem, Shape, ValueId};

use crate::builtin::Builtin;
use crate::tracer::{PythonCallable, UserFunction};

/// A value that is known while tracing: what Triton calls a `constexpr`, or a bare Python object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Constant {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// A Python int; beyond 128 bits is unsupported.
    Int(i128),
    /// A Python float.
    Float(f64),
    /// A string.
    Str(Rc<str>),
    /// `...`.
    Ellipsis,
    /// A type: `tl.float32`, `tl.pointer_type(tl.float32)`, `x.dtype`, `x.type`.
    Type(TypeValue),
}

/// A Triton type as a Python value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TypeValue {
    /// `tl.float32`.
    Elem(Elem),
    /// `tl.block_type(elem, shape)`.
    Block(Elem, Shape),
    /// `tl.void`, `tl.constexpr` and other types that are only named, in annotations say.
    Named(&'static str),
}

impl From<DType> for Constant {
    fn from(dtype: DType) -> Self {
        Self::Type(TypeValue::Elem(Elem::Num(dtype)))
    }
}

/// What an expression evaluates to.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A `tl.tensor`: a scalar or block in IR. Its type is the builder's.
    Tensor(ValueId),
    /// Known now.
    Constant(Constant),
    /// A tuple. `names` are the fields of a named tuple, empty otherwise.
    Tuple {
        items: Rc<[Value]>,
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
    /// Something of Python's that compile-time code may call: a `@constexpr_function`, the class of a named tuple.
    Python(Rc<PythonCallable>),
    /// A module or namespace, by its canonical dotted name: `tl`, `tl.math`, `triton`, `math`.
    Module(Rc<str>),
    /// `range(...)`, `tl.range(...)`, `tl.static_range(...)`, to be iterated.
    Range(Rc<RangeValue>),
}

/// A range to loop over.
#[derive(Clone, Debug)]
pub(crate) struct RangeValue {
    /// Whether the loop is unrolled.
    pub is_static: bool,
    /// First value.
    pub start: Value,
    /// Limit, not reached.
    pub stop: Value,
    /// Step.
    pub step: Value,
}

impl Value {
    pub(crate) const NONE: Self = Self::Constant(Constant::None);

    pub(crate) fn int(value: impl Into<i128>) -> Self {
        Self::Constant(Constant::Int(value.into()))
    }

    pub(crate) const fn bool(value: bool) -> Self {
        Self::Constant(Constant::Bool(value))
    }

    pub(crate) fn str(value: &str) -> Self {
        Self::Constant(Constant::Str(value.into()))
    }

    pub(crate) fn tuple(items: impl IntoIterator<Item = Self>) -> Self {
        Self::Tuple {
            items: items.into_iter().collect(),
            names: Rc::new([]),
        }
    }

    pub(crate) const fn is_none(&self) -> bool {
        matches!(self, Self::Constant(Constant::None))
    }
}
