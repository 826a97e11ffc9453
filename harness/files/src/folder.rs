//! An open folder, and the files in it by their names.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{self, Access, AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::obstacle::Obstacle;
use crate::open::{self, Walk};
use crate::partial::Partial;

/// The maximum number of folders inside of each other that are removed.
const MAX_DEPTH: usize = 200;

/// A folder that was opened without following links. Whatever is renamed or linked later, its files are written into this folder.
#[derive(Debug)]
pub struct Folder {
    handle: OwnedFd,
    path: PathBuf,
}

/// A lock on a folder. The system drops it with the process.
#[derive(Debug)]
pub struct FolderLock {
    _handle: OwnedFd,
}

impl Folder {
    /// Opens a folder that exists.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_with(path, false, false)
    }

    /// Opens a folder, and creates it and the folders around it if they are missing.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::open_with(path, true, false)
    }

    /// Opens the folder around a file.
    pub(crate) fn open_parent(path: &Path) -> io::Result<Self> {
        Self::open_with(path, false, true)
    }

    fn open_with(path: &Path, create: bool, last_may_be_link: bool) -> io::Result<Self> {
        let walk = Walk {
            create,
            last_may_be_link,
        };
        Ok(Self {
            handle: open::open(path, walk)?,
            path: path.to_owned(),
        })
    }

    /// Its path when it was opened, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Another handle of the folder.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            handle: self.handle.try_clone()?,
            path: self.path.clone(),
        })
    }

    /// Opens a folder in it, and creates it if it is missing.
    pub fn create_folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        self.open_inner(name.as_ref(), true)
    }

    /// Opens a folder in it.
    pub fn open_folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        self.open_inner(name.as_ref(), false)
    }

    fn open_inner(&self, name: &OsStr, create: bool) -> io::Result<Self> {
        let name = check_name(name)?;
        let path = self.path.join(name);
        if create {
            match fs::mkdirat(&self.handle, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let flags = open::folder_flags() | OFlags::NOFOLLOW;
        match fs::openat(&self.handle, name, flags, Mode::empty()) {
            Ok(handle) => Ok(Self { handle, path }),
            Err(error @ (Errno::NOTDIR | Errno::LOOP)) => Err(match self.read_stat(name)? {
                Some(stat) => match FileType::from_raw_mode(stat.st_mode) {
                    FileType::Symlink => self.link(name),
                    FileType::Directory => error.into(),
                    kind => Obstacle::build_folder_error(&path, kind),
                },
                None => error.into(),
            }),
            Err(error) => Err(error.into()),
        }
    }

    /// Replaces or creates a file.
    pub fn write(&self, name: impl AsRef<OsStr>, content: impl AsRef<[u8]>) -> io::Result<()> {
        let mut partial = self.begin(name)?;
        partial.write_all(content.as_ref())?;
        partial.keep().map(drop)
    }

    /// Begins a file. It gets its name with [`Partial::keep`].
    pub fn begin(&self, name: impl AsRef<OsStr>) -> io::Result<Partial> {
        Partial::create(self.try_clone()?, check_name(name.as_ref())?)
    }

    /// Creates a file that does not exist.
    pub fn create_new(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        Ok(File::from(fs::openat(
            &self.handle,
            check_name(name.as_ref())?,
            flags,
            mode,
        )?))
    }

    /// Opens a file to read it.
    pub fn read(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        let name = check_name(name.as_ref())?;
        self.check_file(name)?;
        // A pipe that is put there now is not waited for.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        Ok(File::from(fs::openat(&self.handle, name, flags, Mode::empty())?))
    }

    /// Whether a file is there.
    ///
    /// # Errors
    /// Something else is there.
    pub fn has_file(&self, name: impl AsRef<OsStr>) -> io::Result<bool> {
        Ok(self.check_file(check_name(name.as_ref())?)?.is_some())
    }

    /// Removes a file, if it is there.
    ///
    /// # Errors
    /// Something else is there.
    pub fn clear_file(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        let name = check_name(name.as_ref())?;
        match self.check_file(name)? {
            Some(_) => self.remove_file(name),
            None => Ok(()),
        }
    }

    /// Removes a file. A link is removed, not its target.
    pub fn remove_file(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(fs::unlinkat(
            &self.handle,
            check_name(name.as_ref())?,
            AtFlags::empty(),
        )?)
    }

    /// Removes a folder that is empty.
    pub fn remove_folder(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(fs::unlinkat(
            &self.handle,
            check_name(name.as_ref())?,
            AtFlags::REMOVEDIR,
        )?)
    }

    /// Removes a folder with everything in it. A link in it is removed, not its target.
    pub fn remove_folder_all(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        let name = check_name(name.as_ref())?;
        self.open_folder(name)?.clear(MAX_DEPTH)?;
        self.remove_folder(name)
    }

    /// Removes everything in it.
    fn clear(&self, depth: usize) -> io::Result<()> {
        let mut names = Vec::new();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        for entry in Dir::new(fs::openat(&self.handle, ".", flags, Mode::empty())?)? {
            let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        for name in names {
            let kind = self
                .read_stat(&name)?
                .map(|stat| FileType::from_raw_mode(stat.st_mode));
            match kind {
                Some(FileType::Directory) if depth > 0 => {
                    self.open_folder(&name)?.clear(depth - 1)?;
                    self.remove_folder(&name)?;
                }
                Some(FileType::Directory) => {
                    return Err(io::Error::other(format!(
                        "`{}` is nested too deeply",
                        self.path.display()
                    )));
                }
                Some(_) => self.remove_file(&name)?,
                None => {}
            }
        }
        Ok(())
    }

    /// Renames a file of this folder into another folder, in the place of a file there.
    pub fn move_file(&self, name: impl AsRef<OsStr>, into: &Self) -> io::Result<()> {
        let name = check_name(name.as_ref())?;
        into.check_file(name)?;
        Ok(fs::renameat(&self.handle, name, &into.handle, name)?)
    }

    /// Locks the folder until the answer is dropped, or answers `None` if another process has locked it. On a file system without
    /// locks, it counts as locked by this process.
    pub fn lock(&self) -> io::Result<Option<FolderLock>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = fs::openat(&self.handle, ".", flags, Mode::empty())?;
        match fs::flock(&handle, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Ok(None),
            _ => Ok(Some(FolderLock { _handle: handle })),
        }
    }

    pub(crate) fn handle(&self) -> &OwnedFd {
        &self.handle
    }

    fn read_stat(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The regular file of this name, if it is there. Fails if it must not be written, or is something else.
    pub(crate) fn check_writable(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        let there = self.check_file(name)?;
        if there.is_some() {
            // Renaming would replace a file that is read-only.
            fs::accessat(&self.handle, name, Access::WRITE_OK, AtFlags::EACCESS)?;
        }
        Ok(there)
    }

    fn check_file(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        let Some(stat) = self.read_stat(name)? else {
            return Ok(None);
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(Some(stat)),
            FileType::Symlink => Err(self.link(name)),
            kind => Err(Obstacle::build_file_error(&self.path.join(name), kind)),
        }
    }

    fn link(&self, name: &OsStr) -> io::Error {
        Obstacle::link(
            &self.path.join(name),
            open::read_target(self.handle.as_fd(), name),
        )
    }
}

/// A name without folders in it.
fn check_name(name: &OsStr) -> io::Result<&OsStr> {
    let mut components = Path::new(name).components();
    match (components.next(), components.next()) {
        (Some(Component::Normal(only)), None) if only == name => Ok(name),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("`{}` is not a file's name", Path::new(name).display()),
        )),
    }
}
