//! Parses source locations: `.file` and `.loc`. [`crate::InstructionLocation`] reports them.

use super::{Parser, Read};
use crate::lex::Token;
use crate::syntax::Source;

impl Parser<'_> {
    /// `.file 1 "/home/me/kernel.py"`, anywhere in the module.
    pub(super) fn parse_file(&mut self) -> Read<()> {
        self.advance()?;
        let number = self.expect_int()?;
        let Token::Text(name) = self.token else {
            return self.fail_expected("a file's name");
        };
        let file = (number as u32, name.to_owned());
        self.module.files.push(file);
        self.take_line().map(drop)
    }

    /// `.loc 2 216 16, function_name $L__info_string0, inlined_at 1 9 9`: a file's number, line and column, and those
    /// of the call. If the call is itself inlined, the last `.loc` with its numbers says where.
    pub(super) fn parse_location(&mut self) -> Read<()> {
        let within = self.lexer.is_in_assembly();
        let line = self.take_line()?;
        if within {
            // Within inline assembly LLVM counts lines from the line of the call.
            return Ok(());
        }
        let (own, call) = match line.split_once("inlined_at") {
            Some((own, call)) => (own, parse_numbers(call)),
            None => (line, None),
        };
        // Line 0 is code without a source line.
        let Some([file, line, column]) = parse_numbers(own).filter(|[_, line, _]| *line > 0) else {
            self.source = None;
            return Ok(());
        };
        let inlined = call.map(|call| self.intern_caller(call));
        let at = [file, line, column];
        match inlined {
            Some(caller) => self.inlined.insert(at, caller),
            None => self.inlined.remove(&at),
        };
        self.source = Some(Source {
            file,
            line,
            column,
            inlined,
        });
        Ok(())
    }

    /// Returns the index of a call among the module's callers.
    fn intern_caller(&mut self, call: [u32; 3]) -> u32 {
        let [file, line, column] = call;
        let source = Source {
            file,
            line,
            column,
            inlined: self.inlined.get(&call).copied(),
        };
        let callers = &mut self.module.callers;
        *self.callers.entry(source).or_insert_with(|| {
            callers.push(source);
            callers.len() as u32 - 1
        })
    }
}

/// Parses the three numbers at the beginning of a text; the last one is optional.
fn parse_numbers(text: &str) -> Option<[u32; 3]> {
    let mut numbers = text
        .split([' ', '\t', ','])
        .filter(|word| !word.is_empty())
        .map_while(|word| word.parse().ok());
    Some([numbers.next()?, numbers.next()?, numbers.next().unwrap_or(0)])
}
