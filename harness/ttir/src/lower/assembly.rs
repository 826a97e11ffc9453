//! Inline assembly that Triton's own library writes (`triton/language/extra/cuda/utils.py`): conversions between fp8e4b15 and f16. Each
//! text is known as a whole, and means here what its instructions do to one element. Left out: any other assembly.

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Elem, Rounding, ValueId};

use super::{Lowered, Lowering, result_type, stop};
use crate::syntax::{Attr, Operation};

/// A register, passed on.
const MOVE: &str = "mov.b32$0,$1;";

/// Four bytes to four halves: the sign to the top, the rest seven bits up.
const FROM_E4B15: &str = "{.reg.b32a<2>,b<2>;prmt.b32a0,0,$2,0x5746;and.b32b0,a0,0x7f007f00;and.b32b1,a0,0x00ff00ff;\
    and.b32a1,a0,0x00800080;shr.b32b0,b0,1;add.u32b1,b1,a1;lop3.b32$0,b0,0x80008000,a0,0xf8;shl.b32$1,b1,7;}";

/// Four halves to four bytes: the magnitude is limited and rounded by half a unit, and the high byte stays.
const TO_E4B15: &str = "{.reg.predp<4>;.reg.b32a<2>,b<2>;.reg.b16c<4>;.reg.b16max_val_f16;.reg.b32max_val_f16x2;\
    mov.b16max_val_f16,0x3F00;mov.b32max_val_f16x2,0x3F003F00;and.b32a0,$1,0x7fff7fff;and.b32a1,$2,0x7fff7fff;\
    min.f16x2a0,a0,max_val_f16x2;min.f16x2a1,a1,max_val_f16x2;mad.lo.u32a0,a0,2,0x00800080;mad.lo.u32a1,a1,2,0x00800080;\
    lop3.b32b0,$1,0x80008000,a0,0xea;lop3.b32b1,$2,0x80008000,a1,0xea;prmt.b32$0,b0,b1,0x7531;}";

impl Lowering<'_> {
    /// `tt.elementwise_inline_asm`.
    pub(super) fn assembly(&mut self, op: &Operation) -> Lowered<ValueId> {
        let text = op.words.iter().find_map(Attr::text).unwrap_or_default();
        let text: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
        let packed = op.attr("packed_element").and_then(Attr::int);
        let [value] = self.operands(op)?;
        let ty = result_type(op)?;
        match (text.as_str(), self.dtype(value), ty.elem.num(), packed) {
            (MOVE, Some(from), Some(to), Some(1)) if from == to && from.bits() == 32 => Ok(value),
            (FROM_E4B15, Some(DType::I8), Some(DType::F16), Some(4)) => Ok(self.widened_e4b15(value)),
            (TO_E4B15, Some(DType::F16), Some(DType::I8), Some(4)) => Ok(self.narrowed_e4b15(value)),
            _ => stop("`tt.elementwise_inline_asm` of other assembly than Triton's own is not supported yet"),
        }
    }

    fn widened_e4b15(&mut self, value: ValueId) -> ValueId {
        let bytes = self.bitcast(value, Elem::Num(DType::U8));
        let ty = self.ty(bytes).with_elem(Elem::Num(DType::U16));
        let bits = self.cast_value(bytes, ty.clone(), Rounding::NearestEven);
        let field = |this: &mut Self, mask, shift| {
            let (mask, shift) = (this.number(mask, ty.clone()), this.number(shift, ty.clone()));
            let field = this.binary(BinaryOp::And, bits, mask);
            this.binary(BinaryOp::Shl, field, shift)
        };
        let (sign, rest) = (field(self, 0x80, 8), field(self, 0x7f, 7));
        let half = self.binary(BinaryOp::Or, sign, rest);
        self.bitcast(half, Elem::Num(DType::F16))
    }

    fn narrowed_e4b15(&mut self, value: ValueId) -> ValueId {
        let bits = self.bitcast(value, Elem::Num(DType::U16));
        let ty = self.ty(bits);
        let number = |this: &mut Self, number| this.number(number, ty.clone());
        let (magnitude, sign) = (number(self, 0x7fff), number(self, 0x8000));
        let magnitude = self.binary(BinaryOp::And, bits, magnitude);
        let sign = self.binary(BinaryOp::And, bits, sign);
        let magnitude = self.bitcast(magnitude, Elem::Num(DType::F16));
        let most = self.builder.constant(0x3f00, ty.with_elem(Elem::Num(DType::F16)));
        let limited = self.binary(BinaryOp::Min, magnitude, most);
        let limited = self.bitcast(limited, Elem::Num(DType::U16));
        let (one, half, eight) = (number(self, 1), number(self, 0x80), number(self, 8));
        let doubled = self.binary(BinaryOp::Shl, limited, one);
        let rounded = self.binary(BinaryOp::Add, doubled, half);
        let both = self.binary(BinaryOp::Or, sign, rounded);
        let high = self.binary(BinaryOp::LShr, both, eight);
        let bytes = self.cast_value(high, ty.with_elem(Elem::Num(DType::U8)), Rounding::NearestEven);
        self.bitcast(bytes, Elem::Num(DType::I8))
    }
}
