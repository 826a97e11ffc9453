//! A worker's own folder: made, emptied, measured. See [`crate::pool`] for the workers.
//!
//! Code that is not trusted made its contents, and may still change them: links that lead elsewhere, folders nested without end.
//! So nothing here follows a link, goes deeper than it can hold open, or trusts a name twice.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, chmod, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

/// Folders within folders beyond which a folder counts as too large.
const DEEPEST: usize = 64;

/// The contents of a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    /// Bytes on disk.
    pub bytes: u64,
    /// Files, links and folders.
    pub entries: usize,
    /// Whether that is not all: counting ended at the entries asked for, or at some depth.
    pub cut: bool,
}

/// One worker's folder. Gone with it.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes the folder. There must be none.
    pub(crate) fn new(path: PathBuf) -> io::Result<Self> {
        std::fs::create_dir(&path)?;
        Ok(Self { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Measures its contents. Counting ends at `most` entries.
    pub(crate) fn measure(&self, most: usize) -> Contents {
        open(CWD, &self.path).map_or_else(|_| Contents::default(), |folder| measure(folder, most))
    }

    /// Removes everything but the folders of these names.
    pub(crate) fn clear(&self, keep: &[&str]) -> io::Result<()> {
        Ok(clear(&open(CWD, &self.path)?, keep)?)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The pool's folder goes later, and this with it.
        let _ = remove(&self.path);
    }
}

/// Removes a folder, whatever is in it.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    clear(&open(CWD, path)?, &[])?;
    std::fs::remove_dir(path)
}

/// Opens a folder; no link to one.
fn open(at: impl AsFd, name: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, name, flags, Mode::empty())
}

fn measure(folder: OwnedFd, most: usize) -> Contents {
    let mut found = Contents::default();
    let mut open_ones = Vec::new();
    open_ones.extend(Dir::new(folder));
    loop {
        let depth = open_ones.len();
        let Some(folder) = open_ones.last_mut() else { break };
        let Some(Ok(entry)) = folder.read() else {
            open_ones.pop();
            continue;
        };
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        found.entries += 1;
        if found.entries > most {
            found.cut = true;
            break;
        }
        let Ok(at) = folder.fd() else { continue };
        let Ok(data) = statat(at, name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        found.bytes += u64::try_from(data.st_blocks).unwrap_or_default() * 512;
        if FileType::from_raw_mode(data.st_mode).is_dir() {
            if depth >= DEEPEST {
                found.cut = true;
                continue;
            }
            let inner = open(at, name);
            open_ones.extend(inner.and_then(Dir::new));
        }
    }
    found
}

/// Removes everything in a folder. The contents of an inner folder are moved up before it is removed, so that no depth
/// needs more than two open folders.
fn clear(folder: &OwnedFd, keep: &[&str]) -> Result<(), Errno> {
    let mut moved = 0u64;
    loop {
        let mut left = false;
        for name in list_names(folder)? {
            if keep.iter().any(|kept| kept.as_bytes() == name.as_bytes()) {
                continue;
            }
            left = true;
            // The first call fails for a folder.
            if unlinkat(folder, &name, AtFlags::empty()).is_ok()
                || unlinkat(folder, &name, AtFlags::REMOVEDIR).is_ok()
            {
                continue;
            }
            let inner = open(folder, &name).or_else(|_| open_anyway(folder, &name))?;
            for within in list_names(&inner)? {
                if unlinkat(&inner, &within, AtFlags::empty()).is_err()
                    && unlinkat(&inner, &within, AtFlags::REMOVEDIR).is_err()
                {
                    // A folder that may not be read may not be moved either.
                    if open(&inner, &within).is_err() {
                        drop(open_anyway(&inner, &within)?);
                    }
                    moved += 1;
                    renameat(&inner, &within, folder, format!(".moved-{moved}"))?;
                }
            }
            unlinkat(folder, &name, AtFlags::REMOVEDIR)?;
        }
        if !left {
            return Ok(());
        }
    }
}

/// Opens a folder whose mode forbids it, after changing that.
fn open_anyway(at: &OwnedFd, name: &CString) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let known = openat(at, name, flags, Mode::empty())?;
    chmod(format!("/proc/self/fd/{}", known.as_raw_fd()), Mode::RWXU)?;
    open(at, name)
}

fn list_names(folder: &OwnedFd) -> Result<Vec<CString>, Errno> {
    let entries = Dir::read_from(folder)?;
    let names = entries.filter_map(|entry| entry.ok().map(|entry| entry.file_name().to_owned()));
    Ok(names
        .filter(|name| !matches!(name.as_bytes(), b"." | b".."))
        .collect())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn new_scratch() -> (tempfile::TempDir, Scratch) {
        let folder = tempfile::tempdir().expect("a folder");
        let scratch = Scratch::new(folder.path().join("own")).expect("made");
        (folder, scratch)
    }

    #[test]
    fn links_are_removed_and_not_followed() {
        let (folder, scratch) = new_scratch();
        let outside = folder.path().join("outside");
        fs::create_dir(&outside).expect("made");
        fs::write(outside.join("precious"), vec![1; 100_000]).expect("written");
        symlink(&outside, scratch.path().join("link")).expect("linked");
        symlink(scratch.path(), scratch.path().join("itself")).expect("linked");
        fs::write(scratch.path().join("file"), [1; 10_000]).expect("written");
        let contents = scratch.measure(100);
        assert_eq!((contents.entries, contents.cut), (3, false));
        assert!((10_000..50_000).contains(&contents.bytes), "{contents:?}");
        scratch.clear(&[]).expect("cleared");
        assert_eq!(scratch.measure(100), Contents::default());
        assert!(outside.join("precious").is_file());
    }

    #[test]
    fn what_is_kept_is_kept() {
        let (_folder, scratch) = new_scratch();
        for name in ["cache", "other"] {
            fs::create_dir(scratch.path().join(name)).expect("made");
            fs::write(scratch.path().join(name).join("file"), "x").expect("written");
        }
        scratch.clear(&["cache"]).expect("cleared");
        assert_eq!(scratch.measure(100).entries, 2);
        assert_eq!(scratch.measure(1).entries, 2);
        assert!(scratch.measure(1).cut);
    }

    #[test]
    fn no_depth_and_no_mode_keeps_a_folder_from_being_removed() {
        let (folder, scratch) = new_scratch();
        let mut inner = open(CWD, scratch.path()).expect("open");
        for _ in 0..3000 {
            rustix::fs::mkdirat(&inner, "in", Mode::RWXU).expect("made");
            inner = open(&inner, "in").expect("open");
        }
        drop(inner);
        let shut = scratch.path().join("shut");
        fs::create_dir_all(shut.join("one").join("two")).expect("made");
        for path in [shut.join("one"), shut] {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).expect("shut");
        }
        assert!(scratch.measure(10_000).cut);
        drop(scratch);
        assert_eq!(fs::read_dir(folder.path()).expect("a list").count(), 0);
    }
}
