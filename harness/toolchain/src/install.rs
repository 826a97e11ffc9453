//! Making a toolchain. Left out: what is already there ([`crate::home`]).

use std::io;
use std::path::PathBuf;

use crate::home::HomeError;
use crate::{Home, Toolchain, ToolchainId};

/// Something that happened while a toolchain is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A step began; a short phrase for a user (`installing triton 3.9.0 and numpy 2.3.5 with uv`).
    Step(String),
    /// Bytes on disk so far, and about how many there will be.
    Bytes {
        /// So far.
        done: u64,
        /// In the end, roughly; none when that is not known.
        total: Option<u64>,
    },
    /// A line that the installer printed.
    Line(String),
}

/// Whoever wants to know how an installation goes. All methods are called on the installing thread.
pub trait Observer {
    /// Something happened.
    fn event(&self, event: Event);

    /// Whether to give up; asked several times a second. What was made so far is removed.
    fn cancelled(&self) -> bool {
        false
    }
}

/// An observer that looks away.
impl Observer for () {
    fn event(&self, _event: Event) {}
}

/// A toolchain could not be made.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    /// No Python at all.
    #[error("find Python: no python3 on PATH, and no uv that could fetch one; install Python {wanted}")]
    NoPython {
        /// The versions that would do.
        wanted: String,
    },
    /// Pythons, but none that this Triton has wheels for.
    #[error("find a Python for {id}: it needs Python {wanted}, and PATH has only {found}")]
    WrongPython {
        /// The toolchain.
        id: ToolchainId,
        /// The versions that would do.
        wanted: String,
        /// The versions that are there.
        found: String,
    },
    /// The package index cannot be reached.
    #[error("reach the package index: there seems to be no network ({reason})")]
    NoNetwork {
        /// The installer's words.
        reason: String,
    },
    /// There is no such release.
    #[error("find {package} {version} in the package index: {hint}")]
    NoSuchVersion {
        /// `triton` or `numpy`.
        package: &'static str,
        /// The version asked for.
        version: String,
        /// What there is.
        hint: String,
    },
    /// No room.
    #[error("write {}: the disk is full (a toolchain takes up to {needed} MB)", path.display())]
    DiskFull {
        /// The folder.
        path: PathBuf,
        /// About how much is needed, in megabytes.
        needed: u64,
    },
    /// The folder cannot be written.
    #[error("write {}: {source}; set CONCH_HOME to a folder that can be written", path.display())]
    Unwritable {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The installer failed in another way.
    #[error("install {id} with {installer}: {reason}")]
    Installer {
        /// The toolchain.
        id: ToolchainId,
        /// `uv` or `pip`.
        installer: &'static str,
        /// The end of what it printed.
        reason: String,
    },
    /// It was installed and does not work, so it was removed again.
    #[error("use {id} once installed: {reason}")]
    Broken {
        /// The toolchain.
        id: ToolchainId,
        /// What happened.
        reason: String,
    },
    /// [`Observer::cancelled`] said so.
    #[error("finish installing {id}: cancelled, nothing was left behind")]
    Cancelled {
        /// The toolchain.
        id: ToolchainId,
    },
    /// The home folder.
    #[error(transparent)]
    Home(#[from] HomeError),
}

pub(crate) fn add(home: &Home, id: &ToolchainId, observer: &dyn Observer) -> Result<Toolchain, AddError> {
    observer.event(Event::Step(format!("looking for {id}")));
    home.find(id).ok_or_else(|| HomeError::Missing { id: id.clone() }.into())
}
