//! The matrix unit: `mma.sync`, `ldmatrix` and `stmatrix`. See [`crate::wgmma`] for products of a warp group.
//!
//! One rule determines which lane holds which element. A register holds as many elements as fit, adjacent in a row of
//! the left operand or in a column of the right one. Lane `4 g + t` holds those of row (or column) `g`, starting at
//! register `t`. Further registers continue 8 rows below, and then 4 registers to the right (PTX ISA, "Matrix Fragments
//! for mma").
//!
//! The summation of floats is undocumented; [`sum`] models it.

use crate::access::StoredAddresses;
use crate::alu::half::{bf16_to_f32, f16_to_f32, to_f16};
use crate::lanes::{ALL, LANES, Lanes};
use crate::machine::{Machine, Stop};
use crate::op::{MatrixLoad, MatrixStore, Mma, MmaKind};
use crate::outcome::TrapKind;
use crate::race::Accessor;
use crate::sum::{self, Factors, Precision};
use crate::warp::Warp;

/// Maximum rows and columns of an operand.
const MAX_EXTENT: usize = 32;

/// An operand, as rows of elements.
type Matrix = [[u64; MAX_EXTENT]; MAX_EXTENT];

/// Multiplies matrices that are distributed over all lanes.
pub(crate) fn multiply(warp: &mut Warp, mma: &Mma) {
    let element_bits = match mma.kind {
        MmaKind::HalfHalf | MmaKind::Half | MmaKind::Brain => 16,
        MmaKind::Tensor => 32,
        MmaKind::Byte { .. } => 8,
        MmaKind::Double => 64,
    };
    let sum_bits = match mma.kind {
        MmaKind::HalfHalf => 16,
        MmaKind::Double => 64,
        _ => 32,
    };
    let registers =
        |slots: &[u32]| -> Vec<Lanes> { slots.iter().map(|&slot| warp.registers[slot as usize]).collect() };
    let a = read_left(&registers(&mma.a), element_bits, mma.m);
    // The right operand has the layout of its transpose as a left operand, with 8 columns.
    let b = read_left(&registers(&mma.b), element_bits, 8);
    let c = read_summands(&registers(&mma.c), sum_bits);
    let mut d = c;
    if matches!(mma.kind, MmaKind::Byte { .. } | MmaKind::Double) {
        for (a, d) in a.iter().zip(&mut d).take(mma.m) {
            for (b, d) in b.iter().zip(d).take(mma.n) {
                *d = compute_exactly(mma.kind, a.get(..mma.k).unwrap_or_default(), b, *d);
            }
        }
    } else {
        let (rows, columns) = (split_rows(mma, &a, mma.m), split_rows(mma, &b, mma.n));
        for (row, d) in rows.iter().zip(&mut d) {
            for (column, d) in columns.iter().zip(d) {
                *d = sum_products(mma.kind, row, column, *d);
            }
        }
    }
    let operands = mma.a.iter().chain(&mma.b).chain(&mma.c);
    let known = operands.fold(ALL, |known, &slot| known & warp.defined[slot as usize]);
    let known = if known == ALL { ALL } else { 0 };
    for (nth, &slot) in mma.d.iter().enumerate() {
        let values = pack_result(&d, sum_bits, nth);
        warp.put(slot, ALL, &values, known);
    }
}

impl Machine<'_> {
    /// Loads matrices. Each lane's address is a row of 16 bytes, 8 rows are a matrix, and each lane receives two
    /// adjacent elements.
    pub(crate) fn load_matrix(&mut self, warp: &mut Warp, load: &MatrixLoad) -> Result<(), Stop> {
        let addresses = warp.registers[load.address.base as usize];
        for (nth, &slot) in load.to.iter().enumerate() {
            let mut rows = [[0u8; 16]; 8];
            let mut known = warp.defined[load.address.base as usize] == ALL;
            for (row, bytes) in rows.iter_mut().enumerate() {
                let lane = nth * 8 + row;
                let at = addresses[lane & 31].wrapping_add_signed(load.address.offset);
                if !at.is_multiple_of(16) {
                    return Err(self.trap(
                        warp,
                        lane,
                        TrapKind::Misaligned {
                            address: at,
                            align: 16,
                        },
                    ));
                }
                let target = self
                    .locate(warp, &load.address, lane & 31, 16)
                    .map_err(|kind| self.trap(warp, lane, kind))?;
                if let crate::machine::Target::Shared(at) = target {
                    let mut met = None;
                    let by = Accessor::from_warp(warp, false);
                    known &= self.shared.read(at, bytes, &by, &mut met);
                    self.note(warp, lane, met);
                }
            }
            let half = |row: usize, column: usize| -> u64 {
                let at = |nth: usize| u64::from(rows[row & 7][(column * 2 + nth) & 15]);
                at(0) | at(1) << 8
            };
            let mut values = [0; LANES];
            for (lane, value) in values.iter_mut().enumerate() {
                let (row, column) = (lane / 4, lane % 4 * 2);
                *value = if load.transposed {
                    half(column, row) | half(column + 1, row) << 16
                } else {
                    half(row, column) | half(row, column + 1) << 16
                };
            }
            warp.put(slot, ALL, &values, if known { ALL } else { 0 });
        }
        Ok(())
    }

    /// `stmatrix`: stores matrices to the rows that `ldmatrix` would load them from.
    pub(crate) fn store_matrix(&mut self, warp: &mut Warp, store: &MatrixStore) -> Result<(), Stop> {
        let mut stored = StoredAddresses::default();
        for (nth, &slot) in store.from.iter().enumerate() {
            let known = warp.defined[slot as usize] == ALL;
            let rows = collect_rows(&warp.registers[slot as usize], store.transposed);
            for (row, bytes) in rows.iter().enumerate() {
                let lane = (nth * 8 + row) & 31;
                Self::compute_address(warp, &store.address, lane, 16)
                    .and_then(|at| Ok((at, self.locate(warp, &store.address, lane, 16)?)))
                    .and_then(|(at, target)| {
                        if stored.is_first(at) {
                            self.write(warp, lane, target, bytes, known, false)
                        } else {
                            Ok(())
                        }
                    })
                    .map_err(|kind| self.trap(warp, lane, kind))?;
            }
        }
        Ok(())
    }
}

