//! The part of a folder that workers may read: everything but hidden files and folders, where keys, passwords and the
//! history of a checkout lie (`.ssh`, `.env`, `.git`). See [`crate::containment`] for enforcement.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

/// Entries that are looked at. Folders that are not reached are readable as a whole, and so is a hidden file in them.
const MAX_ENTRIES: usize = 50_000;

/// How far below a folder hidden entries are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// In the folder itself: an installation of Python, which has many files.
    Top,
    /// In all folders.
    All,
}

/// A folder, or the largest parts of it that hold nothing hidden. A file is itself.
pub(crate) fn without_hidden(root: &Path, depth: Depth) -> Vec<PathBuf> {
    let mut folders = vec![Folder::new(root.to_owned(), None)];
    let mut waiting = VecDeque::from([0]);
    let mut entries = 0;
    while let Some(number) = waiting.pop_front() {
        let at = folders[number].path.clone();
        for entry in fs::read_dir(&at).into_iter().flatten().flatten() {
            entries += 1;
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                folders[number].hides = true;
            } else if kind.is_dir() {
                let child = folders.len();
                folders.push(Folder::new(path, Some(number)));
                if depth == Depth::All && entries < MAX_ENTRIES {
                    waiting.push_back(child);
                }
            } else if kind.is_file() {
                // A link could lead anywhere, and what it leads to in the folder is readable by itself.
                folders[number].files.push(path);
            }
        }
    }
    // Parents come before their children.
    for number in (1..folders.len()).rev() {
        if let (true, Some(parent)) = (folders[number].hides, folders[number].parent) {
            folders[parent].hides = true;
        }
    }
    let splits = |number: Option<usize>| number.is_none_or(|number| folders[number].hides);
    let parts = folders.iter().filter(|folder| splits(folder.parent));
    parts
        .flat_map(|folder| {
            if folder.hides {
                folder.files.clone()
            } else {
                vec![folder.path.clone()]
            }
        })
        .collect()
}

struct Folder {
    path: PathBuf,
    parent: Option<usize>,
    files: Vec<PathBuf>,
    /// Whether it, or a folder in it, has a hidden entry.
    hides: bool,
}

impl Folder {
    fn new(path: PathBuf, parent: Option<usize>) -> Self {
        Self {
            path,
            parent,
            files: Vec::new(),
            hides: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_entries_are_left_out_at_any_depth() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        for path in ["a/b", "a/.git", "c/d", "e"] {
            fs::create_dir_all(root.join(path)).expect("made");
        }
        for path in [
            "a/k.py",
            "a/b/k.py",
            "a/.git/config",
            "c/d/.env",
            "c/d/k.py",
            "e/k.py",
            "k.py",
        ] {
            fs::write(root.join(path), "x").expect("written");
        }
        std::os::unix::fs::symlink("/etc", root.join("a/link")).expect("linked");
        let found = |at: &str, depth| {
            let mut found: Vec<String> = without_hidden(&root.join(at), depth)
                .iter()
                .map(|path| path.strip_prefix(root).expect("in it").display().to_string())
                .collect();
            found.sort();
            found
        };
        assert_eq!(found("", Depth::All), ["a/b", "a/k.py", "c/d/k.py", "e", "k.py"]);
        assert_eq!(found("a", Depth::Top), ["a/b", "a/k.py"]);
        assert_eq!(found("e", Depth::All), ["e"]);
        assert_eq!(found("k.py", Depth::All), ["k.py"]);
        // Not looked for.
        assert_eq!(found("c", Depth::Top), ["c"]);
    }
}
