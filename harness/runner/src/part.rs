//! A file while it is written: under a random name, until it is whole.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use cerith_files::Partial;

/// The reason why a file cannot be written. Fits after "failed to ".
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    /// It cannot be created.
    #[error("create {}: {error}", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// It cannot be written.
    #[error("write {}: {error}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
}

impl PartError {
    /// A file that cannot be written.
    pub fn write(path: &Path) -> impl Fn(io::Error) -> Self {
        |error| Self::Write {
            path: path.to_owned(),
            error,
        }
    }
}

/// A file that is not there yet. Dropped without [`Part::keep`], nothing is left of it.
pub struct Part {
    path: PathBuf,
    partial: Partial,
}

impl Part {
    /// Begins a file in the folder of its place.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create(out: &Path) -> Result<Self, PartError> {
        let partial = cerith_files::begin(out).map_err(|error| PartError::Create {
            path: out.to_owned(),
            error,
        })?;
        Ok(Self {
            path: out.to_owned(),
            partial,
        })
    }

    /// The file, to write to.
    pub const fn file(&self) -> &File {
        self.partial.file()
    }

    /// Puts it in its place.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(self) -> Result<(), PartError> {
        self.partial
            .keep()
            .map(drop)
            .map_err(PartError::write(&self.path))
    }
}
