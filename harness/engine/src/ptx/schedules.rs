//! Repeats the launches of a case in other schedules, whose results must be the same.

use cerith_case::Case;
use cerith_memory::{ByteState, Memory};
use cerith_ptx::Schedule;

use crate::engine::Failure;
use crate::schedules::derive_seed;
use crate::{Finished, Outcome};

/// Repeats a case that finished in the default schedule in `count` others. The outcome gets the first result that differs, with the
/// names of both schedules. If a schedule does not finish, the outcome is that schedule's.
pub(super) fn try_schedules(
    case: &Case,
    count: u32,
    outcome: Outcome,
    mut launch: impl FnMut(Schedule) -> Result<Outcome, Failure>,
) -> Result<Outcome, Failure> {
    let Outcome::Finished(mut first) = outcome else {
        return Ok(outcome);
    };
    let seed = derive_seed(&case.id);
    for number in 1..=count {
        let schedule = Schedule::from_number(number, seed);
        let name = format!("schedule {number} of {count} ({schedule})");
        let other = match launch(schedule)? {
            Outcome::Finished(other) => *other,
            other => return Ok(name_schedule(other, &name)),
        };
        let memory = merge_uninitialised(&mut first, other);
        if memory.arena().0 != first.memory.arena().0 {
            first.unsteady = Some(Box::new(memory));
            first.execution.get_or_insert_default().schedules =
                Some(["the default schedule".to_owned(), name]);
            break;
        }
    }
    Ok(Outcome::Finished(first))
}

/// Marks the bytes that either of two runs left uninitialised in both. Returns the memory of the second run.
fn merge_uninitialised(first: &mut Finished, other: Finished) -> Memory {
    let mut memory = other.memory;
    if first.remark.is_none() {
        first.remark = other.remark;
    }
    let (bytes, states) = first.memory.arena_mut();
    let (other_bytes, other_states) = memory.arena_mut();
    let others = other_bytes.iter_mut().zip(other_states);
    for ((byte, state), (other_byte, other_state)) in bytes.iter().zip(states).zip(others) {
        if *state == ByteState::Poison || *other_state == ByteState::Poison {
            *state = ByteState::Poison;
            *other_state = ByteState::Poison;
            *other_byte = *byte;
        }
    }
    memory
}

/// Adds the schedule to the message of an outcome that is only of this schedule.
fn name_schedule(mut outcome: Outcome, name: &str) -> Outcome {
    if let Some(complaint) = outcome.complaint_mut() {
        complaint.message = format!(
            "in {name}, although the default schedule finishes: {}",
            complaint.message
        );
    }
    outcome
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use cerith_case::{Corpus, Filter, Shard};

    use super::*;
    use crate::outcome::Trap;
    use crate::{Complaint, Execution};

    /// A case with one storage of 8 bytes.
    fn read_case(folder: &Path) -> Case {
        let kernel = "import triton\n\n\n@triton.jit\ndef kernel(x):\n    pass\n";
        std::fs::write(folder.join("kernel.py"), kernel).expect("a file");
        let case = "about: Schedules.\nkernel: kernel.py:kernel\nstorages:\n  x: { dtype: i8, shape: [8], fill: zeros }\n\
                    launches:\n  - grid: [1]\n    args: { x: x }\n";
        std::fs::write(folder.join("c.yaml"), case).expect("a file");
        let corpus = Corpus::read(folder).expect("a folder");
        let entry = corpus
            .select(&Filter::default(), Shard::ALL)
            .next()
            .expect("a case");
        entry.resolve().expect("a case without problems")
    }

    /// A run that changed one byte of the storage, which is uninitialised if `poisoned`.
    fn finish(case: &Case, value: u8, poisoned: bool) -> Outcome {
        let mut memory = case.memory();
        let id = memory.ids().next().expect("a storage");
        let (bytes, states) = memory.parts_mut(id);
        bytes[3] = value;
        states[3] = if poisoned {
            ByteState::Poison
        } else {
            ByteState::Init
        };
        Outcome::Finished(Box::new(Finished {
            memory,
            tracked: None,
            unsteady: None,
            printed: Vec::new(),
            remark: poisoned.then(|| Box::new(Complaint::new("uninitialised-register", "a register"))),
            execution: None,
        }))
    }

    /// Runs three other schedules. `other` is the outcome of one of them, by its number.
    fn check(other: impl Fn(&Case, u32) -> Outcome) -> Outcome {
        let folder = tempfile::tempdir().expect("a folder");
        let case = read_case(folder.path());
        let mut number = 0;
        try_schedules(&case, 3, finish(&case, 1, false), |schedule| {
            number += 1;
            assert_eq!(schedule, Schedule::from_number(number, derive_seed(&case.id)));
            Ok(other(&case, number))
        })
        .expect("no failure")
    }

    #[test]
    fn equal_results_are_steady() {
        let outcome = check(|case, _| finish(case, 1, false));
        let finished = outcome.finished().expect("it finishes");
        assert_eq!((&finished.unsteady, &finished.execution), (&None, &None));
    }

    #[test]
    fn a_different_result_names_both_schedules() {
        let outcome = check(|case, number| finish(case, if number == 3 { 2 } else { 1 }, false));
        let finished = outcome.finished().expect("it finishes");
        assert!(finished.unsteady.is_some());
        let execution: &Execution = finished.execution.as_ref().expect("schedules");
        let [first, other] = execution.schedules.as_ref().expect("two names");
        assert_eq!(first, "the default schedule");
        assert_eq!(other, "schedule 3 of 3 (starved warps, number 0)");
    }

    #[test]
    fn uninitialised_bytes_of_any_schedule_are_not_compared() {
        let outcome = check(|case, number| finish(case, 7, number == 1));
        let finished = outcome.finished().expect("it finishes");
        assert_eq!(finished.unsteady, None);
        assert!(finished.remark.is_some());
        let id = finished.memory.ids().next().expect("a storage");
        assert_eq!(finished.memory.states(id)[3], ByteState::Poison);
    }

    #[test]
    fn a_schedule_that_does_not_finish_is_the_outcome() {
        let outcome = check(|case, number| {
            if number == 1 {
                Outcome::Trapped(
                    Trap::Raised,
                    Box::new(Complaint::new("deadlock", "deadlock: warp 1 waits")),
                )
            } else {
                finish(case, 1, false)
            }
        });
        let complaint = outcome.complaint().expect("a complaint");
        assert_eq!(complaint.kind, "deadlock");
        assert_eq!(
            complaint.message,
            "in schedule 1 of 3 (copies complete at once), although the default schedule finishes: deadlock: warp 1 waits"
        );
    }
}
