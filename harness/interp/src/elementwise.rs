//! Operations that do the same to every lane. The arithmetic is [`cerith_tile::numeric`]'s; here are the rules that keep
//! lanes from being stored, and poison.

mod rule;

use cerith_tile::DType;
use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::ir::{BinaryOp, CastKind, CmpPredicate, Elem, Foreign, Rounding, TernaryOp, UnaryOp};
use cerith_tile::numeric::lanes::{self, Flaws, Operand};
use cerith_tile::numeric::{self, Computed, numpy};
use smallvec::SmallVec;

pub(crate) use self::rule::remap_rule;
use self::rule::{affine_repr, binary_rule, mask_repr, to_affine};
use crate::affine::{Affine, decode_integer};
use crate::checks::divisions::Flaw;
use crate::config::Numerics;
use crate::machine::Machine;
use crate::outcome::Stop;
use crate::program::{Op, Slot, Step};
use crate::value::{Buf, Layout, MAX_STORABLE, Mark, POISON, Poison, Repr, Value, materialise, read, write};

/// The dtype that an element computes as; pointers are unsigned addresses.
pub fn compute_dtype(elem: Elem) -> DType {
    elem.num().unwrap_or(DType::U64)
}

/// Converts a value to an operand of [`lanes`].
pub fn as_operand(value: &Value) -> Operand<'_> {
    match value.repr {
        Repr::Uniform(bits) => Operand::Uniform(bits),
        _ => Operand::Block(value.lanes().unwrap_or(&[])),
    }
}

