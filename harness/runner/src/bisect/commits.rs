//! Commits of a checkout of Triton, built one at a time. See [`super::search`] for the choice of the commit.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use cerith_toolchain::{AdoptError, Home, HomeError, ToolchainId};

use crate::engines;
use crate::host::Host;

/// The reason why a commit cannot be tried.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Checking out other commits would lose changes.
    #[error(
        "error: {} has uncommitted changes, which checking out other commits would lose\n  = help: commit or stash them",
        .0.display()
    )]
    Uncommitted(PathBuf),
    /// There is no such range.
    #[error("error: {} has no commits after {from} that lead to {to}\n  = help: name the older one first", folder.display())]
    NoCommits {
        /// The checkout.
        folder: PathBuf,
        /// The older commit.
        from: String,
        /// The newer commit.
        to: String,
    },
    /// Git cannot be started.
    #[error("error: start `git`: {0}")]
    StartGit(io::Error),
    /// Git fails.
    #[error("error: `git {command}` in {}: {message}", folder.display())]
    Git {
        /// Its arguments.
        command: String,
        /// The checkout.
        folder: PathBuf,
        /// Its message.
        message: String,
    },
    /// The build cannot be started.
    #[error("start `sh`: {0}")]
    StartBuild(io::Error),
    /// The build fails.
    #[error("the build failed: {0}")]
    Build(ExitStatus),
    /// The toolchains cannot be listed.
    #[error("failed to {0}")]
    Home(#[from] HomeError),
    /// The Python has no usable Triton.
    #[error("failed to {0}")]
    Adopt(#[from] AdoptError),
}

/// Commits of a folder, the oldest first, and how one is built.
pub struct Commits {
    folder: PathBuf,
    /// Their hashes.
    hashes: Vec<String>,
    build: String,
    python: PathBuf,
    /// The commit that was checked out before.
    before: String,
}

impl Commits {
    /// Lists the commits from one to another, along the first parents.
    ///
    /// # Errors
    /// The folder is not a checkout, has uncommitted changes, or lacks these commits.
    pub fn from_range(
        folder: &Path,
        from: &str,
        to: &str,
        build: &str,
        python: &Path,
    ) -> Result<Self, CommitError> {
        let git = |words: &[&str]| run_git(folder, words);
        if !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty() {
            return Err(CommitError::Uncommitted(folder.to_owned()));
        }
        let branch = git(&["rev-parse", "--abbrev-ref", "HEAD"])?;
        let before = if branch == "HEAD" {
            git(&["rev-parse", "HEAD"])?
        } else {
            branch
        };
        let oldest = git(&["rev-parse", "--verify", &format!("{from}^{{commit}}")])?;
        let range = format!("{oldest}..{to}");
        let later = git(&["rev-list", "--reverse", "--first-parent", &range, "--"])?;
        let commits: Vec<String> = std::iter::once(oldest)
            .chain(later.lines().map(str::to_owned))
            .collect();
        if commits.len() < 2 {
            return Err(CommitError::NoCommits {
                folder: folder.to_owned(),
                from: from.to_owned(),
                to: to.to_owned(),
            });
        }
        Ok(Self {
            folder: folder.to_owned(),
            hashes: commits,
            build: build.to_owned(),
            python: python.to_owned(),
            before,
        })
    }

    /// The short names of the commits: the first twelve digits.
    pub fn names(&self) -> Vec<String> {
        self.hashes.iter().map(|commit| shorten_hash(commit)).collect()
    }

    /// Builds a commit, and registers what was built.
    ///
    /// # Errors
    /// It cannot be checked out or built, or its Python has no Triton then.
    pub fn build_commit(&self, place: usize, host: Host<'_>) -> Result<ToolchainId, CommitError> {
        let commit = self.hashes.get(place).map_or("HEAD", String::as_str);
        run_git(&self.folder, &["checkout", "--quiet", "--detach", commit])?;
        host.console
            .note(&format!("{}: {}", shorten_hash(commit), self.build));
        let status = Command::new("sh")
            .args(["-c", &self.build])
            .current_dir(&self.folder)
            .status()
            .map_err(CommitError::StartBuild)?;
        if !status.success() {
            return Err(CommitError::Build(status));
        }
        let home = Home::discover()?;
        let name = format!("bisect-{}", shorten_hash(commit));
        Ok(engines::adopt(&home, self.python.as_os_str(), Some(&name), host)?.id)
    }

    /// Checks out what was there before.
    pub fn restore(&self, host: Host<'_>) {
        if let Err(error) = run_git(&self.folder, &["checkout", "--quiet", &self.before]) {
            host.console.note(&error.to_string());
        }
    }
}

/// Forgets a toolchain that was registered: the next commit has the same Python.
pub fn forget(toolchain: &ToolchainId) {
    if let Ok(home) = Home::discover() {
        let _ = home.remove(toolchain);
    }
}

fn shorten_hash(commit: &str) -> String {
    commit.chars().take(12).collect()
}

/// Runs git, and returns its output without the last line break.
fn run_git(folder: &Path, words: &[&str]) -> Result<String, CommitError> {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(words)
        .output()
        .map_err(CommitError::StartGit)?;
    if !output.status.success() {
        return Err(CommitError::Git {
            command: words.join(" "),
            folder: folder.to_owned(),
            message: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        });
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}
