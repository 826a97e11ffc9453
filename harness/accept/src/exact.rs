//! Exact values, executed by a plain machine, whole blocks at a time. It holds the memory and the values with the same bits in
//! every conforming implementation, and runs operations whose operands and results are all such values. Lanes move between the
//! two executions as needed.
//!
//! Invariant: results equal those of operations on single lanes. An execution that records which operations widen uses only
//! those, and tests compare the two.

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CastKind, Combine, OpKind, TernaryOp, UnaryOp};
use cerith_tile::numeric::{self, Accuracy, lanes};

use super::lane::Lane;
use super::lanes::Lanes;
use super::state::{Halt, Machine};
use super::wide::INTERVAL;
use cerith_interp::config::Combining;
use cerith_interp::elementwise::{as_operand, compute_dtype};
use cerith_interp::outcome::Stop;
use cerith_interp::program::{Code, Op, Slot, Step};
use cerith_interp::survey::Survey;
use cerith_interp::value::{Layout, Poison, Pool, Repr, Value, read, write};

/// A value that is moved from one block to another.
pub(super) enum Carried {
    Plain(Value),
    Lanes(Lanes),
}

impl<'a> Machine<'a> {
    /// Runs a step in the plain machine if its operands are exact and so is what it does with them. False, and nothing
    /// done, where it has to be run lane by lane.
    pub(super) fn execute_exact(&mut self, step: &'a Step) -> bool {
        let exact = step.ins.iter().all(|&slot| self.exact[slot as usize]);
        if exact && self.combined_exactly(step) {
            for &out in &step.outs {
                self.hold(out);
            }
            return true;
        }
        if !exact || !self.is_exact_step(step) {
            return false;
        }
        // The rest of the launch's fuel is counted here.
        self.plain.fuel = u64::MAX;
        // Operations on single lanes decide about faults that the first execution did not stop at.
        if self.plain.step(step).is_err() {
            return false;
        }
        // A value outside of the bins may be counted in any.
        let counts = matches!(step.op, Op::Plain(OpKind::Histogram { .. }));
        if counts
            && step
                .outs
                .iter()
                .any(|&out| !self.plain.value(out).poison.is_none())
        {
            return false;
        }
        for &out in &step.outs {
            self.narrow.forget(out);
            self.hold(out);
        }
        true
    }

    /// Reduces exact lanes by an arbitrary function, if other orders have the same result. Returns false, and does nothing, if they
    /// may differ.
    fn combined_exactly(&mut self, step: &'a Step) -> bool {
        let Op::Reduce { combine, region, .. } = &step.op else {
            return false;
        };
        let known = combine.is_some() && step.ins.len() == 1;
        let own = self.config.combining == Combining::Own && region.exact && region.wide;
        let plain = |machine: &mut Self, slot: Slot| {
            let float = machine.dtype(slot).is_float();
            let poison = !machine.plain.value(slot).poison.is_none();
            !poison && !(float && (machine.any_nan(slot) || machine.minus_zero(slot)))
        };
        if known || !own || !step.ins.iter().all(|&slot| plain(self, slot)) {
            return false;
        }
        self.plain.fuel = u64::MAX;
        let first = self.plain.config;
        let mut results: Option<Vec<u64>> = None;
        for config in [first, &self.orders[0], &self.orders[1]] {
            self.plain.config = config;
            let ran = self.plain.step(step);
            self.plain.config = first;
            if ran.is_err() {
                return false;
            }
            let bits = step.outs.iter().flat_map(|&out| {
                let (value, layout) = (self.plain.value(out), self.layout(out));
                (0..layout.lanes).map(move |lane| value.bits(lane, &layout))
            });
            let bits: Vec<u64> = bits.collect();
            if results.get_or_insert_with(|| bits.clone()) != &bits {
                return false;
            }
        }
        true
    }

