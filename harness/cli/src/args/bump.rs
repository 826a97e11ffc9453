//! Arguments of the commands that compare versions: `bump`, `matrix`, `bisect`.

use std::path::PathBuf;

use cerith_report::bump::Change;
use cerith_runner::side::Side;
use cerith_toolchain::ToolchainId;
use clap::{Args, ValueEnum};

use super::bad_value::BadValue;
use super::noise::NoiseArgs;
use super::selection::Selection;

/// Arguments of `cerith bump`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith bump 3.8.0 3.9.0                              what 3.9.0 fixed and broke
  cerith bump 3.9.0 ../triton/.venv/bin/python dtype   what a Triton of your own fixed and broke, in one area
  cerith bump 3.9.0 pr-1234                            what a build fixed and broke that was adopted by that name
  cerith bump 3.8.0 3.9.0 --engine cuda dot            compare the compilers: also launches, machine code and compile time
  cerith bump 3.8.0 3.9.0 --engine ptx my/cases        the same for kernels without a record, without a GPU
  cerith bump 3.8.0 3.9.0 --format markdown            for a pull request
  cerith run --engine reference --engine interpret@3.8.0 --out old       on one machine, and then
  cerith bump 3.8.0 3.9.0 --against old/events.jsonl                     on another
  cerith bump 3.8.0 3.9.0 --against reports/matrix/events.jsonl          nothing is run: the stream has both sides

Each version is judged by its own language. The changes are broke, newly-rejected, changed (still wrong, with another result), \
newly-undefined, rule-changed (the language changed), newly-accepted, fixed and newly-defined. Cases that are still-wrong, \
not-compared or unchanged are only counted.

With `--engine cuda` both sides compile every case ahead of time, on any machine. A case may then also be signature-changed (other \
parameters, warps or memory), size-changed (of the machine code) or time-changed (of the compilation). The last two count only beyond \
`--noise`. Without a GPU, results are taken from records. A build takes the record of a release whose machine code is the same. \
A case without a valid record is not compared, and the report says so. With `--engine ptx` every case is compiled for sm_80 and \
its PTX executed here, on any machine.

Exit codes: 0 nothing got worse; 1 a case has a change that --fail-on names; 2 the input is bad, or the output cannot be \
written; 3 nothing was compared; 130 interrupted.")]
pub struct BumpArgs {
    /// The old Triton: a version, the Python of an environment that has it, or the name of a build that was adopted.
    #[arg(value_name = "OLD")]
    pub old: Side,

    /// The new Triton, named as the old one.
    #[arg(value_name = "NEW")]
    pub new: Side,

    /// The selected cases.
    #[command(flatten)]
    pub selection: Selection,

    /// The part of Triton to compare. Repeat for more. Without it, the interpreters.
    #[arg(long = "engine", value_name = "KIND", value_enum)]
    pub engines: Vec<BumpEngine>,

    /// How much the figures of compiled kernels may change by chance.
    #[command(flatten)]
    pub noise: NoiseArgs,

    /// A stream that `cerith run`, `cerith bump` or `cerith matrix` wrote, with one side or both. Its cases are not run
    /// again. Repeat for more.
    #[arg(long, value_name = "FILE")]
    pub against: Vec<PathBuf>,

    /// Show only these changes: `broke,fixed`.
    #[arg(long, value_name = "CHANGE", value_delimiter = ',', value_parser = change)]
    pub only: Vec<Change>,

    /// Exit with 1 if a case has one of these changes. Without it, `broke,newly-rejected`.
    #[arg(long, value_name = "CHANGE", value_delimiter = ',', value_parser = change)]
    pub fail_on: Vec<Change>,

    /// The output format.
    #[arg(long, value_enum, default_value_t = BumpFormat::Human)]
    pub format: BumpFormat,

    /// Where the stream and the reports of the run go. Without it, `reports/bump` beside the corpus.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// How many cases to run at once. Without it, as many as there are cores.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// Do not install toolchains; use those that are installed.
    #[arg(long)]
    pub offline: bool,

    /// Name all cases of each group.
    #[arg(long, short)]
    pub verbose: bool,
}

/// Arguments of `cerith matrix`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith matrix                                   run the whole corpus through all installed versions
  cerith matrix 3.2.0 3.9.0 alias dtype -v
  cerith matrix --format markdown > matrix.md

