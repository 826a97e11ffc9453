//! Why an operator or a builtin has no value. Left out: where in a text that is; whoever walks the text knows it.

use std::fmt;

/// Which exception Python raises, or why there is none and no value either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// `TypeError`.
    Type,
    /// `ValueError`.
    Value,
    /// `ZeroDivisionError`.
    ZeroDivision,
    /// `OverflowError`.
    Overflow,
    /// `IndexError`.
    Index,
    /// `KeyError`.
    Key,
    /// `NameError`.
    Name,
    /// `AttributeError`.
    Attribute,
    /// Python has a value, which is larger than what is held here.
    Limit,
    /// Python has a value of a kind that is not held here, a complex number say.
    Unsupported,
    /// The value depends on something that is not known here.
    Unknown,
}

impl ErrorKind {
    /// The name of the exception, where Python raises one.
    pub const fn exception(self) -> Option<&'static str> {
        Some(match self {
            Self::Type => "TypeError",
            Self::Value => "ValueError",
            Self::ZeroDivision => "ZeroDivisionError",
            Self::Overflow => "OverflowError",
            Self::Index => "IndexError",
            Self::Key => "KeyError",
            Self::Name => "NameError",
            Self::Attribute => "AttributeError",
            Self::Limit | Self::Unsupported | Self::Unknown => return None,
        })
    }
}

/// What is wrong, for those who say it in words of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// An operator does not take operands of these types.
    Operands,
    /// Two values of these types have no order.
    Order,
    /// A value cannot be iterated over.
    Iteration,
    /// A value has no length.
    Length,
    /// A value cannot be searched with `in`, or not for this.
    Containment,
    /// A text is not written as the number that it was to be.
    Literal,
    /// A function of the elements of a sequence got none.
    Empty,
    /// A value is not what a function takes.
    Argument,
    /// A function got too few arguments, or too many.
    Arguments,
    /// An integer has more digits than are held.
    WideInt,
    /// A text or sequence has more items than are held.
    Items {
        /// So many it has.
        count: usize,
        /// So many are held.
        limit: usize,
        /// What they are: `bytes of a string`.
        unit: &'static str,
    },
    /// A complex number.
    Complex,
    /// Anything else: the text says it.
    Other,
}

/// No value, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What Python raises.
    pub kind: ErrorKind,
    /// What is wrong.
    pub reason: Reason,
    /// The exception's text in `CPython` 3.11, or what is not held.
    pub text: String,
    /// Which argument of a call is at fault, if one is.
    pub argument: Option<usize>,
    /// The mend, where the type of a value that is not Python's knows one.
    pub help: Option<String>,
}

impl Error {
    /// An error of a kind, with its text.
    pub fn new(kind: ErrorKind, reason: Reason, text: impl Into<String>) -> Self {
        Self {
            kind,
            reason,
            text: text.into(),
            argument: None,
            help: None,
        }
    }

    /// `TypeError`.
    pub fn of_type(reason: Reason, text: impl Into<String>) -> Self {
        Self::new(ErrorKind::Type, reason, text)
    }

    /// `ValueError`.
    pub fn of_value(reason: Reason, text: impl Into<String>) -> Self {
        Self::new(ErrorKind::Value, reason, text)
    }

    /// `ZeroDivisionError`.
    pub fn zero_division(text: &str) -> Self {
        Self::new(ErrorKind::ZeroDivision, Reason::Other, text)
    }

    /// `OverflowError`.
    pub fn overflow(text: &str) -> Self {
        Self::new(ErrorKind::Overflow, Reason::Other, text)
    }

    /// A value of Python's that is not held here.
    pub fn unsupported(reason: Reason, text: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, reason, text)
    }

    /// A value that depends on something that is not known.
    pub fn unknown(text: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unknown, Reason::Other, text)
    }

    /// An integer that is wider than `bits`.
    pub fn wide_int(bits: u64) -> Self {
        Self::new(
            ErrorKind::Limit,
            Reason::WideInt,
            format!("an integer of more than {bits} bits"),
        )
    }

    /// More items, or bytes of text, than `most`.
    pub fn too_many(count: usize, most: usize, what: &'static str) -> Self {
        Self::new(
            ErrorKind::Limit,
            Reason::Items { count, limit: most, unit: what },
            format!("more than {most} {what}"),
        )
    }

    /// The same error, with its mend.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same error, about one argument of a call.
    #[must_use]
    pub fn for_argument(mut self, argument: usize) -> Self {
        self.argument.get_or_insert(argument);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind.exception() {
            Some(exception) => write!(f, "{exception}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

impl std::error::Error for Error {}
