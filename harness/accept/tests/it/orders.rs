//! Sums and products in every order: each order's result is accepted, and no value that is further from all of them than
//! rounding explains.

use std::collections::BTreeSet;

use crate::kernels::{Kernel, World};
use cerith_accept::{Acceptance, AcceptanceMap, Accepted};
use cerith_interp::{Config, Program};
use cerith_memory::StorageId;
use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Combine, OpKind, Rounding, Type};
use cerith_tile::numeric::{apply_binary, decode, encode};
use proptest::prelude::*;

/// The combined elements, and the operation.
#[derive(Clone, Debug)]
struct Row {
    dtype: DType,
    product: bool,
    scan: bool,
    values: Vec<f64>,
}

impl Row {
    const fn op(&self) -> (BinaryOp, Combine) {
        if self.product {
            (BinaryOp::Mul, Combine::Mul)
        } else {
            (BinaryOp::Add, Combine::Add)
        }
    }

    fn bits(&self) -> Vec<u64> {
        self.values
            .iter()
            .map(|&value| encode(self.dtype, value, Rounding::NearestEven))
            .collect()
    }

    /// The last element of a scan, or the reduction: what is accepted, and the reference's bits.
    fn accepted(&self) -> (Accepted, u64) {
        let (op, combine) = self.op();
        let count = self.values.len();
        let mut k = Kernel::new("kernel\n");
        let (x, out) = (
            k.add_pointer_param("x", self.dtype),
            k.add_pointer_param("out", self.dtype),
        );
        let index = k.arange(count as i32);
        let p = k.offset_pointer(x, index);
        let lanes = k.load(p, None, None);
        if self.scan {
            let ty = k.b.ty(lanes).clone();
            let scalar = Type::scalar(ty.elem);
            let (left, right) = (k.b.add_value(scalar.clone()), k.b.add_value(scalar.clone()));
            k.b.open_block(&[left, right]);
            let both = k.b.add_op(OpKind::Binary(op), &[left, right], scalar);
            let region = k.b.close_block(&[both]);
            let kind = OpKind::Scan {
                axis: 0,
                reverse: false,
                combine: Some(combine),
                region,
            };
            let all = k.b.add_op(kind, &[lanes], ty);
            let q = k.offset_pointer(out, index);
            k.store(q, all, None);
        } else {
            let total = k.reduce(lanes, 0, combine, op);
            k.store(out, total, None);
        }
        let size = self.dtype.size();
        let bytes: Vec<u8> = self
            .bits()
            .iter()
            .flat_map(|bits| bits.to_le_bytes()[..size].to_vec())
            .collect();
        let mut world = World::default();
        world.tensor("x", self.dtype, count, Some(&bytes));
        world.tensor("out", self.dtype, count, Some(&vec![0; bytes.len()]));
        let (mut memory, args) = world.finish();
        let program = Program::prepare(k.finish()).expect("verified");
        let mut map = AcceptanceMap::default();
        let end = cerith_accept::accept(
            &program,
            [1, 1, 1],
            &args,
            &mut memory,
            &mut map,
            &Config::default(),
        )
        .expect("no bug of ours");
        assert_eq!(end, Acceptance::Known);
        let at = if self.scan { (count - 1) * size } else { 0 };
        let own = memory.bytes(StorageId(1))[at..at + size].iter().rev();
        let own = own.fold(0u64, |word, &byte| word << 8 | u64::from(byte));
        (map.accepted_at(StorageId(1), at).1, own)
    }

    /// The results of all orders: every tree over the elements in any order, or over those that follow each other.
    fn every_order(&self) -> BTreeSet<u64> {
        let (op, bits) = (self.op().0, self.bits());
        let count = bits.len();
        let mut results = vec![BTreeSet::new(); 1 << count];
        for set in 1usize..1 << count {
            if set.is_power_of_two() {
                results[set].insert(bits[set.trailing_zeros() as usize]);
                continue;
            }
            let mut all = BTreeSet::new();
            let mut left = (set - 1) & set;
            while left > 0 {
                let right = set & !left;
                // In a scan, the left part ends where the right one begins.
                let follows = |part: usize| {
                    (part >> part.trailing_zeros()).count_ones()
                        == (part >> part.trailing_zeros()).trailing_ones()
                };
                let fits = !self.scan
                    || follows(left) && follows(right) && left.leading_zeros() > right.leading_zeros();
                if fits && (self.scan || left < right) {
                    for &x in &results[left] {
                        for &y in &results[right] {
                            let bits = apply_binary(op, self.dtype, x, y).bits().expect("defined");
                            let nan = decode(self.dtype, bits).is_nan();
                            all.insert(if nan { u64::MAX } else { bits });
                        }
                    }
                }
                left = (left - 1) & set;
            }
            results[set] = all;
        }
        results.pop().unwrap_or_default()
    }

