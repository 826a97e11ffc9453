//! Casts and constants of Triton's interpreter: the ones that go through [`convert`], and the ones that treat a number
//! as bits. The front end (`semantic.cast`) selects the builder's calls: a cast from `f16` or `bf16` to anything except
//! `f32` goes through `f32`, and 8-bit floats are special cases.

use cerith_tile::DType;
use cerith_tile::ir::{CastKind, Foreign, OpKind, Operation, Rounding, ValueId};
use cerith_tile::numeric::{self, decode, encode};
use cerith_tile::quirk::Quirk;
use cerith_tile::rules::Version;

use crate::model::{Model, Rewritten, replace_by_foreign};
use cerith_tile::quirk::by_parts::{Manner, convert};

/// A number as an unsigned integer of so many bits, as NumPy makes it on x86: by way of an `i32`, and 0 where that does not
/// hold it.
pub(crate) fn cast_unsigned(number: f64, bits: u32) -> u64 {
    let whole = number.trunc();
    if !(-2_147_483_648.0..2_147_483_648.0).contains(&whole) {
        return 0;
    }
    (whole as i64 as u64) & ((1 << bits) - 1)
}

/// A correct cast, whose undefined results are zero.
pub(crate) fn cast_correctly(from: DType, to: DType, bits: u64) -> u64 {
    numeric::cast(from, to, Rounding::NearestEven, bits)
        .bits()
        .unwrap_or(0)
}

impl Model {
    pub(crate) fn choose_manner(&self, rounds: bool) -> Manner {
        Manner {
            rounds,
            mends_zeros: self.version >= Version::new(3, 9, 0),
        }
    }

    pub(crate) fn cast(&mut self, op: Operation) -> Rewritten {
        let OpKind::Cast {
            kind: CastKind::Value,
            rounding,
        } = op.kind
        else {
            return Rewritten::Same(op);
        };
        let (Some(from), Some(to)) = (self.dtype(op.operands[0]), self.dtype(op.results[0])) else {
            return Rewritten::Same(op);
        };
        let nearest = rounding == Rounding::NearestEven;
        if from == to {
            return Rewritten::Same(op);
        }
        if let Some(signed) = self.shifted_as_signed(op.operands[0]) {
            let mut cast = op;
            cast.operands[0] = signed;
            return Rewritten::By(vec![cast]);
        }
        if (from, to) == (DType::F8E5, DType::BF16) && self.has(Quirk::Fp8SpecialsAreNumbers) {
            return replace_by_foreign(
                op,
                Foreign::new("fp8e5 without specials to bf16", specials_as_numbers),
            );
        }
        let cuts = !nearest && from.is_float() && matches!(to, DType::F16 | DType::F32);
        let foreign = if to == DType::F8E5 && nearest && self.has(Quirk::NarrowingToFp8e5Wraps) {
            narrowed_to_fp8e5(from)
        } else if cuts && from.bits() > to.bits() && !from.is_fp8() {
            let cut = self.choose_manner(false);
            self.has(Quirk::CutsConvertByParts).then(|| {
                Foreign::new(&format!("{from} cut by parts to {to}"), move |x| {
                    convert(from, to, cut, x[0])
                })
            })
        } else if from.is_fp8() || to.is_fp8() {
            self.cast_fp8(from, to, nearest)
        } else if to == DType::BF16 {
            self.to_bf16(from)
        } else if from == DType::BF16 && self.has(Quirk::Bf16WidensShort) {
            let cut = self.choose_manner(false);
            Some(Foreign::new(&format!("bf16 by parts to {to}"), move |x| {
                cast_correctly(DType::F32, to, convert(DType::BF16, DType::F32, cut, x[0]))
            }))
        } else {
            None
        };
        match foreign {
            Some(foreign) => replace_by_foreign(op, foreign),
            None => Rewritten::Same(op),
        }
    }

    /// The signed numbers as which unsigned ones were shifted right. The interpreter keeps the signed ones.
    fn shifted_as_signed(&self, value: ValueId) -> Option<ValueId> {
        let (
            OpKind::Cast {
                kind: CastKind::Bits, ..
            },
            Some(shifted),
        ) = self.made_by(value)?
        else {
            return None;
        };
        let (OpKind::Binary(_), _) = self.made_by(shifted)? else {
            return None;
        };
        self.has(Quirk::ShiftedStaysSigned).then_some(shifted)
    }

    fn cast_fp8(&self, from: DType, to: DType, nearest: bool) -> Option<Foreign> {
        if !(from.is_float() && to.is_float() && self.has(Quirk::Fp8ConvertsByParts)) {
            return None;
        }
        let manner = self.choose_manner(nearest && to.bits() < from.bits());
        Some(Foreign::new(
            &format!("{from} by parts to {to}, {manner:?}"),
            move |x| convert(from, to, manner, x[0]),
        ))
    }

    fn to_bf16(&self, from: DType) -> Option<Foreign> {
        let cut = self.choose_manner(false);
        match from {
            DType::F32 | DType::F16 if self.has(Quirk::Bf16Truncates) => Some(Foreign::new_rising(
                &format!("{from} cut off to bf16"),
                move |x| {
                    let wide = cast_correctly(from, DType::F32, x[0]);
                    convert(DType::F32, DType::BF16, cut, wide)
                },
            )),
            DType::F64 if self.has(Quirk::Bf16FromInteger) => {
                Some(Foreign::new("integer part of f64 as bf16", |x| {
                    cast_unsigned(decode(DType::F64, x[0]), 16)
                }))
            }
            _ if from.is_int() && self.has(Quirk::Bf16FromInteger) => {
                Some(Foreign::new(&format!("{from} as the bits of bf16"), move |x| {
                    numeric::decode_int(from, x[0]) as u64 & 0xffff
                }))
            }
            _ => None,
        }
    }

