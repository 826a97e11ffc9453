//! Repairs installed toolchains: makes the environment of a Python that is gone again, and installs damaged packages again.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::explain::AddError;
use crate::home::Home;
use crate::id::ToolchainId;
use crate::install::Observer;
use crate::installed::{MARKER, Toolchain};
use crate::{Event, compatibility, manifest};

/// The result of a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repaired {
    /// Nothing was damaged.
    Whole,
    /// The environment was made again with another Python; its packages are as they were.
    Python,
    /// All of it was installed again.
    Installed,
}

impl Home {
    /// Repairs an installed toolchain.
    ///
    /// # Errors
    /// It is not there or was adopted, or cannot be installed again.
    pub fn repair(
        &self,
        id: &ToolchainId,
        observer: &dyn Observer,
    ) -> Result<(Toolchain, Repaired), AddError> {
        let there = self.find(id);
        if let Some(toolchain) = &there
            && toolchain.is_adopted()
        {
            return Err(AddError::Adopted {
                id: id.clone(),
                python: toolchain.python(),
            });
        }
        if there.is_none() && self.why_broken(id).is_none() {
            return Err(crate::HomeError::Missing { id: id.clone() }.into());
        }
        if let Some(toolchain) = there {
            observer.report_event(Event::Step(
                "comparing its files with the installed ones".to_owned(),
            ));
            let is_gone = toolchain.explain_missing().is_some();
            let is_back = !is_gone || self.renew_python(&toolchain).is_ok();
            if is_back && toolchain.check_contents().is_ok() {
                let toolchain = self.find(id).unwrap_or(toolchain);
                let repaired = if is_gone {
                    Repaired::Python
                } else {
                    Repaired::Whole
                };
                return Ok((toolchain, repaired));
            }
        }
        let toolchain = self.replace(id, observer)?;
        Ok((toolchain, Repaired::Installed))
    }

    /// Makes the environment of a toolchain again if its Python is gone, as after an update of the Python that it was made with. Its
    /// packages stay; no network is used.
    ///
    /// # Errors
    /// No Python of the same minor version is on PATH, or it makes no environment.
    pub fn renew_python(&self, toolchain: &Toolchain) -> Result<Toolchain, AddError> {
        let mut renewed = toolchain.clone();
        if !toolchain.is_adopted() && toolchain.explain_missing().is_some() {
            let _lock = self.lock(&toolchain.id, || false)?;
            renewed.contents.python = renew_environment(toolchain)?;
        }
        Ok(renewed)
    }
}

/// Makes the environment again; the version of its Python.
fn renew_environment(toolchain: &Toolchain) -> Result<String, AddError> {
    let id = &toolchain.id;
    if toolchain.explain_missing().is_none() {
        // Another process was faster.
        return Ok(toolchain.contents.python.clone());
    }
    let failed = |reason: String| AddError::Installer {
        id: id.clone(),
        installer: "venv",
        reason,
    };
    let mut parts = toolchain.contents.python.split('.').skip(1);
    let minor = parts
        .next()
        .and_then(|minor| minor.parse().ok())
        .unwrap_or_default();
    let path = std::env::var_os("PATH");
    let Some(found) = compatibility::find(&[minor], path.as_deref()).fit else {
        return Err(AddError::NoPython {
            suitable: compatibility::describe_range(&[minor]),
        });
    };
    // Made beside it, and then moved into it file by file, so that nothing is written into files that may be links.
    let root = toolchain.root();
    let made = tempfile::Builder::new()
        .prefix(".partial-")
        .tempdir_in(root)
        .map_err(|error| failed(error.to_string()))?;
    let output = Command::new(&found.path)
        .args(["-I", "-m", "venv", "--without-pip"])
        .arg(made.path())
        .current_dir(made.path())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(format!("{}: {error}", found.path.display())))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(failed(said.trim().to_owned()));
    }
    take_over(made.path(), root).map_err(|error| failed(error.to_string()))?;
    if let Some(why) = toolchain.explain_missing() {
        return Err(failed(why));
    }
    manifest::renew_settings(root);
    note_version(toolchain, root).map_err(|error| failed(error.to_string()))
}

/// Moves the Python of an environment and its settings into another environment.
fn take_over(made: &Path, root: &Path) -> io::Result<()> {
    for entry in fs::read_dir(made.join("bin"))? {
        let name = entry?.file_name();
        if name.to_string_lossy().starts_with("python") {
            fs::rename(made.join("bin").join(&name), root.join("bin").join(&name))?;
        }
    }
    fs::rename(made.join(manifest::SETTINGS), root.join(manifest::SETTINGS))
}

/// Writes down which Python the environment has now, and returns it.
fn note_version(toolchain: &Toolchain, root: &Path) -> io::Result<String> {
    let output = Command::new(toolchain.python())
        .args(["-I", "-c", "import platform; print(platform.python_version())"])
        .env_clear()
        .current_dir(root)
        .stdin(Stdio::null())
        .output()?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !output.status.success() {
        return Err(io::Error::other("its Python does not start"));
    }
    let mut contents = toolchain.contents.clone();
    contents.python.clone_from(&version);
    let mut file = tempfile::Builder::new().prefix(".partial-").tempfile_in(root)?;
    serde_json::to_writer_pretty(&mut file, &contents)?;
    file.persist(root.join(MARKER)).map_err(|error| error.error)?;
    Ok(version)
}
