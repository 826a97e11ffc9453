//! Operators and comparisons, with `CPython`'s semantics and error texts.

use std::cmp::Ordering;

use ruff_python_ast::{CmpOp, Operator, UnaryOp};

use crate::error::{Error, ErrorKind, Reason};
use crate::float;
use crate::int::Int;
use crate::object::{Object, Plain, Sequence, View};

/// `bool(value)`.
pub fn truth<V: Object>(value: &V) -> Result<bool, Error> {
    Ok(match value.view() {
        View::None => false,
        View::Bool(value) => value,
        View::Int(value) => !value.is_zero(),
        View::Float(value) => value != 0.0,
        View::Str(text) => !text.is_empty(),
        View::Tuple(items) | View::List(items) => !items.is_empty(),
        View::Dict(items) => !items.is_empty(),
        View::Other => return value.other_truth(),
    })
}

/// A number of Python's numeric tower; a `bool` is an integer.
enum Number {
    Int(Int),
    Float(f64),
}

impl Number {
    fn from_object<V: Object>(value: &V) -> Option<Self> {
        match value.view() {
            View::Float(value) => Some(Self::Float(value)),
            _ => value.as_int().map(Self::Int),
        }
    }

    fn to_float(&self) -> Result<f64, Error> {
        match self {
            Self::Int(value) => value.to_float(),
            Self::Float(value) => Ok(*value),
        }
    }

    fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(b),
            (Self::Int(a), Self::Float(b)) => a.compare_float(*b),
            (Self::Float(a), Self::Int(b)) => b.compare_float(*a).map(Ordering::reverse),
        }
    }
}

/// Converts a number to a float: `float(value)` except for texts.
pub fn to_float<V: Object>(value: &V) -> Option<Result<f64, Error>> {
    Number::from_object(value).map(|number| number.to_float())
}

/// `+value`, `-value`, `~value` and `not value`.
pub fn apply_unary<V: Object>(op: UnaryOp, value: &V) -> Result<V, Error> {
    let wrong = || {
        Error::of_type(
            Reason::Operands,
            format!(
                "bad operand type for unary {}: '{}'",
                op.as_str(),
                value.type_name()
            ),
        )
    };
    if op == UnaryOp::Not {
        return V::from_plain(Plain::Bool(!truth(value)?));
    }
    V::from_plain(match (op, Number::from_object(value).ok_or_else(wrong)?) {
        (UnaryOp::USub, Number::Int(value)) => Plain::Int(value.negated()?),
        (UnaryOp::Invert, Number::Int(value)) => Plain::Int(value.inverted()?),
        (_, Number::Int(value)) => Plain::Int(value),
        (UnaryOp::USub, Number::Float(value)) => Plain::Float(-value),
        (UnaryOp::Invert, Number::Float(_)) => return Err(wrong()),
        (_, Number::Float(value)) => Plain::Float(value),
    })
}

/// `left op right`.
pub fn apply_binary<V: Object>(op: Operator, left: &V, right: &V) -> Result<V, Error> {
    if let (Some(a), Some(b)) = (Number::from_object(left), Number::from_object(right)) {
        if let (View::Bool(a), View::Bool(b)) = (left.view(), right.view())
            && let Some(value) = combine_bools(op, a, b)
        {
            return V::from_plain(Plain::Bool(value));
        }
        return V::from_plain(match combine_numbers(op, &a, &b) {
            Some(value) => value?,
            None => return Err(operand_error(op.as_str(), left, right)),
        });
    }
    if let (View::Other, _) | (_, View::Other) = (left.view(), right.view())
        && let Some(value) = V::other_binary(op, left, right)
    {
        return value;
    }
    match op {
        Operator::Add => concatenate(left, right),
        Operator::Mult => repeat_value(left, right),
        Operator::Mod if matches!(left.view(), View::Str(_)) => {
            Err(Error::unsupported(Reason::Other, "formatting with `%`"))
        }
        Operator::BitOr if matches!((left.view(), right.view()), (View::Dict(_), View::Dict(_))) => {
            Err(Error::unsupported(Reason::Other, "`|` of dicts"))
        }
        Operator::Pow => Err(operand_error("** or pow()", left, right)),
        _ => Err(operand_error(op.as_str(), left, right)),
    }
}

