//! Lowers float instructions.
//!
//! A sum or product without a rounding modifier may be fused with later operations. One with a modifier is rounded on its
//! own (PTX ISA, `add`). So the first becomes an operation of the IR, which engines may contract, and the second a call of
//! the instruction, which they may not.

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CmpPredicate, OpKind, TernaryOp, UnaryOp, ValueId};
use cerith_tile::numeric::library::{Symbol, find_instruction, find_symbol};

use crate::machine::Machine;
use crate::refusal::Assembled;
use crate::text::{Instruction, Operand};
use crate::word::{Slots, Word};

/// Parses the float type of an instruction, and the number of floats in a register.
fn float_type(name: &str) -> Option<(DType, usize)> {
    Some(match name {
        "f16" => (DType::F16, 1),
        "bf16" => (DType::BF16, 1),
        "f16x2" => (DType::F16, 2),
        "bf16x2" => (DType::BF16, 2),
        "f32" => (DType::F32, 1),
        "f64" => (DType::F64, 1),
        _ => return None,
    })
}

/// The accuracy of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Closeness {
    /// Correctly rounded.
    #[default]
    Rounded,
    /// `.full`
    Full,
    /// `.approx`
    Approximate,
}

/// The modifiers between an instruction's name and its type.
#[derive(Clone, Copy, Debug, Default)]
struct Modifiers<'n> {
    rounding: Option<&'n str>,
    closeness: Closeness,
    /// `.ftz`
    flushes: bool,
    /// `.NaN`
    nan: bool,
}

impl<'n> Modifiers<'n> {
    fn parse(names: &[&'n str]) -> Option<Self> {
        let mut modifiers = Self::default();
        for &name in names {
            match name {
                "rn" | "rz" | "rm" | "rp" if modifiers.rounding.is_none() => modifiers.rounding = Some(name),
                "approx" => modifiers.closeness = Closeness::Approximate,
                "full" => modifiers.closeness = Closeness::Full,
                "ftz" => modifiers.flushes = true,
                "NaN" => modifiers.nan = true,
                _ => return None,
            }
        }
        Some(modifiers)
    }

    /// Whether there are no modifiers other than a rounding and `.ftz`.
    fn is_plain(self) -> bool {
        self.closeness == Closeness::Rounded && !self.nan
    }
}

/// The library's name of a rounding.
const fn name_rounding(rounding: Option<&str>) -> &'static str {
    match rounding {
        Some(rounding) => match rounding.as_bytes() {
            b"rz" => "rz",
            b"rm" => "rd",
            b"rp" => "ru",
            _ => "rn",
        },
        None => "rn",
    }
}

/// Finds the library's function for an operation of `f32` with `.ftz`.
fn find_ftz_symbol(stem: &str, rounding: Option<&str>, operands: usize) -> Option<&'static Symbol> {
    let way = name_rounding(rounding);
    find_symbol(&format!("{stem}_{way}"), [DType::F32; 3].get(..operands)?)
}

