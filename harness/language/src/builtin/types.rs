//! Types as Python values: their names in `tl`, and their attributes.

use std::rc::Rc;

use cerith_python::nearest::find_nearest;
use cerith_tile::DType;
use cerith_tile::ir::{Elem, Type};

use super::argument::get_argument;
use crate::constant::{self, Constant, TypeValue};
use crate::lowering::{Lowering, MAX_NUMEL};
use crate::semantic::promotion::is_signed;
use crate::stop::Traced;
use crate::value::Value;
use crate::value::callable::Builtin;

/// The type of a value as `x.type` gives it.
pub(super) fn type_of(ty: &Type) -> Value {
    let shown = if ty.is_scalar() {
        TypeValue::Elem(ty.elem)
    } else {
        TypeValue::Block(ty.elem, ty.shape.clone())
    };
    Value::Constant(Constant::Type(shown))
}

/// Constants of modules: dtypes, `PropagateNan`, limits, and classes that are only named.
pub(super) fn find_constant(module: &str, name: &str) -> Option<Value> {
    match module {
        "tl" => {}
        "tl.random" if name == "N_ROUNDS_DEFAULT" => return Some(Value::from_int(10)),
        "tl.PropagateNan" => {
            let name = match name {
                "NONE" => "PropagateNan.NONE",
                "ALL" => "PropagateNan.ALL",
                _ => return None,
            };
            return Some(Value::from_text(name));
        }
        _ => return None,
    }
    if let Some(dtype) = DType::ALL.into_iter().find(|dtype| dtype.triton_name() == name) {
        return Some(Value::Constant(dtype.into()));
    }
    let named = |name| Some(Value::Constant(Constant::Type(TypeValue::Named(name))));
    match name {
        "PropagateNan" => Some(Value::Module("tl.PropagateNan".into())),
        "TRITON_MAX_TENSOR_NUMEL" => Some(Value::from_int(MAX_NUMEL)),
        "pi32_t" => Some(Value::Constant(Constant::Type(TypeValue::Elem(Elem::ptr_to(
            DType::I32,
        ))))),
        "tensor" => named("tensor"),
        "dtype" => named("dtype"),
        "const" => named("const"),
        "void" => named("void"),
        _ => None,
    }
}

/// Questions that a type answers when they are called.
macro_rules! questions {
    ($($name:literal: |$ty:ident| $answer:expr;)+) => {
        static QUESTIONS: &[Builtin] = &[$( Builtin::of_operations(concat!("dtype.", $name, "(self)"), |lo, args| {
                let $ty = expect_type(lo, get_argument(args, 0))?;
                Ok(Value::from_bool($answer))
            }) ),+];
    };
}

questions! {
    "is_floating": |ty| to_dtype(&ty).is_some_and(DType::is_float);
    "is_standard_floating": |ty| to_dtype(&ty).is_some_and(|dtype| dtype.is_float() && !dtype.is_fp8());
    "is_int": |ty| to_dtype(&ty).is_some_and(DType::is_int);
    "is_int_signed": |ty| to_dtype(&ty).is_some_and(is_signed);
    "is_int_unsigned": |ty| to_dtype(&ty).is_some_and(|dtype| dtype.is_int() && !is_signed(dtype));
    "is_bool": |ty| to_dtype(&ty) == Some(DType::I1);
    "is_int1": |ty| to_dtype(&ty) == Some(DType::I1);
    "is_int8": |ty| to_dtype(&ty) == Some(DType::I8);
    "is_int16": |ty| to_dtype(&ty) == Some(DType::I16);
    "is_int32": |ty| to_dtype(&ty) == Some(DType::I32);
    "is_int64": |ty| to_dtype(&ty) == Some(DType::I64);
    "is_uint8": |ty| to_dtype(&ty) == Some(DType::U8);
    "is_uint16": |ty| to_dtype(&ty) == Some(DType::U16);
    "is_uint32": |ty| to_dtype(&ty) == Some(DType::U32);
    "is_uint64": |ty| to_dtype(&ty) == Some(DType::U64);
    "is_fp8": |ty| to_dtype(&ty).is_some_and(DType::is_fp8);
    "is_fp8e4nv": |ty| to_dtype(&ty) == Some(DType::F8E4NV);
    "is_fp8e4b8": |ty| to_dtype(&ty) == Some(DType::F8E4B8);
    "is_fp8e4b15": |ty| to_dtype(&ty) == Some(DType::F8E4B15);
    "is_fp8e5": |ty| to_dtype(&ty) == Some(DType::F8E5);
    "is_fp8e5b16": |ty| to_dtype(&ty) == Some(DType::F8E5B16);
    "is_fp16": |ty| to_dtype(&ty) == Some(DType::F16);
    "is_bf16": |ty| to_dtype(&ty) == Some(DType::BF16);
    "is_fp32": |ty| to_dtype(&ty) == Some(DType::F32);
    "is_fp64": |ty| to_dtype(&ty) == Some(DType::F64);
    "is_ptr": |ty| matches!(ty, TypeValue::Elem(Elem::Ptr { .. }) | TypeValue::BlockPointer(..));
    "is_block": |ty| matches!(ty, TypeValue::Block(..));
    "is_void": |ty| matches!(ty, TypeValue::Named("void"));
    "is_const": |ty| matches!(ty, TypeValue::Named("const"));
}

