//! Operators and comparisons, with `CPython`'s meaning and texts.

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

/// A number of Python's tower, `bool` as the integer that it is.
enum Number {
    Int(Int),
    Float(f64),
}

impl Number {
    fn of<V: Object>(value: &V) -> Option<Self> {
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

/// A number as the float that it is converted to: `float(value)` of what is no text.
pub fn to_float<V: Object>(value: &V) -> Option<Result<f64, Error>> {
    Number::of(value).map(|number| number.to_float())
}

/// `+value`, `-value`, `~value` and `not value`.
pub fn unary<V: Object>(op: UnaryOp, value: &V) -> Result<V, Error> {
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
        return V::plain(Plain::Bool(!truth(value)?));
    }
    V::plain(match (op, Number::of(value).ok_or_else(wrong)?) {
        (UnaryOp::USub, Number::Int(value)) => Plain::Int(value.negated()?),
        (UnaryOp::Invert, Number::Int(value)) => Plain::Int(value.inverted()?),
        (_, Number::Int(value)) => Plain::Int(value),
        (UnaryOp::USub, Number::Float(value)) => Plain::Float(-value),
        (UnaryOp::Invert, Number::Float(_)) => return Err(wrong()),
        (_, Number::Float(value)) => Plain::Float(value),
    })
}

/// `left op right`.
pub fn binary<V: Object>(op: Operator, left: &V, right: &V) -> Result<V, Error> {
    if let (Some(a), Some(b)) = (Number::of(left), Number::of(right)) {
        if let (View::Bool(a), View::Bool(b)) = (left.view(), right.view())
            && let Some(value) = bools(op, a, b)
        {
            return V::plain(Plain::Bool(value));
        }
        return V::plain(match numbers(op, &a, &b) {
            Some(value) => value?,
            None => return Err(unfit(op.as_str(), left, right)),
        });
    }
    if let (View::Other, _) | (_, View::Other) = (left.view(), right.view())
        && let Some(value) = V::other_binary(op, left, right)
    {
        return value;
    }
    match op {
        Operator::Add => concatenated(left, right),
        Operator::Mult => multiplied(left, right),
        Operator::Mod if matches!(left.view(), View::Str(_)) => {
            Err(Error::unsupported(Reason::Other, "formatting with `%`"))
        }
        Operator::BitOr if matches!((left.view(), right.view()), (View::Dict(_), View::Dict(_))) => {
            Err(Error::unsupported(Reason::Other, "`|` of dicts"))
        }
        Operator::Pow => Err(unfit("** or pow()", left, right)),
        _ => Err(unfit(op.as_str(), left, right)),
    }
}

/// `divmod(left, right)`.
pub(crate) fn div_mod<V: Object>(left: &V, right: &V) -> Result<V, Error> {
    let (quotient, rest) = match (Number::of(left), Number::of(right)) {
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
        _ => return Err(unfit("divmod()", left, right)),
    };
    V::sequence(Sequence::Tuple, vec![V::plain(quotient)?, V::plain(rest)?])
}

fn no_int_divisor() -> Error {
    Error::zero_division("integer division or modulo by zero")
}

fn unfit<V: Object>(op: &str, left: &V, right: &V) -> Error {
    Error::of_type(
        Reason::Operands,
        format!(
            "unsupported operand type(s) for {op}: '{}' and '{}'",
            left.type_name(),
            right.type_name()
        ),
    )
}

fn bools(op: Operator, a: bool, b: bool) -> Option<bool> {
    Some(match op {
        Operator::BitAnd => a & b,
        Operator::BitOr => a | b,
        Operator::BitXor => a ^ b,
        _ => return None,
    })
}

/// `None`: the operator has no meaning for these numbers.
fn numbers(op: Operator, a: &Number, b: &Number) -> Option<Result<Plain, Error>> {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => ints(op, a, b),
        _ => floats(op, a, b),
    }
}

fn ints(op: Operator, a: &Int, b: &Int) -> Option<Result<Plain, Error>> {
    let value = match op {
        Operator::Add => a.plus(b),
        Operator::Sub => a.minus(b),
        Operator::Mult => a.times(b),
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
                    .and_then(|a| float::power(a, b.to_float()?))
                    .map(Plain::Float),
            );
        }
        Operator::Pow => a.power(b),
        Operator::LShift => a.shifted_left(b),
        Operator::RShift => a.shifted_right(b),
        Operator::BitAnd => a.and(b),
        Operator::BitOr => a.or(b),
        Operator::BitXor => a.xor(b),
        Operator::MatMult => return None,
    };
    Some(value.map(Plain::Int))
}

fn floats(op: Operator, a: &Number, b: &Number) -> Option<Result<Plain, Error>> {
    let apply: fn(f64, f64) -> Result<f64, Error> = match op {
        Operator::Add => |a, b| Ok(a + b),
        Operator::Sub => |a, b| Ok(a - b),
        Operator::Mult => |a, b| Ok(a * b),
        Operator::Div => |a, b| divided(b, "float division by zero", || a / b),
        Operator::FloorDiv => {
            |a, b| divided(b, "float floor division by zero", || float::floor_div_mod(a, b).0)
        }
        Operator::Mod => |a, b| divided(b, "float modulo", || float::floor_div_mod(a, b).1),
        Operator::Pow => float::power,
        _ => return None,
    };
    let both = a.to_float().and_then(|a| Ok((a, b.to_float()?)));
    Some(both.and_then(|(a, b)| apply(a, b)).map(Plain::Float))
}

