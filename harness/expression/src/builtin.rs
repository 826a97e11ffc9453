//! Functions and constants that every expression can use: Python's builtins, and the supported names of `torch`,
//! `triton`, `triton.language` and `math`.

use std::ops::Range;

use cerith_python::builtin::{Builtin, Builtins, NAMES};
use cerith_python::math::{self, Math};
use cerith_python::{Error, ErrorKind, Int, Object as _, Reason};
use cerith_tile::DType;

use crate::arguments::{Argument, Arguments, Parameter, reject_unknown};
use crate::error::ExprError;
use crate::value::Value;
use crate::work::Work;
use crate::{method, operator};

/// A module whose attributes expressions use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Module {
    Torch,
    Triton,
    Language,
    Math,
}

impl Module {
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "torch" => Self::Torch,
            "triton" => Self::Triton,
            "tl" => Self::Language,
            "math" => Self::Math,
            _ => return None,
        })
    }

    pub fn find_submodule(self, name: &str) -> Option<Self> {
        (self == Self::Triton && name == "language").then_some(Self::Language)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Torch => "torch",
            Self::Triton => "triton",
            Self::Language => "triton.language",
            Self::Math => "math",
        }
    }
}

/// Triton's functions beside Python's.
const TRITON: [&str; 2] = ["cdiv", "next_power_of_2"];

/// Whether a name has a meaning of its own in every expression, so that no tensor or variable may be called that.
pub fn is_reserved(name: &str) -> bool {
    NAMES.contains(&name)
        || TRITON.contains(&name)
        || Module::from_name(name).is_some()
        || value_of(name).is_some()
}

/// The value of a bare reserved name.
pub(crate) fn value_of(name: &str) -> Option<Value> {
    match name {
        "inf" => Some(Value::Float(f64::INFINITY)),
        "nan" => Some(Value::Float(f64::NAN)),
        // `int`, `float` and `bool` are functions first; as a dtype they are torch's (`torch.int`).
        _ => name.parse().ok().filter(|_| name != "bool").map(Value::DType),
    }
}

/// `module.name`.
pub(crate) fn find_constant(module: Module, name: &str, range: &Range<usize>) -> Result<Value, ExprError> {
    let value = match (module, name) {
        (Module::Math, _) | (Module::Torch, "inf" | "nan" | "pi" | "e") => {
            math::find_constant(name).map(Value::Float)
        }
        (Module::Torch, _) => DType::from_torch_name(name).map(Value::DType),
        (Module::Language, _) => DType::ALL
            .into_iter()
            .find(|d| d.triton_name() == name)
            .map(Value::DType),
        _ => None,
    };
    value.ok_or_else(|| {
        let dtypes: Vec<&'static str> = match module {
            Module::Torch => DType::ALL.iter().filter_map(|dtype| dtype.torch_name()).collect(),
            Module::Language => DType::ALL.iter().map(|dtype| dtype.triton_name()).collect(),
            Module::Math => math::CONSTANTS.iter().map(|(name, _)| *name).collect(),
            Module::Triton => TRITON.to_vec(),
        };
        reject_unknown(
            range.clone(),
            format!("unknown name `{}.{name}`", module.name()),
            name,
            &dtypes,
        )
    })
}

/// `module.name(…)`.
pub(crate) fn module_call(
    work: &mut Work<'_>,
    module: Module,
    name: &str,
    at: &Range<usize>,
    mut arguments: Arguments,
) -> Result<Value, ExprError> {
    match module {
        Module::Triton | Module::Language if TRITON.contains(&name) => call(work, name, at, arguments),
        Module::Math => {
            if let Some(function) = Math::find(name) {
                return call_builtin(work, function, arguments);
            }
            let known: Vec<&'static str> = Math::<Value>::TABLE.iter().map(|known| known.name).collect();
            Err(reject_unknown(
                at.clone(),
                format!("unknown function `math.{name}`"),
                name,
                &known,
            ))
        }
        // `torch.narrow(x, …)` is `x.narrow(…)`.
        Module::Torch if method::is_method(name) && !arguments.positional.is_empty() => {
            let object = arguments.positional.remove(0);
            object.tensor()?;
            method::call(work, &object.value, name, at, arguments)
        }
        _ => {
            let known: &[&'static str] = match module {
                Module::Torch => &method::METHODS,
                _ => &TRITON,
            };
            Err(reject_unknown(
                at.clone(),
                format!("unknown function `{}.{name}`", module.name()),
                name,
                known,
            ))
        }
    }
}

fn to_int(argument: &Argument) -> Result<Int, ExprError> {
    argument.value.as_int().ok_or_else(|| {
        argument.to_error(format!(
            "expected an integer, found {}",
            argument.value.describe()
        ))
    })
}

