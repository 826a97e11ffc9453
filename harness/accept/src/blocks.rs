//! Operations on whole blocks of floats that need not be exact ([`Wide`]). See `source` for reading operands and building
//! blocks.

use std::ops::Range;
use std::rc::Rc;

use cerith_memory::{ByteState, StorageByte};
use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CastKind, CmpPredicate, Combine, OpKind, Rounding, UnaryOp};
use cerith_tile::numeric::{self, Accuracy};

use super::chunk::{self, Chunk, LANES, Out};
use super::float;
use super::interval::Interval;
use super::lane::Lane;
use super::lanes::Lanes;
use super::region::Axis;
use super::source::{OperandPair, Source, collect_wide, pack_exact};
use super::state::{Halt, Machine};
use super::sum::Sum;
use super::wide::{self, BITS, INTERVAL, POISON, Parts, Wide, to_lane, to_parts};
use cerith_interp::elementwise::compute_dtype;
use cerith_interp::program::{Op, Slot, Step};
use cerith_interp::value::{Poison, Repr, Value, write};

impl Machine<'_> {
    /// Runs a step on whole blocks of floats. If it returns false, the caller must run the step lane by lane.
    pub(super) fn execute_wide(&mut self, step: &Step) -> Result<bool, Halt> {
        match step.op {
            Op::Plain(OpKind::Store { mask }) => return self.wide_store(mask, step),
            Op::Plain(OpKind::Dot {
                precision,
                max_imprecise,
            }) => return self.wide_dot(precision, max_imprecise, step),
            Op::Reduce {
                axis,
                combine: Some(combine),
                ..
            } => return self.wide_reduce(axis, combine, step),
            _ => {}
        }
        let Some(&out) = step.outs.first() else {
            return Ok(false);
        };
        let layout = self.layout(out);
        if layout.lanes < LANES {
            return Ok(false);
        }
        let dtype = compute_dtype(layout.elem);
        let result = match &step.op {
            Op::Binary(op) if wide::is_supported(dtype) => {
                self.wide_binary(*op, dtype, layout.lanes, step)?
            }
            Op::Unary(op) if wide::is_supported(dtype) => self.wide_unary(*op, dtype, layout.lanes, step)?,
            Op::Plain(OpKind::Cast {
                kind: CastKind::Value,
                rounding,
            }) if wide::is_supported(dtype) => self.wide_cast(*rounding, dtype, layout.lanes, step)?,
            Op::Plain(OpKind::Compare(predicate)) => return self.wide_compare(*predicate, step),
            Op::Plain(OpKind::Select) if wide::is_supported(dtype) => {
                self.wide_select(dtype, layout.lanes, step)?
            }
            _ => None,
        };
        let Some(wide) = result else {
            return Ok(false);
        };
        self.set(out, Lanes::Wide(Rc::new(wide)));
        match step.op {
            Op::Plain(OpKind::Cast { .. }) => self.keep_narrow(step),
            Op::Binary(op @ (BinaryOp::Add | BinaryOp::Sub)) => {
                self.narrow.forget(out);
                if op == BinaryOp::Add {
                    self.merge(step)?;
                }
            }
            _ => {}
        }
        Ok(true)
    }

    fn wide_store(&mut self, mask: bool, step: &Step) -> Result<bool, Halt> {
        let (pointer, value) = (step.ins[0], step.ins[1]);
        let mask = if mask { step.ins.get(2).copied() } else { None };
        let known = [Some(pointer), mask];
        if !self.writes_freely() || known.into_iter().flatten().any(|slot| !self.exact[slot as usize]) {
            return Ok(false);
        }
        let Some(Source::Many(wide)) = self.read_source(value)? else {
            return Ok(false);
        };
        let size = wide.dtype.size();
        let Ok((runs, _)) = self.plain.plan(pointer, mask, step.loc, size) else {
            return Ok(false);
        };
        let mut stored = true;
        for run in &runs {
            let whole = run.is_contiguous(size);
            for piece in 0..if whole { 1 } else { run.count } {
                let lanes = if whole {
                    run.lane..run.lane + run.count
                } else {
                    run.lane + piece..run.lane + piece + 1
                };
                let place = self
                    .plain
                    .memory
                    .resolve_access(run.address(piece), lanes.len() * size);
                match place {
                    Ok(place) => self.keep(place, &wide, lanes),
                    Err(_) => stored = false,
                }
            }
        }
        self.plain.state.runs = runs;
        Ok(stored)
    }

    /// Reduces rows by a sum, a maximum or a minimum.
    fn wide_reduce(&mut self, axis: usize, combine: Combine, step: &Step) -> Result<bool, Halt> {
        let &[slot] = step.ins.as_slice() else {
            return Ok(false);
        };
        if !matches!(combine, Combine::Add | Combine::Max | Combine::Min) {
            return Ok(false);
        }
        let Some(Source::Many(wide)) = self.read_source(slot)? else {
            return Ok(false);
        };
        let (along, dtype) = (self.find_axis(slot, axis)?, wide.dtype);
        let mut results = Vec::with_capacity(along.rows());
        if combine == Combine::Add {
            for row in 0..along.rows() {
                let mut sum = Sum::default();
                let mut done = 0;
                while let Some(terms) = read_terms(&wide, along, row, done) {
                    sum.add_terms(&terms.terms());
                    done += LANES;
                }
                for nth in done..along.count {
                    let lane = along.lane_at(row, nth);
                    match wide.parts(lane) {
                        Some(Parts {
                            low,
                            high,
                            tag: tag @ (BITS | INTERVAL),
                            ..
                        }) if along.count > 1 => {
                            let nan = false;
                            sum.add_interval(Interval { low, high, nan }, tag == BITS);
                        }
                        _ => sum.add(wide.lane_at(lane), dtype),
                    }
                }
                if along.count > 1 {
                    sum.clear_single();
                }
                results.push(sum.to_lane(dtype));
            }
            self.set(step.outs[0], Lanes::Each(results));
            return Ok(true);
        }
        let (op, pick): (_, fn(f64, f64) -> f64) = if combine == Combine::Max {
            (BinaryOp::Max, f64::max)
        } else {
            (BinaryOp::Min, f64::min)
        };
        for row in 0..along.rows() {
            let mut all: Option<Parts> = None;
            for nth in 0..along.count {
                let Some(mut next) = wide.parts(along.lane_at(row, nth)) else {
                    return Ok(false);
                };
                if next.has_factors() {
                    next = next.without_factors();
                }
                let combined = match all {
                    None => Some(next),
                    Some(before) => wide::pick(before, next, pick).or_else(|| {
                        let lane =
                            float::apply_binary(op, dtype, to_lane(dtype, before), to_lane(dtype, next));
                        to_parts(dtype, lane.plain())
                    }),
                };
                let Some(combined) = combined else {
                    return Ok(false);
                };
                all = Some(combined);
            }
            results.extend(all.map(|all| to_lane(dtype, all)));
        }
        self.set(step.outs[0], Lanes::Each(results));
        Ok(true)
    }

    /// Stores lanes in adjacent elements.
    fn keep(&mut self, place: StorageByte, wide: &Wide, lanes: Range<usize>) {
        let size = wide.dtype.size();
        let range = place.offset..place.offset + lanes.len() * size;
        let (bytes, states) = self.plain.memory.parts_mut(place.storage);
        if let (Some(bytes), Some(states)) = (bytes.get_mut(range.clone()), states.get_mut(range)) {
            states.fill(ByteState::Init);
            let open = wide.tags.get(lanes.clone());
            let open = open.is_some_and(|tags| tags.iter().all(|&tag| tag == INTERVAL));
            for (nth, lane) in lanes.clone().enumerate().filter(|_| !open) {
                let Some(parts) = wide.parts(lane) else {
                    continue;
                };
                if parts.tag == POISON {
                    if let Some(states) = states.get_mut(nth * size..(nth + 1) * size) {
                        states.fill(ByteState::Poison);
                    }
                } else if let Some(bits) = parts.bits_of(wide.dtype) {
                    write(bytes, nth, size, bits);
                }
            }
        }
        self.map.set_wide(place.storage, place.offset, wide, lanes);
    }

    /// A float value as a block. `None` if it has no such form.
    pub(super) fn read_wide(&mut self, slot: Slot) -> Result<Option<Rc<Wide>>, Halt> {
        let (dtype, lanes) = (compute_dtype(self.layout(slot).elem), self.layout(slot).lanes);
        Ok(match self.read_source(slot)? {
            Some(Source::Many(wide)) => Some(wide),
            Some(Source::One(parts)) => {
                let mut wide = Wide::with_capacity(dtype, lanes);
                for _ in 0..lanes {
                    wide.push(parts);
                }
                Some(Rc::new(wide))
            }
            None => None,
        })
    }

    /// A float value as an operand of operations on blocks. `None` if it has no such form.
    pub(super) fn read_source(&mut self, slot: Slot) -> Result<Option<Source>, Halt> {
        let layout = self.layout(slot);
        let dtype = compute_dtype(layout.elem);
        if !wide::is_supported(dtype) {
            return Ok(None);
        }
        let wide = match &self.slots[slot as usize] {
            Lanes::Wide(wide) => return Ok(Some(Source::Many(Rc::clone(wide)))),
            Lanes::Uniform(lane) => return Ok(to_parts(dtype, *lane).map(Source::One)),
            Lanes::Each(lanes) => Wide::from_lanes(dtype, lanes),
            Lanes::Plain => {
                let value = self.plain.value(slot);
                match (value.repr, &value.poison) {
                    (_, Poison::All(_)) => {
                        return Ok(Some(Source::One(Parts {
                            tag: POISON,
                            ..Parts::from_exact(0.0)
                        })));
                    }
                    (Repr::Uniform(bits), Poison::None) => {
                        return Ok(to_parts(dtype, Lane::Bits(bits)).map(Source::One));
                    }
                    _ => {}
                }
                self.plain.write_out(slot)?;
                pack_exact(dtype, layout.lanes, self.plain.value(slot)).map(Rc::new)
            }
        };
        if let Some(wide) = &wide {
            self.replace(slot, Lanes::Wide(Rc::clone(wide)));
        }
        Ok(wide.map(Source::Many))
    }

    fn map_wide(
        &mut self,
        dtype: DType,
        lanes: usize,
        step: &Step,
        at_once: impl Fn(Chunk<'_>, &mut Out<'_>) -> bool,
        slow: impl Fn(Lane) -> Lane,
    ) -> Result<Option<Wide>, Halt> {
        let from = compute_dtype(self.layout(step.ins[0]).elem);
        let Some(x) = self.read_source(step.ins[0])? else {
            return Ok(None);
        };
        if matches!(x, Source::One(_)) {
            return Ok(None);
        }
        let each = |lane: usize| {
            let x = x.parts_at(lane)?;
            to_parts(dtype, slow(to_lane(from, x)))
        };
        let at_once = |nth: usize, out: &mut Out<'_>| x.chunk(None, nth).is_some_and(|x| at_once(x, out));
        let room = self.spare.pop();
        Ok(collect_wide(dtype, lanes, room, at_once, each))
    }

    fn wide_unary(
        &mut self,
        op: UnaryOp,
        dtype: DType,
        lanes: usize,
        step: &Step,
    ) -> Result<Option<Wide>, Halt> {
        let accuracy = Accuracy::of_unary(op, dtype);
        let sides = self.map.sides;
        let slow = |x: Lane| float::apply_unary(op, dtype, x, sides);
        // If the error is not in units, NaN sends every lane to `slow`.
        let steps = |magnitude: f64| accuracy.count_units(dtype, magnitude).unwrap_or(f64::NAN);
        macro_rules! monotone {
            ($function:expr) => {
                self.map_wide(
                    dtype,
                    lanes,
                    step,
                    |x, out| chunk::apply_monotone(x, steps, $function, out),
                    slow,
                )
            };
        }
        match op {
            UnaryOp::Exp if dtype == DType::F32 => {
                monotone!(numeric::single::exp)
            }
            UnaryOp::Exp2 if dtype == DType::F32 => monotone!(numeric::single::exp2),
            UnaryOp::Log if dtype == DType::F32 => monotone!(numeric::single::log),
            UnaryOp::Log2 if dtype == DType::F32 => monotone!(numeric::single::log2),
            UnaryOp::Sqrt if dtype == DType::F32 => monotone!(f64::sqrt),
            UnaryOp::Rsqrt if dtype == DType::F32 => monotone!(|x: f64| 1.0 / x.sqrt()),
            UnaryOp::Neg => self.map_wide(dtype, lanes, step, chunk::negate, slow),
            _ => self.map_wide(dtype, lanes, step, |_, _| false, slow),
        }
    }

    fn wide_binary(
        &mut self,
        op: BinaryOp,
        dtype: DType,
        lanes: usize,
        step: &Step,
    ) -> Result<Option<Wide>, Halt> {
        let (Some(x), Some(y)) = (self.read_source(step.ins[0])?, self.read_source(step.ins[1])?) else {
            return Ok(None);
        };
        if let (Source::One(_), Source::One(_)) = (&x, &y) {
            return Ok(None);
        }
        let slow = |x: Parts, y: Parts| {
            let lane = float::apply_binary(op, dtype, to_lane(dtype, x), to_lane(dtype, y));
            to_parts(dtype, lane)
        };
        let units = Accuracy::of_binary(op, dtype).count_units(dtype, 0.0);
        let room = self.spare.pop();
        let both = OperandPair {
            dtype,
            lanes,
            room,
            x,
            y,
        };
        Ok(match (op, dtype, units) {
            (BinaryOp::Add, ..) => both.zip_lanes(|x, y, out| chunk::add::<false>(dtype, x, y, out), slow),
            (BinaryOp::Sub, ..) => both.zip_lanes(|x, y, out| chunk::add::<true>(dtype, x, y, out), slow),
            (BinaryOp::Mul, ..) => both.zip_lanes(|x, y, out| chunk::multiply(dtype, x, y, out), slow),
            (BinaryOp::Div, DType::F32, Some(units)) => {
                both.zip_lanes(|x, y, out| chunk::divide(x, y, units, out), slow)
            }
            (BinaryOp::Max | BinaryOp::MaxPropagateNan, ..) => both.zip_lanes(chunk::pick::<false>, slow),
            (BinaryOp::Min | BinaryOp::MinPropagateNan, ..) => both.zip_lanes(chunk::pick::<true>, slow),
            _ => both.zip_lanes(|_, _, _| false, slow),
        })
    }

    fn wide_cast(
        &mut self,
        rounding: Rounding,
        dtype: DType,
        lanes: usize,
        step: &Step,
    ) -> Result<Option<Wide>, Halt> {
        let from = self.layout(step.ins[0]).elem;
        let Some(from) = from.num().filter(|&from| wide::is_supported(from)) else {
            return Ok(None);
        };
        let near = rounding == Rounding::NearestEven;
        let widens = from.bits() < dtype.bits();
        let at_once = |x: Chunk<'_>, out: &mut Out<'_>| {
            if from == dtype {
                // A cast to the same dtype must not round: the ends of a sum may lie between numbers of the dtype.
                chunk::select(&[1; LANES], x, x, out)
            } else {
                near && chunk::cast(dtype, widens, x, out)
            }
        };
        self.map_wide(dtype, lanes, step, at_once, |x| {
            float::cast(from, dtype, rounding, x)
        })
    }

    /// Compares lanes. Returns false if the comparison of a lane is undecided.
    fn wide_compare(&mut self, predicate: CmpPredicate, step: &Step) -> Result<bool, Halt> {
        let out = step.outs[0];
        let lanes = self.layout(out).lanes;
        let dtype = compute_dtype(self.layout(step.ins[0]).elem);
        let (Some(x), Some(y)) = (self.read_source(step.ins[0])?, self.read_source(step.ins[1])?) else {
            return Ok(false);
        };
        let mut buf = self.plain.state.pool.take(lanes)?;
        let (one, other) = (x.uniform_chunk(), y.uniform_chunk());
        let mut done = 0;
        for (nth, to) in buf.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let pair = x.chunk(one.as_ref(), nth).zip(y.chunk(other.as_ref(), nth));
            let Some(above) = pair.and_then(|(x, y)| chunk::compare_disjoint(x, y)) else {
                break;
            };
            *to = above.map(|above| match predicate {
                CmpPredicate::Lt | CmpPredicate::Le => 1 - above,
                CmpPredicate::Gt | CmpPredicate::Ge => above,
                CmpPredicate::Eq => 0,
                CmpPredicate::Ne => 1,
            });
            done = (nth + 1) * LANES;
        }
        for (lane, to) in buf.iter_mut().enumerate().skip(done) {
            let (Some(x), Some(y)) = (x.parts_at(lane), y.parts_at(lane)) else {
                self.plain.state.pool.give(buf);
                return Ok(false);
            };
            let decided = if x.tag | y.tag == INTERVAL && (x.high < y.low || x.low > y.high) {
                let above = x.low > y.high;
                Lane::Bits(u64::from(match predicate {
                    CmpPredicate::Lt | CmpPredicate::Le => !above,
                    CmpPredicate::Gt | CmpPredicate::Ge => above,
                    CmpPredicate::Eq => false,
                    CmpPredicate::Ne => true,
                }))
            } else {
                float::compare(predicate, dtype, to_lane(dtype, x), to_lane(dtype, y))
            };
            let Lane::Bits(bits) = decided else {
                self.plain.state.pool.give(buf);
                return Ok(false);
            };
            *to = bits as u8;
        }
        self.plain.set_lanes(out, Value::dense(buf));
        self.hold(out);
        Ok(true)
    }

    fn wide_select(&mut self, dtype: DType, lanes: usize, step: &Step) -> Result<Option<Wide>, Halt> {
        let (condition, x, y) = (step.ins[0], step.ins[1], step.ins[2]);
        if !self.exact[condition as usize] || !self.plain.value(condition).poison.is_none() {
            return Ok(None);
        }
        let (Some(x), Some(y)) = (self.read_source(x)?, self.read_source(y)?) else {
            return Ok(None);
        };
        self.plain.write_out(condition)?;
        let room = self.spare.pop();
        let value = self.plain.value(condition);
        let uniform = match value.repr {
            Repr::Uniform(bits) => Some(bits as u8),
            _ => None,
        };
        let bytes = value.lanes().unwrap_or(&[]);
        let bit = |lane: usize| uniform.or_else(|| bytes.get(lane).copied());
        let each = |lane: usize| {
            if bit(lane)? & 1 == 1 {
                x.parts_at(lane)
            } else {
                y.parts_at(lane)
            }
        };
        let (one, other) = (x.uniform_chunk(), y.uniform_chunk());
        let at_once = |nth: usize, out: &mut Out<'_>| {
            let (Some(x), Some(y)) = (x.chunk(one.as_ref(), nth), y.chunk(other.as_ref(), nth)) else {
                return false;
            };
            let bits = match uniform {
                Some(bits) => [bits; LANES],
                None => match bytes.as_chunks().0.get(nth) {
                    Some(bits) => *bits,
                    None => return false,
                },
            };
            chunk::select(&bits, x, y, out)
        };
        Ok(collect_wide(dtype, lanes, room, at_once, each))
    }
}

/// The next [`LANES`] lanes of a row. `None` if they are not one chunk of the block, or if a lane is not a finite number, an
/// interval of them or a product.
fn read_terms(wide: &Wide, along: Axis, row: usize, done: usize) -> Option<Chunk<'_>> {
    let first = along.lane_at(row, done);
    let fits =
        along.inner == 1 && along.count > LANES && done + LANES <= along.count && first.is_multiple_of(LANES);
    let chunk = if fits {
        wide.chunk(first / LANES)?
    } else {
        return None;
    };
    chunk.is_finite().then_some(chunk)
}
