//! Integer divisions without a result: a warning if nothing depends on the quotient, and otherwise undefined.

use cerith_interp::{LaunchOutcome, ParamValue, TrapKind};
use cerith_memory::Memory;
use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CmpPredicate, Function, OpKind, ValueId};

use super::trap;
use crate::kernels::{Kernel, World, launch};

const TEXT: &str = "a // b\nb != 0\ntl.where(guard, a // b, -1)\ntl.store(out + i, q, mask=mask)\n";

/// The operations between a division and the store of its quotient.
#[derive(Clone, Copy, Default)]
struct DivisionUse {
    /// `a % b` instead of `a // b`.
    remainder: bool,
    /// Lanes below this are stored.
    below: Option<i32>,
    /// The mask of the store is `b != 0`.
    mask_of_divisor: bool,
    /// Lanes below this, or those with `b != 0`, keep the quotient in a `tl.where`.
    where_below: Option<i32>,
    where_of_divisor: bool,
    /// The divisor is loaded with a mask, below this, and no `other`.
    loaded_below: Option<i32>,
}

fn build_kernel(between: DivisionUse) -> Function {
    let mut k = Kernel::new(TEXT);
    let [a, b, out] = ["a", "b", "out"].map(|name| k.add_pointer_param(name, DType::I32));
    let i = k.arange(8);
    let below = |k: &mut Kernel, n: i32| -> ValueId {
        let n = k.add_int(n);
        k.compare(CmpPredicate::Lt, i, n)
    };
    let loaded = between.loaded_below.map(|n| below(&mut k, n));
    let [pa, pb, to] = [a, b, out].map(|p| k.offset_pointer(p, i));
    let (a, b) = (k.load(pa, None, None), k.load(pb, loaded, None));
    let op = if between.remainder {
        BinaryOp::Rem
    } else {
        BinaryOp::IntDiv
    };
    let mut q = k.set_location("a // b").add_binary(op, a, b);
    let zero = k.add_int(0);
    let nonzero = k.set_location("b != 0").compare(CmpPredicate::Ne, b, zero);
    let guard = match between.where_below {
        Some(n) => Some(below(&mut k, n)),
        None => between.where_of_divisor.then_some(nonzero),
    };
    if let Some(guard) = guard {
        let other = k.add_int(-1);
        let other = k.spread(other, &[8]);
        q = k
            .set_location("tl.where(guard, a // b, -1)")
            .select(guard, q, other);
    }
    let mask = match between.below {
        Some(n) => Some(below(&mut k, n)),
        None => between.mask_of_divisor.then_some(nonzero),
    };
    k.set_location("tl.store(out + i, q, mask=mask)")
        .store(to, q, mask);
    k.finish()
}

fn build_world(divisors: [i32; 8]) -> (Memory, Vec<ParamValue>) {
    let mut world = World::default();
    world.add_ints("a", &[i32::MIN, 1, 2, 3, 4, 5, 6, 7]);
    world.add_ints("b", &divisors);
    world.tensor("out", DType::I32, 8, None);
    world.finish()
}

const TAIL_OF_ZEROS: [i32; 8] = [1, 2, 3, 1, 0, 0, 0, 0];

/// Returns the warnings about a kernel that finishes.
#[track_caller]
fn collect_warnings(divisors: [i32; 8], between: DivisionUse) -> Vec<String> {
    let (mut memory, args) = build_world(divisors);
    let function = build_kernel(between);
    let outcome = launch(&function, [1, 1, 1], &args, &mut memory);
    let LaunchOutcome::Finished(finished) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(finished.stats.bytes_poisoned, 0);
    let shown = finished.remarks.iter();
    shown
        .map(|remark| remark.render(&function.sources, false))
        .collect()
}

#[track_caller]
fn expect_trap(kind: TrapKind, divisors: [i32; 8], between: DivisionUse) -> String {
    let (mut memory, args) = build_world(divisors);
    trap(kind, &build_kernel(between), [1, 1, 1], &args, &mut memory)
}

#[test]
fn a_quotient_that_is_stored() {
    insta::assert_snapshot!(expect_trap(
        TrapKind::DivisionByZero,
        TAIL_OF_ZEROS,
        DivisionUse::default()
    ));
}

