//! The targets of `cerith check`: files and kernels, and the files with kernels in folders.

use cerith_runner::corpus::{folder_of, is_python};
use cerith_runner::kernels::{KernelError, find_launched_kernels, is_case_file};
use std::fs;
use std::path::{Path, PathBuf};

use super::text::is_notebook;
/// Folders may nest this deep.
const DEPTH_MOST: usize = 32;

/// Imports lead at most this many folders out.
const MAX_LEVELS: usize = 8;

/// A file, and which of its kernels are meant; none: all of them.
#[derive(Debug)]
pub struct CheckTarget {
    /// The file.
    pub file: PathBuf,
    /// Names of kernels.
    pub kernels: Vec<String>,
    /// Whether it was named, and not found in a folder.
    pub explicit: bool,
}

/// The named files, the files in named folders, and the files whose kernels a named case file launches, each once, in their
/// order.
///
/// # Errors
/// A case file cannot be read, or launches no kernel.
pub fn find_targets(names: &[String]) -> Result<Vec<CheckTarget>, KernelError> {
    let mut all: Vec<CheckTarget> = Vec::new();
    for name in names {
        let path = Path::new(name);
        if is_case_file(path) && path.is_file() {
            for (file, kernel) in find_launched_kernels(path)? {
                add(&mut all, file, Some(&kernel));
            }
            continue;
        }
        if path.is_dir() {
            let mut found = Vec::new();
            collect(path, 0, &mut found);
            for file in found {
                if !all.iter().any(|asked| asked.file == file) {
                    all.push(CheckTarget {
                        file,
                        kernels: Vec::new(),
                        explicit: false,
                    });
                }
            }
            continue;
        }
        let (file, kernel) = match name.rsplit_once(':') {
            Some((file, kernel)) if !kernel.is_empty() && !kernel.contains(['/', '\\']) => {
                (file, Some(kernel))
            }
            _ => (name.as_str(), None),
        };
        add(&mut all, PathBuf::from(file), kernel);
    }
    Ok(all)
}

/// Adds a file that is named, with one of its kernels or all of them.
fn add(all: &mut Vec<CheckTarget>, file: PathBuf, kernel: Option<&str>) {
    let known = all.iter_mut().find(|asked| asked.file == file);
    match (known, kernel) {
        (Some(asked), Some(kernel)) if !asked.kernels.is_empty() => asked.kernels.push(kernel.to_owned()),
        (Some(asked), _) => asked.kernels.clear(),
        (None, kernel) => all.push(CheckTarget {
            file,
            kernels: kernel.map(str::to_owned).into_iter().collect(),
            explicit: true,
        }),
    }
}

/// The Python files of a folder and of its subfolders, by name. Hidden files and links to folders are skipped.
fn collect(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<fs::DirEntry> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if hidden || entry.file_name() == "__pycache__" {
            continue;
        }
        if kind.is_dir() && depth < DEPTH_MOST {
            collect(&path, depth + 1, found);
        } else if kind.is_file() && (is_python(&path) || is_notebook(&path)) {
            found.push(path);
        }
    }
}

/// The folder that imports of a file start from, and the file's path from there with `/` between folders: the folder around the
/// outermost package that the file is in, or else its own.
pub fn home_of(file: &Path) -> Option<(PathBuf, String)> {
    let mut root = folder_of(file);
    let mut parts = vec![file.file_name()?.to_str()?.to_owned()];
    // `.` has no name to import it by.
    if root.file_name().is_none() {
        root = root.canonicalize().ok()?;
    }
    while root.join("__init__.py").is_file() {
        let (Some(name), Some(above)) = (root.file_name().and_then(|name| name.to_str()), root.parent())
        else {
            break;
        };
        parts.push(name.to_owned());
        root = if above.as_os_str().is_empty() {
            PathBuf::from(".")
        } else {
            above.to_owned()
        };
        if root.file_name().is_none() {
            root = root.canonicalize().ok()?;
        }
    }
    parts.reverse();
    Some((root, parts.join("/")))
}

/// As [`home_of`], but further out if an import of the file leads there: a package needs no `__init__.py`. Only folders around the
/// file count whose name an import begins with, or to which a relative import leads.
pub fn home_by_imports(file: &Path, text: &str) -> Option<(PathBuf, String)> {
    let (root, path) = home_of(file)?;
    let Ok(full) = root.canonicalize() else {
        return Some((root, path));
    };
    let around: Vec<&Path> = full.ancestors().take(MAX_LEVELS).collect();
    let folders = path.matches('/').count();
    let mut levels = 0;
    for line in text.lines() {
        let line = line.trim_start();
        let Some(named) = line
            .strip_prefix("from ")
            .or_else(|| line.strip_prefix("import "))
        else {
            continue;
        };
        let named = named.trim_start();
        let dots = named.len() - named.trim_start_matches('.').len();
        if dots > 0 {
            levels = levels.max((dots - 1).saturating_sub(folders));
            continue;
        }
        let end = named
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(named.len());
        let first = named.get(..end).unwrap_or_default();
        if first.is_empty() || root.join(first).exists() || root.join(format!("{first}.py")).exists() {
            continue;
        }
        let is_named = |folder: &&Path| folder.file_name().is_some_and(|name| name == first);
        if let Some(at) = around.iter().position(is_named) {
            levels = levels.max(at + 1);
        }
    }
    let outer = around.get(levels).filter(|_| levels > 0);
    let inner = outer.and_then(|outer| full.strip_prefix(outer).ok()?.to_str());
    Some(match (outer, inner) {
        (Some(outer), Some(inner)) => {
            let path = format!("{}/{path}", inner.replace('\\', "/"));
            (outer.to_path_buf(), path)
        }
        _ => (root, path),
    })
}

/// How a file below a folder is shown: as a path from here where it is one.
pub fn display_path(root: &Path, path: &str) -> String {
    let full = root.join(path);
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    let short = here.ok().and_then(|here| full.strip_prefix(here).ok());
    short.unwrap_or(&full).display().to_string()
}
