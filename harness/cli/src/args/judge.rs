//! Arguments of `cerith judge`.

use std::path::PathBuf;

use cerith_tile::DType;
use cerith_toolchain::ToolchainId;
use clap::{Args, ValueEnum};

/// Output format of `cerith judge`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum JudgeFormat {
    /// Text.
    Text,
    /// A line of JSON for each submission.
    Jsonl,
}

/// Arguments of `cerith judge`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith judge softmax_task.py submission.py
  cerith judge KernelBench/level1/23_Softmax.py answers/*.py --jobs 8 --format jsonl

A task is a file in KernelBench's form (`Model`, `get_inputs`), in TritonBench's form (functions, a line of `#`, a test), or a function \
`reference` with its shapes. A submission defines `ModelNew`, or the functions of the task.

Both run in contained processes of a toolchain, which never have each other's files. The submission's launches are executed by the \
reference, on shapes and data that it has not seen, so no GPU is needed.

Verdicts: accepted, wrong, inaccurate, unwritten-output, input-changed, stale-result, nondeterministic, library-call, not-a-kernel, \
tampering, reference-read, undefined, crashed, timeout, not-judged.

Exit codes: 0 all are accepted; 1 one is not; 2 the input is bad; 130 interrupted.")]
pub struct JudgeArgs {
    /// The task's file.
    pub task: PathBuf,

    /// The submissions' files.
    #[arg(required = true, value_name = "KERNEL")]
    pub kernels: Vec<PathBuf>,

    /// Repeat the data of an earlier judgement. By default it is fresh.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// How many submissions are judged at once. Without it, as many as there are cores.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// The toolchain. By default, the newest one with torch, or else the newest.
    #[arg(long, value_name = "TOOLCHAIN")]
    pub toolchain: Option<ToolchainId>,

    /// The dtype whose rounding sums may have, in place of the task's: `f16`, `bf16`, `f32` or `f64`.
    #[arg(long, value_name = "DTYPE")]
    pub accumulate: Option<DType>,

    /// Refuse dots of f32 that round to TF32.
    #[arg(long)]
    pub no_tf32: bool,

    /// Output format. By default, text on a terminal, and JSON otherwise.
    #[arg(long, value_enum)]
    pub format: Option<JudgeFormat>,
}
