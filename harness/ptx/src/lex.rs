//! Splits PTX into tokens with locations.

use crate::syntax::{Location, SyntaxError};

/// A token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Token<'t> {
    /// `add`, `%r1`, `$L__BB0_1`, `global_smem`.
    Name(&'t str),
    /// `.reg`, `.rn`, `.L1::evict_first`; without the dot.
    Dot(&'t str),
    /// An integer's bits.
    Int(u64),
    /// `0f3F800000`.
    Single(u32),
    /// `0d3FF0000000000000`.
    Double(u64),
    /// The content of a quoted string.
    Text(&'t str),
    /// A punctuation character.
    Sign(char),
    /// The end of the text.
    End,
}

/// Reads tokens in order.
#[derive(Clone, Debug)]
pub(crate) struct Lexer<'t> {
    text: &'t str,
    offset: usize,
    line: u32,
    line_start: usize,
    /// Offset of the last token.
    start: usize,
    /// Whether the lexer is in inline assembly, according to the compiler's comments.
    in_assembly: bool,
}

const fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%')
}

impl<'t> Lexer<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            text,
            offset: 0,
            line: 1,
            line_start: 0,
            start: 0,
            in_assembly: false,
        }
    }

    /// Whether the last token is in inline assembly.
    pub(crate) const fn is_in_assembly(&self) -> bool {
        self.in_assembly
    }

    /// The location of the last token.
    pub(crate) fn place(&self) -> Location {
        let column = self.start.saturating_sub(self.line_start) as u32;
        Location {
            line: self.line,
            column: column.saturating_add(1),
        }
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> SyntaxError {
        SyntaxError {
            place: self.place(),
            message: message.into(),
        }
    }

    fn peek_byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.offset + ahead).copied()
    }

    fn skip_blank(&mut self) -> Result<(), SyntaxError> {
        while let Some(byte) = self.peek_byte(0) {
            match byte {
                b'\n' => {
                    self.offset += 1;
                    self.line = self.line.saturating_add(1);
                    self.line_start = self.offset;
                }
                b' ' | b'\t' | b'\r' => self.offset += 1,
                b'/' if self.peek_byte(1) == Some(b'/') => self.skip_remark(),
                b'/' if self.peek_byte(1) == Some(b'*') => self.skip_comment()?,
                _ => break,
            }
        }
        Ok(())
    }

    /// Skips a comment up to the end of the line.
    fn skip_remark(&mut self) {
        let from = self.offset;
        self.skip_line();
        match self.text.get(from..self.offset).map(str::trim_end) {
            Some("// begin inline asm") => self.in_assembly = true,
            Some("// end inline asm") => self.in_assembly = false,
            _ => {}
        }
    }

    /// Skips to the end of the line.
    pub(crate) fn skip_line(&mut self) {
        while self.peek_byte(0).is_some_and(|byte| byte != b'\n') {
            self.offset += 1;
        }
    }

    fn skip_comment(&mut self) -> Result<(), SyntaxError> {
        self.start = self.offset;
        let opened = self.error("a comment that does not end");
        self.offset += 2;
        loop {
            match (self.peek_byte(0), self.peek_byte(1)) {
                (Some(b'*'), Some(b'/')) => {
                    self.offset += 2;
                    return Ok(());
                }
                (Some(b'\n'), _) => {
                    self.offset += 1;
                    self.line = self.line.saturating_add(1);
                    self.line_start = self.offset;
                }
                (Some(_), _) => self.offset += 1,
                (None, _) => return Err(opened),
            }
        }
    }

    fn run(&mut self, holds: impl Fn(u8) -> bool) -> &'t str {
        let from = self.offset;
        while self.peek_byte(0).is_some_and(&holds) {
            self.offset += 1;
        }
        self.text.get(from..self.offset).unwrap_or_default()
    }

    /// Reads the next token.
    pub(crate) fn next(&mut self) -> Result<Token<'t>, SyntaxError> {
        self.skip_blank()?;
        self.start = self.offset;
        let Some(byte) = self.peek_byte(0) else {
            return Ok(Token::End);
        };
        Ok(match byte {
            b'.' if self.peek_byte(1).is_some_and(in_name) => {
                self.offset += 1;
                Token::Dot(self.run(|byte| in_name(byte) || byte == b':'))
            }
            b'0'..=b'9' => return self.number(),
            _ if in_name(byte) => Token::Name(self.run(in_name)),
            b'"' => {
                self.offset += 1;
                let text = self.run(|byte| byte != b'"' && byte != b'\n');
                if self.peek_byte(0) != Some(b'"') {
                    return Err(self.error("a text that does not end on its line"));
                }
                self.offset += 1;
                Token::Text(text)
            }
            _ => {
                let rest = self.text.get(self.offset..).unwrap_or_default();
                let sign = rest.chars().next().unwrap_or('\u{fffd}');
                self.offset += sign.len_utf8();
                Token::Sign(sign)
            }
        })
    }

    fn number(&mut self) -> Result<Token<'t>, SyntaxError> {
        let word = self.run(in_name);
        let lower = word.get(..2).unwrap_or(word);
        let digits = word.get(2..).unwrap_or_default();
        let bad = |lexer: &Self| lexer.error(format!("`{word}` is not a number"));
        let bits = |radix: u32, digits: &str| {
            let digits = digits.strip_suffix(['U', 'u']).unwrap_or(digits);
            u64::from_str_radix(digits, radix).ok()
        };
        match lower {
            "0f" | "0F" => {
                let bits = u32::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 8);
                bits.map(Token::Single).ok_or_else(|| bad(self))
            }
            "0d" | "0D" => {
                let bits = u64::from_str_radix(digits, 16)
                    .ok()
                    .filter(|_| digits.len() == 16);
                bits.map(Token::Double).ok_or_else(|| bad(self))
            }
            "0x" | "0X" => bits(16, digits).map(Token::Int).ok_or_else(|| bad(self)),
            "0b" | "0B" => bits(2, digits).map(Token::Int).ok_or_else(|| bad(self)),
            _ => self.read_decimal(word),
        }
    }

    /// Reads a decimal number: an integer, octal with a leading zero, or a fraction, which is a double.
    fn read_decimal(&mut self, word: &'t str) -> Result<Token<'t>, SyntaxError> {
        let from = self.start;
        // `20.` is a fraction; `20.x` is not.
        let digit = |byte: u8| byte.is_ascii_digit() || !in_name(byte);
        let fraction = self.peek_byte(0) == Some(b'.') && self.peek_byte(1).is_none_or(digit);
        if fraction || word.contains(['e', 'E']) {
            if fraction {
                self.offset += 1;
                self.run(in_name);
            }
            if self
                .text
                .as_bytes()
                .get(self.offset - 1)
                .is_some_and(|byte| matches!(byte, b'e' | b'E'))
                && matches!(self.peek_byte(0), Some(b'-' | b'+'))
            {
                self.offset += 1;
                self.run(|byte| byte.is_ascii_digit());
            }
            let text = self.text.get(from..self.offset).unwrap_or_default();
            return match text.parse::<f64>() {
                Ok(number) => Ok(Token::Double(number.to_bits())),
                Err(_) => Err(self.error(format!("`{text}` is not a number"))),
            };
        }
        let digits = word.strip_suffix(['U', 'u']).unwrap_or(word);
        let radix = if digits.len() > 1 && digits.starts_with('0') {
            8
        } else {
            10
        };
        match u64::from_str_radix(digits, radix) {
            Ok(number) => Ok(Token::Int(number)),
            Err(_) => Err(self.error(format!("`{word}` is not a number"))),
        }
    }
}

impl<'t> Lexer<'t> {
    /// Returns the rest of the line after the last token.
    pub(crate) fn rest_of_line(&mut self) -> &'t str {
        let from = self.offset;
        self.skip_line();
        let line = self.text.get(from..self.offset).unwrap_or_default();
        line.split("//").next().unwrap_or_default().trim()
    }
}
