//! What can be asked on the command line, and the help that teaches it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use cerith_case::{FoundState, Shard};
use cerith_engine::EngineId;
use cerith_engine::cuda::child;
use cerith_report::bump::Change;
use cerith_tile::rules::Version;
use cerith_toolchain::ToolchainId;
use cerith_toolchain::compiled::Target;
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::engines;
use crate::known::KnownArgs;
use crate::noise::NoiseArgs;

mod expect;
mod gate;
mod merge;

pub use expect::ExpectArgs;
pub use gate::{BaselineArgs, Gate};
pub use merge::{MergeArgs, ReportCommand};

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

/// Which corpus, and which part of it.
#[derive(Debug, Args)]
pub struct Selection {
    /// Which cases: an area (`alias` or `alias/`), a case file (`alias/same_twice`), an id
    /// (`alias/same_twice:dtype=f32`) or a pattern (`'alias/*:dtype=bf16'`). Several add up; none means all. If the first
    /// is a folder that is no area of the corpus, it is the corpus: a recording, say.
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,

    /// The folder of case files. Without it, the first filter if that is one, or else `cases` in this folder or the nearest
    /// one above that has it.
    #[arg(long, value_name = "DIR")]
    pub cases: Option<PathBuf>,
}

/// Which engines.
#[derive(Debug, Args)]
pub struct Engines {
    /// An engine: `reference`, `interpret@3.9.0` (Triton's interpreter, tensors as CUDA's), `interpret@3.9.0+host`
    /// (with CPU tensors), `interpret@3.0.0+numpy2` (with another NumPy), `interpret@3.6.0+torch` (with torch's own
    /// tensors), `cuda@3.9.0`, `jit@3.6.0` or `jit` (Triton's launcher on this machine's GPU, with torch),
    /// `inductor@2.11.0` (under torch.compile; brings the reference and Triton's interpreter), `recorded` (what came of
    /// the run that a case was recorded from). Again for more. Without it: the reference and the newest Triton's
    /// interpreter, if that is installed or can be, and `recorded` for a recording.
    #[arg(long = "engine", value_name = "ID", value_parser = engine_id)]
    pub engines: Vec<EngineId>,

    /// Do not install toolchains; use those that are there.
    #[arg(long)]
    pub offline: bool,
}

/// Arguments of `cerith run`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith run
  cerith run alias layout scalar --engine reference --engine interpret@3.2.0
  cerith run 'alias/*:dtype=bf16' --format jsonl | jq 'select(.expected == false)'
  cerith run --shard 2/8 --out reports/shard-2      one of eight jobs; `cerith report merge` makes one run of them
  cerith run --baseline baseline.jsonl              fails only for what is new
  cerith run --last-failed --fail-fast              what failed in the run before, up to the first that still does
  cerith run --known all                            name every case that differs as expected, by cause
  cerith run --engine reference --schedules 8       is everything that is called defined the same in other orders?
  cerith run recording/ softmax_kernel              a recording, and of it one kernel's launches

A run writes events.jsonl, report.html, report.md and junit.xml into the folder given by --out.")]
pub struct RunArgs {
    /// Which cases.
    #[command(flatten)]
    pub selection: Selection,

    /// Which engines.
    #[command(flatten)]
    pub engines: Engines,

    /// How many cases to run at once. Without it, as many as there are cores.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// Run one part of N: `2/8` is every eighth case beginning with the second.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,

    /// How much the reference watches for.
    #[arg(long, value_enum, default_value_t = Checks::Full)]
    pub checks: Checks,

    /// What lanes hold that a load masks off, where it has no `other`.
    #[arg(long, value_enum, default_value_t = Masked::Undefined)]
    pub masked: Masked,

    /// Have the reference launch every case N more times with its programs in other orders: the reverse one, and then
    /// permutations that are the same in every run. A case that is defined must give the same in all of them; one that does
    /// not is a bug in Cerith, and an internal error of the run.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub schedules: u32,

    /// Let engines say nothing. Without it the run fails where an engine of `--engine` has nothing to say (no toolchain, no
    /// GPU, no record) and the case's file does not foresee that, and where a record is stale or a kernel's file cannot be
    /// loaded.
    #[arg(long)]
    pub allow_unavailable: bool,

    /// What fails it, and when it ends.
    #[command(flatten)]
    pub gate: Gate,

