//! Python's operators on numbers, strings, sequences and addresses.

use std::cmp::Ordering;
use std::ops::Range;

use ruff_python_ast::{CmpOp, Operator, UnaryOp};

use super::arguments::dtype_of;
use super::{Address, ExprError, Value};

/// The longest list or string that an operator makes.
const MAX_ITEMS: usize = 1 << 16;

pub(super) fn too_wide(range: &Range<usize>) -> ExprError {
    ExprError::new(range.clone(), "the integer does not fit 128 bits")
}

/// `bool(value)`.
pub(super) fn truth(value: &Value, range: &Range<usize>) -> Result<bool, ExprError> {
    Ok(match value {
        Value::None => false,
        Value::Bool(bool) => *bool,
        Value::Int(int) => *int != 0,
        Value::Float(float) => *float != 0.0,
        Value::Str(text) => !text.is_empty(),
        Value::Tuple(items) | Value::List(items) => !items.is_empty(),
        Value::DType(_) | Value::Address(_) => true,
        Value::Tensor(_) => {
            return Err(ExprError::new(
                range.clone(),
                "a tensor's elements cannot decide in an expression",
            ));
        }
    })
}

/// A number of Python's tower, `bool` as the integer that it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar {
    Int(i128),
    Float(f64),
}

impl Scalar {
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(bool) => Some(Self::Int(i128::from(*bool))),
            Value::Int(int) => Some(Self::Int(*int)),
            Value::Float(float) => Some(Self::Float(*float)),
            _ => None,
        }
    }

    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }

    /// Exact, as Python compares: no integer is rounded first.
    pub fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(&b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b),
            (Self::Float(_), Self::Int(_)) => other.compare(self).map(Ordering::reverse),
            (Self::Int(int), Self::Float(float)) => {
                if float.is_nan() {
                    None
                } else if float >= i128::MAX as f64 {
                    Some(Ordering::Less)
                } else if float < i128::MIN as f64 {
                    Some(Ordering::Greater)
                } else {
                    let whole = float.trunc();
                    Some(
                        int.cmp(&(whole as i128))
                            .then_with(|| 0.0f64.partial_cmp(&(float - whole)).unwrap_or(Ordering::Equal)),
                    )
                }
            }
        }
    }
}

pub(super) fn unary(op: UnaryOp, operand: &Value, range: &Range<usize>) -> Result<Value, ExprError> {
    let wrong = || {
        ExprError::new(
            range.clone(),
            format!("`{}` has no meaning for {}", op.as_str(), operand.described()),
        )
    };
    match (op, Scalar::of(operand).ok_or_else(wrong)?) {
        (UnaryOp::USub, Scalar::Int(int)) => int.checked_neg().map(Value::Int).ok_or_else(|| too_wide(range)),
        (UnaryOp::USub, Scalar::Float(float)) => Ok(Value::Float(-float)),
        (UnaryOp::UAdd, Scalar::Int(int)) => Ok(Value::Int(int)),
        (UnaryOp::UAdd, Scalar::Float(float)) => Ok(Value::Float(float)),
        (UnaryOp::Invert, Scalar::Int(int)) => Ok(Value::Int(!int)),
        (UnaryOp::Not, _) => truth(operand, range).map(|truth| Value::Bool(!truth)),
        (UnaryOp::Invert, Scalar::Float(_)) => Err(wrong()),
    }
}

