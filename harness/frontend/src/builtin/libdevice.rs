//! `tl.extra.libdevice`: CUDA's math library. A function takes exactly the dtypes that the library has a symbol for.
//!
//! Left out: functions whose result is not settled to an ULP or that round in another direction than to nearest;
//! they are named at the end, so that using one says so.

use conch_tile::DType;
use conch_tile::ir::{BinaryOp, Elem, OpKind, TernaryOp, Type, UnaryOp, ValueId};
use conch_tile::rules::Rule;

use super::argument::{at, to_tensor};
use super::{Row, row};
use crate::semantic::arithmetic::{self, Check};
use crate::semantic::cast::{bitcast, cast};
use crate::semantic::promotion::{Operand, shown};
use crate::semantic::shape::broadcast_all;
use crate::tracer::{Traced, Tracer};
use crate::value::Value;

const FLOATS: &[DType] = &[DType::F32, DType::F64];
const INTEGERS: &[DType] = &[DType::I32, DType::U32, DType::I64, DType::U64];
const MAGNITUDES: &[DType] = &[DType::I32, DType::I64, DType::F32, DType::F64];

macro_rules! unary {
    ($name:literal, $op:ident) => {
        row(concat!("tl.extra.libdevice.", $name, "(arg0)"), |tr, args| {
            elementwise(tr, $name, OpKind::Unary(UnaryOp::$op), FLOATS, args)
        })
    };
}

macro_rules! binary {
    ($name:literal, $op:ident, $dtypes:expr) => {
        row(
            concat!("tl.extra.libdevice.", $name, "(arg0, arg1)"),
            |tr, args| elementwise(tr, $name, OpKind::Binary(BinaryOp::$op), $dtypes, args),
        )
    };
}

macro_rules! reinterpreted {
    ($name:literal, $from:ident, $to:ident) => {
        row(concat!("tl.extra.libdevice.", $name, "(arg0)"), |tr, args| {
            let (values, _) = matched(tr, $name, &[DType::$from], args)?;
            match values.as_slice() {
                &[value] => bitcast(tr, value, Elem::Num(DType::$to)).map(Value::Tensor),
                _ => Err(tr.unsupported(concat!("`libdevice.", $name, "`"))),
            }
        })
    };
}

macro_rules! unsupported {
    ($($name:literal)+) => {
        [$( row(concat!("tl.extra.libdevice.", $name, "(*args)"), |tr, _| {
            Err(tr.unsupported(concat!("`libdevice.", $name, "`")))
        }) ),+]
    };
}

pub(super) const ROWS: &[Row] = &[
    unary!("rint", Rint),
    unary!("nearbyint", Rint),
    unary!("trunc", Trunc),
    unary!("round", Round),
    unary!("floor", Floor),
    unary!("ceil", Ceil),
    unary!("sqrt", Sqrt),
    unary!("sqrt_rn", SqrtRn),
    unary!("rsqrt", Rsqrt),
    unary!("exp", Exp),
    unary!("exp2", Exp2),
    unary!("expm1", Expm1),
    unary!("log", Log),
    unary!("log2", Log2),
    unary!("log10", Log10),
    unary!("log1p", Log1p),
    unary!("sin", Sin),
    unary!("cos", Cos),
    unary!("tan", Tan),
    unary!("asin", Asin),
    unary!("acos", Acos),
    unary!("atan", Atan),
    unary!("sinh", Sinh),
    unary!("cosh", Cosh),
    unary!("tanh", Tanh),
    unary!("erf", Erf),
    unary!("isnan", IsNan),
    unary!("isinf", IsInf),
    binary!("atan2", Atan2, FLOATS),
    binary!("copysign", CopySign, FLOATS),
    binary!("fmod", Rem, FLOATS),
    binary!("div_rn", DivRn, FLOATS),
    binary!("add_rn", Add, FLOATS),
    binary!("mul_rn", Mul, FLOATS),
    binary!("sub_rn", Sub, FLOATS),
    binary!("fast_dividef", Div, &[DType::F32]),
    binary!("mulhi", MulHi, INTEGERS),
    row("tl.extra.libdevice.abs(arg0)", |tr, args| {
        elementwise(tr, "abs", OpKind::Unary(UnaryOp::Abs), MAGNITUDES, args)
    }),
    row("tl.extra.libdevice.fma(arg0, arg1, arg2)", |tr, args| {
        elementwise(tr, "fma", OpKind::Ternary(TernaryOp::Fma), FLOATS, args)
    }),
    row("tl.extra.libdevice.fma_rn(arg0, arg1, arg2)", |tr, args| {
        elementwise(tr, "fma_rn", OpKind::Ternary(TernaryOp::Fma), FLOATS, args)
    }),
    row("tl.extra.libdevice.pow(arg0, arg1)", power),
    reinterpreted!("int_as_float", I32, F32),
    reinterpreted!("float_as_int", F32, I32),
    reinterpreted!("uint_as_float", U32, F32),
    reinterpreted!("float_as_uint", F32, I32),
    reinterpreted!("longlong_as_double", I64, F64),
    reinterpreted!("double_as_longlong", F64, I64),
];