    /// Where what came of it goes.
    #[command(flatten)]
    pub reports: Reports,
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

/// How much the reference watches for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Checks {
    /// Everything.
    Full,
    /// Not for races between programs, conflicting lanes of one store, and false `tl.multiple_of`, `tl.max_contiguous` and
    /// `tl.max_constancy`: a case with one of them is not called undefined, and its engines may differ for that.
    Fast,
}

/// What lanes hold that a load masks off, where it has no `other`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Masked {
    /// Nothing that anybody may count on, as Triton's documentation says: what depends on them is left out.
    Undefined,
    /// Zero, as kernels compiled for NVIDIA read them: what depends on them is compared.
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

/// What is printed, and where reports go.
#[derive(Debug, Args)]
pub struct Reports {
    /// What to print: text for people, or the stream of events for programs.
    #[arg(long, value_enum, default_value_t = RunFormat::Human)]
    pub format: RunFormat,

    /// Where reports go. Without it, the folder of the command's name in `reports`, beside the corpus; for a corpus that is
    /// the first filter, in `cerith-reports/NAME` beside it, which git is told to ignore.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Print a line for every case.
    #[arg(long, short)]
    pub verbose: bool,

    /// What is said of what is known.
    #[command(flatten)]
    pub known: KnownArgs,
}

/// Arguments of `cerith sweep`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith sweep dot reduction --engine cuda@3.9.0                  on a machine with a GPU and Triton
  cerith sweep --axis num_warps --axis num_ctas=1,2 --axis layout
  cerith bundle --sweep --engine cuda@3.9.0 -o sweep.cerith        without a GPU: compile here,
  cerith exec sweep.cerith -o sweep-results.cerith                  execute there,
  cerith sweep --results sweep-results.cerith                      and judge here

The variants of a case must agree with each other: bit for bit, but where the reference says that rounding may differ.")]
pub struct SweepArgs {
    /// Which cases.
    #[command(flatten)]
    pub selection: Selection,

    /// A compiler: `cuda@3.9.0`. Again for more. Without it, the newest; with --results, those that are in them.
    #[arg(long = "engine", value_name = "ID", value_parser = engine_id)]
    pub engines: Vec<EngineId>,

    /// Along which axes.
    #[command(flatten)]
    pub along: Along,

    /// Judge what `cerith exec` wrote of a bundle made with `cerith bundle --sweep`. Again for more, which are judged
    /// together.
    #[arg(long, value_name = "RESULTS", conflicts_with = "axes")]
    pub results: Vec<PathBuf>,

    /// How many cases to work on at once. Without it, as many as there are cores.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// Do not install toolchains; use those that are there.
    #[arg(long)]
    pub offline: bool,

    /// Where what came of it goes.
    #[command(flatten)]
    pub reports: Reports,
}

/// The axes of a sweep.
#[derive(Debug, Args)]
pub struct Along {
    /// An axis, with all its values (`num_warps`) or some (`num_warps=1,8`): `num_warps`, `num_stages`, `num_ctas`,
    /// `enable_fp_fusion`, `specialize`, `config`, `layout`. Again for more. Without it, all.
    #[arg(long = "axis", value_name = "AXIS")]
    pub axes: Vec<String>,
}

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

/// Arguments of `cerith bump`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith bump 3.8.0 3.9.0                              what 3.9.0 fixed and broke
  cerith bump 3.9.0 ../triton/.venv/bin/python dtype   the same of a Triton of your own, in one area
  cerith bump 3.9.0 pr-1234                            of one that was adopted by that name
  cerith bump 3.8.0 3.9.0 --engine cuda dot            the compilers: also launches, machine code and compile time
  cerith bump 3.8.0 3.9.0 --format markdown            for a pull request
  cerith run --engine reference --engine interpret@3.8.0 --out old       on one machine, and then
  cerith bump 3.8.0 3.9.0 --against old/events.jsonl                     on another
  cerith bump 3.8.0 3.9.0 --against reports/matrix/events.jsonl          nothing is run: the stream tells of both

Each case is right or wrong by the language of its own version. Changes: broke, newly-rejected, changed (wrong in another way),
newly-undefined, rule-changed (the language changed), newly-accepted, fixed, newly-defined; and still-wrong, not-compared,
unchanged, which are counted. With `--engine cuda` both compile every case ahead of time, on any machine, and a case may besides be
signature-changed (other parameters, warps or memory), size-changed (machine code) or time-changed (compiling), the last two beyond
`--noise`. Without a GPU what it gives is taken from records: of a build, from what a release got whose machine code is the same.
A case without one that holds is not compared, and that is said.

