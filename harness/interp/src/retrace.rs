//! Questions about a program that are answered by what it did to memory ([`Footprint`]): whether it has to be watched for
//! reads of its own writes, and where in it the other half of a race is.

use conch_memory::StorageId;

use crate::checks::footprint::Footprint;
use crate::checks::race::Conflict;
use crate::checks::{self, Access};
use crate::machine::Machine;
use crate::outcome::Trap;

impl Machine<'_> {
    /// Whether a program may read what it wrote itself: in its text, and in these storages.
    pub(crate) fn rereads(&self) -> bool {
        let storages = |writes: bool| {
            let accesses = self.program.accesses.iter();
            accesses
                .filter(move |access| !access.atomic && access.writes == writes)
                .map(|access| self.home(access.pointer).map(|home| home.storage))
        };
        let meet = |written: Option<StorageId>, read: Option<StorageId>| {
            written.is_none() || read == written || read.is_none()
        };
        self.program.rereads && storages(true).any(|written| storages(false).any(|read| meet(written, read)))
    }

    /// Says where the other program of a race did what it did. It is run again by itself, on memory as it is now, which
    /// nobody looks at any more; where that does not lead it to the byte again, there is nothing to say.
    #[cold]
    pub(crate) fn name_the_other(&mut self, trap: &mut Trap, other: u32, conflict: Conflict) {
        let program = self.program;
        self.footprint = Footprint::seeking(conflict.index, conflict.did);
        self.id = self.program_id(u64::from(other));
        let (used, id) = (self.rest, checks::program_id(self.id));
        (self.racing, self.width) = (false, 1);
        self.state.straight.clear();
        self.refuel();
        // However it ends.
        let _ = self
            .block(&program.prologue)
            .and_then(|()| self.block(&program.body));
        (self.fuel, self.rest) = (0, used);
        let Some(loc) = self.footprint.found() else { return };
        let span = program.function.span(loc);
        let did = match conflict.did {
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
