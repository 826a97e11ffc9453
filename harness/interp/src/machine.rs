//! Running programs: launches, slots and operations. The other modules execute each kind of operation.
//!
//! A program runs its kernel's blocks step by step. Each value is in the slot with its number. A slot's buffers go back to
//! the pool after the value's last use, so a launch allocates only at the beginning. Operations that don't depend on the
//! program id run once per launch (the prologue).

mod control;
mod fuel;

use cerith_tile::fault::{Fault, is_planted};
use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use cerith_memory::{Memory, ORIGIN};
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::ir::{LocId, OpKind, ValueId};

use crate::checks::divisions::Divisions;
use crate::checks::happens_before::Release;
use crate::checks::race::Conflict;
use crate::checks::unordered::{Crossed, Footprint};
use crate::checks::view::Views;
use crate::checks::{Home, Site, unordered};
use crate::config::{Checks, Config, Leaving, ParamValue};
use crate::dataflow::Reach;
use crate::origin::Origin;
use crate::outcome::{
    Exhausted, Finished, InternalError, LaunchOutcome, Resource, Stats, Stop, StorageSet, Unsupported,
};
use crate::program::{Program, Slot, Step};
use crate::state::State;
use crate::survey::Survey;
use crate::value::{Layout, Poison, Repr, Value};
use crate::watch;

/// Minimum number of programs of a launch that is surveyed. With fewer, the survey costs more than it saves.
pub const SURVEYED: u64 = 4;

/// The cost of an empty program, in operations on scalars (an order of magnitude).
pub const PROGRAM_COST: u64 = 64;

/// A launch that is under way.
pub struct Machine<'a> {
    pub(crate) program: &'a Program,
    /// The options of the launch.
    pub config: &'a Config<'a>,
    /// The storages of the launch.
    pub memory: &'a mut Memory,
    /// Values of slots, and buffers.
    pub state: &'a mut State,
    pub(crate) args: &'a [ParamValue],
    /// For each parameter, the storage that it points into.
    pub(crate) homes: Vec<Option<Rc<Home>>>,
    /// The tensors of the pointers, if they are checked.
    pub(crate) views: Option<Rc<Views>>,
    /// Programs along each axis.
    pub grid: [u32; 3],
    /// The id of the program that runs.
    pub id: [u32; 3],
    /// Whether races between programs are checked.
    pub(crate) racing: bool,
    /// The other program of the race that was found, and its access.
    pub(crate) met: Cell<Option<(u32, Conflict)>>,
    /// The accesses of the running program, if they are checked.
    pub(crate) footprint: Footprint,
    /// The current atomic's effect on the order between programs.
    pub(crate) synchronises: Release,
    /// The state of undefined divisions.
    pub(crate) divisions: Divisions,
    /// Further warnings about the launch, at most one of each code for a location.
    pub(crate) remarks: Vec<(LocId, Diagnostic)>,
    /// Lanes of a scalar: more than 1 while a region runs over many elements at once.
    pub(crate) width: usize,
    /// The fuel of the running program until the next check of the watch.
    pub fuel: u64,
    /// The fuel of the running program after that check.
    reserve: u64,
    /// The initial fuel of the running program.
    budget: u64,
    /// The fuel used before the first program.
    pub(crate) prologue: u64,
    /// The remaining fuel of the launch.
    pub(crate) launch_fuel: u64,
    pub(crate) prints: Vec<String>,
    pub(crate) printed: usize,
    pub(crate) stats: Stats,
}

