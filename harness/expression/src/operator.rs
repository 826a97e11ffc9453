//! Python's operators for values that Python does not have (dtypes, tensors, addresses), and the conversion of
//! Python's errors to errors of an expression. See [`cerith_python::operator`] for the operators themselves.

use std::cmp::Ordering;
use std::ops::Range;

use cerith_python::{Error, ErrorKind, Int, Object, Plain, Reason, Sequence, View};
use ruff_python_ast::{CmpOp, Operator, UnaryOp};

use crate::arguments::dtype_of;
use crate::error::ExprError;
use crate::value::{Address, Value};

impl Object for Value {
    fn view(&self) -> View<'_, Self> {
        match self {
            Self::None => View::None,
            Self::Bool(value) => View::Bool(*value),
            Self::Int(value) => View::Int((*value).into()),
            Self::Float(value) => View::Float(*value),
            Self::Str(text) => View::Str(text),
            Self::Tuple(items) => View::Tuple(items),
            Self::List(items) => View::List(items),
            Self::DType(_) | Self::Tensor(_) | Self::Address(_) => View::Other,
        }
    }

    fn from_plain(value: Plain) -> Result<Self, Error> {
        Ok(match value {
            Plain::None => Self::None,
            Plain::Bool(value) => Self::Bool(value),
            Plain::Int(value) => Self::Int(value.to_i128().ok_or_else(|| Error::wide_int(128))?),
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

    fn other_type(&self) -> &'static str {
        self.kind()
    }

    fn other_truth(&self) -> Result<bool, Error> {
        match self {
            Self::Tensor(_) => Err(Error::of_type(
                Reason::Other,
                "a tensor's elements cannot decide in an expression",
            )),
            _ => Ok(true),
        }
    }

    fn other_repr(&self) -> String {
        match self {
            Self::DType(dtype) => dtype.to_string(),
            Self::Tensor(tensor) => format!("tensor({}, {:?})", tensor.dtype, &tensor.shape[..]),
            Self::Address(address) => {
                format!("address(storage {} + {})", address.storage.0, address.offset)
            }
            _ => String::new(),
        }
    }

    /// A dtype also equals its names, since matrix variables are written as text.
    fn other_equal(&self, other: &Self) -> Result<bool, Error> {
        Ok(match (self, other) {
            (Self::DType(dtype), Self::Str(name)) => dtype_of(name) == Some(*dtype),
            _ => self == other,
        })
    }

    fn other_order(&self, other: &Self) -> Option<Result<Option<Ordering>, Error>> {
        match (self, other) {
            (Self::Address(a), Self::Address(b)) if a.storage == b.storage => {
                Some(Ok(Some(a.offset.cmp(&b.offset))))
            }
            _ => None,
        }
    }

    fn other_binary(op: Operator, left: &Self, right: &Self) -> Option<Result<Self, Error>> {
        Some(match (op, left, right) {
            (Operator::Add, Self::Address(address), Self::Int(by))
            | (Operator::Add, Self::Int(by), Self::Address(address)) => move_address(*address, Some(*by)),
            (Operator::Sub, Self::Address(address), Self::Int(by)) => {
                move_address(*address, by.checked_neg())
            }
            (Operator::Sub, Self::Address(a), Self::Address(b)) if a.storage == b.storage => {
                Ok(Self::Int(i128::from(a.offset) - i128::from(b.offset)))
            }
            // Storages have the same alignment in every engine, and nothing else about their addresses is fixed.
            (Operator::Mod, Self::Address(address), Self::Int(by))
                if *by > 0 && cerith_memory::ALIGNMENT as i128 % by == 0 =>
            {
                Ok(Self::Int(i128::from(address.offset).rem_euclid(*by)))
            }
            (_, Self::Address(_), _) | (_, _, Self::Address(_)) => Err(Error::of_type(
                Reason::Other,
                format!(
                    "`{}` of an address depends on where an engine puts it",
                    op.as_str()
                ),
            )
            .help(format!(
                "integers can be added and subtracted, and a remainder taken by a divisor of {}",
                cerith_memory::ALIGNMENT
            ))),
            (_, Self::Tensor(_), _) | (_, _, Self::Tensor(_)) => Err(Error::of_type(
                Reason::Other,
                "tensors are laid out in an expression, not computed with",
            )
            .help("compute in the kernel, or fill the storage with the values")),
            _ => return None,
        })
    }

    fn other_items(&self) -> Option<Result<Vec<Self>, Error>> {
        match self {
            Self::Tensor(tensor) => Some(
                tensor
                    .unbind(0)
                    .map(|rows| rows.into_iter().map(Self::Tensor).collect())
                    .map_err(|error| Error::of_type(Reason::Other, error.to_string())),
            ),
            _ => None,
        }
    }

    fn other_length(&self) -> Option<Result<Int, Error>> {
        match self {
            Self::Tensor(tensor) => Some(match tensor.shape.first() {
                Some(&rows) => Ok(i128::from(rows).into()),
                None => Err(Error::of_type(Reason::Other, "len() of a 0-d tensor")),
            }),
            _ => None,
        }
    }

    fn is_same(&self, other: &Self) -> Option<bool> {
        Some(self == other)
    }
}

fn move_address(address: Address, by: Option<i128>) -> Result<Value, Error> {
    by.and_then(|by| i64::try_from(i128::from(address.offset).saturating_add(by)).ok())
        .map(|offset| Value::Address(Address { offset, ..address }))
        .ok_or_else(|| Error::overflow("the address leaves the address space"))
}

/// Converts an error of Python's to an error of the case file's expression.
pub(crate) fn convert_error(error: Error, range: &Range<usize>) -> ExprError {
    let message = match (error.kind, error.reason) {
        (ErrorKind::Limit, Reason::WideInt) => "the integer does not fit 128 bits".to_owned(),
        (
            ErrorKind::Limit,
            Reason::Items {
                count, limit: most, ..
            },
        ) => {
            format!("a result of {count} items is more than {most}")
        }
        (ErrorKind::ZeroDivision, _) => "division by zero".to_owned(),
        _ => error.text,
    };
    ExprError::new(range.clone(), message).help(error.help)
}

/// An error about one value. The message shows the value if that helps.
pub(crate) fn convert_value_error(error: Error, value: &Value, range: &Range<usize>) -> ExprError {
    let described = value.describe();
    let message = match error.reason {
        Reason::Iteration => format!("cannot iterate over {described}"),
        Reason::Length => format!("{described} has no length"),
        _ => return convert_error(error, range),
    };
    ExprError::new(range.clone(), message)
}

pub(crate) fn apply_unary(op: UnaryOp, operand: &Value, range: &Range<usize>) -> Result<Value, ExprError> {
    cerith_python::operator::apply_unary(op, operand).map_err(|error| match error.reason {
        Reason::Operands => ExprError::new(
            range.clone(),
            format!("`{}` has no meaning for {}", op.as_str(), operand.describe()),
        ),
        _ => convert_error(error, range),
    })
}

pub(crate) fn apply_binary(
    op: Operator,
    left: &Value,
    right: &Value,
    range: &Range<usize>,
) -> Result<Value, ExprError> {
    cerith_python::operator::apply_binary(op, left, right).map_err(|error| {
        let message = match (error.kind, error.reason) {
            (_, Reason::Operands) => format!(
                "`{}` has no meaning for {} and {}",
                op.as_str(),
                left.describe(),
                right.describe()
            ),
            (_, Reason::Complex) => "a negative number to a fractional power is complex".to_owned(),
            (ErrorKind::Overflow, _) if op == Operator::Pow => {
                "the result of `**` is too large for a float".to_owned()
            }
            _ => return convert_error(error, range),
        };
        ExprError::new(range.clone(), message)
    })
}

pub(crate) fn compare(
    op: CmpOp,
    left: &Value,
    right: &Value,
    range: &Range<usize>,
) -> Result<bool, ExprError> {
    cerith_python::operator::compare(op, left, right).map_err(|error| {
        let message = match error.reason {
            Reason::Order => format!("{} and {} have no order", left.describe(), right.describe()),
            Reason::Containment if matches!(right, Value::Str(_)) => "only a str can be in a str".to_owned(),
            Reason::Containment => format!("nothing is in {}", right.describe()),
            _ => return convert_error(error, range),
        };
        ExprError::new(range.clone(), message)
    })
}
