//! Combine functions that round, in many orders: the result of each order is accepted, and few others.

use crate::kernels::{Kernel, World};
use cerith_accept::{Acceptance, AcceptanceMap, Accepted};
use cerith_interp::{Combining, Config, LaunchOutcome, Program};
use cerith_memory::{ByteState, StorageId};
use cerith_tile::ir::{BinaryOp, CmpPredicate, OpKind, Rounding, Type, UnaryOp, ValueId};
use cerith_tile::{DType, numeric};
use proptest::prelude::*;

/// A combine function of two operands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Function {
    Sums,
    Recurrence,
    LogSum,
    Mean,
    Greatest,
}

impl Function {
    fn combine(self, k: &mut Kernel, a: &[ValueId]) -> Vec<ValueId> {
        match self {
            Self::Sums => vec![
                k.add_binary(BinaryOp::Add, a[0], a[2]),
                k.add_binary(BinaryOp::Add, a[1], a[3]),
            ],
            Self::Recurrence => {
                let moved = k.add_binary(BinaryOp::Mul, a[1], a[2]);
                vec![
                    k.add_binary(BinaryOp::Mul, a[0], a[2]),
                    k.add_binary(BinaryOp::Add, moved, a[3]),
                ]
            }
            Self::LogSum => {
                let most = k.add_binary(BinaryOp::Max, a[0], a[2]);
                let mut part = |value: ValueId, sum: ValueId| {
                    let below = k.add_binary(BinaryOp::Sub, value, most);
                    let scale = k.add_unary(UnaryOp::Exp, below);
                    k.add_binary(BinaryOp::Mul, sum, scale)
                };
                let (left, right) = (part(a[0], a[1]), part(a[2], a[3]));
                vec![most, k.add_binary(BinaryOp::Add, left, right)]
            }
            Self::Mean => {
                let count = k.add_binary(BinaryOp::Add, a[1], a[3]);
                let apart = k.add_binary(BinaryOp::Sub, a[2], a[0]);
                let share = k.add_binary(BinaryOp::Div, a[3], count);
                let step = k.add_binary(BinaryOp::Mul, apart, share);
                vec![k.add_binary(BinaryOp::Add, a[0], step), count]
            }
            Self::Greatest => {
                let left = k.compare(CmpPredicate::Gt, a[0], a[2]);
                vec![k.select(left, a[0], a[2]), k.select(left, a[1], a[3])]
            }
        }
    }
}

/// Rows of two operands, combined.
#[derive(Clone, Debug)]
struct Combined {
    function: Function,
    dtype: DType,
    scan: bool,
    values: Vec<(f64, f64)>,
}

impl Combined {
    fn encode_value(&self, value: f64) -> u64 {
        numeric::encode(self.dtype, value, Rounding::NearestEven)
    }

    fn world(&self) -> World {
        let size = self.dtype.size();
        let count = self.values.len();
        let bytes = |of: &dyn Fn(&(f64, f64)) -> f64| -> Vec<u8> {
            let bits = self.values.iter().map(|pair| self.encode_value(of(pair)));
            bits.flat_map(|bits| bits.to_le_bytes()[..size].to_vec())
                .collect()
        };
        let mut world = World::default();
        world.tensor("x", self.dtype, count, Some(&bytes(&|pair| pair.0)));
        world.tensor("y", self.dtype, count, Some(&bytes(&|pair| pair.1)));
        world.tensor("out", self.dtype, 2 * count, Some(&vec![0; 2 * count * size]));
        world
    }

