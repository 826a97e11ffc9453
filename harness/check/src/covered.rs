//! Finds launches whose programs are too few for a size: those of the kernel's launcher, if the kernel cuts the size into blocks, one for
//! each program.

use cerith_case::{ArgValue, Case, Launch};
use cerith_survey::{Change, Draft, ELEMENTS_OF, Survey};

use super::launch::read_number;

/// A size that the programs of a launch do not cover.
pub struct Uncovered {
    /// The axis of the grid.
    pub axis: usize,
    /// The sizes that the axis covers, with the blocks: `n` in blocks of `BLOCK`.
    pub text: String,
    /// The programs that there are, and those that are needed.
    pub programs: (u32, i64),
    /// The launch.
    pub launch: usize,
}

/// Finds the first launch of a kernel's launcher with too few programs. `resolve` reads case files.
pub fn find_uncovered(
    draft: &Draft,
    survey: &Survey,
    resolve: impl Fn(&str) -> Option<Case>,
) -> Option<Uncovered> {
    survey.host.as_ref()?;
    let attempts = survey.attempts.iter().enumerate();
    let mut attempts = attempts.filter(|(nth, attempt)| *nth == 0 || attempt.change == Change::InputSize);
    attempts.find_map(|(nth, attempt)| {
        let case = resolve(&attempt.text)?;
        let [launch] = case.launches.as_slice() else {
            return None;
        };
        // A size that nothing decides may be another one than that of the grid.
        let is_decided = |one: &String| {
            one.starts_with("the callers of")
                || one.starts_with(ELEMENTS_OF)
                || case.storages.iter().any(|(_, storage)| storage.name() == one)
        };
        if !survey.assumed.iter().all(is_decided) {
            return None;
        }
        let shortage = draft.find_shortage(launch.grid, |name| find_integer(launch, name))?;
        Some(Uncovered {
            axis: shortage.axis,
            text: shortage.text,
            programs: shortage.programs,
            launch: nth,
        })
    })
}

fn find_integer(launch: &Launch, name: &str) -> Option<i64> {
    let mut arguments = launch.arguments();
    let (_, found) = arguments.find(|(one, _)| *one == Some(name))?;
    match &found.value {
        ArgValue::Tensor { .. } => None,
        value => i64::try_from(read_number(value)?).ok(),
    }
}
