//! Arguments of `cerith run`, and of its reports.

use std::path::PathBuf;

use cerith_case::Shard;
use clap::{Args, ValueEnum};

use super::gate::Gate;
use super::known_detail::KnownArgs;
use super::selection::{Engines, Schedules, Selection};

/// Arguments of `cerith run`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith run
  cerith run alias layout scalar --engine reference --engine interpret@3.2.0
  cerith run 'alias/*:dtype=bf16' --format jsonl | jq 'select(.expected == false)'
  cerith run --shard 2/8 --out reports/shard-2      run one of eight jobs; `cerith report merge` merges them
  cerith run --baseline baseline.jsonl              fail only for new failures
  cerith run --last-failed --fail-fast              run the cases that failed before, up to the first that still fails
  cerith run --known all                            name every case that differs as expected, by cause
  cerith run --engine reference --schedules 8       check that defined cases have the same result in other orders
  cerith run hopper --engine reference --engine ptx@3.9.0:sm_90a --schedules 8
                                                    the same for warps and copies of Hopper's code
  cerith run recording/ softmax_kernel              run one kernel's launches of a recording

A run writes events.jsonl, report.html, report.md and junit.xml into the folder given by --out.")]
pub struct RunArgs {
    /// The selected cases.
    #[command(flatten)]
    pub selection: Selection,

    /// The selected engines.
    #[command(flatten)]
    pub engines: Engines,

    /// How many cases to run at once. Without it, as many as there are cores.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// Run one part of N: `2/8` is every eighth case beginning with the second.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,

    /// The checks of the reference.
    #[arg(long, value_enum, default_value_t = Checks::Full)]
    pub checks: Checks,

    /// The value of a lane that a load masks off without `other`.
    #[arg(long, value_enum, default_value_t = Masked::Undefined)]
    pub masked: Masked,

    /// Warn about accesses that stay inside of a storage and leave the tensor that was passed: a slice's neighbour, the padding
    /// after a row. Changes no verdict.
    #[arg(long)]
    pub views: bool,

    /// More orders of each case.
    #[command(flatten)]
    pub orders: Schedules,

    /// If a compiled engine (`cuda`, `ptx`) is to blame, find the wrong stage of its compiler, and the wrong pass. Each
    /// such case is compiled about five more times. `cerith explain --stages` shows one case's.
    #[arg(long)]
    pub stages: bool,

    /// Compare cases with the reference functions that they name (`like:`), in a contained Python: the named toolchain's, or else the
    /// newest one with torch.
    #[arg(long, value_name = "TOOLCHAIN", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub oracle: Option<String>,

    /// Allow engines without an outcome. Without it, the run fails if an engine named with `--engine` has no outcome (no
    /// toolchain, no GPU, no record) and the case file does not foresee that. It also fails if a record is stale or a
    /// kernel's file cannot be loaded.
    #[arg(long)]
    pub allow_unavailable: bool,

    /// The conditions that fail the run, and that end it early.
    #[command(flatten)]
    pub gate: Gate,

    /// The output format, and the folder of the reports.
    #[command(flatten)]
    pub reports: Reports,
}

/// The checks of the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Checks {
    /// Everything.
    Full,
    /// Everything except races between programs, conflicting lanes of one store, and false `tl.multiple_of`,
    /// `tl.max_contiguous` and `tl.max_constancy`. A case with one of these is not called undefined, and its engines may
    /// differ because of it.
    Fast,
}

/// The value of a lane that a load masks off without `other`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Masked {
    /// An undefined value, as Triton's documentation says. Results that depend on it are not compared.
    Undefined,
    /// Zero, as in kernels compiled for NVIDIA. Results that depend on it are compared.
    Zero,
}

impl From<Checks> for cerith_interp::Checks {
    fn from(checks: Checks) -> Self {
        match checks {
            Checks::Full => Self::Full,
            Checks::Fast => Self::Fast,
        }
    }
}

/// The output format, and the folder of the reports.
#[derive(Debug, Args)]
pub struct Reports {
    /// The output format: text for people, or the stream of events for programs.
    #[arg(long, value_enum, default_value_t = RunFormat::Human)]
    pub format: RunFormat,

    /// Where reports go. Without it, a folder with the command's name in `reports`, beside the corpus. If the first filter is
    /// the corpus, `cerith-reports/NAME` beside it, which git is told to ignore.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Print a line for every case.
    #[arg(long, short)]
    pub verbose: bool,

    /// How much is printed about known differences.
    #[command(flatten)]
    pub known_args: KnownArgs,
}

/// The output of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RunFormat {
    /// Text for people.
    Human,
    /// One event per line.
    Jsonl,
}
