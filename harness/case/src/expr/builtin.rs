//! Functions and constants that an expression finds without being told: Python's builtins and what is used of
//! `torch`, `triton`, `triton.language` and `math`.

use std::cmp::Ordering;
use std::ops::Range;

use super::arguments::{Argument, Arguments, unknown};
use super::eval::Evaluator;
use super::operator::{self, Scalar};
use super::{ExprError, Value, method};
use cerith_tile::DType;

/// A module whose attributes expressions use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Module {
    Torch,
    Triton,
    Language,
    Math,
}

impl Module {
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "torch" => Self::Torch,
            "triton" => Self::Triton,
            "tl" => Self::Language,
            "math" => Self::Math,
            _ => return None,
        })
    }

    pub fn submodule(self, name: &str) -> Option<Self> {
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

const FUNCTIONS: [&str; 23] = [
    "abs",
    "all",
    "any",
    "bool",
    "cdiv",
    "divmod",
    "enumerate",
    "float",
    "int",
    "len",
    "list",
    "max",
    "min",
    "next_power_of_2",
    "pow",
    "range",
    "reversed",
    "round",
    "sorted",
    "str",
    "sum",
    "tuple",
    "zip",
];

const MATH: [&str; 11] = [
    "ceil", "copysign", "exp2", "fabs", "floor", "gcd", "isinf", "isnan", "log2", "prod", "sqrt",
];

/// Whether a name has a meaning of its own in every expression, so that no tensor or variable may be called that.
pub fn is_reserved(name: &str) -> bool {
    FUNCTIONS.contains(&name) || Module::named(name).is_some() || value_of(name).is_some()
}

/// What a bare reserved name stands for.
pub(super) fn value_of(name: &str) -> Option<Value> {
    match name {
        "inf" => Some(Value::Float(f64::INFINITY)),
        "nan" => Some(Value::Float(f64::NAN)),
        // `int`, `float` and `bool` are functions first; as a dtype they are torch's (`torch.int`).
        _ => name.parse().ok().filter(|_| name != "bool").map(Value::DType),
    }
}

/// `module.name`.
pub(super) fn constant(module: Module, name: &str, range: &Range<usize>) -> Result<Value, ExprError> {
    let value = match (module, name) {
        (Module::Math | Module::Torch, "inf") => Some(Value::Float(f64::INFINITY)),
        (Module::Math | Module::Torch, "nan") => Some(Value::Float(f64::NAN)),
        (Module::Math | Module::Torch, "pi") => Some(Value::Float(std::f64::consts::PI)),
        (Module::Math | Module::Torch, "e") => Some(Value::Float(std::f64::consts::E)),
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
            Module::Math => vec!["e", "inf", "nan", "pi"],
            Module::Triton => vec!["cdiv", "next_power_of_2"],
        };
        unknown(
            range.clone(),
            format!("unknown name `{}.{name}`", module.name()),
            name,
            &dtypes,
        )
    })
}

/// `module.name(…)`.
pub(super) fn module_call(
    eval: &mut Evaluator<'_>,
    module: Module,
    name: &str,
    at: &Range<usize>,
    mut arguments: Arguments,
) -> Result<Value, ExprError> {
    match module {
        Module::Triton | Module::Language if name == "cdiv" || name == "next_power_of_2" => {
            call(eval, name, at, arguments)
        }
        Module::Math => math(eval, name, at, arguments),
        // `torch.narrow(x, …)` is `x.narrow(…)`.
        Module::Torch if method::is_method(name) && !arguments.positional.is_empty() => {
            let object = arguments.positional.remove(0);
            object.tensor()?;
            method::call(eval, &object.value, name, at, arguments)
        }
        _ => {
            let known: &[&'static str] = match module {
                Module::Torch => &method::METHODS,
                _ => &["cdiv", "next_power_of_2"],
            };
            Err(unknown(
                at.clone(),
                format!("unknown function `{}.{name}`", module.name()),
                name,
                known,
            ))
        }
    }
}

