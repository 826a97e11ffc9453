//! The last program to arrive adds up what all have left: what has to stand between its parts.

use cerith_interp::{LaunchOutcome, ParamValue, TrapKind};
use cerith_memory::Memory;
use cerith_tile::DType;
use cerith_tile::ir::{
    AtomicOp, BinaryOp, CmpPredicate, Combine, Function, MemoryOrder, OpKind, Type, ValueId,
};

use super::trap;
use crate::kernels::{I32, Kernel, World, launch};

const TEXT: &str = "tl.store(part + pid * 8 + i, i)\ntl.atomic_add(counter, 1)\ntl.load(part + i)\n";

#[derive(Clone, Copy)]
struct Last {
    order: MemoryOrder,
    barrier: bool,
    /// Whether the last program depends on the atomic's result, so that all its threads wait for it.
    used: bool,
}

const PROPER: Last = Last {
    order: MemoryOrder::AcquireRelease,
    barrier: true,
    used: true,
};

fn count(k: &mut Kernel, counter: ValueId, order: MemoryOrder) -> ValueId {
    let one = k.add_int(1);
    let kind = OpKind::AtomicRmw {
        op: AtomicOp::Add,
        mask: false,
        order,
    };
    k.set_location("tl.atomic_add(counter, 1)")
        .b
        .add_op(kind, &[counter, one], Type::scalar(I32))
}

fn build_kernel(last: Last) -> Function {
    let mut k = Kernel::new(TEXT);
    let [part, counter, out] = ["part", "counter", "out"].map(|name| k.add_pointer_param(name, DType::I32));
    let pid = k.program_id(0);
    let i = k.arange(8);
    let eight = k.add_int(8);
    let first = k.mul(pid, eight);
    let own = k.offset_pointer(part, first);
    let own = k.offset_pointer(own, i);
    k.set_location("tl.store(part + pid * 8 + i, i)")
        .store(own, i, None);
    if last.barrier {
        k.b.add_effect(OpKind::Barrier, &[]);
    }
    let arrived = count(&mut k, counter, last.order);
    let three = k.add_int(3);
    let arrived = if last.used { arrived } else { pid };
    let is_last = k.compare(CmpPredicate::Eq, arrived, three);
    k.b.open_block(&[]);
    let all = k.arange(32);
    let p = k.offset_pointer(part, all);
    let values = k.set_location("tl.load(part + i)").load(p, None, None);
    let sum = k.reduce(values, 0, Combine::Add, BinaryOp::Add);
    k.store(out, sum, None);
    let zero = k.add_int(0);
    k.store(counter, zero, None);
    let then_block = k.b.close_block(&[]);
    k.b.open_block(&[]);
    let else_block = k.b.close_block(&[]);
    let kind = OpKind::If {
        then_block,
        else_block,
    };
    k.b.add_effect(kind, &[is_last]);
    k.finish()
}

fn build_world() -> (Memory, Vec<ParamValue>) {
    let mut world = World::default();
    world.add_ints("part", &[-1; 32]);
    world.add_ints("counter", &[0]);
    world.add_ints("out", &[0]);
    world.finish()
}

#[track_caller]
fn expect_race(last: Last) -> String {
    let (mut memory, args) = build_world();
    trap(TrapKind::Race, &build_kernel(last), [4, 1, 1], &args, &mut memory)
}

#[test]
fn the_last_to_arrive_with_all_that_it_takes() {
    let (mut memory, args) = build_world();
    let outcome = launch(&build_kernel(PROPER), [4, 1, 1], &args, &mut memory);
    assert!(matches!(outcome, LaunchOutcome::Finished(_)), "{outcome:?}");
    assert_eq!(crate::kernels::read_ints(&memory, 2), [4 * 28]);
}

#[test]
fn without_a_barrier_only_one_thread_is_released() {
    let last = Last {
        barrier: false,
        ..PROPER
    };
    insta::assert_snapshot!(expect_race(last));
}

#[test]
fn an_atomic_that_hands_nothing_on_or_takes_nothing_over() {
    for order in [MemoryOrder::Relaxed, MemoryOrder::Acquire, MemoryOrder::Release] {
        expect_race(Last { order, ..PROPER });
    }
}

#[test]
fn only_the_result_makes_all_threads_wait() {
    expect_race(Last {
        used: false,
        ..PROPER
    });
}
