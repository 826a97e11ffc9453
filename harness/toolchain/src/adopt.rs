//! Adopts a Python environment that Cerith did not make. See [`crate::install`] for installing one.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::home::{Home, HomeError};
use crate::id::ToolchainId;
use crate::id::is_build;
use crate::install::{Event, Observer};
use crate::installed::{Adopted, Contents, MARKER, SCHEMA, Toolchain, release};
use crate::pool::Pool;
use crate::probe::{ProbeError, probe};
use crate::request::Device;
use crate::uncontained;

/// A Python cannot be adopted. Fits after "failed to ".
#[derive(Debug, thiserror::Error)]
pub enum AdoptError {
    /// There is no such program.
    #[error("start {}: {source}; name a Python by its path, or one that is on PATH", python.display())]
    NoPython {
        /// The Python.
        python: PathBuf,
        /// The system's message.
        source: io::Error,
    },
    /// It is not an environment with Triton and NumPy.
    #[error("adopt {}: {reason}", python.display())]
    Unfit {
        /// The Python.
        python: PathBuf,
        /// The problem, and a fix.
        reason: String,
    },
    /// There is another toolchain of its name.
    #[error("adopt {} as {id}: {occupant}; `cerith toolchain remove {id}` makes room", python.display())]
    Taken {
        /// The Python.
        python: PathBuf,
        /// The name.
        id: ToolchainId,
        /// The owner of the name.
        occupant: String,
    },
    /// The marker cannot be written.
    #[error(transparent)]
    Home(#[from] HomeError),
}

/// A Python's description of itself.
#[derive(Deserialize)]
struct PythonDescription {
    executable: PathBuf,
    python: String,
    triton: String,
    numpy: String,
    torch: Option<String>,
    gpu: bool,
}

const ASK: &str = "
import json, platform, sys
import numpy, triton
try:
    import torch
except ImportError:
    torch = None
print(json.dumps({
    'executable': sys.executable, 'python': platform.python_version(), 'triton': triton.__version__,
    'numpy': numpy.__version__, 'torch': torch and str(torch.__version__),
    'gpu': torch is not None and torch.cuda.is_available(),
}))
";

/// The part of a build's version after the release: `git1a2b3c4` of `3.10.0+git1a2b3c4`. Other parts do not tell builds
/// apart.
fn build(version: &str) -> Option<&str> {
    let (_, label) = version.split_once('+')?;
    is_build(label).then_some(label)
}

impl Home {
    /// Registers the environment of a Python, which Cerith did not make, as a toolchain of the Triton, NumPy and torch
    /// that it holds. `python` is a path, or a name on PATH. Nothing is installed; only a marker is written. A Triton
    /// whose version names a build (`3.10.0+git1a2b3c4`) is called by it; `name` is another name for the build.
    ///
    /// # Errors
    /// There is no such Python, it has no Triton, a worker does not run in it, or its name is taken.
    pub fn adopt(
        &self,
        python: &OsStr,
        name: Option<&str>,
        observer: &dyn Observer,
    ) -> Result<Toolchain, AdoptError> {
        adopt(self, python, name, observer)
    }
}

fn adopt(
    home: &Home,
    python: &OsStr,
    name: Option<&str>,
    observer: &dyn Observer,
) -> Result<Toolchain, AdoptError> {
    let unfit = |reason: String| AdoptError::Unfit {
        python: python.into(),
        reason,
    };
    observer.report_event(Event::Step("asking it what it holds".to_owned()));
    let told = ask(python)?;
    let (Some(triton), Some(numpy)) = (release(&told.triton), release(&told.numpy)) else {
        return Err(unfit(format!(
            "its triton is {} and its numpy {}, which are not releases",
            told.triton, told.numpy
        )));
    };
    let build = name.or_else(|| build(&told.triton));
    let build = build.map_or_else(String::new, |build| format!("+{build}"));
    let name = format!("{triton}{build}+numpy{numpy}");
    let id: ToolchainId = name.parse().map_err(|error: crate::BadId| unfit(error.problem))?;
    let contents = Contents {
        schema: SCHEMA,
        id: id.to_string(),
        triton: told.triton,
        numpy: told.numpy,
        python: told.python,
        torch: told.torch,
        adopted: Some(Adopted {
            python: told.executable,
            gpu: told.gpu,
        }),
    };
    let folder = home.toolchains_folder();
    let root = folder.join(id.to_string());
    let io = |doing, path: &Path| {
        let path = path.to_owned();
        move |source| HomeError::Io { doing, path, source }
    };
    fs::create_dir_all(&folder).map_err(io("make", &folder))?;
    let lock = home.lock(&id, || false)?;
    if let Some(there) = home.find(&id) {
        let known = &there.contents.adopted;
        if known.as_ref().map(|one| &one.python) != contents.adopted.as_ref().map(|one| &one.python) {
            return Err(AdoptError::Taken {
                python: python.into(),
                id,
                occupant: known.as_ref().map_or_else(
                    || "one of that name is installed".to_owned(),
                    |one| format!("{} has that name", one.python.display()),
                ),
            });
        }
    }
    let toolchain = Toolchain::new(id.clone(), contents, root.clone());
    try_it(&toolchain, observer).map_err(|error| unfit(error.to_string()))?;
    // Beside its place and then renamed into it, as everything here.
    let partial = folder.join(format!(".partial-{id}"));
    for old in [&partial, &root] {
        match fs::remove_dir_all(old) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io("remove", old)(error).into());
            }
            _ => {}
        }
    }
    fs::create_dir(&partial).map_err(io("make", &partial))?;
    let marker = partial.join(MARKER);
    let text = serde_json::to_vec_pretty(&toolchain.contents).map_err(|error| unfit(error.to_string()))?;
    fs::write(&marker, text).map_err(io("write", &marker))?;
    fs::rename(&partial, &root).map_err(io("make", &root))?;
    drop(lock);
    Ok(toolchain)
}

