//! Reductions and scans. The language doesn't define the order in which elements are combined; this is Cerith's:
//!
//! - A reduction by a well-known operation combines the first half of the axis with the second, repeatedly (the middle
//!   element of an odd number waits). That is a tree: fast here, accurate, and similar to devices.
//! - A reduction by another region combines neighbours, repeatedly, if the region is associative; otherwise it goes from
//!   the first element to the last.
//! - A scan goes from the first element to the last (from the last to the first when reversed).
//!
//! A function that is not associative and commutative on these elements has other results in another order; [`Combining`]
//! lists the orders to try.
//!
//! Combining a poison element results in poison.

mod random;
mod scan;

use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::ir::{BinaryOp, Choice, Combine};
use cerith_tile::numeric::lanes::{self, Operand};
use cerith_tile::numeric::{self, numpy};
use smallvec::SmallVec;

pub use self::random::{Draws, draw_brackets};
use crate::config::{Combining, Numerics};
use crate::elementwise::compute_dtype;
use crate::machine::Machine;
use crate::movement::{Movement, row_major};
use crate::outcome::Stop;
use crate::program::{Code, Region, Slot, Step};
use crate::value::{Buf, Layout, Poison, Repr, Value, materialise, read, write};

/// The operation of a well-known region.
const fn to_binary_op(combine: Combine) -> BinaryOp {
    match combine {
        Combine::Add => BinaryOp::Add,
        Combine::Mul => BinaryOp::Mul,
        Combine::Min => BinaryOp::Min,
        Combine::Max => BinaryOp::Max,
        Combine::And => BinaryOp::And,
        Combine::Or => BinaryOp::Or,
        Combine::Xor => BinaryOp::Xor,
    }
}

/// The lanes of an operand by rows: row `j` holds the `width` lanes whose index along the axis is `j`.
#[derive(Debug)]
struct Rows {
    data: Buf,
    marks: Option<Buf>,
    layout: Layout,
}

type Elements = SmallVec<[Value; 2]>;

/// Moves the elements whose key is NaN to the end of their row, or with `first` to its beginning, in reverse. A row without
/// NaN is unchanged.
fn part_nan(along: Axis, operands: &mut [Rows], choice: Choice, first: bool) {
    let Some(keys) = operands.get(choice.key) else {
        return;
    };
    let (dtype, width) = (compute_dtype(keys.layout.elem), along.width());
    if !dtype.is_float() {
        return;
    }
    let mut rows: Vec<(usize, Vec<usize>)> = Vec::new();
    for lane in 0..width {
        let is_nan = |&nth: &usize| {
            let bits = read(&keys.data, nth * width + lane, keys.layout.size);
            numeric::is_nan(dtype, bits)
        };
        let (nan, mut order): (Vec<usize>, Vec<usize>) = (0..along.count).partition(is_nan);
        if nan.is_empty() {
            continue;
        }
        order.extend(nan);
        if first {
            order.reverse();
        }
        rows.push((lane, order));
    }
    for operand in operands {
        let size = operand.layout.size;
        let (data, marks) = (
            operand.data.to_vec(),
            operand.marks.as_ref().map(|marks| marks.to_vec()),
        );
        for (lane, order) in &rows {
            for (to, from) in order.iter().enumerate() {
                let (to, from) = (to * width + lane, from * width + lane);
                write(&mut operand.data, to, size, read(&data, from, size));
                if let (Some(marks), Some(old)) = (&mut operand.marks, &marks)
                    && let (Some(mark), Some(&old)) = (marks.get_mut(to), old.get(from))
                {
                    *mark = old;
                }
            }
        }
    }
}

/// The layout of an operand's lanes around the axis.
#[derive(Clone, Copy, Debug)]
struct Axis {
    outer: usize,
    count: usize,
    inner: usize,
}

impl Axis {
    const fn width(self) -> usize {
        self.outer * self.inner
    }

    /// From a block to its rows.
    fn rows(self) -> Movement {
        Movement {
            shape: smallvec::smallvec![self.count, self.outer, self.inner],
            strides: smallvec::smallvec![self.inner, self.count * self.inner, 1],
            offset: 0,
        }
    }

    /// From rows to a block.
    fn block(self) -> Movement {
        Movement {
            shape: smallvec::smallvec![self.outer, self.count, self.inner],
            strides: smallvec::smallvec![self.inner, self.width(), 1],
            offset: 0,
        }
    }
}