A case counts once for each known bug that it shows. A difference that no known bug explains is counted by its message.

Exit codes: 0 the matrix is printed; 2 the input is bad, or the output cannot be written; 3 nothing was judged; 130 interrupted.")]
pub struct MatrixArgs {
    /// Versions, and filters of cases as in `cerith run`. Without versions, all that are installed.
    #[arg(value_name = "VERSION|FILTER")]
    pub words: Vec<String>,

    /// The Python of an environment with Triton, or the name of a build that was adopted. Repeat for more.
    #[arg(long = "build", value_name = "BUILD")]
    pub builds: Vec<Side>,

    /// The folder of case files, as in `cerith run`.
    #[arg(long, value_name = "DIR")]
    pub cases: Option<PathBuf>,

    /// The part of Triton to test.
    #[arg(long, value_name = "KIND", value_enum, default_value_t = BumpEngine::Interpret)]
    pub engine: BumpEngine,

    /// The output format.
    #[arg(long, value_enum, default_value_t = MatrixFormat::Human)]
    pub format: MatrixFormat,

    /// Where the stream and the reports of the run go. Without it, `reports/matrix` beside the corpus.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// How many cases to run at once. Without it, as many as there are cores.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// Do not install toolchains; use those that are installed.
    #[arg(long)]
    pub offline: bool,

    /// Show every case that is not the same in all versions.
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
  cerith bisect alias/same_twice:dtype=f32             search from the oldest to the newest release of Triton
  cerith bisect dtype/bf16_where 3.6.0 3.9.0           search between these two
  cerith bisect dot/odd_shapes --engine cuda           search the compilers, on a GPU or in the records
  cerith bisect scalar/negative --numpy 3.0.0          search the releases of NumPy, with one Triton
  cerith bisect alias/x v3.8.0 main --git ../triton --build 'make dev-install' --python ../triton/.venv/bin/python

Releases are installed as they are needed. The case must be right at one end and wrong at the other. Each step halves the range.

Exit codes: 0 the version was found; 1 both ends produce the same result; 2 the input is bad; 3 a version that was needed has no outcome; \
130 interrupted.")]
pub struct BisectArgs {
    /// The case's id, or a filter that selects one case.
    #[arg(value_name = "CASE")]
    pub case: String,

    /// The first version to try; with --git, the first commit.
    #[arg(value_name = "FROM")]
    pub from: Option<String>,

    /// The last version to try; with --git, the last commit.
    #[arg(value_name = "TO")]
    pub to: Option<String>,

    /// The part of Triton to test.
    #[arg(long, value_name = "KIND", value_enum, default_value_t = BumpEngine::Interpret)]
    pub engine: BumpEngine,

    /// Search the releases of NumPy, with this Triton.
    #[arg(long, value_name = "TRITON", conflicts_with_all = ["git", "from", "to"])]
    pub numpy: Option<ToolchainId>,

    /// A checkout of Triton's source, whose commits are built.
    #[arg(long, value_name = "DIR", requires_all = ["build", "python", "from", "to"])]
    pub git: Option<PathBuf>,

    /// The shell command that builds and installs the checked-out commit; it runs in that folder. A commit for which it fails
    /// is left out.
    #[arg(long, value_name = "COMMAND", requires = "git")]
    pub build: Option<String>,

    /// The Python into which the command installs Triton.
    #[arg(long, value_name = "PYTHON", requires = "git")]
    pub python: Option<PathBuf>,

    /// The folder of case files, as in `cerith run`.
    #[arg(long, value_name = "DIR")]
    pub cases: Option<PathBuf>,

    /// Do not install toolchains; leave out the releases that are not installed.
    #[arg(long)]
    pub offline: bool,
}

/// The part of Triton to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BumpEngine {
    /// Its interpreter.
    Interpret,
    /// Its compiler, on a GPU or from the records.
    Cuda,
    /// Its compiler, its PTX for `sm_80` executed here: also for kernels without a record.
    Ptx,
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

fn change(text: &str) -> Result<Change, BadValue> {
    let all = Change::ALL.into_iter();
    all.clone().find(|change| change.name() == text).ok_or_else(|| {
        let names: Vec<&str> = all.map(Change::name).collect();
        BadValue::Change(names.join(", "))
    })
}
