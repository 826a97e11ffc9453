//! Lowers inline assembly. The texts of Triton's library for fp8e4b15 (`triton/language/extra/cuda/utils.py`) are
//! recognised as a whole, and become the conversion of one element. `cerith-assembly` reads any other text.

use cerith_assembly::{Argument, MOST_PACKED, Refusal, Snippet, assemble};
use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Elem, Rounding, ValueId};

use super::{Bundle, Lowered, Lowering, stop, types};
use crate::syntax::{Attr, Operation};

/// Four bytes to four halves: moves the sign to the top, and the other bits up by seven.
const FROM_E4B15: &str = "{.reg.b32a<2>,b<2>;prmt.b32a0,0,$2,0x5746;and.b32b0,a0,0x7f007f00;and.b32b1,a0,0x00ff00ff;\
    and.b32a1,a0,0x00800080;shr.b32b0,b0,1;add.u32b1,b1,a1;lop3.b32$0,b0,0x80008000,a0,0xf8;shl.b32$1,b1,7;}";

/// Four halves to four bytes: clamps the magnitude, adds half a unit, and keeps the high byte.
const TO_E4B15: &str = "{.reg.predp<4>;.reg.b32a<2>,b<2>;.reg.b16c<4>;.reg.b16max_val_f16;.reg.b32max_val_f16x2;\
    mov.b16max_val_f16,0x3F00;mov.b32max_val_f16x2,0x3F003F00;and.b32a0,$1,0x7fff7fff;and.b32a1,$2,0x7fff7fff;\
    min.f16x2a0,a0,max_val_f16x2;min.f16x2a1,a1,max_val_f16x2;mad.lo.u32a0,a0,2,0x00800080;mad.lo.u32a1,a1,2,0x00800080;\
    lop3.b32b0,$1,0x80008000,a0,0xea;lop3.b32b1,$2,0x80008000,a1,0xea;prmt.b32$0,b0,b1,0x7531;}";

impl<'m> Lowering<'m> {
    /// `tt.elementwise_inline_asm`.
    pub(super) fn lower_assembly(&mut self, op: &'m Operation) -> Lowered<Option<Vec<Bundle>>> {
        if op.name != "tt.elementwise_inline_asm" {
            return Ok(None);
        }
        let asm = op.words.iter().find_map(Attr::text).unwrap_or_default();
        let constraints = op
            .find_attr("constraints")
            .and_then(Attr::text)
            .unwrap_or_default();
        let pack = op.find_attr("packed_element").and_then(Attr::int);
        let pack = match pack.and_then(|pack| usize::try_from(pack).ok()) {
            Some(pack) if pack.is_power_of_two() && pack <= MOST_PACKED => pack,
            _ => return stop("assembly for so many elements at once is not supported yet"),
        };
        let mut dtypes = Vec::new();
        for ty in op.result_types() {
            match types::one_type(ty)?.elem.num() {
                Some(dtype) => dtypes.push(dtype),
                None => return stop("assembly that results in pointers is not supported yet"),
            }
        }
        let mut arguments = Vec::with_capacity(op.operands.len());
        for nth in 0..op.operands.len() {
            let value = self.single_operand(op, nth)?;
            let known = self.numbers.get(&value).copied();
            arguments.push(Argument {
                value,
                known_bits: known,
            });
        }
        // Triton's verifier rejects it, but versions before 3.5 run it only after their passes.
        let mut numels = arguments.iter().map(|argument| self.ty(argument.value).numel());
        if let Some(numel) = numels.find(|numel| numel % pack != 0) {
            return stop(format!(
                "number of input elements {numel} must be a multiple of the op's packed_element attribute, {pack}"
            ));
        }
        if let (&[Argument { value, .. }], &[to], 4) = (arguments.as_slice(), dtypes.as_slice(), pack)
            && let Some(result) = self.of_e4b15(asm, value, to)
        {
            return Ok(Some(vec![Bundle::from_slice(&[result])]));
        }
        let snippet = Snippet {
            asm,
            constraints,
            pack,
            dtypes,
        };
        self.steps = self.steps.saturating_add(snippet.statements());
        match assemble(&mut self.builder, &snippet, &arguments) {
            Ok(values) => Ok(Some(
                values
                    .into_iter()
                    .map(|value| Bundle::from_slice(&[value]))
                    .collect(),
            )),
            Err(Refusal::Unknown(what)) => stop(format!("{what} is not supported yet")),
            Err(Refusal::Wrong(message)) => stop(message),
        }
    }

    /// Lowers Triton's own conversions.
    fn of_e4b15(&mut self, asm: &str, value: ValueId, to: DType) -> Option<ValueId> {
        let text: String = asm.chars().filter(|letter| !letter.is_whitespace()).collect();
        match (text.as_str(), self.dtype(value), to) {
            (FROM_E4B15, Some(DType::I8), DType::F16) => Some(self.widened_e4b15(value)),
            (TO_E4B15, Some(DType::F16), DType::I8) => Some(self.narrowed_e4b15(value)),
            _ => None,
        }
    }

    fn widened_e4b15(&mut self, value: ValueId) -> ValueId {
        let bytes = self.bitcast(value, Elem::Num(DType::U8));
        let ty = self.ty(bytes).with_elem(Elem::Num(DType::U16));
        let bits = self.cast_value(bytes, ty.clone(), Rounding::NearestEven);
        let field = |this: &mut Self, mask, shift| {
            let (mask, shift) = (
                this.push_number(mask, ty.clone()),
                this.push_number(shift, ty.clone()),
            );
            let field = this.push_binary(BinaryOp::And, bits, mask);
            this.push_binary(BinaryOp::Shl, field, shift)
        };
        let (sign, rest) = (field(self, 0x80, 8), field(self, 0x7f, 7));
        let half = self.push_binary(BinaryOp::Or, sign, rest);
        self.bitcast(half, Elem::Num(DType::F16))
    }

    fn narrowed_e4b15(&mut self, value: ValueId) -> ValueId {
        let bits = self.bitcast(value, Elem::Num(DType::U16));
        let ty = self.ty(bits);
        let number = |this: &mut Self, number| this.push_number(number, ty.clone());
        let (magnitude, sign) = (number(self, 0x7fff), number(self, 0x8000));
        let magnitude = self.push_binary(BinaryOp::And, bits, magnitude);
        let sign = self.push_binary(BinaryOp::And, bits, sign);
        let magnitude = self.bitcast(magnitude, Elem::Num(DType::F16));
        let most = self
            .builder
            .add_constant(0x3f00, ty.with_elem(Elem::Num(DType::F16)));
        let limited = self.push_binary(BinaryOp::Min, magnitude, most);
        let limited = self.bitcast(limited, Elem::Num(DType::U16));
        let (one, half, eight) = (number(self, 1), number(self, 0x80), number(self, 8));
        let doubled = self.push_binary(BinaryOp::Shl, limited, one);
        let rounded = self.push_binary(BinaryOp::Add, doubled, half);
        let both = self.push_binary(BinaryOp::Or, sign, rounded);
        let high = self.push_binary(BinaryOp::LShr, both, eight);
        let bytes = self.cast_value(high, ty.with_elem(Elem::Num(DType::U8)), Rounding::NearestEven);
        self.bitcast(bytes, Elem::Num(DType::I8))
    }
}