impl<'a> Machine<'a> {
    fn find_axis(&self, slot: Slot, axis: usize) -> Result<Axis, Stop> {
        let shape = &self.ty(slot).shape;
        let count = shape
            .get(axis)
            .copied()
            .filter(|&count| count > 0)
            .ok_or(Stop::malformed("a reduction"))?;
        let outer = shape.iter().take(axis).product();
        let inner = row_major(shape).get(axis).copied().unwrap_or(1);
        Ok(Axis { outer, count, inner })
    }

    pub(crate) fn reduce(
        &mut self,
        axis: usize,
        combine: Option<Combine>,
        region: Region,
        code: &'a Code,
        step: &'a Step,
    ) -> Result<(), Stop> {
        let shape = &self.ty(step.ins[0]).shape;
        let middle = axis == 1 && shape.len() == 3 && shape[0] == shape[1];
        let axis = if middle && is_planted(Fault::MiddleReductionIsFirst) {
            0
        } else {
            axis
        };
        let along = self.find_axis(step.ins[0], axis)?;
        if let (Some(combine), [a], [out]) = (combine, step.ins.as_slice(), step.outs.as_slice()) {
            return self.reduce_known(to_binary_op(combine), along, *a, *out);
        }
        let mut operands = self.by_rows(along, &step.ins)?;
        let tree = match self.config.combining {
            Combining::Own => (region.exact && region.wide).then_some(Combining::Neighbours),
            Combining::Forwards | Combining::Backwards | Combining::NanFirst | Combining::NanLast => None,
            other => Some(other),
        };
        if let (Some(choice), Combining::NanFirst | Combining::NanLast) =
            (region.choice, self.config.combining)
        {
            part_nan(
                along,
                &mut operands,
                choice,
                self.config.combining == Combining::NanFirst,
            );
        }
        let results = if let Some(pairs) = tree {
            match pairs {
                Combining::Random(seed) => self.reduce_random(along, operands, region, seed, code)?,
                pairs => self.reduce_tree(along, operands, region, pairs, code)?,
            }
        } else {
            let backwards = self.config.combining == Combining::Backwards;
            let row = |nth: usize| if backwards { along.count - 1 - nth } else { nth };
            let mut carried = self.copy_rows(along, &operands, row(0), 1)?;
            for nth in 1..along.count {
                let next = self.copy_rows(along, &operands, row(nth), 1)?;
                carried = self.combine(along.width(), region, carried, next, code)?;
            }
            self.release(operands);
            carried
        };
        for (&out, value) in step.outs.iter().zip(results) {
            let value = self.fit_lanes(value, along.width(), self.layout(out))?;
            self.set_lanes(out, value);
        }
        Ok(())
    }

    /// Rows of all operands.
    fn by_rows(&mut self, along: Axis, slots: &[Slot]) -> Result<SmallVec<[Rows; 2]>, Stop> {
        let movement = along.rows();
        let mut all = SmallVec::new();
        for &slot in slots {
            let layout = self.layout(slot);
            let from = self.copy_lanes(slot)?;
            let mut data = self.state.pool.take(layout.lanes * layout.size)?;
            movement.copy(layout.size, &from, &mut data);
            self.state.pool.give(from);
            let marks = match &self.state.slots[slot as usize].poison {
                Poison::None => None,
                Poison::All(mark) => {
                    let mut marks = self.state.pool.take(layout.lanes)?;
                    marks.fill(*mark);
                    Some(marks)
                }
                Poison::Lanes(from) => {
                    let mut marks = self.state.pool.take(layout.lanes)?;
                    movement.copy(1, from, &mut marks);
                    Some(marks)
                }
            };
            all.push(Rows { data, marks, layout });
        }
        Ok(all)
    }

    fn release(&mut self, operands: SmallVec<[Rows; 2]>) {
        for rows in operands {
            self.state.pool.give(rows.data);
            if let Some(marks) = rows.marks {
                self.state.pool.give(marks);
            }
        }
    }

