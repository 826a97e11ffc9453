//! Runs a launch with intervals: programs, their order, and control flow. [`Machine::block`] runs the code inside of an operation
//! too (branches, loops, combine functions). See `operation` for other operations.

use std::collections::BTreeMap;

use cerith_memory::Memory;
use cerith_tile::numeric;

use super::accepted::Acceptance;
use super::doubt;
use super::exact::Carried;
use super::float;
use super::identity::Tracking;
use super::lane::Lane;
use super::lanes::Lanes;
use super::map::AcceptanceMap;
use super::mergeable::Dots;
use super::state::{Halt, Machine, Narrow, Written};
use super::touched::{self, Touched};
use cerith_interp::config::{Checks, Combining, Config, ParamValue};
use cerith_interp::machine::{Machine as PlainMachine, PROGRAM_COST};
use cerith_interp::order::Order;
use cerith_interp::outcome::{Exhausted, InternalError, LaunchOutcome, Resource, Stop, Unsupported};
use cerith_interp::program::{Code, Op, Program, Slot, Step, Yielded};
use cerith_interp::state::State;
use cerith_interp::value::Value;

/// Maximum iterations of a loop that may never end in some order of programs.
const PATIENCE: u32 = 1000;

/// The outcome of one execution of a launch.
struct Ran {
    result: Result<(), Halt>,
    touched: Touched,
    followed: bool,
    written: Written,
}

pub(super) fn accept(
    program: &Program,
    grid: [u32; 3],
    args: &[ParamValue],
    memory: &mut Memory,
    map: &mut AcceptanceMap,
    config: &Config<'_>,
) -> Result<Acceptance, InternalError> {
    let stopped = |exhausted| Ok(Acceptance::Stopped(LaunchOutcome::Exhausted(exhausted)));
    let memory_limit = Exhausted {
        resource: Resource::Memory,
        limit: config.memory_limit as u64,
        span: None,
    };
    cerith_interp::machine::bind(program, args, memory)?;
    if program.oversized {
        return stopped(memory_limit);
    }
    map.begin(program.layouts.len(), memory.ids().map(|id| memory.size(id)));
    let programs = grid.iter().map(|&n| u64::from(n)).fold(1u64, u64::saturating_mul);
    let ordered = touched::has_ordered_atomics(program);
    let launch = Launch {
        ordered,
        program,
        grid,
        args,
        config,
    };
    // If programs share an atomic's address, its result depends on their order. Only after a launch is it known which addresses are
    // shared, so the launch runs again with that knowledge if there are any.
    let first = ordered.then(|| (memory.clone(), map.clone()));
    let mut ran = launch.run(memory, map, Order::Ascending, Touched::default())?;
    if let Some((first_memory, first_map)) = first {
        if ran.result.is_ok() && ran.touched.found_new_addresses() {
            (*memory, *map) = (first_memory.clone(), first_map.clone());
            ran = launch.run(memory, map, Order::Ascending, ran.touched.clone_places())?;
        }
        if ran.result.is_ok() && ran.followed {
            for order in doubt::list_orders(programs) {
                let (mut other, mut seen) = (first_memory.clone(), first_map.clone());
                let again = launch.run(&mut other, &mut seen, order, ran.touched.clone_places())?;
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
                resource: Resource::Fuel,
                limit: config.fuel,
                span: None,
            });
        }
        Err(Halt::Inconclusive { decision: what, loc }) => Acceptance::Inconclusive {
            decision: what,
            span: program.function.span(loc),
        },
        Err(Halt::Stop(Stop::Trap(trap))) => Acceptance::Stopped(LaunchOutcome::Trapped(trap)),
        Err(Halt::Stop(Stop::Exhausted {
            resource: what,
            limit,
            loc,
        })) => {
            let span = loc.map(|loc| program.function.span(loc));
            return stopped(Exhausted {
                resource: what,
                limit,
                span,
            });
        }
        Err(Halt::Stop(Stop::Unsupported { construct, loc })) => {
            let span = program.function.span(loc);
            Acceptance::Stopped(LaunchOutcome::Unsupported(Unsupported { construct, span }))
        }
        Err(Halt::Stop(Stop::Internal(error))) => return Err(error),
    })
}

/// A launch and its configuration.
struct Launch<'a> {
    /// Whether its programs may be run in other orders.
    ordered: bool,
    program: &'a Program,
    grid: [u32; 3],
    args: &'a [ParamValue],
    config: &'a Config<'a>,
}

