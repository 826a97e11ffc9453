//! The registers of a snippet while its instructions are lowered: reading, writing, predicates, splitting and joining
//! words.

use std::collections::HashMap;

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Builder, CastKind, Elem, OpKind, Rounding, Shape, Type, ValueId};
use cerith_tile::numeric::library::Symbol;

use crate::refusal::{Assembled, Refusal};
use crate::text::{Instruction, Operand, Statement};
use crate::word::{Slots, Word, low_mask, unsigned_dtype};

/// A register: its width, and its content if it is initialised.
type Register = (u32, Option<Word>);

/// A snippet that is being executed.
pub(crate) struct Machine<'l> {
    /// Receives the operations.
    pub builder: &'l mut Builder,
    /// The shape of every value; `None` for scalars.
    pub shape: Option<Shape>,
    /// `$0`, `$1` and so on.
    pub arguments: Vec<Register>,
    /// Declared registers, by block.
    scopes: Vec<HashMap<String, Register>>,
}

impl<'l> Machine<'l> {
    /// Creates a machine with its arguments in these registers.
    pub fn new(builder: &'l mut Builder, shape: Option<Shape>, arguments: Vec<Register>) -> Self {
        Self {
            builder,
            shape,
            arguments,
            scopes: vec![HashMap::new()],
        }
    }