/// `divmod(left, right)`.
pub(crate) fn div_mod<V: Object>(left: &V, right: &V) -> Result<V, Error> {
    let (quotient, rest) = match (Number::from_object(left), Number::from_object(right)) {
        (Some(Number::Int(a)), Some(Number::Int(b))) => {
            let (quotient, rest) = a.floor_div_mod(&b).ok_or_else(no_int_divisor)?;
            (Plain::Int(quotient), Plain::Int(rest))
        }
        (Some(a), Some(b)) => {
            let (a, b) = (a.to_float()?, b.to_float()?);
            if b == 0.0 {
                return Err(Error::zero_division("float divmod()"));
            }
            let (quotient, rest) = float::floor_div_mod(a, b);
            (Plain::Float(quotient), Plain::Float(rest))
        }
        _ => return Err(operand_error("divmod()", left, right)),
    };
    V::from_items(
        Sequence::Tuple,
        vec![V::from_plain(quotient)?, V::from_plain(rest)?],
    )
}

fn no_int_divisor() -> Error {
    Error::zero_division("integer division or modulo by zero")
}

fn operand_error<V: Object>(op: &str, left: &V, right: &V) -> Error {
    Error::of_type(
        Reason::Operands,
        format!(
            "unsupported operand type(s) for {op}: '{}' and '{}'",
            left.type_name(),
            right.type_name()
        ),
    )
}

fn combine_bools(op: Operator, a: bool, b: bool) -> Option<bool> {
    Some(match op {
        Operator::BitAnd => a & b,
        Operator::BitOr => a | b,
        Operator::BitXor => a ^ b,
        _ => return None,
    })
}

/// `None` if the operator is undefined for these numbers.
fn combine_numbers(op: Operator, a: &Number, b: &Number) -> Option<Result<Plain, Error>> {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => combine_ints(op, a, b),
        _ => combine_floats(op, a, b),
    }
}

fn combine_ints(op: Operator, a: &Int, b: &Int) -> Option<Result<Plain, Error>> {
    let value = match op {
        Operator::Add => a.checked_add(b),
        Operator::Sub => a.checked_sub(b),
        Operator::Mult => a.checked_mul(b),
        Operator::Div => return Some(a.true_div(b).map(Plain::Float)),
        Operator::FloorDiv => a
            .floor_div_mod(b)
            .map(|(quotient, _)| quotient)
            .ok_or_else(no_int_divisor),
        Operator::Mod => a
            .floor_div_mod(b)
            .map(|(_, rest)| rest)
            .ok_or_else(|| Error::zero_division("integer modulo by zero")),
        Operator::Pow if b.is_negative() => {
            return Some(
                a.to_float()
                    .and_then(|a| float::pow(a, b.to_float()?))
                    .map(Plain::Float),
            );
        }
        Operator::Pow => a.checked_pow(b),
        Operator::LShift => a.shifted_left(b),
        Operator::RShift => a.shifted_right(b),
        Operator::BitAnd => a.and(b),
        Operator::BitOr => a.or(b),
        Operator::BitXor => a.xor(b),
        Operator::MatMult => return None,
    };
    Some(value.map(Plain::Int))
}

fn combine_floats(op: Operator, a: &Number, b: &Number) -> Option<Result<Plain, Error>> {
    let apply: fn(f64, f64) -> Result<f64, Error> = match op {
        Operator::Add => |a, b| Ok(a + b),
        Operator::Sub => |a, b| Ok(a - b),
        Operator::Mult => |a, b| Ok(a * b),
        Operator::Div => |a, b| checked_quotient(b, "float division by zero", || a / b),
        Operator::FloorDiv => {
            |a, b| checked_quotient(b, "float floor division by zero", || float::floor_div_mod(a, b).0)
        }
        Operator::Mod => |a, b| checked_quotient(b, "float modulo", || float::floor_div_mod(a, b).1),
        Operator::Pow => float::pow,
        _ => return None,
    };
    let both = a.to_float().and_then(|a| Ok((a, b.to_float()?)));
    Some(both.and_then(|(a, b)| apply(a, b)).map(Plain::Float))
}

