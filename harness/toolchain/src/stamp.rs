//! Stamps that tell whether a toolchain's files are those of before. The Triton and the NumPy of an adopted environment are known by
//! the sizes and times of their files: its owner may build them again under the same name. See [`crate::manifest`] for installed ones.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use blake3::{Hash, Hasher};

use crate::dependencies::stamp_of;
use crate::manifest::{self, Depth};
use crate::{Toolchain, uncontained};

const ASK: &str = "
import importlib.util, os
print(*(os.path.dirname(importlib.util.find_spec(name).origin) for name in ('triton', 'numpy')), sep='\\0')
";

/// The maximum depth of folders; Triton has six. Deeper ones are links into themselves.
const DEEPEST: usize = 16;

/// A hash of a toolchain's files and of the Python that they run in; `None` if the toolchain is damaged.
///
/// # Errors
/// An adopted environment's Python does not say where its Triton is, or that cannot be read.
pub(crate) fn stamp(toolchain: &Toolchain) -> io::Result<Option<Hash>> {
    let files = if toolchain.is_adopted() {
        stamp_adopted(toolchain)?
    } else {
        match manifest::check(toolchain, Depth::Once) {
            Ok(hash) => hash,
            Err(_) => return Ok(None),
        }
    };
    let mut hasher = Hasher::new();
    hasher.update(files.as_bytes());
    if let Ok(python) = toolchain.python().canonicalize() {
        hasher.update(python.as_os_str().as_encoded_bytes());
        if let Ok(metadata) = python.metadata() {
            let (size, _, changed, _) = stamp_of(&metadata);
            hasher.update(&size.to_le_bytes()).update(&changed.to_le_bytes());
        }
    }
    Ok(Some(hasher.finalize()))
}

/// The digest of the names, sizes and times of change of every file of an adopted environment's Triton and NumPy.
fn stamp_adopted(toolchain: &Toolchain) -> io::Result<Hash> {
    let output = uncontained::python_as_worker(&toolchain.python(), true)
        .args(["-c", ASK])
        .output()?;
    let told = String::from_utf8_lossy(&output.stdout);
    // A package may print when Python starts.
    let folders: Vec<&Path> = told
        .lines()
        .last()
        .unwrap_or_default()
        .split('\0')
        .map(Path::new)
        .collect();
    let [triton, numpy] = folders[..] else {
        return Err(describe_loss(toolchain));
    };
    if !output.status.success() || !triton.is_dir() || !numpy.is_dir() {
        return Err(describe_loss(toolchain));
    }
    let mut hasher = Hasher::new();
    for folder in [triton, numpy] {
        hasher.update(stamp_folder(folder)?.as_bytes());
    }
    Ok(hasher.finalize())
}

fn describe_loss(toolchain: &Toolchain) -> io::Error {
    let python = toolchain.python();
    io::Error::other(format!("{} has no Triton any more", python.display()))
}

/// The stamp of a folder.
fn stamp_folder(folder: &Path) -> io::Result<Hash> {
    let mut files = BTreeMap::new();
    visit(folder, DEEPEST, &mut files)?;
    let mut hasher = Hasher::new();
    for (path, (size, changed)) in files {
        let name = path.as_os_str().as_encoded_bytes();
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name);
        hasher.update(&size.to_le_bytes());
        hasher.update(&changed.to_le_bytes());
    }
    Ok(hasher.finalize())
}

fn visit(folder: &Path, depth: usize, files: &mut BTreeMap<PathBuf, (u64, u128)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        // A build links to its backends, and a link may lead nowhere.
        let Ok(metadata) = fs::metadata(&path) else {
            continue;
        };
        if metadata.is_dir() {
            // Python writes there whenever it likes.
            if depth > 0 && path.file_name().is_none_or(|name| name != "__pycache__") {
                visit(&path, depth - 1, files)?;
            }
        } else {
            let changed = metadata
                .modified()?
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default();
            files.insert(path, (metadata.len(), changed.as_nanos()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::symlink;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn what_is_built_again_has_another_stamp_and_what_python_keeps_does_not_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("backends/__pycache__")).expect("folders");
        fs::write(at("backends/compiler.py"), "x = 1\n").expect("a file");
        symlink(folder.path(), at("backends/itself")).expect("a link");
        symlink(at("nowhere"), at("backends/gone")).expect("a link");
        let first = stamp_folder(folder.path()).expect("a stamp");
        fs::write(at("backends/__pycache__/compiler.pyc"), "kept").expect("a file");
        assert_eq!(stamp_folder(folder.path()).expect("a stamp"), first);

        fs::write(at("backends/compiler.py"), "x = 10\n").expect("a file");
        let longer = stamp_folder(folder.path()).expect("a stamp");
        assert_ne!(longer, first);
        let file = File::options()
            .write(true)
            .open(at("backends/compiler.py"))
            .expect("it is there");
        file.set_modified(SystemTime::now() + Duration::from_secs(9))
            .expect("a time");
        assert_ne!(stamp_folder(folder.path()).expect("a stamp"), longer);
        assert!(stamp_folder(&at("nowhere")).is_err());
    }
}