impl Machine<'_> {
    /// Puts lanes by rule in a slot.
    #[inline]
    fn set_ruled(&mut self, slot: Slot, repr: Repr, poison: Poison) {
        self.set_rule(slot, repr);
        if !poison.is_none() {
            self.state.slots[slot as usize].poison = poison;
        }
    }

    /// Writes the lanes of a slot out, if they are known by rule.
    pub fn write_out(&mut self, slot: Slot) -> Result<(), Stop> {
        let value = self.value(slot);
        if value.buf.is_some() || matches!(value.repr, Repr::Uniform(_)) {
            return Ok(());
        }
        let (repr, layout) = (value.repr, self.layout(slot));
        let mut buf = self.state.pool.take(layout.lanes * layout.size)?;
        materialise(&repr, &layout, &mut buf);
        self.state.slots[slot as usize].buf = Some(buf);
        Ok(())
    }

    /// The lanes of a slot, written out whatever they are.
    pub(crate) fn copy_lanes(&mut self, slot: Slot) -> Result<Buf, Stop> {
        let layout = self.layout(slot);
        let mut buf = self.state.pool.take(layout.lanes * layout.size)?;
        let value = &self.state.slots[slot as usize];
        match value.lanes() {
            Some(lanes) => buf.copy_from_slice(lanes),
            None => materialise(&value.repr, &layout, &mut buf),
        }
        Ok(buf)
    }

    /// Lanes that are poison in any operand.
    #[inline]
    pub(crate) fn merge_poison(&mut self, slots: &[Slot]) -> Result<Poison, Stop> {
        if slots.iter().all(|&slot| self.value(slot).poison.is_none()) {
            return Ok(Poison::None);
        }
        self.merged_lanes(slots)
    }

    #[cold]
    fn merged_lanes(&mut self, slots: &[Slot]) -> Result<Poison, Stop> {
        let mut merged: Option<Buf> = None;
        let mut all: Mark = 0;
        for &slot in slots {
            match &self.state.slots[slot as usize].poison {
                Poison::None => {}
                Poison::All(mark) => all = all.max(*mark),
                Poison::Lanes(lanes) => match &mut merged {
                    None => merged = Some(self.state.pool.copy(lanes)?),
                    Some(buf) => {
                        for (to, &from) in buf.iter_mut().zip(lanes.iter()) {
                            *to = from.max(*to);
                        }
                    }
                },
            }
        }
        Ok(match merged {
            None => Poison::from_mark(all),
            Some(mut buf) if all != 0 => {
                buf.iter_mut().for_each(|to| *to = all.max(*to));
                Poison::Lanes(buf)
            }
            Some(buf) => Poison::Lanes(buf),
        })
    }

    /// The marks of lanes, one by one.
    pub(crate) fn poison_by(
        &mut self,
        lanes: usize,
        mut poison: impl FnMut(&mut Self, usize) -> Mark,
    ) -> Result<Poison, Stop> {
        let mut buf = self.state.pool.take(lanes)?;
        let mut any = 0;
        for (lane, to) in buf.iter_mut().enumerate() {
            let mark = poison(self, lane);
            any |= mark;
            *to = mark;
        }
        if any != 0 {
            return Ok(Poison::Lanes(buf));
        }
        self.state.pool.give(buf);
        Ok(Poison::None)
    }

    /// Puts a computed block in its slot, with the poison of the operands and that of the operation.
    fn settle(&mut self, step: &Step, buf: Buf, poison: Poison, flaws: &Flaws) -> Result<(), Stop> {
        let poison = if flaws.is_empty() {
            poison
        } else {
            self.mark_flaws(step, poison, flaws)?
        };
        self.set_lanes(step.outs[0], Value::dense(buf).with_poison(poison));
        Ok(())
    }

    /// The mark of a lane in which an operation is not defined.
    #[cold]
    fn flaw_mark(&mut self, step: &Step, lane: usize) -> Mark {
        match step.op {
            Op::Binary(BinaryOp::IntDiv | BinaryOp::Rem) => self.no_answer(step, Flaw::Overflow, lane),
            _ => POISON,
        }
    }

    /// The poison of lanes whose result is undefined, in addition to that of the operands. A poison lane's content only
    /// indicates that a divisor, which is not poison, is zero.
    #[cold]
    fn mark_flaws(&mut self, step: &Step, poison: Poison, flaws: &Flaws) -> Result<Poison, Stop> {
        let mut marks: SmallVec<[(usize, Mark); 8]> = SmallVec::new();
        for &lane in &flaws.poison {
            if poison.mark(lane as usize) == 0 {
                marks.push((lane as usize, self.flaw_mark(step, lane as usize)));
            }
        }
        for &lane in &flaws.division_by_zero {
            if poison.mark(lane as usize) <= MAX_STORABLE {
                marks.push((lane as usize, self.no_answer(step, Flaw::Zero, lane as usize)));
            }
        }
        if marks.is_empty() {
            return Ok(poison);
        }
        let lanes = self.layout(step.outs[0]).lanes;
        let mut buf = match poison {
            Poison::Lanes(buf) => buf,
            Poison::None => self.state.pool.zeros(lanes)?,
            Poison::All(all) => {
                let mut buf = self.state.pool.take(lanes)?;
                buf.fill(all);
                buf
            }
        };
        for (lane, mark) in marks {
            if let Some(to) = buf.get_mut(lane) {
                *to = mark.max(*to);
            }
        }
        Ok(Poison::Lanes(buf))
    }

    /// Puts what a single computation gave in every lane.
    fn settle_uniform(&mut self, step: &Step, computed: Computed, poison: Poison) {
        let mark = match computed {
            Computed::Bits(bits) => {
                self.set_ruled(step.outs[0], Repr::Uniform(bits), poison);
                return;
            }
            Computed::Poison if !poison.is_none() => POISON,
            Computed::Poison => self.flaw_mark(step, 0),
            Computed::DivisionByZero if poison.worst() > MAX_STORABLE => POISON,
            Computed::DivisionByZero => self.no_answer(step, Flaw::Zero, 0),
        };
        let lanes = self.layout(step.outs[0]).lanes;
        let poison = match poison {
            Poison::None => Poison::All(mark),
            Poison::All(other) => Poison::All(other.max(mark)),
            Poison::Lanes(mut marks) if lanes > 1 => {
                marks.iter_mut().for_each(|other| *other = mark.max(*other));
                Poison::Lanes(marks)
            }
            Poison::Lanes(marks) => {
                let worst = marks.first().copied().unwrap_or(0).max(mark);
                self.state.pool.give(marks);
                Poison::All(worst)
            }
        };
        self.set(step.outs[0], Value::uniform(0).with_poison(poison));
    }

    pub(crate) fn make_range(&mut self, start: i32, out: Slot) -> Result<(), Stop> {
        let layout = self.layout(out);
        let rule = Affine {
            base: if is_planted(Fault::RangeStartsAtZero) {
                0
            } else {
                i64::from(start)
            },
            strides: [0, 0, 0, 1],
        };
        let repr = affine_repr(rule, &layout).ok_or(Stop::malformed("a range"))?;
        self.set_rule(out, repr);
        Ok(())
    }

    pub(crate) fn execute_unary(&mut self, op: UnaryOp, step: &Step) -> Result<(), Stop> {
        let (a, out) = (step.ins[0], step.outs[0]);
        let dtype = compute_dtype(self.layout(a).elem);
        let layout = self.layout(out);
        let poison = self.merge_poison(&[a])?;
        let repr = self.value(a).repr;
        let numpys = numpy::find_function(op)
            .filter(|_| dtype == DType::F32 && self.config.numerics == Numerics::Numpy);
        if let Repr::Uniform(bits) = repr {
            let computed = numpys.map_or_else(
                || numeric::apply_unary(op, dtype, bits),
                |function| Computed::Bits(function(f32::from_bits(bits as u32)).to_bits().into()),
            );
            self.settle_uniform(step, computed, poison);
            return Ok(());
        }
        let rule = match (op, repr) {
            (UnaryOp::Neg, Repr::Affine(rule)) => rule.scale(-1).and_then(|rule| affine_repr(rule, &layout)),
            (UnaryOp::Not, Repr::Mask(mask)) => mask.not(&layout.extents).map(Repr::Mask),
            _ => None,
        };
        if let Some(repr) = rule {
            self.set_ruled(out, repr, poison);
            return Ok(());
        }
        self.write_out(a)?;
        let mut buf = self.state.pool.take(layout.lanes * layout.size)?;
        let flaws = match (numpys, self.value(a).lanes()) {
            (Some(function), Some(lanes)) => {
                for (from, to) in lanes.as_chunks().0.iter().zip(buf.as_chunks_mut().0) {
                    *to = function(f32::from_le_bytes(*from)).to_le_bytes();
                }
                Flaws::default()
            }
            _ => lanes::apply_unary(op, dtype, as_operand(self.value(a)), &mut buf),
        };
        self.settle(step, buf, poison, &flaws)
    }

    pub(crate) fn execute_binary(&mut self, op: BinaryOp, step: &Step) -> Result<(), Stop> {
        let (a, b, out) = (step.ins[0], step.ins[1], step.outs[0]);
        let layout = self.layout(out);
        let dtype = compute_dtype(layout.elem);
        let poison = self.binary_poison(op, dtype, a, b, step)?;
        let (x, y) = (self.value(a), self.value(b));
        if let (Repr::Uniform(x), Repr::Uniform(y)) = (x.repr, y.repr) {
            self.settle_uniform(step, numeric::apply_binary(op, dtype, x, y), poison);
            return Ok(());
        }
        if let Some(repr) = binary_rule(op, x, y, &layout) {
            self.set_ruled(out, repr, poison);
            return Ok(());
        }
        self.write_out(a)?;
        self.write_out(b)?;
        let mut buf = self.state.pool.take(layout.lanes * layout.size)?;
        let flaws = lanes::apply_binary(
            op,
            dtype,
            as_operand(self.value(a)),
            as_operand(self.value(b)),
            &mut buf,
        );
        self.settle(step, buf, poison, &flaws)
    }

    /// The poison lanes of a binary operation. An undefined value is some value: if the other operand alone determines the
    /// result (`false & x`), the result is defined. An undefined divisor may be zero, so its result is undefined.
    fn binary_poison(
        &mut self,
        op: BinaryOp,
        dtype: DType,
        a: Slot,
        b: Slot,
        step: &Step,
    ) -> Result<Poison, Stop> {
        if self.value(a).poison.is_none() && self.value(b).poison.is_none() {
            return Ok(Poison::None);
        }
        let lanes = self.layout(step.outs[0]).lanes;
        let integer = dtype.is_int();
        if integer && matches!(op, BinaryOp::IntDiv | BinaryOp::Rem) {
            let first = (0..lanes).find(|&lane| self.value(b).poison.is_poison(lane));
            let Some(first) = first else {
                return self.merge_poison(&[a, b]);
            };
            let mark = self.no_answer(step, Flaw::Undefined, first);
            return self.poison_by(lanes, |machine, lane| {
                let (x, y) = (
                    machine.value(a).poison.mark(lane),
                    machine.value(b).poison.mark(lane),
                );
                if (POISON..=MAX_STORABLE).contains(&y) {
                    mark.max(x)
                } else {
                    x.max(y)
                }
            });
        }
        let ones = if dtype == DType::I1 {
            1
        } else {
            self.layout(step.outs[0]).element_mask()
        };
        let absorbing = match op {
            BinaryOp::And | BinaryOp::Mul if integer => 0,
            BinaryOp::Or => ones,
            _ => return self.merge_poison(&[a, b]),
        };
        let (la, lb) = (self.layout(a), self.layout(b));
        self.poison_by(lanes, |machine, lane| {
            let (x, y) = (machine.value(a), machine.value(b));
            match (x.poison.mark(lane), y.poison.mark(lane)) {
                (0, 0) => 0,
                (mark, 0) if y.bits(lane, &lb) == absorbing => machine.carry_mark(mark, b),
                (0, mark) if x.bits(lane, &la) == absorbing => machine.carry_mark(mark, a),
                (x, y) => x.max(y),
            }
        })
    }

    pub(crate) fn execute_ternary(&mut self, op: TernaryOp, step: &Step) -> Result<(), Stop> {
        let (a, b, c) = (step.ins[0], step.ins[1], step.ins[2]);
        let layout = self.layout(step.outs[0]);
        let dtype = compute_dtype(layout.elem);
        let poison = self.merge_poison(&[a, b, c])?;
        let reprs = (self.value(a).repr, self.value(b).repr, self.value(c).repr);
        if let (Repr::Uniform(x), Repr::Uniform(y), Repr::Uniform(z)) = reprs {
            self.settle_uniform(step, numeric::apply_ternary(op, dtype, x, y, z), poison);
            return Ok(());
        }
        for slot in [a, b, c] {
            self.write_out(slot)?;
        }
        let mut buf = self.state.pool.take(layout.lanes * layout.size)?;
        let (x, y, z) = (
            as_operand(self.value(a)),
            as_operand(self.value(b)),
            as_operand(self.value(c)),
        );
        let flaws = lanes::apply_ternary(op, dtype, x, y, z, &mut buf);
        self.settle(step, buf, poison, &flaws)
    }

    /// A function of a known bug's model.
    pub(crate) fn execute_foreign(&mut self, foreign: &Foreign, step: &Step) -> Result<(), Stop> {
        let bits = self
            .layout(step.outs[0])
            .elem
            .num()
            .map_or(64, |dtype| dtype.bits().max(1));
        let kept = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        self.execute_function(step, |operands| Computed::Bits(foreign.evaluate(operands) & kept))
    }

    /// A function of the operands' bits, lane by lane.
    pub(crate) fn execute_function(
        &mut self,
        step: &Step,
        function: impl Fn(&[u64]) -> Computed,
    ) -> Result<(), Stop> {
        let layout = self.layout(step.outs[0]);
        let poison = self.merge_poison(&step.ins)?;
        let uniform: Option<SmallVec<[u64; 4]>> = step
            .ins
            .iter()
            .map(|&slot| match self.value(slot).repr {
                Repr::Uniform(bits) => Some(bits),
                _ => None,
            })
            .collect();
        if let Some(bits) = uniform {
            self.settle_uniform(step, function(&bits), poison);
            return Ok(());
        }
        for &slot in &step.ins {
            self.write_out(slot)?;
        }
        let mut buf = self.state.pool.take(layout.lanes * layout.size)?;
        let sources: SmallVec<[(&Value, Layout); 4]> = step
            .ins
            .iter()
            .map(|&slot| (self.value(slot), self.layout(slot)))
            .collect();
        let mut flaws = Flaws::default();
        let mut operands: SmallVec<[u64; 4]> = SmallVec::new();
        for lane in 0..layout.lanes {
            operands.clear();
            operands.extend(sources.iter().map(|(value, layout)| value.bits(lane, layout)));
            let bits = function(&operands).bits();
            if bits.is_none() {
                flaws.poison.push(lane as u32);
            }
            write(&mut buf, lane, layout.size, bits.unwrap_or(0));
        }
        drop(sources);
        self.settle(step, buf, poison, &flaws)
    }

    pub(crate) fn compare(&mut self, predicate: CmpPredicate, step: &Step) -> Result<(), Stop> {
        let (a, b, out) = (step.ins[0], step.ins[1], step.outs[0]);
        let (layout, elem) = (self.layout(out), self.layout(a).elem);
        let dtype = compute_dtype(elem);
        let poison = self.merge_poison(&[a, b])?;
        let (x, y) = (self.value(a), self.value(b));
        if let (Repr::Uniform(x), Repr::Uniform(y)) = (x.repr, y.repr) {
            let holds = numeric::compare(predicate, dtype, x, y);
            self.set_ruled(out, Repr::Uniform(u64::from(holds)), poison);
            return Ok(());
        }
        let ruled = matches!(x.repr, Repr::Affine(_)) || matches!(y.repr, Repr::Affine(_));
        if ruled
            && let (Some(x), Some(y)) = (to_affine(x, elem), to_affine(y, elem))
            && let Some(rule) = x.compare(predicate, y, &layout.extents)
        {
            self.set_ruled(out, mask_repr(rule), poison);
            return Ok(());
        }
        self.write_out(a)?;
        self.write_out(b)?;
        let mut buf = self.state.pool.take(layout.lanes)?;
        lanes::compare(
            predicate,
            dtype,
            as_operand(self.value(a)),
            as_operand(self.value(b)),
            &mut buf,
        );
        self.settle(step, buf, poison, &Flaws::default())
    }

    pub(crate) fn select(&mut self, step: &Step) -> Result<(), Stop> {
        let (c, a, b, out) = (step.ins[0], step.ins[1], step.ins[2], step.outs[0]);
        let layout = self.layout(out);
        let condition = self.value(c);
        if let (Repr::Uniform(all), Poison::None) = (condition.repr, &condition.poison)
            && self.value(if all & 1 == 1 { b } else { a }).poison.worst() <= MAX_STORABLE
        {
            let chosen = self.copy(if all & 1 == 1 { a } else { b })?;
            self.set(out, chosen);
            return Ok(());
        }
        let clean = [c, a, b].iter().all(|&slot| self.value(slot).poison.is_none());
        let poison = if clean {
            Poison::None
        } else {
            let lc = self.layout(c);
            self.poison_by(layout.lanes, |machine, lane| {
                let condition = machine.value(c);
                let unknown = condition.poison.mark(lane);
                let (chosen, other) = if condition.bits(lane, &lc) & 1 == 1 {
                    (a, b)
                } else {
                    (b, a)
                };
                let chosen = machine.value(chosen).poison.mark(lane);
                let other = machine.value(other).poison.mark(lane);
                if unknown != 0 {
                    // Either may be chosen.
                    unknown.max(chosen).max(other)
                } else if other > chosen {
                    machine.carry_mark(other, c).max(chosen)
                } else {
                    chosen
                }
            })?
        };
        for slot in [c, a, b] {
            self.write_out(slot)?;
        }
        let mut buf = self.state.pool.take(layout.lanes * layout.size)?;
        let (condition, x, y) = (
            as_operand(self.value(c)),
            as_operand(self.value(a)),
            as_operand(self.value(b)),
        );
        lanes::select(layout.size, condition, x, y, &mut buf);
        self.set_lanes(out, Value::dense(buf).with_poison(poison));
        Ok(())
    }

    pub(crate) fn cast(&mut self, kind: CastKind, rounding: Rounding, step: &Step) -> Result<(), Stop> {
        let (a, out) = (step.ins[0], step.outs[0]);
        let (from, to) = (self.layout(a), self.layout(out));
        let poison = self.merge_poison(&[a])?;
        let repr = self.value(a).repr;
        let (source, target) = (compute_dtype(from.elem), compute_dtype(to.elem));
        let same = from.elem == to.elem || kind == CastKind::Bits || (from.elem.is_ptr() && to.elem.is_ptr());
        match repr {
            Repr::Uniform(bits) if same => {
                self.set_ruled(out, Repr::Uniform(bits), poison);
                return Ok(());
            }
            Repr::Uniform(bits) => {
                self.settle_uniform(step, numeric::cast(source, target, rounding, bits), poison);
                return Ok(());
            }
            Repr::Affine(rule) if target.is_int() && target.bits() > 1 => {
                if let Some(repr) = affine_repr(rule, &to) {
                    self.set_ruled(out, repr, poison);
                    return Ok(());
                }
            }
            Repr::Mask(_) if from.elem == to.elem => {
                self.set_ruled(out, repr, poison);
                return Ok(());
            }
            _ => {}
        }
        if same {
            let buf = self.copy_lanes(a)?;
            self.set_lanes(out, Value::dense(buf).with_poison(poison));
            return Ok(());
        }
        self.write_out(a)?;
        let mut buf = self.state.pool.take(to.lanes * to.size)?;
        let flaws = lanes::cast(source, target, rounding, as_operand(self.value(a)), &mut buf);
        self.settle(step, buf, poison, &flaws)
    }

    pub(crate) fn add_ptr(&mut self, step: &Step) -> Result<(), Stop> {
        let (p, o, out) = (step.ins[0], step.ins[1], step.outs[0]);
        let layout = self.layout(out);
        let poison = self.merge_poison(&[p, o])?;
        let size = layout.elem.pointee().map_or(1, Elem::size) as i64;
        let offset_layout = self.layout(o);
        let (pointer, offset) = (self.value(p), self.value(o));
        let rule = to_affine(pointer, layout.elem)
            .zip(to_affine(offset, offset_layout.elem))
            .and_then(|(pointer, offset)| pointer.add(offset.scale(size)?))
            .and_then(|rule| affine_repr(rule, &layout));
        if let Some(repr) = rule {
            self.set_ruled(out, repr, poison);
            return Ok(());
        }
        let extend = |bits: u64| {
            decode_integer(bits, offset_layout.elem)
                .unwrap_or(bits as i64)
                .wrapping_mul(size) as u64
        };
        if let (Repr::Uniform(x), Repr::Uniform(y)) = (pointer.repr, offset.repr) {
            self.set_ruled(out, Repr::Uniform(x.wrapping_add(extend(y))), poison);
            return Ok(());
        }
        self.write_out(p)?;
        self.write_out(o)?;
        let mut buf = self.state.pool.take(layout.lanes * 8)?;
        let (pointer, offset) = (self.value(p), self.value(o));
        for (lane, to) in buf.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let base = match pointer.repr {
                Repr::Uniform(bits) => bits,
                _ => read(pointer.lanes().unwrap_or(&[]), lane, 8),
            };
            let by = match offset.repr {
                Repr::Uniform(bits) => bits,
                _ => read(offset.lanes().unwrap_or(&[]), lane, offset_layout.size),
            };
            *to = base.wrapping_add(extend(by)).to_le_bytes();
        }
        self.set_lanes(out, Value::dense(buf).with_poison(poison));
        Ok(())
    }
}
