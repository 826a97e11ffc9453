//! Writes files and folders without following links that a checkout may contain. All output of Cerith outside of its own home
//! goes through this crate. See `open` for the part of a path that is trusted.
//!
//! A file is written under a random name in its folder, opened once, and renamed into place, so that a reader never sees half of
//! it and a failed write leaves the old file as it was. A link, a pipe, a device or a folder in its place is an [`Obstacle`].

mod checkout;
mod confined;
mod folder;
mod obstacle;
mod open;
mod partial;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

pub use checkout::distrust;
pub use confined::{ReadRoot, confine_reads};
pub use folder::{Folder, FolderLock};
pub use obstacle::Obstacle;
pub use partial::Partial;

/// Replaces or creates a file in a folder that exists.
pub fn write(path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> io::Result<()> {
    let (folder, name) = open_parent(path.as_ref())?;
    folder.write(name, content)
}

/// The maximum number of bytes of a file that Cerith itself wrote, such as a record or a campaign.
pub const MAX_FILE: u64 = 1 << 28;

/// Opens a file to read it. Links are followed, inside the folder that [`confine_reads`] was called for. Anything other than a regular file is an error: a pipe may have no writer, and
/// a device no end.
pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
    // Without it, opening a pipe waits for a writer.
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::CLOEXEC;
    let file = confined::open_to_read(path.as_ref(), flags)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ))
    }
}

/// Reads a file as text, if it has no more than so many bytes.
pub fn read_text(path: impl AsRef<Path>, most: u64) -> io::Result<String> {
    let mut text = String::new();
    open(path)?
        .take(most.saturating_add(1))
        .read_to_string(&mut text)?;
    if text.len() as u64 > most {
        let message = format!("it has more than {most} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(text)
}

/// Creates a file in a folder that exists. It may exist with the same content; other content may be a user's work, and is an
/// error.
pub fn write_new(path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> io::Result<()> {
    let (path, content) = (path.as_ref(), content.as_ref());
    let (folder, name) = open_parent(path)?;
    let file = match folder.read(name) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return folder.write(name, content),
        Err(error) => return Err(error),
    };
    let mut present = Vec::new();
    file.take(content.len() as u64 + 1).read_to_end(&mut present)?;
    if present == content {
        return Ok(());
    }
    let message = format!(
        "{} exists with other content: remove it, or name another folder",
        path.display()
    );
    Err(io::Error::new(io::ErrorKind::AlreadyExists, message))
}

/// Begins a file in a folder that exists. It gets its name with [`Partial::keep`].
pub fn begin(path: impl AsRef<Path>) -> io::Result<Partial> {
    let (folder, name) = open_parent(path.as_ref())?;
    folder.begin(name)
}

/// Creates a folder with the folders around it. It may exist.
pub fn create_folders(path: impl AsRef<Path>) -> io::Result<()> {
    Folder::create(path.as_ref()).map(drop)
}

/// Removes a file. A link is removed, not its target.
pub fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    let (folder, name) = open_parent(path.as_ref())?;
    folder.remove_file(name)
}

/// Removes a folder that is empty.
pub fn remove_folder(path: impl AsRef<Path>) -> io::Result<()> {
    let (folder, name) = open_parent(path.as_ref())?;
    folder.remove_folder(name)
}

/// Removes a folder with everything in it. A link in it is removed, not its target; a link in its place is an [`Obstacle`].
pub fn remove_folder_all(path: impl AsRef<Path>) -> io::Result<()> {
    let (folder, name) = open_parent(path.as_ref())?;
    folder.remove_folder_all(name)
}

/// Creates a file that does not exist.
pub fn create_new(path: impl AsRef<Path>) -> io::Result<File> {
    let (folder, name) = open_parent(path.as_ref())?;
    folder.create_new(name)
}

/// The folder around a file, and the file's name.
fn open_parent(path: &Path) -> io::Result<(Folder, &OsStr)> {
    let name = path.file_name().ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            "the path does not end with a file's name",
        )
    })?;
    let parent = path.parent().unwrap_or(Path::new(""));
    Ok((Folder::open_parent(parent)?, name))
}
