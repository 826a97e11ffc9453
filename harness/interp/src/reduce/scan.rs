//! Scans, by rows along the axis.

use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::ir::{BinaryOp, Combine};
use cerith_tile::numeric::lanes::{self, Operand};
use smallvec::SmallVec;

use super::{Axis, Elements, Rows, to_binary_op};
use crate::config::Combining;
use crate::elementwise::compute_dtype;
use crate::machine::Machine;
use crate::outcome::Stop;
use crate::program::{Code, Region, Step};
use crate::value::{Poison, Value, materialise};

impl<'a> Machine<'a> {
    pub(crate) fn scan(
        &mut self,
        axis: usize,
        reverse: bool,
        combine: Option<Combine>,
        region: Region,
        code: &'a Code,
        step: &'a Step,
    ) -> Result<(), Stop> {
        let middle = axis == 1 && self.ty(step.ins[0]).shape.len() == 3;
        let axis = if middle && is_planted(Fault::MiddleScanIsLast) {
            2
        } else {
            axis
        };
        let along = self.find_axis(step.ins[0], axis)?;
        let width = along.width();
        let mut operands = self.by_rows(along, &step.ins)?;
        let order = |nth: usize| {
            if reverse && !is_planted(Fault::ScanRunsForward) {
                along.count - 1 - nth
            } else {
                nth
            }
        };
        if let (Some(combine), [rows]) = (combine, operands.as_mut_slice()) {
            scan_known(to_binary_op(combine), rows, width, along.count, order);
        } else if let Combining::Random(seed) | Combining::RandomLevels(seed) = self.config.combining {
            self.scan_random(along, &mut operands, region, reverse, seed, code)?;
        } else if self.config.combining != Combining::Own {
            self.scan_tree(along, &mut operands, region, reverse, code)?;
        } else {
            let mut carried = self.copy_rows(along, &operands, order(0), 1)?;
            for nth in 1..along.count {
                let next = self.copy_rows(along, &operands, order(nth), 1)?;
                let combined = self.combine(width, region, carried, next, code)?;
                carried = Elements::new();
                for (value, rows) in combined.into_iter().zip(&mut operands) {
                    let value = self.fit_lanes(value, width, rows.layout)?;
                    self.put_row(rows, order(nth), width, &value)?;
                    carried.push(value);
                }
            }
            for value in carried {
                self.state.pool.recycle(value);
            }
        }
        let movement = along.block();
        for (rows, &out) in operands.into_iter().zip(&step.outs) {
            let lanes = along.count * width;
            let mut data = self.state.pool.take(lanes * rows.layout.size)?;
            movement.copy(rows.layout.size, &rows.data, &mut data);
            self.state.pool.give(rows.data);
            let poison = match rows.marks {
                None => Poison::None,
                Some(from) => {
                    let mut marks = self.state.pool.take(lanes)?;
                    movement.copy(1, &from, &mut marks);
                    self.state.pool.give(from);
                    Poison::Lanes(marks)
                }
            };
            self.set_lanes(out, Value::dense(data).with_poison(poison));
        }
        Ok(())
    }

    /// A scan in steps: combines each row with the row 1, 2, 4, … before it, all of them at once.
    fn scan_tree(
        &mut self,
        along: Axis,
        operands: &mut SmallVec<[Rows; 2]>,
        region: Region,
        reverse: bool,
        code: &'a Code,
    ) -> Result<(), Stop> {
        let width = along.width();
        let mut distance = 1;
        while distance < along.count {
            let rows = along.count - distance;
            // The earlier element is on the left.
            let (first, second) = if reverse { (distance, 0) } else { (0, distance) };
            let left = self.copy_rows(along, operands, first, rows)?;
            let right = self.copy_rows(along, operands, second, rows)?;
            let combined = self.combine(rows * width, region, left, right, code)?;
            for (value, operand) in combined.into_iter().zip(operands.iter_mut()) {
                let value = self.fit_lanes(value, rows * width, operand.layout)?;
                self.put_lanes(operand, second * width, rows * width, &value)?;
                self.state.pool.recycle(value);
            }
            distance *= 2;
        }
        Ok(())
    }

    /// Writes a value over a row.
    fn put_row(&mut self, rows: &mut Rows, row: usize, width: usize, value: &Value) -> Result<(), Stop> {
        self.put_lanes(rows, row * width, width, value)
    }

    /// Writes a value over so many lanes from one on.
    pub(super) fn put_lanes(
        &mut self,
        rows: &mut Rows,
        first: usize,
        count: usize,
        value: &Value,
    ) -> Result<(), Stop> {
        let size = rows.layout.size;
        if let Some(to) = rows.data.get_mut(first * size..(first + count) * size) {
            match value.lanes() {
                Some(from) => to.copy_from_slice(from),
                None => materialise(&value.repr, &rows.layout.with_lanes(count), to),
            }
        }
        if rows.marks.is_none() && !value.poison.is_none() {
            rows.marks = Some(self.state.pool.zeros(rows.layout.lanes)?);
        }
        if let Some(marks) = rows
            .marks
            .as_mut()
            .and_then(|marks| marks.get_mut(first..first + count))
        {
            for (lane, mark) in marks.iter_mut().enumerate() {
                *mark = value.poison.mark(lane);
            }
        }
        Ok(())
    }
}

/// A scan by a well-known operation, row by row.
fn scan_known(op: BinaryOp, rows: &mut Rows, width: usize, count: usize, order: impl Fn(usize) -> usize) {
    let dtype = compute_dtype(rows.layout.elem);
    let row = width * rows.layout.size;
    let mut sum: SmallVec<[u8; 64]> = rows
        .data
        .get(order(0) * row..(order(0) + 1) * row)
        .unwrap_or(&[])
        .into();
    for nth in 1..count {
        let at = order(nth) * row;
        let Some(next) = rows.data.get_mut(at..at + row) else {
            return;
        };
        if width == 1 {
            let size = rows.layout.size;
            let (x, y) = (
                crate::value::read(&sum, 0, size),
                crate::value::read(next, 0, size),
            );
            let bits = cerith_tile::numeric::apply_binary(op, dtype, x, y)
                .bits()
                .unwrap_or(0);
            crate::value::write(next, 0, size, bits);
        } else {
            let own: SmallVec<[u8; 256]> = (&*next).into();
            lanes::apply_binary(op, dtype, Operand::Block(&sum), Operand::Block(&own), next);
        }
        sum.copy_from_slice(next);
    }
    if let Some(marks) = &mut rows.marks {
        for lane in 0..width {
            let mut poison = 0;
            for nth in 0..count {
                if let Some(mark) = marks.get_mut(order(nth) * width + lane) {
                    poison = poison.max(*mark);
                    *mark = poison;
                }
            }
        }
    }
}
