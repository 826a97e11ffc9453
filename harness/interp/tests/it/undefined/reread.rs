//! A program that reads values that its other lanes wrote: they are only available after a barrier.

use cerith_interp::{Checks, Config, LaunchOutcome, ParamValue, Program, TrapKind};
use cerith_memory::Memory;
use cerith_tile::DType;
use cerith_tile::ir::{AtomicOp, Function, MemoryOrder, OpKind, Type, ValueId};

use super::trap;
use crate::kernels::{I32, Kernel, World, launch};

fn build_world() -> (Memory, Vec<ParamValue>) {
    let mut world = World::default();
    world.add_ints("out", &[9; 10]);
    world.finish()
}

/// `out[lane] = lane`, then `between`, then `out[lane ^ turn]` is read.
fn build_kernel(turn: i32, between: impl FnOnce(&mut Kernel, ValueId)) -> Function {
    let mut k = Kernel::new("tl.store(out + lane, lane)\nx = tl.load(out + (lane ^ turn))\n");
    let out = k.add_pointer_param("out", DType::I32);
    let lane = k.arange(8);
    let p = k.offset_pointer(out, lane);
    k.set_location("tl.store(out + lane, lane)").store(p, lane, None);
    between(&mut k, out);
    let turn = k.add_int(turn);
    let other = k.add_binary(cerith_tile::ir::BinaryOp::Xor, lane, turn);
    let p = k.offset_pointer(out, other);
    k.set_location("tl.load(out + (lane ^ turn))").load(p, None, None);
    k.finish()
}

#[test]
fn a_lane_reads_what_another_wrote() {
    let (mut memory, args) = build_world();
    let function = build_kernel(1, |_, _| {});
    insta::assert_snapshot!(trap(TrapKind::UnorderedRead, &function, [1, 1, 1], &args, &mut memory), @r"
    error[unordered-read]: load of bytes that lane 1 of the same program wrote, with no barrier between
     --> kernel.py:2:5
      |
    1 | tl.store(out + lane, lane)
      | -------------------------- written here
    2 | x = tl.load(out + (lane ^ turn))
      |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ in program (0, 0, 0), lane 0
      |
      = note: they are at byte 4 of storage `out`, in `out[1]`
      = note: the lanes of a program run at once, on threads that do not wait for each other
      = help: put `tl.debug_barrier()` between the store and the load, or keep the value in a variable
    ");
}

#[track_caller]
fn check_finishes(function: &Function) {
    let (mut memory, args) = build_world();
    let outcome = launch(function, [1, 1, 1], &args, &mut memory);
    assert!(matches!(outcome, LaunchOutcome::Finished(_)), "{outcome:?}");
}

#[test]
fn a_lane_may_read_what_it_wrote_itself() {
    check_finishes(&build_kernel(0, |_, _| {}));
}

#[test]
fn a_barrier_orders_them() {
    check_finishes(&build_kernel(1, |k, _| k.b.add_effect(OpKind::Barrier, &[])));
}

fn build_atomic(k: &mut Kernel, out: ValueId, used: bool) {
    let zero = k.add_int(0);
    let kind = OpKind::AtomicRmw {
        op: AtomicOp::Add,
        mask: false,
        order: MemoryOrder::AcquireRelease,
    };
    // Beyond what the lanes access.
    let eight = k.add_int(8);
    let p = k.offset_pointer(out, eight);
    let old = k.b.add_op(kind, &[p, zero], Type::scalar(I32));
    if used {
        let nine = k.add_int(9);
        let p = k.offset_pointer(out, nine);
        k.store(p, old, None);
    }
}

#[test]
fn an_atomic_whose_result_all_threads_wait_for_orders_them() {
    check_finishes(&build_kernel(1, |k, out| build_atomic(k, out, true)));
    let (mut memory, args) = build_world();
    let function = build_kernel(1, |k, out| build_atomic(k, out, false));
    trap(TrapKind::UnorderedRead, &function, [1, 1, 1], &args, &mut memory);
}

#[test]
fn an_atomic_exchange_if_equal_orders_them() {
    check_finishes(&build_kernel(1, |k, out| {
        let (zero, eight) = (k.add_int(0), k.add_int(8));
        let p = k.offset_pointer(out, eight);
        let kind = OpKind::AtomicCas {
            order: MemoryOrder::Relaxed,
        };
        k.b.add_op(kind, &[p, zero, zero], Type::scalar(I32));
    }));
}

#[test]
fn fast_checks_do_not_look() {
    let (mut memory, args) = build_world();
    let config = Config {
        checks: Checks::Fast,
        ..Config::default()
    };
    let program = Program::prepare(build_kernel(1, |_, _| {})).expect("verified");
    let outcome = program
        .launch([1, 1, 1], &args, &mut memory, &config)
        .expect("no bug of ours");
    assert!(matches!(outcome, LaunchOutcome::Finished(_)), "{outcome:?}");
}
