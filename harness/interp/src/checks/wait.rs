//! A program that waits for another one. Triton says nothing about when a program of a launch runs: all of them may run
//! one after the other, as they do here, so a loop that only another program could end need not end.
//!
//! An iteration that changes nothing (carried values and every byte of memory) repeats for ever. The check runs after
//! powers of two of iterations, so that loops that end pay almost nothing. Known miss: a wait whose iterations change
//! something, such as a counter of them; it runs out of fuel.

use smallvec::SmallVec;

use super::Site;
use crate::outcome::{Stop, TrapKind};
use crate::value::{Repr, Value};

/// The number of iterations before a loop is checked.
const PATIENCE: u64 = 1 << 10;

/// The state of a loop at an earlier trip.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    trips: u64,
    last_state: Option<(SmallVec<[u64; 4]>, Vec<u8>)>,
}

impl Watch {
    /// Records the state after a trip: carried values and memory. Returns whether it equals the state before the trip.
    pub(crate) fn check_repeated(&mut self, carried: &[Value], memory: &[u8]) -> bool {
        self.trips = self.trips.wrapping_add(1);
        if let Some((numbers, bytes)) = self.last_state.take() {
            return collect_scalars(carried).is_some_and(|now| now == numbers) && bytes == memory;
        }
        if self.trips >= PATIENCE && self.trips.is_power_of_two() {
            self.last_state = collect_scalars(carried).map(|numbers| (numbers, memory.to_vec()));
        }
        false
    }
}

/// The bits of values that are scalars, all of them defined.
fn collect_scalars(values: &[Value]) -> Option<SmallVec<[u64; 4]>> {
    values
        .iter()
        .map(|value| match value.repr {
            Repr::Uniform(bits) if value.poison.is_none() => Some(bits),
            _ => None,
        })
        .collect()
}

/// The trap for a loop that only another program could end.
#[cold]
pub(crate) fn trap_endless_wait(site: Site<'_>) -> Stop {
    let kind = TrapKind::EndlessWait;
    let diagnostic = site
        .build_diagnostic(
            kind,
            None,
            "a loop that goes round for ever unless another program writes to memory",
        )
        .note("programs of a launch may run one after the other, in any order: none may wait for another")
        .help("launch twice: what the first launch wrote is there when the second begins");
    site.trap(kind, None, diagnostic)
}
