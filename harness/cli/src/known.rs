//! `--known`: how much is printed about differences that are as expected. Left out: printing it (the printer).

use cerith_report::Known;
use clap::{Args, ValueEnum};

/// How much is said of differences that are as expected.
#[derive(Clone, Copy, Debug, Args)]
pub struct KnownArgs {
    /// How much is printed about expected differences. Unexpected ones are always printed in full.
    #[arg(long, value_enum, value_name = "HOW", default_value_t = How::Groups)]
    known: How,
}

/// The words for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum How {
    /// Only their number.
    None,
    /// The most frequent causes, with counts.
    Groups,
    /// Every cause, with its cases by name.
    All,
}

impl From<KnownArgs> for Known {
    fn from(args: KnownArgs) -> Self {
        match args.known {
            How::None => Self::None,
            How::Groups => Self::Groups,
            How::All => Self::All,
        }
    }
}
