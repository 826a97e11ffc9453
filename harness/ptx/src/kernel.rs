//! A kernel that can be launched: decoded steps, registers, the layout of memory. Left out: how it is put together
//! ([`crate::link`]).

use std::sync::Arc;

use crate::op::{Slot, Step};
use crate::outcome::InstructionLocation;
use crate::syntax::{Instruction, Module, Special};

/// Where the addresses of a block's shared memory begin for those that say no space.
pub(crate) const SHARED_WINDOW: u64 = 0x0100_0000_0000;
/// The same of a thread's own memory, for all.
pub(crate) const LOCAL_WINDOW: u64 = 0x0200_0000_0000;
/// The same of the launch's parameters.
pub(crate) const PARAMETER_WINDOW: u64 = 0x0300_0000_0000;
/// The same of the module's variables.
pub(crate) const MODULE_WINDOW: u64 = 0x0400_0000_0000;

/// Why a kernel cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// There is no kernel of this name.
    #[error("the module has no kernel `{0}`")]
    NoKernel(String),
    /// An instruction that is not known here.
    #[error("{0} is not supported")]
    Unsupported(Box<InstructionLocation>),
    /// More than a limit allows.
    #[error("{what} takes {bytes} bytes, and {limit} is the limit")]
    TooLarge {
        /// What.
        item: &'static str,
        /// Bytes asked for.
        bytes: u64,
        /// The most.
        limit: u64,
    },
}

/// What a register holds from the start.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Preset {
    Constant(u64),
    Special(Special),
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Where it is among the parameters' bytes.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

/// A kernel that can be launched. Shared between threads.
#[derive(Debug)]
pub struct Kernel {
    pub(crate) module: Arc<Module>,
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
    /// For every step, the function and the instruction that it is of.
    pub(crate) origins: Vec<(u32, u32)>,
    pub(crate) registers: usize,
    pub(crate) predicates: usize,
    pub(crate) presets: Vec<(Slot, Preset)>,
    pub(crate) parameters: Vec<Parameter>,
    /// Bytes of a thread's own memory.
    pub(crate) private: u64,
    /// Bytes of shared memory that the module declares; what a launch adds comes behind.
    pub(crate) shared: u64,
    /// The module's variables.
    pub(crate) globals: Vec<u8>,
}

impl Kernel {
    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its parameters, in order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The module that it is of.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// How many steps there are; nearly one for each instruction.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there is nothing to execute.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The instruction that a step is of.
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
}
