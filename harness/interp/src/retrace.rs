//! Questions that a program's accesses to memory answer ([`Footprint`]): which of its accesses may meet each other and must
//! be recorded, and where the other program of a race accessed the byte.

use std::sync::Arc;

use cerith_tile::ir::LocId;

use crate::checks::race::Conflict;
use crate::checks::unordered::{Footprint, Watch};
use crate::checks::{self, Access};
use crate::dataflow::Text;
use crate::layouts::{self, Special};
use crate::machine::Machine;
use crate::outcome::Trap;
use crate::program::Program;

/// Kinds of arguments that a program keeps its answers for.
const KINDS: usize = 8;

impl Machine<'_> {
    /// Returns the accesses to record: those that may meet another one of the same program at a byte, where one of them
    /// changes it, unless both are known to be in the same thread for each lane.
    pub(crate) fn watched_accesses(&self) -> Watch {
        let mut watch = Watch::default();
        let accesses = &self.program.accesses;
        let storage = |nth: usize| {
            let access = accesses.get(nth)?;
            Some(self.home(access.pointer).map(|home| home.storage))
        };
        let meet = |a: usize, b: usize| match (storage(a).flatten(), storage(b).flatten()) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        };
        let plain_store = |nth: usize| {
            accesses
                .get(nth)
                .is_some_and(|access| access.writes && !access.atomic)
        };
        let changes = |nth: usize| accesses.get(nth).is_some_and(|access| access.writes);
        let looped = |nth: usize| accesses.get(nth).is_some_and(|access| access.looped);
        let pairs: Vec<(usize, usize)> = (0..accesses.len())
            .filter(|&nth| changes(nth))
            .flat_map(|nth| (0..accesses.len()).map(move |other| (nth, other)))
            .filter(|&(a, b)| (plain_store(a) || !changes(b)) && (a != b || looped(a)) && meet(a, b))
            .collect();
        if pairs.is_empty() {
            return watch;
        }
        let text = self.text();
        let classes = self.classes();
        for (a, b) in pairs {
            if text.same_addresses(a, b) && classes.get(a) == classes.get(b) {
                continue;
            }
            if watch.accesses.is_empty() {
                watch.accesses = vec![false; accesses.len()];
            }
            for nth in [a, b] {
                if let Some(to) = watch.accesses.get_mut(nth) {
                    *to = true;
                }
            }
        }
        if !watch.accesses.is_empty() {
            watch.classes = classes.to_vec();
            watch.scalars = text.places.iter().map(|place| place.scalar).collect();
            let watched = accesses
                .iter()
                .zip(&watch.accesses)
                .filter(|(_, watched)| **watched);
            watch.grain = watched.map(|(access, _)| access.size).min().unwrap_or(1);
        }
        watch
    }

    /// The dataflow of the kernel's accesses.
    pub(crate) fn text(&self) -> &Text {
        let Program { text, function, .. } = self.program;
        text.get_or_init(|| Text::from_function(function))
    }

    /// For each access, the class of threads that hold its lanes.
    fn classes(&self) -> Arc<[u32]> {
        let special: Vec<Special> = self.args.iter().map(Special::from_arg).collect();
        let fresh = || -> Arc<[u32]> { layouts::classify_accesses(&self.program.function, &special).into() };
        let Ok(mut known) = self.program.classes.lock() else {
            return fresh();
        };
        if let Some((_, classes)) = known.iter().find(|(other, _)| *other == special) {
            return Arc::clone(classes);
        }
        let classes = fresh();
        if known.len() < KINDS {
            known.push((special, Arc::clone(&classes)));
        }
        classes
    }

    /// Finds the access of the other program in a race. That program runs again by itself, on the current memory, which is
    /// no longer needed. If it doesn't reach the byte again, there is no location.
    #[cold]
    pub(crate) fn name_the_other(&mut self, trap: &mut Trap, other: u32, conflict: Conflict) {
        if let Some(loc) = self.find_operation(other, conflict) {
            return self.label(trap, other, conflict.did, loc);
        }
        // A store of the old value counts as a load.
        let stored = Conflict {
            did: Access::Store,
            ..conflict
        };
        if conflict.did == Access::Load
            && let Some(loc) = self.find_operation(other, stored)
        {
            let message = &mut trap.diagnostic.message;
            if let Some(told) = message.strip_suffix(" reads") {
                *message = format!("{told} writes another value to");
            }
            self.label(trap, other, Access::Store, loc);
        }
    }

    /// The operation that the other program did it by.
    fn find_operation(&mut self, other: u32, conflict: Conflict) -> Option<LocId> {
        let program = self.program;
        self.footprint = Footprint::new_search(self.memory.address_at(conflict.index), conflict.did);
        self.id = self.program_id(u64::from(other));
        let left = self.fuel_left();
        (self.racing, self.width) = (false, 1);
        self.state.straight.clear();
        self.refuel();
        // However it ends.
        let _ = self
            .block(&program.prologue)
            .and_then(|()| self.block(&program.body));
        self.restore(left);
        self.footprint.found_loc()
    }

    fn label(&self, trap: &mut Trap, other: u32, did: Access, loc: LocId) {
        let (span, id) = (
            self.program.function.span(loc),
            checks::program_id(self.program_id(u64::from(other))),
        );
        let did = match did {
            Access::Load => "reads",
            Access::Store => "writes",
            Access::Atomic => "updates",
        };
        let diagnostic = trap.diagnostic.clone();
        trap.diagnostic = if diagnostic.span() == Some(span) {
            diagnostic.note(format!("program {id} {did} them in the same operation"))
        } else {
            diagnostic.label(span, format!("program {id} {did} them here"))
        };
    }
}
