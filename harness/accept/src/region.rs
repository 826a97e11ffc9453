//! Reductions, scans, products of matrices and histograms of lanes that need not be exact.

use std::rc::Rc;

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Combine, InputPrecision};
use cerith_tile::numeric;

use super::combine_function;
use super::dots::{Products, Steps};
use super::float;
use super::formula::{Element, Formula};
use super::lane::Lane;
use super::lanes::Lanes;
use super::mergeable::Open;
use super::precision;
use super::product::Product;
use super::state::{Halt, Machine};
use super::sum::{Factor, Input, Sum};
use cerith_interp::config::Combining;
use cerith_interp::elementwise::compute_dtype;
use cerith_interp::movement::row_major;
use cerith_interp::outcome::Stop;
use cerith_interp::program::{Code, Region, Slot, Step};

/// Orders that a function that rounds is tried in.
const ORDERS: u64 = 6;

/// The layout of an operand's lanes around an axis.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    outer: usize,
    pub count: usize,
    pub inner: usize,
}

impl Axis {
    /// The lane at `nth` of the axis, in the row of this number.
    pub const fn lane_at(self, row: usize, nth: usize) -> usize {
        (row / self.inner * self.count + nth) * self.inner + row % self.inner
    }

    /// The number of the row that a lane is in.
    pub const fn row(self, lane: usize) -> usize {
        lane / (self.count * self.inner) * self.inner + lane % self.inner
    }

    pub(super) const fn rows(self) -> usize {
        self.outer * self.inner
    }
}

/// A combination by a well-known operation, of the elements so far.
enum RowAccumulator {
    Sum(Sum),
    Product(Product),
    /// One that no order changes.
    Other(BinaryOp, Option<Lane>),
}

impl RowAccumulator {
    /// `in_order` is whether the elements keep their order, and only the brackets are open.
    fn new(combine: Combine, dtype: DType, in_order: bool) -> Self {
        match combine {
            Combine::Add if dtype.is_float() => {
                Self::Sum(if in_order { Sum::in_order() } else { Sum::default() })
            }
            Combine::Mul if dtype.is_float() => Self::Product(Product::default()),
            Combine::Add => Self::Other(BinaryOp::Add, None),
            Combine::Mul => Self::Other(BinaryOp::Mul, None),
            Combine::Min => Self::Other(BinaryOp::Min, None),
            Combine::Max => Self::Other(BinaryOp::Max, None),
            Combine::And => Self::Other(BinaryOp::And, None),
            Combine::Or => Self::Other(BinaryOp::Or, None),
            Combine::Xor => Self::Other(BinaryOp::Xor, None),
        }
    }

    /// Adds an element. Returns the combination of all elements so far.
    fn take(&mut self, lane: Lane, dtype: DType) -> Lane {
        match self {
            Self::Sum(sum) => {
                sum.add(lane, dtype);
                sum.to_lane(dtype)
            }
            Self::Product(product) => {
                product.multiply(lane, dtype);
                product.to_lane(dtype)
            }
            Self::Other(op, value) => {
                let combined = match *value {
                    None => lane.plain(),
                    Some(before) => float::apply_binary(*op, dtype, before, lane.plain()).plain(),
                };
                *value = Some(combined);
                combined
            }
        }
    }
}

impl<'a> Machine<'a> {
    pub(super) fn find_axis(&self, slot: Slot, axis: usize) -> Result<Axis, Halt> {
        let shape = &self.ty(slot).shape;
        let count = shape
            .get(axis)
            .copied()
            .filter(|&count| count > 0)
            .ok_or(Stop::malformed("a reduction"))?;
        let outer = shape.iter().take(axis).product();
        let inner = row_major(shape).get(axis).copied().unwrap_or(1).max(1);
        Ok(Axis { outer, count, inner })
    }

