//! A launcher whose launches a compiler rejects, although the kernel compiles with other arguments: its message, and whether inputs of
//! other dtypes or sizes can avoid it.

use cerith_engine::{Complaint, Outcome};
use cerith_report::describe;
use cerith_survey::{Attempt, Survey};

use super::doubt::{UNREADABLE_GLOBAL, is_in_inductor};
use super::finding::LauncherError;
use super::fitting::Fitter;
use super::launch::LaunchFacts;
use super::subject::Subject;

/// Dtypes that replace those of all tensors: the launcher's inputs are floats otherwise.
const WHOLE_DTYPES: [&str; 2] = ["i32", "i64"];

/// Codes of errors that inputs which were not tried may avoid: an assertion names the sizes that it accepts.
const OF_INPUTS: [&str; 2] = [UNREADABLE_GLOBAL, "static-assert"];

/// The error of a launcher's launches, all of which are rejected; `None` if one is accepted.
pub fn find_launcher_error(subject: &Subject, survey: &Survey) -> Option<LauncherError> {
    let rejected = survey.rejected.as_ref()?;
    let fitter = Fitter::new(subject, subject.find_draft(&survey.kernel)?, survey.version);
    let try_launch = |attempt: &Attempt| match fitter.try_text(&attempt.text)? {
        (case, Outcome::Rejected(complaint)) => Some((case, complaint)),
        _ => None,
    };
    let all: Option<Vec<_>> = rejected.attempts.iter().map(try_launch).collect();
    let all = all?;
    let (case, first) = all.first()?;
    let is_first = |other: &Complaint| {
        other.kind == first.kind && other.message == first.message && other.position == first.position
    };
    let plain = rejected.attempts.first()?;
    let is_of_dtype = || {
        !WHOLE_DTYPES.iter().all(|dtype| {
            let run = fitter.try_text(&replace_dtypes(&plain.text, dtype));
            matches!(run, Some((_, Outcome::Rejected(complaint))) if is_first(&complaint))
        })
    };
    let is_definite = !OF_INPUTS.contains(&first.kind.as_str())
        && !first.position.as_ref().is_some_and(|at| is_in_inductor(&at.file))
        && all.iter().all(|(_, complaint)| is_first(complaint))
        && !is_of_dtype();
    let mut launch = vec![format!("  = in all launches of `{}`", rejected.host)];
    launch.extend(LaunchFacts::from_case(case).map_or_else(Vec::new, |facts| facts.render("  = launch: ")));
    let mut outcome = describe::to_outcome(&Outcome::Rejected(first.clone()));
    subject
        .cells
        .relocate_outcome(&subject.display_name, &mut outcome);
    Some(LauncherError {
        outcome,
        is_definite,
        launch,
    })
}

/// A case file with storages of this dtype. They are not executed, so their contents don't matter.
fn replace_dtypes(text: &str, dtype: &str) -> String {
    let lines = text.lines().map(|line| {
        let parts = line.split_once("{ dtype: ").and_then(|(name, rest)| {
            let (_, rest) = rest.split_once(", shape: ")?;
            let (shape, _) = rest.split_once(", fill: ")?;
            Some(format!("{name}{{ dtype: {dtype}, shape: {shape}, fill: zeros }}"))
        });
        parts.unwrap_or_else(|| line.to_owned())
    });
    lines.collect::<Vec<String>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::replace_dtypes;

    #[test]
    fn storages_of_a_case_file_get_another_dtype() {
        let text = "storages:\n  x: { dtype: f32, shape: [3, 4], fill: { random: { seed: 1 } } }\nlaunches:";
        assert_eq!(
            replace_dtypes(text, "i64"),
            "storages:\n  x: { dtype: i64, shape: [3, 4], fill: zeros }\nlaunches:"
        );
    }
}
