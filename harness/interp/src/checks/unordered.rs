//! Records the accesses of the running program to each byte, lane by lane, to detect conflicts of its own unordered
//! accesses, and the operations that race with another program.
//!
//! A program consists of many threads, which do not wait for each other. A thread executes in the order of the text.
//! Accesses of two threads are ordered only by a `tl.debug_barrier()` between them, or by an atomic that acts as one
//! ([`super::happens_before`]). So without such a barrier, the program is undefined if
//!
//! - a lane loads an element that another lane stored, or the reverse, or two lanes store different values;
//! - the same lane does so, and the compiler may assign it to another thread the second time ([`crate::layouts`]).
//!
//! A store that keeps the old value conflicts with nothing. A store that depends on a load comes after it: the load of its
//! own lane if its value, mask or address is computed from it, and the loads of all lanes if it is computed from their
//! reduction to a scalar.
//!
//! A scalar counts as one lane of one thread, although all threads load it, so a load of a scalar that the program stored
//! before is missed. Also missed: lanes of a block that several threads hold, because it has fewer elements than threads.

mod cells;

use std::collections::HashMap;

use cerith_memory::{ByteState, Memory};
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::ir::LocId;

pub(crate) use cells::Cells;
use cells::LaneAccess;

use super::{Access, Site, place_at_address, storage_at};
use crate::dataflow::{Need, Reach, Text, find_need};
use crate::outcome::{Stop, TrapKind};
use crate::run::Run;
use crate::value::{Mark, read};

/// Two accesses of a program to one byte without an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Crossed {
    lane: usize,
    address: u64,
    access: Access,
    before: LaneAccess,
    did: Access,
}

/// The accesses that a launch watches.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// For each access of the text, whether it is watched.
    pub accesses: Vec<bool>,
    /// For each, whose threads hold its lanes: equal numbers do in the same way.
    pub classes: Vec<u32>,
    pub scalars: Vec<bool>,
    /// Bytes of the smallest element.
    pub grain: usize,
}

/// The footprint of the running program; empty, and without cost, if no check needs it.
#[derive(Debug, Default)]
pub(crate) struct Footprint {
    watch: Watch,
    needs: HashMap<(u16, u16), Need>,
    /// Whether a load and a later store are the epilogue of a product.
    epilogues: HashMap<(u16, u16), bool>,
    /// The first store of an epilogue that changes what another lane loaded.
    hazard: Option<Crossed>,
    /// An address, and how it is accessed, whose operation is looked for.
    sought: Option<(u64, Access)>,
    found_loc: Option<LocId>,
}

/// New values of a store.
#[derive(Clone, Copy)]
pub(crate) struct Values<'a> {
    /// The lanes, or nothing where all hold `all`.
    pub lanes: Option<&'a [u8]>,
    pub all: u64,
    pub marks: &'a dyn Fn(usize) -> Mark,
}

impl Footprint {
    /// One that watches some accesses.
    pub(crate) fn new(watch: Watch) -> Self {
        Self {
            watch,
            ..Self::default()
        }
    }

    /// Whether a check needs an access.
    #[inline]
    pub(crate) fn is_tracked(&self, access: u16) -> bool {
        self.sought.is_some() || self.is_watched(access)
    }

    #[inline]
    fn is_watched(&self, access: u16) -> bool {
        self.watch.accesses.get(access as usize) == Some(&true)
    }

    pub(crate) fn watching(&self) -> bool {
        self.watch.accesses.contains(&true)
    }

    pub(crate) const fn grain(&self) -> usize {
        self.watch.grain
    }

    /// One that looks for the operation which accesses the byte at an address.
    pub(crate) fn new_search(address: u64, access: Access) -> Self {
        Self {
            sought: Some((address, access)),
            ..Self::default()
        }
    }

    /// The operation that was looked for.
    pub(crate) const fn found_loc(&self) -> Option<LocId> {
        self.found_loc
    }

    /// An operation accessed elements.
    pub(crate) fn note_access(&mut self, runs: &[Run], size: usize, access: Access, loc: LocId) {
        let Some((sought, wanted)) = self.sought else {
            return;
        };
        let holds = |run: &Run| (0..run.count).any(|nth| sought.wrapping_sub(run.address(nth)) < size as u64);
        if access == wanted && runs.iter().any(holds) {
            self.found_loc = Some(loc);
        }
    }

