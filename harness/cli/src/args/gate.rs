//! Arguments of `cerith run` that say what fails a run and when it ends, and of `cerith report baseline`.

use std::path::PathBuf;

use clap::Args;

/// What fails a run, and when it ends.
#[derive(Debug, Args)]
pub struct Gate {
    /// Let what is in this baseline pass: a file that `cerith report baseline` wrote, or the stream of a run. What is new fails the
    /// run; what is mended is told. Errors in what was given and internal errors are in no baseline.
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,

    /// Run only the cases that were not as expected in the last run into the same folder (--out).
    #[arg(long)]
    pub last_failed: bool,

    /// End the run with the first case that is not as expected: `--max-failures 1`.
    #[arg(long, conflicts_with = "max_failures")]
    pub fail_fast: bool,

    /// End the run once so many cases are not as expected. The others are not run, and the reports say so.
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
  cerith report baseline reports/run/events.jsonl -o baseline.jsonl             what is not as expected now
  cerith run --baseline baseline.jsonl                                          fails for what is new
  cerith report baseline reports/run/events.jsonl --prune baseline.jsonl -o baseline.jsonl   without what is mended

Exit codes: 0, 2 if the stream or the baseline is damaged or nothing can be written; the old baseline is as it was then.")]
pub struct BaselineArgs {
    /// The stream of a run.
    #[arg(value_name = "STREAM")]
    pub stream: PathBuf,

    /// Take what is mended out of this baseline, and add nothing.
    #[arg(long, value_name = "FILE")]
    pub prune: Option<PathBuf>,

    /// Where the baseline goes. Without it, to standard output.
    #[arg(long = "output", short = 'o', value_name = "FILE")]
    pub output: Option<PathBuf>,
}
