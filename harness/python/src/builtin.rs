//! A table of Python's built-in functions. Unsupported: functions that take functions, and the keywords `key` and
//! `default`.

use ruff_python_ast::{CmpOp, Operator};

use crate::error::{Error, Reason};
use crate::float;
use crate::int::Int;
use crate::object::{Object, Plain, Sequence, View};
use crate::{operator, repr};

/// Takes the cost of some items, or returns an error.
pub type Spend<'a> = &'a mut dyn FnMut(usize) -> Result<(), Error>;

/// A built-in function of Python.
pub struct Builtin<V> {
    /// Its name.
    pub name: &'static str,
    /// The names of its parameters; empty if it takes any number of arguments.
    pub parameters: &'static [&'static str],
    /// Minimum number of arguments.
    pub required: usize,
    /// The function. It receives a valid number of arguments.
    call: fn(&[V], Spend<'_>) -> Result<V, Error>,
}

impl<V: Object> Builtin<V> {
    /// Calls the function. It passes the number of items to `spend` before it reads or creates them.
    pub fn call(&self, arguments: &[V], spend: Spend<'_>) -> Result<V, Error> {
        let most = if self.parameters.is_empty() {
            usize::MAX
        } else {
            self.parameters.len()
        };
        if arguments.len() < self.required || arguments.len() > most {
            let (bound, count) = if arguments.len() > most {
                ("at most", most)
            } else {
                ("at least", self.required)
            };
            return Err(Error::of_type(
                Reason::Arguments,
                format!(
                    "{}() takes {bound} {count} argument{}, not {}",
                    self.name,
                    if count == 1 { "" } else { "s" },
                    arguments.len()
                ),
            ));
        }
        (self.call)(arguments, spend)
    }
}

/// The table for a type of values.
pub struct Builtins<V>(std::marker::PhantomData<V>);

pub(crate) const fn define<V>(
    name: &'static str,
    parameters: &'static [&'static str],
    required: usize,
    call: fn(&[V], Spend<'_>) -> Result<V, Error>,
) -> Builtin<V> {
    Builtin {
        name,
        parameters,
        required,
        call,
    }
}

impl<V: Object + 'static> Builtins<V> {
    /// Python's builtins, by name.
    pub const TABLE: &'static [Builtin<V>] = &[
        define("abs", &["x"], 1, abs),
        define("all", &["iterable"], 1, |arguments, spend| {
            find_truth(arguments, false, spend)
        }),
        define("any", &["iterable"], 1, |arguments, spend| {
            find_truth(arguments, true, spend)
        }),
        define("bool", &["x"], 0, |arguments, _| {
            let truth = arguments.first().map_or(Ok(false), operator::truth);
            V::from_plain(Plain::Bool(truth.map_err(|error| error.for_argument(0))?))
        }),
        define("divmod", &["a", "b"], 2, |arguments, _| match arguments {
            [a, b] => operator::div_mod(a, b),
            _ => Err(count_error()),
        }),
        define("enumerate", &["iterable", "start"], 1, enumerate),
        define("float", &["x"], 0, float_of),
        define("int", &["x", "base"], 0, int_of),
        define("len", &["obj"], 1, call_len),
        define("list", &["iterable"], 0, |arguments, spend| {
            V::from_items(Sequence::List, given_items(arguments, spend)?)
        }),
        define("max", &[], 1, |arguments, spend| {
            find_extreme(arguments, "max", CmpOp::Gt, spend)
        }),
        define("min", &[], 1, |arguments, spend| {
            find_extreme(arguments, "min", CmpOp::Lt, spend)
        }),
        define("pow", &["base", "exp", "mod"], 2, call_pow),
        define("range", &[], 1, call_range),
        define("reversed", &["sequence"], 1, |arguments, spend| {
            let mut items = given_items(arguments, spend).map_err(|mut error| {
                if error.reason == Reason::Iteration {
                    error.text = error.text.replace("iterable", "reversible");
                }
                error
            })?;
            items.reverse();
            V::from_items(Sequence::List, items)
        }),
        define("round", &["number", "ndigits"], 1, round),
        define("sorted", &["iterable"], 1, |arguments, spend| {
            V::from_items(Sequence::List, sort_items(given_items(arguments, spend)?)?)
        }),
        define("str", &["object"], 0, |arguments, _| {
            V::from_plain(Plain::Str(
                arguments.first().map_or_else(String::new, repr::str_of),
            ))
        }),
        define("sum", &["iterable", "start"], 1, sum),
        define("tuple", &["iterable"], 0, |arguments, spend| {
            V::from_items(Sequence::Tuple, given_items(arguments, spend)?)
        }),
        define("zip", &[], 0, zip),
    ];

    /// Finds a builtin by name.
    pub fn find(name: &str) -> Option<&'static Builtin<V>> {
        Self::TABLE.iter().find(|builtin| builtin.name == name)
    }
}

