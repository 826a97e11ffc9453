//! Arguments of `cerith report`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::known_detail::KnownArgs;
use super::merge::ReportCommand;

/// Arguments of `cerith report`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:
  cerith report reports/run/events.jsonl
  cerith report reports/run/events.jsonl --format html > report.html
  cerith report merge shard-*/events.jsonl --out reports/all  merge the shards of a run
  cerith report a.jsonl b.jsonl --format junit     two shards in one report
  cerith report reports/run/events.jsonl --format github      annotations, in a step of a GitHub workflow

A stream that is cut short is an error, and so are shards that are missing or given twice: exit code 2."
)]
pub struct ReportArgs {
    /// Other commands for streams.
    #[command(subcommand)]
    pub command: Option<ReportCommand>,

    /// Streams that `cerith run` wrote; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// The output format.
    #[arg(long, value_enum, default_value_t = ReportFormat::Human)]
    pub format: ReportFormat,

    /// Print a line for every case (human only).
    #[arg(long, short)]
    pub verbose: bool,

    /// How much is printed about known differences (human only).
    #[command(flatten)]
    pub known_args: KnownArgs,
}

/// The formats of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// Text for people.
    Human,
    /// One page that needs nothing else.
    Html,
    /// XML for a CI.
    Junit,
    /// For a pull request: shorter than GitHub's limit for a comment.
    Markdown,
    /// Commands of a GitHub workflow, which show each failure beside its line.
    Github,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
}
