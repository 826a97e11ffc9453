//! Integer divisions with no answer: a warning where nothing depends on the quotient, undefined where something does.

use cerith_interp::{LaunchOutcome, ParamValue, TrapKind};
use cerith_memory::Memory;
use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CmpPredicate, Function, OpKind, ValueId};

use super::trap;
use crate::kernels::{Kernel, World, launch};

const TEXT: &str = "a // b\nb != 0\ntl.where(guard, a // b, -1)\ntl.store(out + i, q, mask=mask)\n";

/// What stands between a division and the store of its quotient.
#[derive(Clone, Copy, Default)]
struct Between {
    /// `a % b` instead of `a // b`.
    rest: bool,
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

fn kernel(between: Between) -> Function {
    let mut k = Kernel::new(TEXT);
    let [a, b, out] = ["a", "b", "out"].map(|name| k.pointer(name, DType::I32));
    let i = k.arange(8);
    let below = |k: &mut Kernel, n: i32| -> ValueId {
        let n = k.int(n);
        k.compare(CmpPredicate::Lt, i, n)
    };
    let loaded = between.loaded_below.map(|n| below(&mut k, n));
    let [pa, pb, to] = [a, b, out].map(|p| k.offset(p, i));
    let (a, b) = (k.load(pa, None, None), k.load(pb, loaded, None));
    let op = if between.rest {
        BinaryOp::Rem
    } else {
        BinaryOp::IntDiv
    };
    let mut q = k.at("a // b").binary(op, a, b);
    let zero = k.int(0);
    let nonzero = k.at("b != 0").compare(CmpPredicate::Ne, b, zero);
    let guard = match between.where_below {
        Some(n) => Some(below(&mut k, n)),
        None => between.where_of_divisor.then_some(nonzero),
    };
    if let Some(guard) = guard {
        let other = k.int(-1);
        let other = k.spread(other, &[8]);
        q = k.at("tl.where(guard, a // b, -1)").select(guard, q, other);
    }
    let mask = match between.below {
        Some(n) => Some(below(&mut k, n)),
        None => between.mask_of_divisor.then_some(nonzero),
    };
    k.at("tl.store(out + i, q, mask=mask)").store(to, q, mask);
    k.finish()
}

fn world(divisors: [i32; 8]) -> (Memory, Vec<ParamValue>) {
    let mut world = World::default();
    world.ints("a", &[i32::MIN, 1, 2, 3, 4, 5, 6, 7]);
    world.ints("b", &divisors);
    world.tensor("out", DType::I32, 8, None);
    world.finish()
}

const TAIL_OF_ZEROS: [i32; 8] = [1, 2, 3, 1, 0, 0, 0, 0];

/// What is said of a kernel that finishes.
#[track_caller]
fn warned(divisors: [i32; 8], between: Between) -> Vec<String> {
    let (mut memory, args) = world(divisors);
    let function = kernel(between);
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
fn stops(kind: TrapKind, divisors: [i32; 8], between: Between) -> String {
    let (mut memory, args) = world(divisors);
    trap(kind, &kernel(between), [1, 1, 1], &args, &mut memory)
}

#[test]
fn a_quotient_that_is_stored() {
    insta::assert_snapshot!(stops(TrapKind::DivisionByZero, TAIL_OF_ZEROS, Between::default()));
}

#[test]
fn a_masked_off_tail_is_a_warning() {
    for rest in [false, true] {
        let between = Between {
            rest,
            below: Some(4),
            ..Between::default()
        };
        let said = warned(TAIL_OF_ZEROS, between);
        assert_eq!(said.len(), 1, "{said:?}");
        if !rest {
            insta::assert_snapshot!(said[0]);
        }
    }
}

#[test]
fn no_division_by_zero_is_no_warning() {
    assert_eq!(warned([1; 8], Between::default()), Vec::<String>::new());
}

#[test]
fn a_mask_that_stores_one_lane_of_the_tail() {
    let between = Between {
        below: Some(5),
        ..Between::default()
    };
    stops(TrapKind::DivisionByZero, TAIL_OF_ZEROS, between);
}

#[test]
fn a_where_on_the_divisor_is_removed_by_compilers() {
    let between = Between {
        where_of_divisor: true,
        ..Between::default()
    };
    insta::assert_snapshot!(stops(TrapKind::DivisionByZero, TAIL_OF_ZEROS, between));
}

#[test]
fn a_where_on_the_divisor_in_lanes_that_are_not_stored() {
    let between = Between {
        where_of_divisor: true,
        below: Some(4),
        ..Between::default()
    };
    assert_eq!(warned(TAIL_OF_ZEROS, between).len(), 1);
}

#[test]
fn a_where_on_something_else_is_a_guard() {
    let between = Between {
        where_below: Some(4),
        ..Between::default()
    };
    assert_eq!(warned(TAIL_OF_ZEROS, between).len(), 1);
}

#[test]
fn a_mask_made_of_the_divisor_is_doubted() {
    let between = Between {
        mask_of_divisor: true,
        ..Between::default()
    };
    insta::assert_snapshot!(warned(TAIL_OF_ZEROS, between)[0]);
}

#[test]
fn a_divisor_that_nothing_defines() {
    let between = Between {
        loaded_below: Some(4),
        ..Between::default()
    };
    insta::assert_snapshot!(stops(TrapKind::PoisonUse, [1; 8], between));
    let between = Between {
        below: Some(4),
        ..between
    };
    assert_eq!(warned([1; 8], between).len(), 1);
}

#[test]
fn the_lowest_integer_divided_by_minus_one() {
    let divisors = [-1, 1, 1, 1, 1, 1, 1, 1];
    insta::assert_snapshot!(stops(TrapKind::DivisionByZero, divisors, Between::default()));
    for rest in [false, true] {
        let between = Between {
            rest,
            below: Some(0),
            ..Between::default()
        };
        assert_eq!(warned(divisors, between).len(), 1);
    }
}

#[test]
fn a_scalar_quotient_that_nobody_uses_and_one_that_decides() {
    let text = "q = 7 % n\nif q == 0: pass\n";
    for used in [false, true] {
        let mut k = Kernel::new(text);
        let n = k.number("n", DType::I32);
        let seven = k.int(7);
        let q = k.at("7 % n").binary(BinaryOp::Rem, seven, n);
        if used {
            let zero = k.int(0);
            let condition = k.compare(CmpPredicate::Eq, q, zero);
            k.at("if q == 0: pass").b.effect(OpKind::Assume, &[condition]);
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
