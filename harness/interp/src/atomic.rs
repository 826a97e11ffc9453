//! Atomics: each active lane reads, changes and writes its element, in the order of lanes. The result of a masked-off lane
//! is undefined. The order between lanes or between programs is undefined too, and is recorded in the launch's statistics
//! if it can affect results.

use cerith_memory::ByteState;
use cerith_tile::DType;
use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::ir::{AtomicOp, BinaryOp, LocId, MemoryOrder};
use cerith_tile::numeric::{self, Computed};

use crate::checks::happens_before::Release;
use crate::checks::init::{self, InitState};
use crate::checks::{Access, unordered};
use crate::elementwise::compute_dtype;
use crate::machine::Machine;
use crate::outcome::Stop;
use crate::program::{Slot, Step};
use crate::reach::Reach;
use crate::run::Run;
use crate::value::{Buf, MAX_STORABLE, Poison, Value, read, write};

/// The value that an atomic writes to memory.
#[derive(Clone, Copy, Debug)]
struct Update {
    bits: u64,
    /// Whether the bits are not defined.
    poison: bool,
    /// Whether they do not depend on the old value.
    replaces: bool,
}

/// The arithmetic of an atomic; none for an exchange.
const fn arithmetic_of(op: AtomicOp) -> Option<BinaryOp> {
    match op {
        AtomicOp::Add => Some(BinaryOp::Add),
        AtomicOp::And => Some(BinaryOp::And),
        AtomicOp::Or => Some(BinaryOp::Or),
        AtomicOp::Xor => Some(BinaryOp::Xor),
        AtomicOp::Max => Some(BinaryOp::Max),
        AtomicOp::Min => Some(BinaryOp::Min),
        AtomicOp::Xchg => None,
    }
}