Exit codes: 0 nothing got worse, 1 a case came to a change of --fail-on, 2 something is wrong with what was given or cannot be
written, 3 nothing was compared, 130 interrupted.")]
pub struct BumpArgs {
    /// The old Triton: a version, the Python of an environment that has it, or the name of a build that was adopted.
    #[arg(value_name = "OLD", value_parser = crate::bump::side)]
    pub old: Side,

    /// The new one.
    #[arg(value_name = "NEW", value_parser = crate::bump::side)]
    pub new: Side,

    /// Which cases.
    #[command(flatten)]
    pub selection: Selection,

    /// What of Triton is compared. Again for more. Without it, the interpreters.
    #[arg(long = "engine", value_name = "KIND", value_enum)]
    pub engines: Vec<BumpEngine>,

    /// What is noise in figures of what was compiled.
    #[command(flatten)]
    pub noise: NoiseArgs,

    /// A stream that `cerith run`, `cerith bump` or `cerith matrix` wrote, which tells of one side or of both: what it tells is
    /// not run again. Again for more.
    #[arg(long, value_name = "FILE")]
    pub against: Vec<PathBuf>,

    /// Show only these changes: `broke,fixed`.
    #[arg(long, value_name = "CHANGE", value_delimiter = ',', value_parser = change)]
    pub only: Vec<Change>,

    /// Exit with 1 if a case comes to one of these. Without it, `broke,newly-rejected`.
    #[arg(long, value_name = "CHANGE", value_delimiter = ',', value_parser = change)]
    pub fail_on: Vec<Change>,

    /// What to print.
    #[arg(long, value_enum, default_value_t = BumpFormat::Human)]
    pub format: BumpFormat,

    /// Where the stream and the reports of the run go. Without it, `reports/bump` beside the corpus.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// How many cases to run at once. Without it, as many as there are cores.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// Do not install toolchains; use those that are there.
    #[arg(long)]
    pub offline: bool,

    /// Name all cases of each group.
    #[arg(long, short)]
    pub verbose: bool,
}

/// Arguments of `cerith matrix`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith matrix                                   all installed versions, the whole corpus
  cerith matrix 3.2.0 3.9.0 alias dtype -v
  cerith matrix --format markdown > matrix.md

A case counts once for each known bug that it shows, and for one that nothing explains by what was said.

Exit codes: 0, 2 something is wrong with what was given or cannot be written, 3 nothing was judged, 130 interrupted.")]
pub struct MatrixArgs {
    /// Versions, and which cases: filters as in `cerith run`. Without versions, all that are installed.
    #[arg(value_name = "VERSION|FILTER")]
    pub words: Vec<String>,

    /// The Python of an environment with Triton, or the name of a build that was adopted. Again for more.
    #[arg(long = "build", value_name = "BUILD", value_parser = crate::bump::side)]
    pub builds: Vec<Side>,

    /// The folder of case files, as in `cerith run`.
    #[arg(long, value_name = "DIR")]
    pub cases: Option<PathBuf>,

    /// What of Triton.
    #[arg(long, value_name = "KIND", value_enum, default_value_t = BumpEngine::Interpret)]
    pub engine: BumpEngine,

    /// What to print.
    #[arg(long, value_enum, default_value_t = MatrixFormat::Human)]
    pub format: MatrixFormat,

    /// Where the stream and the reports of the run go. Without it, `reports/matrix` beside the corpus.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// How many cases to run at once. Without it, as many as there are cores.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// Do not install toolchains; use those that are there.
    #[arg(long)]
    pub offline: bool,

    /// Show every case that does not stand alike in all versions.
    #[arg(long, short)]
    pub verbose: bool,
}

/// How a matrix is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MatrixFormat {
    /// Text for people.
    Human,
    /// A table.
    Markdown,
    /// One row per line.
    Jsonl,
}

/// Arguments of `cerith bisect`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith bisect alias/same_twice:dtype=f32             between the oldest and the newest release of Triton
  cerith bisect dtype/bf16_where 3.6.0 3.9.0           between these
  cerith bisect dot/odd_shapes --engine cuda           of the compiler: on a GPU, or of what is on record
  cerith bisect scalar/negative --numpy 3.0.0          over releases of NumPy, beside one Triton
  cerith bisect alias/x v3.8.0 main --git ../triton --build 'make dev-install' --python ../triton/.venv/bin/python

Releases are installed as they are needed. The ends must not stand alike; then every step halves what lies between.

