//! Errors of operators and builtins. The caller that walks the text adds the location.

use std::fmt;

/// The exception that Python raises, or the reason why there is neither an exception nor a value.
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
    /// Python has a value, but it exceeds a limit.
    Limit,
    /// Python has a value of an unsupported type, for example a complex number.
    Unsupported,
    /// The value depends on something unknown.
    Unknown,
}

impl ErrorKind {
    /// The name of the exception, if Python raises one.
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

/// The cause of an error, for callers with their own messages.
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
    /// A text is not a valid literal of the number.
    Literal,
    /// A function of a sequence's elements got an empty one.
    Empty,
    /// A function doesn't accept the value.
    Argument,
    /// A function got too few arguments, or too many.
    Arguments,
    /// An integer exceeds the maximum width.
    WideInt,
    /// A text or sequence exceeds the maximum length.
    Items {
        /// Its length.
        count: usize,
        /// The maximum.
        limit: usize,
        /// The unit: `bytes of a string`.
        unit: &'static str,
    },
    /// A complex number.
    Complex,
    /// Any other cause; see the text.
    Other,
}

/// An error in place of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The exception that Python raises.
    pub kind: ErrorKind,
    /// The cause.
    pub reason: Reason,
    /// The exception's text in `CPython` 3.11, or the unsupported construct.
    pub text: String,
    /// The index of the wrong argument of a call, if there is one.
    pub argument: Option<usize>,
    /// A suggested fix, from the type of a value that is not Python's.
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

    /// Python's value is unsupported.
    pub fn unsupported(reason: Reason, text: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, reason, text)
    }

    /// The value depends on something unknown.
    pub fn unknown(text: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unknown, Reason::Other, text)
    }

    /// The integer is wider than `bits`.
    pub fn wide_int(bits: u64) -> Self {
        Self::new(
            ErrorKind::Limit,
            Reason::WideInt,
            format!("an integer of more than {bits} bits"),
        )
    }

    /// There are more items, or bytes of text, than the limit.
    pub fn too_many(count: usize, most: usize, what: &'static str) -> Self {
        Self::new(
            ErrorKind::Limit,
            Reason::Items {
                count,
                limit: most,
                unit: what,
            },
            format!("more than {most} {what}"),
        )
    }

    /// Adds a suggested fix.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Attributes the error to an argument of a call, unless it already has one.
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
