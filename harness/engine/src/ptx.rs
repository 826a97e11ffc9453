//! `ptx@V`: the PTX that Triton's compiler makes of a case for `sm_80`, executed on this machine; `ptx@V:sm_90a`: that for Hopper.
//!
//! The compiler is that of `cuda@V:sm_80` or `cuda@V`, and so is the kept compilation. `cerith-ptx` executes the PTX. It is not a GPU: it
//! does not cover the work of NVIDIA's assembler below the PTX. It detects errors that a GPU hides: races in shared memory,
//! copies without a wait, missing proxy fences, deadlocks, uninitialised registers. These count as traps of the program, and name the kernel's lines ([`lines`]).
//! An uninitialised register that affects only bytes of memory does not stop the launches: [`Outcome::settle`] decides whether
//! these bytes need a value.

mod lines;
mod schedules;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cerith_case::{ArgValue, Case, Variant};
use cerith_memory::element_text::describe_beyond;
use cerith_memory::{ByteState, Memory, StorageId};
use cerith_ptx::{
    Config, FindingKind, HostTensorMap, Kernel, Launch, LaunchOutcome, LinkError, SCRATCH_WINDOW, Schedule,
    TensorMapError, TrapKind,
};
use cerith_tile::rules::Rules;
use cerith_toolchain::Tuning;
use cerith_toolchain::compiled::{Compiled, Invocation, Metadata, Param, Scratch, Target, TensorMap};

use crate::clears::clear;
use crate::compile::{Compiler, Compiling};
use crate::compile::{build_tuning, list_capabilities};
use crate::engine::{Capabilities, Engine, Failure, Needs, Preparation, Prepared};
use crate::sparse::reject_sparse;
use crate::stats::CompileStats;
use crate::{Complaint, EngineId, Execution, Finished, Outcome, Position, Trap, worker_outcome};
use lines::{Lines, Recompiler};
use schedules::try_schedules;

/// The maximum time that the launches of a case take in one schedule.
const TIME: Duration = Duration::from_secs(20);

/// The code of PTX that the parser rejects.
pub const BAD_SYNTAX: &str = "ptx-syntax";

/// The code of an instruction that is not supported.
pub const BAD_INSTRUCTION: &str = "ptx-instruction";

/// `ptx@V`.
#[derive(Debug)]
pub struct Ptx {
    id: EngineId,
    capabilities: Capabilities,
    compiler: Arc<Compiler>,
    /// Schedules besides the default one.
    schedules: u32,
    /// Maximum threads for one launch.
    threads: u32,
    stopped: Arc<AtomicBool>,
}

impl Ptx {
    /// The target of the executed PTX by default.
    pub const TARGET: Target = Target::AMPERE;

    /// Executes what a compiler for [`Target::AMPERE`] or [`Target::HOPPER`] makes.
    pub fn new(compiler: Compiler) -> Self {
        let toolchain = compiler.toolchain().compiler();
        let mut capabilities = list_capabilities(toolchain.triton(), true);
        capabilities.needs = Needs {
            gpu: false,
            ..capabilities.needs
        };
        Self {
            id: EngineId::Ptx {
                toolchain,
                target: compiler.target(),
            },
            capabilities,
            compiler: Arc::new(compiler),
            schedules: 0,
            threads: 1,
            stopped: Arc::new(AtomicBool::new(false)),
        }
    }

    /// Launches each case this many more times, in other schedules: warps in other orders, and copies that complete at other times.
    /// The results must be the same.
    #[must_use]
    pub const fn with_schedules(mut self, schedules: u32) -> Self {
        self.schedules = schedules;
        self
    }

    /// Sets the maximum number of threads for one launch. The result does not depend on it.
    #[must_use]
    pub const fn with_threads(mut self, threads: u32) -> Self {
        self.threads = threads;
        self
    }
}

impl Ptx {
    /// Executes the kernels' PTX of a compiled case, without changes. Every uninitialised byte that remains is a trap.
    ///
    /// # Errors
    /// Cerith failed, not the program.
    pub fn execute(case: &Case, compiled: Compiled) -> Result<Outcome, Failure> {
        Self::finish(Ready::new(case, compiled, None, Arc::default())?, case)
    }

