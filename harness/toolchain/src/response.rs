//! The answer of a worker. See [`crate::failure`] for workers that could not answer.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use crate::request::Relocation;

/// The result of one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// Finished, or the Python exception that ended it. Launches after the one that raised were not made.
    pub result: Result<(), Box<Raised>>,
    /// The storages as they are now, in the request's order, also when it raised: what is on the (fake) device then.
    pub storages: Vec<Memory>,
    /// The text that the kernels and the module printed to stdout (`tl.device_print` included), at most
    /// [`Response::STDOUT_LIMIT`] bytes of it, lossily decoded.
    pub stdout: String,
    /// The end of stderr, where compilers and GPUs complain.
    pub stderr: String,
    /// Whether `stdout` was cut.
    pub stdout_cut: bool,
    /// Time in the worker, without the transport.
    pub seconds: Duration,
}

impl Response {
    /// Bytes of stdout that are kept.
    pub const STDOUT_LIMIT: usize = 64 * 1024;
}

/// A storage after the launches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Front guard zone, storage, back guard zone, as in [`crate::request::Storage::bytes`] (and the same allocation
    /// where nothing changed). Bytes of an address that is in `relocations` are zeros. A write beyond the end of a
    /// host copy of the storage shows in the guard zones as the same write beyond the storage itself.
    pub bytes: Arc<[u8]>,
    /// Addresses found, in ascending order; only where [`crate::request::Storage::holds_addresses`].
    pub relocations: Vec<Relocation>,
}

/// A Python exception.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raised {
    /// The current phase.
    pub phase: Phase,
    /// The exception and its causes, the one the user sees first (`InterpreterError`) and its root cause last. Never
    /// empty.
    pub chain: Vec<PythonError>,
    /// The innermost frame in the kernel's own file (or one of its sibling modules), of the root cause if it has one.
    pub location: Option<Location>,
    /// The part of the program that the location is in. `None` without a location, and in recorded answers.
    #[serde(default)]
    pub frame: Option<Frame>,
    /// Whether Triton's compiler raised it.
    pub compiling: bool,
    /// Triton's file in which it was raised, from the folder that holds the package (`triton/language/semantic.py`);
    /// empty if the innermost frame of Triton or the user is the user's. `None` if unknown.
    #[serde(default)]
    pub origin: Option<String>,
    /// Python's traceback as text, at most 16 KiB of its end.
    pub traceback: String,
}

impl Raised {
    /// The exception at the end of the chain, without the exceptions that wrap it.
    pub fn root(&self) -> &PythonError {
        static NONE: PythonError = PythonError {
            kind: String::new(),
            message: String::new(),
        };
        self.chain.last().unwrap_or(&NONE)
    }
}

/// The phase of the worker in which the exception was raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// Importing the module.
    Import,
    /// Making the arguments of a launch, or looking up the kernel by name; 0-based index of the launch.
    Arguments(usize),
    /// Launching; 0-based index of the launch.
    Launch(usize),
}

/// A part of a program, as Python frames show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Frame {
    /// A kernel, or a function that a kernel calls.
    Kernel,
    /// Python around kernels: a host function, a grid, a hook of the tuner, the body of a module.
    Host,
}

/// One exception.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PythonError {
    /// The type as a traceback shows it: `TypeError`, `triton.runtime.errors.InterpreterError`.
    pub kind: String,
    /// `str(exception)`.
    pub message: String,
}

/// A line of the user's Python.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The file, by the path it was asked for with.
    pub file: PathBuf,
    /// 1-based line.
    pub line: u32,
    /// The function, `<module>` at the top level.
    pub function: String,
}
