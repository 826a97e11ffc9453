//! Some programs of a launch, with the kernel as it is and with exact integers. The grid may be too large for all of them.

use cerith_case::Case;
use cerith_interp::{Checks, Config};
use cerith_tile::ir::Function;
use cerith_tile::rules::Rules;

use super::{Kernel, Reference, build_arguments, to_failure};
use crate::Outcome;
use crate::engine::Failure;
use crate::executed::Executed;

impl Reference {
    /// Executes programs of a case's only launch one after the other, each with all that the launch passes. They are numbers in the
    /// order of the grid, whose first axis is the fastest. `rewrite` changes the kernel before that. `None` if the kernel is
    /// refused, its tuner clears memory, or the case has another number of launches.
    ///
    /// Programs that are not executed write nothing, so the outcome is that of the launch only if these read nothing of theirs.
    pub fn run_programs(
        &self,
        case: &Case,
        rules: Rules,
        programs: &[u64],
        rewrite: Option<&dyn Fn(&Function) -> Function>,
    ) -> Result<Option<Outcome>, Failure> {
        let [launch] = case.launches.as_slice() else {
            return Ok(None);
        };
        let Ok(kernel) = self.trace_kernel(launch, rules)? else {
            return Ok(None);
        };
        let clears = &kernel.traced.clears;
        if !clears.always.is_empty() || !clears.when_tuning.is_empty() {
            return Ok(None);
        }
        let rewritten: Option<Kernel> = match rewrite {
            Some(rewrite) => Some(kernel.with_function(rewrite(&kernel.traced.function))?),
            None => None,
        };
        let program = rewritten.as_ref().unwrap_or(&kernel).program();
        let mut memory = case.memory();
        let arguments = build_arguments(launch, &kernel, &memory)?;
        let mut executed = Executed::default();
        for &number in programs {
            let config = Config {
                checks: Checks::Fast,
                only_program: Some(number),
                device_asserts: true,
                ..self.config(case)
            };
            let outcome = program
                .launch(launch.grid, &arguments, &mut memory, &config)
                .map_err(|error| to_failure(format!("run `{}`", launch.kernel.name), error))?;
            if let Some(ended) = executed.add(outcome, &kernel.traced.function.sources, 0) {
                return Ok(Some(ended));
            }
        }
        Ok(Some(executed.finish(case, memory)))
    }
}