impl Machine<'_> {
    /// Lowers a float instruction. Returns `None` for any other instruction.
    pub(crate) fn lower_float(&mut self, i: &Instruction) -> Assembled<Option<Word>> {
        let name: Vec<&str> = i.name.iter().map(String::as_str).collect();
        let [stem, middle @ .., ty] = name.as_slice() else {
            return Ok(None);
        };
        let (Some((dtype, count)), Some(modifiers)) = (float_type(ty), Modifiers::parse(middle)) else {
            return Ok(None);
        };
        let operands = i.operands.get(1..).unwrap_or_default();
        if operands.len() > 3 || !is_known(stem, operands.len()) {
            return Ok(None);
        }
        let mut lanes: Vec<(Vec<ValueId>, Slots)> = vec![(Vec::new(), 0); count];
        for operand in operands {
            let parts = if count == 1 {
                self.read_value(operand, dtype)?.map(|part| vec![part])
            } else {
                self.read_halves(operand, dtype)?
            };
            let Some(parts) = parts else { return Ok(None) };
            for ((values, from), (value, depends)) in lanes.iter_mut().zip(parts) {
                values.push(value);
                *from |= depends;
            }
        }
        let mut words = Vec::with_capacity(count);
        for (values, from) in lanes {
            match self.float_lane(stem, modifiers, dtype, &values) {
                Some(value) => words.push(Word::from_value(value, dtype.bits(), from)),
                None => return Ok(None),
            }
        }
        self.join(&words).map(Some)
    }

    /// Reads a register of two floats.
    fn read_halves(&mut self, operand: &Operand, dtype: DType) -> Assembled<Option<Vec<(ValueId, Slots)>>> {
        let Some(word) = self.read(operand, 32)? else {
            return Ok(None);
        };
        let mut halves = Vec::with_capacity(2);
        for half in self.split(&word, 2)? {
            halves.push((self.convert_dtype(&half, dtype)?, half.all()));
        }
        Ok(Some(halves))
    }

    fn float_lane(
        &mut self,
        stem: &str,
        modifiers: Modifiers<'_>,
        dtype: DType,
        values: &[ValueId],
    ) -> Option<ValueId> {
        match (stem, values) {
            ("add" | "sub" | "mul" | "fma", _) if modifiers.is_plain() => {
                self.lower_arithmetic(stem, modifiers, dtype, values)
            }
            ("min" | "max", &[x, y])
                if modifiers.rounding.is_none() && modifiers.closeness == Closeness::Rounded =>
            {
                let op = match (stem, modifiers.nan) {
                    ("min", false) => BinaryOp::Min,
                    ("max", false) => BinaryOp::Max,
                    ("min", true) => BinaryOp::MinPropagateNan,
                    _ => BinaryOp::MaxPropagateNan,
                };
                let value = self.emit_binary(op, x, y, dtype);
                self.flush_result(value, modifiers.flushes, dtype)
            }
            ("neg" | "abs", &[x]) if modifiers.is_plain() && modifiers.rounding.is_none() => {
                let op = if stem == "neg" { UnaryOp::Neg } else { UnaryOp::Abs };
                let value = self.emit_operation(OpKind::Unary(op), &[x], dtype);
                self.flush_result(value, modifiers.flushes, dtype)
            }
            ("copysign", &[sign, x]) if modifiers.is_plain() && !modifiers.flushes => {
                Some(self.emit_binary(BinaryOp::CopySign, x, sign, dtype))
            }
            (_, values) if dtype == DType::F32 => self.lower_f32(stem, modifiers, values),
            ("div" | "sqrt" | "rcp", values) if dtype == DType::F64 => {
                let rounding = modifiers
                    .rounding
                    .filter(|_| modifiers.is_plain() && !modifiers.flushes);
                let found = rounding.and_then(|rounding| {
                    let way = name_rounding(Some(rounding));
                    find_symbol(&format!("{stem}_{way}"), [DType::F64; 2].get(..values.len())?)
                });
                found.map(|symbol| self.emit_library_call(symbol, values))
            }
            _ => None,
        }
    }

    fn lower_arithmetic(
        &mut self,
        stem: &str,
        modifiers: Modifiers<'_>,
        dtype: DType,
        values: &[ValueId],
    ) -> Option<ValueId> {
        let rounding = modifiers.rounding;
        if stem == "fma" && rounding.is_none() {
            return None;
        }
        if modifiers.flushes {
            let symbol = find_ftz_symbol(stem, rounding, values.len()).filter(|_| dtype == DType::F32)?;
            return Some(self.emit_library_call(symbol, values));
        }
        match (stem, rounding, dtype) {
            // This operation is rounded once in any context.
            ("fma", Some("rn"), _) => {
                Some(self.emit_operation(OpKind::Ternary(TernaryOp::Fma), values, dtype))
            }
            (_, Some(rounding), DType::F32) => {
                let symbol = find_instruction(&format!("{stem}.{rounding}.f32"))?;
                Some(self.emit_library_call(symbol, values))
            }
            (_, Some(rounding), DType::F64) => {
                let way = name_rounding(Some(rounding));
                let symbol = find_symbol(&format!("{stem}_{way}"), [DType::F64; 3].get(..values.len())?)?;
                Some(self.emit_library_call(symbol, values))
            }
            (_, None | Some("rn"), _) => {
                let op = match stem {
                    "add" => BinaryOp::Add,
                    "sub" => BinaryOp::Sub,
                    _ => BinaryOp::Mul,
                };
                Some(self.emit_operation(OpKind::Binary(op), values, dtype))
            }
            _ => None,
        }
    }

    /// Lowers an operation of `f32`.
    fn lower_f32(&mut self, stem: &str, modifiers: Modifiers<'_>, values: &[ValueId]) -> Option<ValueId> {
        let dtype = DType::F32;
        if let Some(rounding) = modifiers.rounding {
            if !modifiers.is_plain() || !matches!(stem, "div" | "sqrt" | "rcp") {
                return None;
            }
            let symbol = if modifiers.flushes {
                find_ftz_symbol(stem, Some(rounding), values.len())?
            } else {
                find_instruction(&format!("{stem}.{rounding}.f32"))?
            };
            return Some(self.emit_library_call(symbol, values));
        }
        if let ("div", Closeness::Full, &[x, y]) = (stem, modifiers.closeness, values) {
            return Some(self.emit_binary(BinaryOp::Div, x, y, dtype));
        }
        if modifiers.closeness != Closeness::Approximate || modifiers.nan {
            return None;
        }
        let unary = match stem {
            "ex2" => Some(UnaryOp::Exp2),
            "sqrt" => Some(UnaryOp::Sqrt),
            "rsqrt" => Some(UnaryOp::Rsqrt),
            _ => None,
        };
        if let Some(op) = unary {
            return Some(self.emit_operation(OpKind::Unary(op), values, dtype));
        }
        let symbol = match stem {
            "lg2" => find_symbol("fast_log2f", &[dtype]),
            "sin" => find_symbol("fast_sinf", &[dtype]),
            "cos" => find_symbol("fast_cosf", &[dtype]),
            "div" => find_symbol("fast_dividef", &[dtype; 2]),
            "rcp" => find_instruction("rcp.approx.f32"),
            "tanh" if !modifiers.flushes => find_instruction("tanh.approx.f32"),
            _ => None,
        }?;
        Some(self.emit_library_call(symbol, values))
    }

    /// Flushes a subnormal result to zero, by a multiplication with 1.
    fn flush_result(&mut self, value: ValueId, flushes: bool, dtype: DType) -> Option<ValueId> {
        if !flushes {
            return Some(value);
        }
        let product = find_ftz_symbol("mul", None, 2).filter(|_| dtype == DType::F32)?;
        let one = self.emit_number(u64::from(1f32.to_bits()), dtype);
        Some(self.emit_library_call(product, &[value, one]))
    }

    /// `setp`: a comparison, optionally combined with another predicate.
    pub(crate) fn lower_setp(&mut self, i: &Instruction) -> Assembled<Option<()>> {
        let name: Vec<&str> = i.name.iter().map(String::as_str).collect();
        let [_, predicate, middle @ .., ty] = name.as_slice() else {
            return Ok(None);
        };
        let (flushes, with) = match middle {
            [] => (false, None),
            ["ftz"] => (true, None),
            [with @ ("and" | "or" | "xor")] => (false, Some(*with)),
            [with @ ("and" | "or" | "xor"), "ftz"] => (true, Some(*with)),
            _ => return Ok(None),
        };
        let float = float_type(ty)
            .filter(|&(_, count)| count == 1)
            .map(|(dtype, _)| dtype);
        let Some(dtype) = float.or_else(|| crate::integer::integer_dtype(ty)) else {
            return Ok(None);
        };
        let [to, x, y, others @ ..] = i.operands.as_slice() else {
            return Ok(None);
        };
        let (Some((x, one)), Some((y, other))) = (self.read_value(x, dtype)?, self.read_value(y, dtype)?)
        else {
            return Ok(None);
        };
        let (Some(x), Some(y)) = (
            self.flush_result(x, flushes, dtype),
            self.flush_result(y, flushes, dtype),
        ) else {
            return Ok(None);
        };
        let Some(holds) = self.lower_comparison(predicate, x, y, float.is_some()) else {
            return Ok(None);
        };
        let mut word = Word::from_value(holds, 1, one | other);
        let mut opposite = None;
        if matches!(to, Operand::Both(..)) {
            let not = self.emit_operation(OpKind::Unary(UnaryOp::Not), &[holds], DType::I1);
            opposite = Some(Word::from_value(not, 1, one | other));
        }
        match (with, others) {
            (None, []) => {}
            (Some(with), [third]) => {
                let Some(third) = self.read(third, 1)? else {
                    return Ok(None);
                };
                let op = match with {
                    "and" => BinaryOp::And,
                    "or" => BinaryOp::Or,
                    _ => BinaryOp::Xor,
                };
                for word in std::iter::once(&mut word).chain(&mut opposite) {
                    let (a, b) = (self.make_unsigned(word)?, self.make_unsigned(&third)?);
                    let value = self.emit_binary(op, a, b, DType::I1);
                    *word = Word::from_value(value, 1, word.all() | third.all());
                }
            }
            _ => return Ok(None),
        }
        match (to, opposite) {
            (Operand::Both(p, q), Some(opposite)) => {
                let (p, q) = (Operand::Register(p.clone()), Operand::Register(q.clone()));
                if self.write(i, &p, word)?.is_none() {
                    return Ok(None);
                }
                self.write(i, &q, opposite)
            }
            _ => self.write(i, to, word),
        }
    }

    /// Lowers a comparison. Float comparisons are false for a NaN, except `nan` and the ones that end in `u`.
    fn lower_comparison(&mut self, name: &str, x: ValueId, y: ValueId, float: bool) -> Option<ValueId> {
        let (name, unordered) = match name {
            "num" | "nan" if float => (name, false),
            "lo" if !float => ("lt", false),
            "ls" if !float => ("le", false),
            "hi" if !float => ("gt", false),
            "hs" if !float => ("ge", false),
            _ => match name.strip_suffix('u') {
                Some(name) if float => (name, true),
                Some(_) => return None,
                None => (name, false),
            },
        };
        let mut compare =
            |predicate, x, y| self.emit_operation(OpKind::Compare(predicate), &[x, y], DType::I1);
        if !float {
            let predicate = CmpPredicate::ALL
                .iter()
                .find(|predicate| predicate.name() == name)?;
            return Some(compare(*predicate, x, y));
        }
        let (x_is, y_is) = (compare(CmpPredicate::Eq, x, x), compare(CmpPredicate::Eq, y, y));
        let predicate = CmpPredicate::ALL
            .iter()
            .find(|predicate| predicate.name() == name);
        let holds = predicate.map(|&predicate| compare(predicate, x, y));
        let numbers = self.emit_binary(BinaryOp::And, x_is, y_is, DType::I1);
        let nan = self.emit_operation(OpKind::Unary(UnaryOp::Not), &[numbers], DType::I1);
        Some(match (name, holds, unordered) {
            ("num", ..) => numbers,
            ("nan", ..) => nan,
            (_, Some(holds), true) => self.emit_binary(BinaryOp::Or, holds, nan, DType::I1),
            ("ne", Some(holds), false) => self.emit_binary(BinaryOp::And, holds, numbers, DType::I1),
            (_, Some(holds), false) => holds,
            (_, None, _) => return None,
        })
    }
}

/// Whether there is a float instruction with this name and number of operands.
fn is_known(stem: &str, operands: usize) -> bool {
    match stem {
        "neg" | "abs" | "sqrt" | "rsqrt" | "rcp" | "ex2" | "lg2" | "sin" | "cos" | "tanh" => operands == 1,
        "add" | "sub" | "mul" | "min" | "max" | "div" | "copysign" => operands == 2,
        "fma" => operands == 3,
        _ => false,
    }
}
