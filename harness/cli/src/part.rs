//! A file while it is written: under another name, until it is whole.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A file that is not there yet. Dropped without [`Part::keep`], nothing is left of it.
pub struct Part {
    path: PathBuf,
    /// What to write to.
    pub file: File,
    kept: bool,
}

impl Part {
    /// Begins a file beside its place. The error fits behind "failed to ".
    pub fn create(out: &Path) -> Result<Self, String> {
        let mut name = out.as_os_str().to_owned();
        name.push(".part");
        let path = PathBuf::from(name);
        let file = File::create(&path).map_err(|error| format!("create {}: {error}", path.display()))?;
        Ok(Self {
            path,
            file,
            kept: false,
        })
    }

    /// Puts it in its place. The error fits behind "failed to ".
    pub fn keep(mut self, out: &Path) -> Result<(), String> {
        fs::rename(&self.path, out).map_err(|error| format!("write {}: {error}", out.display()))?;
        self.kept = true;
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.kept {
            // What is half written is of no use; if it cannot be removed, its name says what it is.
            let _ = fs::remove_file(&self.path);
        }
    }
}
