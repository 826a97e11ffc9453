//! Parses declarations: registers, variables, initial values.

use super::scope::Entry;
use super::{MOST_REGISTERS, Parser, Read};
use crate::lex::Token;
use crate::syntax::{Initial, Kind, Role, Space, Type, Variable};

impl<'t> Parser<'t> {
    /// `.reg .b32 %r<8>, %x;` after the `.reg`.
    pub(super) fn parse_registers(&mut self) -> Read<()> {
        let ty = self.expect_type()?;
        loop {
            let name = self.expect_name()?;
            let family = self.take_sign('<')?;
            let count = if family { self.expect_int()? } else { 1 };
            if family {
                self.expect_sign('>')?;
            }
            let held = self.function.registers.len() + self.function.predicates as usize;
            let count = match usize::try_from(count) {
                Ok(count) if count <= MOST_REGISTERS - held.min(MOST_REGISTERS) => count as u32,
                _ => {
                    return self.error(format!("a function has at most {MOST_REGISTERS} registers here"));
                }
            };
            let entry = if ty.kind == Kind::Predicate {
                let first = self.function.predicates;
                self.function.predicates += count;
                if family {
                    Entry::Predicates { first, count }
                } else {
                    Entry::Predicate(first)
                }
            } else {
                let first = self.function.registers.len() as u32;
                let new_len = self.function.registers.len() + count as usize;
                self.function.registers.resize(new_len, ty);
                if family {
                    Entry::Registers { first, count }
                } else {
                    Entry::Register(first)
                }
            };
            self.scopes.declare(name, entry);
            if !self.take_sign(',')? {
                return self.expect_sign(';');
            }
        }
    }

    /// Parses variables after their state space: one type, then names with commas.
    pub(super) fn parse_declarations(&mut self, space: Space, role: Role) -> Read<Vec<(&'t str, Variable)>> {
        let (align, ty) = self.parse_aligned_type()?;
        let mut all = Vec::new();
        loop {
            all.push(self.parse_declarator(space, role, align, ty)?);
            if !self.take_sign(',')? {
                return Ok(all);
            }
        }
    }

    /// Parses one variable after its state space.
    pub(super) fn parse_declaration(&mut self, space: Space, role: Role) -> Read<(&'t str, Variable)> {
        let (align, ty) = self.parse_aligned_type()?;
        self.parse_declarator(space, role, align, ty)
    }

    /// `.align 8 .b8`, `.u64 .ptr .global .align 1`; ignores `.attribute(.managed)`.
    fn parse_aligned_type(&mut self) -> Read<(Option<u32>, Type)> {
        let mut align = None;
        if self.take_dot("align")? {
            align = Some(self.parse_alignment()?);
        }
        let ty = self.expect_type()?;
        if self.take_dot("ptr")? {
            loop {
                match self.token {
                    Token::Dot("global" | "shared" | "local" | "const" | "generic") => {
                        self.advance()?;
                    }
                    Token::Dot("align") => {
                        self.advance()?;
                        // This is the alignment of the pointee.
                        self.parse_alignment()?;
                    }
                    _ => break,
                }
            }
        }
        Ok((align, ty))
    }

    fn parse_alignment(&mut self) -> Read<u32> {
        let place = self.place;
        let align = self.expect_int()?;
        match u32::try_from(align) {
            Ok(align) if align.is_power_of_two() && align <= 1 << 16 => Ok(align),
            _ => {
                self.place = place;
                self.error("an alignment is a power of two")
            }
        }
    }

    fn parse_declarator(
        &mut self,
        space: Space,
        role: Role,
        align: Option<u32>,
        ty: Type,
    ) -> Read<(&'t str, Variable)> {
        let name = self.expect_name()?;
        let element = u64::from(ty.bytes());
        let mut size = Some(element);
        while self.take_sign('[')? {
            if self.take_sign(']')? {
                size = None;
                continue;
            }
            let count = self.expect_int()?;
            size = match size {
                Some(size) => match size.checked_mul(count).filter(|&size| size <= 1 << 32) {
                    Some(size) => Some(size),
                    None => return self.error(format!("`{name}` is too large")),
                },
                None => None,
            };
            self.expect_sign(']')?;
        }
        let initial = if self.take_sign('=')? {
            self.parse_initial(ty)?
        } else {
            Initial::Zero
        };
        let variable = Variable {
            name: name.to_owned(),
            space,
            align: align.unwrap_or(ty.bytes().max(1)),
            size: match (size, &initial) {
                (None, Initial::Bytes(bytes)) => Some(bytes.len() as u64),
                (size, _) => size,
            },
            initial,
            role,
        };
        Ok((name, variable))
    }

    /// Parses the initial value after `=`: a number, or a list of numbers.
    fn parse_initial(&mut self, ty: Type) -> Read<Initial> {
        let mut bytes = Vec::new();
        if !self.take_sign('{')? {
            self.parse_element(ty, &mut bytes)?;
            return Ok(Initial::Bytes(bytes));
        }
        let mut depth = 1u32;
        while depth > 0 {
            if self.take_sign('}')? {
                depth -= 1;
                self.take_sign(',')?;
            } else if self.take_sign('{')? {
                depth += 1;
            } else {
                self.parse_element(ty, &mut bytes)?;
                if !self.is_sign('}') {
                    self.expect_sign(',')?;
                }
            }
        }
        Ok(Initial::Bytes(bytes))
    }

    fn parse_element(&mut self, ty: Type, bytes: &mut Vec<u8>) -> Read<()> {
        let negative = self.take_sign('-')?;
        let sign = |bits: u64| if negative { bits.wrapping_neg() } else { bits };
        let bits = match self.token {
            Token::Int(number) => sign(number),
            Token::Single(bits) => u64::from(bits),
            Token::Double(bits) => bits,
            _ => return self.fail_expected("a number (addresses as initial values are unsupported)"),
        };
        self.advance()?;
        bytes.extend(bits.to_le_bytes().iter().take(ty.bytes() as usize));
        Ok(())
    }
}
