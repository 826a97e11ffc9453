//! Matrix products and histograms.
//!
//! A product of floats is computed in `f32` (`f64` for `f64`): products and sums rounded to nearest, in ascending `k`,
//! starting from 0, the accumulator added last; narrow results are rounded once, at the end. Integers are exact modulo
//! 2^32.
//!
//! With the input precision `tf32`, the last 13 bits of `f32` operands are not looked at: so do the tensor cores that
//! Triton feeds with `f32` as it is (`mma` and `wgmma` with `.tf32` in its PTX, and no `cvt`), and so says `tl.dot`'s
//! documentation. The split precisions (`tf32x3`, `bf16x3`, `bf16x6`) approximate the product of the whole operands,
//! which is what is computed for them. Devices choose other orders and may round; what they may give is
//! `cerith-accept`'s to say.

use cerith_tile::DType;
use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::ir::{InputPrecision, Rounding};
use cerith_tile::numeric;
use cerith_tile::numeric::lanes::{self, Operand};

use crate::elementwise::compute_dtype;
use crate::machine::Machine;
use crate::outcome::Stop;
use crate::program::{Slot, Step};
use crate::value::{Buf, Mark, POISON, Poison, Value, read, write};

/// The extents of a product.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Products.
    pub batch: usize,
    /// Rows of the result.
    pub m: usize,
    /// Columns of the result.
    pub n: usize,
    /// Terms of an element.
    pub k: usize,
}

