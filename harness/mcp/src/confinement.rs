//! Confines the process, and finds the files that clients name.

use std::io;
use std::path::{Path, PathBuf};

use cerith_toolchain::containment::restrict_to_reading;

/// Confines the process to reading files of a folder: with Landlock if the system has it, and for every file that Cerith opens.
/// Returns the real path of the folder.
pub fn confine(folder: &Path) -> io::Result<PathBuf> {
    let real = cerith_files::confine_reads(folder)?;
    restrict_to_reading(&real);
    Ok(real)
}

/// The reason why a client may not name a file.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// It is not in the folder.
    #[error(
        "`{0}` is outside of the folder that the server was started in\n  = help: name a file by its path from that folder"
    )]
    Outside(String),
    /// It is a link out of the folder.
    #[error(
        "`{0}` is a link out of the folder that the server was started in\n  = help: name a file that is in that folder"
    )]
    Link(String),
    /// The system cannot open it.
    #[error("failed to read `{path}`: {source}")]
    Unreadable {
        /// The path.
        path: String,
        /// The system's error.
        source: io::Error,
    },
}

/// A file or a folder that a client names, as a path from the server's folder. `root` is the real path of that folder.
pub fn find_path(root: &Path, name: &str) -> Result<PathBuf, PathError> {
    let full = root.join(name);
    let is_inside = is_below(root, &full);
    // Files outside are not looked at: whether they exist is not the client's business.
    if !is_inside {
        return Err(PathError::Outside(name.to_owned()));
    }
    let real = full.canonicalize().map_err(|source| PathError::Unreadable {
        path: name.to_owned(),
        source,
    })?;
    match real.strip_prefix(root) {
        Ok(below) if below.as_os_str().is_empty() => Ok(PathBuf::from(".")),
        Ok(below) => Ok(below.to_owned()),
        Err(_) => Err(PathError::Link(name.to_owned())),
    }
}

/// Whether a path stays below a folder, by its names alone.
fn is_below(root: &Path, full: &Path) -> bool {
    let mut here = PathBuf::new();
    for component in full.components() {
        match component {
            std::path::Component::ParentDir => {
                here.pop();
            }
            std::path::Component::CurDir => {}
            other => here.push(other),
        }
    }
    here.starts_with(root)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[track_caller]
    fn check(root: &Path, name: &str, expected: Result<&str, &str>) {
        let found = find_path(root, name).map(|path| path.display().to_string());
        let found = found.map_err(|error| error.to_string().lines().next().unwrap_or_default().to_owned());
        match expected {
            Ok(path) => assert_eq!(found.as_deref(), Ok(path), "{name}"),
            Err(part) => assert!(
                found.as_ref().is_err_and(|error| error.contains(part)),
                "{name}: {found:?}"
            ),
        }
    }

    #[test]
    fn only_paths_in_the_folder_are_found() {
        let all = tempfile::TempDir::new().expect("a folder");
        let root = all.path().canonicalize().expect("a path").join("inside");
        std::fs::create_dir_all(root.join("package")).expect("folders");
        std::fs::write(root.join("package/k.py"), "").expect("a file");
        symlink("/etc/passwd", root.join("link.py")).expect("a link");
        symlink("package", root.join("alias")).expect("a link");
        check(&root, "package/k.py", Ok("package/k.py"));
        check(&root, "package/../package/k.py", Ok("package/k.py"));
        check(&root, "alias/k.py", Ok("package/k.py"));
        check(&root, ".", Ok("."));
        check(
            &root,
            &root.join("package/k.py").display().to_string(),
            Ok("package/k.py"),
        );
        check(&root, "../inside.py", Err("is outside of the folder"));
        check(&root, "../missing", Err("is outside of the folder"));
        check(&root, "/etc/passwd", Err("is outside of the folder"));
        check(&root, "link.py", Err("is a link out of the folder"));
        check(&root, "missing.py", Err("failed to read `missing.py`"));
        check(&root, "a\0b", Err("failed to read"));
    }
}
