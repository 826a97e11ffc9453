//! `tl.extra.libdevice`: CUDA's math library. A function takes exactly the dtypes that the library has a symbol for.
//!
//! Functions that are operations of the IR too become these; the others are symbols of the library
//! ([`cerith_tile::numeric::library`]).
//!
//! `rcp64h` is unsupported, because its accuracy is not documented.

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Elem, OpKind, Type, UnaryOp, ValueId};
use cerith_tile::numeric::library::{find_symbol, symbols_of};
use cerith_tile::quirk::Quirk;
use cerith_tile::rules::Rule;

use super::argument::{get_argument, to_tensor};
use super::row::{Row, row};
use crate::lowering::Lowering;
use crate::semantic::arithmetic::{self, Check};
use crate::semantic::cast::{bitcast, cast};
use crate::semantic::promotion::{Operand, describe_dtype};
use crate::semantic::shape::broadcast_all;
use crate::stop::{Stop, Traced};
use crate::value::Value;

const FLOATS: &[DType] = &[DType::F32, DType::F64];

macro_rules! unary {
    ($name:literal, $op:ident) => {
        row(concat!("tl.extra.libdevice.", $name, "(arg0)"), |lo, args| {
            lower_elementwise(lo, $name, OpKind::Unary(UnaryOp::$op), FLOATS, args)
        })
    };
}

macro_rules! binary {
    ($name:literal, $op:ident, $dtypes:expr) => {
        row(
            concat!("tl.extra.libdevice.", $name, "(arg0, arg1)"),
            |lo, args| lower_elementwise(lo, $name, OpKind::Binary(BinaryOp::$op), $dtypes, args),
        )
    };
}

macro_rules! reinterpreted {
    ($name:literal, $from:ident, $to:ident) => {
        row(concat!("tl.extra.libdevice.", $name, "(arg0)"), |lo, args| {
            if lo.has_quirk(Quirk::LibraryGivesNone) {
                return Ok(Value::NONE);
            }
            let (values, _) = match_arguments(lo, $name, &[DType::$from], args)?;
            match values.as_slice() {
                &[value] => bitcast(lo, value, Elem::Num(DType::$to)).map(Value::Tensor),
                _ => Err(lo.report_unsupported(concat!("`libdevice.", $name, "`"))),
            }
        })
    };
}