    /// Launches a case on its own, without a reference.
    fn finish(ready: Result<Ready, Box<Complaint>>, case: &Case) -> Result<Outcome, Failure> {
        match ready {
            Ok(ready) => {
                let mut outcome = ready.launch(case)?;
                outcome.settle(None);
                Ok(outcome)
            }
            Err(complaint) => Ok(Outcome::Unsupported(complaint)),
        }
    }

    /// The compiler whose PTX it executes.
    pub fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    /// Executes a compiled variant of a case. Every uninitialised byte that remains is a trap.
    ///
    /// # Errors
    /// Cerith failed, not the program.
    pub fn execute_varied(
        &self,
        case: &Case,
        variant: Variant,
        compiled: Compiled,
    ) -> Result<Outcome, Failure> {
        Self::finish(self.prepare_case(case, compiled, build_tuning(variant))?, case)
    }

    fn prepare_case(
        &self,
        case: &Case,
        compiled: Compiled,
        tuning: Tuning,
    ) -> Result<Result<Ready, Box<Complaint>>, Failure> {
        let again = Recompiler {
            compiler: Arc::clone(&self.compiler),
            tuning,
        };
        let ready = Ready::new(case, compiled, Some(again), Arc::clone(&self.stopped))?;
        Ok(ready.map(|ready| Ready {
            schedules: self.schedules,
            threads: self.threads,
            ..ready
        }))
    }
}

