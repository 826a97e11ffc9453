//! Products of a warp group (`wgmma`). Each warp computes 16 of the 64 rows, so a warp is executed by itself. See
//! [`descriptor`] for operands in shared memory, and [`crate::sum`] for sums. The machine decides when the unit reads
//! and writes.

pub(crate) mod descriptor;
pub(crate) mod in_flight;

use crate::alu::half::{bf16_to_f32, f16_to_f32, to_f16};
use crate::lanes::{LANES, Lanes};
use crate::op::wgmma::{FactorType, SumType, Wgmma};
use crate::sum::{self, Factors, Precision};
use cerith_tile::{DType, numeric};
use descriptor::{CHUNK_BYTES, Chunk, Descriptor, ROW_BYTES};

/// Rows that a warp computes.
const WARP_ROWS: usize = 16;

/// The left operand of a warp.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LeftValues<'v> {
    Registers(&'v [Lanes; 4]),
    Descriptor(u64),
}

/// A row of an operand: its elements along K.
type Row = [u8; ROW_BYTES];

/// Returns the bytes of shared memory that a warp's product reads, as offsets and lengths, ascending. `warp` is the
/// warp's number in its group.
pub(crate) fn operand_ranges(product: &Wgmma, a: Option<u64>, b: u64, warp: u32) -> Vec<(u32, u32)> {
    let first = warp as usize % 4 * WARP_ROWS;
    let mut addresses: Vec<u32> = a
        .map(|a| find_chunks(a, product.transpose_a, first..first + WARP_ROWS, product.k))
        .into_iter()
        .flatten()
        .chain(find_chunks(b, product.transpose_b, 0..product.n, product.k))
        .map(|chunk| chunk.address)
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for address in addresses {
        match ranges.last_mut() {
            Some((start, len)) if *start + *len == address => *len += CHUNK_BYTES,
            _ => ranges.push((address, CHUNK_BYTES)),
        }
    }
    ranges
}

fn find_chunks(
    descriptor: u64,
    transposed: bool,
    rows: std::ops::Range<usize>,
    k: usize,
) -> Box<dyn Iterator<Item = Chunk>> {
    let descriptor = Descriptor::decode(descriptor);
    if transposed {
        Box::new(descriptor.column_chunks(rows, k))
    } else {
        Box::new(descriptor.row_chunks(rows))
    }
}

/// Reads rows of an operand from shared memory. Bytes beyond its end are zeros; the machine reports them.
fn read_rows(
    descriptor: u64,
    transposed: bool,
    rows: std::ops::Range<usize>,
    k: usize,
    shared: &[u8],
) -> Vec<Row> {
    let first = rows.start;
    let mut matrix = vec![[0; ROW_BYTES]; rows.len()];
    for chunk in find_chunks(descriptor, transposed, rows, k) {
        let at = chunk.address as usize;
        let Some(bytes) = shared.get(at..at + CHUNK_BYTES as usize) else {
            continue;
        };
        let row = chunk.row - first;
        if transposed {
            let (elements, _) = bytes.as_chunks::<2>();
            for (row, &[low, high]) in matrix.iter_mut().skip(row).zip(elements) {
                if let Some([to_low, to_high]) = row.get_mut(chunk.k * 2..chunk.k * 2 + 2) {
                    (*to_low, *to_high) = (low, high);
                }
            }
        } else if let Some(to) = matrix
            .get_mut(row)
            .and_then(|row| row.get_mut(chunk.k..chunk.k + bytes.len()))
        {
            to.copy_from_slice(bytes);
        }
    }
    matrix
}

/// Collects the warp's rows of the left operand from registers: lane `4 g + t` has 4 bytes of the rows `g` and `g + 8`,
/// and 4 bytes further right.
fn collect_rows(registers: &[Lanes; 4]) -> Vec<Row> {
    let mut matrix = vec![[0; ROW_BYTES]; WARP_ROWS];
    for (nth, register) in registers.iter().enumerate() {
        for (lane, &value) in register.iter().enumerate() {
            let at = lane % 4 * 4 + nth / 2 * 16;
            let row = matrix.get_mut(lane / 4 + nth % 2 * 8);
            if let Some(to) = row.and_then(|row| row.get_mut(at..at + 4)) {
                to.copy_from_slice(&(value as u32).to_le_bytes());
            }
        }
    }
    matrix
}