Exit codes: 0 it was found, 1 the ends stand alike, 2 something is wrong with what was given, 3 a version that was needed says
nothing, 130 interrupted.")]
pub struct BisectArgs {
    /// The case's id, or a filter that means one case.
    #[arg(value_name = "CASE")]
    pub case: String,

    /// From which version on; with --git, which commit.
    #[arg(value_name = "FROM")]
    pub from: Option<String>,

    /// Up to which.
    #[arg(value_name = "TO")]
    pub to: Option<String>,

    /// What of Triton.
    #[arg(long, value_name = "KIND", value_enum, default_value_t = BumpEngine::Interpret)]
    pub engine: BumpEngine,

    /// Over releases of NumPy beside this Triton.
    #[arg(long, value_name = "TRITON", conflicts_with_all = ["git", "from", "to"])]
    pub numpy: Option<ToolchainId>,

    /// A checkout of Triton's source, of which commits are built.
    #[arg(long, value_name = "DIR", requires_all = ["build", "python", "from", "to"])]
    pub git: Option<PathBuf>,

    /// What builds and installs the commit that is checked out, in that folder, by a shell. Where it fails, the commit is left
    /// out.
    #[arg(long, value_name = "COMMAND", requires = "git")]
    pub build: Option<String>,

    /// The Python that has it then.
    #[arg(long, value_name = "PYTHON", requires = "git")]
    pub python: Option<PathBuf>,

    /// The folder of case files, as in `cerith run`.
    #[arg(long, value_name = "DIR")]
    pub cases: Option<PathBuf>,

    /// Do not install toolchains; leave out the releases that are not there.
    #[arg(long)]
    pub offline: bool,
}

/// One side of a bump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// A toolchain by its name.
    Toolchain(ToolchainId),
    /// A Python, which is to be adopted.
    Python(PathBuf),
    /// A build that was adopted, by its name.
    Build(String),
}

/// What of Triton is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BumpEngine {
    /// Its interpreter.
    Interpret,
    /// Its compiler, on a GPU or on record.
    Cuda,
}

/// How changes are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BumpFormat {
    /// Text for people.
    Human,
    /// For a pull request.
    Markdown,
    /// Annotations of a GitHub workflow.
    Github,
    /// One group per line.
    Jsonl,
}

/// Arguments of `cerith toolchain`.
#[derive(Debug, Args)]
pub struct ToolchainArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: ToolchainCommand,
}

/// What to do with toolchains.
#[derive(Debug, Subcommand)]
pub enum ToolchainCommand {
    /// Install a Triton from PyPI, in an environment of its own, with the NumPy that fits it.
    #[command(after_help = "Examples:
  cerith toolchain add 3.9.0
  cerith toolchain add 3.0.0+numpy2     the same Triton with another NumPy
  cerith toolchain add torch2.11.0      a torch with its Triton, about 5 GB

Toolchains live in your data directory; CERITH_HOME names another one.")]
    Add {
        /// `3.9.0`, `3.9` (its last patch), `3.0.0+numpy2` or `torch2.11.0`.
        #[arg(required = true, value_name = "VERSION")]
        ids: Vec<ToolchainId>,
    },
    /// Register a Python environment that has Triton, and maybe torch, as a toolchain, without installing anything.
    #[command(after_help = "Examples:
  cerith toolchain adopt
  cerith toolchain adopt /opt/venv/bin/python
  cerith toolchain adopt --name pr-1234 ../triton/.venv/bin/python

It is named after the Triton and the NumPy in it: `3.6.0+numpy2.3.5`. A build is called by its name besides, its own or the
one of --name, so that several of one version stand beside each other: `interpret@3.10.0+git1a2b3c4`, `interpret@3.9.0+pr-1234`.
Engines of Triton 3.6.0 find it where no toolchain
of their own is installed; those that need torch (`jit`, `interpret@3.6.0+torch`) find it in any case. `remove` removes
the name and leaves the environment alone.")]
    Adopt {
        /// Its Python: a path, or a name on PATH.
        #[arg(value_name = "PYTHON", default_value = "python3")]
        python: OsString,

        /// What to call the Triton in it, which is no release: `pr-1234`. Letters, digits, `.`, `_` and `-`, with a digit or a
        /// hyphen among them.
        #[arg(long, value_name = "NAME", value_parser = build)]
        name: Option<String>,
    },
    /// List what is installed or adopted.
    List,
    /// Print the newest release of Triton on PyPI that this machine's Python can install.
    #[command(after_help = "Examples:
  cerith toolchain newest
  cerith toolchain newest --known       the newest whose language Cerith knows
  cerith bump $(cerith toolchain newest --known) $(cerith toolchain newest)

One that is newer than what Cerith knows is said to be: it is judged by the rules of the newest that is known, and a rule that
changed looks like a bug then.")]
    Newest {
        /// Print the newest release whose language Cerith knows. Asks nobody.
        #[arg(long)]
        known: bool,
    },
    /// Remove what was installed.
    Remove {
        /// As `list` shows it.
        #[arg(required = true, value_name = "VERSION")]
        ids: Vec<ToolchainId>,
    },
    /// Say what compiled kernels are kept, or remove them; the least recently used go by themselves.
    Cache {
        /// Remove them all.
        #[arg(long)]
        clear: bool,
    },
}