fn int(argument: &Argument) -> Result<i128, ExprError> {
    match Scalar::of(&argument.value) {
        Some(Scalar::Int(int)) => Ok(int),
        _ => Err(argument.error(format!(
            "expected an integer, found {}",
            argument.value.described()
        ))),
    }
}

fn number(argument: &Argument) -> Result<Scalar, ExprError> {
    Scalar::of(&argument.value)
        .ok_or_else(|| argument.error(format!("expected a number, found {}", argument.value.described())))
}

/// `floor` and `ceil` of a float as an integer.
fn whole(float: f64, argument: &Argument) -> Result<Value, ExprError> {
    if float.is_nan() || float.abs() >= 2f64.powi(126) {
        return Err(argument.error(format!("{float} is no integer of 128 bits")));
    }
    Ok(Value::Int(float as i128))
}

/// A function over one sequence or over its arguments, `min` say.
fn operands(eval: &mut Evaluator<'_>, arguments: &Arguments) -> Result<Vec<Value>, ExprError> {
    if let Some((name, argument)) = arguments.keywords.first() {
        return Err(argument.error(format!("`{}` takes no keyword `{name}` here", arguments.callee)));
    }
    match &arguments.positional[..] {
        [one] => eval.items(&one.value, &one.range),
        many => Ok(many.iter().map(|argument| argument.value.clone()).collect()),
    }
}

