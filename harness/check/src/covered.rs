//! Finds launches whose programs are too few for a size: those of the kernel's launcher, if the kernel cuts the size into blocks, one for
//! each program. Programs that only mask everything are not missed, so the launch is executed with the grid that the size needs, too,
//! and must then leave other values, or access more than the launcher allocates.

use cerith_case::{ArgValue, Case, Launch};
use cerith_engine::{Outcome, Reference, catch_panic};
use cerith_survey::{Change, Draft, ELEMENTS_OF, Survey, is_of_callers};
use cerith_tile::ir::OpKind;
use cerith_tile::rules::Rules;

/// Maximum programs of a launch.
const MAX_PROGRAMS: u64 = 1 << 12;

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
    (reference, rules): (&Reference, Rules),
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
        // A size that nothing decides may differ from that of the grid.
        let is_decided = |one: &String| {
            is_of_callers(one)
                || one.starts_with(ELEMENTS_OF)
                || case.storages.iter().any(|(_, storage)| storage.name() == one)
        };
        if !survey.assumed.iter().all(is_decided) {
            return None;
        }
        let shortage = draft.find_shortage(launch.grid, |name| find_integer(launch, name))?;
        let (_, needed) = shortage.programs;
        let mut grid = launch.grid;
        *grid.get_mut(shortage.axis)? = u32::try_from(needed).ok()?;
        is_changed_by_grid(reference, rules, &case, grid).then_some(())?;
        Some(Uncovered {
            axis: shortage.axis,
            text: shortage.text,
            programs: shortage.programs,
            launch: nth,
        })
    })
}

/// Whether a case's only launch leaves other values with another grid. No if the kernel counts its programs: they share the work then.
fn is_changed_by_grid(reference: &Reference, rules: Rules, case: &Case, grid: [u32; 3]) -> bool {
    let [launch] = case.launches.as_slice() else {
        return false;
    };
    let Ok(Ok(Ok(kernel))) = catch_panic(|| reference.trace_kernel(launch, rules)) else {
        return false;
    };
    let mut counts_programs = false;
    kernel.traced.function.body.visit_operations(&mut |op| {
        counts_programs |= matches!(op.kind, OpKind::NumPrograms(_));
    });
    let mut other = case.clone();
    if let Some(launch) = other.launches.first_mut() {
        launch.grid = grid;
    }
    let run = |case: &Case| {
        let grid = case.launches.first()?.grid.map(u64::from);
        let count = grid.iter().try_fold(1u64, |all, one| all.checked_mul(*one))?;
        let programs: Vec<u64> = (0..count.min(MAX_PROGRAMS)).collect();
        let run = || reference.run_programs(case, rules, &programs, None);
        (count <= MAX_PROGRAMS).then(|| catch_panic(run).ok()?.ok()?)?
    };
    if counts_programs {
        return false;
    }
    match (run(case), run(&other)) {
        (Some(Outcome::Finished(few)), Some(Outcome::Finished(all))) => {
            let (few, all) = (few.memory, all.memory);
            few.ids().any(|id| !few.has_same(&all, id))
        }
        // The launcher allocates a result for each program, so those that are missing have no place for theirs.
        (Some(Outcome::Finished(_)), Some(Outcome::Trapped(..))) => true,
        _ => false,
    }
}

fn find_integer(launch: &Launch, name: &str) -> Option<i64> {
    let mut arguments = launch.arguments();
    let (_, found) = arguments.find(|(one, _)| *one == Some(name))?;
    match &found.value {
        ArgValue::Tensor { .. } => None,
        value => i64::try_from(value.as_integer()?).ok(),
    }
}