impl Machine<'_> {
    /// The extents of a product of `[batch,] m, k` and `[batch,] k, n`.
    pub fn find_extent(&self, a: Slot, b: Slot) -> Result<Extent, Stop> {
        let (a, b) = (self.ty(a).shape.as_slice(), self.ty(b).shape.as_slice());
        match (a, b) {
            (&[m, k], &[k2, n]) if k == k2 => Ok(Extent { batch: 1, m, n, k }),
            (&[batch, m, k], &[batch2, k2, n]) if k == k2 && batch == batch2 => Ok(Extent { batch, m, n, k }),
            _ => Err(Stop::malformed("a dot")),
        }
    }

    /// A slot's lanes as another dtype.
    fn convert_lanes(&mut self, slot: Slot, to: DType) -> Result<Buf, Stop> {
        let layout = self.layout(slot);
        let from = compute_dtype(layout.elem);
        let stored = self.copy_lanes(slot)?;
        if from == to {
            return Ok(stored);
        }
        let mut buf = self.state.pool.take(layout.lanes * to.size())?;
        lanes::cast(from, to, Rounding::NearestEven, Operand::Block(&stored), &mut buf);
        self.state.pool.give(stored);
        Ok(buf)
    }

    pub(crate) fn dot(&mut self, precision: InputPrecision, step: &Step) -> Result<(), Stop> {
        let (a, b, c, out) = (step.ins[0], step.ins[1], step.ins[2], step.outs[0]);
        let extent = self.find_extent(a, b)?;
        let layout = self.layout(out);
        let result = compute_dtype(layout.elem);
        let working = match (result, result.is_float()) {
            (DType::F64, _) => DType::F64,
            (_, true) => DType::F32,
            (_, false) => DType::I32,
        };
        let (mut x, mut y) = (self.convert_lanes(a, working)?, self.convert_lanes(b, working)?);
        if precision == InputPrecision::Tf32 && compute_dtype(self.layout(a).elem) == DType::F32 {
            cut_to_tf32(&mut x);
            cut_to_tf32(&mut y);
        }
        let mut sum = self.state.pool.zeros(layout.lanes * working.size())?;
        multiply_batch(working, extent, &x, &y, &mut sum);
        self.state.pool.give(x);
        self.state.pool.give(y);
        let start = if is_planted(Fault::DotDropsAccumulator) {
            self.state.pool.zeros(layout.lanes * working.size())?
        } else {
            self.convert_lanes(c, working)?
        };
        let mut total = self.state.pool.take(layout.lanes * working.size())?;
        lanes::apply_binary(
            cerith_tile::ir::BinaryOp::Add,
            working,
            Operand::Block(&sum),
            Operand::Block(&start),
            &mut total,
        );
        self.state.pool.give(sum);
        self.state.pool.give(start);
        if working != result {
            let mut narrow = self.state.pool.take(layout.lanes * layout.size)?;
            lanes::cast(
                working,
                result,
                Rounding::NearestEven,
                Operand::Block(&total),
                &mut narrow,
            );
            self.state.pool.give(std::mem::replace(&mut total, narrow));
        }
        let clean = [a, b, c].iter().all(|&slot| self.value(slot).poison.is_none());
        let poison = if clean {
            Poison::None
        } else {
            self.dot_poison(extent, a, b, c)?
        };
        self.set_lanes(out, Value::dense(total).with_poison(poison));
        Ok(())
    }

    /// A poison element makes poison of its row or column.
    fn dot_poison(&mut self, extent: Extent, a: Slot, b: Slot, c: Slot) -> Result<Poison, Stop> {
        let Extent { batch, m, n, k } = extent;
        let rows: Vec<Mark> = (0..batch * m)
            .map(|row| find_worst((0..k).map(|i| self.value(a).poison.mark(row * k + i))))
            .collect();
        let columns: Vec<Mark> = (0..batch * n)
            .map(|column| {
                let (at, j) = (column / n.max(1), column % n.max(1));
                find_worst((0..k).map(|i| self.value(b).poison.mark((at * k + i) * n + j)))
            })
            .collect();
        self.poison_by(batch * m * n, |machine, lane| {
            let (row, j) = (lane / n.max(1), lane % n.max(1));
            let column = columns.get(row / m.max(1) * n + j);
            let own = machine.value(c).poison.mark(lane);
            find_worst([rows.get(row), column].into_iter().flatten().copied()).max(own)
        })
    }

    pub(crate) fn histogram(&mut self, mask: bool, step: &Step) -> Result<(), Stop> {
        let (a, out) = (step.ins[0], step.outs[0]);
        let mask = if mask { step.ins.get(1).copied() } else { None };
        let (source, layout) = (self.layout(a), self.layout(out));
        let dtype = compute_dtype(source.elem);
        let mask_layout = mask.map(|mask| self.layout(mask));
        let mut counts = self.state.pool.zeros(layout.lanes * layout.size)?;
        let mut unknown = 0;
        for lane in 0..source.lanes {
            if let (Some(mask), Some(mask_layout)) = (mask, &mask_layout) {
                let mask = self.value(mask);
                unknown = mask.poison.mark(lane).max(unknown);
                if mask.bits(lane, mask_layout) & 1 == 0 {
                    continue;
                }
            }
            let value = self.value(a);
            let bin = numeric::decode_int(dtype, value.bits(lane, &source));
            match usize::try_from(bin)
                .ok()
                .filter(|&bin| bin < layout.lanes && !value.poison.is_poison(lane))
            {
                Some(bin) => {
                    let bin = if bin + 1 == layout.lanes && is_planted(Fault::LastBinIsFirst) {
                        0
                    } else {
                        bin
                    };
                    let count = read(&counts, bin, layout.size);
                    write(&mut counts, bin, layout.size, count.wrapping_add(1));
                }
                // It is undefined which bin counts a value without a bin.
                None => unknown = value.poison.mark(lane).max(unknown).max(POISON),
            }
        }
        let poison = Poison::from_mark(unknown);
        self.set_lanes(out, Value::dense(counts).with_poison(poison));
        Ok(())
    }
}

fn find_worst(marks: impl Iterator<Item = Mark>) -> Mark {
    marks.max().unwrap_or(0)
}

/// `f32` without the bits that `tf32` has no room for.
fn cut_to_tf32(lanes: &mut [u8]) {
    for lane in lanes.as_chunks_mut::<4>().0 {
        let bits = u32::from_le_bytes(*lane);
        // A NaN stays NaN, with any bits.
        let kept = if f32::from_bits(bits).is_nan() {
            bits
        } else {
            bits & !0x1fff
        };
        *lane = kept.to_le_bytes();
    }
}

