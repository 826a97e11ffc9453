//! The launches of a case under `torch.compile`, with a toolchain's torch and without a GPU. The caller executes the
//! launches of the generated code, and judges their outcomes.
//!
//! One request is compiled in every mode that it names. The generated wrapper of each mode is called once for every run, always
//! with the initial memory, and the caller gets the launches that it makes, one after the other.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::mode::Mode;
use crate::pool::{Limits, Pool};
use crate::request::Value;
use crate::response::{Memory, Raised};
use crate::worker::WorkerAnswer;
use crate::{Request, Toolchain, WorkerFailure, wire};

/// One way to compile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompileMode {
    /// `torch.compile(dynamic=…)`.
    pub dynamic: Option<bool>,
    /// `torch._dynamo.mark_dynamic`: an argument's name, and a dimension.
    pub mark_dynamic: Vec<(String, usize)>,
    /// `torch._dynamo.maybe_mark_dynamic`: an argument's name, and a dimension.
    pub maybe_mark_dynamic: Vec<(String, usize)>,
    /// Calls made first, with these arguments changed. Their launches are not handed out.
    pub before: Vec<Vec<(String, Value)>>,
}

/// Launches to make under `torch.compile`.
#[derive(Clone, Debug, PartialEq)]
pub struct InductorRequest {
    /// The module, the storages and the launches. The device and the driver are CUDA's, whatever it says.
    pub request: Request,
    /// How to compile, in order. With none, the module is only imported.
    pub modes: Vec<CompileMode>,
    /// How often each compiled function is called.
    pub runs: usize,
}

/// A launch that the generated wrapper makes.
#[derive(Clone, Debug, PartialEq)]
pub struct Emitted {
    /// The number of the run, from 0.
    pub run: usize,
    /// Index into [`InductorRequest::modes`].
    pub mode: usize,
    /// The kernel's name.
    pub kernel: String,
    /// The kernel's module in the generated code, as plain Triton.
    pub source: String,
    /// Programs along x, y and z.
    pub grid: [i64; 3],
    /// A value for every parameter, constexprs among them.
    pub args: Vec<(String, Value)>,
    /// `num_warps` and the like.
    pub options: Vec<(String, Value)>,
    /// The contents of the arguments' storages, which are the case's or Inductor's own.
    pub storages: Vec<Arc<[u8]>>,
}

/// A name that a generated module reads and that nothing defines.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Undefined {
    /// The name.
    pub symbol: String,
    /// The parameter that is given it in the launch's metadata, where it is that.
    pub parameter: Option<String>,
    /// The kernel.
    pub kernel: Option<String>,
    /// The module's file, without its folder.
    pub module: String,
    /// The line in it, from 1.
    pub line: u32,
    /// The undefined text.
    pub text: String,
}

/// The result of one way of compiling.
#[derive(Clone, Debug, PartialEq)]
pub struct Compiled {
    /// The storages after each run, in the request's order; none for a run in which a launch did not finish.
    pub runs: Vec<Option<Vec<Memory>>>,
    /// How many launches the wrapper made in a run.
    pub launches: usize,
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Induction {
    /// Finished, or the exception that ended it.
    pub result: Result<(), Box<Raised>>,
    /// The way in which it was raised.
    pub mode: Option<usize>,
    /// Names that generated modules read without a definition, whether loading them failed or not.
    pub undefined: Vec<Undefined>,
    /// The ways that finished.
    pub finished: Vec<Compiled>,
    /// The printed text.
    pub stdout: String,
    /// Time in the worker, that of the launches included, without the transport.
    pub seconds: Duration,
}

impl WorkerAnswer for Induction {
    fn raised(&self) -> Option<&Raised> {
        self.result.as_ref().err().map(AsRef::as_ref)
    }
}

/// Up to so many processes with one toolchain's torch, started when they are first needed. Shared between threads by
/// reference; dropping it ends them.
#[derive(Debug)]
pub struct Inductors {
    pool: Pool,
}

impl Inductors {
    /// At most `size` processes (at least 1).
    ///
    /// # Errors
    /// The folder for their private files cannot be made.
    pub fn new(toolchain: Toolchain, size: usize) -> io::Result<Self> {
        Pool::with_mode(toolchain, size, Mode::Inductor).map(|pool| Self { pool })
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

    /// The toolchain.
    pub const fn toolchain(&self) -> &Toolchain {
        self.pool.toolchain()
    }

    /// Compiles and calls, after waiting for a free process. `execute` runs each launch and returns its storages'
    /// contents (as many bytes as before), or `None` if it did not finish, which ends the run. Safe to call from many
    /// threads.
    ///
    /// # Errors
    /// The process died, hung, ran out of memory, or could not be started. The next request gets a fresh one.
    pub fn request(
        &self,
        request: &InductorRequest,
        limits: Limits,
        execute: &mut dyn FnMut(Emitted) -> Option<Vec<Vec<u8>>>,
    ) -> Result<Induction, WorkerFailure> {
        let frame = wire::inductor::encode_request(request, limits)?;
        self.pool.exchange(
            &frame,
            &request.request.module,
            limits,
            &mut |header, blobs| wire::inductor::answer_between(header, blobs, request, execute),
            None,
            |header, blobs, _| wire::inductor::decode_induction(header, blobs, request),
        )
    }

    /// Kills every process and fails what runs or waits with [`WorkerFailure::Stopped`], now and from now on.
    pub fn stop(&self) {
        self.pool.stop();
    }
}
