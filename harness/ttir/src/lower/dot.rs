//! Lowers matrix products. A scaled product becomes the operations that Triton's compiler emits for hardware without
//! one (`DecomposeScaledBlocked.cpp`): operands widened to bf16 (f16 if one of them is f16) and multiplied by their
//! scales, then a product. Unsupported: products of tensor memory, which only Blackwell has.

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CmpPredicate, Elem, InputPrecision, OpKind, Rounding, Shape, Type, ValueId};
use cerith_tile::numeric;

use super::{Bundle, Lowered, Lowering, stop};
use crate::syntax::{Attr, Operation};

/// An operand of a scaled product.
struct Side<'a> {
    value: ValueId,
    scale: Option<ValueId>,
    format: &'a str,
    /// Whether four-bit numbers are packed along the inner dimension.
    k_pack: bool,
    /// Whether the inner dimension is the last.
    is_left: bool,
}

impl<'m> Lowering<'m> {
    pub(super) fn lower_dot(&mut self, op: &'m Operation) -> Lowered<Option<Vec<Bundle>>> {
        let value = match op.name.as_str() {
            "tt.dot" => self.lower_product(op)?,
            "tt.dot_scaled" => self.lower_dot_scaled(op)?,
            _ => return Ok(None),
        };
        Ok(Some(vec![Bundle::from_slice(&[value])]))
    }

    /// Lowers `a, b, accumulator`. With more than 3 dimensions, the outer ones are merged.
    pub(super) fn lower_product(&mut self, op: &Operation) -> Lowered<ValueId> {
        let operands: [ValueId; 3] = self.single_operands(op)?;
        self.multiply_operands(op, operands)
    }

    /// Emits the product of these operands with an operation's attributes, which are words, or numbers in the generic
    /// form.
    pub(super) fn multiply_operands(&mut self, op: &Operation, operands: [ValueId; 3]) -> Lowered<ValueId> {
        let ty = self.ty(operands[2]);
        let precision = op.find_attr("inputPrecision");
        let precision = match (precision.and_then(Attr::text), precision.and_then(Attr::int)) {
            (Some("tf32"), _) | (_, Some(0)) => InputPrecision::Tf32,
            (Some("tf32x3"), _) | (_, Some(1)) => InputPrecision::Tf32x3,
            // A default isn't printed.
            (None, None) | (Some("ieee"), _) | (_, Some(2)) => InputPrecision::Ieee,
            (Some("bf16x3"), _) | (_, Some(3)) => InputPrecision::Bf16x3,
            (Some("bf16x6"), _) | (_, Some(4)) => InputPrecision::Bf16x6,
            _ => return stop(format!("the precision {precision:?} is not supported yet")),
        };
        let imprecise = op
            .find_attr("maxNumImpreciseAcc")
            .and_then(Attr::int)
            .unwrap_or(0);
        let kind = OpKind::Dot {
            precision,
            max_imprecise: u32::try_from(imprecise).unwrap_or(0),
        };
        if ty.shape.len() <= 3 {
            return Ok(self.push_op(kind, &operands, ty));
        }
        let mut flat = operands;
        for value in &mut flat {
            let ty = self.ty(*value);
            let (outer, inner) = ty.shape.split_at(ty.shape.len().saturating_sub(2));
            let shape: Shape = std::iter::once(outer.iter().product())
                .chain(inner.iter().copied())
                .collect();
            *value = self.push_op(
                OpKind::Reshape { reorder: false },
                &[*value],
                Type::block(ty.elem, shape),
            );
        }
        let product = self.ty(flat[2]);
        let value = self.push_op(kind, &flat, product);
        Ok(self.push_op(OpKind::Reshape { reorder: false }, &[value], ty))
    }

