//! Folders in which another person may have put links: checkouts, the current folder, and those that [`distrust`] was called for.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{self, AtFlags, Mode};

use crate::open::folder_flags;

/// Device and number of a folder.
type Identity = (u64, u64);

/// Folders with untrusted contents that need not be checkouts.
static DISTRUSTED: Mutex<Vec<Identity>> = Mutex::new(Vec::new());

/// Entries that a checkout has at its root.
const MARKERS: [&str; 4] = [".git", ".hg", ".jj", ".svn"];

/// The maximum number of parent folders that are searched.
const MAX_DEPTH: usize = 1000;

/// Says that a folder and everything in it may hold links that the user did not make. A folder that does not exist is ignored.
pub fn distrust(folder: &Path) {
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let Ok(stat) = fs::stat(folder) else { return };
    let mut all = DISTRUSTED.lock().unwrap_or_else(PoisonError::into_inner);
    let identity = identify_folder(&stat);
    if !all.contains(&identity) {
        all.push(identity);
    }
}

/// Whether a folder, or one that holds it, is not trusted.
pub(crate) fn is_within_checkout(folder: BorrowedFd<'_>) -> io::Result<bool> {
    let mut here = folder.try_clone_to_owned()?;
    for _ in 0..MAX_DEPTH {
        if is_checkout(here.as_fd())? {
            return Ok(true);
        }
        let above = fs::openat(&here, "..", folder_flags(), Mode::empty())?;
        if identify_folder(&fs::fstat(&above)?) == identify_folder(&fs::fstat(&here)?) {
            return Ok(false);
        }
        here = above;
    }
    Ok(true)
}

/// Whether links in a folder are not followed: it is the current folder, the root of a checkout, or distrusted.
pub(crate) fn is_checkout(folder: BorrowedFd<'_>) -> io::Result<bool> {
    let own = identify_folder(&fs::fstat(folder)?);
    let root = fs::stat("/").map(|stat| identify_folder(&stat))?;
    let current = fs::stat(".").map(|stat| identify_folder(&stat)).ok();
    if own != root && current == Some(own) {
        return Ok(true);
    }
    let distrusted = DISTRUSTED.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(distrusted.contains(&own)
        || MARKERS
            .iter()
            .any(|marker| fs::statat(folder, *marker, AtFlags::SYMLINK_NOFOLLOW).is_ok()))
}

pub(crate) fn identify_folder(stat: &fs::Stat) -> Identity {
    (stat.st_dev, stat.st_ino)
}
