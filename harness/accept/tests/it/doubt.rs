//! Unknown values that control something: only the bytes that they can affect become unknown.

use crate::kernels::{F32, I32, Kernel, World};
use cerith_accept::{Acceptance, AcceptanceMap, Accepted};
use cerith_interp::{Config, ParamValue, Program};
use cerith_memory::StorageId;
use cerith_tile::DType;
use cerith_tile::ir::{AtomicOp, BinaryOp, CmpPredicate, Function, OpKind, Type, UnaryOp, ValueId};

const OUT: StorageId = StorageId(0);
const OTHER_STORAGE: StorageId = StorageId(1);

/// The accepted values of four floats of `out` and four integers of `other`, after a launch of a kernel of two pointers
/// with this many programs. The kernel has a condition that may be decided either way.
fn check(programs: u32, body: impl FnOnce(&mut Kernel, ValueId, ValueId, ValueId)) -> [Vec<Accepted>; 2] {
    let mut k = Kernel::new("kernel\n");
    let (out, other) = (
        k.add_pointer_param("out", DType::F32),
        k.add_pointer_param("other", DType::I32),
    );
    let one = k.add_full(DType::F32, u64::from(1f32.to_bits()), &[]);
    let e = k.add_unary(UnaryOp::Exp, one);
    let same = k.add_full(DType::F32, u64::from(1f32.exp().to_bits()), &[]);
    let open = k.compare(CmpPredicate::Gt, e, same);
    body(&mut k, out, other, open);
    run(k.finish(), programs)
}

fn run(function: Function, programs: u32) -> [Vec<Accepted>; 2] {
    let mut world = World::default();
    world.add_floats("out", &[10.0, 20.0, 30.0, 40.0]);
    world.add_ints("other", &[0; 4]);
    let (memory, args): (_, Vec<ParamValue>) = world.finish();
    let program = Program::prepare(function).expect("verified");
    let accepted = |mut map: AcceptanceMap| {
        let mut memory = memory.clone();
        let end = cerith_accept::accept(
            &program,
            [programs, 1, 1],
            &args,
            &mut memory,
            &mut map,
            &Config::default(),
        )
        .expect("no bug of ours");
        assert_eq!(end, Acceptance::Known);
        [OUT, OTHER_STORAGE].map(|id| (0..4).map(|nth| map.accepted_at(id, nth * 4).1).collect())
    };
    let [out, other] = accepted(AcceptanceMap::default());
    // Recording the causes of widening does not change the result.
    assert_eq!(
        [&out, &other],
        accepted(AcceptanceMap::with_book()).each_ref(),
        "explained"
    );
    [out, other]
}

fn build_float(k: &mut Kernel, value: f32) -> ValueId {
    k.add_full(DType::F32, u64::from(value.to_bits()), &[])
}

fn build_range(low: f64, high: f64) -> Accepted {
    Accepted::Within {
        dtype: DType::F32,
        low,
        high,
        infinities: [false; 2],
        nan: false,
    }
}

const EXACT: [Accepted; 4] = [Accepted::Exact; 4];

#[test]
fn a_mask_leaves_what_was_there_or_what_is_written() {
    let [out, other] = check(1, |k, out, other, open| {
        let value = build_float(k, 12.0);
        k.store(out, value, Some(open));
        let seven = k.add_int(7);
        k.store(other, seven, Some(open));
    });
    assert_eq!(
        out,
        [
            build_range(10.0, 12.0),
            Accepted::Exact,
            Accepted::Exact,
            Accepted::Exact
        ]
    );
    assert_eq!(
        other,
        [
            Accepted::Unknown,
            Accepted::Exact,
            Accepted::Exact,
            Accepted::Exact
        ]
    );
}

#[test]
fn a_load_of_either_is_between_them() {
    let [out, other] = check(1, |k, out, _, open| {
        let second = k.add_int(1);
        let p = k.offset_pointer(out, second);
        let zero = build_float(k, 0.0);
        let loaded = k.load(p, Some(open), Some(zero));
        k.store(out, loaded, None);
    });
    assert_eq!(
        out,
        [
            build_range(0.0, 20.0),
            Accepted::Exact,
            Accepted::Exact,
            Accepted::Exact
        ]
    );
    assert_eq!(other, EXACT);
}

