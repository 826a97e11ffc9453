//! Elementwise functions: `tl.math`, extrema, and Python's `min` and `max`.

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Elem, OpKind, UnaryOp, ValueId};
use cerith_tile::quirk::Quirk;
use cerith_tile::rules::Rule;

use super::argument::{at, flag, items, number_or_tensor, to_tensor};
use super::{Row, row};
use crate::constant;
use crate::semantic::arithmetic::{clamp, elementwise, extremum, fdiv, fma, function_operands};
use crate::semantic::cast::bitcast;
use crate::semantic::promotion::{Operand, is_signed, shown};
use crate::tracer::{Traced, Tracer};
use crate::value::{Constant, Value};

const SINGLE_DOUBLE: &[DType] = &[DType::F32, DType::F64];
const SINGLE: &[DType] = &[DType::F32];
const WIDE_INTS: &[DType] = &[DType::I32, DType::I64, DType::U32, DType::U64];

/// A function of one float that is a method too.
macro_rules! unary {
    ($name:literal, $op:ident, $dtypes:ident) => {
        row(concat!("tl.math.", $name, "(x)"), |tr, args| {
            one(tr, UnaryOp::$op, $dtypes, at(args, 0))
        })
        .method()
    };
}

pub(super) const ROWS: &[Row] = &[
    unary!("exp", Exp, SINGLE_DOUBLE),
    unary!("exp2", Exp2, SINGLE_DOUBLE),
    unary!("log", Log, SINGLE_DOUBLE),
    unary!("log2", Log2, SINGLE_DOUBLE),
    unary!("cos", Cos, SINGLE_DOUBLE),
    unary!("sin", Sin, SINGLE_DOUBLE),
    unary!("sqrt", Sqrt, SINGLE_DOUBLE),
    unary!("sqrt_rn", SqrtRn, SINGLE),
    unary!("rsqrt", Rsqrt, SINGLE_DOUBLE),
    unary!("erf", Erf, SINGLE_DOUBLE),
    unary!("floor", Floor, SINGLE_DOUBLE),
    unary!("ceil", Ceil, SINGLE_DOUBLE),
    row("tl.math.abs(x)", |tr, args| absolute(tr, at(args, 0))).method(),
    row("tl.math.umulhi(x, y)", |tr, args| {
        let (x, y) = checked_pair(tr, args, WIDE_INTS)?;
        high_product(tr, x, y).map(Value::Tensor)
    }),
    row("tl.math.fdiv(x, y, ieee_rounding=False)", |tr, args| {
        let (x, y) = (
            number_or_tensor(tr, at(args, 0))?,
            number_or_tensor(tr, at(args, 1))?,
        );
        let ieee = flag(tr, at(args, 2), "ieee_rounding")?;
        fdiv(tr, x, y, ieee).map(Value::Tensor)
    })
    .until(3, 9, 0)
    .method(),
    row(
        "tl.math.fdiv(x, y, ieee_rounding=False, approx=False)",
        |tr, args| {
            let (x, y) = (
                number_or_tensor(tr, at(args, 0))?,
                number_or_tensor(tr, at(args, 1))?,
            );
            let (ieee, approx) = (
                flag(tr, at(args, 2), "ieee_rounding")?,
                flag(tr, at(args, 3), "approx")?,
            );
            if ieee && approx {
                return Err(tr.reject("approx and ieee_rounding cannot both be True"));
            }
            let quotient = fdiv(tr, x, y, ieee)?;
            if approx && tr.dtype(quotient) != Some(DType::F32) {
                return Err(tr.reject("approx division requires float32 operands"));
            }
            Ok(Value::Tensor(quotient))
        },
    )
    .since(3, 9, 0),
    row("tl.math.div_rn(x, y)", |tr, args| {
        let (x, y) = checked_pair(tr, args, SINGLE)?;
        let quotient = elementwise(tr, BinaryOp::DivRn, x, y)?;
        if !tr.dtype(quotient).is_some_and(DType::is_float) {
            return Err(tr.reject("div_rn of integers: only floats"));
        }
        Ok(Value::Tensor(quotient))
    }),
    row("tl.math.fma(x, y, z)", |tr, args| {
        let operands = three(tr, args)?;
        fma(tr, operands).map(Value::Tensor)
    }),
    row(
        "tl.minimum(x, y, propagate_nan='PropagateNan.NONE')",
        |tr, args| extreme(tr, args, false),
    ),
    row(
        "tl.maximum(x, y, propagate_nan='PropagateNan.NONE')",
        |tr, args| extreme(tr, args, true),
    ),
    row(
        "tl.clamp(x, min, max, propagate_nan='PropagateNan.NONE')",
        |tr, args| {
            let operands = three(tr, args)?;
            let nan = propagates(at(args, 3));
            clamp(tr, operands, nan).map(Value::Tensor)
        },
    ),
];