impl Launch<'_> {
    /// Runs the launch once, with its programs in this order. `known` has the shared addresses of atomics that earlier executions
    /// found.
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
        let homes = cerith_interp::machine::bind(program, args, memory)?;
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
            dots: Dots::from_program(program),
            narrow: Narrow::default(),
            homes,
            trying: 0,
            undo: Vec::new(),
            touched: known,
            followed: false,
            written: self.ordered.then(Written::default),
            tracking: None,
        };
        if self.ordered {
            // The identities of values do not hold in other orders of programs, which may write other values.
            machine.map.identities.clear_all();
        }
        for param in &program.function.params {
            machine.hold(param.value.0);
        }
        let result = if grid.contains(&0) {
            Ok(())
        } else {
            machine.run_programs(order)
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
    fn run_programs(&mut self, order: Order) -> Result<(), Halt> {
        let program = self.program;
        let programs = self
            .grid
            .iter()
            .map(|&n| u64::from(n))
            .fold(1u64, u64::saturating_mul);
        self.block(&program.prologue)?;
        if self.written.is_none() {
            self.tracking = Tracking::from_program(program);
        }
        let survey = self.survey(programs);
        for nth in self.plain.config.program_range(programs) {
            let number = order.program_at(nth, programs);
            self.plain.id = self.plain.program_id(number);
            self.touched.enter(number);
            self.spend(PROGRAM_COST)?;
            match &survey {
                Some(survey) => self.run_due(survey)?,
                None => self.block(&program.body)?,
            }
        }
        Ok(())
    }

    /// The bits of a lane that controls execution; `None` if they are unknown. Poison would have stopped the first execution, so
    /// here it can only come from unknown values.
    fn read_decision(&mut self, lane: Lane) -> Option<u64> {
        if let Lane::Guess(bits) = lane {
            self.followed = true;
            return Some(bits);
        }
        lane.bits()
    }

    pub(super) fn block(&mut self, code: &'a Code) -> Result<(), Halt> {
        for step in &code.steps {
            self.run_step(step, step.cost, &step.frees)?;
        }
        Ok(())
    }

    /// Runs an operation, and frees the values that it was the last to use.
    pub(super) fn run_step(&mut self, step: &'a Step, cost: u64, frees: &[Slot]) -> Result<(), Halt> {
        let here = |halt| match halt {
            Halt::Stop(stop) => Halt::Stop(stop.with_loc(step.loc)),
            other => other,
        };
        self.spend(cost).and_then(|()| self.step(step)).map_err(here)?;
        if self.explains() {
            self.attribute_step(step)?;
        }
        if self.tracking.is_some() {
            self.identify(step);
        }
        for &slot in frees {
            self.set(slot, Lanes::Uniform(Lane::Poison));
        }
        if self.live > self.config.memory_limit {
            return Err(Stop::out_of_memory(self.config.memory_limit)
                .with_loc(step.loc)
                .into());
        }
        Ok(())
    }

    pub(super) fn collect_yields(&mut self, code: &Code) -> Result<Vec<Lanes>, Halt> {
        let lanes = |yielded: &Yielded| self.clone_lanes(yielded.slot);
        code.yields.iter().map(lanes).collect()
    }

    fn step(&mut self, step: &'a Step) -> Result<(), Halt> {
        let singly = self.explains() || self.has_narrow(step);
        if Self::is_idle(&step.op) || !singly && !self.can_merge(step) && self.execute_exact(step) {
            return Ok(());
        }
        if matches!(step.op, Op::If(..) | Op::For(_) | Op::While(..)) {
            return self.lane_by_lane(step);
        }
        let wide = !singly && self.execute_wide(step)?;
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
            Op::Binary(op) => return self.execute_binary(*op, step),
            Op::Unary(op) => {
                let (op, dtype, sides) = (*op, self.dtype(step.ins[0]), self.map.sides);
                self.map_lanes(step.outs[0], &step.ins, |x| {
                    float::apply_unary(op, dtype, x[0], sides)
                });
            }
            Op::Plain(kind) => return self.execute_plain(kind, step),
            Op::If(then_code, else_code) => {
                let condition = self.read_lane(step.ins[0], 0);
                let Some(condition) = self.read_decision(condition) else {
                    return self.run_both(then_code, else_code, step);
                };
                let code = if condition & 1 == 1 { then_code } else { else_code };
                self.block(code)?;
                let values = self.carry_yields(code)?;
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

    fn for_loop(&mut self, code: &'a Code, step: &'a Step) -> Result<(), Halt> {
        let (bounds, initial) = step.ins.split_at(3);
        let dtype = self.dtype(code.args[0]);
        let mut numbers = [0; 3];
        for (number, &slot) in numbers.iter_mut().zip(bounds) {
            let bound = self.read_lane(slot, 0);
            let Some(bits) = self.read_decision(bound) else {
                let carried = initial.iter().map(|&slot| self.clone_lanes(slot));
                let carried = carried.collect::<Result<_, _>>()?;
                return self.any_times(None, code, carried, step);
            };
            *number = numeric::decode_int(dtype, bits);
        }
        let [lower, upper, stride] = numbers;
        if stride <= 0 {
            return Err(Halt::Inconclusive {
                decision: "the step of a loop",
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
            carried = self.carry_yields(code)?;
            at += stride;
        }
        self.put_down(&step.outs, carried);
        Ok(())
    }

    fn while_loop(&mut self, before: &'a Code, after: &'a Code, step: &'a Step) -> Result<(), Halt> {
        let lanes = step.ins.iter().map(|&slot| self.clone_lanes(slot));
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
            let mut passed = self.collect_yields(before)?;
            if passed.is_empty() {
                return Err(Stop::malformed("a loop without a condition").into());
            }
            let condition = passed.remove(0).lane_at(0);
            if matches!(condition, Lane::Guess(_)) {
                waited += 1;
                if waited > PATIENCE {
                    return Err(Halt::Waits);
                }
            }
            let Some(condition) = self.read_decision(condition) else {
                return self.any_times(Some(before), after, carried, step);
            };
            if condition & 1 == 0 {
                self.set_all(&step.outs, passed);
                return Ok(());
            }
            self.set_all(&after.args, passed);
            self.block(after)?;
            carried = self.collect_yields(after)?;
        }
    }
}
