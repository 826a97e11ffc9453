use cerith_interp::LaunchOutcome;
use cerith_memory::StorageId;
use cerith_tile::DType;
use cerith_tile::ir::{AtomicOp, BinaryOp, CmpPredicate, OpKind, Type};

use crate::kernels::{self, I32, Kernel, World};

#[test]
fn strided_matrices_in_every_direction() {
    // out[i, j] = x[i, j] + 1 through strides of all signs, against a plain loop.
    for (stride_0, stride_1, start) in [
        (8, 1, 0),
        (1, 8, 0),
        (16, 2, 0),
        (-8, 1, 56),
        (8, -1, 7),
        (-1, -8, 63),
    ] {
        let mut k = Kernel::new(kernels::ADD_ONE);
        let ptr = k.add_pointer_param("ptr", DType::F32);
        let (i, j) = (k.arange(4), k.arange(4));
        let (i, j) = (k.expand_column(i), k.expand_row(j));
        let [s0, s1, start_value] = [stride_0, stride_1, start].map(|n| k.add_int(n));
        let (down, right) = (k.mul(i, s0), k.mul(j, s1));
        let index = k.add(down, right);
        let index = k.add(index, start_value);
        let p = k.offset_pointer(ptr, index);
        let x = k.load(p, None, None);
        let one = k.add_full(DType::F32, u64::from(1f32.to_bits()), &[4, 4]);
        let x = k.add(x, one);
        k.store(p, x, None);
        let mut expected: Vec<f32> = (0..64).map(|i| i as f32 * 0.5).collect();
        let mut world = World::default();
        world.add_floats("x", &expected);
        let (mut memory, args) = world.finish();
        kernels::finish(&k.finish(), [1, 1, 1], &args, &mut memory);
        for i in 0..4 {
            for j in 0..4 {
                expected[(start + i * stride_0 + j * stride_1) as usize] += 1.0;
            }
        }
        assert_eq!(
            kernels::read_floats(&memory, 0),
            expected,
            "{stride_0}, {stride_1}"
        );
    }
}

#[test]
fn masks_that_are_boxes_and_masks_that_are_not() {
    for odd_only in [false, true] {
        let mut world = World::default();
        world.add_floats("x", &[1.0; 64]);
        let (mut memory, args) = world.finish();
        let mut k = Kernel::new("kernel\n");
        let ptr = k.add_pointer_param("x", DType::F32);
        let (i, j) = (k.arange(8), k.arange(8));
        let (i, j) = (k.expand_column(i), k.expand_row(j));
        let (eight, five, two, one) = (k.add_int(8), k.add_int(5), k.add_int(2), k.add_int(1));
        let down = k.mul(i, eight);
        let index = k.add(down, j);
        let p = k.offset_pointer(ptr, index);
        let (rows, columns) = (k.compare_less(i, five), k.compare(CmpPredicate::Ge, j, two));
        let mut mask = k.add_binary(BinaryOp::And, rows, columns);
        if odd_only {
            let odd = k.add_binary(BinaryOp::And, index, one);
            let odd = k.compare(CmpPredicate::Eq, odd, one);
            mask = k.add_binary(BinaryOp::And, mask, odd);
        }
        let nine = k.add_full(DType::F32, u64::from(9f32.to_bits()), &[8, 8]);
        let x = k.load(p, Some(mask), Some(nine));
        let x = k.add(x, nine);
        k.store(p, x, Some(mask));
        kernels::finish(&k.finish(), [1, 1, 1], &args, &mut memory);
        let expected: Vec<f32> = (0..64)
            .map(|l| {
                let active = l / 8 < 5 && l % 8 >= 2 && (!odd_only || l % 2 == 1);
                if active { 10.0 } else { 1.0 }
            })
            .collect();
        assert_eq!(kernels::read_floats(&memory, 0), expected);
    }
}

#[test]
fn other_stands_in_masked_off_lanes() {
    let mut k = Kernel::new("kernel\n");
    let (x, out) = (
        k.add_pointer_param("x", DType::I32),
        k.add_pointer_param("out", DType::I32),
    );
    let index = k.arange(4);
    let two = k.add_int(2);
    let mask = k.compare_less(index, two);
    let other = k.mul(index, two);
    let px = k.offset_pointer(x, index);
    let value = k.load(px, Some(mask), Some(other));
    let po = k.offset_pointer(out, index);
    k.store(po, value, None);
    let mut world = World::default();
    world.add_ints("x", &[7, 8]);
    world.add_ints("out", &[0; 4]);
    let (mut memory, args) = world.finish();
    kernels::finish(&k.finish(), [1, 1, 1], &args, &mut memory);
    assert_eq!(kernels::read_ints(&memory, 1), [7, 8, 4, 6]);
}