/// Python's own functions.
pub(super) static PYTHON: &[Row] = &[
    row("min(*args, propagate_nan='PropagateNan.NONE')", |tr, args| {
        python_extreme(tr, args, false)
    }),
    row("max(*args, propagate_nan='PropagateNan.NONE')", |tr, args| {
        python_extreme(tr, args, true)
    }),
];

fn three(tr: &Tracer<'_>, args: &[Value]) -> Traced<[Operand; 3]> {
    Ok([
        number_or_tensor(tr, at(args, 0))?,
        number_or_tensor(tr, at(args, 1))?,
        number_or_tensor(tr, at(args, 2))?,
    ])
}

/// Refuses tensors of other dtypes, as Triton's `_check_dtype` does; numbers are not looked at.
fn check(tr: &Tracer<'_>, value: &Value, dtypes: &[DType]) -> Traced<()> {
    let Value::Tensor(id) = value else { return Ok(()) };
    let elem = tr.ty(*id).elem;
    if elem.num().is_some_and(|dtype| dtypes.contains(&dtype)) {
        return Ok(());
    }
    let names: Vec<String> = dtypes
        .iter()
        .map(|&dtype| format!("'{}'", shown(dtype)))
        .collect();
    let got = crate::semantic::cast::elem_shown(elem);
    Err(tr.reject(format!("expected dtype [{}] but got {got}", names.join(", "))))
}

fn checked_pair(tr: &Tracer<'_>, args: &[Value], dtypes: &[DType]) -> Traced<(Operand, Operand)> {
    check(tr, at(args, 0), dtypes)?;
    check(tr, at(args, 1), dtypes)?;
    Ok((
        number_or_tensor(tr, at(args, 0))?,
        number_or_tensor(tr, at(args, 1))?,
    ))
}

fn one(tr: &mut Tracer<'_>, op: UnaryOp, dtypes: &[DType], x: &Value) -> Traced<Value> {
    check(tr, x, dtypes)?;
    let x = to_tensor(tr, x)?;
    let ty = tr.ty(x).clone();
    match ty.elem.num() {
        Some(dtype) if dtype.is_float() => Ok(Value::Tensor(tr.op(OpKind::Unary(op), &[x], ty))),
        _ => {
            let got = crate::semantic::cast::elem_shown(ty.elem);
            Err(tr.reject(format!("{} of {got}: only floats", op.name())))
        }
    }
}

fn absolute(tr: &mut Tracer<'_>, x: &Value) -> Traced<Value> {
    let x = to_tensor(tr, x)?;
    let ty = tr.ty(x).clone();
    match ty.elem.num() {
        Some(dtype) if dtype.is_float() || is_signed(dtype) => {
            Ok(Value::Tensor(tr.op(OpKind::Unary(UnaryOp::Abs), &[x], ty)))
        }
        Some(_) => Ok(Value::Tensor(x)),
        None => Err(tr.reject("abs of pointers")),
    }
}

/// The high half of the unsigned product, whatever the signedness.
fn high_product(tr: &mut Tracer<'_>, x: Operand, y: Operand) -> Traced<ValueId> {
    let (x, y) = function_operands(tr, x, y, crate::semantic::arithmetic::Check::default())?;
    let ty = tr.ty(x).clone();
    let unsigned = match ty.elem {
        Elem::Num(DType::I32) => DType::U32,
        Elem::Num(DType::I64) => DType::U64,
        Elem::Num(dtype @ (DType::U32 | DType::U64)) => dtype,
        other => {
            let got = crate::semantic::cast::elem_shown(other);
            return Err(tr.reject(format!("umulhi of {got}: only 32- and 64-bit integers")));
        }
    };
    let (x, y) = (
        bitcast(tr, x, Elem::Num(unsigned))?,
        bitcast(tr, y, Elem::Num(unsigned))?,
    );
    let wide = tr.ty(x).clone();
    let product = tr.op(OpKind::Binary(BinaryOp::MulHi), &[x, y], wide);
    bitcast(tr, product, ty.elem)
}