    pub(super) fn reduce(
        &mut self,
        axis: usize,
        combine: Option<Combine>,
        region: Region,
        code: &'a Code,
        step: &'a Step,
    ) -> Result<(), Halt> {
        let along = self.find_axis(step.ins[0], axis)?;
        let mut results = vec![Vec::with_capacity(along.rows()); step.ins.len()];
        let formula = self.build_formula(combine, region, code, step);
        for row in 0..along.rows() {
            let bounded = match &formula {
                Some(formula) => Some(self.bounded_row(along, row, formula, step)?),
                None => self.combine_known(along, row, combine, step, None, |_, _| {}),
            };
            let mut lanes = match bounded {
                Some(lanes) => lanes,
                None => self.fold(along, row, region, code, step, |_, _| {}, |nth| nth)?,
            };
            let own = self.config.combining == Combining::Own;
            if own && region.exact && !(combine.is_some() && step.ins.len() == 1) {
                for other in self.combine_reordered(along, row, region, code, step)? {
                    for ((lane, other), &slot) in lanes.iter_mut().zip(other).zip(&step.ins) {
                        *lane = lane.hull(other, self.layout(slot).elem.num());
                    }
                }
            }
            for (result, lane) in results.iter_mut().zip(lanes) {
                result.push(lane);
            }
        }
        self.set_all(&step.outs, results.into_iter().map(Lanes::Each).collect());
        Ok(())
    }

    pub(super) fn scan(
        &mut self,
        axis: usize,
        reverse: bool,
        combine: Option<Combine>,
        region: Region,
        code: &'a Code,
        step: &'a Step,
    ) -> Result<(), Halt> {
        let along = self.find_axis(step.ins[0], axis)?;
        let lanes = self.layout(step.ins[0]).lanes;
        let mut results = vec![vec![Lane::Unknown; lanes]; step.ins.len()];
        let order = |nth: usize| if reverse { along.count - 1 - nth } else { nth };
        let formula = self.build_formula(combine, region, code, step);
        for row in 0..along.rows() {
            if let Some(formula) = &formula {
                for (nth, lanes) in self
                    .bounded_scan(along, row, formula, reverse, step)?
                    .iter()
                    .enumerate()
                {
                    for (result, &lane) in results.iter_mut().zip(lanes) {
                        if let Some(to) = result.get_mut(along.lane_at(row, order(nth))) {
                            *to = lane;
                        }
                    }
                }
                continue;
            }
            let mut keep = |nth: usize, so_far: &[Lane]| {
                for (result, &lane) in results.iter_mut().zip(so_far) {
                    if let Some(to) = result.get_mut(along.lane_at(row, order(nth))) {
                        *to = lane;
                    }
                }
            };
            if self
                .combine_known(along, row, combine, step, Some(reverse), &mut keep)
                .is_none()
            {
                self.fold(along, row, region, code, step, keep, order)?;
            }
        }
        self.set_all(&step.outs, results.into_iter().map(Lanes::Each).collect());
        Ok(())
    }

