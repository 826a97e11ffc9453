//! The recorder, as text: the Python package `cerith_triton`, and the `sitecustomize` that starts it in a process whose
//! `PYTHONPATH` begins with their folder. See [`crate::part`] for its files.

use std::io;
use std::path::Path;

use serde::Serialize;

/// The variable that names the folder for part files, and so switches the recorder on.
pub const FOLDER: &str = "CERITH_RECORD";

/// The variable that holds [`Rules`] as JSON.
pub const RULES: &str = "CERITH_RECORD_OPTIONS";

/// The variable that names the program `cerith` that judges each launch before it runs.
pub const PREFLIGHT: &str = "CERITH_RECORD_PREFLIGHT";

/// The package's name.
pub const PACKAGE: &str = "cerith_triton";

/// The files of the package that record: name and text. Files that only the installed package needs are not among them.
pub const FILES: &[(&str, &str)] = &[
    (
        "definition.py",
        include_str!("../python/cerith_triton/definition.py"),
    ),
    ("executed.py", include_str!("../python/cerith_triton/executed.py")),
    ("failures.py", include_str!("../python/cerith_triton/failures.py")),
    ("hooks.py", include_str!("../python/cerith_triton/hooks.py")),
    ("inputs.py", include_str!("../python/cerith_triton/inputs.py")),
    ("launch.py", include_str!("../python/cerith_triton/launch.py")),
    ("parts.py", include_str!("../python/cerith_triton/parts.py")),
    (
        "preflight.py",
        include_str!("../python/cerith_triton/preflight.py"),
    ),
    ("recorder.py", include_str!("../python/cerith_triton/recorder.py")),
    ("source.py", include_str!("../python/cerith_triton/source.py")),
    ("storages.py", include_str!("../python/cerith_triton/storages.py")),
    ("tuner.py", include_str!("../python/cerith_triton/tuner.py")),
    ("values.py", include_str!("../python/cerith_triton/values.py")),
];

/// The files of programs, besides those that record: name and text.
const PROGRAM_FILES: &[(&str, &str)] = &[
    ("__init__.py", include_str!("../python/cerith_triton/__init__.py")),
    ("gating.py", include_str!("../python/cerith_triton/gating.py")),
    ("library.py", include_str!("../python/cerith_triton/library.py")),
    (
        "arguments.py",
        include_str!("../python/cerith_triton/arguments.py"),
    ),
    ("binary.py", include_str!("../python/cerith_triton/binary.py")),
    ("checking.py", include_str!("../python/cerith_triton/checking.py")),
    (
        "conforming.py",
        include_str!("../python/cerith_triton/conforming.py"),
    ),
    (
        "connection.py",
        include_str!("../python/cerith_triton/connection.py"),
    ),
    (
        "decisions.py",
        include_str!("../python/cerith_triton/decisions.py"),
    ),
    ("devices.py", include_str!("../python/cerith_triton/devices.py")),
    ("formats.py", include_str!("../python/cerith_triton/formats.py")),
    ("judging.py", include_str!("../python/cerith_triton/judging.py")),
    (
        "launchers.py",
        include_str!("../python/cerith_triton/launchers.py"),
    ),
    ("oracle.py", include_str!("../python/cerith_triton/oracle.py")),
    ("outputs.py", include_str!("../python/cerith_triton/outputs.py")),
    ("program.py", include_str!("../python/cerith_triton/program.py")),
    (
        "reference.py",
        include_str!("../python/cerith_triton/reference.py"),
    ),
    (
        "standin/__init__.py",
        include_str!("../python/cerith_triton/standin/__init__.py"),
    ),
    (
        "standin/dtypes.py",
        include_str!("../python/cerith_triton/standin/dtypes.py"),
    ),
    (
        "standin/host.py",
        include_str!("../python/cerith_triton/standin/host.py"),
    ),
    (
        "standin/layout.py",
        include_str!("../python/cerith_triton/standin/layout.py"),
    ),
    (
        "standin/memory.py",
        include_str!("../python/cerith_triton/standin/memory.py"),
    ),
    (
        "standin/tensor.py",
        include_str!("../python/cerith_triton/standin/tensor.py"),
    ),
    ("trials.py", include_str!("../python/cerith_triton/trials.py")),
    ("wording.py", include_str!("../python/cerith_triton/wording.py")),
    (
        "submission.py",
        include_str!("../python/cerith_triton/submission.py"),
    ),
    (
        "suspicions.py",
        include_str!("../python/cerith_triton/suspicions.py"),
    ),
    (
        "task/__init__.py",
        include_str!("../python/cerith_triton/task/__init__.py"),
    ),
    (
        "task/dataflow.py",
        include_str!("../python/cerith_triton/task/dataflow.py"),
    ),
    (
        "task/kernelbench.py",
        include_str!("../python/cerith_triton/task/kernelbench.py"),
    ),
    (
        "task/literals.py",
        include_str!("../python/cerith_triton/task/literals.py"),
    ),
    (
        "task/metering.py",
        include_str!("../python/cerith_triton/task/metering.py"),
    ),
    (
        "task/plain.py",
        include_str!("../python/cerith_triton/task/plain.py"),
    ),
    (
        "task/sizing.py",
        include_str!("../python/cerith_triton/task/sizing.py"),
    ),
    (
        "task/trial.py",
        include_str!("../python/cerith_triton/task/trial.py"),
    ),
    (
        "task/calls.py",
        include_str!("../python/cerith_triton/task/calls.py"),
    ),
    (
        "task/tritonbench.py",
        include_str!("../python/cerith_triton/task/tritonbench.py"),
    ),
    ("tasks.py", include_str!("../python/cerith_triton/tasks.py")),
    (
        "structure.py",
        include_str!("../python/cerith_triton/structure.py"),
    ),
];

/// The package's files for programs: name and text.
pub fn program_files() -> Vec<(&'static str, &'static str)> {
    FILES.iter().chain(PROGRAM_FILES).copied().collect()
}

/// Starts the recorder when Python starts.
pub const SITECUSTOMIZE: &str = include_str!("../python/inject/sitecustomize.py");

/// The recorder's settings: which launches to record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rules {
    /// Patterns of kernel names; none means all.
    pub filter: Vec<String>,
    /// The maximum number of bytes of one storage that are kept.
    pub max_bytes: u64,
    /// The maximum number of bytes that one process writes, after which storages are no longer kept.
    pub max_size: u64,
    /// Which launches of a kernel are kept: `layout`, `data`, `every`, or a number.
    pub sample: String,
    /// Whether bytes are kept at all.
    pub data: bool,
    /// Which configuration a tuner takes if there is no GPU to measure them with, from 0.
    pub config: u32,
}

/// Writes the recorder into a folder, to be put in front of `PYTHONPATH`.
///
/// # Errors
/// The folder cannot be written.
pub fn install(folder: &Path) -> io::Result<()> {
    let package = folder.join(PACKAGE);
    cerith_files::create_folders(&package)?;
    for (name, text) in FILES {
        cerith_files::write(package.join(name), text)?;
    }
    cerith_files::write(folder.join("sitecustomize.py"), SITECUSTOMIZE)
}