    /// Executes a snippet.
    pub fn run(&mut self, statements: &[Statement]) -> Assembled<()> {
        for statement in statements {
            match statement {
                Statement::Open => self.scopes.push(HashMap::new()),
                Statement::Close if self.scopes.len() > 1 => {
                    self.scopes.pop();
                }
                Statement::Close => return Err(Refusal::unknown("a `}` without a `{`")),
                Statement::Registers(ty, names) => {
                    let Some(bits) = width_of(ty) else {
                        return Err(Refusal::unknown(format_args!("registers of `.{ty}`")));
                    };
                    if let Some(scope) = self.scopes.last_mut() {
                        scope.extend(names.iter().map(|name| (name.clone(), (bits, None))));
                    }
                }
                Statement::Instruction(instruction) => {
                    if self.execute(instruction)?.is_none() {
                        return Err(Refusal::unknown(format_args!("`{}`", instruction.text)));
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes a result to an instruction's first operand.
    pub fn write_result(&mut self, instruction: &Instruction, word: Word) -> Assembled<Option<()>> {
        match instruction.operands.first() {
            Some(operand) => self.write(instruction, operand, word),
            None => Ok(None),
        }
    }

    /// Writes a register under the instruction's predicate. Returns `None` if there is no such register, or its width
    /// differs.
    pub fn write(
        &mut self,
        instruction: &Instruction,
        operand: &Operand,
        word: Word,
    ) -> Assembled<Option<()>> {
        if matches!(operand, Operand::Register(name) if name == "_") {
            return Ok(Some(()));
        }
        let Some((bits, before)) = self.register(operand).cloned() else {
            return Ok(None);
        };
        if bits != word.bits {
            return Ok(None);
        }
        let word = match &instruction.guard {
            None => word,
            Some((name, negated)) => {
                let Some(guard) = self.read(&Operand::Register(name.clone()), 1)? else {
                    return Ok(None);
                };
                let before = match before {
                    Some(before) => before,
                    None => self.emit_poison(bits),
                };
                let (yes, no) = if *negated { (before, word) } else { (word, before) };
                self.select(&guard, &yes, &no)?
            }
        };
        if let Some(register) = self.register(operand) {
            register.1 = Some(word);
        }
        Ok(Some(()))
    }

    fn register(&mut self, operand: &Operand) -> Option<&mut Register> {
        match operand {
            Operand::Argument(nth) => self.arguments.get_mut(*nth),
            Operand::Register(name) => self.scopes.iter_mut().rev().find_map(|scope| scope.get_mut(name)),
            _ => None,
        }
    }

    /// Returns the width of a register.
    pub fn register_width(&mut self, operand: &Operand) -> Option<u32> {
        self.register(operand).map(|register| register.0)
    }

    /// Reads an operand as bits of a width. Returns `None` for another width, or an invalid operand.
    pub fn read(&mut self, operand: &Operand, bits: u32) -> Assembled<Option<Word>> {
        Ok(match operand {
            Operand::Argument(_) | Operand::Register(_) => match self.register(operand).cloned() {
                Some((width, word)) if width == bits => Some(match word {
                    Some(word) => word,
                    None => self.emit_poison(bits),
                }),
                _ => None,
            },
            Operand::Not(name) if bits == 1 => match self.read(&Operand::Register(name.clone()), 1)? {
                Some(word) => {
                    let value = self.make_unsigned(&word)?;
                    let not = self.emit_operation(
                        OpKind::Unary(cerith_tile::ir::UnaryOp::Not),
                        &[value],
                        DType::I1,
                    );
                    Some(Word::from_value(not, 1, word.all()))
                }
                None => None,
            },
            Operand::Int(value) => Some(self.emit_constant(*value as u64 & low_mask(bits), bits)),
            Operand::Single(value) if bits == 32 => Some(self.emit_constant((*value).into(), 32)),
            Operand::Double(value) if bits == 64 => Some(self.emit_constant(*value, 64)),
            _ => None,
        })
    }

    /// Reads an operand as a value of a dtype.
    pub fn read_value(&mut self, operand: &Operand, dtype: DType) -> Assembled<Option<(ValueId, Slots)>> {
        let word = match (operand, dtype) {
            (Operand::Float(value), DType::F32) => {
                Some(self.emit_constant(u64::from((*value as f32).to_bits()), 32))
            }
            (Operand::Float(value), DType::F64) => Some(self.emit_constant(value.to_bits(), 64)),
            // PTX has no integer literals for floats.
            (Operand::Int(_), DType::F32 | DType::F64) => None,
            _ => self.read(operand, dtype.bits())?,
        };
        match word {
            Some(word) => Ok(Some((self.convert_dtype(&word, dtype)?, word.all()))),
            None => Ok(None),
        }
    }
}

impl Machine<'_> {
    fn type_for(&self, dtype: DType) -> Type {
        match &self.shape {
            Some(shape) => Type::block(Elem::Num(dtype), shape.clone()),
            None => Type::num(dtype),
        }
    }

    /// Appends an operation with a result of this dtype.
    pub fn emit_operation(&mut self, kind: OpKind, operands: &[ValueId], dtype: DType) -> ValueId {
        let ty = self.type_for(dtype);
        self.builder.add_op(kind, operands, ty)
    }

    /// Appends an operation of two operands.
    pub fn emit_binary(&mut self, op: BinaryOp, x: ValueId, y: ValueId, dtype: DType) -> ValueId {
        self.emit_operation(OpKind::Binary(op), &[x, y], dtype)
    }

    /// Appends a call of a function of the library, or an instruction.
    pub fn emit_library_call(&mut self, symbol: &'static Symbol, operands: &[ValueId]) -> ValueId {
        self.emit_operation(OpKind::Library(symbol), operands, symbol.result)
    }

    /// Emits the same number in every lane.
    pub fn emit_number(&mut self, bits: u64, dtype: DType) -> ValueId {
        let ty = self.type_for(dtype);
        self.builder.add_constant(bits & low_mask(dtype.bits()), ty)
    }

    /// Emits a register with the same bits in every lane.
    pub fn emit_constant(&mut self, bits: u64, width: u32) -> Word {
        let value = self.emit_number(bits, unsigned_dtype(width));
        Word {
            known_bits: Some(bits & low_mask(width)),
            ..Word::from_value(value, width, 0)
        }
    }

    /// Emits an uninitialised register.
    pub fn emit_poison(&mut self, width: u32) -> Word {
        let value = self.emit_operation(OpKind::Poison, &[], unsigned_dtype(width));
        Word::from_value(value, width, 0)
    }

    /// Converts a register to an unsigned integer of the same bits.
    pub fn make_unsigned(&mut self, word: &Word) -> Assembled<ValueId> {
        let dtype = unsigned_dtype(word.bits);
        let part_bits = word.bits / word.parts.len().max(1) as u32;
        let mut whole: Option<ValueId> = None;
        for (nth, &part) in word.parts.iter().enumerate() {
            let part = self.bits_of(part)?;
            let part = self.cast(part, unsigned_dtype(part_bits), dtype);
            let by = nth as u32 * part_bits;
            let part = if by == 0 {
                part
            } else {
                let by = self.emit_number(by.into(), dtype);
                self.emit_binary(BinaryOp::Shl, part, by, dtype)
            };
            whole = Some(match whole {
                Some(low) => self.emit_binary(BinaryOp::Or, low, part, dtype),
                None => part,
            });
        }
        match whole {
            Some(whole) => Ok(whole),
            None => Err(Refusal::unknown("a register without parts")),
        }
    }

    /// Converts a value to an unsigned integer of the same bits.
    fn bits_of(&mut self, value: ValueId) -> Assembled<ValueId> {
        let bits = element_dtype(self.builder, value).map_or(64, DType::bits);
        bitcast(self.builder, value, Elem::Num(unsigned_dtype(bits)))
    }

    /// Converts a register to a value of a dtype of its width.
    pub fn convert_dtype(&mut self, word: &Word, dtype: DType) -> Assembled<ValueId> {
        if let [only] = word.parts.as_slice() {
            return bitcast(self.builder, *only, Elem::Num(dtype));
        }
        let whole = self.make_unsigned(word)?;
        bitcast(self.builder, whole, Elem::Num(dtype))
    }

    /// Casts an integer to another width.
    pub fn cast(&mut self, value: ValueId, from: DType, to: DType) -> ValueId {
        self.convert(value, from, to, Rounding::NearestEven)
    }

    /// Casts a value to another dtype.
    pub fn convert(&mut self, value: ValueId, from: DType, to: DType, rounding: Rounding) -> ValueId {
        if from == to {
            return value;
        }
        let kind = CastKind::Value;
        self.emit_operation(OpKind::Cast { kind, rounding }, &[value], to)
    }

    /// Splits a register into equal parts, the low one first.
    pub fn split(&mut self, word: &Word, count: usize) -> Assembled<Vec<Word>> {
        let bits = word.bits / count as u32;
        let bytes = bits as usize / 8;
        let mut parts = Vec::with_capacity(count);
        let whole = if word.parts.len() == count {
            None
        } else {
            Some(self.make_unsigned(word)?)
        };
        for nth in 0..count {
            let value = match (whole, word.parts.get(nth)) {
                (None, Some(&part)) => part,
                (Some(whole), _) => {
                    let dtype = unsigned_dtype(word.bits);
                    let shifted = if nth == 0 {
                        whole
                    } else {
                        let by = self.emit_number((nth as u32 * bits).into(), dtype);
                        self.emit_binary(BinaryOp::LShr, whole, by, dtype)
                    };
                    self.cast(shifted, dtype, unsigned_dtype(bits))
                }
                (None, None) => return Err(Refusal::unknown("a register without parts")),
            };
            let mut part = Word::from_value(value, bits, 0);
            for (to, from) in part
                .from
                .iter_mut()
                .zip(word.from.iter().skip(nth * bytes).take(bytes))
            {
                *to = *from;
            }
            part.known_bits = word
                .known_bits
                .map(|known| known >> (nth as u32 * bits) & low_mask(bits));
            parts.push(part);
        }
        Ok(parts)
    }

    /// Joins registers of one width, the low one first.
    pub fn join(&mut self, words: &[Word]) -> Assembled<Word> {
        let bits = words.first().map_or(8, |word| word.bits);
        let mut joined = Word {
            bits: bits * words.len() as u32,
            parts: smallvec::SmallVec::new(),
            from: [0; 8],
            known_bits: None,
        };
        let from = words.iter().flat_map(|word| word.from.iter().take(word.bytes()));
        for (to, &from) in joined.from.iter_mut().zip(from) {
            *to = from;
        }
        for word in words {
            let part = match word.parts.as_slice() {
                [only] => *only,
                _ => self.make_unsigned(word)?,
            };
            joined.parts.push(part);
        }
        if let [only] = words {
            joined.known_bits = only.known_bits;
        }
        Ok(joined)
    }

    /// Resizes a register: truncates it, or extends it with zeros or copies of the sign.
    pub fn resize_word(&mut self, word: &Word, bits: u32, signed: bool) -> Assembled<Word> {
        if bits == word.bits {
            return Ok(word.clone());
        }
        if bits < word.bits {
            let parts = self.split(word, (word.bits / bits) as usize)?;
            return Ok(parts.into_iter().next().unwrap_or_else(|| word.clone()));
        }
        let mut wide = word.clone();
        wide.bits = bits;
        wide.known_bits = word.known_bits.filter(|_| !signed);
        if signed {
            let from = integer_of(word.bits, true);
            let value = self.convert_dtype(word, from)?;
            wide.parts = smallvec::smallvec![self.cast(value, from, unsigned_dtype(bits))];
            let sign = word
                .from
                .get(word.bytes().saturating_sub(1))
                .copied()
                .unwrap_or(0);
            wide.from
                .iter_mut()
                .skip(word.bytes())
                .for_each(|byte| *byte = sign);
            wide.from
                .iter_mut()
                .skip(bits as usize / 8)
                .for_each(|byte| *byte = 0);
            return Ok(wide);
        }
        let zero = self.emit_constant(0, word.bits);
        let mut parts = vec![word.clone()];
        parts.resize((bits / word.bits) as usize, zero);
        let known = wide.known_bits;
        let mut wide = self.join(&parts)?;
        wide.known_bits = known;
        Ok(wide)
    }

    /// Selects one of two registers by a predicate.
    pub fn select(&mut self, guard: &Word, yes: &Word, no: &Word) -> Assembled<Word> {
        let condition = self.make_unsigned(guard)?;
        // Floats stay floats, to keep their error bounds.
        let float = |word: &Word| match word.parts.as_slice() {
            [only] => element_dtype(self.builder, *only).filter(|dtype| dtype.is_float()),
            _ => None,
        };
        let dtype = float(yes)
            .or_else(|| float(no))
            .unwrap_or_else(|| unsigned_dtype(yes.bits));
        let (one, other) = (self.convert_dtype(yes, dtype)?, self.convert_dtype(no, dtype)?);
        let value = self.emit_operation(OpKind::Select, &[condition, one, other], dtype);
        let mut word = Word::from_value(value, yes.bits, 0);
        for (to, (yes, no)) in word.from.iter_mut().zip(yes.from.iter().zip(no.from)) {
            *to = yes | no;
        }
        let decides = guard.all();
        let bytes = word.bytes();
        word.from.iter_mut().take(bytes).for_each(|byte| *byte |= decides);
        Ok(word)
    }
}

/// The dtype of a value's elements; `None` for pointers.
pub(crate) fn element_dtype(builder: &Builder, value: ValueId) -> Option<DType> {
    builder.ty(value).elem.num()
}

/// Bitcasts a value to another element type.
pub(crate) fn bitcast(builder: &mut Builder, value: ValueId, to: Elem) -> Assembled<ValueId> {
    let ty = builder.ty(value).clone();
    if ty.elem == to {
        return Ok(value);
    }
    if let (Some(from), Some(to)) = (ty.elem.num(), to.num())
        && from.bits() != to.bits()
    {
        return Err(Refusal::Wrong(format!(
            "cannot bitcast data-type of size {} to data-type of size {}",
            from.bits(),
            to.bits()
        )));
    }
    let kind = OpKind::Cast {
        kind: CastKind::Bits,
        rounding: Rounding::NearestEven,
    };
    Ok(builder.add_op(kind, &[value], ty.with_elem(to)))
}

/// Returns the integer dtype of a width.
pub(crate) const fn integer_of(bits: u32, signed: bool) -> DType {
    match (bits, signed) {
        (8, true) => DType::I8,
        (16, true) => DType::I16,
        (32, true) => DType::I32,
        (64, true) => DType::I64,
        _ => unsigned_dtype(bits),
    }
}

/// Returns the width of a register declared with a type.
fn width_of(ty: &str) -> Option<u32> {
    Some(match ty {
        "pred" => 1,
        "b8" | "u8" | "s8" => 8,
        "b16" | "u16" | "s16" | "f16" | "bf16" => 16,
        "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" => 32,
        "b64" | "u64" | "s64" | "f64" => 64,
        _ => return None,
    })
}
