//! `tl.dot_scaled`: products of microscaled matrices. The IR has no operation for it. It is lowered as Triton's
//! documentation describes for hardware without native microscaling, and as its compiler does there
//! (`DecomposeScaledBlocked`): both operands are widened to `bf16`, or to `f16` if one of them is, each is multiplied by
//! its scale in that dtype, and a `dot` follows.
//!
//! Formats and scales are those of the OCP Microscaling Formats (MX) specification 1.0: an `e8m0` byte `s` is
//! `2^(s - 127)` from 0 on, and NaN for 255. With `fast_math`, that NaN is not promised: such lanes are poison.
//!
//! Not modelled: hardware that multiplies in wider formats, which differs only if a scaled operand exceeds the range of the
//! dtype that it is widened to.

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CmpPredicate, Elem, Foreign, InputPrecision, OpKind, Shape, Type, ValueId};
use cerith_tile::numeric::{decode, encode};
use cerith_tile::quirk::Quirk;
use cerith_tile::quirk::by_parts::{Manner, convert};
use cerith_tile::rules::{Rule, Version};

use super::cast::{bitcast, cast, elem_shown};
use super::promotion::describe_dtype;
use super::shape::{self, broadcast_to, expand_dim, join, permute, reshape, transpose};
use crate::lowering::Lowering;
use crate::stop::Traced;

/// An element format, by its name in Triton.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Two of four bits in a byte, the first in the low half.
    E2m1,
    /// `float8_e4m3fn`.
    E4m3,
    /// `float8_e5m2`.
    E5m2,
    /// `bfloat16`, without a scale.
    Bf16,
    /// `float16`, without a scale.
    Fp16,
}

/// One side of the product.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    /// The elements.
    pub value: ValueId,
    /// The scales as `e8m0`, one for 32 elements.
    pub scale: Option<ValueId>,
    /// The format of an element.
    pub format: Format,
    /// Whether `e2m1` is packed along the inner dimension, and not along rows or columns.
    pub k_pack: bool,
}

/// The dtype that operands are widened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wide {
    Dtype(DType),
    /// To `f32` as Triton's interpreter does ([`Quirk::ScaledDotsByParts`]), where one of them is an `f16` or none is.
    ByParts {
        half: bool,
    },
}

impl Wide {
    const fn dtype(self) -> DType {
        match self {
            Self::Dtype(dtype) => dtype,
            Self::ByParts { .. } => DType::F32,
        }
    }
}

/// A side of the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OperandSide {
    Lhs,
    Rhs,
}

impl OperandSide {
    const fn name(self) -> &'static str {
        match self {
            Self::Lhs => "lhs",
            Self::Rhs => "rhs",
        }
    }
}

/// Reads a format's name.
pub fn format(lo: &Lowering, side: &str, name: &str) -> Traced<Format> {
    let both = lo.rules.holds(Rule::ScaledDotScalesBoth);
    match name {
        "e2m1" if both || side == "lhs" => Ok(Format::E2m1),
        "e4m3" => Ok(Format::E4m3),
        "e5m2" => Ok(Format::E5m2),
        "bf16" if both => Ok(Format::Bf16),
        "fp16" if both => Ok(Format::Fp16),
        _ => Err(lo.reject(format!("{side}_format `{name}` is not supported by dot_scaled"))),
    }
}

