//! Races inside one program: accesses of different lanes to one address without a barrier between them. The compiler may assign
//! the lanes to different threads.

use cerith_interp::{LaunchOutcome, ParamValue, TrapKind};
use cerith_memory::Memory;
use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Combine, Function, OpKind, ValueId};

use super::trap;
use crate::kernels::{Kernel, World, launch};

const TEXT: &str =
    "v = tl.load(x + i)\ntl.store(x + i, v)\ntl.store(x + N - 1 - i, v)\ntl.load(x + i * one + j * N)\n";

fn build_world(count: usize) -> (Memory, Vec<ParamValue>) {
    let mut world = World::default();
    world.add_ints("x", &(0..count as i32).collect::<Vec<_>>());
    world.finish()
}

/// A kernel with the lanes `0..64`, and the same lanes in reverse order.
fn build_kernel(body: impl FnOnce(&mut Kernel, ValueId, ValueId, ValueId)) -> Function {
    let mut k = Kernel::new(TEXT);
    let x = k.add_pointer_param("x", DType::I32);
    let i = k.arange(64);
    let last = k.add_full(DType::I32, 63, &[64]);
    let reversed = k.add_binary(BinaryOp::Sub, last, i);
    let (there, back) = (k.offset_pointer(x, i), k.offset_pointer(x, reversed));
    body(&mut k, x, there, back);
    k.finish()
}

fn emit_barrier(k: &mut Kernel) {
    k.b.add_effect(OpKind::Barrier, &[]);
}

#[track_caller]
fn expect_trap(kind: TrapKind, function: &Function) -> String {
    let (mut memory, args) = build_world(64);
    trap(kind, function, [1, 1, 1], &args, &mut memory)
}

#[track_caller]
fn check_finishes(function: &Function) {
    let (mut memory, args) = build_world(64);
    let outcome = launch(function, [1, 1, 1], &args, &mut memory);
    assert!(matches!(outcome, LaunchOutcome::Finished(_)), "{outcome:?}");
}

#[test]
fn two_stores_of_other_lanes() {
    for ordered in [false, true] {
        let function = build_kernel(|k, _, there, back| {
            let v = k.add_full(DType::I32, 1, &[64]);
            let i = k.arange(64);
            k.set_location("tl.store(x + i, v)").store(there, v, None);
            if ordered {
                emit_barrier(k);
            }
            k.set_location("tl.store(x + N - 1 - i, v)").store(back, i, None);
        });
        if ordered {
            check_finishes(&function);
        } else {
            insta::assert_snapshot!(expect_trap(TrapKind::UnorderedWrite, &function));
        }
    }
}

#[test]
fn a_store_of_what_is_there_and_another() {
    // The order of the two stores is still undefined.
    expect_trap(
        TrapKind::UnorderedWrite,
        &build_kernel(|k, _, there, back| {
            let i = k.arange(64);
            k.store(there, i, None);
            k.store(back, i, None);
        }),
    );
}

/// Two lanes store to each row: `arange(0, 64) % 32`. Lanes that store equal values do not race. The first store makes the
/// interpreter watch the program.
#[test]
fn lanes_of_a_store_that_leave_the_same() {
    for same in [true, false] {
        let function = build_kernel(|k, x, there, _| {
            let i = k.arange(64);
            let half = k.add_full(DType::I32, 32, &[64]);
            let row = k.add_binary(BinaryOp::Rem, i, half);
            let wrapped = k.offset_pointer(x, row);
            let seven = k.add_full(DType::I32, 7, &[64]);
            k.set_location("tl.store(x + i, v)").store(wrapped, seven, None);
            emit_barrier(k);
            let value = if same { row } else { i };
            k.set_location("tl.store(x + N - 1 - i, v)")
                .store(wrapped, value, None);
            emit_barrier(k);
            k.set_location("v = tl.load(x + i)").load(there, None, None);
        });
        if same {
            check_finishes(&function);
        } else {
            expect_trap(TrapKind::ConflictingLanes, &function);
        }
    }
}

