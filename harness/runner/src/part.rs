//! A file while it is written: under a random name, until it is whole.

use std::fs::File;
use std::path::{Path, PathBuf};

use cerith_files::Partial;

/// A file that is not there yet. Dropped without [`Part::keep`], nothing is left of it.
pub struct Part {
    path: PathBuf,
    partial: Partial,
}

impl Part {
    /// Begins a file in the folder of its place. The error fits behind "failed to ".
    pub fn create(out: &Path) -> Result<Self, String> {
        let partial =
            cerith_files::begin(out).map_err(|error| format!("create {}: {error}", out.display()))?;
        Ok(Self {
            path: out.to_owned(),
            partial,
        })
    }

    /// The file, to write to.
    pub const fn file(&self) -> &File {
        self.partial.file()
    }

    /// Puts it in its place. The error fits behind "failed to ".
    pub fn keep(self) -> Result<(), String> {
        let failed = |error| format!("write {}: {error}", self.path.display());
        self.partial.keep().map(drop).map_err(failed)
    }
}
