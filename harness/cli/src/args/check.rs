//! Arguments of `cerith check`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use cerith_check::conformance::{HostArgument, Like, read_argument, read_contract, read_tolerance};

use super::bad_value::BadValue;
use super::output::output_file;
use super::selection::{Engines, Schedules};

/// Output format of `cerith check`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    /// Text.
    #[default]
    Human,
    /// A line of JSON for each kernel.
    Jsonl,
    /// Commands of a GitHub workflow, at the end.
    Github,
    /// SARIF, at the end.
    Sarif,
    /// `JUnit`, at the end.
    Junit,
}

fn launcher_argument(text: &str) -> Result<(String, HostArgument), BadValue> {
    let (name, value) = text
        .split_once('=')
        .filter(|(name, _)| !name.trim().is_empty())
        .ok_or(BadValue::Launcher)?;
    Ok((name.trim().to_owned(), read_argument(value)?))
}

/// Arguments of `cerith check`.
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith check softmax.py                       every kernel of the file
  cerith check softmax.py:softmax_kernel --engine reference
  cerith check src/mylib                        every kernel of a package
  cerith check softmax.py --keep cases/softmax  keep what was tried as case files
  cerith check src --write-baseline known.toml  accept today's findings
  cerith check src --baseline known.toml        report only new ones
  cerith check softmax.py --launcher softmax --like ref.py:softmax --oracle
                                                does it compute this function?

`check` infers what the kernel needs from its source: which parameters are tensors, strides, sizes and blocks. Then it varies one thing at a \
time: sizes of 0, 1, one below, at and above a block; rows that are padded, tensors that are transposed or begin inside their \
storage; f16 and bf16; an output that is also an input.

Comments in the kernel's file: `# cerith: requires K % BLOCK_K == 0` (callers promise it), `# cerith: ignore[race] REASON`. \
`cerith explain CODE` explains a finding. `cerith.toml` or `[tool.cerith]` in `pyproject.toml` has the configuration.

Exit codes: 0 nothing was found; 1 a finding or a precondition, or with --strict a kernel that was not judged; 2 the input is bad; \
3 no kernel was judged; 130 interrupted.")]
pub struct CheckArgs {
    /// A file with kernels (`FILE.py`), one of its kernels (`FILE.py:KERNEL`), a case file (its kernel is checked) or a folder (all
    /// of its kernels are checked). Default: `paths` of the configuration.
    #[arg(value_name = "FILE[:KERNEL]|DIR")]
    pub kernels: Vec<String>,

    /// The selected engines.
    #[command(flatten)]
    pub engines: Engines,

    /// More orders of each launch.
    #[command(flatten)]
    pub orders: Schedules,

    /// How many launches to run at once. Without it, as many as there are cores.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// Maximum seconds for each kernel. Launches that are not made in this time are listed.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: Option<u64>,

    /// Fail if a kernel is not judged, or not completely.
    #[arg(long)]
    pub strict: bool,

    /// List each launch, and each hidden finding with its reason.
    #[arg(long, short)]
    pub verbose: bool,

    /// Check again whenever a file that decides the result changes: the named files, and the modules that they import. Ctrl-C ends it.
    #[arg(long, conflicts_with = "write_baseline")]
    pub watch: bool,

    /// Compare this function, which launches kernels, with the reference function of `--like`.
    #[arg(long, value_name = "FUNCTION", requires = "like")]
    pub launcher: Option<String>,

    /// The reference function: `FILE.py:FUNCTION`, or a module's, `torch.nn.functional.softmax`. It gets the launcher's arguments, with
    /// floats as float64.
    #[arg(long, value_name = "FUNCTION", requires = "launcher")]
    pub like: Option<Like>,

    /// Execute launchers and reference functions, in a contained Python: the named toolchain's, or else the newest one with torch.
    #[arg(long, value_name = "TOOLCHAIN", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub oracle: Option<String>,

    /// An argument of the launcher, `x=float32[33,49]` or `eps=1e-5`. Without any, they are inferred, and varied.
    #[arg(long = "arg", value_name = "NAME=VALUE", requires = "launcher", value_parser = launcher_argument)]
    pub arguments: Vec<(String, HostArgument)>,

    /// The dtype whose rounding sums, products and functions may have. A launcher that rounds more is inaccurate.
    #[arg(long, value_name = "DTYPE", default_value = "float32", requires = "launcher", value_parser = read_contract)]
    pub accumulate: String,

    /// `tl.dot` of float32 may not round to TF32.
    #[arg(long, requires = "launcher")]
    pub no_tf32: bool,

    /// A relative tolerance, in place of the bounds of the operations.
    #[arg(long, value_name = "NUMBER", requires = "launcher", value_parser = read_tolerance)]
    pub rtol: Option<f64>,

    /// An absolute tolerance, in place of the bounds of the operations.
    #[arg(long, value_name = "NUMBER", requires = "launcher", value_parser = read_tolerance)]
    pub atol: Option<f64>,

    /// The seed of the data for the launcher. Without it, a fresh one, which is printed.
    #[arg(long, value_name = "N", requires = "launcher")]
    pub seed: Option<u32>,

    /// Apply suggested edits. Without it, they are printed.
    #[arg(long)]
    pub fix: bool,

    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub format: CheckFormat,

    /// Read the configuration from this file, which is trusted. Its paths start from the current folder.
    #[arg(long, value_name = "FILE", conflicts_with = "no_config")]
    pub config: Option<PathBuf>,

    /// Read no configuration.
    #[arg(long)]
    pub no_config: bool,

    /// Hide the findings in this file, which `--write-baseline` wrote.
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,

    /// Write the findings to this file, with reasons to fill in. The reasons of an existing file stay.
    #[arg(long, value_name = "FILE", value_parser = output_file)]
    pub write_baseline: Option<PathBuf>,

    /// Also write the findings as commands of a GitHub workflow, one for each line of a file.
    #[arg(long, value_name = "FILE", value_parser = output_file)]
    pub github: Option<PathBuf>,

    /// Also write the findings as `JUnit`, with a test for each kernel.
    #[arg(long, value_name = "FILE", value_parser = output_file)]
    pub junit: Option<PathBuf>,

    /// Also write the findings as SARIF.
    #[arg(long, value_name = "FILE", value_parser = output_file)]
    pub sarif: Option<PathBuf>,

    /// Keep what was tried as case files in this folder, with a copy of the kernels' file. A file
    /// that is there with other content is an error.
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
}