    /// Some rows of each operand, as values of their own.
    fn copy_rows(
        &mut self,
        along: Axis,
        operands: &SmallVec<[Rows; 2]>,
        first: usize,
        rows: usize,
    ) -> Result<Elements, Stop> {
        let (from, lanes) = (first * along.width(), rows * along.width());
        let mut values = Elements::new();
        for operand in operands {
            let size = operand.layout.size;
            let bytes = operand
                .data
                .get(from * size..(from + lanes) * size)
                .unwrap_or(&[]);
            let poison = match &operand.marks {
                None => Poison::None,
                Some(marks) => Poison::Lanes(
                    self.state
                        .pool
                        .copy(marks.get(from..from + lanes).unwrap_or(&[]))?,
                ),
            };
            values.push(Value::dense(self.state.pool.copy(bytes)?).with_poison(poison));
        }
        Ok(values)
    }

    /// Runs the region on pairs of elements, `lanes` pairs at once if the region can.
    fn combine(
        &mut self,
        lanes: usize,
        region: Region,
        left: Elements,
        right: Elements,
        code: &'a Code,
    ) -> Result<Elements, Stop> {
        let count = left.len();
        let (left, right) = if is_planted(Fault::CombineSwaps) {
            (right, left)
        } else {
            (left, right)
        };
        if code.args.len() != 2 * count || code.yields.len() != count {
            return Err(Stop::malformed("a region that combines"));
        }
        let before = self.width;
        if region.wide {
            self.spend(lanes as u64)?;
            self.width = lanes;
            for (&arg, value) in code.args.iter().zip(left.into_iter().chain(right)) {
                self.set_lanes(arg, value);
            }
            let result = self.block(code);
            self.width = before;
            result?;
            return Ok(self.take_yields(code)?.into_iter().collect());
        }
        let layouts: SmallVec<[Layout; 2]> = code
            .args
            .iter()
            .take(count)
            .map(|&arg| self.program.layouts[arg as usize].with_lanes(lanes))
            .collect();
        let mut results = Vec::with_capacity(count);
        for layout in &layouts {
            results.push((
                self.state.pool.zeros(lanes * layout.size)?,
                self.state.pool.zeros(lanes)?,
            ));
        }
        self.width = 1;
        for lane in 0..lanes {
            for (nth, (&arg, value)) in code.args.iter().zip(left.iter().chain(&right)).enumerate() {
                let bits = value.bits(lane, &layouts[nth % count]);
                let poison = Poison::from_mark(value.poison.mark(lane));
                self.set(arg, Value::uniform(bits).with_poison(poison));
            }
            self.block(code)?;
            let yielded = self.take_yields(code)?;
            for (((data, marks), layout), value) in results.iter_mut().zip(&layouts).zip(yielded) {
                write(data, lane, layout.size, value.bits(0, layout));
                if let Some(mark) = marks.get_mut(lane) {
                    *mark = value.poison.mark(0);
                }
            }
        }
        self.width = before;
        for value in left.into_iter().chain(right) {
            self.state.pool.recycle(value);
        }
        Ok(results
            .into_iter()
            .map(|(data, marks)| {
                let poison = if marks.iter().any(|&mark| mark != 0) {
                    Poison::Lanes(marks)
                } else {
                    Poison::None
                };
                Value::dense(data).with_poison(poison)
            })
            .collect())
    }

    /// A region's result, expanded to all of its lanes if there are several.
    fn fit_lanes(&mut self, value: Value, lanes: usize, layout: Layout) -> Result<Value, Stop> {
        let wide = layout.with_lanes(lanes);
        match value.repr {
            Repr::Affine(_) | Repr::Mask(_) => {
                let mut buf = self.state.pool.take(lanes * wide.size)?;
                materialise(&value.repr, &wide, &mut buf);
                let Value { buf: old, poison, .. } = value;
                if let Some(old) = old {
                    self.state.pool.give(old);
                }
                Ok(Value::dense(buf).with_poison(poison))
            }
            Repr::Uniform(_) | Repr::Dense => Ok(value),
        }
    }