    fn program(&self) -> Program {
        let count = self.values.len() as i32;
        let mut k = Kernel::new("kernel\n");
        let (x, y) = (
            k.add_pointer_param("x", self.dtype),
            k.add_pointer_param("y", self.dtype),
        );
        let out = k.add_pointer_param("out", self.dtype);
        let index = k.arange(count);
        let (p, q) = (k.offset_pointer(x, index), k.offset_pointer(y, index));
        let lanes = [k.load(p, None, None), k.load(q, None, None)];
        let block = k.b.ty(lanes[0]).clone();
        let scalar = Type::scalar(block.elem);
        let args: Vec<ValueId> = (0..4).map(|_| k.b.add_value(scalar.clone())).collect();
        k.b.open_block(&args);
        let results = self.function.combine(&mut k, &args);
        let region = k.b.close_block(&results);
        let (kind, ty) = if self.scan {
            let kind = OpKind::Scan {
                axis: 0,
                reverse: false,
                combine: None,
                region,
            };
            (kind, block)
        } else {
            let kind = OpKind::Reduce {
                axis: 0,
                combine: None,
                region,
            };
            (kind, scalar)
        };
        let results = k.b.op_multi(kind, &lanes, &[ty.clone(), ty]);
        let far = k.add_int(count);
        let second = k.offset_pointer(out, far);
        let (p, q) = if self.scan {
            (k.offset_pointer(out, index), k.offset_pointer(second, index))
        } else {
            (out, second)
        };
        k.store(p, results[0], None);
        k.store(q, results[1], None);
        Program::prepare(k.finish()).expect("verified")
    }

    /// The accepted values of each result.
    fn accepted(&self) -> Vec<Accepted> {
        let (mut memory, args) = self.world().finish();
        let mut map = AcceptanceMap::default();
        let end = cerith_accept::accept(
            &self.program(),
            [1, 1, 1],
            &args,
            &mut memory,
            &mut map,
            &Config::default(),
        )
        .expect("no bug of ours");
        assert_eq!(end, Acceptance::Known);
        let size = self.dtype.size();
        let accepted = |at: usize| map.accepted_at(StorageId(2), at * size).1;
        self.places().map(accepted).collect()
    }

    fn places(&self) -> impl Iterator<Item = usize> {
        let count = self.values.len();
        let shown = if self.scan { count } else { 1 };
        (0..2 * count).filter(move |at| at % count < shown)
    }

    /// The result bits of an order; `None` for undefined results.
    fn run_order(&self, combining: Combining) -> Vec<Option<u64>> {
        let (mut memory, args) = self.world().finish();
        let config = Config {
            combining,
            ..Config::default()
        };
        let outcome = self
            .program()
            .launch([1, 1, 1], &args, &mut memory, &config)
            .expect("no bug of ours");
        assert!(matches!(outcome, LaunchOutcome::Finished(_)), "{outcome:?}");
        let size = self.dtype.size();
        let bits = |at: usize| {
            let range = at * size..(at + 1) * size;
            let defined = memory.states(StorageId(2))[range.clone()]
                .iter()
                .all(|&state| state == ByteState::Init);
            let bytes = memory.bytes(StorageId(2))[range].iter().rev();
            defined.then(|| bytes.fold(0u64, |word, &byte| word << 8 | u64::from(byte)))
        };
        self.places().map(bits).collect()
    }
}

fn list_orders() -> impl Iterator<Item = Combining> {
    use Combining::{Backwards, Forwards, Halves, Neighbours, Own, Random, Turned};
    // Random orders other than those that the bounds are computed from.
    let random = (10..40).map(Random);
    [Own, Halves, Turned, Neighbours, Forwards, Backwards]
        .into_iter()
        .chain(random)
}

/// Whether bits are accepted.
fn check_bits(accepted: Accepted, bits: u64, exact: u64) -> Option<bool> {
    if accepted == Accepted::Exact {
        return Some(bits == exact);
    }
    accepted.check_bits(bits)
}

fn check(row: &Combined) -> Result<(), TestCaseError> {
    let accepted = row.accepted();
    let own = row.run_order(Combining::Own);
    // A recurrence does not commute: only the brackets of a scan are open.
    for order in list_orders().filter(|_| row.scan || row.function != Function::Recurrence) {
        for ((&accepted, bits), exact) in accepted.iter().zip(row.run_order(order)).zip(&own) {
            let (bits, exact) = (bits.expect("a value"), exact.expect("a value"));
            prop_assert_eq!(
                check_bits(accepted, bits, exact),
                Some(true),
                "{:?} {:?}: {:?}",
                order,
                row,
                accepted
            );
        }
    }
    // Each step may be wrong by some units of its greatest intermediate result, here less than 2 for each element.
    let unit = match row.dtype {
        DType::F32 => 2f64.powi(-23),
        DType::F16 => 2f64.powi(-10),
        _ => 2f64.powi(-7),
    };
    let count = row.values.len() as f64;
    for &accepted in &accepted {
        if let Accepted::Within { low, high, .. } = accepted {
            prop_assert!(high - low <= 24.0 * count * count * unit, "{row:?}: {accepted:?}");
        }
    }
    Ok(())
}

