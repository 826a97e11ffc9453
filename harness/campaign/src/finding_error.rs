//! Why a finding cannot be made, tried or promoted.

use std::io;
use std::path::{Path, PathBuf};

use cerith_engine::{BadEngineId, EngineId};
use cerith_report::event::{LeftOut, Problem};
use cerith_runner::corpus::CorpusError;
use cerith_toolchain::HomeError;

use crate::case_source::SourceError;
use crate::finding::NoFinding;

/// The reason why a finding cannot be made, tried or promoted.
#[derive(Debug, thiserror::Error)]
pub enum FindingError {
    /// The folder of the finding or of its case cannot be read.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// The toolchains cannot be listed.
    #[error("error: failed to {0}")]
    Home(#[from] HomeError),
    /// The finding cannot be read.
    #[error("error: {0}")]
    Finding(#[from] NoFinding),
    /// It names an unknown engine.
    #[error("error: {0}")]
    Engine(#[from] BadEngineId),
    /// A case file is wrong.
    #[error("{}", .0.rendered)]
    Problem(Box<Problem>),
    /// The folder has no case.
    #[error("error: there is no case in {}", .0.display())]
    NoCase(PathBuf),
    /// The engine exists in one version.
    #[error("error: {0} has no versions to ask one by one")]
    NoVersions(EngineId),
    /// The engine has no version.
    #[error("error: {0} has no version")]
    NoVersion(EngineId),
    /// An engine cannot run.
    #[error("error: engine {} cannot run: {}", .0.engine, .0.why)]
    LeftOut(LeftOut),
    /// The user stopped it.
    #[error("error: interrupted")]
    Interrupted,
    /// A file cannot be written.
    #[error("error: {}: {error}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The case has kernels in several files.
    #[error("error: its kernels are in several files, and a finding has only one")]
    SeveralFiles,
    /// The case cannot be a file of its own.
    #[error("error: the case cannot be written as a file of its own")]
    Inexpressible,
    /// The written case cannot be read.
    #[error("error: the case does not read back: {0}")]
    ReadBack(SourceError),
    /// No installed version differs as the finding says.
    #[error(
        "error: no version that is installed differs as {name} says\n  = help: `cerith fuzz range {}` says what they do",
        folder.display()
    )]
    Unseen {
        /// The finding.
        name: String,
        /// Its folder.
        folder: PathBuf,
    },
    /// The case exists.
    #[error("error: {} already exists\n  = help: `--as AREA/NAME` names another case", .0.display())]
    Taken(PathBuf),
    /// The id cannot be the id of a case.
    #[error(
        "error: `{0}` names no case\n  = help: write an area and a name, of letters, digits, `_` and `-`: `reduction/sum_of_one`"
    )]
    BadName(String),
    /// An engine does something other than the finding says.
    #[error(
        "error: with {engine} the result of the case is not the one in its range; `cerith fuzz range {name}` asks again"
    )]
    OtherRange {
        /// The engine.
        engine: EngineId,
        /// The finding.
        name: String,
    },
}

impl FindingError {
    /// A file or folder that cannot be written.
    pub fn write(path: &Path) -> impl Fn(io::Error) -> Self {
        |error| Self::Write {
            path: path.to_owned(),
            error,
        }
    }
}
