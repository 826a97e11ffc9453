//! Arguments of `cerith expect`.

use std::path::PathBuf;

use clap::Args;

use super::selection::Selection;

/// Arguments of `cerith expect`.
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith run                                 first run the corpus, and then
  cerith expect                              review the unexpected differences of that run, one by one
  cerith expect --list                       show them, and the expectations that no longer happen
  cerith expect dtype --accept --why \"bf16 is computed on its pattern\"
  cerith expect --prune                      remove the expectations that no longer happen
  cerith expect --check                      for CI: fail if there is something to write or to remove

An expectation is written only for the versions and the cases that the run saw. Widen it by hand if you know more. Only lines \
below `expect:` are changed. Some differences need a fix instead, so nothing is written for them: Cerith itself failed, \
the reference is to blame or lacks a part of the language, or nothing was compared. An expectation is removed only if \
the run included every version that it covers.

Exit codes: 0 nothing failed; 1 --check found something, or an expectation cannot be written; 2 the input is bad, or the output cannot \
be written.")]
pub struct ExpectArgs {
    /// The selected cases.
    #[command(flatten)]
    pub selection: Selection,

    /// The folder with the reports of the run. Without it, where `cerith run` puts them.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Write every expectation that can be written.
    #[arg(long)]
    pub accept: bool,

    /// Remove every expectation that no longer happens and can be removed.
    #[arg(long)]
    pub prune: bool,

    /// Print the changes, and make none.
    #[arg(long, conflicts_with_all = ["accept", "prune"])]
    pub list: bool,

    /// Like --list, and exit with 1 if there is a change.
    #[arg(long, conflicts_with_all = ["accept", "prune", "list"])]
    pub check: bool,

    /// Review even if standard input is not a terminal: it has one line for each difference, with one of the letters.
    #[arg(long, conflicts_with_all = ["accept", "prune", "list", "check"])]
    pub review: bool,

    /// The reason to write. Without it, a description of the difference.
    #[arg(long, value_name = "TEXT")]
    pub why: Option<String>,
}
