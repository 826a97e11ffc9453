//! One program of a launch, in place of all: a set of quirks that does not explain what that program left explains nothing. Left
//! out: launches whose programs meet, where one program alone may leave something else.

use cerith_engine::Finished;
use cerith_memory::{ByteState, Memory, StorageId};
use cerith_tile::quirk::Quirks;

use super::search::Asked;

/// Fewer programs are not worth it.
const LEAST: u64 = 4;

/// A program, and the bytes that it writes.
pub(super) struct Sample {
    pub(super) program: u64,
    /// Says of every byte whether it is compared.
    pub(super) known: Memory,
}

impl Sample {
    /// A program that wrote a byte in which what the engine left and `known`, what the reference left, differ. None where none is found, or
    /// where it does not leave by itself what it leaves among the others.
    pub(super) fn take(asked: &Asked<'_>, quirks: Quirks, known: &Memory) -> Option<Self> {
        let Asked {
            case,
            reference,
            rules,
            numerics,
            left,
        } = *asked;
        let [launch] = case.launches.as_slice() else {
            return None;
        };
        let programs = launch.grid.iter().map(|&n| u64::from(n)).product::<u64>();
        let rules = rules.following(quirks);
        if programs < LEAST || reference.has_atomics(case, rules).ok()? {
            return None;
        }
        // A guard zone has no bytes that a program is known by.
        if known.ids().any(|id| known.guards(id) != left.memory.guards(id)) {
            return None;
        }
        let (id, byte) = first_difference(left, known)?;
        let before = case.memory();
        let whole = reference.following(case, rules, None, numerics).ok()??.memory;
        let at = byte as u64 * programs / (known.size(id) as u64).max(1);
        let near = [at, at.saturating_sub(1), at + 1, 0, programs - 1];
        for program in near.into_iter().filter(|&program| program < programs) {
            let alone = reference
                .following(case, rules, Some(program), numerics)
                .ok()??
                .memory;
            if alone.bytes(id).get(byte) == before.bytes(id).get(byte) {
                continue;
            }
            let mut known = known.clone();
            for id in alone.ids() {
                let bytes = alone.bytes(id).iter().zip(before.bytes(id)).zip(whole.bytes(id));
                let (_, states) = known.parts_mut(id);
                for (((alone, before), whole), state) in bytes.zip(states) {
                    if alone == before {
                        *state = ByteState::Poison;
                    } else if alone != whole {
                        return None;
                    }
                }
            }
            return Some(Self { program, known });
        }
        None
    }
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