/// `c += a b` for each matrix of a batch.
fn multiply_batch(dtype: DType, extent: Extent, a: &[u8], b: &[u8], c: &mut [u8]) {
    fn multiply_each<T: bytemuck::Pod>(
        Extent { batch, m, n, k }: Extent,
        (a, b, c): (&[u8], &[u8], &mut [u8]),
        multiply: impl Fn(usize, usize, &[T], &[T], &mut [T]),
    ) {
        // Buffers of the pool are aligned for every element, so that the casts succeed.
        let (Ok(a), Ok(b), Ok(c)) = (
            bytemuck::try_cast_slice(a),
            bytemuck::try_cast_slice(b),
            bytemuck::try_cast_slice_mut(c),
        ) else {
            return;
        };
        if batch * m * n * k == 0 {
            return;
        }
        for ((a, b), c) in a
            .chunks_exact(m * k)
            .zip(b.chunks_exact(k * n))
            .zip(c.chunks_exact_mut(m * n))
        {
            multiply(n, k, a, b, c);
        }
    }
    match dtype {
        DType::F64 => multiply_each(extent, (a, b, c), |n, k, a, b, c| {
            multiply_matrix(n, k, a, b, c, |sum: f64, x: f64, y: f64| sum + x * y);
        }),
        DType::F32 => multiply_each(extent, (a, b, c), |n, k, a, b, c| {
            multiply_matrix(n, k, a, b, c, |sum: f32, x: f32, y: f32| sum + x * y);
        }),
        _ => multiply_each(extent, (a, b, c), |n, k, a, b, c| {
            multiply_matrix(n, k, a, b, c, |sum: i32, x: i32, y: i32| {
                sum.wrapping_add(x.wrapping_mul(y))
            });
        }),
    }
}

/// Columns that are summed at once, in registers.
const COLUMNS: usize = 8;
/// Rows that are.
const ROWS: usize = 4;

/// One product. Each element is summed in ascending `k` whatever the blocking.
fn multiply_matrix<T: Copy>(n: usize, k: usize, a: &[T], b: &[T], c: &mut [T], step: impl Fn(T, T, T) -> T) {
    let blocks = c.chunks_mut(ROWS * n).zip(a.chunks(ROWS * k));
    for (c, a) in blocks {
        let whole = c.len() == ROWS * n;
        let mut column = 0;
        while whole && column + COLUMNS <= n {
            block(n, k, column, a, b, c, &step);
            column += COLUMNS;
        }
        for (c, a) in c.chunks_mut(n).zip(a.chunks(k)) {
            for (j, to) in c.iter_mut().enumerate().skip(column) {
                let mut sum = *to;
                for (&x, row) in a.iter().zip(b.chunks_exact(n)) {
                    if let Some(&y) = row.get(j) {
                        sum = step(sum, x, y);
                    }
                }
                *to = sum;
            }
        }
    }
}

/// `ROWS` by `COLUMNS` elements of a product.
fn block<T: Copy>(
    n: usize,
    k: usize,
    column: usize,
    a: &[T],
    b: &[T],
    c: &mut [T],
    step: &impl Fn(T, T, T) -> T,
) {
    let rows = |nth: usize| a.get(nth * k..(nth + 1) * k).unwrap_or(&[]);
    let (a0, a1, a2, a3) = (rows(0), rows(1), rows(2), rows(3));
    let start = |nth: usize| {
        c.get(nth * n + column..)
            .and_then(|c| c.first_chunk::<COLUMNS>())
            .copied()
    };
    let (Some(mut s0), Some(mut s1), Some(mut s2), Some(mut s3)) = (start(0), start(1), start(2), start(3))
    else {
        return;
    };
    let factors = a0.iter().zip(a1).zip(a2).zip(a3);
    for ((((&x0, &x1), &x2), &x3), row) in factors.zip(b.chunks_exact(n)) {
        let Some(y) = row.get(column..).and_then(|row| row.first_chunk::<COLUMNS>()) else {
            return;
        };
        for j in 0..COLUMNS {
            s0[j] = step(s0[j], x0, y[j]);
            s1[j] = step(s1[j], x1, y[j]);
            s2[j] = step(s2[j], x2, y[j]);
            s3[j] = step(s3[j], x3, y[j]);
        }
    }
    for (nth, sums) in [s0, s1, s2, s3].into_iter().enumerate() {
        if let Some(to) = c.get_mut(nth * n + column..nth * n + column + COLUMNS) {
            to.copy_from_slice(&sums);
        }
    }
}
