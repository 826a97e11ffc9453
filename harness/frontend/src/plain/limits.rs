//! The limits of dtypes: `torch.finfo`, `torch.iinfo` and `numpy.iinfo`.
//!
//! The figures are those of the formats (IEEE 754, and the 8-bit formats of Open Compute). Unsupported: `resolution`, and
//! `numpy.finfo`, whose figures are NumPy scalars, which kernels do not take.

use std::rc::Rc;

use cerith_tile::DType;
use cerith_tile::ir::Rounding;
use cerith_tile::numeric::{decode, encode};
use cerith_tile::source::Span;

use cerith_language::constant::Constant;
use cerith_language::value::plain::{Arguments, Plain};

/// Whether a name of a module is a class of limits, or a dtype that it takes.
pub(crate) fn is_known(module: &str, name: &str) -> bool {
    is_class(module, name) || dtype_of(module, name).is_some()
}

/// Whether a name of a module is a class of limits.
pub(crate) fn is_class(module: &str, name: &str) -> bool {
    matches!((module, name), ("torch", "finfo") | ("torch" | "numpy", "iinfo"))
}

/// The dtype that a name of a module is.
pub(super) fn dtype_of(module: &str, name: &str) -> Option<DType> {
    match module {
        "torch" => DType::from_torch_name(name),
        // NumPy's dtypes are named as torch's are, and it has unsigned ones of every width.
        "numpy" => match name {
            "int8" | "int16" | "int32" | "int64" | "uint8" => DType::from_torch_name(name),
            "uint16" => Some(DType::U16),
            "uint32" => Some(DType::U32),
            "uint64" => Some(DType::U64),
            _ => None,
        },
        _ => None,
    }
}

/// `torch.finfo(dtype)` and the like.
pub(super) fn build_dtype_info(module: &str, class: &str, arguments: &Arguments, span: Span) -> Plain {
    let given = arguments.get(0, "type").or_else(|| arguments.get(0, "dtype"));
    let dtype = match given {
        Some(Plain::Symbol(home, name)) => dtype_of(home, name),
        None if module == "torch" && class == "finfo" => Some(DType::F32),
        _ => None,
    };
    let Some(dtype) = dtype.filter(|dtype| dtype.is_float() == (class == "finfo") && *dtype != DType::I1)
    else {
        return Plain::new_unknown(span, format!("what `{module}.{class}(…)` returns"));
    };
    let mut fields: Vec<(&str, Plain)> = vec![("bits", Plain::from_int(dtype.bits().into()))];
    if let Some((fraction, bias)) = dtype.float_format() {
        let number = |value: f64| Plain::Constant(Constant::Float(value));
        let largest = decode(dtype, encode(dtype, f64::MAX, Rounding::TowardZero));
        let least = 2f64.powi(1 - bias as i32);
        fields.push(("max", number(largest)));
        fields.push(("min", number(-largest)));
        fields.push(("eps", number(2f64.powi(-(fraction as i32)))));
        fields.push(("tiny", number(least)));
        fields.push(("smallest_normal", number(least)));
    } else {
        let (low, high) = if dtype.is_signed_int() {
            let half = 1i128 << (dtype.bits() - 1);
            (-half, half - 1)
        } else {
            (0, (1i128 << dtype.bits()) - 1)
        };
        fields.push(("max", Plain::from_int(high)));
        fields.push(("min", Plain::from_int(low)));
    }
    let names: Rc<[Rc<str>]> = fields.iter().map(|(name, _)| Rc::from(*name)).collect();
    Plain::Named(names, fields.into_iter().map(|(_, value)| value).collect())
}
