//! Running a launch with intervals: control flow and the operations that only move or pick lanes.

use std::collections::BTreeMap;
use std::rc::Rc;

use cerith_memory::{Memory, StorageId};
use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CastKind, CmpPredicate, Elem, LocId, OpKind, Rounding, Type};
use cerith_tile::numeric;

use super::atomics::{self, Touched};
use super::combine::Dots;
use super::doubt::{self, Undo, Written};
use super::exact::Carried;
use super::float;
use super::lane::{Lane, Lanes};
use super::library;
use super::narrow::Narrow;
use super::sum::Sum;
use super::wide::Wide;
use super::{Acceptance, AcceptanceMap};
use crate::checks::Home;
use crate::config::{Arg, Checks, Combining, Config};
use crate::elementwise::arithmetic;
use crate::machine::{Machine as PlainMachine, PROGRAM_COST, State};
use crate::order::Order;
use crate::outcome::{Exhausted, InternalError, Outcome, Resource, Stop, Unsupported};
use crate::program::{Code, Op, Program, Slot, Step, Yielded};
use crate::shape::{Movement, row_major};
use crate::value::{Layout, Value};
use crate::watch;

/// Why execution leaves a block early.
#[derive(Debug)]
pub(super) enum Halt {
    Stop(Stop),
    /// What happens next is not the same for every conforming implementation.
    Inconclusive {
        what: &'static str,
        loc: LocId,
    },
    /// The programs cannot run in this order: one waits for a later one.
    Waits,
}

/// What a function makes of lanes of which some may be guesses: what it makes of unknown ones, or its result as a guess.
pub(super) fn guessed(lanes: &[Lane], f: &impl Fn(&[Lane]) -> Lane) -> Lane {
    if !lanes.iter().any(|lane| matches!(lane, Lane::Guess(_))) {
        return f(lanes);
    }
    let with = |other: fn(u64) -> Lane| -> smallvec::SmallVec<[Lane; 3]> {
        let lane = |&lane: &Lane| match lane {
            Lane::Guess(bits) => other(bits),
            lane => lane,
        };
        lanes.iter().map(lane).collect()
    };
    let known = f(&with(|_| Lane::Unknown));
    match (known, f(&with(Lane::Bits)).bits()) {
        (Lane::Unknown, Some(bits)) => Lane::Guess(bits),
        _ => known,
    }
}

impl From<Stop> for Halt {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

/// How often a loop goes round that an order of programs may keep from ending.
const PATIENCE: u32 = 1000;

/// Blocks that are kept for others, at most.
const SPARE: usize = 4;

pub(super) struct Machine<'a> {
    pub program: &'a Program,
    pub config: &'a Config<'a>,
    /// The plain machine's configuration, with elements combined in two other orders.
    pub orders: &'a [Config<'a>; 2],
    /// Has the memory, and what is exact.
    pub plain: PlainMachine<'a>,
    pub map: &'a mut AcceptanceMap,
    pub grid: [u32; 3],
    fuel: u64,
    /// What is left of it at the next look at the watch.
    look_at: u64,
    /// Bytes of lanes that are written out.
    pub live: usize,
    pub slots: Vec<Lanes>,
    /// Blocks that nobody needs any more: room for others.
    pub spare: Vec<Wide>,
    /// For each slot, whether the plain machine has its value.
    pub exact: Vec<bool>,
    /// Floats that atomics of this launch added up, by place: in no defined order.
    pub sums: BTreeMap<(StorageId, usize), Sum>,
    /// Dots that a sum may be made the accumulator of.
    pub dots: Dots,
    /// What values are in a narrower dtype.
    pub narrow: Narrow,
    /// For each parameter, the storage that it points into.
    pub homes: Vec<Option<Rc<Home>>>,
    /// How many constructs that may be taken back are being run.
    pub trying: usize,
    /// What they wrote over.
    pub undo: Vec<Undo>,
    /// What atomics of this launch touched.
    pub touched: Touched,
    /// Whether what an atomic returned, which another order of programs may change, decided where execution goes.
    pub followed: bool,
    /// The elements that were written, where other orders may be tried.
    pub written: Option<Written>,
}

