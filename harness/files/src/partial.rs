//! A file while it is written: under a random name, until it is whole.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, Write};

use rustix::fs::{self, Mode};

use crate::folder::Folder;

/// A file that does not have its name yet. If it is dropped without [`Partial::keep`], nothing is left of it.
#[derive(Debug)]
pub struct Partial {
    folder: Folder,
    name: OsString,
    written: OsString,
    file: File,
    is_kept: bool,
}

impl Partial {
    pub(crate) fn create(folder: Folder, name: &OsStr) -> io::Result<Self> {
        let there = folder.check_writable(name)?;
        let (written, file) = loop {
            let written = OsString::from(format!(".cerith-{:016x}.partial", draw_number()));
            match folder.create_new(&written) {
                Ok(file) => break (written, file),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        };
        let partial = Self {
            folder,
            name: name.to_owned(),
            written,
            file,
            is_kept: false,
        };
        if let Some(there) = there {
            // A file that is replaced stays as private, or as executable, as it was.
            fs::fchmod(&partial.file, Mode::from_raw_mode(there.st_mode & 0o777))?;
        }
        Ok(partial)
    }

    /// The file, to write to.
    pub const fn file(&self) -> &File {
        &self.file
    }

    /// Gives it its name, in the place of a file that has it. Answers with the file, which stays open.
    pub fn keep(mut self) -> io::Result<File> {
        self.folder.check_writable(&self.name)?;
        let file = self.file.try_clone()?;
        let handle = self.folder.handle();
        fs::renameat(handle, &self.written, handle, &self.name)?;
        self.is_kept = true;
        Ok(file)
    }
}

impl Write for Partial {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.is_kept {
            // Half a file is useless. If it cannot be removed, its name shows that it is partial.
            let _ = self.folder.remove_file(&self.written);
        }
    }
}

/// A number that another process cannot foresee.
fn draw_number() -> u64 {
    RandomState::new().build_hasher().finish()
}
