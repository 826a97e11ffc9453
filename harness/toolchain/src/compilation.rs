//! A request to a compiler and its answer, as plain data. See [`crate::Compilers`] for sending one.

use std::sync::Arc;
use std::time::Duration;

use crate::compiled::{Compiled, Stage, Target};
use crate::request::{Launch, Module};
use crate::response::Raised;

/// Launches to compile. What decides how Triton specialises is known without the contents of memory.
#[derive(Clone, Debug, PartialEq)]
pub struct CompileRequest {
    /// The kernel's file.
    pub module: Module,
    /// The texts of the modules beside it that it imports: they decide what is compiled, and are read from disk.
    pub siblings: Vec<Arc<str>>,
    /// Bytes of every storage. Storages begin at addresses that are multiples of 512.
    pub storages: Vec<usize>,
    /// The launches.
    pub launches: Vec<Launch>,
    /// For what GPU.
    pub target: Target,
    /// For what GPU the assembly is turned into machine code, where that is another one.
    pub assembled: Option<Target>,
    /// Changes to the kernels before they are launched.
    pub tuning: Tuning,
    /// The stage after which the compiler ends; none: after the machine code.
    pub stage: Option<Stage>,
    /// Whether assembly and machine code say which lines they come from. Records are of machine code that does not.
    pub lines: bool,
    /// Whether the IR of a kernel is that before each pass up to [`stage`](Self::stage), as MLIR's pass manager prints it, and then
    /// that of the stage, as if it were before a pass called `end`.
    pub passes: bool,
}

/// A sweep's changes to kernels before they are launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tuning {
    /// Whether Triton specialises on arguments: on integers that are 1, and on multiples of 16.
    pub specialize: bool,
    /// The only configuration, from 0, that autotuners try; one that has fewer tries all.
    pub config: Option<usize>,
}

impl Default for Tuning {
    /// Nothing is done to them.
    fn default() -> Self {
        Self {
            specialize: true,
            config: None,
        }
    }
}

/// The result of compiling.
#[derive(Clone, Debug, PartialEq)]
pub struct Compilation {
    /// The kernels and their launches, or the Python exception that ended it.
    pub result: Result<Compiled, Box<Raised>>,
    /// The most configurations that a launched kernel's autotuner has; 0 where there is no autotuner, or none was reached.
    pub configs: usize,
    /// The module's printed text.
    pub stdout: String,
    /// The end of the compiler's stderr, which has the errors of MLIR and LLVM.
    pub stderr: String,
    /// Time in the worker, without the transport.
    pub seconds: Duration,
}
