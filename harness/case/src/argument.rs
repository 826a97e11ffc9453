//! Kernel arguments. See the crate's documentation for how a case file writes them.

use cerith_memory::Tensor;
use cerith_tile::DType;
use cerith_tile::source::Span;

use crate::descriptor::Descriptor;
use cerith_expression::Address;

/// A value with its place in the case file.
#[derive(Clone, Debug, PartialEq)]
pub struct Arg {
    /// The argument's value.
    pub value: ArgValue,
    /// Its location.
    pub span: Span,
}

/// A value that can be passed to a kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgValue {
    /// `None`.
    None,
    /// A Python bool.
    Bool(bool),
    /// A Python int of any size that fits 128 bits.
    Int(i128),
    /// A Python float.
    Float(f64),
    /// A Python string.
    Str(String),
    /// `tl.float32` and the like.
    DType(DType),
    /// A tensor, with the expression that made it.
    Tensor {
        /// The expression, often just the tensor's name.
        name: String,
        /// The view.
        tensor: Tensor,
    },
    /// The address of a byte of a storage, as an int. Every engine has its own.
    Address {
        /// The expression: `x.data_ptr() + 8`.
        name: String,
        /// The byte at the address.
        address: Address,
    },
    /// A tensor descriptor that Python makes before the launch.
    Descriptor(Box<Descriptor>),
    /// A tuple (a list counts as one).
    Tuple(Vec<ArgValue>),
    /// A named tuple.
    NamedTuple {
        /// The names of its fields.
        fields: Vec<String>,
        /// As many items.
        items: Vec<ArgValue>,
    },
    /// A value that is known at compile time wherever it is passed: `tl.constexpr(value)`.
    Constexpr(Box<ArgValue>),
    /// Something that the kernel's module defines, by its dotted name: a function.
    Global(String),
}

impl ArgValue {
    /// The integer that it is, known at compile time or not.
    pub fn as_integer(&self) -> Option<i128> {
        match self {
            Self::Int(value) => Some(*value),
            Self::Constexpr(inner) => inner.as_integer(),
            _ => None,
        }
    }

    /// Whether it is an address, or has one inside of it.
    pub fn holds_address(&self) -> bool {
        match self {
            Self::Address { .. } => true,
            Self::Constexpr(inner) => inner.holds_address(),
            Self::Tuple(items) | Self::NamedTuple { items, .. } => items.iter().any(Self::holds_address),
            _ => false,
        }
    }
}
