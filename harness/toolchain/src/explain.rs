//! Why a toolchain could not be made, read off what installers print. Left out: running them ([`crate::install`]).

use std::io;
use std::path::{Path, PathBuf};

use crate::home::HomeError;
use crate::{ToolchainId, id};

/// About the most that a toolchain takes while it is installed, in megabytes.
pub(crate) const SIZE_MOST: u64 = 1800;

/// What installers print when they cannot reach the package index.
const NO_NETWORK: &[&str] = &[
    "NewConnectionError",
    "NameResolutionError",
    "Failed to establish a new connection",
    "name resolution",
    "Name or service not known",
    "Network is unreachable",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "Connection refused",
    "ProxyError",
    "dns error",
    "tcp connect error",
    "error sending request",
    "Could not connect",
];

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

/// What an installer's output means, after it failed to put a toolchain with this NumPy into this folder.
pub(crate) fn output(
    id: &ToolchainId,
    installer: &'static str,
    output: &str,
    numpy: &str,
    folder: &Path,
) -> AddError {
    let triton = id.triton();
    let says = |signs: &[&str]| {
        output
            .lines()
            .find(|line| signs.iter().any(|sign| line.contains(sign)))
            .map(|line| line.trim().to_owned())
    };
    if says(&["No space left on device", "os error 28"]).is_some() {
        return AddError::DiskFull {
            path: folder.to_owned(),
            needed: SIZE_MOST,
        };
    }
    if let Some(reason) = says(NO_NETWORK) {
        return AddError::NoNetwork { reason };
    }
    let missing = [
        "No matching distribution found for",
        "Because there is no version of",
        "has no wheels",
    ];
    if let Some(line) = says(&missing) {
        let (package, version) = if line.contains("numpy") && !line.contains("triton") {
            ("numpy", numpy.to_owned())
        } else {
            ("triton", triton.to_string())
        };
        let listed = output
            .split_once("(from versions: ")
            .and_then(|(_, rest)| rest.split_once(')'));
        let versions = match listed {
            Some((versions, _)) if versions != "none" => versions.to_owned(),
            _ if package == "triton" => id::KNOWN
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", "),
            _ => "other versions".to_owned(),
        };
        let place = if cfg!(target_os = "linux") {
            ""
        } else {
            " (Triton has wheels for Linux only)"
        };
        return AddError::NoSuchVersion {
            package,
            version,
            hint: format!("there are {versions}{place}"),
        };
    }
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    let reason = lines
        .get(lines.len().saturating_sub(8)..)
        .unwrap_or_default()
        .join("\n");
    AddError::Installer {
        id: id.clone(),
        installer,
        reason,
    }
}
