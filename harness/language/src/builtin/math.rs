//! Elementwise functions: `tl.math`, extrema, and Python's `min` and `max`.

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Elem, OpKind, UnaryOp, ValueId};
use cerith_tile::quirk::Quirk;
use cerith_tile::rules::Rule;

use super::argument::{expect_flag, get_argument, number_or_tensor, to_tensor};
use super::row::{Row, row};
use crate::constant::{self, Constant};
use crate::lowering::Lowering;
use crate::semantic::arithmetic::{clamp, fdiv, fma, function_operands, lower_elementwise, lower_extremum};
use crate::semantic::cast::bitcast;
use crate::semantic::promotion::{Operand, describe_dtype, is_signed};
use crate::semantic::types::as_items;
use crate::stop::Traced;
use crate::value::Value;

const SINGLE_DOUBLE: &[DType] = &[DType::F32, DType::F64];
const SINGLE: &[DType] = &[DType::F32];
const WIDE_INTS: &[DType] = &[DType::I32, DType::I64, DType::U32, DType::U64];

/// A function of one float that is a method too.
macro_rules! unary {
    ($name:literal, $op:ident, $dtypes:ident) => {
        row(concat!("tl.math.", $name, "(x)"), |lo, args| {
            lower_float_unary(lo, UnaryOp::$op, $dtypes, get_argument(args, 0))
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
    row("tl.math.abs(x)", |lo, args| lower_abs(lo, get_argument(args, 0))).method(),
    row("tl.math.umulhi(x, y)", |lo, args| {
        let (x, y) = checked_pair(lo, args, WIDE_INTS)?;
        high_product(lo, x, y).map(Value::Tensor)
    }),
    row("tl.math.fdiv(x, y, ieee_rounding=False)", |lo, args| {
        let (x, y) = (
            number_or_tensor(lo, get_argument(args, 0))?,
            number_or_tensor(lo, get_argument(args, 1))?,
        );
        let ieee = expect_flag(lo, get_argument(args, 2), "ieee_rounding")?;
        fdiv(lo, x, y, ieee).map(Value::Tensor)
    })
    .removed_in(3, 9, 0)
    .method(),
    row(
        "tl.math.fdiv(x, y, ieee_rounding=False, approx=False)",
        |lo, args| {
            let (x, y) = (
                number_or_tensor(lo, get_argument(args, 0))?,
                number_or_tensor(lo, get_argument(args, 1))?,
            );
            let (ieee, approx) = (
                expect_flag(lo, get_argument(args, 2), "ieee_rounding")?,
                expect_flag(lo, get_argument(args, 3), "approx")?,
            );
            if ieee && approx {
                return Err(lo.reject("approx and ieee_rounding cannot both be True"));
            }
            let quotient = fdiv(lo, x, y, ieee)?;
            if approx && lo.dtype(quotient) != Some(DType::F32) {
                return Err(lo.reject("approx division requires float32 operands"));
            }
            Ok(Value::Tensor(quotient))
        },
    )
    .since(3, 9, 0),
    row("tl.math.div_rn(x, y)", |lo, args| {
        let (x, y) = checked_pair(lo, args, SINGLE)?;
        let quotient = lower_elementwise(lo, BinaryOp::DivRn, x, y)?;
        if !lo.dtype(quotient).is_some_and(DType::is_float) {
            return Err(lo.reject_by_pass("div_rn of integers: only floats"));
        }
        Ok(Value::Tensor(quotient))
    }),
    row("tl.math.fma(x, y, z)", |lo, args| {
        let operands = read_operands(lo, args)?;
        fma(lo, operands).map(Value::Tensor)
    }),
    row(
        "tl.minimum(x, y, propagate_nan='PropagateNan.NONE')",
        |lo, args| lower_min_max(lo, args, false),
    ),
    row(
        "tl.maximum(x, y, propagate_nan='PropagateNan.NONE')",
        |lo, args| lower_min_max(lo, args, true),
    ),
    row(
        "tl.clamp(x, min, max, propagate_nan='PropagateNan.NONE')",
        |lo, args| {
            let operands = read_operands(lo, args)?;
            let nan = read_propagate_nan(get_argument(args, 3));
            clamp(lo, operands, nan).map(Value::Tensor)
        },
    ),
];

/// Python's own functions.
pub(super) static PYTHON: &[Row] = &[
    row("min(*args, propagate_nan='PropagateNan.NONE')", |lo, args| {
        python_extreme(lo, args, false)
    }),
    row("max(*args, propagate_nan='PropagateNan.NONE')", |lo, args| {
        python_extreme(lo, args, true)
    }),
];

fn read_operands(lo: &Lowering, args: &[Value]) -> Traced<[Operand; 3]> {
    Ok([
        number_or_tensor(lo, get_argument(args, 0))?,
        number_or_tensor(lo, get_argument(args, 1))?,
        number_or_tensor(lo, get_argument(args, 2))?,
    ])
}

/// Refuses tensors of other dtypes, as Triton's `_check_dtype` does. Numbers are not checked.
fn check(lo: &Lowering, value: &Value, dtypes: &[DType]) -> Traced<()> {
    let Value::Tensor(id) = value else { return Ok(()) };
    let elem = lo.ty(*id).elem;
    if elem.num().is_some_and(|dtype| dtypes.contains(&dtype)) {
        return Ok(());
    }
    let names: Vec<String> = dtypes
        .iter()
        .map(|&dtype| format!("'{}'", describe_dtype(dtype)))
        .collect();
    let got = crate::semantic::cast::elem_shown(elem);
    Err(lo.reject(format!("expected dtype [{}] but got {got}", names.join(", "))))
}

fn checked_pair(lo: &Lowering, args: &[Value], dtypes: &[DType]) -> Traced<(Operand, Operand)> {
    check(lo, get_argument(args, 0), dtypes)?;
    check(lo, get_argument(args, 1), dtypes)?;
    Ok((
        number_or_tensor(lo, get_argument(args, 0))?,
        number_or_tensor(lo, get_argument(args, 1))?,
    ))
}

fn lower_float_unary(lo: &mut Lowering, op: UnaryOp, dtypes: &[DType], x: &Value) -> Traced<Value> {
    check(lo, x, dtypes)?;
    let x = to_tensor(lo, x)?;
    let ty = lo.ty(x).clone();
    match ty.elem.num() {
        Some(dtype) if dtype.is_float() => Ok(Value::Tensor(lo.emit_op(OpKind::Unary(op), &[x], ty))),
        _ => {
            let got = crate::semantic::cast::elem_shown(ty.elem);
            Err(lo.reject_by_pass(format!("{} of {got}: only floats", op.name())))
        }
    }
}

fn lower_abs(lo: &mut Lowering, x: &Value) -> Traced<Value> {
    let x = to_tensor(lo, x)?;
    let ty = lo.ty(x).clone();
    match ty.elem.num() {
        Some(dtype) if dtype.is_float() || is_signed(dtype) => {
            Ok(Value::Tensor(lo.emit_op(OpKind::Unary(UnaryOp::Abs), &[x], ty)))
        }
        Some(_) => Ok(Value::Tensor(x)),
        None => Err(lo.reject("abs of pointers")),
    }
}

/// The high half of the unsigned product, whatever the signedness.
fn high_product(lo: &mut Lowering, x: Operand, y: Operand) -> Traced<ValueId> {
    let (x, y) = function_operands(lo, x, y, crate::semantic::arithmetic::Check::default())?;
    let ty = lo.ty(x).clone();
    let unsigned = match ty.elem {
        Elem::Num(DType::I32) => DType::U32,
        Elem::Num(DType::I64) => DType::U64,
        Elem::Num(dtype @ (DType::U32 | DType::U64)) => dtype,
        other => {
            let got = crate::semantic::cast::elem_shown(other);
            return Err(lo.reject(format!("umulhi of {got}: only 32- and 64-bit integers")));
        }
    };
    let (x, y) = (
        bitcast(lo, x, Elem::Num(unsigned))?,
        bitcast(lo, y, Elem::Num(unsigned))?,
    );
    let wide = lo.ty(x).clone();
    let product = lo.emit_op(OpKind::Binary(BinaryOp::MulHi), &[x, y], wide);
    bitcast(lo, product, ty.elem)
}

/// Reads `propagate_nan`; `None` is something else.
fn read_propagate_nan(value: &Value) -> Option<bool> {
    match value {
        Value::Constant(Constant::Str(name)) if &**name == "PropagateNan.ALL" => Some(true),
        Value::Constant(Constant::Str(name)) if &**name == "PropagateNan.NONE" => Some(false),
        _ => None,
    }
}

fn lower_min_max(lo: &mut Lowering, args: &[Value], larger: bool) -> Traced<Value> {
    let (x, y) = (
        number_or_tensor(lo, get_argument(args, 0))?,
        number_or_tensor(lo, get_argument(args, 1))?,
    );
    let nan = read_propagate_nan(get_argument(args, 2));
    lower_extremum(lo, larger, x, y, nan).map(Value::Tensor)
}

/// `min` and `max`. For numbers alone they are Python's; otherwise they combine one tensor after the other. Before 3.6 they
/// were `tl.minimum` and `tl.maximum`.
fn python_extreme(lo: &mut Lowering, args: &[Value], larger: bool) -> Traced<Value> {
    let name = if larger { "max" } else { "min" };
    let values = as_items(get_argument(args, 0));
    let nan = read_propagate_nan(get_argument(args, 1));
    if let [first, rest @ ..] = values
        && values.iter().any(|value| is_of_several(lo, value))
        && lo.has_quirk(Quirk::BlocksAreTrue)
    {
        return taken_for_true(lo, first, rest, larger);
    }
    if !lo.rules.holds(Rule::CompileTimeExtrema) {
        // A third value is taken for `propagate_nan`.
        return match values {
            [x, y] => lower_min_max(lo, &[x.clone(), y.clone(), get_argument(args, 1).clone()], larger),
            [x, y, nan] => lower_min_max(lo, &[x.clone(), y.clone(), nan.clone()], larger),
            _ => Err(lo.reject(format!("{name} takes 2 values"))),
        };
    }
    let flat = match values {
        [only @ (Value::Tuple { .. } | Value::List(_))] => as_items(only),
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
        return constant_extreme(lo, name, &constants, larger);
    }
    let [first, rest @ ..] = values else {
        return Err(lo.reject(format!("{name} requires at least 2 values")));
    };
    let mut best = number_or_tensor(lo, first)?;
    for value in rest {
        let next = number_or_tensor(lo, value)?;
        best = Operand::Tensor(lower_extremum(lo, larger, best, next, nan)?);
    }
    match best {
        Operand::Tensor(id) if !rest.is_empty() => Ok(Value::Tensor(id)),
        _ => Err(lo.reject(format!("{name} requires at least 2 values"))),
    }
}

fn is_of_several(lo: &Lowering, value: &Value) -> bool {
    matches!(value, Value::Tensor(id) if lo.ty(*id).numel() > 1)
}

/// Python's `min` and `max`, which ask for the truth of a comparison. A comparison of blocks counts as true.
fn taken_for_true(lo: &mut Lowering, first: &Value, rest: &[Value], larger: bool) -> Traced<Value> {
    let mut best = first.clone();
    for next in rest {
        if is_of_several(lo, &best) || is_of_several(lo, next) {
            best = next.clone();
            continue;
        }
        let (one, other) = (number_or_tensor(lo, &best)?, number_or_tensor(lo, next)?);
        best = Value::Tensor(lower_extremum(lo, larger, one, other, None)?);
    }
    Ok(best)
}

fn constant_extreme(lo: &Lowering, name: &str, values: &[&Constant], larger: bool) -> Traced<Value> {
    let forbidden = |value: &Constant| match value {
        Constant::Float(float) => float.is_nan() || *float == 0.0 && float.is_sign_negative(),
        _ => false,
    };
    if values.iter().any(|value| forbidden(value)) {
        return Err(lo.reject(format!(
            "constexpr {name} does not support NaN values and negative zero"
        )));
    }
    let Some((first, rest)) = values.split_first() else {
        return Err(lo.reject(format!("{name} requires at least 1 value")));
    };
    let predicate = if larger {
        cerith_tile::ir::CmpPredicate::Gt
    } else {
        cerith_tile::ir::CmpPredicate::Lt
    };
    let mut best = *first;
    for &value in rest {
        let better =
            constant::compare(predicate, value, best).map_err(|failure| lo.report_failure(failure))?;
        best = if better { value } else { best };
    }
    Ok(Value::Constant(best.clone()))
}
