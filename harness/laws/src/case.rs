//! Generated cases, and what the reference must do with any of them. See [`crate::broken`] for cases that break a rule on
//! purpose.

use arbitrary::Unstructured;
use cerith_case::{Case, Corpus, Input};
use cerith_engine::{Complaint, Engine, Outcome, Reference};
use cerith_gen::case::{Detail, Form, Generated, Twist};
use cerith_gen::{Ended, Fault, TrialResult};
use cerith_interp::Config;
use cerith_tile::rules::{Rules, Version};
use cerith_verdict::Twins;

use crate::ensure;

/// The name of a kernel's file.
const KERNEL: &str = "kernel.py";

/// The limits of a launch here: far more than a generated case needs.
const FUEL: u64 = 1 << 26;

/// The reference, with low limits.
pub fn build_reference() -> Reference {
    Reference::new(build_config())
}

fn build_config() -> Config<'static> {
    Config {
        fuel: FUEL,
        program_fuel: FUEL,
        memory_limit: 1 << 28,
        ..Config::default()
    }
}

/// Makes a case from bytes, and checks the laws of the reference on it.
pub fn check(bytes: &[u8]) -> TrialResult {
    let generated = Generated::new("kernel", Detail::Chosen, &mut Unstructured::new(bytes))
        .map_err(|error| Fault(format!("no case: {error}")))?;
    let case = read(&generated)?;
    let rules = Rules::from_version(Version::NEWEST);
    let reference = build_reference();
    let first = run(&reference, &case, rules)?;
    let shown = || generated.module();
    ensure(run(&reference, &case, rules)? == first, || {
        format!("it is not the same twice:\n{}", shown())
    })?;
    // However little there is to do, each program in a thread of its own where that is allowed.
    let threads = Reference::new(Config {
        threads: 4,
        share_work: 0,
        ..build_config()
    });
    ensure(run(&threads, &case, rules)? == first, || {
        format!("it is not the same in threads:\n{}", shown())
    })?;
    if let Outcome::Finished(_) = first {
        check_twins(bytes, &case, &reference, rules)?;
    }
    classify_outcome(&first).map_err(|fault| Fault(format!("{fault}\n{}", shown())))
}

/// Checks that every twin stores what the case stores.
fn check_twins(bytes: &[u8], case: &Case, reference: &Reference, rules: Rules) -> Result<(), Fault> {
    for twist in Twist::ALL {
        let form = Form {
            twist: Some(twist),
            ..Form::default()
        };
        let twin = Generated::new("kernel", form, &mut Unstructured::new(bytes))
            .map_err(|error| Fault(format!("no twin: {error}")))?;
        let compared = cerith_verdict::compare_twins(reference, case, &read(&twin)?, rules)
            .map_err(|failure| Fault(format!("the reference failed: {failure}")))?;
        if let Twins::Differ(how) = compared {
            let name = twist.name();
            return Err(Fault(format!(
                "its twin by {name} differs: {how}\n{}",
                twin.module()
            )));
        }
    }
    Ok(())
}

/// The law of generated cases as files.
///
/// # Errors
/// The problems of the texts: a fault of the generator.
pub fn read(generated: &Generated) -> Result<Case, Fault> {
    let (kernel, yaml) = (generated.module(), generated.case_file(KERNEL));
    let wrong = |what: &str| Fault(format!("it does not read as a case: {what}\n{kernel}\n{yaml}"));
    let corpus = Corpus::load([
        Input::from_text("case.yaml", &yaml),
        Input::from_text(KERNEL, &kernel),
    ]);
    if let Some(problem) = corpus.problems().first() {
        return Err(wrong(&problem.render(corpus.sources(), false)));
    }
    let entry = corpus.entries().next().ok_or_else(|| wrong("there is none"))?;
    entry.resolve().map_err(|problems| {
        let shown = problems
            .iter()
            .map(|problem| problem.render(corpus.sources(), false));
        wrong(&shown.collect::<Vec<_>>().join("\n"))
    })
}

/// The law of generated cases in the reference.
///
/// # Errors
/// It failed, which it must never do.
pub fn run(reference: &Reference, case: &Case, rules: Rules) -> Result<Outcome, Fault> {
    reference
        .run(case, rules)
        .map(|run| run.outcome)
        .map_err(|failure| Fault(format!("the reference failed: {failure}")))
}

/// How a trial with this outcome ended. A launch that did not finish must have a message and a place in the kernel.
fn classify_outcome(outcome: &Outcome) -> TrialResult {
    let (how, complaint) = match outcome {
        Outcome::Finished(..) => return Ok(Ended::Finished),
        Outcome::Rejected(complaint) => (Ended::Refused, complaint),
        Outcome::Trapped(_, complaint) | Outcome::Unsupported(complaint) | Outcome::Exhausted(complaint) => {
            (Ended::Stopped, complaint)
        }
        Outcome::Crashed(complaint) | Outcome::Unavailable(complaint) => {
            return Err(Fault(format!("the reference is gone: {}", complaint.message)));
        }
    };
    check_complaint(complaint)?;
    Ok(how)
}

/// Checks that a complaint has a message and a place.
pub(crate) fn check_complaint(complaint: &Complaint) -> Result<(), Fault> {
    crate::check_message(&complaint.message)?;
    // A diagnostic in a library function has its location there, and notes the call.
    let called = |detail: &String| detail.contains(&format!("{KERNEL}:"));
    let at = complaint.position.as_ref().filter(|at| at.line > 0);
    let placed =
        at.is_some_and(|at| at.file.ends_with(KERNEL) || complaint.detail.as_ref().is_some_and(called));
    ensure(placed, || {
        format!("no place in the kernel: {}", complaint.message)
    })
}
