//! Arguments of `cerith toolchain`.

use std::ffi::OsString;

use cerith_toolchain::ToolchainId;
use clap::{Args, Subcommand};

use super::bad_value::BadValue;

/// Arguments of `cerith toolchain`.
#[derive(Debug, Args)]
pub struct ToolchainArgs {
    /// The command to run.
    #[command(subcommand)]
    pub command: ToolchainCommand,
}

/// The commands for toolchains.
#[derive(Debug, Subcommand)]
pub enum ToolchainCommand {
    /// Install a Triton from PyPI, in an environment of its own, with the NumPy that fits it.
    #[command(after_help = "Examples:
  cerith toolchain add 3.9.0
  cerith toolchain add 3.0.0+numpy2     the same Triton with another NumPy
  cerith toolchain add torch2.11.0      a torch with its Triton, about 5 GB

Toolchains are installed in your data directory. CERITH_HOME names another directory.")]
    Add {
        /// `3.9.0`, `3.9` (its last patch), `3.0.0+numpy2` or `torch2.11.0`.
        #[arg(required = true, value_name = "VERSION")]
        ids: Vec<ToolchainId>,
    },
    /// Register a Python environment with Triton, and maybe torch, as a toolchain. Nothing is installed.
    #[command(after_help = "Examples:
  cerith toolchain adopt
  cerith toolchain adopt /opt/venv/bin/python
  cerith toolchain adopt --name pr-1234 ../triton/.venv/bin/python

The toolchain is named after the Triton and the NumPy in it: `3.6.0+numpy2.3.5`. A Triton that is not a release also has the name of \
its build, its own or that of --name, so that several builds of one version can be adopted: `interpret@3.10.0+git1a2b3c4`, \
`interpret@3.9.0+pr-1234`. Engines of Triton 3.6.0 use the toolchain if no Triton 3.6.0 is installed. Engines that need torch (`jit`, \
`interpret@3.6.0+torch`) use it in any case. `remove` removes the name and leaves the environment alone.")]
    Adopt {
        /// The environment's Python: a path, its folder, or a name on PATH.
        #[arg(value_name = "PYTHON", default_value = "python3")]
        python: OsString,

        /// The name of the build, if its Triton is not a release: `pr-1234`. Letters, digits, `.`, `_` and `-`, with a digit or a
        /// hyphen among them.
        #[arg(long, value_name = "NAME", value_parser = build)]
        name: Option<String>,
    },
    /// List what is installed or adopted.
    List,
    /// Print the newest release of Triton on PyPI that this machine's Python can install.
    #[command(after_help = "Examples:
  cerith toolchain newest
  cerith toolchain newest --known       print the newest whose language Cerith knows
  cerith bump $(cerith toolchain newest --known) $(cerith toolchain newest)

The command says if the release is newer than the language that Cerith knows. Such a release is judged by the newest rules that are \
known, and a rule that changed then looks like a bug.")]
    Newest {
        /// Print the newest release whose language Cerith knows. No network is used.
        #[arg(long)]
        known: bool,
    },
    /// Compare the files of toolchains with the installed ones, and install damaged toolchains again.
    #[command(after_help = "Examples:
  cerith toolchain repair 3.9.0

If only its Python is gone, as after an update, its environment is made again, and nothing is downloaded. Adopted toolchains belong to \
others: they are neither checked nor repaired.")]
    Repair {
        /// A toolchain's name, as `list` shows it.
        #[arg(required = true, value_name = "VERSION")]
        ids: Vec<ToolchainId>,
    },
    /// Remove toolchains, with the kernels that they compiled.
    Remove {
        /// A toolchain's name, as `list` shows it.
        #[arg(required = true, value_name = "VERSION")]
        ids: Vec<ToolchainId>,
    },
    /// Show how many compiled kernels are kept, or remove them. The least recently used are removed automatically.
    Cache {
        /// Remove them all.
        #[arg(long)]
        clear: bool,
    },
}

pub(super) fn build(text: &str) -> Result<String, BadValue> {
    if cerith_toolchain::id::is_build(text) {
        Ok(text.to_owned())
    } else {
        Err(BadValue::Build)
    }
}