    /// Whether an operation is on more than the lanes of its operands: on what a value is in another dtype.
    pub(super) fn has_narrow(&self, step: &Step) -> bool {
        let of_products =
            |slot: Slot| matches!(&self.slots[slot as usize], Lanes::Wide(wide) if wide.factors.is_some());
        let narrow = || self.narrow.has_any(step.ins.iter().chain(&step.outs));
        // A number that is not exact has no narrower dtype that it is known to be of.
        let open = |slot: Slot| {
            let wide =
                matches!(&self.slots[slot as usize], Lanes::Wide(wide) if wide.tags.contains(&INTERVAL));
            wide && !self.narrow.has_any([&slot])
        };
        match &step.op {
            Op::Binary(BinaryOp::Add | BinaryOp::Sub) => narrow() && !step.ins.iter().any(|&slot| open(slot)),
            Op::Plain(OpKind::Cast { .. }) => {
                let narrows = self.dtype(step.outs[0]).bits() < self.dtype(step.ins[0]).bits();
                self.narrow.has_any(&step.ins) || narrows && of_products(step.ins[0])
            }
            _ => false,
        }
    }

    /// Says that the plain machine has a slot's value.
    pub(super) fn hold(&mut self, slot: Slot) {
        self.exact[slot as usize] = true;
        self.replace(slot, Lanes::Plain);
    }

    /// Whether an operation on exact lanes has exact lanes as its result.
    fn is_exact_step(&mut self, step: &Step) -> bool {
        let float = |machine: &Self, slot: Slot| machine.dtype(slot).is_float();
        match &step.op {
            Op::Binary(op) => {
                let dtype = self.dtype(step.outs[0]);
                let settles = match op {
                    // The sign of a zero result is unspecified.
                    BinaryOp::Min | BinaryOp::Max | BinaryOp::MinPropagateNan | BinaryOp::MaxPropagateNan => {
                        !step.ins.iter().any(|&slot| self.minus_zero(slot))
                    }
                    BinaryOp::Add | BinaryOp::Sub | BinaryOp::DivRn => true,
                    // A product may be fused; the sign of a NaN is not known.
                    _ => false,
                };
                dtype.is_int() || settles && Accuracy::of_binary(*op, dtype).is_exact()
            }
            Op::Unary(op) => {
                let dtype = self.dtype(step.ins[0]);
                dtype.is_int() || Accuracy::of_unary(*op, dtype).is_exact()
            }
            Op::Reduce {
                combine: Some(combine),
                ..
            }
            | Op::Scan {
                combine: Some(combine),
                ..
            } => {
                let &[slot] = step.ins.as_slice() else {
                    return false;
                };
                let orderly = !float(self, slot)
                    || matches!(combine, Combine::Min | Combine::Max) && !self.minus_zero(slot);
                orderly && self.plain.value(slot).poison.is_none()
            }
            Op::If(..) | Op::For(_) | Op::While(..) | Op::Reduce { .. } | Op::Scan { .. } => false,
            Op::Plain(kind) => match kind {
                OpKind::Constant(_)
                | OpKind::ProgramId(_)
                | OpKind::NumPrograms(_)
                | OpKind::Poison
                | OpKind::Range { .. }
                | OpKind::Compare(_)
                | OpKind::Select
                | OpKind::AddPtr
                | OpKind::Splat
                | OpKind::Broadcast
                | OpKind::Reshape { .. }
                | OpKind::Trans { .. }
                | OpKind::Join
                | OpKind::Split
                | OpKind::Cat { .. }
                | OpKind::Gather { .. }
                | OpKind::Hint { .. } => true,
                OpKind::Foreign(foreign) => {
                    !foreign.has_bounds()
                        && !step
                            .ins
                            .iter()
                            .any(|&slot| float(self, slot) && self.any_nan(slot))
                }
                // A clamp is two extrema, and one may be of two zeros. The language leaves its result for a NaN open.
                OpKind::Ternary(op) => {
                    !float(self, step.outs[0])
                        || *op != TernaryOp::Fma
                            && !step.ins.iter().any(|&slot| self.minus_zero(slot))
                            && !(*op == TernaryOp::Clamp && self.any_nan(step.ins[0]))
                }
                OpKind::Library(symbol) => {
                    !symbol.result.is_float() || (symbol.is_exact() && !symbol.flushes())
                }
                OpKind::Cast { kind, .. } => {
                    let (from, to) = (self.layout(step.ins[0]).elem, self.layout(step.outs[0]).elem);
                    let bits = *kind == CastKind::Bits || from.is_ptr() || to.is_ptr();
                    // The NaN's payload is unspecified.
                    !bits
                        || from == to
                        || !from.num().is_some_and(DType::is_float)
                        || !self.any_nan(step.ins[0])
                }
                OpKind::Dot { .. } => !float(self, step.outs[0]) && !float(self, step.ins[0]),
                OpKind::Histogram { .. } => step
                    .ins
                    .iter()
                    .all(|&slot| self.plain.value(slot).poison.is_none()),
                OpKind::Load { mask, .. } => {
                    let mask = if *mask { step.ins.get(1).copied() } else { None };
                    let size = self.layout(step.outs[0]).size;
                    self.reaches_exact(step.ins[0], mask, size, step)
                }
                OpKind::Store { mask } => {
                    let mask = if *mask { step.ins.get(2).copied() } else { None };
                    let size = self.layout(step.ins[1]).size;
                    self.writes_freely() && self.clear_reached(step.ins[0], mask, size, step)
                }
                _ => false,
            },
        }
    }