pub(super) fn binary(
    op: Operator,
    left: &Value,
    right: &Value,
    range: &Range<usize>,
) -> Result<Value, ExprError> {
    if let (Some(a), Some(b)) = (Scalar::of(left), Scalar::of(right)) {
        if let (Value::Bool(a), Value::Bool(b)) = (left, right) {
            match op {
                Operator::BitAnd => return Ok(Value::Bool(a & b)),
                Operator::BitOr => return Ok(Value::Bool(a | b)),
                Operator::BitXor => return Ok(Value::Bool(a ^ b)),
                _ => {}
            }
        }
        return match (a, b) {
            (Scalar::Int(a), Scalar::Int(b)) => ints(op, a, b, range),
            _ => floats(op, a.as_f64(), b.as_f64(), range),
        };
    }
    match (op, left, right) {
        (Operator::Add, Value::Str(a), Value::Str(b)) => {
            limited(a.len() + b.len(), range).map(|()| Value::Str(a.clone() + b))
        }
        (Operator::Add, Value::List(a), Value::List(b)) => joined(a, b, range).map(Value::List),
        (Operator::Add, Value::Tuple(a), Value::Tuple(b)) => joined(a, b, range).map(Value::Tuple),
        (Operator::Mult, Value::List(items), Value::Int(times))
        | (Operator::Mult, Value::Int(times), Value::List(items)) => {
            repeated(items, *times, range).map(Value::List)
        }
        (Operator::Mult, Value::Tuple(items), Value::Int(times))
        | (Operator::Mult, Value::Int(times), Value::Tuple(items)) => {
            repeated(items, *times, range).map(Value::Tuple)
        }
        (Operator::Add, Value::Address(address), Value::Int(by))
        | (Operator::Add, Value::Int(by), Value::Address(address)) => moved(*address, *by, range),
        (Operator::Sub, Value::Address(address), Value::Int(by)) => {
            moved(*address, by.checked_neg().ok_or_else(|| too_wide(range))?, range)
        }
        (Operator::Sub, Value::Address(a), Value::Address(b)) if a.storage == b.storage => {
            Ok(Value::Int(i128::from(a.offset) - i128::from(b.offset)))
        }
        // Every engine aligns storages alike, and knows no more of an address than that.
        (Operator::Mod, Value::Address(address), Value::Int(by))
            if *by > 0 && cerith_memory::ALIGNMENT as i128 % by == 0 =>
        {
            Ok(Value::Int(i128::from(address.offset).rem_euclid(*by)))
        }
        (_, Value::Address(_), _) | (_, _, Value::Address(_)) => Err(ExprError::new(
            range.clone(),
            format!(
                "`{}` of an address depends on where an engine puts it",
                op.as_str()
            ),
        )
        .help(Some(format!(
            "integers can be added and subtracted, and a remainder taken by a divisor of {}",
            cerith_memory::ALIGNMENT
        )))),
        (_, Value::Tensor(_), _) | (_, _, Value::Tensor(_)) => Err(ExprError::new(
            range.clone(),
            "tensors are laid out in an expression, not computed with",
        )
        .help(Some(
            "compute in the kernel, or fill the storage with the values".to_owned(),
        ))),
        _ => Err(ExprError::new(
            range.clone(),
            format!(
                "`{}` has no meaning for {} and {}",
                op.as_str(),
                left.described(),
                right.described()
            ),
        )),
    }
}

fn limited(items: usize, range: &Range<usize>) -> Result<(), ExprError> {
    if items > MAX_ITEMS {
        return Err(ExprError::new(
            range.clone(),
            format!("a result of {items} items is more than {MAX_ITEMS}"),
        ));
    }
    Ok(())
}

fn joined(a: &[Value], b: &[Value], range: &Range<usize>) -> Result<Vec<Value>, ExprError> {
    limited(a.len() + b.len(), range)?;
    Ok([a, b].concat())
}

fn repeated(items: &[Value], times: i128, range: &Range<usize>) -> Result<Vec<Value>, ExprError> {
    let weight: usize = items.iter().map(Value::weight).sum();
    let times = usize::try_from(times.max(0)).unwrap_or(usize::MAX);
    limited(weight.saturating_mul(times), range)?;
    // Nothing repeated is nothing, however often.
    Ok(if items.is_empty() {
        Vec::new()
    } else {
        vec![items; times].concat()
    })
}

fn moved(address: Address, by: i128, range: &Range<usize>) -> Result<Value, ExprError> {
    i64::try_from(i128::from(address.offset).saturating_add(by))
        .map(|offset| Value::Address(Address { offset, ..address }))
        .map_err(|_| ExprError::new(range.clone(), "the address leaves the address space"))
}

