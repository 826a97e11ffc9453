//! A kernel that is ready to be launched. Left out: tracing it, and launching it.

use cerith_frontend::Traced;
use cerith_interp::Program;
use cerith_tile::ir::{Function, LocId};

use crate::engine::Failure;

/// A kernel that was traced for one specialisation.
#[derive(Debug)]
pub struct Kernel {
    /// The traced kernel.
    pub traced: Traced,
    pub(super) program: Program,
    /// Whether an operation does something with lanes that may come in any order.
    pub(super) lanes_open: bool,
    /// Where elements are combined by a function that is not well known, in any order.
    pub(super) combines: Vec<LocId>,
}

impl Kernel {
    /// What is executed.
    pub(crate) const fn program(&self) -> &Program {
        &self.program
    }
}

/// The program of a function.
pub(super) fn prepare(function: Function) -> Result<Program, Failure> {
    let name = function.name.clone();
    Program::prepare(function).map_err(|error| Failure::internal(format!("prepare `{name}`"), error))
}