prop_compose! {
    fn combined()(
        function in prop::sample::select(vec![Function::Sums, Function::Recurrence, Function::LogSum, Function::Mean]),
        dtype in prop::sample::select(vec![DType::F32, DType::F16, DType::BF16]),
        scan in any::<bool>(),
        exponent in 1u32..6,
        values in prop::collection::vec((0.25f64..1.0, 0.25f64..1.0), 32),
    ) -> Combined {
        let mut values = values;
        values.truncate(1 << exponent);
        if function == Function::Mean {
            for pair in &mut values {
                pair.1 = 1.0;
            }
        }
        Combined { function, dtype, scan: scan || function == Function::Recurrence, values }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.max(200),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_order_of_a_function_that_rounds_is_accepted(row in combined()) {
        check(&row)?;
    }
}

/// Factors whose products overflow in some brackets, and meet an addend of either sign in others.
#[test]
fn an_overflow_has_no_order_that_others_must_follow() {
    let mut draws = 1u32;
    for _ in 0..200 {
        let mut draw = || {
            draws = draws.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(draws >> 8) / f64::from(1 << 24) * 8.0 - 4.0
        };
        let row = Combined {
            function: Function::Recurrence,
            dtype: DType::F16,
            scan: true,
            values: (0..64).map(|_| (draw(), draw())).collect(),
        };
        let (accepted, own) = (row.accepted(), row.run_order(Combining::Own));
        for order in list_orders() {
            for ((&accepted, bits), &exact) in accepted.iter().zip(row.run_order(order)).zip(&own) {
                let (bits, exact) = (bits.expect("a value"), exact.expect("a value"));
                let agrees = check_bits(accepted, bits, exact);
                assert_ne!(agrees, Some(false), "{order:?} {row:?}: {accepted:?}");
            }
        }
    }
}

#[test]
fn what_is_exact_in_every_order_is_exact() {
    let count = Combined {
        function: Function::Mean,
        dtype: DType::F32,
        scan: false,
        values: vec![(0.5, 1.0); 64],
    };
    // The mean of equal numbers needs no rounding, but a quotient that is not rounded is not promised.
    assert_eq!(count.accepted()[1], Accepted::Exact);
    let halves = Combined {
        function: Function::Recurrence,
        scan: true,
        values: vec![(1.0, 0.5); 16],
        ..count
    };
    assert_eq!(halves.accepted(), vec![Accepted::Exact; 32]);
}

#[test]
fn a_choice_among_nan_depends_on_the_order() {
    let nan = f64::NAN;
    for (keys, first, last) in [
        (vec![nan, 6.0, 8.0, 1.0], 2.0, 0.0),
        (vec![6.0, 8.0, 1.0, nan], 1.0, 3.0),
        (vec![6.0, nan, 8.0, nan], 2.0, 3.0),
        (vec![nan, nan, nan, nan], 0.0, 3.0),
        (vec![6.0, 8.0, 1.0, 0.0], 1.0, 1.0),
        (vec![nan], 0.0, 0.0),
    ] {
        let values = keys
            .iter()
            .zip(0u8..)
            .map(|(&key, nth)| (key, f64::from(nth)))
            .collect();
        let row = Combined {
            function: Function::Greatest,
            dtype: DType::F32,
            scan: false,
            values,
        };
        for (order, wanted) in [(Combining::NanFirst, first), (Combining::NanLast, last)] {
            assert_eq!(
                row.run_order(order)[1],
                Some(row.encode_value(wanted)),
                "{order:?} {keys:?}"
            );
        }
    }
}