/// `a // b` and `a % b`, rounding towards minus infinity as Python does.
pub(super) fn floor_div_mod(a: i128, b: i128) -> Option<(i128, i128)> {
    let (quotient, remainder) = (a.checked_div(b)?, a.checked_rem(b)?);
    Some(if remainder != 0 && (remainder < 0) != (b < 0) {
        (quotient - 1, remainder + b)
    } else {
        (quotient, remainder)
    })
}

fn ints(op: Operator, a: i128, b: i128, range: &Range<usize>) -> Result<Value, ExprError> {
    let by_zero = || ExprError::new(range.clone(), "division by zero");
    let shift = || {
        if b < 0 {
            return Err(ExprError::new(range.clone(), "negative shift count"));
        }
        Ok(u32::try_from(b).unwrap_or(u32::MAX))
    };
    let result = match op {
        Operator::Add => a.checked_add(b),
        Operator::Sub => a.checked_sub(b),
        Operator::Mult => a.checked_mul(b),
        Operator::Div | Operator::FloorDiv | Operator::Mod if b == 0 => return Err(by_zero()),
        Operator::Div => return Ok(Value::Float(true_div(a, b))),
        Operator::FloorDiv => floor_div_mod(a, b).map(|(quotient, _)| quotient),
        Operator::Mod => floor_div_mod(a, b).map(|(_, remainder)| remainder),
        Operator::Pow if b < 0 => return floats(op, a as f64, b as f64, range),
        Operator::Pow => match a {
            0 | 1 => Some(if b == 0 { 1 } else { a }),
            -1 => Some(if b % 2 == 0 { 1 } else { -1 }),
            _ => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
        },
        Operator::LShift => {
            let count = shift()?;
            if a == 0 {
                Some(0)
            } else {
                a.checked_shl(count).filter(|shifted| shifted >> count == a)
            }
        }
        Operator::RShift => Some(a >> shift()?.min(127)),
        Operator::BitAnd => Some(a & b),
        Operator::BitOr => Some(a | b),
        Operator::BitXor => Some(a ^ b),
        Operator::MatMult => {
            return Err(ExprError::new(range.clone(), "`@` has no meaning for numbers"));
        }
    };
    result.map(Value::Int).ok_or_else(|| too_wide(range))
}

/// The float nearest to `a / b`, as Python's division of integers gives it.
fn true_div(a: i128, b: i128) -> f64 {
    let (magnitude, divisor) = (a.unsigned_abs(), b.unsigned_abs());
    let (mut quotient, mut remainder) = (magnitude / divisor, magnitude % divisor);
    let mut exponent = 0;
    // Two bits more than a float holds decide how to round, and a last one that stands for all that follow.
    while quotient < 1 << 55 && remainder != 0 && exponent > -200 {
        remainder <<= 1;
        quotient = quotient << 1 | u128::from(remainder >= divisor);
        remainder -= if remainder >= divisor { divisor } else { 0 };
        exponent -= 1;
    }
    let rounded = (quotient | u128::from(remainder != 0)) as f64 * 2f64.powi(exponent);
    if (a < 0) == (b < 0) { rounded } else { -rounded }
}

fn floats(op: Operator, a: f64, b: f64, range: &Range<usize>) -> Result<Value, ExprError> {
    let by_zero = || ExprError::new(range.clone(), "division by zero");
    Ok(Value::Float(match op {
        Operator::Add => a + b,
        Operator::Sub => a - b,
        Operator::Mult => a * b,
        Operator::Div | Operator::FloorDiv | Operator::Mod if b == 0.0 => return Err(by_zero()),
        Operator::Div => a / b,
        Operator::Mod => float_div_mod(a, b).1,
        Operator::FloorDiv => float_div_mod(a, b).0,
        Operator::Pow if a == 0.0 && b < 0.0 => return Err(by_zero()),
        Operator::Pow if a < 0.0 && a.is_finite() && b.is_finite() && b.fract() != 0.0 => {
            return Err(ExprError::new(
                range.clone(),
                "a negative number to a fractional power is complex",
            ));
        }
        Operator::Pow => {
            let power = a.powf(b);
            if power.is_infinite() && a.is_finite() && b.is_finite() {
                return Err(ExprError::new(
                    range.clone(),
                    "the result of `**` is too large for a float",
                ));
            }
            power
        }
        _ => {
            return Err(ExprError::new(
                range.clone(),
                format!("`{}` has no meaning for floats", op.as_str()),
            ));
        }
    }))
}