/// Arguments of `cerith report`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:
  cerith report reports/run/events.jsonl
  cerith report reports/run/events.jsonl --format html > report.html
  cerith report merge shard-*/events.jsonl --out reports/all  the shards of a run as the run
  cerith report a.jsonl b.jsonl --format junit     two shards in one report
  cerith report reports/run/events.jsonl --format github      annotations, in a step of a GitHub workflow

A stream without its end, and shards that are missing or there twice, are errors: exit code 2."
)]
pub struct ReportArgs {
    /// What else to do with streams.
    #[command(subcommand)]
    pub command: Option<ReportCommand>,

    /// Streams that `cerith run` wrote; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// As what.
    #[arg(long, value_enum, default_value_t = ReportFormat::Human)]
    pub format: ReportFormat,

    /// Print a line for every case (human only).
    #[arg(long, short)]
    pub verbose: bool,

    /// What is said of what is known (human only).
    #[command(flatten)]
    pub known: KnownArgs,
}

/// Arguments of `cerith bundle`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith bundle -o cases.cerith
  cerith bundle alias layout --engine cuda@3.9.0 --engine cuda@3.6.0 -o cases.cerith
  cerith bundle --sweep --axis num_warps --engine cuda@3.9.0 -o sweep.cerith

No GPU is needed. Carry the bundle and this binary to a machine that has one, and go on with `cerith exec`.")]
pub struct BundleArgs {
    /// Which cases.
    #[command(flatten)]
    pub selection: Selection,

    /// A compiler: `cuda@3.9.0`. Again for more. Without it, the newest.
    #[arg(long = "engine", value_name = "ID", value_parser = engine_id)]
    pub engines: Vec<EngineId>,

    /// Which GPUs execute: `sm_80`, `sm_90`, and what the compiler knows. What they execute is compiled for them, unless the
    /// engine names another target (`cuda@3.9.0:sm_80`).
    #[arg(long, value_name = "SM", default_value = "sm_90")]
    pub target: Target,

    /// Bundle the variants of every case, for `cerith sweep --results`.
    #[arg(long)]
    pub sweep: bool,

    /// Along which axes.
    #[command(flatten)]
    pub along: Along,

    /// Where the bundle goes.
    #[arg(long, short, value_name = "CASES")]
    pub out: PathBuf,

    /// How many cases to compile at once. Without it, as many as there are cores.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// Do not install toolchains; use those that are there.
    #[arg(long)]
    pub offline: bool,
}

/// Arguments of `cerith accept`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith accept results.cerith
  cargo insta review          looks at what is pending

What is on record of the same kernel and layout is not overwritten: where the new outcome is another, it is pending
until somebody reviews it.")]
pub struct AcceptArgs {
    /// Bundles that `cerith exec` wrote.
    #[arg(required = true, value_name = "RESULTS")]
    pub results: Vec<PathBuf>,

    /// The folder of case files. Without it, `cases` in this folder or the nearest one above that has it.
    #[arg(long, value_name = "DIR")]
    pub cases: Option<PathBuf>,

    /// Overwrite what is on record.
    #[arg(long)]
    pub replace: bool,
}

/// Arguments of `cerith import`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith import cases/mine/softmax.py:softmax_kernel
  cerith import softmax.py:softmax_kernel -o rows.yaml

Parameters are read off the kernel's text, layouts and values are guessed and marked. Nothing of the file is executed but
by the reference, which says how far the guess goes.")]
pub struct ImportArgs {
    /// The kernel: `file.py:function`.
    #[arg(value_name = "FILE.py:KERNEL")]
    pub kernel: String,