/// Multiplies a warp's rows. `d` has the values of the product's registers. `adds` is whether they are summands too.
pub(crate) fn multiply(
    product: &Wgmma,
    warp: u32,
    d: &mut [Lanes],
    adds: bool,
    a: LeftValues<'_>,
    b: u64,
    shared: &[u8],
) {
    let first = warp as usize % 4 * WARP_ROWS;
    let a = match a {
        LeftValues::Registers(registers) => collect_rows(registers),
        LeftValues::Descriptor(a) => read_rows(
            a,
            product.transpose_a,
            first..first + WARP_ROWS,
            product.k,
            shared,
        ),
    };
    let b = read_rows(b, product.transpose_b, 0..product.n, product.k, shared);
    match product.sum_type {
        SumType::S32 { saturate } => multiply_bytes(product, d, adds, &a, &b, saturate),
        SumType::F32 => {
            let (a, b) = (
                split_rows(&a, product.a_type, product.negate_a),
                split_rows(&b, product.b_type, product.negate_b),
            );
            for_each_sum(d, |row, column, old| {
                let c = if adds { f32::from_bits(old as u32) } else { 0.0 };
                sum_row(product, &a, &b, row, column, c)
            });
        }
        SumType::F16 => {
            let (a, b) = (
                split_rows(&a, product.a_type, product.negate_a),
                split_rows(&b, product.b_type, product.negate_b),
            );
            for_each_half_sum(d, |row, column, old| {
                let c = if adds { f16_to_f32(old) } else { 0.0 };
                let sum = sum_row(product, &a, &b, row, column, c);
                to_f16(f32::from_bits(sum as u32).into())
            });
        }
    }
}

/// Returns the precision of the unit. With factors of 8 bits it is less than that of an `f32`.
const fn precision(product: &Wgmma) -> Precision {
    match (product.a_type, product.sum_type) {
        (FactorType::E4m3 | FactorType::E5m2, SumType::F32) => Precision::NARROW,
        (FactorType::E4m3 | FactorType::E5m2, _) => Precision::NARROW_HALF,
        _ => Precision::WIDE,
    }
}

fn sum_row(product: &Wgmma, a: &[Factors], b: &[Factors], row: usize, column: usize, c: f32) -> u64 {
    match (a.get(row), b.get(column)) {
        (Some(a), Some(b)) => sum::sum_factors(a, b, c, precision(product)),
        _ => 0,
    }
}

/// Computes the sums of 32 bits that the registers hold, from their rows, columns and old values.
fn for_each_sum(d: &mut [Lanes], mut f: impl FnMut(usize, usize, u64) -> u64) {
    for (nth, register) in d.iter_mut().enumerate() {
        for (lane, value) in register.iter_mut().enumerate() {
            let row = lane / 4 + nth / 2 % 2 * 8;
            let column = nth / 4 * 8 + lane % 4 * 2 + nth % 2;
            *value = f(row, column, *value);
        }
    }
}

/// Computes sums of 16 bits: a register holds two adjacent columns.
fn for_each_half_sum(d: &mut [Lanes], mut f: impl FnMut(usize, usize, u64) -> u64) {
    for (nth, register) in d.iter_mut().enumerate() {
        for (lane, value) in register.iter_mut().enumerate().take(LANES) {
            let row = lane / 4 + nth % 2 * 8;
            let column = nth / 2 * 8 + lane % 4 * 2;
            let low = f(row, column, *value & 0xffff);
            let high = f(row, column + 1, *value >> 16 & 0xffff);
            *value = low | high << 16;
        }
    }
}

/// Splits the elements of rows into significands and exponents.
fn split_rows(rows: &[Row], ty: FactorType, negate: bool) -> Vec<Factors> {
    let decode = |bytes: &[u8]| {
        let bits = bytes
            .iter()
            .rev()
            .fold(0, |bits, &byte| bits << 8 | u64::from(byte));
        let value = match ty {
            FactorType::F16 => f16_to_f32(bits),
            FactorType::Bf16 => bf16_to_f32(bits),
            // The unit ignores the low bits.
            FactorType::Tf32 => f32::from_bits(bits as u32 & 0xffff_e000),
            FactorType::E4m3 => numeric::decode(DType::F8E4NV, bits) as f32,
            FactorType::E5m2 => numeric::decode(DType::F8E5, bits) as f32,
            FactorType::S8 | FactorType::U8 => 0.0,
        };
        if negate { -value } else { value }
    };
    let least = match ty {
        FactorType::E4m3 => -6,
        FactorType::F16 | FactorType::E5m2 => -14,
        _ => -126,
    };
    rows.iter()
        .map(|row| Factors::collect(row.chunks_exact(ty.bytes()).map(decode), least))
        .collect()
}

fn multiply_bytes(product: &Wgmma, d: &mut [Lanes], adds: bool, a: &[Row], b: &[Row], saturate: bool) {
    let read = |byte: u8, ty: FactorType| -> i64 {
        if ty == FactorType::S8 {
            i64::from(byte as i8)
        } else {
            i64::from(byte)
        }
    };
    for_each_sum(d, |row, column, old| {
        let c = if adds { i64::from(old as i32) } else { 0 };
        let (Some(a), Some(b)) = (a.get(row), b.get(column)) else {
            return 0;
        };
        let sum = a.iter().zip(b).fold(c, |sum, (&a, &b)| {
            sum + read(a, product.a_type) * read(b, product.b_type)
        });
        let sum = if saturate {
            sum.clamp(i32::MIN.into(), i32::MAX.into())
        } else {
            sum
        };
        u64::from(sum as i32 as u32)
    });
}