    /// The documented slack: the greatest distance of an accepted number from every order's result.
    fn slack(&self) -> f64 {
        let bits = match self.dtype {
            DType::F64 => 53,
            DType::F32 => 24,
            _ => 11,
        };
        let magnitude: f64 = self
            .values
            .iter()
            .filter(|x| x.is_finite())
            .map(|x| x.abs())
            .sum();
        // In `f64`, the bound itself is rounded as well.
        let unit = if self.dtype == DType::F64 { 3.5 } else { 1.2 };
        unit * self.values.len() as f64 * 2f64.powi(-bits) * magnitude
    }
}

/// The bits of a value; any NaN is one.
fn decode_value(dtype: DType, bits: u64) -> f64 {
    if bits == u64::MAX {
        f64::NAN
    } else {
        decode(dtype, bits)
    }
}

fn check_value(row: &Row, accepted: Accepted, own: u64, value: f64) -> Option<bool> {
    if accepted == Accepted::Exact {
        let own = decode_value(row.dtype, own);
        return Some(own == value || own.is_nan() && value.is_nan());
    }
    accepted.check_bits(encode(row.dtype, value, Rounding::NearestEven))
}

#[track_caller]
fn check(row: &Row) -> Result<(), TestCaseError> {
    let (accepted, own) = row.accepted();
    let orders: Vec<f64> = row
        .every_order()
        .into_iter()
        .map(|bits| decode_value(row.dtype, bits))
        .collect();
    for &value in &orders {
        prop_assert!(
            check_value(row, accepted, own, value) != Some(false),
            "{value:e} is refused: {accepted:?}, {row:?}"
        );
    }
    let largest = match row.dtype {
        DType::F64 => f64::MAX,
        DType::F32 => f64::from(f32::MAX),
        _ => 65504.0,
    };
    let finite = || orders.iter().copied().filter(|x| x.is_finite());
    if row.product {
        // Parts of a product may be anything: what is sure is that no other sign comes out.
        for sign in [1.0, -1.0] {
            let none = orders.iter().all(|x| x.is_nan() || x * sign < 0.0);
            if none && !orders.is_empty() {
                prop_assert!(
                    check_value(row, accepted, own, sign * largest) == Some(false),
                    "{sign}: {accepted:?}, {row:?}"
                );
            }
        }
        return Ok(());
    }
    // Finite numbers.
    let slack = row.slack();
    let (low, high) = (
        finite().fold(f64::INFINITY, f64::min),
        finite().fold(f64::NEG_INFINITY, f64::max),
    );
    for outside in [
        low - slack * 1.5,
        high + slack * 1.5,
        0.0,
        largest / 2.0,
        -largest / 2.0,
    ] {
        let near = low - slack <= outside && outside <= high + slack;
        if outside.is_finite() && outside.abs() <= largest && !near {
            let rounded = decode_value(row.dtype, encode(row.dtype, outside, Rounding::NearestEven));
            if rounded < low - slack || rounded > high + slack {
                prop_assert!(
                    check_value(row, accepted, own, rounded) == Some(false),
                    "{rounded:e} is accepted: {accepted:?}, {low:e}..={high:e}, {row:?}"
                );
            }
        }
    }
    // Infinities and NaN are accepted only if some order returns them, or a partial sum comes near the largest number.
    let part = |sign: f64| -> f64 {
        let terms = row.values.iter().map(|x| x * sign);
        if row.scan {
            let mut ending: f64 = 0.0;
            terms.fold(0.0, |most: f64, term| {
                ending = if term.is_finite() {
                    ending.max(0.0) + term / 4.0
                } else {
                    0.0
                };
                most.max(ending)
            })
        } else {
            terms
                .filter(|term| term.is_finite() && *term > 0.0)
                .map(|term| term / 4.0)
                .sum()
        }
    };
    let close = |sign: f64| part(sign) + slack / 4.0 >= largest / 4.0;
    for sign in [1.0, -1.0] {
        if !orders.contains(&(f64::INFINITY * sign)) && !close(sign) {
            prop_assert!(
                check_value(row, accepted, own, f64::INFINITY * sign) == Some(false),
                "{sign} infinity is accepted: {accepted:?}, {row:?}"
            );
        }
    }
    if !orders.iter().any(|x| x.is_nan()) && !close(1.0) && !close(-1.0) {
        prop_assert!(
            check_value(row, accepted, own, f64::NAN) == Some(false),
            "a NaN is accepted: {accepted:?}, {row:?}"
        );
    }
    Ok(())
}

