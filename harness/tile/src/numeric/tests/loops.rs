//! The loops over blocks against the same operations lane by lane.

use super::super::lanes::{self, Flaws, Operand};
use super::*;

/// Elements as stored, after `offset` bytes that spoil their alignment.
struct Buffer {
    bytes: Vec<u8>,
    offset: usize,
}

impl Buffer {
    fn from_lanes(dtype: DType, lanes: &[u64], offset: usize) -> Self {
        let mut bytes = vec![0xaa; offset];
        for lane in lanes {
            bytes.extend_from_slice(&lane.to_ne_bytes()[..dtype.size()]);
        }
        Self { bytes, offset }
    }

    fn new_empty(dtype: DType, lanes: usize, offset: usize) -> Self {
        Self {
            bytes: vec![0xaa; offset + lanes * dtype.size()],
            offset,
        }
    }

    fn get(&self) -> &[u8] {
        &self.bytes[self.offset..]
    }

    fn get_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.offset..]
    }

    fn read_lanes(&self, dtype: DType) -> Vec<u64> {
        let widen = |element: &[u8]| {
            let mut word = [0; 8];
            word[..element.len()].copy_from_slice(element);
            u64::from_ne_bytes(word)
        };
        self.get().chunks_exact(dtype.size()).map(widen).collect()
    }
}

/// Collects lane-by-lane results as a block.
fn collect(results: &[Computed]) -> (Vec<u64>, Flaws) {
    let mut flaws = Flaws::default();
    let bits = results
        .iter()
        .enumerate()
        .map(|(lane, result)| {
            match result {
                Computed::Bits(_) => {}
                Computed::Poison => flaws.poison.push(lane as u32),
                Computed::DivisionByZero => flaws.division_by_zero.push(lane as u32),
            }
            result.bits().unwrap_or(0)
        })
        .collect();
    (bits, flaws)
}

fn check(dtype: DType, got: &[u64], flaws: &Flaws, wanted: &[Computed], what: &str) {
    let (bits, wanted_flaws) = collect(wanted);
    assert_eq!(flaws, &wanted_flaws, "{what}");
    assert_eq!(got.len(), bits.len(), "{what}");
    for (lane, (got, wanted)) in got.iter().zip(&bits).enumerate() {
        assert!(
            is_same_lane(dtype, *got, *wanted),
            "{what}, lane {lane}: {got:#x} not {wanted:#x}"
        );
    }
}

/// Lanes that meet each other in many pairs.
fn build_columns(dtype: DType) -> [Vec<u64>; 3] {
    let lanes = sample_lanes(dtype);
    let count = lanes.len();
    let turned = |by: usize| {
        (0..count * 2)
            .map(|at| lanes[(at * by + at / count) % count])
            .collect()
    };
    [turned(1), turned(7), turned(11)]
}

/// The four ways of giving two operands.
fn build_operands<'a>(x: &'a Buffer, y: &'a Buffer, one: (u64, u64)) -> [(Operand<'a>, Operand<'a>); 4] {
    [
        (Operand::Block(x.get()), Operand::Block(y.get())),
        (Operand::Block(x.get()), Operand::Uniform(one.1)),
        (Operand::Uniform(one.0), Operand::Block(y.get())),
        (Operand::Uniform(one.0), Operand::Uniform(one.1)),
    ]
}

fn read_lane(operand: Operand<'_>, column: &[u64], at: usize) -> u64 {
    match operand {
        Operand::Uniform(bits) => bits,
        Operand::Block(_) => column[at],
    }
}

#[test]
fn blocks_of_two_operands_are_their_lanes() {
    for dtype in DType::ALL {
        let [left, right, _] = build_columns(dtype);
        for offset in [0, 1] {
            let (x, y) = (
                Buffer::from_lanes(dtype, &left, offset),
                Buffer::from_lanes(dtype, &right, offset),
            );
            for (way, (a, b)) in build_operands(&x, &y, (left[3], right[2]))
                .into_iter()
                .enumerate()
            {
                let pairs = || (0..left.len()).map(|at| (read_lane(a, &left, at), read_lane(b, &right, at)));
                for &op in BinaryOp::ALL {
                    let mut out = Buffer::new_empty(dtype, left.len(), offset);
                    let flaws = lanes::apply_binary(op, dtype, a, b, out.get_mut());
                    let wanted: Vec<_> = pairs().map(|(x, y)| apply_binary(op, dtype, x, y)).collect();
                    check(
                        dtype,
                        &out.read_lanes(dtype),
                        &flaws,
                        &wanted,
                        &format!("{op:?} {dtype} {way} {offset}"),
                    );
                }
                for &predicate in CmpPredicate::ALL {
                    let mut out = Buffer::new_empty(DType::I1, left.len(), offset);
                    lanes::compare(predicate, dtype, a, b, out.get_mut());
                    let wanted: Vec<_> = pairs()
                        .map(|(x, y)| Computed::Bits(compare(predicate, dtype, x, y).into()))
                        .collect();
                    let got = out.read_lanes(DType::I1);
                    check(
                        DType::I1,
                        &got,
                        &Flaws::default(),
                        &wanted,
                        &format!("{predicate:?} {dtype} {way} {offset}"),
                    );
                }
            }
        }
    }
}

