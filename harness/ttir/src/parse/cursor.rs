//! A place in the text, and what can be read there: words, names, numbers, punctuation. Left out: anything that nests.

/// The text is not MLIR as Triton prints it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxError {
    /// What is wrong.
    pub message: String,
    /// The byte.
    pub at: usize,
}

/// A place in the text. Copies are cheap: to look ahead is to copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

const fn begins_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

const fn is_word(byte: u8) -> bool {
    begins_word(byte) || byte.is_ascii_digit() || byte == b'.' || byte == b'$'
}

impl<'t> Cursor<'t> {
    pub const fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    pub const fn at(&self) -> usize {
        self.at
    }

    pub fn error(&self, message: impl Into<String>) -> SyntaxError {
        SyntaxError {
            message: message.into(),
            at: self.at,
        }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// The text from one place to this one.
    pub fn since(&self, start: usize) -> &'t str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// The next byte behind spaces.
    pub fn peek(&mut self) -> Option<u8> {
        self.skip_spaces();
        self.byte(self.at)
    }

    /// The next byte, spaces and line breaks not left out.
    pub fn raw(&self) -> Option<u8> {
        self.byte(self.at)
    }

    /// Goes on by a byte.
    pub fn next_byte(&mut self) {
        self.at = (self.at + 1).min(self.text.len());
    }

    pub fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Whether the line ends here.
    pub fn is_at_line_end(&mut self) -> bool {
        self.skip_spaces();
        matches!(self.raw(), None | Some(b'\n' | b'\r'))
    }

    /// Leaves spaces and a comment behind, up to the line's end.
    pub fn skip_spaces(&mut self) {
        while matches!(self.raw(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        if self
            .text
            .as_bytes()
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(b"//"))
        {
            while !matches!(self.raw(), None | Some(b'\n')) {
                self.at += 1;
            }
        }
    }

    /// Leaves spaces, comments and line breaks behind.
    pub fn skip_lines(&mut self) {
        loop {
            self.skip_spaces();
            if matches!(self.raw(), Some(b'\n' | b'\r')) {
                self.at += 1;
            } else {
                return;
            }
        }
    }

    /// Takes this text if it is next.
    pub fn eat(&mut self, text: &str) -> bool {
        self.skip_spaces();
        let there = self
            .text
            .as_bytes()
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(text.as_bytes()));
        if there {
            self.at += text.len();
        }
        there
    }

    /// Takes this word if it is next, and no longer word.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let mut ahead = *self;
        let there = ahead.eat(word) && !ahead.raw().is_some_and(is_word);
        if there {
            *self = ahead;
        }
        there
    }

    /// Takes punctuation that has to be there, on this line or a later one.
    pub fn expect(&mut self, punctuation: char) -> Result<(), SyntaxError> {
        self.skip_lines();
        let mut buffer = [0; 4];
        if self.eat(punctuation.encode_utf8(&mut buffer)) {
            Ok(())
        } else {
            Err(self.error(format!("`{punctuation}` is missing")))
        }
    }

    /// A word: `tt.load`, `dense`, `loc12`.
    pub fn word(&mut self) -> Result<&'t str, SyntaxError> {
        self.skip_spaces();
        let start = self.at;
        if self.raw().is_some_and(begins_word) {
            while self.raw().is_some_and(is_word) {
                self.at += 1;
            }
        }
        if self.at == start {
            return Err(self.error("a word is missing"));
        }
        Ok(self.since(start))
    }

    /// What follows `%` or `^`: also digits and dashes.
    pub fn name(&mut self) -> Result<&'t str, SyntaxError> {
        let start = self.at;
        while self.raw().is_some_and(|byte| is_word(byte) || byte == b'-') {
            self.at += 1;
        }
        if self.at == start {
            return Err(self.error("a name is missing"));
        }
        Ok(self.since(start))
    }

    /// `@name` or `@"name"`, without the `@`.
    pub fn symbol(&mut self) -> Result<String, SyntaxError> {
        if !self.eat("@") {
            return Err(self.error("a symbol is missing"));
        }
        if self.raw() == Some(b'"') {
            self.string()
        } else {
            self.name().map(str::to_owned)
        }
    }

    /// A decimal number without a sign.
    pub fn natural(&mut self) -> Result<u64, SyntaxError> {
        self.skip_spaces();
        let start = self.at;
        while self.raw().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.since(start)
            .parse()
            .map_err(|_| self.error("a number is missing"))
    }

    /// Text in quotation marks, with MLIR's escapes: `\n`, `\t`, `\"`, `\\` and two hexadecimal digits.
    pub fn string(&mut self) -> Result<String, SyntaxError> {
        if !self.eat("\"") {
            return Err(self.error("a text is missing"));
        }
        let mut bytes = Vec::new();
        loop {
            let Some(byte) = self.raw() else {
                return Err(self.error("the text has no end"));
            };
            self.at += 1;
            match byte {
                b'"' => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
                b'\\' => {
                    let escaped = self.raw().unwrap_or_default();
                    let digits = self.text.get(self.at..self.at + 2);
                    match (
                        escaped,
                        digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()),
                    ) {
                        (b'n', _) => bytes.push(b'\n'),
                        (b't', _) => bytes.push(b'\t'),
                        (b'"' | b'\\', _) => bytes.push(escaped),
                        (_, Some(byte)) => {
                            bytes.push(byte);
                            self.at += 1;
                        }
                        _ => return Err(self.error("no such escape")),
                    }
                    self.at += 1;
                }
                byte => bytes.push(byte),
            }
        }
    }
}