    /// Whether a float lane is minus zero.
    fn minus_zero(&mut self, slot: Slot) -> bool {
        let layout = self.layout(slot);
        let dtype = compute_dtype(layout.elem);
        if !dtype.is_float() {
            return false;
        }
        let minus = 1u64 << (dtype.bits() - 1);
        let value = self.plain.value(slot);
        match (value.repr, value.lanes()) {
            (Repr::Uniform(bits), _) => bits == minus,
            (_, Some(bytes)) => match layout.size {
                4 => bytes
                    .as_chunks::<4>()
                    .0
                    .iter()
                    .any(|bytes| u32::from_le_bytes(*bytes) == minus as u32),
                2 => bytes
                    .as_chunks::<2>()
                    .0
                    .iter()
                    .any(|bytes| u16::from_le_bytes(*bytes) == minus as u16),
                size => (0..layout.lanes).any(|lane| read(bytes, lane, size) == minus),
            },
            (_, None) => true,
        }
    }

    /// Whether a float lane is a NaN.
    fn any_nan(&mut self, slot: Slot) -> bool {
        let layout = self.layout(slot);
        let dtype = compute_dtype(layout.elem);
        let value = self.plain.value(slot);
        if let Repr::Uniform(bits) = value.repr {
            return numeric::is_nan(dtype, bits);
        }
        let mut found = vec![0; layout.lanes];
        lanes::apply_unary(UnaryOp::IsNan, dtype, as_operand(value), &mut found);
        found.contains(&1)
    }

    /// Whether the bytes that a load reaches are exact.
    fn reaches_exact(&mut self, pointer: Slot, mask: Option<Slot>, size: usize, step: &Step) -> bool {
        if self.map.is_empty() {
            return true;
        }
        if !self.map.doubtful.is_empty() {
            return false;
        }
        if let Some(home) = self.plain.home(pointer)
            && !self.map.has_inexact(home.storage)
        {
            return true;
        }
        let Ok((runs, _)) = self.plain.plan(pointer, mask, step.loc, size) else {
            return false;
        };
        let exact = runs.iter().all(|run| {
            let whole = run.is_contiguous(size);
            let pieces = if whole { 1 } else { run.count };
            (0..pieces).all(|piece| {
                let len = if whole { run.count * size } else { size };
                let place = self.plain.memory.resolve_access(run.address(piece), len);
                place.is_ok_and(|place| self.map.clean(place.storage, place.offset..place.offset + len))
            })
        });
        self.plain.state.runs = runs;
        exact
    }

