//! The loops over blocks: 1,024 lanes an iteration, the size of a usual Triton block.

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CmpPredicate, Rounding, TernaryOp, UnaryOp};
use cerith_tile::numeric::encode;
use cerith_tile::numeric::lanes::{self, Operand};
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};

const LANES: usize = 1024;

fn main() {
    divan::main();
}

/// Small positive numbers, so that no operation leaves its usual path.
fn block(dtype: DType) -> Vec<u64> {
    let mut words = vec![0u64; LANES * dtype.size() / 8];
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
    for (lane, slot) in bytes.chunks_exact_mut(dtype.size()).enumerate() {
        let value = 1.0 + (lane % 13) as f64 * 0.5;
        let bits = encode(dtype, value, Rounding::NearestEven);
        slot.copy_from_slice(&bits.to_le_bytes()[..dtype.size()]);
    }
    words
}

fn as_bytes(words: &[u64]) -> &[u8] {
    bytemuck::cast_slice(words)
}

#[divan::bench(args = [DType::F32, DType::F64, DType::F16, DType::BF16, DType::F8E4NV, DType::I32, DType::I64, DType::I8])]
fn add(bencher: Bencher<'_, '_>, dtype: DType) {
    bench_binary(bencher, BinaryOp::Add, dtype);
}

#[divan::bench(args = [DType::F32, DType::F16, DType::BF16, DType::I32, DType::I64])]
fn mul(bencher: Bencher<'_, '_>, dtype: DType) {
    bench_binary(bencher, BinaryOp::Mul, dtype);
}

#[divan::bench(args = [DType::F32, DType::F16, DType::I32])]
fn max(bencher: Bencher<'_, '_>, dtype: DType) {
    bench_binary(bencher, BinaryOp::Max, dtype);
}

#[divan::bench(args = [DType::F32])]
fn div(bencher: Bencher<'_, '_>, dtype: DType) {
    bench_binary(bencher, BinaryOp::Div, dtype);
}

#[divan::bench(args = [DType::I32, DType::I64])]
fn int_div(bencher: Bencher<'_, '_>, dtype: DType) {
    bench_binary(bencher, BinaryOp::IntDiv, dtype);
}

#[divan::bench(args = [DType::I32])]
fn shl(bencher: Bencher<'_, '_>, dtype: DType) {
    bench_binary(bencher, BinaryOp::Shl, dtype);
}

fn bench_binary(bencher: Bencher<'_, '_>, op: BinaryOp, dtype: DType) {
    let (x, y, mut out) = (block(dtype), block(dtype), block(dtype));
    bencher.counter(ItemsCount::new(LANES)).bench_local(|| {
        let (x, y) = (Operand::Block(as_bytes(&x)), Operand::Block(as_bytes(&y)));
        lanes::apply_binary(
            op,
            dtype,
            black_box(x),
            black_box(y),
            bytemuck::cast_slice_mut(&mut out),
        )
    });
}

#[divan::bench(args = [DType::F32, DType::I32, DType::I64, DType::F16])]
fn compare(bencher: Bencher<'_, '_>, dtype: DType) {
    let (x, y, mut out) = (block(dtype), block(dtype), block(DType::I1));
    bencher.counter(ItemsCount::new(LANES)).bench_local(|| {
        let (x, y) = (Operand::Block(as_bytes(&x)), Operand::Block(as_bytes(&y)));
        lanes::compare(
            CmpPredicate::Lt,
            dtype,
            black_box(x),
            black_box(y),
            bytemuck::cast_slice_mut(&mut out),
        );
    });
}

#[divan::bench(args = [4, 8])]
fn select(bencher: Bencher<'_, '_>, size: usize) {
    let dtype = if size == 4 { DType::F32 } else { DType::I64 };
    let (c, x, y, mut out) = (block(DType::I1), block(dtype), block(dtype), block(dtype));
    bencher.counter(ItemsCount::new(LANES)).bench_local(|| {
        let (c, x, y) = (
            Operand::Block(as_bytes(&c)),
            Operand::Block(as_bytes(&x)),
            Operand::Block(as_bytes(&y)),
        );
        lanes::select(
            size,
            black_box(c),
            black_box(x),
            black_box(y),
            bytemuck::cast_slice_mut(&mut out),
        );
    });
}

#[divan::bench(args = [UnaryOp::Exp, UnaryOp::Exp2, UnaryOp::Log, UnaryOp::Log2, UnaryOp::Sqrt, UnaryOp::Rsqrt, UnaryOp::Sin, UnaryOp::Floor, UnaryOp::Erf, UnaryOp::Neg])]
fn unary_f32(bencher: Bencher<'_, '_>, op: UnaryOp) {
    let (x, mut out) = (block(DType::F32), block(DType::F32));
    bencher.counter(ItemsCount::new(LANES)).bench_local(|| {
        lanes::apply_unary(
            op,
            DType::F32,
            black_box(Operand::Block(as_bytes(&x))),
            bytemuck::cast_slice_mut(&mut out),
        )
    });
}

#[divan::bench(args = [DType::F32, DType::F16, DType::F64])]
fn fma(bencher: Bencher<'_, '_>, dtype: DType) {
    let (x, mut out) = (block(dtype), block(dtype));
    bencher.counter(ItemsCount::new(LANES)).bench_local(|| {
        let x = black_box(Operand::Block(as_bytes(&x)));
        lanes::apply_ternary(TernaryOp::Fma, dtype, x, x, x, bytemuck::cast_slice_mut(&mut out))
    });
}

#[divan::bench(args = [
    (DType::F16, DType::F32), (DType::F32, DType::F16), (DType::BF16, DType::F32), (DType::F32, DType::BF16),
    (DType::I32, DType::I64), (DType::I32, DType::F32), (DType::F32, DType::I32), (DType::F32, DType::F8E4NV),
    (DType::F8E4NV, DType::F32), (DType::F32, DType::F64),
])]
fn cast(bencher: Bencher<'_, '_>, (from, to): (DType, DType)) {
    let (x, mut out) = (block(from), block(to));
    bencher.counter(ItemsCount::new(LANES)).bench_local(|| {
        let x = black_box(Operand::Block(as_bytes(&x)));
        lanes::cast(
            from,
            to,
            Rounding::NearestEven,
            x,
            bytemuck::cast_slice_mut(&mut out),
        )
    });
}
