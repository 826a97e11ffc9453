//! Parses a function's instructions.

use smallvec::SmallVec;

use super::scope::Entry;
use super::{Parser, Read};
use crate::lex::Token;
use crate::syntax::{Instruction, Location, Operand, Role, Space};

/// A use of a label that may not be defined yet.
pub(super) struct Used<'t> {
    name: &'t str,
    scope: usize,
    place: Location,
}

impl<'t> Parser<'t> {
    /// Parses from `{` to the matching `}`.
    pub(super) fn parse_body(&mut self) -> Read<()> {
        self.source = None;
        self.inlined.clear();
        self.expect_sign('{')?;
        loop {
            match self.token {
                Token::Sign('{') => {
                    self.advance()?;
                    self.scopes.open();
                }
                Token::Sign('}') => {
                    // The tokens after it belong to the module.
                    let inside = self.scopes.close();
                    if !inside {
                        self.resolve_labels()?;
                        self.scopes.close_all();
                        self.used.clear();
                        self.tables.clear();
                        self.advance()?;
                        return Ok(());
                    }
                    self.advance()?;
                }
                Token::Sign(';') => {
                    self.advance()?;
                }
                Token::Sign('@') => {
                    self.advance()?;
                    let negated = self.take_sign('!')?;
                    let name = self.expect_name()?;
                    let Some(Entry::Predicate(number)) = self.scopes.find(name) else {
                        return self.error(format!("`{name}` is not a predicate"));
                    };
                    let name = self.expect_name()?;
                    self.parse_instruction(name, Some((number, negated)))?;
                }
                Token::Name(name) => {
                    let place = self.place;
                    self.advance()?;
                    if self.take_sign(':')? {
                        if self.token == Token::Dot("branchtargets") {
                            self.parse_branch_targets(name)?;
                            continue;
                        }
                        let at = self.function.body.len() as u32;
                        if !self.scopes.label(name, at) {
                            self.place = place;
                            return self.error(format!("the label `{name}` is defined twice"));
                        }
                    } else {
                        self.parse_instruction_at(name, None, place)?;
                    }
                }
                Token::Dot(word) => self.parse_directive(word)?,
                _ => return self.fail_expected("an instruction"),
            }
        }
    }

    fn parse_directive(&mut self, word: &str) -> Read<()> {
        let space = match word {
            "loc" => return self.parse_location(),
            "reg" => {
                self.advance()?;
                return self.parse_registers();
            }
            "pragma" => {
                self.advance()?;
                return self.parse_pragma();
            }
            "local" => Space::Local,
            "shared" => Space::Shared,
            "param" => Space::Param,
            _ => return self.error(format!("`.{word}` is unsupported")),
        };
        self.advance()?;
        for (name, variable) in self.parse_declarations(space, Role::Own)? {
            self.declare_variable(name, variable)?;
        }
        self.expect_sign(';')
    }

    /// `$L_brx_0: .branchtargets $L__BB0_2, $L__BB0_3;`, after the name.
    fn parse_branch_targets(&mut self, name: &'t str) -> Read<()> {
        self.advance()?;
        let mut labels = Vec::new();
        loop {
            let place = self.place;
            let label = self.expect_name()?;
            labels.push(self.label_used(label, place));
            if !self.take_sign(',')? {
                break;
            }
        }
        self.tables.insert(name, labels);
        self.expect_sign(';')
    }

    fn parse_instruction(&mut self, name: &'t str, guard: Option<(u32, bool)>) -> Read<()> {
        let place = self.place;
        self.parse_instruction_at(name, guard, place)
    }

    fn parse_instruction_at(
        &mut self,
        name: &'t str,
        guard: Option<(u32, bool)>,
        place: Location,
    ) -> Read<()> {
        let mut opcode: SmallVec<[Box<str>; 4]> = SmallVec::new();
        opcode.push(name.into());
        while let Token::Dot(word) = self.token {
            opcode.push(word.into());
            self.advance()?;
        }
        let mut operands = Vec::new();
        if !self.is_sign(';') {
            loop {
                operands.push(self.parse_operand(0)?);
                if !self.take_sign(',')? {
                    break;
                }
            }
        }
        self.expect_sign(';')?;
        self.function.body.push(Instruction {
            guard,
            opcode,
            operands,
            place,
            source: self.source,
        });
        Ok(())
    }

    /// Parses a use of a label.
    pub(super) fn label_used(&mut self, name: &'t str, place: Location) -> Operand {
        let number = self.used.len() as u32;
        self.used.push(Used {
            name,
            scope: self.scopes.current(),
            place,
        });
        Operand::Label(number)
    }

    fn resolve_labels(&mut self) -> Read<()> {
        for used in &self.used {
            let Some(at) = self.scopes.find_label(used.scope, used.name) else {
                self.place = used.place;
                let name = used.name;
                return self.error(format!("`{name}` is not declared"));
            };
            self.function.labels.push(at);
        }
        Ok(())
    }
}