fn divided(by: f64, zero: &str, quotient: impl FnOnce() -> f64) -> Result<f64, Error> {
    if by == 0.0 {
        return Err(Error::zero_division(zero));
    }
    Ok(quotient())
}

fn concatenated<V: Object>(left: &V, right: &V) -> Result<V, Error> {
    match (left.view(), right.view()) {
        (View::Str(a), View::Str(b)) => {
            limited(a.len().saturating_add(b.len()), V::MAX_TEXT, "bytes of a string")?;
            V::plain(Plain::Str([a, b].concat()))
        }
        (View::List(a), View::List(b)) => joined(Sequence::List, a, b),
        (View::Tuple(a), View::Tuple(b)) => joined(Sequence::Tuple, a, b),
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
        _ => Err(unfit("+", left, right)),
    }
}

fn limited(items: usize, most: usize, what: &'static str) -> Result<(), Error> {
    if items > most {
        return Err(Error::items(items, most, what));
    }
    Ok(())
}

fn joined<V: Object>(kind: Sequence, a: &[V], b: &[V]) -> Result<V, Error> {
    limited(
        a.len().saturating_add(b.len()),
        V::MAX_ITEMS,
        "items of a sequence",
    )?;
    V::sequence(kind, [a, b].concat())
}

fn multiplied<V: Object>(left: &V, right: &V) -> Result<V, Error> {
    let is_sequence = |value: &V| matches!(value.view(), View::Str(_) | View::List(_) | View::Tuple(_));
    let (sequence, times) = if is_sequence(left) {
        (left, right)
    } else if is_sequence(right) {
        (right, left)
    } else {
        return Err(unfit("*", left, right));
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
            limited(text.len().saturating_mul(count), V::MAX_TEXT, "bytes of a string")?;
            V::plain(Plain::Str(text.repeat(if text.is_empty() { 0 } else { count })))
        }
        View::List(items) => repeated(Sequence::List, items, count),
        View::Tuple(items) => repeated(Sequence::Tuple, items, count),
        _ => Err(unfit("*", left, right)),
    }
}

fn repeated<V: Object>(kind: Sequence, items: &[V], count: usize) -> Result<V, Error> {
    let weight: usize = items.iter().map(V::weight).sum();
    limited(weight.saturating_mul(count), V::MAX_ITEMS, "items of a sequence")?;
    // Nothing repeated is nothing, however often.
    let repeated = if items.is_empty() {
        Vec::new()
    } else {
        vec![items; count].concat()
    };
    V::sequence(kind, repeated)
}

/// `left == right`.
pub fn equal<V: Object>(left: &V, right: &V) -> Result<bool, Error> {
    if let (Some(a), Some(b)) = (Number::of(left), Number::of(right)) {
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
                match found(b, key)? {
                    Some(other) if equal(value, other)? => {}
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
        if !equal(a, b)? {
            return Ok(Some((a, b)));
        }
    }
    Ok(None)
}

/// The value of a key of a dict.
pub fn found<'a, V: Object>(items: &'a [(V, V)], key: &V) -> Result<Option<&'a V>, Error> {
    for (known, value) in items.iter().rev() {
        if equal(known, key)? {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

/// How two values are ordered where they are compared with `op`, which an error names; `None` for NaN.
pub fn order<V: Object>(op: CmpOp, left: &V, right: &V) -> Result<Option<Ordering>, Error> {
    if let (Some(a), Some(b)) = (Number::of(left), Number::of(right)) {
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
        left.same(right)
            .ok_or_else(|| Error::unknown("whether these are one object"))
    };
    Ok(match op {
        CmpOp::Eq => equal(left, right)?,
        CmpOp::NotEq => !equal(left, right)?,
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
                if equal(item, candidate)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        View::Dict(items) => Ok(found(items, item)?.is_some()),
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
pub fn subscript<V: Object>(container: &V, index: &V) -> Result<V, Error> {
    if let View::Dict(items) = container.view() {
        return found(items, index)?
            .cloned()
            .ok_or_else(|| Error::new(ErrorKind::Key, Reason::Other, crate::repr::repr(index)));
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
            Some(char) => Some(V::plain(Plain::Str(char.to_string()))?),
            None => None,
        },
        _ => None,
    };
    item.ok_or_else(|| index_error(format!("{name} index out of range")))
}

/// `container[start:stop:step]`; a bound that is `None` was left out.
pub fn slice<V: Object>(container: &V, bounds: [Option<V>; 3]) -> Result<V, Error> {
    let [start, stop, step] = bounds;
    let step = bound(step)?.unwrap_or(1);
    let (start, stop) = (bound(start)?, bound(stop)?);
    if step == 0 {
        return Err(Error::of_value(Reason::Argument, "slice step cannot be zero"));
    }
    match container.view() {
        View::Tuple(items) => V::sequence(Sequence::Tuple, sliced(items, start, stop, step)),
        View::List(items) => V::sequence(Sequence::List, sliced(items, start, stop, step)),
        View::Str(text) => {
            let chars: Vec<char> = text.chars().collect();
            V::plain(Plain::Str(
                sliced(&chars, start, stop, step).into_iter().collect(),
            ))
        }
        View::Dict(_) => Err(Error::of_type(Reason::Argument, "unhashable type: 'slice'")),
        _ => Err(Error::of_type(
            Reason::Argument,
            format!("'{}' object is not subscriptable", container.type_name()),
        )),
    }
}

/// Python clamps the bounds of slices to what a machine word holds.
fn bound<V: Object>(value: Option<V>) -> Result<Option<isize>, Error> {
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

fn sliced<T: Clone>(items: &[T], start: Option<isize>, stop: Option<isize>, step: isize) -> Vec<T> {
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
