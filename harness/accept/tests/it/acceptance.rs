//! The values that conforming implementations may store: each of them is accepted, and the range is no wider than
//! necessary.

use crate::kernels::{self, F32, Kernel, World};
use cerith_accept::{Acceptance, AcceptanceMap, Accepted};
use cerith_interp::{Config, ParamValue, Program};
use cerith_memory::{Memory, StorageId};
use cerith_tile::ir::{
    AtomicOp, BinaryOp, CmpPredicate, Combine, Function, InputPrecision, OpKind, Rounding, TernaryOp, Type,
    UnaryOp, ValueId,
};
use cerith_tile::{DType, numeric};

fn accept(
    function: &Function,
    grid: [u32; 3],
    args: &[ParamValue],
    memory: &mut Memory,
) -> (Acceptance, AcceptanceMap) {
    let program = Program::prepare(function.clone()).expect("verified");
    let mut map = AcceptanceMap::default();
    let end = cerith_accept::accept(&program, grid, args, memory, &mut map, &Config::default())
        .expect("no bug of ours");
    (end, map)
}

/// `out[0] = f(x, y)`, its arguments and its memory.
fn build_kernel(
    x: f32,
    y: f32,
    f: impl FnOnce(&mut Kernel, ValueId, ValueId) -> ValueId,
) -> (Function, Memory, Vec<ParamValue>) {
    let mut k = Kernel::new("kernel\n");
    let out = k.add_pointer_param("out", DType::F32);
    let (a, b) = (
        k.add_number_param("x", DType::F32),
        k.add_number_param("y", DType::F32),
    );
    let value = f(&mut k, a, b);
    k.store(out, value, None);
    let mut world = World::default();
    world.add_floats("out", &[0.0]);
    let (memory, mut args) = world.finish();
    args.extend([x, y].map(|v| ParamValue::Number(u64::from(v.to_bits()))));
    (k.finish(), memory, args)
}

/// The accepted values of `out[0]` after `out[0] = f(x, y)`.
fn accept_result(x: f32, y: f32, f: impl FnOnce(&mut Kernel, ValueId, ValueId) -> ValueId) -> Accepted {
    let (function, mut memory, args) = build_kernel(x, y, f);
    let (end, map) = accept(&function, [1, 1, 1], &args, &mut memory);
    assert_eq!(end, Acceptance::Known);
    map.accepted_at(StorageId(0), 0).1
}

#[track_caller]
fn expect_range(accepted: Accepted) -> (f32, f32) {
    match accepted {
        Accepted::Within {
            dtype: DType::F32,
            low,
            high,
            infinities: [false, false],
            nan: false,
        } => (low as f32, high as f32),
        other => panic!("{other:?}"),
    }
}

fn count_ulps(low: f32, high: f32) -> u32 {
    high.to_bits() - low.to_bits()
}

#[test]
fn rounded_operations_are_exact() {
    for op in [
        BinaryOp::Add,
        BinaryOp::Sub,
        BinaryOp::Mul,
        BinaryOp::DivRn,
        BinaryOp::Max,
        BinaryOp::Rem,
    ] {
        assert_eq!(
            accept_result(1.1, 0.3, |k, x, y| k.add_binary(op, x, y)),
            Accepted::Exact,
            "{op:?}"
        );
    }
    assert_eq!(
        accept_result(1.1, 0.3, |k, x, _| k.add_unary(UnaryOp::SqrtRn, x)),
        Accepted::Exact
    );
    let narrowed = accept_result(1.1, 0.3, |k, x, _| {
        let narrow = k.cast(x, DType::BF16);
        k.cast(narrow, DType::F32)
    });
    assert_eq!(narrowed, Accepted::Exact);
}

#[test]
fn functions_are_within_a_few_ulp() {
    let (low, high) = expect_range(accept_result(1.0, 0.0, |k, x, _| k.add_unary(UnaryOp::Exp, x)));
    assert!(low < 1f32.exp() && 1f32.exp() < high);
    assert!((7..=8).contains(&count_ulps(low, high)), "{low} {high}");
    let (low, high) = expect_range(accept_result(1.0, 3.0, |k, x, y| {
        k.add_binary(BinaryOp::Div, x, y)
    }));
    assert!((4..=6).contains(&count_ulps(low, high)), "{low} {high}");
    // Too small to be normal: taken and given as zero, or not.
    let (low, high) = expect_range(accept_result(-100.0, 0.0, |k, x, _| k.add_unary(UnaryOp::Exp, x)));
    assert!(low == 0.0 && high > (-100f32).exp());
    let (low, high) = expect_range(accept_result(1e-40, 0.0, |k, x, _| k.add_unary(UnaryOp::Log, x)));
    assert!(low == f32::NEG_INFINITY && high > 1e-40f32.ln());
    // These results have no numbers near them.
    assert_eq!(
        accept_result(f32::INFINITY, 0.0, |k, x, _| k.add_unary(UnaryOp::Exp, x)),
        Accepted::Exact
    );
    assert_eq!(
        accept_result(-1.0, 0.0, |k, x, _| k.add_unary(UnaryOp::Log, x)),
        Accepted::Exact
    );
}