/// No order of programs decides which of the two integers is loaded, so none of them is followed.
#[test]
fn a_branch_on_a_load_of_either_runs_both_ways() {
    let [out, other] = check(1, |k, out, other, open| {
        let five = k.add_int(5);
        k.store(other, five, None);
        let zero = k.add_int(0);
        let loaded = k.load(other, Some(open), Some(zero));
        let is_set = k.compare(CmpPredicate::Ne, loaded, zero);
        k.b.open_block(&[]);
        let value = build_float(k, 1.0);
        k.store(out, value, None);
        let then_block = k.b.close_block(&[]);
        k.b.open_block(&[]);
        let else_block = k.b.close_block(&[]);
        let kind = OpKind::If {
            then_block,
            else_block,
        };
        k.b.add_effect(kind, &[is_set]);
    });
    assert_eq!(out[0], build_range(1.0, 10.0));
    assert_eq!(out[1..], [Accepted::Exact; 3]);
    assert_eq!(other, EXACT);
}

#[test]
fn an_address_makes_its_storage_unknown_and_no_other() {
    let [out, other] = check(1, |k, out, other, open| {
        let lane = k.cast(open, DType::I32);
        let p = k.offset_pointer(out, lane);
        let value = build_float(k, 1.0);
        k.store(p, value, None);
        // A value loaded from there is unknown; other storages stay known.
        let loaded = k.load(out, None, None);
        let loaded = k.cast(loaded, DType::I32);
        k.store(other, loaded, None);
        let nine = k.add_int(9);
        let q = k.offset_pointer(other, nine);
        let back = k.add_int(-8);
        let q = k.offset_pointer(q, back);
        k.store(q, nine, None);
    });
    assert_eq!(out, [Accepted::Unknown; 4]);
    assert_eq!(
        other,
        [
            Accepted::Unknown,
            Accepted::Exact,
            Accepted::Exact,
            Accepted::Exact
        ]
    );
}

/// `if open: out[0] = 1; out[1] = 5 else: out[1] = 5; out[2] = 2`, and then `out[3] = 1 if open else 4`.
fn build_branches(k: &mut Kernel, out: ValueId, open: ValueId) {
    let at = |k: &mut Kernel, nth: i32, value: f32| {
        let offset = k.add_int(nth);
        let p = k.offset_pointer(out, offset);
        let value = build_float(k, value);
        k.store(p, value, None);
    };
    k.b.open_block(&[]);
    at(k, 0, 1.0);
    at(k, 1, 5.0);
    let one = build_float(k, 1.0);
    let then_block = k.b.close_block(&[one]);
    k.b.open_block(&[]);
    at(k, 1, 5.0);
    at(k, 2, 2.0);
    let four = build_float(k, 4.0);
    let else_block = k.b.close_block(&[four]);
    let kind = OpKind::If {
        then_block,
        else_block,
    };
    let picked = k.b.add_op(kind, &[open], Type::scalar(F32));
    let last = k.add_int(3);
    let p = k.offset_pointer(out, last);
    k.store(p, picked, None);
}

#[test]
fn both_branches_are_run() {
    let [out, other] = check(1, |k, out, _, open| build_branches(k, out, open));
    assert_eq!(
        out,
        [
            build_range(1.0, 10.0),
            Accepted::Exact,
            build_range(2.0, 30.0),
            build_range(1.0, 4.0)
        ]
    );
    assert_eq!(other, EXACT);
}

#[test]
fn a_loop_of_unknown_range_leaves_the_rest_alone() {
    let [out, other] = check(1, |k, out, other, open| {
        let (zero, step) = (k.add_int(0), k.add_int(1));
        let end = k.cast(open, DType::I32);
        let index = k.b.add_value(Type::scalar(I32));
        let carried = k.b.add_value(Type::scalar(F32));
        k.b.open_block(&[index, carried]);
        let one = build_float(k, 1.0);
        let next = k.add_binary(BinaryOp::Add, carried, one);
        k.store(out, next, None);
        let body = k.b.close_block(&[next]);
        let start = build_float(k, 0.0);
        let last =
            k.b.add_op(OpKind::For { body }, &[zero, end, step, start], Type::scalar(F32));
        let second = k.add_int(1);
        let p = k.offset_pointer(out, second);
        k.store(p, last, None);
        k.store(other, step, None);
    });
    assert_eq!(out[..2], [Accepted::Unknown; 2]);
    assert_eq!(out[2..], [Accepted::Exact; 2]);
    assert_eq!(other, EXACT);
}

#[test]
fn a_minimum_in_a_loop_of_unknown_range_is_one_of_two() {
    let [out, _] = check(1, |k, out, _, open| {
        let (zero, step) = (k.add_int(0), k.add_int(1));
        let end = k.cast(open, DType::I32);
        let index = k.b.add_value(Type::scalar(I32));
        k.b.open_block(&[index]);
        let value = build_float(k, 0.0);
        build_atomic(k, AtomicOp::Min, out, value);
        let body = k.b.close_block(&[]);
        k.b.add_effect(OpKind::For { body }, &[zero, end, step]);
    });
    assert_eq!(out[0], build_range(0.0, 10.0));
    assert_eq!(out[1..], [Accepted::Exact; 3]);
}

