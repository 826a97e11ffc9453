//! Cases that break a rule on purpose. The reference must always return the answer that the breach requires. Other engines
//! must only not crash (`cerith fuzz --broken`).

use arbitrary::Unstructured;
use cerith_engine::{Outcome, Reference};
use cerith_gen::case::Detail;
use cerith_gen::case::breach::{BAD, Broken, Foretold};
use cerith_gen::{Ended, Fault, TrialResult};
use cerith_memory::ByteState;
use cerith_tile::rules::{Rules, Version};

use crate::case::{build_reference, check_complaint, read, run};
use crate::ensure;

/// Makes a case from bytes, and checks the answer of the reference. If the kernel has no answer even without the lines that
/// break a rule, any answer is accepted.
pub fn check(bytes: &[u8]) -> TrialResult {
    let broken = Broken::new("kernel", Detail::Chosen, &mut Unstructured::new(bytes))
        .map_err(|error| Fault(format!("no case: {error}")))?;
    let rules = Rules::from_version(Version::NEWEST);
    let reference = build_reference();
    let outcome = run(&reference, &read(&broken.case)?, rules)?;
    let noticed = check_foretold(broken.breach.foretold, &outcome);
    if noticed.is_ok() {
        return Ok(match outcome {
            Outcome::Rejected(_) => Ended::Refused,
            _ => Ended::Stopped,
        });
    }
    if !is_whole(&broken, &reference, rules)? {
        return Ok(Ended::Finished);
    }
    noticed.map_err(|fault| {
        Fault(format!(
            "{}: {fault}\n{}",
            broken.breach.name,
            broken.case.module()
        ))
    })?;
    Ok(Ended::Stopped)
}

/// Whether the kernel has an answer without the lines that break a rule.
///
/// # Errors
/// The reference failed.
pub fn is_whole(broken: &Broken, reference: &Reference, rules: Rules) -> Result<bool, Fault> {
    Ok(match run(reference, &read(&broken.unbroken)?, rules)? {
        Outcome::Finished(finished) => finished.remark.is_none(),
        _ => false,
    })
}

/// Checks that the reference reports the planned problem.
///
/// # Errors
/// The reference's actual result.
pub fn check_foretold(foretold: Foretold, outcome: &Outcome) -> Result<(), Fault> {
    let as_foretold = match (foretold, outcome) {
        (Foretold::Rejected, Outcome::Rejected(complaint)) => return check_complaint(complaint),
        (Foretold::Trapped(code), Outcome::Trapped(_, complaint)) if complaint.kind == code => {
            return check_complaint(complaint);
        }
        (Foretold::Remarked(code), Outcome::Finished(finished)) => finished
            .remark
            .as_ref()
            .is_some_and(|complaint| complaint.kind == code),
        (Foretold::Poison, Outcome::Finished(finished)) => finished.memory.ids().any(|id| {
            finished.memory.name(id).starts_with(BAD)
                && finished.memory.states(id).contains(&ByteState::Poison)
        }),
        (Foretold::AnyOrder, Outcome::Finished(finished)) => {
            finished.tracked.is_some_and(|tracked| tracked.order_dependent)
        }
        (Foretold::Endless, Outcome::Exhausted(_)) => true,
        _ => false,
    };
    ensure(as_foretold, || {
        let words = outcome.complaint().map_or_else(String::new, |complaint| {
            format!(" with {}: {}", complaint.kind, complaint.message)
        });
        format!(
            "not detected: expected {foretold:?}, but the outcome is {}{words}",
            outcome.kind()
        )
    })
}