    /// The combine function as a formula, if it rounds and no well-known operation bounds it.
    fn build_formula(
        &self,
        combine: Option<Combine>,
        region: Region,
        code: &'a Code,
        step: &Step,
    ) -> Option<Formula<'a>> {
        let known = combine.is_some() && step.ins.len() == 1;
        if known || region.exact || !region.wide {
            return None;
        }
        Formula::new(self, code)
    }

    /// The elements of a row, and what combining them costs.
    fn collect_elements(
        &mut self,
        along: Axis,
        row: usize,
        reverse: bool,
        step: &Step,
    ) -> Result<Vec<Element>, Halt> {
        self.spend(along.count as u64 * ORDERS)?;
        let order = |nth: usize| if reverse { along.count - 1 - nth } else { nth };
        let element = |nth: usize| {
            let lanes = self.read_operands(step, along.lane_at(row, order(nth)));
            lanes.into_iter().collect()
        };
        Ok((0..along.count).map(element).collect())
    }

    /// The result of reducing a row by a function that rounds.
    fn bounded_row(
        &mut self,
        along: Axis,
        row: usize,
        formula: &Formula<'a>,
        step: &Step,
    ) -> Result<Vec<Lane>, Halt> {
        let elements = self.collect_elements(along, row, false, step)?;
        let mut lanes =
            combine_function::bound_reduction(formula, &elements, self.config.combining == Combining::Own);
        for (nth, combine) in formula.combines.iter().enumerate() {
            if let (Some(combine), Some(lane)) = (*combine, lanes.get_mut(nth)) {
                let dtype = self.dtype(step.ins[nth]);
                let mut known = RowAccumulator::new(combine, dtype, false);
                for element in &elements {
                    *lane = known.take(element[nth], dtype);
                }
            }
        }
        Ok(lanes.into_vec())
    }

    /// The results of a scan, prefix by prefix.
    fn bounded_scan(
        &mut self,
        along: Axis,
        row: usize,
        formula: &Formula<'a>,
        reverse: bool,
        step: &Step,
    ) -> Result<Vec<Element>, Halt> {
        let elements = self.collect_elements(along, row, reverse, step)?;
        let mut prefixes =
            combine_function::bound_scan(formula, &elements, self.config.combining == Combining::Own);
        for (nth, combine) in formula.combines.iter().enumerate() {
            if let Some(combine) = *combine {
                let dtype = self.dtype(step.ins[nth]);
                let mut known = RowAccumulator::new(combine, dtype, true);
                for (prefix, element) in prefixes.iter_mut().zip(&elements) {
                    prefix[nth] = known.take(element[nth], dtype);
                }
            }
        }
        Ok(prefixes)
    }

    /// Reduces a row in orders other than that of its elements: neighbours in pairs and halves in pairs, again and
    /// again, as devices do. Without a NaN, from the last element to the first as well, where a tie falls the other way.
    /// With one, the first element stays to the left of all others, since functions like that of `tl.argmax` skip a NaN
    /// on their left, and Triton's tests check this.
    fn combine_reordered(
        &mut self,
        along: Axis,
        row: usize,
        region: Region,
        code: &'a Code,
        step: &'a Step,
    ) -> Result<Vec<Vec<Lane>>, Halt> {
        let elements: Vec<Vec<Lane>> = (0..along.count)
            .map(|nth| self.read_operands(step, along.lane_at(row, nth)))
            .collect();
        let nan = elements.iter().any(|element| {
            element.iter().zip(&step.ins).any(|(lane, &slot)| {
                let dtype = compute_dtype(self.layout(slot).elem);
                dtype.is_float() && lane.to_interval(dtype).nan
            })
        });
        let mut results = Vec::with_capacity(3);
        for neighbours in [true, false] {
            let mut rows = elements.clone();
            while rows.len() > 1 {
                let pairs = rows.len() / 2;
                let mut next = Vec::with_capacity(rows.len() - pairs);
                for pair in 0..pairs {
                    let (left, right) = if neighbours {
                        (2 * pair, 2 * pair + 1)
                    } else {
                        (pair, rows.len() - pairs + pair)
                    };
                    next.push(self.combine_elements(&rows[left], &rows[right], code)?);
                }
                if rows.len() % 2 == 1 {
                    next.extend(rows.get(if neighbours { 2 * pairs } else { pairs }).cloned());
                }
                rows = next;
            }
            results.extend(rows);
        }
        if !nan {
            let backwards = |nth: usize| along.count - 1 - nth;
            results.push(self.fold(along, row, region, code, step, |_, _| {}, backwards)?);
        }
        Ok(results)
    }

    /// The operands' lanes at a place.
    fn read_operands(&self, step: &Step, lane: usize) -> Vec<Lane> {
        step.ins
            .iter()
            .map(|&slot| self.value(slot).lane_at(lane))
            .collect()
    }

    /// Runs the region on two elements.
    fn combine_elements(&mut self, left: &[Lane], right: &[Lane], code: &'a Code) -> Result<Vec<Lane>, Halt> {
        for (&arg, &lane) in code.args.iter().zip(left.iter().chain(right)) {
            self.set(arg, Lanes::Uniform(lane));
        }
        self.block(code)?;
        Ok(self
            .collect_yields(code)?
            .into_iter()
            .map(|value| value.lane_at(0))
            .collect())
    }

    /// Combines one row by a well-known operation, if it is one; `keep` receives the result of every prefix. `scan` is
    /// `Some(reverse)` for a scan, which keeps the elements' order.
    fn combine_known(
        &self,
        along: Axis,
        row: usize,
        combine: Option<Combine>,
        step: &Step,
        scan: Option<bool>,
        mut keep: impl FnMut(usize, &[Lane]),
    ) -> Option<Vec<Lane>> {
        let (Some(combine), [slot]) = (combine, step.ins.as_slice()) else {
            return None;
        };
        let dtype = compute_dtype(self.layout(*slot).elem);
        let mut known = RowAccumulator::new(combine, dtype, scan.is_some());
        let mut last = vec![Lane::Poison];
        for nth in 0..along.count {
            let at = if scan == Some(true) {
                along.count - 1 - nth
            } else {
                nth
            };
            last = vec![known.take(self.value(*slot).lane_at(along.lane_at(row, at)), dtype)];
            keep(nth, &last);
        }
        Some(last)
    }

    /// Combines one row; `keep` receives the result of every prefix.
    #[expect(
        clippy::too_many_arguments,
        reason = "what a reduction and a scan have in common"
    )]
    fn fold(
        &mut self,
        along: Axis,
        row: usize,
        region: Region,
        code: &'a Code,
        step: &'a Step,
        mut keep: impl FnMut(usize, &[Lane]),
        order: impl Fn(usize) -> usize,
    ) -> Result<Vec<Lane>, Halt> {
        let element =
            |machine: &Self, nth: usize| machine.read_operands(step, along.lane_at(row, order(nth)));
        if code.args.len() != 2 * step.ins.len() || code.yields.len() != step.ins.len() {
            return Err(Stop::malformed("a region that combines").into());
        }
        let mut so_far = element(self, 0);
        keep(0, &so_far);
        for nth in 1..along.count {
            let next = element(self, nth);
            so_far = self.combine_elements(&so_far, &next, code)?;
            if !region.exact {
                // Another order may round, and then decide, otherwise.
                for (lane, &slot) in so_far.iter_mut().zip(&step.ins) {
                    if compute_dtype(self.layout(slot).elem).is_float() && *lane != Lane::Poison && nth > 1 {
                        *lane = Lane::Unknown;
                    }
                }
            }
            keep(nth, &so_far);
        }
        Ok(so_far)
    }

    pub(super) fn dot(
        &mut self,
        precision: InputPrecision,
        max_imprecise: u32,
        step: &Step,
    ) -> Result<(), Halt> {
        let (a, b, c, out) = (step.ins[0], step.ins[1], step.ins[2], step.outs[0]);
        let shapes = (self.ty(a).shape.as_slice(), self.ty(b).shape.as_slice());
        let ((&[m, k], &[_, n]) | (&[_, m, k], &[_, _, n])) = shapes else {
            return Err(Stop::malformed("a dot").into());
        };
        let (dtype, result) = (
            compute_dtype(self.layout(a).elem),
            compute_dtype(self.layout(out).elem),
        );
        let lanes = self.layout(out).lanes;
        let rules = Rules::new(dtype, result, precision, max_imprecise, k);
        let mut results = Vec::with_capacity(lanes);
        let floats = result.is_float() && dtype.is_float();
        let merges = self.dots.is_mergeable(out) && floats;
        let mut open = Vec::with_capacity(if merges { lanes } else { 0 });
        let factors = |slot: Slot| -> Vec<Factor> {
            let lanes = if floats { self.layout(slot).lanes } else { 0 };
            let of = |lane| Factor::from_lane(self.value(slot).lane_at(lane).plain(), dtype, rules.input);
            (0..lanes).map(of).collect()
        };
        let (rows, columns) = (factors(a), factors(b));
        let settles = dtype == DType::F64 || rows.iter().chain(&columns).any(Factor::may_settle);
        for lane in 0..lanes {
            let (row, j) = (lane / n, lane % n);
            let batch = row / m;
            let start = self.value(c).lane_at(lane).plain();
            let value = if floats {
                let mut sum = Sum::default();
                let row = rows.iter().skip(row * k).take(k);
                let column = columns.iter().skip(batch * k * n + j).step_by(n);
                for (x, y) in row.zip(column) {
                    sum.add_product(x, y, dtype, rules.input);
                    if !settles && sum.is_anything(result) {
                        break;
                    }
                }
                sum.inherit(rules.imprecise, rules.imprecise_bits);
                if merges {
                    open.push(sum);
                }
                sum.add(start, result);
                sum.bound_result(result, rules.sum_bits)
            } else {
                let factor = |i: usize| {
                    let (x, y) = (row * k + i, (batch * k + i) * n + j);
                    (self.value(a).lane_at(x).plain(), self.value(b).lane_at(y).plain())
                };
                dot_integers(dtype, result, (0..k).map(factor), start)
            };
            results.push(value);
        }
        if merges {
            let bits = rules.sum_bits;
            self.dots.keep(out, Open::Sums { sums: open, bits });
        }
        self.set(out, Lanes::Each(results));
        Ok(())
    }

    /// A dot whose operands and results are moderate, all sums of it at once. False, and nothing done, for another.
    pub(super) fn wide_dot(
        &mut self,
        precision: InputPrecision,
        max_imprecise: u32,
        step: &Step,
    ) -> Result<bool, Halt> {
        let (a, b, c, out) = (step.ins[0], step.ins[1], step.ins[2], step.outs[0]);
        let (dtype, result) = (
            compute_dtype(self.layout(a).elem),
            compute_dtype(self.layout(out).elem),
        );
        if result != DType::F32 || !dtype.is_float() {
            return Ok(false);
        }
        let extent = self.plain.find_extent(a, b)?;
        let rules = Rules::new(dtype, result, precision, max_imprecise, extent.k);
        let steps = Steps {
            bits: rules.sum_bits,
            inherited: rules.imprecise,
            inherited_bits: rules.imprecise_bits,
        };
        let (Some(a), Some(b), Some(start)) = (self.read_wide(a)?, self.read_wide(b)?, self.read_source(c)?)
        else {
            return Ok(false);
        };
        let Some(products) = Products::new(extent, (&a, &b), rules.input, steps) else {
            return Ok(false);
        };
        let Some(sums) = products.add_accumulator(|lane| start.parts_at(lane)) else {
            return Ok(false);
        };
        if self.dots.is_mergeable(out) {
            self.dots.keep(out, Open::Products(Box::new(products)));
        }
        self.set(out, Lanes::Wide(Rc::new(sums)));
        Ok(true)
    }

    pub(super) fn histogram(&mut self, mask: bool, step: &Step) {
        let (source, layout) = (self.layout(step.ins[0]), self.layout(step.outs[0]));
        let dtype = compute_dtype(source.elem);
        let mut counts = vec![0u64; layout.lanes];
        let mut known = true;
        for lane in 0..source.lanes {
            if mask {
                match self.value(step.ins[1]).lane_at(lane).bits() {
                    Some(bits) if bits & 1 == 0 => continue,
                    Some(_) => {}
                    None => known = false,
                }
            }
            let bin = self
                .value(step.ins[0])
                .lane_at(lane)
                .bits()
                .map(|bits| numeric::decode_int(dtype, bits));
            match bin.and_then(|bin| counts.get_mut(usize::try_from(bin).ok()?)) {
                Some(count) => *count += 1,
                None => known = false,
            }
        }
        let ones = layout.element_mask();
        let value = if known {
            Lanes::Each(counts.into_iter().map(|count| Lane::Bits(count & ones)).collect())
        } else {
            Lanes::Uniform(Lane::Unknown)
        };
        self.set(step.outs[0], value);
    }
}