    /// The case file to write; without it, one of the kernel's name beside the kernel's file.
    #[arg(short, long, value_name = "FILE.yaml")]
    pub out: Option<PathBuf>,
}

/// Arguments of `cerith record`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith record -- python train.py
  cerith record --out recordings/attention --filter 'attn_*' -- pytest tests/test_attention.py -q
  TRITON_INTERPRET=1 cerith record --sample data -- python -m pytest tests
  cerith run recording                      what was recorded, through the reference, the record itself, and the interpreter

The program runs as it is, with the Triton that it has (3.0 or later), interpreted or compiled; the exit code is its own.
A recording holds the text of the kernels and, but for --no-data, the bytes of their arguments: look at it before you pass
it on. Nothing of it is executed but by `cerith run`, in workers that are contained.")]
pub struct RecordArgs {
    /// The folder to be made.
    #[arg(long, short, value_name = "DIR", default_value = "recording")]
    pub out: PathBuf,

    /// Only kernels whose names match this pattern (`attn_*`). Again for more.
    #[arg(long = "filter", value_name = "KERNEL")]
    pub filter: Vec<String>,

    /// The largest storage whose bytes are kept (`64K`, `16M`, `1G`). Of larger ones the layout is kept, and seeded values
    /// take the place of what they held.
    #[arg(long, value_name = "N", default_value = "16M", value_parser = byte_count)]
    pub max_bytes: u64,

    /// The most that each process writes, compressed; from there on layouts alone are kept.
    #[arg(long, value_name = "N", default_value = "1G", value_parser = byte_count)]
    pub max_size: u64,

    /// Which launches of a kernel are kept: `layout` (the first of each grid, layout and set of scalars), `data` (those
    /// with other bytes too), `every`, or a number (so many of each kernel).
    #[arg(long, value_name = "RULE", default_value = "layout", value_parser = sample)]
    pub sample: String,

    /// Keep layouts and seeds only: no bytes, no command line.
    #[arg(long)]
    pub no_data: bool,

    /// Make the recording of part files that an interrupted `cerith record`, or the Python package, left behind.
    #[arg(long, value_name = "PARTS", conflicts_with = "command")]
    pub collect: Option<PathBuf>,

    /// The program and its arguments, behind `--`.
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "collect")]
    pub command: Vec<OsString>,
}

/// A number of bytes, with `K`, `M` or `G` for powers of 1024.
fn byte_count(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.strip_suffix(|c: char| "kKmMgG".contains(c)) {
        None => (text, 0),
        Some(digits) => match text.as_bytes().last() {
            Some(b'k' | b'K') => (digits, 10),
            Some(b'm' | b'M') => (digits, 20),
            _ => (digits, 30),
        },
    };
    digits
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| "write a number of bytes, such as `4096`, `64K`, `16M` or `1G`".to_owned())
}

/// A rule of [`RecordArgs::sample`].
fn sample(text: &str) -> Result<String, String> {
    let known = ["layout", "data", "every"].contains(&text) || text.parse::<u32>().is_ok_and(|most| most > 0);
    if known {
        Ok(text.to_owned())
    } else {
        Err("write `layout`, `data`, `every` or how many of each kernel".to_owned())
    }
}

/// Arguments of `cerith exec`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith exec cases.cerith -o results.cerith
  cerith exec cases.cerith -o results.cerith --repeat 10 --time-limit 60

The machine needs a GPU, its driver and this binary, and nothing else. A case that faults, hangs or kills its process is
a result like any other.")]
pub struct ExecArgs {
    /// The bundle that `cerith bundle` wrote.
    #[arg(value_name = "CASES")]
    pub cases: PathBuf,

    /// Where the bundle of results goes.
    #[arg(long, short, value_name = "RESULTS")]
    pub out: PathBuf,

    /// How often each case is done, always from its first memory; results that differ are reported.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeat: u32,

    /// Seconds that a case may take, all repetitions together.
    #[arg(long, value_name = "S", default_value = "10", value_parser = seconds)]
    pub time_limit: Duration,
}

/// Arguments of `cerith fuzz`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  cerith fuzz --count 10000                       against the newest Triton's interpreter
  cerith fuzz --engine interpret@3.6.0 --time 600 --seed 7 --out reports/fuzz-3.6
  cerith fuzz --resume reports/fuzz-3.6           goes on where that ended
  cerith fuzz --engine reference --count 10000    no other engine: kernels against their twins
  cerith fuzz --engine cuda@3.9.0 --out DIR       without a GPU: a bundle, for `cerith exec`
  cerith fuzz --resume DIR --results FILE         what came of it
  cerith fuzz range reports/fuzz/findings/NAME    which versions have it?
  cerith fuzz promote reports/fuzz/findings/NAME  a case of the corpus, and a row of reports/findings.md