/// Python's `divmod` of floats (`float_divmod` of `Objects/floatobject.c`): the remainder has the divisor's sign.
pub(super) fn float_div_mod(a: f64, b: f64) -> (f64, f64) {
    let mut remainder = a % b;
    let mut quotient = (a - remainder) / b;
    if remainder == 0.0 {
        remainder = 0.0f64.copysign(b);
    } else if (b < 0.0) != (remainder < 0.0) {
        remainder += b;
        quotient -= 1.0;
    }
    let floor = if quotient == 0.0 {
        0.0f64.copysign(a / b)
    } else {
        let floor = quotient.floor();
        if quotient - floor > 0.5 {
            floor + 1.0
        } else {
            floor
        }
    };
    (floor, remainder)
}

/// `left == right`. A dtype also equals its names, since matrix variables are written as text.
pub(super) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::DType(dtype), Value::Str(name)) | (Value::Str(name), Value::DType(dtype)) => {
            dtype_of(name) == Some(*dtype)
        }
        _ => match (Scalar::of(left), Scalar::of(right)) {
            (Some(a), Some(b)) => a.compare(b) == Some(Ordering::Equal),
            _ => left == right,
        },
    }
}

/// How two values are ordered; `None` for NaN.
pub(super) fn order(
    left: &Value,
    right: &Value,
    range: &Range<usize>,
) -> Result<Option<Ordering>, ExprError> {
    if let (Some(a), Some(b)) = (Scalar::of(left), Scalar::of(right)) {
        return Ok(a.compare(b));
    }
    match (left, right) {
        (Value::Str(a), Value::Str(b)) => Ok(Some(a.cmp(b))),
        (Value::Address(a), Value::Address(b)) if a.storage == b.storage => Ok(Some(a.offset.cmp(&b.offset))),
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
            match a.iter().zip(b).find(|(a, b)| !equal(a, b)) {
                Some((a, b)) => order(a, b, range),
                None => Ok(Some(a.len().cmp(&b.len()))),
            }
        }
        _ => Err(ExprError::new(
            range.clone(),
            format!("{} and {} have no order", left.described(), right.described()),
        )),
    }
}

pub(super) fn compare(
    op: CmpOp,
    left: &Value,
    right: &Value,
    range: &Range<usize>,
) -> Result<bool, ExprError> {
    Ok(match op {
        CmpOp::Eq => equal(left, right),
        CmpOp::NotEq => !equal(left, right),
        CmpOp::Lt => order(left, right, range)? == Some(Ordering::Less),
        CmpOp::LtE => matches!(order(left, right, range)?, Some(Ordering::Less | Ordering::Equal)),
        CmpOp::Gt => order(left, right, range)? == Some(Ordering::Greater),
        CmpOp::GtE => matches!(
            order(left, right, range)?,
            Some(Ordering::Greater | Ordering::Equal)
        ),
        CmpOp::Is => left == right,
        CmpOp::IsNot => left != right,
        CmpOp::In | CmpOp::NotIn => {
            let found = match right {
                Value::List(items) | Value::Tuple(items) => items.iter().any(|item| equal(left, item)),
                Value::Str(text) => match left {
                    Value::Str(part) => text.contains(part.as_str()),
                    _ => return Err(ExprError::new(range.clone(), "only a str can be in a str")),
                },
                _ => {
                    return Err(ExprError::new(
                        range.clone(),
                        format!("nothing is in {}", right.described()),
                    ));
                }
            };
            found == (op == CmpOp::In)
        }
    })
}
