//! NumPy's results, bit for bit, if they aren't the nearest float: Triton's interpreter calls it for sums and
//! functions. If a NumPy function is less accurate than a conforming implementation may be ([`Accuracy`]), the result
//! is the nearest float instead: NumPy's `log` is up to 3.6 ULP off, and its `exp` 2.3 near 0.
//!
//! - Sums: adjacent elements are added pairwise, runs of at most 128 in eight alternating sums, longer ones as the sum
//!   of their halves (`pairwise_sum` of `loops_utils.h`). Elements with a stride are added from the first to the last.
//! - `exp` and `log` of `f32`: quotients of polynomials, as on a CPU with AVX2 or AVX-512
//!   (`loops_exponent_log.dispatch.c.src`). On another CPU they are its C library's.
//! - `rsqrt`: 1 over a square root, each rounded.
//!
//! NumPy begins a sum with 0, so the sum of negative zeros is a positive zero. No conforming implementation does, so
//! this module doesn't either; it is a known bug of the interpreter (`sum-begins-with-zero`).
//!
//! Not modelled: arrays that are not in row-major order, which NumPy adds in memory order; matrix products, whose order
//! depends on a BLAS library; functions that call the C library on every CPU.

use std::ops::Add;

use super::accuracy::Accuracy;
use super::lanes::{self, Operand};
use super::single::evaluate_single;
use crate::DType;
use crate::ir::{BinaryOp, Rounding, UnaryOp};

/// Elements that are added in turns; longer runs are halved.
const RUN: usize = 128;

/// Sums that take turns.
const SUMS: usize = 8;

/// Finds NumPy's implementation of a function of `f32`. `None` if it returns the nearest float, or calls the C library.
pub fn find_function(op: UnaryOp) -> Option<fn(f32) -> f32> {
    match op {
        UnaryOp::Exp => Some(|x| choose_conforming(UnaryOp::Exp, x, exp(x))),
        UnaryOp::Log => Some(|x| choose_conforming(UnaryOp::Log, x, log(x))),
        UnaryOp::Rsqrt => Some(|x| 1.0 / x.sqrt()),
        _ => None,
    }
}

/// Computes NumPy's result for an operation on `x` if it is admitted for a conforming implementation; otherwise the
/// nearest float.
#[inline(always)]
fn choose_conforming(op: UnaryOp, x: f32, numpys: f32) -> f32 {
    let nearest = evaluate_single(op, x as f64).map_or(numpys, |exact| exact as f32);
    let most = match Accuracy::of_unary(op, DType::F32) {
        Accuracy::Ulp { ulps, per_unit, .. } => ulps + (per_unit * x.abs() as f64).floor(),
        Accuracy::Exact | Accuracy::Remainder => 0.0,
    };
    // Between floats of other signs there are many.
    let steps = nearest.to_bits().abs_diff(numpys.to_bits());
    if f64::from(steps) <= most { numpys } else { nearest }
}

/// Whether NumPy has sums of a dtype, and adds in an order that matters.
pub const fn has_sums(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::F32 | DType::F64)
}

/// Adds the elements of an axis, which are `inner` elements apart in row-major order: `count` for each element of `to`,
/// at least one. Does nothing for dtypes without [sums](has_sums).
pub fn sum(dtype: DType, count: usize, inner: usize, elements: &[u8], to: &mut [u8]) {
    match dtype {
        DType::F32 if inner == 1 => sum_rows(count, &read_floats(elements), to),
        DType::F64 if inner == 1 => {
            let elements: Vec<f64> = split_words(elements).map(f64::from_le_bytes).collect();
            sum_rows(count, &elements, to);
        }
        // Added as `f32` and rounded once.
        DType::F16 if inner == 1 => {
            let (mut wide, mut sums) = (vec![0; elements.len() * 2], vec![0; to.len() * 2]);
            let nearest = Rounding::NearestEven;
            lanes::cast(
                DType::F16,
                DType::F32,
                nearest,
                Operand::Block(elements),
                &mut wide,
            );
            sum_rows(count, &read_floats(&wide), &mut sums);
            lanes::cast(DType::F32, DType::F16, nearest, Operand::Block(&sums), to);
        }
        _ if has_sums(dtype) => in_turn(dtype, count, inner * dtype.size(), elements, to),
        _ => {}
    }
}

fn split_words<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.as_chunks().0.iter().copied()
}

fn read_floats(bytes: &[u8]) -> Vec<f32> {
    split_words(bytes).map(f32::from_le_bytes).collect()
}

/// Adds each row of `row` bytes to the sum of those before it.
fn in_turn(dtype: DType, count: usize, row: usize, elements: &[u8], to: &mut [u8]) {
    let mut sum = vec![0; row];
    let blocks = elements.chunks_exact((count * row).max(1));
    for (block, to) in blocks.zip(to.chunks_exact_mut(row.max(1))) {
        let mut rows = block.chunks_exact(row.max(1));
        if let Some(first) = rows.next() {
            to.copy_from_slice(first);
        }
        for elements in rows {
            let (so_far, next) = (Operand::Block(to), Operand::Block(elements));
            lanes::apply_binary(BinaryOp::Add, dtype, so_far, next, &mut sum);
            to.copy_from_slice(&sum);
        }
    }
}

