//! Declarations: registers, variables, their first contents. Left out: which directives there are (`super`).

use super::scope::Entry;
use super::{MOST_REGISTERS, Parser, Read};
use crate::lex::Token;
use crate::syntax::{Initial, Kind, Role, Space, Type, Variable};

impl<'t> Parser<'t> {
    /// `.reg .b32 %r<8>, %x;` behind the `.reg`.
    pub(super) fn registers(&mut self) -> Read<()> {
        let ty = self.data_type()?;
        loop {
            let name = self.name()?;
            let family = self.takes('<')?;
            let count = if family { self.int()? } else { 1 };
            if family {
                self.sign('>')?;
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
            if !self.takes(',')? {
                return self.sign(';');
            }
        }
    }

    /// Variables behind their space: one type, names with commas between.
    pub(super) fn declared(&mut self, space: Space, role: Role) -> Read<Vec<(&'t str, Variable)>> {
        let (align, ty) = self.aligned_type()?;
        let mut all = Vec::new();
        loop {
            all.push(self.named(space, role, align, ty)?);
            if !self.takes(',')? {
                return Ok(all);
            }
        }
    }

    /// One variable behind its space.
    pub(super) fn declaration(&mut self, space: Space, role: Role) -> Read<(&'t str, Variable)> {
        let (align, ty) = self.aligned_type()?;
        self.named(space, role, align, ty)
    }

    /// `.align 8 .b8`, `.u64 .ptr .global .align 1`, `.attribute(.managed)` left out.
    fn aligned_type(&mut self) -> Read<(Option<u32>, Type)> {
        let mut align = None;
        if self.takes_dot("align")? {
            align = Some(self.alignment()?);
        }
        let ty = self.data_type()?;
        if self.takes_dot("ptr")? {
            loop {
                match self.token {
                    Token::Dot("global" | "shared" | "local" | "const" | "generic") => {
                        self.advance()?;
                    }
                    Token::Dot("align") => {
                        self.advance()?;
                        // Of what is pointed to.
                        self.alignment()?;
                    }
                    _ => break,
                }
            }
        }
        Ok((align, ty))
    }

    fn alignment(&mut self) -> Read<u32> {
        let place = self.place;
        let align = self.int()?;
        match u32::try_from(align) {
            Ok(align) if align.is_power_of_two() && align <= 1 << 16 => Ok(align),
            _ => {
                self.place = place;
                self.error("an alignment is a power of two")
            }
        }
    }

    fn named(&mut self, space: Space, role: Role, align: Option<u32>, ty: Type) -> Read<(&'t str, Variable)> {
        let name = self.name()?;
        let element = u64::from(ty.bytes());
        let mut size = Some(element);
        while self.takes('[')? {
            if self.takes(']')? {
                size = None;
                continue;
            }
            let count = self.int()?;
            size = match size {
                Some(size) => match size.checked_mul(count).filter(|&size| size <= 1 << 32) {
                    Some(size) => Some(size),
                    None => return self.error(format!("`{name}` is too large")),
                },
                None => None,
            };
            self.sign(']')?;
        }
        let initial = if self.takes('=')? {
            self.initial(ty)?
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

    /// What stands behind `=`: a number, or a list of numbers.
    fn initial(&mut self, ty: Type) -> Read<Initial> {
        let mut bytes = Vec::new();
        if !self.takes('{')? {
            self.element(ty, &mut bytes)?;
            return Ok(Initial::Bytes(bytes));
        }
        let mut depth = 1u32;
        while depth > 0 {
            if self.takes('}')? {
                depth -= 1;
                self.takes(',')?;
            } else if self.takes('{')? {
                depth += 1;
            } else {
                self.element(ty, &mut bytes)?;
                if !self.is_sign('}') {
                    self.sign(',')?;
                }
            }
        }
        Ok(Initial::Bytes(bytes))
    }

    fn element(&mut self, ty: Type, bytes: &mut Vec<u8>) -> Read<()> {
        let negative = self.takes('-')?;
        let sign = |bits: u64| if negative { bits.wrapping_neg() } else { bits };
        let bits = match self.token {
            Token::Int(number) => sign(number),
            Token::Single(bits) => u64::from(bits),
            Token::Double(bits) => bits,
            _ => return self.expected("a number (addresses as first contents are not known here)"),
        };
        self.advance()?;
        bytes.extend(bits.to_le_bytes().iter().take(ty.bytes() as usize));
        Ok(())
    }
}
