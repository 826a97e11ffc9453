//! Maps an address to the arena, with checks and race detection. See [`crate::load`], [`crate::store`] and
//! [`crate::atomic`] for the accesses.

use cerith_memory::Memory;
use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::ir::LocId;

use crate::checks::race::Conflict;
use crate::checks::{Access, Home, Site, alignment, bounds, race, view};
use crate::config::OutOfBounds;
use crate::machine::Machine;
use crate::origin::Origin;
use crate::outcome::Stop;
use crate::program::Slot;
use crate::run::Run;
use crate::value::Repr;

/// The parts of the machine that an access needs, borrowed separately so that memory and shadow can change.
pub(crate) struct Reach<'m> {
    pub site: Site<'m>,
    pub home: Option<&'m Home>,
    pub access: Access,
    pub size: usize,
    /// Whether races are watched for.
    pub watched: bool,
    /// Whether accesses need not be aligned.
    pub unaligned: bool,
}

impl Reach<'_> {
    /// The arena index of a contiguous run, checked; a refusal names the first lane that is wrong.
    pub(crate) fn locate(&self, memory: &Memory, run: &Run) -> Result<usize, Stop> {
        let size = self.size;
        let whole = bounds::locate(memory, self.home, run.address, run.count * size);
        if let Some(index) = whole
            && (run.address.is_multiple_of(size as u64)
                || self.unaligned
                || is_planted(Fault::MisalignedUnseen))
        {
            return Ok(index);
        }
        for nth in 0..run.count {
            self.locate_element(memory, run.lane + nth, run.address(nth))?;
        }
        whole.ok_or(Stop::malformed("an access across storages"))
    }

    /// The arena index of a run's first element, if all of its elements may be accessed: they are aligned, and the
    /// bytes from the lowest to the highest are inside of one storage.
    pub(crate) fn locate_span(&self, memory: &Memory, run: &Run) -> Option<usize> {
        let size = self.size as u64;
        let reach = (run.count as i64 - 1).checked_mul(run.stride)?;
        let low = if reach < 0 {
            run.address.checked_add_signed(reach)?
        } else {
            run.address
        };
        let len = usize::try_from(reach.unsigned_abs())
            .ok()?
            .checked_add(self.size)?;
        let aligned = (self.unaligned || run.address.is_multiple_of(size))
            && run.stride.unsigned_abs().is_multiple_of(size);
        let index = bounds::locate(memory, self.home, low, len).filter(|_| aligned)?;
        Some(index + (run.address - low) as usize)
    }

    /// The arena index of one lane's element, checked.
    pub(crate) fn locate_element(&self, memory: &Memory, lane: usize, address: u64) -> Result<usize, Stop> {
        let Some(index) = bounds::locate(memory, self.home, address, self.size) else {
            return Err(bounds::trap(
                self.site,
                memory,
                self.home,
                self.access,
                lane,
                address,
                self.size,
            ));
        };
        if !address.is_multiple_of(self.size as u64)
            && !self.unaligned
            && !is_planted(Fault::MisalignedUnseen)
        {
            return Err(alignment::trap(
                self.site,
                memory,
                self.home,
                self.access,
                lane,
                address,
                self.size,
            ));
        }
        Ok(index)
    }
}

impl Machine<'_> {
    /// Whether races are watched for where a pointer may reach.
    #[inline]
    pub(crate) fn is_watched(&self, pointer: Slot) -> bool {
        self.racing
            && !self
                .state
                .disjoint
                .get(pointer as usize)
                .is_some_and(|&apart| apart)
    }

    /// The start of a pointer's elements in the arena. `None` unless they are consecutive, all are accessed, and all are
    /// accessible.
    #[inline]
    pub(crate) fn locate_straight(&self, pointer: Slot, mask: Option<Slot>) -> Option<usize> {
        let index = self.state.straight.get(pointer as usize).copied().flatten()?;
        if self.views.is_some() || is_planted(Fault::ViewsAreApart) {
            return None;
        }
        let everything = mask.is_none_or(|mask| {
            let mask = self.value(mask);
            matches!(mask.repr, Repr::Uniform(all) if all & 1 == 1) && mask.poison.is_none()
        });
        everything.then_some(index)
    }

    /// Removes the lanes that are outside of the storage of an access, with a remark, if the launch goes on after such a lane.
    #[inline]
    pub(crate) fn skip_out_of_bounds(
        &mut self,
        step: (Slot, LocId),
        access: Access,
        mask: Option<Slot>,
        runs: Vec<Run>,
        size: usize,
    ) -> Vec<Run> {
        match self.config.out_of_bounds {
            OutOfBounds::Trapped => runs,
            OutOfBounds::Skipped => self.remove_out_of_bounds(step, access, mask, &runs, size),
        }
    }

    #[cold]
    fn remove_out_of_bounds(
        &mut self,
        (pointer, loc): (Slot, LocId),
        access: Access,
        mask: Option<Slot>,
        runs: &[Run],
        size: usize,
    ) -> Vec<Run> {
        let home = self.home(pointer).cloned();
        let home = home.as_deref();
        let mut inside = Vec::with_capacity(runs.len());
        let mut first = None;
        for run in runs {
            for nth in 0..run.count {
                let (lane, address) = (run.lane + nth, run.address(nth));
                if bounds::locate(self.memory, home, address, size).is_some() {
                    inside.push(Run {
                        lane,
                        count: 1,
                        address,
                        stride: run.stride,
                    });
                } else {
                    first.get_or_insert((lane, address));
                }
            }
        }
        let Some((lane, address)) = first else {
            return runs.to_vec();
        };
        let site = self.site_of(pointer, loc);
        let stop = bounds::trap(site, self.memory, home, access, lane, address, size);
        if let Stop::Trap(trap) = self.with_mask(stop, mask) {
            self.add_remark(loc, trap.diagnostic);
        }
        inside
    }

    /// Warns about lanes that leave the tensor of a pointer, if that is requested.
    #[inline]
    pub(crate) fn look_at_view(
        &mut self,
        (pointer, loc): (Slot, LocId),
        access: Access,
        runs: &[Run],
        size: usize,
    ) {
        if self.views.is_some() {
            self.outside_of_view((pointer, loc), access, runs, size);
        }
    }

    #[cold]
    fn outside_of_view(&mut self, (pointer, loc): (Slot, LocId), access: Access, runs: &[Run], size: usize) {
        let Some(Origin::Param(parameter)) = self.program.origins.get(pointer as usize) else {
            return;
        };
        let (Some(views), Some(home)) = (&self.views, self.home(pointer)) else {
            return;
        };
        if let Some(left) = views.find_outside_lane(*parameter, home, self.memory, runs, size) {
            let site = self.site_of(pointer, loc);
            let warning = view::build_warning(site, self.memory, home, access, left, size);
            self.add_remark(loc, warning);
        }
    }

    /// The trap for an access that raced.
    #[cold]
    pub(crate) fn trap_race(&self, site: Site<'_>, access: Access, lane: usize, conflict: Conflict) -> Stop {
        self.met
            .set(conflict.other_program.map(|other| (other, conflict)));
        race::trap(site, self.memory, access, lane, conflict, self.grid)
    }
}
