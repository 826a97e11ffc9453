//! Python's own values.

use crate::error::Error;
use crate::int::Int;
use crate::object::{Object, Plain, Sequence, View};

/// A value of Python.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An `int`.
    Int(Int),
    /// A `float`.
    Float(f64),
    /// A `str`.
    Str(String),
    /// A `tuple`.
    Tuple(Vec<Self>),
    /// A `list`.
    List(Vec<Self>),
    /// A `dict`, in order of insertion.
    Dict(Vec<(Self, Self)>),
}

impl Object for Value {
    fn view(&self) -> View<'_, Self> {
        match self {
            Self::None => View::None,
            Self::Bool(value) => View::Bool(*value),
            Self::Int(value) => View::Int(value.clone()),
            Self::Float(value) => View::Float(*value),
            Self::Str(text) => View::Str(text),
            Self::Tuple(items) => View::Tuple(items),
            Self::List(items) => View::List(items),
            Self::Dict(items) => View::Dict(items),
        }
    }

    fn from_plain(value: Plain) -> Result<Self, Error> {
        Ok(match value {
            Plain::None => Self::None,
            Plain::Bool(value) => Self::Bool(value),
            Plain::Int(value) => Self::Int(value),
            Plain::Float(value) => Self::Float(value),
            Plain::Str(text) => Self::Str(text),
        })
    }

    fn from_items(kind: Sequence, items: Vec<Self>) -> Result<Self, Error> {
        Ok(match kind {
            Sequence::Tuple => Self::Tuple(items),
            Sequence::List => Self::List(items),
        })
    }
}
