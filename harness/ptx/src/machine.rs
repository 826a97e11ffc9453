//! What all warps of a launch share: memory, limits, what is noticed. Left out: the warps themselves ([`crate::warp`]), in which
//! order they run ([`crate::block`]).

use std::sync::atomic::Ordering;
use std::time::Instant;

use cerith_memory::{Memory, ORIGIN};

use crate::config::{Config, Launch, SCRATCH_WINDOW};
use crate::global::{Global, Race};
use crate::history::{By, Met};
use crate::kernel::{Kernel, LOCAL_WINDOW, MODULE_WINDOW, PARAMETER_WINDOW, SHARED_WINDOW};
use crate::op::{Address, Place};
use crate::outcome::{
    At, Exhausted, Finding, FindingKind, LaunchOutcome, MOST_FINDINGS, Resource, Thread, Trap, TrapKind,
};
use crate::shared::Shared;
use crate::warp::Warp;

/// Steps between two looks at the clock and the stop flag.
const LOOK: u64 = 1 << 12;

/// Why execution does not go on.
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

/// Where bytes are.
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

/// What a launch works with.
pub(crate) struct Machine<'l> {
    pub(crate) kernel: &'l Kernel,
    pub(crate) launch: &'l Launch<'l>,
    pub(crate) config: &'l Config<'l>,
    pub(crate) memory: &'l mut Memory,
    pub(crate) scratch: Vec<u8>,
    pub(crate) globals: Vec<u8>,
    pub(crate) shared: Shared,
    /// Accesses to the device's memory, if races between warps are looked for.
    pub(crate) global: Option<Global>,
    /// The block that runs.
    pub(crate) block: [u32; 3],
    /// Steps left, and those until the next look.
    pub(crate) fuel: u64,
    pub(crate) look: u64,
    pub(crate) prints: Vec<String>,
    pub(crate) printed: usize,
    pub(crate) findings: Vec<Finding>,
    /// Pairs of steps that there is a finding of.
    pub(crate) found: Vec<(FindingKind, u32, u32)>,
    /// Where something that nothing was written to may first have reached memory.
    pub(crate) suspect: Option<(u32, Thread)>,
}

