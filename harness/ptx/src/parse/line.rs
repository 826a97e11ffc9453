//! What instructions were compiled from: `.file` and `.loc`. Left out: who tells people ([`crate::At`]).

use super::{Parser, Read};
use crate::lex::Token;
use crate::syntax::Source;

impl Parser<'_> {
    /// `.file 1 "/home/me/kernel.py"`, in whatever part of the module.
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

    /// `.loc 2 216 16, function_name $L__info_string0, inlined_at 1 9 9`: a file's number, line and column, and those of the
    /// call. The call is itself inlined where the last `.loc` of its numbers says so.
    pub(super) fn parse_location(&mut self) -> Read<()> {
        let within = self.lexer.is_in_assembly();
        let line = self.take_line()?;
        if within {
            // LLVM counts on in the assembly's own lines, from that of the call.
            return Ok(());
        }
        let (own, call) = match line.split_once("inlined_at") {
            Some((own, call)) => (own, parse_numbers(call)),
            None => (line, None),
        };
        // Line 0 is code that no line stands for.
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

    /// The number of a call among the module's callers.
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

/// The three numbers at the beginning of a text; the last may be left out.
fn parse_numbers(text: &str) -> Option<[u32; 3]> {
    let mut numbers = text
        .split([' ', '\t', ','])
        .filter(|word| !word.is_empty())
        .map_while(|word| word.parse().ok());
    Some([numbers.next()?, numbers.next()?, numbers.next().unwrap_or(0)])
}
