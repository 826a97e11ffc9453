//! Undefined values. Computing with them is allowed and results in more of them. If they decide a branch, an address or a
//! mask, the program is undefined; if they are stored, the masked loads that they come from are reported.

use super::Site;
use super::masked_loads::MaskedLoad;
use crate::machine::Machine;
use crate::outcome::{Stop, TrapKind};
use crate::program::{Program, Slot, Step};
use crate::run::Run;
use crate::value::{MAX_STORABLE, Mark, NAMED_LOADS, POISON};

/// The code of a warning about a masked load without `other` whose lanes are stored.
const UNDEFINED_VALUE: &str = "undefined-value";

impl Program {
    /// The mark of the lanes that a load with this result masks off.
    pub(crate) fn mark_of_load(&self, out: Slot) -> Mark {
        let number = self.masked_loads.binary_search_by_key(&out, |load| load.out);
        number.map_or(POISON, |number| POISON + 1 + number.min(NAMED_LOADS - 1) as Mark)
    }

    /// The load that a mark names.
    fn find_load(&self, mark: Mark) -> Option<MaskedLoad> {
        if mark > MAX_STORABLE {
            return None;
        }
        let number = usize::from(mark.checked_sub(POISON + 1)?);
        self.masked_loads.get(number).copied()
    }
}

impl Machine<'_> {
    /// Remarks on the masked loads that stored lanes come from.
    #[cold]
    pub(crate) fn remark_masked_loads(&mut self, runs: &[Run], value: Slot, step: &Step) {
        let mut seen = [false; NAMED_LOADS];
        for lane in runs.iter().flat_map(|run| run.lane..run.lane + run.count) {
            let mark = self.value(value).poison.mark(lane);
            let Some(load) = self.program.find_load(mark) else {
                continue;
            };
            let number = usize::from(mark - POISON - 1);
            if seen
                .get_mut(number)
                .is_none_or(|seen| std::mem::replace(seen, true))
            {
                continue;
            }
            let site = self.site(load.loc);
            let mut warning = site.build_warning(
                TrapKind::PoisonUse,
                None,
                "lanes that are masked off have no value, and the result depends on them",
            );
            warning.code = UNDEFINED_VALUE;
            let place = if self.layout(value).scalar {
                "stored here".to_owned()
            } else {
                format!("lane {lane} is stored here")
            };
            let warning = warning.label(self.program.function.span(step.loc), place).help(
                "give them a value: `other=0` for a sum, `other=-float(\"inf\")` for a maximum, \
                     `padding_option=\"zero\"` for a block pointer",
            );
            self.add_remark(load.loc, warning);
        }
    }
}

/// The trap for a lane that decides `what` and has no defined value.
#[cold]
pub(crate) fn trap(site: Site<'_>, lane: Option<usize>, what: &str) -> Stop {
    let kind = TrapKind::PoisonUse;
    let diagnostic = site
        .build_diagnostic(kind, lane, format!("{what} has no defined value"))
        .note(
            "lanes of a masked load without `other`, shifts by the width or more, float to integer casts out of \
             range and variables bound on other paths have none",
        )
        .help("give masked-off lanes a value: `tl.load(ptr, mask=mask, other=0)`");
    site.trap(kind, lane, diagnostic)
}
