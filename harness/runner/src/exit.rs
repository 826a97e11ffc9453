//! The meaning of exit codes, which every help text names. Each command decides its own exit; that of `cerith run` follows from its
//! summary ([`cerith_report::event::Summary::exit_code`]).

/// How a command ends. Later ones go before earlier ones where a command has several reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// 0: everything is as expected.
    AsExpected,
    /// 1: an unexpected disagreement, or another condition that the command was asked to fail for.
    Unexpected,
    /// 2: the input is bad, or the output cannot be written.
    Wrong,
    /// 3: nothing was done, or nothing was compared.
    Nothing,
    /// 130: the user pressed Ctrl-C.
    Interrupted,
    /// The exit code of a program that was run.
    Program(u8),
}

impl Exit {
    /// The code.
    pub const fn code(self) -> u8 {
        match self {
            Self::AsExpected => 0,
            Self::Unexpected => 1,
            Self::Wrong => 2,
            Self::Nothing => 3,
            Self::Interrupted => 130,
            Self::Program(code) => code,
        }
    }

    /// As expected, unless something is not.
    pub const fn unexpected_if(is_unexpected: bool) -> Self {
        if is_unexpected {
            Self::Unexpected
        } else {
            Self::AsExpected
        }
    }
}

impl From<u8> for Exit {
    /// Converts the exit code in a summary.
    fn from(code: u8) -> Self {
        match code {
            0 => Self::AsExpected,
            1 => Self::Unexpected,
            2 => Self::Wrong,
            3 => Self::Nothing,
            130 => Self::Interrupted,
            code => Self::Program(code),
        }
    }
}