impl Engine for Ptx {
    fn id(&self) -> &EngineId {
        &self.id
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn prepare(&self, case: &Case, _rules: Rules) -> Result<Preparation, Failure> {
        if let Some(complaint) = reject_sparse(case) {
            return Ok(Preparation::Ended(Outcome::Unsupported(complaint)));
        }
        let job = match self.compiler.clearing_job(case)? {
            Compiling::Ended(outcome) => return Ok(Preparation::Ended(outcome)),
            Compiling::Ready(job) => job,
        };
        match self.prepare_case(case, job.compiled, Tuning::default())? {
            Ok(ready) => Ok(Preparation::Ready(Box::new(ready))),
            Err(complaint) => Ok(Preparation::Ended(Outcome::Unsupported(complaint))),
        }
    }

    fn collect_stats(&self, case: &Case) -> Result<Option<CompileStats>, Failure> {
        self.compiler.collect_stats(case)
    }

    fn confirm(&self, case: &Case) -> Result<bool, Failure> {
        self.compiler.confirm(case)
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.compiler.stop();
    }
}

/// The kernels of a compilation, or the first of them that is not supported.
fn parse_kernels(
    case: &Case,
    compiled: &Compiled,
    again: Option<&Recompiler>,
) -> Result<Result<Vec<Kernel>, Box<Complaint>>, Failure> {
    let mut all = Vec::with_capacity(compiled.kernels.len());
    for kernel in &compiled.kernels {
        let name = &kernel.metadata.name;
        let module = match cerith_ptx::parse(&kernel.ptx) {
            Ok(module) => Arc::new(module),
            Err(error) => {
                let complaint = Complaint::new(
                    BAD_SYNTAX,
                    format!("the PTX of `{name}` is not known here: {error}"),
                );
                return Ok(Err(Box::new(complaint)));
            }
        };
        match Kernel::new(&module, name) {
            Ok(kernel) => all.push(kernel),
            Err(LinkError::NoKernel(name)) => {
                let doing = format!("find `{name}` in the PTX of its module");
                return Err(Failure::internal(doing, "it is not there"));
            }
            Err(mut error) => {
                let mut position = None;
                if let LinkError::Unsupported(at) = &mut error {
                    position = Lines::new(case, again).locate(&module, all.len(), at)?;
                }
                let complaint = Complaint {
                    position,
                    ..Complaint::new(BAD_INSTRUCTION, format!("the PTX of `{name}`: {error}"))
                };
                return Ok(Err(Box::new(complaint)));
            }
        }
    }
    Ok(Ok(all))
}

/// The kernels of a case.
struct Ready {
    kernels: Vec<Kernel>,
    compiled: Compiled,
    recompiler: Option<Recompiler>,
    /// Schedules besides the default one.
    schedules: u32,
    /// Maximum threads for one launch.
    threads: u32,
    stopped: Arc<AtomicBool>,
}

impl Ready {
    fn new(
        case: &Case,
        compiled: Compiled,
        again: Option<Recompiler>,
        stopped: Arc<AtomicBool>,
    ) -> Result<Result<Self, Box<Complaint>>, Failure> {
        Ok(
            parse_kernels(case, &compiled, again.as_ref())?.map(|kernels| Self {
                kernels,
                compiled,
                recompiler: again,
                schedules: 0,
                threads: 1,
                stopped,
            }),
        )
    }
}

impl Prepared for Ready {
    fn launch(&self, case: &Case) -> Result<Outcome, Failure> {
        let outcome = self.launch_with(case, Schedule::default())?;
        try_schedules(case, self.schedules, outcome, |schedule| {
            self.launch_with(case, schedule)
        })
    }
}

impl Ready {
    /// Makes the launches of a case in a schedule.
    fn launch_with(&self, case: &Case, schedule: Schedule) -> Result<Outcome, Failure> {
        let mut memory = case.memory();
        let until = Instant::now() + TIME;
        let mut printed = Vec::new();
        let mut uninitialised = None;
        let mut execution = Execution::default();
        for invocation in &self.compiled.invocations {
            let (Some(kernel), Some(compiled)) = (
                self.kernels.get(invocation.kernel),
                self.compiled.kernels.get(invocation.kernel),
            ) else {
                return Err(Failure::internal(
                    "launch a kernel",
                    "the compilation has no such kernel",
                ));
            };
            let metadata = &compiled.metadata;
            let (bytes, scratch) = match encode_parameters(kernel, metadata, invocation, &memory) {
                Ok(parameters) => parameters,
                Err(error) => {
                    let complaint = Complaint::new("launch", error.to_string());
                    return Ok(Outcome::Unsupported(Box::new(complaint)));
                }
            };
            let cluster = choose_cluster(metadata);
            let launch = Launch {
                grid: std::array::from_fn(|axis| invocation.grid[axis].saturating_mul(cluster[axis])),
                threads: [metadata.num_warps.saturating_mul(32), 1, 1],
                cluster,
                shared: metadata.shared,
                parameters: &bytes,
                scratch,
            };
            let config = Config {
                stop: Some(&self.stopped),
                deadline: Some((until, TIME)),
                schedule,
                threads: self.threads,
                ..Config::default()
            };
            clear(invocation, &mut memory);
            let mut ended = kernel.launch(&launch, &mut memory, &config);
            let position = self.locate(case, kernel, invocation.kernel, &mut ended)?;
            match ended {
                LaunchOutcome::Finished(finished) => {
                    printed.extend(finished.prints);
                    execution.instructions.merge(finished.executed);
                    if let Some(finding) = finished.findings.first() {
                        let others = finished.findings.len() - 1;
                        let mut complaint = Complaint::new(finding.kind.code(), finding.to_string());
                        if others > 0 {
                            complaint.detail = Some(format!("{others} more like it"));
                        }
                        complaint.launch = Some(invocation.launch);
                        complaint.position = position;
                        if finding.kind != FindingKind::Uninitialised {
                            return Ok(Outcome::Trapped(Trap::Raised, Box::new(complaint)));
                        }
                        uninitialised.get_or_insert(complaint);
                    }
                }
                other => return translate_outcome(&other, position, (case, invocation.launch), &memory),
            }
        }
        Ok(Outcome::Finished(Box::new(Finished {
            memory: memory_of_case(case, &memory)?,
            tracked: None,
            unsteady: None,
            printed,
            remark: uninitialised.map(Box::new),
            execution: Some(Box::new(execution)),
        })))
    }

