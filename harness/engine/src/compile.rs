//! Compiles a case with a version of Triton into a [`Job`], on any machine. See `cerith-cuda` for executing jobs.

use cerith_case::{Case, Variant};
use cerith_memory::ORIGIN;
use cerith_tile::DType;
use cerith_tile::rules::Version;
use cerith_toolchain::compiled::{Compiled, Stage, Target};
use cerith_toolchain::pool::Limits;
use cerith_toolchain::{Compilation, CompileRequest, Compilers, ToolchainId, Tuning, WorkerFailure};

use crate::engine::{Capabilities, Failure, Feature, Needs};
use crate::job::Job;
use crate::sparse::reject_sparse;
use crate::stats::CompileStats;
use crate::{Complaint, Outcome, worker_outcome, worker_request};

/// A toolchain's compiler for one target. Shared between threads.
#[derive(Debug)]
pub struct Compiler {
    compilers: Compilers,
    /// The GPU that executes.
    gpu: Target,
    /// The target of the compilation.
    target: Target,
    limits: Limits,
    /// The last stage; `None` for all stages.
    stage: Option<Stage>,
}

/// The result of compiling a case.
#[derive(Clone, Debug, PartialEq)]
pub enum Compiling {
    /// It can be executed.
    Ready(Box<Job>),
    /// There is nothing to execute: rejected, crashed, out of time or memory.
    Ended(Outcome),
}

/// The requested output of a compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CompileOutput {
    /// Code, or the IR of a stage.
    Code,
    /// Code that says which lines it comes from.
    Lines,
    /// The IR before each pass.
    Passes,
}

impl Compiler {
    /// A compiler for a GPU.
    pub const fn new(compilers: Compilers, gpu: Target, limits: Limits) -> Self {
        Self {
            compilers,
            gpu,
            target: gpu,
            limits,
            stage: None,
        }
    }

    /// Compiles for a GPU other than the one that executes: Triton's own assembler turns the assembly for `target` into machine
    /// code for the GPU at hand.
    #[must_use]
    pub const fn with_target(mut self, target: Target) -> Self {
        self.target = target;
        self
    }

    /// Ends Triton after a stage: kernels have the IR of that stage, and no machine code.
    #[must_use]
    pub const fn ending_after(mut self, stage: Stage) -> Self {
        self.stage = Some(stage);
        self
    }

    /// Triton's version.
    pub const fn version(&self) -> Version {
        self.compilers.toolchain().triton()
    }

    /// The version of Triton.
    pub const fn toolchain(&self) -> &ToolchainId {
        &self.compilers.toolchain().id
    }

    /// The GPU that executes the machine code.
    pub const fn gpu(&self) -> Target {
        self.gpu
    }

    /// The target of the compilation.
    pub const fn target(&self) -> Target {
        self.target
    }

    /// The maximum number of cases that are compiled at once.
    pub const fn size(&self) -> usize {
        self.compilers.size()
    }

    /// Compiles what a case launches.
    ///
    /// # Errors
    /// Cerith failed, not the compiler.
    pub fn compile_job(&self, case: &Case) -> Result<Compiling, Failure> {
        self.tuned_job(case, Tuning::default())
            .map(|(compiling, _)| compiling)
    }

    /// Compiles what a case launches for an executor that sets memory to zero between launches ([`Cleared`]).
    ///
    /// # Errors
    /// Cerith failed, not the compiler.
    pub(crate) fn clearing_job(&self, case: &Case) -> Result<Compiling, Failure> {
        self.any_job(case, Tuning::default())
            .map(|(compiling, _)| compiling)
    }

    /// Compiles what a case launches, its kernels as a sweep wants them; with it, the most configurations that a
    /// launched kernel's autotuner has.
    ///
    /// # Errors
    /// Cerith failed, not the compiler.
    pub fn tuned_job(&self, case: &Case, tuning: Tuning) -> Result<(Compiling, usize), Failure> {
        if let Some(complaint) = reject_sparse(case) {
            return Ok((Compiling::Ended(Outcome::Unsupported(complaint)), 0));
        }
        let (compiling, configs) = self.any_job(case, tuning)?;
        let compiling = match compiling {
            Compiling::Ready(job) if job.compiled.invocations.iter().any(|one| !one.clears.is_empty()) => {
                let complaint = Complaint::new(
                    "unsupported",
                    "the tuner's hooks set memory to zero between launches, which is not done on a GPU here",
                );
                Compiling::Ended(Outcome::Unsupported(Box::new(complaint)))
            }
            compiling => compiling,
        };
        Ok((compiling, configs))
    }