/// `name(…)`.
pub(crate) fn call(
    work: &mut Work<'_>,
    name: &str,
    at: &Range<usize>,
    arguments: Arguments,
) -> Result<Value, ExprError> {
    if let Some(builtin) = Builtins::find(name) {
        return call_builtin(work, builtin, arguments);
    }
    let range = arguments.range.clone();
    let found = match name {
        "cdiv" => {
            let [x, y] = arguments.bind(["x", "y"])?;
            cdiv(&to_int(&x.required()?)?, &to_int(&y.required()?)?)
        }
        "next_power_of_2" => {
            let [n] = arguments.bind(["n"])?;
            next_power_of_2(&to_int(&n.required()?)?)
        }
        _ => {
            let mut known: Vec<&'static str> = NAMES.iter().chain(&TRITON).copied().collect();
            known.sort_unstable();
            return Err(reject_unknown(
                at.clone(),
                format!("unknown function `{name}`"),
                name,
                &known,
            ));
        }
    };
    found
        .and_then(|found| found.to_i128().ok_or_else(|| Error::wide_int(128)))
        .map(Value::Int)
        .map_err(|error| operator::convert_error(error, &range))
}

/// As Triton computes it, `(x + y - 1) // y`.
fn cdiv(x: &Int, y: &Int) -> Result<Int, Error> {
    let sum = x.checked_add(y)?.checked_sub(&Int::from(1))?;
    sum.floor_div_mod(y)
        .map(|(quotient, _)| quotient)
        .ok_or_else(|| Error::zero_division("division by zero"))
}

/// Triton's bit smearing of `n - 1` over 64 bits gives 0 for 0 and below.
fn next_power_of_2(n: &Int) -> Result<Int, Error> {
    if n.is_zero() || n.is_negative() {
        return Ok(Int::from(0));
    }
    let bits = n.checked_sub(&Int::from(1))?.bits();
    Int::from(1).shifted_left(&Int::from(i128::from(bits)))
}

/// A function of a table of Python's.
fn call_builtin(
    work: &mut Work<'_>,
    builtin: &Builtin<Value>,
    arguments: Arguments,
) -> Result<Value, ExprError> {
    let call = arguments.range.clone();
    let given = order_arguments(builtin, arguments)?;
    let (values, places): (Vec<Value>, Vec<Range<usize>>) = given
        .into_iter()
        .map(|argument| (argument.value, argument.range))
        .unzip();
    let found = builtin.call(&values, &mut |items| {
        work.spend(items, &call)
            .map_err(|error| Error::new(ErrorKind::Limit, Reason::Other, error.message))
    });
    found.map_err(|error| {
        let at = error
            .argument
            .and_then(|nth| values.get(nth).zip(places.get(nth)));
        match (error.reason, at) {
            (Reason::Empty, _) => ExprError::new(call.clone(), format!("`{}` of nothing", builtin.name)),
            (Reason::Arguments, _) if values.is_empty() && matches!(builtin.name, "min" | "max") => {
                ExprError::new(call.clone(), format!("`{}` of nothing", builtin.name))
            }
            (Reason::Literal, Some((value, range))) => {
                let what = if builtin.name == "int" {
                    "an integer"
                } else {
                    "a float"
                };
                ExprError::new(range.clone(), format!("{} is not {what}", value.describe()))
            }
            (_, Some((value, range))) => operator::convert_value_error(error, value, range),
            (_, None) => operator::convert_error(error, &call),
        }
    })
}

/// The arguments in the order of the parameters.
fn order_arguments(builtin: &Builtin<Value>, arguments: Arguments) -> Result<Vec<Argument>, ExprError> {
    if builtin.parameters.is_empty() {
        if let Some((name, argument)) = arguments.keywords.first() {
            return Err(argument.to_error(format!("`{}` takes no keyword `{name}` here", arguments.callee)));
        }
        return Ok(arguments.positional);
    }
    let parameters = arguments.bind_all(builtin.parameters)?;
    let last = parameters.iter().rposition(Parameter::is_given);
    let count = last.map_or(0, |last| last + 1).max(builtin.required);
    // Parameters before a given one must be given too.
    parameters
        .into_iter()
        .take(count)
        .map(Parameter::required)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::arguments::dtype_of;
    use super::*;

    #[test]
    fn every_dtype_is_reserved_and_names_itself() {
        for dtype in DType::ALL {
            assert_eq!(value_of(dtype.name()), Some(Value::DType(dtype)));
            assert_eq!(dtype_of(dtype.name()), Some(dtype));
            assert!(is_reserved(dtype.name()));
        }
        assert!(!is_reserved("left"));
    }
}