fn checked_quotient(by: f64, zero: &str, quotient: impl FnOnce() -> f64) -> Result<f64, Error> {
    if by == 0.0 {
        return Err(Error::zero_division(zero));
    }
    Ok(quotient())
}

fn concatenate<V: Object>(left: &V, right: &V) -> Result<V, Error> {
    match (left.view(), right.view()) {
        (View::Str(a), View::Str(b)) => {
            check_length(a.len().saturating_add(b.len()), V::MAX_TEXT, "bytes of a string")?;
            V::from_plain(Plain::Str([a, b].concat()))
        }
        (View::List(a), View::List(b)) => join_items(Sequence::List, a, b),
        (View::Tuple(a), View::Tuple(b)) => join_items(Sequence::Tuple, a, b),
        (View::Str(_) | View::List(_) | View::Tuple(_), _) => {
            let name = left.type_name();
            Err(Error::of_type(
                Reason::Operands,
                format!(
                    "can only concatenate {name} (not \"{}\") to {name}",
                    right.type_name()
                ),
            ))
        }
        _ => Err(operand_error("+", left, right)),
    }
}

fn check_length(items: usize, most: usize, what: &'static str) -> Result<(), Error> {
    if items > most {
        return Err(Error::too_many(items, most, what));
    }
    Ok(())
}

fn join_items<V: Object>(kind: Sequence, a: &[V], b: &[V]) -> Result<V, Error> {
    check_length(
        a.len().saturating_add(b.len()),
        V::MAX_ITEMS,
        "items of a sequence",
    )?;
    V::from_items(kind, [a, b].concat())
}

fn repeat_value<V: Object>(left: &V, right: &V) -> Result<V, Error> {
    let is_sequence = |value: &V| matches!(value.view(), View::Str(_) | View::List(_) | View::Tuple(_));
    let (sequence, times) = if is_sequence(left) {
        (left, right)
    } else if is_sequence(right) {
        (right, left)
    } else {
        return Err(operand_error("*", left, right));
    };
    let Some(count) = times.as_int() else {
        return Err(Error::of_type(
            Reason::Operands,
            format!(
                "can't multiply sequence by non-int of type '{}'",
                times.type_name()
            ),
        ));
    };
    let count = count
        .to_index()
        .ok_or_else(|| Error::overflow("cannot fit 'int' into an index-sized integer"))?;
    let count = usize::try_from(count).unwrap_or(0);
    match sequence.view() {
        View::Str(text) => {
            check_length(text.len().saturating_mul(count), V::MAX_TEXT, "bytes of a string")?;
            V::from_plain(Plain::Str(text.repeat(if text.is_empty() { 0 } else { count })))
        }
        View::List(items) => repeat_items(Sequence::List, items, count),
        View::Tuple(items) => repeat_items(Sequence::Tuple, items, count),
        _ => Err(operand_error("*", left, right)),
    }
}

fn repeat_items<V: Object>(kind: Sequence, items: &[V], count: usize) -> Result<V, Error> {
    let weight: usize = items.iter().map(V::weight).sum();
    check_length(weight.saturating_mul(count), V::MAX_ITEMS, "items of a sequence")?;
    // An empty sequence stays empty, for any count.
    let repeated = if items.is_empty() {
        Vec::new()
    } else {
        vec![items; count].concat()
    };
    V::from_items(kind, repeated)
}

