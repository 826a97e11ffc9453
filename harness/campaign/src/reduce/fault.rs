//! Reduces a case with undefined behaviour or a rejection, which the reference alone reports. No other engine runs, so no process
//! starts. See `candidate_tester` for differences between engines.

use std::cell::Cell;
use std::time::Instant;

use cerith_case::Case;
use cerith_engine::{Complaint, catch_panic};
use cerith_gen::reduce::{Candidate, Ended, Oracle};
use cerith_verdict::{Panel, Trial, try_case};

use super::candidate_tester::Tally;
use super::{Bounds, Smaller, Unreduced};

/// The kind of failure that a smaller tensor causes in any kernel.
const OUT_OF_BOUNDS: &str = "out-of-bounds";

/// The properties of a failure that must stay the same.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    kind: String,
    /// The text of the line, without the space around it.
    line: String,
}

impl Fault {
    fn new(complaint: &Complaint) -> Self {
        let line = complaint.position.as_ref().map_or("", |at| at.text.trim());
        Self {
            kind: complaint.kind.clone(),
            line: line.to_owned(),
        }
    }

    /// All failures that the reference reports for a case.
    fn list(trial: &Trial) -> impl Iterator<Item = Self> {
        let references = trial.references.iter();
        references.filter_map(|run| Some(Self::new(run.outcome.complaint()?)))
    }
}

/// Makes a case smaller while the reference reports the same kind of failure for the same line. If an access is out of bounds, the
/// storages keep their sizes, because a smaller storage would be another mistake. `panel` holds the reference alone.
///
/// # Errors
/// The reference reports nothing, or the case cannot be reduced.
pub fn reduce_fault(case: &Case, panel: &Panel, bounds: Bounds<'_>) -> Result<Smaller, Unreduced> {
    let began = Instant::now();
    let trial = match catch_panic(|| try_case(case, panel)) {
        Ok(Ok(trial)) => trial,
        Ok(Err(_)) => return Err(Unreduced::Stopped),
        Err(panic) => return Err(Unreduced::Failed(panic)),
    };
    let fault = Fault::list(&trial).next().ok_or(Unreduced::NoFault)?;
    let start = Candidate::from_case(case).ok_or(Unreduced::NoKernel)?;
    let before = start.size();
    let mut tester = FaultTester {
        panel,
        elements: (fault.kind == OUT_OF_BOUNDS).then_some(before.elements),
        fault,
        end: began + bounds.time,
        bounds,
        tally: Cell::default(),
    };
    match tester.holds(&start) {
        Ok(true) => {}
        Ok(false) => return Err(Unreduced::Unsteady),
        Err(Ended) => return Err(Unreduced::Stopped),
    }
    let reduced = cerith_gen::reduce::reduce(start, &mut tester);
    let Fault { kind, line } = &tester.fault;
    Ok(Smaller {
        before,
        preserved: vec![format!("reference: {kind} at `{line}`")],
        tally: tester.tally.get(),
        took: began.elapsed(),
        reduced,
    })
}

/// Runs the reference on candidates.
struct FaultTester<'a> {
    panel: &'a Panel,
    fault: Fault,
    /// How many elements the storages must have.
    elements: Option<usize>,
    end: Instant,
    bounds: Bounds<'a>,
    tally: Cell<Tally>,
}

impl FaultTester<'_> {
    fn holds(&self, candidate: &Candidate) -> Result<bool, Ended> {
        if self.bounds.host.is_stopped() || Instant::now() >= self.end {
            return Err(Ended);
        }
        if self
            .elements
            .is_some_and(|count| candidate.size().elements != count)
        {
            return Ok(false);
        }
        let began = Instant::now();
        let tried = catch_panic(|| Some(try_case(&candidate.case()?, self.panel)));
        let mut tally = self.tally.get();
        tally.filtered += 1;
        tally.filter += began.elapsed();
        let shows = match tried {
            Ok(Some(Ok(trial))) => Fault::list(&trial).any(|fault| fault == self.fault),
            Ok(Some(Err(_))) => return Err(Ended),
            // A case that makes Cerith itself fail is not a smaller case.
            Ok(None) | Err(_) => false,
        };
        tally.passed += u64::from(shows);
        self.tally.set(tally);
        Ok(shows)
    }
}

impl Oracle for FaultTester<'_> {
    fn find_first(&mut self, candidates: &[Candidate]) -> Result<Option<usize>, Ended> {
        for (nth, candidate) in candidates.iter().enumerate() {
            if self.holds(candidate)? {
                return Ok(Some(nth));
            }
        }
        Ok(None)
    }
}
