//! `ttir@V`, `ttir@V:source`, `ttgir@V`: Triton V's own IR at one of its stages, executed by our interpreter.
//!
//! Triton compiles up to the stage, on any machine; `cerith-ttir` converts the text to the reference's IR. Launches are those
//! that Triton's launcher would make, with the kernel's parameters that remain after specialisation. An unknown operation is
//! `unsupported`, with its line in the MLIR. [`Passes`] has the IR before and after each pass, to be executed in the same way.
//!
//! If the IR leaves the order of lanes open, lanes come in an order other than that of memory. This detects a pass that drops an
//! order which the program needs.
//!
//! The other orders of programs, lanes and combined elements are not tried: the reference tries them itself.

mod passes;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cerith_case::Case;
use cerith_interp::{Config, ParamValue, Program};
use cerith_memory::{MAX_BYTES, Memory, Storage, StorageId};
use cerith_tile::ir::{Elem, LaneOrder};
use cerith_tile::rules::{Rules, Version};
use cerith_tile::source::SourceFile;
use cerith_toolchain::compiled::{Compiled, Invocation, Param, Stage, TensorMap};
use cerith_ttir::{Origin, lower, parse, verifies};

use crate::clears::clear;
use crate::compile::list_capabilities;
use crate::compile::{Compiler, Compiling};
use crate::compiler_versions::{count_descriptor_flags, first_column, has_own_fp8_name};
use crate::engine::{Capabilities, Engine, Failure, Feature, Preparation, Prepared, finish_import};
use crate::executed::Executed;
use crate::reference::{FUEL, PROGRAM_FUEL, add_watch, build_complaint, to_failure};
use crate::{Complaint, EngineId, INVALID_IR, Outcome, worker_request};

pub use passes::{FailedPass, Passes};

/// `ttir@V`, `ttir@V:source` or `ttgir@V`.
#[derive(Debug)]
pub struct Ttir {
    id: EngineId,
    capabilities: Capabilities,
    stage: Stage,
    compiler: Arc<Compiler>,
    /// The compiler's output, if the compiler is not to be run.
    compiled: Option<Compiled>,
    /// Set once it is to stop.
    stopped: Arc<AtomicBool>,
}

impl Ttir {
    /// The IR of a stage, as this compiler makes it.
    pub fn new(compiler: Compiler, stage: Stage) -> Self {
        let toolchain = compiler.toolchain().compiler();
        let mut capabilities = list_capabilities(toolchain.triton(), false);
        capabilities.features.push(Feature::Definedness);
        capabilities.needs.toolchain = Some(toolchain.clone());
        Self {
            id: EngineId::Ttir { toolchain, stage },
            capabilities,
            stage,
            compiler: Arc::new(compiler.ending_after(stage)),
            compiled: None,
            stopped: Arc::default(),
        }
    }

    /// The IR before and after each pass of the compiler, up to its stage; or the outcome, if the case ended when it was
    /// compiled.
    ///
    /// # Errors
    /// Cerith failed, not the compiler.
    pub fn compile_passes(&self, case: &Case) -> Result<Result<Passes, Outcome>, Failure> {
        Ok(self.compiler.compile_passes(case)?.map(Passes::new))
    }

    /// An engine that executes this compiler output.
    #[must_use]
    pub fn with_compiled(&self, made: Compiled) -> Self {
        Self {
            id: self.id.clone(),
            capabilities: self.capabilities.clone(),
            stage: self.stage,
            compiler: Arc::clone(&self.compiler),
            compiled: Some(made),
            stopped: Arc::clone(&self.stopped),
        }
    }

    fn version(&self) -> Version {
        self.compiler.version()
    }