/// `old = atomic_op(other, value)`.
fn build_atomic(k: &mut Kernel, op: AtomicOp, pointer: ValueId, value: ValueId) -> ValueId {
    let ty = k.b.ty(value).clone();
    k.b.add_op(
        OpKind::AtomicRmw {
            op,
            mask: false,
            order: cerith_tile::ir::MemoryOrder::AcquireRelease,
        },
        &[pointer, value],
        ty,
    )
}

#[test]
fn what_an_atomic_returns_is_unknown_where_programs_meet() {
    for (programs, expected) in [
        (1, Accepted::Exact),
        (2, Accepted::Unknown),
        (40, Accepted::Unknown),
    ] {
        let [out, other] = check(programs, |k, out, other, _| {
            let one = k.add_int(1);
            let ticket = build_atomic(k, AtomicOp::Add, other, one);
            // The parity of the ticket: the same for half of the orders.
            let parity = k.add_binary(BinaryOp::And, ticket, one);
            let pid = k.program_id(0);
            let zero = k.add_int(0);
            let first = k.compare(CmpPredicate::Eq, pid, zero);
            let second = k.offset_pointer(other, one);
            k.store(second, parity, Some(first));
            let value = build_float(k, 1.0);
            k.store(out, value, Some(first));
        });
        assert_eq!(out, EXACT, "{programs}");
        // The sum itself is the same in every order.
        assert_eq!(other[0], Accepted::Exact, "{programs}");
        assert_eq!(other[1], expected, "{programs}");
        assert_eq!(other[2..], [Accepted::Exact; 2], "{programs}");
    }
}

/// The last program to take a ticket writes a number, which is `n` or the program's own.
fn last_block(programs: u32, own: bool) -> [Vec<Accepted>; 2] {
    check(programs, |k, out, other, _| {
        let one = k.add_int(1);
        let ticket = build_atomic(k, AtomicOp::Add, other, one);
        let last = k.add_int(programs as i32 - 1);
        let done = k.compare(CmpPredicate::Eq, ticket, last);
        let pid = k.program_id(0);
        k.b.open_block(&[]);
        let value = if own {
            k.cast(pid, DType::F32)
        } else {
            build_float(k, 3.0)
        };
        k.store(out, value, None);
        let then_block = k.b.close_block(&[]);
        k.b.open_block(&[]);
        let else_block = k.b.close_block(&[]);
        k.b.add_effect(
            OpKind::If {
                then_block,
                else_block,
            },
            &[done],
        );
    })
}

#[test]
fn what_the_last_program_leaves_is_compared_if_it_is_the_same_for_each() {
    for programs in [2, 3, 16, 50] {
        assert_eq!(last_block(programs, false), [EXACT, EXACT], "{programs}");
    }
    for programs in [2, 3, 16] {
        let [out, other] = last_block(programs, true);
        assert_eq!(out[0], Accepted::Unknown, "{programs}");
        assert_eq!(out[1..], [Accepted::Exact; 3], "{programs}");
        assert_eq!(other, EXACT, "{programs}");
    }
    // Not every place in the order was tried for each program: the storage as a whole.
    let [out, other] = last_block(50, true);
    assert_eq!(out, [Accepted::Unknown; 4]);
    assert_eq!(other, EXACT);
}

#[test]
fn an_exchange_leaves_what_anybody_brought() {
    let [out, other] = check(3, |k, out, other, _| {
        let pid = k.program_id(0);
        build_atomic(k, AtomicOp::Xchg, other, pid);
        let value = k.cast(pid, DType::F32);
        build_atomic(k, AtomicOp::Max, out, value);
    });
    assert_eq!(out, EXACT);
    assert_eq!(
        other,
        [
            Accepted::Unknown,
            Accepted::Exact,
            Accepted::Exact,
            Accepted::Exact
        ]
    );
}

#[test]
fn a_float_that_is_added_up_bounds_only_itself() {
    let [out, other] = check(8, |k, out, other, _| {
        let pid = k.program_id(0);
        let value = k.cast(pid, DType::F32);
        let tenth = build_float(k, 0.1);
        let value = k.mul(value, tenth);
        build_atomic(k, AtomicOp::Add, out, value);
        let one = k.add_int(1);
        build_atomic(k, AtomicOp::Add, other, one);
    });
    assert!(
        matches!(out[0], Accepted::Within { low, high, .. } if low < 12.8 && 12.8 < high && high - low < 1e-3),
        "{out:?}"
    );
    assert_eq!(out[1..], [Accepted::Exact; 3]);
    assert_eq!(other, EXACT);
}