#[test]
fn signs_that_nobody_promises() {
    // That of a NaN, and that of a zero that a rounded function gave.
    let result = accept_result(3.0, -1.0, |k, x, y| {
        let nan = k.add_unary(UnaryOp::Log, y);
        k.add_binary(BinaryOp::CopySign, x, nan)
    });
    assert_eq!(expect_range(result), (-3.0, 3.0));
    let (low, high) = expect_range(accept_result(1.0, -1.0, |k, x, y| {
        let zero = k.add_unary(UnaryOp::Log, x);
        k.add_binary(BinaryOp::Atan2, zero, y)
    }));
    assert!(low <= -std::f32::consts::PI && high >= std::f32::consts::PI);
    let rsqrt_of_zero = accept_result(1.0, 0.0, |k, x, _| {
        let zero = k.add_unary(UnaryOp::Log, x);
        k.add_unary(UnaryOp::Rsqrt, zero)
    });
    assert_eq!(rsqrt_of_zero, Accepted::Unknown);
    assert_eq!(
        accept_result(-0.0, 0.0, |k, x, _| k.add_unary(UnaryOp::Rsqrt, x)),
        Accepted::Exact
    );
}

#[test]
fn a_product_may_be_fused_into_a_sum() {
    let x = 1.1f32;
    let y = x * x;
    let fused = x.mul_add(x, -y);
    assert_ne!(fused, 0.0);
    let result = accept_result(x, y, |k, x, y| {
        let square = k.mul(x, x);
        k.add_binary(BinaryOp::Sub, square, y)
    });
    assert_eq!(expect_range(result), (fused.min(0.0), fused.max(0.0)));
    // If both roundings agree, nothing else is accepted.
    let exact = accept_result(3.0, 1.0, |k, x, y| {
        let square = k.mul(x, x);
        k.add_binary(BinaryOp::Sub, square, y)
    });
    assert_eq!(exact, Accepted::Exact);
}

/// Each product of a chain of sums may be fused into its sum: an H200 fused all of these (Triton 3.6.0, a kernel of
/// `TorchInductor`'s), which gives -0.003242124.
#[test]
fn products_are_fused_into_sums_that_are_not_exact_themselves() {
    let mut loose = 0;
    for nth in 1..200 {
        let (a, b) = (1.0 + nth as f32 * 0.00137, 0.7 - nth as f32 * 0.0021);
        let accepted = accept_result(a, b, |k, a, b| {
            let [aa, ab, bb] = [(a, a), (a, b), (b, b)].map(|(x, y)| k.mul(x, y));
            let first = k.add(aa, ab);
            let second = k.add_binary(BinaryOp::Sub, first, bb);
            let last = k.mul(b, a);
            k.add(second, last)
        });
        let plain = a * a + a * b - b * b + b * a;
        let (low, high) = if accepted == Accepted::Exact {
            (plain, plain)
        } else {
            loose += 1;
            expect_range(accepted)
        };
        for first in [a * a + a * b, a.mul_add(a, a * b), a.mul_add(b, a * a)] {
            for second in [first - b * b, (-b).mul_add(b, first)] {
                for last in [second + b * a, b.mul_add(a, second)] {
                    assert!(
                        low <= last && last <= high,
                        "{last} outside of {low} to {high} for {a} and {b}"
                    );
                }
            }
        }
        assert!(count_ulps(low, high) <= 8, "{low} to {high}");
    }
    assert!(loose > 50, "{loose}");
}

fn sum(values: &[f32]) -> Accepted {
    let mut k = Kernel::new("kernel\n");
    let (x, out) = (
        k.add_pointer_param("x", DType::F32),
        k.add_pointer_param("out", DType::F32),
    );
    let index = k.arange(values.len() as i32);
    let p = k.offset_pointer(x, index);
    let lanes = k.load(p, None, None);
    let total = k.reduce(lanes, 0, Combine::Add, BinaryOp::Add);
    k.store(out, total, None);
    let mut world = World::default();
    world.add_floats("x", values);
    world.add_floats("out", &[0.0]);
    let (mut memory, args) = world.finish();
    let (end, map) = accept(&k.finish(), [1, 1, 1], &args, &mut memory);
    assert_eq!(end, Acceptance::Known);
    map.accepted_at(StorageId(1), 0).1
}

#[test]
fn sums_go_in_any_order() {
    let values: Vec<f32> = (0..128).map(|i| (i as f32 * 0.37).sin()).collect();
    let (low, high) = expect_range(sum(&values));
    let forward: f32 = values.iter().sum();
    let backward: f32 = values.iter().rev().sum();
    for order in [forward, backward] {
        assert!(low <= order && order <= high, "{low} {order} {high}");
    }
    let magnitude: f32 = values.iter().map(|x| x.abs()).sum();
    assert!(
        high - low < magnitude * 128.0 * f32::EPSILON * 1.5,
        "{low} {high}"
    );
}

#[test]
fn sums_of_small_whole_numbers_are_exact() {
    let values: Vec<f32> = (0..64).map(|i| (i * 37 % 101) as f32 / 4.0).collect();
    assert_eq!(sum(&values), Accepted::Exact);
    assert_eq!(sum(&[1.0, f32::INFINITY, 3.0, 0.1]), Accepted::Exact);
    // Too far apart to be exact in every order.
    assert!(matches!(sum(&[1.0, 1e8, -1e8, 1.0]), Accepted::Within { .. }));
}