    /// Combines pairs of rows until one is left.
    fn reduce_tree(
        &mut self,
        along: Axis,
        operands: SmallVec<[Rows; 2]>,
        region: Region,
        which: Combining,
        code: &'a Code,
    ) -> Result<Elements, Stop> {
        let width = along.width();
        let mut count = along.count;
        let mut rows = self.copy_rows(along, &operands, 0, count)?;
        let layouts: SmallVec<[Layout; 2]> = operands.iter().map(|operand| operand.layout).collect();
        self.release(operands);
        let mut draws = Draws::new(if let Combining::RandomLevels(seed) = which {
            seed
        } else {
            0
        });
        while count > 1 {
            let pairs = count / 2;
            let which = match which {
                Combining::RandomLevels(_) if draws.draw_below(2) == 0 => Combining::Halves,
                which => which,
            };
            // The distance between the rows of a side, and where each side begins; a row that is left over waits.
            let (apart, sides, waits) = match which {
                Combining::Halves => (1, [0, count - pairs], pairs),
                Combining::Turned => (1, [count - pairs, 0], pairs),
                Combining::Own
                | Combining::Neighbours
                | Combining::Forwards
                | Combining::Backwards
                | Combining::Random(_)
                | Combining::RandomLevels(_)
                | Combining::NanFirst
                | Combining::NanLast => (2, [0, 1], count - 1),
            };
            let take = |first: usize| Movement {
                shape: smallvec::smallvec![pairs, width],
                strides: smallvec::smallvec![apart * width, 1],
                offset: first * width,
            };
            let left = self.pick_lanes(&rows, &layouts, &take(sides[0]), pairs * width)?;
            let right = self.pick_lanes(&rows, &layouts, &take(sides[1]), pairs * width)?;
            let odd = if count % 2 == 1 {
                let last = Movement {
                    shape: smallvec::smallvec![width],
                    strides: smallvec::smallvec![1],
                    offset: waits * width,
                };
                Some(self.pick_lanes(&rows, &layouts, &last, width)?)
            } else {
                None
            };
            for value in rows {
                self.state.pool.recycle(value);
            }
            rows = self.combine(pairs * width, region, left, right, code)?;
            count = pairs;
            for (value, layout) in rows.iter_mut().zip(&layouts) {
                let owned = std::mem::take(value);
                *value = self.fit_lanes(owned, pairs * width, *layout)?;
            }
            if let Some(odd) = odd {
                let mut appended = Elements::new();
                for ((head, tail), layout) in rows.into_iter().zip(odd).zip(&layouts) {
                    appended.push(self.append_lanes(head, pairs * width, tail, width, *layout)?);
                }
                rows = appended;
                count += 1;
            }
        }
        Ok(rows)
    }

    /// Lanes picked out of values.
    fn pick_lanes(
        &mut self,
        values: &Elements,
        layouts: &[Layout],
        movement: &Movement,
        lanes: usize,
    ) -> Result<Elements, Stop> {
        let mut picked = Elements::new();
        for (value, layout) in values.iter().zip(layouts) {
            let poison = match &value.poison {
                Poison::None => Poison::None,
                Poison::All(mark) => Poison::All(*mark),
                Poison::Lanes(from) => {
                    let mut marks = self.state.pool.take(lanes)?;
                    movement.copy(1, from, &mut marks);
                    Poison::Lanes(marks)
                }
            };
            let taken = match (value.repr, value.lanes()) {
                (Repr::Uniform(bits), _) => Value::uniform(bits),
                (_, from) => {
                    let mut buf = self.state.pool.take(lanes * layout.size)?;
                    movement.copy(layout.size, from.unwrap_or(&[]), &mut buf);
                    Value::dense(buf)
                }
            };
            picked.push(taken.with_poison(poison));
        }
        Ok(picked)
    }

    fn append_lanes(
        &mut self,
        head: Value,
        head_lanes: usize,
        tail: Value,
        tail_lanes: usize,
        layout: Layout,
    ) -> Result<Value, Stop> {
        let size = layout.size;
        let mut buf = self.state.pool.take((head_lanes + tail_lanes) * size)?;
        let (front, back) = buf.split_at_mut(head_lanes * size);
        for (to, value, lanes) in [(front, &head, head_lanes), (back, &tail, tail_lanes)] {
            match value.lanes() {
                Some(from) => to.copy_from_slice(from),
                None => materialise(&value.repr, &layout.with_lanes(lanes), to),
            }
        }
        let poison = if head.poison.is_none() && tail.poison.is_none() {
            Poison::None
        } else {
            let mut marks = self.state.pool.take(head_lanes + tail_lanes)?;
            for (lane, mark) in marks.iter_mut().enumerate() {
                *mark = match lane.checked_sub(head_lanes) {
                    None => head.poison.mark(lane),
                    Some(lane) => tail.poison.mark(lane),
                };
            }
            Poison::Lanes(marks)
        };
        self.state.pool.recycle(head);
        self.state.pool.recycle(tail);
        Ok(Value::dense(buf).with_poison(poison))
    }