/// `left == right`.
pub fn is_equal<V: Object>(left: &V, right: &V) -> Result<bool, Error> {
    if let (Some(a), Some(b)) = (Number::from_object(left), Number::from_object(right)) {
        return Ok(a.order(&b) == Some(Ordering::Equal));
    }
    match (left.view(), right.view()) {
        (View::None, View::None) => Ok(true),
        (View::Str(a), View::Str(b)) => Ok(a == b),
        (View::Tuple(a), View::Tuple(b)) | (View::List(a), View::List(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            Ok(first_apart(a, b)?.is_none())
        }
        (View::Dict(a), View::Dict(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (key, value) in a {
                match find_key(b, key)? {
                    Some(other) if is_equal(value, other)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        (View::Other, _) => left.other_equal(right),
        (_, View::Other) => right.other_equal(left),
        _ => Ok(false),
    }
}

fn first_apart<'a, V: Object>(a: &'a [V], b: &'a [V]) -> Result<Option<(&'a V, &'a V)>, Error> {
    for (a, b) in a.iter().zip(b) {
        if !is_equal(a, b)? {
            return Ok(Some((a, b)));
        }
    }
    Ok(None)
}

/// Finds the value of a key in a dict.
pub fn find_key<'a, V: Object>(items: &'a [(V, V)], key: &V) -> Result<Option<&'a V>, Error> {
    for (known, value) in items.iter().rev() {
        if is_equal(known, key)? {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

/// The order of two values; errors name the operator `op`. `None` for NaN.
pub fn order<V: Object>(op: CmpOp, left: &V, right: &V) -> Result<Option<Ordering>, Error> {
    if let (Some(a), Some(b)) = (Number::from_object(left), Number::from_object(right)) {
        return Ok(a.order(&b));
    }
    match (left.view(), right.view()) {
        (View::Str(a), View::Str(b)) => return Ok(Some(a.cmp(b))),
        (View::Tuple(a), View::Tuple(b)) | (View::List(a), View::List(b)) => {
            return match first_apart(a, b)? {
                Some((a, b)) => order(op, a, b),
                None => Ok(Some(a.len().cmp(&b.len()))),
            };
        }
        (View::Other, _) | (_, View::Other) => {
            if let Some(order) = left.other_order(right) {
                return order;
            }
        }
        _ => {}
    }
    Err(Error::of_type(
        Reason::Order,
        format!(
            "'{}' not supported between instances of '{}' and '{}'",
            op.as_str(),
            left.type_name(),
            right.type_name()
        ),
    ))
}

/// `left op right` of a comparison.
pub fn compare<V: Object>(op: CmpOp, left: &V, right: &V) -> Result<bool, Error> {
    let same = || {
        left.is_same(right)
            .ok_or_else(|| Error::unknown("whether these are one object"))
    };
    Ok(match op {
        CmpOp::Eq => is_equal(left, right)?,
        CmpOp::NotEq => !is_equal(left, right)?,
        CmpOp::Lt => order(op, left, right)? == Some(Ordering::Less),
        CmpOp::LtE => order(op, left, right)?.is_some_and(Ordering::is_le),
        CmpOp::Gt => order(op, left, right)? == Some(Ordering::Greater),
        CmpOp::GtE => order(op, left, right)?.is_some_and(Ordering::is_ge),
        CmpOp::Is => same()?,
        CmpOp::IsNot => !same()?,
        CmpOp::In => contains(right, left)?,
        CmpOp::NotIn => !contains(right, left)?,
    })
}

fn contains<V: Object>(container: &V, item: &V) -> Result<bool, Error> {
    match container.view() {
        View::Tuple(items) | View::List(items) => {
            for candidate in items {
                if is_equal(item, candidate)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        View::Dict(items) => Ok(find_key(items, item)?.is_some()),
        View::Str(text) => match item.view() {
            View::Str(part) => Ok(text.contains(part)),
            _ => Err(Error::of_type(
                Reason::Containment,
                format!(
                    "'in <string>' requires string as left operand, not {}",
                    item.type_name()
                ),
            )),
        },
        _ => Err(Error::of_type(
            Reason::Containment,
            format!("argument of type '{}' is not iterable", container.type_name()),
        )),
    }
}

/// `container[index]`.
pub fn get_item<V: Object>(container: &V, index: &V) -> Result<V, Error> {
    if let View::Dict(items) = container.view() {
        return find_key(items, index)?
            .cloned()
            .ok_or_else(|| Error::new(ErrorKind::Key, Reason::Other, crate::repr::repr_of(index)));
    }
    let (name, length) = match container.view() {
        View::Tuple(items) => ("tuple", items.len()),
        View::List(items) => ("list", items.len()),
        View::Str(text) => ("string", text.chars().count()),
        _ => {
            return Err(Error::of_type(
                Reason::Argument,
                format!("'{}' object is not subscriptable", container.type_name()),
            ));
        }
    };
    let Some(at) = index.as_int() else {
        let kind = index.type_name();
        return Err(Error::of_type(
            Reason::Argument,
            if name == "string" {
                format!("string indices must be integers, not '{kind}'")
            } else {
                format!("{name} indices must be integers or slices, not {kind}")
            },
        ));
    };
    let index_error = |text: String| Error::new(ErrorKind::Index, Reason::Other, text);
    let at = at
        .to_index()
        .ok_or_else(|| index_error("cannot fit 'int' into an index-sized integer".to_owned()))?;
    let at = if at < 0 {
        at.saturating_add(length as isize)
    } else {
        at
    };
    let at = usize::try_from(at).ok();
    let item = match container.view() {
        View::Tuple(items) | View::List(items) => at.and_then(|at| items.get(at)).cloned(),
        View::Str(text) => match at.and_then(|at| text.chars().nth(at)) {
            Some(char) => Some(V::from_plain(Plain::Str(char.to_string()))?),
            None => None,
        },
        _ => None,
    };
    item.ok_or_else(|| index_error(format!("{name} index out of range")))
}

/// `container[start:stop:step]`; an omitted bound is `None`.
pub fn slice<V: Object>(container: &V, bounds: [Option<V>; 3]) -> Result<V, Error> {
    let [start, stop, step] = bounds;
    let step = clamp_bound(step)?.unwrap_or(1);
    let (start, stop) = (clamp_bound(start)?, clamp_bound(stop)?);
    if step == 0 {
        return Err(Error::of_value(Reason::Argument, "slice step cannot be zero"));
    }
    match container.view() {
        View::Tuple(items) => V::from_items(Sequence::Tuple, slice_items(items, start, stop, step)),
        View::List(items) => V::from_items(Sequence::List, slice_items(items, start, stop, step)),
        View::Str(text) => {
            let chars: Vec<char> = text.chars().collect();
            V::from_plain(Plain::Str(
                slice_items(&chars, start, stop, step).into_iter().collect(),
            ))
        }
        View::Dict(_) => Err(Error::of_type(Reason::Argument, "unhashable type: 'slice'")),
        _ => Err(Error::of_type(
            Reason::Argument,
            format!("'{}' object is not subscriptable", container.type_name()),
        )),
    }
}

/// Python clamps the bounds of slices to a machine word.
fn clamp_bound<V: Object>(value: Option<V>) -> Result<Option<isize>, Error> {
    let Some(value) = value else { return Ok(None) };
    if matches!(value.view(), View::None) {
        return Ok(None);
    }
    let Some(at) = value.as_int() else {
        return Err(Error::of_type(
            Reason::Argument,
            "slice indices must be integers or None or have an __index__ method",
        ));
    };
    let limit = if at.is_negative() { isize::MIN } else { isize::MAX };
    Ok(Some(at.to_index().unwrap_or(limit)))
}

fn slice_items<T: Clone>(items: &[T], start: Option<isize>, stop: Option<isize>, step: isize) -> Vec<T> {
    let length = items.len() as isize;
    let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let clamp = |bound: Option<isize>, default: isize| match bound {
        Some(bound) if bound < 0 => bound.saturating_add(length).clamp(low, high),
        Some(bound) => bound.clamp(low, high),
        None => default,
    };
    let (first, last) = if step > 0 { (low, high) } else { (high, low) };
    let (mut at, stop) = (clamp(start, first), clamp(stop, last));
    let mut out = Vec::new();
    while if step > 0 { at < stop } else { at > stop } {
        out.extend(usize::try_from(at).ok().and_then(|at| items.get(at)).cloned());
        at = at.saturating_add(step);
    }
    out
}