/// The minimum and the maximum of an integer type.
static ENDS: &[Builtin] = &[
    Builtin::of_operations("dtype.get_int_max_value(self)", |lo, args| end(lo, args, true)),
    Builtin::of_operations("dtype.get_int_min_value(self)", |lo, args| end(lo, args, false)),
];

fn end(lo: &mut Lowering, args: &[Value], most: bool) -> Traced<Value> {
    let ty = expect_type(lo, get_argument(args, 0))?;
    let Some(dtype) = to_dtype(&ty).filter(|dtype| dtype.is_int()) else {
        return Err(lo.reject("only integer types have a largest and a smallest value"));
    };
    let bits = dtype.bits();
    Ok(Value::from_int(match (is_signed(dtype), most) {
        (true, true) => (1i128 << (bits - 1)) - 1,
        (true, false) => -(1i128 << (bits - 1)),
        (false, true) => (1i128 << bits) - 1,
        (false, false) => 0,
    }))
}

/// The number that a scalar type is; a block type is none.
const fn to_dtype(ty: &TypeValue) -> Option<DType> {
    match ty {
        TypeValue::Elem(elem) => elem.num(),
        _ => None,
    }
}

fn expect_type(lo: &Lowering, value: &Value) -> Traced<TypeValue> {
    match value {
        Value::Constant(Constant::Type(ty)) => Ok(ty.clone()),
        _ => Err(lo.reject("this is not a type")),
    }
}

const ATTRIBUTES: [&str; 11] = [
    "name",
    "scalar",
    "primitive_bitwidth",
    "itemsize",
    "int_bitwidth",
    "fp_mantissa_width",
    "exponent_bias",
    "element_ty",
    "shape",
    "numel",
    "dtype",
];

/// `type.name`: `primitive_bitwidth`, `element_ty`, `is_floating` (as `Value::Method`). Unknown names are rejected
/// with the nearest spelling.
pub fn type_attribute(lo: &mut Lowering, ty: &TypeValue, name: &str) -> Traced<Value> {
    if let Some(question) = QUESTIONS
        .iter()
        .chain(ENDS)
        .find(|question| question.short_name() == name)
    {
        return Ok(Value::Method(
            Rc::new(Value::Constant(Constant::Type(ty.clone()))),
            question,
        ));
    }
    let of_type = |ty: TypeValue| Value::Constant(Constant::Type(ty));
    let bits = |bits: u32| Value::from_int(i128::from(bits));
    let found = match (name, ty) {
        ("name", TypeValue::Elem(_)) => Some(Value::from_text(&constant::repr(&Constant::Type(ty.clone())))),
        ("scalar", TypeValue::BlockPointer(..)) => Some(of_type(ty.clone())),
        ("scalar", TypeValue::Elem(elem) | TypeValue::Block(elem, _)) => {
            Some(of_type(TypeValue::Elem(*elem)))
        }
        ("element_ty", TypeValue::BlockPointer(elem, shape)) => {
            Some(of_type(TypeValue::Block(*elem, shape.clone())))
        }
        ("element_ty", TypeValue::Block(elem, _)) => Some(of_type(TypeValue::Elem(*elem))),
        ("element_ty", TypeValue::Elem(elem)) => elem.pointee().map(|elem| of_type(TypeValue::Elem(elem))),
        ("shape", TypeValue::Block(_, shape)) => Some(Value::new_tuple(
            shape.iter().map(|&extent| Value::from_int(extent as i128)),
        )),
        ("numel", TypeValue::Block(_, shape)) => {
            Some(Value::from_int(shape.iter().product::<usize>() as i128))
        }
        ("primitive_bitwidth", _) => to_dtype(ty).map(|dtype| bits(dtype.bits())),
        ("itemsize", _) => to_dtype(ty).map(|dtype| bits(dtype.bits() / 8)),
        ("int_bitwidth", _) => to_dtype(ty)
            .filter(|dtype| dtype.is_int())
            .map(|dtype| bits(dtype.bits())),
        ("fp_mantissa_width", _) => to_dtype(ty)
            .and_then(DType::float_format)
            .map(|(mantissa, _)| bits(mantissa)),
        ("exponent_bias", _) => to_dtype(ty)
            .and_then(DType::float_format)
            .map(|(_, bias)| bits(bias)),
        _ => None,
    };
    found.ok_or_else(|| {
        let questions = QUESTIONS.iter().map(Builtin::short_name);
        let near = find_nearest(name, ATTRIBUTES.into_iter().chain(questions)).filter(|near| *near != name);
        let shown = constant::repr(&Constant::Type(ty.clone()));
        lo.unknown_attribute(
            format!("the type {shown} has no attribute `{name}`"),
            None,
            name,
            near,
        )
    })
}