    fn lower_dot_scaled(&mut self, op: &Operation) -> Lowered<ValueId> {
        // `a [scale s], b [scale t], accumulator`.
        let scaled_at = |before: usize| {
            op.words
                .iter()
                .zip(&op.words_at)
                .any(|(word, &at)| at == before && matches!(word, Attr::Word(word) if word == "scale"))
        };
        let operands = self.all_operands(op)?;
        // Triton 3.2 prints no word before a scale, and only the left operand has a scale.
        let is_plain = operands.len() == 4 && !(1..4).any(scaled_at);
        let mut rest = operands.iter().copied();
        let mut read = 0;
        let mut sides = Vec::with_capacity(2);
        for (name, pack, is_left) in [("lhs", "lhs_k_pack", true), ("rhs", "rhs_k_pack", false)] {
            let Some(value) = rest.next() else {
                return stop("a scaled product without operands");
            };
            read += 1;
            let scale = if scaled_at(read) || (is_plain && is_left) {
                rest.next()
            } else {
                None
            };
            read += usize::from(scale.is_some());
            sides.push(Side {
                value,
                scale,
                format: op.find_attr(name).and_then(Attr::text).unwrap_or_default(),
                k_pack: op.find_attr(pack) != Some(&Attr::Bool(false)),
                is_left,
            });
        }
        let (Some(accumulator), None, [left, right]) = (rest.next(), rest.next(), sides.as_slice()) else {
            return stop("a scaled product with unsupported operands");
        };
        let fast = op.find_attr("fastMath") == Some(&Attr::Bool(true));
        let half = [left, right].iter().any(|side| side.format == "fp16");
        let wide = if half { DType::F16 } else { DType::BF16 };
        let left_value = self.widen_side(left, wide)?;
        let right_value = self.widen_side(right, wide)?;
        let a = self.apply_scales(left, left_value, wide, fast)?;
        let b = self.apply_scales(right, right_value, wide, fast)?;
        let kind = OpKind::Dot {
            precision: InputPrecision::Ieee,
            max_imprecise: 0,
        };
        let ty = self.ty(accumulator);
        Ok(self.push_op(kind, &[a, b, accumulator], ty))
    }

    fn cast_to(&mut self, value: ValueId, dtype: DType) -> ValueId {
        let ty = self.ty(value).with_elem(Elem::Num(dtype));
        self.cast_value(value, ty, Rounding::NearestEven)
    }

    fn widen_side(&mut self, side: &Side<'_>, wide: DType) -> Lowered<ValueId> {
        let dtype = match side.format {
            "e2m1" => {
                let rank = self.ty(side.value).shape.len();
                let is_last = side.k_pack == side.is_left;
                return self.unpack_nibbles(side.value, wide, rank.wrapping_sub(if is_last { 1 } else { 2 }));
            }
            "e4m3" => DType::F8E4NV,
            "e5m2" => DType::F8E5,
            "bf16" => DType::BF16,
            "fp16" => DType::F16,
            other => return stop(format!("a scaled product of `{other}` is not supported yet")),
        };
        let value = self.bitcast(side.value, Elem::Num(dtype));
        Ok(self.cast_to(value, wide))
    }

    /// Unpacks the two four-bit numbers of each byte, which are adjacent along an axis, the lower bits first.
    pub(super) fn unpack_nibbles(&mut self, value: ValueId, wide: DType, axis: usize) -> Lowered<ValueId> {
        let bytes = self.bitcast(value, Elem::Num(DType::U8));
        let ty = self.ty(bytes);
        let mask = self.push_number(0xf, ty.clone());
        let low = self.push_binary(BinaryOp::And, bytes, mask);
        let four = self.push_number(4, ty.clone());
        let high = self.push_binary(BinaryOp::LShr, bytes, four);
        let (low, high) = (self.four_bits(low), self.four_bits(high));
        let rank = ty.shape.len();
        let Some(&extent) = ty.shape.get(axis) else {
            return stop("numbers of four bits along an axis that is not there");
        };
        let mut shape = ty.shape.clone();
        shape.push(2);
        let elem = Elem::Num(DType::F16);
        let mut both = self.push_op(OpKind::Join, &[low, high], Type::block(elem, shape));
        if axis + 1 < rank {
            let mut order: Shape = (0..rank).collect();
            order.insert(axis + 1, rank);
            let mut shape = ty.shape.clone();
            shape.insert(axis + 1, 2);
            both = self.push_op(OpKind::Trans { order }, &[both], Type::block(elem, shape));
        }
        let mut packed = ty.shape;
        packed[axis] = extent * 2;
        let value = self.push_op(
            OpKind::Reshape { reorder: false },
            &[both],
            Type::block(elem, packed),
        );
        Ok(self.cast_to(value, wide))
    }