/// How one execution of a launch went.
struct Ran {
    result: Result<(), Halt>,
    touched: Touched,
    followed: bool,
    written: Written,
}

pub(super) fn accept(
    program: &Program,
    grid: [u32; 3],
    args: &[Arg],
    memory: &mut Memory,
    map: &mut AcceptanceMap,
    config: &Config<'_>,
) -> Result<Acceptance, InternalError> {
    let stopped = |exhausted| Ok(Acceptance::Stopped(Outcome::Exhausted(exhausted)));
    let memory_limit = Exhausted {
        what: Resource::Memory,
        limit: config.memory_limit as u64,
        span: None,
    };
    crate::machine::bind(program, args, memory)?;
    if program.oversized {
        return stopped(memory_limit);
    }
    map.begin(program.layouts.len());
    let programs = grid.iter().map(|&n| u64::from(n)).fold(1u64, u64::saturating_mul);
    let ordered = atomics::matter(program);
    let launch = Launch {
        ordered,
        program,
        grid,
        args,
        config,
    };
    // What an atomic returns is a guess where it meets another, which only the end of the launch tells.
    let first = ordered.then(|| (memory.clone(), map.clone()));
    let mut ran = launch.run(memory, map, Order::Ascending, Touched::default())?;
    if let Some((first_memory, first_map)) = first {
        if ran.result.is_ok() && ran.touched.surprised() {
            (*memory, *map) = (first_memory.clone(), first_map.clone());
            ran = launch.run(memory, map, Order::Ascending, ran.touched.known())?;
        }
        if ran.result.is_ok() && ran.followed {
            for order in doubt::orders(programs) {
                let (mut other, mut seen) = (first_memory.clone(), first_map.clone());
                let again = launch.run(&mut other, &mut seen, order, ran.touched.known())?;
                match again.result {
                    Ok(()) => {
                        ran.written.extend(again.written);
                        doubt::agree(programs, &ran.written, (memory, map), (&other, &seen));
                    }
                    Err(Halt::Waits) => {}
                    Err(_) => {
                        ran = again;
                        break;
                    }
                }
            }
        }
    }
    Ok(match ran.result {
        Ok(()) => Acceptance::Known,
        Err(Halt::Waits) => {
            return stopped(Exhausted {
                what: Resource::Fuel,
                limit: config.fuel,
                span: None,
            });
        }
        Err(Halt::Inconclusive { what, loc }) => Acceptance::Inconclusive {
            what,
            span: program.function.span(loc),
        },
        Err(Halt::Stop(Stop::Trap(trap))) => Acceptance::Stopped(Outcome::Trapped(trap)),
        Err(Halt::Stop(Stop::Exhausted { what, limit, loc })) => {
            let span = loc.map(|loc| program.function.span(loc));
            return stopped(Exhausted { what, limit, span });
        }
        Err(Halt::Stop(Stop::Unsupported { construct, loc })) => {
            let span = program.function.span(loc);
            Acceptance::Stopped(Outcome::Unsupported(Unsupported { construct, span }))
        }
        Err(Halt::Stop(Stop::Internal(error))) => return Err(error),
    })
}

/// What is launched.
struct Launch<'a> {
    /// Whether its programs may be run in other orders.
    ordered: bool,
    program: &'a Program,
    grid: [u32; 3],
    args: &'a [Arg],
    config: &'a Config<'a>,
}

