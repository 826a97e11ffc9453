//! The laws of every kernel: it runs the same twice, checks change only what is reported, and the execution with intervals accepts
//! what the fast one computes (the two share only the arithmetic of single lanes).

use cerith_accept::{Acceptance, AcceptanceMap, Accepted};
use cerith_interp::{Checks, Config, LaunchOutcome};
use cerith_memory::{ByteState, Memory};
use cerith_tile::numeric;

use super::{DTYPES, Program};
use crate::{Ended, Fault, TrialResult, ensure};

/// Checks the laws on the program that these bytes make, within small limits.
pub fn check(bytes: &[u8]) -> TrialResult {
    let limits = Config {
        fuel: 1 << 20,
        memory_limit: 1 << 20,
        print_limit: 1 << 12,
        ..Config::default()
    };
    check_within(&Program::from_bytes(bytes), &limits)
}

/// Checks the laws on a program, within these limits.
pub fn check_within(of: &Program, limits: &Config<'_>) -> TrialResult {
    let function = of.function();
    function
        .verify()
        .map_err(|error| Fault(format!("the IR does not verify: {error}\n{function}")))?;
    let grid = [of.programs, 1, 1];
    let program =
        cerith_interp::Program::prepare(function).map_err(|error| Fault(format!("failed to {error}")))?;
    let (memory, args) = Program::build_world();
    let fault = |message: String| Fault(format!("{message}\n{}", program.function()));
    let run = |config: &Config<'_>| -> Result<(LaunchOutcome, Memory), Fault> {
        let mut memory = memory.clone();
        let outcome = program
            .launch(grid, &args, &mut memory, config)
            .map_err(|error| fault(format!("failed to {error}")))?;
        Ok((outcome, memory))
    };
    let (outcome, after) = run(limits)?;
    // Some of them in threads: starting those takes longer than the program.
    let shared = if program.function().values.len() % 16 == 0 {
        3
    } else {
        1
    };
    let again = run(&Config {
        threads: shared,
        share_work: 0,
        ..*limits
    })?;
    ensure(outcome == again.0, || {
        format!(
            "a second run ends otherwise: {outcome:?}, then {:?}\n{}",
            again.0,
            program.function()
        )
    })?;
    ensure(after == again.1, || {
        let changed = memory.ids().find(|&id| after.bytes(id) != again.1.bytes(id));
        format!(
            "a second run leaves other memory, in {changed:?}\n{}",
            program.function()
        )
    })?;
    let LaunchOutcome::Finished(_) = outcome else {
        return Ok(Ended::Stopped);
    };
    let (fast, after_fast) = run(&Config {
        checks: Checks::Fast,
        ..*limits
    })?;
    ensure(
        matches!(fast, LaunchOutcome::Finished(_)) && after == after_fast,
        || {
            format!(
                "fewer checks change what happens: {fast:?}\n{}",
                program.function()
            )
        },
    )?;
    let (mut exact, mut map) = (memory.clone(), AcceptanceMap::default());
    let acceptance = cerith_accept::accept(&program, grid, &args, &mut exact, &mut map, limits)
        .map_err(|error| fault(format!("failed to {error}")))?;
    // Keeping book of what widens, lanes are looked at one by one; without, whole blocks are, where that can be.
    let (mut single, mut singly) = (memory.clone(), AcceptanceMap::with_book());
    let one_by_one = cerith_accept::accept(&program, grid, &args, &mut single, &mut singly, limits)
        .map_err(|error| fault(format!("failed to {error}")))?;
    let exhausted = |end: &Acceptance| matches!(end, Acceptance::Stopped(LaunchOutcome::Exhausted(_)));
    let same =
        acceptance == one_by_one && is_same_memory(&exact, &single, &map) && map.iter().eq(singly.iter());
    ensure(same || exhausted(&acceptance) || exhausted(&one_by_one), || {
        let other = map.iter().zip(singly.iter()).find(|(one, other)| one != other);
        format!(
            "blocks and single lanes accept other things: {acceptance:?} and {one_by_one:?}, {other:?}\n{}",
            program.function()
        )
    })?;
    match acceptance {
        Acceptance::Known => {
            check_accepted(&after, &exact, &map).map_err(|error| fault(error.to_string()))?;
        }
        // Intervals may cost more than the limits give.
        Acceptance::Inconclusive { .. } | Acceptance::Stopped(LaunchOutcome::Exhausted(_)) => {}
        Acceptance::Stopped(outcome) => return Err(fault(format!("with intervals: {outcome:?}"))),
    }
    Ok(Ended::Finished)
}

/// Whether two memories are the same where lanes have one value.
fn is_same_memory(one: &Memory, other: &Memory, map: &AcceptanceMap) -> bool {
    one.ids().all(|id| {
        let bytes = one.bytes(id).iter().zip(other.bytes(id));
        let states = one.states(id).iter().zip(other.states(id));
        bytes.zip(states).enumerate().all(|(at, ((a, b), (known, now)))| {
            let open = *known == ByteState::Poison || map.accepted_at(id, at).1 != Accepted::Exact;
            known == now && (a == b || open)
        })
    })
}

/// An element that is not accepted.
#[derive(Debug, thiserror::Error)]
enum NotAccepted {
    /// Only one value is accepted, and its bits differ.
    #[error("{storage}+{byte}: {bits:#x}, exactly {expected:#x}")]
    Exact {
        storage: String,
        byte: usize,
        bits: u64,
        expected: u64,
    },
    /// Its value is outside of its interval.
    #[error("{storage}+{byte}: {value} is not in {low}..={high}")]
    Within {
        storage: String,
        byte: usize,
        value: f64,
        low: f64,
        high: f64,
    },
}

/// Whether the bytes that a launch left are accepted.
fn check_accepted(memory: &Memory, exact: &Memory, map: &AcceptanceMap) -> Result<(), NotAccepted> {
    for (id, dtype) in memory.ids().zip(DTYPES) {
        let size = dtype.size();
        for at in (0..memory.size(id)).step_by(size) {
            let poison = |memory: &Memory| memory.states(id)[at..at + size].contains(&ByteState::Poison);
            if poison(memory) || poison(exact) {
                continue;
            }
            let bits = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |sum, &b| sum << 8 | u64::from(b));
            let got = bits(&memory.bytes(id)[at..at + size]);
            let storage = || memory.name(id).to_owned();
            match map.accepted_at(id, at).1 {
                Accepted::Unknown => {}
                Accepted::Exact => {
                    let expected = bits(&exact.bytes(id)[at..at + size]);
                    let nans = numeric::is_nan(dtype, got) && numeric::is_nan(dtype, expected);
                    if got != expected && !nans {
                        return Err(NotAccepted::Exact {
                            storage: storage(),
                            byte: at,
                            bits: got,
                            expected,
                        });
                    }
                }
                within @ Accepted::Within { dtype, low, high, .. } => {
                    if within.check_bits(got) != Some(true) {
                        return Err(NotAccepted::Within {
                            storage: storage(),
                            byte: at,
                            value: numeric::decode(dtype, got),
                            low,
                            high,
                        });
                    }
                }
            }
        }
    }
    Ok(())
}