/// The names of [`Builtins::TABLE`].
pub const NAMES: &[&str] = &{
    let table = Builtins::<crate::Value>::TABLE;
    let mut names = [""; Builtins::<crate::Value>::TABLE.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = table[at].name;
        at += 1;
    }
    names
};

/// Not reachable: [`Builtin::call`] checks the number of arguments first.
pub(crate) fn count_error() -> Error {
    Error::of_type(Reason::Arguments, "a wrong number of arguments")
}

/// The error for an argument that is not an integer.
pub(crate) fn no_index<V: Object>(value: &V) -> Error {
    Error::of_type(
        Reason::Argument,
        format!(
            "'{}' object cannot be interpreted as an integer",
            value.type_name()
        ),
    )
}

pub(crate) fn items_of<V: Object>(arguments: &[V], nth: usize, spend: Spend<'_>) -> Result<Vec<V>, Error> {
    let value = arguments.get(nth).ok_or_else(count_error)?;
    let items = value.items().map_err(|error| error.for_argument(nth))?;
    spend(items.len()).map_err(|error| error.for_argument(nth))?;
    Ok(items)
}

fn given_items<V: Object>(arguments: &[V], spend: Spend<'_>) -> Result<Vec<V>, Error> {
    if arguments.is_empty() {
        return Ok(Vec::new());
    }
    items_of(arguments, 0, spend)
}

fn abs<V: Object>(arguments: &[V], _: Spend<'_>) -> Result<V, Error> {
    let [value] = arguments else {
        return Err(count_error());
    };
    match (value.view(), value.as_int()) {
        (View::Float(value), _) => V::from_plain(Plain::Float(value.abs())),
        (_, Some(value)) => V::from_plain(Plain::Int(value.magnitude()?)),
        _ => Err(Error::of_type(
            Reason::Argument,
            format!("bad operand type for abs(): '{}'", value.type_name()),
        )
        .for_argument(0)),
    }
}

fn find_truth<V: Object>(arguments: &[V], wanted: bool, spend: Spend<'_>) -> Result<V, Error> {
    for item in items_of(arguments, 0, spend)? {
        if operator::truth(&item)? == wanted {
            return V::from_plain(Plain::Bool(wanted));
        }
    }
    V::from_plain(Plain::Bool(!wanted))
}

fn enumerate<V: Object>(arguments: &[V], spend: Spend<'_>) -> Result<V, Error> {
    let mut nth = match arguments.get(1) {
        Some(start) => start.as_int().ok_or_else(|| no_index(start).for_argument(1))?,
        None => Int::from(0),
    };
    let items = items_of(arguments, 0, spend)?;
    let mut rows = Vec::with_capacity(items.len());
    for item in items {
        let next = nth.checked_add(&Int::from(1))?;
        rows.push(V::from_items(
            Sequence::Tuple,
            vec![V::from_plain(Plain::Int(nth))?, item],
        )?);
        nth = next;
    }
    V::from_items(Sequence::List, rows)
}

fn float_of<V: Object>(arguments: &[V], _: Spend<'_>) -> Result<V, Error> {
    let Some(value) = arguments.first() else {
        return V::from_plain(Plain::Float(0.0));
    };
    let float = match (value.view(), operator::to_float(value)) {
        (_, Some(float)) => float,
        (View::Str(text), _) => float::parse(text).ok_or_else(|| {
            Error::of_value(
                Reason::Literal,
                format!("could not convert string to float: {}", repr::quote(text)),
            )
        }),
        _ => Err(Error::of_type(
            Reason::Argument,
            format!(
                "float() argument must be a string or a real number, not '{}'",
                value.type_name()
            ),
        )),
    };
    V::from_plain(Plain::Float(float.map_err(|error| error.for_argument(0))?))
}

fn int_of<V: Object>(arguments: &[V], _: Spend<'_>) -> Result<V, Error> {
    let Some(value) = arguments.first() else {
        return V::from_plain(Plain::Int(Int::from(0)));
    };
    let base = match arguments.get(1) {
        Some(base) => Some(base.as_int().ok_or_else(|| no_index(base).for_argument(1))?),
        None => None,
    };
    let int = match (value.view(), base) {
        (View::Str(text), base) => {
            let base = base.map_or(Some(10), |base| base.to_i128());
            match base {
                Some(base @ (0 | 2..=36)) => parse_int(text, base as u32),
                _ => Err(Error::of_value(
                    Reason::Argument,
                    "int() base must be >= 2 and <= 36, or 0",
                )),
            }
        }
        (_, Some(_)) => Err(Error::of_type(
            Reason::Argument,
            "int() can't convert non-string with explicit base",
        )),
        (View::Float(value), None) => float::to_int(value),
        _ => value.as_int().ok_or_else(|| {
            Error::of_type(
                Reason::Argument,
                format!(
                    "int() argument must be a string, a bytes-like object or a real number, not '{}'",
                    value.type_name()
                ),
            )
        }),
    };
    V::from_plain(Plain::Int(int.map_err(|error| error.for_argument(0))?))
}