impl Machine<'_> {
    pub(crate) fn at(&self, step: u32) -> Option<At> {
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
            at: self.at(warp.group.step),
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

    /// Looks at the limits, and allows as many steps as come before the next look.
    #[cold]
    fn refuel(&mut self) -> Result<(), Stop> {
        if self.config.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(Stop::Stopped);
        }
        if let Some((until, given)) = self.config.until
            && Instant::now() >= until
        {
            return Err(Stop::Exhausted(Exhausted {
                what: Resource::Time,
                limit: given.as_secs(),
            }));
        }
        if self.fuel == 0 {
            return Err(Stop::Exhausted(Exhausted {
                what: Resource::Fuel,
                limit: self.config.fuel,
            }));
        }
        self.look = self.fuel.min(LOOK);
        self.fuel -= self.look;
        Ok(())
    }

    /// Notes a race.
    pub(crate) fn note(&mut self, warp: &Warp, lane: usize, met: Option<Met>) {
        let Some(met) = met else { return };
        let step = warp.group.step;
        let key = (met.kind, step, met.other);
        if self.found.len() >= MOST_FINDINGS || self.found.contains(&key) {
            return;
        }
        self.found.push(key);
        let Some(at) = self.at(step) else { return };
        self.findings.push(Finding {
            kind: met.kind,
            at,
            other: self.at(met.other),
            thread: self.thread(warp, lane),
            byte: Some(met.byte),
        });
    }

    /// Records that a lane reads the device's memory.
    #[inline]
    pub(crate) fn record_read(&mut self, warp: &Warp, lane: usize, at: usize, len: usize, atomic: bool) {
        let Some(global) = &mut self.global else { return };
        let met = global.read(at, len, &By::now(warp, atomic));
        self.record_race(warp, lane, met);
    }

    /// Records that a lane writes the device's memory, before it does.
    #[inline]
    pub(crate) fn record_write(&mut self, warp: &Warp, lane: usize, at: usize, new: &[u8], atomic: bool) {
        let Some(global) = &mut self.global else { return };
        let old = self.memory.arena().0.get(at..at + new.len()).unwrap_or_default();
        let met = global.write(at, old, new, &By::now(warp, atomic));
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
                other: met.other,
                thread,
            });
        }
    }

    /// Something that nothing was written to goes on from here.
    #[cold]
    pub(crate) fn suspected(&mut self, warp: &Warp, lane: usize) {
        if self.suspect.is_none() {
            self.suspect = Some((warp.group.step, self.thread(warp, lane)));
        }
    }

    /// Where an address of a lane leads.
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
            Place::Global => self.global(at, bytes),
            Place::Shared => {
                // An address in shared memory has 32 bits.
                self.in_shared(u64::from(at as u32), bytes)
            }
            // So has one in a thread's own; a parameter's address may be in a register too.
            Place::Private if !(PARAMETER_WINDOW..MODULE_WINDOW).contains(&at) => {
                self.in_private(u64::from(at as u32), bytes)
            }
            Place::Private | Place::Parameters => {
                self.in_parameters(at.wrapping_sub(PARAMETER_WINDOW), bytes)
            }
            Place::Generic => self.generic(at, bytes),
        }
    }

    fn global(&self, at: u64, bytes: usize) -> Result<Target, TrapKind> {
        match self.memory.resolve_access(at, bytes) {
            Ok(_) => Ok(Target::Arena(at.wrapping_sub(ORIGIN) as usize)),
            Err(fault) => {
                let module = at.wrapping_sub(MODULE_WINDOW);
                let scratch = at.wrapping_sub(SCRATCH_WINDOW);
                if module < self.globals.len() as u64 {
                    inside("the module's variables", module, bytes, self.globals.len()).map(Target::Module)
                } else if scratch < self.scratch.len() as u64 {
                    inside("the scratch memory", scratch, bytes, self.scratch.len()).map(Target::Scratch)
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

    fn generic(&self, at: u64, bytes: usize) -> Result<Target, TrapKind> {
        match at {
            SHARED_WINDOW..LOCAL_WINDOW => self.in_shared(at - SHARED_WINDOW, bytes),
            LOCAL_WINDOW..PARAMETER_WINDOW => self.in_private(at - LOCAL_WINDOW, bytes),
            PARAMETER_WINDOW..MODULE_WINDOW => self.in_parameters(at - PARAMETER_WINDOW, bytes),
            _ => self.global(at, bytes),
        }
    }

    /// Where an address leads that says no space, if it leads anywhere.
    pub(crate) fn generic_target(&self, at: u64) -> Option<Target> {
        self.generic(at, 1).ok()
    }

    fn in_shared(&self, at: u64, bytes: usize) -> Result<Target, TrapKind> {
        inside("the block's shared memory", at, bytes, self.shared.len()).map(Target::Shared)
    }

    fn in_private(&self, at: u64, bytes: usize) -> Result<Target, TrapKind> {
        inside("the thread's own memory", at, bytes, self.kernel.private as usize).map(Target::Private)
    }

    fn in_parameters(&self, at: u64, bytes: usize) -> Result<Target, TrapKind> {
        inside("the parameters", at, bytes, self.launch.parameters.len()).map(Target::Parameters)
    }
}

/// Whether an access is inside of some memory.
#[inline]
fn inside(what: &'static str, at: u64, bytes: usize, size: usize) -> Result<usize, TrapKind> {
    if at.checked_add(bytes as u64).is_some_and(|end| end <= size as u64) {
        return Ok(at as usize);
    }
    Err(TrapKind::OutsideOf {
        what,
        offset: at,
        bytes: bytes as u64,
        size: size as u64,
    })
}