impl Machine<'_> {
    pub(crate) fn atomic_rmw(
        &mut self,
        op: AtomicOp,
        mask: bool,
        order: MemoryOrder,
        step: &Step,
    ) -> Result<(), Stop> {
        let value = step.ins[1];
        let layout = self.layout(value);
        let dtype = match compute_dtype(layout.elem) {
            DType::U32 if is_planted(Fault::UnsignedAtomicsAreSigned) => DType::I32,
            DType::U64 if is_planted(Fault::UnsignedAtomicsAreSigned) => DType::I64,
            dtype => dtype,
        };
        let mask = if mask { step.ins.get(2).copied() } else { None };
        let function = arithmetic_of(op);
        // An order of exchanges shows in memory, one of sums only in the rounding of floats.
        let ordered = function.is_none() || (op == AtomicOp::Add && dtype.is_float());
        self.execute_lanes(step, mask, (ordered, order), |machine, lane, address| {
            let operand = machine.value(value);
            let (bits, poison) = (operand.bits(lane, &layout), operand.poison.is_poison(lane));
            machine.update(step.ins[0], step.loc, (lane, address, layout.size), |old| {
                let (bits, flawed) =
                    match function.map(|function| numeric::apply_binary(function, dtype, old, bits)) {
                        None => (bits, false),
                        Some(Computed::Bits(bits)) => (bits, false),
                        Some(Computed::Poison | Computed::DivisionByZero) => (0, true),
                    };
                Some(Update {
                    bits,
                    poison: poison || flawed,
                    replaces: function.is_none(),
                })
            })
        })
    }

    pub(crate) fn atomic_cas(&mut self, order: MemoryOrder, step: &Step) -> Result<(), Stop> {
        let (compare, value) = (step.ins[1], step.ins[2]);
        let layout = self.layout(value);
        let compared = self.layout(compare);
        let scalar = self.layout(step.ins[0]).lanes == 1;
        if scalar {
            self.barrier();
        }
        self.execute_lanes(step, None, (true, order), |machine, lane, address| {
            let (expected, new) = (machine.value(compare), machine.value(value));
            let unknown = expected.poison.is_poison(lane);
            let (expected, bits) = (expected.bits(lane, &compared), new.bits(lane, &layout));
            let poison = new.poison.is_poison(lane);
            machine.update(step.ins[0], step.loc, (lane, address, layout.size), |old| {
                (unknown || old == expected || is_planted(Fault::SwapAlwaysSwaps)).then_some(Update {
                    bits,
                    poison: poison || unknown,
                    replaces: true,
                })
            })
        })?;
        if scalar {
            self.barrier();
        }
        Ok(())
    }

    /// One lane's element in memory before anything is done with it: where it is, which of its bytes are known, and its
    /// bits.
    fn look(
        &self,
        pointer: Slot,
        loc: LocId,
        access: Access,
        (lane, address, size): (usize, u64, usize),
    ) -> Result<(usize, InitState, u64), Stop> {
        let site = self.site_of(pointer, loc);
        let reach = Reach {
            site,
            home: self.home(pointer).map(AsRef::as_ref),
            access,
            size,
            watched: self.racing,
            unaligned: self.config.unaligned,
        };
        let index = reach.locate_element(self.memory, lane, address)?;
        let (bytes, states) = self.memory.arena();
        let (Some(bytes), Some(states)) = (bytes.get(index..index + size), states.get(index..index + size))
        else {
            return Err(Stop::malformed("an address"));
        };
        let known = init::classify_bytes(states);
        if known == InitState::SomeUninit {
            return Err(init::trap(site, self.memory, access, lane, index, size));
        }
        let value = read(bytes, 0, size);
        Ok((index, known, value))
    }

    /// Reads, changes and writes one lane's element in memory: what an atomic does. Gives what was there, unless that
    /// was poison.
    fn update(
        &mut self,
        pointer: Slot,
        loc: LocId,
        (lane, address, size): (usize, u64, usize),
        change: impl FnOnce(u64) -> Option<Update>,
    ) -> Result<Option<u64>, Stop> {
        let (index, known, old) = self.look(pointer, loc, Access::Atomic, (lane, address, size))?;
        let run = Run {
            lane,
            count: 1,
            address,
            stride: 0,
        };
        self.look_at_view((pointer, loc), Access::Atomic, &[run], size);
        if self.racing
            && let Err(conflict) = self.state.shadow.record_atomic(index, size)
        {
            return Err(self.trap_race(self.site_of(pointer, loc), Access::Atomic, lane, conflict));
        }
        let change = change(old);
        if self.racing {
            let synchronises = Release {
                wrote: change.is_some(),
                ..self.synchronises
            };
            self.state.shadow.synchronise(index, synchronises);
        }
        if let Some(update) = change {
            let (bytes, states) = self.memory.arena_mut();
            if let (Some(bytes), Some(states)) = (
                bytes.get_mut(index..index + size),
                states.get_mut(index..index + size),
            ) {
                write(bytes, 0, size, update.bits);
                let poison = update.poison || (known == InitState::SomePoison && !update.replaces);
                states.fill(if poison {
                    ByteState::Poison
                } else {
                    ByteState::Init
                });
                if poison {
                    self.stats.bytes_poisoned += size as u64;
                } else {
                    self.stats.bytes_updated += size as u64;
                }
            }
            self.stats.bytes_stored += size as u64;
            if is_planted(Fault::AtomicGivesNew) {
                return Ok((known == InitState::All).then_some(update.bits));
            }
        }
        Ok((known == InitState::All).then_some(old))
    }

    /// Compares each lane with the expected value, once. If the program is alone, a poll can't succeed later; otherwise it
    /// depends on the timing of other programs.
    pub(crate) fn atomic_poll(&mut self, timeout: bool, step: &Step) -> Result<(), Stop> {
        let (pointer, expected) = (step.ins[0], step.ins[1]);
        let layout = self.layout(expected);
        let size = layout.size;
        let (runs, _) = self.plan(pointer, None, step.loc, size)?;
        self.footprint.note_access(&runs, size, Access::Load, step.loc);
        self.state.cells.order();
        let mut matched: Buf = self.state.pool.zeros(layout.lanes)?;
        let mut marks: Buf = self.state.pool.zeros(layout.lanes)?;
        for run in &runs {
            for nth in 0..run.count {
                let lane = run.lane + nth;
                let old = self.watch(pointer, step.loc, (lane, run.address(nth), size))?;
                let value = self.value(expected);
                let known = old.filter(|_| !value.poison.is_poison(lane));
                let equal = known == Some(value.bits(lane, &layout));
                if known.is_some() && !equal {
                    let alone = self.grid.iter().all(|&programs| programs <= 1);
                    match (timeout, alone) {
                        (true, true) => {}
                        (true, false) => self.stats.order_dependent = true,
                        (false, true) => {
                            return Err(Stop::out_of_fuel(self.fuel_limit()));
                        }
                        (false, false) => {
                            return Err(Stop::Unsupported {
                                construct: "a poll for what another program has yet to write".to_owned(),
                                loc: step.loc,
                            });
                        }
                    }
                }
                write(&mut matched, lane, 1, u64::from(equal));
                write(&mut marks, lane, 1, u64::from(known.is_none()));
            }
        }
        self.state.runs = runs;
        let poison = if marks.contains(&1) {
            Poison::Lanes(marks)
        } else {
            self.state.pool.give(marks);
            Poison::None
        };
        self.set_lanes(step.outs[0], Value::dense(matched).with_poison(poison));
        Ok(())
    }

    /// Reads an element that other programs may write meanwhile; nothing where it is poison.
    fn watch(
        &mut self,
        pointer: Slot,
        loc: LocId,
        (lane, address, size): (usize, u64, usize),
    ) -> Result<Option<u64>, Stop> {
        let (index, known, value) = self.look(pointer, loc, Access::Load, (lane, address, size))?;
        if self.racing
            && let Err(conflict) = self.state.shadow.load(index, size, true)
        {
            return Err(self.trap_race(self.site_of(pointer, loc), Access::Load, lane, conflict));
        }
        if self.racing {
            self.state.shadow.synchronise(index, Release::POLL);
        }
        Ok((known == InitState::All).then_some(value))
    }

    /// Runs an atomic for each active lane and collects what was there before.
    fn execute_lanes(
        &mut self,
        step: &Step,
        mask: Option<Slot>,
        (ordered, order): (bool, MemoryOrder),
        mut one: impl FnMut(&mut Self, usize, u64) -> Result<Option<u64>, Stop>,
    ) -> Result<(), Stop> {
        let out = step.outs[0];
        let layout = self.layout(out);
        let size = layout.size;
        let (runs, spread) = self.plan(step.ins[0], mask, step.loc, size)?;
        for &operand in step.ins.get(1..).unwrap_or(&[]) {
            let lanes = runs.iter().flat_map(|run| run.lane..run.lane + run.count);
            let marks = lanes.map(|lane| (self.value(operand).poison.mark(lane), lane));
            if !self.value(operand).poison.is_none()
                && let Some((mark, lane)) = marks.max().filter(|&(mark, _)| mark > MAX_STORABLE)
            {
                let site = self.site_of(step.ins[0], step.loc);
                return Err(self.trap_undefined(site, Some(lane), mark, "an operand of an atomic"));
            }
        }
        self.footprint.note_access(&runs, size, Access::Atomic, step.loc);
        let text = unordered::Function {
            function: &self.program.function,
            memory: self.memory,
        };
        let cells = &mut self.state.cells;
        if let Some(crossed) = self
            .footprint
            .check_update(cells, &text, &runs, size, step.access)
        {
            return Err(self.trap_unordered(step, crossed));
        }
        self.begin_access(step.ins[0]);
        let used = self.program.used[out as usize];
        let scalar = layout.lanes == 1;
        self.synchronises = Release {
            scalar,
            order: Some(order),
            wrote: false,
            used,
        };
        if (used || ordered) && !spread.is_disjoint(&runs, size) && has_overlap(&runs, size) {
            self.stats.order_dependent = true;
        }
        let mut buf: Buf = self.state.pool.zeros(layout.lanes * size)?;
        let mut marks: Buf = self.state.pool.take(layout.lanes)?;
        marks.fill(1);
        let mut poisoned = layout.lanes;
        for run in &runs {
            for nth in 0..run.count {
                let lane = run.lane + nth;
                if let Some(old) = one(self, lane, run.address(nth))? {
                    let old = if layout.elem.num() == Some(DType::I1) {
                        old & 1
                    } else {
                        old
                    };
                    write(&mut buf, lane, size, old);
                    if let Some(mark) = marks.get_mut(lane) {
                        *mark = 0;
                    }
                    poisoned -= 1;
                }
            }
        }
        self.state.runs = runs;
        if self.racing && self.state.shadow.met && (used || ordered) {
            self.stats.order_dependent = true;
        }
        // Every thread waits for a scalar's result.
        if scalar && used {
            self.state.cells.order();
        }
        let poison = if poisoned == 0 {
            self.state.pool.give(marks);
            Poison::None
        } else {
            Poison::Lanes(marks)
        };
        self.set_lanes(out, Value::dense(buf).with_poison(poison));
        Ok(())
    }
}

/// Whether two lanes of an access share bytes.
fn has_overlap(runs: &[Run], size: usize) -> bool {
    let mut addresses: Vec<u64> = runs
        .iter()
        .flat_map(|run| (0..run.count).map(|nth| run.address(nth)))
        .collect();
    addresses.sort_unstable();
    addresses.windows(2).any(|pair| pair[1] - pair[0] < size as u64)
}