/// `tl.dot_scaled`.
pub fn dot_scaled(
    lo: &mut Lowering,
    lhs: Side,
    rhs: Side,
    acc: Option<ValueId>,
    fast_math: bool,
) -> Traced<ValueId> {
    let (mut lhs, mut rhs) = (lhs, rhs);
    if !lo.is_block(lhs.value) || !lo.is_block(rhs.value) {
        return Err(lo.reject("dot_scaled operands must be block tensors (not scalars)"));
    }
    let rank = lo.ty(lhs.value).shape.len();
    if rank != lo.ty(rhs.value).shape.len() || !(2..=3).contains(&rank) {
        return Err(lo.reject(format!(
            "dot_scaled takes two operands of 2 or of 3 dimensions, got {} and {}",
            shape::describe_shape(&lo.ty(lhs.value).shape),
            shape::describe_shape(&lo.ty(rhs.value).shape)
        )));
    }
    lhs.value = in_format(lo, lhs, OperandSide::Lhs)?;
    rhs.value = in_format(lo, rhs, OperandSide::Rhs)?;
    for (side, place) in [(lhs, OperandSide::Lhs), (rhs, OperandSide::Rhs)] {
        if !side.k_pack && side.format != Format::E2m1 {
            return Err(lo.reject(format!(
                "{}_k_pack=False is for e2m1 only, which alone is packed",
                place.name()
            )));
        }
    }
    let half = [lhs.format, rhs.format].contains(&Format::Fp16);
    let wide = if lo.has_quirk(Quirk::ScaledDotsByParts) {
        Wide::ByParts { half }
    } else if half {
        Wide::Dtype(DType::F16)
    } else {
        Wide::Dtype(DType::BF16)
    };
    let left = widen_operand(lo, lhs, OperandSide::Lhs, wide)?;
    let right = widen_operand(lo, rhs, OperandSide::Rhs, wide)?;
    let (a, b) = (lo.ty(left).shape.clone(), lo.ty(right).shape.clone());
    let Some(result) = shape::product_shape(&a, &b) else {
        return Err(lo.reject(format!(
            "shapes {} and {}, unpacked, are not compatible for dot_scaled",
            shape::describe_shape(&a),
            shape::describe_shape(&b)
        )));
    };
    let k = a.last().copied().unwrap_or(1);
    if !lo.rules.holds(Rule::ScaledDotScalesBoth) {
        if lhs.scale.is_none() || rhs.scale.is_some() {
            return Err(lo.reject("dot_scaled needs lhs_scale and takes no rhs_scale"));
        }
        if k < 64 {
            return Err(lo.reject(format!("dot_scaled needs K >= 64, got {k}")));
        }
    }
    let ty = Type::block(Elem::Num(DType::F32), result.clone());
    if let Some(acc) = acc
        && *lo.ty(acc) != ty
    {
        return Err(lo.reject(format!("expected accumulator of {ty}, got {}", lo.ty(acc))));
    }
    let group = group(lo, [lhs.scale, rhs.scale], k)?;
    let left = scale_operand(lo, left, lhs.scale, OperandSide::Lhs, group, (wide, fast_math))?;
    let right = scale_operand(lo, right, rhs.scale, OperandSide::Rhs, group, (wide, fast_math))?;
    let acc = match acc {
        Some(acc) => acc,
        None => lo.emit_constant(0, ty.clone()),
    };
    let kind = OpKind::Dot {
        precision: InputPrecision::Ieee,
        max_imprecise: 0,
    };
    Ok(lo.emit_op(kind, &[left, right, acc], ty))
}

/// The operand in the dtype of its format; `e2m1` in bytes.
fn in_format(lo: &mut Lowering, side: Side, place: OperandSide) -> Traced<ValueId> {
    let elem = lo.ty(side.value).elem;
    let (dtype, unsigned) = match side.format {
        Format::E2m1 => (DType::U8, DType::U8),
        Format::E4m3 => (DType::F8E4NV, DType::U8),
        Format::E5m2 => (DType::F8E5, DType::U8),
        Format::Bf16 => (DType::BF16, DType::U16),
        Format::Fp16 => (DType::F16, DType::U16),
    };
    let taken = if lo.rules.holds(Rule::ScaledDotScalesBoth) {
        elem == Elem::Num(dtype) || elem == Elem::Num(unsigned)
    } else {
        matches!(elem, Elem::Num(DType::I8 | DType::U8))
    };
    if !taken {
        return Err(lo.reject(format!(
            "{} of dot_scaled has the dtype {}, but its format is held in {} or {}",
            place.name(),
            elem_shown(elem),
            describe_dtype(dtype),
            describe_dtype(unsigned)
        )));
    }
    bitcast(lo, side.value, Elem::Num(dtype))
}

/// The operand as a matrix of a wide dtype.
fn widen_operand(lo: &mut Lowering, side: Side, place: OperandSide, wide: Wide) -> Traced<ValueId> {
    if side.format != Format::E2m1 {
        return match wide {
            Wide::Dtype(wide) => cast(lo, side.value, wide),
            Wide::ByParts { .. } => Ok(by_parts(lo, side.value)),
        };
    }
    let ty = lo.ty(side.value).clone();
    let mask = lo.emit_constant(0xf, ty.clone());
    let low = lo.emit_op(OpKind::Binary(BinaryOp::And), &[side.value, mask], ty.clone());
    let four = lo.emit_constant(4, ty.clone());
    let high = lo.emit_op(OpKind::Binary(BinaryOp::LShr), &[side.value, four], ty);
    let low = four_bits(lo, low)?;
    let high = four_bits(lo, high)?;
    let both = join(lo, low, high)?;
    let mut packed = lo.ty(side.value).shape.clone();
    let rank = packed.len();
    // `lhs` has its inner dimension last, `rhs` last but one.
    let last = side.k_pack == (place == OperandSide::Lhs);
    let dim = if last { rank - 1 } else { rank - 2 };
    let both = if last {
        both
    } else {
        let mut order: Vec<i128> = (0..=rank as i128).collect();
        order.swap(rank - 1, rank);
        permute(lo, both, &order)?
    };
    if let Some(extent) = packed.get_mut(dim) {
        *extent *= 2;
    }
    let value = reshape(lo, both, &packed, false)?;
    cast(lo, value, wide.dtype())
}

