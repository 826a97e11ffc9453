//! Opens folders level by level.
//!
//! Links are followed only where the author of a checkout cannot have put them: in an absolute path, above the current folder,
//! above every folder that holds a checkout (`.git`, `.hg`, `.jj`, `.svn`) and above every folder that [`distrust`](crate::distrust) was called
//! for. Every level of a relative path, and every level below such a folder, is opened without following links. So is the last
//! level of a path to a folder, wherever it is. `..` leads to the folder that holds the opened one, whatever its name.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::checkout::{identify_folder, is_checkout, is_within_checkout};
use crate::obstacle::Obstacle;

/// How a path is walked.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    /// Create the folders that are missing.
    pub create: bool,
    /// Whether the last level may be a link if all levels above are trusted.
    pub last_may_be_link: bool,
}

/// Opens a folder.
pub fn open(path: &Path, walk: Walk) -> io::Result<OwnedFd> {
    let (mut here, levels, mut trusted, mut shown) = begin(path)?;
    for (nth, level) in levels.iter().enumerate() {
        shown.push(level);
        let last = nth + 1 == levels.len();
        if level == ".." {
            here = fs::openat(&here, "..", folder_flags(), Mode::empty())?;
            trusted = false;
            continue;
        }
        let follow = trusted && (!last || walk.last_may_be_link);
        let (next, followed) = step(here.as_fd(), level, &shown, walk.create, follow)?;
        here = next;
        trusted = trusted
            && if followed {
                !is_within_checkout(here.as_fd())?
            } else {
                !is_checkout(here.as_fd())?
            };
    }
    Ok(here)
}

/// The folder that a walk begins in, its levels, whether links may be followed, and the path so far.
fn begin(path: &Path) -> io::Result<(OwnedFd, Vec<OsString>, bool, PathBuf)> {
    let levels = |path: &Path| -> Vec<OsString> {
        path.components()
            .filter_map(|component| match component {
                Component::Normal(name) => Some(name.to_owned()),
                Component::ParentDir => Some("..".into()),
                _ => None,
            })
            .collect()
    };
    let here = || fs::openat(CWD, ".", folder_flags(), Mode::empty());
    if !path.is_absolute() {
        return Ok((here()?, levels(path), false, PathBuf::new()));
    }
    if let Some(current) = current_folder_in(path)
        && let Ok(below) = path.strip_prefix(&current)
    {
        return Ok((here()?, levels(below), false, current));
    }
    let root = fs::openat(CWD, "/", folder_flags(), Mode::empty())?;
    Ok((root, levels(path), true, PathBuf::from("/")))
}

/// The name of the current folder by which a path begins, if it does: the real one, or the one that the shell shows.
fn current_folder_in(path: &Path) -> Option<PathBuf> {
    let real = std::env::current_dir().ok()?;
    let here = fs::stat(".").ok()?;
    let shown = std::env::var_os("PWD").map(PathBuf::from);
    let shown = shown
        .filter(|shown| fs::stat(shown).is_ok_and(|stat| identify_folder(&stat) == identify_folder(&here)));
    [Some(real), shown]
        .into_iter()
        .flatten()
        .find(|current| current.parent().is_some() && path.starts_with(current))
}

/// Opens one level. Answers whether it was a link that was followed.
fn step(
    here: BorrowedFd<'_>,
    level: &OsStr,
    shown: &Path,
    create: bool,
    follow: bool,
) -> io::Result<(OwnedFd, bool)> {
    let flags = folder_flags();
    // A second try happens only if the folder was removed or made in between.
    for _ in 0..8 {
        match fs::openat(here, level, flags | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(next) => return Ok((next, false)),
            Err(Errno::NOENT) if create => match fs::mkdirat(here, level, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            },
            Err(error @ (Errno::NOTDIR | Errno::LOOP)) => {
                let stat = fs::statat(here, level, AtFlags::SYMLINK_NOFOLLOW)?;
                match FileType::from_raw_mode(stat.st_mode) {
                    FileType::Symlink if follow => {
                        return Ok((fs::openat(here, level, flags, Mode::empty())?, true));
                    }
                    FileType::Symlink => return Err(Obstacle::link(shown, read_target(here, level))),
                    FileType::Directory => {}
                    kind if error == Errno::NOTDIR => return Err(Obstacle::build_folder_error(shown, kind)),
                    _ => return Err(error.into()),
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::other(format!("`{}` keeps changing", shown.display())))
}

/// The path in a link.
pub fn read_target(folder: BorrowedFd<'_>, name: &OsStr) -> PathBuf {
    let target = fs::readlinkat(folder, name, Vec::new()).map(std::ffi::CString::into_bytes);
    PathBuf::from(OsString::from_vec(target.unwrap_or_default()))
}

/// Flags of a folder that is walked through. On Linux it need not be readable.
pub fn folder_flags() -> OFlags {
    #[cfg(target_os = "linux")]
    let access = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    let access = OFlags::RDONLY;
    access | OFlags::DIRECTORY | OFlags::CLOEXEC
}
