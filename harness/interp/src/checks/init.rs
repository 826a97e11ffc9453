//! Reads of bytes that nothing was written to.

use cerith_memory::{ByteState, Memory};
use cerith_tile::fault::{Fault, is_planted};

use super::{Access, Site, describe_bytes, place_at, storage_at_index};
use crate::outcome::{Stop, TrapKind};

/// The initialisation of all bytes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InitState {
    /// Defined values.
    All,
    /// Some were written without a defined value; none is uninitialised.
    SomePoison,
    /// Some were never written.
    SomeUninit,
}

/// The initialisation of a run of bytes.
#[inline]
pub(crate) fn classify_bytes(states: &[ByteState]) -> InitState {
    if is_planted(Fault::UninitialisedIsKnown) && states.contains(&ByteState::Uninit) {
        return InitState::All;
    }
    // `Init` is 1, so the first fold is zero when all are; it has no early way out, so that it is vectorised.
    if states
        .iter()
        .fold(0, |any, &state| any | (state as u8 ^ ByteState::Init as u8))
        == 0
    {
        InitState::All
    } else if states.contains(&ByteState::Uninit) {
        InitState::SomeUninit
    } else {
        InitState::SomePoison
    }
}

/// The trap for a read of uninitialised bytes; `index` is the arena index of the element.
#[cold]
pub(crate) fn trap(
    site: Site<'_>,
    memory: &Memory,
    access: Access,
    lane: usize,
    index: usize,
    size: usize,
) -> Stop {
    let kind = TrapKind::Uninitialised;
    let states = memory.arena().1.get(index..index + size).unwrap_or(&[]);
    let first = states
        .iter()
        .position(|&state| state == ByteState::Uninit)
        .unwrap_or(0);
    let diagnostic = site
        .build_diagnostic(
            kind,
            Some(lane),
            format!(
                "{} of {} that nothing was written to",
                access.name(),
                describe_bytes(size as u64)
            ),
        )
        .about_storages(storage_at_index(memory, index + first))
        .note(format!(
            "the first of them is {}",
            place_at(memory, index + first)
        ))
        .help("write the storage before it is read, or give it a fill other than `uninit`");
    site.trap(kind, Some(lane), diagnostic)
}
