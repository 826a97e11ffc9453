//! What can be asked on the command line, and the help that teaches it.

mod bump;
mod case;
mod expect;
mod fuzz;
mod gate;
mod gpu;
mod merge;
mod record;
mod report;
mod run;
mod selection;
mod sweep;
mod toolchain;

use cerith_engine::cuda::child;
use clap::{Parser, Subcommand};

pub use self::bump::{BisectArgs, BumpArgs, BumpEngine, BumpFormat, MatrixArgs, MatrixFormat, Side};
pub use self::case::{CompareArgs, CoverageArgs, CoverageFormat, ExplainArgs, ListArgs};
pub use self::expect::ExpectArgs;
pub use self::fuzz::{FuzzArgs, FuzzCommand, KeepArgs, PromoteArgs, RangeArgs, ReduceArgs, TrophiesArgs};
pub use self::gate::{BaselineArgs, Gate};
pub use self::gpu::{AcceptArgs, BundleArgs, ExecArgs};
pub use self::merge::{MergeArgs, ReportCommand};
pub use self::record::{ImportArgs, RecordArgs};
pub use self::report::{ReportArgs, ReportFormat};
pub use self::run::{Checks, Masked, Reports, RunArgs, RunFormat};
pub use self::sweep::{Along, SweepArgs};
pub use self::toolchain::{ToolchainArgs, ToolchainCommand};

/// Run Triton kernels through independent engines, compare every byte, and name the engine that is wrong.
#[derive(Debug, Parser)]
#[command(
    name = "cerith",
    version,
    max_term_width = 110,
    after_help = "Examples:
  cerith run                                      the whole corpus, through the reference and the newest Triton
  cerith run alias layout --engine reference --engine interpret@3.2.0
  cerith explain layout/split_columns:dtype=f16   what a case is, and what every engine made of it
  cerith list 'dtype/*:dtype=bf16'                which cases a filter means
  cerith record -- python train.py                make cases of the kernels that a program launches
  cerith toolchain add 3.1.0                      install another Triton

Exit codes: 0 everything is as expected, 1 a disagreement that nobody expected or an expectation that no longer
happens, or an engine of --engine that says nothing, 2 something is wrong with what was given or cannot be
written, 3 nothing was run, or there was no second engine to compare with, 130 interrupted."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run cases through engines and judge what they did.
    Run(RunArgs),
    /// List the cases that filters mean.
    List(ListArgs),
    /// Make a first case file for a kernel, to be edited.
    Import(ImportArgs),
    /// Run a program and make a case of every Triton kernel that it launches.
    Record(RecordArgs),
    /// Write what the last run found into case files, as what is expected, and take out what no longer happens.
    Expect(ExpectArgs),
    /// Hold two engines to each other: what each did, in which words, and every byte, with nothing accepted.
    Compare(CompareArgs),
    /// Say what a version of Triton fixed and broke, by cause.
    Bump(BumpArgs),
    /// Find the first version that is wrong in a case, or right.
    Bisect(BisectArgs),
    /// Say which versions of Triton are wrong for which causes, since when and until when.
    Matrix(MatrixArgs),
    /// Show one case in full: storages, tensors, IR, every engine's outcome, the first elements that differ.
    Explain(ExplainArgs),
    /// Show what of Triton's language the reference knows, and how many cases use it.
    Coverage(CoverageArgs),
    /// Install, list and remove versions of Triton.
    Toolchain(ToolchainArgs),
    /// Print a stored stream of events again.
    Report(ReportArgs),
    /// Compile cases into one file for a machine with a GPU.
    Bundle(BundleArgs),
    /// Execute a bundle of compiled cases on this machine's GPUs.
    Exec(ExecArgs),
    /// Compile and execute every case with other options, layouts and configurations, which must all give the same.
    Sweep(SweepArgs),
    /// Put what a GPU gave on record, for machines that have none.
    Accept(AcceptArgs),
    /// Make kernels and layouts that nobody wrote, and keep what no known bug explains.
    Fuzz(FuzzArgs),
    /// Make a case that differs as small as it gets.
    Reduce(ReduceArgs),
    /// The process that opens a GPU; started by Cerith itself.
    #[command(name = child::ARGUMENT, hide = true)]
    CudaChild {
        /// Which GPU.
        gpu: usize,
    },
}
