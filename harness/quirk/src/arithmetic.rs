//! Elementwise operations as NumPy does them on the arrays in which the interpreter keeps values.

use cerith_tile::DType;
use cerith_tile::ir::{
    BinaryOp, CastKind, CmpPredicate, Combine, Foreign, OpKind, Operation, TernaryOp, UnaryOp, ValueId,
};
use cerith_tile::numeric::{self, decode_int, encode_int};
use cerith_tile::quirk::Quirk;
use cerith_tile::rules::Version;

use crate::cast::cast_unsigned;
use crate::model::{Model, OpContext, Rewritten, replace_by_foreign};
use crate::reduction::saturating_sum;

impl Model {
    pub(crate) fn rewrite_elementwise(&mut self, op: Operation, place: OpContext) -> Rewritten {
        let Some(dtype) = op.operands.first().and_then(|&operand| self.dtype(operand)) else {
            return Rewritten::Same(op);
        };
        let foreign = if dtype == DType::BF16 && self.has(Quirk::Bf16IsBits) {
            on_bits(&op.kind, DType::U16, self.version)
        } else {
            None
        };
        if let Some(foreign) = foreign {
            return replace_by_foreign(op, foreign);
        }
        match &op.kind {
            OpKind::Binary(binary) => {
                let binary = *binary;
                self.rewrite_binary(op, binary, dtype, place)
            }
            OpKind::Ternary(TernaryOp::Clamp) if self.has(Quirk::ExtremaLetNanThrough) => {
                replace_kind(op, OpKind::Ternary(TernaryOp::ClampPropagateNan))
            }
            OpKind::Ternary(TernaryOp::Fma) if self.has(Quirk::FmaRoundsTwice) && dtype.is_float() => {
                replace_by_foreign(
                    op,
                    Foreign::new(&format!("{dtype} product and then sum"), move |x| {
                        let product = compute_binary(BinaryOp::Mul, dtype, x[0], x[1]);
                        compute_binary(BinaryOp::Add, dtype, product, x[2])
                    }),
                )
            }
            _ => Rewritten::Same(op),
        }
    }

    fn rewrite_binary(
        &mut self,
        op: Operation,
        binary: BinaryOp,
        dtype: DType,
        place: OpContext,
    ) -> Rewritten {
        let of_product = op.operands.iter().any(|operand| self.products.contains(operand));
        if binary == BinaryOp::Add && of_product && dtype == DType::I32 {
            return replace_by_foreign(op, saturating_sum());
        }
        let nan = match (binary, place) {
            // `np.max` up to 3.4, `np.nanmax` from 3.5 on.
            (BinaryOp::Min | BinaryOp::Max, OpContext::Reduction(Some(Combine::Min | Combine::Max))) => {
                self.has(Quirk::ReductionsLetNanThrough)
            }
            (BinaryOp::Min | BinaryOp::Max, _) => self.has(Quirk::ExtremaLetNanThrough),
            _ => false,
        };
        match binary {
            BinaryOp::Min if nan && dtype.is_float() => {
                replace_kind(op, OpKind::Binary(BinaryOp::MinPropagateNan))
            }
            BinaryOp::Max if nan && dtype.is_float() => {
                replace_kind(op, OpKind::Binary(BinaryOp::MaxPropagateNan))
            }
            // `np.sum` returns 64-bit integers.
            BinaryOp::Add
                if dtype == DType::I1
                    && self.has(Quirk::BoolsAddAsOr)
                    && !(self.has(Quirk::IntegersWiden) && place != OpContext::Code) =>
            {
                replace_kind(op, OpKind::Binary(BinaryOp::Or))
            }
            BinaryOp::MulHi if self.has(Quirk::MulhiIsSigned) => self.high_product(op, dtype),
            _ => Rewritten::Same(op),
        }
    }