/// Runs a launch.
pub(crate) fn launch(
    program: &Program,
    state: &mut State,
    grid: [u32; 3],
    args: &[ParamValue],
    memory: &mut Memory,
    config: &Config<'_>,
) -> Result<LaunchOutcome, InternalError> {
    let homes = bind(program, args, memory)?;
    if program.oversized {
        let limit = config.memory_limit as u64;
        return Ok(LaunchOutcome::Exhausted(Exhausted {
            resource: Resource::Memory,
            limit,
            span: None,
        }));
    }
    let programs = grid.iter().map(|&n| u64::from(n)).fold(1u64, u64::saturating_mul);
    let mut machine = Machine::new(program, state, grid, args, memory, config, homes);
    let mut result = if programs == 0 {
        Ok(())
    } else {
        machine.run_programs(config.program_range(programs), programs, None)
    };
    if let (Err(Stop::Trap(trap)), Some((other, conflict))) = (&mut result, machine.met.take()) {
        machine.name_the_other(trap, other, conflict);
    }
    machine.stats.fuel = config.fuel - machine.fuel_left();
    let (prints, stats) = (std::mem::take(&mut machine.prints), machine.stats);
    let remarks = match &result {
        Ok(()) => {
            let others = std::mem::take(&mut machine.remarks).into_iter();
            others
                .map(|(_, said)| said)
                .chain(machine.division_remarks())
                .collect()
        }
        Err(_) => Vec::new(),
    };
    state.empty();
    Ok(match result {
        Ok(()) => LaunchOutcome::Finished(Finished {
            prints,
            stats,
            remarks,
        }),
        Err(Stop::Trap(trap)) => LaunchOutcome::Trapped(trap),
        Err(Stop::Exhausted {
            resource: what,
            limit,
            loc,
        }) => LaunchOutcome::Exhausted(Exhausted {
            resource: what,
            limit,
            span: loc.map(|loc| program.function.span(loc)),
        }),
        Err(Stop::Unsupported { construct, loc }) => LaunchOutcome::Unsupported(Unsupported {
            construct,
            span: program.function.span(loc),
        }),
        Err(Stop::Internal(error)) => return Err(error),
    })
}

/// Checks the arguments and finds the storages that they point into.
pub fn bind(
    program: &Program,
    args: &[ParamValue],
    memory: &Memory,
) -> Result<Vec<Option<Rc<Home>>>, InternalError> {
    let function = &program.function;
    if args.len() != function.params.len() {
        return Err(InternalError::ArgumentCount {
            kernel: function.name.clone(),
            actual: args.len(),
            expected: function.params.len(),
        });
    }
    function
        .params
        .iter()
        .zip(args)
        .map(|(param, arg)| {
            let pointer = program.layouts[param.value.0 as usize].elem.is_ptr();
            match arg {
                ParamValue::Number(_) if !pointer => Ok(None),
                ParamValue::Pointer {
                    storage,
                    name,
                    tensor,
                    ..
                } if pointer => Ok(storage.map(|storage| {
                    let start = memory.address(storage).wrapping_sub(ORIGIN) as usize;
                    let end = start.saturating_add(memory.size(storage));
                    let sparse = memory.is_sparse(storage);
                    Rc::new(Home {
                        start,
                        end,
                        arena_end: if sparse { 0 } else { end },
                        sparse,
                        storage,
                        name: name.clone(),
                        tensor: tensor.clone(),
                    })
                })),
                _ => Err(InternalError::ArgumentKind {
                    kernel: function.name.clone(),
                    parameter: param.name.clone(),
                    expected: if pointer { "pointer" } else { "number" },
                }),
            }
        })
        .collect()
}

impl<'a> Machine<'a> {
    /// Creates a machine with the arguments in the slots of the parameters.
    pub fn new(
        program: &'a Program,
        state: &'a mut State,
        grid: [u32; 3],
        args: &'a [ParamValue],
        memory: &'a mut Memory,
        config: &'a Config<'a>,
        homes: Vec<Option<Rc<Home>>>,
    ) -> Self {
        state.pool.begin(config.memory_limit);
        #[cfg(feature = "planted-faults")]
        crate::fault::begin(memory);
        state.slots.resize_with(program.layouts.len(), Value::default);
        state.straight.clear();
        state.disjoint.clear();
        state.defined.clear();
        for (param, arg) in program.function.params.iter().zip(args) {
            let bits = match arg {
                ParamValue::Number(bits) => *bits & program.layouts[param.value.0 as usize].element_mask(),
                ParamValue::Pointer { address, .. } => *address,
            };
            state.slots[param.value.0 as usize] = Value::uniform(bits);
        }
        let watched = config.leaving == Leaving::Remarked;
        let views = watched.then(|| Rc::new(Views::new(&program.function, args, memory)));
        Self {
            program,
            config,
            views,
            memory,
            state,
            args,
            homes,
            grid,
            id: [0; 3],
            racing: false,
            met: Cell::new(None),
            footprint: Footprint::default(),
            synchronises: Release::default(),
            divisions: Divisions::default(),
            remarks: Vec::new(),
            width: 1,
            fuel: 0,
            reserve: 0,
            budget: 0,
            prologue: 0,
            launch_fuel: config.fuel,
            prints: Vec::new(),
            printed: 0,
            stats: Stats::default(),
        }
    }

