//! Lowers `mov` and `cvt`.
//!
//! A conversion to an 8-bit float is the instruction that Triton's own casts compile to
//! (`cvt.rn.satfinite.e4m3x2.f32`), so it becomes a cast of the IR. A float becomes `tf32` by rounding, ties away from
//! zero. Unsupported: conversions to and from 4- and 6-bit floats, `ue8m0`, other roundings to `tf32`, stochastic
//! rounding, `.relu` and `.sat`.

use cerith_tile::DType;
use cerith_tile::ir::{OpKind, Rounding, UnaryOp, ValueId};
use cerith_tile::numeric::library::{find_instruction, find_symbol};

use crate::integer::integer_dtype;
use crate::machine::Machine;
use crate::refusal::Assembled;
use crate::text::{Instruction, Operand};
use crate::word::{Slots, Word};

/// Parses the name of a float type.
fn float_dtype(name: &str) -> Option<DType> {
    Some(match name {
        "f16" => DType::F16,
        "bf16" => DType::BF16,
        "f32" => DType::F32,
        "f64" => DType::F64,
        _ => return None,
    })
}

/// Parses the name of a packed pair of floats.
fn pair_dtype(name: &str) -> Option<DType> {
    Some(match name {
        "f16x2" => DType::F16,
        "bf16x2" => DType::BF16,
        "e4m3x2" => DType::F8E4NV,
        "e5m2x2" => DType::F8E5,
        _ => return None,
    })
}

/// Parses the rounding of a narrowing `cvt`.
const fn parse_rounding(mode: &str) -> Option<Rounding> {
    Some(match mode.as_bytes() {
        b"rn" => Rounding::NearestEven,
        b"rz" => Rounding::TowardZero,
        _ => return None,
    })
}