macro_rules! library {
    ($($parameters:literal: $($name:literal)+;)+) => {
        [$($( row(concat!("tl.extra.libdevice.", $name, $parameters), |lo, args| {
            call(lo, $name, args)
        }) ),+),+]
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
    row("tl.extra.libdevice.pow(arg0, arg1)", lower_pow),
    reinterpreted!("int_as_float", I32, F32),
    reinterpreted!("float_as_int", F32, I32),
    reinterpreted!("uint_as_float", U32, F32),
    reinterpreted!("float_as_uint", F32, I32),
    reinterpreted!("longlong_as_double", I64, F64),
    reinterpreted!("double_as_longlong", F64, I64),
];

/// Functions that are symbols of the library.
pub(super) static SYMBOLS: &[Row] = &library![
    "(arg0)":
        "abs" "acosh" "asinh" "atanh" "brev" "cbrt" "clz" "cospi" "cyl_bessel_i0" "cyl_bessel_i1"
        "double2float_rd" "double2float_rn" "double2float_ru" "double2float_rz" "double2hiint"
        "double2int_rd" "double2int_rn" "double2int_ru" "double2int_rz" "double2ll_rd" "double2ll_rn"
        "double2ll_ru" "double2ll_rz" "double2loint" "double2uint_rd" "double2uint_rn" "double2uint_ru"
        "double2uint_rz" "double2ull_rd" "double2ull_rn" "double2ull_ru" "double2ull_rz" "erfc" "erfcinv"
        "erfcx" "erfinv" "exp10" "fast_cosf" "fast_exp10f" "fast_expf" "fast_log10f" "fast_log2f"
        "fast_logf" "fast_sinf" "fast_tanf" "ffs" "finitef" "float2int_rd" "float2int_rn" "float2int_ru"
        "float2int_rz" "float2ll_rd" "float2ll_rn" "float2ll_ru" "float2ll_rz" "float2uint_rd"
        "float2uint_rn" "float2uint_ru" "float2uint_rz" "float2ull_rd" "float2ull_rn" "float2ull_ru"
        "float2ull_rz" "ilogb" "int2double_rn" "int2float_rd" "int2float_rn" "int2float_ru" "int2float_rz"
        "isfinited" "j0" "j1" "lgamma" "ll2double_rd" "ll2double_rn" "ll2double_ru" "ll2double_rz"
        "ll2float_rd" "ll2float_rn" "ll2float_ru" "ll2float_rz" "llrint" "llround" "logb" "normcdf"
        "normcdfinv" "popc" "rcbrt" "rcp_rd" "rcp_rn" "rcp_ru" "rcp_rz" "rsqrt_rn" "saturatef" "signbit"
        "sinpi" "sqrt_rd" "sqrt_rn" "sqrt_ru" "sqrt_rz" "tgamma" "uint2double_rn" "uint2float_rd"
        "uint2float_rn" "uint2float_ru" "uint2float_rz" "ull2double_rd" "ull2double_rn" "ull2double_ru"
        "ull2double_rz" "ull2float_rd" "ull2float_rn" "ull2float_ru" "ull2float_rz" "y0" "y1";
    "(arg0, arg1)":
        "add_rd" "add_rn" "add_ru" "add_rz" "div_rd" "div_rn" "div_ru" "div_rz" "fast_dividef" "fast_powf"
        "fdim" "fmod" "hadd" "hiloint2double" "hypot" "jn" "ldexp" "mul24" "mul_rd" "mul_rn" "mul_ru"
        "mul_rz" "mulhi" "nextafter" "remainder" "rhadd" "rhypot" "scalbn" "sub_rd" "sub_rn" "sub_ru"
        "sub_rz" "yn";
    "(arg0, arg1, arg2)":
        "byte_perm" "fma" "fma_rd" "fma_rn" "fma_ru" "fma_rz" "norm3d" "rnorm3d" "sad";
    "(arg0, arg1, arg2, arg3)":
        "norm4d" "rnorm4d";
];

/// Functions that kernels cannot have: one that the reference does not know, and one that only AMD's library has, though
/// Triton offers its name.
pub(super) static ABSENT: &[Row] = &[
    row("tl.extra.libdevice.rcp64h(arg0)", |lo, _| {
        Err(lo.report_unsupported("`libdevice.rcp64h`"))
    }),
    row("tl.extra.libdevice.fast_tanhf(arg0)", |lo, _| {
        Err(lo.reject("CUDA's libdevice has no `fast_tanhf`"))
    })
    .since(3, 5, 1),
];

/// The arguments as tensors of one dtype, which must be one of `dtypes`, in one shape.
fn match_arguments(
    lo: &mut Lowering,
    name: &str,
    dtypes: &[DType],
    args: &[Value],
) -> Traced<(Vec<ValueId>, DType)> {
    let mut values = Vec::with_capacity(args.len());
    for arg in args {
        values.push(to_tensor(lo, arg)?);
    }
    let same = |lo: &Lowering, values: &[ValueId]| {
        let mut found = values.iter().map(|&value| lo.dtype(value));
        let first = found.next().flatten();
        first.is_some_and(|dtype| dtypes.contains(&dtype)) && found.all(|dtype| dtype == first)
    };
    if !lo.rules.holds(Rule::LibdeviceTypesAreExact) && !same(lo, &values) {
        promote(lo, &mut values)?;
    }
    let first = values
        .first()
        .and_then(|&value| lo.dtype(value))
        .filter(|dtype| dtypes.contains(dtype));
    match first {
        Some(dtype) if values.iter().all(|&value| lo.dtype(value) == Some(dtype)) => {
            Ok((broadcast_all(lo, &values)?, dtype))
        }
        _ => Err(reject_dtypes(lo, name, dtypes, &values)),
    }
}

/// All values in the type and shape that they promote to, as before 3.5.
fn promote(lo: &mut Lowering, values: &mut [ValueId]) -> Traced<()> {
    let Some(&first) = values.first() else {
        return Ok(());
    };
    let mut common = first;
    for &value in values.iter() {
        (_, common) = arithmetic::match_operands(
            lo,
            Operand::Tensor(value),
            Operand::Tensor(common),
            Check::default(),
        )?;
    }
    for value in values {
        (*value, _) = arithmetic::match_operands(
            lo,
            Operand::Tensor(*value),
            Operand::Tensor(common),
            Check::default(),
        )?;
    }
    Ok(())
}

fn reject_dtypes(lo: &Lowering, name: &str, dtypes: &[DType], values: &[ValueId]) -> Stop {
    let wanted: Vec<String> = dtypes.iter().map(|&dtype| describe_dtype(dtype)).collect();
    let wanted = format!("its arguments are all of one of {}", wanted.join(", "));
    no_symbol(lo, name, values, &wanted)
}

fn no_symbol(lo: &Lowering, name: &str, values: &[ValueId], wanted: &str) -> Stop {
    let got: Vec<String> = values
        .iter()
        .map(|&value| crate::semantic::cast::elem_shown(lo.ty(value).elem))
        .collect();
    lo.reject(format!(
        "libdevice.{name} has no symbol for ({}); {wanted}",
        got.join(", ")
    ))
}

fn lower_elementwise(
    lo: &mut Lowering,
    name: &str,
    kind: OpKind,
    dtypes: &[DType],
    args: &[Value],
) -> Traced<Value> {
    if lo.has_quirk(Quirk::LibraryGivesNone) {
        return Ok(Value::NONE);
    }
    let (values, dtype) = match_arguments(lo, name, dtypes, args)?;
    let result = match kind {
        OpKind::Unary(op) => cerith_tile::numeric::unary_result(op, dtype),
        _ => dtype,
    };
    let tests_were_ints = !lo.rules.holds(Rule::LibdeviceTestsAreBool);
    let Some(&first) = values.first() else {
        return Err(lo.reject(format!("libdevice.{name} takes arguments")));
    };
    let ty: Type = lo.ty(first).with_elem(Elem::Num(result));
    let value = lo.emit_op(kind, &values, ty);
    let value = if result == DType::I1 && tests_were_ints {
        cast(lo, value, DType::I32)?
    } else {
        value
    };
    Ok(Value::Tensor(value))
}

/// A function that is a symbol of the library: the one for the dtypes of the arguments.
fn call(lo: &mut Lowering, name: &str, args: &[Value]) -> Traced<Value> {
    if lo.has_quirk(Quirk::LibraryGivesNone) {
        return Ok(Value::NONE);
    }
    let mut values = Vec::with_capacity(args.len());
    for arg in args {
        values.push(to_tensor(lo, arg)?);
    }
    let find = |lo: &Lowering, values: &[ValueId]| {
        let dtypes: Option<Vec<DType>> = values.iter().map(|&value| lo.dtype(value)).collect();
        find_symbol(name, &dtypes?)
    };
    if find(lo, &values).is_none() && !lo.rules.holds(Rule::LibdeviceTypesAreExact) {
        promote(lo, &mut values)?;
    }
    let Some(symbol) = find(lo, &values) else {
        let wanted: Vec<String> = symbols_of(name)
            .map(|symbol| {
                let dtypes: Vec<String> = symbol
                    .operands
                    .iter()
                    .map(|&dtype| describe_dtype(dtype))
                    .collect();
                format!("({})", dtypes.join(", "))
            })
            .collect();
        return Err(no_symbol(
            lo,
            name,
            &values,
            &format!("there is one for {}", wanted.join(", ")),
        ));
    };
    let values = broadcast_all(lo, &values)?;
    let Some(&first) = values.first() else {
        return Err(lo.reject(format!("libdevice.{name} takes arguments")));
    };
    let ty: Type = lo.ty(first).with_elem(Elem::Num(symbol.result));
    let value = lo.emit_op(OpKind::Library(symbol), &values, ty);
    let is_test = matches!(name, "finitef" | "isfinited");
    let value = if is_test && lo.rules.holds(Rule::LibdeviceTestsAreBool) {
        cast(lo, value, DType::I1)?
    } else {
        value
    };
    Ok(Value::Tensor(value))
}

/// `pow`, whose exponent may be a 32-bit integer.
fn lower_pow(lo: &mut Lowering, args: &[Value]) -> Traced<Value> {
    let (base, exponent) = (
        to_tensor(lo, get_argument(args, 0))?,
        to_tensor(lo, get_argument(args, 1))?,
    );
    let args = [Value::Tensor(base), Value::Tensor(exponent)];
    match (lo.dtype(base), lo.dtype(exponent)) {
        (Some(DType::F32 | DType::F64), Some(DType::I32)) => call(lo, "pow", &args),
        _ => lower_elementwise(lo, "pow", OpKind::Binary(BinaryOp::Pow), FLOATS, &args),
    }
}