/// Adds the elements of each row of `count` pairwise.
fn sum_rows<T>(count: usize, elements: &[T], to: &mut [u8])
where
    T: Copy + Default + Add<Output = T> + bytemuck::NoUninit,
{
    let sums = to.chunks_exact_mut(size_of::<T>().max(1));
    for (row, to) in elements.chunks_exact(count.max(1)).zip(sums) {
        to.copy_from_slice(bytemuck::bytes_of(&sum_pairwise(row)));
    }
}

fn sum_pairwise<T: Copy + Default + Add<Output = T>>(row: &[T]) -> T {
    if row.len() > RUN {
        let half = row.len() / 2;
        let (front, back) = row.split_at(half - half % SUMS);
        return sum_pairwise(front) + sum_pairwise(back);
    }
    let (turns, rest) = row.as_chunks::<SUMS>();
    let in_turns = turns.split_first().map(|(&first, turns)| {
        let [a, b, c, d, e, f, g, h] = turns.iter().fold(first, |sums, turn| {
            std::array::from_fn(|nth| sums[nth] + turn[nth])
        });
        ((a + b) + (c + d)) + ((e + f) + (g + h))
    });
    let all = in_turns.into_iter().chain(rest.iter().copied());
    all.reduce(Add::add).unwrap_or_default()
}

/// `a * b + c`, rounded once. The product is exact in `f64`, and the sum so close that rounding it again matters in one of 2^28
/// cases.
#[inline(always)]
fn multiply_add(a: f32, b: f32, c: f32) -> f32 {
    (a as f64 * b as f64 + c as f64) as f32
}

/// A polynomial, the highest power's coefficient first.
#[inline(always)]
fn evaluate_polynomial<const N: usize>(coefficients: [f64; N], x: f32) -> f32 {
    coefficients
        .into_iter()
        .fold(0.0, |sum, coefficient| multiply_add(sum, x, coefficient as f32))
}

/// `e` to the power of `x`.
#[inline(always)]
fn exp(x: f32) -> f32 {
    // 1.5 * 2^23: adding it leaves the nearest integer.
    const INTEGRAL: f32 = 12_582_912.0;
    // Past these the result is infinite or zero.
    const MAX_INPUT: f32 = 88.722_84;
    const LEAST: f32 = -103.972_084;
    let scaled = x * std::f32::consts::LOG2_E;
    let exponent = (scaled + INTEGRAL) - INTEGRAL;
    // ln(2) in two parts.
    let rest = multiply_add(exponent, -6.931_457_5e-1, x);
    let rest = multiply_add(exponent, -1.428_606_8e-6, rest);
    let above = evaluate_polynomial(
        [
            5.082_762_527_590_694e-4,
            6.757_896_990_527_505e-3,
            5.114_512_081_637_298e-2,
            2.473_615_434_895_520_8e-1,
            7.257_664_613_233_125e-1,
            9.999_999_999_980_871e-1,
        ],
        rest,
    );
    let below = evaluate_polynomial([2.159_509_375_685_83e-2, -2.742_335_390_411_667_6e-1, 1.0], rest);
    let power = f64::from_bits(((exponent.clamp(-160.0, 160.0) as i64 + 1023) as u64) << 52);
    let result = ((above / below) as f64 * power) as f32;
    let result = if x > MAX_INPUT { f32::INFINITY } else { result };
    let result = if x < LEAST { 0.0 } else { result };
    if x.is_nan() { x } else { result }
}

/// The natural logarithm.
#[inline(always)]
fn log(x: f32) -> f32 {
    // Every `f32` is a normal `f64`.
    let bits = (x as f64).to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1023;
    let significand = f64::from_bits(bits & 0x000f_ffff_ffff_ffff | 1023 << 52) as f32;
    let high = significand > std::f32::consts::SQRT_2;
    let (exponent, significand) = if high {
        (exponent + 1, significand * 0.5)
    } else {
        (exponent, significand)
    };
    let rest = significand - 1.0;
    let above = evaluate_polynomial(
        [
            2.589_979_117_907_922_7e-2,
            3.808_837_741_388_408e-1,
            1.480_000_633_576_506_6,
            2.112_677_543_073_053,
            9.999_999_999_999_999e-1,
            0.0,
        ],
        rest,
    );
    let below = evaluate_polynomial(
        [
            5.875_095_403_124_574e-3,
            1.546_476_374_983_906_7e-1,
            9.864_942_958_519_419e-1,
            2.453_006_071_784_736_4,
            2.612_677_543_073_109,
            1.0,
        ],
        rest,
    );
    let result = multiply_add(exponent as f32, std::f32::consts::LN_2, above / below);
    if x > 0.0 {
        if x == f32::INFINITY { x } else { result }
    } else if x == 0.0 {
        f32::NEG_INFINITY
    } else {
        f32::NAN
    }
}