/// `name(…)`.
pub(super) fn call(
    eval: &mut Evaluator<'_>,
    name: &str,
    at: &Range<usize>,
    arguments: Arguments,
) -> Result<Value, ExprError> {
    let range = arguments.range.clone();
    let too_wide = || operator::too_wide(&range);
    Ok(match name {
        "min" | "max" => {
            let wanted = if name == "min" {
                Ordering::Less
            } else {
                Ordering::Greater
            };
            let items = operands(eval, &arguments)?;
            let mut items = items.into_iter();
            let Some(mut best) = items.next() else {
                return Err(arguments.error(format!("`{name}` of nothing")));
            };
            for item in items {
                if operator::order(&item, &best, &range)? == Some(wanted) {
                    best = item;
                }
            }
            best
        }
        "len" => {
            let [object] = arguments.bind(["obj"])?;
            let object = object.required()?;
            let len = match &object.value {
                Value::Str(text) => text.chars().count() as i128,
                Value::List(items) | Value::Tuple(items) => items.len() as i128,
                Value::Tensor(tensor) => match tensor.shape.first() {
                    Some(&rows) => i128::from(rows),
                    None => return Err(object.error("len() of a 0-d tensor")),
                },
                other => return Err(object.error(format!("{} has no length", other.described()))),
            };
            Value::Int(len)
        }
        "abs" => {
            let [x] = arguments.bind(["x"])?;
            match number(&x.required()?)? {
                Scalar::Int(int) => Value::Int(int.checked_abs().ok_or_else(too_wide)?),
                Scalar::Float(float) => Value::Float(float.abs()),
            }
        }
        "int" => {
            let [x] = arguments.bind(["x"])?;
            let x = x.required()?;
            match (&x.value, Scalar::of(&x.value)) {
                (_, Some(Scalar::Int(int))) => Value::Int(int),
                (_, Some(Scalar::Float(float))) => whole(float.trunc(), &x)?,
                (Value::Str(text), _) => text
                    .trim()
                    .replace('_', "")
                    .parse()
                    .map(Value::Int)
                    .map_err(|_| x.error(format!("{} is no integer", x.value.described())))?,
                _ => return Err(x.error(format!("{} is no number", x.value.described()))),
            }
        }
        "float" => {
            let [x] = arguments.bind(["x"])?;
            let x = x.required()?;
            match &x.value {
                Value::Str(text) => text
                    .trim()
                    .parse()
                    .map(Value::Float)
                    .map_err(|_| x.error(format!("{} is no float", x.value.described())))?,
                _ => Value::Float(number(&x)?.as_f64()),
            }
        }
        "bool" => {
            let [x] = arguments.bind(["x"])?;
            let x = x.required()?;
            Value::Bool(operator::truth(&x.value, &x.range)?)
        }
        "str" => {
            let [x] = arguments.bind(["x"])?;
            match x.required()?.value {
                Value::Str(text) => Value::Str(text),
                other => Value::Str(other.to_string()),
            }
        }
        "list" | "tuple" => {
            let [items] = arguments.bind(["iterable"])?;
            let items = match items.given() {
                Some(items) => eval.items(&items.value, &items.range)?,
                None => Vec::new(),
            };
            if name == "list" {
                Value::List(items)
            } else {
                Value::Tuple(items)
            }
        }
        "reversed" | "sorted" => {
            let [items] = arguments.bind(["iterable"])?;
            let items = items.required()?;
            let mut items = eval.items(&items.value, &items.range)?;
            if name == "reversed" {
                items.reverse();
            } else {
                let mut wrong = None;
                items.sort_by(|a, b| match operator::order(a, b, &range) {
                    Ok(order) => order.unwrap_or(Ordering::Equal),
                    Err(error) => {
                        wrong.get_or_insert(error);
                        Ordering::Equal
                    }
                });
                if let Some(error) = wrong {
                    return Err(error);
                }
            }
            Value::List(items)
        }
        "all" | "any" => {
            let [items] = arguments.bind(["iterable"])?;
            let items = items.required()?;
            let wanted = name == "any";
            for item in eval.items(&items.value, &items.range)? {
                if operator::truth(&item, &range)? == wanted {
                    return Ok(Value::Bool(wanted));
                }
            }
            Value::Bool(!wanted)
        }
        "enumerate" => {
            let [items, start] = arguments.bind(["iterable", "start"])?;
            let start = start.int_or(0)?;
            let items = items.required()?;
            let items = eval.items(&items.value, &items.range)?;
            Value::List(
                (i128::from(start)..)
                    .zip(items)
                    .map(|(nth, item)| Value::Tuple(vec![Value::Int(nth), item]))
                    .collect(),
            )
        }
        "zip" => {
            let mut columns = Vec::new();
            for argument in &arguments.positional {
                columns.push(eval.items(&argument.value, &argument.range)?.into_iter());
            }
            let mut rows = Vec::new();
            while !columns.is_empty() {
                let row: Vec<Value> = columns.iter_mut().filter_map(Iterator::next).collect();
                if row.len() < columns.len() {
                    break;
                }
                rows.push(Value::Tuple(row));
            }
            Value::List(rows)
        }
        "range" => range_list(eval, &arguments)?,
        "sum" => {
            let [items, start] = arguments.bind(["iterable", "start"])?;
            let items = items.required()?;
            let mut total = start.given().map_or(Value::Int(0), |start| start.value);
            for item in eval.items(&items.value, &items.range)? {
                eval.spend(total.weight(), &range)?;
                total = operator::binary(ruff_python_ast::Operator::Add, &total, &item, &range)?;
            }
            total
        }
        "round" => {
            let [x, digits] = arguments.bind(["number", "ndigits"])?;
            let x = x.required()?;
            if let Some(digits) = digits.given() {
                return Err(digits.error("`round` to decimal digits is not part of the language"));
            }
            match number(&x)? {
                Scalar::Int(int) => Value::Int(int),
                Scalar::Float(float) => whole(float.round_ties_even(), &x)?,
            }
        }
        "pow" | "divmod" => {
            let [a, b] = arguments.bind(["a", "b"])?;
            let (a, b) = (a.required()?.value, b.required()?.value);
            let apply = |op| operator::binary(op, &a, &b, &range);
            if name == "pow" {
                apply(ruff_python_ast::Operator::Pow)?
            } else {
                Value::Tuple(vec![
                    apply(ruff_python_ast::Operator::FloorDiv)?,
                    apply(ruff_python_ast::Operator::Mod)?,
                ])
            }
        }
        "cdiv" => {
            let [x, y] = arguments.bind(["x", "y"])?;
            let (x, y) = (int(&x.required()?)?, int(&y.required()?)?);
            if y == 0 {
                return Err(ExprError::new(range, "division by zero"));
            }
            // As Triton computes it, `(x + y - 1) // y`.
            let sum = x.checked_add(y).and_then(|sum| sum.checked_sub(1));
            let quotient = sum
                .and_then(|sum| operator::floor_div_mod(sum, y))
                .ok_or_else(too_wide)?;
            Value::Int(quotient.0)
        }
        "next_power_of_2" => {
            let [n] = arguments.bind(["n"])?;
            let n = int(&n.required()?)?;
            // Triton's bit smearing of `n - 1` over 64 bits gives 0 for 0 and below.
            let power = if n <= 0 {
                Some(0)
            } else {
                (n as u128).checked_next_power_of_two()
            };
            Value::Int(
                power
                    .and_then(|power| i128::try_from(power).ok())
                    .ok_or_else(too_wide)?,
            )
        }
        _ => {
            return Err(unknown(
                at.clone(),
                format!("unknown function `{name}`"),
                name,
                &FUNCTIONS,
            ));
        }
    })
}