/// Reads `propagate_nan`; `None` is something else.
fn propagates(value: &Value) -> Option<bool> {
    match value {
        Value::Constant(Constant::Str(name)) if &**name == "PropagateNan.ALL" => Some(true),
        Value::Constant(Constant::Str(name)) if &**name == "PropagateNan.NONE" => Some(false),
        _ => None,
    }
}

fn extreme(tr: &mut Tracer<'_>, args: &[Value], larger: bool) -> Traced<Value> {
    let (x, y) = (
        number_or_tensor(tr, at(args, 0))?,
        number_or_tensor(tr, at(args, 1))?,
    );
    let nan = propagates(at(args, 2));
    extremum(tr, larger, x, y, nan).map(Value::Tensor)
}

/// `min` and `max`: of numbers alone Python's, else the tensors' one after the other. Before 3.6 they were
/// `tl.minimum` and `tl.maximum`.
fn python_extreme(tr: &mut Tracer<'_>, args: &[Value], larger: bool) -> Traced<Value> {
    let name = if larger { "max" } else { "min" };
    let values = items(at(args, 0));
    let nan = propagates(at(args, 1));
    if tr.rules.follows(Quirk::BlocksAreTrue)
        && let [first, rest @ ..] = values
        && values.iter().any(|value| is_of_several(tr, value))
    {
        return taken_for_true(tr, first, rest, larger);
    }
    if !tr.rules.holds(Rule::CompileTimeExtrema) {
        // A third value is taken for `propagate_nan`.
        return match values {
            [x, y] => extreme(tr, &[x.clone(), y.clone(), at(args, 1).clone()], larger),
            [x, y, nan] => extreme(tr, &[x.clone(), y.clone(), nan.clone()], larger),
            _ => Err(tr.reject(format!("{name} takes 2 values"))),
        };
    }
    let flat = match values {
        [only @ (Value::Tuple { .. } | Value::List(_))] => items(only),
        all => all,
    };
    let constants: Option<Vec<&Constant>> = flat
        .iter()
        .map(|value| match value {
            Value::Constant(constant) => Some(constant),
            _ => None,
        })
        .collect();
    if let Some(constants) = constants {
        return constant_extreme(tr, name, &constants, larger);
    }
    let [first, rest @ ..] = values else {
        return Err(tr.reject(format!("{name} requires at least 2 values")));
    };
    let mut best = number_or_tensor(tr, first)?;
    for value in rest {
        let next = number_or_tensor(tr, value)?;
        best = Operand::Tensor(extremum(tr, larger, best, next, nan)?);
    }
    match best {
        Operand::Tensor(id) if !rest.is_empty() => Ok(Value::Tensor(id)),
        _ => Err(tr.reject(format!("{name} requires at least 2 values"))),
    }
}

fn is_of_several(tr: &Tracer<'_>, value: &Value) -> bool {
    matches!(value, Value::Tensor(id) if tr.ty(*id).numel() > 1)
}

/// Python's `min` and `max`, which ask for the truth of a comparison: that of blocks is true.
fn taken_for_true(tr: &mut Tracer<'_>, first: &Value, rest: &[Value], larger: bool) -> Traced<Value> {
    let mut best = first.clone();
    for next in rest {
        if is_of_several(tr, &best) || is_of_several(tr, next) {
            best = next.clone();
            continue;
        }
        let (one, other) = (number_or_tensor(tr, &best)?, number_or_tensor(tr, next)?);
        best = Value::Tensor(extremum(tr, larger, one, other, None)?);
    }
    Ok(best)
}

fn constant_extreme(tr: &Tracer<'_>, name: &str, values: &[&Constant], larger: bool) -> Traced<Value> {
    let forbidden = |value: &Constant| match value {
        Constant::Float(float) => float.is_nan() || *float == 0.0 && float.is_sign_negative(),
        _ => false,
    };
    if values.iter().any(|value| forbidden(value)) {
        return Err(tr.reject(format!(
            "constexpr {name} does not support NaN values and negative zero"
        )));
    }
    let Some((first, rest)) = values.split_first() else {
        return Err(tr.reject(format!("{name} requires at least 1 value")));
    };
    let predicate = if larger {
        cerith_tile::ir::CmpPredicate::Gt
    } else {
        cerith_tile::ir::CmpPredicate::Lt
    };
    let mut best = *first;
    for &value in rest {
        let better = constant::compare(predicate, value, best).map_err(|failure| tr.failure(failure))?;
        best = if better { value } else { best };
    }
    Ok(Value::Constant(best.clone()))
}