/// `int(text, base)`.
fn parse_int(text: &str, base: u32) -> Result<Int, Error> {
    let wrong = || {
        Error::of_value(
            Reason::Literal,
            format!(
                "invalid literal for int() with base {base}: {}",
                repr::quote(text)
            ),
        )
    };
    let trimmed = text.trim();
    let (negative, unsigned) = match trimmed.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, trimmed.strip_prefix('+').unwrap_or(trimmed)),
    };
    let prefixed = unsigned.split_at_checked(2).and_then(|(prefix, rest)| {
        let of = match prefix {
            "0x" | "0X" => 16,
            "0o" | "0O" => 8,
            "0b" | "0B" => 2,
            _ => return None,
        };
        // One underscore may follow the prefix.
        (base == of || base == 0).then(|| (of, rest.strip_prefix('_').unwrap_or(rest)))
    });
    let (radix, digits) = prefixed.unwrap_or((if base == 0 { 10 } else { base }, unsigned));
    if digits.starts_with('_') || digits.ends_with('_') || digits.contains("__") {
        return Err(wrong());
    }
    let digits = digits.replace('_', "");
    let value = Int::from_digits(&digits, radix)?.ok_or_else(wrong)?;
    // A leading 0 would be octal in C; Python rejects it.
    if base == 0 && prefixed.is_none() && digits.starts_with('0') && !value.is_zero() {
        return Err(wrong());
    }
    if negative { value.negated() } else { Ok(value) }
}

fn call_len<V: Object>(arguments: &[V], _: Spend<'_>) -> Result<V, Error> {
    let [value] = arguments else {
        return Err(count_error());
    };
    let length = match value.view() {
        View::Str(text) => Ok(text.chars().count().into()),
        View::Tuple(items) | View::List(items) => Ok(items.len().into()),
        View::Dict(items) => Ok(items.len().into()),
        _ => value.other_length().unwrap_or_else(|| {
            Err(Error::of_type(
                Reason::Length,
                format!("object of type '{}' has no len()", value.type_name()),
            ))
        }),
    };
    V::from_plain(Plain::Int(length.map_err(|error| error.for_argument(0))?))
}

fn find_extreme<V: Object>(arguments: &[V], name: &str, op: CmpOp, spend: Spend<'_>) -> Result<V, Error> {
    let items = match arguments {
        [_] => items_of(arguments, 0, spend)?,
        many => many.to_vec(),
    };
    let mut items = items.into_iter();
    let Some(mut best) = items.next() else {
        return Err(Error::of_value(
            Reason::Empty,
            format!("{name}() arg is an empty sequence"),
        ));
    };
    for item in items {
        if operator::compare(op, &item, &best)? {
            best = item;
        }
    }
    Ok(best)
}

fn call_pow<V: Object>(arguments: &[V], _: Spend<'_>) -> Result<V, Error> {
    let [base, exponent, rest @ ..] = arguments else {
        return Err(count_error());
    };
    let Some(modulus) = rest
        .first()
        .filter(|modulus| !matches!(modulus.view(), View::None))
    else {
        return operator::apply_binary(Operator::Pow, base, exponent);
    };
    let number = |value: &V| value.as_int().is_some() || matches!(value.view(), View::Float(_));
    match (base.as_int(), exponent.as_int(), modulus.as_int()) {
        (Some(base), Some(exponent), Some(modulus)) => {
            V::from_plain(Plain::Int(base.power_modulo(&exponent, &modulus)?))
        }
        _ if arguments.iter().all(number) => Err(Error::of_type(
            Reason::Argument,
            "pow() 3rd argument not allowed unless all arguments are integers",
        )),
        _ => Err(Error::of_type(
            Reason::Operands,
            format!(
                "unsupported operand type(s) for ** or pow(): '{}', '{}', '{}'",
                base.type_name(),
                exponent.type_name(),
                modulus.type_name()
            ),
        )),
    }
}

