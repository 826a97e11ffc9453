//! A corpus from a folder on disk. Left out: everything but finding files and reading bytes; data archives are found here
//! and read when a case needs them.

use std::fs;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::archive::{Archive, Archives, Place};
use crate::corpus::Corpus;
use crate::input::{Input, MAX_TEXT, Missing};

/// Folders may nest this deep.
const MAX_DEPTH: usize = 32;

/// Why a folder is no corpus.
#[derive(Debug, thiserror::Error)]
#[error("read the corpus at {path}: {source}", path = path.display())]
pub struct ReadError {
    /// The folder.
    pub path: PathBuf,
    /// What the system says.
    pub source: io::Error,
}

impl Corpus {
    /// Reads every case file and kernel under `root`, and notes where data archives are. It leaves out folders and files that
    /// begin with a dot, `__pycache__`, and links to folders. A file that cannot be read becomes a problem of the corpus; only
    /// `root` itself is an error.
    pub fn read(root: &Path) -> Result<Self, ReadError> {
        let error = |source| ReadError {
            path: root.to_owned(),
            source,
        };
        let real = root.canonicalize().map_err(error)?;
        fs::read_dir(&real).map_err(error)?;
        let mut found = Found::default();
        folder(&real, root, "", 0, &mut found);
        Ok(Self::with_archives(found.inputs, found.archives))
    }
}

/// The files of a corpus.
#[derive(Default)]
struct Found {
    inputs: Vec<Input>,
    archives: Archives,
}

fn folder(real_root: &Path, at: &Path, prefix: &str, depth: usize, found: &mut Found) {
    let failed = |error: &io::Error, found: &mut Found| {
        found.inputs.push(Input {
            // No file's path: those that begin with a dot are left out.
            path: format!("{prefix}/.yaml"),
            name: at.display().to_string(),
            content: Err(Missing::Unreadable(error.to_string())),
        });
    };
    let entries = match fs::read_dir(at) {
        Ok(entries) => entries,
        Err(error) => return failed(&error, found),
    };
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                failed(&error, found);
                continue;
            }
        };
        let file_name = entry.file_name();
        let Some(file_name) = file_name
            .to_str()
            .filter(|name| !name.starts_with('.') && *name != "__pycache__")
        else {
            continue;
        };
        let path = if prefix.is_empty() {
            file_name.to_owned()
        } else {
            format!("{prefix}/{file_name}")
        };
        let place = at.join(file_name);
        let archive = place.extension().is_some_and(|end| end == "zip");
        let wanted = archive
            || place
                .extension()
                .is_some_and(|end| end == "yaml" || end == "yml" || end == "py");
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        let inside = !is_link
            || place
                .canonicalize()
                .is_ok_and(|target| target.starts_with(real_root));
        if place.is_dir() {
            // Through links, a folder could be reached in as many ways as there are paths.
            if !is_link && depth < MAX_DEPTH {
                folder(real_root, &place, &path, depth + 1, found);
            }
            continue;
        }
        if !wanted {
            continue;
        }
        let there = match place.metadata() {
            Err(_) if is_link => Err(Missing::Unreadable("the link leads nowhere".to_owned())),
            Err(error) => Err(Missing::Unreadable(error.to_string())),
            Ok(_) if !inside => Err(Missing::Outside),
            // A pipe has no end, and a device may have none.
            Ok(data) if !data.is_file() => Err(Missing::Unreadable("it is no regular file".to_owned())),
            Ok(_) => Ok(()),
        };
        let name = place.display().to_string();
        if archive {
            let there = there.map(|()| Place::File(place));
            found.archives.insert(path, Archive::new(name, there));
            continue;
        }
        let content = there.and_then(|()| text(&place));
        found.inputs.push(Input { path, name, content });
    }
}

/// A file's content, up to one byte more than a corpus reads: enough to see that the file is too long.
fn text(place: &Path) -> Result<Vec<u8>, Missing> {
    let mut content = Vec::new();
    File::open(place)
        .and_then(|file| file.take(MAX_TEXT as u64 + 1).read_to_end(&mut content))
        .map_err(|error| Missing::Unreadable(error.to_string()))?;
    Ok(content)
}