    fn any_job(&self, case: &Case, tuning: Tuning) -> Result<(Compiling, usize), Failure> {
        let memory = case.memory();
        let compilation = match self.run_compiler(case, tuning, CompileOutput::Code) {
            Ok(compilation) => compilation,
            Err(failure) => {
                let outcome = worker_outcome::translate_failure(case, failure)?;
                return Ok((Compiling::Ended(outcome), 0));
            }
        };
        let compiled = match compilation.result {
            Ok(compiled) => compiled,
            Err(raised) => {
                let outcome = worker_outcome::translate_exception(case, &raised, &compilation.stderr);
                return Ok((Compiling::Ended(outcome), compilation.configs));
            }
        };
        let first = |id| (memory.address(id) - ORIGIN) as usize;
        let addresses = memory
            .ids()
            .flat_map(|id| {
                memory
                    .pointers(id)
                    .iter()
                    .map(move |pointer| first(id) + pointer.offset)
            })
            .collect::<Vec<_>>();
        let job = Box::new(Job {
            storages: memory.ids().map(|id| (first(id), memory.size(id))).collect(),
            addresses,
            may_hold_addresses: worker_request::may_hold_addresses(case, &memory),
            arena: memory.arena().0.to_vec(),
            compiled,
        });
        Ok((Compiling::Ready(job), compilation.configs))
    }

    /// Statistics of a case's compilation; `None` if the case ended when it was compiled.
    ///
    /// # Errors
    /// Cerith failed, not the compiler.
    pub fn collect_stats(&self, case: &Case) -> Result<Option<CompileStats>, Failure> {
        match self.run_compiler(case, Tuning::default(), CompileOutput::Code) {
            Ok(compilation) => Ok(compilation
                .result
                .ok()
                .map(|compiled| CompileStats::from_compiled(&compiled, self.target, compilation.seconds))),
            Err(failure) => worker_outcome::translate_failure(case, failure).map(|_| None),
        }
    }

    /// Compiles a case with line information, so that its machine code differs from recorded code. `None` if the case ended when
    /// it was compiled.
    ///
    /// # Errors
    /// Cerith failed, not the compiler.
    pub fn compile_with_lines(&self, case: &Case, tuning: Tuning) -> Result<Option<Compiled>, Failure> {
        match self.run_compiler(case, tuning, CompileOutput::Lines) {
            Ok(compilation) => Ok(compilation.result.ok()),
            Err(failure) => worker_outcome::translate_failure(case, failure).map(|_| None),
        }
    }

    /// Compiles a case to kernels that have the IR before each pass; or returns the outcome, if the case ended when it was
    /// compiled.
    ///
    /// # Errors
    /// Cerith failed, not the compiler.
    pub fn compile_passes(&self, case: &Case) -> Result<Result<Compiled, Outcome>, Failure> {
        match self.run_compiler(case, Tuning::default(), CompileOutput::Passes) {
            Ok(compilation) => Ok(compilation
                .result
                .map_err(|raised| worker_outcome::translate_exception(case, &raised, &compilation.stderr))),
            Err(failure) => worker_outcome::translate_failure(case, failure).map(Err),
        }
    }

    /// Whether the compilation of a case is of this run and its toolchain is whole. One from an earlier run is dropped.
    ///
    /// # Errors
    /// Cerith failed, not the compiler.
    pub fn confirm(&self, case: &Case) -> Result<bool, Failure> {
        if self.compilers.toolchain().check_again().is_err() {
            return Ok(false);
        }
        let request = self.request(case, Tuning::default(), CompileOutput::Code);
        let is_dropped = self.compilers.forget(&request);
        is_dropped
            .map(|is_dropped| !is_dropped)
            .map_err(|failure| Failure::internal("look for a kept compilation", failure))
    }

    fn run_compiler(
        &self,
        case: &Case,
        tuning: Tuning,
        wanted: CompileOutput,
    ) -> Result<Compilation, WorkerFailure> {
        self.compilers
            .compile(&self.request(case, tuning, wanted), self.limits)
    }

    fn request(&self, case: &Case, tuning: Tuning, wanted: CompileOutput) -> CompileRequest {
        let memory = case.memory();
        CompileRequest {
            module: worker_request::convert_module(case, &case.module),
            siblings: worker_request::list_imports(case),
            storages: memory.ids().map(|id| memory.size(id)).collect(),
            launches: worker_request::convert_launches(case),
            target: self.target,
            assembled: (self.gpu != self.target).then_some(self.gpu),
            tuning,
            stage: self.stage,
            lines: wanted == CompileOutput::Lines,
            passes: wanted == CompileOutput::Passes,
        }
    }

    /// Ends what runs, for Ctrl-C.
    pub fn stop(&self) {
        self.compilers.stop();
    }
}

/// The capabilities of Triton's compiler. With `gpu`, the engine needs a GPU and a toolchain.
pub fn list_capabilities(version: Version, gpu: bool) -> Capabilities {
    let mut features = vec![
        Feature::Import,
        Feature::StridedArguments,
        Feature::PointersInMemory,
        Feature::Bf16Arithmetic,
        Feature::DeviceAssert,
    ];
    if version < Version::new(3, 9, 0) {
        features.push(Feature::BlockPointers);
    }
    Capabilities {
        dtypes: DType::ALL.to_vec(),
        features,
        needs: Needs {
            toolchain: gpu.then(|| ToolchainId::from_triton(version)),
            gpu,
        },
    }
}

/// The changes to a variant's kernels before compilation.
pub fn build_tuning(variant: Variant) -> Tuning {
    Tuning {
        specialize: variant != Variant::Unspecialized,
        config: match variant {
            Variant::Config(config) => Some(config),
            _ => None,
        },
    }
}
