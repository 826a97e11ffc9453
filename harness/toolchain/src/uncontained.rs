//! Commands for programs that run uncontained: Python, pip, uv. None of them reads modules or settings from the folder that
//! Cerith is called in, which may be an untrusted checkout. See [`crate::worker`] for workers.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::environment::passed_variables;

/// The working folder of such a program. It is not a temporary folder: uv looks for settings in every folder above too.
const FOLDER: &str = "/";

/// Keeps Python from 3.11 on from importing from its working folder.
pub(crate) const SAFE_PATH: &str = "PYTHONSAFEPATH";

/// A command that starts in a folder of the system, without the variables that change what a Python imports.
pub(crate) fn new_command(program: &Path) -> Command {
    // A relative path would be looked up in the new folder.
    let program = if program.components().count() > 1 {
        std::path::absolute(program).unwrap_or_else(|_| program.to_owned())
    } else {
        on_path(program.as_os_str(), std::env::var_os("PATH").as_deref())
            .next()
            .unwrap_or_else(|| program.to_owned())
    };
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let name_bytes = name.as_encoded_bytes();
        if name_bytes.starts_with(b"PYTHON") || name_bytes == b"VIRTUAL_ENV" {
            command.env_remove(name);
        }
    }
    command
        // For the Pythons that the program starts.
        .env(SAFE_PATH, "1")
        .current_dir(FOLDER)
        .stdin(Stdio::null());
    command
}

/// A Python that imports nothing from its working folder, from `PYTHONPATH` or from the user's own packages.
pub(crate) fn python_command(program: &Path) -> Command {
    let mut command = new_command(program);
    command.arg("-I");
    command
}

/// A Python with the part of the environment that is passed on to workers; with `gpu`, to those that have a GPU.
pub(crate) fn python_as_worker(program: &Path, gpu: bool) -> Command {
    let mut command = python_command(program);
    command
        .env_clear()
        .envs(passed_variables(gpu))
        .env(SAFE_PATH, "1");
    command
}

/// The programs of this name along `path`, the value of PATH. Relative folders are skipped: they depend on where Cerith is called.
pub(crate) fn on_path(name: &OsStr, path: Option<&OsStr>) -> impl Iterator<Item = PathBuf> {
    let folders: Vec<PathBuf> = path
        .map(|path| std::env::split_paths(path).collect())
        .unwrap_or_default();
    let name = name.to_owned();
    folders
        .into_iter()
        .filter(|folder| folder.is_absolute())
        .map(move |folder| folder.join(&name))
        .filter(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn relative_folders_on_path_are_skipped() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("python3"), "").expect("written");
        let path = std::env::join_paths([Path::new("."), Path::new(""), folder.path()]).expect("a path");
        let found: Vec<PathBuf> = on_path(OsStr::new("python3"), Some(&path)).collect();
        assert_eq!(found, [folder.path().join("python3")]);
        assert_eq!(
            on_path(OsStr::new("Cargo.toml"), Some(OsStr::new("."))).count(),
            0
        );
    }

    #[test]
    fn a_python_is_isolated_and_starts_elsewhere() {
        let command = python_command(Path::new("some/python"));
        assert!(Path::new(command.get_program()).is_absolute());
        assert_eq!(command.get_current_dir(), Some(Path::new(FOLDER)));
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["-I"]);
    }
}
