//! The state that all warps of a launch share: memory, limits, findings. See [`crate::warp`] for warps and
//! [`crate::block`] for their order.

use std::sync::atomic::Ordering;
use std::time::Instant;

use cerith_memory::{Memory, ORIGIN};

use crate::config::{Config, Launch, SCRATCH_WINDOW};
use crate::global::{Global, Race};
use crate::kernel::{Kernel, LOCAL_WINDOW, MODULE_WINDOW, PARAMETER_WINDOW, SHARED_WINDOW};
use crate::op::{Address, StateSpace};
use crate::outcome::{
    Exhausted, Finding, FindingKind, InstructionLocation, LaunchOutcome, MOST_FINDINGS, Resource, Thread,
    Trap, TrapKind,
};
use crate::race::{Accessor, Met};
use crate::shared::Shared;
use crate::warp::Warp;

/// Steps between two checks of the clock and the stop flag.
const LOOK: u64 = 1 << 12;

/// Why execution ends early.
#[derive(Debug)]
pub(crate) enum Stop {
    Trap(Box<Trap>),
    Exhausted(Exhausted),
    Stopped,
}

impl From<Stop> for LaunchOutcome {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Trap(trap) => Self::Trapped(trap),
            Stop::Exhausted(exhausted) => Self::Exhausted(exhausted),
            Stop::Stopped => Self::Stopped,
        }
    }
}

/// The memory that an access resolves to, with the offset in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// In the arena of the storages.
    Arena(usize),
    Shared(usize),
    /// In the lane's own memory.
    Private(usize),
    Parameters(usize),
    Module(usize),
    Scratch(usize),
}

/// The state of a launch.
pub(crate) struct Machine<'l> {
    pub(crate) kernel: &'l Kernel,
    pub(crate) launch: &'l Launch<'l>,
    pub(crate) config: &'l Config<'l>,
    pub(crate) memory: &'l mut Memory,
    pub(crate) scratch: Vec<u8>,
    pub(crate) globals: Vec<u8>,
    pub(crate) shared: Shared,
    /// Accesses to the global memory, if races between warps are checked.
    pub(crate) global: Option<Global>,
    /// The current block.
    pub(crate) block: [u32; 3],
    /// Steps left, and steps until the next check.
    pub(crate) fuel: u64,
    pub(crate) look: u64,
    pub(crate) prints: Vec<String>,
    pub(crate) printed: usize,
    pub(crate) findings: Vec<Finding>,
    /// The findings so far, as pairs of steps.
    pub(crate) reported: Vec<(FindingKind, u32, u32)>,
    /// The first instruction and thread that may have stored an uninitialised value.
    pub(crate) suspect: Option<(u32, Thread)>,
}

