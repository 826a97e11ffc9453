//! An installed toolchain, and the marker file that says what is in it. See [`crate::Home`] for the folder of toolchains.

use std::fs;
use std::path::{Path, PathBuf};

use cerith_tile::rules::Version;
use serde::{Deserialize, Serialize};

use crate::compatibility::fits;
use crate::id::ToolchainId;
use crate::manifest::{self, Damage, Depth};

/// The contents of an installed toolchain, from its marker file. The marker is the last file of an installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contents {
    /// Version of this file's format.
    pub schema: u32,
    /// The toolchain's name.
    pub id: String,
    /// `triton.__version__`.
    pub triton: String,
    /// `numpy.__version__`.
    pub numpy: String,
    /// Python's version.
    pub python: String,
    /// `torch.__version__`, in one that holds torch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torch: Option<String>,
    /// The origin of an adopted toolchain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopted: Option<Adopted>,
}

/// A Python environment that Cerith did not make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adopted {
    /// Its Python interpreter.
    pub python: PathBuf,
    /// Whether its torch saw a GPU when it was adopted.
    pub gpu: bool,
}

impl Contents {
    /// Triton's version without a build's suffix.
    pub(crate) fn version(&self) -> Option<Version> {
        release(&self.triton)
    }

    /// Whether it holds this release, and not a build of it.
    pub(crate) fn is_of(&self, triton: Version) -> bool {
        self.version() == Some(triton) && self.build().is_none()
    }

    /// The name of the build, if the Triton is not a release.
    pub(crate) fn build(&self) -> Option<String> {
        let id: ToolchainId = self.id.parse().ok()?;
        id.build().map(str::to_owned)
    }

    /// Whether it holds the Triton of a name, its torch if it has one in it, and the NumPy that it asks for or else one
    /// that fits.
    pub(crate) fn satisfies(&self, id: &ToolchainId) -> bool {
        let torch = self.torch.as_ref().and_then(|torch| release(torch));
        self.version() == Some(id.triton())
            && self.build().as_deref() == id.build()
            && (id.torch().is_none() || id.torch() == torch)
            && match id.numpy() {
                Some(wanted) => self
                    .numpy
                    .strip_prefix(wanted)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.')),
                None => release(&self.numpy).is_some_and(|numpy| fits(id.triton(), numpy)),
            }
    }
}

impl Contents {
    /// Whether a name asks for its torch and for no NumPy.
    pub(crate) fn is_asked_for_torch(&self, id: &ToolchainId) -> bool {
        let torch = self.torch.as_ref().and_then(|torch| release(torch));
        id.torch().is_some() && id.torch() == torch && id.numpy().is_none() && self.is_of(id.triton())
    }
}

/// An installed toolchain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// Its name.
    pub id: ToolchainId,
    /// Its contents.
    pub contents: Contents,
    pub(crate) root: PathBuf,
}

impl Toolchain {
    /// The folder it is in.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Its Python interpreter.
    pub fn python(&self) -> PathBuf {
        self.contents.adopted.as_ref().map_or_else(
            || self.root.join("bin").join("python"),
            |adopted| adopted.python.clone(),
        )
    }

    /// The reason why it cannot be used, if its Python is gone, and how to fix it.
    pub fn explain_missing(&self) -> Option<String> {
        let python = self.python();
        let id = &self.contents.id;
        let fix = match &self.contents.adopted {
            None => format!("run `cerith toolchain repair {id}`"),
            Some(_) => format!(
                "`cerith toolchain remove {id}` and `cerith toolchain adopt PYTHON` registers another"
            ),
        };
        (!python.exists()).then(|| format!("its Python is gone: {}; {fix}", python.display()))
    }

    /// Checks that its files are those that were installed: by their sizes and times, and by their contents if these changed. Once in
    /// this process. An adopted environment isn't Cerith's, and is not checked.
    ///
    /// # Errors
    /// They are not.
    pub fn check(&self) -> Result<(), Damage> {
        self.compare(Depth::Once)
    }

    /// Checks it as [`Self::check`] does, whatever was found before.
    ///
    /// # Errors
    /// Its files are not those that were installed.
    pub fn check_again(&self) -> Result<(), Damage> {
        self.compare(Depth::Numbers)
    }

    /// Checks the contents of all files, which takes a second or more.
    ///
    /// # Errors
    /// They are not those that were installed.
    pub(crate) fn check_contents(&self) -> Result<(), Damage> {
        self.compare(Depth::Contents)
    }

    fn compare(&self, depth: Depth) -> Result<(), Damage> {
        if self.is_adopted() {
            return Ok(());
        }
        manifest::check(self, depth).map(drop)
    }

    /// Whether its NumPy is one that its Triton's interpreter works with, or the one that its name asks for.
    pub fn numpy_fits(&self) -> bool {
        self.contents.satisfies(&self.id)
    }

    /// Whether it was adopted, so that only its marker is ours.
    pub const fn is_adopted(&self) -> bool {
        self.contents.adopted.is_some()
    }

    /// Its Triton version.
    pub const fn triton(&self) -> Version {
        self.id.triton()
    }

    /// Bytes on disk that are ours (files shared with an installer's cache counted in full).
    pub fn size(&self) -> u64 {
        size_of(&self.root)
    }

    pub(crate) fn new(id: ToolchainId, contents: Contents, root: PathBuf) -> Self {
        Self { id, contents, root }
    }
}

/// Name of the marker file in a toolchain's folder.
pub(crate) const MARKER: &str = "cerith-toolchain.json";

/// The format of the marker file.
pub(crate) const SCHEMA: u32 = 1;

/// Bytes of all files under a folder. What cannot be read counts as nothing.
pub(crate) fn size_of(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(data) if data.is_dir() => size_of(&entry.path()),
            Ok(data) => data.len(),
            Err(_) => 0,
        })
        .sum()
}

/// A release's numbers, without a build's suffix: `2.11.0+cu130`, `2.4.0rc1`.
pub(crate) fn release(version: &str) -> Option<Version> {
    let numbers = version
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .map_or(version, |end| version.get(..end).unwrap_or_default());
    numbers.trim_end_matches('.').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_its_numbers() {
        let check = |text: &str, expected: Option<Version>| assert_eq!(release(text), expected, "{text}");
        check("3.6.0", Some(Version::new(3, 6, 0)));
        check("2.11.0+cu130", Some(Version::new(2, 11, 0)));
        check("2.4.0rc1", Some(Version::new(2, 4, 0)));
        check("2.5.0.dev0+git1", Some(Version::new(2, 5, 0)));
        check("main", None);
    }
}
