use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CmpPredicate, OpKind, Type};

use super::{build_number, run_lanes};
use crate::kernels::{self, I32, Kernel, World};

#[test]
fn a_loop_carries_values_and_swaps_them() {
    // a, b = b, a + b; ten times.
    let got = run_lanes(|k| {
        let (zero, one, ten) = (k.add_int(0), k.add_int(1), k.add_int(10));
        let ty = Type::scalar(I32);
        let [i, a, b] = [0; 3].map(|_| k.b.add_value(ty.clone()));
        k.b.open_block(&[i, a, b]);
        let sum = k.add(a, b);
        let body = k.b.close_block(&[b, sum]);
        let results = k.b.op_multi(
            OpKind::For { body },
            &[zero, ten, one, zero, one],
            &[ty.clone(), ty],
        );
        results[0]
    });
    assert_eq!(got, [55]);
}

#[test]
fn a_loop_of_blocks_yields_one_value_twice() {
    let got = run_lanes(|k| {
        let (zero, one, three) = (k.add_int(0), k.add_int(1), k.add_int(3));
        let x = k.arange(4);
        let ty = k.b.ty(x).clone();
        let i = k.b.add_value(Type::scalar(I32));
        let [a, b] = [0; 2].map(|_| k.b.add_value(ty.clone()));
        k.b.open_block(&[i, a, b]);
        let sum = k.add_binary(BinaryOp::Xor, a, i);
        let sum = k.add(sum, b);
        let body = k.b.close_block(&[sum, sum]);
        let results =
            k.b.op_multi(OpKind::For { body }, &[zero, three, one, x, x], &[ty.clone(), ty]);
        k.add(results[0], results[1])
    });
    let by_hand: Vec<i32> = (0..4)
        .map(|x| {
            let (mut a, mut b) = (x, x);
            for i in 0..3 {
                (a, b) = ((a ^ i) + b, (a ^ i) + b);
            }
            a + b
        })
        .collect();
    assert_eq!(got, by_hand);
}

#[test]
fn a_loop_that_never_runs_gives_what_it_was_given() {
    let got = run_lanes(|k| {
        let (zero, one, five) = (k.add_int(0), k.add_int(1), k.add_int(5));
        let ty = Type::scalar(I32);
        let [i, a] = [0; 2].map(|_| k.b.add_value(ty.clone()));
        k.b.open_block(&[i, a]);
        let body = k.b.close_block(&[i]);
        k.b.add_op(OpKind::For { body }, &[five, zero, one, five], ty)
    });
    assert_eq!(got, [5]);
}

#[test]
fn the_last_step_may_overshoot() {
    // range(0, 2**31 - 1, 2**30): 0 and 2**30; the next would not fit in 32 bits.
    let got = run_lanes(|k| {
        let (zero, end, step) = (k.add_int(0), k.add_int(i32::MAX), k.add_int(1 << 30));
        let ty = Type::scalar(I32);
        let [i, count] = [0; 2].map(|_| k.b.add_value(ty.clone()));
        k.b.open_block(&[i, count]);
        let one = k.add_int(1);
        let next = k.add(count, one);
        let body = k.b.close_block(&[next]);
        k.b.add_op(OpKind::For { body }, &[zero, end, step, zero], ty)
    });
    assert_eq!(got, [2]);
}

#[test]
fn while_counts_collatz_steps() {
    let mut k = Kernel::new("kernel\n");
    let out = k.add_pointer_param("out", DType::I32);
    let n = k.add_number_param("n", DType::I32);
    let ty = Type::scalar(I32);
    let [value, count, passed_value, passed_count] = [0; 4].map(|_| k.b.add_value(ty.clone()));
    let (zero, one, two, three) = (k.add_int(0), k.add_int(1), k.add_int(2), k.add_int(3));
    k.b.open_block(&[value, count]);
    let more = k.compare(CmpPredicate::Ne, value, one);
    let before = k.b.close_block(&[more, value, count]);
    k.b.open_block(&[passed_value, passed_count]);
    let odd = k.add_binary(BinaryOp::And, passed_value, one);
    let odd = k.compare(CmpPredicate::Eq, odd, one);
    k.b.open_block(&[]);
    let tripled = k.mul(passed_value, three);
    let tripled = k.add(tripled, one);
    let then_block = k.b.close_block(&[tripled]);
    k.b.open_block(&[]);
    let halved = k.add_binary(BinaryOp::IntDiv, passed_value, two);
    let else_block = k.b.close_block(&[halved]);
    let next = k.b.add_op(
        OpKind::If {
            then_block,
            else_block,
        },
        &[odd],
        ty.clone(),
    );
    let counted = k.add(passed_count, one);
    let after = k.b.close_block(&[next, counted]);
    let results =
        k.b.op_multi(OpKind::While { before, after }, &[n, zero], &[ty.clone(), ty]);
    k.store(out, results[1], None);
    let mut world = World::default();
    world.add_ints("out", &[0]);
    let (mut memory, mut args) = world.finish();
    args.push(build_number(27));
    kernels::finish(&k.finish(), [1, 1, 1], &args, &mut memory);
    assert_eq!(kernels::read_ints(&memory, 0), [111]);
}

#[test]
fn programs_know_where_they_are() {
    let mut k = Kernel::new("kernel\n");
    let out = k.add_pointer_param("out", DType::I32);
    let [x, y, z] = [0, 1, 2].map(|axis| k.program_id(axis));
    let [nx, ny] = [0, 1].map(|axis| k.b.add_op(OpKind::NumPrograms(axis), &[], Type::scalar(I32)));
    let plane = k.mul(z, ny);
    let row = k.add(plane, y);
    let row = k.mul(row, nx);
    let at = k.add(row, x);
    let place = k.offset_pointer(out, at);
    let (ten, hundred) = (k.add_int(10), k.add_int(100));
    let (y, z) = (k.mul(y, ten), k.mul(z, hundred));
    let value = k.add(x, y);
    let value = k.add(value, z);
    k.store(place, value, None);
    let mut world = World::default();
    world.add_ints("out", &[0; 12]);
    let (mut memory, args) = world.finish();
    kernels::finish(&k.finish(), [2, 3, 2], &args, &mut memory);
    assert_eq!(
        kernels::read_ints(&memory, 0),
        [0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121]
    );
}