    /// Runs the programs at the positions `range` of the launch's order. If other threads run the rest, `others` becomes true
    /// once one of them has stopped, and the remaining programs do not run.
    pub(crate) fn run_programs(
        &mut self,
        range: Range<u64>,
        programs: u64,
        others: Option<&AtomicBool>,
    ) -> Result<(), Stop> {
        let program = self.program;
        self.refuel();
        self.block(&program.prologue)?;
        self.prologue = self.used();
        let mut survey = None;
        if programs >= SURVEYED {
            let mut found = Survey::new(program, &self.state.slots, self.memory, self.grid, |pointer| {
                self.home(pointer).map(AsRef::as_ref)
            });
            self.state.straight.resize(program.layouts.len(), None);
            self.state.disjoint = std::mem::take(&mut found.disjoint);
            self.state.defined = std::mem::take(&mut found.defined);
            survey = Some(found);
        }
        let meet = survey.as_ref().is_none_or(|survey| !survey.all_disjoint);
        self.racing =
            self.config.checks == Checks::Full && programs > 1 && meet && !is_planted(Fault::RacesUnseen);
        if self.racing {
            self.state.shadow.begin(self.memory.arena().0.len(), programs);
            if program.accesses.iter().any(|access| access.atomic) {
                self.state.shadow.follow();
            }
        }
        if self.config.checks == Checks::Full {
            self.footprint = Footprint::new(self.watched_accesses());
        }
        if self.footprint.watching() {
            let (bytes, grain) = (self.memory.arena().0.len(), self.footprint.grain());
            self.state.cells.begin(bytes, grain);
        }
        let first = range.start;
        let mut look_at = self.fuel_left();
        for nth in range {
            if others.is_some_and(|stopped| stopped.load(Ordering::Relaxed)) {
                break;
            }
            if self.fuel_left() <= look_at {
                self.config.watch.look()?;
                look_at = self.fuel_left().saturating_sub(watch::FUEL);
            }
            let number = self.config.order.program_at(nth, programs);
            self.id = self.program_id(number);
            self.state.cells.order();
            if self.racing {
                self.state.shadow.enter(number);
            }
            self.refuel();
            self.spend(PROGRAM_COST)?;
            match &survey {
                Some(survey) => self.run_due(survey)?,
                None => self.block(&program.body)?,
            }
            self.stats.programs += 1;
            let probed = nth == first && others.is_none() && !meet && self.config.only_program.is_none();
            if probed && self.is_worth_threads(programs) && self.in_threads(nth + 1, programs) {
                break;
            }
        }
        Ok(())
    }

    /// The id of the program with this number. Consecutive numbers differ along the first axis.
    pub fn program_id(&self, number: u64) -> [u32; 3] {
        let (columns, rows) = (u64::from(self.grid[0]), u64::from(self.grid[1]));
        if number < columns {
            return [number as u32, 0, 0];
        }
        let row = number.checked_div(columns).unwrap_or(0);
        [
            number.checked_rem(columns).unwrap_or(0) as u32,
            row.checked_rem(rows).unwrap_or(0) as u32,
            row.checked_div(rows).unwrap_or(0) as u32,
        ]
    }

    /// Inserts the program's id into the rules, and runs the operations that are due in every program.
    fn run_due(&mut self, survey: &Survey<'a>) -> Result<(), Stop> {
        for rule in &survey.rules {
            let (repr, index) = rule.evaluate(self.id);
            self.set_rule(rule.slot, repr);
            if let Some(to) = self.state.straight.get_mut(rule.slot as usize) {
                *to = index;
            }
        }
        for due in &survey.due {
            self.spend(due.cost)?;
            self.step(due.step)?;
            self.free(&due.frees);
        }
        self.spend(survey.trailing_cost)
    }