/// The sum of 64 products of a number with itself.
fn dot_of(dtype: DType, bits: u64, precision: InputPrecision, max_imprecise: u32) -> (f32, Accepted) {
    let mut k = Kernel::new("kernel\n");
    let out = k.add_pointer_param("out", DType::F32);
    let a = k.add_full(dtype, bits, &[1, 64]);
    let b = k.add_full(dtype, bits, &[64, 1]);
    let c = k.add_full(DType::F32, 0, &[1, 1]);
    let ty = Type::block(F32, [1, 1].as_slice());
    let kind = OpKind::Dot {
        precision,
        max_imprecise,
    };
    let product = k.b.add_op(kind, &[a, b, c], ty);
    let p = k.spread(out, &[1, 1]);
    k.store(p, product, None);
    let function = k.finish();
    let mut world = World::default();
    world.add_floats("out", &[0.0]);
    let (mut memory, args) = world.finish();
    let mut before = memory.clone();
    let (end, map) = accept(&function, [1, 1, 1], &args, &mut before);
    assert_eq!(end, Acceptance::Known);
    kernels::finish(&function, [1, 1, 1], &args, &mut memory);
    let bytes = memory.bytes(StorageId(0)).first_chunk().expect("an element");
    (f32::from_le_bytes(*bytes), map.accepted_at(StorageId(0), 0).1)
}

fn dot(precision: InputPrecision, value: f32) -> Accepted {
    dot_of(DType::F32, u64::from(value.to_bits()), precision, 0).1
}

#[test]
fn dots_are_as_loose_as_their_precision() {
    let exact = 0.1f32 * 0.1 * 64.0;
    let mut last = 0.0;
    for precision in [
        InputPrecision::Ieee,
        InputPrecision::Bf16x6,
        InputPrecision::Tf32x3,
        InputPrecision::Tf32,
    ] {
        let (low, high) = expect_range(dot(precision, 0.1));
        assert!(low < exact && exact < high);
        assert!(high - low >= last, "{precision:?}");
        last = high - low;
    }
    // A tenth as tf32, the nearest and the one cut off.
    let (low, high) = expect_range(dot(InputPrecision::Tf32, 0.1));
    for bits in [0x3dcc_c000u32, 0x3dcc_e000] {
        let tenth = f32::from_bits(bits);
        let result = tenth * tenth * 64.0;
        assert!(low < result && result < high);
    }
    assert_eq!(dot(InputPrecision::Tf32, 3.0), Accepted::Exact);
}

#[test]
fn a_tf32_dot_cuts_its_operands_off_and_may_round_them() {
    // One and three quarters of the 11 bits' last place.
    let value = 1.0f32 + 1.75 * 2f32.powi(-11);
    let (got, accepted) = dot_of(DType::F32, u64::from(value.to_bits()), InputPrecision::Tf32, 0);
    assert_eq!(got, 64.0);
    let (low, high) = expect_range(accepted);
    let up = 1.0 + 2f32.powi(-10);
    for factor in [1.0, value, up] {
        assert!(
            low <= factor * factor * 64.0 && factor * factor * 64.0 <= high,
            "{factor}"
        );
    }
    assert!(low > 63.9 && high < up * up * 64.0 * 1.0001, "{low} {high}");
    let whole = dot_of(DType::F32, u64::from(value.to_bits()), InputPrecision::Tf32x3, 0).0;
    assert!((whole - value * value * 64.0).abs() < 1e-4);
    let infinite = dot_of(
        DType::F32,
        u64::from(f32::INFINITY.to_bits()),
        InputPrecision::Tf32,
        0,
    );
    assert_eq!(infinite, (f32::INFINITY, Accepted::Exact));
    let nan = dot_of(DType::F32, 0x7f80_0001, InputPrecision::Tf32, 0);
    assert!(nan.0.is_nan() && nan.1 == Accepted::Exact);
}

#[test]
fn fewer_imprecise_products_of_fp8_are_less_loose() {
    // 416 squared has 8 bits, 64 of it more than Hopper keeps.
    let width = |most: u32| {
        let (low, high) = expect_range(dot_of(DType::F8E4NV, 0x7d, InputPrecision::Tf32, most).1);
        high - low
    };
    assert!(width(32) < width(1 << 30));
    assert_eq!(width(0), width(32));
    let one = dot_of(DType::F8E4NV, 0x38, InputPrecision::Tf32, 1 << 30);
    assert_eq!(one, (64.0, Accepted::Exact));
}

#[test]
fn an_overlapping_comparison_is_unknown_where_it_is_stored() {
    let result = accept_result(1.0, 0.0, |k, x, _| {
        let e = k.add_unary(UnaryOp::Exp, x);
        let same = k.add_full(DType::F32, u64::from(1f32.exp().to_bits()), &[]);
        let greater = k.compare(CmpPredicate::Gt, e, same);
        let (one, two) = (
            k.add_full(DType::F32, u64::from(1f32.to_bits()), &[]),
            k.add_full(DType::F32, 0x4000_0000, &[]),
        );
        k.select(greater, one, two)
    });
    assert_eq!(expect_range(result), (1.0, 2.0));
    let decided = accept_result(1.0, 0.0, |k, x, _| {
        let e = k.add_unary(UnaryOp::Exp, x);
        let greater = k.compare(CmpPredicate::Gt, e, x);
        let whole = k.cast(greater, DType::I32);
        k.cast(whole, DType::F32)
    });
    assert_eq!(decided, Accepted::Exact);
}

