use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, OpKind, Type};

use super::run_lanes;
use crate::kernels::{I32, Kernel};

/// `[[0, 1, 2], [3, 4, 5]]`-like blocks, stored rather than known by rule.
fn build_stored(k: &mut Kernel, shape: &[usize]) -> cerith_tile::ir::ValueId {
    let range = k.arange(shape.iter().product::<usize>() as i32);
    let three = k.add_int(3);
    let mixed = k.add_binary(BinaryOp::Xor, range, three);
    let mixed = k.add_binary(BinaryOp::Xor, mixed, three);
    k.reshape(mixed, shape)
}

#[test]
fn trans() {
    let expected = [0, 3, 1, 4, 2, 5];
    for by_rule in [false, true] {
        let got = run_lanes(|k| {
            let x = if by_rule {
                let (rows, columns) = (k.arange(2), k.arange(3));
                let (rows, columns) = (k.expand_column(rows), k.expand_row(columns));
                let three = k.add_int(3);
                let rows = k.mul(rows, three);
                k.add(rows, columns)
            } else {
                build_stored(k, &[2, 3])
            };
            let ty = Type::block(I32, [3, 2].as_slice());
            k.b.add_op(
                OpKind::Trans {
                    order: [1, 0].as_slice().into(),
                },
                &[x],
                ty,
            )
        });
        assert_eq!(got, expected);
    }
}

#[test]
fn trans_of_three_dimensions() {
    let got = run_lanes(|k| {
        let x = build_stored(k, &[2, 3, 4]);
        let ty = Type::block(I32, [4, 2, 3].as_slice());
        k.b.add_op(
            OpKind::Trans {
                order: [2, 0, 1].as_slice().into(),
            },
            &[x],
            ty,
        )
    });
    let expected: Vec<i32> = (0..4)
        .flat_map(|c| (0..2).flat_map(move |a| (0..3).map(move |b| a * 12 + b * 4 + c)))
        .collect();
    assert_eq!(got, expected);
}

#[test]
fn broadcast_along_both_dimensions() {
    let got = run_lanes(|k| {
        let x = build_stored(k, &[2, 1]);
        k.spread(x, &[2, 3])
    });
    assert_eq!(got, [0, 0, 0, 1, 1, 1]);
    let got = run_lanes(|k| {
        let x = build_stored(k, &[1, 3]);
        k.spread(x, &[2, 3])
    });
    assert_eq!(got, [0, 1, 2, 0, 1, 2]);
}

#[test]
fn join_split_and_cat() {
    let got = run_lanes(|k| {
        let (x, y) = (k.arange(3), k.add_full(DType::I32, 9, &[3]));
        k.b.add_op(OpKind::Join, &[x, y], Type::block(I32, [3, 2].as_slice()))
    });
    assert_eq!(got, [0, 9, 1, 9, 2, 9]);
    let got = run_lanes(|k| {
        let x = build_stored(k, &[3, 2]);
        let half = Type::block(I32, [3].as_slice());
        let halves = k.b.op_multi(OpKind::Split, &[x], &[half.clone(), half]);
        let hundred = k.add_int(100);
        let odd = k.mul(halves[1], hundred);
        k.add(halves[0], odd)
    });
    assert_eq!(got, [100, 302, 504]);
    let got = run_lanes(|k| {
        let (x, y) = (k.arange(2), k.add_full(DType::I32, 9, &[2]));
        k.b.add_op(
            OpKind::Cat { reorder: false },
            &[x, y],
            Type::block(I32, [4].as_slice()),
        )
    });
    assert_eq!(got, [0, 1, 9, 9]);
}

#[test]
fn gather_along_each_axis() {
    for axis in [0, 1] {
        let got = run_lanes(|k| {
            let x = build_stored(k, &[2, 3]);
            // 1, 0, 0 and 0, 1, 0.
            let index = k.arange(6);
            let (zero, four) = (k.add_int(0), k.add_int(4));
            let first = k.compare(cerith_tile::ir::CmpPredicate::Eq, index, zero);
            let fifth = k.compare(cerith_tile::ir::CmpPredicate::Eq, index, four);
            let index = k.add_binary(BinaryOp::Or, first, fifth);
            let index = k.cast(index, DType::I32);
            let index = k.reshape(index, &[2, 3]);
            k.apply_op(OpKind::Gather { axis }, &[x, index])
        });
        // Axis 0: x[i[r][c]][c]; axis 1: x[r][i[r][c]].
        let by_hand: Vec<i32> = (0..6)
            .map(|l| {
                let (r, c) = (l / 3, l % 3);
                let index = i32::from(l == 0 || l == 4);
                if axis == 0 { index * 3 + c } else { r * 3 + index }
            })
            .collect();
        assert_eq!(got, by_hand);
    }
}

#[test]
fn five_dimensions_are_only_slower() {
    let got = run_lanes(|k| {
        let x = k.arange(8);
        let x = k.reshape(x, &[2, 1, 2, 1, 2]);
        let one = k.add_full(DType::I32, 1, &[2, 1, 2, 1, 2]);
        let x = k.add(x, one);
        k.spread(x, &[2, 1, 2, 2, 2])
    });
    assert_eq!(got, [1, 2, 1, 2, 3, 4, 3, 4, 5, 6, 5, 6, 7, 8, 7, 8]);
}

#[test]
fn a_rule_that_would_wrap_is_computed_with_wrapping() {
    let got = run_lanes(|k| {
        let (x, big) = (k.arange(4), k.add_int(i32::MAX - 1));
        k.add(x, big)
    });
    assert_eq!(got, [i32::MAX - 1, i32::MAX, i32::MIN, i32::MIN + 1]);
    let got = run_lanes(|k| {
        let (x, big) = (k.arange(4), k.add_int(0x6000_0000));
        let x = k.mul(x, big);
        let x = k.cast(x, DType::I64);
        let shift = k.b.add_constant(29, Type::num(DType::I64));
        k.add_binary(BinaryOp::Shr, x, shift)
    });
    assert_eq!(got, [0, 3, -2, 1]);
    let got = run_lanes(|k| {
        let (x, four) = (k.arange(4), k.add_int(-2));
        let x = k.add(x, four);
        let x = k.cast(x, DType::U8);
        k.cast(x, DType::I32)
    });
    assert_eq!(got, [254, 255, 0, 1]);
}
