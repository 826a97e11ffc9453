use cerith_interp::{LaunchOutcome, ParamValue, TrapKind};
use cerith_memory::Memory;
use cerith_tile::DType;
use cerith_tile::ir::{AtomicOp, Function, OpKind, Type, ValueId};

use super::{launch_twice, trap};
use crate::kernels::{self, I32, Kernel, World};

const TEXT: &str = "\
pid = tl.program_id(0)
tl.store(out_ptr, pid)
x = tl.load(out_ptr + pid - 1)
tl.atomic_add(out_ptr, 1)
";

fn build_world(count: usize) -> (Memory, Vec<ParamValue>) {
    let mut world = World::default();
    world.add_ints("out", &vec![0; count]);
    world.finish()
}

/// One in which no program writes what is there.
fn build_marked(count: usize) -> (Memory, Vec<ParamValue>) {
    let mut world = World::default();
    world.add_ints("out", &vec![-1; count]);
    world.finish()
}

fn build_kernel(body: impl FnOnce(&mut Kernel, ValueId, ValueId)) -> Function {
    let mut k = Kernel::new(TEXT);
    let out = k.add_pointer_param("out_ptr", DType::I32);
    let pid = k.set_location("tl.program_id(0)").program_id(0);
    body(&mut k, out, pid);
    k.finish()
}

fn atomic_add(k: &mut Kernel, pointer: ValueId, value: ValueId) -> ValueId {
    let kind = OpKind::AtomicRmw {
        op: AtomicOp::Add,
        mask: false,
        order: cerith_tile::ir::MemoryOrder::AcquireRelease,
    };
    k.set_location("tl.atomic_add(out_ptr, 1)")
        .b
        .add_op(kind, &[pointer, value], Type::scalar(I32))
}

