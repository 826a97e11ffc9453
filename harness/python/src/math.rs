//! The functions and numbers of Python's `math`, as tables.

use ruff_python_ast::Operator;

use crate::builtin::{Builtin, Spend, entry, items_of, miscounted, no_index};
use crate::error::{Error, ErrorKind, Reason};
use crate::float;
use crate::int::Int;
use crate::object::{Object, Plain};
use crate::operator;

/// The numbers of `math`, by name.
pub const CONSTANTS: &[(&str, f64)] = &[
    ("e", std::f64::consts::E),
    ("inf", f64::INFINITY),
    ("nan", f64::NAN),
    ("pi", std::f64::consts::PI),
    ("tau", std::f64::consts::TAU),
];

/// The number of `math` that a name is.
pub fn constant(name: &str) -> Option<f64> {
    CONSTANTS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, value)| *value)
}

/// The table of a type of values.
pub struct Math<V>(std::marker::PhantomData<V>);

impl<V: Object + 'static> Math<V> {
    /// The functions of `math`, by name.
    pub const TABLE: &'static [Builtin<V>] = &[
        entry("ceil", &["x"], 1, |arguments, _| whole(arguments, f64::ceil)),
        entry("copysign", &["x", "y"], 2, |arguments, _| {
            V::plain(Plain::Float(real(arguments, 0)?.copysign(real(arguments, 1)?)))
        }),
        entry("exp", &["x"], 1, |arguments, _| within(arguments, f64::exp)),
        entry("exp2", &["x"], 1, |arguments, _| within(arguments, f64::exp2)),
        entry("fabs", &["x"], 1, |arguments, _| {
            V::plain(Plain::Float(real(arguments, 0)?.abs()))
        }),
        entry("floor", &["x"], 1, |arguments, _| whole(arguments, f64::floor)),
        entry("gcd", &[], 0, gcd),
        entry("isinf", &["x"], 1, |arguments, _| {
            V::plain(Plain::Bool(real(arguments, 0)?.is_infinite()))
        }),
        entry("isnan", &["x"], 1, |arguments, _| {
            V::plain(Plain::Bool(real(arguments, 0)?.is_nan()))
        }),
        entry("log", &["x", "base"], 1, |arguments, _| {
            let value = logarithm(arguments, 0, f64::ln)?;
            if arguments.len() < 2 {
                return V::plain(Plain::Float(value));
            }
            let base = logarithm(arguments, 1, f64::ln)?;
            if base == 0.0 {
                return Err(Error::zero_division("float division by zero"));
            }
            V::plain(Plain::Float(value / base))
        }),
        entry("log10", &["x"], 1, |arguments, _| {
            V::plain(Plain::Float(logarithm(arguments, 0, f64::log10)?))
        }),
        entry("log2", &["x"], 1, |arguments, _| {
            V::plain(Plain::Float(logarithm(arguments, 0, f64::log2)?))
        }),
        entry("pow", &["x", "y"], 2, |arguments, _| power(arguments)),
        entry("prod", &["iterable", "start"], 1, prod),
        entry("sqrt", &["x"], 1, |arguments, _| {
            let value = real(arguments, 0)?;
            if value < 0.0 {
                return Err(domain());
            }
            V::plain(Plain::Float(value.sqrt()))
        }),
        entry("trunc", &["x"], 1, |arguments, _| {
            whole(arguments, f64::trunc).map_err(|mut error| {
                if error.reason == Reason::Argument && error.kind == ErrorKind::Type {
                    let name = arguments.first().map_or("", V::type_name);
                    error.text = format!("type {name} doesn't define __trunc__ method");
                }
                error
            })
        }),
    ];

    /// The function of a name.
    pub fn find(name: &str) -> Option<&'static Builtin<V>> {
        Self::TABLE.iter().find(|function| function.name == name)
    }
}

fn domain() -> Error {
    Error::of_value(Reason::Other, "math domain error")
}

fn range() -> Error {
    Error::overflow("math range error")
}

fn real<V: Object>(arguments: &[V], nth: usize) -> Result<f64, Error> {
    let value = arguments.get(nth).ok_or_else(miscounted)?;
    operator::to_float(value)
        .unwrap_or_else(|| {
            Err(Error::of_type(
                Reason::Argument,
                format!("must be real number, not {}", value.type_name()),
            ))
        })
        .map_err(|error| error.at(nth))
}

fn whole<V: Object>(arguments: &[V], cut: fn(f64) -> f64) -> Result<V, Error> {
    if let Some(value) = arguments.first().and_then(V::as_int) {
        return V::plain(Plain::Int(value));
    }
    let value = float::to_int(cut(real(arguments, 0)?)).map_err(|error| error.at(0))?;
    V::plain(Plain::Int(value))
}

/// A function whose result is infinite only where its argument is.
fn within<V: Object>(arguments: &[V], function: fn(f64) -> f64) -> Result<V, Error> {
    let value = real(arguments, 0)?;
    let result = function(value);
    if result.is_infinite() && value.is_finite() {
        return Err(range());
    }
    V::plain(Plain::Float(result))
}

fn gcd<V: Object>(arguments: &[V], _: Spend<'_>) -> Result<V, Error> {
    let mut divisor = Int::from(0);
    for (nth, argument) in arguments.iter().enumerate() {
        let mut other = argument
            .as_int()
            .ok_or_else(|| no_index(argument).at(nth))?
            .magnitude()?;
        while let Some((_, rest)) = divisor.floor_div_mod(&other) {
            divisor = std::mem::replace(&mut other, rest);
        }
    }
    V::plain(Plain::Int(divisor))
}

/// The logarithm of a number, also of an integer that is no float.
fn logarithm<V: Object>(arguments: &[V], nth: usize, log: fn(f64) -> f64) -> Result<f64, Error> {
    if let Some(int) = arguments.get(nth).and_then(V::as_int) {
        if int.is_negative() || int.is_zero() {
            return Err(domain());
        }
        let (fraction, exponent) = int.to_float().map_or_else(|_| int.scaled(), |float| (float, 0));
        return Ok(if exponent == 0 {
            log(fraction)
        } else {
            log(fraction) + log(2.0) * exponent as f64
        });
    }
    let value = real(arguments, nth)?;
    if value <= 0.0 {
        return Err(domain());
    }
    Ok(log(value))
}

fn power<V: Object>(arguments: &[V]) -> Result<V, Error> {
    let (a, b) = (real(arguments, 0)?, real(arguments, 1)?);
    let value = a.powf(b);
    if a.is_finite() && b.is_finite() {
        if value.is_nan() || (a == 0.0 && value.is_infinite()) {
            return Err(domain());
        }
        if value.is_infinite() {
            return Err(range());
        }
    }
    V::plain(Plain::Float(value))
}

fn prod<V: Object>(arguments: &[V], spend: Spend<'_>) -> Result<V, Error> {
    let mut product = match arguments.get(1) {
        Some(start) => start.clone(),
        None => V::plain(Plain::Int(Int::from(1)))?,
    };
    for item in items_of(arguments, 0, spend)? {
        spend(product.weight())?;
        product = operator::binary(Operator::Mult, &product, &item)?;
    }
    Ok(product)
}