    /// A number of the source becomes an 8-bit float as an integer would (`get_fp32`, then `create_fp_trunc`).
    pub(crate) fn rewrite_constant(&mut self, mut op: Operation, bits: u64) -> Rewritten {
        match self.dtype(op.results[0]) {
            Some(dtype) if dtype.is_fp8() && dtype != DType::F8E4B15 && self.has(Quirk::Fp8FromNumber) => {
                let number = decode(dtype, bits);
                let taken = cast_unsigned(number, 8);
                if taken == bits {
                    return Rewritten::Same(op);
                }
                op.kind = OpKind::Constant(taken);
                Rewritten::By(vec![op])
            }
            _ => Rewritten::Same(op),
        }
    }

    /// The NaN for lanes outside of a tensor is created as an integer, where it is 0.
    pub(crate) fn rewrite_padding(&mut self, op: Operation) -> Rewritten {
        let OpKind::Load {
            has_other: true,
            mask,
            ..
        } = &op.kind
        else {
            return Rewritten::Same(op);
        };
        let slot = 1 + usize::from(*mask);
        let Some(&other) = op.operands.get(slot) else {
            return Rewritten::Same(op);
        };
        let (Some((OpKind::Constant(bits), _)), Some(dtype)) = (self.made_by(other), self.dtype(other))
        else {
            return Rewritten::Same(op);
        };
        let kept_as_integer = dtype == DType::BF16 || dtype.is_fp8();
        if !kept_as_integer || !decode(dtype, *bits).is_nan() {
            return Rewritten::Same(op);
        }
        let nan = encode(DType::F32, f64::NAN, Rounding::NearestEven);
        let by_parts = convert(DType::F32, dtype, self.choose_manner(false), nan);
        let is_a_number = dtype.is_fp8() && !decode(dtype, by_parts).is_nan();
        let taken = if is_a_number && self.has(Quirk::PaddingNanIsANumber) {
            by_parts
        } else if self.has(Quirk::PaddingNanIsZero) {
            0
        } else {
            return Rewritten::Same(op);
        };
        let (zero, mut constant) = self.build_zero(self.ty(other).clone(), op.loc);
        constant.kind = OpKind::Constant(taken);
        let mut load = op;
        load.operands[slot] = zero;
        Rewritten::By(vec![constant, load])
    }
}

impl Model {
    /// A scalar access whose mask is ignored: a false mask is treated as no mask.
    pub(crate) fn ignore_mask(&self, mut op: Operation) -> Rewritten {
        let scalar = op
            .operands
            .first()
            .is_some_and(|&pointer| self.ty(pointer).numel() == 1);
        if !scalar || !self.has(Quirk::FalseMasksAreIgnored) {
            return Rewritten::Same(op);
        }
        match &mut op.kind {
            OpKind::Store { mask } | OpKind::AtomicRmw { mask, .. } => *mask = false,
            _ => return Rewritten::Same(op),
        }
        op.operands.truncate(2);
        Rewritten::By(vec![op])
    }
}

/// Converts `fp8e5` to `bf16` as if the largest exponent were an ordinary one.
fn specials_as_numbers(x: &[u64]) -> u64 {
    let bits = x[0];
    if bits & 0x7c != 0x7c {
        return cast_correctly(DType::F8E5, DType::BF16, bits);
    }
    let size = (1.0 + (bits & 3) as f64 / 4.0) * 65536.0;
    let number = if bits & 0x80 == 0 { size } else { -size };
    encode(DType::BF16, number, Rounding::NearestEven)
}

/// How numbers of a dtype become `fp8e5` without an instruction for it.
fn narrowed_to_fp8e5(from: DType) -> Option<Foreign> {
    Some(match from {
        DType::BF16 => Foreign::new("bf16 to fp8e5 by its bits", |x| bf16_to_fp8e5(x[0])),
        DType::F16 => Foreign::new("f16 to fp8e5 by its bits", |x| f16_to_fp8e5(x[0])),
        DType::F32 => Foreign::new("f32 cut to f16, to fp8e5 by its bits", |x| {
            let cut = numeric::cast(DType::F32, DType::F16, Rounding::TowardZero, x[0]);
            // `cvt` makes every NaN this one.
            let nan = decode(DType::F32, x[0]).is_nan().then_some(0x7fff);
            f16_to_fp8e5(nan.or(cut.bits()).unwrap_or(0))
        }),
        _ => return None,
    })
}

/// Converts `f16` to `fp8e5`, which is its upper half: half of the lower part is added, with the carry into exponent
/// and sign.
fn f16_to_fp8e5(bits: u64) -> u64 {
    ((bits & 0xfffe) + 0x80) >> 8 & 0xff
}

/// Converts `bf16` to `fp8e5`: the exponent is rebased, within the limits of another format, and the upper half is
/// taken.
fn bf16_to_fp8e5(bits: u64) -> u64 {
    let size = (bits & 0x7fff).clamp(0x3800, 0x57e0) + 0x10 - 0x3800;
    (size << 3 | bits & 0x8000) >> 8 & 0xff
}

/// The bits of a float as the number that they are as an unsigned integer, in `f32`.
pub(crate) fn bits_as_f32(bits: u64) -> u64 {
    encode(DType::F32, bits as f64, Rounding::NearestEven)
}
