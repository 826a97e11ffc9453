//! Why a file, its configuration or its baseline cannot be used. Each message is complete, with `error:` in front.

use std::io;
use std::path::PathBuf;

use cerith_case::{BadRequirement, RequirementError};
use cerith_launcher::NoCalls;
use cerith_runner::mistyped::describe_read_error;
use cerith_toolchain::WorkerFailure;

/// Why a file cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// The file cannot be read.
    #[error(
        "error: {}",
        describe_read_error(path, error, "name a file with kernels: `cerith check softmax.py`")
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// Its name is not that of a Python file or a notebook.
    #[error(
        "error: {0} is not a Python file\n  = help: name a file that ends in `.py` or `.ipynb`, or `-` for standard input"
    )]
    NotPython(String),
    /// Its path is not UTF-8.
    #[error("error: the path {0} is not UTF-8")]
    NotUtf8(String),
    /// The file, or one that it imports from, is wrong: messages about it.
    #[error("{0}")]
    Broken(String),
    /// It has no kernel.
    #[error("error: there is no kernel in {0}\n  = help: a kernel is a function with `@triton.jit`")]
    NoKernel(String),
    /// It has no kernel of this name.
    #[error(
        "error: no kernel `{kernel}` in {file}\n  = help: a kernel is a function with `@triton.jit`; `cerith check \
         {file}` checks them all"
    )]
    UnknownKernel {
        /// The file.
        file: String,
        /// The kernel.
        kernel: String,
    },
    /// The configuration names a kernel that the file does not have.
    #[error(
        "error[bad-configuration]: no kernel `{kernel}` in {file}\n --> {place}{}",
        describe_help(help.as_deref())
    )]
    UnknownConfigured {
        /// The file.
        file: String,
        /// The kernel.
        kernel: String,
        /// The line of the configuration.
        place: String,
        /// How to fix it.
        help: Option<String>,
    },
    /// The configuration declares a precondition that is wrong.
    #[error(
        "error[bad-configuration]: {error}\n --> {place}{}",
        describe_help(error.help.as_deref())
    )]
    Requirement {
        /// The line of the configuration.
        place: String,
        /// The cause.
        error: Box<BadRequirement>,
    },
    /// A declared precondition has no value for any launch.
    #[error("error[bad-declaration]: a precondition of `{kernel}` has no value: {reason}")]
    NoValue {
        /// The kernel.
        kernel: String,
        /// The reason.
        reason: Box<RequirementError>,
    },
}

/// Why a configuration cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file, or its folder, cannot be read.
    #[error("error: failed to read {name}: {error}")]
    Read {
        /// The file as the user sees it.
        name: String,
        /// The cause.
        error: io::Error,
    },
    /// The file is wrong: messages about it.
    #[error("{0}")]
    Broken(String),
    /// The project's file that the user names has nothing for Cerith.
    #[error("error: there is no `[tool.cerith]` in {0}")]
    NoTable(String),
}

/// Why a baseline cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// The file cannot be read.
    #[error(
        "error: failed to read the baseline {path}: {error}\n{}",
        describe_baseline(path)
    )]
    Read {
        /// The file.
        path: String,
        /// The cause.
        error: io::Error,
    },
    /// The file is not a baseline.
    #[error(
        "error: failed to read the baseline {path}: {error}\n{}",
        describe_baseline(path)
    )]
    Parse {
        /// The file.
        path: String,
        /// The cause.
        error: Box<toml::de::Error>,
    },
    /// The file has a format of another version.
    #[error(
        "error: failed to read the baseline {path}: it has format {format}, and this version reads format {expected}\n{}",
        describe_baseline(path)
    )]
    Format {
        /// The file.
        path: String,
        /// Its format.
        format: u32,
        /// The format of this version.
        expected: u32,
    },
    /// The file cannot be written.
    #[error("error: failed to write {path}: {error}")]
    Write {
        /// The file.
        path: String,
        /// The cause.
        error: io::Error,
    },
    /// The findings are not TOML.
    #[error("error: failed to write {path}: {error}")]
    Serialize {
        /// The file.
        path: String,
        /// The cause.
        error: Box<toml::ser::Error>,
    },
}

/// Why a launcher cannot be compared with its reference function.
#[derive(Debug, thiserror::Error)]
pub enum ConformanceError {
    /// The launcher's file cannot be read.
    #[error("error: failed to read {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The file has no such function.
    #[error("error: {}: {reason}", path.display())]
    Calls {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: NoCalls,
    },
    /// The path of the launcher's file is not UTF-8.
    #[error("error: the path {} is not UTF-8", .0.display())]
    NotUtf8(PathBuf),
    /// A path does not exist.
    #[error("error: the path {}: {error}", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// There is no folder for the program.
    #[error("error: failed to make a temporary folder: {0}")]
    TemporaryFolder(io::Error),
    /// The file of the reference function does not exist.
    #[error(
        "error: there is no file {}\n  = help: `--like` names a file and a function of it: `ref.py:softmax`",
        .0.display()
    )]
    NoReference(PathBuf),
    /// Python does not start.
    #[error("error: failed to {0}")]
    Worker(WorkerFailure),
}

fn describe_help(help: Option<&str>) -> String {
    help.map_or_else(String::new, |help| format!("\n  = help: {help}"))
}

fn describe_baseline(path: &str) -> String {
    format!("  = help: `cerith check … --write-baseline {path}` writes it")
}
