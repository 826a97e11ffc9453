//! A position in the text, with readers for tokens: words, names, numbers, punctuation.

/// The text is not MLIR as Triton prints it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxError {
    /// The message.
    pub message: String,
    /// The offset in bytes.
    pub offset: usize,
}

/// A position in the text. Copies are cheap, so lookahead copies the cursor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'t> {
    text: &'t str,
    offset: usize,
}

const fn begins_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

const fn is_word(byte: u8) -> bool {
    begins_word(byte) || byte.is_ascii_digit() || byte == b'.' || byte == b'$'
}

impl<'t> Cursor<'t> {
    pub const fn new(text: &'t str) -> Self {
        Self { text, offset: 0 }
    }

    pub const fn offset(&self) -> usize {
        self.offset
    }

    pub fn error(&self, message: impl Into<String>) -> SyntaxError {
        SyntaxError {
            message: message.into(),
            offset: self.offset,
        }
    }

    fn byte_at(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Returns the text from `start` to the current position.
    pub fn text_since(&self, start: usize) -> &'t str {
        self.text.get(start..self.offset).unwrap_or_default()
    }

    /// Peeks at the next byte after spaces.
    pub fn peek(&mut self) -> Option<u8> {
        self.skip_spaces();
        self.byte_at(self.offset)
    }

    /// Peeks at the next byte, which may be a space or a line break.
    pub fn raw(&self) -> Option<u8> {
        self.byte_at(self.offset)
    }

    /// Advances by a byte.
    pub fn next_byte(&mut self) {
        self.offset = (self.offset + 1).min(self.text.len());
    }

    pub fn is_at_end(&self) -> bool {
        self.offset >= self.text.len()
    }

    /// Whether the line ends here.
    pub fn is_at_line_end(&mut self) -> bool {
        self.skip_spaces();
        matches!(self.raw(), None | Some(b'\n' | b'\r'))
    }

    /// Skips spaces and a comment, up to the end of the line.
    pub fn skip_spaces(&mut self) {
        while matches!(self.raw(), Some(b' ' | b'\t')) {
            self.offset += 1;
        }
        if self
            .text
            .as_bytes()
            .get(self.offset..)
            .is_some_and(|rest| rest.starts_with(b"//"))
        {
            while !matches!(self.raw(), None | Some(b'\n')) {
                self.offset += 1;
            }
        }
    }

    /// Skips spaces, comments and line breaks.
    pub fn skip_lines(&mut self) {
        loop {
            self.skip_spaces();
            if matches!(self.raw(), Some(b'\n' | b'\r')) {
                self.offset += 1;
            } else {
                return;
            }
        }
    }

    /// Takes this text if it is next.
    pub fn take(&mut self, text: &str) -> bool {
        self.skip_spaces();
        let there = self
            .text
            .as_bytes()
            .get(self.offset..)
            .is_some_and(|rest| rest.starts_with(text.as_bytes()));
        if there {
            self.offset += text.len();
        }
        there
    }

    /// Takes this word if it is next, not a longer word.
    pub fn take_word(&mut self, word: &str) -> bool {
        let mut ahead = *self;
        let there = ahead.take(word) && !ahead.raw().is_some_and(is_word);
        if there {
            *self = ahead;
        }
        there
    }

    /// Takes required punctuation, on this line or a later one.
    pub fn expect(&mut self, punctuation: char) -> Result<(), SyntaxError> {
        self.skip_lines();
        let mut buffer = [0; 4];
        if self.take(punctuation.encode_utf8(&mut buffer)) {
            Ok(())
        } else {
            Err(self.error(format!("`{punctuation}` is missing")))
        }
    }

    /// Reads a word: `tt.load`, `dense`, `loc12`.
    pub fn expect_word(&mut self) -> Result<&'t str, SyntaxError> {
        self.skip_spaces();
        let start = self.offset;
        if self.raw().is_some_and(begins_word) {
            while self.raw().is_some_and(is_word) {
                self.offset += 1;
            }
        }
        if self.offset == start {
            return Err(self.error("a word is missing"));
        }
        Ok(self.text_since(start))
    }

    /// Reads a name after `%` or `^`, which may contain digits and dashes.
    pub fn expect_name(&mut self) -> Result<&'t str, SyntaxError> {
        let start = self.offset;
        while self.raw().is_some_and(|byte| is_word(byte) || byte == b'-') {
            self.offset += 1;
        }
        if self.offset == start {
            return Err(self.error("a name is missing"));
        }
        Ok(self.text_since(start))
    }

    /// Reads `@name` or `@"name"`, without the `@`.
    pub fn expect_symbol(&mut self) -> Result<String, SyntaxError> {
        if !self.take("@") {
            return Err(self.error("a symbol is missing"));
        }
        if self.raw() == Some(b'"') {
            self.expect_string()
        } else {
            self.expect_name().map(str::to_owned)
        }
    }

    /// Reads a decimal number without a sign.
    pub fn expect_natural(&mut self) -> Result<u64, SyntaxError> {
        self.skip_spaces();
        let start = self.offset;
        while self.raw().is_some_and(|byte| byte.is_ascii_digit()) {
            self.offset += 1;
        }
        self.text_since(start)
            .parse()
            .map_err(|_| self.error("a number is missing"))
    }

    /// Reads a quoted string with MLIR's escapes: `\n`, `\t`, `\"`, `\\` and two hexadecimal digits.
    pub fn expect_string(&mut self) -> Result<String, SyntaxError> {
        if !self.take("\"") {
            return Err(self.error("a text is missing"));
        }
        let mut bytes = Vec::new();
        loop {
            let Some(byte) = self.raw() else {
                return Err(self.error("the text has no end"));
            };
            self.offset += 1;
            match byte {
                b'"' => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
                b'\\' => {
                    let escaped = self.raw().unwrap_or_default();
                    let digits = self.text.get(self.offset..self.offset + 2);
                    match (
                        escaped,
                        digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()),
                    ) {
                        (b'n', _) => bytes.push(b'\n'),
                        (b't', _) => bytes.push(b'\t'),
                        (b'"' | b'\\', _) => bytes.push(escaped),
                        (_, Some(byte)) => {
                            bytes.push(byte);
                            self.offset += 1;
                        }
                        _ => return Err(self.error("no such escape")),
                    }
                    self.offset += 1;
                }
                byte => bytes.push(byte),
            }
        }
    }
}
