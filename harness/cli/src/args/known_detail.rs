//! `--known`: the amount of output about expected differences. See the printer for the output.

use cerith_report::KnownDetail;
use clap::{Args, ValueEnum};

/// The amount of detail about differences that are as expected.
#[derive(Clone, Copy, Debug, Args)]
pub struct KnownArgs {
    /// How much is printed about expected differences. Unexpected ones are always printed in full.
    #[arg(long, value_enum, value_name = "HOW", default_value_t = KnownWord::Groups)]
    known: KnownWord,
}

/// The values of `--known`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum KnownWord {
    /// Only their number.
    None,
    /// The most frequent causes, with counts.
    Groups,
    /// Every cause, with its cases by name.
    All,
}

impl From<KnownArgs> for KnownDetail {
    fn from(args: KnownArgs) -> Self {
        match args.known {
            KnownWord::None => Self::None,
            KnownWord::Groups => Self::Groups,
            KnownWord::All => Self::All,
        }
    }
}