#[test]
fn a_softmax_is_near_the_real_one() {
    let values: Vec<f32> = (0..32).map(|i| (i * 37 % 101) as f32 / 10.0).collect();
    let mut world = World::default();
    world.add_floats("out", &[0.0; 32]);
    world.add_floats("x", &values);
    let (mut memory, mut args) = world.finish();
    args.extend([32, 32].map(ParamValue::Number));
    let (end, map) = accept(&kernels::softmax(32), [1, 1, 1], &args, &mut memory);
    assert_eq!(end, Acceptance::Known);
    let most = values.iter().copied().fold(f32::MIN, f32::max);
    let exps: Vec<f64> = values.iter().map(|&x| f64::from(x - most).exp()).collect();
    let total: f64 = exps.iter().sum();
    for (lane, e) in exps.iter().enumerate() {
        let Accepted::Within {
            low,
            high,
            nan: false,
            ..
        } = map.accepted_at(StorageId(0), lane * 4).1
        else {
            panic!("lane {lane}")
        };
        let real = e / total;
        assert!(
            low <= real && real <= high && (high - low) < real * 1e-5,
            "{low} {real} {high}"
        );
    }
}

/// The operation that widened `out[0]` most, after `out[0] = f(x, y)`.
fn find_widest(
    x: f32,
    y: f32,
    f: impl FnOnce(&mut Kernel, ValueId, ValueId) -> ValueId,
) -> Option<&'static str> {
    let (function, mut memory, args) = build_kernel(x, y, f);
    let program = Program::prepare(function).expect("verified");
    let mut map = AcceptanceMap::with_book();
    // In the second launch, whose values have other numbers.
    for _ in 0..2 {
        cerith_accept::accept(
            &program,
            [1, 1, 1],
            &args,
            &mut memory,
            &mut map,
            &Config::default(),
        )
        .expect("no bug of ours");
    }
    let widening = map.find_widening(StorageId(0), 3)?;
    assert_eq!(widening.launch, 1);
    cerith_accept::find_operation(&program, widening.value).map(|(operation, _)| operation)
}

#[test]
fn the_operation_that_widens_most_is_told() {
    // Every operand is exact, and the function alone leaves room.
    assert_eq!(
        find_widest(1.1, 0.3, |k, x, _| k.add_unary(UnaryOp::Exp, x)),
        Some("exp")
    );
    // Adding another number does not widen it, ...
    let moved = |k: &mut Kernel, x, y| {
        let root = k.add_unary(UnaryOp::Sqrt, x);
        k.add_binary(BinaryOp::Add, root, y)
    };
    assert_eq!(find_widest(1.1, 0.3, moved), Some("sqrt"));
    // ... but a subtraction that leaves next to nothing does.
    let cancelled = |k: &mut Kernel, x, y| {
        let root = k.add_unary(UnaryOp::Sqrt, x);
        k.add_binary(BinaryOp::Sub, root, y)
    };
    assert_eq!(find_widest(1.1, 1.048_808_8, cancelled), Some("sub"));
    // Nothing leaves room.
    assert_eq!(
        find_widest(1.1, 0.3, |k, x, y| k.add_binary(BinaryOp::Mul, x, y)),
        None
    );
}

#[test]
fn what_one_launch_left_the_next_one_reads() {
    let mut k = Kernel::new("kernel\n");
    let x = k.add_pointer_param("x", DType::F32);
    let value = k.load(x, None, None);
    let e = k.add_unary(UnaryOp::Exp, value);
    k.store(x, e, None);
    let program = Program::prepare(k.finish()).expect("verified");
    let mut world = World::default();
    world.add_floats("x", &[0.5]);
    let (mut memory, args) = world.finish();
    let mut map = AcceptanceMap::default();
    let mut widths = Vec::new();
    for _ in 0..3 {
        let end = cerith_accept::accept(
            &program,
            [1, 1, 1],
            &args,
            &mut memory,
            &mut map,
            &Config::default(),
        )
        .expect("no bug");
        assert_eq!(end, Acceptance::Known);
        let (low, high) = expect_range(map.accepted_at(StorageId(0), 3).1);
        widths.push((high - low) / low);
    }
    assert!(widths.is_sorted(), "{widths:?}");
    assert_eq!(map.iter().count(), 1);
}

#[test]
fn nothing_times_infinity_is_no_number() {
    for dtype in [DType::F32, DType::BF16, DType::F16] {
        let accepted = accept_result(0.0, 0.0, |k, x, y| {
            let (x, y) = (k.cast(x, dtype), k.cast(y, dtype));
            let (x, y) = (k.add_unary(UnaryOp::Floor, x), k.add_unary(UnaryOp::Log, y));
            let product = k.mul(x, y);
            k.cast(product, DType::F32)
        });
        assert!(
            matches!(
                accepted,
                Accepted::Exact | Accepted::Unknown | Accepted::Within { nan: true, .. }
            ),
            "{dtype:?}: {accepted:?}"
        );
    }
}