#[test]
fn blocks_of_one_operand_are_their_lanes() {
    for dtype in DType::ALL {
        let [column, ..] = build_columns(dtype);
        for offset in [0, 1] {
            let x = Buffer::from_lanes(dtype, &column, offset);
            for operand in [
                Operand::Block(x.get()),
                Operand::Uniform(column[5 % column.len()]),
            ] {
                let lanes_of = || (0..column.len()).map(|at| read_lane(operand, &column, at));
                for &op in UnaryOp::ALL {
                    let result = unary_result(op, dtype);
                    let mut out = Buffer::new_empty(result, column.len(), offset);
                    let flaws = lanes::apply_unary(op, dtype, operand, out.get_mut());
                    let wanted: Vec<_> = lanes_of().map(|x| apply_unary(op, dtype, x)).collect();
                    check(
                        result,
                        &out.read_lanes(result),
                        &flaws,
                        &wanted,
                        &format!("{op:?} {dtype}"),
                    );
                }
                for to in DType::ALL {
                    for rounding in [Rounding::NearestEven, Rounding::TowardZero] {
                        let mut out = Buffer::new_empty(to, column.len(), offset);
                        let flaws = lanes::cast(dtype, to, rounding, operand, out.get_mut());
                        let wanted: Vec<_> = lanes_of().map(|x| cast(dtype, to, rounding, x)).collect();
                        check(
                            to,
                            &out.read_lanes(to),
                            &flaws,
                            &wanted,
                            &format!("{dtype} to {to} {rounding:?}"),
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn blocks_of_three_operands_are_their_lanes() {
    for dtype in DType::ALL {
        let [left, middle, right] = build_columns(dtype);
        let (x, y, z) = (
            Buffer::from_lanes(dtype, &left, 0),
            Buffer::from_lanes(dtype, &middle, 0),
            Buffer::from_lanes(dtype, &right, 1),
        );
        for uniform in 0..8 {
            let pick = |bit: u32, buffer: &Buffer, column: &[u64]| {
                if uniform >> bit & 1 == 1 {
                    Some(column[1 % column.len()])
                } else {
                    let _ = buffer;
                    None
                }
            };
            let (a, b, c) = (pick(0, &x, &left), pick(1, &y, &middle), pick(2, &z, &right));
            let operand = |one: Option<u64>, buffer| one.map_or(Operand::Block(buffer), Operand::Uniform);
            for &op in TernaryOp::ALL {
                let mut out = Buffer::new_empty(dtype, left.len(), 0);
                let (p, q, r) = (operand(a, x.get()), operand(b, y.get()), operand(c, z.get()));
                let flaws = lanes::apply_ternary(op, dtype, p, q, r, out.get_mut());
                let wanted: Vec<_> = (0..left.len())
                    .map(|at| {
                        let (x, y, z) = (
                            read_lane(p, &left, at),
                            read_lane(q, &middle, at),
                            read_lane(r, &right, at),
                        );
                        apply_ternary(op, dtype, x, y, z)
                    })
                    .collect();
                check(
                    dtype,
                    &out.read_lanes(dtype),
                    &flaws,
                    &wanted,
                    &format!("{op:?} {dtype} {uniform}"),
                );
            }
        }
    }
}

#[test]
fn select_and_fill_move_bits() {
    for dtype in [DType::I8, DType::F16, DType::F32, DType::I64] {
        let [left, right, _] = build_columns(dtype);
        let set: Vec<u64> = (0..left.len()).map(|at| (at * at % 3 == 1).into()).collect();
        for offset in [0, 1] {
            let (x, y) = (
                Buffer::from_lanes(dtype, &left, offset),
                Buffer::from_lanes(dtype, &right, offset),
            );
            let conditions = Buffer::from_lanes(DType::I1, &set, offset);
            for (a, b) in build_operands(&x, &y, (left[3], right[2])) {
                for condition in [
                    Operand::Block(conditions.get()),
                    Operand::Uniform(0),
                    Operand::Uniform(1),
                ] {
                    let mut out = Buffer::new_empty(dtype, left.len(), offset);
                    lanes::select(dtype.size(), condition, a, b, out.get_mut());
                    let wanted: Vec<_> = (0..left.len())
                        .map(|at| {
                            if read_lane(condition, &set, at) == 1 {
                                read_lane(a, &left, at)
                            } else {
                                read_lane(b, &right, at)
                            }
                        })
                        .collect();
                    assert_eq!(out.read_lanes(dtype), wanted, "{dtype}");
                }
            }
            let mut out = Buffer::new_empty(dtype, 9, offset);
            lanes::fill(dtype.size(), 0x1234_5678_9abc_def0, out.get_mut());
            let mask = if dtype.bits() == 64 {
                u64::MAX
            } else {
                (1 << dtype.bits()) - 1
            };
            assert_eq!(out.read_lanes(dtype), vec![0x1234_5678_9abc_def0 & mask; 9]);
        }
    }
}

#[test]
fn short_operands_leave_the_rest_as_it_was() {
    let x = Buffer::from_lanes(DType::F32, &[1, 2], 0);
    let mut out = Buffer::new_empty(DType::F32, 4, 0);
    let flaws = lanes::apply_binary(
        BinaryOp::And,
        DType::I32,
        Operand::Block(x.get()),
        Operand::Uniform(3),
        out.get_mut(),
    );
    assert!(flaws.is_empty());
    assert_eq!(out.read_lanes(DType::F32), [1, 2, 0xaaaa_aaaa, 0xaaaa_aaaa]);
    let flaws = lanes::apply_binary(
        BinaryOp::Rem,
        DType::I32,
        Operand::Block(x.get()),
        Operand::Uniform(0),
        out.get_mut(),
    );
    assert_eq!(flaws.division_by_zero, [0, 1]);
    // Half an element at the end is none.
    let flaws = lanes::apply_unary(
        UnaryOp::Neg,
        DType::I32,
        Operand::Block(&x.get()[..6]),
        out.get_mut(),
    );
    assert!(flaws.is_empty());
    assert_eq!(out.read_lanes(DType::I32)[0], 0xffff_ffff);
}
