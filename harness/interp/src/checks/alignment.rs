//! Addresses that are not a multiple of the element's size: a fault on a GPU, and slow or worse elsewhere.

use cerith_memory::Memory;

use super::{Access, Home, Site, describe_bytes, place, storage_at};
use crate::outcome::{Stop, TrapKind};

/// The trap for an address that is not aligned.
#[cold]
pub(crate) fn trap(
    site: Site<'_>,
    memory: &Memory,
    home: Option<&Home>,
    access: Access,
    lane: usize,
    address: u64,
    size: usize,
) -> Stop {
    let kind = TrapKind::Misaligned;
    let message = format!(
        "{} of {} at an address that is not a multiple of {size}",
        access.name(),
        describe_bytes(size as u64)
    );
    let mut diagnostic = site.build_diagnostic(kind, Some(lane), message);
    if let Some(place) = place(memory, address) {
        diagnostic = diagnostic.note(format!("the address is {address:#x}, {place}"));
    }
    if let Some(home) = home {
        diagnostic = diagnostic.note(home.describe(memory));
    }
    let home = home.map(|home| memory.name(home.storage));
    let diagnostic = diagnostic.about_storages(storage_at(memory, address).into_iter().chain(home));
    site.trap(kind, Some(lane), diagnostic)
}