    /// Halves the axis until one element is left.
    fn reduce_known(&mut self, op: BinaryOp, along: Axis, a: Slot, out: Slot) -> Result<(), Stop> {
        let layout = self.layout(a);
        let dtype = compute_dtype(layout.elem);
        let size = layout.size;
        let poison = self.reduced_poison(along, a)?;
        let data = self.copy_lanes(a)?;
        if op == BinaryOp::Add && self.config.numerics == Numerics::Numpy && numpy::has_sums(dtype) {
            let mut sums = self.state.pool.take(along.width() * size)?;
            numpy::sum(dtype, along.count, along.inner, &data, &mut sums);
            self.state.pool.give(data);
            self.set_lanes(out, Value::dense(sums).with_poison(poison));
            return Ok(());
        }
        if along.outer == 1 {
            let row = along.inner * size;
            let (mut x, y) = self.halve(op, dtype, data, along.count, row)?;
            self.state.pool.give(y);
            x.truncate(row);
            self.set_lanes(out, Value::dense(x).with_poison(poison));
            return Ok(());
        }
        let mut result = self.state.pool.take(along.width() * size)?;
        if along.inner == 1 && along.count > 1 {
            // Many short rows: go along the rows, all of them at once.
            let mut rows = self.state.pool.take(layout.lanes * size)?;
            along.rows().copy(size, &data, &mut rows);
            self.state.pool.give(data);
            let (x, y) = self.halve(op, dtype, rows, along.count, along.outer * size)?;
            result.copy_from_slice(x.get(..along.outer * size).unwrap_or(&[]));
            self.state.pool.give(x);
            self.state.pool.give(y);
        } else {
            let (block, row) = (along.count * along.inner * size, along.inner * size);
            for (from, to) in data.chunks_exact(block).zip(result.chunks_exact_mut(row)) {
                let copy = self.state.pool.copy(from)?;
                let (x, y) = self.halve(op, dtype, copy, along.count, row)?;
                to.copy_from_slice(x.get(..row).unwrap_or(&[]));
                self.state.pool.give(x);
                self.state.pool.give(y);
            }
            self.state.pool.give(data);
        }
        self.set_lanes(out, Value::dense(result).with_poison(poison));
        Ok(())
    }

    /// Combines rows of `row` bytes until the first holds the result of all. Returns that buffer and a spare one.
    fn halve(
        &mut self,
        op: BinaryOp,
        dtype: cerith_tile::DType,
        rows: Buf,
        count: usize,
        row: usize,
    ) -> Result<(Buf, Buf), Stop> {
        let (mut from, mut count) = (rows, count);
        let mut to = self.state.pool.take(from.len())?;
        while count > 1 {
            let pairs = count / 2;
            let rest = count - pairs;
            let left = from.get(..pairs * row).unwrap_or(&[]);
            let right = from.get(rest * row..count * row).unwrap_or(&[]);
            let target = to.get_mut(..pairs * row).unwrap_or(&mut []);
            lanes::apply_binary(op, dtype, Operand::Block(left), Operand::Block(right), target);
            if rest > pairs
                && let (Some(middle), Some(target)) = (
                    from.get(pairs * row..rest * row),
                    to.get_mut(pairs * row..rest * row),
                )
            {
                target.copy_from_slice(middle);
            }
            std::mem::swap(&mut from, &mut to);
            count = rest;
        }
        Ok((from, to))
    }

    fn reduced_poison(&mut self, along: Axis, a: Slot) -> Result<Poison, Stop> {
        match &self.state.slots[a as usize].poison {
            Poison::None => Ok(Poison::None),
            Poison::All(mark) => Ok(Poison::All(*mark)),
            Poison::Lanes(marks) => {
                let mut reduced = self.state.pool.zeros(along.width())?;
                for (lane, &mark) in marks.iter().enumerate().filter(|(_, mark)| **mark != 0) {
                    let at = lane / (along.count * along.inner) * along.inner + lane % along.inner;
                    if let Some(to) = reduced.get_mut(at) {
                        *to = mark.max(*to);
                    }
                }
                Ok(Poison::Lanes(reduced))
            }
        }
    }
}
