//! Control flow: blocks and their yielded values, conditions and loops.

use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::ir::LocId;
use cerith_tile::numeric;
use smallvec::SmallVec;

use super::Machine;
use crate::checks::{promise, wait};
use crate::outcome::Stop;
use crate::program::{Code, Op, Slot, Step};
use crate::value::{Repr, Value};

impl<'a> Machine<'a> {
    /// Runs a block up to its yield.
    pub(crate) fn block(&mut self, code: &'a Code) -> Result<(), Stop> {
        for step in &code.steps {
            self.spend(step.cost)
                .and_then(|()| self.step(step))
                .map_err(|stop| stop.with_loc(step.loc))?;
            self.free(&step.frees);
        }
        Ok(())
    }

    /// Takes out what a block yields.
    pub(crate) fn take_yields(&mut self, code: &Code) -> Result<SmallVec<[Value; 4]>, Stop> {
        let mut values = SmallVec::new();
        for yielded in &code.yields {
            values.push(if yielded.moves {
                std::mem::take(&mut self.state.slots[yielded.slot as usize])
            } else {
                self.copy(yielded.slot)?
            });
        }
        Ok(values)
    }

    fn set_all(&mut self, slots: &[Slot], values: impl IntoIterator<Item = Value>) {
        for (&slot, value) in slots.iter().zip(values) {
            self.set(slot, value);
        }
    }

    /// A scalar that decides something: its bits, unless it is poison.
    pub(crate) fn read_decision(&self, slot: Slot, loc: LocId, what: &str) -> Result<u64, Stop> {
        let value = self.value(slot);
        if value.poison.is_poison(0) {
            return Err(self.trap_undefined(self.site(loc), None, value.poison.mark(0), what));
        }
        Ok(value.bits(0, &self.layout(slot)))
    }

    /// Executes an operation.
    pub fn step(&mut self, step: &'a Step) -> Result<(), Stop> {
        match &step.op {
            Op::Binary(op) => self.execute_binary(*op, step),
            Op::Unary(op) => self.execute_unary(*op, step),
            Op::Plain(kind) => self.execute_plain(kind, step),
            Op::If(then_code, else_code) => {
                let condition = self.read_decision(step.ins[0], step.loc, "the condition of `if`")?;
                let code = if condition & 1 == 1 { then_code } else { else_code };
                self.block(code)?;
                let values = self.take_yields(code)?;
                self.set_all(&step.outs, values);
                Ok(())
            }
            Op::For(code) => self.for_loop(code, step),
            Op::While(before, after) => self.while_loop(before, after, step),
            Op::Reduce {
                axis,
                combine,
                region,
                code,
            } => self.reduce(*axis, *combine, *region, code, step),
            Op::Scan {
                axis,
                reverse,
                combine,
                region,
                code,
            } => self.scan(*axis, *reverse, *combine, *region, code, step),
        }
    }

    fn for_loop(&mut self, code: &'a Code, step: &'a Step) -> Result<(), Stop> {
        let (bounds, initial) = step.ins.split_at(3);
        let dtype = self.program.layouts[code.args[0] as usize].elem.num();
        let dtype = dtype.ok_or(Stop::malformed("a loop over pointers"))?;
        let mut numbers = [0; 3];
        let names = ["the start of a loop", "the end of a loop", "the step of a loop"];
        for ((number, &slot), name) in numbers.iter_mut().zip(bounds).zip(names) {
            *number = numeric::decode_int(dtype, self.read_decision(slot, step.loc, name)?);
        }
        let [lower, upper, stride] = numbers;
        if stride <= 0 {
            return Err(promise::loop_step(self.site(step.loc), stride as i64));
        }
        let mut carried = SmallVec::<[Value; 4]>::new();
        for &slot in initial {
            carried.push(self.copy(slot)?);
        }
        let mut at = lower;
        let upper = if is_planted(Fault::LoopNeedsWholeStep) {
            upper - (upper - lower).rem_euclid(stride)
        } else {
            upper
        };
        while at < upper {
            self.spend(1)?;
            self.set_rule(code.args[0], Repr::Uniform(numeric::encode_int(dtype, at)));
            self.set_all(&code.args[1..], carried);
            self.block(code)?;
            carried = self.take_yields(code)?;
            if carried.len() == 2 && is_planted(Fault::LoopSwapsCarried) {
                carried.swap(0, 1);
            }
            at += stride;
        }
        self.set_all(&step.outs, carried);
        Ok(())
    }

    fn while_loop(&mut self, before: &'a Code, after: &'a Code, step: &'a Step) -> Result<(), Stop> {
        let mut carried = SmallVec::<[Value; 4]>::new();
        for &slot in &step.ins {
            carried.push(self.copy(slot)?);
        }
        let shared = self.grid.iter().any(|&programs| programs > 1);
        let mut watch = wait::Watch::default();
        loop {
            self.spend(1)?;
            self.set_all(&before.args, carried);
            self.block(before)?;
            let mut passed = self.take_yields(before)?.into_iter();
            let condition = passed
                .next()
                .ok_or(Stop::malformed("a loop without a condition"))?;
            if condition.poison.is_poison(0) {
                let mark = condition.poison.mark(0);
                return Err(self.trap_undefined(self.site(step.loc), None, mark, "the condition of `while`"));
            }
            let Repr::Uniform(condition) = condition.repr else {
                return Err(Stop::malformed("a loop with a block for a condition"));
            };
            if condition & 1 == 0 {
                self.set_all(&step.outs, passed);
                return Ok(());
            }
            self.set_all(&after.args, passed);
            self.block(after)?;
            carried = self.take_yields(after)?;
            if shared
                && watch.check_repeated(&carried, self.memory.arena().0)
                && (before.reads() || after.reads())
            {
                return Err(wait::trap_endless_wait(self.site(step.loc)));
            }
        }
    }
}
