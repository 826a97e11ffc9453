//! Arguments of `cerith expect`.

use std::path::PathBuf;

use clap::Args;

use super::selection::Selection;

/// Arguments of `cerith expect`.
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith run                                 and then
  cerith expect                              review, one by one, what that run found that nobody wrote down
  cerith expect --list                       show it, and what no longer happens
  cerith expect dtype --accept --why \"bf16 is computed on its pattern\"
  cerith expect --prune                      take out what no longer happens
  cerith expect --check                      for CI: fails where there is something to write or to take out

An expectation is written for the versions and the cases that the run saw, no others: widen it by hand where you know more. Only lines
below `expect:` are touched. Nothing is written where Cerith itself failed, where the reference is to blame or does not know the
language, or where nothing was compared: that is mended, not expected. What is taken out speaks of no version that the run did not ask.

Exit codes: 0, 1 if --check finds something or a case cannot be written down, 2 something is wrong with what was given or cannot be
written.")]
pub struct ExpectArgs {
    /// Which cases.
    #[command(flatten)]
    pub selection: Selection,

    /// The folder with the reports of the run. Without it, where `cerith run` puts them.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Write every expectation that can be written.
    #[arg(long)]
    pub accept: bool,

    /// Take out every expectation that no longer happens and can be taken out.
    #[arg(long)]
    pub prune: bool,

    /// Show what would be done, and do nothing.
    #[arg(long, conflicts_with_all = ["accept", "prune"])]
    pub list: bool,

    /// The same, and exit with 1 where there is something to do.
    #[arg(long, conflicts_with_all = ["accept", "prune", "list"])]
    pub check: bool,

    /// Review even where standard input is no terminal: a line with one of the letters for each.
    #[arg(long, conflicts_with_all = ["accept", "prune", "list", "check"])]
    pub review: bool,

    /// The reason to write. Without it, what was seen.
    #[arg(long, value_name = "TEXT")]
    pub why: Option<String>,
}