#[test]
fn any_byte_but_zero_is_true() {
    let mut k = Kernel::new("kernel\n");
    let (x, out) = (
        k.add_pointer_param("x", DType::I1),
        k.add_pointer_param("out", DType::I8),
    );
    let index = k.arange(4);
    let px = k.offset_pointer(x, index);
    let value = k.load(px, None, None);
    let value = k.cast(value, DType::I8);
    let po = k.offset_pointer(out, index);
    k.store(po, value, None);
    let mut world = World::default();
    world.tensor("x", DType::I1, 4, Some(&[0, 1, 2, 255]));
    world.tensor("out", DType::I8, 4, Some(&[9; 4]));
    let (mut memory, args) = world.finish();
    kernels::finish(&k.finish(), [1, 1, 1], &args, &mut memory);
    assert_eq!(memory.bytes(StorageId(1)), [0, 1, 1, 1]);
}

fn run_atomic(op: AtomicOp, before: i32, operand: i32) -> (i32, i32) {
    let mut k = Kernel::new("kernel\n");
    let (x, out) = (
        k.add_pointer_param("x", DType::I32),
        k.add_pointer_param("out", DType::I32),
    );
    let value = k.add_int(operand);
    let old = k.b.add_op(
        OpKind::AtomicRmw {
            op,
            mask: false,
            order: cerith_tile::ir::MemoryOrder::AcquireRelease,
        },
        &[x, value],
        Type::scalar(I32),
    );
    k.store(out, old, None);
    let mut world = World::default();
    world.add_ints("x", &[before]);
    world.add_ints("out", &[0]);
    let (mut memory, args) = world.finish();
    kernels::finish(&k.finish(), [1, 1, 1], &args, &mut memory);
    (
        kernels::read_ints(&memory, 0)[0],
        kernels::read_ints(&memory, 1)[0],
    )
}

#[test]
fn atomics_change_memory_and_return_what_was_there() {
    for (op, expected) in [
        (AtomicOp::Add, 9),
        (AtomicOp::And, 4),
        (AtomicOp::Or, 5),
        (AtomicOp::Xor, 1),
        (AtomicOp::Max, 5),
        (AtomicOp::Min, 4),
        (AtomicOp::Xchg, 4),
    ] {
        assert_eq!(run_atomic(op, 5, 4), (expected, 5), "{op:?}");
    }
    assert_eq!(run_atomic(AtomicOp::Max, -5, 4), (4, -5));
}

#[test]
fn lanes_of_an_atomic_add_up() {
    let mut k = Kernel::new("kernel\n");
    let x = k.add_pointer_param("x", DType::I32);
    let index = k.arange(16);
    let (three, ten) = (k.add_int(3), k.add_int(10));
    let bin = k.add_binary(BinaryOp::And, index, three);
    let mask = k.compare_less(index, ten);
    let p = k.offset_pointer(x, bin);
    let one = k.add_full(DType::I32, 1, &[16]);
    let ty = Type::block(I32, [16].as_slice());
    k.b.add_op(
        OpKind::AtomicRmw {
            op: AtomicOp::Add,
            mask: true,
            order: cerith_tile::ir::MemoryOrder::AcquireRelease,
        },
        &[p, one, mask],
        ty,
    );
    let mut world = World::default();
    world.add_ints("x", &[0; 4]);
    let (mut memory, args) = world.finish();
    let outcome = kernels::launch(&k.finish(), [2, 1, 1], &args, &mut memory);
    let LaunchOutcome::Finished(finished) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(!finished.stats.order_dependent);
    assert_eq!(kernels::read_ints(&memory, 0), [6, 6, 4, 4]);
}

#[test]
fn compare_and_swap_takes_turns() {
    let mut k = Kernel::new("kernel\n");
    let x = k.add_pointer_param("x", DType::I32);
    let pid = k.program_id(0);
    let one = k.add_int(1);
    let next = k.add(pid, one);
    k.b.add_op(
        OpKind::AtomicCas {
            order: cerith_tile::ir::MemoryOrder::AcquireRelease,
        },
        &[x, pid, next],
        Type::scalar(I32),
    );
    let mut world = World::default();
    world.add_ints("x", &[0]);
    let (mut memory, args) = world.finish();
    let outcome = kernels::launch(&k.finish(), [5, 1, 1], &args, &mut memory);
    let LaunchOutcome::Finished(finished) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(finished.stats.order_dependent);
    assert_eq!(kernels::read_ints(&memory, 0), [5]);
}
