//! Accesses to sparse storages: their runs are split at the borders of pages, and the pages are made resident, so that each
//! run is as contiguous in the arena as its addresses are.

use std::ops::Range;

use cerith_memory::MAX_RESIDENT_BYTES;
use cerith_tile::ir::LocId;

use crate::machine::Machine;
use crate::outcome::{Resource, Stop};
use crate::run::Run;

impl Machine<'_> {
    /// Splits the runs of an access at the borders of pages, and makes the pages resident. Lanes outside of storages stay as
    /// they are: the access traps at the first of them.
    #[cold]
    pub(crate) fn split_at_pages(
        &mut self,
        runs: &mut Vec<Run>,
        size: usize,
        loc: LocId,
    ) -> Result<(), Stop> {
        let whole = std::mem::take(runs);
        for run in &whole {
            let mut nth = 0;
            while nth < run.count {
                let address = run.address(nth);
                let count = match self.memory.page_around(address) {
                    Some(page) => {
                        self.touch(address, loc)?;
                        if page.end - address < size as u64 {
                            self.touch_next_page(page.end, loc)?;
                            1
                        } else {
                            count_inside(run, nth, size, &page)
                        }
                    }
                    None => (nth..run.count)
                        .take_while(|&nth| self.memory.page_around(run.address(nth)).is_none())
                        .count(),
                };
                runs.push(Run {
                    lane: run.lane + nth,
                    count,
                    address,
                    stride: run.stride,
                });
                nth += count.max(1);
            }
        }
        Ok(())
    }

    /// Makes the page of a byte resident.
    fn touch(&mut self, address: u64, loc: LocId) -> Result<(), Stop> {
        let limit = || Stop::exhausted(Resource::Pages, MAX_RESIDENT_BYTES).with_loc(loc);
        if self.memory.make_resident(address).map_err(|_| limit())? {
            let bytes = self.memory.arena().0.len();
            if self.racing {
                self.state.shadow.grow(bytes);
            }
            if self.footprint.watching() {
                self.state.cells.grow(bytes);
            }
        }
        Ok(())
    }

    /// An element continues on the next page. It is not aligned, so it traps unless that is allowed.
    fn touch_next_page(&mut self, address: u64, loc: LocId) -> Result<(), Stop> {
        if self.memory.page_around(address).is_none() {
            return Ok(());
        }
        if self.config.unaligned {
            return Err(Stop::Unsupported {
                construct: "an unaligned element on two pages of a sparse storage".to_owned(),
                loc,
            });
        }
        self.touch(address, loc)
    }
}

/// How many elements of a run are inside of a page, from the `nth` on, which is.
fn count_inside(run: &Run, nth: usize, size: usize, page: &Range<u64>) -> usize {
    let address = run.address(nth);
    let room = if run.stride < 0 {
        address - page.start
    } else {
        page.end - size as u64 - address
    };
    let more = room
        .checked_div(run.stride.unsigned_abs())
        .and_then(|more| usize::try_from(more).ok())
        .unwrap_or(usize::MAX);
    more.saturating_add(1).min(run.count - nth)
}
