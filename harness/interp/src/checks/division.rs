//! Integer division and remainder by zero: undefined for the whole program, not only for the lane.

use super::Site;
use crate::outcome::{Stop, TrapKind};

/// The trap for a zero divisor.
#[cold]
pub(crate) fn trap(site: Site<'_>, lane: Option<usize>) -> Stop {
    let kind = TrapKind::DivisionByZero;
    let diagnostic = site
        .diagnostic(kind, lane, "an integer is divided by zero")
        .note("this is undefined even where the quotient is not used, in masked-off lanes too")
        .help("keep the divisor from being zero: `tl.where(divisor == 0, 1, divisor)`");
    site.trap(kind, lane, diagnostic)
}