    /// Whether two accesses of a byte are by one thread.
    fn is_same_thread(
        &self,
        before: LaneAccess,
        now: LaneAccess,
        now_loads: bool,
        before_loads: bool,
    ) -> bool {
        if before.lane != now.lane {
            return false;
        }
        let class = |who: LaneAccess| self.watch.classes.get(who.access as usize);
        let scalar = |who: LaneAccess| self.watch.scalars.get(who.access as usize) == Some(&true);
        if class(before) == class(now) {
            return true;
        }
        // The thread that stores scalars holds every block's first lane.
        now.lane == 0 && (scalar(before) && !before_loads || scalar(now) && !now_loads)
    }

    /// Elements are loaded.
    pub(crate) fn check_load(
        &mut self,
        cells: &mut Cells,
        memory: &Memory,
        runs: &[Run],
        size: usize,
        access: u16,
    ) -> Option<Crossed> {
        if !self.is_watched(access) {
            return None;
        }
        for (who, address) in iter_elements(runs, access) {
            for at in cells.cell_range(memory.index_of(address), size) {
                if let Some((before, atomic)) = cells.find_changer(at)
                    && !self.is_same_thread(before, who, true, false)
                {
                    return Some(Crossed {
                        lane: who.lane as usize,
                        address,
                        access: Access::Load,
                        before,
                        did: if atomic { Access::Atomic } else { Access::Store },
                    });
                }
                cells.read(at, who);
            }
        }
        None
    }

    /// Elements are about to be stored.
    pub(crate) fn check_store(
        &mut self,
        cells: &mut Cells,
        text: &Function<'_>,
        runs: &[Run],
        size: usize,
        access: u16,
        values: Values<'_>,
    ) -> Option<Crossed> {
        if !self.is_watched(access) {
            return None;
        }
        let is_silent = |lane: usize, address: u64| {
            let bits = values.lanes.map_or(values.all, |lanes| read(lanes, lane, size));
            (values.marks)(lane) == 0 && text.holds(address, size, bits)
        };
        // Lanes of this store may write equal values to one address. They are compared with earlier accesses, not with each other.
        for (who, address) in iter_elements(runs, access) {
            if is_silent(who.lane as usize, address) {
                continue;
            }
            for at in cells.cell_range(text.memory.index_of(address), size) {
                if let Some(crossed) = self.find_crossed(cells, text, at, who, address, Access::Store) {
                    return Some(crossed);
                }
            }
        }
        for (who, address) in iter_elements(runs, access) {
            let silent = is_silent(who.lane as usize, address);
            for at in cells.cell_range(text.memory.index_of(address), size) {
                cells.write(at, who, silent, false);
            }
        }
        None
    }

    /// Elements are about to be updated.
    pub(crate) fn check_update(
        &mut self,
        cells: &mut Cells,
        text: &Function<'_>,
        runs: &[Run],
        size: usize,
        access: u16,
    ) -> Option<Crossed> {
        if !self.is_watched(access) {
            return None;
        }
        for (who, address) in iter_elements(runs, access) {
            for at in cells.cell_range(text.memory.index_of(address), size) {
                if let Some(crossed) = self.find_crossed(cells, text, at, who, address, Access::Atomic) {
                    return Some(crossed);
                }
                cells.write(at, who, false, true);
            }
        }
        None
    }

    /// Whether a store is the epilogue of a product: what it stores is computed from a product and from what the load read. In
    /// all compilers known, the way from the layout of products to that of the store leads through shared memory, with a barrier
    /// between the load and the store. Triton does not promise it.
    fn is_epilogue(&mut self, text: &Function<'_>, load: LaneAccess, store: LaneAccess) -> bool {
        *self
            .epilogues
            .entry((load.access, store.access))
            .or_insert_with(|| {
                let reach = Reach::from_load(text.function, load.access.into());
                let stored = reach.accesses.get(usize::from(store.access));
                stored.is_some_and(|stored| stored.value.load && stored.value.product)
            })
    }

    /// The hazard that the last store met.
    pub(crate) fn take_hazard(&mut self) -> Option<Crossed> {
        self.hazard.take()
    }

    /// Earlier accesses to a byte that is about to change.
    fn find_crossed(
        &mut self,
        cells: &Cells,
        text: &Function<'_>,
        at: usize,
        who: LaneAccess,
        address: u64,
        access: Access,
    ) -> Option<Crossed> {
        let crossed = |before, did| Crossed {
            lane: who.lane as usize,
            address,
            access,
            before,
            did,
        };
        if let Some((before, atomic)) = cells.find_writer(at)
            && !(atomic && access == Access::Atomic)
            && !self.is_same_thread(before, who, false, false)
        {
            let did = if atomic { Access::Atomic } else { Access::Store };
            return Some(crossed(before, did));
        }
        for (before, several) in cells.find_readers(at) {
            let other = several || before.lane != who.lane;
            if !other && self.is_same_thread(before, who, false, true) {
                continue;
            }
            let enough = if other { Need::All } else { Need::Lane };
            let needed = *self
                .needs
                .entry((before.access, who.access))
                .or_insert_with(|| find_need(text.function, before.access as usize, who.access as usize));
            if needed < enough {
                let met = crossed(before, Access::Load);
                if access == Access::Store && self.is_epilogue(text, before, who) {
                    self.hazard.get_or_insert(met);
                    continue;
                }
                return Some(met);
            }
        }
        None
    }
}

