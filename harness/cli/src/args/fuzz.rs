//! Arguments of `cerith fuzz` and `cerith reduce`.

use std::path::PathBuf;
use std::time::Duration;

use cerith_case::FoundState;
use clap::{Args, Subcommand};

use super::bad_value::BadValue;
use super::gpu::parse_seconds;
use super::selection::Engines;

/// Arguments of `cerith fuzz`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  cerith fuzz --count 10000                       try cases against the newest Triton's interpreter
  cerith fuzz --engine interpret@3.6.0 --time 600 --seed 7 --out reports/fuzz-3.6
  cerith fuzz --resume reports/fuzz-3.6           go on where that campaign ended
  cerith fuzz --engine reference --count 10000    compare kernels with their twins, without another engine
  cerith fuzz --engine cuda@3.9.0 --out DIR       without a GPU: make a bundle for `cerith exec`
  cerith fuzz --resume DIR --results FILE         judge the results of that bundle
  cerith fuzz range reports/fuzz/findings/NAME    find the versions that have it
  cerith fuzz promote reports/fuzz/findings/NAME  make it a case of the corpus, and a row of reports/findings.md

The same seed makes the same cases on every machine. A difference that known bugs explain is counted under them. The others \
are grouped by signature: the first of each group is kept as a finding, in a folder of its own in DIR/findings: case.yaml and kernel.py; repro.py, which \
needs only torch and triton; report.md, in the form of Triton's issue template. \
A finding is not yet a bug: find out who is wrong before you report it.

Exit codes: 0 nothing was found; 1 something was found; 2 the input is bad, or the output cannot be written; 3 there is no \
engine to compare the reference with; 130 interrupted."
)]
pub struct FuzzArgs {
    /// The selected engines.
    #[command(flatten)]
    pub engines: Engines,

    /// How many cases to try. Without it and --time, the campaign runs until Ctrl-C.
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,

    /// How many seconds the campaign runs.
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    pub time: Option<Duration>,

    /// The seed from which the cases are made. Without it, 0, or the seed of the campaign that is resumed.
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,

    /// Try cases that break one rule on purpose: undefined and illegal programs. The reference must report the rule that was
    /// broken, and no engine may crash. A campaign that is resumed keeps its kind of cases.
    #[arg(long)]
    pub broken: bool,

    /// How many cases to try at once. Without it, as many as there are cores.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// The campaign's folder.
    #[arg(long, value_name = "DIR", default_value = "reports/fuzz")]
    pub out: PathBuf,

    /// Continue the campaign in that folder; `--resume DIR` is short for `--resume --out DIR`.
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    #[allow(
        clippy::option_option,
        reason = "how clap tells an option with no value from none"
    )]
    pub resume: Option<Option<PathBuf>>,

    /// Results that `cerith exec` wrote for the campaign's bundles. They are judged. Repeat for more.
    #[arg(long, value_name = "FILE", requires = "resume")]
    pub results: Vec<PathBuf>,

    /// Keep findings as they were found. Without it, each is reduced when the campaign is over, for a minute at most.
    #[arg(long)]
    pub no_reduce: bool,

    /// Take kernels as they come. Without it, the campaign prefers kernels with features that few others had.
    #[arg(long, conflicts_with = "resume")]
    pub unsteered: bool,

    /// The command for findings.
    #[command(subcommand)]
    pub command: Option<FuzzCommand>,
}

/// The commands for findings.
#[derive(Debug, Subcommand)]
pub enum FuzzCommand {
    /// Ask every installed version about findings, and write it into their reports.
    Range(RangeArgs),
    /// Keep a case as a finding, one that you reduced or wrote by hand.
    Keep(KeepArgs),
    /// Make a finding a case of the corpus, with an expectation for every installed version.
    Promote(PromoteArgs),
    /// Write `reports/findings.md`, the table of Cerith's findings, from the cases that say `found:`.
    Trophies(TrophiesArgs),
}

/// Arguments of `cerith fuzz keep`.
#[derive(Debug, Args)]
pub struct KeepArgs {
    /// The case file, the kernel's file beside it, or the folder of the case.
    #[arg(value_name = "CASES")]
    pub cases: PathBuf,

    /// The case, if there are several.
    #[arg(value_name = "FILTER")]
    pub filter: Option<String>,

    /// The selected engines.
    #[command(flatten)]
    pub engines: Engines,

    /// Also keep a difference that a known bug explains, to report it.
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

    /// A sentence about what the case shows.
    #[arg(long, value_name = "TEXT")]
    pub about: Option<String>,

    /// Why the engine is wrong.
    #[arg(long, value_name = "TEXT")]
    pub why: Option<String>,

    /// The link of the bug at Triton's. Without it, the bug is new.
    #[arg(long, value_name = "LINK")]
    pub upstream: Option<String>,

    /// The state of the bug at Triton's: `unreported`, `reported` or `fixed`.
    #[arg(long, value_name = "STATE", default_value = "unreported", value_parser = found_state)]
    pub state: FoundState,
}

/// Arguments of `cerith fuzz trophies`.
#[derive(Debug, Args)]
pub struct TrophiesArgs {
    /// The corpus. Without it, `cases` in this folder or the nearest one above that has it.
    #[arg(long, value_name = "DIR")]
    pub cases: Option<PathBuf>,

    /// Write nothing, and exit with 1 if the page is not up to date with the cases.
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

A smaller case must keep the engine that differs, the kind of difference, the known bugs that explain it (or that none does), and \
the message of an exception. The reference sees each candidate first. Only those that it accepts and that have a defined answer \
go to the engines. Ctrl-C keeps the smallest case so far.

Exit codes: 0 the case was made as small as the time allowed; 2 the input is bad, nothing differs, or the output cannot be \
written; 3 an engine that was asked for cannot run; 130 interrupted.")]
pub struct ReduceArgs {
    /// The case's id. A folder before it is the corpus, as for `cerith run`.
    #[arg(value_name = "CASE", required = true)]
    pub case: Vec<String>,

    /// The folder of case files.
    #[arg(long, value_name = "DIR")]
    pub cases: Option<PathBuf>,

    /// Which engines. Those that differ must still differ in the smaller case.
    #[command(flatten)]
    pub engines: Engines,

    /// How many seconds it may take.
    #[arg(long, value_name = "S", value_parser = parse_seconds, default_value = "60")]
    pub time: Duration,

    /// How many candidates to try at once. Without it, as many as there are cores.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// The folder for the smaller case. Without it, `reports/reduce/ID` beside the corpus.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

fn found_state(text: &str) -> Result<FoundState, BadValue> {
    FoundState::from_name(text).ok_or(BadValue::FoundState)
}