#[test]
fn an_atomic_sum_may_flush_what_is_subnormal() {
    let mut k = Kernel::new("kernel\n");
    let x = k.add_pointer_param("x", DType::F32);
    let value = k.add_full(DType::F32, 1, &[]);
    let add = OpKind::AtomicRmw {
        op: AtomicOp::Add,
        mask: false,
        order: cerith_tile::ir::MemoryOrder::AcquireRelease,
    };
    k.b.add_op(add, &[x, value], Type::scalar(F32));
    let mut world = World::default();
    world.add_floats("x", &[f32::MIN_POSITIVE]);
    let (mut memory, args) = world.finish();
    let (end, map) = accept(&k.finish(), [1, 1, 1], &args, &mut memory);
    assert_eq!(end, Acceptance::Known);
    let (low, high) = expect_range(map.accepted_at(StorageId(0), 0).1);
    // With the least number of all, and without it.
    assert!(
        low <= f32::MIN_POSITIVE && high >= f32::MIN_POSITIVE.next_up(),
        "{low:?} {high:?}"
    );
}

#[test]
fn what_is_written_between_atomic_adds_counts() {
    let mut k = Kernel::new("kernel\n");
    let x = k.add_pointer_param("x", DType::F32);
    let value = k.add_full(DType::F32, u64::from(2f32.to_bits()), &[]);
    for op in [
        AtomicOp::Add,
        AtomicOp::Max,
        AtomicOp::Add,
        AtomicOp::Xchg,
        AtomicOp::Add,
    ] {
        k.b.add_op(
            OpKind::AtomicRmw {
                op,
                mask: false,
                order: cerith_tile::ir::MemoryOrder::AcquireRelease,
            },
            &[x, value],
            Type::scalar(F32),
        );
    }
    let function = k.finish();
    let mut world = World::default();
    world.add_floats("x", &[-3.0]);
    let (mut memory, args) = world.finish();
    let (end, map) = accept(&function, [1, 1, 1], &args, &mut memory);
    assert_eq!(end, Acceptance::Known);
    assert_eq!(map.accepted_at(StorageId(0), 0).1, Accepted::Exact);
    // -3 + 2, raised to 2, + 2, exchanged for 2, + 2.
    assert_eq!(memory.bytes(StorageId(0)), 4f32.to_le_bytes());
}

#[test]
fn atomics_add_in_any_order() {
    let mut k = Kernel::new("kernel\n");
    let x = k.add_pointer_param("x", DType::F32);
    let pid = k.program_id(0);
    let tenth = k.add_full(DType::F32, u64::from(0.1f32.to_bits()), &[]);
    let value = k.cast(pid, DType::F32);
    let value = k.mul(value, tenth);
    k.b.add_op(
        OpKind::AtomicRmw {
            op: AtomicOp::Add,
            mask: false,
            order: cerith_tile::ir::MemoryOrder::AcquireRelease,
        },
        &[x, value],
        Type::scalar(F32),
    );
    let function = k.finish();
    let mut world = World::default();
    world.add_floats("x", &[1e3]);
    let (mut memory, args) = world.finish();
    let (end, map) = accept(&function, [20, 1, 1], &args, &mut memory);
    assert_eq!(end, Acceptance::Known);
    let (low, high) = expect_range(map.accepted_at(StorageId(0), 0).1);
    let terms = || (0..20).map(|i| i as f32 * 0.1);
    let (forward, backward) = (
        terms().fold(1e3, |a, b| a + b),
        terms().rev().fold(1e3, |a, b| a + b),
    );
    for order in [forward, backward] {
        assert!(low <= order && order <= high, "{low} {order} {high}");
    }
}

fn call_library(k: &mut Kernel, function: &str, operands: &[ValueId]) -> ValueId {
    let dtypes = vec![DType::F32; operands.len()];
    let symbol = numeric::library::find_symbol(function, &dtypes).expect("a symbol");
    k.apply_op(OpKind::Library(symbol), operands)
}

#[test]
fn library_functions_are_as_close_as_documented() {
    // Exact, for any rounding direction.
    assert_eq!(
        accept_result(0.1, 3.0, |k, x, y| call_library(k, "div_rd", &[x, y])),
        Accepted::Exact
    );
    // 1 ULP, and half of one for the rounding, on both sides; shown as `f32`, whose ties are to even.
    let (low, high) = expect_range(accept_result(2.0, 0.0, |k, x, _| call_library(k, "cbrt", &[x])));
    assert!(low < high && count_ulps(low, high) <= 4, "{low} to {high}");
    // Subnormal results may be flushed.
    let (low, high) = expect_range(accept_result(2e-38, 1.5e-38, |k, x, y| {
        call_library(k, "sub_rn", &[x, y])
    }));
    assert!(low == 0.0 && high > 0.0, "{low} to {high}");
}