The same seed makes the same cases on every machine. A difference that known bugs explain is counted by them; any other is
kept in a folder of its own in DIR/findings, the first one of each signature: case.yaml and kernel.py; repro.py, which needs
torch and triton alone; report.md, in the shape that Triton's maintainers ask for.
A finding is news, not yet a bug: look who is wrong before you report it.

Exit codes: 0 nothing was found, 1 something was, 2 something is wrong with what was given or cannot be written, 3 there is
no engine to hold the reference to, 130 interrupted."
)]
pub struct FuzzArgs {
    /// Which engines.
    #[command(flatten)]
    pub engines: Engines,

    /// How many cases to try. Without it and --time, until Ctrl-C.
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,

    /// For how many seconds.
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub time: Option<Duration>,

    /// What the cases are made of. Without it 0, or the seed of the campaign that is resumed.
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,

    /// Try cases that break one rule on purpose: undefined and illegal programs. The reference must say what is foretold, and no
    /// engine may die of it. A campaign that is resumed stays what it is.
    #[arg(long)]
    pub broken: bool,

    /// How many cases to try at once. Without it, as many as there are cores.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// The campaign's folder.
    #[arg(long, value_name = "DIR", default_value = "reports/fuzz")]
    pub out: PathBuf,

    /// Go on with the campaign in that folder; `--resume DIR` is short for `--resume --out DIR`.
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    #[allow(
        clippy::option_option,
        reason = "how clap tells an option with no value from none"
    )]
    pub resume: Option<Option<PathBuf>>,

    /// What `cerith exec` made of the campaign's bundles: it is judged. Again for more.
    #[arg(long, value_name = "FILE", requires = "resume")]
    pub results: Vec<PathBuf>,

    /// Keep findings as they were made. Without it they are made smaller when the campaign is over, a minute each at most.
    #[arg(long)]
    pub no_reduce: bool,

    /// Take kernels as they come, and not those that have most in them that few others had.
    #[arg(long, conflicts_with = "resume")]
    pub unsteered: bool,

    /// What to do with findings.
    #[command(subcommand)]
    pub command: Option<FuzzCommand>,
}

/// What to do with findings.
#[derive(Debug, Subcommand)]
pub enum FuzzCommand {
    /// Ask every installed version about findings, and write it into their reports.
    Range(RangeArgs),
    /// Keep a case that somebody has, reduced or written by hand, as a finding.
    Keep(KeepArgs),
    /// Make a finding a case of the corpus, with what is expected of every installed version.
    Promote(PromoteArgs),
    /// Write `reports/findings.md`, the table of what Cerith has found, out of the cases that say `found:`.
    Trophies(TrophiesArgs),
}

/// Arguments of `cerith fuzz keep`.
#[derive(Debug, Args)]
pub struct KeepArgs {
    /// The folder of the case.
    #[arg(value_name = "CASES")]
    pub cases: PathBuf,

    /// Which case, where there are several.
    #[arg(value_name = "FILTER")]
    pub filter: Option<String>,

    /// Which engines.
    #[command(flatten)]
    pub engines: Engines,

    /// Keep a difference that a known bug explains, too: to report it.
    #[arg(long)]
    pub known: bool,

    /// The folder of findings.
    #[arg(long, value_name = "DIR", default_value = "reports/fuzz/findings")]
    pub out: PathBuf,
}

/// Arguments of `cerith fuzz promote`.
#[derive(Debug, Args)]
pub struct PromoteArgs {
    /// The finding's folder: `DIR/findings/NAME`.
    #[arg(value_name = "FINDING")]
    pub finding: PathBuf,

    /// The corpus. Without it, `cases` in this folder or the nearest one above that has it.
    #[arg(long, value_name = "DIR")]
    pub cases: Option<PathBuf>,

    /// The case's id. Without it, `fuzz/` and the finding's name.
    #[arg(long = "as", value_name = "AREA/NAME")]
    pub name: Option<String>,

    /// What the case shows, in a sentence.
    #[arg(long, value_name = "TEXT")]
    pub about: Option<String>,