/// Functions of the library that the reference does not know yet.
pub(super) static UNSUPPORTED: &[Row] = &unsupported![
    "acosh" "add_rd" "add_ru" "add_rz" "asinh" "atanh" "brev" "byte_perm" "cbrt" "clz" "cospi" "cyl_bessel_i0"
    "cyl_bessel_i1" "div_rd" "div_ru" "div_rz" "double2float_rd" "double2float_rn" "double2float_ru"
    "double2float_rz" "double2hiint" "double2int_rd" "double2int_rn" "double2int_ru" "double2int_rz" "double2ll_rd"
    "double2ll_rn" "double2ll_ru" "double2ll_rz" "double2loint" "double2uint_rd" "double2uint_rn" "double2uint_ru"
    "double2uint_rz" "double2ull_rd" "double2ull_rn" "double2ull_ru" "double2ull_rz" "erfc" "erfcinv" "erfcx"
    "erfinv" "exp10" "fast_cosf" "fast_exp10f" "fast_expf" "fast_log10f" "fast_log2f" "fast_logf" "fast_powf"
    "fast_sinf" "fast_tanf" "fdim" "ffs" "finitef" "float2int_rd" "float2int_rn" "float2int_ru" "float2int_rz"
    "float2ll_rd" "float2ll_rn" "float2ll_ru" "float2ll_rz" "float2uint_rd" "float2uint_rn" "float2uint_ru"
    "float2uint_rz" "float2ull_rd" "float2ull_rn" "float2ull_ru" "float2ull_rz" "fma_rd" "fma_ru" "fma_rz" "hadd"
    "hiloint2double" "hypot" "ilogb" "int2double_rn" "int2float_rd" "int2float_rn" "int2float_ru" "int2float_rz"
    "isfinited" "j0" "j1" "jn" "ldexp" "lgamma" "ll2double_rd" "ll2double_rn" "ll2double_ru" "ll2double_rz"
    "ll2float_rd" "ll2float_rn" "ll2float_ru" "ll2float_rz" "llrint" "llround" "logb" "mul24" "mul_rd" "mul_ru"
    "mul_rz" "nextafter" "norm3d" "norm4d" "normcdf" "normcdfinv" "popc" "rcbrt" "rcp64h" "rcp_rd" "rcp_rn" "rcp_ru"
    "rcp_rz" "remainder" "rhadd" "rhypot" "rnorm3d" "rnorm4d" "rsqrt_rn" "sad" "saturatef" "scalbn" "signbit"
    "sinpi" "sqrt_rd" "sqrt_ru" "sqrt_rz" "sub_rd" "sub_ru" "sub_rz" "tgamma" "uint2double_rn" "uint2float_rd"
    "uint2float_rn" "uint2float_ru" "uint2float_rz" "ull2double_rd" "ull2double_rn" "ull2double_ru" "ull2double_rz"
    "ull2float_rd" "ull2float_rn" "ull2float_ru" "ull2float_rz" "y0" "y1" "yn"
];