#[test]
fn library_functions_take_what_is_not_exact() {
    let exp = |k: &mut Kernel, x| k.apply_op(OpKind::Unary(UnaryOp::Exp), &[x]);
    // A monotone function is as wide as its operand, and its own error.
    let (low, high) = expect_range(accept_result(1.0, 2.0, |k, x, _| {
        let x = exp(k, x);
        call_library(k, "cbrt", &[x])
    }));
    assert!(count_ulps(low, high) < 16, "{low} to {high}");
    let root = 1f32.exp().cbrt();
    assert!(low < root && root < high, "{low} to {high}");
    let (low, high) = expect_range(accept_result(1.0, 2.0, |k, x, y| {
        let x = exp(k, x);
        call_library(k, "fma_ru", &[x, y, y])
    }));
    assert!(low < high && count_ulps(low, high) < 16, "{low} to {high}");
    // One with a pole has no bound across it.
    let accepted = accept_result(1.0, 1.0, |k, x, y| {
        let (x, y) = (exp(k, x), exp(k, y));
        let zero = k.add_binary(BinaryOp::Sub, x, y);
        call_library(k, "tgamma", &[zero])
    });
    assert_eq!(accepted, Accepted::Unknown);
}

/// Adds `z` to `x * y` after an operation that keeps the product's value.
fn fused_through(between: impl Fn(&mut Kernel, ValueId) -> ValueId) -> (Accepted, f32, f32) {
    let (x, y) = (1.1f32, 1.3f32);
    let z = -(x * y);
    let accepted = accept_result(x, y, |k, x, y| {
        let product = k.mul(x, y);
        let kept = between(k, product);
        let z = k.add_full(DType::F32, u64::from(z.to_bits()), &[]);
        k.add(kept, z)
    });
    (accepted, 0.0, x.mul_add(y, z))
}

fn build_constant(k: &mut Kernel, value: f32) -> ValueId {
    k.add_full(DType::F32, u64::from(value.to_bits()), &[])
}

#[test]
fn a_product_keeps_its_factors_through_what_keeps_its_value() {
    type Transform = fn(&mut Kernel, ValueId) -> ValueId;
    let kept: [(&str, Transform); 10] = [
        ("itself", |_, p| p),
        ("p + -0.0", |k, p| {
            let zero = build_constant(k, -0.0);
            k.add(p, zero)
        }),
        ("0.0 + p", |k, p| {
            let zero = build_constant(k, 0.0);
            k.add(zero, p)
        }),
        ("p - 0.0", |k, p| {
            let zero = build_constant(k, 0.0);
            k.add_binary(BinaryOp::Sub, p, zero)
        }),
        ("p * 1.0", |k, p| {
            let one = build_constant(k, 1.0);
            k.mul(p, one)
        }),
        ("-(p * -1.0)", |k, p| {
            let one = build_constant(k, -1.0);
            let p = k.mul(one, p);
            k.add_unary(UnaryOp::Neg, p)
        }),
        ("0.0 - -p", |k, p| {
            let zero = build_constant(k, 0.0);
            let p = k.add_unary(UnaryOp::Neg, p);
            k.add_binary(BinaryOp::Sub, zero, p)
        }),
        ("where(true, p, 2.0)", |k, p| {
            let (one, two) = (build_constant(k, 1.0), build_constant(k, 2.0));
            let below = k.compare_less(one, two);
            k.b.add_op(OpKind::Select, &[below, p, two], Type::scalar(F32))
        }),
        ("a cast and back", |k, p| {
            let wide = k.cast(p, DType::F64);
            k.cast(wide, DType::F32)
        }),
        ("sum of one", |k, p| {
            let block = k.spread(p, &[1]);
            k.reduce(block, 0, Combine::Add, BinaryOp::Add)
        }),
    ];
    for (name, between) in kept {
        let (accepted, plain, fused) = fused_through(between);
        assert_ne!(plain, fused);
        assert_eq!(
            expect_range(accepted),
            (plain.min(fused), plain.max(fused)),
            "{name}"
        );
    }
    let rounded: [(&str, Transform); 3] = [
        ("abs", |k, p| k.add_unary(UnaryOp::Abs, p)),
        ("maximum", |k, p| {
            let zero = build_constant(k, 0.0);
            k.add_binary(BinaryOp::Max, p, zero)
        }),
        ("p / 1.0, correctly rounded", |k, p| {
            let one = build_constant(k, 1.0);
            k.add_binary(BinaryOp::DivRn, p, one)
        }),
    ];
    for (name, between) in rounded {
        assert_eq!(fused_through(between).0, Accepted::Exact, "{name}");
    }
}