/// A dot of integers: exact modulo the width, or unknown.
fn dot_integers(
    dtype: DType,
    result: DType,
    factors: impl Iterator<Item = (Lane, Lane)>,
    start: Lane,
) -> Lane {
    let mut total = match start {
        Lane::Poison => return Lane::Poison,
        lane => lane.bits().map(|bits| numeric::decode_int(result, bits)),
    };
    for (x, y) in factors {
        if x == Lane::Poison || y == Lane::Poison {
            return Lane::Poison;
        }
        total = total.zip(x.bits().zip(y.bits())).map(|(total, (x, y))| {
            total.wrapping_add(numeric::decode_int(dtype, x).wrapping_mul(numeric::decode_int(dtype, y)))
        });
    }
    total.map_or(Lane::Unknown, |total| {
        Lane::Bits(numeric::encode_int(result, total))
    })
}

/// The freedom of a dot in rounding its inputs and sums.
///
/// Tensor cores multiply exactly, line the products of a few terms and the sum up with the largest of them, and cut off
/// what sticks out, so that a step keeps less than `f32` has (Fasi, Higham, Mikaitis and Pranesh, *Numerical behavior of
/// NVIDIA tensor cores*, 2021). Seen on an H200 with Triton 3.6.0, random operands, 256 products: off by at most
/// `2^-21.8` of the terms' magnitudes with tf32 operands (that are cut off), `2^-22.2` with `f16`, `2^-12.4` with fp8,
/// `2^-15.6` with fp8 and `max_num_imprecise_acc=32`, `2^-11.3` with an `f16` accumulator, `2^-17.5` as `bf16x3`.
struct Rules {
    input: Input,
    /// Bits that every step of the sum keeps.
    sum_bits: i32,
    /// Error of the steps that keep fewer, relative to the terms' magnitudes.
    imprecise: f64,
    /// Bits that those keep.
    imprecise_bits: i32,
}

