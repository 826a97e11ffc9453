//! Confines the files that this process reads to a folder, for servers whose clients name files.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{self, CWD, Mode, OFlags};

use crate::open::folder_flags;

/// The folder that reads of this process are confined to.
static CONFINED: OnceLock<ReadRoot> = OnceLock::new();

/// A folder whose files are read, and no others.
#[derive(Debug)]
pub struct ReadRoot {
    handle: OwnedFd,
    path: PathBuf,
}

impl ReadRoot {
    /// Opens a folder.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let path = folder.canonicalize()?;
        let handle = fs::openat(CWD, &path, folder_flags(), Mode::empty())?;
        Ok(Self { handle, path })
    }

    /// Opens a file of the folder. Links are followed inside the folder. The real path is opened level by level, so that a link that
    /// is made in between is not followed.
    pub fn open_file(&self, file: &Path) -> io::Result<File> {
        self.open_with(file, OFlags::CLOEXEC)
    }

    fn open_with(&self, file: &Path, flags: OFlags) -> io::Result<File> {
        let real = file.canonicalize()?;
        let below = real.strip_prefix(&self.path).map_err(|_| {
            let message = format!("it is outside of `{}`", self.path.display());
            io::Error::new(io::ErrorKind::PermissionDenied, message)
        })?;
        let name = below.file_name().ok_or(io::ErrorKind::IsADirectory)?;
        let mut folder = self.handle.try_clone()?;
        for level in below.parent().unwrap_or(Path::new("")) {
            folder = fs::openat(&folder, level, folder_flags() | OFlags::NOFOLLOW, Mode::empty())?;
        }
        let file = fs::openat(&folder, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
        Ok(File::from(file))
    }
}

/// Confines [`open`](crate::open()) and [`read_text`](crate::read_text) of this process to files of a folder, for good. Returns the real
/// path of the folder.
///
/// # Errors
/// The folder cannot be opened, or reads are confined to another folder.
pub fn confine_reads(folder: &Path) -> io::Result<PathBuf> {
    let root = ReadRoot::open(folder)?;
    let path = root.path.clone();
    let confined = CONFINED.get_or_init(|| root);
    if confined.path == path {
        return Ok(path);
    }
    let message = format!("reads are confined to `{}`", confined.path.display());
    Err(io::Error::new(io::ErrorKind::AlreadyExists, message))
}

/// Opens a file, inside the folder if reads are confined.
pub(crate) fn open_to_read(path: &Path, flags: OFlags) -> io::Result<File> {
    match CONFINED.get() {
        None => Ok(File::from(fs::open(path, flags, Mode::empty())?)),
        Some(root) => root.open_with(path, flags),
    }
}
