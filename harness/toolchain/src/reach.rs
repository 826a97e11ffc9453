//! The files that workers of a toolchain need to read: each pool asks the toolchain's Python once. See
//! [`crate::containment`] for files that every program reads, and for enforcement.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use serde::Deserialize;

use crate::containment::{self, is_too_much};
use crate::mode::Mode;
use crate::uncontained;
use crate::visible::{self, Depth};

/// Prints where Python looks for modules, its own included, and where the packages lie that matter (one that is installed
/// for editing is in no folder of those). Makes bytecode of our package, in which contained workers cannot write.
const ASK: &str = "
import compileall, importlib.util, json, os, sys
compileall.compile_dir(sys.argv[1], quiet=2)
prefixes = [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix]
found = [entry for entry in sys.path if entry]
found.append(os.path.dirname(os.path.realpath(sys.executable)))
for name in ('triton', 'numpy', 'torch'):
    try:
        spec = importlib.util.find_spec(name)
    except Exception:
        spec = None
    found.extend(spec and spec.submodule_search_locations or ())
real = lambda paths: sorted({os.path.realpath(path) for path in paths if os.path.exists(path)})
print(json.dumps({'prefixes': real(prefixes), 'imported_folders': real(found)}))
";

/// C compilers, by the names that Triton and torch look for.
const COMPILERS: &[&str] = &["cc", "gcc", "clang", "c++", "g++"];

/// The folders that it prints.
#[derive(Deserialize)]
struct ReachAnswer {
    /// Those of its installation.
    prefixes: Vec<PathBuf>,
    /// Others that it imports from.
    imported_folders: Vec<PathBuf>,
}

/// A Python that does not say what it reads.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unanswered {
    /// It does not start.
    #[error("{}: {error}", python.display())]
    NotStarted { python: PathBuf, error: io::Error },
    /// It ended without an answer.
    #[error("{status}\n{stderr}")]
    Ended { status: ExitStatus, stderr: String },
}

/// The folders and files that a Python's workers read. `package` is the folder that our own Python package is in.
///
/// # Errors
/// The Python does not start, or does not answer; why.
pub(crate) fn query_reach(python: &Path, package: &Path, mode: Mode) -> Result<Vec<PathBuf>, Unanswered> {
    let output = uncontained::python_as_worker(python, false)
        .args(["-c", ASK])
        .arg(package)
        .output()
        .map_err(|error| Unanswered::NotStarted {
            python: python.to_owned(),
            error,
        })?;
    let told = String::from_utf8_lossy(&output.stdout);
    // A package may print when Python starts.
    let last = told.lines().last().unwrap_or_default();
    let Ok(answer) = serde_json::from_str::<ReachAnswer>(last) else {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Unanswered::Ended {
            status: output.status,
            stderr: said.trim_end().to_owned(),
        });
    };
    let usable = |folder: &PathBuf| !is_too_much(folder);
    let prefixes = answer.prefixes.iter().filter(|folder| usable(folder));
    let mut read: Vec<PathBuf> = prefixes
        .flat_map(|folder| visible::without_hidden(folder, Depth::Top))
        .collect();
    // Folders of projects that are installed for editing.
    let others = answer.imported_folders.iter().filter(|folder| usable(folder));
    let others = others.filter(|folder| !answer.prefixes.iter().any(|prefix| folder.starts_with(prefix)));
    read.extend(others.flat_map(|folder| visible::without_hidden(folder, Depth::All)));
    read.push(package.to_owned());
    let libraries = std::env::var_os("LD_LIBRARY_PATH");
    let libraries = libraries.iter().flat_map(std::env::split_paths);
    read.extend(libraries.filter(|folder| folder.is_absolute() && !is_too_much(folder)));
    if mode.wants_c() {
        read.extend(find_compilers());
    }
    let allowed = containment::user_allowed_paths();
    read.extend(
        allowed
            .iter()
            .flat_map(|path| visible::without_hidden(path, Depth::All)),
    );
    Ok(read)
}

/// The installations of the C compilers on PATH, and of `$CC`.
fn find_compilers() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH");
    let named = std::env::var_os("CC");
    let names = COMPILERS.iter().map(OsStr::new).chain(named.as_deref());
    let programs = names.filter_map(|name| {
        let found = uncontained::on_path(name, path.as_deref()).next()?;
        found.canonicalize().ok()
    });
    programs
        .filter_map(|program| program.parent()?.parent().map(Path::to_owned))
        .filter(|folder| !is_too_much(folder))
        .collect()
}
