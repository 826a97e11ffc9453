use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CmpPredicate, Combine, Elem, OpKind, Type, ValueId};

use super::run_lanes;
use crate::kernels::{I32, Kernel};

/// `x[i] = values[i]`, by selects: stored lanes.
fn block(k: &mut Kernel, values: &[i32]) -> ValueId {
    let index = k.arange(values.len() as i32);
    let mut x = k.add_full(DType::I32, 0, &[values.len()]);
    for (nth, &value) in values.iter().enumerate() {
        let at = k.add_int(nth as i32);
        let here = k.compare(CmpPredicate::Eq, index, at);
        let value = k.add_full(DType::I32, u64::from(value as u32), &[values.len()]);
        x = k.select(here, value, x);
    }
    x
}

fn build_region(
    k: &mut Kernel,
    elems: &[Elem],
    body: impl FnOnce(&mut Kernel, &[ValueId]) -> Vec<ValueId>,
) -> cerith_tile::ir::Block {
    let args: Vec<ValueId> = elems
        .iter()
        .chain(elems)
        .map(|&elem| k.b.add_value(Type::scalar(elem)))
        .collect();
    k.b.open_block(&args);
    let results = body(k, &args);
    k.b.close_block(&results)
}

#[test]
fn sums_and_extremes_along_each_axis() {
    let values = [5, -3, 7, 0, 2, 9];
    for (axis, combine, op, expected) in [
        (0, Combine::Add, BinaryOp::Add, vec![5, -1, 16]),
        (1, Combine::Add, BinaryOp::Add, vec![9, 11]),
        (0, Combine::Max, BinaryOp::Max, vec![5, 2, 9]),
        (1, Combine::Min, BinaryOp::Min, vec![-3, 0]),
        (1, Combine::Xor, BinaryOp::Xor, vec![5 ^ -3 ^ 7, 2 ^ 9]),
        (0, Combine::Mul, BinaryOp::Mul, vec![0, -6, 63]),
    ] {
        let got = run_lanes(|k| {
            let x = block(k, &values);
            let x = k.reshape(x, &[2, 3]);
            k.reduce(x, axis, combine, op)
        });
        assert_eq!(got, expected, "{combine:?} along {axis}");
    }
}

#[test]
fn all_the_way_to_a_scalar() {
    let got = run_lanes(|k| {
        let x = block(k, &[1, 2, 3, 4, 5, 6, 7]);
        k.reduce(x, 0, Combine::Add, BinaryOp::Add)
    });
    assert_eq!(got, [28]);
}

#[test]
fn the_first_of_equal_maxima() {
    // tl.argmax(tie_break_left=True), over an odd number of elements.
    let got = run_lanes(|k| {
        let x = block(k, &[3, 8, 1, 8, 2, 8, 0]);
        let index = k.arange(7);
        let region = build_region(k, &[I32, I32], |k, a| {
            let greater = k.compare(CmpPredicate::Gt, a[0], a[2]);
            let equal = k.compare(CmpPredicate::Eq, a[0], a[2]);
            let before = k.compare(CmpPredicate::Lt, a[1], a[3]);
            let tie = k.add_binary(BinaryOp::And, equal, before);
            let left = k.add_binary(BinaryOp::Or, greater, tie);
            vec![k.select(left, a[0], a[2]), k.select(left, a[1], a[3])]
        });
        let types = [Type::scalar(I32), Type::scalar(I32)];
        let results = k.b.op_multi(
            OpKind::Reduce {
                axis: 0,
                combine: None,
                region,
            },
            &[x, index],
            &types,
        );
        let hundred = k.add_int(100);
        let place = k.mul(results[1], hundred);
        k.add(place, results[0])
    });
    assert_eq!(got, [108]);
}

#[test]
fn a_region_that_does_not_associate_goes_from_first_to_last() {
    // a - b - c - d, in each row.
    let got = run_lanes(|k| {
        let x = block(k, &[100, 1, 2, 3, 50, 4, 5, 6]);
        let x = k.reshape(x, &[2, 4]);
        let region = build_region(k, &[I32], |k, a| vec![k.add_binary(BinaryOp::Sub, a[0], a[1])]);
        k.b.add_op(
            OpKind::Reduce {
                axis: 1,
                combine: None,
                region,
            },
            &[x],
            Type::block(I32, [2].as_slice()),
        )
    });
    assert_eq!(got, [94, 35]);
}

