//! Arguments of `cerith report merge`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::BaselineArgs;
use super::known_detail::KnownArgs;
use super::output::output_file;

/// Other commands for streams.
#[derive(Debug, Subcommand)]
pub enum ReportCommand {
    /// Merge the streams of a run's shards into one stream.
    Merge(MergeArgs),
    /// Write down the failures of a run, for `cerith run --baseline`.
    Baseline(BaselineArgs),
}

/// Arguments of `cerith report merge`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith run --shard 2/16 --out shard-2                        one of 16 jobs, and after all of them
  cerith report merge shard-*/events.jsonl --out reports/all   the stream, report.html, report.md, junit.xml
  cerith report merge shard-*/events.jsonl -o all.jsonl        the stream alone; without -o, on standard output

The result is what the run without shards writes. It has an error, with file and line, for each shard that is missing, given \
twice, damaged, cut short or of another run (another corpus, other engines, other options, another cerith). The sound part of the \
streams is merged anyway. Run the missing shards, and merge all streams again.

Exit codes: those of the merged run; 2 if a stream is bad, or the output cannot be written.")]
pub struct MergeArgs {
    /// The streams: `events.jsonl` of each shard.
    #[arg(required = true, value_name = "STREAM")]
    pub streams: Vec<PathBuf>,

    /// The file for the merged stream. Without it and --out, standard output.
    #[arg(short, long = "stream", value_name = "FILE", conflicts_with = "out", value_parser = output_file)]
    pub output: Option<PathBuf>,

    /// The output folder, for the merged stream and its reports.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// How much is printed about known differences.
    #[command(flatten)]
    pub known_args: KnownArgs,
}
