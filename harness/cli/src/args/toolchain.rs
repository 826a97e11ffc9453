//! Arguments of `cerith toolchain`.

use std::ffi::OsString;

use cerith_toolchain::ToolchainId;
use clap::{Args, Subcommand};

/// Arguments of `cerith toolchain`.
#[derive(Debug, Args)]
pub struct ToolchainArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: ToolchainCommand,
}

/// What to do with toolchains.
#[derive(Debug, Subcommand)]
pub enum ToolchainCommand {
    /// Install a Triton from PyPI, in an environment of its own, with the NumPy that fits it.
    #[command(after_help = "Examples:
  cerith toolchain add 3.9.0
  cerith toolchain add 3.0.0+numpy2     the same Triton with another NumPy
  cerith toolchain add torch2.11.0      a torch with its Triton, about 5 GB

Toolchains live in your data directory; CERITH_HOME names another one.")]
    Add {
        /// `3.9.0`, `3.9` (its last patch), `3.0.0+numpy2` or `torch2.11.0`.
        #[arg(required = true, value_name = "VERSION")]
        ids: Vec<ToolchainId>,
    },
    /// Register a Python environment that has Triton, and maybe torch, as a toolchain, without installing anything.
    #[command(after_help = "Examples:
  cerith toolchain adopt
  cerith toolchain adopt /opt/venv/bin/python
  cerith toolchain adopt --name pr-1234 ../triton/.venv/bin/python

It is named after the Triton and the NumPy in it: `3.6.0+numpy2.3.5`. A build is called by its name besides, its own or the
one of --name, so that several of one version stand beside each other: `interpret@3.10.0+git1a2b3c4`, `interpret@3.9.0+pr-1234`.
Engines of Triton 3.6.0 find it where no toolchain
of their own is installed; those that need torch (`jit`, `interpret@3.6.0+torch`) find it in any case. `remove` removes
the name and leaves the environment alone.")]
    Adopt {
        /// Its Python: a path, or a name on PATH.
        #[arg(value_name = "PYTHON", default_value = "python3")]
        python: OsString,

        /// What to call the Triton in it, which is no release: `pr-1234`. Letters, digits, `.`, `_` and `-`, with a digit or a
        /// hyphen among them.
        #[arg(long, value_name = "NAME", value_parser = build)]
        name: Option<String>,
    },
    /// List what is installed or adopted.
    List,
    /// Print the newest release of Triton on PyPI that this machine's Python can install.
    #[command(after_help = "Examples:
  cerith toolchain newest
  cerith toolchain newest --known       the newest whose language Cerith knows
  cerith bump $(cerith toolchain newest --known) $(cerith toolchain newest)

One that is newer than what Cerith knows is said to be: it is judged by the rules of the newest that is known, and a rule that
changed looks like a bug then.")]
    Newest {
        /// Print the newest release whose language Cerith knows. Asks nobody.
        #[arg(long)]
        known: bool,
    },
    /// Remove what was installed.
    Remove {
        /// As `list` shows it.
        #[arg(required = true, value_name = "VERSION")]
        ids: Vec<ToolchainId>,
    },
    /// Say what compiled kernels are kept, or remove them; the least recently used go by themselves.
    Cache {
        /// Remove them all.
        #[arg(long)]
        clear: bool,
    },
}

pub(super) fn build(text: &str) -> Result<String, String> {
    if cerith_toolchain::id::is_build(text) {
        Ok(text.to_owned())
    } else {
        Err(
            "write letters, digits, `.`, `_` and `-`, with a digit or a hyphen among them, such as pr-1234"
                .to_owned(),
        )
    }
}