    /// The program of a kernel's text; or what in it is not known.
    fn lower_program(
        &self,
        text: &str,
        files: &[(String, Arc<SourceFile>)],
    ) -> Result<Result<Program, Outcome>, Failure> {
        let version = self.version();
        let renamed = (!has_own_fp8_name(version)).then(|| text.replace("f8E4M3FNUZ", "f8E4M3FN"));
        let text = renamed.as_deref().unwrap_or(text);
        let origin = Origin {
            text,
            name: match self.stage {
                Stage::Source => "source.mlir",
                Stage::Ttir => "ttir.mlir",
                Stage::Ttgir => "ttgir.mlir",
            },
            files,
            first_column: first_column(version),
            descriptor_flags: count_descriptor_flags(version),
        };
        let refused = match parse(text) {
            Ok(module) => match lower(&module, &origin) {
                Ok(function) => {
                    let function = if function.open_lane_orders().is_empty() {
                        function
                    } else {
                        function.in_lane_order(LaneOrder::Reversed)
                    };
                    let name = function.name.clone();
                    return Program::prepare(function)
                        .map(Ok)
                        .map_err(|error| Failure::internal(format!("prepare `{name}`"), error));
                }
                Err(refused) => refused,
            },
            Err(error) => error.to_refused(&origin),
        };
        let mut said = build_complaint(&refused.diagnostic, &refused.sources, 0);
        said.launch = None;
        if !verifies(text) {
            // Triton's first pass would reject it, unless it removes the invalid part.
            INVALID_IR.clone_into(&mut said.kind);
            said.message = format!("IR that MLIR's verifier does not take: {}", said.message);
            return Ok(Err(Outcome::Rejected(Box::new(said))));
        }
        Ok(Err(Outcome::Unsupported(Box::new(said))))
    }
}

impl Engine for Ttir {
    fn id(&self) -> &EngineId {
        &self.id
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn prepare(&self, case: &Case, _rules: Rules) -> Result<Preparation, Failure> {
        let compiled = match &self.compiled {
            Some(made) => made.clone(),
            None => match self.compiler.clearing_job(case)? {
                Compiling::Ended(outcome) => return Ok(Preparation::Ended(outcome)),
                Compiling::Ready(job) => job.compiled,
            },
        };
        let is_large = |storage: &Storage| storage.size() as u64 > MAX_BYTES;
        if case.storages.iter().any(|(_, storage)| is_large(storage))
            && compiled.invocations.iter().any(|one| !one.clears.is_empty())
        {
            let complaint = Complaint::new(
                "unsupported",
                "the tuner's hooks set memory to zero between launches, which is not done in a case with sparse storages",
            );
            return Ok(Preparation::Ended(Outcome::Unsupported(Box::new(complaint))));
        }
        let files = list_files(case);
        let mut programs = Vec::with_capacity(compiled.kernels.len());
        for kernel in &compiled.kernels {
            match self.lower_program(&kernel.ttir, &files)? {
                Ok(program) => programs.push(program),
                Err(outcome) => return Ok(Preparation::Ended(outcome)),
            }
        }
        Ok(Preparation::Ready(Box::new(Ready {
            programs,
            invocations: compiled.invocations,
            config: Config {
                fuel: FUEL,
                program_fuel: PROGRAM_FUEL,
                // An assert is in the IR only where the kernel is to have it.
                device_asserts: true,
                ..Config::default()
            },
            flags: count_descriptor_flags(self.version()),
            stopped: Arc::clone(&self.stopped),
        })))
    }

    fn confirm(&self, case: &Case) -> Result<bool, Failure> {
        self.compiler.confirm(case)
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.compiler.stop();
    }
}

/// The files of a case's kernels, by the names that Triton has for them.
fn list_files(case: &Case) -> Vec<(String, Arc<SourceFile>)> {
    worker_request::compiled_files(case)
        .map(|(name, file)| (name, Arc::clone(file)))
        .collect()
}

/// Kernels that can be launched, and the launches.
struct Ready {
    programs: Vec<Program>,
    invocations: Vec<Invocation>,
    config: Config<'static>,
    /// Flags that are passed with a descriptor.
    flags: usize,
    stopped: Arc<AtomicBool>,
}

impl Prepared for Ready {
    fn launch(&self, case: &Case) -> Result<Outcome, Failure> {
        if case.is_import_only() {
            return Ok(finish_import(case.memory()));
        }
        let config = add_watch(self.config, case, &self.stopped);
        let mut memory = case.memory();
        let mut executed = Executed::default();
        for invocation in &self.invocations {
            let Some(program) = self.programs.get(invocation.kernel) else {
                return Err(Failure::internal("launch", "a kernel that was not compiled"));
            };
            let name = &program.function().name;
            clear(invocation, &mut memory);
            let args = self
                .build_arguments(program, invocation, &memory)
                .map_err(|reason| Failure::internal(format!("bind the arguments of `{name}`"), reason))?;
            let outcome = program
                .launch(invocation.grid, &args, &mut memory, &config)
                .map_err(|error| to_failure(format!("run `{name}`"), error))?;
            let sources = &program.function().sources;
            if let Some(ended) = executed.add(outcome, sources, invocation.launch) {
                return Ok(ended);
            }
        }
        Ok(executed.finish(case, memory))
    }
}

/// The reason why the arguments of a launch do not fit a program's parameters: a bug of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum ArgumentError {
    #[error("{actual} values are passed, and it has {expected} parameters")]
    Count { expected: usize, actual: usize },
    #[error("a storage that is not there")]
    NoStorage,
    #[error("an address is passed for `{0}`, a number")]
    Address(String),
}