/// The arguments as tensors of one dtype, which must be one of `dtypes`, in one shape.
fn matched(
    tr: &mut Tracer<'_>,
    name: &str,
    dtypes: &[DType],
    args: &[Value],
) -> Traced<(Vec<ValueId>, DType)> {
    let mut values = Vec::with_capacity(args.len());
    for arg in args {
        values.push(to_tensor(tr, arg)?);
    }
    let same = |tr: &Tracer<'_>, values: &[ValueId]| {
        let mut found = values.iter().map(|&value| tr.dtype(value));
        let first = found.next().flatten();
        first.is_some_and(|dtype| dtypes.contains(&dtype)) && found.all(|dtype| dtype == first)
    };
    if !tr.rules.holds(Rule::LibdeviceTypesAreExact) && !same(tr, &values) {
        promote(tr, &mut values)?;
    }
    let first = values
        .first()
        .and_then(|&value| tr.dtype(value))
        .filter(|dtype| dtypes.contains(dtype));
    match first {
        Some(dtype) if values.iter().all(|&value| tr.dtype(value) == Some(dtype)) => {
            Ok((broadcast_all(tr, &values)?, dtype))
        }
        _ => Err(mismatch(tr, name, dtypes, &values)),
    }
}

/// All values in the type and shape that they promote to, as before 3.5.
fn promote(tr: &mut Tracer<'_>, values: &mut [ValueId]) -> Traced<()> {
    let Some(&first) = values.first() else {
        return Ok(());
    };
    let mut common = first;
    for &value in values.iter() {
        (_, common) = arithmetic::matched(
            tr,
            Operand::Tensor(value),
            Operand::Tensor(common),
            Check::default(),
        )?;
    }
    for value in values {
        (*value, _) = arithmetic::matched(
            tr,
            Operand::Tensor(*value),
            Operand::Tensor(common),
            Check::default(),
        )?;
    }
    Ok(())
}

fn mismatch(tr: &Tracer<'_>, name: &str, dtypes: &[DType], values: &[ValueId]) -> crate::tracer::Stop {
    let got: Vec<String> = values
        .iter()
        .map(|&value| crate::semantic::cast::elem_shown(tr.ty(value).elem))
        .collect();
    let wanted: Vec<String> = dtypes.iter().map(|&dtype| shown(dtype)).collect();
    tr.reject(format!(
        "libdevice.{name} has no symbol for ({}); its arguments are all of one of {}",
        got.join(", "),
        wanted.join(", ")
    ))
}

fn elementwise(
    tr: &mut Tracer<'_>,
    name: &str,
    kind: OpKind,
    dtypes: &[DType],
    args: &[Value],
) -> Traced<Value> {
    let (values, dtype) = matched(tr, name, dtypes, args)?;
    let result = match kind {
        OpKind::Unary(op) => conch_tile::numeric::unary_result(op, dtype),
        _ => dtype,
    };
    let tests_were_ints = !tr.rules.holds(Rule::LibdeviceTestsAreBool);
    let Some(&first) = values.first() else {
        return Err(tr.reject(format!("libdevice.{name} takes arguments")));
    };
    let ty: Type = tr.ty(first).with_elem(Elem::Num(result));
    let value = tr.op(kind, &values, ty);
    let value = if result == DType::I1 && tests_were_ints {
        cast(tr, value, DType::I32)?
    } else {
        value
    };
    Ok(Value::Tensor(value))
}

/// `pow`, whose exponent may be a 32-bit integer.
fn power(tr: &mut Tracer<'_>, args: &[Value]) -> Traced<Value> {
    let (base, exponent) = (to_tensor(tr, at(args, 0))?, to_tensor(tr, at(args, 1))?);
    let exponent = match (tr.dtype(base), tr.dtype(exponent)) {
        (Some(DType::F64), Some(DType::I32)) => cast(tr, exponent, DType::F64)?,
        (Some(DType::F32), Some(DType::I32)) => {
            return Err(tr.unsupported("`libdevice.pow` of an integer power"));
        }
        _ => exponent,
    };
    let args = [Value::Tensor(base), Value::Tensor(exponent)];
    elementwise(tr, "pow", OpKind::Binary(BinaryOp::Pow), FLOATS, &args)
}
