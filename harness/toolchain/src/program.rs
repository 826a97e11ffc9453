//! Programs of ours in a contained Python of a toolchain, beside its Triton and, if it has one, its torch: they execute functions of the
//! user's files, and ask questions, such as what a launch stores.
//!
//! Each program has a process of its own, which ends with it. A worker imports the packages once and forks these processes; it reads
//! no request itself. See `cerith_worker/program.py` and `cerith_triton/program.py` for the Python side.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::mode::Mode;
use crate::pool::{Limits, Pool};
use crate::request::Module;
use crate::response::Raised;
use crate::worker::WorkerAnswer;
use crate::{Toolchain, WorkerFailure, wire};

/// A question of a program, which is untrusted.
#[derive(Clone, Debug, PartialEq)]
pub struct Question<'a> {
    /// Its fields.
    pub header: Json,
    /// Bytes that come with it.
    pub blobs: &'a [u8],
}

/// Consecutive parts of bytes. `None` if they are not as many.
pub fn split_blobs<'a>(blobs: &'a [u8], sizes: &[usize]) -> Option<Vec<&'a [u8]>> {
    let mut rest = blobs;
    let mut parts = Vec::with_capacity(sizes.len().min(1024));
    for &size in sizes {
        let (part, left) = rest.split_at_checked(size)?;
        parts.push(part);
        rest = left;
    }
    rest.is_empty().then_some(parts)
}

/// The answer to a question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// Its fields.
    pub header: Json,
    /// Bytes that follow.
    pub blobs: Vec<Vec<u8>>,
}

impl From<Json> for Reply {
    fn from(header: Json) -> Self {
        Self {
            header,
            blobs: Vec::new(),
        }
    }
}

/// The end of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    /// Its return value, or the exception that ended it.
    pub result: Result<Json, Box<Raised>>,
    /// The printed text.
    pub stdout: String,
}

impl WorkerAnswer for Ending {
    fn raised(&self) -> Option<&Raised> {
        self.result.as_ref().err().map(AsRef::as_ref)
    }
}

/// A program to run.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramRequest {
    /// The user's file.
    pub module: Module,
    /// The program's name.
    pub program: String,
    /// Its arguments.
    pub arguments: Json,
    /// The user's files that it reads, of those that the pool may read. `None` for all of them.
    pub readable: Option<Vec<PathBuf>>,
}

/// Up to so many programs at once. Shared between threads by reference; dropping it ends them.
#[derive(Debug)]
pub struct Programs {
    pool: Pool,
}

impl Programs {
    /// At most `size` programs at once (at least 1). `package` is the Python package with them: its name, and its files with their texts.
    ///
    /// # Errors
    /// The folder for their private files cannot be made.
    pub fn new(toolchain: Toolchain, size: usize, package: (&str, &[(&str, &str)])) -> io::Result<Self> {
        let pool = Pool::with_package(toolchain, size, Mode::Program, Some(package))?;
        Ok(Self { pool })
    }

    /// Lets them read a folder ([`Pool::with_readable`]).
    #[must_use]
    pub fn with_readable(mut self, folder: &Path) -> Self {
        self.pool = self.pool.with_readable(folder);
        self
    }

    /// Lets them read files ([`Pool::with_readable_files`]).
    #[must_use]
    pub fn with_readable_files(mut self, root: &Path, files: &[PathBuf]) -> Self {
        self.pool = self.pool.with_readable_files(root, files);
        self
    }

    /// Programs like these, that share their private files, and have workers of their own, which [`Programs::stop`] ends.
    #[must_use]
    pub fn with_own_workers(&self) -> Self {
        Self {
            pool: self.pool.with_own_workers(),
        }
    }

    /// Whether they were stopped, and run nothing any more.
    pub fn is_stopped(&self) -> bool {
        self.pool.is_stopped()
    }

    /// The toolchain.
    pub const fn toolchain(&self) -> &Toolchain {
        self.pool.toolchain()
    }

    /// Runs a program, after waiting for a free place. `answer` answers its questions, with the clock running. Safe to call from many
    /// threads.
    ///
    /// # Errors
    /// The process died, hung, ran out of memory, or could not be started.
    pub fn run(
        &self,
        request: &ProgramRequest,
        limits: Limits,
        answer: &mut dyn FnMut(Question<'_>) -> Reply,
    ) -> Result<Ending, WorkerFailure> {
        let rules = match &request.readable {
            Some(files) => self.pool.list_rules(files)?,
            None => None,
        };
        let frame = wire::program::encode_request(request, rules.as_ref(), limits)?;
        self.pool.exchange(
            &frame,
            &request.module,
            limits,
            &mut |header, blobs| wire::program::answer_between(header, blobs, answer),
            None,
            |header, _, _| wire::program::decode_ending(header, &request.module),
        )
    }

    /// Kills every process and fails what runs or waits with [`WorkerFailure::Stopped`], now and from now on.
    pub fn stop(&self) {
        self.pool.stop();
    }
}
