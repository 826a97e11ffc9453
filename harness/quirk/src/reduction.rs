//! Reductions and `dot` as NumPy does them: `np.sum`, `np.matmul`.

use cerith_tile::DType;
use cerith_tile::ir::{Combine, Foreign, InputPrecision, OpKind, Operation, ValueId};
use cerith_tile::quirk::Quirk;
use smallvec::smallvec;

use crate::cast::{bits_as_f32, cast_correctly};
use crate::model::{Model, Rewritten};
use cerith_tile::quirk::by_parts::convert;

impl Model {
    pub(crate) fn reduce(&mut self, op: Operation) -> Rewritten {
        let OpKind::Reduce { combine, .. } = &op.kind else {
            return Rewritten::Same(op);
        };
        let float = op
            .operands
            .first()
            .and_then(|&operand| self.dtype(operand))
            .is_some_and(DType::is_float);
        if float && *combine == Some(Combine::Add) && self.has(Quirk::SumBeginsWithZero) {
            return self.sum_from_zero(op);
        }
        if *combine == Some(Combine::Add)
            && self.has(Quirk::ProductSumsAreTf32)
            && let Some(dot) = self.as_dot(&op)
        {
            return dot;
        }
        Rewritten::Same(op)
    }

    /// Negative zeros add up to a positive one. Adding zero rounds nothing, so bounds stay as they are.
    fn sum_from_zero(&mut self, mut op: Operation) -> Rewritten {
        let result = op.results[0];
        let ty = self.ty(result).clone();
        let Some(dtype) = ty.elem.num() else {
            return Rewritten::Same(op);
        };
        let sum = self.create_value(ty);
        op.results[0] = sum;
        let negative_zero = 1u64 << (dtype.bits() - 1);
        let added = Operation {
            kind: OpKind::Foreign(Foreign::new_rising(&format!("{dtype} added to zero"), move |x| {
                if x[0] == negative_zero { 0 } else { x[0] }
            })),
            operands: smallvec![sum],
            results: smallvec![result],
            loc: op.loc,
        };
        Rewritten::By(vec![op, added])
    }

    /// A sum of products along the middle of three dimensions as a dot of tf32. Tensor cores don't read the last 13 bits of `f32` operands
    /// (records of an H200, 3.0.0 to 3.7.1), so the operands are cut here, and bounds leave room for the order of the sum alone.
    fn as_dot(&mut self, op: &Operation) -> Option<Rewritten> {
        let OpKind::Reduce { axis: 1, .. } = op.kind else {
            return None;
        };
        let (left, right) = self.find_factors(*op.operands.first()?)?;
        let (left, right) = (self.spread_from(left, 2)?, self.spread_from(right, 0)?);
        let result = *op.results.first()?;
        let ty = self.ty(result).clone();
        if [left, right]
            .iter()
            .any(|&side| self.dtype(side) != Some(DType::F32))
        {
            return None;
        }
        let (zero, constant) = self.build_zero(ty, op.loc);
        let cut = || Foreign::new_rising("f32 cut to tf32", |x| x[0] & !0x1fff);
        let left = self.build_map(left, DType::F32, op, cut());
        let right = self.build_map(right, DType::F32, op, cut());
        let dot = Operation {
            kind: OpKind::Dot {
                precision: InputPrecision::Tf32,
                max_imprecise: 0,
            },
            operands: smallvec![left.results[0], right.results[0], zero],
            results: smallvec![result],
            loc: op.loc,
        };
        Some(Rewritten::By(vec![left, right, constant, dot]))
    }

    /// The matrix that was given a third dimension at this place and then broadcast along it.
    fn spread_from(&self, value: ValueId, at: usize) -> Option<ValueId> {
        let (OpKind::Broadcast, Some(thin)) = self.made_by(value)? else {
            return None;
        };
        let (OpKind::Reshape { .. }, Some(matrix)) = self.made_by(thin)? else {
            return None;
        };
        let mut shape = self.ty(matrix).shape.clone();
        if shape.len() != 2 {
            return None;
        }
        shape.insert(at, 1);
        (shape == self.ty(thin).shape).then_some(matrix)
    }

    /// The product, and a sum that stops at the ends.
    fn saturate_dot(&mut self, mut op: Operation) -> Rewritten {
        let result = op.results[0];
        let ty = self.ty(result).clone();
        let (zero, constant) = self.build_zero(ty.clone(), op.loc);
        let product = self.create_value(ty);
        let before = std::mem::replace(&mut op.operands[2], zero);
        op.results[0] = product;
        let sum = Operation {
            kind: OpKind::Foreign(saturating_sum()),
            operands: smallvec![product, before],
            results: smallvec![result],
            loc: op.loc,
        };
        self.products.insert(result);
        Rewritten::By(vec![constant, op, sum])
    }

    /// `np.matmul` of the arrays in which the operands are kept: the bits of `bf16`, and 8-bit floats by way of `f16`.
    pub(crate) fn dot(&mut self, mut op: Operation) -> Rewritten {
        let (Some(left), Some(right)) = (self.dtype(op.operands[0]), self.dtype(op.operands[1])) else {
            return Rewritten::Same(op);
        };
        let sum = self.dtype(op.results[0]);
        if self.has(Quirk::DotSaturates) && left.bits() == 8 && sum == Some(DType::I32) {
            return self.saturate_dot(op);
        }
        let eight = left.is_fp8() || right.is_fp8();
        let wide = match self.dtype(op.results[0]) {
            Some(wide @ DType::F32) => wide,
            Some(wide @ DType::F16) if eight => wide,
            _ => return Rewritten::Same(op),
        };
        let taken = |dtype: DType| -> Option<Foreign> {
            if dtype == DType::BF16 && wide == DType::F32 && self.has(Quirk::Bf16DotOfBits) {
                return Some(Foreign::new("bits of bf16 as a number", |x| bits_as_f32(x[0])));
            }
            let cut = self.choose_manner(false);
            (eight && self.has(Quirk::Fp8ConvertsByParts)).then(|| {
                Foreign::new(&format!("{dtype} by parts to f16 to {wide}"), move |x| {
                    let half = convert(dtype, DType::F16, cut, x[0]);
                    if wide == DType::F16 {
                        half
                    } else {
                        cast_correctly(DType::F16, wide, half)
                    }
                })
            })
        };
        let (Some(a), Some(b)) = (taken(left), taken(right)) else {
            return Rewritten::Same(op);
        };
        let a = self.build_map(op.operands[0], wide, &op, a);
        let b = self.build_map(op.operands[1], wide, &op, b);
        op.operands[0] = a.results[0];
        op.operands[1] = b.results[0];
        if let OpKind::Dot { precision, .. } = &mut op.kind {
            *precision = InputPrecision::Ieee;
        }
        Rewritten::By(vec![a, b, op])
    }
}

/// The sum of two `i32`, or the end of the range if it is beyond that.
pub(crate) fn saturating_sum() -> Foreign {
    Foreign::new("sum that stops at the ends of i32", |x| {
        let (x, y) = (x[0] as u32 as i32, x[1] as u32 as i32);
        u64::from(x.saturating_add(y) as u32)
    })
}
