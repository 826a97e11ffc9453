//! Each kind of undefined behaviour: kernels that trigger a check, kernels that don't, and the messages.

mod alignment;
mod bounds;
mod conflict;
mod division;
mod init;
mod order;
mod poison;
mod promise;
mod race;
mod reread;
mod unordered;
mod wait;

use cerith_interp::{LaunchOutcome, ParamValue, Program, TrapKind};
use cerith_memory::Memory;
use cerith_tile::ir::Function;

use crate::kernels;

/// Runs a kernel that must trap, and returns the message.
#[track_caller]
fn trap(
    kind: TrapKind,
    function: &Function,
    grid: [u32; 3],
    args: &[ParamValue],
    memory: &mut Memory,
) -> String {
    let outcome = kernels::launch(function, grid, args, memory);
    match &outcome {
        LaunchOutcome::Trapped(trap) if trap.kind == kind => {}
        other => panic!("not {kind}: {other:?}"),
    }
    kernels::render_outcome(function, &outcome)
}

/// Runs a kernel twice with one preparation: the first launch must not change the second.
fn launch_twice(
    function: &Function,
    grid: [u32; 3],
    args: &[ParamValue],
    memory: &Memory,
) -> [LaunchOutcome; 2] {
    let program = Program::prepare(function.clone()).expect("verified");
    [0, 1].map(|_| {
        let mut memory = memory.clone();
        program
            .launch(grid, args, &mut memory, &cerith_interp::Config::default())
            .expect("no bug of ours")
    })
}
