//! Whether a failure depends on the numbers that its launch guesses. It does not if launches with other numbers fail in the same line,
//! and none finishes.

use cerith_engine::{Complaint, Outcome};
use cerith_report::event::OutcomeKind;
use cerith_survey::{Draft, Reading, Survey};

use super::doubt::UNREADABLE_GLOBAL;
use super::finding::{Finding, Findings};
use super::fitting::Fitter;
use super::subject::{Subject, format_case_id};

/// Values of a guessed number. A kernel may do nothing with 0.
const NUMBERS: [&str; 6] = ["1", "2", "3", "16", "64", "128"];

/// Codes of failures that dtypes and flags decide, which stay guessed, or a module that is missing.
const OF_DTYPES_AND_FLAGS: [&str; 3] = [UNREADABLE_GLOBAL, "static-assert", "undefined-name"];

/// The fewest launches that show independence.
const MIN_AGREEING: usize = 3;

/// The most launches of one failure.
const MAX_LAUNCHES: usize = 30;

/// A failure of the plain launch. Other launches fail with other contents and layouts too, which the kernel may not have to take.
struct Failure {
    /// The code of the error.
    code: String,
    /// The line, from 1.
    line: u32,
}

impl Failure {
    /// The failure that a finding is about. `None` if the plain launch does not show it, or no line is known.
    fn from_finding(finding: &Finding, survey: &Survey) -> Option<Self> {
        if !matches!(
            finding.key.outcome,
            Some(OutcomeKind::Trapped | OutcomeKind::Rejected)
        ) {
            return None;
        }
        let is_of_guess = OF_DTYPES_AND_FLAGS.contains(&finding.key.code.as_str());
        if is_of_guess
            || finding.key.code.ends_with("type-mismatch")
            || !finding.is_of(&format_case_id(survey, 0))
        {
            return None;
        }
        Some(Self {
            code: finding.key.code.clone(),
            line: finding.summary.position.as_ref()?.line,
        })
    }

    fn is_shown_by(&self, complaint: &Complaint) -> bool {
        let line = complaint.position.as_ref().map(|position| position.line);
        complaint.kind == self.code && line == Some(self.line)
    }
}

/// Marks the failures of a kernel's launches that don't depend on guessed numbers. A failure that no launch with multiples of blocks
/// shows has these sizes as its precondition.
pub fn mark_independent(subject: &Subject, survey: &Survey, findings: &mut Findings) {
    let reading = &survey.reading;
    let has_other_guesses =
        !reading.dtypes.is_empty() || !reading.rooms.is_empty() || reading.even || reading.block.is_some();
    if has_other_guesses || survey.guessed.is_empty() || survey.host.is_some() {
        return;
    }
    let Some(draft) = subject.find_draft(&survey.kernel) else {
        return;
    };
    let even = Reading {
        even: true,
        ..reading.clone()
    };
    let mut conditional = Vec::new();
    for finding in &mut findings.entries {
        let Some(failure) = Failure::from_finding(finding, survey) else {
            continue;
        };
        if !is_independent(subject, draft, survey, &failure) {
            continue;
        }
        if finding.key.outcome == Some(OutcomeKind::Rejected) {
            finding.is_independent = true;
            continue;
        }
        let fitter = Fitter::new(subject, draft, survey.version);
        let attempt = draft.attempt(&even);
        match attempt.and_then(|attempt| fitter.try_text(&attempt.text)) {
            Some((_, Outcome::Trapped(_, complaint))) => {
                finding.is_independent = failure.is_shown_by(&complaint);
            }
            Some((_, Outcome::Finished(_))) => conditional.push(finding.clone()),
            _ => {}
        }
    }
    for finding in conditional {
        findings.add_unless(survey, even.words(), finding);
    }
}

/// Whether a failure stays where it is when the guessed numbers of its launch change.
fn is_independent(subject: &Subject, draft: &Draft, survey: &Survey, failure: &Failure) -> bool {
    let Some(attempt) = survey.attempts.first() else {
        return false;
    };
    let fitter = Fitter::new(subject, draft, survey.version);
    let mut agreeing = 0;
    let mut launches = 0;
    for other in list_readings(&survey.reading, &survey.guessed) {
        if launches == MAX_LAUNCHES || subject.is_late() {
            return false;
        }
        let other = draft.attempt(&other).filter(|one| one.text != attempt.text);
        let Some(other) = other else { continue };
        launches += 1;
        match fitter.try_text(&other.text) {
            // A number for which the kernel does nothing shows nothing.
            Some((_, Outcome::Finished(finished)))
                if finished.tracked.is_none_or(|tracked| tracked.stored > 0) =>
            {
                return false;
            }
            Some((_, Outcome::Trapped(_, complaint) | Outcome::Rejected(complaint)))
                if failure.is_shown_by(&complaint) =>
            {
                agreeing += 1;
            }
            _ => {}
        }
    }
    agreeing >= MIN_AGREEING && agreeing * 2 > launches
}

/// Readings with other values of the guessed numbers: of each alone, then of all.
fn list_readings(reading: &Reading, guessed: &[String]) -> Vec<Reading> {
    let with = |names: &[String], value: &str| {
        let mut one = reading.clone();
        for name in names {
            one.values.insert(name.clone(), value.to_owned());
        }
        one
    };
    let alone = guessed
        .iter()
        .flat_map(|name| NUMBERS.map(|value| with(std::slice::from_ref(name), value)));
    let together = NUMBERS.map(|value| with(guessed, value));
    let mut all: Vec<Reading> = alone.collect();
    if guessed.len() > 1 {
        all.extend(together);
    }
    all.retain(|one| one != reading);
    all
}
