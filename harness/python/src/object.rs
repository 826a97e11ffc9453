//! What a value must tell of itself so that operators and builtins work on it.
//!
//! The project's users of Python have values that are not Python's: tensors, dtypes, compile-time constants, what is not known.
//! Each keeps a type of its own and implements [`Object`]; what [`View`] shows of a value is Python's, and
//! [`View::Other`] is left to the type itself.

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

/// A value that is made of no others.
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

/// Which sequence is made of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// A `tuple`.
    Tuple,
    /// A `list`.
    List,
}

/// A type of values that Python's operators and builtins work on.
pub trait Object: Clone {
    /// The longest sequence that is made; items count with all that they hold.
    const MAX_ITEMS: usize = 1 << 16;

    /// The longest text that is made, in bytes.
    const MAX_TEXT: usize = 1 << 16;

    /// The value as Python sees it.
    fn view(&self) -> View<'_, Self>;

    /// A value that is made of no others; an error where it is not held.
    fn from_plain(value: Plain) -> Result<Self, Error>;

    /// A tuple or list; an error where it is not held.
    fn from_items(kind: Sequence, items: Vec<Self>) -> Result<Self, Error>;

    /// What Python calls the type of a [`View::Other`].
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

    /// `self == other` where one is a [`View::Other`].
    fn other_equal(&self, _other: &Self) -> Result<bool, Error> {
        Ok(false)
    }

    /// The order of two values one of which is a [`View::Other`]; `None` where it has none.
    fn other_order(&self, _other: &Self) -> Option<Result<Option<Ordering>, Error>> {
        None
    }

    /// `self op other` where one is a [`View::Other`]; `None` where that has no meaning.
    fn other_binary(_op: Operator, _left: &Self, _right: &Self) -> Option<Result<Self, Error>> {
        None
    }

    /// The items of a [`View::Other`]; `None` where it has none.
    fn other_items(&self) -> Option<Result<Vec<Self>, Error>> {
        None
    }

    /// `len(self)` of a [`View::Other`]; `None` where it has none.
    fn other_length(&self) -> Option<Result<Int, Error>> {
        None
    }

    /// `a is b`; `None` where two values of this kind may be one object or two.
    fn is_same(&self, other: &Self) -> Option<bool> {
        match (self.view(), other.view()) {
            (View::None, View::None) => Some(true),
            (View::Bool(a), View::Bool(b)) => Some(a == b),
            (View::None | View::Bool(_), _) | (_, View::None | View::Bool(_)) => Some(false),
            _ => None,
        }
    }

    /// How many values it is made of, itself included; long texts count by length.
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

    /// What Python calls its type.
    fn type_name(&self) -> &str {
        match self.view() {
            View::None => "NoneType",
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

    /// The integer that it is, `bool` as the integer that that is.
    fn as_int(&self) -> Option<Int> {
        match self.view() {
            View::Bool(value) => Some(value.into()),
            View::Int(value) => Some(value),
            _ => None,
        }
    }

    /// The items of what can be iterated over.
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
