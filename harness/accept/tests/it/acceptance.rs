//! Accepted values: every value that a conforming implementation may store is accepted, and the range is not wider than necessary.

use crate::kernels::{self, F32, Kernel, World};
use cerith_accept::{Acceptance, AcceptanceMap, Accepted};
use cerith_interp::{Config, ParamValue, Program};
use cerith_memory::{Memory, StorageId};
use cerith_tile::ir::{
    AtomicOp, BinaryOp, CmpPredicate, Combine, Function, InputPrecision, OpKind, TernaryOp, Type, UnaryOp,
    ValueId,
};
use cerith_tile::{DType, numeric};

pub fn accept(
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
pub fn accept_result(x: f32, y: f32, f: impl FnOnce(&mut Kernel, ValueId, ValueId) -> ValueId) -> Accepted {
    let (function, mut memory, args) = build_kernel(x, y, f);
    let (end, map) = accept(&function, [1, 1, 1], &args, &mut memory);
    assert_eq!(end, Acceptance::Known);
    map.accepted_at(StorageId(0), 0).1
}

#[track_caller]
pub fn expect_range(accepted: Accepted) -> (f32, f32) {
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

pub fn count_ulps(low: f32, high: f32) -> u32 {
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
    // Subnormal operands and results may be flushed to zero.
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
fn any_unspecified_sign_is_accepted() {
    // The sign of a NaN, and of a zero that a function with an error returned.
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
    // These magnitudes are too different for the sum to be exact in every order.
    assert!(matches!(sum(&[1.0, 1e8, -1e8, 1.0]), Accepted::Within { .. }));
}

/// Executes a dot: the sum of 64 products of a number with itself.
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
    // A tenth as tf32: rounded, and truncated.
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
    // 416 squared has 8 significant bits, and the sum of 64 products has more than Hopper keeps.
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
    // The second launch is checked: its values have numbers other than those of the first.
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
fn the_operation_that_widens_most_is_reported() {
    // Every operand is exact, so only the function widens the result.
    assert_eq!(
        find_widest(1.1, 0.3, |k, x, _| k.add_unary(UnaryOp::Exp, x)),
        Some("exp")
    );
    // Adding another number does not widen it more, ...
    let moved = |k: &mut Kernel, x, y| {
        let root = k.add_unary(UnaryOp::Sqrt, x);
        k.add_binary(BinaryOp::Add, root, y)
    };
    assert_eq!(find_widest(1.1, 0.3, moved), Some("sqrt"));
    // ... but a subtraction with cancellation does.
    let cancelled = |k: &mut Kernel, x, y| {
        let root = k.add_unary(UnaryOp::Sqrt, x);
        k.add_binary(BinaryOp::Sub, root, y)
    };
    assert_eq!(find_widest(1.1, 1.048_808_8, cancelled), Some("sub"));
    // No operation widens the result.
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
    // -3 + 2, the maximum with 2, + 2, exchanged for 2, + 2.
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
fn library_functions_take_intervals() {
    let exp = |k: &mut Kernel, x| k.apply_op(OpKind::Unary(UnaryOp::Exp), &[x]);
    // The range of a monotone function is that of its operand, widened by the function's error.
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
    // A function with a pole in its operand's interval has no bound.
    let accepted = accept_result(1.0, 1.0, |k, x, y| {
        let (x, y) = (exp(k, x), exp(k, y));
        let zero = k.add_binary(BinaryOp::Sub, x, y);
        call_library(k, "tgamma", &[zero])
    });
    assert_eq!(accepted, Accepted::Unknown);
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

pub fn build_constant(k: &mut Kernel, value: f32) -> ValueId {
    k.add_full(DType::F32, u64::from(value.to_bits()), &[])
}