fn range_list(eval: &mut Evaluator<'_>, arguments: &Arguments) -> Result<Value, ExprError> {
    if let Some((name, argument)) = arguments.keywords.first() {
        return Err(argument.error(format!("`range` takes no keyword `{name}`")));
    }
    let bounds = arguments
        .positional
        .iter()
        .map(int)
        .collect::<Result<Vec<_>, _>>()?;
    let (start, stop, step) = match bounds[..] {
        [stop] => (0, stop, 1),
        [start, stop] => (start, stop, 1),
        [_, _, 0] => return Err(arguments.error("range() arg 3 must not be zero")),
        [start, stop, step] => (start, stop, step),
        _ => return Err(arguments.error("`range` takes one to three integers")),
    };
    let span = if step > 0 {
        stop.checked_sub(start)
    } else {
        start.checked_sub(stop)
    };
    let span = span
        .ok_or_else(|| operator::too_wide(&arguments.range))?
        .max(0)
        .unsigned_abs();
    let count = usize::try_from(span.div_ceil(step.unsigned_abs())).unwrap_or(usize::MAX);
    eval.spend(count, &arguments.range)?;
    Ok(Value::List(
        (0..count as i128)
            .map(|nth| Value::Int(start + nth * step))
            .collect(),
    ))
}

fn math(
    eval: &mut Evaluator<'_>,
    name: &str,
    at: &Range<usize>,
    arguments: Arguments,
) -> Result<Value, ExprError> {
    let range = arguments.range.clone();
    if !MATH.contains(&name) {
        return Err(unknown(
            at.clone(),
            format!("unknown function `math.{name}`"),
            name,
            &MATH,
        ));
    }
    if name == "prod" {
        let mut product = Value::Int(1);
        for item in operands(eval, &arguments)? {
            product = operator::binary(ruff_python_ast::Operator::Mult, &product, &item, &range)?;
        }
        return Ok(product);
    }
    if let "gcd" | "copysign" = name {
        let [a, b] = arguments.bind(["a", "b"])?;
        let (a, b) = (a.required()?, b.required()?);
        if name == "copysign" {
            return Ok(Value::Float(number(&a)?.as_f64().copysign(number(&b)?.as_f64())));
        }
        let (mut a, mut b) = (int(&a)?.unsigned_abs(), int(&b)?.unsigned_abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        return i128::try_from(a)
            .map(Value::Int)
            .map_err(|_| operator::too_wide(&range));
    }
    let [x] = arguments.bind(["x"])?;
    let x = x.required()?;
    let scalar = number(&x)?;
    let float = scalar.as_f64();
    let domain = || ExprError::new(range, "math domain error");
    Ok(match name {
        "floor" | "ceil" if matches!(scalar, Scalar::Int(_)) => x.value,
        "floor" => whole(float.floor(), &x)?,
        "ceil" => whole(float.ceil(), &x)?,
        "isnan" => Value::Bool(float.is_nan()),
        "isinf" => Value::Bool(float.is_infinite()),
        "fabs" => Value::Float(float.abs()),
        "exp2" => Value::Float(float.exp2()),
        "sqrt" if float < 0.0 => return Err(domain()),
        "sqrt" => Value::Float(float.sqrt()),
        _ if float <= 0.0 => return Err(domain()),
        _ => Value::Float(float.log2()),
    })
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