/// Converts an operand that is not packed as Triton's interpreter does: to an `f16`, from exponent and significand. The
/// infinities and NaN of 8-bit floats become those of `f32`.
fn by_parts(lo: &mut Lowering, value: ValueId) -> ValueId {
    let dtype = lo.dtype(value).unwrap_or(DType::F16);
    let manner = Manner {
        rounds: false,
        mends_zeros: lo.rules.version >= Version::new(3, 9, 0),
    };
    let foreign = Foreign::new(&format!("{dtype} by parts to f16 to f32, {manner:?}"), move |x| {
        let special = decode(dtype, x[0]);
        if dtype.is_fp8() && !special.is_finite() {
            return encode_number(DType::F32, special);
        }
        let half = convert(dtype, DType::F16, manner, x[0]);
        encode_number(DType::F32, decode(DType::F16, half))
    });
    let ty = lo.ty(value).with_elem(Elem::Num(DType::F32));
    lo.emit_op(OpKind::Foreign(foreign), &[value], ty)
}

/// Scales in Triton's interpreter: the byte is the exponent of an `f32`, whatever its dtype.
fn byte_as_exponent(lo: &mut Lowering, scale: ValueId, half: bool) -> ValueId {
    let e8m0 = lo.dtype(scale).is_some_and(DType::is_int);
    let newest = lo.rules.version >= Version::new(3, 9, 0);
    let zero = half || !e8m0 || lo.has_quirk(Quirk::ScaleOfZeroIsZero);
    let nan = newest && e8m0;
    let name = format!("byte as the exponent of f32, 0 is zero: {zero}, 255 is NaN: {nan}");
    let foreign = Foreign::new(&name, move |x| match x[0] & 0xff {
        0 if !zero => 0x0040_0000,
        255 if nan => 0x7fc0_0000,
        byte => byte << 23,
    });
    let ty = lo.ty(scale).with_elem(Elem::Num(DType::F32));
    lo.emit_op(OpKind::Foreign(foreign), &[scale], ty)
}

/// `e2m1` in the low halves of bytes as `f16`, which holds every one of them: its bits are those of a number whose
/// exponent is 14 too low.
fn four_bits(lo: &mut Lowering, value: ValueId) -> Traced<ValueId> {
    let value = cast(lo, value, DType::U16)?;
    let ty = lo.ty(value).clone();
    let field = |lo: &mut Lowering, mask: u64, shift: u64| {
        let mask = lo.emit_constant(mask, ty.clone());
        let shift = lo.emit_constant(shift, ty.clone());
        let field = lo.emit_op(OpKind::Binary(BinaryOp::And), &[value, mask], ty.clone());
        lo.emit_op(OpKind::Binary(BinaryOp::Shl), &[field, shift], ty.clone())
    };
    let sign = field(lo, 8, 12);
    let magnitude = field(lo, 7, 9);
    let bits = lo.emit_op(OpKind::Binary(BinaryOp::Or), &[sign, magnitude], ty.clone());
    let small = bitcast(lo, bits, Elem::Num(DType::F16))?;
    let ty = ty.with_elem(Elem::Num(DType::F16));
    let factor = lo.emit_constant(encode_number(DType::F16, 16384.0), ty.clone());
    Ok(lo.emit_op(OpKind::Binary(BinaryOp::Mul), &[small, factor], ty))
}

fn encode_number(dtype: DType, value: f64) -> u64 {
    encode(dtype, value, cerith_tile::ir::Rounding::NearestEven)
}

/// The number of elements that share a scale.
fn group(lo: &Lowering, scales: [Option<ValueId>; 2], k: usize) -> Traced<usize> {
    let fp8 = |scale: ValueId| lo.ty(scale).elem == Elem::Num(DType::F8E4NV);
    let mut given = scales.into_iter().flatten();
    let Some(first) = given.next() else {
        return Ok(32);
    };
    if !lo.rules.holds(Rule::ScaledDotDeducesGroup) {
        return Ok(if fp8(first) { 16 } else { 32 });
    }
    let ty = lo.ty(first);
    if ty.numel() == 1 {
        return Ok(32);
    }
    let groups = ty.shape.last().copied().unwrap_or(1);
    match k / groups.max(1) {
        group @ (16 | 32) => Ok(group),
        other => Err(lo.reject(format!(
            "the scale factor of dot_scaled must be 16 or 32, got {other}"
        ))),
    }
}

