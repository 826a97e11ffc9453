//! Lowers elementwise operations: `arith`, `math` and those of `tt`. MLIR's integers have no sign; an operation that
//! needs one has it in its name, and it applies to the operands. See `library` for CUDA's library and `assembly` for
//! assembly.

use cerith_tile::DType;
use cerith_tile::ir::{
    BinaryOp, CastKind, CmpPredicate, Elem, OpKind, Rounding, TernaryOp, Type, UnaryOp, ValueId,
};

use super::{Lowered, Lowering, result_type, stop};
use crate::syntax::{Attr, Operation};

/// The signedness that an operation gives its integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Signed,
    Unsigned,
}

const fn to_unsigned(dtype: DType) -> DType {
    match dtype {
        DType::I8 => DType::U8,
        DType::I16 => DType::U16,
        DType::I32 => DType::U32,
        DType::I64 => DType::U64,
        other => other,
    }
}

/// Integer predicates, by their numbers in the generic form.
const INTEGERS: [&str; 10] = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"];

/// Float predicates, by their numbers in the generic form.
const FLOATS: [&str; 16] = [
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une",
    "uno", "true",
];

fn find_predicate<'a>(op: &'a Operation, names: &[&'static str]) -> &'a str {
    let number = op.find_attr("predicate").and_then(Attr::int);
    let named = number.and_then(|number| names.get(usize::try_from(number).ok()?).copied());
    op.nth_word(0).or(named).unwrap_or_default()
}

/// Finds the IR's operation for one with two operands.
fn find_binary(name: &str) -> Option<(BinaryOp, Sign)> {
    use BinaryOp as B;
    use Sign::{Signed, Unsigned};
    Some(match name {
        "arith.addi" | "arith.addf" => (B::Add, Signed),
        "arith.subi" | "arith.subf" => (B::Sub, Signed),
        "arith.muli" | "arith.mulf" => (B::Mul, Signed),
        "arith.divsi" => (B::IntDiv, Signed),
        "arith.divui" => (B::IntDiv, Unsigned),
        "arith.remsi" | "arith.remf" => (B::Rem, Signed),
        "arith.remui" => (B::Rem, Unsigned),
        "arith.andi" => (B::And, Signed),
        "arith.ori" => (B::Or, Signed),
        "arith.xori" => (B::Xor, Signed),
        "arith.shli" => (B::Shl, Signed),
        "arith.shrsi" => (B::Shr, Signed),
        "arith.shrui" => (B::LShr, Signed),
        "arith.minsi" | "arith.minnumf" => (B::Min, Signed),
        "arith.maxsi" | "arith.maxnumf" => (B::Max, Signed),
        "arith.minui" => (B::Min, Unsigned),
        "arith.maxui" => (B::Max, Unsigned),
        "arith.minimumf" => (B::MinPropagateNan, Signed),
        "arith.maximumf" => (B::MaxPropagateNan, Signed),
        "arith.divf" => (B::Div, Signed),
        "tt.precise_divf" => (B::DivRn, Signed),
        "tt.mulhiui" => (B::MulHi, Signed),
        "math.powf" => (B::Pow, Signed),
        "math.atan2" => (B::Atan2, Signed),
        "math.copysign" => (B::CopySign, Signed),
        _ => return None,
    })
}

fn find_unary(name: &str) -> Option<UnaryOp> {
    use UnaryOp as U;
    Some(match name {
        "arith.negf" => U::Neg,
        "math.absf" | "math.absi" => U::Abs,
        "math.floor" => U::Floor,
        "math.ceil" => U::Ceil,
        "math.trunc" => U::Trunc,
        "math.round" => U::Round,
        "math.roundeven" => U::Rint,
        "math.sqrt" => U::Sqrt,
        "tt.precise_sqrt" => U::SqrtRn,
        "math.rsqrt" => U::Rsqrt,
        "math.exp" => U::Exp,
        "math.exp2" => U::Exp2,
        "math.expm1" => U::Expm1,
        "math.log" => U::Log,
        "math.log2" => U::Log2,
        "math.log10" => U::Log10,
        "math.log1p" => U::Log1p,
        "math.sin" => U::Sin,
        "math.cos" => U::Cos,
        "math.tan" => U::Tan,
        "math.tanh" => U::Tanh,
        "math.erf" => U::Erf,
        _ => return None,
    })
}

impl<'m> Lowering<'m> {
    /// Lowers an elementwise operation, or a constant.
    pub(super) fn lower_arith(&mut self, op: &'m Operation) -> Lowered<Option<ValueId>> {
        if let Some((kind, sign)) = find_binary(&op.name) {
            let [a, b] = self.single_operands(op)?;
            return self.push_signed(kind, sign, a, b).map(Some);
        }
        if let Some(kind) = find_unary(&op.name) {
            let [value] = self.single_operands(op)?;
            let ty = self.ty(value);
            return Ok(Some(self.push_op(OpKind::Unary(kind), &[value], ty)));
        }
        let value = match op.name.as_str() {
            "arith.constant" => self.lower_constant(op)?,
            "ub.poison" | "llvm.mlir.undef" | "llvm.mlir.poison" => self.lower_poison(op)?,
            "arith.cmpi" => {
                let [a, b] = self.single_operands(op)?;
                self.compare_integers(find_predicate(op, &INTEGERS), a, b)?
            }
            "arith.cmpf" => {
                let [a, b] = self.single_operands(op)?;
                self.compare_floats(find_predicate(op, &FLOATS), a, b)?
            }
            "arith.select" if op.operands.len() == 3 => match self.bundle(&op.operands[1])?.len() {
                1 => self.lower_select(op)?,
                _ => return Ok(None),
            },
            "arith.extsi" | "arith.sitofp" => self.lower_conversion(op, Sign::Signed, Sign::Signed)?,
            "arith.extui" | "arith.uitofp" => self.lower_conversion(op, Sign::Unsigned, Sign::Signed)?,
            "arith.fptoui" => self.lower_conversion(op, Sign::Signed, Sign::Unsigned)?,
            "arith.trunci" | "arith.extf" | "arith.truncf" | "arith.fptosi" | "arith.index_cast" => {
                self.lower_conversion(op, Sign::Signed, Sign::Signed)?
            }
            "tt.fp_to_fp" => {
                let [value] = self.single_operands(op)?;
                let ty = result_type(op)?;
                let rounding = op.find_attr("rounding");
                let rounding = match (rounding.and_then(Attr::text), rounding.and_then(Attr::int)) {
                    (None, None) | (Some("rtne"), _) | (_, Some(1)) => Rounding::NearestEven,
                    (Some("rtz"), _) | (_, Some(0)) => Rounding::TowardZero,
                    _ => return stop(format!("the rounding {rounding:?} is not supported yet")),
                };
                self.cast_value(value, ty, rounding)
            }
            "arith.bitcast" | "tt.bitcast" | "tt.int_to_ptr" | "tt.ptr_to_int" => {
                let [value] = self.single_operands(op)?;
                let ty = result_type(op)?;
                self.bitcast(value, ty.elem)
            }
            "math.fma" => {
                let operands: [ValueId; 3] = self.single_operands(op)?;
                let ty = self.ty(operands[0]);
                self.push_op(OpKind::Ternary(TernaryOp::Fma), &operands, ty)
            }
            "tt.clampf" => {
                let operands: [ValueId; 3] = self.single_operands(op)?;
                let ty = self.ty(operands[0]);
                let kind = match op.find_attr("propagateNan") {
                    Some(Attr::Word(word)) if word == "all" => TernaryOp::ClampPropagateNan,
                    Some(Attr::Word(word)) if word == "none" => TernaryOp::Clamp,
                    other => return stop(format!("`tt.clampf` with propagateNan {other:?}")),
                };
                self.push_op(OpKind::Ternary(kind), &operands, ty)
            }
            "tt.extern_elementwise" => self.lower_library(op)?,
            _ => return Ok(None),
        };
        Ok(Some(value))
    }

    fn push_signed(&mut self, kind: BinaryOp, sign: Sign, a: ValueId, b: ValueId) -> Lowered<ValueId> {
        let Some(dtype) = self.dtype(a) else {
            return stop(format!("`{}` of pointers", kind.name()));
        };
        if dtype == DType::I1 {
            return self.push_bits(kind, sign, a, b);
        }
        if sign == Sign::Signed || dtype.is_float() {
            return Ok(self.push_binary(kind, a, b));
        }
        let wide = Elem::Num(to_unsigned(dtype));
        let (a, b) = (self.bitcast(a, wide), self.bitcast(b, wide));
        let value = self.push_binary(kind, a, b);
        Ok(self.bitcast(value, Elem::Num(dtype)))
    }

    /// Emits an operation on `i1`, whose true is -1 in signed operations.
    fn push_bits(&mut self, kind: BinaryOp, sign: Sign, a: ValueId, b: ValueId) -> Lowered<ValueId> {
        let kind = match (kind, sign) {
            (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Xor, _) => BinaryOp::Xor,
            (BinaryOp::Mul | BinaryOp::And, _)
            | (BinaryOp::Max, Sign::Signed)
            | (BinaryOp::Min, Sign::Unsigned) => BinaryOp::And,
            (BinaryOp::Or, _) | (BinaryOp::Min, Sign::Signed) | (BinaryOp::Max, Sign::Unsigned) => {
                BinaryOp::Or
            }
            (BinaryOp::Shl | BinaryOp::Shr | BinaryOp::LShr, _) => kind,
            (BinaryOp::IntDiv | BinaryOp::Rem, _) => return Ok(self.push_numbers(kind, a, b)),
            _ => return stop(format!("`{}` of i1", kind.name())),
        };
        Ok(self.push_binary(kind, a, b))
    }

    /// Emits a division of `i1` as a division of numbers; the result is their lowest bit, with either sign.
    fn push_numbers(&mut self, kind: BinaryOp, a: ValueId, b: ValueId) -> ValueId {
        let bits = self.ty(a);
        let ty = bits.with_elem(Elem::Num(DType::U8));
        let a = self.cast_value(a, ty.clone(), Rounding::NearestEven);
        let b = self.cast_value(b, ty, Rounding::NearestEven);
        let value = self.push_binary(kind, a, b);
        self.cast_value(value, bits, Rounding::NearestEven)
    }

    pub(super) fn compare(&mut self, predicate: CmpPredicate, a: ValueId, b: ValueId) -> ValueId {
        let ty = Self::bool_type(&self.ty(a));
        self.push_op(OpKind::Compare(predicate), &[a, b], ty)
    }

    fn compare_integers(&mut self, predicate: &str, a: ValueId, b: ValueId) -> Lowered<ValueId> {
        use CmpPredicate::{Eq, Ge, Gt, Le, Lt, Ne};
        let (predicate, sign) = match predicate {
            "eq" => (Eq, Sign::Signed),
            "ne" => (Ne, Sign::Signed),
            "slt" => (Lt, Sign::Signed),
            "sle" => (Le, Sign::Signed),
            "sgt" => (Gt, Sign::Signed),
            "sge" => (Ge, Sign::Signed),
            "ult" => (Lt, Sign::Unsigned),
            "ule" => (Le, Sign::Unsigned),
            "ugt" => (Gt, Sign::Unsigned),
            "uge" => (Ge, Sign::Unsigned),
            other => return stop(format!("the comparison `{other}` is not supported yet")),
        };
        let Some(dtype) = self.dtype(a) else {
            return Ok(self.compare(predicate, a, b));
        };
        if dtype == DType::I1 {
            // True is 1, or -1 in a signed comparison.
            let (a, b) = if sign == Sign::Signed { (b, a) } else { (a, b) };
            return Ok(self.compare(predicate, a, b));
        }
        if sign == Sign::Signed {
            return Ok(self.compare(predicate, a, b));
        }
        let wide = Elem::Num(to_unsigned(dtype));
        let (a, b) = (self.bitcast(a, wide), self.bitcast(b, wide));
        Ok(self.compare(predicate, a, b))
    }

    /// `o…` is false for a NaN, `u…` is true.
    fn compare_floats(&mut self, predicate: &str, a: ValueId, b: ValueId) -> Lowered<ValueId> {
        use CmpPredicate::{Eq, Ge, Gt, Le, Lt, Ne};
        let ty = Self::bool_type(&self.ty(a));
        let not = |this: &mut Self, value| this.push_op(OpKind::Unary(UnaryOp::Not), &[value], ty.clone());
        Ok(match predicate {
            "oeq" => self.compare(Eq, a, b),
            "ogt" => self.compare(Gt, a, b),
            "oge" => self.compare(Ge, a, b),
            "olt" => self.compare(Lt, a, b),
            "ole" => self.compare(Le, a, b),
            "une" => self.compare(Ne, a, b),
            "one" => {
                let (below, above) = (self.compare(Lt, a, b), self.compare(Gt, a, b));
                self.push_binary(BinaryOp::Or, below, above)
            }
            "ueq" => {
                let (below, above) = (self.compare(Lt, a, b), self.compare(Gt, a, b));
                let differ = self.push_binary(BinaryOp::Or, below, above);
                not(self, differ)
            }
            "ugt" => {
                let other = self.compare(Le, a, b);
                not(self, other)
            }
            "uge" => {
                let other = self.compare(Lt, a, b);
                not(self, other)
            }
            "ult" => {
                let other = self.compare(Ge, a, b);
                not(self, other)
            }
            "ule" => {
                let other = self.compare(Gt, a, b);
                not(self, other)
            }
            "uno" | "ord" => {
                let (a, b) = (self.compare(Ne, a, a), self.compare(Ne, b, b));
                let unordered = self.push_binary(BinaryOp::Or, a, b);
                if predicate == "uno" {
                    unordered
                } else {
                    not(self, unordered)
                }
            }
            other => return stop(format!("the comparison `{other}` is not supported yet")),
        })
    }

    fn lower_select(&mut self, op: &Operation) -> Lowered<ValueId> {
        let operands: [ValueId; 3] = self.single_operands(op)?;
        let ty = self.ty(operands[1]);
        Ok(self.push_op(OpKind::Select, &operands, ty))
    }

    /// Lowers a conversion; `from` and `to` are the signedness of integers.
    fn lower_conversion(&mut self, op: &Operation, from: Sign, to: Sign) -> Lowered<ValueId> {
        let [value] = self.single_operands(op)?;
        let ty = result_type(op)?;
        let (Some(source), Some(target)) = (self.dtype(value), ty.elem.num()) else {
            return stop(format!("`{}` of pointers", op.name));
        };
        if target == DType::I1 && source.is_int() {
            // Keeps the lowest bit. The IR's cast would compare with zero.
            let one = self.push_number(1, self.ty(value));
            let low = self.push_binary(BinaryOp::And, value, one);
            return Ok(self.cast_value(low, ty, Rounding::NearestEven));
        }
        if source == DType::I1 && from == Sign::Signed && target != DType::I1 {
            let wide = self.cast_value(value, ty.clone(), Rounding::NearestEven);
            return Ok(self.push_op(OpKind::Unary(UnaryOp::Neg), &[wide], ty));
        }
        let value = if from == Sign::Unsigned {
            self.bitcast(value, Elem::Num(to_unsigned(source)))
        } else {
            value
        };
        if to == Sign::Unsigned {
            let wide = ty.with_elem(Elem::Num(to_unsigned(target)));
            let value = self.cast_value(value, wide, Rounding::NearestEven);
            return Ok(self.bitcast(value, ty.elem));
        }
        Ok(self.cast_value(value, ty, Rounding::NearestEven))
    }

    pub(super) fn cast_value(&mut self, value: ValueId, ty: Type, rounding: Rounding) -> ValueId {
        if *self.builder.ty(value) == ty {
            return value;
        }
        let kind = OpKind::Cast {
            kind: CastKind::Value,
            rounding,
        };
        self.push_op(kind, &[value], ty)
    }

    /// Emits a bitcast to another element type.
    pub(super) fn bitcast(&mut self, value: ValueId, elem: Elem) -> ValueId {
        let ty = self.ty(value);
        if ty.elem == elem {
            return value;
        }
        let kind = OpKind::Cast {
            kind: CastKind::Bits,
            rounding: Rounding::NearestEven,
        };
        self.push_op(kind, &[value], ty.with_elem(elem))
    }

    /// Casts integers to unsigned ones of the same width.
    pub(super) fn as_unsigned(&mut self, value: ValueId) -> ValueId {
        match self.dtype(value) {
            Some(dtype) => self.bitcast(value, Elem::Num(to_unsigned(dtype))),
            None => value,
        }
    }

    /// Widens a scalar integer to `i64`.
    pub(super) fn widen_index(&mut self, value: ValueId) -> ValueId {
        let ty = self.ty(value).with_elem(Elem::Num(DType::I64));
        self.cast_value(value, ty, Rounding::NearestEven)
    }
}