/// Asks a Python in the surroundings that workers have.
fn ask(python: &OsStr) -> Result<PythonDescription, AdoptError> {
    let environment = Path::new(python).join("bin/python");
    // A folder is a virtual environment: `.venv`.
    let path = if environment.is_file() {
        &environment
    } else {
        Path::new(python)
    };
    let output = uncontained::python_as_worker(path, true)
        .args(["-c", ASK])
        .output()
        .map_err(|source| AdoptError::NoPython {
            python: python.into(),
            source,
        })?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said
            .lines()
            .rfind(|line| !line.trim().is_empty())
            .unwrap_or("it prints nothing");
        AdoptError::Unfit {
            python: python.into(),
            reason: format!("{}; an environment with triton and numpy is wanted, and `cerith toolchain add 3.9.0` makes one", last.trim()),
        }
    })
}

/// Has workers of it run a kernel: one with stand-ins, and one with torch's own tensors where it has torch.
fn try_it(toolchain: &Toolchain, observer: &dyn Observer) -> Result<(), ProbeError> {
    observer.report_event(Event::Step("trying it".to_owned()));
    probe(&Pool::new(toolchain.clone(), 1)?)?;
    if toolchain.contents.torch.is_some() {
        observer.report_event(Event::Step("trying its torch".to_owned()));
        probe(&Pool::with_torch(toolchain.clone(), 1, Device::Host)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    use super::*;

    /// A home, and a Python that says this when asked.
    fn fake_python(says: &str) -> (tempfile::TempDir, Home, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let python = folder.path().join("python");
        fs::write(&python, format!("#!/bin/sh\n{says}\n")).expect("written");
        fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).expect("executable");
        // A process that another test forks meanwhile has the file open for writing until it executes something else.
        let busy = |error: io::Error| error.kind() == io::ErrorKind::ExecutableFileBusy;
        while Command::new(&python).output().is_err_and(busy) {
            std::thread::yield_now();
        }
        let home = Home::new(folder.path().join("home"));
        (folder, home, python)
    }

    #[track_caller]
    fn check(says: &str, expected: &str) {
        let (_folder, home, python) = fake_python(says);
        let error = adopt(&home, python.as_os_str(), None, &()).expect_err("it cannot be");
        let expected = expected.replace("PYTHON", &python.display().to_string());
        assert_eq!(error.to_string(), expected);
        assert_eq!(home.list().expect("a list"), []);
    }

    #[test]
    fn what_is_no_environment_with_triton_is_refused() {
        check(
            "echo \"ModuleNotFoundError: No module named 'triton'\" >&2; exit 1",
            "adopt PYTHON: ModuleNotFoundError: No module named 'triton'; an environment with triton and numpy is wanted, and `cerith toolchain add 3.9.0` makes one",
        );
        check(
            "true",
            "adopt PYTHON: it prints nothing; an environment with triton and numpy is wanted, and `cerith toolchain add 3.9.0` makes one",
        );
        let told = |triton: &str| {
            format!(
                r#"echo '{{"executable":"/no/python","python":"3.11.7","triton":"{triton}","numpy":"2.3.5","torch":null,"gpu":false}}'"#
            )
        };
        check(
            &told("main"),
            "adopt PYTHON: its triton is main and its numpy 2.3.5, which are not releases",
        );
        check(
            &told("3.6.0"),
            "adopt PYTHON: start a worker of 3.6.0+numpy2.3.5: /no/python: No such file or directory (os error 2)",
        );
    }

    #[test]
    fn a_folder_is_a_virtual_environment() {
        let (folder, home, python) = fake_python("true");
        let environment = folder.path().join(".venv");
        fs::create_dir_all(environment.join("bin")).expect("made");
        fs::rename(&python, environment.join("bin/python")).expect("moved");
        let error = adopt(&home, environment.as_os_str(), None, &()).expect_err("it holds nothing");
        let expected = format!("adopt {}: it prints nothing;", environment.display());
        assert!(error.to_string().starts_with(&expected), "{error}");
    }

    #[test]
    fn a_name_that_is_taken_is_left_alone() {
        let (_folder, home, python) = fake_python(
            r#"echo '{"executable":"/no/python","python":"3.11.7","triton":"3.6.0","numpy":"2.3.5","torch":null,"gpu":false}'"#,
        );
        let root = home.toolchains_folder().join("3.6.0+numpy2.3.5");
        fs::create_dir_all(&root).expect("made");
        let marker = root.join(MARKER);
        let text =
            r#"{"schema":1,"id":"3.6.0+numpy2.3.5","triton":"3.6.0","numpy":"2.3.5","python":"3.11.7"}"#;
        fs::write(&marker, text).expect("written");
        let error = adopt(&home, python.as_os_str(), None, &()).expect_err("taken");
        assert_eq!(
            error.to_string(),
            format!(
                "adopt {} as 3.6.0+numpy2.3.5: one of that name is installed; `cerith toolchain remove 3.6.0+numpy2.3.5` makes room",
                python.display()
            )
        );
        assert_eq!(fs::read_to_string(&marker).expect("read"), text);
    }
}