#[test]
fn two_programs_write_differently() {
    let function = build_kernel(|k, out, pid| k.set_location("tl.store(out_ptr, pid)").store(out, pid, None));
    let (mut memory, args) = build_marked(4);
    insta::assert_snapshot!(trap(TrapKind::Race, &function, [3, 2, 1], &args, &mut memory), @r"
    error[race]: store of bytes that program (0, 0, 0) writes another value to
     --> kernel.py:2:1
      |
    2 | tl.store(out_ptr, pid)
      | ^^^^^^^^^^^^^^^^^^^^^^ in program (1, 0, 0)
      |
      = note: they are at byte 0 of storage `out`, in `out[0]`
      = note: programs of a launch run in any order, or at once
      = note: program (0, 0, 0) writes them in the same operation
      = help: let each program own what it writes, or use atomics
    ");
}

#[test]
fn a_race_is_found_in_every_launch() {
    let function = build_kernel(|k, out, pid| k.set_location("tl.store(out_ptr, pid)").store(out, pid, None));
    let (memory, args) = build_world(4);
    let [first, second] = launch_twice(&function, [3, 1, 1], &args, &memory);
    assert_eq!(first, second);
    assert!(matches!(first, LaunchOutcome::Trapped(_)));
}

#[test]
fn a_launch_does_not_race_with_the_one_before() {
    let function = build_kernel(|k, out, pid| {
        let p = k.offset_pointer(out, pid);
        let x = k.load(p, None, None);
        let x = k.add(x, pid);
        k.store(p, x, None);
    });
    let (memory, args) = build_world(4);
    for outcome in launch_twice(&function, [4, 1, 1], &args, &memory) {
        assert!(matches!(outcome, LaunchOutcome::Finished(_)), "{outcome:?}");
    }
}

#[test]
fn programs_may_write_the_same() {
    let function = build_kernel(|k, out, _| {
        let one = k.add_int(1);
        k.store(out, one, None);
    });
    let (mut memory, args) = build_world(1);
    kernels::finish(&function, [8, 1, 1], &args, &mut memory);
    assert_eq!(kernels::read_ints(&memory, 0), [1]);
}

#[test]
fn programs_may_write_the_same_more_than_once() {
    let function = build_kernel(|k, out, _| {
        let one = k.add_int(1);
        k.store(out, one, None);
        k.store(out, one, None);
    });
    let (mut memory, args) = build_world(1);
    kernels::finish(&function, [3, 1, 1], &args, &mut memory);
    assert_eq!(kernels::read_ints(&memory, 0), [1]);
    // A block works too, if memory already holds the values of some of its elements.
    let function = build_kernel(|k, out, _| {
        let i = k.arange(8);
        let p = k.offset_pointer(out, i);
        k.store(p, i, None);
        k.store(p, i, None);
    });
    let (mut memory, args) = build_world(8);
    kernels::finish(&function, [3, 1, 1], &args, &mut memory);
}

#[test]
fn a_later_program_reads_what_an_earlier_wrote() {
    let function = build_kernel(|k, out, pid| {
        let p = k.offset_pointer(out, pid);
        k.set_location("tl.store(out_ptr, pid)").store(p, pid, None);
        let before = k.add_int(-1);
        let p = k.offset_pointer(p, before);
        let zero = k.add_int(0);
        let inside = k.compare(cerith_tile::ir::CmpPredicate::Gt, pid, zero);
        k.set_location("tl.load(out_ptr + pid - 1)")
            .load(p, Some(inside), None);
    });
    let (mut memory, args) = build_marked(4);
    insta::assert_snapshot!(trap(TrapKind::Race, &function, [4, 1, 1], &args, &mut memory), @r"
    error[race]: load of bytes that program (0, 0, 0) writes
     --> kernel.py:3:5
      |
    2 | tl.store(out_ptr, pid)
      | ---------------------- program (0, 0, 0) writes them here
    3 | x = tl.load(out_ptr + pid - 1)
      |     ^^^^^^^^^^^^^^^^^^^^^^^^^^ in program (1, 0, 0)
      |
      = note: they are at byte 0 of storage `out`, in `out[0]`
      = note: programs of a launch run in any order, or at once
      = help: let each program own what it writes, or use atomics
    ");
}

#[test]
fn a_program_stores_what_is_there() {
    // Every load finds the same value, before or after the store.
    let body = |k: &mut Kernel, out: ValueId| {
        let i = k.arange(8);
        let p = k.offset_pointer(out, i);
        let v = k.load(p, None, None);
        k.store(p, v, None);
    };
    let function = build_kernel(|k, out, _| body(k, out));
    let (mut memory, args) = build_marked(8);
    kernels::finish(&function, [4, 1, 1], &args, &mut memory);
    let function = build_kernel(|k, out, pid| {
        body(k, out);
        k.store(out, pid, None);
    });
    trap(TrapKind::Race, &function, [4, 1, 1], &args, &mut memory);
}

#[test]
fn a_later_program_writes_what_an_earlier_read() {
    let function = build_kernel(|k, out, pid| {
        k.load(out, None, None);
        let one = k.add_int(1);
        let last = k.compare(cerith_tile::ir::CmpPredicate::Eq, pid, one);
        k.set_location("tl.store(out_ptr, pid)")
            .store(out, one, Some(last));
    });
    let (mut memory, args) = build_world(4);
    insta::assert_snapshot!(trap(TrapKind::Race, &function, [2, 1, 1], &args, &mut memory), @r"
    error[race]: store of bytes that program (0, 0, 0) reads
     --> kernel.py:2:1
      |
    1 | pid = tl.program_id(0)
      |       ---------------- program (0, 0, 0) reads them here
    2 | tl.store(out_ptr, pid)
      | ^^^^^^^^^^^^^^^^^^^^^^ in program (1, 0, 0)
      |
      = note: they are at byte 0 of storage `out`, in `out[0]`
      = note: programs of a launch run in any order, or at once
      = help: let each program own what it writes, or use atomics
    ");
}

#[test]
fn neighbouring_bytes_are_not_shared() {
    let mut k = Kernel::new("");
    let out = k.add_pointer_param("out", DType::I8);
    let pid = k.program_id(0);
    let p = k.offset_pointer(out, pid);
    let x = k.load(p, None, None);
    let narrow = k.cast(pid, DType::I8);
    let x = k.add(x, narrow);
    k.store(p, x, None);
    let function = k.finish();
    let mut world = World::default();
    world.tensor("out", DType::I8, 100, Some(&[1; 100]));
    let (mut memory, args) = world.finish();
    kernels::finish(&function, [100, 1, 1], &args, &mut memory);
    let expected: Vec<u8> = (1..=100).collect();
    assert_eq!(memory.bytes(cerith_memory::StorageId(0)), expected);
}

#[test]
fn atomics_do_not_race() {
    let function = build_kernel(|k, out, _| {
        let one = k.add_int(1);
        atomic_add(k, out, one);
    });
    let (mut memory, args) = build_world(1);
    let outcome = kernels::launch(&function, [8, 1, 1], &args, &mut memory);
    let LaunchOutcome::Finished(finished) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(!finished.stats.order_dependent);
    assert_eq!(kernels::read_ints(&memory, 0), [8]);
}

#[test]
fn what_an_atomic_returned_depends_on_the_order() {
    let function = build_kernel(|k, out, pid| {
        let one = k.add_int(1);
        let ticket = atomic_add(k, out, one);
        let next = k.add(pid, one);
        let p = k.offset_pointer(out, next);
        k.store(p, ticket, None);
    });
    let (mut memory, args) = build_world(9);
    let outcome = kernels::launch(&function, [8, 1, 1], &args, &mut memory);
    let LaunchOutcome::Finished(finished) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(finished.stats.order_dependent);
}

#[test]
fn an_atomic_hides_the_same_programs_store_before_it() {
    // Missed by design: what an atomic touched is not known to be stored plainly before.
    let function = build_kernel(|k, out, pid| {
        let (zero, one) = (k.add_int(0), k.add_int(1));
        let first = k.compare(cerith_tile::ir::CmpPredicate::Eq, pid, zero);
        k.store(out, one, Some(first));
        atomic_add(k, out, one);
    });
    let (mut memory, args) = build_world(1);
    kernels::finish(&function, [2, 1, 1], &args, &mut memory);
}

#[test]
fn a_program_whose_atomic_met_another_comes_after_it() {
    let function = build_kernel(|k, out, pid| {
        let one = k.add_int(1);
        atomic_add(k, out, one);
        let last = k.compare(cerith_tile::ir::CmpPredicate::Eq, pid, one);
        k.store(out, pid, Some(last));
    });
    let (mut memory, args) = build_world(1);
    kernels::finish(&function, [2, 1, 1], &args, &mut memory);
}

#[test]
fn a_plain_store_races_with_an_atomic() {
    let function = build_kernel(|k, out, pid| {
        let (zero, one) = (k.add_int(0), k.add_int(1));
        let first = k.compare(cerith_tile::ir::CmpPredicate::Eq, pid, zero);
        k.b.open_block(&[]);
        atomic_add(k, out, one);
        let then_block = k.b.close_block(&[]);
        k.b.open_block(&[]);
        k.set_location("tl.store(out_ptr, pid)").store(out, pid, None);
        let else_block = k.b.close_block(&[]);
        k.b.add_effect(
            OpKind::If {
                then_block,
                else_block,
            },
            &[first],
        );
    });
    let (mut memory, args) = build_world(1);
    insta::assert_snapshot!(trap(TrapKind::Race, &function, [2, 1, 1], &args, &mut memory), @r"
    error[race]: store of bytes that program (0, 0, 0) atomically updates
     --> kernel.py:2:1
      |
    2 | tl.store(out_ptr, pid)
      | ^^^^^^^^^^^^^^^^^^^^^^ in program (1, 0, 0)
    3 | x = tl.load(out_ptr + pid - 1)
    4 | tl.atomic_add(out_ptr, 1)
      | ------------------------- program (0, 0, 0) updates them here
      |
      = note: they are at byte 0 of storage `out`, in `out[0]`
      = note: programs of a launch run in any order, or at once
      = help: let each program own what it writes, or use atomics
    ");
}

#[test]
fn the_last_to_arrive_may_read_what_all_wrote() {
    // out[1 + pid] = pid; if atomic_add(out, 1) == n - 1: read all.
    let function = build_kernel(|k, out, pid| {
        let one = k.add_int(1);
        let next = k.add(pid, one);
        let p = k.offset_pointer(out, next);
        k.store(p, pid, None);
        let ticket = atomic_add(k, out, one);
        let three = k.add_int(3);
        let last = k.compare(cerith_tile::ir::CmpPredicate::Eq, ticket, three);
        k.b.open_block(&[]);
        let range = k.arange(4);
        let all = k.offset_pointer(out, range);
        let one_block = k.add_full(DType::I32, 1, &[4]);
        let all = k.apply_op(OpKind::AddPtr, &[all, one_block]);
        let values = k.load(all, None, None);
        let sum = k.reduce(
            values,
            0,
            cerith_tile::ir::Combine::Add,
            cerith_tile::ir::BinaryOp::Add,
        );
        let five = k.add_int(5);
        let p = k.offset_pointer(out, five);
        k.store(p, sum, None);
        let then_block = k.b.close_block(&[]);
        k.b.open_block(&[]);
        let else_block = k.b.close_block(&[]);
        k.b.add_effect(
            OpKind::If {
                then_block,
                else_block,
            },
            &[last],
        );
    });
    let (mut memory, args) = build_world(6);
    kernels::finish(&function, [4, 1, 1], &args, &mut memory);
    assert_eq!(kernels::read_ints(&memory, 0), [4, 0, 1, 2, 3, 6]);
}
