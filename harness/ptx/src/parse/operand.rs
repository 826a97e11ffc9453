//! Parses operands.

use super::scope::Entry;
use super::{Parser, Read};
use crate::lex::Token;
use crate::syntax::{Base, Location, MaskOf, Operand, Special, VariableId};

/// Maximum nesting of lists and vectors.
const DEPTH: u32 = 3;

impl<'t> Parser<'t> {
    pub(super) fn parse_operand(&mut self, depth: u32) -> Read<Operand> {
        let first = self.parse_single(depth)?;
        if !self.take_sign('|')? {
            return Ok(first);
        }
        let second = self.parse_single(depth)?;
        Ok(Operand::Two(Box::new(first), Box::new(second)))
    }

    fn parse_single(&mut self, depth: u32) -> Read<Operand> {
        if depth > DEPTH {
            return self.error("operands are too deep in each other");
        }
        match self.token {
            Token::Sign('{') => self.parse_list('}', depth).map(Operand::Vector),
            Token::Sign('(') => self.parse_list(')', depth).map(Operand::List),
            Token::Sign('[') => self.parse_address(depth),
            Token::Sign('!') => {
                self.advance()?;
                let name = self.expect_name()?;
                match self.scopes.find(name) {
                    Some(Entry::Predicate(number)) => Ok(Operand::Predicate {
                        number,
                        negated: true,
                    }),
                    _ => self.error(format!("`{name}` is not a predicate")),
                }
            }
            Token::Sign('-' | '+') => {
                let negative = self.is_sign('-');
                self.advance()?;
                let operand = match self.token {
                    Token::Int(number) if negative => Operand::Int(number.wrapping_neg()),
                    Token::Int(number) => Operand::Int(number),
                    Token::Single(bits) => Operand::Single(bits ^ u32::from(negative) << 31),
                    Token::Double(bits) => Operand::Double(bits ^ u64::from(negative) << 63),
                    _ => return self.fail_expected("a number"),
                };
                self.advance()?;
                Ok(operand)
            }
            Token::Int(number) => self.advance().map(|_| Operand::Int(number)),
            Token::Single(bits) => self.advance().map(|_| Operand::Single(bits)),
            Token::Double(bits) => self.advance().map(|_| Operand::Double(bits)),
            Token::Name("_") => self.advance().map(|_| Operand::Nothing),
            Token::Name(name) => {
                let place = self.place;
                self.advance()?;
                self.parse_named(name, place)
            }
            _ => self.fail_expected("an operand"),
        }
    }

    fn parse_list(&mut self, end: char, depth: u32) -> Read<Vec<Operand>> {
        self.advance()?;
        let mut all = Vec::new();
        while !self.take_sign(end)? {
            all.push(self.parse_operand(depth + 1)?);
            if !self.is_sign(end) {
                self.expect_sign(',')?;
            }
        }
        Ok(all)
    }

    fn parse_named(&mut self, name: &'t str, place: Location) -> Read<Operand> {
        match self.scopes.find(name) {
            Some(Entry::Register(number)) => return Ok(Operand::Register(number)),
            Some(Entry::Predicate(number)) => {
                return Ok(Operand::Predicate {
                    number,
                    negated: false,
                });
            }
            Some(Entry::Variable(named)) => {
                let offset = self.parse_offset()?;
                return Ok(Operand::Symbol(named, offset));
            }
            _ => {}
        }
        if name == "WARP_SZ" {
            return Ok(Operand::Int(32));
        }
        if let Some(name) = name.strip_prefix('%') {
            return self.parse_special(name, place);
        }
        if let Some(labels) = self.tables.get(name) {
            return Ok(Operand::List(labels.clone()));
        }
        // The label may be defined later.
        Ok(self.label_used(name, place))
    }

    fn parse_special(&mut self, name: &str, place: Location) -> Read<Operand> {
        let axis = match self.token {
            Token::Dot("x") => Some(0),
            Token::Dot("y") => Some(1),
            Token::Dot("z") => Some(2),
            _ => None,
        };
        let special = match (name, axis) {
            ("tid", Some(axis)) => Special::Thread(axis),
            ("ntid", Some(axis)) => Special::Threads(axis),
            ("ctaid", Some(axis)) => Special::Block(axis),
            ("nctaid", Some(axis)) => Special::Blocks(axis),
            ("clusterid", Some(axis)) => Special::Cluster(axis),
            ("nclusterid", Some(axis)) => Special::Clusters(axis),
            ("cluster_ctaid", Some(axis)) => Special::ClusterBlock(axis),
            ("cluster_nctaid", Some(axis)) => Special::ClusterBlocksAlong(axis),
            ("cluster_ctarank", None) => Special::ClusterRank,
            ("cluster_nctarank", None) => Special::ClusterBlocks,
            ("laneid", None) => Special::Lane,
            ("warpid", None) => Special::Warp,
            ("nwarpid", None) => Special::Warps,
            ("lanemask_eq", None) => Special::Mask(MaskOf::Equal),
            ("lanemask_lt", None) => Special::Mask(MaskOf::Less),
            ("lanemask_le", None) => Special::Mask(MaskOf::LessEqual),
            ("lanemask_gt", None) => Special::Mask(MaskOf::Greater),
            ("lanemask_ge", None) => Special::Mask(MaskOf::GreaterEqual),
            (
                "clock" | "clock_hi" | "clock64" | "globaltimer" | "globaltimer_lo" | "globaltimer_hi",
                None,
            ) => Special::Clock,
            ("smid" | "gridid", None) => Special::Zero,
            ("nsmid", None) => Special::One,
            ("dynamic_smem_size", None) => Special::DynamicShared,
            ("total_smem_size", None) => Special::TotalShared,
            _ => {
                self.place = place;
                return self.error(format!("`%{name}` is not declared"));
            }
        };
        if axis.is_some() {
            self.advance()?;
        }
        Ok(Operand::Special(special))
    }

    fn parse_offset(&mut self) -> Read<i64> {
        let mut sum = 0i64;
        loop {
            let negative = match self.token {
                Token::Sign('+') => false,
                Token::Sign('-') => true,
                _ => return Ok(sum),
            };
            self.advance()?;
            let negative = negative != self.take_sign('-')?;
            let number = self.expect_int()? as i64;
            sum = sum.wrapping_add(if negative { number.wrapping_neg() } else { number });
        }
    }

    fn parse_address(&mut self, depth: u32) -> Read<Operand> {
        self.advance()?;
        let base = match self.token {
            Token::Name(name) => {
                self.advance()?;
                match self.scopes.find(name) {
                    Some(Entry::Register(number)) => Base::Register(number),
                    Some(Entry::Variable(VariableId::Function(_))) => {
                        return self.error("a function cannot be accessed");
                    }
                    Some(Entry::Variable(named)) => Base::Variable(named),
                    _ => return self.error(format!("`{name}` is neither a register nor a variable")),
                }
            }
            Token::Int(number) => {
                self.advance()?;
                self.expect_sign(']')?;
                return Ok(Operand::Address(Base::Absolute, number as i64));
            }
            _ => return self.fail_expected("a register or a variable"),
        };
        let offset = self.parse_offset()?;
        if self.take_sign(',')? {
            if !self.is_sign('{') {
                return self.fail_expected("`{`");
            }
            let coordinates = self.parse_list('}', depth)?;
            self.expect_sign(']')?;
            return Ok(Operand::Coordinates(base, offset, coordinates));
        }
        self.expect_sign(']')?;
        Ok(Operand::Address(base, offset))
    }
}
