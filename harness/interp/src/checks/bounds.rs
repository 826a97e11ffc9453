//! Accesses outside of storages. A pointer that a kernel derived from a parameter may only reach the storage of that
//! parameter's argument, whatever its offset; a pointer loaded from memory or made from an integer may reach any.

use cerith_memory::element_text::{describe_beyond, describe_last};
use cerith_memory::{Fault, Memory, ORIGIN};
use cerith_tile::fault::{self, is_planted};

use super::{Access, Home, Site, describe_bytes, storage_at};
use crate::outcome::{Stop, TrapKind};

/// The arena index of `len` bytes at `address`, if they may be accessed. Pages of a sparse storage that they are in must be
/// resident.
#[inline]
pub(crate) fn locate(memory: &Memory, home: Option<&Home>, address: u64, len: usize) -> Option<usize> {
    let at = address.wrapping_sub(ORIGIN) as usize;
    match home {
        Some(home) => {
            let end = at.checked_add(len)?;
            let late = if is_planted(fault::Fault::EndsFourLate) {
                4
            } else {
                0
            };
            if home.start <= at && end <= home.arena_end + late {
                return Some(at);
            }
            if home.sparse {
                locate_in_pages(memory, home, address, len)
            } else {
                None
            }
        }
        None => locate_anywhere(memory, address, len),
    }
}

#[inline(never)]
fn locate_anywhere(memory: &Memory, address: u64, len: usize) -> Option<usize> {
    let place = memory.resolve_access(address, len);
    place.ok().and_then(|_| memory.index_of(address))
}

#[cold]
fn locate_in_pages(memory: &Memory, home: &Home, address: u64, len: usize) -> Option<usize> {
    let place = memory.resolve_access(address, len).ok()?;
    (place.storage == home.storage)
        .then(|| memory.index_of(address))
        .flatten()
}

/// The trap for an access that [`locate`] refused.
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
    let kind = TrapKind::OutOfBounds;
    let size = size as u64;
    let what = format!("{} of {}", access.name(), describe_bytes(size));
    let message = match home {
        Some(home) => {
            let at = address.wrapping_sub(ORIGIN) as i64;
            let (start, end) = (home.start as i64, home.end as i64);
            let name = memory.name(home.storage);
            let place = if at < start && start.wrapping_sub(at) > 0 {
                format!(
                    "{what} that starts {} before storage `{name}`",
                    describe_bytes(start.wrapping_sub(at) as u64)
                )
            } else if at < end {
                format!(
                    "{what} with only {} inside of storage `{name}`",
                    describe_bytes(end.wrapping_sub(at) as u64)
                )
            } else if at == end {
                format!("{what} just past the end of storage `{name}`")
            } else {
                format!(
                    "{what} that starts {} past the end of storage `{name}`",
                    describe_bytes(at.wrapping_sub(end) as u64)
                )
            };
            let beyond = home
                .named_tensor()
                .and_then(|(name, tensor)| describe_beyond(name, tensor, at.wrapping_sub(start)));
            match beyond {
                Some(beyond) => format!("{place}, {beyond}"),
                None => place,
            }
        }
        None if address < 4096 => format!("{what} through a null pointer"),
        None => match memory.resolve_access(address, size as usize) {
            Err(Fault::Before { storage, distance }) => {
                format!(
                    "{what} that starts {} before storage `{}`",
                    describe_bytes(distance),
                    memory.name(storage)
                )
            }
            Err(Fault::Behind { storage, distance: 0 }) => {
                format!("{what} just past the end of storage `{}`", memory.name(storage))
            }
            Err(Fault::Behind { storage, distance }) => {
                format!(
                    "{what} that starts {} past the end of storage `{}`",
                    describe_bytes(distance),
                    memory.name(storage)
                )
            }
            Err(Fault::Straddles { storage, inside, .. }) => format!(
                "{what} with only {} inside of storage `{}`",
                describe_bytes(inside as u64),
                memory.name(storage)
            ),
            Err(Fault::Outside) | Ok(_) => format!("{what} at an address that belongs to no storage"),
        },
    };
    let mut diagnostic = site.build_diagnostic(kind, Some(lane), message);
    if let Some(home) = home {
        diagnostic = diagnostic.note(home.describe(memory));
        if let Some((name, tensor)) = home.named_tensor() {
            diagnostic = diagnostic.note(match describe_last(name, tensor) {
                Some(last) => format!("the last element of `{name}` is `{last}`"),
                None => format!("`{name}` has no elements"),
            });
        }
        if let Some(there) = memory.find(address).filter(|there| there.storage != home.storage) {
            diagnostic = diagnostic.note(format!(
                "byte {} of storage `{}` lies there, which this pointer must not reach",
                there.offset,
                memory.name(there.storage)
            ));
        }
    } else {
        diagnostic = diagnostic.note(format!("the address is {address:#x}"));
    }
    let missed = match home {
        Some(home) => Some(memory.name(home.storage)),
        None => find_missed_storage(memory, address, size),
    };
    let there = home.and_then(|_| storage_at(memory, address));
    let diagnostic = diagnostic
        .about_storages(missed.into_iter().chain(there))
        .help(mask_help(access, starts_before(memory, home, address, size)));
    site.trap(kind, Some(lane), diagnostic)
}

/// The storage that an access just misses, by name.
fn find_missed_storage(memory: &Memory, address: u64, size: u64) -> Option<&str> {
    match memory.resolve_access(address, size as usize) {
        Err(
            Fault::Before { storage, .. } | Fault::Behind { storage, .. } | Fault::Straddles { storage, .. },
        ) => Some(memory.name(storage)),
        Err(Fault::Outside) | Ok(_) => None,
    }
}

/// Whether an access starts before the storage that it missed.
fn starts_before(memory: &Memory, home: Option<&Home>, address: u64, size: u64) -> bool {
    match home {
        Some(home) => (address.wrapping_sub(ORIGIN) as i64) < home.start as i64,
        None => matches!(
            memory.resolve_access(address, size as usize),
            Err(Fault::Before { .. })
        ),
    }
}

/// Help for an access out of bounds. An upper bound does not help if the access starts before the storage.
const fn mask_help(access: Access, starts_before: bool) -> &'static str {
    match (access, starts_before) {
        (Access::Atomic, _) => "guard the access with a mask that is false for this lane",
        (Access::Load, false) => "mask the load: `tl.load(ptr, mask=offsets < n, other=0)`",
        (Access::Store, false) => "mask the store: `tl.store(ptr, value, mask=offsets < n)`",
        (Access::Load, true) => {
            "the offset is negative; mask the load: `tl.load(ptr, mask=offsets >= 0, other=0)`"
        }
        (Access::Store, true) => {
            "the offset is negative; mask the store: `tl.store(ptr, value, mask=offsets >= 0)`"
        }
    }
}