impl Ready {
    /// The values of a program's parameters.
    fn build_arguments(
        &self,
        program: &Program,
        invocation: &Invocation,
        memory: &Memory,
    ) -> Result<Vec<ParamValue>, ArgumentError> {
        let passed = self.flatten_params(&invocation.params);
        let params = &program.function().params;
        if passed.len() != params.len() {
            return Err(ArgumentError::Count {
                expected: params.len(),
                actual: passed.len(),
            });
        }
        let ids: Vec<StorageId> = memory.ids().collect();
        params
            .iter()
            .zip(passed)
            .map(|(param, value)| {
                let elem = program.function().ty(param.value).elem;
                match (value, elem) {
                    (Passed::Address(storage, offset), Elem::Ptr { .. }) => {
                        let id = *ids.get(storage).ok_or(ArgumentError::NoStorage)?;
                        Ok(ParamValue::Pointer {
                            address: memory.address(id).wrapping_add_signed(offset),
                            storage: Some(id),
                            name: Some(param.name.clone()),
                            tensor: None,
                        })
                    }
                    (Passed::Number(bits), Elem::Ptr { .. }) => Ok(ParamValue::Pointer {
                        address: bits,
                        storage: None,
                        name: None,
                        tensor: None,
                    }),
                    (Passed::Number(bits), Elem::Num(dtype)) => {
                        let width = dtype.bits();
                        let kept = if width == 64 {
                            bits
                        } else {
                            bits & ((1 << width) - 1)
                        };
                        Ok(ParamValue::Number(kept))
                    }
                    // An address that the case passes as an int.
                    (Passed::Address(storage, offset), Elem::Num(dtype)) if dtype.bits() == 64 => {
                        let id = *ids.get(storage).ok_or(ArgumentError::NoStorage)?;
                        let address = memory.address(id).wrapping_add_signed(offset);
                        Ok(ParamValue::Number(address))
                    }
                    (Passed::Address(..), Elem::Num(_)) => Err(ArgumentError::Address(param.name.clone())),
                }
            })
            .collect()
    }

    /// The parameters, descriptors for the TMA unit in the parts that the IR has: base, extents, strides, flags.
    fn flatten_params(&self, params: &[Param]) -> Vec<Passed> {
        let mut passed = Vec::with_capacity(params.len());
        for param in params {
            match param {
                Param::Address { storage, offset } => passed.push(Passed::Address(*storage, *offset)),
                Param::Bytes(bytes) => {
                    let mut word = [0; 8];
                    for (to, &byte) in word.iter_mut().zip(bytes) {
                        *to = byte;
                    }
                    passed.push(Passed::Number(u64::from_le_bytes(word)));
                }
                Param::TensorMap(map) => self.flatten_descriptor(map, &mut passed),
            }
        }
        passed
    }

    fn flatten_descriptor(&self, map: &TensorMap, passed: &mut Vec<Passed>) {
        passed.push(Passed::Address(map.storage, map.offset));
        passed.extend(map.shape.iter().map(|&extent| Passed::Number(extent)));
        let size = u64::from(map.element_size.max(1));
        passed.extend(map.strides.iter().map(|stride| Passed::Number(stride / size)));
        let flags = [u64::from(map.fill), u64::from(map.data_type == TF32)];
        passed.extend(flags.into_iter().take(self.flags).map(Passed::Number));
    }
}

/// `CU_TENSOR_MAP_DATA_TYPE_TFLOAT32`.
const TF32: u32 = 11;

/// A value that is passed.
enum Passed {
    /// A byte of a storage, by the storage's index.
    Address(usize, i64),
    /// Bits.
    Number(u64),
}
