//! Lowers instructions on integers and bits.

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CmpPredicate, OpKind, UnaryOp, ValueId};
use cerith_tile::numeric::library::{find_instruction, find_symbol};

use crate::machine::{Machine, integer_of};
use crate::refusal::Assembled;
use crate::text::{Instruction, Operand};
use crate::word::{Slots, Word, low_mask, unsigned_dtype};

/// Parses the integer type of an instruction: its width and signedness.
fn integer_type(name: &str) -> Option<(u32, bool)> {
    let (signed, bits) = match name.split_at_checked(1)? {
        ("s", bits) => (true, bits),
        ("u" | "b", bits) => (false, bits),
        _ => return None,
    };
    matches!(bits, "8" | "16" | "32" | "64").then(|| Some((bits.parse().ok()?, signed)))?
}

/// Parses the name of an integer type as a dtype.
pub(crate) fn integer_dtype(name: &str) -> Option<DType> {
    integer_type(name).map(|(bits, signed)| integer_of(bits, signed))
}

impl Machine<'_> {
    /// Lowers an instruction on integers or bits. Returns `None` for any other instruction.
    pub(crate) fn lower_integer(&mut self, i: &Instruction) -> Assembled<Option<Word>> {
        let name: Vec<&str> = i.name.iter().map(String::as_str).collect();
        let operands = i.operands.get(1..).unwrap_or_default();
        if let (["and" | "or" | "xor", "pred"], [x, y]) = (name.as_slice(), operands) {
            return self.lower_bitwise(name.first().copied().unwrap_or_default(), x, y, 1);
        }
        if let (["not", "pred"], [x]) = (name.as_slice(), operands) {
            return self.lower_not(x, 1);
        }
        if let (["selp", ty], [x, y, condition]) = (name.as_slice(), operands) {
            return self.lower_selp(ty, [x, y], condition);
        }
        let Some((bits, signed)) = name.last().and_then(|ty| integer_type(ty)) else {
            return Ok(None);
        };
        let dtype = integer_of(bits, signed);
        match (name.as_slice(), operands) {
            ([op @ ("and" | "or" | "xor"), _], [x, y]) => self.lower_bitwise(op, x, y, bits),
            (["not", _], [x]) => self.lower_not(x, bits),
            (["add", _], [x, y]) => self.lower_carry_op(BinaryOp::Add, [x, y], dtype),
            (["sub", _], [x, y]) => self.lower_carry_op(BinaryOp::Sub, [x, y], dtype),
            (["mul", "lo", _], [x, y]) => self.lower_carry_op(BinaryOp::Mul, [x, y], dtype),
            (["min", _], [x, y]) => self.lower_operation(OpKind::Binary(BinaryOp::Min), &[x, y], dtype),
            (["max", _], [x, y]) => self.lower_operation(OpKind::Binary(BinaryOp::Max), &[x, y], dtype),
            (["abs", _], [x]) if signed => self.lower_operation(OpKind::Unary(UnaryOp::Abs), &[x], dtype),
            (["neg", _], [x]) if signed => self.lower_operation(OpKind::Unary(UnaryOp::Neg), &[x], dtype),
            (["mul", "hi", _], [x, y]) if bits >= 32 => self.call_library("mulhi", &[x, y], &[dtype; 2]),
            (["mul", "wide", _], [x, y]) if bits <= 32 => self.multiply_wide(x, y, dtype),
            (["mad", how @ ("lo" | "wide"), _], [x, y, z]) => {
                let (product, to) = if *how == "lo" {
                    (self.lower_carry_op(BinaryOp::Mul, [x, y], dtype)?, dtype)
                } else if bits <= 32 {
                    (self.multiply_wide(x, y, dtype)?, integer_of(2 * bits, signed))
                } else {
                    return Ok(None);
                };
                let (Some(product), Some(addend)) = (product, self.read(z, to.bits())?) else {
                    return Ok(None);
                };
                self.sum(BinaryOp::Add, &product, &addend, to).map(Some)
            }
            (["mul24", "lo", _], [x, y]) if bits == 32 => self.call_library("mul24", &[x, y], &[dtype; 2]),
            (["sad", _], [x, y, z]) if bits == 32 => {
                self.call_library("sad", &[x, y, z], &[dtype, dtype, DType::U32])
            }
            (["popc", "b32" | "b64"], [x]) => self.call_library("popc", &[x], &[integer_of(bits, true)]),
            (["clz", "b32" | "b64"], [x]) => self.call_library("clz", &[x], &[integer_of(bits, true)]),
            (["brev", "b32" | "b64"], [x]) => self.call_library("brev", &[x], &[integer_of(bits, true)]),
            (["shl", "b16" | "b32" | "b64"], [x, by]) => self.lower_shift(x, by, dtype, true),
            (["shr", _], [x, by]) => self.lower_shift(x, by, dtype, false),
            (["lop3", "b32"], [x, y, z, table]) => self.lop3([x, y, z], table),
            (["prmt" | "bfe" | "bfi" | "shf", ..], _) => self.rearrange_bits(&name.join("."), operands, bits),
            _ => Ok(None),
        }
    }

    /// `selp`: selects one of two registers of any content.
    fn lower_selp(
        &mut self,
        ty: &str,
        [x, y]: [&Operand; 2],
        condition: &Operand,
    ) -> Assembled<Option<Word>> {
        let bits = match ty {
            "f32" => 32,
            "f64" => 64,
            _ => match integer_type(ty) {
                Some((bits, _)) => bits,
                None => return Ok(None),
            },
        };
        let (Some(x), Some(y)) = (self.read(x, bits)?, self.read(y, bits)?) else {
            return Ok(None);
        };
        match self.read(condition, 1)? {
            Some(condition) => self.select(&condition, &x, &y).map(Some),
            None => Ok(None),
        }
    }

    /// Reads operands as values of these dtypes, with the elements that they depend on.
    fn read_values(
        &mut self,
        operands: &[&Operand],
        dtypes: &[DType],
    ) -> Assembled<Option<(Vec<ValueId>, Slots)>> {
        let mut values = Vec::with_capacity(operands.len());
        let mut from = 0;
        for (operand, &dtype) in operands.iter().zip(dtypes) {
            let Some((value, depends)) = self.read_value(operand, dtype)? else {
                return Ok(None);
            };
            values.push(value);
            from |= depends;
        }
        Ok(Some((values, from)))
    }

    /// Emits an operation whose every byte depends on all operands.
    fn lower_operation(
        &mut self,
        kind: OpKind,
        operands: &[&Operand],
        dtype: DType,
    ) -> Assembled<Option<Word>> {
        let Some((values, from)) = self.read_values(operands, &[dtype; 2])? else {
            return Ok(None);
        };
        let value = self.emit_operation(kind, &values, dtype);
        Ok(Some(Word::from_value(value, dtype.bits(), from)))
    }

    /// Calls a function of the library.
    fn call_library(
        &mut self,
        function: &str,
        operands: &[&Operand],
        dtypes: &[DType],
    ) -> Assembled<Option<Word>> {
        let Some(symbol) = find_symbol(function, dtypes) else {
            return Ok(None);
        };
        let Some((values, from)) = self.read_values(operands, dtypes)? else {
            return Ok(None);
        };
        let value = self.emit_library_call(symbol, &values);
        Ok(Some(Word::from_value(value, symbol.result.bits(), from)))
    }

    fn multiply_wide(&mut self, x: &Operand, y: &Operand, dtype: DType) -> Assembled<Option<Word>> {
        let Some((values, from)) = self.read_values(&[x, y], &[dtype; 2])? else {
            return Ok(None);
        };
        let to = integer_of(2 * dtype.bits(), dtype.is_signed_int());
        let values: Vec<ValueId> = values
            .into_iter()
            .map(|value| self.cast(value, dtype, to))
            .collect();
        let product = self.emit_operation(OpKind::Binary(BinaryOp::Mul), &values, to);
        Ok(Some(Word::from_value(product, to.bits(), from)))
    }

    /// Lowers a sum, difference or low product, where no byte depends on higher ones.
    fn lower_carry_op(
        &mut self,
        op: BinaryOp,
        operands: [&Operand; 2],
        dtype: DType,
    ) -> Assembled<Option<Word>> {
        let [x, y] = operands;
        match (self.read(x, dtype.bits())?, self.read(y, dtype.bits())?) {
            (Some(x), Some(y)) => self.sum(op, &x, &y, dtype).map(Some),
            _ => Ok(None),
        }
    }

    fn sum(&mut self, op: BinaryOp, x: &Word, y: &Word, dtype: DType) -> Assembled<Word> {
        let (a, b) = (self.convert_dtype(x, dtype)?, self.convert_dtype(y, dtype)?);
        let value = self.emit_binary(op, a, b, dtype);
        let mut word = Word::from_value(value, dtype.bits(), 0);
        let mut so_far = 0;
        let bytes = word.bytes();
        for (to, (x, y)) in word.from.iter_mut().take(bytes).zip(x.from.iter().zip(y.from)) {
            so_far |= x | y;
            *to = so_far;
        }
        Ok(word)
    }

    fn lower_bitwise(&mut self, op: &str, x: &Operand, y: &Operand, bits: u32) -> Assembled<Option<Word>> {
        let (Some(x), Some(y)) = (self.read(x, bits)?, self.read(y, bits)?) else {
            return Ok(None);
        };
        let op = match op {
            "and" => BinaryOp::And,
            "or" => BinaryOp::Or,
            _ => BinaryOp::Xor,
        };
        let (a, b) = (self.make_unsigned(&x)?, self.make_unsigned(&y)?);
        let value = self.emit_binary(op, a, b, unsigned_dtype(bits));
        let mut word = Word::from_value(value, bits, 0);
        // A byte that the other operand alone determines depends only on it.
        let decided = |other: &Word, nth: usize| {
            let byte = other.known_bits.map(|known| (known >> (8 * nth)) as u8);
            matches!(
                (op, byte),
                (BinaryOp::And, Some(0)) | (BinaryOp::Or, Some(u8::MAX))
            )
        };
        for (nth, to) in word.from.iter_mut().enumerate() {
            let from = |word: &Word| word.from.get(nth).copied().unwrap_or(0);
            *to = if decided(&x, nth) || decided(&y, nth) {
                0
            } else {
                from(&x) | from(&y)
            };
        }
        Ok(Some(word))
    }

    fn lower_not(&mut self, x: &Operand, bits: u32) -> Assembled<Option<Word>> {
        let Some(x) = self.read(x, bits)? else {
            return Ok(None);
        };
        let value = self.make_unsigned(&x)?;
        let value = self.emit_operation(OpKind::Unary(UnaryOp::Not), &[value], unsigned_dtype(bits));
        let known = x.known_bits.map(|known| !known & low_mask(bits));
        Ok(Some(Word {
            parts: smallvec::smallvec![value],
            known_bits: known,
            ..x
        }))
    }

    /// `shl` and `shr`: a count beyond the width gives zeros, or copies of the sign.
    fn lower_shift(
        &mut self,
        x: &Operand,
        by: &Operand,
        dtype: DType,
        left: bool,
    ) -> Assembled<Option<Word>> {
        let bits = dtype.bits();
        let (Some(x), Some(by)) = (self.read(x, bits)?, self.read(by, 32)?) else {
            return Ok(None);
        };
        let value = self.convert_dtype(&x, dtype)?;
        let op = if left { BinaryOp::Shl } else { BinaryOp::Shr };
        let fills = !left && dtype.is_signed_int();
        let most = u64::from(bits - 1);
        let shifted = match by.known_bits {
            Some(count) if count <= most || fills => {
                let count = self.emit_number(count.min(most), dtype);
                self.emit_binary(op, value, count, dtype)
            }
            Some(_) => self.emit_number(0, dtype),
            None => {
                let count = self.convert_dtype(&by, DType::U32)?;
                let last = self.emit_number(most, DType::U32);
                let limited = self.emit_binary(BinaryOp::Min, count, last, DType::U32);
                let limited = self.cast(limited, DType::U32, dtype);
                let shifted = self.emit_binary(op, value, limited, dtype);
                if fills {
                    shifted
                } else {
                    let beyond =
                        self.emit_operation(OpKind::Compare(CmpPredicate::Gt), &[count, last], DType::I1);
                    let zero = self.emit_number(0, dtype);
                    self.emit_operation(OpKind::Select, &[beyond, zero, shifted], dtype)
                }
            }
        };
        let mut word = Word::from_value(shifted, bits, x.all() | by.all());
        if let Some(count) = by.known_bits {
            shift_slots(&mut word, &x, count, left, fills);
        }
        Ok(Some(word))
    }

    /// `lop3`: a function of three bits, given by its truth table.
    fn lop3(&mut self, operands: [&Operand; 3], table: &Operand) -> Assembled<Option<Word>> {
        let Some(table) = self.read(table, 32)?.and_then(|table| table.known_bits) else {
            return Ok(None);
        };
        let mut words = Vec::with_capacity(3);
        for operand in operands {
            match self.read(operand, 32)? {
                Some(word) => words.push(word),
                None => return Ok(None),
            }
        }
        let mut values = Vec::with_capacity(3);
        for word in &words {
            let yes = self.make_unsigned(word)?;
            let no = self.emit_operation(OpKind::Unary(UnaryOp::Not), &[yes], DType::U32);
            values.push([no, yes]);
        }
        let mut result = self.emit_number(0, DType::U32);
        for row in (0..8usize).filter(|row| table >> row & 1 == 1) {
            let mut term = self.emit_number(u64::MAX, DType::U32);
            for (nth, sides) in values.iter().enumerate() {
                if let Some(&side) = sides.get(row >> (2 - nth) & 1) {
                    term = self.emit_binary(BinaryOp::And, term, side, DType::U32);
                }
            }
            result = self.emit_binary(BinaryOp::Or, result, term, DType::U32);
        }
        let mut word = Word::from_value(result, 32, 0);
        for (nth, to) in word.from.iter_mut().enumerate() {
            *to = words
                .iter()
                .fold(0, |all, word| all | word.from.get(nth).copied().unwrap_or(0));
        }
        Ok(Some(word))
    }

    /// Lowers instructions that move bits, controlled by operands.
    fn rearrange_bits(&mut self, name: &str, operands: &[Operand], bits: u32) -> Assembled<Option<Word>> {
        let Some(symbol) = find_instruction(name).filter(|symbol| symbol.operands.len() == operands.len())
        else {
            return Ok(None);
        };
        let mut words = Vec::with_capacity(operands.len());
        let mut values = Vec::with_capacity(operands.len());
        for (operand, &dtype) in operands.iter().zip(symbol.operands) {
            let Some(word) = self.read(operand, dtype.bits())? else {
                return Ok(None);
            };
            values.push(self.convert_dtype(&word, dtype)?);
            words.push(word);
        }
        let value = self.emit_library_call(symbol, &values);
        let all = words.iter().fold(0, |all, word| all | word.all());
        let mut word = Word::from_value(value, bits, all);
        match words.as_slice() {
            [x, y, selector] if name == "prmt.b32" => {
                if let Some(selector) = selector.known_bits {
                    for (place, to) in word.from.iter_mut().take(4).enumerate() {
                        let digit = (selector >> (4 * place) & 7) as usize;
                        let source = if digit < 4 { x } else { y };
                        *to = source.from.get(digit % 4).copied().unwrap_or(0);
                    }
                }
            }
            [x, at, length] if name.starts_with("bfe.u") => {
                if let (Some(at), Some(length)) = (at.known_bits, length.known_bits) {
                    shift_slots(&mut word, x, at, false, false);
                    let bytes = (length as usize).div_ceil(8);
                    word.from.iter_mut().skip(bytes).for_each(|byte| *byte = 0);
                }
            }
            _ => {}
        }
        Ok(Some(word))
    }
}

/// Shifts the elements that each byte of a word depends on.
fn shift_slots(word: &mut Word, x: &Word, by: u64, left: bool, fills: bool) {
    let bytes = word.bytes() as i64;
    let from = |at: i64| {
        let inside = usize::try_from(at).ok().filter(|_| at < bytes);
        inside.and_then(|at| x.from.get(at)).copied().unwrap_or(0)
    };
    let sign = if fills { from(bytes - 1) } else { 0 };
    let (whole, part) = ((by / 8).min(16) as i64, !by.is_multiple_of(8));
    for (nth, to) in word.from.iter_mut().take(bytes as usize).enumerate() {
        let nth = nth as i64;
        *to = if left {
            from(nth - whole) | if part { from(nth - whole - 1) } else { 0 }
        } else {
            let above = if nth + whole + 1 >= bytes { sign } else { 0 };
            from(nth + whole) | if part { from(nth + whole + 1) } else { 0 } | above
        };
    }
}