fn generate_row() -> impl Strategy<Value = Row> {
    let dtype = prop_oneof![Just(DType::F16), Just(DType::F32), Just(DType::F64)];
    let largest = |dtype| match dtype {
        DType::F64 => f64::MAX,
        DType::F32 => f64::from(f32::MAX),
        _ => 65504.0,
    };
    (dtype, any::<bool>(), any::<bool>()).prop_flat_map(move |(dtype, product, scan)| {
        let most = largest(dtype);
        let value = prop_oneof![
            4 => -8.0..8.0f64,
            2 => prop_oneof![Just(most), Just(-most), Just(most / 2.0), Just(-most / 3.0)],
            1 => prop_oneof![Just(f64::INFINITY), Just(f64::NEG_INFINITY)],
            1 => prop_oneof![Just(0.0), Just(1.0), Just(-1.0), Just(0.5)],
            1 => prop_oneof![Just(decode(dtype, 1)), Just(decode(dtype, 1) * 300.0), Just(1.0 / most * 8.0)],
        ];
        let nan = prop_oneof![15 => Just(false), 1 => Just(true)];
        (proptest::collection::vec(value, 2..6), nan).prop_map(move |(mut values, nan)| {
            if nan && let Some(first) = values.first_mut() {
                *first = f64::NAN;
            }
            // As the dtype holds them.
            for value in &mut values {
                *value = decode(dtype, encode(dtype, *value, Rounding::NearestEven));
            }
            Row {
                dtype,
                product,
                scan,
                values,
            }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.max(3000),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_order_is_accepted_and_little_else(row in generate_row()) {
        check(&row)?;
    }
}

/// The accepted values of a sum: the finite range, the two infinities, NaN.
fn sum(dtype: DType, values: &[f64]) -> (Accepted, u64) {
    Row {
        dtype,
        product: false,
        scan: false,
        values: values.to_vec(),
    }
    .accepted()
}

fn is_refused(row: (Accepted, u64), dtype: DType, value: f64) -> bool {
    let (accepted, own) = row;
    let row = Row {
        dtype,
        product: false,
        scan: false,
        values: Vec::new(),
    };
    check_value(&row, accepted, own, value) == Some(false)
}

#[test]
fn an_infinity_beside_terms_that_may_overflow() {
    let row = sum(DType::F32, &[3e38, f64::NEG_INFINITY, 3e38, 0.0]);
    for (value, refused) in [
        (f64::NEG_INFINITY, false),
        (f64::NAN, false),
        (f64::INFINITY, true),
        (0.0, true),
        (3e38, true),
    ] {
        assert_eq!(is_refused(row, DType::F32, value), refused, "{value}: {row:?}");
    }
}

#[test]
fn terms_that_overflow_and_cancel() {
    let row = sum(DType::F64, &[1.7e308, 1.7e308, -1.7e308, -1.7e308]);
    for (value, refused) in [
        (f64::NEG_INFINITY, false),
        (f64::NAN, false),
        (f64::INFINITY, false),
        (0.0, false),
        (1e307, true),
        (-1.7e308, true),
    ] {
        assert_eq!(is_refused(row, DType::F64, value), refused, "{value}: {row:?}");
    }
}

/// A product of half of the smallest number is the smallest number, or zero where a part of it lost bits before.
#[test]
fn a_part_that_loses_bits_makes_a_product_vanish() {
    let values = vec![
        0.156_494_140_625,
        -0.070_678_710_937_5,
        -0.047_210_693_359_375,
        0.5,
        0.000_122_189_521_789_550_78,
    ];
    for scan in [true, false] {
        let row = Row {
            dtype: DType::F16,
            product: true,
            scan,
            values: values.clone(),
        };
        check(&row).unwrap_or_else(|refused| panic!("{refused}"));
    }
}
