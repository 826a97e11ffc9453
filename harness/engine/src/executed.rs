//! Launches that our interpreter executed, one after the other, and the outcome that they add up to.

use cerith_case::Case;
use cerith_interp::{LaunchOutcome, StorageSet, TrapKind};
use cerith_memory::Memory;
use cerith_tile::source::Sources;

use crate::lane_orders;
use crate::reference::{build_complaint, find_position};
use crate::{Complaint, Finished, Outcome, Tracked, Trap};

/// The combined results of the launches so far.
#[derive(Debug, Default)]
pub(crate) struct Executed {
    tracked: Tracked,
    updated: u64,
    printed: Vec<String>,
    remarks: Vec<Complaint>,
}

impl Executed {
    /// Adds a launch, the case's `nth`; what it ended in, if the others are not made.
    pub fn add(&mut self, outcome: LaunchOutcome, sources: &Sources, nth: usize) -> Option<Outcome> {
        match outcome {
            LaunchOutcome::Finished(finished) => {
                // Later launches may load what a hazard reached.
                if !self.tracked.endangered.is_empty() {
                    self.tracked.endangered = StorageSet::ALL;
                }
                self.tracked.endangered |= finished.stats.endangered;
                self.tracked.stored += finished.stats.bytes_stored;
                self.tracked.poisoned += finished.stats.bytes_poisoned;
                self.updated += finished.stats.bytes_updated;
                self.tracked.order_dependent |= finished.stats.order_dependent;
                self.printed.extend(finished.prints);
                let remarks = finished.remarks.iter();
                self.remarks
                    .extend(remarks.map(|diagnostic| build_complaint(diagnostic, sources, nth)));
                None
            }
            LaunchOutcome::Trapped(trap) => {
                let kind = if trap.kind == TrapKind::AssertionFailed {
                    Trap::Assert
                } else {
                    Trap::Undefined
                };
                let said = build_complaint(&trap.diagnostic, sources, nth);
                Some(Outcome::Trapped(kind, Box::new(said)))
            }
            LaunchOutcome::Exhausted(exhausted) => {
                let mut complaint = Complaint::new("limit", exhausted.to_string());
                complaint.position = exhausted.span.and_then(|span| find_position(sources, span));
                complaint.launch = Some(nth);
                Some(Outcome::Exhausted(Box::new(complaint)))
            }
            LaunchOutcome::Unsupported(unsupported) => {
                let message = format!("`{}` is not supported yet", unsupported.construct);
                let mut complaint = Complaint::new("unsupported", message);
                complaint.position = find_position(sources, unsupported.span);
                complaint.launch = Some(nth);
                Some(Outcome::Unsupported(Box::new(complaint)))
            }
        }
    }

    /// The remarks of the launches, in their order.
    pub fn into_remarks(self) -> Vec<Complaint> {
        self.remarks
    }

    /// The outcome, once all launches are made.
    pub fn finish(mut self, case: &Case, memory: Memory) -> Outcome {
        // A value written by an atomic is lost if a later atomic adds an undefined value.
        let tracked = &mut self.tracked;
        let defined = tracked.stored.saturating_sub(tracked.poisoned);
        tracked.vacuous = tracked.poisoned > 0
            && (defined == 0
                || defined == self.updated && !lane_orders::has_changes(&case.memory(), &memory));
        let doubtful = self.remarks.iter().position(Complaint::doubts);
        let remark = self.remarks.into_iter().nth(doubtful.unwrap_or(0));
        Outcome::Finished(Box::new(Finished {
            memory,
            tracked: Some(self.tracked),
            unsteady: None,
            execution: None,
            printed: self.printed,
            remark: remark.map(Box::new),
        }))
    }
}
