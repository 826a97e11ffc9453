//! A corpus from a folder on disk. Left out: everything but reading bytes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::corpus::{Corpus, Input, Missing};

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
    /// Reads every case file and kernel under `root`. Folders and files that begin with a dot, and `__pycache__`, are
    /// left out, and so are links to folders. A file that cannot be read becomes a problem of the corpus; only `root` itself is an error.
    pub fn read(root: &Path) -> Result<Self, ReadError> {
        let error = |source| ReadError {
            path: root.to_owned(),
            source,
        };
        let real = root.canonicalize().map_err(error)?;
        fs::read_dir(&real).map_err(error)?;
        let mut inputs = Vec::new();
        folder(&real, root, "", 0, &mut inputs);
        Ok(Self::load(inputs))
    }
}

fn folder(real_root: &Path, at: &Path, prefix: &str, depth: usize, inputs: &mut Vec<Input>) {
    let failed = |error: &io::Error, inputs: &mut Vec<Input>| {
        inputs.push(Input {
            // No file's path: those that begin with a dot are left out.
            path: format!("{prefix}/.yaml"),
            name: at.display().to_string(),
            content: Err(Missing::Unreadable(error.to_string())),
        });
    };
    let entries = match fs::read_dir(at) {
        Ok(entries) => entries,
        Err(error) => return failed(&error, inputs),
    };
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                failed(&error, inputs);
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
        let wanted = place
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
                folder(real_root, &place, &path, depth + 1, inputs);
            }
            continue;
        }
        if !wanted {
            continue;
        }
        let content = if inside {
            fs::read(&place).map_err(|error| Missing::Unreadable(error.to_string()))
        } else if place.exists() {
            Err(Missing::Outside)
        } else {
            Err(Missing::Unreadable("the link leads nowhere".to_owned()))
        };
        inputs.push(Input {
            path,
            name: place.display().to_string(),
            content,
        });
    }
}
