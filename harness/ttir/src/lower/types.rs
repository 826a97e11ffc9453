//! Converts MLIR types to types of the IR, part by part. Encodings of tensors change no value.

use cerith_tile::DType;
use cerith_tile::ir::{Elem, Shape, Type};

use super::stop::{Lowered, stop};
use crate::syntax;

/// Number of flags of a descriptor: whether padding is NaN, and whether `f32` is rounded to tf32.
pub(super) const FLAGS: usize = 2;

/// Maximum dimensions of a block pointer or descriptor.
const MOST_DIMENSIONS: usize = 8;

pub(super) fn float_dtype(name: &str) -> Option<DType> {
    Some(match name {
        "f16" => DType::F16,
        "bf16" => DType::BF16,
        "f32" => DType::F32,
        "f64" => DType::F64,
        "f8E4M3FN" => DType::F8E4NV,
        "f8E5M2" => DType::F8E5,
        "f8E4M3FNUZ" => DType::F8E4B8,
        "f8E5M2FNUZ" => DType::F8E5B16,
        _ => return None,
    })
}

/// Returns the type of one lane.
pub(super) fn elem_type(ty: &syntax::Type) -> Lowered<Elem> {
    let known = match ty {
        syntax::Type::Int(1) | syntax::Type::Signed(_, 1) => Some(Elem::Num(DType::I1)),
        syntax::Type::Int(8) | syntax::Type::Signed(_, 8) => Some(Elem::Num(DType::I8)),
        syntax::Type::Int(16) | syntax::Type::Signed(_, 16) => Some(Elem::Num(DType::I16)),
        syntax::Type::Int(32) | syntax::Type::Signed(_, 32) => Some(Elem::Num(DType::I32)),
        syntax::Type::Int(64) | syntax::Type::Signed(_, 64) | syntax::Type::Index => {
            Some(Elem::Num(DType::I64))
        }
        syntax::Type::Float(name) => float_dtype(name).map(Elem::Num),
        syntax::Type::Ptr(pointee) => Some(elem_type(pointee)?.pointer()),
        _ => None,
    };
    known.map_or_else(|| stop(format!("the type {ty:?} is not supported yet")), Ok)
}

/// Converts a type with one part.
pub(super) fn one_type(ty: &syntax::Type) -> Lowered<Type> {
    match ty {
        syntax::Type::Tensor(shape, element) => {
            if shape.is_empty() {
                return stop("a tensor without dimensions");
            }
            Ok(Type::block(elem_type(element)?, checked_shape(shape)?))
        }
        _ => Ok(Type::scalar(elem_type(ty)?)),
    }
}

/// Returns the types of a value's parts. A block pointer is its base, extents, strides (`i64`) and offsets (`i32`); a
/// descriptor is its base, extents, strides (`i64`) and [`FLAGS`].
pub(super) fn bundle_types(ty: &syntax::Type) -> Lowered<Vec<Type>> {
    let parts = |shape: &[u64], element, last: DType, count| {
        if shape.len() > MOST_DIMENSIONS {
            return stop("a tile of more than 8 dimensions");
        }
        let base = Type::scalar(elem_type(element)?.pointer());
        let sizes = std::iter::repeat_n(Type::num(DType::I64), 2 * shape.len());
        let rest = std::iter::repeat_n(Type::num(last), count);
        Ok(std::iter::once(base).chain(sizes).chain(rest).collect())
    };
    match ty {
        syntax::Type::Ptr(inner) => match &**inner {
            syntax::Type::Tensor(shape, element) => parts(shape, element, DType::I32, shape.len()),
            _ => Ok(vec![one_type(ty)?]),
        },
        syntax::Type::Descriptor(shape, element) => parts(shape, element, DType::I1, FLAGS),
        syntax::Type::Other(text) if text.contains("token") => Ok(Vec::new()),
        _ => Ok(vec![one_type(ty)?]),
    }
}

/// Converts the extents of a tensor. The verifier checks their product.
pub(super) fn checked_shape(shape: &[u64]) -> Lowered<Shape> {
    shape
        .iter()
        .map(|&extent| match usize::try_from(extent) {
            Ok(extent) if extent > 0 && extent <= cerith_tile::ir::MAX_NUMEL => Ok(extent),
            _ => stop(format!("a tensor with an extent of {extent}")),
        })
        .collect()
}
