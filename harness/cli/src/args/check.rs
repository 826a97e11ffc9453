//! Arguments of `cerith check`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::output::output_file;
use super::selection::Engines;

/// How `cerith check` says what it found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    /// Text.
    #[default]
    Human,
    /// A line of JSON for each kernel.
    Jsonl,
}

/// Arguments of `cerith check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith check softmax.py                       every kernel of the file
  cerith check softmax.py:softmax_kernel --engine reference
  cerith check src/mylib                        every kernel of a package
  cerith check softmax.py --keep cases/softmax  keep what was tried as case files

What a kernel needs is read off its text: which parameters are tensors, strides, sizes and blocks. Then one thing is varied at a \
time: sizes of 0, 1, one below, at and above a block; rows that are padded, tensors that are transposed or begin inside their \
storage; f16 and bf16; an output that is an input.

Exit codes: 0 nothing was found; 1 something was; 2 the input is bad; 3 nothing was tried; 130 interrupted.")]
pub struct CheckArgs {
    /// A file with kernels, `FILE.py`, one of its kernels, `FILE.py:KERNEL`, a case file, whose kernel is checked, or a folder, whose
    /// kernels are all checked.
    #[arg(value_name = "FILE[:KERNEL]|DIR", required = true)]
    pub kernels: Vec<String>,

    /// Which engines.
    #[command(flatten)]
    pub engines: Engines,

    /// How many launches to run at once. Without it, as many as there are cores.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// How to say it: as text, or as a line of JSON for each kernel.
    #[arg(long, value_enum, default_value_t)]
    pub format: CheckFormat,

    /// Also write the findings as commands of a GitHub workflow, one for each line of a file.
    #[arg(long, value_name = "FILE", value_parser = output_file)]
    pub github: Option<PathBuf>,

    /// Also write the findings as `JUnit`, with a test for each kernel.
    #[arg(long, value_name = "FILE", value_parser = output_file)]
    pub junit: Option<PathBuf>,

    /// Keep what was tried as case files in this folder, with a copy of the kernels' file. A file
    /// that is there with other content is an error.
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
}