impl Launch<'_> {
    /// Runs it once, with the programs in an order. `known` is which atomics meet, as far as that is known.
    fn run(
        &self,
        memory: &mut Memory,
        map: &mut AcceptanceMap,
        order: Order,
        known: Touched,
    ) -> Result<Ran, InternalError> {
        let Self {
            program,
            grid,
            args,
            config,
            ..
        } = *self;
        let homes = crate::machine::bind(program, args, memory)?;
        let mut state = State::take();
        let plain_config = Config {
            checks: Checks::Fast,
            ..*config
        };
        let orders = [Combining::Halves, Combining::Turned].map(|combining| Config {
            combining,
            ..plain_config
        });
        let mut machine = Machine {
            program,
            config,
            orders: &orders,
            plain: PlainMachine::new(
                program,
                &mut state,
                grid,
                args,
                memory,
                &plain_config,
                homes.clone(),
            ),
            map,
            grid,
            fuel: config.fuel,
            look_at: config.fuel,
            live: 0,
            slots: vec![Lanes::Uniform(Lane::Poison); program.layouts.len()],
            spare: Vec::new(),
            exact: vec![false; program.layouts.len()],
            sums: BTreeMap::new(),
            dots: Dots::of(program),
            narrow: Narrow::default(),
            homes,
            trying: 0,
            undo: Vec::new(),
            touched: known,
            followed: false,
            written: self.ordered.then(Written::default),
        };
        for param in &program.function.params {
            machine.hold(param.value.0);
        }
        let result = if grid.contains(&0) {
            Ok(())
        } else {
            machine.programs(order)
        };
        let ran = Ran {
            result,
            touched: machine.touched,
            followed: machine.followed,
            written: machine.written.unwrap_or_default(),
        };
        state.empty();
        state.give();
        Ok(ran)
    }
}

impl<'a> Machine<'a> {
    fn programs(&mut self, order: Order) -> Result<(), Halt> {
        let program = self.program;
        let programs = self
            .grid
            .iter()
            .map(|&n| u64::from(n))
            .fold(1u64, u64::saturating_mul);
        self.block(&program.prologue)?;
        let survey = self.survey(programs);
        for nth in 0..programs {
            let number = order.at(nth, programs);
            self.plain.id = self.plain.program_id(number);
            self.touched.enter(number);
            self.spend(PROGRAM_COST)?;
            match &survey {
                Some(survey) => self.due(survey)?,
                None => self.block(&program.body)?,
            }
        }
        Ok(())
    }

    /// The bits of a lane that decides where execution goes; nothing where they are not known. Poison would have stopped the
    /// first execution: here it can only come from what is unknown.
    fn decisive(&mut self, lane: Lane) -> Option<u64> {
        if let Lane::Guess(bits) = lane {
            self.followed = true;
            return Some(bits);
        }
        lane.bits()
    }

    pub(super) fn spend(&mut self, cost: u64) -> Result<(), Halt> {
        self.fuel = self.fuel.checked_sub(cost).ok_or(Stop::fuel(self.config.fuel))?;
        if self.fuel < self.look_at {
            self.config.watch.look()?;
            self.look_at = self.fuel.saturating_sub(watch::FUEL);
        }
        Ok(())
    }

    pub(super) fn layout(&self, slot: Slot) -> Layout {
        self.program.layouts[slot as usize]
    }

