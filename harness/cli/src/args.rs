//! Command-line arguments and their help.

mod bad_value;
mod bump;
mod case;
mod check;
mod expect;
mod fuzz;
mod gate;
mod gpu;
mod help;
mod judge;
mod known_detail;
#[cfg(feature = "mcp")]
mod mcp;
mod merge;
mod noise;
mod output;
mod prove;
mod record;
mod report;
mod run;
mod selection;
mod sweep;
mod toolchain;

use std::path::PathBuf;

use clap::{ColorChoice, Parser, Subcommand};

pub use self::bump::{BisectArgs, BumpArgs, BumpEngine, BumpFormat, MatrixArgs, MatrixFormat};
pub use self::case::{CompareArgs, CoverageArgs, CoverageFormat, ExplainArgs, ListArgs};
pub use self::check::{CheckArgs, CheckFormat};
pub use self::expect::ExpectArgs;
pub use self::fuzz::{FuzzArgs, FuzzCommand, KeepArgs, PromoteArgs, RangeArgs, ReduceArgs, TrophiesArgs};
pub use self::gate::{BaselineArgs, Gate};
pub use self::gpu::{AcceptArgs, BundleArgs, ExecArgs};
pub use self::help::{CompletionsArgs, HelpArgs, ManArgs, SchemaArgs};
pub use self::judge::{JudgeArgs, JudgeFormat};
#[cfg(feature = "mcp")]
pub use self::mcp::McpArgs;
pub use self::merge::{MergeArgs, ReportCommand};
pub use self::prove::{ProveArgs, ProveFormat};
pub use self::record::{ImportArgs, RecordArgs};
pub use self::report::{ReportArgs, ReportFormat};
pub use self::run::{Masked, Reports, RunArgs, RunFormat};
pub use self::selection::{Engines, Selection};
pub use self::sweep::SweepArgs;
pub use self::toolchain::{ToolchainArgs, ToolchainCommand};

/// Run Triton kernels through independent engines, compare every byte, and name the engine that is wrong.
#[derive(Debug, Parser)]
#[command(
    name = "cerith",
    version,
    max_term_width = 110,
    disable_help_subcommand = true,
    after_help = "Examples:
  cerith check softmax.py                         try the kernels of a file of yours
  cerith run                                      run the whole corpus through the reference and the newest Triton
  cerith run alias layout --engine reference --engine interpret@3.2.0
  cerith explain layout/split_columns:dtype=f16   show a case, and the outcome of every engine
  cerith list 'dtype/*:dtype=bf16'                list the cases that a filter selects
  cerith record -- python train.py                make cases of the kernels that a program launches
  cerith toolchain add 3.1.0                      install another Triton
  cerith help cases                               the format of case files

Exit codes: 0 everything is as expected; 1 there is an unexpected disagreement, an expectation that no longer \
happens, or an engine named with --engine without an outcome; 2 the input is bad, or the output cannot be \
written; 3 nothing was run, or there was no second engine to compare with; 130 interrupted."
)]
pub struct Cli {
    /// When to use colours. `auto`: on a terminal, unless `NO_COLOR` or `TERM=dumb` is set, and anywhere if `CLICOLOR_FORCE` is set.
    #[arg(long, global = true, value_name = "WHEN", default_value_t = ColorChoice::Auto, hide_default_value = true)]
    pub color: ColorChoice,

    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands of `cerith`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run cases through engines and judge the outcomes.
    Run(RunArgs),
    /// List the cases that the filters select.
    List(ListArgs),
    /// Try the kernels of a file with many sizes, layouts and dtypes, and report their bugs.
    Check(CheckArgs),
    /// Prove for all sizes that the kernels of a file stay inside of their tensors.
    Prove(ProveArgs),
    /// Judge submissions for a task: whether their kernels compute its reference function.
    Judge(JudgeArgs),
    /// Serve agents and editors with the Model Context Protocol on standard input and output.
    #[cfg(feature = "mcp")]
    Mcp(McpArgs),
    /// Write a first case file for a kernel, for you to edit.
    Import(ImportArgs),
    /// Run a program and make a case of every Triton kernel that it launches.
    Record(RecordArgs),
    /// Write the differences of the last run into the case files as expectations, and remove those that no longer happen.
    Expect(ExpectArgs),
    /// Compare two engines exactly: outcomes, messages and every byte.
    Compare(CompareArgs),
    /// Report what a version of Triton fixed and broke, by cause.
    Bump(BumpArgs),
    /// Find the first version that gets a case wrong, or right.
    Bisect(BisectArgs),
    /// Show which versions of Triton are wrong, by cause: since when and until when.
    Matrix(MatrixArgs),
    /// Show one case in full: its storages, tensors and IR, every engine's outcome, and the first elements that differ.
    Explain(ExplainArgs),
    /// Show which parts of Triton's language the reference knows, and how many cases use them.
    Coverage(CoverageArgs),
    /// Install, list and remove versions of Triton.
    Toolchain(ToolchainArgs),
    /// Print a stored stream of events again.
    Report(ReportArgs),
    /// Compile cases into one file for a machine with a GPU.
    Bundle(BundleArgs),
    /// Execute a bundle of compiled cases on this machine's GPUs.
    Exec(ExecArgs),
    /// Compile and execute every case with other options, layouts and configurations. All must give the same result.
    Sweep(SweepArgs),
    /// Record a GPU's results, for machines without one.
    Accept(AcceptArgs),
    /// Generate kernels and layouts, and keep the differences that no known bug explains.
    Fuzz(FuzzArgs),
    /// Make a case that shows a difference as small as possible.
    Reduce(ReduceArgs),
    /// Print the help of a command, or the format of case files.
    Help(HelpArgs),
    /// Print a script that completes this command line in your shell.
    Completions(CompletionsArgs),
    /// Print manual pages.
    Man(ManArgs),
    /// Print the JSON schema of case files, for editors.
    Schema(SchemaArgs),
    /// Judges submissions for another process; started by `cerith mcp --judge`.
    #[command(hide = true)]
    JudgeService,
    /// Executes a program's launches and compares their results; started by `cerith_triton.check`.
    #[command(hide = true)]
    Oracle {
        /// The recorder's part file.
        part: PathBuf,
    },
    /// Judges launches before they run; started by the recorder.
    #[command(hide = true)]
    Preflight {
        /// The recorder's part file.
        part: PathBuf,
    },
}