#[test]
fn a_masked_off_tail_is_a_warning() {
    for rest in [false, true] {
        let between = DivisionUse {
            remainder: rest,
            below: Some(4),
            ..DivisionUse::default()
        };
        let said = collect_warnings(TAIL_OF_ZEROS, between);
        assert_eq!(said.len(), 1, "{said:?}");
        if !rest {
            insta::assert_snapshot!(said[0]);
        }
    }
}

#[test]
fn no_division_by_zero_is_no_warning() {
    assert_eq!(
        collect_warnings([1; 8], DivisionUse::default()),
        Vec::<String>::new()
    );
}

#[test]
fn a_mask_that_stores_one_lane_of_the_tail() {
    let between = DivisionUse {
        below: Some(5),
        ..DivisionUse::default()
    };
    expect_trap(TrapKind::DivisionByZero, TAIL_OF_ZEROS, between);
}

#[test]
fn a_where_on_the_divisor_is_removed_by_compilers() {
    let between = DivisionUse {
        where_of_divisor: true,
        ..DivisionUse::default()
    };
    insta::assert_snapshot!(expect_trap(TrapKind::DivisionByZero, TAIL_OF_ZEROS, between));
}

#[test]
fn a_where_on_the_divisor_in_lanes_that_are_not_stored() {
    let between = DivisionUse {
        where_of_divisor: true,
        below: Some(4),
        ..DivisionUse::default()
    };
    assert_eq!(collect_warnings(TAIL_OF_ZEROS, between).len(), 1);
}

#[test]
fn a_where_on_something_else_is_a_guard() {
    let between = DivisionUse {
        where_below: Some(4),
        ..DivisionUse::default()
    };
    assert_eq!(collect_warnings(TAIL_OF_ZEROS, between).len(), 1);
}

#[test]
fn a_mask_made_of_the_divisor_is_doubted() {
    let between = DivisionUse {
        mask_of_divisor: true,
        ..DivisionUse::default()
    };
    insta::assert_snapshot!(collect_warnings(TAIL_OF_ZEROS, between)[0]);
}

#[test]
fn a_divisor_that_nothing_defines() {
    let between = DivisionUse {
        loaded_below: Some(4),
        ..DivisionUse::default()
    };
    insta::assert_snapshot!(expect_trap(TrapKind::PoisonUse, [1; 8], between));
    let between = DivisionUse {
        below: Some(4),
        ..between
    };
    assert_eq!(collect_warnings([1; 8], between).len(), 1);
}

#[test]
fn the_lowest_integer_divided_by_minus_one() {
    let divisors = [-1, 1, 1, 1, 1, 1, 1, 1];
    insta::assert_snapshot!(expect_trap(
        TrapKind::DivisionByZero,
        divisors,
        DivisionUse::default()
    ));
    for rest in [false, true] {
        let between = DivisionUse {
            remainder: rest,
            below: Some(0),
            ..DivisionUse::default()
        };
        assert_eq!(collect_warnings(divisors, between).len(), 1);
    }
}

#[test]
fn a_scalar_quotient_that_nobody_uses_and_one_that_decides() {
    let text = "q = 7 % n\nif q == 0: pass\n";
    for used in [false, true] {
        let mut k = Kernel::new(text);
        let n = k.add_number_param("n", DType::I32);
        let seven = k.add_int(7);
        let q = k.set_location("7 % n").add_binary(BinaryOp::Rem, seven, n);
        if used {
            let zero = k.add_int(0);
            let condition = k.compare(CmpPredicate::Eq, q, zero);
            k.set_location("if q == 0: pass")
                .b
                .add_effect(OpKind::Assume, &[condition]);
        }
        let (mut memory, _) = World::default().finish();
        let function = k.finish();
        let args = [ParamValue::Number(0)];
        if used {
            let shown = trap(TrapKind::DivisionByZero, &function, [2, 1, 1], &args, &mut memory);
            insta::assert_snapshot!(shown);
        } else {
            let outcome = launch(&function, [2, 1, 1], &args, &mut memory);
            let LaunchOutcome::Finished(finished) = outcome else {
                panic!("{outcome:?}")
            };
            assert_eq!(finished.remarks.len(), 1);
        }
    }
}
