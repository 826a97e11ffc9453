//! Arguments of the commands that look at cases: `list`, `explain`, `compare`, `coverage`.

use std::path::PathBuf;

use cerith_engine::EngineId;
use cerith_tile::rules::Version;
use cerith_toolchain::ToolchainId;
use clap::{Args, ValueEnum};

use super::run::{Masked, RunFormat};
use super::selection::{Engines, Selection, engine_id};

/// Arguments of `cerith list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith list
  cerith list layout/ 'dtype/*:dtype=bf16'")]
pub struct ListArgs {
    /// Which cases.
    #[command(flatten)]
    pub selection: Selection,
}

/// Arguments of `cerith explain`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith explain alias/same_twice:dtype=f32
  cerith explain layout/split_columns --engine interpret@3.2.0 --engine interpret@3.3.1")]
pub struct ExplainArgs {
    /// The case's id, or a filter that means few cases; before it, a folder that is the corpus, as for `cerith run`.
    #[arg(value_name = "CASE", required = true)]
    pub case: Vec<String>,

    /// The folder of case files.
    #[arg(long, value_name = "DIR")]
    pub cases: Option<PathBuf>,

    /// Which engines.
    #[command(flatten)]
    pub engines: Engines,

    /// What lanes hold that a load masks off, where it has no `other`.
    #[arg(long, value_enum, default_value_t = Masked::Undefined)]
    pub masked: Masked,
}

/// Arguments of `cerith compare`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith compare interpret@3.6.0+host interpret@3.6.0+torch+host
  cerith compare cuda@3.6.0 jit@3.6.0 alias layout --format jsonl

Bits are compared as bits, NaNs too. Of messages, folders, temporary files, addresses of objects, the elements of tensors
and the threads that a GPU lists are left out. Where the two differ, the reference is asked whether the program has a
defined answer at all, and the case's file whether it expects of one what it does not expect of the other
(`engine: interpret+torch` beside `engine: interpret`); such differences are shown and counted apart.

Exit codes: 0 no other difference, 1 there are some, 2 something is wrong with what was given, 3 nothing
was compared, 130 interrupted.")]
pub struct CompareArgs {
    /// An engine.
    #[arg(value_name = "ENGINE", value_parser = engine_id)]
    pub left: EngineId,

    /// The other.
    #[arg(value_name = "ENGINE", value_parser = engine_id)]
    pub right: EngineId,

    /// Which cases.
    #[command(flatten)]
    pub selection: Selection,

    /// Do not install toolchains; use those that are there.
    #[arg(long)]
    pub offline: bool,

    /// How many cases to run at once. Without it, as many as there are cores.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// What to print: text for people, or a line of JSON for every case.
    #[arg(long, value_enum, default_value_t = RunFormat::Human)]
    pub format: RunFormat,
}

/// Arguments of `cerith coverage`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith coverage                                 every public name of the newest Triton, by kinds of dtypes
  cerith coverage tl.atomic                       the names that begin so
  cerith coverage --triton 3.2.0 --holes          what Triton 3.2.0 has and the reference has not
  cerith coverage --campaign reports/fuzz         what the kernels of a campaign have in them, and what none has

The names are those of the installed Triton. `yes` is traced, `no` is rejected as the compiler rejects it, `?` is not known to
the reference, `HOLE` has no place in it at all. The number behind it is that of the cases that use the name on such dtypes.

Exit codes: 0, 1 if there are holes, 2 something is wrong with what was given.")]
pub struct CoverageArgs {
    /// Names, or beginnings of names: `tl.atomic`, `tensor.__`. None means all.
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,

    /// Whose language: an installed Triton.
    #[arg(long, value_name = "VERSION", default_value_t = ToolchainId::of(Version::NEWEST))]
    pub triton: ToolchainId,

    /// Only names that the reference has not, or does not know on some dtype.
    #[arg(long)]
    pub holes: bool,

    /// How it is printed.
    #[arg(long, value_enum, default_value_t = CoverageFormat::Text)]
    pub format: CoverageFormat,

    /// The folder of case files, as in `cerith run`.
    #[arg(long, value_name = "DIR")]
    pub cases: Option<PathBuf>,

    /// What the kernels of the fuzzing campaign in this folder have in them, and what none has.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["names", "cases", "triton"])]
    pub campaign: Option<PathBuf>,
}

/// How coverage is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CoverageFormat {
    /// A table.
    Text,
    /// One JSON object, each dtype by itself, with reasons.
    Json,
}
