//! Products that a compiler may fuse into sums, and what stands between the two.

use cerith_accept::{Acceptance, Accepted};
use cerith_memory::StorageId;
use cerith_tile::ir::{BinaryOp, Combine, InputPrecision, OpKind, Rounding, Type, UnaryOp, ValueId};
use cerith_tile::{DType, numeric};

use crate::acceptance::{accept, accept_result, build_constant, count_ulps, expect_range};
use crate::kernels::{F32, Kernel, World};

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
