//! Values that nothing defines where they decide something. Computing with them is fine and gives more of them.

use super::Site;
use crate::outcome::{Stop, TrapKind};

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