    /// Why the engine is wrong.
    #[arg(long, value_name = "TEXT")]
    pub why: Option<String>,

    /// Where upstream has it. Without it, it is new.
    #[arg(long, value_name = "LINK")]
    pub upstream: Option<String>,

    /// What became of it: `unreported`, `reported` or `fixed`.
    #[arg(long, value_name = "STATE", default_value = "unreported", value_parser = found_state)]
    pub state: FoundState,
}

/// Arguments of `cerith fuzz trophies`.
#[derive(Debug, Args)]
pub struct TrophiesArgs {
    /// The corpus. Without it, `cases` in this folder or the nearest one above that has it.
    #[arg(long, value_name = "DIR")]
    pub cases: Option<PathBuf>,

    /// Write nothing; exit code 1 if the page is not what the cases say.
    #[arg(long)]
    pub check: bool,
}

/// Arguments of `cerith fuzz range`.
#[derive(Debug, Args)]
pub struct RangeArgs {
    /// Folders of findings: `DIR/findings/NAME`.
    #[arg(value_name = "FINDING", required = true)]
    pub findings: Vec<PathBuf>,
}

/// Arguments of `cerith reduce`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith reduce layout/split_columns:dtype=f32 --engine interpret@3.2.0
  cerith reduce --cases reports/fuzz/findings interpret-3.9.0-memory-sum/case --time 30

What stays: the engine that differs, the kind of difference, the known bugs that explain it or that none does, and the words of
an exception. The reference is asked first whether a candidate is accepted and has an answer; only those go to engines.
Ctrl-C keeps the smallest case so far.

Exit codes: 0 it was made smaller as far as it gets in the time, 2 something is wrong with what was given, nothing differs, or
nothing can be written, 3 an engine that was asked for cannot run, 130 interrupted.")]
pub struct ReduceArgs {
    /// The case's id; before it, a folder that is the corpus, as for `cerith run`.
    #[arg(value_name = "CASE", required = true)]
    pub case: Vec<String>,

    /// The folder of case files.
    #[arg(long, value_name = "DIR")]
    pub cases: Option<PathBuf>,

    /// Which engines: those of them that differ are held to it.
    #[command(flatten)]
    pub engines: Engines,

    /// For how many seconds at most.
    #[arg(long, value_name = "S", value_parser = seconds, default_value = "60")]
    pub time: Duration,

    /// How many candidates to try at once. Without it, as many as there are cores.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// The folder for the smaller case. Without it `reports/reduce/ID` beside the corpus.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// What a run prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RunFormat {
    /// Text for people.
    Human,
    /// One event per line.
    Jsonl,
}

/// What a stream can be printed as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// Text for people.
    Human,
    /// One page that needs nothing else.
    Html,
    /// XML for a CI.
    Junit,
    /// For a pull request: shorter than GitHub's limit of a comment.
    Markdown,
    /// Commands of a GitHub workflow, which put what is not as expected beside its line.
    Github,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
}

fn found_state(text: &str) -> Result<FoundState, String> {
    FoundState::from_name(text).ok_or_else(|| "write `unreported`, `reported` or `fixed`".to_owned())
}

fn engine_id(text: &str) -> Result<EngineId, String> {
    if text == "jit" {
        return engines::newest_with_torch()
            .map(|version| EngineId::Jit { version })
            .ok_or_else(|| {
                "no toolchain here holds torch; `cerith toolchain adopt PYTHON` registers an environment that does"
                    .to_owned()
            });
    }
    text.parse()
        .map_err(|error: cerith_engine::BadEngineId| match error.suggestion {
            Some(suggestion) => format!("{}\n  did you mean `{suggestion}`?", error.reason),
            None => error.reason,
        })
}

fn change(text: &str) -> Result<Change, String> {
    let all = Change::ALL.into_iter();
    all.clone().find(|change| change.name() == text).ok_or_else(|| {
        let names: Vec<&str> = all.map(Change::name).collect();
        format!("the changes are {}", names.join(", "))
    })
}

fn build(text: &str) -> Result<String, String> {
    if cerith_toolchain::id::is_build(text) {
        Ok(text.to_owned())
    } else {
        Err(
            "write letters, digits, `.`, `_` and `-`, with a digit or a hyphen among them, such as pr-1234"
                .to_owned(),
        )
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| "write a number of seconds, such as 10 or 0.5".to_owned())?;
    if (0.001..=86_400.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("from 0.001 to 86400 seconds are possible".to_owned())
    }
}