    /// The location of execution, for messages.
    pub(crate) fn site(&self, loc: LocId) -> Site<'a> {
        Site {
            function: &self.program.function,
            loc,
            program: self.id,
            scalar: false,
        }
    }

    /// The location of an operation with lanes like those of `slot`, for messages.
    pub(crate) fn site_of(&self, slot: Slot, loc: LocId) -> Site<'a> {
        Site {
            scalar: self.program.layouts[slot as usize].scalar,
            ..self.site(loc)
        }
    }

    /// The current layout of a slot's bytes.
    #[inline]
    pub(crate) fn layout(&self, slot: Slot) -> Layout {
        let layout = self.program.layouts[slot as usize];
        if layout.scalar && self.width != 1 {
            layout.with_lanes(self.width)
        } else {
            layout
        }
    }

    /// The content of a slot.
    #[inline]
    pub fn value(&self, slot: Slot) -> &Value {
        &self.state.slots[slot as usize]
    }

    /// Puts a value in a slot.
    #[inline]
    pub fn set(&mut self, slot: Slot, value: Value) {
        let to = &mut self.state.slots[slot as usize];
        if to.buf.is_some() || !to.poison.is_none() {
            let old = std::mem::take(to);
            self.state.pool.recycle(old);
        }
        *to = value;
    }

    /// Puts lanes that follow a rule in a slot, none of them poison. It writes only the field that changes, because a move of a
    /// whole [`Value`] would dominate the time of an operation on rules.
    #[inline]
    pub fn set_rule(&mut self, slot: Slot, repr: Repr) {
        let to = &mut self.state.slots[slot as usize];
        if to.buf.is_some() || !to.poison.is_none() {
            let old = std::mem::take(to);
            self.state.pool.recycle(old);
        }
        to.repr = repr;
    }

    /// Puts stored lanes in a slot; a single lane becomes uniform.
    pub fn set_lanes(&mut self, slot: Slot, value: Value) {
        let layout = self.layout(slot);
        if layout.lanes != 1 {
            return self.set(slot, value);
        }
        let bits = value.bits(0, &layout);
        let poison = Poison::from_mark(value.poison.mark(0));
        self.state.pool.recycle(value);
        self.set(slot, Value::uniform(bits).with_poison(poison));
    }

    /// Copies the value of a slot, with its buffers.
    pub fn copy(&mut self, slot: Slot) -> Result<Value, Stop> {
        let value = &self.state.slots[slot as usize];
        let pool = &mut self.state.pool;
        Ok(Value {
            repr: value.repr,
            buf: match (&value.repr, &value.buf) {
                (Repr::Dense, Some(buf)) => Some(pool.copy(buf)?),
                _ => None,
            },
            poison: match &value.poison {
                Poison::None => Poison::None,
                Poison::All(mark) => Poison::All(*mark),
                Poison::Lanes(buf) => Poison::Lanes(pool.copy(buf)?),
            },
        })
    }

    /// Returns the buffers of slots to the pool after their last use.
    pub fn free(&mut self, slots: &[Slot]) {
        for &slot in slots {
            let value = &mut self.state.slots[slot as usize];
            if value.buf.is_some() || !value.poison.is_none() {
                let old = std::mem::take(value);
                self.state.pool.recycle(old);
            }
        }
    }

    fn execute_plain(&mut self, kind: &'a OpKind, step: &'a Step) -> Result<(), Stop> {
        match kind {
            OpKind::Constant(bits) => self.set_rule(step.outs[0], Repr::Uniform(*bits)),
            OpKind::ProgramId(axis) => {
                let axis = if *axis > 0 && is_planted(Fault::GridTransposed) {
                    &(3 - *axis)
                } else {
                    axis
                };
                let id = self.id.get(*axis as usize).copied().unwrap_or(0);
                self.set_rule(step.outs[0], Repr::Uniform(u64::from(id)));
            }
            OpKind::NumPrograms(axis) => {
                let count = self.grid.get(*axis as usize).copied().unwrap_or(1);
                self.set_rule(step.outs[0], Repr::Uniform(u64::from(count)));
            }
            OpKind::Poison => self.set(step.outs[0], Value::poison()),
            OpKind::Barrier => self.barrier(),
            OpKind::Acquire => self.acquired(),
            OpKind::Range { start, .. } => self.make_range(*start, step.outs[0])?,
            OpKind::Ternary(op) => self.execute_ternary(*op, step)?,
            OpKind::Library(symbol) => self.execute_function(step, |operands| symbol.evaluate(operands))?,
            OpKind::Foreign(foreign) => self.execute_foreign(foreign, step)?,
            OpKind::Compare(predicate) => self.compare(*predicate, step)?,
            OpKind::Select => self.select(step)?,
            OpKind::Cast { kind, rounding } => self.cast(*kind, *rounding, step)?,
            OpKind::AddPtr => self.add_ptr(step)?,
            OpKind::Splat => self.splat(step),
            OpKind::Broadcast => self.broadcast(step)?,
            OpKind::Reshape { .. } => self.reshape(step)?,
            OpKind::Trans { order } => self.trans(order, step)?,
            OpKind::Join => self.join(step)?,
            OpKind::Split => self.split(step)?,
            OpKind::Cat { .. } => self.cat(step)?,
            OpKind::Gather { axis } => self.gather(*axis, step)?,
            OpKind::Load {
                mask,
                has_other: other,
                volatile,
            } => self.load(*mask, *other, *volatile, step)?,
            OpKind::Store { mask } => self.store(*mask, step)?,
            OpKind::AtomicRmw { op, mask, order } => self.atomic_rmw(*op, *mask, *order, step)?,
            OpKind::AtomicCas { order } => self.atomic_cas(*order, step)?,
            OpKind::AtomicPoll { timeout } => self.atomic_poll(*timeout, step)?,
            OpKind::Dot { precision, .. } => self.dot(*precision, step)?,
            OpKind::Histogram { mask } => self.histogram(*mask, step)?,
            OpKind::Assert { message, mask, check } => self.check_assertion(message, *mask, *check, step)?,
            OpKind::Print { prefix, hex } => self.print(prefix, *hex, step)?,
            OpKind::Assume => self.assume(step)?,
            OpKind::Demand(demand) => self.demand(*demand, step)?,
            OpKind::Hint { promise, values } => self.check_hint(*promise, values, step)?,
            OpKind::Unsupported(construct) => {
                return Err(Stop::Unsupported {
                    construct: construct.clone(),
                    loc: step.loc,
                });
            }
            OpKind::Yield
            | OpKind::Unary(_)
            | OpKind::Binary(_)
            | OpKind::For { .. }
            | OpKind::If { .. }
            | OpKind::While { .. }
            | OpKind::Reduce { .. }
            | OpKind::Scan { .. } => return Err(Stop::malformed("an operation out of place")),
        }
        Ok(())
    }

    /// Adds a warning about an operation, if the launch has none with this code there.
    #[cold]
    pub(crate) fn add_remark(&mut self, loc: LocId, said: Diagnostic) {
        let is_same = |(other, known): &(LocId, Diagnostic)| *other == loc && known.code == said.code;
        if !self.remarks.iter().any(is_same) {
            self.remarks.push((loc, said));
        }
    }

    /// All threads of the program wait for each other.
    pub(crate) fn barrier(&mut self) {
        self.state.cells.order();
        if self.racing {
            self.state.shadow.barrier();
        }
    }

    /// Orders the next accesses after the events that volatile loads of this program have read.
    fn acquired(&mut self) {
        if self.racing {
            self.state.shadow.acquire();
        }
    }

    /// The trap for two accesses of the program with no order between them.
    #[cold]
    pub(crate) fn trap_unordered(&self, step: &Step, crossed: Crossed) -> Stop {
        let site = self.site_of(step.ins[0], step.loc);
        unordered::trap(site, self.memory, self.text(), crossed)
    }

    /// Adds a warning about a store that relies on a barrier that the language does not promise, and records the storages that
    /// the loaded value reaches.
    #[cold]
    pub(crate) fn remark_hazard(&mut self, step: &Step, crossed: Crossed) {
        let reach = Reach::from_load(&self.program.function, crossed.before());
        let origin = |pointer: ValueId| self.program.origins.get(pointer.0 as usize);
        let storage = |pointer: ValueId| match origin(pointer) {
            Some(Origin::Param(param)) => self.homes.get(*param as usize)?.as_ref().map(|home| home.storage),
            _ => None,
        };
        // A load from a reached storage may reach further storages. Those are not followed: all storages count as reached.
        let mut reached = StorageSet::default();
        for access in reach
            .accesses
            .iter()
            .filter(|access| access.changes && access.any.load)
        {
            match storage(access.pointer) {
                Some(storage) => reached.insert(storage),
                None => reached = StorageSet::ALL,
            }
        }
        let source = reach.accesses.get(crossed.before()).map(|access| access.pointer);
        let loads_again = reach.accesses.iter().any(|access| {
            !access.changes
                && Some(access.pointer) != source
                && storage(access.pointer).is_none_or(|storage| reached.contains(storage))
        });
        if loads_again {
            reached = StorageSet::ALL;
        }
        self.stats.endangered |= reached;
        let site = self.site_of(step.ins[0], step.loc);
        let warning = unordered::build_warning(site, self.memory, self.text(), crossed);
        self.add_remark(step.loc, warning);
    }

    /// Starts an access by the lanes of a pointer.
    #[inline]
    pub(crate) fn begin_access(&mut self, pointer: Slot) {
        if self.racing {
            self.state
                .shadow
                .begin_access(self.program.layouts[pointer as usize].lanes == 1);
        }
    }

    /// The storage from which a pointer was computed.
    pub fn home(&self, pointer: Slot) -> Option<&Rc<Home>> {
        match self.program.origins[pointer as usize] {
            Origin::Param(param) => self.homes.get(param as usize)?.as_ref(),
            Origin::None | Origin::Any => None,
        }
    }
}