#[test]
fn a_product_of_numbers_that_were_widened_is_one_of_the_narrow_dtype() {
    let (x, y) = (1.1f32, 1.3f32);
    let bits = |value: f32| numeric::encode(DType::F16, f64::from(value), Rounding::NearestEven);
    let half = |value: f32| numeric::decode(DType::F16, bits(value));
    let exact = half(x) * half(y);
    let rounded = half(exact as f32);
    assert_ne!(exact, rounded);
    let narrow = |k: &mut Kernel, narrowed: bool| {
        let [x, y] = [x, y].map(|value| {
            let value = k.add_full(DType::F16, bits(value), &[]);
            k.cast(value, DType::F32)
        });
        // A number that the narrow dtype can't represent is not a factor of a narrow product.
        let product = if narrowed {
            k.mul(x, y)
        } else {
            let third = build_constant(k, 1.0 / 3.0);
            k.mul(x, third)
        };
        let product = k.cast(product, DType::F16);
        let rounded = if narrowed {
            rounded
        } else {
            half((half(1.1) / 3.0) as f32)
        };
        let z = k.add_full(DType::F16, bits(-rounded as f32), &[]);
        let sum = k.add(product, z);
        k.cast(sum, DType::F32)
    };
    let (low, high) = expect_range(accept_result(0.0, 0.0, |k, _, _| narrow(k, true)));
    let left = (exact - rounded) as f32;
    assert_eq!((low, high), (left.min(0.0), left.max(0.0)));
    assert_eq!(
        accept_result(0.0, 0.0, |k, _, _| narrow(k, false)),
        Accepted::Exact
    );
}

#[test]
fn a_remainder_of_a_product_is_fused() {
    let (x, y) = (1.7f32, 2.3f32);
    let result = accept_result(x, y, |k, x, y| {
        let product = k.mul(x, y);
        let one = build_constant(k, 1.0);
        k.add_binary(BinaryOp::Rem, product, one)
    });
    let (low, high) = expect_range(result);
    let fused = x.mul_add(y, -3.0);
    assert_ne!(fused, (x * y) % 1.0);
    for value in [fused, (x * y) % 1.0] {
        assert!(
            low <= value && value <= high,
            "{value} outside of {low} to {high}"
        );
    }
    assert!(high - low < 1e-6, "{low} to {high}");
}

/// The sum of products of blocks: `tl.sum(x * y)`.
#[test]
fn a_sum_of_products_adds_them_unrounded() {
    let (x, y) = ([1.1f32, -1.1], [1.3f32, 1.3]);
    let mut k = Kernel::new("kernel\n");
    let pointers = [
        k.add_pointer_param("x", DType::F32),
        k.add_pointer_param("y", DType::F32),
    ];
    let out = k.add_pointer_param("out", DType::F32);
    let index = k.arange(2);
    let [a, b] = pointers.map(|pointer| {
        let p = k.offset_pointer(pointer, index);
        k.load(p, None, None)
    });
    let products = k.mul(a, b);
    let total = k.reduce(products, 0, Combine::Add, BinaryOp::Add);
    k.store(out, total, None);
    let mut world = World::default();
    world.add_floats("x", &x);
    world.add_floats("y", &y);
    world.add_floats("out", &[0.0]);
    let (mut memory, args) = world.finish();
    let (end, map) = accept(&k.finish(), [1, 1, 1], &args, &mut memory);
    assert_eq!(end, Acceptance::Known);
    let (low, high) = expect_range(map.accepted_at(StorageId(2), 0).1);
    let fused = x[0].mul_add(y[0], x[1] * y[1]);
    assert_ne!(fused, 0.0);
    assert!(low <= -fused.abs() && fused.abs() <= high, "{low} to {high}");
    // Less than what a unit of the products is.
    assert!(high - low < 4e-6, "{low} to {high}");
}

/// `dot(a, b, start) op d` of ones, 64 of them, and what is accepted.
fn dot_and(start: f32, d: f32, op: BinaryOp, again: bool) -> Accepted {
    let mut k = Kernel::new("kernel\n");
    let out = k.add_pointer_param("out", DType::F32);
    let tenth = u64::from(0.1f32.to_bits());
    let a = k.add_full(DType::F16, 0x2e66, &[1, 64]);
    let b = k.add_full(DType::F16, 0x2e66, &[64, 1]);
    let c = k.add_full(DType::F32, u64::from(start.to_bits()), &[1, 1]);
    let d = k.add_full(DType::F32, u64::from(d.to_bits()), &[1, 1]);
    let kind = OpKind::Dot {
        precision: InputPrecision::Ieee,
        max_imprecise: 0,
    };
    let product = k.b.add_op(kind, &[a, b, c], Type::block(F32, [1, 1].as_slice()));
    let sum = k.add_binary(op, product, d);
    let sum = if again {
        let tenth = k.add_full(DType::F32, tenth, &[1, 1]);
        let scaled = k.mul(product, tenth);
        k.add_binary(BinaryOp::Max, sum, scaled)
    } else {
        sum
    };
    let p = k.spread(out, &[1, 1]);
    k.store(p, sum, None);
    let mut world = World::default();
    world.add_floats("out", &[0.0]);
    let (mut memory, args) = world.finish();
    let (end, map) = accept(&k.finish(), [1, 1, 1], &args, &mut memory);
    assert_eq!(end, Acceptance::Known);
    map.accepted_at(StorageId(0), 0).1
}