#[test]
fn two_stores_of_one_value() {
    check_finishes(&build_kernel(|k, _, there, back| {
        let v = k.add_full(DType::I32, 1, &[64]);
        k.store(there, v, None);
        k.store(back, v, None);
    }));
}

#[test]
fn a_reversal_in_place() {
    for ordered in [false, true] {
        let function = build_kernel(|k, _, there, back| {
            let v = k.set_location("tl.load(x + i)").load(there, None, None);
            if ordered {
                emit_barrier(k);
            }
            k.set_location("tl.store(x + N - 1 - i, v)").store(back, v, None);
        });
        if ordered {
            check_finishes(&function);
        } else {
            insta::assert_snapshot!(expect_trap(TrapKind::UnorderedWrite, &function));
        }
    }
}

#[test]
fn an_update_in_place() {
    check_finishes(&build_kernel(|k, _, there, _| {
        let v = k.load(there, None, None);
        let v = k.add(v, v);
        k.store(there, v, None);
        let v = k.load(there, None, None);
        k.store(there, v, None);
    }));
}

#[test]
fn a_store_that_needs_all_that_was_loaded() {
    for needs in [false, true] {
        let function = build_kernel(|k, _, there, back| {
            let v = k.load(there, None, None);
            let sum = k.reduce(v, 0, Combine::Add, BinaryOp::Add);
            let sum = k.spread(sum, &[64]);
            let stored = if needs { k.add(v, sum) } else { v };
            k.store(back, stored, None);
        });
        if needs {
            check_finishes(&function);
        } else {
            expect_trap(TrapKind::UnorderedWrite, &function);
        }
    }
}

#[test]
fn a_store_of_what_is_there() {
    check_finishes(&build_kernel(|k, x, there, back| {
        let v = k.load(back, None, None);
        let i = k.arange(64);
        k.store(there, i, None);
        let one = k.add_int(1);
        let _ = (v, k.offset_pointer(x, one));
    }));
}

#[test]
fn a_scalar_is_updated_in_place() {
    check_finishes(&build_kernel(|k, x, _, _| {
        let one = k.add_int(1);
        for _ in 0..2 {
            let v = k.load(x, None, None);
            let v = k.add(v, one);
            k.store(x, v, None);
        }
    }));
}

#[test]
fn a_scalar_that_other_threads_load_too() {
    // Every thread loads the first element. The thread of lane 0 may have stored to it before.
    expect_trap(
        TrapKind::UnorderedWrite,
        &build_kernel(|k, x, there, _| {
            let v = k.load(x, None, None);
            let one = k.add_full(DType::I32, 1, &[64]);
            let v = k.spread(v, &[64]);
            let v = k.add(v, one);
            k.store(there, v, None);
        }),
    );
}

#[test]
fn the_same_lane_of_another_layout() {
    let mut k = Kernel::new(TEXT);
    let x = k.add_pointer_param("x", DType::I32);
    let open = k.load(x, None, None);
    let lanes = k.arange(32);
    let (i, j) = (k.expand_column(lanes), k.expand_row(lanes));
    let (i, j) = (k.spread(i, &[32, 32]), k.spread(j, &[32, 32]));
    let width = k.add_full(DType::I32, 32, &[32, 32]);
    let columns = k.mul(j, width);
    let at = k.add(columns, i);
    let p = k.offset_pointer(x, at);
    let value = k.add(at, width);
    let mask = k.compare(cerith_tile::ir::CmpPredicate::Gt, at, width);
    k.set_location("tl.store(x + i, v)").store(p, value, Some(mask));
    let open = k.spread(open, &[32, 32]);
    let moved = k.mul(i, open);
    let at = k.add(columns, moved);
    let p = k.offset_pointer(x, at);
    k.set_location("tl.load(x + i * one + j * N)")
        .load(p, Some(mask), None);
    let mut world = World::default();
    world.add_ints("x", &[1; 32 * 32]);
    let (mut memory, args) = world.finish();
    insta::assert_snapshot!(trap(
        TrapKind::UnorderedRead,
        &k.finish(),
        [1, 1, 1],
        &args,
        &mut memory
    ));
}