impl Machine<'_> {
    /// `mov`: copies, packs or unpacks registers.
    pub(crate) fn lower_mov(&mut self, i: &Instruction) -> Assembled<Option<()>> {
        let [_, ty] = i.name.as_slice() else {
            return Ok(None);
        };
        let bits = match ty.as_str() {
            "pred" => 1,
            ty => match integer_dtype(ty).or_else(|| float_dtype(ty)) {
                Some(dtype) => dtype.bits(),
                None => return Ok(None),
            },
        };
        let [to, from] = i.operands.as_slice() else {
            return Ok(None);
        };
        let word = match from {
            Operand::Several(parts) => self.join_operands(parts, bits)?,
            // A literal has the type of the instruction.
            Operand::Float(_) => match float_dtype(ty) {
                Some(dtype) => self
                    .read_value(from, dtype)?
                    .map(|(value, slots)| Word::from_value(value, bits, slots)),
                None => None,
            },
            _ => self.read(from, bits)?,
        };
        let Some(word) = word else { return Ok(None) };
        let Operand::Several(parts) = to else {
            return self.write(i, to, word);
        };
        if !matches!(parts.len(), 2 | 4) {
            return Ok(None);
        }
        let pieces = self.split(&word, parts.len())?;
        for (part, piece) in parts.iter().zip(pieces) {
            if self.write(i, part, piece)?.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(()))
    }

    fn join_operands(&mut self, parts: &[Operand], bits: u32) -> Assembled<Option<Word>> {
        let width = bits / parts.len().max(1) as u32;
        if !matches!(parts.len(), 2 | 4) || width < 8 {
            return Ok(None);
        }
        let mut words = Vec::with_capacity(parts.len());
        for part in parts {
            match self.read(part, width)? {
                Some(word) => words.push(word),
                None => return Ok(None),
            }
        }
        self.join(&words).map(Some)
    }

    /// `cvt`.
    pub(crate) fn lower_cvt(&mut self, i: &Instruction) -> Assembled<Option<()>> {
        let name: Vec<&str> = i.name.iter().map(String::as_str).collect();
        let [_, modes @ .., to, from] = name.as_slice() else {
            return Ok(None);
        };
        let word = match (i.operands.as_slice(), pair_dtype(to), pair_dtype(from)) {
            ([_, high, low], Some(dtype), None) if *from == "f32" => {
                self.pack_floats(modes, dtype, high, low)?
            }
            ([_, pair], Some(to), Some(from)) => self.convert_pair(modes, to, from, pair)?,
            ([_, value], None, None) => self.converted_one(modes, to, from, value)?,
            _ => None,
        };
        let Some(mut word) = word else { return Ok(None) };
        // An integer may be read from a wider register.
        if let (Some(dtype), Some(operand)) = (integer_dtype(to), i.operands.first())
            && let Some(width) = self.register_width(operand)
            && width > word.bits
        {
            word = self.resize_word(&word, width, dtype.is_signed_int())?;
        }
        self.write_result(i, word)
    }

    /// Narrows two floats into one register, the first into its high half.
    fn pack_floats(
        &mut self,
        modes: &[&str],
        dtype: DType,
        high: &Operand,
        low: &Operand,
    ) -> Assembled<Option<Word>> {
        let rounding = match (modes, dtype.is_fp8()) {
            (["rn", "satfinite"], true) => Some(Rounding::NearestEven),
            ([mode], false) => parse_rounding(mode),
            _ => None,
        };
        let Some(rounding) = rounding else { return Ok(None) };
        let mut words = Vec::with_capacity(2);
        for operand in [low, high] {
            let Some((value, from)) = self.read_value(operand, DType::F32)? else {
                return Ok(None);
            };
            let narrow = self.convert(value, DType::F32, dtype, rounding);
            words.push(Word::from_value(narrow, dtype.bits(), from));
        }
        self.join(&words).map(Some)
    }

    /// Converts a packed pair of floats to another type.
    fn convert_pair(
        &mut self,
        modes: &[&str],
        to: DType,
        from: DType,
        pair: &Operand,
    ) -> Assembled<Option<Word>> {
        let known = match modes {
            ["rn", "satfinite"] => to.is_fp8() && from == DType::F16,
            ["rn"] => from.is_fp8() && to == DType::F16,
            _ => false,
        };
        let (true, Some(word)) = (known, self.read(pair, 2 * from.bits())?) else {
            return Ok(None);
        };
        let mut words = Vec::with_capacity(2);
        for half in self.split(&word, 2)? {
            let value = self.convert_dtype(&half, from)?;
            let value = self.convert(value, from, to, Rounding::NearestEven);
            words.push(Word::from_value(value, to.bits(), half.all()));
        }
        self.join(&words).map(Some)
    }

    fn converted_one(
        &mut self,
        modes: &[&str],
        to: &str,
        from: &str,
        operand: &Operand,
    ) -> Assembled<Option<Word>> {
        match (
            integer_dtype(to),
            integer_dtype(from),
            float_dtype(to),
            float_dtype(from),
        ) {
            (Some(to), Some(from), ..) if modes.is_empty() => {
                // The operand may be in a wider register.
                let width = self.register_width(operand).unwrap_or(from.bits());
                let Some(word) = self.read(operand, width)? else {
                    return Ok(None);
                };
                if width < from.bits() {
                    return Ok(None);
                }
                let word = self.resize_word(&word, from.bits(), false)?;
                self.resize_word(&word, to.bits(), from.is_signed_int()).map(Some)
            }
            (None, Some(from), Some(to), _) => {
                let Some((value, depends)) = self.read_value(operand, from)? else {
                    return Ok(None);
                };
                let value = self.integer_to_float(modes, from, to, value);
                Ok(value.map(|value| Word::from_value(value, to.bits(), depends)))
            }
            (_, None, _, Some(from)) => {
                let Some((value, depends)) = self.read_value(operand, from)? else {
                    return Ok(None);
                };
                Ok(self.float_to(modes, (to, from), value, depends))
            }
            _ => Ok(None),
        }
    }

    fn integer_to_float(
        &mut self,
        modes: &[&str],
        from: DType,
        to: DType,
        value: ValueId,
    ) -> Option<ValueId> {
        let [mode] = modes else { return None };
        if *mode == "rn" {
            return Some(self.convert(value, from, to, Rounding::NearestEven));
        }
        let way = match *mode {
            "rz" => "rz",
            "rm" => "rd",
            "rp" => "ru",
            _ => return None,
        };
        let source = match from {
            DType::I32 => "int",
            DType::U32 => "uint",
            DType::I64 => "ll",
            DType::U64 => "ull",
            _ => return None,
        };
        let symbol = find_symbol(&format!("{source}2float_{way}"), &[from]).filter(|_| to == DType::F32)?;
        Some(self.emit_library_call(symbol, &[value]))
    }

    fn float_to(
        &mut self,
        modes: &[&str],
        (to, from): (&str, DType),
        value: ValueId,
        depends: Slots,
    ) -> Option<Word> {
        if to == "tf32" {
            // The register holds a float whose low bits are zero.
            let symbol = match modes {
                ["rna"] if from == DType::F32 => find_instruction("cvt.rna.tf32.f32")?,
                _ => return None,
            };
            let value = self.emit_library_call(symbol, &[value]);
            return Some(Word::from_value(value, symbol.result.bits(), depends));
        }
        if let Some(dtype) = integer_dtype(to) {
            let [mode @ ("rni" | "rzi" | "rmi" | "rpi"), flushes @ ..] = modes else {
                return None;
            };
            let symbol = match (from, flushes) {
                (DType::F32, []) => find_instruction(&format!("cvt.{mode}.{to}.f32")),
                (DType::F32, ["ftz"]) | (DType::F64, []) => {
                    let source = if from == DType::F32 { "float" } else { "double" };
                    let target = match dtype {
                        DType::I32 => "int",
                        DType::U32 => "uint",
                        DType::I64 => "ll",
                        DType::U64 => "ull",
                        _ => return None,
                    };
                    let way = match *mode {
                        "rni" => "rn",
                        "rzi" => "rz",
                        "rmi" => "rd",
                        _ => "ru",
                    };
                    find_symbol(&format!("{source}2{target}_{way}"), &[from])
                }
                _ => None,
            };
            return symbol.map(|symbol| {
                let value = self.emit_library_call(symbol, &[value]);
                Word::from_value(value, symbol.result.bits(), depends)
            });
        }
        let dtype = float_dtype(to)?;
        let value = match modes {
            [mode @ ("rni" | "rzi" | "rmi" | "rpi")] if dtype == from && from == DType::F32 => {
                let op = match *mode {
                    "rni" => UnaryOp::Rint,
                    "rzi" => UnaryOp::Trunc,
                    "rmi" => UnaryOp::Floor,
                    _ => UnaryOp::Ceil,
                };
                self.emit_operation(OpKind::Unary(op), &[value], dtype)
            }
            [] if dtype.bits() > from.bits() => self.convert(value, from, dtype, Rounding::NearestEven),
            [mode] if dtype.bits() < from.bits() => match parse_rounding(mode) {
                Some(rounding) => self.convert(value, from, dtype, rounding),
                None => return None,
            },
            _ => return None,
        };
        Some(Word::from_value(value, dtype.bits(), depends))
    }
}