/// The operand times its scales.
fn scale_operand(
    lo: &mut Lowering,
    value: ValueId,
    scale: Option<ValueId>,
    place: OperandSide,
    group: usize,
    (wide, fast_math): (Wide, bool),
) -> Traced<ValueId> {
    let Some(scale) = scale else {
        return Ok(value);
    };
    let ty = lo.ty(value).clone();
    // Scales lie along the last dimension on both sides: `rhs_scale` is not transposed.
    let mut wanted = ty.shape.clone();
    let rank = wanted.len();
    if place == OperandSide::Rhs {
        wanted.swap(rank - 2, rank - 1);
    }
    let spread: Shape = wanted.clone();
    if let Some(inner) = wanted.last_mut() {
        *inner /= group;
    }
    let own = lo.ty(scale).clone();
    let batched = rank == 2 || lo.rules.holds(Rule::ScaledDotScalesBatches);
    if own.shape != wanted || wanted.contains(&0) || !batched {
        return Err(lo.reject(format!(
            "{}_scale must be a tensor of shape {}, got {}",
            place.name(),
            shape::describe_shape(&wanted),
            shape::describe_shape(&own.shape)
        )));
    }
    let scale = match (own.elem, wide) {
        (Elem::Num(DType::I8 | DType::U8 | DType::F8E4NV), Wide::ByParts { half }) => {
            byte_as_exponent(lo, scale, half)
        }
        (Elem::Num(DType::I8 | DType::U8), Wide::Dtype(wide)) => convert_scales(lo, scale, wide, fast_math)?,
        (Elem::Num(DType::F8E4NV), Wide::Dtype(wide)) if lo.rules.holds(Rule::ScaledDotTakesFp8Scales) => {
            cast(lo, scale, wide)?
        }
        (Elem::Num(dtype), _) if dtype.is_float() => {
            return Err(lo.report_unsupported(format!(
                "`tl.dot_scaled` with scales of {}",
                describe_dtype(dtype)
            )));
        }
        (elem, _) => {
            return Err(lo.reject(format!(
                "{}_scale must hold e8m0 in 8-bit integers, got {}",
                place.name(),
                elem_shown(elem)
            )));
        }
    };
    let column = expand_dim(lo, scale, rank);
    let mut repeated = wanted;
    repeated.push(group);
    let repeated = broadcast_to(lo, column, &repeated)?;
    let mut factors = reshape(lo, repeated, &spread, false)?;
    if place == OperandSide::Rhs {
        factors = transpose(lo, factors)?;
    }
    Ok(lo.emit_op(OpKind::Binary(BinaryOp::Mul), &[value, factors], ty))
}

/// `e8m0` bytes as a float dtype. `f16` holds few of them: the others become zero or infinity.
fn convert_scales(lo: &mut Lowering, scale: ValueId, wide: DType, fast_math: bool) -> Traced<ValueId> {
    let scale = bitcast(lo, scale, Elem::Num(DType::U8))?;
    let bits = cast(lo, scale, DType::U16)?;
    let ty = lo.ty(bits).clone();
    let seven = lo.emit_constant(7, ty.clone());
    let bits_of_power = lo.emit_op(OpKind::Binary(BinaryOp::Shl), &[bits, seven], ty.clone());
    // 2^-127 is a subnormal number of `bf16`.
    let zero = lo.has_quirk(Quirk::ScaleOfZeroIsZero) || lo.has_quirk(Quirk::ScaleOfZeroFlushes);
    let least = lo.emit_constant(if zero { 0 } else { 0x40 }, ty.clone());
    let bits_of_power = lo.emit_op(OpKind::Binary(BinaryOp::Max), &[bits_of_power, least], ty.clone());
    let power = bitcast(lo, bits_of_power, Elem::Num(DType::BF16))?;
    let power = if wide == DType::BF16 {
        power
    } else {
        let whole = cast(lo, power, DType::F32)?;
        cast(lo, whole, wide)?
    };
    let all = lo.emit_constant(255, ty.clone());
    let special = ty.clone().with_elem(Elem::Num(DType::I1));
    let special = lo.emit_op(OpKind::Compare(CmpPredicate::Eq), &[bits, all], special);
    let ty = ty.with_elem(Elem::Num(wide));
    let nan = if fast_math {
        lo.emit_op(OpKind::Poison, &[], ty.clone())
    } else {
        lo.emit_constant(encode_number(wide, f64::NAN), ty.clone())
    };
    Ok(lo.emit_op(OpKind::Select, &[special, nan, power], ty))
}