/// Builds the bytes of the rows of a matrix that `stmatrix` stores: each lane has two adjacent elements.
fn collect_rows(values: &Lanes, transposed: bool) -> [[u8; 16]; 8] {
    let mut rows = [[0u8; 16]; 8];
    for (lane, &value) in values.iter().enumerate() {
        for half in 0..2 {
            let (row, column) = (lane / 4, lane % 4 * 2 + half);
            let (row, column) = if transposed { (column, row) } else { (row, column) };
            let [low, high] = ((value >> (16 * half)) as u16).to_le_bytes();
            rows[row & 7][(column * 2) & 15] = low;
            rows[row & 7][(column * 2 + 1) & 15] = high;
        }
    }
    rows
}

/// Reads the left operand.
fn read_left(registers: &[Lanes], bits: u32, rows: usize) -> Matrix {
    let each = (32 / bits as usize).max(1);
    let mask = u64::MAX >> (64 - bits);
    let mut matrix = [[0; MAX_EXTENT]; MAX_EXTENT];
    for (nth, register) in registers.iter().enumerate() {
        // The registers 8 rows below come before those to the right.
        let (below, right) = if rows > 8 { (nth & 1, nth >> 1) } else { (0, nth) };
        for (lane, &value) in register.iter().enumerate() {
            for part in 0..each {
                let row = lane / 4 + 8 * below;
                let column = lane % 4 * each + part + right * 4 * each;
                matrix[row & 31][column & 31] = value >> (bits as usize * part) & mask;
            }
        }
    }
    matrix
}

/// Reads the accumulator, which is laid out in pairs of columns.
fn read_summands(registers: &[Lanes], bits: u32) -> Matrix {
    let mut matrix = [[0; MAX_EXTENT]; MAX_EXTENT];
    for (nth, register) in registers.iter().enumerate() {
        for (lane, &value) in register.iter().enumerate() {
            if bits == 16 {
                let row = lane / 4 + 8 * nth;
                matrix[row & 31][lane % 4 * 2] = value & 0xffff;
                matrix[row & 31][lane % 4 * 2 + 1] = value >> 16 & 0xffff;
            } else {
                let row = lane / 4 + 8 * (nth >> 1);
                matrix[row & 31][lane % 4 * 2 + (nth & 1)] = value;
            }
        }
    }
    matrix
}

/// Packs a register of the result.
fn pack_result(matrix: &Matrix, bits: u32, nth: usize) -> Lanes {
    let mut values = [0; LANES];
    for (lane, value) in values.iter_mut().enumerate() {
        let column = lane % 4 * 2;
        *value = if bits == 16 {
            let row = &matrix[(lane / 4 + 8 * nth) & 31];
            row[column] | row[column + 1] << 16
        } else {
            matrix[(lane / 4 + 8 * (nth >> 1)) & 31][column + (nth & 1)]
        };
    }
    values
}

/// Splits the elements of an operand's rows.
fn split_rows(mma: &Mma, matrix: &Matrix, rows: usize) -> Vec<Factors> {
    let decode = |&bits: &u64| match mma.kind {
        MmaKind::Brain => bf16_to_f32(bits),
        // The hardware ignores the low bits of the operands.
        MmaKind::Tensor => f32::from_bits(bits as u32 & 0xffff_e000),
        _ => f16_to_f32(bits),
    };
    let rows = matrix.iter().take(rows);
    let least = match mma.kind {
        MmaKind::Brain | MmaKind::Tensor => -126,
        _ => -14,
    };
    rows.map(|row| Factors::collect(row.iter().take(mma.k).map(decode), least))
        .collect()
}

/// Computes one element of a result of floats.
fn sum_products(kind: MmaKind, a: &Factors, b: &Factors, c: u64) -> u64 {
    if kind == MmaKind::HalfHalf {
        let sum = sum::sum_factors(a, b, f16_to_f32(c), Precision::WARP);
        return to_f16(f32::from_bits(sum as u32).into());
    }
    sum::sum_factors(a, b, f32::from_bits(c as u32), Precision::WARP)
}

/// Computes one element of a result of integers or `f64`: `a` is a row, `b` a column.
fn compute_exactly(kind: MmaKind, a: &[u64], b: &[u64; MAX_EXTENT], c: u64) -> u64 {
    let pairs = a.iter().copied().zip(b.iter().copied());
    match kind {
        MmaKind::Byte {
            a_signed,
            b_signed,
            saturate,
        } => {
            let of = |bits: u64, signed: bool| {
                if signed {
                    i64::from(bits as i8)
                } else {
                    i64::from(bits as u8)
                }
            };
            let sum = pairs.fold(i64::from(c as i32), |sum, (a, b)| {
                sum + of(a, a_signed) * of(b, b_signed)
            });
            let sum = if saturate {
                sum.clamp(i32::MIN.into(), i32::MAX.into())
            } else {
                sum
            };
            u64::from(sum as i32 as u32)
        }
        _ => pairs
            .fold(f64::from_bits(c), |sum, (a, b)| {
                f64::from_bits(a).mul_add(f64::from_bits(b), sum)
            })
            .to_bits(),
    }
}
