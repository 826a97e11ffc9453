//! Polynomials as a reader of the kernel would write them.

use cerith_tile::ir::Function;

use crate::polynomial::{Polynomial, SymbolId};
use crate::symbol::{Cause, Origin, Symbols};

/// How deep quotients are written out.
const MAX_DEPTH: usize = 4;

/// Writes polynomials of a kernel.
#[derive(Clone, Copy)]
pub struct Names<'a> {
    function: &'a Function,
    symbols: &'a Symbols,
}

impl<'a> Names<'a> {
    /// The names of a kernel's symbols.
    pub const fn new(function: &'a Function, symbols: &'a Symbols) -> Self {
        Self { function, symbols }
    }

    /// Writes a polynomial, with the constant last.
    pub fn write(self, polynomial: &Polynomial) -> String {
        self.write_deep(polynomial, MAX_DEPTH)
    }

    fn write_deep(self, polynomial: &Polynomial, depth: usize) -> String {
        let mut text = String::new();
        let (constants, others): (Vec<_>, Vec<_>) =
            polynomial.terms().partition(|(monomial, _)| monomial.is_empty());
        for (monomial, coefficient) in others.into_iter().chain(constants) {
            let sign = match (text.is_empty(), coefficient < 0) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            text.push_str(sign);
            let mut factors: Vec<String> = monomial.iter().map(|&id| self.name(id, depth)).collect();
            let number = coefficient.unsigned_abs();
            if number != 1 || factors.is_empty() {
                factors.push(number.to_string());
            }
            text.push_str(&factors.join(" * "));
        }
        if text.is_empty() { "0".to_owned() } else { text }
    }

    fn name(self, id: SymbolId, depth: usize) -> String {
        let Some(symbol) = self.symbols.get(id) else {
            return "?".to_owned();
        };
        match &symbol.origin {
            Origin::Size(name) => name.clone(),
            Origin::Program(axis) => format!("program_id({axis})"),
            Origin::Lane(dim) => format!("lane{dim}"),
            Origin::Turn(_) => "iteration".to_owned(),
            Origin::Quotient(a, b) => match depth.checked_sub(1) {
                Some(depth) => {
                    let quotient = [a, b].map(|part| {
                        let text = self.write_deep(part, depth);
                        if part.len() > 1 { format!("({text})") } else { text }
                    });
                    quotient.join(" // ")
                }
                None => "…".to_owned(),
            },
            Origin::Choice(_) => {
                let values = symbol.alternatives.iter();
                match depth.checked_sub(1) {
                    Some(depth) if !symbol.alternatives.is_empty() => {
                        let values: Vec<String> =
                            values.map(|one| self.write_deep(&one.value, depth)).collect();
                        format!("one of ({})", values.join(", "))
                    }
                    _ => "…".to_owned(),
                }
            }
            Origin::Opaque(_, loc, cause) => {
                let span = self.function.span(*loc);
                let file = self.function.sources.get(span.source);
                let line = file.map_or(0, |file| file.line_column(span.start).0);
                match cause {
                    Cause::Loaded => format!("value loaded in line {line}"),
                    Cause::Carried | Cause::Computed => format!("value of line {line}"),
                }
            }
            Origin::Moved(of, _) => self.name(*of, depth),
        }
    }
}