#[test]
fn a_region_with_a_branch() {
    let got = run_lanes(|k| {
        let x = block(k, &[4, 9, 2, 7]);
        let region = build_region(k, &[I32], |k, a| {
            let greater = k.compare(CmpPredicate::Gt, a[0], a[1]);
            k.b.open_block(&[]);
            let then_block = k.b.close_block(&[a[0]]);
            k.b.open_block(&[]);
            let else_block = k.b.close_block(&[a[1]]);
            vec![k.b.add_op(
                OpKind::If {
                    then_block,
                    else_block,
                },
                &[greater],
                Type::scalar(I32),
            )]
        });
        k.b.add_op(
            OpKind::Reduce {
                axis: 0,
                combine: None,
                region,
            },
            &[x],
            Type::scalar(I32),
        )
    });
    assert_eq!(got, [9]);
}

fn run_scan(reverse: bool, known: bool, shape: &[usize], axis: usize) -> Vec<i32> {
    let shape = shape.to_vec();
    run_lanes(move |k| {
        let x = block(k, &[1, 2, 3, 4, 5, 6]);
        let x = k.reshape(x, &shape);
        let region = build_region(k, &[I32], |k, a| vec![k.add(a[0], a[1])]);
        let combine = known.then_some(Combine::Add);
        k.apply_op(
            OpKind::Scan {
                axis,
                reverse,
                combine,
                region,
            },
            &[x],
        )
    })
}

#[test]
fn cumulative_sums() {
    for known in [false, true] {
        assert_eq!(run_scan(false, known, &[6], 0), [1, 3, 6, 10, 15, 21]);
        assert_eq!(run_scan(true, known, &[6], 0), [21, 20, 18, 15, 11, 6]);
        assert_eq!(run_scan(false, known, &[2, 3], 1), [1, 3, 6, 4, 9, 15]);
        assert_eq!(run_scan(false, known, &[2, 3], 0), [1, 2, 3, 5, 7, 9]);
        assert_eq!(run_scan(true, known, &[3, 2], 0), [9, 12, 8, 10, 5, 6]);
    }
}

#[test]
fn the_order_of_a_float_sum_is_a_tree() {
    // 1, 2^24, -2^24, 1: (1 - 2^24) + (2^24 + 1) in halves, with 2^24 + 1 rounded to 2^24.
    let got = run_lanes(|k| {
        let x = block(k, &[1, 1 << 24, -(1 << 24), 1]);
        let x = k.cast(x, DType::F32);
        k.reduce(x, 0, Combine::Add, BinaryOp::Add)
    });
    assert_eq!(got, [1]);
}

#[test]
fn a_maximum_prefers_numbers_to_nan() {
    let got = run_lanes(|k| {
        let index = k.arange(4);
        let two = k.add_int(2);
        let here = k.compare(CmpPredicate::Eq, index, two);
        let x = k.cast(index, DType::F32);
        let nan = k.add_full(DType::F32, u64::from(f32::NAN.to_bits()), &[4]);
        let x = k.select(here, nan, x);
        k.reduce(x, 0, Combine::Max, BinaryOp::Max)
    });
    assert_eq!(got, [3]);
}

#[test]
fn histograms_count_and_masks_leave_out() {
    let count = |mask: bool| {
        run_lanes(move |k| {
            let x = block(k, &[0, 1, 1, 3, 3, 3, 2, 0]);
            let mut operands = vec![x];
            if mask {
                let (index, six) = (k.arange(8), k.add_int(6));
                operands.push(k.compare_less(index, six));
            }
            k.b.add_op(
                OpKind::Histogram { mask },
                &operands,
                Type::block(I32, [4].as_slice()),
            )
        })
    };
    assert_eq!(count(false), [2, 2, 1, 3]);
    assert_eq!(count(true), [1, 2, 0, 3]);
}