    /// Removes the entries of the bytes that a store writes. Returns false if the bytes are unknown.
    fn clear_reached(&mut self, pointer: Slot, mask: Option<Slot>, size: usize, step: &Step) -> bool {
        if self.reaches_exact(pointer, mask, size, step) {
            return true;
        }
        let Ok((runs, _)) = self.plain.plan(pointer, mask, step.loc, size) else {
            return false;
        };
        let mut cleared = true;
        for run in &runs {
            for nth in 0..run.count {
                match self.plain.memory.resolve_access(run.address(nth), size) {
                    Ok(place) => self.map.clear(place.storage, place.offset..place.offset + size),
                    Err(_) => cleared = false,
                }
            }
        }
        self.plain.state.runs = runs;
        cleared
    }

    /// Writes the lanes of an exact value out one by one.
    pub(super) fn lift(&mut self, slot: Slot) -> Result<(), Halt> {
        if !matches!(self.slots[slot as usize], Lanes::Plain) {
            return Ok(());
        }
        let layout = self.layout(slot);
        let value = self.plain.value(slot);
        let lanes = match (value.repr, &value.poison) {
            (_, Poison::All(_)) => Lanes::Uniform(Lane::Poison),
            (Repr::Uniform(bits), Poison::None) => Lanes::Uniform(Lane::Bits(bits)),
            _ => {
                self.plain.write_out(slot)?;
                let value = self.plain.value(slot);
                let bytes = value.lanes();
                let lane = |lane: usize| match (bytes, value.repr) {
                    _ if value.poison.is_poison(lane) => Lane::Poison,
                    (_, Repr::Uniform(bits)) => Lane::Bits(bits),
                    (bytes, _) => Lane::Bits(read(bytes.unwrap_or(&[]), lane, layout.size)),
                };
                Lanes::Each((0..layout.lanes).map(lane).collect())
            }
        };
        self.replace(slot, lanes);
        Ok(())
    }

    /// A value's lanes, to be put elsewhere.
    pub(super) fn clone_lanes(&mut self, slot: Slot) -> Result<Lanes, Halt> {
        self.lift(slot)?;
        Ok(self.value(slot).clone())
    }

    /// Whether no later step needs a record of the written bytes.
    pub(super) fn writes_freely(&self) -> bool {
        self.sums.is_empty() && self.trying == 0 && self.written.is_none() && self.map.doubtful.is_empty()
    }

    /// Gives a value to the plain machine whose lanes turned out to be exact.
    pub(super) fn lower(&mut self, slot: Slot) -> Result<(), Halt> {
        if self.exact[slot as usize] {
            return Ok(());
        }
        let layout = self.layout(slot);
        let value = match &self.slots[slot as usize] {
            Lanes::Uniform(Lane::Bits(bits)) => Value::uniform(*bits),
            Lanes::Uniform(Lane::Poison) => Value::poison(),
            Lanes::Each(lanes)
                if lanes.len() == layout.lanes
                    && lanes
                        .iter()
                        .all(|lane| matches!(lane, Lane::Bits(_) | Lane::Poison)) =>
            {
                let lanes = lanes.iter().copied();
                build_dense(&mut self.plain.state.pool, layout, lanes)?
            }
            Lanes::Wide(wide) if wide.is_exact() => {
                let lanes = (0..layout.lanes).map(|lane| wide.lane_at(lane));
                build_dense(&mut self.plain.state.pool, layout, lanes)?
            }
            _ => return Ok(()),
        };
        self.plain.set_lanes(slot, value);
        self.exact[slot as usize] = true;
        Ok(())
    }

    /// A lane of a value, wherever it is.
    pub(super) fn read_lane(&self, slot: Slot, lane: usize) -> Lane {
        let value = self.plain.value(slot);
        match &self.slots[slot as usize] {
            Lanes::Plain if value.poison.is_poison(lane) => Lane::Poison,
            Lanes::Plain => Lane::Bits(value.bits(lane, &self.layout(slot))),
            lanes => lanes.lane_at(lane),
        }
    }

