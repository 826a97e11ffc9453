//! The functions and numbers of Python's `math`, as tables.

use ruff_python_ast::Operator;

use crate::builtin::{Builtin, Spend, count_error, define, items_of, no_index};
use crate::error::{Error, ErrorKind, Reason};
use crate::float;
use crate::int::Int;
use crate::object::{Object, Plain};
use crate::operator;

/// The constants of `math`, by name.
pub const CONSTANTS: &[(&str, f64)] = &[
    ("e", std::f64::consts::E),
    ("inf", f64::INFINITY),
    ("nan", f64::NAN),
    ("pi", std::f64::consts::PI),
    ("tau", std::f64::consts::TAU),
];

/// Finds a constant of `math` by name.
pub fn find_constant(name: &str) -> Option<f64> {
    CONSTANTS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, value)| *value)
}

/// The table for a type of values.
pub struct Math<V>(std::marker::PhantomData<V>);

impl<V: Object + 'static> Math<V> {
    /// The functions of `math`, by name.
    pub const TABLE: &'static [Builtin<V>] = &[
        define("ceil", &["x"], 1, |arguments, _| round_with(arguments, f64::ceil)),
        define("copysign", &["x", "y"], 2, |arguments, _| {
            V::from_plain(Plain::Float(
                real_argument(arguments, 0)?.copysign(real_argument(arguments, 1)?),
            ))
        }),
        define("exp", &["x"], 1, |arguments, _| {
            apply_bounded(arguments, f64::exp)
        }),
        define("exp2", &["x"], 1, |arguments, _| {
            apply_bounded(arguments, f64::exp2)
        }),
        define("fabs", &["x"], 1, |arguments, _| {
            V::from_plain(Plain::Float(real_argument(arguments, 0)?.abs()))
        }),
        define("floor", &["x"], 1, |arguments, _| {
            round_with(arguments, f64::floor)
        }),
        define("gcd", &[], 0, gcd),
        define("isinf", &["x"], 1, |arguments, _| {
            V::from_plain(Plain::Bool(real_argument(arguments, 0)?.is_infinite()))
        }),
        define("isnan", &["x"], 1, |arguments, _| {
            V::from_plain(Plain::Bool(real_argument(arguments, 0)?.is_nan()))
        }),
        define("log", &["x", "base"], 1, |arguments, _| {
            let value = compute_log(arguments, 0, f64::ln)?;
            if arguments.len() < 2 {
                return V::from_plain(Plain::Float(value));
            }
            let base = compute_log(arguments, 1, f64::ln)?;
            if base == 0.0 {
                return Err(Error::zero_division("float division by zero"));
            }
            V::from_plain(Plain::Float(value / base))
        }),
        define("log10", &["x"], 1, |arguments, _| {
            V::from_plain(Plain::Float(compute_log(arguments, 0, f64::log10)?))
        }),
        define("log2", &["x"], 1, |arguments, _| {
            V::from_plain(Plain::Float(compute_log(arguments, 0, f64::log2)?))
        }),
        define("pow", &["x", "y"], 2, |arguments, _| call_pow(arguments)),
        define("prod", &["iterable", "start"], 1, call_prod),
        define("sqrt", &["x"], 1, |arguments, _| {
            let value = real_argument(arguments, 0)?;
            if value < 0.0 {
                return Err(domain_error());
            }
            V::from_plain(Plain::Float(value.sqrt()))
        }),
        define("trunc", &["x"], 1, |arguments, _| {
            round_with(arguments, f64::trunc).map_err(|mut error| {
                if error.reason == Reason::Argument && error.kind == ErrorKind::Type {
                    let name = arguments.first().map_or("", V::type_name);
                    error.text = format!("type {name} doesn't define __trunc__ method");
                }
                error
            })
        }),
    ];

    /// Finds a function by name.
    pub fn find(name: &str) -> Option<&'static Builtin<V>> {
        Self::TABLE.iter().find(|function| function.name == name)
    }
}

fn domain_error() -> Error {
    Error::of_value(Reason::Other, "math domain error")
}

fn range_error() -> Error {
    Error::overflow("math range error")
}

fn real_argument<V: Object>(arguments: &[V], nth: usize) -> Result<f64, Error> {
    let value = arguments.get(nth).ok_or_else(count_error)?;
    operator::to_float(value)
        .unwrap_or_else(|| {
            Err(Error::of_type(
                Reason::Argument,
                format!("must be real number, not {}", value.type_name()),
            ))
        })
        .map_err(|error| error.for_argument(nth))
}

fn round_with<V: Object>(arguments: &[V], cut: fn(f64) -> f64) -> Result<V, Error> {
    if let Some(value) = arguments.first().and_then(V::as_int) {
        return V::from_plain(Plain::Int(value));
    }
    let value = float::to_int(cut(real_argument(arguments, 0)?)).map_err(|error| error.for_argument(0))?;
    V::from_plain(Plain::Int(value))
}

/// Applies a function whose result is infinite only if its argument is.
fn apply_bounded<V: Object>(arguments: &[V], function: fn(f64) -> f64) -> Result<V, Error> {
    let value = real_argument(arguments, 0)?;
    let result = function(value);
    if result.is_infinite() && value.is_finite() {
        return Err(range_error());
    }
    V::from_plain(Plain::Float(result))
}

fn gcd<V: Object>(arguments: &[V], _: Spend<'_>) -> Result<V, Error> {
    let mut divisor = Int::from(0);
    for (nth, argument) in arguments.iter().enumerate() {
        let mut other = argument
            .as_int()
            .ok_or_else(|| no_index(argument).for_argument(nth))?
            .magnitude()?;
        while let Some((_, rest)) = divisor.floor_div_mod(&other) {
            divisor = std::mem::replace(&mut other, rest);
        }
    }
    V::from_plain(Plain::Int(divisor))
}

/// The logarithm of a number, including integers beyond the range of floats.
fn compute_log<V: Object>(arguments: &[V], nth: usize, log: fn(f64) -> f64) -> Result<f64, Error> {
    if let Some(int) = arguments.get(nth).and_then(V::as_int) {
        if int.is_negative() || int.is_zero() {
            return Err(domain_error());
        }
        let (fraction, exponent) = int.to_float().map_or_else(|_| int.scaled(), |float| (float, 0));
        return Ok(if exponent == 0 {
            log(fraction)
        } else {
            log(fraction) + log(2.0) * exponent as f64
        });
    }
    let value = real_argument(arguments, nth)?;
    if value <= 0.0 {
        return Err(domain_error());
    }
    Ok(log(value))
}

fn call_pow<V: Object>(arguments: &[V]) -> Result<V, Error> {
    let (a, b) = (real_argument(arguments, 0)?, real_argument(arguments, 1)?);
    let value = a.powf(b);
    if a.is_finite() && b.is_finite() {
        if value.is_nan() || (a == 0.0 && value.is_infinite()) {
            return Err(domain_error());
        }
        if value.is_infinite() {
            return Err(range_error());
        }
    }
    V::from_plain(Plain::Float(value))
}

fn call_prod<V: Object>(arguments: &[V], spend: Spend<'_>) -> Result<V, Error> {
    let mut product = match arguments.get(1) {
        Some(start) => start.clone(),
        None => V::from_plain(Plain::Int(Int::from(1)))?,
    };
    for item in items_of(arguments, 0, spend)? {
        spend(product.weight())?;
        product = operator::apply_binary(Operator::Mult, &product, &item)?;
    }
    Ok(product)
}
