//! Results that conforming implementations may leave. See `cerith-accept` for the intervals themselves.

use std::sync::Arc;

use cerith_accept::{Acceptance, AcceptanceMap, Accepted};
use cerith_case::Case;
use cerith_interp::Config;
use cerith_memory::Memory;

use super::arguments::build_arguments;
use super::complaint::to_failure;
use super::kernel::Kernel;
use crate::Position;
use crate::clears::clear_before;
use crate::engine::Failure;
use crate::sparse::reject_sparse;

/// The limit of a launch with intervals, which is slower by far.
const INTERVAL_FUEL: u64 = 1 << 30;

/// Results that conforming implementations may leave.
#[derive(Clone, Debug, PartialEq)]
pub enum Conforming {
    /// For every element.
    Known(AcceptanceMap),
    /// Anything, for this reason.
    Anything(String),
}

/// Values that conforming implementations may leave in one element, and the reason.
#[derive(Clone, Debug, PartialEq)]
pub enum Explanation {
    /// This, and the operation that widened it most, where there is one.
    Accepted(Accepted, Option<Widest>),
    /// Anything, for this reason.
    Anything(String),
}

/// The operation that leaves conforming implementations the most room on the way to an element.
#[derive(Clone, Debug, PartialEq)]
pub struct Widest {
    /// Its name: `exp`, `reduce`, `dot`.
    pub operation: &'static str,
    /// The launch, from 0.
    pub launch: usize,
    /// How much wider, by magnitude, its result is than its widest operand.
    pub growth: f32,
    /// Its position in the source.
    pub position: Option<Position>,
}

/// Executes the launches with intervals. Returns the results that conforming implementations may leave.
pub(super) fn run_intervals(
    case: &Case,
    kernels: &[Arc<Kernel>],
    map: AcceptanceMap,
    config: &Config<'_>,
) -> Result<Conforming, Failure> {
    // Without intervals, nothing of such a kernel has to be executed.
    if reject_sparse(case).is_some() && kernels.iter().all(|kernel| kernel.is_exact()) {
        return Ok(Conforming::Known(map));
    }
    run_intervals_from(case, kernels, map, &mut case.memory(), config)
}

/// Executes the launches with intervals, from this memory on.
pub(super) fn run_intervals_from(
    case: &Case,
    kernels: &[Arc<Kernel>],
    mut map: AcceptanceMap,
    memory: &mut Memory,
    config: &Config<'_>,
) -> Result<Conforming, Failure> {
    if let Some(complaint) = reject_sparse(case) {
        return Ok(Conforming::Anything(format!(
            "a second execution with intervals is not possible: {}",
            complaint.message
        )));
    }
    let config = Config {
        fuel: config.fuel.min(INTERVAL_FUEL),
        ..*config
    };
    for (nth, (launch, kernel)) in case.launches.iter().zip(kernels).enumerate() {
        if clear_before(case, nth, &kernel.traced.clears, memory) && nth > 0 {
            return Ok(Conforming::Anything(
                "the tuner's hooks set memory to zero between launches".to_owned(),
            ));
        }
        let args = build_arguments(launch, kernel, memory)?;
        let accepted = cerith_accept::accept(&kernel.program, launch.grid, &args, memory, &mut map, &config)
            .map_err(|error| to_failure(format!("run `{}` with intervals", launch.kernel.name), error))?;
        match accepted {
            Acceptance::Known => {}
            Acceptance::Inconclusive { decision: what, span } => {
                let place = kernel.traced.function.sources.describe_position(span);
                return Ok(Conforming::Anything(format!(
                    "{what} depends on a value that a conforming implementation may have otherwise, at {place}"
                )));
            }
            Acceptance::Stopped(outcome) => {
                return Ok(Conforming::Anything(format!(
                    "running it with intervals did not finish: {outcome:?}"
                )));
            }
        }
    }
    Ok(Conforming::Known(map))
}
