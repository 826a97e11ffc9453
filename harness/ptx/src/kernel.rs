//! A kernel that can be launched: decoded steps, registers, the memory layout. [`crate::link`] builds it.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::fidelity::ExecutedInstructions;
use crate::op::{Slot, Step};
use crate::outcome::InstructionLocation;
use crate::syntax::{Instruction, Module, Special};

/// Start of the generic addresses of a block's shared memory.
pub(crate) const SHARED_WINDOW: u64 = 0x0100_0000_0000;
/// Start of the generic addresses of a thread's local memory, the same for all threads.
pub(crate) const LOCAL_WINDOW: u64 = 0x0200_0000_0000;
/// Start of the generic addresses of the launch's parameters.
pub(crate) const PARAMETER_WINDOW: u64 = 0x0300_0000_0000;
/// Start of the generic addresses of the module's variables.
pub(crate) const MODULE_WINDOW: u64 = 0x0400_0000_0000;

/// The reason why a kernel cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// There is no kernel of this name.
    #[error("the module has no kernel `{0}`")]
    NoKernel(String),
    /// An unsupported instruction.
    #[error("{0} is not supported")]
    Unsupported(Box<InstructionLocation>),
    /// The module exceeds a limit.
    #[error("{item} takes {bytes} bytes, and {limit} is the limit")]
    TooLarge {
        /// The part that is too large.
        item: &'static str,
        /// Its size in bytes.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
}

/// The initial value of a register.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Preset {
    Constant(u64),
    /// An offset in the shared memory of the executing block.
    Shared(u64),
    Special(Special),
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its offset in the parameters' bytes.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
}

/// A kernel that can be launched. Shared between threads.
#[derive(Debug)]
pub struct Kernel {
    pub(crate) module: Arc<Module>,
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
    /// For every step, its function and its instruction.
    pub(crate) origins: Vec<(u32, u32)>,
    pub(crate) registers: usize,
    pub(crate) predicates: usize,
    pub(crate) presets: Vec<(Slot, Preset)>,
    pub(crate) parameters: Vec<Parameter>,
    /// Size of a thread's local memory in bytes.
    pub(crate) private: u64,
    /// Size of the module's shared memory in bytes. Dynamic shared memory follows it.
    pub(crate) shared: u64,
    /// The module's variables.
    pub(crate) globals: Vec<u8>,
    /// Whether it has asynchronous matrix products (`wgmma`).
    pub(crate) has_products: bool,
    /// Whether it has asynchronous copies or products.
    pub(crate) is_asynchronous: bool,
    /// For every step, its registers, and whether it writes them; only if the kernel has asynchronous products.
    pub(crate) touched: Vec<StepRegisters>,
    /// Blocks of a cluster along each axis, if declared.
    pub(crate) cluster: Option<[u32; 3]>,
}

/// The registers of a step, and whether it writes them.
pub(crate) type StepRegisters = SmallVec<[(Slot, bool); 3]>;

impl Kernel {
    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its parameters, in order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Its module.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// The blocks of a cluster along each axis (`.reqnctapercluster`), if the kernel declares them.
    pub const fn cluster(&self) -> Option<[u32; 3]> {
        self.cluster
    }

    /// The registers of a step; `None` if the kernel does not record them.
    pub(crate) fn registers_of(&self, step: u32) -> Option<&[(Slot, bool)]> {
        self.touched.get(step as usize).map(SmallVec::as_slice)
    }

    /// The number of steps. Most instructions are one step.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there are no steps.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The instruction of a step.
    pub(crate) fn instruction(&self, step: u32) -> Option<&Instruction> {
        let &(function, at) = self.origins.get(step as usize)?;
        self.module
            .functions
            .get(function as usize)?
            .body
            .get(at as usize)
    }
}

impl Kernel {
    /// The instruction of a step, for messages.
    pub(crate) fn at_step(&self, step: u32) -> Option<InstructionLocation> {
        self.instruction(step)
            .map(|instruction| self.module.locate_instruction(instruction))
    }
    /// Describes the steps that a launch executed.
    pub(crate) fn describe_executed(&self, executed: &[bool]) -> ExecutedInstructions {
        let mut described = ExecutedInstructions::default();
        let mut previous = None;
        for (step, _) in executed.iter().enumerate().filter(|(_, executed)| **executed) {
            // An instruction may have several steps.
            let origin = self.origins.get(step);
            if previous.replace(origin) == Some(origin) {
                continue;
            }
            if let Some(instruction) = self.instruction(step as u32) {
                described.add(instruction);
            }
        }
        described
    }
}