/// A kernel, and the memory that it has so far.
pub(crate) struct Function<'a> {
    pub function: &'a cerith_tile::ir::Function,
    pub memory: &'a Memory,
}

impl Function<'_> {
    /// Whether an element holds these bits already.
    fn holds(&self, address: u64, size: usize, bits: u64) -> bool {
        let Some(index) = self.memory.index_of(address) else {
            return false;
        };
        let (bytes, states) = self.memory.arena();
        let end = index.saturating_add(size);
        let mask = u64::MAX >> (64 - 8 * size.clamp(1, 8));
        match (bytes.get(index..end), states.get(index..end)) {
            (Some(bytes), Some(states)) => {
                read(bytes, 0, size) == bits & mask && states.iter().all(|&state| state == ByteState::Init)
            }
            _ => false,
        }
    }
}

fn iter_elements(runs: &[Run], access: u16) -> impl Iterator<Item = (LaneAccess, u64)> + '_ {
    runs.iter().flat_map(move |run| {
        (0..run.count).map(move |nth| {
            let lane = (run.lane + nth) as u32;
            (LaneAccess { access, lane }, run.address(nth))
        })
    })
}

impl Crossed {
    /// The earlier access, by its place in the text.
    pub(crate) fn before(&self) -> usize {
        self.before.access.into()
    }

    const fn kind(&self) -> TrapKind {
        if matches!(self.access, Access::Load) {
            TrapKind::UnorderedRead
        } else {
            TrapKind::UnorderedWrite
        }
    }
}

/// The trap for two accesses with no order between them.
#[cold]
pub(crate) fn trap(site: Site<'_>, memory: &Memory, text: &Text, crossed: Crossed) -> Stop {
    let diagnostic = build_diagnostic(site, memory, text, crossed);
    site.trap(crossed.kind(), Some(crossed.lane), diagnostic)
}

/// The warning about a store that relies on a barrier. Triton 3.6.0 and 3.9.0 put one before it in all code that was read (`sm_80` and
/// `sm_90`, `f16` and `f32`, 4 and 8 warps); other versions and shapes were not examined.
#[cold]
pub(crate) fn build_warning(site: Site<'_>, memory: &Memory, text: &Text, crossed: Crossed) -> Diagnostic {
    build_diagnostic(site, memory, text, crossed)
        .into_warning()
        .note("the kernel relies on a barrier that Triton does not promise; the code of 3.6.0 and 3.9.0 that was read has one here")
}

fn build_diagnostic(site: Site<'_>, memory: &Memory, text: &Text, crossed: Crossed) -> Diagnostic {
    let Crossed {
        lane,
        address,
        access,
        before,
        did,
    } = crossed;
    let kind = crossed.kind();
    let (wrote, here) = match did {
        Access::Load => ("read", "read here"),
        Access::Store => ("wrote", "written here"),
        Access::Atomic => ("updated", "updated here"),
    };
    let place = text.places.get(before.access as usize);
    let whose = match place {
        Some(place) if place.scalar => "the same program".to_owned(),
        _ if before.lane as usize == lane && !site.scalar => format!("lane {lane} of the same program"),
        _ => format!("lane {} of the same program", before.lane),
    };
    let same = before.lane as usize == lane;
    let message = format!(
        "{} of bytes that {whose} {wrote}, with no barrier between",
        access.name()
    );
    let mut diagnostic = site.build_diagnostic(kind, Some(lane), message);
    if let Some(place) = place {
        diagnostic = diagnostic.label(site.function.span(place.loc), here);
    }
    diagnostic = diagnostic
        .about_storages(storage_at(memory, address))
        .note(format!("they are at {}", place_at_address(memory, address)));
    diagnostic = if same {
        diagnostic.note(
            "a lane is not a thread: the compiler may spread the lanes of these two accesses over threads in different ways",
        )
    } else {
        diagnostic.note("the lanes of a program run at once, on threads that do not wait for each other")
    };
    let between = match (did, access) {
        (Access::Store | Access::Atomic, Access::Load) => {
            "the store and the load, or keep the value in a variable"
        }
        (Access::Load, _) => "the load and the store",
        _ => "the two",
    };
    diagnostic.help(format!("put `tl.debug_barrier()` between {between}"))
}