impl Machine<'_> {
    pub(crate) fn locate_step(&self, step: u32) -> Option<InstructionLocation> {
        self.kernel.at_step(step)
    }

    pub(crate) fn thread(&self, warp: &Warp, lane: usize) -> Thread {
        Thread {
            block: self.block,
            thread: warp.number * 32 + lane as u32,
        }
    }

    #[cold]
    pub(crate) fn trap(&self, warp: &Warp, lane: usize, kind: TrapKind) -> Stop {
        Stop::Trap(Box::new(Trap {
            kind,
            instruction: self.locate_step(warp.group.step),
            thread: self.thread(warp, lane),
        }))
    }

    /// Counts a step.
    #[inline]
    pub(crate) fn spend(&mut self) -> Result<(), Stop> {
        if self.look == 0 {
            self.refuel()?;
        }
        self.look -= 1;
        Ok(())
    }

    /// Checks the limits, and allows the steps until the next check.
    #[cold]
    fn refuel(&mut self) -> Result<(), Stop> {
        if self.config.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(Stop::Stopped);
        }
        if let Some((until, given)) = self.config.deadline
            && Instant::now() >= until
        {
            return Err(Stop::Exhausted(Exhausted {
                resource: Resource::Time,
                limit: given.as_secs(),
            }));
        }
        if self.fuel == 0 {
            return Err(Stop::Exhausted(Exhausted {
                resource: Resource::Fuel,
                limit: self.config.fuel,
            }));
        }
        self.look = self.fuel.min(LOOK);
        self.fuel -= self.look;
        Ok(())
    }

    /// Records a race.
    pub(crate) fn note(&mut self, warp: &Warp, lane: usize, met: Option<Met>) {
        let Some(met) = met else { return };
        let step = warp.group.step;
        let key = (met.kind, step, met.other_step);
        if self.reported.len() >= MOST_FINDINGS || self.reported.contains(&key) {
            return;
        }
        self.reported.push(key);
        let Some(at) = self.locate_step(step) else { return };
        self.findings.push(Finding {
            kind: met.kind,
            instruction: at,
            other_instruction: self.locate_step(met.other_step),
            thread: self.thread(warp, lane),
            byte: Some(met.byte),
        });
    }

    /// Records that a lane reads the device's memory.
    #[inline]
    pub(crate) fn record_read(&mut self, warp: &Warp, lane: usize, at: usize, len: usize, atomic: bool) {
        let Some(global) = &mut self.global else { return };
        let met = global.read(at, len, &Accessor::from_warp(warp, atomic));
        self.record_race(warp, lane, met);
    }

    /// Records that a lane writes the device's memory, before it does.
    #[inline]
    pub(crate) fn record_write(&mut self, warp: &Warp, lane: usize, at: usize, new: &[u8], atomic: bool) {
        let Some(global) = &mut self.global else { return };
        let old = self.memory.arena().0.get(at..at + new.len()).unwrap_or_default();
        let met = global.write(at, old, new, &Accessor::from_warp(warp, atomic));
        self.record_race(warp, lane, met);
    }

    #[inline]
    fn record_race(&mut self, warp: &Warp, lane: usize, met: Option<Met>) {
        let Some(met) = met else { return };
        let thread = self.thread(warp, lane);
        if let Some(global) = &mut self.global {
            global.race.get_or_insert(Race {
                kind: met.kind,
                step: warp.group.step,
                other_step: met.other_step,
                thread,
            });
        }
    }

    /// Records that an uninitialised value is passed on here.
    #[cold]
    pub(crate) fn record_suspect(&mut self, warp: &Warp, lane: usize) {
        if self.suspect.is_none() {
            self.suspect = Some((warp.group.step, self.thread(warp, lane)));
        }
    }

    /// Resolves an address of a lane.
    #[inline]
    pub(crate) fn locate(
        &self,
        warp: &Warp,
        address: &Address,
        lane: usize,
        bytes: usize,
    ) -> Result<Target, TrapKind> {
        let at = warp.registers[address.base as usize][lane].wrapping_add_signed(address.offset);
        match address.place {
            StateSpace::Global => self.resolve_global(at, bytes),
            StateSpace::Shared => {
                // An address in shared memory has 32 bits.
                self.in_shared(u64::from(at as u32), bytes)
            }
            // An address in a thread's own memory has 32 bits too. A parameter's address may be in a register.
            StateSpace::Private if !(PARAMETER_WINDOW..MODULE_WINDOW).contains(&at) => {
                self.in_private(u64::from(at as u32), bytes)
            }
            StateSpace::Private | StateSpace::Parameters => {
                self.in_parameters(at.wrapping_sub(PARAMETER_WINDOW), bytes)
            }
            StateSpace::Generic => self.resolve_generic(at, bytes),
        }
    }

    fn resolve_global(&self, at: u64, bytes: usize) -> Result<Target, TrapKind> {
        match self.memory.resolve_access(at, bytes) {
            Ok(_) => Ok(Target::Arena(at.wrapping_sub(ORIGIN) as usize)),
            Err(fault) => {
                let module = at.wrapping_sub(MODULE_WINDOW);
                let scratch = at.wrapping_sub(SCRATCH_WINDOW);
                if module < self.globals.len() as u64 {
                    check_bounds("the module's variables", module, bytes, self.globals.len())
                        .map(Target::Module)
                } else if scratch < self.scratch.len() as u64 {
                    check_bounds("the scratch memory", scratch, bytes, self.scratch.len())
                        .map(Target::Scratch)
                } else {
                    Err(TrapKind::OutOfBounds {
                        address: at,
                        bytes: bytes as u64,
                        fault,
                    })
                }
            }
        }
    }

    fn resolve_generic(&self, at: u64, bytes: usize) -> Result<Target, TrapKind> {
        match at {
            SHARED_WINDOW..LOCAL_WINDOW => self.in_shared(at - SHARED_WINDOW, bytes),
            LOCAL_WINDOW..PARAMETER_WINDOW => self.in_private(at - LOCAL_WINDOW, bytes),
            PARAMETER_WINDOW..MODULE_WINDOW => self.in_parameters(at - PARAMETER_WINDOW, bytes),
            _ => self.resolve_global(at, bytes),
        }
    }

    /// Resolves a generic address, if it is valid.
    pub(crate) fn generic_target(&self, at: u64) -> Option<Target> {
        self.resolve_generic(at, 1).ok()
    }

    fn in_shared(&self, at: u64, bytes: usize) -> Result<Target, TrapKind> {
        check_bounds("the block's shared memory", at, bytes, self.shared.len()).map(Target::Shared)
    }

    fn in_private(&self, at: u64, bytes: usize) -> Result<Target, TrapKind> {
        check_bounds("the thread's own memory", at, bytes, self.kernel.private as usize).map(Target::Private)
    }

    fn in_parameters(&self, at: u64, bytes: usize) -> Result<Target, TrapKind> {
        check_bounds("the parameters", at, bytes, self.launch.parameters.len()).map(Target::Parameters)
    }
}

/// Checks that an access is within a memory. Returns its offset.
#[inline]
fn check_bounds(what: &'static str, at: u64, bytes: usize, size: usize) -> Result<usize, TrapKind> {
    if at.checked_add(bytes as u64).is_some_and(|end| end <= size as u64) {
        return Ok(at as usize);
    }
    Err(TrapKind::OutsideOf {
        memory: what,
        offset: at,
        bytes: bytes as u64,
        size: size as u64,
    })
}
