//! Values of expressions. See [`super::Expression`] for the evaluation.

use std::fmt;

use cerith_memory::{StorageId, Tensor};
use cerith_python::repr::repr_of;
use cerith_tile::DType;
use indexmap::IndexMap;

/// The names that an expression can use: tensors by name (a storage's name is the tensor over all of it) and matrix
/// variables. A name of [`is_reserved`](super::is_reserved) is never looked up here.
pub type Names = IndexMap<String, Value>;

/// A Python value of the expression language.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `None`.
    None,
    /// `True` and `False`.
    Bool(bool),
    /// An `int`. Python's are unbounded; what leaves 128 bits is an error, never a wrapped value.
    Int(i128),
    /// A `float`.
    Float(f64),
    /// A `str`.
    Str(String),
    /// `torch.float32`, or a dtype's short name.
    DType(DType),
    /// A tensor of the case.
    Tensor(Tensor),
    /// `x.data_ptr()`, moved by integers. A value of its own because every engine has other addresses.
    Address(Address),
    /// A `tuple`.
    Tuple(Vec<Self>),
    /// A `list`.
    List(Vec<Self>),
}

/// The address of a byte of a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// The storage.
    pub storage: StorageId,
    /// The byte; may be outside.
    pub offset: i64,
}

impl Value {
    /// Its type in messages: Python's name of the type.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Str(_) => "str",
            Self::DType(_) => "dtype",
            Self::Tensor(_) => "tensor",
            Self::Address(_) => "address",
            Self::Tuple(_) => "tuple",
            Self::List(_) => "list",
        }
    }

    /// The value in a message: its kind, and itself where that is short.
    pub(crate) fn describe(&self) -> String {
        if *self == Self::None {
            "None".to_owned()
        } else {
            format!("{} `{}`", self.kind(), self.to_short_text())
        }
    }

    /// The value as text that is short enough for a message.
    pub(crate) fn to_short_text(&self) -> String {
        let text = self.to_string();
        match text.char_indices().nth(40) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }
}

/// As Python's `repr`, tensors by dtype and shape.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&repr_of(self))
    }
}
