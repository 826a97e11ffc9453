//! Lanes of one store that write different values to the same bytes: which one stays is not defined.

use cerith_memory::Memory;
use cerith_tile::fault::{Fault, is_planted};

use super::{Site, place_at_address, storage_at};
use crate::outcome::{Stop, TrapKind};

/// One lane's write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Write {
    pub address: u64,
    pub lane: usize,
}

/// Whether an affine store may hit a byte twice: false only when it surely does not. Pairs of stride in bytes and
/// extent.
pub(crate) fn may_overlap(dimensions: impl Iterator<Item = (i64, u32)>, size: usize) -> bool {
    let mut moving: smallvec::SmallVec<[(u64, u64); 4]> = dimensions
        .filter(|&(_, extent)| extent > 1)
        .map(|(stride, extent)| (stride.unsigned_abs(), u64::from(extent)))
        .collect();
    moving.sort_unstable();
    let mut covered = size as u64;
    for (stride, extent) in moving {
        if stride < covered {
            return true;
        }
        covered = covered.saturating_add(stride.saturating_mul(extent - 1));
    }
    false
}

/// The first two lanes that write the same byte differently. `writes` is sorted here; `same` says whether two lanes
/// write the same value.
pub(crate) fn find(
    writes: &mut [Write],
    size: usize,
    same: impl Fn(usize, usize) -> bool,
) -> Option<(Write, Write)> {
    if is_planted(Fault::ConflictsUnseen) {
        return None;
    }
    writes.sort_unstable();
    writes.windows(2).find_map(|pair| match pair {
        &[a, b] => {
            let meet = b.address - a.address < size as u64;
            (meet && !(b.address == a.address && same(a.lane, b.lane))).then_some((a, b))
        }
        _ => None,
    })
}

/// The trap for two lanes that [`find`] found.
#[cold]
pub(crate) fn trap(site: Site<'_>, memory: &Memory, a: Write, b: Write) -> Stop {
    let kind = TrapKind::ConflictingLanes;
    let (first, second) = (a.lane.min(b.lane), a.lane.max(b.lane));
    let diagnostic = site
        .build_diagnostic(
            kind,
            Some(second),
            format!("lanes {first} and {second} of one store write different values to the same bytes"),
        )
        .about_storages(storage_at(memory, b.address))
        .note(format!(
            "the bytes are at {}",
            place_at_address(memory, b.address)
        ))
        .help("let one lane write, or use an atomic");
    site.trap(kind, Some(second), diagnostic)
}
