//! Integer division and remainder without a result: by zero, by an undefined value, or of the lowest number by -1.
//!
//! LLVM defines all three as undefined behaviour of the whole program. Triton divides in every lane, masked-off ones too,
//! and libraries and users of its compiler rely on that being harmless. In practice compilers only assume that a divisor is
//! not zero. So an undefined quotient is poison with a mark that names its division:
//!
//! - the program is undefined if that poison is stored, or determines an address, a mask or a branch;
//! - a `tl.where` (or `&`, `|`, `*`) keeps the poison if its condition is computed from the divisor, because LLVM removes
//!   such a condition. If it drops the poison by another condition, or a mask prevents the store, there is only a warning.
//!
//! A store mask computed from the divisor is effective in every compiler that was examined, but no compiler promises that:
//! there the warning means that no engine is blamed.

use cerith_tile::diagnostic::Diagnostic;

use super::Site;
use super::divisions::{Division, Flaw, MAX_MARKED, decode_mark, is_related};
use crate::machine::Machine;
use crate::outcome::{Stop, TrapKind};
use crate::program::{Slot, Step};
use crate::value::{MAX_STORABLE, Mark, POISON};

/// The code of a warning about an undefined quotient that is not stored only because of a mask computed from the divisor.
const DIVISOR_MASK: &str = "divisor-mask";

impl Machine<'_> {
    /// Returns the mark for a lane whose division has no defined result. Records the lane for a warning at the end of the launch.
    #[cold]
    pub(crate) fn no_answer(&mut self, step: &Step, flaw: Flaw, lane: usize) -> Mark {
        let Some(&out) = step.outs.first() else {
            return POISON;
        };
        let found = self
            .program
            .divisions
            .binary_search_by_key(&out, |division| division.out);
        let Ok(number) = found else { return POISON };
        let number = number.min(MAX_MARKED - 1);
        let flaws = Flaw::ALL.iter().position(|&other| other == flaw).unwrap_or(0);
        let mark = MAX_STORABLE + 1 + (number * Flaw::ALL.len() + flaws) as Mark;
        if !self.divisions.first_flaws.iter().any(|&(seen, ..)| seen == mark) {
            let lane = (!self.layout(out).scalar).then_some(lane);
            self.divisions.first_flaws.push((mark, self.id, lane));
        }
        mark
    }

    /// The mark that remains if a decision drops one value for another: the dropped value's own mark if it is of a division
    /// and the decision is computed from the divisor, otherwise none.
    #[cold]
    pub(crate) fn carry_mark(&mut self, mark: Mark, decision: Slot) -> Mark {
        match decode_mark(mark) {
            Some((number, _)) if self.is_related(decision, number) => mark,
            _ => 0,
        }
    }

    /// Records that a mask prevented the store of a value with this mark, if the mask is computed from the divisor.
    #[cold]
    pub(crate) fn kept_out(&mut self, mark: Mark, mask: Slot) {
        if let Some((number, _)) = decode_mark(mark)
            && !self.divisions.masked.contains(&number)
            && self.is_related(mask, number)
        {
            self.divisions.masked.push(number);
        }
    }

    fn is_related(&mut self, value: Slot, number: usize) -> bool {
        let Some(&division) = self.program.divisions.get(number) else {
            return false;
        };
        let function = &self.program.function;
        *self
            .divisions
            .related
            .entry((value, number))
            .or_insert_with(|| is_related(function, value, division))
    }

    /// The trap for an undefined value that determines an address, a mask or a branch, or is stored.
    #[cold]
    pub(crate) fn trap_undefined(&self, site: Site<'_>, lane: Option<usize>, mark: Mark, what: &str) -> Stop {
        let division =
            decode_mark(mark).and_then(|(number, flaw)| Some((self.program.divisions.get(number)?, flaw)));
        match division {
            Some((division, flaw)) => trap(site, lane, division, flaw, what),
            None => super::poison::trap(site, lane, what),
        }
    }

    /// The warnings of a launch that finished.
    pub(crate) fn division_remarks(&self) -> impl Iterator<Item = Diagnostic> {
        self.divisions.first_flaws.iter().filter_map(|&(mark, id, lane)| {
            let (number, flaw) = decode_mark(mark)?;
            let division = self.program.divisions.get(number)?;
            let site = Site {
                program: id,
                scalar: lane.is_none(),
                ..self.site(division.loc)
            };
            let mut diagnostic = site
                .build_warning(TrapKind::DivisionByZero, lane, flaw.message())
                .note("nothing that is stored depends on the quotient, which has no defined value");
            if self.divisions.masked.contains(&number) {
                diagnostic.code = DIVISOR_MASK;
                diagnostic = diagnostic.note(
                    "a mask that depends on the divisor keeps it from memory; a compiler may assume that the divisor is \
                     not zero, so no engine is blamed here",
                );
            }
            Some(diagnostic)
        })
    }
}

/// The trap for the use of an undefined quotient.
fn trap(site: Site<'_>, lane: Option<usize>, division: &Division, flaw: Flaw, what: &str) -> Stop {
    let kind = if flaw == Flaw::Undefined {
        TrapKind::PoisonUse
    } else {
        TrapKind::DivisionByZero
    };
    let at = Site {
        loc: division.loc,
        ..site
    };
    let mut diagnostic: Diagnostic = at.build_diagnostic(kind, lane, flaw.message());
    let (used, divided) = (site.function.span(site.loc), site.function.span(division.loc));
    if used != divided {
        diagnostic = diagnostic.label(used, "used here");
    }
    diagnostic = diagnostic.note(format!(
        "{what} depends on the quotient, which has no defined value"
    ));
    if flaw != Flaw::Overflow {
        diagnostic = diagnostic
            .note("a condition on the divisor around the quotient does not help: compilers remove it");
    }
    at.trap(kind, lane, diagnostic.help(flaw.help()))
}
