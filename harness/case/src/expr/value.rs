//! What an expression evaluates to. Left out: how (see [`super::Expression`]).

use std::fmt;

use cerith_memory::{StorageId, Tensor};
use cerith_tile::DType;

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
    /// What it is, as messages call it: Python's name of the type.
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
    pub(super) fn described(&self) -> String {
        if *self == Self::None {
            "None".to_owned()
        } else {
            format!("{} `{}`", self.kind(), self.shown())
        }
    }

    /// The value as text that is short enough for a message.
    pub(super) fn shown(&self) -> String {
        let text = self.to_string();
        match text.char_indices().nth(40) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }

    /// How many values it is made of, itself included; long strings count by length.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Str(text) => 1 + text.len() / 16,
            Self::Tuple(items) | Self::List(items) => 1 + items.iter().map(Self::weight).sum::<usize>(),
            _ => 1,
        }
    }
}

/// As Python's `repr`, tensors by dtype and shape.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Bool(true) => f.write_str("True"),
            Self::Bool(false) => f.write_str("False"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) if value.is_nan() => f.write_str("nan"),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Str(text) => write!(f, "'{}'", text.escape_debug()),
            Self::DType(dtype) => write!(f, "{dtype}"),
            Self::Tensor(tensor) => write!(f, "tensor({}, {:?})", tensor.dtype, &tensor.shape[..]),
            Self::Address(address) => {
                write!(f, "address(storage {} + {})", address.storage.0, address.offset)
            }
            Self::Tuple(items) => {
                f.write_str("(")?;
                write_items(f, items)?;
                f.write_str(if items.len() == 1 { ",)" } else { ")" })
            }
            Self::List(items) => {
                f.write_str("[")?;
                write_items(f, items)?;
                f.write_str("]")
            }
        }
    }
}

fn write_items(f: &mut fmt::Formatter<'_>, items: &[Value]) -> fmt::Result {
    for (nth, item) in items.iter().enumerate() {
        if nth > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{item}")?;
    }
    Ok(())
}