    /// A value to be put elsewhere; `moves` says that it is not used where it is any more.
    pub(super) fn carry(&mut self, slot: Slot, moves: bool) -> Result<Carried, Halt> {
        let nth = slot as usize;
        Ok(match (self.exact[nth], moves) {
            (true, true) => Carried::Plain(std::mem::take(&mut self.plain.state.slots[nth])),
            (true, false) => Carried::Plain(self.plain.copy(slot)?),
            (false, true) => {
                let lanes = std::mem::replace(&mut self.slots[nth], Lanes::Uniform(Lane::Poison));
                self.live = self.live.saturating_sub(lanes.bytes());
                Carried::Lanes(lanes)
            }
            (false, false) => Carried::Lanes(self.slots[nth].clone()),
        })
    }

    /// Returns the values that a block yields.
    pub(super) fn carry_yields(&mut self, code: &Code) -> Result<Vec<Carried>, Halt> {
        code.yields
            .iter()
            .map(|yielded| self.carry(yielded.slot, yielded.moves))
            .collect()
    }

    pub(super) fn put_down(&mut self, slots: &[Slot], values: impl IntoIterator<Item = Carried>) {
        for (&slot, value) in slots.iter().zip(values) {
            match value {
                Carried::Plain(value) => {
                    self.plain.set(slot, value);
                    self.hold(slot);
                }
                Carried::Lanes(lanes) => self.set(slot, lanes),
            }
        }
    }

    /// The survey of the kernel's operations for all programs, after the prologue. `None` if a value that outlives a program is not
    /// exact, because the survey would treat it as exact.
    pub(super) fn survey(&mut self, programs: u64) -> Option<Survey<'a>> {
        let program = self.program;
        let kept = program.persistent.iter().zip(&self.exact).zip(&program.layouts);
        let unclear = |((&kept, &exact), layout): ((&bool, &bool), &Layout)| {
            kept && !exact && !layout.elem.num().is_some_and(DType::is_float)
        };
        if self.explains() || programs < cerith_interp::machine::SURVEYED || kept.into_iter().any(unclear) {
            return None;
        }
        let plain = &mut self.plain;
        let mut survey = Survey::new(program, &plain.state.slots, plain.memory, plain.grid, |pointer| {
            plain.home(pointer).map(AsRef::as_ref)
        });
        plain.state.straight.resize(program.layouts.len(), None);
        plain.state.defined = std::mem::take(&mut survey.defined);
        Some(survey)
    }

    /// Inserts the program's id into the rules, and runs the operations that are due in every program.
    pub(super) fn run_due(&mut self, survey: &Survey<'a>) -> Result<(), Halt> {
        for rule in &survey.rules {
            let (repr, index) = rule.evaluate(self.plain.id);
            self.plain.set_rule(rule.slot, repr);
            if let Some(to) = self.plain.state.straight.get_mut(rule.slot as usize) {
                *to = index;
            }
            self.hold(rule.slot);
        }
        for due in &survey.due {
            self.run_step(due.step, due.cost, &due.frees)?;
        }
        self.spend(survey.trailing_cost)
    }

    /// Whether an operation has no effect on intervals.
    pub(super) const fn is_idle(op: &Op) -> bool {
        matches!(
            op,
            Op::Plain(
                OpKind::Barrier
                    | OpKind::Print { .. }
                    | OpKind::Assume
                    | OpKind::Demand(_)
                    | OpKind::Assert { .. }
            )
        )
    }
}

/// Exact lanes, as a value of a plain machine.
fn build_dense(
    pool: &mut Pool,
    layout: Layout,
    lanes: impl Iterator<Item = Lane> + Clone,
) -> Result<Value, Stop> {
    let mut buf = pool.take(layout.lanes * layout.size)?;
    let mut poison = false;
    for (nth, lane) in lanes.clone().enumerate() {
        poison |= lane == Lane::Poison;
        write(&mut buf, nth, layout.size, lane.bits().unwrap_or(0));
    }
    let value = Value::dense(buf);
    if !poison {
        return Ok(value);
    }
    let mut marks = pool.take(layout.lanes)?;
    for (to, lane) in marks.iter_mut().zip(lanes) {
        *to = u8::from(lane == Lane::Poison);
    }
    Ok(value.with_poison(Poison::Lanes(marks)))
}