    pub(super) fn ty(&self, slot: Slot) -> &'a Type {
        &self.program.function.values[slot as usize].ty
    }

    pub(super) fn value(&self, slot: Slot) -> &Lanes {
        &self.slots[slot as usize]
    }

    /// Puts lanes in a slot, and takes what the plain machine has there away.
    pub(super) fn set(&mut self, slot: Slot, value: Lanes) {
        if std::mem::take(&mut self.exact[slot as usize]) {
            self.plain.free(&[slot]);
        }
        self.replace(slot, value);
    }

    /// Puts lanes in a slot, whatever the plain machine has there.
    pub(super) fn replace(&mut self, slot: Slot, value: Lanes) {
        let to = &mut self.slots[slot as usize];
        self.live = (self.live + value.bytes()).saturating_sub(to.bytes());
        let old = std::mem::replace(to, value);
        if let Lanes::Wide(wide) = old
            && self.spare.len() < SPARE
            && let Ok(wide) = Rc::try_unwrap(wide)
        {
            self.spare.push(wide);
        }
    }

    pub(super) fn block(&mut self, code: &'a Code) -> Result<(), Halt> {
        for step in &code.steps {
            self.one(step, step.cost, &step.frees)?;
        }
        Ok(())
    }

    /// Runs an operation, and frees what nothing uses any more.
    pub(super) fn one(&mut self, step: &'a Step, cost: u64, frees: &[Slot]) -> Result<(), Halt> {
        let here = |halt| match halt {
            Halt::Stop(stop) => Halt::Stop(stop.at(step.loc)),
            other => other,
        };
        self.spend(cost).and_then(|()| self.step(step)).map_err(here)?;
        if self.explains() {
            self.attribute(step)?;
        }
        for &slot in frees {
            self.set(slot, Lanes::Uniform(Lane::Poison));
        }
        if self.live > self.config.memory_limit {
            return Err(Stop::memory(self.config.memory_limit).at(step.loc).into());
        }
        Ok(())
    }

    pub(super) fn yields(&mut self, code: &Code) -> Result<Vec<Lanes>, Halt> {
        let lanes = |yielded: &Yielded| self.lifted(yielded.slot);
        code.yields.iter().map(lanes).collect()
    }

    pub(super) fn set_all(&mut self, slots: &[Slot], values: Vec<Lanes>) {
        for (&slot, value) in slots.iter().zip(values) {
            self.set(slot, value);
        }
    }

    pub(super) fn dtype(&self, slot: Slot) -> DType {
        arithmetic(self.layout(slot).elem)
    }

    /// A lane of the result from each lane of the operands.
    fn each(&mut self, out: Slot, ins: &[Slot], f: impl Fn(&[Lane]) -> Lane) {
        let uniform = ins
            .iter()
            .all(|&slot| matches!(self.value(slot), Lanes::Uniform(_)));
        let at = |machine: &Self, lane: usize| {
            let lanes: smallvec::SmallVec<[Lane; 3]> =
                ins.iter().map(|&slot| machine.value(slot).at(lane)).collect();
            guessed(&lanes, &f)
        };
        let value = if uniform {
            Lanes::Uniform(at(self, 0))
        } else {
            Lanes::Each((0..self.layout(out).lanes).map(|lane| at(self, lane)).collect())
        };
        self.set(out, value);
    }

    fn step(&mut self, step: &'a Step) -> Result<(), Halt> {
        let singly = self.explains() || self.remembered(step);
        if Self::idle(&step.op) || !singly && !self.merges(step) && self.exactly(step) {
            return Ok(());
        }
        if matches!(step.op, Op::If(..) | Op::For(_) | Op::While(..)) {
            return self.lane_by_lane(step);
        }
        let wide = !singly && self.widely(step)?;
        if !wide {
            for &slot in &step.ins {
                self.lift(slot)?;
            }
            self.lane_by_lane(step)?;
        }
        if !self.explains() {
            for &slot in &step.outs {
                self.lower(slot)?;
            }
        }
        Ok(())
    }

    fn lane_by_lane(&mut self, step: &'a Step) -> Result<(), Halt> {
        match &step.op {
            Op::Binary(op) => return self.binary(*op, step),
            Op::Unary(op) => {
                let (op, dtype) = (*op, self.dtype(step.ins[0]));
                self.each(step.outs[0], &step.ins, |x| float::unary(op, dtype, x[0]));
            }
            Op::Plain(kind) => return self.operation(kind, step),
            Op::If(then_code, else_code) => {
                let condition = self.lane(step.ins[0], 0);
                let Some(condition) = self.decisive(condition) else {
                    return self.both(then_code, else_code, step);
                };
                let code = if condition & 1 == 1 { then_code } else { else_code };
                self.block(code)?;
                let values = self.carried(code)?;
                self.put_down(&step.outs, values);
            }
            Op::For(code) => return self.for_loop(code, step),
            Op::While(before, after) => return self.while_loop(before, after, step),
            Op::Reduce {
                axis,
                combine,
                region,
                code,
            } => return self.reduce(*axis, *combine, *region, code, step),
            Op::Scan {
                axis,
                reverse,
                combine,
                region,
                code,
            } => {
                return self.scan(*axis, *reverse, *combine, *region, code, step);
            }
        }
        Ok(())
    }

    fn binary(&mut self, op: BinaryOp, step: &Step) -> Result<(), Halt> {
        let dtype = self.dtype(step.outs[0]);
        self.each(step.outs[0], &step.ins, |x| float::binary(op, dtype, x[0], x[1]));
        if matches!(op, BinaryOp::Add | BinaryOp::Sub) && dtype.is_float() {
            self.narrowed_sum(op, step);
        }
        if op == BinaryOp::Add && dtype.is_float() {
            self.merge(step)?;
        }
        Ok(())
    }

    fn for_loop(&mut self, code: &'a Code, step: &'a Step) -> Result<(), Halt> {
        let (bounds, initial) = step.ins.split_at(3);
        let dtype = self.dtype(code.args[0]);
        let mut numbers = [0; 3];
        for (number, &slot) in numbers.iter_mut().zip(bounds) {
            let bound = self.lane(slot, 0);
            let Some(bits) = self.decisive(bound) else {
                let carried = initial.iter().map(|&slot| self.lifted(slot));
                let carried = carried.collect::<Result<_, _>>()?;
                return self.any_times(None, code, carried, step);
            };
            *number = numeric::decode_int(dtype, bits);
        }
        let [lower, upper, stride] = numbers;
        if stride <= 0 {
            return Err(Halt::Inconclusive {
                what: "the step of a loop",
                loc: step.loc,
            });
        }
        let mut carried = Vec::with_capacity(initial.len());
        for &slot in initial {
            carried.push(self.carry(slot, false)?);
        }
        let mut at = lower;
        while at < upper {
            self.spend(1)?;
            let index = numeric::encode_int(dtype, at);
            self.put_down(&code.args[..1], [Carried::Plain(Value::uniform(index))]);
            self.put_down(&code.args[1..], carried);
            self.block(code)?;
            carried = self.carried(code)?;
            at += stride;
        }
        self.put_down(&step.outs, carried);
        Ok(())
    }

    fn while_loop(&mut self, before: &'a Code, after: &'a Code, step: &'a Step) -> Result<(), Halt> {
        let lanes = step.ins.iter().map(|&slot| self.lifted(slot));
        let mut carried: Vec<Lanes> = lanes.collect::<Result<_, _>>()?;
        let mut waited = 0;
        loop {
            self.spend(1)?;
            self.set_all(&before.args, carried.clone());
            if !self.explains() {
                for &slot in &before.args {
                    self.lower(slot)?;
                }
            }
            self.block(before)?;
            let mut passed = self.yields(before)?;
            if passed.is_empty() {
                return Err(Stop::malformed("a loop without a condition").into());
            }
            let condition = passed.remove(0).at(0);
            if matches!(condition, Lane::Guess(_)) {
                waited += 1;
                if waited > PATIENCE {
                    return Err(Halt::Waits);
                }
            }
            let Some(condition) = self.decisive(condition) else {
                return self.any_times(Some(before), after, carried, step);
            };
            if condition & 1 == 0 {
                self.set_all(&step.outs, passed);
                return Ok(());
            }
            self.set_all(&after.args, passed);
            self.block(after)?;
            carried = self.yields(after)?;
        }
    }

    fn operation(&mut self, kind: &'a OpKind, step: &'a Step) -> Result<(), Halt> {
        let exact = |bits: u64| Lanes::Uniform(Lane::Bits(bits));
        match kind {
            OpKind::Constant(bits) => self.set(step.outs[0], exact(*bits)),
            OpKind::ProgramId(axis) => {
                let id = self.plain.id.get(*axis as usize).copied().unwrap_or(0);
                self.set(step.outs[0], exact(u64::from(id)));
            }
            OpKind::NumPrograms(axis) => {
                let count = self.grid.get(*axis as usize).copied().unwrap_or(1);
                self.set(step.outs[0], exact(u64::from(count)));
            }
            OpKind::Poison => self.set(step.outs[0], Lanes::Uniform(Lane::Poison)),
            OpKind::Barrier
            | OpKind::Acquire
            | OpKind::Print { .. }
            | OpKind::Assume
            | OpKind::Demand(_)
            | OpKind::Assert { .. } => {}
            OpKind::Range { start, .. } => {
                let lanes = self.layout(step.outs[0]).lanes as i64;
                let value = |lane: i64| Lane::Bits(u64::from((i64::from(*start) + lane) as u32));
                self.set(step.outs[0], Lanes::Each((0..lanes).map(value).collect()));
            }
            OpKind::Ternary(op) => {
                let dtype = self.dtype(step.outs[0]);
                self.each(step.outs[0], &step.ins, |x| {
                    float::ternary(*op, dtype, x[0], x[1], x[2])
                });
            }
            OpKind::Library(symbol) => self.each(step.outs[0], &step.ins, |x| library::library(symbol, x)),
            OpKind::Foreign(foreign) => {
                let number = |&slot: &Slot| self.layout(slot).elem.num();
                let from: smallvec::SmallVec<[Option<DType>; 3]> = step.ins.iter().map(number).collect();
                let to = number(&step.outs[0]);
                self.each(step.outs[0], &step.ins, |x| {
                    library::foreign(foreign, x, &from, to)
                });
            }
            OpKind::Compare(predicate) => self.compare(*predicate, step),
            OpKind::Select => {
                let dtype = self.layout(step.outs[0]).elem.num();
                self.each(step.outs[0], &step.ins, |x| {
                    float::select(x[0], x[1], x[2], dtype)
                });
            }
            OpKind::Cast { kind, rounding } => self.cast(*kind, *rounding, step),
            OpKind::AddPtr => self.add_ptr(step),
            OpKind::Splat => {
                let lane = self.value(step.ins[0]).at(0);
                self.set(step.outs[0], Lanes::Uniform(lane));
            }
            OpKind::Reshape { .. } | OpKind::Hint { .. } => {
                let value = self.value(step.ins[0]).clone();
                self.set(step.outs[0], value);
            }
            OpKind::Broadcast | OpKind::Trans { .. } | OpKind::Join | OpKind::Cat { .. } | OpKind::Split => {
                self.movement(kind, step);
            }
            OpKind::Gather { axis } => self.gather(*axis, step)?,
            OpKind::Load {
                mask,
                other,
                volatile: _,
            } => self.load(*mask, *other, step),
            OpKind::Store { mask } => self.store(*mask, step),
            OpKind::AtomicRmw { op, mask, .. } => self.atomic_rmw(*op, *mask, step),
            OpKind::AtomicCas { .. } => self.atomic_cas(step),
            OpKind::AtomicPoll { .. } => self.atomic_poll(step),
            OpKind::Dot {
                precision,
                max_imprecise,
            } => self.dot(*precision, *max_imprecise, step)?,
            OpKind::Histogram { mask } => self.histogram(*mask, step),
            OpKind::Unsupported(construct) => {
                return Err(Stop::Unsupported {
                    construct: construct.clone(),
                    loc: step.loc,
                }
                .into());
            }
            OpKind::Yield
            | OpKind::Unary(_)
            | OpKind::Binary(_)
            | OpKind::For { .. }
            | OpKind::If { .. }
            | OpKind::While { .. }
            | OpKind::Reduce { .. }
            | OpKind::Scan { .. } => return Err(Stop::malformed("an operation out of place").into()),
        }
        Ok(())
    }

    fn compare(&mut self, predicate: CmpPredicate, step: &Step) {
        let dtype = self.dtype(step.ins[0]);
        self.each(step.outs[0], &step.ins, |x| {
            float::compare(predicate, dtype, x[0], x[1])
        });
    }

    fn cast(&mut self, kind: CastKind, rounding: Rounding, step: &Step) {
        let (from, to) = (self.layout(step.ins[0]).elem, self.layout(step.outs[0]).elem);
        let bits = kind == CastKind::Bits || from.is_ptr() || to.is_ptr();
        self.each(step.outs[0], &step.ins, |x| match x[0].plain() {
            _ if !bits => float::cast(arithmetic(from), arithmetic(to), rounding, x[0]),
            Lane::Within { .. } | Lane::Apart { .. } if from != to => Lane::Unknown,
            // Which NaN it is, is not specified.
            Lane::Bits(bits) if from != to && from.num().is_some_and(|from| numeric::is_nan(from, bits)) => {
                Lane::Unknown
            }
            lane => lane,
        });
        if !bits {
            self.widened(step);
            if rounding == Rounding::NearestEven {
                self.narrowed_cast(step);
            }
        }
    }

    fn add_ptr(&mut self, step: &Step) {
        let layout = self.layout(step.outs[0]);
        let dtype = self.dtype(step.ins[1]);
        let size = layout.elem.pointee().map_or(1, Elem::size) as u64;
        self.each(step.outs[0], &step.ins, |x| match (x[0].bits(), x[1].bits()) {
            (Some(pointer), Some(offset)) => {
                let offset = numeric::decode_int(dtype, offset) as u64;
                Lane::Bits(pointer.wrapping_add(offset.wrapping_mul(size)))
            }
            _ if x.contains(&Lane::Poison) => Lane::Poison,
            _ => Lane::Unknown,
        });
    }

    fn movement(&mut self, kind: &OpKind, step: &Step) {
        let count = self.layout(step.ins[0]).lanes;
        if let Lanes::Uniform(all) = *self.value(step.ins[0])
            && !matches!(kind, OpKind::Join | OpKind::Cat { .. })
        {
            for &out in &step.outs {
                self.set(out, Lanes::Uniform(all));
            }
            return;
        }
        match kind {
            OpKind::Join | OpKind::Cat { .. } => {
                let from = self.value(step.ins[0]).each(count);
                let other = self.value(step.ins[1]).each(count);
                let both = if matches!(kind, OpKind::Join) {
                    from.into_iter().zip(other).flat_map(|(x, y)| [x, y]).collect()
                } else {
                    from.into_iter().chain(other).collect()
                };
                self.set(step.outs[0], Lanes::Each(both));
            }
            OpKind::Split => {
                let from = self.value(step.ins[0]).each(count);
                for (nth, &out) in step.outs.iter().take(2).enumerate() {
                    let half = from.iter().skip(nth).step_by(2).copied().collect();
                    self.set(out, Lanes::Each(half));
                }
            }
            _ => {
                let source = &self.ty(step.ins[0]).shape;
                let target = &self.ty(step.outs[0]).shape;
                let mut strides = row_major(source);
                let movement = if let OpKind::Trans { order } = kind {
                    let pick =
                        |from: &[usize]| order.iter().map(|&d| from.get(d).copied().unwrap_or(1)).collect();
                    Movement {
                        shape: pick(source),
                        strides: pick(&strides),
                        offset: 0,
                    }
                } else {
                    for (stride, &extent) in strides.iter_mut().zip(source) {
                        *stride *= usize::from(extent != 1);
                    }
                    Movement {
                        shape: target.as_slice().into(),
                        strides,
                        offset: 0,
                    }
                };
                let lanes = self.layout(step.outs[0]).lanes;
                let moved = if let Lanes::Wide(wide) = self.value(step.ins[0]) {
                    Lanes::Wide(Rc::new(wide.moved(&movement, lanes)))
                } else {
                    let from = self.value(step.ins[0]).each(count);
                    let mut to = vec![Lane::Unknown; lanes];
                    movement.copy_elements(&from, &mut to);
                    Lanes::Each(to)
                };
                self.set(step.outs[0], moved);
            }
        }
    }

    fn gather(&mut self, axis: usize, step: &Step) -> Result<(), Halt> {
        let (a, i, out) = (step.ins[0], step.ins[1], step.outs[0]);
        let (from, shape) = (&self.ty(a).shape, &self.ty(out).shape);
        let (strides, own) = (row_major(from), row_major(shape));
        let extent = from.get(axis).copied().ok_or(Stop::malformed("a gather"))?;
        let dtype = self.dtype(i);
        let mut lanes = Vec::with_capacity(self.layout(out).lanes);
        for lane in 0..self.layout(out).lanes {
            let index = self
                .value(i)
                .at(lane)
                .bits()
                .map(|bits| numeric::decode_int(dtype, bits));
            let index = index
                .and_then(|index| usize::try_from(index).ok())
                .filter(|&index| index < extent);
            lanes.push(index.map_or(Lane::Unknown, |index| {
                let place = strides.iter().zip(&own).zip(shape).enumerate();
                let place = place.map(|(d, ((&stride, &own), &extent))| {
                    stride
                        * if d == axis {
                            index
                        } else {
                            lane / own % extent.max(1)
                        }
                });
                self.value(a).at(place.sum())
            }));
        }
        self.set(out, Lanes::Each(lanes));
        Ok(())
    }
}
