//! The reference's launches again, with the programs of every launch in another order. A case that the reference calls defined,
//! with a result that no order of programs can change, must produce the same result each time. If it does not, the reference's
//! own checks are wrong: an internal error, and no verdict.
//!
//! Schedule 1 is the reverse order; the others are permutations that follow from the case's id and the schedule's number, so that
//! a run can be repeated. Cases that are undefined, or that report that the order matters ([`crate::Tracked::order_dependent`]),
//! are skipped.

use cerith_interp::Order;
use cerith_memory::{ByteState, Memory, Part};

/// The order of programs in one of the schedules of a case, counted from 1.
pub(crate) fn order(case: &str, schedule: u32) -> Order {
    if schedule <= 1 {
        return Order::Descending;
    }
    Order::Shuffled(derive_seed(case) ^ u64::from(schedule))
}

/// The seed of a case's schedules: FNV-1a, so that it is the same on every machine.
pub(crate) fn derive_seed(case: &str) -> u64 {
    case.bytes().fold(0xcbf2_9ce4_8422_2325u64, |seed, byte| {
        (seed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The name of one of the schedules, for messages.
pub(crate) fn describe_schedule(schedule: u32, schedules: u32) -> String {
    let how = if schedule <= 1 {
        "the reverse order"
    } else {
        "a permutation"
    };
    format!("schedule {schedule} of {schedules} ({how})")
}

/// The first byte in which two orders differ, in words. Bytes that have no defined value in either are not compared.
pub(crate) fn find_difference(first: &Memory, other: &Memory) -> Option<String> {
    first.ids().find_map(|id| {
        let (at, one, two) = first.pair_parts(other, id).find_map(|(one, two)| {
            let bytes = one.bytes.iter().zip(two.bytes.iter());
            let states = one.states.iter().zip(two.states.iter());
            let at = bytes.zip(states).position(|((a, b), (known, other))| {
                known != other || (a != b && *known == ByteState::Init)
            })?;
            Some((at, one, two))
        })?;
        let shown = |part: &Part<'_>| {
            let (byte, state) = (part.bytes.get(at), part.states.get(at));
            match (byte, state) {
                (Some(byte), Some(ByteState::Init)) => format!("{byte:#04x}"),
                (_, Some(ByteState::Poison)) => "no defined value".to_owned(),
                _ => "nothing".to_owned(),
            }
        };
        Some(format!(
            "byte {} of storage `{}` holds {} in the order of program ids and {} in this one",
            one.offset + at,
            first.name(id),
            shown(&one),
            shown(&two)
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use cerith_case::{Corpus, Filter, Shard};
    use cerith_interp::Checks;
    use cerith_tile::rules::Rules;

    use super::*;
    use crate::{Engine, Failure, Outcome, Reference};

    /// Runs the reference on a kernel with four programs and eight numbers, with schedules.
    fn check(body: &str) -> Result<Outcome, Failure> {
        check_with(Checks::Full, body)
    }

    fn check_with(checks: Checks, body: &str) -> Result<Outcome, Failure> {
        let folder = tempfile::tempdir().expect("a folder");
        let lines = body.replace('\n', "\n    ");
        let text = format!(
            "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(x, out):\n    pid = tl.program_id(0)\n    {lines}\n"
        );
        std::fs::write(folder.path().join("kernel.py"), text).expect("a file");
        let case = "about: Programs in other orders.\nkernel: kernel.py:kernel\nstorages:\n  x: { dtype: i32, shape: [8], \
                    fill: zeros }\n  out: { dtype: i32, shape: [8], fill: zeros }\nlaunches:\n  - grid: [4]\n    args: { x: x, \
                    out: out }\n";
        std::fs::write(folder.path().join("order.yaml"), case).expect("a file");
        run(folder.path(), checks)
    }

    fn run(folder: &Path, checks: Checks) -> Result<Outcome, Failure> {
        let corpus = Corpus::read(folder).expect("a folder");
        assert!(corpus.problems().is_empty(), "{:#?}", corpus.problems());
        let entry = corpus
            .select(&Filter::default(), Shard::ALL)
            .next()
            .expect("a case");
        let case = entry.resolve().expect("a case without problems");
        let reference = Reference::default().with_checks(checks).with_schedules(8);
        reference.run(&case, Rules::default()).map(|run| run.outcome)
    }

    #[test]
    fn programs_that_keep_apart_give_the_same_in_every_order() {
        let outcome = check("tl.store(out + pid, pid * 3)\ntl.atomic_add(x, pid)").expect("no bug of ours");
        assert!(matches!(outcome, Outcome::Finished(_)), "{outcome:?}");
    }

    #[test]
    fn a_result_that_the_order_decides_is_called_so_and_not_tried() {
        let outcome = check("tl.store(out + pid, tl.atomic_add(x, 1))").expect("no bug of ours");
        let Outcome::Finished(finished) = outcome else {
            panic!("{outcome:?}")
        };
        assert!(finished.tracked.expect("the reference tracks").order_dependent);
    }

    #[test]
    fn what_only_the_order_of_ids_defines_is_called_undefined() {
        for body in [
            "tl.store(out, pid)",
            "tl.store(out + pid, tl.load(x + pid - 1, mask=pid > 0, other=0))\ntl.store(x + pid, pid)",
        ] {
            let outcome = check(body).expect("no bug of ours");
            assert!(matches!(outcome, Outcome::Trapped(..)), "{body}: {outcome:?}");
        }
    }

    #[test]
    fn what_is_called_defined_and_depends_on_the_order_is_an_error_of_ours() {
        // With races not looked for, the case is called defined.
        let failure = check_with(Checks::Fast, "tl.store(out + 1, pid)").expect_err("a difference");
        assert_eq!(
            failure.to_string(),
            "produce the same result in every order of programs: schedule 1 of 8 (the reverse order): byte 4 of storage `out` holds \
             0x03 in the order of program ids and 0x00 in this one"
        );
    }

    #[test]
    fn a_difference_names_the_first_byte() {
        let mut storages = cerith_memory::Storages::new();
        let id = storages.add("x", 8).expect("room");
        storages.write(id, 0, &[1; 8]);
        let first = Memory::new(&storages, Vec::new());
        assert_eq!(find_difference(&first, &first.clone()), None);
        let mut other = first.clone();
        other.parts_mut(id).0[5] = 2;
        assert_eq!(
            find_difference(&first, &other).expect("a difference"),
            "byte 5 of storage `x` holds 0x01 in the order of program ids and 0x02 in this one"
        );
        let mut other = first.clone();
        other.parts_mut(id).1[3] = ByteState::Poison;
        assert_eq!(
            find_difference(&first, &other).expect("a difference"),
            "byte 3 of storage `x` holds 0x01 in the order of program ids and no defined value in this one"
        );
    }

    #[test]
    fn schedules_follow_from_the_case_and_their_number() {
        assert_eq!(order("a", 1), Order::Descending);
        assert_eq!(order("a", 2), order("a", 2));
        assert_ne!(order("a", 2), order("a", 3));
        assert_ne!(order("a", 2), order("b", 2));
    }
}
