//! Arguments of the commands that look at cases: `list`, `explain`, `compare`, `coverage`.

use std::path::PathBuf;

use cerith_engine::EngineId;
use cerith_tile::rules::Version;
use cerith_toolchain::ToolchainId;
use clap::{Args, ValueEnum};

use super::run::{Masked, RunFormat};
use super::selection::{Engines, Schedules, Selection, engine_id};

/// Arguments of `cerith list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith list
  cerith list layout/ 'dtype/*:dtype=bf16'")]
pub struct ListArgs {
    /// The selected cases.
    #[command(flatten)]
    pub selection: Selection,
}

/// Arguments of `cerith explain`.
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith explain alias/same_twice:dtype=f32
  cerith explain layout/split_columns --engine interpret@3.2.0 --engine interpret@3.3.1
  cerith explain dot/matmul --ir                  also the IR
  cerith explain scan/one_element --engine ptx@3.6.0 --stages    which stage of the compiler is wrong
  cerith explain dot/matmul --html > matmul.html  a page for a notebook
  cerith explain out-of-bounds                    what a finding of `cerith check` means

The verdict comes first, then what each engine did, then pictures and tables of the differences. The storages, tensors and launches \
of the case follow.")]
pub struct ExplainArgs {
    /// The case's id, or a filter that selects few cases. A folder before it is the corpus, as for `cerith run`. Or the code of a
    /// finding: `out-of-bounds`.
    #[arg(value_name = "CASE|CODE", required = true)]
    pub case: Vec<String>,

    /// The folder of case files.
    #[arg(long, value_name = "DIR")]
    pub cases: Option<PathBuf>,

    /// The selected engines.
    #[command(flatten)]
    pub engines: Engines,

    /// The value of a lane that a load masks off without `other`.
    #[arg(long, value_enum, default_value_t = Masked::Undefined)]
    pub masked: Masked,

    /// More orders of the case.
    #[command(flatten)]
    pub orders: Schedules,

    /// Also show the IR of each launch.
    #[arg(long)]
    pub ir: bool,

    /// Also ask each stage of Triton's compiler (frontend, TTIR, TTGIR, PTX) and name the one that is wrong: of the compiled engine
    /// that is to blame, else of any that `--engine` names, else of the newest Triton for `sm_80`.
    #[arg(long, conflicts_with = "html")]
    pub stages: bool,

    /// Also ask for the IR after each pass, name the pass that makes it wrong, and show what it changes. Asks the stages too.
    #[arg(long, conflicts_with = "html")]
    pub pass: bool,

    /// Print a page of HTML instead, which needs no script and loads nothing: for a notebook or a mail.
    #[arg(long)]
    pub html: bool,
}

/// Arguments of `cerith compare`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith compare interpret@3.6.0+host interpret@3.6.0+torch+host
  cerith compare cuda@3.6.0 jit@3.6.0 alias layout --format jsonl

Bits are compared as bits, NaNs too. Messages are compared without folders, temporary files, addresses of objects, elements of \
tensors and the threads that a GPU lists. Two kinds of difference are shown and counted apart: those of a program that the \
reference calls undefined, and those that the case file expects of one engine and not of the other (`engine: interpret+torch` \
beside `engine: interpret`).

Exit codes: 0 there is no other difference; 1 there are other differences; 2 the input is bad; 3 nothing was compared; \
130 interrupted.")]
pub struct CompareArgs {
    /// The first engine.
    #[arg(value_name = "ENGINE", value_parser = engine_id)]
    pub left: EngineId,

    /// The second engine.
    #[arg(value_name = "ENGINE", value_parser = engine_id)]
    pub right: EngineId,

    /// The selected cases.
    #[command(flatten)]
    pub selection: Selection,

    /// Do not install toolchains; use those that are installed.
    #[arg(long)]
    pub offline: bool,

    /// How many cases to run at once. Without it, as many as there are cores.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// The output format: text for people, or a line of JSON for every case.
    #[arg(long, value_enum, default_value_t = RunFormat::Human)]
    pub format: RunFormat,
}

/// Arguments of `cerith coverage`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith coverage                                 every public name of the newest Triton, by kinds of dtypes
  cerith coverage tl.atomic                       the names that begin with `tl.atomic`
  cerith coverage --triton 3.2.0 --holes          what Triton 3.2.0 has and the reference lacks
  cerith coverage --campaign reports/fuzz         what the kernels of a campaign use, and what none of them uses

The names are those of the installed Triton. `yes`: the reference traces it. `no`: the reference rejects it, as the compiler does. \
`?`: the reference does not know what it does here. `HOLE`: the reference lacks it. The number after it counts the cases that use \
the name on such dtypes.

Exit codes: 0 there are no holes; 1 there are holes; 2 the input is bad.")]
pub struct CoverageArgs {
    /// Names, or beginnings of names: `tl.atomic`, `tensor.__`. Without any, all.
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,

    /// The installed Triton whose language is shown.
    #[arg(long, value_name = "VERSION", default_value_t = ToolchainId::from_triton(Version::NEWEST))]
    pub triton: ToolchainId,

    /// Show only names that the reference lacks, or does not know on some dtype.
    #[arg(long)]
    pub holes: bool,

    /// The output format.
    #[arg(long, value_enum, default_value_t = CoverageFormat::Text)]
    pub format: CoverageFormat,

    /// The folder of case files, as in `cerith run`.
    #[arg(long, value_name = "DIR")]
    pub cases: Option<PathBuf>,

    /// Show what the kernels of the fuzzing campaign in this folder use, and what none of them uses.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["names", "cases", "triton"])]
    pub campaign: Option<PathBuf>,
}

/// How coverage is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CoverageFormat {
    /// A table.
    Text,
    /// One JSON object: each dtype on its own, with reasons.
    Json,
}
