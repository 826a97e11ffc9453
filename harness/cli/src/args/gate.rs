//! Arguments of `cerith run` that say what fails a run and when it ends, and of `cerith report baseline`.

use std::path::PathBuf;

use clap::Args;

use super::output::output_file;

/// The conditions that fail a run, and that end it early.
#[derive(Debug, Args)]
pub struct Gate {
    /// Accept the failures in this baseline: a file that `cerith report baseline` wrote, or the stream of a run. New failures
    /// fail the run; fixed ones are reported. Bad input and internal errors are never in a baseline.
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,

    /// Run only the cases that were not as expected in the last run into the same folder (--out).
    #[arg(long)]
    pub last_failed: bool,

    /// End the run with the first case that is not as expected: `--max-failures 1`.
    #[arg(long, conflicts_with = "max_failures")]
    pub fail_fast: bool,

    /// End the run once N cases are not as expected. The others are not run, and the reports say so.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_failures: Option<u64>,
}

impl Gate {
    /// After how many failures the run ends.
    pub fn enough(&self) -> Option<u64> {
        if self.fail_fast {
            Some(1)
        } else {
            self.max_failures
        }
    }
}

/// Arguments of `cerith report baseline`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith report baseline reports/run/events.jsonl -o baseline.jsonl             accept today's failures
  cerith run --baseline baseline.jsonl                                          fail only for new failures
  cerith report baseline reports/run/events.jsonl --prune baseline.jsonl -o baseline.jsonl   drop fixed failures

Exit codes: 0 the baseline is written; 2 the stream or the baseline is damaged, or the output cannot be written. After an error \
the old baseline is unchanged.")]
pub struct BaselineArgs {
    /// The stream of a run.
    #[arg(value_name = "STREAM")]
    pub stream: PathBuf,

    /// Remove fixed failures from this baseline, and add nothing.
    #[arg(long, value_name = "FILE")]
    pub prune: Option<PathBuf>,

    /// The file for the baseline. Without it, standard output.
    #[arg(long = "output", short = 'o', value_name = "FILE", value_parser = output_file)]
    pub output: Option<PathBuf>,
}