#[test]
fn what_is_added_to_a_dot_of_nothing_may_be_its_accumulator() {
    let width = |accepted| {
        let (low, high) = expect_range(accepted);
        f64::from(high) - f64::from(low)
    };
    let unit = f64::from(f32::EPSILON) * 1e6;
    // The steps of the dot round at the accumulator's magnitude: some units of a million.
    let merged = width(dot_and(0.0, 1e6, BinaryOp::Add, false));
    assert!(merged > 16.0 * unit, "{merged}");
    assert!(merged < 1000.0 * unit, "{merged}");
    assert_eq!(width(dot_and(-0.0, 1e6, BinaryOp::Add, false)), merged);
    // Not a difference, not a dot with an accumulator, and not one that something else uses.
    for apart in [
        dot_and(0.0, 1e6, BinaryOp::Sub, false),
        dot_and(1.0, 1e6, BinaryOp::Add, false),
        dot_and(0.0, 1e6, BinaryOp::Add, true),
    ] {
        if apart != Accepted::Exact {
            assert!(width(apart) <= 2.0 * unit, "{apart:?}");
        }
    }
}

#[test]
fn what_is_subnormal_is_flushed_before_anything_else() {
    let root = |x: f32, op| accept_result(x, 0.0, move |k, x, _| k.add_unary(op, x));
    for op in [UnaryOp::Sqrt, UnaryOp::SqrtRn] {
        let accepted = root(-1e-40, op);
        assert_eq!(accepted.check_bits(0x8000_0000), Some(true), "{op:?}");
        assert_eq!(accepted.check_bits(0x7fc0_0000), Some(true), "{op:?}");
        assert_eq!(accepted.check_bits(0x3f80_0000), Some(false), "{op:?}");
        assert_eq!(root(-1.0, op), Accepted::Exact);
    }
    let accepted = root(-1e-40, UnaryOp::Rsqrt);
    assert_eq!(
        accepted.check_bits(u64::from(f32::NEG_INFINITY.to_bits())),
        Some(true)
    );
    assert_eq!(
        accepted.check_bits(u64::from(f32::INFINITY.to_bits())),
        Some(false)
    );
    assert_eq!(root(0.5, UnaryOp::SqrtRn), Accepted::Exact);
    let quotient = accept_result(1e-40, 3.0, |k, x, y| k.add_binary(BinaryOp::DivRn, x, y));
    assert_eq!(quotient.check_bits(0), Some(true));
    assert_eq!(
        accept_result(1.1, 3.0, |k, x, y| k.add_binary(BinaryOp::DivRn, x, y)),
        Accepted::Exact
    );
}

#[test]
fn what_may_be_anything_is_not_accepted() {
    // The divisor may be zero, so the result may be any number.
    let quotient = accept_result(1.0, 1.0, |k, x, y| {
        let (a, b) = (k.add_unary(UnaryOp::Exp, x), k.add_unary(UnaryOp::Exp, y));
        let zero = k.add_binary(BinaryOp::Sub, a, b);
        k.add_binary(BinaryOp::Div, x, zero)
    });
    assert_eq!(quotient, Accepted::Unknown);
    assert_eq!(quotient.check_bits(0), None);
}

#[test]
fn what_is_not_negative_adds_up_to_no_less_than_each_term() {
    let values: Vec<f32> = (0..64)
        .map(|i| if i == 7 { 1e-3 } else { 1e-30 * i as f32 })
        .collect();
    let (low, _) = expect_range(sum(&values));
    assert!(low > 0.99e-3, "{low}");
}

#[test]
fn a_product_that_was_widened_is_fused_where_the_sum_is_narrowed_again() {
    let bits = |value: f32| numeric::encode(DType::F16, f64::from(value), Rounding::NearestEven);
    let half = |value: f32| numeric::decode(DType::F16, bits(value));
    let (x, y) = (1.1f32, 1.3f32);
    let exact = half(x) * half(y);
    let rounded = half(exact as f32);
    assert_ne!(exact, rounded);
    let sum = |narrowed: bool| {
        accept_result(0.0, 0.0, |k, _, _| {
            let [x, y, z] = [x, y, -rounded as f32].map(|value| k.add_full(DType::F16, bits(value), &[]));
            let product = k.mul(x, y);
            let [product, z] = [product, z].map(|value| k.cast(value, DType::F32));
            let sum = k.add(product, z);
            if narrowed {
                let sum = k.cast(sum, DType::F16);
                k.cast(sum, DType::F32)
            } else {
                sum
            }
        })
    };
    let left = (exact - rounded) as f32;
    assert_eq!(expect_range(sum(true)), (left.min(0.0), left.max(0.0)));
    assert_eq!(sum(false), Accepted::Exact);
}

#[test]
fn which_zero_a_clamp_gives_is_not_known() {
    for op in [TernaryOp::Clamp, TernaryOp::ClampPropagateNan] {
        let accepted = accept_result(0.0, 0.0, |k, x, _| {
            let (low, high) = (build_constant(k, -0.0), build_constant(k, 1.0));
            k.b.add_op(OpKind::Ternary(op), &[x, low, high], Type::scalar(F32))
        });
        assert_eq!(expect_range(accepted), (0.0, 0.0), "{op:?}");
        let accepted = accept_result(0.5, 0.0, |k, x, _| {
            let (low, high) = (build_constant(k, 0.0), build_constant(k, 1.0));
            k.b.add_op(OpKind::Ternary(op), &[x, low, high], Type::scalar(F32))
        });
        assert_eq!(accepted, Accepted::Exact, "{op:?}");
    }
}
