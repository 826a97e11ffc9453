//! Launches a prepared program. See [`crate::machine`] for running it.

use cerith_memory::Memory;

use crate::config::{Config, ParamValue};
use crate::machine;
use crate::outcome::{InternalError, LaunchOutcome};
use crate::program::Program;
use crate::state::State;

impl Program {
    /// Runs every program of a grid, in the order that the configuration says: one after the other, or as if.
    ///
    /// # Errors
    /// The arguments do not fit the parameters, or the interpreter has a bug. An error of the kernel is a
    /// [`LaunchOutcome`].
    pub fn launch(
        &self,
        grid: [u32; 3],
        args: &[ParamValue],
        memory: &mut Memory,
        config: &Config<'_>,
    ) -> Result<LaunchOutcome, InternalError> {
        let mut state = State::take();
        let outcome = machine::launch(self, &mut state, grid, args, memory, config);
        state.give();
        outcome
    }
}
