//! Plain values as operands of Python's operators ([`cerith_python::operator`]).

use std::cmp::Ordering;
use std::rc::Rc;

use cerith_python::{Error, Int, Object, Sequence, View};
use ruff_python_ast as ast;

use super::plain::{Native, Plain};
use crate::constant::Constant;

/// Items that a sequence may have.
pub const MAX_RANGE: usize = 1 << 14;

/// The number of items of a sequence; 0 for any other value.
pub fn count_items(value: &Plain) -> usize {
    value.items().map_or(0, <[Plain]>::len)
}

impl Plain {
    /// Whether its type is known, even if its contents are not.
    pub const fn is_known(&self) -> bool {
        !matches!(
            self,
            Self::Unknown(_) | Self::Symbol(..) | Self::Traced(_) | Self::Tensor(_)
        )
    }

    /// Whether it is an object, whatever it holds: never `None`.
    pub fn is_object(&self) -> bool {
        match self {
            Self::Tensor(_) | Self::Jit(_) | Self::Function(_) | Self::Constexpr(_) | Self::Config(_) => true,
            Self::Symbol(module, name) => Native::find(module, name).is_some(),
            Self::Unknown(unknown) => unknown.is_object,
            _ => false,
        }
    }

    fn unknown_beside(&self, other: &Self) -> Option<Error> {
        (!self.is_known() || !other.is_known()).then(new_unknown_error)
    }
}

/// The error of a computation on unknown values.
pub fn new_unknown_error() -> Error {
    Error::unknown("this computation")
}

impl Object for Plain {
    const MAX_ITEMS: usize = MAX_RANGE;

    fn view(&self) -> View<'_, Self> {
        match self {
            Self::Tuple(items) | Self::Named(_, items) => View::Tuple(items),
            Self::List(items) => View::List(items),
            Self::Dict(items) => View::Dict(items),
            _ => match self.constant() {
                Some(Constant::None) => View::None,
                Some(Constant::Bool(value)) => View::Bool(*value),
                Some(Constant::Int(value)) => View::Int((*value).into()),
                Some(Constant::Float(value)) => View::Float(*value),
                Some(Constant::Str(text)) => View::Str(text),
                Some(Constant::Ellipsis | Constant::Type(_)) | None => View::Other,
            },
        }
    }

    fn from_plain(value: cerith_python::Plain) -> Result<Self, Error> {
        Constant::from_plain(value).map(Self::Constant)
    }

    fn from_items(kind: Sequence, items: Vec<Self>) -> Result<Self, Error> {
        Ok(match kind {
            Sequence::Tuple => Self::Tuple(items.into()),
            Sequence::List => Self::List(Rc::new(items)),
        })
    }

    fn other_type(&self) -> &'static str {
        self.constant().map_or("object", Object::other_type)
    }

    fn other_truth(&self) -> Result<bool, Error> {
        self.truth().ok_or_else(new_unknown_error)
    }

    fn other_equal(&self, other: &Self) -> Result<bool, Error> {
        match (self.constant(), other.constant()) {
            (Some(a), Some(b)) => a.other_equal(b),
            _ => Err(new_unknown_error()),
        }
    }

    fn other_order(&self, other: &Self) -> Option<Result<Option<Ordering>, Error>> {
        self.unknown_beside(other).map(Err)
    }

    fn other_binary(_: ast::Operator, left: &Self, right: &Self) -> Option<Result<Self, Error>> {
        left.unknown_beside(right).map(Err)
    }

    fn other_items(&self) -> Option<Result<Vec<Self>, Error>> {
        Some(Err(new_unknown_error()))
    }

    fn other_length(&self) -> Option<Result<Int, Error>> {
        Some(Err(new_unknown_error()))
    }

    fn is_same(&self, other: &Self) -> Option<bool> {
        self.constant()?.is_same(other.constant()?)
    }

    /// The content of items is shared, and was counted when it was created.
    fn weight(&self) -> usize {
        1 + count_items(self)
    }
}