    /// Operands that were signed before the interpreter treated them as unsigned widen with their sign.
    fn high_product(&self, op: Operation, dtype: DType) -> Rewritten {
        let before = |value: ValueId| match self.made_by(value) {
            Some((
                OpKind::Cast {
                    kind: CastKind::Bits, ..
                },
                Some(source),
            )) => self.dtype(source).unwrap_or(dtype),
            _ => dtype,
        };
        let [x, y] = [before(op.operands[0]), before(op.operands[1])];
        if !x.is_signed_int() && !y.is_signed_int() {
            return Rewritten::Same(op);
        }
        replace_by_foreign(
            op,
            Foreign::new(
                &format!("high product of {x} and {y}, signs extended"),
                move |bits| {
                    let wide = |dtype: DType, bits: u64| decode_int(dtype, bits) as u128;
                    let mask = u128::MAX >> (128 - 2 * dtype.bits());
                    let product = wide(x, bits[0]).wrapping_mul(wide(y, bits[1])) & mask;
                    encode_int(dtype, (product >> dtype.bits()) as i128)
                },
            ),
        )
    }
}

fn replace_kind(op: Operation, kind: OpKind) -> Rewritten {
    Rewritten::By(vec![Operation { kind, ..op }])
}

fn compute_binary(op: BinaryOp, dtype: DType, x: u64, y: u64) -> u64 {
    numeric::apply_binary(op, dtype, x, y).bits().unwrap_or(0)
}

/// The operation on unsigned integers that takes the place of one on floats, if the floats' bits are kept as unsigned integers; `None`
/// if it is no such operation.
fn on_bits(kind: &OpKind, bits: DType, version: Version) -> Option<Foreign> {
    let binary = |op: BinaryOp| {
        Foreign::new(&format!("{} of the bits as {bits}", op.name()), move |x| {
            compute_binary(op, bits, x[0], x[1])
        })
    };
    Some(match kind {
        OpKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul)) => binary(*op),
        OpKind::Binary(BinaryOp::Min | BinaryOp::MinPropagateNan) => binary(BinaryOp::Min),
        OpKind::Binary(BinaryOp::Max | BinaryOp::MaxPropagateNan) => binary(BinaryOp::Max),
        // A quotient of 32 bits does not fit, and is cut off.
        OpKind::Binary(BinaryOp::Div | BinaryOp::DivRn) => {
            Foreign::new(&format!("quotient of the bits as {bits}"), move |x| {
                cast_unsigned(f64::from(x[0] as f32 / x[1] as f32), bits.bits())
            })
        }
        OpKind::Unary(UnaryOp::Neg) => Foreign::new(&format!("neg of the bits as {bits}"), move |x| {
            compute_binary(BinaryOp::Sub, bits, 0, x[0])
        }),
        OpKind::Compare(predicate) => {
            let predicate: CmpPredicate = *predicate;
            Foreign::new(&format!("{} of the bits as {bits}", predicate.name()), move |x| {
                u64::from(numeric::compare(predicate, bits, x[0], x[1]))
            })
        }
        // 3.9 computes in `f64`, and truncates the result to the integer as C does.
        OpKind::Ternary(TernaryOp::Fma) if version >= Version::new(3, 9, 0) => {
            Foreign::new(&format!("fma of the bits as {bits}, in f64"), move |x| {
                let sum = x[0] * x[1] + x[2];
                if sum >= 1 << 31 { 0 } else { sum }
            })
        }
        OpKind::Ternary(TernaryOp::Fma) => Foreign::new(&format!("fma of the bits as {bits}"), move |x| {
            compute_binary(
                BinaryOp::Add,
                bits,
                compute_binary(BinaryOp::Mul, bits, x[0], x[1]),
                x[2],
            )
        }),
        OpKind::Ternary(TernaryOp::Clamp | TernaryOp::ClampPropagateNan) => {
            Foreign::new(&format!("clamp of the bits as {bits}"), move |x| {
                compute_binary(
                    BinaryOp::Min,
                    bits,
                    compute_binary(BinaryOp::Max, bits, x[0], x[1]),
                    x[2],
                )
            })
        }
        _ => return None,
    })
}