impl Rules {
    fn new(dtype: DType, result: DType, precision: InputPrecision, max_imprecise: u32, k: usize) -> Self {
        let sum_bits = match (dtype, result) {
            (DType::F64, _) => 52,
            (_, DType::F16) => 10,
            (_, DType::BF16) => 7,
            _ => 22,
        };
        // With fp8 operands Hopper keeps 14 bits (CUTLASS, "fp8 accumulation"), until the sum of at most
        // `max_num_imprecise_acc` products, and of no fewer than one instruction's 32, is added in `f32`.
        let (imprecise, imprecise_bits) = if dtype.is_fp8() {
            let terms = k.min(max_imprecise.max(32) as usize) as f64;
            (terms * precision::power_of_two(-13), 13)
        } else {
            (0.0, i32::MAX)
        };
        let split = |bits, exponent| Input::Split {
            bits,
            relative: precision::power_of_two(exponent),
        };
        // The parts of a split operand hold 11 or 8 bits each, and what is left out of the product is at most: in three
        // tf32 products, the product of both small parts (2^-22) and what the small parts are cut off (2^-20); in three
        // and six bf16 products, what is beyond two (3 * 2^-16) and three parts of the operands (4 * 2^-24).
        let input = match (dtype, precision) {
            (DType::F32, InputPrecision::Tf32) => Input::Tf32,
            (DType::F32, InputPrecision::Tf32x3) => split(11, -19),
            (DType::F32, InputPrecision::Bf16x3) => split(8, -14),
            (DType::F32, InputPrecision::Bf16x6) => split(8, -20),
            _ => Input::Whole,
        };
        Self {
            input,
            sum_bits,
            imprecise,
            imprecise_bits,
        }
    }
}