    /// Gives what a launch says of instructions the kernel's lines, and answers with the place of the first of them.
    fn locate(
        &self,
        case: &Case,
        kernel: &Kernel,
        number: usize,
        ended: &mut LaunchOutcome,
    ) -> Result<Option<Position>, Failure> {
        let lines = Lines::new(case, self.recompiler.as_ref());
        let (at, other) = match ended {
            // Only the first finding is reported.
            LaunchOutcome::Finished(finished) => match finished.findings.first_mut() {
                Some(finding) => (Some(&mut finding.instruction), finding.other_instruction.as_mut()),
                None => (None, None),
            },
            LaunchOutcome::Trapped(trap) if trap.cause.is_some() => match trap.cause.as_deref_mut() {
                Some(cause) => (Some(&mut cause.instruction), cause.other_instruction.as_mut()),
                None => (None, None),
            },
            LaunchOutcome::Trapped(trap) => {
                let other = match &mut trap.kind {
                    TrapKind::GlobalRace {
                        other_instruction, ..
                    } => other_instruction.as_mut(),
                    _ => None,
                };
                (trap.instruction.as_mut(), other)
            }
            LaunchOutcome::Exhausted(_) | LaunchOutcome::Stopped => (None, None),
        };
        if let Some(other) = other {
            lines.locate(kernel.module(), number, other)?;
        }
        at.map_or(Ok(None), |at| lines.locate(kernel.module(), number, at))
    }
}

/// The memory that is left, with what the case knows about its bytes, and with the uninitialised bytes of the launches.
fn memory_of_case(case: &Case, memory: &Memory) -> Result<Memory, Failure> {
    let mut all = case.memory();
    let (bytes, states) = all.arena_mut();
    let (left, left_states) = memory.arena();
    if bytes.len() != left.len() {
        return Err(Failure::internal("keep what a launch left", "another layout"));
    }
    bytes.copy_from_slice(left);
    for (state, left) in states.iter_mut().zip(left_states) {
        if *left == ByteState::Poison {
            *state = ByteState::Poison;
        }
    }
    Ok(all)
}

/// Describes the location of an access that missed a storage, relative to the tensor of the storage that the launch passes.
/// `None` if it passes several, because PTX does not define which of them a pointer was made from.
fn beyond_argument(
    kind: &TrapKind,
    storage: StorageId,
    launch: Option<&cerith_case::Launch>,
    memory: &Memory,
) -> Option<String> {
    let TrapKind::OutOfBounds { address, .. } = kind else {
        return None;
    };
    let byte = address.wrapping_sub(memory.address(storage)) as i64;
    let mut passed = launch?.arguments().filter_map(|(_, arg)| match &arg.value {
        ArgValue::Tensor { name, tensor } => (tensor.storage == storage).then_some((name, tensor)),
        _ => None,
    });
    let (name, tensor) = passed.next()?;
    passed
        .all(|(_, other)| other == tensor)
        .then(|| describe_beyond(name, tensor, byte))
        .flatten()
}

/// The outcome of a launch that did not finish.
fn translate_outcome(
    ended: &LaunchOutcome,
    position: Option<Position>,
    (case, launch): (&Case, usize),
    memory: &Memory,
) -> Result<Outcome, Failure> {
    Ok(match ended {
        LaunchOutcome::Trapped(trap) => {
            let place = trap
                .instruction
                .as_ref()
                .map_or(String::new(), |at| format!(", {at}"));
            let near = trap.kind.storage().map_or(String::new(), |storage: StorageId| {
                let beyond = beyond_argument(&trap.kind, storage, case.launches.get(launch), memory);
                let beyond = beyond.map_or(String::new(), |beyond| format!(", {beyond}"));
                format!(" (near storage `{}`{beyond})", memory.name(storage))
            });
            let message = format!("{}{near}, in {}{place}", trap.kind, trap.thread);
            if let Some(cause) = &trap.cause {
                let mut complaint = Complaint::new(cause.kind.code(), cause.to_string());
                complaint.detail = Some(format!("later: {message}"));
                complaint.launch = Some(launch);
                complaint.position = position;
                return Ok(Outcome::Trapped(Trap::Raised, Box::new(complaint)));
            }
            let assert = matches!(trap.kind, TrapKind::Assert { .. });
            let kind = if assert {
                worker_outcome::ASSERT_FAILED
            } else {
                trap.kind.code()
            };
            let mut complaint = Complaint::new(kind, message);
            complaint.launch = Some(launch);
            complaint.position = position;
            let storage = trap.kind.storage();
            complaint.storages = storage
                .map(|id: StorageId| memory.name(id).to_owned())
                .into_iter()
                .collect();
            let trap = if assert { Trap::Assert } else { Trap::Raised };
            Outcome::Trapped(trap, Box::new(complaint))
        }
        LaunchOutcome::Exhausted(exhausted) => {
            let mut complaint = Complaint::new("limit", exhausted.to_string());
            complaint.launch = Some(launch);
            Outcome::Exhausted(Box::new(complaint))
        }
        LaunchOutcome::Stopped => return Err(Failure::Stopped),
        LaunchOutcome::Finished(_) => return Err(Failure::internal("end a launch", "it has ended")),
    })
}

/// The reason why a kernel cannot be launched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum LaunchError {
    #[error("there is no storage {0}")]
    NoStorage(usize),
    #[error("a tensor map of the launch: {0}")]
    TensorMap(#[from] TensorMapError),
    #[error("the PTX has {expected} parameters, and {actual} are given")]
    Count { expected: usize, actual: usize },
}

/// The blocks of a cluster along each axis.
const fn choose_cluster(metadata: &Metadata) -> [u32; 3] {
    match (metadata.num_ctas, metadata.cluster_dims) {
        (0 | 1, _) => [1; 3],
        (_, Some(dims)) => dims,
        (blocks, None) => [blocks, 1, 1],
    }
}

fn find_address(memory: &Memory, storage: usize, offset: i64) -> Result<u64, LaunchError> {
    let id = memory.ids().nth(storage).ok_or(LaunchError::NoStorage(storage))?;
    Ok(memory.address(id).wrapping_add_signed(offset))
}

/// Encodes a tensor map as CUDA's driver does. CUDA has the innermost dimension first, and no stride for it.
fn encode_tensor_map(map: &TensorMap, address: u64) -> Result<[u8; 128], TensorMapError> {
    let sizes: Vec<u64> = map.shape.iter().rev().copied().collect();
    let strides: Vec<u64> = map.strides.iter().rev().skip(1).copied().collect();
    let box_sizes: Vec<u32> = map.block.iter().rev().copied().collect();
    let host = HostTensorMap {
        address,
        data_type: map.data_type,
        sizes: &sizes,
        strides: &strides,
        box_sizes: &box_sizes,
        steps: &[],
        interleave: map.interleave,
        swizzle: map.swizzle,
        fill: map.fill,
    };
    host.encode()
}

/// A launch's parameters as the kernel reads them, and the bytes of scratch memory that it needs.
fn encode_parameters(
    kernel: &Kernel,
    metadata: &Metadata,
    invocation: &Invocation,
    memory: &Memory,
) -> Result<(Vec<u8>, u64), LaunchError> {
    let mut given: Vec<Vec<u8>> = Vec::with_capacity(invocation.params.len() + 2);
    for param in &invocation.params {
        given.push(match param {
            Param::Address { storage, offset } => {
                find_address(memory, *storage, *offset)?.to_le_bytes().to_vec()
            }
            Param::Bytes(bytes) => bytes.clone(),
            Param::TensorMap(map) => {
                let address = find_address(memory, map.storage, map.offset)?;
                encode_tensor_map(map, address)?.to_vec()
            }
        });
    }
    let mut scratch = 0u64;
    let programs = invocation
        .grid
        .iter()
        .fold(metadata.num_ctas.max(1).into(), |all: u64, &count| {
            all.saturating_mul(count.into())
        });
    for Scratch { size, align } in [metadata.global_scratch, metadata.profile_scratch]
        .into_iter()
        .flatten()
    {
        if size == 0 {
            given.push(vec![0; 8]);
            continue;
        }
        let at = scratch.next_multiple_of(align.clamp(1, 1 << 20).next_power_of_two());
        given.push((SCRATCH_WINDOW + at).to_le_bytes().to_vec());
        scratch = at.saturating_add(size.saturating_mul(programs));
    }
    let wanted = kernel.parameters();
    if wanted.len() != given.len() {
        return Err(LaunchError::Count {
            expected: wanted.len(),
            actual: given.len(),
        });
    }
    let mut bytes = Vec::new();
    for (parameter, given) in wanted.iter().zip(given) {
        bytes.resize(parameter.offset as usize, 0);
        let mut value = given;
        value.resize(parameter.size as usize, 0);
        bytes.extend(value);
    }
    Ok((bytes, scratch))
}
