//! Arguments of `cerith check`.

use std::path::PathBuf;

use clap::Args;

use super::selection::Engines;

/// Arguments of `cerith check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith check softmax.py                       every kernel of the file
  cerith check softmax.py:softmax_kernel --engine reference
  cerith check softmax.py --keep cases/softmax  keep what was tried as case files

What a kernel needs is read off its text: which parameters are tensors, strides, sizes and blocks. Then one thing is varied at a \
time: sizes of 0, 1, one below, at and above a block; rows that are padded, tensors that are transposed or begin inside their \
storage; f16 and bf16; an output that is an input.

Exit codes: 0 nothing was found; 1 something was; 2 the input is bad; 3 nothing was tried; 130 interrupted.")]
pub struct CheckArgs {
    /// A file with kernels, `FILE.py`, or one of its kernels, `FILE.py:KERNEL`.
    #[arg(value_name = "FILE[:KERNEL]", required = true)]
    pub kernels: Vec<String>,

    /// Which engines.
    #[command(flatten)]
    pub engines: Engines,

    /// How many launches to run at once. Without it, as many as there are cores.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// Keep what was tried as case files in this folder, with a copy of the kernels' file.
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
}
