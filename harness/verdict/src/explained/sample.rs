//! One program of a launch, in place of all: a set of quirks that does not explain what that program left explains nothing,
//! unless programs meet and it leaves something else by itself ([`is_independent`]). It does not handle launches whose
//! programs meet at atomic operations.

use cerith_engine::Finished;
use cerith_memory::{ByteState, Memory, StorageId};
use cerith_tile::quirk::Quirks;

use super::search::ExplainQuery;

/// A program, and the bytes that it writes.
pub(super) struct Sample {
    pub(super) program: u64,
    /// Says of every byte whether it is compared.
    pub(super) compare_mask: Memory,
}

impl Sample {
    /// A program that wrote a byte in which the engine's contents differ from `known`, the reference's. `None` if none is found.
    pub(super) fn take(asked: &ExplainQuery<'_>, quirks: Quirks, known: &Memory) -> Option<Self> {
        let ExplainQuery {
            case,
            reference,
            rules,
            left,
            ..
        } = *asked;
        let [launch] = case.launches.as_slice() else {
            return None;
        };
        let programs = launch.grid.iter().map(|&n| u64::from(n)).product::<u64>();
        if programs < 2 || reference.has_atomics(case, rules.with_quirks(quirks)).ok()? {
            return None;
        }
        // A guard zone has no bytes that a program is known by.
        if known.ids().any(|id| known.guards(id) != left.memory.guards(id)) {
            return None;
        }
        let (id, byte) = first_difference(left, known)?;
        let before = case.memory();
        let at = byte as u64 * programs / (known.size(id) as u64).max(1);
        let near = [at, at.saturating_sub(1), at + 1, 0, programs - 1];
        for program in near.into_iter().filter(|&program| program < programs) {
            let alone = asked.follow_quirks(quirks, Some(program))?;
            let alone = &alone.memory;
            if alone.bytes(id).get(byte) == before.bytes(id).get(byte) {
                continue;
            }
            let mut known = known.clone();
            for id in alone.ids() {
                let bytes = alone.bytes(id).iter().zip(before.bytes(id));
                let (_, states) = known.parts_mut(id);
                for ((alone, before), state) in bytes.zip(states) {
                    if alone == before {
                        *state = ByteState::Poison;
                    }
                }
            }
            return Some(Self {
                program,
                compare_mask: known,
            });
        }
        None
    }
}

/// Whether what a program left by itself, where it wrote, is what it left among the others.
pub(super) fn is_independent(before: &Memory, alone: &Memory, whole: &Memory) -> bool {
    alone.ids().all(|id| {
        let mut bytes = alone.bytes(id).iter().zip(before.bytes(id)).zip(whole.bytes(id));
        bytes.all(|((alone, before), whole)| alone == before || alone == whole)
    })
}

/// The first byte with a defined value in which they differ.
fn first_difference(left: &Finished, known: &Memory) -> Option<(StorageId, usize)> {
    known.ids().find_map(|id| {
        let bytes = left.memory.bytes(id).iter().zip(known.bytes(id));
        let mut differing = bytes
            .zip(known.states(id))
            .map(|((left, known), state)| left != known && *state != ByteState::Poison);
        Some((id, differing.position(|differs| differs)?))
    })
}