fn call_range<V: Object>(arguments: &[V], spend: Spend<'_>) -> Result<V, Error> {
    let mut bounds = Vec::with_capacity(3);
    for (nth, argument) in arguments.iter().enumerate().take(4) {
        bounds.push(
            argument
                .as_int()
                .ok_or_else(|| no_index(argument).for_argument(nth))?,
        );
    }
    let (zero, one) = (Int::from(0), Int::from(1));
    let (start, stop, step) = match &bounds[..] {
        [stop] => (&zero, stop, &one),
        [start, stop] => (start, stop, &one),
        [_, _, step] if step.is_zero() => {
            return Err(Error::of_value(
                Reason::Argument,
                "range() arg 3 must not be zero",
            ));
        }
        [start, stop, step] => (start, stop, step),
        _ => {
            return Err(Error::of_type(
                Reason::Arguments,
                format!("range() takes one to three integers, not {}", arguments.len()),
            ));
        }
    };
    // CPython's formula: the span in steps, rounded up.
    let (quotient, rest) = stop
        .checked_sub(start)?
        .floor_div_mod(step)
        .ok_or_else(count_error)?;
    let count = if rest.is_zero() {
        quotient
    } else {
        quotient.checked_add(&one)?
    };
    let count = if count.is_negative() { zero.clone() } else { count };
    let count = count
        .to_i128()
        .and_then(|count| usize::try_from(count).ok())
        .unwrap_or(usize::MAX);
    spend(count)?;
    let mut items = Vec::with_capacity(count);
    let mut at = start.clone();
    for _ in 0..count {
        items.push(V::from_plain(Plain::Int(at.clone()))?);
        at = at.checked_add(step)?;
    }
    V::from_items(Sequence::List, items)
}

fn round<V: Object>(arguments: &[V], _: Spend<'_>) -> Result<V, Error> {
    let value = arguments.first().ok_or_else(count_error)?;
    let digits = arguments
        .get(1)
        .filter(|digits| !matches!(digits.view(), View::None))
        .map(|digits| digits.as_int().ok_or_else(|| no_index(digits).for_argument(1)));
    let rounded = match (value.view(), value.as_int()) {
        (View::Float(value), _) => match digits {
            Some(digits) => Plain::Float(float::round_digits(value, &digits?)?),
            None => {
                Plain::Int(float::to_int(value.round_ties_even()).map_err(|error| error.for_argument(0))?)
            }
        },
        (_, Some(value)) => match digits.transpose()? {
            Some(digits) if digits.is_negative() => {
                // Half of a unit larger than the limit exceeds any integer here.
                match Int::from(10).checked_pow(&digits.negated()?) {
                    Ok(unit) => Plain::Int(float::round_to(&value, &unit, false)?),
                    Err(_) => Plain::Int(Int::from(0)),
                }
            }
            _ => Plain::Int(value),
        },
        _ => {
            return Err(Error::of_type(
                Reason::Argument,
                format!("type {} doesn't define __round__ method", value.type_name()),
            )
            .for_argument(0));
        }
    };
    V::from_plain(rounded)
}

/// A stable sort by `<` alone, which may not be a consistent order (NaN).
fn sort_items<V: Object>(items: Vec<V>) -> Result<Vec<V>, Error> {
    if items.len() < 2 {
        return Ok(items);
    }
    let mut left = items;
    let right = left.split_off(left.len() / 2);
    let (left, right) = (sort_items(left)?, sort_items(right)?);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let mut right = right.into_iter().peekable();
    for item in left {
        while let Some(other) = right.peek() {
            if !operator::compare(CmpOp::Lt, other, &item)? {
                break;
            }
            merged.extend(right.next());
        }
        merged.push(item);
    }
    merged.extend(right);
    Ok(merged)
}

fn sum<V: Object>(arguments: &[V], spend: Spend<'_>) -> Result<V, Error> {
    let mut total = match arguments.get(1) {
        Some(start) if matches!(start.view(), View::Str(_)) => {
            return Err(Error::of_type(
                Reason::Argument,
                "sum() can't sum strings [use ''.join(seq) instead]",
            )
            .for_argument(1));
        }
        Some(start) => start.clone(),
        None => V::from_plain(Plain::Int(Int::from(0)))?,
    };
    for item in items_of(arguments, 0, spend)? {
        spend(total.weight())?;
        total = operator::apply_binary(Operator::Add, &total, &item)?;
    }
    Ok(total)
}

fn zip<V: Object>(arguments: &[V], spend: Spend<'_>) -> Result<V, Error> {
    let mut columns = Vec::with_capacity(arguments.len());
    for nth in 0..arguments.len() {
        columns.push(items_of(arguments, nth, spend)?.into_iter());
    }
    let mut rows = Vec::new();
    while !columns.is_empty() {
        let row: Vec<V> = columns.iter_mut().map_while(Iterator::next).collect();
        if row.len() < columns.len() {
            break;
        }
        rows.push(V::from_items(Sequence::Tuple, row)?);
    }
    V::from_items(Sequence::List, rows)
}
