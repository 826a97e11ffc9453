//! Which versions of Triton are on `PyPI`, according to pip. See the module `install` for installing one.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use cerith_tile::rules::Version;

use crate::uncontained;

/// The published versions are unknown.
#[derive(Debug, thiserror::Error)]
pub enum PublishedError {
    /// There is no Python with pip.
    #[error("ask PyPI: no python3 on PATH has pip; install Python's pip")]
    NoPip,
    /// pip failed.
    #[error("ask PyPI with {} -m pip: {reason}", python.display())]
    Pip {
        /// Whose pip.
        python: PathBuf,
        /// Its words.
        reason: String,
    },
}

/// The releases of Triton on `PyPI` that this machine's Python can install, oldest first. Pre-releases are left out.
///
/// # Errors
/// pip is not there, or does not reach the index.
pub fn fetch_releases() -> Result<Vec<Version>, PublishedError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    ask_pip(&path)
}

fn ask_pip(path: &OsStr) -> Result<Vec<Version>, PublishedError> {
    let python = uncontained::on_path("python3".as_ref(), Some(path))
        .find(|python| {
            pip_command(python)
                .arg("--version")
                .output()
                .is_ok_and(|done| done.status.success())
        })
        .ok_or(PublishedError::NoPip)?;
    let failed = |reason: String| PublishedError::Pip {
        python: python.clone(),
        reason,
    };
    let done = pip_command(&python)
        .args([
            "index",
            "versions",
            "triton",
            "--disable-pip-version-check",
            "--no-input",
        ])
        .output()
        .map_err(|error| failed(error.to_string()))?;
    let said = String::from_utf8_lossy(&done.stdout);
    let releases = parse_versions(&said);
    if !done.status.success() || releases.is_empty() {
        let words = String::from_utf8_lossy(&done.stderr);
        let error = words.lines().rev().find(|line| line.contains("ERROR"));
        return Err(failed(
            error
                .or(words.lines().last())
                .unwrap_or("it names no version")
                .to_owned(),
        ));
    }
    Ok(releases)
}

fn pip_command(python: &Path) -> Command {
    let mut command = uncontained::python_command(python);
    command.args(["-m", "pip"]);
    command
}

/// Parses the list of `pip index versions`.
fn parse_versions(said: &str) -> Vec<Version> {
    let line = said
        .lines()
        .find_map(|line| line.strip_prefix("Available versions:"));
    let mut releases: Vec<Version> = line
        .unwrap_or_default()
        .split(',')
        .filter_map(|version| version.trim().parse().ok())
        .collect();
    releases.sort_unstable();
    releases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pip_lists_is_read_without_pre_releases() {
        let said =
            "triton (3.10.0)\nAvailable versions: 3.10.0, 3.10.0rc1, 3.9.0, 3.3.1\n  INSTALLED: 3.9.0\n";
        let versions = ["3.3.1", "3.9.0", "3.10.0"].map(|version| version.parse().expect(version));
        assert_eq!(parse_versions(said), versions);
        assert_eq!(parse_versions("ERROR: No matching distribution found"), []);
    }
}