    /// Converts e2m1 bits to an f16 whose exponent is too low by 14.
    fn four_bits(&mut self, value: ValueId) -> ValueId {
        let value = self.cast_to(value, DType::U16);
        let ty = self.ty(value);
        let field = |this: &mut Self, mask, shift| {
            let mask = this.push_number(mask, ty.clone());
            let shift = this.push_number(shift, ty.clone());
            let field = this.push_binary(BinaryOp::And, value, mask);
            this.push_binary(BinaryOp::Shl, field, shift)
        };
        let (sign, magnitude) = (field(self, 8, 12), field(self, 7, 9));
        let bits = self.push_binary(BinaryOp::Or, sign, magnitude);
        let small = self.bitcast(bits, Elem::Num(DType::F16));
        let factor = numeric::encode(DType::F16, 16384.0, Rounding::NearestEven);
        let factor = self
            .builder
            .add_constant(factor, ty.with_elem(Elem::Num(DType::F16)));
        self.push_binary(BinaryOp::Mul, small, factor)
    }

    /// Multiplies an operand by its scales; each applies to a group along the inner dimension.
    fn apply_scales(&mut self, side: &Side<'_>, value: ValueId, wide: DType, fast: bool) -> Lowered<ValueId> {
        let Some(scale) = side.scale else {
            return Ok(value);
        };
        let ty = self.ty(value);
        let rank = ty.shape.len();
        let own = self.ty(scale).shape;
        // Scales are along the last dimension on both sides.
        let mut spread = ty.shape.clone();
        if !side.is_left {
            spread.swap(rank - 2, rank - 1);
        }
        let (Some(&inner), Some(&groups)) = (spread.last(), own.last()) else {
            return stop("a scaled product of scalars");
        };
        if own.len() != rank || groups == 0 || inner % groups != 0 {
            return stop("a scaled product whose scales do not fit");
        }
        let factors = match self.dtype(scale) {
            Some(DType::F8E4NV) => self.cast_to(scale, wide),
            Some(DType::I8) => self.decode_scales(scale, wide, fast),
            _ => return stop("a scaled product with scales of another type"),
        };
        let elem = Elem::Num(wide);
        let mut column = own.clone();
        column.push(1);
        let factors = self.push_op(
            OpKind::Reshape { reorder: false },
            &[factors],
            Type::block(elem, column),
        );
        let mut repeated = own;
        repeated.push(inner / groups);
        let factors = self.push_op(OpKind::Broadcast, &[factors], Type::block(elem, repeated));
        let mut factors = self.push_op(
            OpKind::Reshape { reorder: false },
            &[factors],
            Type::block(elem, spread),
        );
        if !side.is_left {
            let mut order: Shape = (0..rank).collect();
            order.swap(rank - 2, rank - 1);
            factors = self.push_op(OpKind::Trans { order }, &[factors], ty.clone());
        }
        Ok(self.push_binary(BinaryOp::Mul, value, factors))
    }

    /// Converts e8m0 bytes to floats: `2^(byte - 127)`, and NaN for 255, which fast math doesn't promise.
    fn decode_scales(&mut self, scale: ValueId, wide: DType, fast: bool) -> ValueId {
        let bytes = self.bitcast(scale, Elem::Num(DType::U8));
        let bits = self.cast_to(bytes, DType::U16);
        let ty = self.ty(bits);
        let seven = self.push_number(7, ty.clone());
        let power = self.push_binary(BinaryOp::Shl, bits, seven);
        // 2^-127 is a subnormal bf16 number.
        let least = self.push_number(0x40, ty.clone());
        let power = self.push_binary(BinaryOp::Max, power, least);
        let mut power = self.bitcast(power, Elem::Num(DType::BF16));
        if wide != DType::BF16 {
            let whole = self.cast_to(power, DType::F32);
            power = self.cast_to(whole, wide);
        }
        let all = self.push_number(255, ty.clone());
        let special = self.compare(CmpPredicate::Eq, bits, all);
        let ty = ty.with_elem(Elem::Num(wide));
        let nan = if fast {
            self.push_op(OpKind::Poison, &[], ty.clone())
        } else {
            let bits = numeric::encode(wide, f64::NAN, Rounding::NearestEven);
            self.builder.add_constant(bits, ty.clone())
        };
        self.push_op(OpKind::Select, &[special, nan, power], ty)
    }
}
