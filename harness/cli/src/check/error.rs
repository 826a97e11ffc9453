//! Why a check fails. Each message is complete, with `error:` in front.

use std::io;
use std::path::PathBuf;

use cerith_check::error::{BaselineError, ConfigError, ConformanceError, SubjectError};
use cerith_report::JunitError;
use cerith_runner::oracle::NoToolchain;

/// The reason why a file cannot be checked, or the results cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The file cannot be read, or is wrong.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// There is no toolchain for launchers.
    #[error("error: {0}")]
    Toolchain(#[from] NoToolchain),
    /// A launcher cannot be compared.
    #[error(transparent)]
    Conformance(#[from] ConformanceError),
    /// The file cannot be edited.
    #[error("error: failed to edit {}: {error}", path.display())]
    Edit {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The file is not the one that was checked.
    #[error("error: failed to edit {}: it has changed", .0.display())]
    Changed(PathBuf),
    /// A report or a launch cannot be written.
    #[error("error: failed to write {}: {error}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The findings are not SARIF.
    #[error("error: failed to write {}: {error}", path.display())]
    Sarif {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: serde_json::Error,
    },
    /// The findings are not `JUnit`.
    #[error("error: failed to write {}: {error}", path.display())]
    Junit {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: JunitError,
    },
    /// A baseline needs the findings of all files.
    #[error("error: did not write {}: not every file was checked", .0.display())]
    PartialBaseline(PathBuf),
    /// The existing baseline cannot be read, or the new one cannot be written.
    #[error(transparent)]
    Baseline(#[from] BaselineError),
}

/// The reason why the settings of a check are wrong.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The configuration cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The baseline cannot be read.
    #[error(transparent)]
    Baseline(#[from] BaselineError),
    /// No launcher is named.
    #[error(
        "error: `--oracle` has nothing to compare\n  = help: name a launcher and its reference function, `--launcher softmax --like \
         ref.py:softmax`, or write `[[launcher]]` into `cerith.toml`"
    )]
    NoLauncher,
    /// No file is named.
    #[error(
        "error: there is nothing to check\n  = help: name a file or a folder, `cerith check softmax.py`, or write `paths` \
         into `cerith.toml`"
    )]
    NoFile,
}
