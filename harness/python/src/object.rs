//! The interface of values that operators and builtins need.
//!
//! Crates that embed Python have values that are not Python's: tensors, dtypes, compile-time constants, unknown values.
//! Each crate implements [`Object`] for its own type. [`View`] exposes Python's values, and the type itself handles
//! [`View::Other`].

use std::cmp::Ordering;

use ruff_python_ast::Operator;

use crate::error::{Error, Reason};
use crate::int::Int;

/// A value as Python sees it.
#[derive(Clone, Debug)]
pub enum View<'a, V> {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An `int`.
    Int(Int),
    /// A `float`.
    Float(f64),
    /// A `str`.
    Str(&'a str),
    /// A `tuple`, a named one included.
    Tuple(&'a [V]),
    /// A `list`.
    List(&'a [V]),
    /// A `dict`, in order of insertion.
    Dict(&'a [(V, V)]),
    /// A value that is not Python's.
    Other,
}

/// A value without other values inside.
#[derive(Clone, Debug, PartialEq)]
pub enum Plain {
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
}

/// The type of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// A `tuple`.
    Tuple,
    /// A `list`.
    List,
}

/// The name of the type of `None`.
pub const NONE_TYPE: &str = "NoneType";

/// A type of values that Python's operators and builtins work on.
pub trait Object: Clone {
    /// Maximum length of a created sequence, nested items included.
    const MAX_ITEMS: usize = 1 << 16;

    /// Maximum length of a created text, in bytes.
    const MAX_TEXT: usize = 1 << 16;

    /// The value as Python sees it.
    fn view(&self) -> View<'_, Self>;

    /// Creates a value without other values inside, or an error if it is unsupported.
    fn from_plain(value: Plain) -> Result<Self, Error>;

    /// Creates a tuple or list, or an error if it is unsupported.
    fn from_items(kind: Sequence, items: Vec<Self>) -> Result<Self, Error>;

    /// The type name of a [`View::Other`] in Python.
    fn other_type(&self) -> &'static str {
        "object"
    }

    /// `bool(self)` of a [`View::Other`].
    fn other_truth(&self) -> Result<bool, Error> {
        Ok(true)
    }

    /// `repr(self)` of a [`View::Other`].
    fn other_repr(&self) -> String {
        format!("<{}>", self.other_type())
    }

    /// `self == other` if one is a [`View::Other`].
    fn other_equal(&self, _other: &Self) -> Result<bool, Error> {
        Ok(false)
    }

    /// The order of two values if one is a [`View::Other`]; `None` if they are unordered.
    fn other_order(&self, _other: &Self) -> Option<Result<Option<Ordering>, Error>> {
        None
    }

    /// `self op other` if one is a [`View::Other`]; `None` if it is undefined.
    fn other_binary(_op: Operator, _left: &Self, _right: &Self) -> Option<Result<Self, Error>> {
        None
    }

    /// The items of a [`View::Other`]; `None` if it can't be iterated over.
    fn other_items(&self) -> Option<Result<Vec<Self>, Error>> {
        None
    }

    /// `len(self)` of a [`View::Other`]; `None` if it has none.
    fn other_length(&self) -> Option<Result<Int, Error>> {
        None
    }

    /// `a is b`; `None` if the values may be the same object or two equal ones.
    fn is_same(&self, other: &Self) -> Option<bool> {
        match (self.view(), other.view()) {
            (View::None, View::None) => Some(true),
            (View::Bool(a), View::Bool(b)) => Some(a == b),
            (View::None | View::Bool(_), _) | (_, View::None | View::Bool(_)) => Some(false),
            _ => None,
        }
    }

    /// The number of values in it, itself included; a long text counts by its length.
    fn weight(&self) -> usize {
        match self.view() {
            View::Str(text) => 1 + text.len() / 16,
            View::Tuple(items) | View::List(items) => 1 + items.iter().map(Self::weight).sum::<usize>(),
            View::Dict(items) => {
                1 + items
                    .iter()
                    .map(|(key, value)| key.weight() + value.weight())
                    .sum::<usize>()
            }
            _ => 1,
        }
    }

    /// The name of its type in Python.
    fn type_name(&self) -> &str {
        match self.view() {
            View::None => NONE_TYPE,
            View::Bool(_) => "bool",
            View::Int(_) => "int",
            View::Float(_) => "float",
            View::Str(_) => "str",
            View::Tuple(_) => "tuple",
            View::List(_) => "list",
            View::Dict(_) => "dict",
            View::Other => self.other_type(),
        }
    }

    /// The value of an integer or a `bool`.
    fn as_int(&self) -> Option<Int> {
        match self.view() {
            View::Bool(value) => Some(value.into()),
            View::Int(value) => Some(value),
            _ => None,
        }
    }

    /// The items of an iterable.
    fn items(&self) -> Result<Vec<Self>, Error> {
        match self.view() {
            View::Tuple(items) | View::List(items) => return Ok(items.to_vec()),
            View::Dict(items) => return Ok(items.iter().map(|(key, _)| key.clone()).collect()),
            View::Str(text) => {
                return text
                    .chars()
                    .map(|char| Self::from_plain(Plain::Str(char.to_string())))
                    .collect();
            }
            View::Other => {
                if let Some(items) = self.other_items() {
                    return items;
                }
            }
            _ => {}
        }
        Err(Error::of_type(
            Reason::Iteration,
            format!("'{}' object is not iterable", self.type_name()),
        ))
    }
}
