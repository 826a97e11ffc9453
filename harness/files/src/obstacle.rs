//! Anything in the place of a file or folder that Cerith does not write through.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

/// The name of a regular file in messages.
const FILE: &str = "a file";

/// Something other than a regular file, or a folder, is where one is to be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// A symbolic link.
    #[error(
        "`{}` is a link to `{}`, and Cerith does not write through links\n  = help: remove the link, or name another place",
        path.display(),
        target.display()
    )]
    Link {
        /// The link.
        path: PathBuf,
        /// The path in it.
        target: PathBuf,
    },
    /// A pipe, a device, a socket, a folder in the place of a file, or a file in the place of a folder.
    #[error("`{}` is {actual}, and Cerith writes {expected} there\n  = help: remove it, or name another place", path.display())]
    Kind {
        /// Its path.
        path: PathBuf,
        /// The kind of file that is there.
        actual: &'static str,
        /// The kind of file that should be there.
        expected: &'static str,
    },
}

impl Obstacle {
    /// The obstacle in an error of this crate, if it is one.
    pub fn from_error(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    /// Whether a plain file is in the place of a folder.
    pub fn is_plain_file(&self) -> bool {
        matches!(self, Self::Kind { actual, .. } if *actual == FILE)
    }

    pub(crate) fn build_file_error(path: &Path, found: FileType) -> io::Error {
        Self::build_kind_error(path, found, "a file")
    }

    pub(crate) fn build_folder_error(path: &Path, found: FileType) -> io::Error {
        Self::build_kind_error(path, found, "a folder")
    }

    fn build_kind_error(path: &Path, found: FileType, expected: &'static str) -> io::Error {
        let found = match found {
            FileType::Directory => "a folder",
            FileType::RegularFile => FILE,
            FileType::Fifo => "a pipe",
            FileType::Socket => "a socket",
            FileType::CharacterDevice | FileType::BlockDevice => "a device",
            _ => "not a regular file",
        };
        io::Error::other(Self::Kind {
            path: path.to_owned(),
            actual: found,
            expected,
        })
    }

    pub(crate) fn link(path: &Path, target: PathBuf) -> io::Error {
        io::Error::other(Self::Link {
            path: path.to_owned(),
            target,
        })
    }
}
