//! Arguments of `cerith report merge`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::BaselineArgs;
use crate::known::KnownArgs;

/// What else to do with streams.
#[derive(Debug, Subcommand)]
pub enum ReportCommand {
    /// Make one stream of the streams of a run's shards.
    Merge(MergeArgs),
    /// Write down what is not as expected in a run, for `cerith run --baseline`.
    Baseline(BaselineArgs),
}

/// Arguments of `cerith report merge`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith run --shard 2/16 --out shard-2                        one of 16 jobs, and behind them
  cerith report merge shard-*/events.jsonl --out reports/all   the stream, report.html, report.md, junit.xml
  cerith report merge shard-*/events.jsonl -o all.jsonl        the stream alone; without -o, on standard output

What comes out is what the run without shards writes. A shard that is missing, there twice, of another run (another corpus,
other engines, other options, another cerith), damaged or without its end is an error in what comes out, with its file and
line; what is sound of the streams is merged all the same. Run what is missing again, and merge all streams again.

Exit codes: those of the run that is merged; 2 if anything is wrong with a stream, or the result cannot be written.")]
pub struct MergeArgs {
    /// The streams: `events.jsonl` of each shard.
    #[arg(required = true, value_name = "STREAM")]
    pub streams: Vec<PathBuf>,

    /// Where the merged stream goes.
    #[arg(short, long = "stream", value_name = "FILE", conflicts_with = "out")]
    pub output: Option<PathBuf>,

    /// A folder for the merged stream and the reports made of it.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// What is said of what is known.
    #[command(flatten)]
    pub known: KnownArgs,
}
